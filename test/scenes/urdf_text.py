# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Robots of a few links as URDF text."""

from __future__ import annotations

SOLID = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'


def robot(body, name="robot"):
    return f'<robot name="{name}">\n{body}\n</robot>'


def link(name, content=SOLID):
    return f'<link name="{name}">{content}</link>'


def joint(name, parent, child, kind="continuous", content=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/>{content}</joint>'
    )


def arm(content="", kind="continuous", tip=SOLID):
    """Two links and a joint; the joint stands in line 4."""
    return robot(f"{link('base')}\n{link('tip', tip)}\n{joint('hinge', 'base', 'tip', kind, content)}")

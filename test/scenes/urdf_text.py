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

#: two links with what is drawn of them: shapes, a mesh file, and three visuals that cannot be read
LOOKS = """<robot name="r"><material name="blue"><color rgba="0.1 0.2 0.8 0.5"/></material>
  <link name="base"><visual><origin xyz="1 0 0" {turn}/><geometry><box size="2 4 6"/></geometry>
    <material name="blue"/></visual>
    <visual><geometry><mesh filename="gone.stl"/></geometry></visual>
    <visual><geometry><sphere radius="big"/></geometry></visual>
    <visual><geometry/></visual></link>
  <link name="tip"><visual><geometry><capsule radius="0.1" length="1"/></geometry>
    <material name="m"><color rgba="2 0 0 1"/></material></visual>
    <visual><geometry><mesh filename="{mesh}" scale="2 1 -1"/></geometry></visual></link>
  <joint name="j" type="fixed"><parent link="base"/><child link="tip"/></joint></robot>"""

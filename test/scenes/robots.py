# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The dual arm, robots of example-robot-data with something odd about them, and serial chains."""

from __future__ import annotations

import pytest

import mb_contact as mb
from oracles.pinocchio_peer import example_robots
from paths import ROOT

SOLID = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'


def chain(n, link=SOLID):
    """URDF text of n hinges in a row."""
    text = ['<robot name="chain"><link name="l0"/>']
    for k in range(1, n + 1):
        text.append(
            f'<link name="l{k}">{link}</link><joint name="j{k}" type="continuous"><parent link="l{k - 1}"/>'
            f'<child link="l{k}"/></joint>'
        )
    return "\n".join([*text, "</robot>"])


DUAL_ARM = ROOT / "urdf" / "dual_arm.urdf"
ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",  # mimic joint, meshes
    "tiago": "tiago_description/robots/tiago_dual.urdf",  # indefinite inertias, 101 joints
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",  # singular inertias
    "icub": "icub_description/robots/icub.urdf",
}


def path_of(name):
    folder = example_robots()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    return folder / ROBOTS[name]


def load(path, floating=False):
    options = {"collision_meshes": "warn", "mimic": "independent", "inertia_errors": "warn"}
    return mb.load_urdf(path, floating=floating, **options)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Starts of ``mb-contact new`` are those from which a hand can go down."""

from __future__ import annotations

import numpy as np

import mb_contact as mb
from mb_contact.dynamics import Point
from mb_contact.programs.starting import _overlap, _solutions, _solved, start_positions

LINK = """<link name="{0}"><inertial><origin xyz="0.25 0 0"/><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.02"
ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0.25 0 0"/><geometry><box size="0.4 0.05 0.05"/></geometry>
</collision></link>"""
HINGE = """<joint name="{0}" type="revolute"><origin xyz="{1}"/><parent link="{2}"/><child link="{3}"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="50" velocity="1"/></joint>"""
ARM = f"""<robot name="arm"><link name="base"/>{LINK.format("upper")}{LINK.format("fore")}<link name="tip"/>
{HINGE.format("shoulder", "0 0 0.15", "base", "upper")}{HINGE.format("elbow", "0.5 0 0", "upper", "fore")}
<joint name="end" type="fixed"><origin xyz="0.5 0 0"/><parent link="fore"/><child link="tip"/></joint></robot>"""


def test_an_elbow_that_would_meet_the_table_is_not_below():
    scene = mb.Scene(models=(mb.model.SceneModel(ARM),), ground=mb.model.Ground())
    world, model, over = mb.build_world(scene), mb.load_urdf(ARM), (0.4, 0.0, 0.75)
    goal = [lambda at: {Point("tip"): at}]
    first = next(q for _, q in _solutions(world, model, 0, goal, over) if _overlap(world, model, 0, q, ()) == 0.0)
    assert mb.frame_pose(model, first, "fore")[1][2] < 0.3  # what is found first, and overlaps nothing
    q = start_positions(world, model, 0, "tip", over, 0.05)
    np.testing.assert_allclose(mb.frame_pose(model, q, "tip")[1], over, atol=1e-8)
    assert mb.frame_pose(model, q, "fore")[1][2] > 0.5  # the elbow is above the way down


def test_joints_that_may_turn_more_than_once_start_near_zero():
    wide = ARM.replace('lower="-3" upper="3"', 'lower="-6.28" upper="6.28"')
    scene = mb.Scene(models=(mb.model.SceneModel(wide),), ground=mb.model.Ground())
    world, model, at = mb.build_world(scene), mb.load_urdf(wide), (0.4, 0.0, 0.75)
    start = np.array([6.0, -5.5])
    q = _solved(world, model, {Point("tip"): at}, start, 1)
    assert np.abs(q).max() < np.pi
    np.testing.assert_allclose(mb.frame_pose(model, q, "tip")[1], at, atol=1e-8)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a moving link carries stays where it is on the link (core/step/going_along.py)."""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix

Pose = mb.model.Pose
TABLE = """<robot name="turntable"><link name="stand"/><link name="table">
  <inertial><mass value="5"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="1.2 1.2 0.02"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="stand"/><child link="table"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.mark.parametrize("upper", [False, True], ids=["box", "box_on_box"])
def test_a_box_stays_where_it_is_on_a_turntable(upper):
    """Straight on it would go outward by (omega dt)^2 / 2 of the radius in each step, by 4e-4 m in all."""
    boxes = [mb.model.Primitive(name, "box", (0.1, 0.1, 0.1), Pose((0.4, 0.0, z)), "free", 0.5, material="rubber")
             for name, z in (("lower", 0.06), ("upper", 0.16))[: 1 + upper]]  # fmt: skip
    turn = mb.model.Motion(joint="turn", times=(0.0, 1.0, 2.0), positions=(0.0, 1.0, 2.0))
    table = mb.model.SceneModel(TABLE, materials=mb.model.ModelMaterials("rubber"))
    sim = mb.Simulator(
        mb.Scene(models=(table,), primitives=tuple(boxes), motions=(turn,), time_step=1e-3,
                 materials={"rubber": mb.model.Material(friction=0.8)})
    )  # fmt: skip
    places = []
    for _ in range(2000):
        certificate = sim.step().certificate
        assert certificate.end_gap > -1e-8
        p, quaternion = sim.link_pose("table")
        places.append(quat_to_matrix(quaternion).T @ (sim.link_pose(boxes[-1].name)[0] - p))
    assert sim.joint_positions()[0] == pytest.approx(2.0, abs=1e-9)
    assert np.abs(np.array(places) - places[100]).max() < 1e-8

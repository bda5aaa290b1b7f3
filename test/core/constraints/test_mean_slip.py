# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a turning body holds goes round with it (core/constraints/mean_slip.py)."""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix

M = mb.model
RUBBER = {"rubber": M.Material(friction=0.8)}
SOLID = '<inertial><mass value="5"/><inertia ixx="1" iyy="1" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>'
TURNTABLE = f"""<robot name="turntable"><link name="stand"/><link name="table">{SOLID}
  <collision><geometry><box size="1.2 1.2 0.02"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="stand"/><child link="table"/><axis xyz="0 0 1"/></joint></robot>"""
#: a table on two parallel axes 0.3 m apart, which keeps its angle where they turn by opposite rates
SWING = f"""<robot name="swing"><link name="stand"/><link name="arm">{SOLID}</link><link name="table">{SOLID}
  <collision><geometry><box size="1.2 1.2 0.02"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="stand"/><child link="arm"/><axis xyz="0 0 1"/></joint>
  <joint name="back" type="continuous"><parent link="arm"/><child link="table"/><origin xyz="0.3 0 0"/>
    <axis xyz="0 0 1"/></joint></robot>"""


def turning(robot, rates, upper=False, dt=1e-3):
    """A box at x = 0.4 m on a table whose joints turn freely by these rates, and one on top of it."""
    boxes = [M.Primitive(name, "box", (0.1, 0.1, 0.1), M.Pose((0.4, 0.0, z)), "free", 1.0, material="rubber")
             for name, z in (("lower", 0.06), ("upper", 0.16))[: 1 + upper]]  # fmt: skip
    table = M.SceneModel(robot, materials=M.ModelMaterials("rubber"))
    sim = mb.Simulator(mb.Scene(models=(table,), primitives=tuple(boxes), materials=RUBBER, time_step=dt))
    o, w = sim.link_pose("table")[0], (0.0, 0.0, sum(rates))
    on_table = np.cross((0.0, 0.0, rates[0]), o) + np.cross(w, np.array((0.4, 0.0, 0.0)) - o)
    sim.set_state(sim.q, np.concatenate((rates, *(np.concatenate((w, on_table)) for _ in boxes))))
    return sim


def creep(sim, name, steps):
    """How far a body has gone on the table [m]."""
    places = []
    for k in range(steps + 1):
        if k:
            assert sim.step().certificate.end_gap > -1e-8
        p, quaternion = sim.link_pose("table")
        places.append(quat_to_matrix(quaternion).T @ (sim.link_pose(name)[0] - p))
    return np.abs(np.array(places) - places[0]).max()


@pytest.mark.parametrize(
    ("robot", "rates", "upper"), [(TURNTABLE, (2.0,), False), (TURNTABLE, (2.0,), True), (SWING, (2.0, -2.0), False)],
    ids=["box", "box_on_box", "angle_kept"],
)  # fmt: skip
def test_a_box_stays_where_it_is(robot, rates, upper):
    """By the velocities of the step's end alone it would go out by (omega dt)^2 / 2 of its arm each step: 0.4 mm."""
    sim = turning(robot, rates, upper)
    assert creep(sim, "upper" if upper else "lower", 500) < 1e-6


def test_a_table_that_spins_freely_keeps_its_energy_and_its_angular_momentum():
    """By the velocities of the step's end alone it lost 6e-4 J and 0.8 % of its rate in half a second."""
    sim = turning(TURNTABLE, (2.0,))

    def spin():
        v, x = sim.v, sim.link_pose("lower")[0]
        return 0.2 * v[0] + 0.01 / 6.0 * v[3] + x[0] * v[5] - x[1] * v[4]

    before = spin()
    for _ in range(3):  # the first one asks for nothing
        energy = sim.step().certificate.kinetic_energy
    for _ in range(500):
        certificate = sim.step().certificate
    assert spin() == pytest.approx(before, abs=1e-13)
    assert certificate.kinetic_energy == pytest.approx(energy, abs=1e-8)


def test_a_ball_rolls_on_a_turntable_as_before():
    """At rest in space for good: the place where it touches goes on, and a counts nothing."""
    rate, radius = 2.0, 0.1
    pose = M.Pose((0.4, 0.0, 0.01 + radius))
    ball = M.Primitive("ball", "sphere", (radius,), pose, "free", 0.01, material="rubber")
    table = M.SceneModel(TURNTABLE, materials=M.ModelMaterials("rubber"))
    sim = mb.Simulator(mb.Scene(models=(table,), primitives=(ball,), materials=RUBBER))
    v = np.zeros(7)
    v[0], v[1] = rate, rate * 0.4 / radius
    sim.set_state(sim.q, v)
    for _ in range(500):
        sim.step()
    assert sim.link_pose("ball")[0][:2] == pytest.approx((0.4, 0.0), abs=1e-9)


@pytest.mark.parametrize("slip", [0.1, -0.1])
def test_a_ball_that_slides_and_spins_asks_for_nothing(slip):
    """What turning adds to a rigid motion of both says nothing of it: with sigma left out it asked for 5 mm/s."""
    pose = M.Pose((0.4, 0.0, 0.11))
    ball = M.Primitive("ball", "sphere", (0.1,), pose, "free", 0.01, material="rubber")
    table = M.SceneModel(TURNTABLE, materials=M.ModelMaterials("rubber"))
    sim = mb.Simulator(mb.Scene(models=(table,), primitives=(ball,), materials=RUBBER))
    sim.set_state(sim.q, np.array((0.01, 0.0, 10.0, 0.0, 1.0 + slip, 0.0, 0.0)))  # 1 m/s rolls
    sim.step()
    assert np.abs(sim.context.work.asked_slip[0, :2]).max() < 1e-5


def test_contacts_with_the_world_ask_for_nothing_more():
    box = M.Primitive("box", "box", (0.1, 0.1, 0.1), M.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    sim = mb.Simulator(mb.Scene(primitives=(box,), ground=M.Ground()))
    sim.set_state(sim.q, np.array((0.0, 0.0, 3.0, 0.5, 0.0, 0.0)))
    for _ in range(3):
        sim.step()
        assert not sim.context.work.asked_slip[:4].any()
    sim = turning(TURNTABLE, (2.0,))
    for asks in (False, True, True):  # a contact that begins does not
        sim.step()
        assert sim.context.work.asked_slip[:4].any() == asks


def test_links_of_one_tree_ask_for_nothing():
    """A block on a hinge of the table lies on it."""
    block = f"""<link name="block">{SOLID}<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
      <joint name="hinge" type="prismatic"><parent link="table"/><child link="block"/><origin xyz="0.4 0 0.06"/>
      <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="0" velocity="10"/></joint></robot>"""
    model = M.SceneModel(TURNTABLE.replace("</robot>", block))
    sim = mb.Simulator(mb.Scene(models=(model,), collision_filters=M.CollisionFilters(adjacent=False)))
    sim.set_state(sim.q, np.array((2.0, 0.0)))
    for _ in range(3):
        assert len(sim.step().contacts) == 4
        assert not sim.context.work.asked_slip[:4].any()


def test_what_jams_stays_where_it_is():
    """Between two walls of the table that it overlaps push-out is dropped, and what friction asks for is not."""
    walls = "".join(
        f'<collision><origin xyz="0.4 {y} 0.11"/><geometry><box size="0.3 0.04 0.18"/></geometry></collision>'
        for y in (-0.07 + 1e-6, 0.07 - 1e-6)
    )
    sim = turning(TURNTABLE.replace("</collision>", "</collision>" + walls), (2.0,))
    start = sim.link_pose("lower")[0]
    for _ in range(500):
        sim.step()
    assert np.linalg.norm(sim.link_pose("lower")[0][:2]) == pytest.approx(start[0], abs=2e-6)


def test_friction_does_no_more_than_it_asks_for():
    """T(v+) - T(v_free) is that of the velocities, and within its bound."""
    sim = turning(TURNTABLE, (4.0,), dt=0.01)
    for _ in range(5):
        v = sim.v
        certificate = sim.step().certificate
        free = 0.5 * (0.2 * v[0] ** 2 + v[4:7] @ v[4:7] + 0.01 / 6.0 * v[3] ** 2) + 0.5 * (9.81 * 0.01) ** 2
        told = certificate.kinetic_energy - certificate.contact_energy
        assert told == pytest.approx(free, rel=1e-9)
        assert certificate.contact_energy <= certificate.push_out_energy + 1e-12

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Objects that come and go while a simulation runs: everything else goes on as if nothing had happened."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Pose, Primitive, SceneModel
from paths import ROOT

pytestmark = pytest.mark.quick

SCENE = ROOT / "config" / "box_on_table.yaml"
FAR = Primitive("far", "sphere", (0.1,), Pose((5.0, 0.0, 9.0)), "free", 1.0)


@pytest.fixture(scope="module")
def scene():
    return mb.load_scene(SCENE)


def with_more(scene, *more, first=False):
    own = scene.primitives
    return dataclasses.replace(scene, primitives=(*more, *own) if first else (*own, *more))


def pushed(scene, steps):
    """A box that is pushed over the table: sliding, with warm starts."""
    sim = mb.Simulator(scene)
    sim.set_external_wrench("box", [0.1, 0.0, 0.0, 0.0, 12.0, 0.0], duration=0.15)
    for _ in range(steps):
        sim.step()
    return sim


def test_gravity_is_the_new_scenes_where_none_was_set(scene):
    moon = dataclasses.replace(scene, gravity=(0.0, 0.0, -1.62))
    sim = mb.Simulator(scene, warm_up=False)
    sim.reset()
    assert sim.rebuilt(moon).gravity.tolist() == [0.0, 0.0, -1.62]
    sim.set_gravity([0.0, 1.0, 0.0])
    assert sim.rebuilt(moon).gravity.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("first", [False, True], ids=["last", "first"])
def test_what_stays_goes_on_bit_for_bit(scene, first):
    alone = pushed(scene, 100)
    sim = alone.rebuilt(with_more(scene, FAR, first=first))
    assert sim.step_count == 100 and sim.time == alone.time
    np.testing.assert_array_equal(sim.contact_impulse("box"), alone.contact_impulse("box"))
    q, v = sim.link_pose("box"), sim.object_motion("box")[0]
    np.testing.assert_array_equal(q[0], alone.link_pose("box")[0])
    assert sim.energy() - alone.energy() == pytest.approx(9.81 * 9.0, rel=1e-9)
    np.testing.assert_allclose(sim.link_pose("far")[0], [5.0, 0.0, 9.0])
    for _ in range(100):
        expected, step = alone.step(), sim.step()
        np.testing.assert_array_equal(sim.link_pose("box")[0], alone.link_pose("box")[0])
        np.testing.assert_array_equal(sim.link_pose("box")[1], alone.link_pose("box")[1])
        assert len(step.contacts) == len(expected.contacts)
        assert step.certificate.iterations == expected.certificate.iterations  # the warm start came along
    assert np.linalg.norm(v) > 0.05 and sim.time == pytest.approx(0.2)
    drift = -0.5 * 9.81**2 * 1e-3 * 0.1  # of a free fall by this scheme; no other work is unaccounted for
    balance = step.certificate.energy_balance - expected.certificate.energy_balance
    assert balance == pytest.approx(drift, rel=1e-6)
    fall = 9.0 - sim.link_pose("far")[0][2]
    assert fall == pytest.approx(0.5 * 9.81 * 0.1 * 0.101, rel=1e-9)  # the scheme's fall in 100 steps
    back = sim.rebuilt(scene)
    np.testing.assert_array_equal(back.q, alone.q)
    np.testing.assert_array_equal(back.v, alone.v)


HINGE = (
    '<robot name="{0}"><link name="{0}"/><link name="{0}_bob"><inertial><origin xyz="0.3 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="{0}_hinge" '
    'type="continuous"><parent link="{0}"/><child link="{0}_bob"/><axis xyz="0 1 0"/></joint></robot>'
)


def test_robots_come_and_go(scene):
    """Each swings on bit for bit while the other appears before it in every array, and disappears."""
    one, two = (SceneModel(HINGE.format(name), name=name, pose=Pose((9.0, y, 3.0))) for y, name in ((0, "a"), (2, "b")))
    alone = mb.Simulator(dataclasses.replace(scene, models=(one,)))
    effort = np.array([0.7])
    for _ in range(50):
        alone.step(effort)
    sim = alone.rebuilt(dataclasses.replace(scene, models=(two, one)))
    assert sim.world.joint_names == ("b_hinge", "a_hinge")
    for _ in range(50):
        alone.step(effort)
        sim.step(np.array([0.0, 0.7]))
    assert sim.joint_positions()[1] == alone.joint_positions()[0] != 0.0
    assert sim.joint_velocities()[1] == alone.joint_velocities()[0]
    np.testing.assert_array_equal(sim.link_pose("box")[0], alone.link_pose("box")[0])
    back = sim.rebuilt(dataclasses.replace(scene, models=(one,)))
    np.testing.assert_array_equal(back.q, alone.q)
    np.testing.assert_array_equal(back.v, alone.v)


def test_errors_leave_the_simulator_alone(scene):
    sim = pushed(scene, 5)
    before = sim.q
    with pytest.raises(mb.InputError, match="same time_step"):
        sim.rebuilt(dataclasses.replace(scene, time_step=0.002))
    with pytest.raises(mb.SceneError, match="used twice"):
        sim.rebuilt(with_more(scene, dataclasses.replace(FAR, name="box")))
    np.testing.assert_array_equal(sim.q, before)


def test_an_object_is_put_somewhere_else(scene):
    sim = pushed(with_more(scene, FAR), 20)
    far = sim.link_pose("far")
    sim.set_object("box", ([0.55, 0.1, 0.9], [0.0, 0.0, 0.6, 0.8]), [0.0, 0.0, 1.0, 0.0, 0.0, 0.5])
    np.testing.assert_allclose(sim.link_pose("box")[0], [0.55, 0.1, 0.9])
    np.testing.assert_allclose(sim.link_pose("box")[1], [0.0, 0.0, 0.6, 0.8], atol=1e-15)
    np.testing.assert_array_equal(sim.link_pose("far")[0], far[0])
    sim.step()
    velocity, acceleration = sim.object_motion("box")
    np.testing.assert_allclose(velocity[3:], [0.0, 12e-3 / 2.0, 0.5 - 9.81e-3], atol=1e-12)  # still pushed
    np.testing.assert_allclose(acceleration[3:], [0.0, 6.0, -9.81], atol=1e-9)
    for bad, message in (
        (("table", None, None), "no free object 'table'"),
        (("box", ([0.0, 0.0, np.nan], [0, 0, 0, 1]), None), "position"),
        (("box", ([0.0, 0.0, 0.0], [0, 0, 0, 0]), None), "quaternion"),
    ):
        with pytest.raises(mb.InputError, match=message):
            sim.set_object(*bad)

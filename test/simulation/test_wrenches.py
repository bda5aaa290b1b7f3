# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""External wrenches on links: Newton and Euler, axes, durations, books, saved states, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, SceneModel

pytestmark = pytest.mark.quick

DT = 1e-3
MASS, INERTIA = 2.0, (0.1, 0.2, 0.25)
ARM = """
<robot name="arm"><link name="base"/>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/>
    <limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
  <link name="bar"><inertial><origin xyz="0.5 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="bar"/><child link="tool"/>
    <origin xyz="0.8 0.1 0.2" rpy="0.3 0.4 0.5"/></joint><link name="tool"/></robot>"""


def floating(rpy=None, **options):
    body = Primitive("body", "box", (0.1, 0.2, 0.3), Pose((0, 0, 1.0), rpy), "free", MASS, INERTIA)
    return mb.Simulator(Scene(primitives=(body,), gravity=(0.0, 0.0, 0.0), **options))


@pytest.fixture(scope="module")
def arm():
    return mb.Simulator(Scene(models=(SceneModel(ARM),), gravity=(0.0, 0.0, 0.0)))


@pytest.mark.parametrize("axes", ["world", "link"])
def test_a_wrench_accelerates_a_body(axes):
    sim = floating(rpy=(0.3, -0.5, 0.7))
    R = quat_to_matrix(sim.q[3:7])
    wrench = np.array([0.4, -0.3, 0.2, 1.0, 2.0, -3.0])
    sim.set_external_wrench("body", wrench, axes=axes)
    sim.step()
    turn = R if axes == "link" else np.eye(3)
    moment, force = turn @ wrench[:3], turn @ wrench[3:]
    np.testing.assert_allclose(sim.v[:3], DT * R @ ((R.T @ moment) / INERTIA), rtol=1e-12)
    np.testing.assert_allclose(sim.v[3:], DT * force / MASS, rtol=1e-12)


def test_a_wrench_on_a_link_that_is_fixed_to_a_body_acts_at_the_links_origin(arm):
    """Power: the wrench times the link's Jacobian is the effort that does the same."""
    wrench = [0.1, 0.2, -0.3, 1.0, -2.0, 3.0]
    arm.reset()
    arm.set_state([0.4], [0.7])
    effort = arm.operational_space("tool").jacobian.T @ wrench
    arm.set_external_wrench("tool", wrench)
    arm.step()
    pushed = arm.v
    arm.reset()
    arm.set_state([0.4], [0.7])
    assert abs(effort[0]) > 0.1
    v_dot = mb.forward_dynamics(arm.world.robot_models[0], [0.4], [0.7], effort, (0.0, 0.0, 0.0))
    np.testing.assert_allclose(pushed, 0.7 + DT * v_dot, rtol=1e-12)


def test_a_wrench_ends_after_its_duration():
    sim = floating()
    sim.set_external_wrench("body", [0, 0, 0, 1.0, 0, 0], duration=0.01)
    for _ in range(30):
        sim.step()
    assert sim.v[3] == pytest.approx(0.01 / MASS, rel=1e-12)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint", "rk4"])
@pytest.mark.parametrize("duration", [0.0, 0.0004, 0.0006, 0.003, 0.0125])
def test_a_wrench_acts_for_its_duration_to_the_last_part_of_a_step(duration, integrator):
    sim = floating(integrator=integrator)
    sim.step(steps=7)
    sim.set_external_wrench("body", [0, 0, 0, 3.0, 0, 0], duration=duration)
    sim.step(steps=20)
    assert sim.v[3] == pytest.approx(3.0 * duration / MASS, rel=1e-9, abs=1e-15)


def test_a_new_wrench_replaces_the_old_and_none_ends_it():
    sim = floating()
    sim.set_external_wrench("body", [0, 0, 0, 5.0, 0, 0])
    sim.set_external_wrench("body", [0, 0, 0, 0, 1.0, 0])
    sim.step()
    sim.set_external_wrench("body", None)
    sim.step()
    np.testing.assert_allclose(sim.v[3:], [0.0, DT / MASS, 0.0], atol=1e-18)


def test_reset_ends_all_wrenches():
    sim = floating()
    sim.set_external_wrench("body", [0, 0, 0, 5.0, 0, 0])
    sim.reset()
    sim.step()
    assert not sim.v.any()


def test_a_restored_state_goes_on_with_its_wrenches():
    sim = floating()
    sim.set_external_wrench("body", [0.1, 0, 0.2, 1.0, 2.0, 0], duration=0.02, axes="link")
    for _ in range(10):
        sim.step()
    state = sim.save()
    for _ in range(20):
        sim.step()
    want = sim.v
    sim.set_external_wrench("body", [0, 0, 0, 9.0, 0, 0])
    sim.restore(state)
    for _ in range(20):
        sim.step()
    assert (sim.v == want).all()


def test_a_restored_state_without_wrenches_ends_those_that_act():
    sim = floating()
    quiet = sim.save()
    sim.set_external_wrench("body", [0, 0, 0, 5.0, 0, 0])
    pushed = sim.save()
    sim.step()
    for back in (lambda: sim.restore(quiet), sim.reset):
        back()
        sim.step()
        assert not sim.v.any()
        back()
        assert not sim.context.wrenches.act  # so that steps take their quick way
        sim.restore(pushed)
        sim.step()
        assert sim.v[3] == pytest.approx(5.0 * DT / MASS, rel=1e-14)


@pytest.mark.parametrize("model", ["coulomb_polyhedral", "coulomb_cone"])
def test_the_books_count_the_work_of_wrenches(model):
    """A block pushed over rough ground with a changing grip: energy minus work stays put."""
    block = Primitive("block", "box", (0.2, 0.2, 0.1), Pose((0, 0, 0.05)), "free", MASS, material="stuff")
    sim = mb.Simulator(Scene(primitives=(block,), ground=Ground(material="stuff"), materials={"stuff": Material(0.3)},
                             friction_model=model))  # fmt: skip
    for i in range(400):
        sim.set_external_wrench("block", [0, 0, 0.02, 12.0 * np.sin(0.03 * i), 4.0, 1.0])
        certificate = sim.step().certificate
    assert certificate.energy > 0.5
    assert abs(certificate.energy_balance) < 1e-9


def test_a_wrench_survives_new_workspaces():
    """More contacts than there was room for, found within the step that the wrench acts in."""
    balls = [Primitive(f"ball_{i}", "sphere", (0.04,), Pose((0.1 * (i % 10), 0.1 * (i // 10), 0.04)), "free", 1.0)
             for i in range(70)]  # fmt: skip
    sim = mb.Simulator(Scene(primitives=tuple(balls), ground=Ground()), warm_up=False)
    sim.reset()
    sim.set_external_wrench("ball_0", [0, 0, 0, 0, 0, 20.0])
    assert sim.step().certificate.contacts == 70
    assert sim.v[5] == pytest.approx(DT * (20.0 - 9.81), rel=1e-9)


def test_impossible_wrenches_are_refused_and_change_nothing(arm):
    arm.reset()
    arm.set_external_wrench("bar", [0, 0.1, 0, 0, 0, 0])
    refused = [
        (("nobody", np.zeros(6)), {}, "there is no link 'nobody'"),
        (("base", np.zeros(6)), {}, "welded"),
        (("bar", np.zeros(3)), {}, "wrench must have 6 entries"),
        (("bar", [0, 0, 0, 0, 0, np.inf]), {}, "finite"),
        (("bar", np.zeros(6)), {"duration": -1.0}, "duration"),
        (("bar", np.zeros(6)), {"duration": np.nan}, "duration"),
        (("bar", np.zeros(6)), {"axes": "moon"}, "choose one of world, link"),
    ]
    for arguments, options, message in refused:
        with pytest.raises(mb.InputError, match=message):
            arm.set_external_wrench(*arguments, **options)
    arm.step()
    assert arm.v[0] > 0.0

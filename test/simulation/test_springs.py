# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Springs that drag links: their motion is that of a damped oscillator, their work is counted, and they stay stable.

Covers core/constraints/spring.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, SceneModel
from mb_contact.simulation.joints.springs import FREQUENCY, FURTHEST, PointSpring, Springs
from paths import ROOT

MASS = 2.0


def box(rpy=None, gravity=(0.0, 0.0, 0.0), **options):
    """A simulator of one free box."""
    body = Primitive("box", "box", (0.1, 0.2, 0.3), Pose((0, 0, 1.0), rpy), "free", MASS)
    return mb.Simulator(Scene(primitives=(body,), gravity=gravity, **options))


@pytest.fixture(scope="module")
def arms():
    return mb.Simulator(ROOT / "config" / "dual_arm_lift.yaml")


def run(sim, springs, seconds):
    for _ in range(round(seconds / sim.time_step)):
        springs.apply()
        step = sim.step()
    return step


def test_a_body_held_at_its_centre_moves_as_a_critically_damped_oscillator():
    """x(t) = d (1 - (1 + omega t) exp(-omega t)); the steps' error shrinks with their length."""
    worst = []
    for dt in (1e-3, 1e-4):
        sim = box(time_step=dt)
        springs = Springs(sim)
        springs.grab("hand", "box", (0, 0, 1.0), 1.0)
        springs.move("hand", (0.1, 0, 1.0))
        errors = []
        for k in range(round(0.2 / dt)):
            springs.apply()
            sim.step()
            t = (k + 1) * dt
            errors.append(sim.q[0] - 0.1 * (1.0 - (1.0 + FREQUENCY * t) * np.exp(-FREQUENCY * t)))
        worst.append(np.abs(errors).max())
        assert springs.held[0].mass == pytest.approx(MASS, rel=1e-12)
    assert worst[0] < 2e-3 and worst[1] < 0.11 * worst[0]


def test_a_body_hangs_below_the_hand_by_its_weight_over_the_stiffness():
    sim = box(gravity=(0, 0, -9.81))
    springs = Springs(sim)
    springs.grab("hand", "box", (0, 0, 1.0), 4.0)
    run(sim, springs, 2.0)
    assert springs.held[0].stiffness == pytest.approx(4.0 * FREQUENCY**2 * MASS, rel=1e-12)
    assert sim.q[2] == pytest.approx(1.0 - MASS * 9.81 / springs.held[0].stiffness, abs=1e-8)


def test_the_wrench_is_that_of_a_force_at_the_grabbed_point():
    """Against the velocity of the point from its Jacobian, and the moment by hand."""
    sim = box(rpy=(0.3, -0.5, 0.7))
    sim.set_state(sim.q, [0.5, -1.0, 2.0, 0.3, 0.2, -0.1])
    R, origin = quat_to_matrix(sim.q[3:7]), sim.q[:3]
    place = origin + R @ (0.05, 0.1, -0.15)
    spring = PointSpring(sim, "box", place)
    spring.set_target(place + (0.1, 0.0, 0.02))
    velocity = mb.jacobian(sim.world, sim.q, mb.Point("box", spring.point)) @ sim.v
    np.testing.assert_allclose(spring.velocity(), velocity, rtol=1e-12)
    force = spring.stiffness * np.array((0.1, 0.0, 0.02)) - spring.damping * velocity
    np.testing.assert_allclose(spring.wrench(), [*np.cross(place - origin, force), *force], rtol=1e-9)


@pytest.mark.parametrize("far", [1.0, 1e6])
def test_a_hand_that_is_far_away_pulls_as_one_that_is_at_the_furthest(far):
    sim = box()
    spring = PointSpring(sim, "box", (0, 0, 1.0))
    spring.set_target((far, 0, 1.0))
    np.testing.assert_allclose(spring.force(), [FURTHEST * spring.stiffness, 0, 0], rtol=1e-12)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint"])
def test_all_energy_of_a_dragged_body_is_work_of_the_spring(integrator):
    """The work is added up here from wrenches and mean velocities; a cube has no gyroscopic terms, Euler's error."""
    cube = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((0, 0, 1.0)), "free", MASS)
    sim = mb.Simulator(Scene(primitives=(cube,), gravity=(0.0, 0.0, 0.0), integrator=integrator))
    springs = Springs(sim)
    springs.grab("hand", "box", (0.02, 0.03, 1.05), 1.0)
    work = 0.0
    for k in range(400):
        t = k * sim.time_step
        springs.move("hand", (0.02 + 0.3 * t, 0.03 + 0.1 * np.sin(9.0 * t), 1.05 + 0.2 * t))
        springs.apply()
        v, wrench = sim.v, springs.held[0].wrench()
        step = sim.step()
        work += sim.time_step * wrench @ (0.5 * (v + sim.v))
    assert work > 0.1 and sim.energy() == pytest.approx(work, rel=1e-3 if integrator == "midpoint" else 1e-12)
    assert abs(step.certificate.energy_balance) < 1e-12


def test_dragging_over_rough_ground_keeps_the_books():
    """Euler's own error is m g v dt / 2 while a body rises, and nothing while it slides."""
    body = Primitive("box", "box", (0.1, 0.1, 0.1), Pose((0, 0, 0.05)), "free", MASS, material="stuff")
    sim = mb.Simulator(Scene(primitives=(body,), ground=Ground(material="stuff"), materials={"stuff": Material(0.3)}))
    springs = Springs(sim)
    springs.grab("hand", "box", (0, 0, 0.05), 1.0)
    start = sim.energy()
    for k in range(400):
        springs.move("hand", (0.5 * k * sim.time_step, 0, 0.05))
        springs.apply()
        certificate = sim.step().certificate
    assert certificate.contacts > 0 and sim.q[0] > 0.1 and sim.energy() - start < 0.5
    assert abs(certificate.energy_balance) < 1e-9


def test_several_hands_add_up_and_each_lets_go_of_its_own():
    sim = box()
    springs = Springs(sim)
    springs.grab("left", "box", (0, 0, 1.0), 1.0)
    springs.grab("right", "box", (0, 0, 1.0), 1.0)
    springs.move("left", (0.01, 0, 1.0))
    springs.move("right", (-0.01, 0, 1.0))
    run(sim, springs, 0.01)
    assert np.abs(sim.v).max() < 1e-12
    springs.release("right")
    run(sim, springs, 0.001)
    assert sim.v[3] == pytest.approx(springs.held[0].stiffness * 0.01 * sim.time_step / MASS, rel=1e-3)
    springs.release("left")
    v = sim.v.copy()
    run(sim, springs, 0.01)
    assert (sim.v == v).all() and not springs.held


@pytest.mark.parametrize("link", ["left_arm_link_4", "left_finger_1", "box"])
def test_every_link_can_be_dragged_without_blowing_up(arms, link):
    """Strongest springs on links of very different weight: speeds stay those of the hand."""
    arms.reset()
    springs = Springs(arms)
    place = arms.link_pose(link)[0] + 0.02  # beside all axes
    springs.grab("hand", link, place, 100.0)
    for k in range(400):
        springs.move("hand", place + 0.05 * np.sin(0.02 * k) * np.array((1.0, 1.0, 1.0)))
        springs.apply()
        arms.step(arms.nonlinear_effects())
        assert np.linalg.norm(springs.held[0].velocity()) < 5.0


def test_a_spring_moves_a_chain_that_can_move_in_one_plane_alone():
    sim = mb.Simulator(Scene(models=(SceneModel(mb.pendulum(2, length=2.0).urdf()),), gravity=(0.0, 0.0, 0.0)))
    place = sim.link_pose("link_1")[0]
    spring = PointSpring(sim, "link_1", place)
    assert 0.0 < spring.mass < 1e3 and spring.stiffness > 0.0


@pytest.mark.parametrize("bad", [(np.nan, 0, 1.0), (np.inf, 0, 1.0), (0, 1.0), (0, 1e300, 0)])
def test_impossible_places_are_refused_and_the_hand_stays_where_it_was(bad):
    sim = box()
    springs = Springs(sim)
    with pytest.raises(mb.InputError, match="place"):
        springs.grab("hand", "box", bad, 1.0)
    springs.grab("hand", "box", (0, 0, 1.0), 1.0)
    with pytest.raises(mb.InputError, match="place"):
        springs.move("hand", bad)
    assert (springs.held[0].target == (0, 0, 1.0)).all()
    for strength in (0.0, -1.0, np.nan):
        with pytest.raises(mb.InputError, match="strength"):
            springs.set_strength(strength)


def test_what_cannot_move_cannot_be_dragged(arms):
    with pytest.raises(mb.InputError, match="nothing can drag it"):
        PointSpring(arms, "table", (0, 0, 0))
    with pytest.raises(mb.InputError, match="there is no link 'nobody'"):
        PointSpring(arms, "nobody", (0, 0, 0))

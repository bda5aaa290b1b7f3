# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The law that changes the wheel, in this process: its grasp matrix, its path, and the whole task."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import rotation_about
from mb_contact.programs.demo.watch import WatchedSimulator
from mb_contact.programs.demo.wheel import PLACE, SUPPORTS, judge
from paths import ROOT

SCENE = ROOT / "config" / "wheel_change.yaml"
sys.path.insert(0, str(ROOT / "examples"))

import wheel_controller as law  # noqa: E402
from lift_controller import FRAMES  # noqa: E402
from wheel_in_process import Sensors, change  # noqa: E402


def make_controller(sim, task=None):
    sensors, model = Sensors(sim), mb.load_urdf(sim.robot_description)
    return law.WheelController(
        model, sim.world.joint_names, sim.joint_positions(), sensors.pose("wheel"), sensors.hub, task
    )


@pytest.fixture(scope="module")
def controller():
    controller = make_controller(mb.Simulator(SCENE))
    controller._set_grasp_matrix()
    return controller


def test_the_grasp_matrix_is_that_of_a_rigid_body(controller):
    rng = np.random.default_rng(5)
    p, R = controller._wheel
    middle = p + controller.task.middle * R[:, 2]
    turn, shift = rng.normal(size=(2, 3))
    velocity = controller._grasp_matrix.T @ np.concatenate([turn, shift])
    h = 1e-6
    for i, hand in enumerate(controller._hands[0]):
        moved = middle + h * shift + law.exponential(h * turn) @ (hand - middle)
        np.testing.assert_allclose(velocity[6 * i + 3 : 6 * i + 6], (moved - hand) / h, atol=1e-5)
        np.testing.assert_allclose(velocity[6 * i : 6 * i + 3], turn)
    forces = rng.normal(size=(2, 6))
    wrench = forces.sum(axis=0)
    wrench[:3] += sum(np.cross(hand - middle, f[3:]) for hand, f in zip(controller._hands[0], forces))
    np.testing.assert_allclose(controller._grasp_matrix @ forces.ravel(), wrench, atol=1e-12)


def test_wrenches_of_the_wheel_and_internal_ones_are_apart(controller):
    G, spread, internal = controller._grasp_matrix, controller._spread, controller._internal
    np.testing.assert_allclose(G @ spread, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(G @ internal, 0.0, atol=1e-12)
    np.testing.assert_allclose(internal @ internal, internal, atol=1e-12)
    assert np.linalg.matrix_rank(internal) == 6
    left, right = (spread @ np.array([0.0, 0.0, 0.0, 0.0, 0.0, 100.0])).reshape(2, 6)
    np.testing.assert_allclose(left[3:], right[3:], atol=1e-6)  # each hand takes half of the weight


def test_the_wheel_goes_on_an_arc_about_the_robot():
    a = np.array([0.4, 0.0, 0.9]), np.eye(3)
    turn = rotation_about((0.0, 0.0, 1.0), 0.65)
    b = turn @ a[0], turn @ a[1]
    for s in (0.0, 0.3, 1.0):
        p, R = law.between(a, b, s, 0.65)
        np.testing.assert_allclose(p, [0.4 * np.cos(0.65 * s), 0.4 * np.sin(0.65 * s), 0.9], atol=1e-12)
        np.testing.assert_allclose(R, rotation_about((0.0, 0.0, 1.0), 0.65 * s), atol=1e-12)
    p, R = law.between(a, (b[0] + [0.1, 0.0, -0.2], R), 1.0)
    np.testing.assert_allclose(p, b[0] + [0.1, 0.0, -0.2])


def test_rotation_vectors_come_back():
    for vector in np.random.default_rng(2).uniform(-1.5, 1.5, size=(20, 3)):
        np.testing.assert_allclose(law.turn_from(np.eye(3), law.exponential(vector)), vector, atol=1e-12)
    np.testing.assert_allclose(law.turn_from(np.eye(3), law.exponential(np.array([1e-13, 0.0, 0.0]))), 0.0, atol=1e-12)


def test_a_wheel_that_is_not_there_is_noticed():
    sim = mb.Simulator(SCENE)
    controller, sensors = make_controller(sim, law.WheelTask(pace=20.0)), Sensors(sim)
    state = *sensors.joints(), sensors.terms()
    with pytest.raises(law.WheelError, match="do not feel the tyre"):
        for k in range(1000):
            controller.update(1e-3 * k, *state, sensors.pose("wheel"), np.zeros(2))


def on_the_studs(controller):
    """A controller that is about to push the wheel on, the wheel where it waits before the studs."""
    names = [phase.name for phase in controller._phases]
    controller._number, controller._clock = names.index("push on"), 0.0
    controller._goal_pose = controller._seat
    controller._start_pose, controller._goal_pose = controller._goal("align"), controller._goal("push on")
    controller._wheel = controller._start_pose
    return controller


def test_the_reference_waits_for_a_wheel_that_lags_and_searches():
    controller = on_the_studs(make_controller(mb.Simulator(SCENE)))
    p, R = controller._start_pose
    for _ in range(300):
        controller._run_clock(1e-3)
    went = controller._clock
    assert went == pytest.approx(0.3)
    controller._wheel = p + 0.01 * R[:, 2], R
    places = []
    for _ in range(4000):
        controller._run_clock(1e-3)
        places.append(controller._reference(controller._clock)[0])
    assert controller._clock == went  # it waits
    across = np.array([(place - p) @ R for place in places])[:, :2]
    radius = np.linalg.norm(across, axis=1)
    assert 0.5 * controller.task.search < radius.max() <= controller.task.search
    assert all(np.sign(across[-900:, k]).min() < 0.0 < np.sign(across[-900:, k]).max() for k in (0, 1))  # all around
    controller._wheel = controller._reference(controller._clock, offset=False)
    controller._run_clock(1e-3)
    assert controller._clock > went


def test_a_wheel_that_does_not_go_on_ends_the_task():
    controller = on_the_studs(make_controller(mb.Simulator(SCENE)))
    p, R = controller._start_pose
    controller._wheel = p + 0.01 * R[:, 2], R
    with pytest.raises(law.WheelError, match="does not go onto its studs"):
        for _ in range(13000):
            controller._run_clock(1e-3)


@pytest.mark.long
@pytest.mark.slow
def test_the_wheel_is_taken_off_set_down_and_put_back():
    sim = WatchedSimulator(SCENE, "wheel", FRAMES, SUPPORTS)
    residuals, shares, limit = [], [], np.asarray(sim.world.effort_limit)

    def watch(_, effort, step):
        residuals.append(step.certificate.residual)
        shares.append(np.max(np.abs(effort) / limit))

    controller = change(sim, law.WheelTask(pace=2.4), watch=watch)
    verdict = judge(sim.record())
    assert not verdict.failures, verdict
    assert max(residuals) <= 1e-9 and max(shares) < 0.8
    assert verdict.rest_penetration < 1e-6 and verdict.slip < 1e-3
    mass = float(mb.load_urdf(ROOT / "urdf" / "wheel.urdf", floating=True).tree.mass.sum())
    assert controller.mass == pytest.approx(mass, abs=0.15)  # it has felt the weight


def test_the_place_of_the_verdict_is_that_of_the_task():
    np.testing.assert_allclose(law.WheelTask().place, PLACE)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The law that turns a lug nut off, in this process: its path, its spindle, and the whole task."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.builtin.wheel import DISC, NUT_HEIGHT, NUT_WIDTH, STUD_LENGTH, bolt_circle
from mb_contact.model.rotations import rotation_about
from mb_contact.programs.demo.nut import HUB, NUT, SUPPORTS, judge
from mb_contact.programs.demo.watch import WatchedSimulator
from paths import ROOT

SCENE = ROOT / "config" / "wheel_nuts.yaml"
sys.path.insert(0, str(ROOT / "examples"))

import nut_controller as law  # noqa: E402
from lift_controller import FRAMES  # noqa: E402
from nut_in_process import turn_off  # noqa: E402

HUB_AXES = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  #: the axle points to the robot
TIGHT = DISC + 0.00025 + 0.5 * NUT_HEIGHT  #: of the nut's middle before the hub [m]


def nut_at(way=0.0, turn=0.0):
    """Pose of the nut on the right, world axes."""
    x, y = bolt_circle()[4]
    p = np.array(HUB) + HUB_AXES @ [x, y, TIGHT + way]
    return p, HUB_AXES @ rotation_about((0.0, 0.0, 1.0), turn)


@pytest.fixture(scope="module")
def robot():
    scene = mb.load_scene(SCENE)
    model = mb.load_urdf(ROOT / "urdf" / "dual_arm_nut_runner.urdf")
    q = model.q_from(scene.models[0].joints)
    return model, q[model.joint_q]


def make_controller(robot, **task):
    model, position = robot
    return law.NutController(
        model, model.joint_names, position, nut_at(), (np.array(HUB), HUB_AXES), law.NutTask(**task)
    )


def test_the_socket_comes_to_the_nut_in_line_with_its_stud(robot):
    controller = make_controller(robot)
    for distance in (0.03, -0.01):
        p, R = controller._before(distance)
        mouth = p + R @ controller._mouth[0]
        along = (mouth - HUB) @ HUB_AXES
        x, y = bolt_circle()[4]
        np.testing.assert_allclose(along, [x, y, TIGHT + 0.5 * NUT_HEIGHT + distance], atol=1e-12)
        np.testing.assert_allclose(R @ controller._mouth[1] @ [0, 0, 1], [1, 0, 0], atol=1e-12)  # to the hub
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("turn", [0.0, 0.3, -0.5, 1.2, 3.0])
def test_the_spindle_takes_the_nearest_angle_at_which_the_hexagons_agree(robot, turn):
    controller = make_controller(robot)
    _, position = robot
    controller._hands[1][law.RIGHT] = controller._to[1]  # in line with the stud
    controller._see(nut_at(turn=turn), position)
    assert abs(controller._aim - position[controller._spindle]) <= np.pi / 6 + 1e-12
    socket = controller._to[1] @ controller._mouth[1] @ rotation_about((0.0, 0.0, 1.0), controller._aim)
    angle = np.arccos(np.clip(socket[:, 0] @ nut_at(turn=turn)[1][:, 0], -1.0, 1.0))
    assert angle % (np.pi / 3) == pytest.approx(0.0, abs=1e-7) or angle % (np.pi / 3) == pytest.approx(np.pi / 3)


def test_the_spindle_turns_against_the_thread_with_its_torque_at_most(robot):
    controller = make_controller(robot)
    controller._number, controller._clock = 2, 10.0
    assert controller._spindle_torque(0.0, 0.0, 0.0) == -controller.task.torque
    assert controller._spindle_torque(0.0, -controller.task.speed, 0.0) == 0.0
    assert controller._spindle_torque(0.0, -2.0 * controller.task.speed, 0.0) == controller.task.torque


def test_the_hand_follows_the_nut_by_its_turns_and_by_sight(robot):
    controller = make_controller(robot)
    _, position = robot
    controller._number = 1
    controller._advance(position)
    start = controller._hand_targets(0.0)[1][0]
    for _ in range(1000):  # a second at full speed, nothing seen: pitch / 2 pi a radian
        controller._seen_way = controller._way
        controller._spindle_torque(0.0, -controller.task.speed, 1e-3)
    way = (controller._hand_targets(0.0)[1][0] - start) @ HUB_AXES[:, 2]
    assert way == pytest.approx(controller.task.pitch * controller.task.speed / (2.0 * np.pi), rel=1e-9)
    controller._see(nut_at(way=0.02), position)
    for _ in range(4000):
        controller._spindle_torque(0.0, 0.0, 1e-3)
    assert (controller._hand_targets(0.0)[1][0] - start) @ HUB_AXES[:, 2] == pytest.approx(0.02, abs=1e-4)


def test_a_nut_that_does_not_turn_ends_the_task_and_one_beyond_its_stud_the_turning(robot):
    controller = make_controller(robot)
    _, position = robot
    controller._number = 1
    controller._advance(position)
    with pytest.raises(law.NutError, match="the nut does not turn: 0.00 mm"):
        for _ in range(2000):
            controller._run_clock(1e-3, position)
    controller._clock = 0.0
    controller._see(nut_at(way=0.01), position)
    with pytest.raises(law.NutError, match="the nut does not come off: 10.0 mm"):
        for _ in range(20000):
            controller._run_clock(1e-3, position)
    controller._clock = 0.0
    controller._see(nut_at(way=STUD_LENGTH + NUT_HEIGHT - TIGHT), position)
    controller._run_clock(1e-3, position)
    assert controller.phase == "stop"


def test_the_scene_has_each_nut_on_its_thread_and_the_socket_fits():
    scene = mb.load_scene(SCENE)
    sim = mb.Simulator(scene)
    p, quaternion = sim.link_pose(NUT)
    np.testing.assert_allclose(p, nut_at()[0], atol=1e-9)
    assert sim.released_threads == () and len(scene.loop_closures) == 5
    ends = [closure.end for closure in scene.loop_closures]
    assert ends == pytest.approx([STUD_LENGTH + 0.5 * NUT_HEIGHT - TIGHT] * 5)
    assert NUT_WIDTH < 0.0108 < NUT_WIDTH + 0.0005  # of the xacro's socket: the nut goes in, and does not spin in it
    for _ in range(3):
        assert sim.step(sim.nonlinear_effects()).certificate.residual < 1e-9


@pytest.mark.slow
def test_a_nut_is_turned_off_and_taken_away():
    sim = WatchedSimulator(SCENE, NUT, FRAMES, SUPPORTS)
    residuals, released = [], []

    def watch(_, effort, step):
        residuals.append(step.certificate.residual)
        if step.certificate.released:
            released.append((sim.time, sim.released_threads))

    turn_off(sim, watch=watch)
    verdict = judge(sim.record())
    assert not verdict.failures, verdict
    assert max(residuals) <= 1e-9
    assert [names for _, names in released] == [("thread_5",)]
    assert verdict.turns == pytest.approx(0.03275 / 0.0015, abs=0.1)  # of the last sample on it
    assert 6.0 < verdict.torque < 12.0 and verdict.push == 0.0

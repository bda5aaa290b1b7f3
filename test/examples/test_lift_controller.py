# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The example's control law, in this process: it lifts the box, also a heavier one that stands elsewhere."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import mb_contact as mb
from paths import ROOT

SCENE = ROOT / "config" / "dual_arm_lift.yaml"
sys.path.insert(0, str(ROOT / "examples"))

import hand_kernels  # noqa: E402
import lift_controller as law  # noqa: E402


def scene_with(mass=None):
    scene = mb.load_scene(SCENE)
    if mass is None:
        return scene
    primitives = [dataclasses.replace(p, mass=mass) if p.name == "box" else p for p in scene.primitives]
    return dataclasses.replace(scene, primitives=tuple(primitives))


def make_controller(sim, box, task=None):
    model = mb.load_urdf(sim.robot_description)
    return law.LiftController(model, sim.world.joint_names, sim.joint_positions(), box, task)


def terms_of(sim):
    space = sim.operational_space(law.FRAMES)
    return law.Terms(space.inertia, space.jacobian, space.bias, sim.mass_matrix(), sim.nonlinear_effects())


@pytest.fixture(scope="module")
def robot():
    return mb.Simulator(SCENE)


def lift(mass=None, offset=(0.0, 0.0), seen=True):
    """Run the whole task; the box stands ``offset`` beside its place, and the controller may not know."""
    sim = mb.Simulator(scene_with(mass))
    q = sim.q
    start = sim.world.tree.q_start[sim.world.objects["box"]]
    q[start : start + 2] += offset
    sim.set_state(q, sim.v)
    box, _ = sim.link_pose("box")
    controller = make_controller(sim, box if seen else box - [*offset, 0.0])
    limit = np.asarray(sim.world.effort_limit)
    log = SimpleNamespace(time=[], height=[], in_hands=[], share=0.0, jump=0.0, residual=0.0, penetration=0.0)
    log.solvers, last, model = Counter(), None, mb.load_urdf(sim.robot_description)
    log.margin = np.inf
    for k in range(round(controller.duration / sim.time_step)):
        position = sim.joint_positions()
        seen_box = sim.link_pose("box")[0] if k % 20 == 0 else None
        effort = controller.update(sim.time, position, sim.joint_velocities(), terms_of(sim), seen_box)
        certificate = sim.step(effort).certificate
        log.share = max(log.share, np.max(np.abs(effort) / limit))
        log.jump = max(log.jump, 0.0 if last is None else np.max(np.abs(effort - last) / limit))
        log.residual = max(log.residual, certificate.residual)
        log.penetration = max(log.penetration, certificate.penetration)
        log.margin = min(log.margin, np.min(position - model.lower), np.min(model.upper - position))
        log.solvers[certificate.solver] += 1
        last = effort
        if k % 10 == 0:
            p, _ = sim.link_pose("box")
            tcp, R = controller.hand_poses(sim.joint_positions())
            log.time.append(sim.time)
            log.height.append(p[2] - box[2])
            log.in_hands.append(np.einsum("hji,hj->hi", R, p - tcp))
    log.time, log.height, log.in_hands = map(np.array, (log.time, log.height, log.in_hands))
    log.rest, log.tilt = sim.link_pose("box")
    log.rest = log.rest - box
    log.touched = sum(np.abs(sim.contact_impulse(f)).sum() for f in sim.scene.contact_wrench_links)
    log.controller, log.speed = controller, np.abs(sim.v).max()
    return log


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"mass": 2.2, "offset": (0.005, -0.005), "seen": False},
        {"mass": 1.8, "offset": (-0.005, 0.005), "seen": True},
    ],
    ids=["as planned", "heavier and elsewhere", "lighter, place seen"],
)
def test_the_box_is_lifted_held_and_set_down(case):
    log = lift(**case)
    reference = log.controller.reference
    begin, end = reference.times[reference.phases.index("hold") + np.array([0, 1])]
    held = (log.time > begin) & (log.time < end)
    assert end - begin >= 3.0
    assert log.height[held].min() >= 0.2
    assert log.height.max() < 0.21
    carried = (log.time > reference.times[2]) & (log.time < reference.times[7])
    slip = np.linalg.norm(log.in_hands[carried] - log.in_hands[carried][0], axis=2).max()
    assert slip < 0.002
    assert abs(log.rest[2]) < 1e-4  # set down
    assert np.abs(log.tilt[:3]).max() < 1e-3
    assert log.touched == 0.0  # released
    assert log.speed < 0.02
    assert log.share < 0.5  # far from the effort limits
    assert log.jump < 0.03  # smooth
    assert log.margin > 0.1  # far from the position limits [rad]
    assert log.penetration < 1e-6
    assert log.residual <= 1e-9, dict(log.solvers)


def test_the_reference_is_smooth_and_passes_its_targets(robot):
    reference = make_controller(robot, robot.link_pose("box")[0]).reference
    times = np.arange(0.0, reference.duration, 1e-3)
    value, rate, acceleration = np.moveaxis(np.array([reference(t) for t in times]), 1, 0)
    np.testing.assert_allclose(np.gradient(value, 1e-3, axis=0)[5:-5], rate[5:-5], atol=1e-3)
    np.testing.assert_allclose(np.gradient(rate, 1e-3, axis=0)[5:-5], acceleration[5:-5], atol=0.3)
    np.testing.assert_allclose(value[0], reference(reference.duration)[0], atol=1e-12)
    assert not reference(-1.0)[1].any() and not reference(reference.duration + 1.0)[1].any()
    assert np.all(np.abs(rate[:, :6]) < 0.5)


def test_hand_poses_are_those_of_the_model(robot):
    model = mb.load_urdf(robot.robot_description)
    controller = make_controller(robot, robot.link_pose("box")[0])
    rng = np.random.default_rng(3)
    for _ in range(20):
        position = rng.uniform(-1.0, 1.0, len(model.joint_names))
        q = model.q_from(dict(zip(robot.world.joint_names, position)))
        p, R = controller.hand_poses(position)
        for i, frame in enumerate(law.FRAMES):
            expected_R, expected_p = model.link_pose(frame, q)
            np.testing.assert_allclose(p[i], expected_p, atol=1e-13)
            np.testing.assert_allclose(R[i], expected_R, atol=1e-13)


def test_damping_gives_every_mode_its_ratio(robot):
    controller = make_controller(robot, robot.link_pose("box")[0])
    inertia = terms_of(robot).inertia
    K, D = controller._K, controller._damping(inertia)
    # s^2 M + s D + K has the roots -zeta w +- i w sqrt(1 - zeta^2)
    companion = np.block(
        [[np.zeros((12, 12)), np.eye(12)], [-np.linalg.solve(inertia, K), -np.linalg.solve(inertia, D)]]
    )
    roots = np.linalg.eigvals(companion)
    np.testing.assert_allclose(-roots.real / np.abs(roots), controller.task.damping_ratio, rtol=1e-6)


def test_the_null_space_does_not_move_the_hands(robot):
    terms = terms_of(robot)
    posture = 30.0 * np.sin(np.arange(len(robot.joint_positions())))
    effort = hand_kernels.null_space(terms.jacobian, terms.inertia, terms.mass_matrix, posture)
    assert np.abs(effort).max() > 0.5
    moved = terms.jacobian @ np.linalg.solve(terms.mass_matrix, effort)
    assert np.abs(moved).max() < 1e-9 * np.abs(np.linalg.solve(terms.mass_matrix, effort)).max()


def test_a_lost_box_is_noticed(robot):
    box, _ = robot.link_pose("box")
    controller = make_controller(robot, box)
    reference = controller.reference
    hold = reference.times[reference.phases.index("hold")] + 0.1
    state = (robot.joint_positions(), robot.joint_velocities(), terms_of(robot))
    controller.update(hold, *state, box + [0.0, 0.0, controller.task.lift])
    with pytest.raises(law.LiftError, match="the box is lost: it is 205 mm"):
        controller.update(hold, *state, box)

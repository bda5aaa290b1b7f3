# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's quadruped: the trot's kinematics, and a second of walking over a height field.

Covers programs/bench/quadruped_picture.py, programs/bench/soles.py, programs/bench/trot.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.errors import SceneError
from mb_contact.model.poses import tree_poses
from mb_contact.model.shapes.looks import read_picture
from mb_contact.model.world import build_world
from mb_contact.programs.bench import quadruped, trot
from mb_contact.simulation.simulator import Simulator
from oracles.pinocchio_peer import example_robots

needs_robot = pytest.mark.skipif(example_robots() is None, reason="example-robot-data is not installed")


def feet_within_reach(seed):
    return np.array([0.0, 0.0, -0.62]) + np.random.default_rng(seed).uniform(-0.1, 0.1, (4, 3))


def foot_position(angles):
    """Foot (3,) from its roll axis, in the axes of the trunk."""
    roll, swing, knee = angles
    x = trot.THIGH * np.sin(swing) + trot.SHANK * np.sin(swing + knee)
    down = trot.SHOULDER + trot.THIGH * np.cos(swing) + trot.SHANK * np.cos(swing + knee)
    return np.array([x, down * np.sin(roll), -down * np.cos(roll)])


def test_leg_angles_bring_the_feet_where_they_shall_be():
    feet = feet_within_reach(0)
    for angles, foot in zip(trot.leg_angles(feet), feet):
        np.testing.assert_allclose(foot_position(angles), foot, atol=1e-14)
        steps = 1e-6 * np.eye(3)
        slopes = [(foot_position(angles + e) - foot_position(angles - e)) / 2e-6 for e in steps]
        np.testing.assert_allclose(trot.leg_jacobian(angles), np.transpose(slopes), atol=1e-9)


@needs_robot
def test_the_legs_are_those_of_the_robot():
    world = build_world(quadruped.quadruped("no_slip"))
    feet, q = feet_within_reach(1), world.q0.copy()
    angles = trot.SIGNS * trot.leg_angles(feet)
    for leg, row in zip(trot.LEGS, angles):
        for joint, angle in zip(("haa", "hfe", "kfe"), row):
            q[world.joint_q[world.joint_names.index(f"{leg}_{joint}_joint")]] = angle
    R, p = tree_poses(world.tree, q)
    trunk = world.frames["trunk"]
    for leg, wanted in zip(trot.LEGS, trot.HIP + feet):
        frame = world.frames[f"{leg}_foot"]
        place = p[frame.body] + R[frame.body] @ frame.p
        np.testing.assert_allclose(R[trunk.body].T @ (place - p[trunk.body]), wanted, atol=1e-10)


@needs_robot
@pytest.mark.parametrize("model", quadruped.EXPERIMENTS)
def test_it_walks_forwards_without_falling(model):
    """2 s, of which it stands for 0.5: forwards, upright, on its feet, with every step certified."""
    simulator = Simulator(quadruped.quadruped(model))
    run = quadruped.walk(simulator, 2.0)
    assert run.trunk[-1, 0] - run.trunk[500, 0] > 0.1
    assert run.upright > 0.95 and run.trunk[200:, 2].min() > 0.5
    assert run.residual.max() < 1e-9
    assert run.contacts.max() >= 4
    links = {contact["link_b"] for contact in simulator.step().contacts}
    assert links <= {f"{leg}_{part}" for leg in trot.LEGS for part in ("foot", "lowerleg")} | {"terrain"}


@needs_robot
def test_soles_have_30_studs_that_touch_level_ground():
    simulator = Simulator(quadruped.quadruped("no_slip", "ppm", "soles"))
    run = quadruped.walk(simulator, 0.3)
    assert 28 <= run.contacts.max() <= 32 and run.contacts[-1] >= 20 and run.upright > 0.98
    assert run.residual[-50:].max() < 1e-4 and set(run.solvers) <= {"none", "ppm", "no_push_out"}
    weight = 9.81 * simulator.world.tree.mass.sum()
    force = sum(contact["impulse"] for contact in simulator.step(quadruped.Trot(simulator).efforts()).contacts)
    assert abs(force[2]) / simulator.time_step == pytest.approx(weight, rel=0.5)  # it stands


@needs_robot
def test_soles_by_default_obey_every_row_that_is_not_tied():
    run = quadruped.walk(Simulator(quadruped.quadruped("no_slip", feet="soles")), 0.5)
    assert "over_budget" not in run.solvers and run.residual.max() < 1e-9 and run.contacts.max() > 20


@needs_robot
@pytest.mark.parametrize("feet", quadruped.FEET)
def test_a_picture_shows_the_robot_on_each_ground(feet, tmp_path):
    pixels = read_picture(quadruped.draw(tmp_path / "walk.png", quadruped.quadruped("no_slip", feet=feet), 0.41))
    green = (pixels[:, :, 1] > 1.5 * pixels[:, :, 0]).mean()
    assert pixels.shape == (460, 1100, 3) and 0.01 < green < 0.2  # HyQ's trunk


@needs_robot
@pytest.mark.slow
def test_a_run_for_each_solver():
    """A fifth of a second of landing and standing; the no-slip ones are the same motion."""
    runs = dict(quadruped.rows(0.2, "balls"))
    assert set(runs) == set(quadruped.RUNS)
    first = runs["no slip, modified PPM"]
    for name, run in runs.items():
        np.testing.assert_allclose(run.trunk, first.trunk, atol=1e-6 if name.startswith("no slip") else 2e-2)
        assert run.contacts.max() >= 2 and run.residual.max() < 1e-4


def test_without_the_robot_the_message_says_what_to_install(monkeypatch, capsys):
    def absent(_):
        raise SceneError("models[0].urdf: not found; pip install example-robot-data")

    monkeypatch.setattr(quadruped, "quadruped", absent)
    assert quadruped.run_bench(0.1) == 1
    assert "pip install example-robot-data" in capsys.readouterr().out

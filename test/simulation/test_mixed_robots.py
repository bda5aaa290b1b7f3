# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Robots beside surfaces in contact coordinates: one that pushes a rolling body, one that carries the surface."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix

PUSHER = """
time_step: {h}
materials: {{rubber: {{friction: {mu}}}, floor: {{friction: 0.8}}}}
pairs: [{{materials: [rubber, floor], friction: 0.8}}]
models: [{{urdf: package://mb_contact/urdf/pusher.urdf, pose: {{position: [{x}, {y}, 0.1]}},
          materials: {{default: rubber}}}}]
collision_filters: {{disable: [[finger, {floor}]]}}
"""
ROLLS = """
surface_contacts:
  - on: {{surface: {{plane: xy}}}}
    friction: 0.8
    body: {{name: egg, surface: {{ellipsoid: {axes}}}, mass: 1.0, inertia: {inertia}, pose: {{position: [0, 0, 0.1]}},
            start: rolling, material: rubber}}
"""
EXACT = """
ground: {{material: floor}}
primitives: [{{name: egg, shape: ellipsoid, size: {size}, mass: 1.0, inertia: {inertia}, base: free,
               pose: {{position: [0, 0, 0.1]}}, material: rubber}}]
"""
BALL = {"axes": [0.1, 0.1, 0.1], "inertia": [0.004] * 3}
EGG = {"axes": [0.1, 0.15, 0.1], "inertia": [0.0065, 0.004, 0.0065]}
CARRIED = """
time_step: 0.001
model: {urdf: package://mb_contact/urdf/plate_arm.urdf, joints: {wrist: 0.05}, velocities: {shoulder: 1.5}}
materials: {rubber: {friction: 0.3, restitution: 0.6}}
surface_contacts:
  - on: {link: plate, surface: {sphere: 0.5, side: inner, pose: {position: [0, 0, 0.51]}}}
    friction: 0.3
    restitution: 0.5
    body:
      name: ball
      surface: {sphere: 0.05}
      mass: 0.5
      inertia: [0.0005, 0.0005, 0.0005]
      pose: {position: [0.48, 0.04, 0.8]}
      start: rolling
      material: rubber
primitives:
  - {name: stone, shape: sphere, size: [0.03], mass: 0.2, base: free, material: rubber, pose: {position: [0, 2, 3]}}
"""


def written(folder, text):
    """A scene file with this text."""
    file = folder / "scene.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def touching(axes, turn=0.0):
    """Where the centre of the finger (4 cm) is that touches an upright body at its equator, seen by the angle."""
    at = np.array([-axes[0] * np.cos(turn), axes[1] * np.sin(turn)])
    normal = np.array([-np.cos(turn) / axes[0], np.sin(turn) / axes[1]])
    return at + 0.04 * normal / np.linalg.norm(normal)


def pushed(folder, body, h, mu, duration, force, turn=0.0, exact=False):
    """A simulator behind the push of a finger that begins in touch."""
    x, y = touching(body["axes"], turn)
    text = (PUSHER + (EXACT if exact else ROLLS)).format(
        h=h, mu=mu, x=x, y=y, floor="ground" if exact else "egg_base", size=[2.0 * a for a in body["axes"]], **body
    )
    file = written(folder, text)
    sim = mb.Simulator(file) if exact else mb.surface_simulator(file)
    for _ in range(round(duration / h)):
        sim.step([force, 0.0])
    return sim


@pytest.mark.parametrize("mu", [0.0, 0.2])
def test_a_finger_that_pushes_a_rolling_ball_moves_with_seven_fifths_of_it(tmp_path, mu):
    """With friction the finger drags its side of the ball down: m a = N - (2/5 m a + mu N)."""
    mass, damping, force, T = 1.0 + 1.4 / (1.0 - mu), 5.0, 2.0, 0.2
    sim = pushed(tmp_path, BALL, 0.001, mu, T, force)
    speed = force / damping * (1.0 - np.exp(-damping * T / mass))
    w, v = np.split(sim.object_motion("egg")[0], 2)
    np.testing.assert_allclose(v, (speed, 0.0, 0.0), atol=1e-4)
    np.testing.assert_allclose(w, (0.0, v[0] / 0.1, 0.0), atol=1e-10)
    push = force - damping * speed - force / mass * np.exp(-damping * T / mass)  # the finger and its carriage: 1 kg
    assert sim.tree.contact_wrench("egg")[1] == pytest.approx(9.81 + mu * push, abs=2e-3)
    assert sim.tree.mode_name("egg") == "rolling" and abs(sim.tree.gap("egg")) < 1e-14


def test_a_pushed_egg_converges_to_that_of_the_complementarity_simulator(tmp_path):
    """Both by first order, to the same motion; the surface's error is the smaller one."""
    def states(exact):
        found = []
        for h in (0.002, 0.001):
            sim = pushed(tmp_path, EGG, h, 0.2, 0.2, 1.5, 0.2, exact)
            found.append(np.concatenate((*sim.link_pose("egg"), sim.object_motion("egg")[0])))
        return np.array(found)

    mixed, exact = states(False), states(True)
    limits = 2.0 * mixed[1] - mixed[0], 2.0 * exact[1] - exact[0]
    np.testing.assert_allclose(limits[0], limits[1], atol=2e-5)
    assert np.abs(mixed[1] - limits[1]).max() < np.abs(exact[1] - limits[1]).max() < 1e-3
    assert np.linalg.norm(mixed[1][7:10]) > 0.5  # it turns by more than one axis


def upright_momentum(sim):
    """Moment of momentum about the world's z axis, of all bodies."""
    tree, kin, total = sim.world.tree, sim.context.kin, 0.0
    for k in range(len(tree.parent)):
        arm, (w, v) = kin.R[k] @ tree.com[k], np.split(kin.V[k], 2)
        v = v + np.cross(w, arm)
        spin = kin.R[k] @ tree.inertia[k] @ kin.R[k].T @ w
        total += (spin + tree.mass[k] * np.cross(kin.p[k] + arm, v))[2]
    return total


@pytest.mark.parametrize("gap", [0.0, 5e-4])
def test_a_stone_that_strikes_a_ball_in_a_carried_dish_keeps_the_moment_about_the_shoulder(tmp_path, gap):
    sim = mb.surface_simulator(written(tmp_path, CARRIED))
    n = np.array([-0.36, 0.48, 0.8])
    p, _ = sim.link_pose("ball")
    u = sim.object_motion("ball")[0][3:]
    sim.set_object("stone", pose=(p + (0.08 + gap) * n, (0, 0, 0, 1)), velocity=(0, 0, 0, *(u - 2.0 * n)))
    before, energy = upright_momentum(sim), sim.energy()
    step = sim.step()
    assert any("stone" in event.links[0] for event in step.events)
    assert upright_momentum(sim) == pytest.approx(before, abs=1e-12 if gap == 0.0 else 2e-4)
    assert sim.energy() < energy - 0.01 and np.abs(sim.joint_velocities()[1]) > 0.1  # the wrist has taken its part
    before = upright_momentum(sim)
    for _ in range(40):
        sim.step()
    assert upright_momentum(sim) == pytest.approx(before, abs=1e-9)


def test_efforts_and_joints_of_the_carrier_reach_the_tree(tmp_path):
    sim = mb.surface_simulator(written(tmp_path, CARRIED))
    lines = [line for line in CARRIED[: CARRIED.index("primitives")].splitlines() if "rubber" not in line]
    alone = mb.surface_simulator(written(tmp_path, "\n".join(lines)))
    for _ in range(60):
        sim.step([0.4, -0.2])
        alone.step([0.4, -0.2])
    np.testing.assert_array_equal(sim.joint_positions(), alone.joint_positions())
    np.testing.assert_array_equal(sim.link_pose("ball")[0], alone.link_pose("ball")[0])
    forces = [quat_to_matrix(sim.link_pose(link)[1]) @ sim.contact_impulse(link)[3:] for link in ("ball", "plate")]
    np.testing.assert_allclose(forces[0], -forces[1], atol=1e-15)
    assert forces[0][2] > 0.8 * 0.5 * 9.81 * 0.001
    sim.set_joints(["shoulder"], positions=[1.0], velocities=[0.0])
    assert sim.tree.q[0] == 1.0 and abs(sim.tree.gap("ball")) < 1e-13  # the ball has gone with the dish
    sim.set_external_wrench("ball", (0, 0, 0, 0, 0, 50.0), duration=0.02)
    for _ in range(20):
        sim.step()
    assert sim.tree.mode_name("ball") == "free" and sim.link_pose("ball")[0][2] > 0.57


def test_a_finger_pushes_a_ball_out_of_the_middle_of_a_dish_and_holds_it(tmp_path):
    """The push of the finger at rest is the weight's part along the dish: m g tan(angle) about the centre."""
    text = """
time_step: 0.004
models: [{urdf: package://mb_contact/urdf/pusher.urdf, pose: {position: [-0.15, 0, 0.1]},
          joint_properties: {x: {damping: 15.0}}}]
materials: {slick: {friction: 0.0}}
surface_contacts:
  - on: {surface: {sphere: 0.6, side: inner, pose: {position: [0, 0, 0.6]}}}
    friction: 0.5
    body: {name: ball, surface: {sphere: 0.1}, mass: 1.0, inertia: [0.004, 0.004, 0.004], start: rolling,
           pose: {position: [0, 0, 0.11]}, material: slick}
"""
    sim = mb.surface_simulator(written(tmp_path, text))
    for _ in range(750):
        sim.step([3.0, 0.0])
    p, _ = sim.link_pose("ball")
    w, v = np.split(sim.object_motion("ball")[0], 2)
    assert np.linalg.norm(v) < 5e-3 and abs(sim.tree.gap("ball")) < 1e-13
    arm = p - sim.link_pose("finger")[0]  # from the finger's centre: the push acts along it, without friction
    push = (3.0 - 15.0 * sim.joint_velocities()[0]) / (arm[0] / np.linalg.norm(arm)) * arm / np.linalg.norm(arm)
    radial = (np.array([0.0, 0.0, 0.6]) - p) / 0.5
    along = np.cross(radial, (0.0, 1.0, 0.0))
    np.testing.assert_allclose(along @ (push + (0.0, 0.0, -9.81)), 0.0, atol=0.05)
    assert p[0] > 0.1

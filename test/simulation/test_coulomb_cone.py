# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``friction_model: coulomb_cone``: the exact cone in the simulator, the same in every direction."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from paths import ROOT

pytestmark = pytest.mark.quick

BLOCK = """
time_step: {dt}
friction_model: {model}
friction_directions: {n_f}
gravity: [0, 0, -9.81]
materials: {{ice: {{friction: {mu}}}}}
ground: {{material: ice}}
primitives:
  - name: block
    shape: box
    size: [0.2, 0.2, 0.1]
    mass: 2.0
    material: ice
    pose: {{position: [0, 0, 0.05]}}
    base: free
"""


def block(tmp_path, dt=1e-3, model="coulomb_cone", n_f=8, mu=0.5):
    path = tmp_path / "block.yaml"
    path.write_text(BLOCK.format(dt=dt, model=model, n_f=n_f, mu=mu))
    return mb.Simulator(mb.load_scene(path))


def slide(sim, angle, speed=1.0):
    """Distance and sideways drift of a block pushed along ``angle``, until it rests."""
    sim.reset()
    v = np.zeros(6)
    v[3:5] = speed * np.cos(angle), speed * np.sin(angle)
    sim.set_state(sim.q, v)
    start = sim.q[:2]
    for _ in range(1000):
        step = sim.step()
        assert step.certificate.residual <= 1e-9 and step.certificate.solver in ("warm_start", "newton")
        if np.abs(sim.v).max() < 1e-12:
            break
    moved = sim.q[:2] - start
    return moved @ [np.cos(angle), np.sin(angle)], moved @ [-np.sin(angle), np.cos(angle)]


def test_a_block_stops_after_the_same_distance_in_every_direction(tmp_path):
    """v^2 / (2 mu g) = 0.101937 m: within 0.5 % at 1 ms, spread over the directions 1e-6."""
    sim = block(tmp_path)
    ways = np.array([slide(sim, angle) for angle in np.linspace(0, 2 * np.pi, 12, endpoint=False) + 0.1])
    assert np.abs(ways[:, 0] / 0.101937 - 1.0).max() <= 0.005
    assert np.ptp(ways[:, 0]) <= 1e-6 * 0.101937
    assert np.abs(ways[:, 1]).max() <= 1e-7


def test_a_spinning_and_sliding_block_dissipates_and_comes_to_rest(tmp_path):
    sim = block(tmp_path)
    sim.set_state(sim.q, [0.0, 0.0, 6.0, 0.7, -0.4, 0.0])
    energy = sim.energy()
    for _ in range(600):
        step = sim.step()
        assert step.certificate.residual <= 1e-8
        assert step.certificate.energy <= energy + 1e-9
        energy = step.certificate.energy
    assert np.abs(sim.v).max() < 1e-9
    assert set(step.contacts["state"]) == {"stick"}


def test_a_block_on_a_slope_sticks_below_the_friction_angle_and_slides_above(tmp_path):
    for mu, slides in ((0.51, False), (0.49, True)):
        text = BLOCK.format(dt=1e-3, model="coulomb_cone", n_f=8, mu=mu)
        tilt = np.arctan(0.5)
        g = 9.81 * np.array([np.sin(tilt) * np.cos(0.3), np.sin(tilt) * np.sin(0.3), -np.cos(tilt)])
        path = tmp_path / f"slope_{mu}.yaml"
        path.write_text(text.replace("[0, 0, -9.81]", str([float(x) for x in g])))
        sim = mb.Simulator(mb.load_scene(path))
        for _ in range(200):
            step = sim.step()
        speed = np.linalg.norm(sim.v[3:])
        want = 0.2 * 9.81 * (np.sin(tilt) - mu * np.cos(tilt)) if slides else 0.0
        assert speed == pytest.approx(want, abs=2e-6)
        assert set(step.contacts["state"]) == ({"slip"} if slides else {"stick"})
        if slides:
            np.testing.assert_allclose(step.contacts["sigma"], speed, atol=1e-6)


def test_states_are_restored_bit_for_bit_with_the_warm_start(tmp_path):
    sim = block(tmp_path)
    sim.set_state(sim.q, [0.0, 0.0, 2.0, 0.5, 0.3, 0.0])
    for _ in range(20):
        sim.step()
    saved = sim.save()
    first = [(sim.step(), sim.q, sim.v)[1:] for _ in range(20)]
    sim.restore(saved)
    again = [(sim.step(), sim.q, sim.v)[1:] for _ in range(20)]
    for (q, v), (p, w) in zip(first, again):
        assert (q == p).all() and (v == w).all()


def test_the_contact_problem_of_a_cone_step_is_at_hand(tmp_path):
    """W, q and impulses of the step: the four corners bear the weight and obey Coulomb's law."""
    sim = block(tmp_path)
    sim.step()
    problem = sim.contact_problem()
    assert problem.W.shape == (12, 12) and problem.dim.tolist() == [3] * 4
    np.testing.assert_allclose(problem.velocities, problem.W @ problem.impulses + problem.q, atol=1e-12)
    assert problem.impulses[::3].sum() == pytest.approx(2.0 * 9.81e-3)
    layout = mb.solvers.ConeLayout.contacts(problem.mu)
    residual = mb.solvers.cone_residual(problem.W, problem.q, layout, problem.impulses)
    assert residual.natural <= 1e-9


def test_the_lift_grasps_with_the_exact_cone():
    """Two arms hold the box: joint limits, 16 contacts, redundant; every step is solved."""
    from dataclasses import replace

    scene = mb.load_scene(ROOT / "config" / "dual_arm_lift.yaml")
    sim = mb.Simulator(replace(scene, friction_model="coulomb_cone"))
    for _ in range(50):
        step = sim.step()
        assert step.certificate.residual <= 1e-8, step.certificate


SQUEEZED = """
friction_model: {model}
materials: {{rubber: {{friction: 0.8}}}}
primitives:
  - {{name: left, shape: box, size: [0.1, 1, 1], material: rubber, pose: {{position: [-0.149, 0, 0]}}}}
  - {{name: right, shape: box, size: [0.1, 1, 1], material: rubber, pose: {{position: [0.149, 0, 0]}}}}
  - {{name: body, shape: box, size: [0.2, 0.2, 0.2], mass: 1.0, material: rubber, base: free}}
"""


@pytest.mark.parametrize("model", ["coulomb_cone", "coulomb_polyhedral"])
def test_a_body_squeezed_between_walls_that_overlap_it_is_solved_without_push_out(tmp_path, model):
    """No velocity leaves both walls; rigid walls that nothing presses then bear no force, so the body falls."""
    path = tmp_path / "squeezed.yaml"
    path.write_text(SQUEEZED.format(model=model))
    sim = mb.Simulator(mb.load_scene(path))
    for k in range(1, 4):
        step = sim.step()
        assert step.certificate.solver == "no_push_out" and step.certificate.residual <= 1e-9
        np.testing.assert_allclose(sim.v, [0, 0, 0, 0, 0, -9.81e-3 * k], atol=1e-9)


def test_a_gripper_of_loops_springs_and_mimic_joints_holds_with_the_exact_cone():
    """Loops are eliminated before the cones see W; the box stays in the grasp as it does under the pyramid."""
    from dataclasses import replace

    scene = mb.load_scene(ROOT / "config" / "four_bar_gripper.yaml")
    sim = mb.Simulator(replace(scene, friction_model="coulomb_cone"))
    for _ in range(20):
        step = sim.step()
        assert step.certificate.residual <= 1e-9 and step.certificate.loop_residual <= 1e-9
    assert step.certificate.loop_rows > 0 and len(step.contacts) >= 8
    assert np.abs(sim.v).max() <= 1e-9

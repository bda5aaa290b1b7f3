# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Problems posed by touched nodes against the same problems by rows.

Covers core/solve/nodes.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.handle import ONLY_ROWS
from mb_contact.core.solve.system import BLOCKS, BY_NODES, BY_ROWS, ROWS
from mb_contact.model.scene import Gear, Material, Softness
from mb_contact.programs.bench.legged import legged_scene


def moving(sim=None, seed=0):
    """A legged machine, with embedded loops by default, whose drives shake it."""
    sim, rng = sim or mb.Simulator(legged_scene()), np.random.default_rng(seed)
    efforts = np.zeros(len(sim.world.joint_names))
    driven = [i for i, name in enumerate(sim.world.joint_names) if sim.servos()[0][i]]
    for _ in range(20):
        efforts[driven] = rng.uniform(-3.0, 3.0, len(driven))
        sim.step(efforts)
    return sim, efforts


def step_by(sim, state, efforts, only_rows):
    """v and the certificate of a step from a state, W by rows or as it is chosen; and the face."""
    sim.restore(state)
    sim.context.solver[ONLY_ROWS] = float(only_rows)
    certificate = sim.step(efforts).certificate
    return sim.v, certificate, int(sim.context.system.form[0])


def test_the_states_of_the_velocities_before_are_those_of_most_steps():
    """Feet that shuffle: half of the steps take three Newton steps or fewer; from W r + q alone it was eight."""
    sim, efforts = moving()
    taken, waves = [], np.flatnonzero(efforts)
    for k in range(60):
        efforts[waves] += 0.05 * np.sin(0.1 * k + waves)
        certificate = sim.step(efforts).certificate
        assert certificate.residual <= 1e-10 and certificate.contacts >= 16
        taken.append(certificate.iterations)
    assert np.median(taken) <= 4


def operator(P):
    """W = A Omega A* of a system by nodes."""
    count, A = P.nodes.count[0], np.zeros((P.count[ROWS], P.nodes.count[0] + 6))
    for i, side in np.ndindex(len(A), 2):
        if P.nodes.at[i, side] >= 0:
            A[i, P.nodes.at[i, side] : P.nodes.at[i, side] + 6] += P.nodes.A[side, i]
    return A[:, :count] @ P.nodes.Omega[:count, :count] @ A[:, :count].T


def limited_scene():
    """The machine with embedded loops, knees that can hardly move."""
    scene = legged_scene()
    urdf = scene.models[0].urdf
    for side in ("left", "right"):
        angle = scene.models[0].joints[f"{side}_knee"]
        limit = f'type="revolute"><limit lower="{angle - 1e-6}" upper="{angle + 1e-6}" effort="1e3" velocity="1e3"/>'
        urdf = urdf.replace(f'<joint name="{side}_knee" type="continuous">', f'<joint name="{side}_knee" {limit}')
    return replace(scene, models=(replace(scene.models[0], urdf=urdf),), loops="embed")


@pytest.mark.parametrize("seed", range(4))
def test_velocities_of_embedded_loops_are_those_by_rows(seed):
    """Omega by the sweeps over the aggregates, with the rates of joints at their limits among its coordinates."""
    sim, efforts = moving(mb.Simulator(limited_scene()), seed)
    state = sim.save()
    v, certificate, face = step_by(sim, state, efforts, False)
    P = sim.context.system
    W, source = operator(P), P.source[: P.count[ROWS]].copy()
    assert face == BY_NODES and P.nodes.count[0] == 14 and P.count[BLOCKS] > 20
    by_rows, other, face = step_by(sim, state, efforts, True)
    assert face == BY_ROWS
    np.testing.assert_allclose(W, P.W[np.ix_(source, source)], atol=1e-12 * W.max())
    np.testing.assert_allclose(v, by_rows, atol=1e-8)
    for one in (certificate, other):
        assert one.residual <= 1e-10 and one.solver in ("newton", "warm_start")


def test_embedded_loops_that_are_not_solved_by_nodes_are_posed_by_rows():
    """With few Newton steps: some are too few by nodes and enough by rows, from the same velocities and impulses."""
    sim, efforts = moving(mb.Simulator(limited_scene()), 2)
    state = sim.save()
    v, _, _ = step_by(sim, state, -2.0 * efforts, True)
    solved = []
    for sim.newton_budget in range(1, 40):
        found, certificate, face = step_by(sim, state, -2.0 * efforts, False)
        solved += [found] if face == BY_ROWS and certificate.residual <= 1e-10 else []
    assert solved
    np.testing.assert_allclose(solved, np.tile(v, (len(solved), 1)), atol=1e-8)


def test_compliances_of_a_contact_are_those_of_the_nodes():
    """W_nn, W_n1 and W_n2 of each contact by the dense product A Omega A*."""
    sim, _ = moving()
    P = sim.context.system
    W, count = operator(P), P.count[BLOCKS]
    first = P.blocks.start[:count]
    assert P.form[0] == BY_NODES and count == 20
    np.testing.assert_allclose(P.blocks.D[first], W[first, first], rtol=1e-12)
    for k in (1, 2):
        np.testing.assert_allclose(P.work.own[:count, 0, k], W[first, first + k], atol=1e-12)


def test_a_gear_is_a_row_between_the_coordinates_of_its_joints():
    sim, efforts = moving(mb.Simulator(replace(legged_scene(), gears=(Gear("left_hip_yaw", "right_hip_yaw", -0.5),))))
    state = sim.save()
    v, certificate, face = step_by(sim, state, efforts, False)
    P = sim.context.system
    assert face == BY_NODES and P.nodes.count[0] == 14 and P.count[BLOCKS] == 21
    W, source = operator(P), P.source[: P.count[ROWS]].copy()
    left, right = (sim.world.joint_v[sim.world.joint_names.index(f"{side}_hip_yaw")] for side in ("left", "right"))
    assert v[left] == pytest.approx(-0.5 * v[right], abs=1e-12) and abs(v[left]) > 1e-3
    by_rows, _, face = step_by(sim, state, efforts, True)
    assert face == BY_ROWS and certificate.loop_residual < 1e-10
    np.testing.assert_allclose(W, P.W[np.ix_(source, source)], atol=1e-12 * W.max())
    np.testing.assert_allclose(v, by_rows, atol=1e-8)


def test_loops_that_contradict_each_other_say_so_and_stay_calm():
    """Velocities that open a planar loop out of its plane: no impulse fulfils all five rows of its hinge."""
    sim, rng = mb.Simulator(replace(legged_scene(), loops="multipliers")), np.random.default_rng(0)
    sim.set_state(sim.q, 0.3 * rng.uniform(-1.0, 1.0, len(sim.v)))
    certificates = [sim.step().certificate for _ in range(30)]
    assert certificates[0].tied_residual > 1e-6 and certificates[-1].tied_residual < 1e-8
    assert certificates[-1].closure_error < 1e-7 and np.abs(sim.v).max() < 2.0


def test_soft_feet_by_nodes_are_those_by_rows():
    soft = Material(friction=0.8, softness=Softness(stiffness=2e4, shear=0.5, damping=0.003))
    scene = legged_scene()
    ground = replace(scene.ground, material="soft")
    sim, efforts = moving(mb.Simulator(replace(scene, ground=ground, materials={**scene.materials, "soft": soft})))
    state = sim.save()
    v, certificate, face = step_by(sim, state, efforts, False)
    assert face == BY_NODES and certificate.residual <= 1e-10 and certificate.contacts >= 16
    by_rows, other, face = step_by(sim, state, efforts, True)
    assert face == BY_ROWS and other.residual <= 1e-10
    np.testing.assert_allclose(v, by_rows, atol=1e-9)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Problems posed by touched nodes, with loops eliminated, against the same problems by rows and by bodies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.handle import ONLY_ROWS, TIED
from mb_contact.core.solve.by_nodes import COUNT, FOLLOWERS, GONE, LEFT
from mb_contact.core.solve.system import BY_BODIES, BY_NODES, BY_ROWS
from mb_contact.model.scene import Gear
from mb_contact.programs.bench.legged import legged_scene


def rows_of_loops(**changes):
    """A simulator of the machine whose loops have rows, none of them tied."""
    sim = mb.Simulator(replace(legged_scene(), loops="multipliers", **changes))
    sim.context.solver[TIED] = 0.0
    return sim


def moving(sim=None, seed=0):
    """A legged machine, with rows of its loops by default, whose drives shake it."""
    sim, rng = sim or rows_of_loops(), np.random.default_rng(seed)
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
    return sim.v, certificate, int(sim.context.system.face[0])


@pytest.mark.parametrize("seed", range(4))
def test_velocities_are_those_by_rows(seed):
    sim, efforts = moving(seed=seed)
    state = sim.save()
    v, certificate, face = step_by(sim, state, efforts, False)
    info = sim.context.system.nodes.info
    assert face == BY_NODES and info[COUNT] == 12 and info[FOLLOWERS] == 18 and info[GONE] == 30
    by_rows, other, face = step_by(sim, state, efforts, True)
    assert face == BY_ROWS
    np.testing.assert_allclose(v, by_rows, atol=1e-8)
    for one in (certificate, other):
        assert one.residual <= 1e-10 and one.solver in ("newton", "warm_start")
    assert certificate.loop_velocity < 1e-12 and certificate.contacts == 20


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
    nodes, left, count = P.nodes, P.nodes.info[LEFT], P.nodes.info[COUNT]
    A = np.zeros((P.blocks.start[left], count + 6))
    for i in range(len(A)):
        for side in range(2):
            if nodes.at[i, side] >= 0:
                A[i, nodes.at[i, side] : nodes.at[i, side] + 6] += nodes.A[side, i]
    W, source = A[:, :count] @ nodes.Omega[:count, :count] @ A[:, :count].T, P.source[: len(A)].copy()
    assert face == BY_NODES and count == 14 and left > 20 and nodes.info[GONE] == nodes.info[FOLLOWERS] == 0
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
    nodes, left, count = P.nodes, P.nodes.info[LEFT], P.nodes.info[COUNT]
    rows = P.blocks.start[left]
    A = np.zeros((rows, count))
    for i in range(rows):
        for side in range(2):
            if nodes.at[i, side] >= 0:
                A[i, nodes.at[i, side] : nodes.at[i, side] + 6] = nodes.A[side, i]
    W = A @ nodes.Omega[:count, :count] @ A.T
    first = P.blocks.start[:left]
    assert P.face[0] == BY_NODES and left == 20
    np.testing.assert_allclose(P.blocks.D[first], W[first, first], rtol=1e-12)
    for k in (1, 2):
        np.testing.assert_allclose(P.work.own[:left, 0, k], W[first, first + k], atol=1e-12)


def test_a_gear_is_eliminated_with_the_loops():
    sim, efforts = moving(rows_of_loops(gears=(Gear("left_hip_yaw", "right_hip_yaw", -0.5),)))
    v, certificate, face = step_by(sim, sim.save(), efforts, False)
    assert face == BY_NODES and sim.context.system.nodes.info[FOLLOWERS] == 19
    left, right = (sim.world.joint_v[sim.world.joint_names.index(f"{side}_hip_yaw")] for side in ("left", "right"))
    assert v[left] == pytest.approx(-0.5 * v[right], abs=1e-12) and abs(v[left]) > 1e-3
    state = sim.save()
    by_rows, _, _ = step_by(sim, state, efforts, True)
    again, _, _ = step_by(sim, state, efforts, False)
    assert certificate.loop_residual < 1e-12
    np.testing.assert_allclose(again, by_rows, atol=1e-8)


def test_loops_that_contradict_each_other_say_so_and_stay_calm():
    """Velocities that open a planar loop out of its plane: no impulse fulfils all five rows of its hinge."""
    sim, rng = rows_of_loops(), np.random.default_rng(0)
    sim.set_state(sim.q, 0.3 * rng.uniform(-1.0, 1.0, len(sim.v)))
    certificates = [sim.step().certificate for _ in range(30)]
    assert certificates[0].solver == "over_budget" and certificates[0].loop_residual > 1e-6
    assert certificates[-1].loop_residual < 1e-8 and certificates[-1].closure_error < 1e-7
    assert np.abs(sim.v).max() < 2.0


def test_what_is_not_solved_is_posed_by_bodies():
    sim, efforts = moving()
    state = sim.save()
    sim.newton_budget = 1
    certificate = sim.step(-efforts).certificate
    assert sim.context.system.face[0] == BY_BODIES and certificate.solver == "over_budget"
    sim.newton_budget = 400
    sim.restore(state)
    assert sim.step(efforts).certificate.solver in ("newton", "warm_start")
    assert sim.context.system.face[0] == BY_NODES


def test_impulses_of_eliminated_rows_balance_the_motion():
    """Joint wrenches come from the loops' impulses: through a driven hinge they are what its servo asks for."""
    sim, efforts = moving()
    sim.step(efforts)
    joint = "left_knee_crank"
    k = sim.world.joint_names.index(joint)
    wrench = sim.joint_wrench(joint)
    assert wrench[1] == pytest.approx(sim.context.work.joint_effort[sim.world.joint_v[k]], abs=1e-9)
    assert np.linalg.norm(wrench) > 0.1

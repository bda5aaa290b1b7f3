# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's viscous model: the dense problems (47)-(55), its limit, a block that slides."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.types import WORLD
from scenes.drumwright_cases import (
    GRAVITY,
    DenseCase,
    assert_complementary,
    corners,
    free_body,
    impulse_of,
    pose,
    resting_case,
    second_difference,
)


@pytest.mark.parametrize("seed", range(30))
def test_viscous_acceleration_solves_the_dense_problem(seed):
    """(13)-(18) with dN/dt v from second differences of the gaps."""
    model, dense, q, v, effort, c, loops = resting_case(seed, 1 + seed % 4)
    result = mb.studies.viscous_acceleration(model, q, v, effort, c, bilateral=loops, gravity=GRAVITY)
    case = DenseCase(dense, effort, c, loops, 0.0)
    slip = np.column_stack((case.S @ v, case.T @ v))
    if result.status == "inconsistent":
        product = second_difference(model, dense, c)
        F = np.vstack((case.N, case.J))
        assert np.linalg.matrix_rank(F, tol=1e-9) < len(F)  # only dependent rows can contradict each other
        assert np.abs(product).max() > 1e-6
        return
    assert (result.level, result.status) == ("acceleration", "solved")
    np.testing.assert_allclose(result.tangent, -c.viscous * slip, atol=1e-10)
    unexplained = case.M @ result.v_dot - case.force - impulse_of(case, result)
    assert np.abs(unexplained).max() <= 1e-9 * max(1.0, np.abs(case.force).max(), np.abs(result.normal).max())
    a = case.N @ result.v_dot + second_difference(model, dense, c)
    size = max(1.0, np.abs(case.N @ np.linalg.solve(case.M, case.force)).max())
    np.testing.assert_allclose(result.rows[:, 0], a, atol=3e-6 * size)
    assert_complementary(case, case.N, result.normal, a, size, tol=1e-5)
    assert result.certificate.residual <= 1e-9 * result.certificate.scale


def test_viscous_block_stops_exponentially():
    """v(t) = v_0 exp(-4 mu_v t / m); four corners, Runge-Kutta on the accelerations."""
    world, half, mass, mu_v = free_body("box", (0.4, 0.3, 0.1), 2.0), np.array([0.2, 0.15, 0.05]), 2.0, 0.7

    def rates(x, v):
        c = mb.studies.point_contacts(0, WORLD, corners(np.array([x, 0.0, 0.05]), half), np.tile([0, 0, 1.0], (4, 1)),
                              viscous=mu_v)  # fmt: skip
        result = mb.studies.viscous_acceleration(world, pose(x, z=0.05), [0, 0, 0, v, 0, 0], None, c)
        assert result.level == "acceleration" and result.status == "solved"
        assert result.normal.sum() == pytest.approx(mass * 9.81, rel=1e-12)
        np.testing.assert_allclose(np.delete(result.v_dot, 3), 0.0, atol=1e-12)
        return np.array([v, result.v_dot[3]])

    state, h = np.array([0.0, 0.8]), 0.02
    for _ in range(25):
        k1 = rates(*state)
        k2 = rates(*(state + 0.5 * h * k1))
        k3 = rates(*(state + 0.5 * h * k2))
        k4 = rates(*(state + h * k3))
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert state[1] == pytest.approx(0.8 * np.exp(-4 * mu_v / mass * 0.5), rel=1e-7)
    assert state[0] == pytest.approx(0.8 * mass / (4 * mu_v) * (1 - np.exp(-4 * mu_v / mass * 0.5)), rel=1e-7)


def test_an_approach_is_no_matter_of_accelerations_and_the_scene_s_step_lands():
    """Inelastic, friction over the step only, D15 (23)."""
    velocity = mb.model.Velocity((0.0, 0.0, 0.0), (0.8, 0.0, -2.0))
    at = mb.model.Pose((0.0, 0.0, 0.05))
    box = mb.model.Primitive("box", "box", (0.4, 0.3, 0.1), at, "free", 2.0, material="oil", velocity=velocity)
    scene = mb.Scene(primitives=(box,), ground=mb.model.Ground(0.0, "oil"), friction_model="viscous",
                     materials={"oil": mb.model.Material(viscous=0.7)})  # fmt: skip
    sim, feet = mb.Simulator(scene), corners(np.array([0, 0, 0.05]), np.array([0.2, 0.15, 0.05]))
    c = mb.studies.point_contacts(0, WORLD, feet, np.tile([0, 0, 1.0], (4, 1)), viscous=0.7)
    assert mb.studies.viscous_acceleration(sim.world, sim.q, sim.v, None, c).status == "impact"
    sim.step()
    np.testing.assert_allclose(sim.v, [0, 0, 0, 0.8 / (1 + 1e-3 * 4 * 0.7 / 2.0), 0, 0], atol=1e-12)

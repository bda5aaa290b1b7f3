# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Impulses of least norm change no velocity and share a weight evenly."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.types import WORLD
from scenes.drumwright_cases import (
    GRAVITY,
    DenseCase,
    corners,
    free_body,
    pose,
    random_case,
)


@pytest.mark.nojit
def test_least_norm_of_a_flat_block():
    """Four corners carry a quarter each, and nothing pulls sideways."""
    world, half = free_body("box", (0.4, 0.3, 0.1), 2.0), np.array([0.2, 0.15, 0.05])
    c = mb.studies.point_contacts(0, WORLD, corners(np.array([0, 0, 0.05]), half), np.tile([0, 0, 1.0], (4, 1)))
    result = mb.studies.no_slip_step(world, pose(z=0.05), np.zeros(6), None, c, 0.01, least_norm=True)
    np.testing.assert_allclose(result.normal, 2.0 * 9.81 * 0.01 / 4, atol=1e-14)
    np.testing.assert_allclose(result.tangent, 0.0, atol=1e-14)
    assert len(result.active) <= 3 and result.independent == 3


def test_least_norm_changes_no_velocity():
    """Same v+, a norm that is never greater, and the least one where no normal is at zero (pseudo-inverse)."""
    least = 0
    for seed in range(80):
        model, dense, q, v, effort, c, loops = random_case(seed, 2 + seed % 10, constraints=seed % 3)
        plain, relaxed = (
            mb.studies.no_slip_step(model, q, v, effort, c, 0.01, bilateral=loops, gravity=GRAVITY, least_norm=flag)
            for flag in (False, True)
        )
        np.testing.assert_allclose(relaxed.v, plain.v, atol=1e-8 * max(1.0, np.abs(plain.v).max()))
        assert relaxed.status == "solved" and relaxed.normal.min() >= 0.0
        case = DenseCase(dense, effort, c, loops, 0.01)
        r, old = (np.concatenate((x.bilateral, x.normal, x.tangent.ravel("F"))) for x in (relaxed, plain))
        assert np.linalg.norm(r) <= np.linalg.norm(old) * (1 + 1e-9)
        B = np.vstack((case.J, case.N, case.S, case.T))
        carries = np.concatenate((np.ones(len(case.J), bool), relaxed.normal > 0, np.ones(2 * len(case.S), bool)))
        best = np.linalg.lstsq(B[carries].T, B.T @ old, rcond=1e-12)[0]
        if np.linalg.norm(best) >= np.linalg.norm(r) * (1 - 1e-6):
            least += 1
    assert least >= 70


@pytest.mark.parametrize("seed", range(20))
def test_least_norm_of_viscous_normals_changes_no_velocity(seed):
    model, dense, q, v, effort, c, loops = random_case(seed, 6, constraints=seed % 3)
    results = [
        mb.studies.viscous_step(model, q, v, effort, c, 0.02, bilateral=loops, gravity=GRAVITY, least_norm=flag)
        for flag in (False, True)
    ]
    assert [result.status for result in results] == ["solved", "solved"]
    np.testing.assert_allclose(results[1].v, results[0].v, atol=1e-8)
    np.testing.assert_allclose(results[1].tangent, results[0].tangent, atol=1e-8)
    norms = [np.linalg.norm(result.normal) for result in results]
    assert results[1].normal.min() >= -1e-12 and norms[1] <= norms[0] * (1.0 + 1e-9)


def test_the_four_corners_of_a_block_share_its_weight_under_viscous_friction():
    world = free_body("box", (0.4, 0.2, 0.1), 3.0)
    feet = [[x, y, 0.0] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    c = mb.studies.point_contacts(0, WORLD, feet, np.tile([0, 0, 1.0], (4, 1)), viscous=2.0)
    result = mb.studies.viscous_step(world, pose(z=0.05), [0, 0, 0, 0.3, 0, 0], None, c, 0.01, least_norm=True)
    assert result.status == "solved"
    drag = 8.0 * 0.3 / (1.0 + 8.0 * 0.01 / 3.0)  # taken at the velocity after the step, at the height of the ground
    uneven = result.normal - 0.25 * 3.0 * 9.81 * 0.01
    assert np.abs(uneven[:2] - uneven[0]).max() < 1e-12 and np.abs(uneven[2:] - uneven[2]).max() < 1e-12
    assert uneven[2] == pytest.approx(drag * 0.01 * 0.05 / 0.8, rel=1e-2)  # the front corners carry the braking moment

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The polyhedral problem of J14 Eq. 53, written out, against its dense assembly; its size."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.solvers.blocks import BOX, CONTACT, UNILATERAL
from oracles.coulomb import dense_lcp, dense_residual
from scenes.contact_problems import random_problem, written_out


@pytest.mark.parametrize("seed", range(25))
def test_lemke_solution_of_the_written_out_problem_satisfies_the_judge(seed):
    """What plain Lemke finds for Eq. 53 passes the same certificate, though its impulses may differ."""
    problem = random_problem([seed, 4], 3, 1, 12, 8)
    M, h = written_out(problem).lcp()
    result = mb.solve_lcp(M, h, "lemke")
    assert result.status == "solved"  # these seeds; on harder problems Lemke gives up
    r = written_out(problem).impulses_from(result.z)
    residuals = mb.studies.certify(written_out(problem), r)
    assert max(residuals[:2]) <= 1e-9
    assert dense_residual(*problem, r) <= 1e-9


@pytest.mark.nojit
@pytest.mark.parametrize("n_f", [4, 8])
@pytest.mark.parametrize("contacts, limits", [(1, 0), (2, 1), (0, 2)])
def test_written_out_problem_equals_dense_assembly(contacts, limits, n_f):
    problem = random_problem([contacts, limits], contacts, limits, 6, n_f)
    M, h = written_out(problem).lcp()
    want_M, want_h, Z = dense_lcp(*problem)
    np.testing.assert_allclose(M, want_M, atol=1e-13)
    np.testing.assert_allclose(h, want_h, atol=1e-13)
    z = np.random.default_rng(1).uniform(size=len(h))
    np.testing.assert_allclose(written_out(problem).impulses_from(z), Z @ z, atol=1e-14)


@pytest.mark.parametrize("n_f", [4, 8, 16])
@pytest.mark.parametrize("contacts, limits", [(4, 0), (1, 0), (7, 5)])
def test_size_is_contacts_times_directions_plus_two(contacts, limits, n_f):
    """J14 Table 1, OS row: n_u (n_f + 2), and one for each joint limit."""
    problem = random_problem(0, contacts, limits, 12, n_f)
    assert written_out(problem).size == contacts * (n_f + 2) + limits
    assert written_out(problem).lcp()[0].shape == (written_out(problem).size,) * 2


def test_jain_2014_table_1_os_has_24_unknowns():
    """The reference robot with n_f = 4 and four contacts: 24, whatever its 26 links."""
    assert written_out(random_problem(0, 4, 0, 26, 4)).size == 24


def test_torsion_rolling_and_joint_friction_by_hand():
    """Unit compliances, 1 m/s into the contact: every friction impulse is at its bound, along or against one axis."""
    q = np.array([-1.0, 3.0, 0.0, 2.0, -2.0, 0.0, -0.5, 1.0])
    bounds = np.array([0.0, 0.5, 0.2, 0.1, 0.3, 0.3, 0.0, 0.4])
    kind, dim = np.array([CONTACT, UNILATERAL, BOX]), np.array([6, 1, 1])
    problem = mb.studies.ContactProblem(np.eye(8), q, bounds[[1, 6, 7]] * [1, 0, 0], dim, 4, q, q, kind, bounds)
    assert problem.size == (4 + 2) + (4 + 1) + 3 + 1 + 3
    want = np.array([1.0, -0.5, 0.0, -0.1, 0.3, 0.0, 0.5, -0.4])
    result = mb.solve_lcp(*problem.lcp(), "lemke")
    assert result.status == "solved"
    np.testing.assert_allclose(problem.impulses_from(result.z), want, atol=1e-12)
    found = mb.solvers.solve_blocks(problem.W, q, *(kind, dim, bounds), n_f=4)
    np.testing.assert_allclose(found.r, want, atol=1e-9)
    for row, more in ((3, 0.02), (4, 0.02), (7, -0.02)):  # beyond its bound
        beyond = want + more * np.eye(8)[row]
        residuals = mb.studies.certify(problem, beyond)
        assert max(residuals[:2]) >= 0.019
    assert max(mb.studies.certify(problem, want)[:2]) <= 1e-12


def test_unequal_coefficients_scale_the_directions():
    """Sideways slip along the tangent with the smaller coefficient meets that one."""
    problem = mb.studies.ContactProblem(
        np.eye(3), np.array([-1.0, 0.0, 2.0]), np.array([0.6]), np.array([3]), 4, np.zeros(3), np.zeros(3),
        bounds=np.array([0.0, 0.6, 0.2]),
    )  # fmt: skip
    z = mb.solve_lcp(*problem.lcp(), "lemke").z
    np.testing.assert_allclose(problem.impulses_from(z), [1.0, 0.0, -0.2], atol=1e-12)

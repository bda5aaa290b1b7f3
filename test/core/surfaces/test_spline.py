# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""B-spline bases and their derivatives against SciPy's, and the span that a parameter lies in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

from mb_contact.core.surfaces.spline import knot_span, spline_basis

pytestmark = pytest.mark.nojit

KNOTS = np.array([0.0, 0.0, 0.0, 0.0, 0.3, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0])  #: of degree 3, a double one within
DEGREE, COUNT = 3, len(KNOTS) - 4


@pytest.mark.parametrize("u", [0.0, 0.1, 0.3, 0.4, 0.5, 0.77, 0.999])
def test_bases_and_three_derivatives(u):
    span = knot_span(KNOTS, 0, DEGREE, COUNT, u)
    assert KNOTS[span] <= u < KNOTS[span + 1]
    basis = np.full((2, 4, DEGREE + 1), np.nan)
    spline_basis(KNOTS, 0, DEGREE, span, u, 1, basis)
    for j in range(DEGREE + 1):
        one = BSpline(KNOTS, np.eye(COUNT)[span - DEGREE + j], DEGREE)
        want = [one(u, nu=order) for order in range(4)]
        np.testing.assert_allclose(basis[1, :, j], want, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(basis[1].sum(axis=1), [1.0, 0.0, 0.0, 0.0], atol=1e-9)
    assert np.isnan(basis[0]).all()


def test_outside_its_knots_the_last_span_goes_on():
    """A stage of an integrator may look there: the polynomial of the first or last span, with its derivatives."""
    for u, span in ((-0.1, 3), (1.1, 6)):
        assert knot_span(KNOTS, 0, DEGREE, COUNT, u) == span
        basis, h = np.zeros((2, 4, 4)), 1e-5
        spline_basis(KNOTS, 0, DEGREE, span, u, 0, basis)
        assert basis[0, 0].sum() == pytest.approx(1.0, abs=1e-12)
        near = []
        for v in (u - h, u + h):
            spline_basis(KNOTS, 0, DEGREE, span, v, 1, basis)
            near.append(basis[1].copy())
        np.testing.assert_allclose((near[1][:3] - near[0][:3]) / (2 * h), basis[0, 1:], rtol=1e-6, atol=1e-4)


def test_a_low_degree_has_no_high_derivatives():
    knots, basis = np.array([0.0, 0.0, 2.0, 2.0]), np.full((2, 4, 2), np.nan)
    spline_basis(knots, 0, 1, 1, 0.5, 0, basis)
    np.testing.assert_allclose(basis[0], [[0.75, 0.25], [-0.5, 0.5], [0.0, 0.0], [0.0, 0.0]], atol=1e-15)

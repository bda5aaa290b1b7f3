# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals of each kind of block by hand; what counts for loops; NaN."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.certificate import GAP, INFEASIBLE, VIOLATION, WORST
from mb_contact.core.solve.certificate import certify
from mb_contact.core.solve.system import make_system, make_system_handle
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY, UNILATERAL

pytestmark = pytest.mark.nojit


def residuals(kind, mu, D, r, u, n_f=0, first_bilateral=99, immobile=0):
    """Residuals and loops of one block."""
    n = len(r)
    P = make_system(n, 1, 0, n, np.zeros(0, np.int64), np.zeros(0, np.int64))
    P.count[:], P.blocks.kind[0], P.blocks.n_f[0], P.blocks.start[1] = (1, n, 1), kind, n_f, n
    P.source[:], P.blocks.mu[:], P.blocks.D[:], P.r[:] = np.arange(n), mu, D, r
    P.immobile[:] = immobile
    found, loops = np.full(4, np.nan), np.full(2, np.nan)
    certify(make_system_handle(P), np.array(u, float), first_bilateral, found, loops)
    return found, loops


@pytest.mark.parametrize("r, u, gap, below", [
    (2.0, 0.0, 0.0, 0.0),  # presses
    (0.0, 3.0, 0.0, 0.0),  # parts
    (0.5, 3.0, 1.0, 0.0),  # both: the smaller of r s = 1 and u / s = 1.5
    (-0.5, 3.0, 0.0, 1.0),  # pulls
    (1.0, -3.0, 0.0, 1.5),  # closes
])  # fmt: skip
def test_one_sided_rows(r, u, gap, below):
    found, _ = residuals(UNILATERAL, [0.0], [4.0], [r], [u])
    np.testing.assert_allclose(found[[GAP, INFEASIBLE]], [gap, below], atol=1e-15)
    found, _ = residuals(UNILATERAL, [1.0], [4.0], [1.0 + r], [u])  # at least one
    np.testing.assert_allclose(found[[GAP, INFEASIBLE]], [gap, below], atol=1e-15)


def test_equalities_and_boxes():
    assert residuals(EQUALITY, [0.5], [4.0], [2.0], [-1.0])[0][INFEASIBLE] == 0.0  # soft: u + 0.5 r = 0
    assert residuals(EQUALITY, [0.0], [4.0], [2.0], [-1.0])[0][INFEASIBLE] == pytest.approx(0.5)
    assert residuals(BOX, [2.0], [4.0], [2.0], [-7.0])[0][GAP] == 0.0  # at its bound, against the velocity
    assert residuals(BOX, [2.0], [4.0], [2.0], [1.0])[0][GAP] == pytest.approx(2.0 * 0.25)
    assert residuals(BOX, [2.0], [4.0], [1.0], [0.0])[0][GAP] == 0.0


@pytest.mark.parametrize("n_f", [0, 8])
def test_friction(n_f):
    """Sticks; slips along d_1; slips the wrong way; is too much by 0.2 N s."""
    mu, D = [0.0, 0.5, 0.5], [1.0, 4.0, 4.0]
    for r, u in (([2.0, 0.3, -0.4], [0, 0, 0]), ([2.0, -1.0, 0.0], [0, 3.0, 0])):
        found, _ = residuals(CONTACT, mu, D, r, u, n_f)
        assert max(found[:3]) <= 1e-14 and found[WORST] == 0.0
    found, _ = residuals(CONTACT, mu, D, [2.0, 1.0, 0.0], [0.0, 3.0, 0.0], n_f)
    assert max(found[[GAP, INFEASIBLE]]) >= 1.0 and found[VIOLATION] <= 1e-15
    found, _ = residuals(CONTACT, mu, D, [2.0, 1.2, 0.0], [0.0, 0.0, 0.0], n_f)
    assert found[VIOLATION] == pytest.approx(0.2, rel=1e-12)


def test_the_disc_s_distance():
    """r = (0.3, 0) within the disc of radius 1, u = (0.8, 0), D = 4: r moves to 0.1, 0.2 away, times root D."""
    found, _ = residuals(CONTACT, [0.0, 0.5, 0.5], [1.0, 4.0, 4.0], [2.0, 0.3, 0.0], [0.0, 0.8, 0.0])
    assert found[GAP] == pytest.approx(2.0 * 0.2, rel=1e-12) and found[VIOLATION] == 0.0


def test_rows_of_loops_are_kept_apart():
    found, loops = residuals(EQUALITY, [0.0], [4.0], [2.0], [-1.0], first_bilateral=0)
    assert not found[:3].any() and found[WORST] == -1.0
    np.testing.assert_allclose(loops, [0.5, 1.0])
    _, loops = residuals(EQUALITY, [0.5], [4.0], [2.0], [-0.9], first_bilateral=0)
    np.testing.assert_allclose(loops, [0.05, 0.1])  # soft: what is beside -0.5 r
    _, loops = residuals(EQUALITY, [4.0], [4.0], [2.0], [-1.0], first_bilateral=0, immobile=1)
    assert loops[1] == 1.0  # an immobile row is not soft: its mu is its scale


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_infinitely_bad(bad):
    for r, u in (([bad], [0.0]), ([0.0], [bad])):
        assert residuals(UNILATERAL, [0.0], [1.0], r, u)[0][GAP] == np.inf

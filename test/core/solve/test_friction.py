# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Laws of the rows of contacts under each friction model."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.collision import make_contacts
from mb_contact.core.solve.friction import COULOMB, COULOMB_VISCOUS, NO_SLIP, VISCOUS, contact_laws, make_friction
from mb_contact.core.workspace import CONTACT, EQUALITY, NO_BLOCK, UNILATERAL, make_rows
from mb_contact.types import FrictionParameters

pytestmark = pytest.mark.nojit

DT = 0.01
SOFTNESS = 1.0 / (DT * 2.5)


def rows_of(model, gaps, extra=-1):
    """Rows of contacts of one pair with friction 0.4 and 0.6 and 2.5 N s/m."""
    contacts, rows = make_contacts(len(gaps)), make_rows(1, 3 * len(gaps))
    contacts.count[0], contacts.gap[:] = len(gaps), gaps
    surfaces = FrictionParameters(**{name: np.zeros(1) for name in FrictionParameters._fields})
    friction = make_friction(model, 8, 2, np.array([2.5]), surfaces, len(gaps))
    friction.mu[:], friction.extra[:] = (0.4, 0.6), extra
    rows.next[:] = -1
    contact_laws(rows, contacts, friction, DT, 1.0)
    return rows


def test_coulomb_s_contacts_are_one_block():
    rows = rows_of(COULOMB, [0.0, 0.1], extra=9)
    assert rows.law.tolist() == 2 * [CONTACT, NO_BLOCK, NO_BLOCK]
    assert rows.next.tolist() == [1, 2, 9, 4, 5, 9]  # torsion and rolling stand behind the tangents
    assert rows.mu.tolist() == 2 * [0.0, 0.4, 0.6] and not rows.viscous.any()


@pytest.mark.parametrize("model, first", [(VISCOUS, UNILATERAL), (COULOMB_VISCOUS, CONTACT)])
def test_tangents_that_touch_are_soft_equalities_where_friction_is_viscous(model, first):
    rows = rows_of(model, [0.0, 0.1])
    assert rows.law.tolist() == 2 * [first, NO_BLOCK, NO_BLOCK]
    assert rows.viscous.tolist() == [0.0, SOFTNESS, SOFTNESS, 0.0, 0.0, 0.0]


def test_tangents_that_touch_are_equalities_without_slip():
    rows = rows_of(NO_SLIP, [0.0, 0.1])
    assert rows.law.tolist() == [UNILATERAL, EQUALITY, EQUALITY, UNILATERAL, NO_BLOCK, NO_BLOCK]
    assert not rows.viscous.any() and (rows.next == -1).all()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The friction models: which law each row of a contact has under each of them."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import part
from mb_contact.core.workspace import CONTACT, EQUALITY, NO_BLOCK, UNILATERAL
from mb_contact.types import TOUCHING_FRICTION, FrictionParameters

COULOMB = 0  #: friction models
NO_SLIP = 1
VISCOUS = 2
COULOMB_VISCOUS = 3

MODEL, DIRECTIONS, HALVES = range(3)  #: entries of Friction.model


class Friction(NamedTuple):
    """The friction model of a scene and what its contacts need."""

    #: COULOMB .. COULOMB_VISCOUS; n_f, 0 for the exact cone; halves of the step in which viscous friction acts: 2, or
    #: 1 where rows are the sum of the slips at both ends
    model: Annotated[Integers, 3]
    viscous: Annotated[Reals, "m"]  #: viscous coefficient of each pair of geometries [N s/m]
    surfaces: FrictionParameters
    mu: Annotated[Reals, "c", 2]  #: friction coefficients along both tangents
    extra: Annotated[Integers, "c"]  #: first row of torsion and rolling, or -1


def make_friction(model, n_f, halves, viscous, surfaces, contacts):
    """For so many contacts."""
    model, extra = np.array([model, n_f, halves]), np.full(contacts, -1, np.int64)
    return allocate(Friction, c=contacts, model=model, viscous=viscous, surfaces=surfaces, extra=extra)


@part
def contact_laws(rows, contacts, friction, dt, unit):
    """Laws of the rows of all contacts, with those of torsion and rolling; ``unit`` of length.

    By Coulomb's models a contact is one block.  Else its normal is one, and tangents that touch are equalities.
    """
    model = friction.model[MODEL]
    acting = 0.5 * dt * friction.model[HALVES]
    for i in range(contacts.count[0]):
        pair, n = contacts.pair[i], 3 * i
        if model == COULOMB or model == COULOMB_VISCOUS:
            rows.law[n] = CONTACT
            rows.next[n], rows.next[n + 1], rows.next[n + 2] = n + 1, n + 2, friction.extra[i]
            rows.mu[n + 1], rows.mu[n + 2] = friction.mu[i, 0], friction.mu[i, 1]
        else:
            rows.law[n] = UNILATERAL
        touches = model != COULOMB and contacts.gap[i] <= TOUCHING_FRICTION * unit
        for row in range(n + 1, n + 3):
            rows.law[row] = EQUALITY if touches and model == NO_SLIP else NO_BLOCK
            if touches and model != NO_SLIP and friction.viscous[pair] > 0.0:
                rows.viscous[row] = 1.0 / (acting * friction.viscous[pair])

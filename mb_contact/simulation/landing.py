# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The event of contacts without restitution that a step of time stepping has stopped."""

from __future__ import annotations

import numpy as np

from mb_contact.simulation.context import IMPACT_SPEED
from mb_contact.simulation.results import Impact

CONTACT_WORK = 2  # entry of StepWork.ledger


def landing(context, time, certificate):
    """Impact of the contacts that the step's own problem has stopped, ``time`` [s] being the step's start.

    Impulses and the energy that contacts take are the step's: weight and friction are in them too.

    Parameters
    ----------
    context : StepContext
    time : float
    certificate : Certificate
        That of the step.

    Returns
    -------
    Impact
    """
    contacts, solution, work = context.contacts, context.solution, context.work
    normal = slice(0, 3 * certificate.contacts, 3)
    stopped = np.flatnonzero(
        (solution.before[normal] < -context.settings[IMPACT_SPEED]) & (solution.r[normal] > 0.0)
    )
    energy, gained = certificate.energy, float(work.ledger[CONTACT_WORK])
    return Impact(
        time=time,
        links=tuple(context.pair_links[pair] for pair in contacts.pair[stopped]),
        points=contacts.point[stopped],
        normals=contacts.normal[stopped],
        speeds=solution.before[normal][stopped],
        restitution=np.zeros(len(stopped)),
        compression=work.contact_impulse[stopped],
        decompression=np.zeros((len(stopped), 3)),
        energy_before=energy - gained,
        energy_compressed=energy,
        energy_after=energy,
        law="inelastic",
        scale=1.0,
        residual=certificate.residual,
    )

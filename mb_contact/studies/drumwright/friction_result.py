# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Outcome of Drumwright's friction models: impulses or forces, velocities, and residuals that certify them."""

from typing import NamedTuple

import numpy as np


class FrictionCertificate(NamedTuple):
    """Residuals recomputed from the impulses by one sweep over the bodies; no matrix of the solver is used.

    With W_ii the row's own compliance, pairs are measured as z W_ii^1/2 and w W_ii^-1/2.
    """

    complementarity_gap: float  #: largest min(z, w) over the normals
    infeasibility: float  #: largest negative part of z or w
    equality: float  #: largest error of a bilateral or no-slip row, or of the viscous law; left-out rows too
    scale: float  #: largest scaled free velocity, what the others compare with

    @property
    def residual(self):
        """The worst of the three."""
        return max(self.complementarity_gap, self.infeasibility, self.equality)


class FrictionModelResult(NamedTuple):
    """Outcome of a friction model; impulses [N s] at the velocity level, forces [N] at the acceleration level.

    Rows are along the contacts' axes in the world, on body A (D15 sections III to V).

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> contact = mb.studies.point_contacts(0, -1, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    >>> result = mb.studies.no_slip_step(world, [0, 0, 0, 0, 0, 0, 1], np.zeros(6), None, contact, dt=0.01)
    >>> result.level, result.active, result.certificate.residual < 1e-12
    ('velocity', array([0]), True)
    """

    level: str  #: "velocity" or "acceleration"
    status: str  #: "solved", "inaccurate", "ray" (no solution found), "limit", "impact", "inconsistent"
    v: np.ndarray  #: (N,), velocity after the step; at the acceleration level the velocity that came in
    v_dot: np.ndarray  #: (N,), acceleration; at the velocity level (v - v_before) / dt
    normal: np.ndarray  #: (n,), along each normal, on A
    tangent: np.ndarray  #: (n, 2), along t1 and t2, on A
    bilateral: np.ndarray  #: (b,), of the constraints; zero where a constraint depends on others
    rows: np.ndarray  #: (n, 3), velocities (accelerations) of the normal and the tangents afterwards
    active: np.ndarray  #: contacts with a normal impulse: the warm start of the next step
    independent: int  #: equality rows that algorithm 2 picked
    pivots: int  #: indices added and removed (algorithm 1), linear solves or pivots of the polyhedral solver
    reason: str  #: why there are no forces at the acceleration level, that they are not unique, or empty
    certificate: FrictionCertificate

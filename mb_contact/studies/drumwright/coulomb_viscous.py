# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Coulomb and viscous friction together: the general model of D15 at the acceleration level (13-22).

Acceleration level (13)-(22): contacts that slide feel mu f_n against their slip, contacts at rest choose a
force in the friction polygon; both feel -mu_v v_t.  With P = (A^-1)_11 and Q the sliding directions the
problem's matrix is N P (N - mu Q)*, which need not be positive: there may be no solution, or several
(Painleve).  So the residual is looked at.  The velocity level (23)-(28), which always has a solution, is what the steps
of a scene with ``friction_model: coulomb_viscous`` are.

The friction cone is a polygon of n_f corners, as in Stewart and Trinkle, Anitescu and Potra, or the cone itself.
"""

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.core.lcp.certificate import INFEASIBLE
from mb_contact.core.lcp.cone_residual import MEASURES, NATURAL, cone_residuals
from mb_contact.core.lcp.lemke import lemke, make_lemke_work
from mb_contact.dynamics.arguments import GRAVITY, TreeModel
from mb_contact.errors import InputError
from mb_contact.solvers.friction import solve_friction
from mb_contact.solvers.layout import ConeLayout
from mb_contact.studies.drumwright.friction_system import (
    RANK_TOLERANCE,
    FrictionModelResult,
    FrictionSystem,
    system_of,
)
from mb_contact.studies.drumwright.point_contacts import Bilateral, PointContacts
from mb_contact.studies.drumwright.viscous import RESTING
from mb_contact.types import TOUCHING_FRICTION

SLIDING = 1e-6  #: tangential speed from which a contact slides at the acceleration level [m/s]


def coulomb_viscous_acceleration(
    model: TreeModel | FrictionSystem,
    q: ArrayLike,
    v: ArrayLike,
    effort: ArrayLike | None,
    contacts: PointContacts,
    *,
    directions: int | None = 8,
    bilateral: Bilateral | None = None,
    gravity: ArrayLike = GRAVITY,
    touch: float = TOUCHING_FRICTION,
    resting: float = RESTING,
    sliding: float = SLIDING,
    rank_tolerance: float = RANK_TOLERANCE,
) -> FrictionModelResult:
    """Accelerations and forces with Coulomb and viscous friction (D15 (13)-(22)).

    Parameters
    ----------
    model, q, v, effort, contacts, bilateral, gravity, touch, resting, rank_tolerance
        As in :func:`~mb_contact.studies.drumwright.viscous.viscous_acceleration`.
    directions : int or None
        Corners of the friction polygon of contacts at rest, None for the exact cone; the force of a sliding one is
        exactly against its slip.
    sliding : float
        Tangential speed from which a contact slides [m/s].

    Returns
    -------
    FrictionModelResult
        Level "acceleration", ``reason`` "not unique" where a sliding contact's own entry of the matrix is negative
        (several solutions are then possible, this is one); status "impact" or "inconsistent" where no forces are.

    Raises
    ------
    InputError
        Sizes do not fit or numbers are not finite.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> contact = mb.studies.point_contacts(0, -1, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], mu=0.5)
    >>> q, v = [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0]
    >>> mb.studies.coulomb_viscous_acceleration(world, q, v, None, contact).v_dot[3]  # - mu g
    -4.905
    """
    directions = _even(directions)
    system = system_of(model)
    speed, here, viscous, impact = system.begin_acceleration(
        q, v, effort, contacts, bilateral, gravity, touch, resting
    )
    here = np.flatnonzero(here)
    hard = (system.b + 3 * here[:, None] + np.arange(3)).ravel()
    system.choose(np.arange(system.b), 0.0, hard)
    W, e = system.condensed(rank_tolerance)
    slip = np.linalg.norm(speed[here, 1:], axis=1)
    slides = slip > sliding
    against = np.where(slides[:, None], -speed[here, 1:] / np.maximum(slip, sliding)[:, None], 0.0)
    mu = contacts.mu[here]
    turned = _turned(W, mu, slides, against)
    pivots = 0
    for r, more in _forces(W, e, mu, slides, against, directions, np.sqrt(system.eq.diagonal[hard[::3]])):
        pivots += more
        system.complete(r)
        certificate = _with_friction(system, hard, mu, directions, ~slides)
        result = system.result(
            "acceleration", "solved", extra_tangent=viscous, pivots=pivots, certificate=certificate
        )
        if result.status == "solved":
            break
    reason = "impact" if impact else "" if result.status == "solved" else "inconsistent"
    if reason:
        return result._replace(status=reason, reason=reason)
    return result._replace(reason="not unique" if turned else "")


def _even(directions):
    """None, or an even number of at least 4."""
    if directions is None:
        return None
    if not isinstance(directions, (int, np.integer)) or directions < 4 or directions % 2:
        raise InputError(f"directions must be an even number from 4 on, or None, got {directions!r}")
    return int(directions)


def _polygon(directions):
    """Unit tangents (n_f, 2)."""
    angle = 2.0 * np.pi * np.arange(directions) / directions
    return np.column_stack((np.cos(angle), np.sin(angle)))


def _forces(W, e, mu, slides, against, directions, own):
    """Attempts at the acceleration level, (forces (3 n,), pivots) each; ``own`` are roots of the compliances."""
    if directions is None:
        yield _on_cones(W, e, mu, slides, against)
        return
    M, h, Z = _acceleration_lcp(W, e, mu, slides, against, directions)
    units = _units(own, slides, directions)
    for s, weight in ((units, 0.0), (_unit_diagonal(M), 0.0), (units, 1e-12), (units, 1e-9)):
        z, pivots = _lemke(M, h, s, weight, Z.shape[1])
        yield Z @ z[: Z.shape[1]], pivots


def _turned(W, mu, slides, against):
    """Whether the normal force of a sliding contact pulls its own normal acceleration down (N P (N - mu Q)* < 0)."""
    for i in np.flatnonzero(slides):
        if W[3 * i, 3 * i] + mu[i] * W[3 * i, 3 * i + 1 : 3 * i + 3] @ against[i] < 0.0:
            return True
    return False


def _acceleration_lcp(W, e, mu, slides, against, directions):
    """M, h of the acceleration level; Z with r = Z [f_n; beta].

    Unknowns: f_n of all contacts; beta of those at rest, n_f each; sigma of those at rest.
    """
    n, rest = len(mu), np.flatnonzero(~slides)
    k, n_f = len(rest), directions
    D = _polygon(n_f)
    Z = np.zeros((3 * n, n + k * n_f))
    R = np.zeros_like(Z)  # the rows that each unknown is complementary to
    Z[3 * np.arange(n), np.arange(n)] = R[3 * np.arange(n), np.arange(n)] = 1.0
    for c in range(2):
        Z[3 * np.arange(n) + 1 + c, np.arange(n)] = mu * against[:, c]  # (19): -mu f_n along the slip
    E = np.zeros((n + k * n_f, k))
    top = np.zeros((k, n + k * n_f))
    for j, i in enumerate(rest):
        columns = slice(n + j * n_f, n + (j + 1) * n_f)
        Z[3 * i + 1 : 3 * i + 3, columns] = R[3 * i + 1 : 3 * i + 3, columns] = D.T
        E[columns, j] = 1.0
        top[j, i] = mu[i]
        top[j, columns] = -1.0
    A = R.T @ W @ Z
    M = np.block([[A, E], [top, np.zeros((k, k))]])
    return M, np.concatenate((R.T @ e, np.zeros(k))), Z


def _units(own, slides, directions):
    """What brings f_n, beta and sigma to one unit: square roots of the contacts' compliances."""
    rest = own[~slides]
    return np.concatenate((own, np.repeat(rest, directions), 1.0 / rest))


def _unit_diagonal(M):
    diagonal = np.abs(np.diag(M))
    return np.sqrt(np.where(diagonal > 1e-12 * diagonal.max(initial=0.0), diagonal, 1.0))


def _lemke(M, h, s, weight, forces):
    """z by Lemke's algorithm on the problem in units s, its force rows raised by ``weight``, and the pivots.

    Where it ends on a ray z is zero: which end it was, the certificate tells.
    """
    size = len(h)
    A = M / np.outer(s, s)
    A[np.arange(forces), np.arange(forces)] += weight
    z = np.zeros(size)
    _, pivots = lemke(A, h / s, np.ones(size), size, *make_lemke_work(size), z, 20 * size + 50)
    return z / s, int(pivots)


def _with_friction(system, hard, mu, directions, polygon):
    """The certificate of the normals and, for the contacts in ``polygon``, of (10b), (10c) of J14 or of the cone."""
    eq, hard = system.eq, np.asarray(hard, np.int64).reshape(-1, 3)
    certificate = system.certify(hard[:, 0])
    rows = hard[polygon]
    if not len(rows):
        return certificate
    if directions is None:
        return _with_cone(certificate, eq, rows, mu[polygon])
    D = _polygon(directions)
    force, speed = eq.r[rows[:, 1:]], eq.u[rows[:, 1:]]
    scale = np.sqrt(0.5 * eq.diagonal[rows[:, 1:]].sum(axis=1))[:, None]
    turn = np.mod(np.arctan2(force[:, 1], force[:, 0]), 2.0 * np.pi) * directions / (2.0 * np.pi)
    first = turn.astype(int) % directions
    second = (first + 1) % directions
    beta = np.linalg.solve(np.stack((D[first], D[second]), axis=2), force[:, :, None])[:, :, 0]
    along = speed @ D.T
    sigma = np.maximum(0.0, -along.min(axis=1))
    pick = np.arange(len(rows))
    z = np.column_stack((beta, mu[polygon] * eq.r[rows[:, 0]] - beta.sum(axis=1))) * scale
    w = np.column_stack((sigma + along[pick, first], sigma + along[pick, second], sigma)) / scale
    least = np.minimum(z, w)
    tangential = np.abs(eq.q[rows[:, 1:]] / scale).max()
    return certificate._replace(
        complementarity_gap=float(max(certificate.complementarity_gap, least.max())),
        infeasibility=float(max(certificate.infeasibility, -least.min())),
        scale=float(max(certificate.scale, tangential)),
    )


def _on_cones(W, e, mu, slides, against):
    """Forces (3 n,) of the acceleration level and the linear systems it took; not believed.

    A sliding contact is one row, its friction (19) in the matrix: the force of f_n = 1 is (1, mu ``against``), and only
    the normal's acceleration is complementary.  So the matrix is not symmetric, and there may be no solution.
    """
    n = len(mu)
    if not n:
        return np.zeros(0), 0
    layout, columns, picked = ConeLayout(()), [], []
    for i in range(n):
        own = np.zeros((3 * n, 1 if slides[i] else 3))
        if slides[i]:
            own[3 * i : 3 * i + 3, 0] = 1.0, *(mu[i] * against[i])
            layout += ConeLayout.unilateral(1)
        else:
            own[3 * i : 3 * i + 3] = np.eye(3)
            layout += ConeLayout.contacts([mu[i]])
        columns.append(own)
        picked += list(range(3 * i, 3 * i + own.shape[1]))
    Z = np.hstack(columns)
    result = solve_friction(W[picked] @ Z, e[picked], layout=layout, tolerance=1e-10)
    return Z @ result.r, result.iterations


def _with_cone(certificate, eq, rows, mu):
    """The certificate with the natural map of Coulomb's law at the contacts whose ``rows`` (n, 3) these are, n > 0."""
    blocks = ConeLayout.contacts(mu).arrays()
    scale = 1.0 / np.sqrt(eq.diagonal[rows].mean(axis=1))
    out = np.zeros((len(rows), MEASURES))
    cone_residuals(blocks, eq.r[rows.ravel()], eq.u[rows.ravel()], scale, out, *np.zeros((2, 6)))
    tangential = np.abs(eq.q[rows[:, 1:]] * scale[:, None]).max()
    return certificate._replace(
        complementarity_gap=float(max(certificate.complementarity_gap, out[:, NATURAL].max())),
        infeasibility=float(max(certificate.infeasibility, out[:, INFEASIBLE].max())),
        scale=float(max(certificate.scale, tangential)),
    )

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational-space and joint-space terms of the current state, for those who subscribe to them.

Between steps the workspaces ``art`` and ``compliance`` of the step are free; they are used again here.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel
from mb_contact.core.tree.articulated import articulated_inertias
from mb_contact.core.tree.compliance import compliance_of_nodes
from mb_contact.core.tree.composite import body_composites, mass_matrix, mirror
from mb_contact.core.tree.frames import frame_bias, frame_jacobians, frame_poses
from mb_contact.core.tree.inverse_dynamics import inverse_dynamics
from mb_contact.types import OK

NO_ENTRY = 1e-24  #: part of the largest entry on a compliance's diagonal below which an entry is rounding
RANK_TOLERANCE = 1e-9  #: eigenvalues of the compliance below this part of the largest count as zero


class OperationalWork(NamedTuple):
    """Frames and results; f frames, n bodies, N degrees of freedom."""

    body: Annotated[Integers, "f"]  #: body of each frame or WORLD
    first: Annotated[Integers, "f"]  #: zeros: six rows each
    touched: Annotated[Integers, "n"]  #: 1 for the bodies of the frames
    R_frame: Annotated[Reals, "f", 3, 3]  #: frames in their bodies
    p_frame: Annotated[Reals, "f", 3]
    R: Annotated[Reals, "f", 3, 3]  #: in the world
    p: Annotated[Reals, "f", 3]
    J: Annotated[Reals, "6 * f", "N"]
    bias: Annotated[Reals, "6 * f"]
    compliance: Annotated[Reals, "6 * f", "6 * f"]
    alpha: Annotated[Reals, "n", 6]
    force: Annotated[Reals, "n", 6]
    mass: Annotated[Reals, "n"]  #: composite
    inertia: Annotated[Reals, "n", 3, 3]  #: composite
    moment: Annotated[Reals, "n", 3]  #: composite
    top: Annotated[Integers, "n"]
    screws: Annotated[Reals, 9, "N"]
    M: Annotated[Reals, "N", "N"]
    effort: Annotated[Reals, "N"]
    still: Annotated[Reals, "N"]  #: zeros


def make_operational_work(n, N, body, R_frame, p_frame):
    touched = np.zeros(n, np.int64)
    touched[body[body >= 0]] = 1
    return allocate(
        OperationalWork, n=n, N=N, f=len(body), body=body, touched=touched, R_frame=R_frame, p_frame=p_frame
    )


@kernel
def operational_terms(h, o):
    """Jacobian, bias and compliance of the frames, without joint damping; (status, body of a singular hinge)."""
    frame_poses(h.kin, o.body, o.R_frame, o.p_frame, o.R, o.p)
    frame_jacobians(h.tree, h.kin, o.body, o.first, o.p, o.J)
    frame_bias(h.tree, h.kin, o.body, o.first, o.p, o.alpha, o.bias)
    status, body = articulated_inertias(h.tree, h.kin, 0.0, h.art)
    if status != OK:
        return status, body
    compliance_of_nodes(h.tree, h.kin, h.art, h.compliance, o.touched, o.body, o.first, o.p, o.compliance)
    return OK, -1


@kernel
def joint_terms(h, o):
    """Mass matrix ``o.M`` by composite bodies and nonlinear effects ``o.effort``."""
    body_composites(h.tree, h.kin, o.inertia, o.moment, o.mass)
    mass_matrix(h.tree, h.kin, o.inertia, o.moment, o.mass, o.top, o.screws, o.M)
    mirror(o.M)
    inverse_dynamics(h.tree, h.kin, h.gravity, o.still, o.alpha, o.force, o.effort)


@kernel
def regular_inverse(L, scale, factor, inverse):
    """Inverse of a compliance whose rank is certainly full: False for any other, and for what is not finite.

    By the Cholesky factor F of L with its rows scaled to a unit diagonal: F^-* F^-1, whose eigenvalues lie above
    1 / n, and those of the scaled L above 1 / trace(inverse), so that none need be computed.  ``scale`` (n,) and
    ``factor`` (n, n) are work.
    """
    n, largest, trace = L.shape[0], 0.0, 0.0
    for i in range(n):
        largest = max(largest, L[i, i])
    for i in range(n):
        if not L[i, i] > NO_ENTRY * largest:
            return False
        scale[i] = 1.0 / math.sqrt(L[i, i])
    for j in range(n):
        for i in range(j, n):
            entry = scale[i] * L[i, j] * scale[j]
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            if i == j and not entry > 0.0:
                return False
            factor[i, j] = math.sqrt(entry) if i == j else entry / factor[j, j]
    for j in range(n):  # F^-1 into the lower half
        inverse[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, n):
            entry = 0.0
            for k in range(j, i):
                entry -= factor[i, k] * inverse[k, j]
            inverse[i, j] = entry / factor[i, i]
    for i in range(n):  # row by row from the upper left: what a product reads is not yet written over
        for j in range(i, n):
            entry = 0.0
            for k in range(j, n):
                entry += inverse[k, i] * inverse[k, j]
            inverse[i, j] = entry
        trace += inverse[i, i]
    for i in range(n):
        for j in range(i, n):
            inverse[i, j] *= scale[i] * scale[j]
            inverse[j, i] = inverse[i, j]
    return trace > 0.0 and 1.0 / trace > RANK_TOLERANCE * n

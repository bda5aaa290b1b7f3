# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational-space and joint-space terms of the current state, for those who subscribe to them.

Between steps the workspaces ``art`` and ``compliance`` of the step are free; they are used again here.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel
from mb_contact.core.tree.articulated import articulated_inertias
from mb_contact.core.tree.compliance import compliance_of_nodes
from mb_contact.core.tree.composite import composite_inertias, mass_matrix, mirror
from mb_contact.core.tree.frames import frame_bias, frame_jacobians, frame_poses
from mb_contact.core.tree.inverse_dynamics import inverse_dynamics
from mb_contact.types import OK


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
    for k in range(o.mass.shape[0]):
        o.mass[k] = h.tree.mass[k]
        for a in range(3):
            o.moment[k, a] = h.kin.mc[k, a]
            for b in range(3):
                o.inertia[k, a, b] = h.kin.I[k, a, b]
    composite_inertias(h.tree, h.kin.l, o.inertia, o.moment, o.mass)
    mass_matrix(h.tree, h.kin, o.inertia, o.moment, o.mass, o.top, o.screws, o.M)
    mirror(o.M)
    inverse_dynamics(h.tree, h.kin, h.gravity, o.still, o.alpha, o.force, o.effort)

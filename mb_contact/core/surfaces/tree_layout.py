# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays of a tree with contacts: the contacts, and the workspace of its steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class SurfaceJoints(NamedTuple):
    """The contacts among the joints of a tree: c of them, N degrees of freedom in all."""

    body: np.ndarray  #: int64 (c,), the body each of them moves
    code: np.ndarray  #: int64 (c, 2, CODES)
    data: np.ndarray  #: all surfaces, one after the other
    bounds: np.ndarray  #: (c, 4, 2)
    H: np.ndarray  #: (N, 6), rows in axes of the parent
    H_dot: np.ndarray  #: (N, 6)
    rate: np.ndarray  #: (c, 5), rates of the contact coordinates
    mode: np.ndarray  #: int64 (c,), FREE, SLIDING or ROLLING
    parent: np.ndarray  #: int64 (c,), body of the surface it touches
    law: np.ndarray  #: (c, 2), friction coefficient; 1 where the contact may break
    near: np.ndarray  #: (c, 5), nearest points and gap of a free body
    watch: np.ndarray  #: (c, WATCHED), see ``layout``
    guide: np.ndarray  #: (c, 3), slip at the start of the step; what friction takes of it in a long one, else 0
    drag: np.ndarray  #: (c, 6), wrench of a unit of sliding friction about the child's origin, axes of the parent
    normal: np.ndarray  #: (c, 6), contact point and normal of the parent's surface, axes of the parent
    wrench: np.ndarray  #: (c, 6), of the contact about the contact point, world axes
    q: np.ndarray  #: (5,), scratch
    v: np.ndarray  #: (5,)


class TreeStages(NamedTuple):
    """Workspace of a Runge-Kutta step of a tree."""

    q: np.ndarray  #: (nq,)
    v: np.ndarray  #: (N,)
    q_start: np.ndarray
    v_start: np.ndarray
    q_dot: np.ndarray  #: (4, nq)
    v_dot: np.ndarray  #: (4, N)
    a: np.ndarray  #: (N,), acceleration
    external: np.ndarray  #: (n, 6)
    alpha: np.ndarray  #: (n, 6)
    force: np.ndarray  #: (n, 6), through the joints
    effort: np.ndarray  #: (N,)
    total: np.ndarray  #: (N,), with friction and limits
    torque: np.ndarray  #: (N,), scratch
    gravity: np.ndarray  #: (3,)
    row: np.ndarray  #: int64 (r, 2), RUBS and a contact, or HOLDS and a degree of freedom
    unit: np.ndarray  #: (r, N), effort of a unit of it
    value: np.ndarray  #: (r,), y
    load: np.ndarray  #: (r,), x
    grip: np.ndarray  #: (r,), acceleration along it for a unit of it
    system: np.ndarray  #: (r, r)
    order: np.ndarray  #: int64 (r,)
    five: np.ndarray  #: int64 (5,), scratch
    stop: np.ndarray  #: int64 (s, 3): limited degrees of freedom, their places in q; 1, -1 or 0: held above, below, not


RUBS = 0  #: rows: sliding friction of a contact
HOLDS = 1  #: the limit of a joint

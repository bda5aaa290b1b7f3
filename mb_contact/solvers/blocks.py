# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator's contact solver on a problem given by its matrix: any blocks of rows, W by rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.core.lcp.lcp import Pyramids, lcp_assemble, lcp_size, make_pyramids
from mb_contact.core.solve import search as _search
from mb_contact.core.solve.assemble import scale_normals, spread_scales
from mb_contact.core.solve.system import BLOCKS, BY_ROWS, ISLANDS, ROWS, make_system, make_system_handle
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY, UNILATERAL

__all__ = ["BOX", "CONTACT", "EQUALITY", "UNILATERAL", "BlockSolution", "solve_blocks"]

STATUS = ("solved", "limit", "no_motion")  #: by the solver's status


class BlockSolution(NamedTuple):
    """Outcome of :func:`solve_blocks`; its residual is the solver's own.

    Examples
    --------
    >>> from mb_contact.solvers.blocks import UNILATERAL
    >>> found = mb.solvers.solve_blocks([[2.0]], [-1.0], [UNILATERAL], [1], [0.0])
    >>> found.r, found.u, found.status
    (array([0.5]), array([0.]), 'solved')
    """

    r: np.ndarray  #: impulses (R,)
    u: np.ndarray  #: W r + q (R,)
    status: str  #: one of STATUS
    steps: int  #: Newton steps, of the island that took most
    residual: float  #: worst natural map of a block [sqrt(N s m/s)]


def solve_blocks(
    W: ArrayLike,
    q: ArrayLike,
    kind: Sequence[int],
    size: Sequence[int] | NDArray[np.int64],
    mu: ArrayLike,
    n_f: int = 0,
    warm: ArrayLike | None = None,
    tolerance: float = 1e-10,
    budget: int = 600,
) -> BlockSolution:
    """Impulses r and velocities u = W r + q that fulfil the law of each block.

    Parameters
    ----------
    W : array_like (R, R)
        Symmetric, positive semidefinite.
    q : array_like (R,)
        Velocities without impulses.
    kind : sequence of int
        EQUALITY, UNILATERAL, BOX or CONTACT, one for each block.
    size : sequence of int
        Rows of each block, one after the other; of a CONTACT 3, 4 with torsion, 5 with rolling, 6 with both.
    mu : array_like (R,) or float
        Softness of an equality row, least impulse of a UNILATERAL or normal row, bound of a BOX, else coefficients.
    n_f : int
        Vertices of the friction polygon, 0 for the disc.
    warm : array_like (R,), optional
        Impulses to start from.
    tolerance : float
        [sqrt(N s m/s)]
    budget : int
        Newton steps.

    Returns
    -------
    BlockSolution

    Raises
    ------
    InputError
        W or q is not numeric or not of the shape that the other asks for.

    Examples
    --------
    A block of 1 kg that falls on a table with 1 m/s and slides with 0.3 m/s, under friction of 0.2: the impulse on the
    boundary of the cone takes 0.2 m/s of the slip.

    >>> from mb_contact.solvers.blocks import CONTACT
    >>> found = mb.solvers.solve_blocks(np.eye(3), [-1.0, 0.3, 0.0], [CONTACT], [3], [0.0, 0.2, 0.2])
    >>> found.status, found.r, found.u
    ('solved', array([ 1. , -0.2,  0. ]), array([0. , 0.1, 0. ]))
    """
    q = as_vector(q, None, "q", finite=False)
    W = as_matrix(W, (len(q), len(q)), "W", finite=False)
    rows, size = len(q), np.asarray(size, np.int64)
    order, islands = _islands(W, size)
    starts = np.cumsum(size) - size
    source = np.concatenate([np.arange(starts[b], starts[b] + size[b]) for b in order] or [order])
    mu, kind = np.broadcast_to(mu, rows)[source], np.asarray(kind, np.int64)[order]
    P = pose_blocks(W[np.ix_(source, source)], q[source], kind, size[order], mu, n_f)
    P.count[ISLANDS], P.island[: len(islands)] = len(islands) - 1, islands
    if warm is not None:
        P.r[:rows] = np.asarray(warm)[source]
    handle = make_system_handle(P)
    scale_normals(handle)
    _search.solve(handle, float(tolerance), int(budget))
    report = P.report[: len(islands) - 1]
    steps = report[:, 1].max(initial=0.0)
    found = report[:, 0].astype(int)
    status = 1 if (found == 1).any() else int(found.max(initial=0))
    r, u = np.zeros(rows), np.zeros(rows)
    r[source], u[source] = P.r[:rows], P.u[:rows]
    residual = float(report[:, 2].max(initial=0.0))
    if not (np.isfinite(u).all() and np.isfinite(W).all()):
        status, residual = 1, np.nan  # infinite velocities fulfil any complementarity
    return BlockSolution(r, u, STATUS[status], int(steps), residual)


def pose_blocks(W, q, kind, size, mu, n_f):
    """System of one island with the blocks of ``solve_blocks``, by rows."""
    rows, blocks = len(q), len(kind)
    room, none = (2 * max(rows, 1), 2 * max(blocks, 1)), np.zeros(0, np.int64)  # for a part of an island
    P = make_system(*room, 0, max(rows, 1), none, none)
    P.count[BLOCKS], P.count[ROWS], P.count[ISLANDS] = blocks, rows, 1
    P.blocks.kind[:blocks], P.blocks.n_f[:] = kind, n_f
    P.blocks.start[1 : blocks + 1] = np.cumsum(size)
    P.blocks.mu[:rows], P.q[:rows], P.source[:rows] = mu, q, np.arange(rows)
    P.island[1], P.form[0] = blocks, BY_ROWS
    P.W[:rows, :rows] = W
    diagonal = np.diag(W)
    P.blocks.D[:rows] = np.maximum(diagonal, 1e-300 + 1e-12 * diagonal.max(initial=0.0))
    spread_scales(P.blocks, blocks)
    return P


def _islands(W, size):
    """Blocks in an order that keeps W banded, island after island, and the first block of each, and the end."""
    blocks = len(size)
    if blocks == 0:
        return np.zeros(0, np.int64), np.zeros(1, np.int64)
    start = np.cumsum(size) - size
    coupled = np.add.reduceat(np.add.reduceat(W != 0.0, start, axis=0), start, axis=1)
    graph = csr_matrix(coupled + coupled.T)
    _, label = connected_components(graph, directed=False)
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    order = order[np.argsort(label[order], kind="stable")]
    return order, np.append(np.searchsorted(label[order], np.arange(label.max() + 1)), blocks)


def row_layout(dim: ArrayLike, mu: ArrayLike, n_f: int) -> Pyramids:
    """Layout of the rows of contacts (``dim`` 3) and limits (1) with coefficients ``mu`` and n_f directions."""
    dim = np.asarray(dim, np.int64)
    layout = make_pyramids(max(len(dim), 1), n_f)
    layout.count[0] = len(dim)
    layout.dim[: len(dim)], layout.mu[: len(dim)] = dim, mu
    layout.start[: len(dim)] = np.cumsum(dim) - dim
    return layout


def polyhedral(W: Floats, q: Floats, layout: Pyramids) -> tuple[Floats, Floats]:
    """M and h of the polyhedral problem as J14's Eq. 53 writes it."""
    size = lcp_size(layout)
    M, h = np.zeros((size, size)), np.zeros(size)
    lcp_assemble(W, q, layout, M, h)
    return M, h

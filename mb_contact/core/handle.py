# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Handles: one reference for all arrays of a simulation or of a tree, so that a call costs 1 us instead of 30.

Numba unpacks every array of every argument at each call, about 0.2 us each; a step has 150 of them
(measured on 128 arrays: 22.6 us as named tuples, 0.7 us behind one structure reference).  The handle is
that structure reference; its fields are the named tuples of ``types`` and ``workspace``.
"""

from __future__ import annotations

from collections import namedtuple

import numba
from numba.core import types
from numba.experimental import structref

from mb_contact.core.jit import entry


class StepHandleType(types.StructRef):
    """Numba type of ``StepHandle``."""

    def preprocess_fields(self, fields):
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


STEP_FIELDS = (
    "tree",
    "geoms",
    "gravity",  # (3,)
    "settings",  # (5,): dt [s], push-out rate, push-out, slip (a frame follows it) and impact speed [m/s]
    "q",
    "v",
    "effort",  # (N,), commanded
    "buffers",
    "contacts",
    "kin",
    "art",
    "com",
    "rows",
    "frames",
    "memory",
    "cones",
    "sol",
    "work",
    "system",
    "draft",
    "friction",
    "solver",  # (3,): tolerance [sqrt(N s m/s)], Newton steps that an island may take, 1 for W by rows always
    "joints",
    "closures",
    "gears",
    "drift",  # (2,): gamma, part of a closure error removed per step; tolerance of the projection, or 0 for none
    "loop",
    "bil",
    "closing",
)

if numba.config.DISABLE_JIT:
    StepHandle = namedtuple("StepHandle", STEP_FIELDS)
else:

    class StepHandle(structref.StructRefProxy):
        """Fields are read by kernels only; make one with ``make_step_handle``."""

    structref.register(StepHandleType)
    structref.define_proxy(StepHandle, StepHandleType, list(STEP_FIELDS))


@entry
def make_step_handle(
    tree, geoms, gravity, settings, q, v, effort, buffers, contacts,
    kin, art, com, rows, frames, memory, cones, sol, work,
    system, draft, friction, solver,
    joints, closures, gears, drift, loop, bil, closing,
):  # fmt: skip
    """A StepHandle; a kernel of ours because structref's own constructor is compiled anew in every process (4 s)."""
    return StepHandle(
        tree, geoms, gravity, settings, q, v, effort, buffers, contacts,
        kin, art, com, rows, frames, memory, cones, sol, work,
        system, draft, friction, solver,
        joints, closures, gears, drift, loop, bil, closing,
    )  # fmt: skip


class TreeHandleType(types.StructRef):
    """Numba type of ``TreeHandle``."""

    def preprocess_fields(self, fields):
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class NodesHandleType(types.StructRef):
    """Numba type of ``NodesHandle``."""

    def preprocess_fields(self, fields):
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


TREE_FIELDS = (
    "tree",
    "kin",
    "art",
    "alpha",  # (n, 6)
    "force",  # (n, 6)
    "still",  # (n, 6), zeros
    "mass",  # (n,), composite
    "top",  # int64 (n,)
    "screws",  # (9, N)
)
NODES_FIELDS = (
    "body",  # int64 (f,), or WORLD
    "first",  # int64 (f,), 0 for six rows, 3 for three
    "R_frame",  # (f, 3, 3), in the body
    "p_frame",  # (f, 3)
    "R",  # (f, 3, 3), in the world
    "p",  # (f, 3)
    "touched",  # int64 (n,)
    "com",
)

if numba.config.DISABLE_JIT:
    TreeHandle = namedtuple("TreeHandle", TREE_FIELDS)
    NodesHandle = namedtuple("NodesHandle", NODES_FIELDS)
else:

    class TreeHandle(structref.StructRefProxy):
        """A tree with workspaces for its sweeps; make one with ``make_tree_handle``."""

    class NodesHandle(structref.StructRefProxy):
        """Nodes on a tree's bodies with workspaces for their compliance; make one with ``make_nodes_handle``."""

    structref.register(TreeHandleType)
    structref.define_proxy(TreeHandle, TreeHandleType, list(TREE_FIELDS))
    structref.register(NodesHandleType)
    structref.define_proxy(NodesHandle, NodesHandleType, list(NODES_FIELDS))


@entry
def make_tree_handle(tree, kin, art, alpha, force, still, mass, top, screws):
    """A TreeHandle."""
    return TreeHandle(tree, kin, art, alpha, force, still, mass, top, screws)


@entry
def make_nodes_handle(body, first, R_frame, p_frame, R, p, touched, com):
    """A NodesHandle."""
    return NodesHandle(body, first, R_frame, p_frame, R, p, touched, com)

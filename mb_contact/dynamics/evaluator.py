# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces of a model, made once, so that a call from Python costs 3 us and not 50.

An evaluator belongs to a model and is found again through it.  Each of its calls is one compiled function and writes
into an array of its own, so threads may share it.
"""

from __future__ import annotations

import threading
import weakref
from functools import cached_property

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.core.declare import allocate
from mb_contact.core.handle import NodesArrays, make_nodes_handle, make_tree_arrays, make_tree_handle
from mb_contact.core.tree.derivatives import make_derivative_arrays, make_derivative_handle
from mb_contact.core.tree_workspace import make_compliance
from mb_contact.dynamics.arguments import GRAVITY, flexible_of, singular_hinge_message, sizes, zero_quaternion_message
from mb_contact.dynamics.nodes import node_arrays
from mb_contact.errors import DynamicsError, InputError
from mb_contact.types import SINGULAR_HINGE, ZERO_QUATERNION

FLOAT = np.dtype(np.float64)
GRAVITY_ARRAY = np.array(GRAVITY)
NOT_FINITE_RESULT = "the result is not finite although all arguments are: are coordinates and velocities sensible?"
MOST_NODE_SETS = 32  # of a model that are remembered

_EVALUATORS: dict[int, tuple[weakref.ref, Evaluator]] = {}  # id of a model to (weak reference, Evaluator)


class Evaluator:
    """The handle of a model's tree, and the handles of the nodes that were asked for."""

    def __init__(self, model):
        self.n, self.N, self.nq = n, N, _ = sizes(model)
        self._node_sets = {}
        self._flexible = flexible_of(model)
        self.handle = make_tree_handle(make_tree_arrays(model.tree, flexible=self._flexible))

        self._tree, self.lock = model.tree, threading.Lock()

    @cached_property
    def derivatives(self):
        """(Handle, DerivativeArrays) of the tree; who calls holds ``lock`` until the results are copied."""
        arrays = make_derivative_arrays(self._tree, self._flexible)
        return make_derivative_handle(arrays), arrays

    def nodes(self, model, frames):
        """(handle, number of rows) of nodes, remembered by what they are called."""
        frames = tuple(frames) if isinstance(frames, list) else frames
        try:
            return self._node_sets[frames]
        except (KeyError, TypeError):  # new, or nothing that can be remembered
            pass
        nodes = node_arrays(model, frames)
        touched = np.zeros(self.n, np.int64)
        touched[nodes.body[nodes.body >= 0]] = 1
        compliance = make_compliance(self.n, 2 * int(touched.sum()))  # fewer paths meet than there are
        handle = make_nodes_handle(
            allocate(
                NodesArrays, f=len(nodes.body), body=nodes.body, first=nodes.first, R_frame=nodes.R, p_frame=nodes.p,
                touched=touched, compliance=compliance,
            )
        )  # fmt: skip
        found = handle, nodes.rows
        try:
            if len(self._node_sets) >= MOST_NODE_SETS:
                self._node_sets.clear()
            self._node_sets[frames] = found
        except TypeError:
            pass
        return found


def evaluator(model):
    """The Evaluator of a model; a new one each time for models that cannot be referred to weakly."""
    entry = _EVALUATORS.get(id(model))
    if entry is not None and entry[0]() is model:
        return entry[1]
    new = Evaluator(model)
    try:
        key = id(model)
        _EVALUATORS[key] = (weakref.ref(model, lambda _: _EVALUATORS.pop(key, None)), new)
    except TypeError:
        pass
    return new


def vector(x, size, name):
    """C-contiguous float64 of the right size; the kernels find out whether it is finite."""
    if type(x) is np.ndarray and x.dtype is FLOAT and x.ndim == 1 and x.shape[0] == size and x.flags.c_contiguous:
        return x
    return as_vector(x, size, name, finite=False)


def gravity_vector(gravity):
    """Gravity as an array (3,), as ``vector``."""
    return GRAVITY_ARRAY if gravity is GRAVITY else vector(gravity, 3, "gravity")


def refuse(model, status, body, **inputs):
    """Raise what a status of ``core.tree.evaluate`` means; ``inputs`` are the arrays by name.

    Raises
    ------
    InputError
        An entry is not finite, or a quaternion is zero.
    DynamicsError
        A hinge carries no inertia.
    """
    if status == SINGULAR_HINGE:
        raise DynamicsError(singular_hinge_message(model, body))
    if status == ZERO_QUATERNION:
        raise InputError(zero_quaternion_message(model, body))
    for name, x in inputs.items():
        as_vector(x, None, name)  # says which entry
    raise DynamicsError(NOT_FINITE_RESULT)

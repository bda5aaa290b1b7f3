# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces from their declarations: sizes by name, factor and sum; fields that are given; what is no size.

Covers compile/handles.py, core/tree_workspace.py, core/workspace.py.
"""

from __future__ import annotations

import gc
import weakref
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from mb_contact.compile.decorated import DISABLE_JIT
from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Integers32, Reals, allocate
from mb_contact.core.jit import kernel

pytestmark = pytest.mark.nojit


class Plain(NamedTuple):
    inner: object
    first: Annotated[Integers, "n + 1"]
    force: Annotated[Reals, "6 * n", 3]
    place: Annotated[Integers32, "n", "m"]
    last: Annotated[Reals, "2 * m + 1"]


def test_arrays_have_the_declared_shapes_and_kinds():
    made = allocate(Plain, n=4, m=2, inner="tree")
    assert [array.shape for array in made[1:]] == [(5,), (24, 3), (4, 2), (5,)]
    assert [array.dtype for array in made[1:]] == [np.int64, np.float64, np.int32, np.float64]
    assert not any(array.any() for array in made[1:]) and made.inner == "tree"


def test_given_arrays_are_taken_as_they_are():
    force = np.ones((6, 3))
    assert allocate(Plain, n=1, m=1, inner=None, force=force).force is force


def test_a_missing_size_is_named():
    with pytest.raises(KeyError, match="m"):
        allocate(Plain, n=1, inner=None)


def test_a_shape_is_not_code():
    class Wrong(NamedTuple):
        array: Annotated[Reals, "n ** 2"]

    with pytest.raises(AttributeError):
        allocate(Wrong, n=2)


class Inner(NamedTuple):
    numbers: Annotated[Integers32, "n"]


class Pair(NamedTuple):
    first: Annotated[Reals, "n"]
    table: Annotated[Reals, "n", "m"]


class Outer(NamedTuple):
    before: Annotated[Integers, "n"]
    pair: Pair
    inner: object  #: a handle
    after: Annotated[Reals, 3, "m", "n"]


InnerHandleType, InnerHandle, make_inner = handle(Inner)
OuterHandleType, OuterHandle, make_outer = handle(Outer)


@kernel
def double(h):
    """Every entry of every array twice as large, by index."""
    for i in range(h.before.shape[0]):
        h.before[i] *= 2
        h.inner.numbers[i] *= 2
        h.pair.first[i] *= 2.0
        for j in range(h.pair.table.shape[1]):
            h.pair.table[i, j] *= 2.0
            for k in range(h.after.shape[0]):
                h.after[k, j, i] *= 2.0


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_kernel_sees_through_a_handle_the_arrays_themselves(order):
    arrays = allocate(Outer, n=4, m=3, pair=allocate(Pair, n=4, m=3), inner=allocate(Inner, n=4))
    arrays = arrays._replace(after=np.zeros((3, 3, 4), order=order))
    every = [arrays.before, *arrays.pair, arrays.inner.numbers, arrays.after]
    for array in every:
        array[...] = np.arange(array.size).reshape(array.shape)
    made = make_outer(arrays._replace(inner=make_inner(arrays.inner)))
    double(made)
    assert all((array == 2 * np.arange(array.size).reshape(array.shape)).all() for array in every)


@pytest.mark.skipif(DISABLE_JIT, reason="the handle is the named tuple then")
def test_a_handle_keeps_its_arrays_as_long_as_it_lives():
    arrays = allocate(Inner, n=1000)
    watched, made = weakref.ref(arrays.numbers), make_inner(arrays)
    del arrays
    gc.collect()
    assert watched() is not None
    del made
    gc.collect()
    assert watched() is None

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces from their declarations: sizes by name, factor and sum; fields that are given; what is no size."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import pytest

from mb_contact.core.declare import Integers, Integers32, Reals, allocate

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

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""An engine in machine code, called by its address from compiled code and, without a compiler, from Python."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from mb_contact.collision import make_buffers
from mb_contact.core.collision.closed_forms import ASKED, NEAR, closed_witnesses
from mb_contact.core.handle import make_geoms_handle
from mb_contact.model.pairs import first_rows, hull_arrays
from mb_contact.types import SHAPE_CYLINDER, SHAPE_SPHERE, Geoms

pytestmark = pytest.mark.nojit
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * 7)
KINDS = (SHAPE_SPHERE, SHAPE_SPHERE, SHAPE_CYLINDER, SHAPE_CYLINDER)


def world():
    """Geoms of two spheres and two cylinders, and the buffers of all their pairs as candidates."""
    g, pairs = len(KINDS), np.stack(np.triu_indices(len(KINDS), 1), axis=1)
    geoms = Geoms(
        body=np.arange(g), kind=np.array(KINDS), size=np.arange(1.0, 3 * g + 1).reshape(g, 3),
        R=np.tile(np.eye(3), (g, 1, 1)), p=np.zeros((g, 3)), pairs=pairs, mu=np.ones(len(pairs)), margin=np.zeros(1),
        **hull_arrays([None] * g), first_row=first_rows(pairs, g),
    )  # fmt: skip
    buffers = make_buffers(geoms)
    buffers.geom_R[:], buffers.geom_p[:, 0] = np.eye(3), [0.0, 100.0, 200.0, 300.0]
    buffers.candidates[:], buffers.reach[:], buffers.found[NEAR] = np.arange(len(pairs)), np.inf, len(pairs)
    return geoms, buffers


def engine_of(status, told):
    """A function that writes numbers of each pair into its witness row, and tells what it was called with."""

    @FUNCTION
    def query(engine, count, rows, reach, pairs, size, R, p, witness):
        def view(address, kind, *shape):
            return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), shape)

        rows = view(rows, ctypes.c_int64, count)
        told.append((engine, rows.tolist()))
        pairs, p = view(pairs, ctypes.c_int64, 6, 2)[rows], view(p, ctypes.c_double, 4, 3)
        size, R = view(size, ctypes.c_double, 4, 3), view(R, ctypes.c_double, 4, 3, 3)
        (a, b), apart = pairs.T, p[pairs[:, 1], 0] - p[pairs[:, 0], 0]
        answers = [size[a, 1], size[b, 2], R[a, 1, 1], apart]
        view(witness, ctypes.c_double, count, 4)[:] = np.stack(answers, axis=1)
        return status

    return query


def test_it_gets_the_arrays_and_its_answers_stand_in_their_places():
    told, (geoms, buffers) = [], world()
    query = engine_of(0, told)
    buffers.engine[:] = ctypes.cast(query, ctypes.c_void_p).value, 77
    closed_witnesses(make_geoms_handle(geoms), buffers)
    assert told == [(77, [1, 2, 3, 4, 5])]  # the spheres have a closed form
    assert buffers.found[ASKED] == 0
    a, b = geoms.pairs[1:].T
    answers = [geoms.size[a, 1], geoms.size[b, 2], np.ones(5), 100.0 * (b - a)]
    assert np.array_equal(buffers.witness[1:], np.stack(answers, axis=1))
    assert buffers.witness[0, 3] == 100.0 - geoms.size[0, 0] - geoms.size[1, 0]


@pytest.mark.parametrize("there", [False, True])
def test_without_it_or_where_it_fails_python_has_to_ask(there):
    told, (geoms, buffers) = [], world()
    query = engine_of(1, told)
    buffers.engine[0] = ctypes.cast(query, ctypes.c_void_p).value if there else 0
    closed_witnesses(make_geoms_handle(geoms), buffers)
    assert len(told) == there and buffers.found[ASKED] == 5
    assert buffers.asked[:5].tolist() == buffers.asked_at[:5].tolist() == [1, 2, 3, 4, 5]
    assert not buffers.witness[1:].any()

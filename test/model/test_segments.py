# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Segments and the pattern of the mass matrix: the same as the SKO operators say.

Covers studies/sko/digraph.py, studies/sko/pattern.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.segments import depth, mass_matrix_nonzeros, segment_pattern, serial_segments
from mb_contact.studies.sko.digraph import TreeDigraph
from mb_contact.studies.sko.pattern import expand, mass_pattern
from scenes.robots import DUAL_ARM, ROBOTS, load, path_of


@pytest.mark.parametrize("name", ["dual arm", *ROBOTS])
@pytest.mark.parametrize("floating", [False, True])
def test_segments_and_nonzeros_are_those_of_the_sko_model(name, floating):
    model = load(DUAL_ARM if name == "dual arm" else path_of(name), floating)
    digraph = TreeDigraph(model.tree.parent)
    segments = serial_segments(model.tree)
    assert tuple(segment.bodies for segment in segments) == digraph.segments
    assert depth(segments) == max(len(digraph.path(k)) for k in range(model.n))
    elements = expand(mass_pattern(digraph), model.tree.nv)
    assert mass_matrix_nonzeros(segments) == elements.sum()
    blocks = expand(segment_pattern(segments), [len(segment.bodies) for segment in segments])
    order = [k for segment in segments for k in segment.bodies]
    np.testing.assert_array_equal(blocks, mass_pattern(digraph)[np.ix_(order, order)])


def test_the_mass_matrix_has_no_entry_outside_the_prediction():
    model = load(path_of("panda"))
    M = mb.mass_matrix(model, np.linspace(0.1, 0.9, model.N))
    assert np.count_nonzero(M) <= mass_matrix_nonzeros(serial_segments(model.tree)) < M.size

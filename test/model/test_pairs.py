# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pairs of geometries, found in arrays, are those of the definition; what materials give is asked by kinds."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from mb_contact.model import Material, Scene
from mb_contact.model.pairs import PairLinks, first_rows, geometry_pairs, hull_arrays, pair_frictions, pair_means
from mb_contact.model.scene import CollisionFilters, MaterialPair


def shapes(rng, count):
    """Geometries on bodies -1 ... 7, each body with two links, of four materials (or none, with or without a tag)."""
    made = []
    for _ in range(count):
        body = int(rng.integers(-1, 8))
        material = (None, "a", "b", "c")[rng.integers(4)]
        friction = (None, 0.9)[rng.integers(2)] if material is None else None
        link = f"link_{body}_{rng.integers(2)}"
        made.append(SimpleNamespace(body=body, link=link, material=material, friction=friction))
    return made


@pytest.mark.parametrize("adjacent", [True, False])
def test_pairs_are_those_of_the_definition(adjacent):
    rng = np.random.default_rng(4)
    geometries = shapes(rng, 60)
    links = sorted({shape.link for shape in geometries})
    neighbours = {frozenset(rng.choice(links, 2, replace=False).tolist()) for _ in range(12)}
    off = tuple(tuple(rng.choice(links, 2, replace=False).tolist()) for _ in range(6))
    filters = CollisionFilters(adjacent=adjacent, disable=(*off, ("nobody", links[0])))
    never = {frozenset(pair) for pair in off} | (neighbours if adjacent else set())
    expected = [
        (a, b) for a, b in combinations(range(60), 2)
        if geometries[a].body != geometries[b].body
        and frozenset((geometries[a].link, geometries[b].link)) not in never
    ]  # fmt: skip
    pairs = geometry_pairs(filters, geometries, neighbours)
    assert pairs.tolist() == [list(pair) for pair in expected]
    names = PairLinks(pairs, [shape.link for shape in geometries])
    assert len(names) == len(expected)
    assert [names[i] for i in (0, 5, -1)] == [
        (geometries[a].link, geometries[b].link) for a, b in (expected[0], expected[5], expected[-1])
    ]


def test_one_shape_or_none_has_no_pairs():
    one = [SimpleNamespace(body=0, link="a", material=None, friction=None)]
    for geometries in ([], one):
        assert geometry_pairs(CollisionFilters(), geometries, set()).shape == (0, 2)


def test_a_pair_has_friction_of_1000_at_most():
    """Coefficients of 1e14 in files mean that nothing slips."""
    geometries = [
        SimpleNamespace(body=i, link=f"link_{i}", material=None, friction=mu) for i, mu in enumerate((1e14, 0.5))
    ]
    assert pair_frictions(Scene(), geometries, [(0, 1)])[0].tolist() == [1000.0]
    for geometry in geometries:
        geometry.material = "glue"
    mu, warnings = pair_frictions(Scene(materials={"glue": Material(2e3)}), geometries, [(0, 1)])
    assert mu.tolist() == [1000.0]
    assert warnings == ("friction 2000 of material glue is above 1000, the most that a pair has",)


def test_materials_give_each_pair_what_they_give_it_alone():
    rng = np.random.default_rng(5)
    geometries = shapes(rng, 30)
    scene = Scene(
        materials={"a": Material(0.2, restitution=0.1), "b": Material(0.5), "c": Material(12.0, restitution=0.4)},
        pairs=(MaterialPair(("a", "b"), friction=0.7, restitution=0.3),),
    )
    pairs = geometry_pairs(CollisionFilters(), geometries, set())
    mu, warnings = pair_frictions(scene, geometries, pairs)
    assert warnings == ("friction 12 of material c is above 10; used as given",)
    own = {"a": 0.2, "b": 0.5, "c": 12.0}
    bounce = {"a": 0.1, "b": 0.0, "c": 0.4, None: 0.0}
    restitution = pair_means(scene, geometries, pairs, "restitution")
    for i, (a, b) in enumerate(pairs):
        both = [geometries[a], geometries[b]]
        if {shape.material for shape in both} == {"a", "b"}:
            assert (mu[i], restitution[i]) == (0.7, 0.3)
            continue
        each = [own.get(shape.material, 0.5 if shape.friction is None else shape.friction) for shape in both]
        assert mu[i] == pytest.approx(np.sqrt(each[0] * each[1]), rel=1e-15)
        rebound = np.sqrt(bounce[both[0].material] * bounce[both[1].material])
        assert restitution[i] == pytest.approx(rebound, rel=1e-15)


def test_rows_of_a_first_geometry_follow_each_other():
    pairs = np.stack(np.triu_indices(100, 1), axis=1)
    start = first_rows(pairs, 100)
    for a in range(100):
        assert (pairs[start[a] : start[a + 1], 0] == a).all()
    assert start[-1] == len(pairs)
    assert len(first_rows(pairs[:100], 100)) == 0


def test_without_a_mesh_each_geometry_is_none():
    """Kernels ask of any geometry what mesh it is."""
    np.testing.assert_array_equal(hull_arrays([None] * 3)["mesh"].sided, np.zeros(3, dtype=np.int64))

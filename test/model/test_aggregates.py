# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which bodies an aggregate takes, and what stays with multipliers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import mb_contact as mb
from mb_contact.model.aggregates import MOST, choose_loops, find_parts, merged_roots
from mb_contact.model.scene import Gear, Scene, SceneModel
from paths import ROOT
from scenes.loop_cases import bar, hinge


def chain(*parents, gears):
    """A tree of hinges with a gear between pairs of joints; the parent of each link by number, -1 for the base."""
    parts = []
    for i, parent in enumerate(parents):
        parts.append(bar(f"l{i}", 0.2) + hinge(f"j{i}", "base" if parent < 0 else f"l{parent}", f"l{i}", 0.2))
    urdf = f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>'
    pairs = tuple(Gear(f"j{a}", f"j{b}", 2.0) for a, b in gears)
    return Scene(models=(SceneModel(urdf=urdf),), gears=pairs, loops="embed")


def parts_of(scene):
    world = mb.build_world(scene)
    names = [name[1:] for name in world.body_names]
    parts = choose_loops(scene, world.tree, world.couplings, world.flexible).parts
    return world, [sorted(int(names[k]) for k in part.bodies) for part in parts], parts


def test_a_gear_takes_the_joints_between():
    assert parts_of(chain(-1, 0, 1, 0, gears=[(2, 0)]))[1] == [[0, 1, 2]]
    assert parts_of(chain(-1, 0, 1, 0, gears=[(2, 3)]))[1] == [[1, 2, 3]]  # on l0, which does not move in it
    assert parts_of(chain(-1, 0, 1, 0, gears=[(1, 3)]))[1] == [[1, 3]]


def test_what_shares_a_joint_is_one_aggregate_and_what_does_not_is_two():
    assert parts_of(chain(-1, 0, 1, 2, gears=[(1, 0), (2, 1)]))[1] == [[0, 1, 2]]
    assert parts_of(chain(-1, 0, 1, 2, gears=[(1, 0), (3, 2)]))[1] == [[0, 1], [2, 3]]


def test_distant_couplings_stay_multipliers_with_what_they_touch():
    parents = [-1, *range(MOST + 1)]
    assert parts_of(chain(*parents, gears=[(MOST + 1, 0)]))[1] == []
    assert parts_of(chain(*parents, gears=[(MOST, 1)]))[1] == [list(range(1, MOST + 1))]
    world, _, parts = parts_of(chain(*parents, gears=[(MOST + 1, 0), (2, 1)]))
    assert parts == []  # one shares the other's joints
    tree, couplings = world.tree, world.couplings
    far = [i for i, name in enumerate(couplings.gear_names) if name == f"j{MOST + 1}"]
    assert [part.gears for part in find_parts(tree, couplings.closures, couplings.gears, ((), far))] == [[1 - far[0]]]


def test_trees_that_an_aggregate_joins_are_one():
    world, bodies, parts = parts_of(chain(-1, 0, -1, 2, gears=[(2, 0)]))
    assert bodies == [[0, 2]] and parts[0].base == -1
    assert len(np.unique(world.tree.root)) == 2 and len(np.unique(merged_roots(world.tree, parts))) == 1


def test_loops_that_a_gear_joins_are_one_aggregate():
    scene = replace(mb.load_scene(ROOT / "config" / "four_bar_gripper.yaml"), loops="embed")
    world = mb.build_world(scene)
    (part,) = choose_loops(scene, world.tree, world.couplings, world.flexible).parts
    assert sorted(part.closures) == [0, 1] and part.gears == [0] and len(part.bodies) == 6

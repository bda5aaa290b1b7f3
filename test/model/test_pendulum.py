# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The papers' pendulums: where their spheres stand and how they move, and their scene files."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.builtin.pendulum import SCENE_FILES, VARIANTS
from paths import ROOT
from scenes.pendulums import bent


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_spheres_stand_where_the_papers_put_them(variant):
    chain = mb.pendulum(5, variant)
    assert chain.spacing == pytest.approx((6.0 if variant == "j12" else 12.0) / 5)
    assert chain.radius == pytest.approx(0.5 * chain.spacing) and chain.base_height == 10.0
    world = mb.build_world(chain.scene())
    assert world.tree.mass == pytest.approx(1.0)
    assert world.tree.com == pytest.approx(np.tile([0.0, 0.0, -0.5 * chain.spacing], (5, 1)))
    assert world.tree.inertia == pytest.approx(np.tile(0.4 * chain.radius**2 * np.eye(3), (5, 1, 1)))
    assert world.q0[0] == chain.angle and world.v0[0] == chain.rate and not world.q0[1:].any()
    assert world.gravity[2] == -chain.gravity


def test_sphere_states_are_those_of_the_simulator():
    chain, q, v = bent(6)
    sim = mb.Simulator(chain.scene())
    sim.set_state(q, v)
    height = sum(chain.mass * chain.gravity * chain.centres(q)[:, 1])
    spin = 0.5 * 0.4 * chain.mass * chain.radius**2 * (np.cumsum(v) ** 2).sum()
    kinetic = 0.5 * chain.mass * (chain.centre_velocities(q, v) ** 2).sum() + spin
    assert sim.energy() == pytest.approx(height + kinetic, rel=1e-13)
    for body, (x, z) in zip(chain.bodies, chain.centres(q)):
        at, (_, y, _, w) = sim.link_pose(body)
        turn = 2.0 * np.arctan2(y, w)
        half = 0.5 * chain.spacing
        assert (at[0] - half * np.sin(turn), at[2] - half * np.cos(turn)) == pytest.approx((x, z), abs=1e-12)


@pytest.mark.parametrize("name, links, variant, title", SCENE_FILES)
def test_scene_files_are_those_of_the_generator(name, links, variant, title):
    written, made = mb.load_scene(ROOT / "config" / f"{name}.yaml"), mb.pendulum(links, variant).scene()
    for field in fields(made):
        if field.name == "models":
            ours, theirs = made.models[0], written.models[0]
            assert ours.urdf.split() == theirs.urdf.split() and ours.joints == theirs.joints
            assert ours.velocities == theirs.velocities and ours.pose == theirs.pose
        elif field.name not in ("path", "lines"):
            assert getattr(written, field.name) == getattr(made, field.name), field.name

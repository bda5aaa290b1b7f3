# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What looks at poses other than the state's finds what the step itself would find there.

Covers simulation/stepping/contact_step.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.collision.closed_forms import ASKED
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene
from mb_contact.simulation.other_poses import OtherPoses
from mb_contact.simulation.stepping import contact_step
from mb_contact.simulation.stepping.impacts import Impacts
from mb_contact.types import SHAPE_PLANE


def tumbling_boxes(engine):
    boxes = tuple(
        Primitive(f"box_{i}", "box", (0.2, 0.15, 0.1), Pose((0.02 * i, 0.0, 0.4 + 0.3 * i), (0.2, 0.1, 0.0)), "free",
                  1.0, material="rubber")
        for i in range(2)
    )  # fmt: skip
    materials = {"rubber": Material(0.5, restitution=0.3)}
    scheme = {"collision_scheme": "event", "collision_engine": engine}
    return mb.Simulator(Scene(primitives=boxes, ground=Ground(0.0, "rubber"), materials=materials, **scheme))


@pytest.mark.parametrize("engine", ["coal", "fcl"])
def test_witnesses_are_those_of_the_step_itself(engine):
    """Closed forms where the step has them, its own engine for the rest."""
    sim, looked, asked = tumbling_boxes(engine), 0, 0
    context = sim.context
    poses = OtherPoses(context, 4)
    for _ in range(400):
        sim.step()
        count, found = context.find_candidates(), context.buffers
        for name in ("geom_R", "geom_p", "candidates", "reach"):
            getattr(poses.buffers, name)[:] = getattr(found, name)
        poses.buffers.witness[:] = found.witness[:] if not count else np.nan
        poses.query(count)
        kinds = context.world.geoms.kind[context.world.geoms.pairs[found.candidates[:count]]].max(axis=1, initial=0)
        shapes = np.flatnonzero(kinds < SHAPE_PLANE)  # a plane needs no witness
        np.testing.assert_array_equal(poses.buffers.witness[shapes], found.witness[shapes])
        looked += len(shapes)
        asked += int(found.found[ASKED])
    assert looked > asked


@pytest.mark.parametrize("engine", ["coal", "fcl"])
def test_the_step_s_shapes_are_not_made_once_more(engine, monkeypatch):
    """Hulls of a humanoid's meshes took 0.4 s, in the first step in which something was fast."""
    context = tumbling_boxes(engine).context

    def forbidden(*_):
        raise AssertionError("a narrow phase was made")

    monkeypatch.setattr(type(context.narrow), "__init__", forbidden)
    poses = OtherPoses(context, 4)
    assert poses.buffers.witness is not context.buffers.witness


@pytest.mark.parametrize("compiled", [True, False])
def test_kernels_of_an_impact_are_loaded_before_time_starts(compiled, monkeypatch):
    """A scene without restitution has impacts where something is fast; its first one took 30 to 145 ms of a step."""
    loaded = []
    monkeypatch.setattr(Impacts, "warm_up", lambda self, _: loaded.append(self))
    monkeypatch.setattr(contact_step, "is_kept", lambda _: compiled)
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 0.3)), "free", 1.0)
    sim = mb.Simulator(Scene(primitives=(ball,), ground=Ground(0.0)))
    assert len(loaded) == compiled and sim.context.impacts is None
    assert sim.step().certificate.contacts == 0 and sim.time == sim.time_step


@pytest.mark.parametrize("engine", ["coal", "fcl"])
def test_tumbling_boxes_come_to_rest_from_event_to_event(engine):
    """With coal a kept point is named anew by rounding at a tie of features: the search for events goes on."""
    sim = tumbling_boxes(engine)
    for _ in range(600):
        step = sim.step()
    assert step.certificate.penetration < 1e-9 and np.abs(sim.v).max() < 1e-6

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The arrays that the parts of a step share.

Covers core/arrays.py, core/handle.py.
"""

from __future__ import annotations

import mb_contact as mb
from mb_contact.core.handle import DRIFT_STEP, DT
from mb_contact.model.scene import Pose, Primitive, Scene
from mb_contact.simulation.context import FIRST_CAPACITY
from paths import ROOT

SCENE = ROOT / "config" / "box_on_table.yaml"


def test_larger_workspaces_change_nothing():
    """Warm starts, efforts and contact impulses go over into the new arrays."""
    grown, usual = mb.Simulator(SCENE), mb.Simulator(SCENE)
    for sim in (grown, usual):
        for _ in range(20):
            sim.step()
    impulse = grown.contact_impulse("box")
    grown.context.grow(contacts=2, fill=2)
    assert grown.context.capacity == 2 * FIRST_CAPACITY == len(grown.context.memory.pair)
    assert (grown.contact_impulse("box") == impulse).all() and impulse.any()
    for _ in range(20):
        assert grown.step().certificate == usual.step().certificate
    assert (grown.q == usual.q).all() and (grown.v == usual.v).all()


def test_a_fall_gains_nothing_where_workspaces_grow():
    """Of a fall the energy alone is not kept by semi-implicit Euler, but with half a step of gravity's power."""
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 5.0)), "free", 2.0)
    grown, usual = mb.Simulator(Scene(primitives=(ball,))), mb.Simulator(Scene(primitives=(ball,)))
    for sim in (grown, usual):
        for _ in range(100):
            sim.step()
    grown.context.grow(contacts=2)
    assert grown.step().certificate == usual.step().certificate
    assert usual.step().certificate.energy_gained == 0.0


def test_settings_have_names():
    sim = mb.Simulator(SCENE)
    context = sim.context
    assert context.dt == context.settings[DT] == context.drift[DRIFT_STEP] == sim.time_step
    sim.step(time_step=5e-4)
    assert context.dt == 5e-4
    context.dt = sim.time_step
    assert context.settings[DT] == sim.time_step
    assert context.find_candidates() >= 1 and len(context.loop_impulses()) == 0

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The lift's scene on the pyramid, and what tests of whole steps ask of a simulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import mb_contact as mb
from mb_contact.model.scene import Ground, Pose, Primitive, Scene
from mb_contact.simulation.results import NUMBERS
from paths import ROOT

LIFT = ROOT / "config" / "dual_arm_lift.yaml"


def lift_simulator():
    return mb.Simulator(replace(mb.load_scene(LIFT), friction_model="coulomb_polyhedral"))


def random_efforts(sim, steps, seed, size=1.2):
    """Random efforts, new every 20 steps, some beyond the limits."""
    rng = np.random.default_rng(seed)
    limit = sim.world.effort_limit
    held = rng.uniform(-size, size, (-(-steps // 20), len(limit))) * limit
    return np.repeat(held, 20, axis=0)[:steps]


def box_scene(**options):
    """A free box of 2 kg just above the ground."""
    settings = {"ground": Ground(), **options}
    box = Primitive("box", "box", (0.2, 0.3, 0.1), Pose((0.1, -0.2, 0.05)), "free", 2.0)
    return Scene(primitives=(box,), **settings)


def bits(sim, efforts):
    """Everything that comes out of some steps, as bytes."""
    out = []
    for effort in efforts:
        step = sim.step(effort)
        certificate = step.certificate._replace(solver="")
        out += [
            sim.q.tobytes(),
            sim.v.tobytes(),
            sim.joint_efforts().tobytes(),
            np.array(step.time).tobytes(),
        ]
        out += [np.array(certificate[:4] + certificate[5:NUMBERS]).tobytes(), step.certificate.solver.encode()]
        for name in ("point", "normal", "gap", "impulse", "sigma", "feature"):
            out.append(np.ascontiguousarray(step.contacts[name]).tobytes())
    return out

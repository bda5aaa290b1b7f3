# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of the library under both collision engines: one motion, and nothing sinks in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb

SINK = ("dual_arm_lift",)  #: more than 1 um, under both engines alike
#: scenes with shapes that have no closed form, and how long they are run [s]
SCENES = {"drawer": 0.3, "dual_arm_lift": 0.5, "peg_in_hole": 0.5, "ramp": 0.5, "table_top": 0.6, "watched_table": 0.5,
          "wheel_and_hub": 0.05, "wheel_change": 0.05, "wheel_nuts": 0.05}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_both_engines_give_one_motion(name):
    scene = mb.load_scene(f"package://mb_contact/config/{name}.yaml")
    coal, fcl = (mb.Simulator(replace(scene, collision_engine=engine)) for engine in ("coal", "fcl"))
    while coal.time < SCENES[name] - 1e-9:
        steps = [coal.step(), fcl.step()]
        assert abs(steps[0].certificate.penetration - steps[1].certificate.penetration) <= 1e-9
        assert steps[1].certificate.penetration <= 1e-6 or name in SINK
        np.testing.assert_allclose(fcl.q, coal.q, rtol=0, atol=1e-6)

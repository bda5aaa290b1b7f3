# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms with redundant rows and singular positions, under every integrator, by default settings too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from scenes import mechanisms as lib

FLOWS = ("rk4", "midpoint", "adaptive")


def run(scene, time, effort=None):
    """The simulator after ``time``; no step is over budget, and no loop opens."""
    sim = mb.Simulator(scene)
    for _ in range(round(time / scene.time_step)):
        certificate = sim.step(effort).certificate
        assert certificate.solver != "over_budget" and certificate.closure_error < 1e-9
    return sim


def chord(angle, reference):
    """Distance of two ends of rods of 1 m [m]."""
    return abs(np.exp(1j * angle) - np.exp(1j * reference))


@pytest.mark.parametrize("loops", ["auto", "multipliers"])
@pytest.mark.parametrize("integrator", FLOWS)
def test_two_four_bars_pass_their_singular_position(integrator, loops):
    """Where the rods lie in one line, twice within this time, three freedoms are there instead of one."""
    sim = run(lib.four_bars(2, integrator=integrator, loops=loops), 1.2)
    assert chord(sim.q[0], lib.four_bars_angle(2, 1.2)) < 1e-4
    assert sim.q[0] < -np.pi / 2 and sim.energy() == pytest.approx(mb.Simulator(sim.scene).energy(), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", FLOWS)
def test_forty_four_bars_pass_it_too(integrator):
    sim = run(lib.four_bars(40, integrator=integrator), 0.8)
    assert sim.loops == dict.fromkeys(sim.loops, "embedded")
    assert chord(sim.q[0], lib.four_bars_angle(40, 0.8)) < 1e-4


@pytest.mark.parametrize("integrator", FLOWS)
def test_a_crank_and_a_rod_of_equal_length_pass_each_other(integrator):
    sim = run(lib.slider_crank(integrator=integrator), 1.0)
    assert chord(sim.q[0], lib.slider_crank_angle(1.0)) < 1e-4


@pytest.mark.parametrize("options, off", [
    ({}, 1e-3), ({"loops": "multipliers"}, 1.1e-3), ({"loops": "multipliers", "drift_control": "projection"}, 1e-3),
    ({"integrator": "rk4"}, 1e-8), ({"integrator": "rk4", "loops": "multipliers"}, 1e-8),
    ({"integrator": "midpoint"}, 1e-4), ({"integrator": "adaptive"}, 1e-6),
])  # fmt: skip
def test_bricard_has_a_row_too_many(options, off):
    sim = mb.Simulator(lib.bricard(**options))
    certificates = [sim.step().certificate for _ in range(1000)]
    assert "over_budget" not in {c.solver for c in certificates}
    assert np.abs(sim.link_pose("b3")[0] - lib.BRICARD_P3).max() < off
    embedded = sim.loops == {"b4_world": "embedded"}
    assert embedded == (options.get("loops") is None or "integrator" in options)
    assert sim.tied_rows == (() if embedded else ("b4_world",)) and certificates[-1].tied_rows == (not embedded)


@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_a_governor_turns_and_spreads(integrator):
    sim = run(lib.governor(integrator=integrator), 1.0)
    spread, turn = lib.governor_motion(1.0)
    angles = dict(zip(sim.world.joint_names, sim.joint_positions()))
    assert abs(angles["out_right"] - np.pi / 2 - spread) < 1e-4 and abs(angles["spin"] - turn) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_andrews_squeezer(integrator):
    scene = lib.squeezer(integrator=integrator, time_step=2e-5)
    effort = np.zeros(len(mb.build_world(scene).joint_names))
    names = mb.build_world(scene).joint_names
    effort[list(names).index("beta")] = lib.TORQUE
    sim = run(scene, 0.03, effort)
    assert sim.joint_positions()[list(names).index("beta")] == pytest.approx(lib.SQUEEZER_BETA, abs=5e-3)


def test_embed_says_what_it_cannot_and_auto_why_it_does_not():
    scene = lib.slider_crank()
    assert mb.Simulator(scene).loops == {"rod_slider": "embedded"}
    motion = mb.model.Motion(closure="rod_slider", times=(0.0, 1.0), displacements=((0, 0, 0), (0, 0, 0)))
    driven = lib.slider_crank(motions=(motion,))
    assert mb.Simulator(driven).loops == {"rod_slider": "driven by a motion"}
    with pytest.raises(mb.SceneError, match="'rod_slider' cannot be embedded: driven by a motion; set loops: auto"):
        mb.Simulator(lib.slider_crank(loops="embed", motions=(motion,)))


def test_what_has_many_freedoms_has_rows_under_euler_alone():
    """Both hands hold one bar, which leaves eight."""
    scene = mb.load_scene("package://mb_contact/config/closed_chain.yaml")
    assert all("quicker by rows" in why for why in mb.Simulator(scene).loops.values())
    assert {*mb.Simulator(replace(scene, loops="embed")).loops.values()} == {"embedded"}

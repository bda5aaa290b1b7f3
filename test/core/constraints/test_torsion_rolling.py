# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Torsional, rolling and anisotropic friction in scenes, against the laws of a ball, a disc and a block.

A ball of radius R that rolls without sliding under a rolling moment c F_n: (I + m R^2) w' = -c m g, so with
I = 2/5 m R^2 it decelerates at 5/7 c g / R.  A body that spins on the ground: I w' = -c m g.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb

G, DT = 9.81, 1e-3


def scene(tmp_path, shape, surface, velocity, gravity=(0.0, 0.0, -G), more="", pose="position: [0, 0, 0.1]"):
    """One free body of 2 kg on the ground; both of the material ``surface``."""
    path = tmp_path / "scene.yaml"
    path.write_text(f"""
time_step: {DT}
friction_model: coulomb_cone
gravity: {[float(x) for x in gravity]}
materials: {{rubber: {surface}, steel: {{friction: 0.5}}}}
ground: {{material: rubber}}
primitives:
  - {{name: body, {shape}, mass: 2.0, material: rubber, base: free, pose: {{{pose}}}, velocity: {velocity}}}
{more}""")
    return mb.Simulator(mb.load_scene(path))


BALL = "shape: sphere, size: 0.1"
BLOCK = "shape: box, size: [0.3, 0.2, 0.2]"
STILL = "{}"


def run(sim, steps):
    """So many steps, each solved."""
    for _ in range(steps):
        step = sim.step()
        assert step.certificate.residual <= 1e-9, step.certificate
        assert step.certificate.solver in ("warm_start", "newton")
    return step


def test_a_ball_with_rolling_friction_decelerates_at_five_sevenths_c_g_over_r(tmp_path):
    c = 0.004
    sim = scene(tmp_path, BALL, f"{{friction: 0.6, rolling: {c}}}", "{angular: [0, 10, 0], linear: [1, 0, 0]}")
    step = run(sim, 1000)
    rate = 5.0 / 7.0 * c * G / 0.1
    assert sim.v[3] == pytest.approx(1.0 - rate, abs=1e-12)
    assert sim.v[1] == pytest.approx(10.0 - rate / 0.1, abs=1e-11)  # no slip
    assert step.contacts["state"].tolist() == ["stick"]
    assert abs(step.certificate.energy_balance) < 1e-12
    run(sim, int(1.0 / rate / DT) - 1000 + 2)
    assert np.abs(sim.v).max() < 1e-12  # and stays at rest
    run(sim, 100)
    assert np.abs(sim.v).max() < 1e-12


@pytest.mark.parametrize("slope", [0.03, 0.05])
def test_rolling_friction_holds_a_ball_up_to_the_slope_c_over_r(tmp_path, slope):
    c = 0.004
    gravity = G * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    sim = scene(tmp_path, BALL, f"{{friction: 0.6, rolling: {c}}}", STILL, gravity)
    run(sim, 200)
    rate = 5.0 / 7.0 * G * max(0.0, np.sin(slope) - c / 0.1 * np.cos(slope))
    assert (rate > 0.0) == (slope > np.arctan(c / 0.1))
    assert sim.v[3] == pytest.approx(0.2 * rate, abs=1e-12)


def test_a_ball_spins_down_at_the_analytic_rate_and_stops(tmp_path):
    c, spin = 0.01, 3.0
    sim = scene(tmp_path, BALL, f"{{friction: 0.6, torsional: {c}}}", f"{{angular: [0, 0, {spin}]}}")
    stop = spin * 0.4 * 0.1**2 / (c * G)
    run(sim, int(0.5 * stop / DT))
    assert sim.v[2] == pytest.approx(spin - int(0.5 * stop / DT) * DT * c * G / (0.4 * 0.1**2), abs=1e-11)
    moment = sim.contact_impulse("body")[:3]
    np.testing.assert_allclose(moment, [0.0, 0.0, -c * 2.0 * G * DT], atol=1e-14)
    np.testing.assert_allclose(sim.contact_impulse("ground")[:3], -moment, atol=1e-14)
    run(sim, int(0.5 * stop / DT) - 2)
    assert sim.v[2] > 0.0
    run(sim, 4)
    assert np.abs(sim.v).max() < 1e-12


def test_a_disc_without_sliding_friction_stops_after_w_r_squared_over_2_c_g(tmp_path):
    """Several contact points share the weight, so their torsions add up to c m g."""
    c, spin = 0.005, 2.0
    sim = scene(
        tmp_path, "shape: cylinder, size: [0.15, 0.2]", f"{{friction: 0.0, torsional: {c}}}",
        f"{{angular: [0, 0, {spin}]}}",
    )  # fmt: skip
    steps = 100
    step = run(sim, steps)
    assert len(step.contacts) >= 3
    assert sim.v[2] == pytest.approx(spin - steps * DT * c * G / (0.5 * 0.15**2), abs=1e-10)
    stop = spin * 0.15**2 / (2.0 * c * G)
    run(sim, int(stop / DT) - steps + 2)
    assert np.abs(sim.v).max() < 1e-11


def grooved(tmp_path, velocity, along=0.2, across=0.6, direction="[1, 0, 0]", yaw=0.0):
    friction = f"{{along: {along}, across: {across}, direction: {direction}}}"
    more = "pairs:\n  - {materials: [rubber, steel], anisotropic_friction: " + friction[:-1] + ", of: rubber}}\n"
    sim = scene(
        tmp_path, BLOCK, f"{{anisotropic_friction: {friction}}}", velocity,
        more=more, pose=f"position: [0, 0, 0.1], rpy: [0, 0, {yaw}]",
    )  # fmt: skip
    return sim


def test_two_grooved_materials_need_a_word_about_their_pair(tmp_path):
    """The ground is of the same material here, so both sides have a direction."""
    with pytest.raises(mb.SceneError, match=r"scene.yaml:5: materials.rubber.anisotropic_friction: meets 'rubber'.*"
                                            "say under pairs how the two rub"):  # fmt: skip
        grooved(tmp_path, STILL)


def block_on_steel(tmp_path, velocity, yaw=0.0, along=0.2, across=0.6, pairs=True):
    """A grooved block on steel of friction 0.5; ``pairs`` false combines the two by the mean."""
    friction = f"{{along: {along}, across: {across}, direction: [2, 0, 0]}}"
    path = tmp_path / "block.yaml"
    listed = f"pairs: [{{materials: [steel, grooved], anisotropic_friction: {friction[:-1]}, of: grooved}}}}]"
    path.write_text(f"""
time_step: {DT}
friction_model: coulomb_cone
materials: {{grooved: {{anisotropic_friction: {friction}}}, steel: {{friction: 0.5}}}}
ground: {{material: steel}}
{listed if pairs else ""}
primitives:
  - {{name: body, {BLOCK}, mass: 2.0, material: grooved, base: free,
      pose: {{position: [0, 0, 0.1], rpy: [0, 0, {yaw}]}}, velocity: {velocity}}}
""")
    return mb.Simulator(mb.load_scene(path))


@pytest.mark.parametrize("yaw", [0.0, 0.7])
@pytest.mark.parametrize("side, mu", [(0, 0.2), (1, 0.6)])
def test_a_grooved_block_slides_three_times_as_far_along_its_grooves(tmp_path, yaw, side, mu):
    """v^2 / (2 mu g), less half a step's way v dt / 2, along either axis of the block, however it is turned."""
    axis = [np.array([np.cos(yaw), np.sin(yaw), 0.0]), np.array([-np.sin(yaw), np.cos(yaw), 0.0])][side]
    sim = block_on_steel(tmp_path, f"{{linear: {axis.tolist()}}}", yaw)
    start = sim.q[:3]
    run(sim, int(1.0 / (mu * G) / DT) + 3)
    assert np.abs(sim.v).max() < 1e-10
    way = sim.q[:3] - start
    assert way @ axis == pytest.approx(1.0 / (2.0 * mu * G) - 0.5 * DT, abs=1e-6)
    assert np.abs(way - way @ axis * axis).max() < 1e-9


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.2])
def test_oblique_friction_dissipates_most(tmp_path, angle):
    """-(mu_1^2 v_1, mu_2^2 v_2) / |(mu_1 v_1, mu_2 v_2)| of the normal force, for the velocity after the step."""
    sim = block_on_steel(tmp_path, f"{{linear: {[float(np.cos(angle)), float(np.sin(angle)), 0.0]}}}")
    mu = np.array([0.2, 0.6])
    for _ in range(20):
        before = sim.v
        step = run(sim, 1)
        force = 2.0 * (sim.v - before)[3:5] / DT
        v = sim.v[3:5]
        np.testing.assert_allclose(force, -(mu**2) * v / np.linalg.norm(mu * v) * 2.0 * G, atol=1e-7)
    assert set(step.contacts["state"]) == {"slip"}


def test_a_skate_runs_along_its_blade_and_holds_across(tmp_path):
    slope = 0.3
    path = tmp_path
    sim = block_on_steel(path, STILL, along=0.0, across=0.8)
    tilted = [G * np.sin(slope) * np.cos(0.5), G * np.sin(slope) * np.sin(0.5), -G * np.cos(slope)]
    text = (path / "block.yaml").read_text() + f"gravity: {[float(x) for x in tilted]}\n"
    (path / "block.yaml").write_text(text)
    sim = mb.Simulator(mb.load_scene(path / "block.yaml"))
    run(sim, 100)
    assert sim.v[3] == pytest.approx(0.1 * tilted[0], abs=1e-11)
    assert abs(sim.v[4]) < 1e-11


def test_without_a_pair_the_coefficients_are_geometric_means(tmp_path):
    sim = block_on_steel(tmp_path, STILL, pairs=False)
    along, across = (float(np.sqrt(0.5 * c)) for c in (0.2, 0.6))
    assert sim.world.surfaces.along[0] == pytest.approx(along)
    assert sim.world.surfaces.across[0] == pytest.approx(across)
    assert sim.world.geoms.mu[0] == pytest.approx(np.sqrt(along * across))
    np.testing.assert_array_equal(sim.world.surfaces.direction[0], [1.0, 0.0, 0.0])


def test_a_direction_that_stands_on_the_surface_counts_as_the_mean(tmp_path):
    sim = block_on_steel(tmp_path, "{linear: [0.6, 0.8, 0]}")
    text = (tmp_path / "block.yaml").read_text().replace("[2, 0, 0]", "[0, 0, 1]")
    (tmp_path / "block.yaml").write_text(text)
    sim = mb.Simulator(mb.load_scene(tmp_path / "block.yaml"))
    run(sim, 50)
    speed = 1.0 - 0.05 * np.sqrt(0.12) * G
    np.testing.assert_allclose(sim.v[3:5], speed * np.array([0.6, 0.8]), atol=1e-10)


def test_states_with_moments_are_restored_bit_for_bit(tmp_path):
    surface = "{friction: 0.3, torsional: 0.01, rolling: 0.002}"
    sim = scene(tmp_path, BALL, surface, "{angular: [1, 4, 3], linear: [1, -0.3, 0]}")
    run(sim, 20)
    saved = sim.save()
    first = [(sim.step(), sim.q, sim.v)[1:] for _ in range(20)]
    sim.restore(saved)
    again = [(sim.step(), sim.q, sim.v)[1:] for _ in range(20)]
    for (q, v), (p, w) in zip(first, again):
        assert (q == p).all() and (v == w).all()


BASE = """
friction_model: {model}
materials: {{a: {{friction: 0.5}}, b: {material}}}
primitives: [{{name: x, shape: sphere, size: 0.1, material: b}}]
pairs: [{{materials: [a, b], {pair}}}]
"""
PLAIN = "{friction: 0.4}"


@pytest.mark.parametrize("model, material, pair, message", [
    ("coulomb_polyhedral", "{friction: 0.4, torsional: 0.01}", "friction: 0.1",
     "3: materials.b.torsional: needs friction_model coulomb_cone, got coulomb_polyhedral"),
    ("no_slip", PLAIN, "friction: 0.1, rolling: 0.2", r"5: pairs\[0\].rolling: needs friction_model coulomb_cone"),
    ("viscous", "{anisotropic_friction: {along: 0.1, across: 0.2, direction: [1, 0, 0]}}", "friction: 0.1",
     "3: materials.b.anisotropic_friction: needs friction_model coulomb_cone, got viscous"),
    ("coulomb_cone", "{friction: 0.4, rolling: -1}", "friction: 0.1", "3: materials.b.rolling: must be at least 0"),
    ("coulomb_cone", "{rolling: 0.1}", "friction: 0.1", "3: materials.b: the key 'friction' is missing"),
    ("coulomb_cone", "{friction: 1, anisotropic_friction: {along: 0.1, across: 0.2, direction: [1, 0, 0]}}",
     "friction: 0.1", "3: materials.b: has both friction and anisotropic_friction; keep one of them"),
    ("coulomb_cone", "{anisotropic_friction: {along: 0.1, across: 0.2}}", "friction: 0.1",
     "3: materials.b.anisotropic_friction: the key 'direction' is missing"),
    ("coulomb_cone", "{anisotropic_friction: {along: 0.1, across: 0.2, direction: [0, 0, 0]}}", "friction: 0.1",
     "3: materials.b.anisotropic_friction.direction: must not be zero"),
    ("coulomb_cone", "{anisotropic_friction: {along: 0.1, across: 0.2, direction: [1, 0, 0], of: b}}", "friction: 0.1",
     "3: materials.b.anisotropic_friction.of: belongs to pairs"),
    ("coulomb_cone", PLAIN, "anisotropic_friction: {along: 0.1, across: 0.2, direction: [1, 0, 0], of: c}",
     r"5: pairs\[0\].anisotropic_friction.of: must be a or b, got 'c'"),
    ("coulomb_cone", PLAIN, "rolling: 0.1", r"5: pairs\[0\]: the key 'friction' is missing; give friction or"),
    ("coulomb_cone", PLAIN, "friction: 1, anisotropic_friction: {along: 0.1, across: 0.2, direction: [1, 0, 0]}",
     r"5: pairs\[0\]: has both friction and anisotropic_friction; keep one of them"),
])  # fmt: skip
def test_impossible_surfaces_are_refused(tmp_path, model, material, pair, message):
    path = tmp_path / "scene.yaml"
    path.write_text(BASE.format(model=model, material=material, pair=pair))
    with pytest.raises(mb.SceneError, match=message):
        mb.load_scene(path)

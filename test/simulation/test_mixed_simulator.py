# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Ordinary objects beside surfaces in contact coordinates: strikes by their closed forms, and exact ordinary shapes.

Covers simulation/surfaces/mixed.py, simulation/surfaces/step.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact import cli
from mb_contact.errors import InputError, SceneError
from mb_contact.simulation import MixedSimulator, SurfaceSimulator
from mb_contact.surfaces.scene_file import load_surface_scene

G, RADIUS = 9.81, 0.1
BALL = """
surface_contacts:
  - on: {{surface: {{plane: xy}}, material: slick}}
    friction: {friction}
    restitution: {restitution}
    body:
      name: ball
      surface: {{sphere: 0.1}}
      mass: 1.0
      inertia: [0.004, 0.004, 0.004]
      pose: {{position: [0, 0, 0.1]}}
      velocity: {{angular: [0, {spin}, 0], linear: [{speed}, 0, 0]}}
      start: {start}
      material: steel
"""
STRIKER = """
time_step: {h}
materials: {{slick: {{friction: 0.0}}, steel: {{friction: {rough}, restitution: {elastic}}}}}
collision_filters: {{disable: [[striker, ball_base]]}}
primitives:
  - {{name: striker, shape: sphere, size: [0.05], mass: 0.5, base: free, material: steel,
      pose: {{position: [{at}]}}, velocity: {{linear: [{along}]}}}}
"""


def simulator(folder, text):
    """Of a scene file with this text."""
    file = folder / "scene.yaml"
    file.write_text(text, encoding="utf-8")
    return mb.surface_simulator(file)


def struck(folder, place, velocity, h=0.001, rough=0.0, elastic=1.0, friction=".inf", restitution=0.0, speed=0.0,
           large=False):  # fmt: skip
    """A ball that rolls with ``speed``, and a striker that begins at ``place`` from the ball's centre.

    A ``large`` one slides on the plane.
    """
    at = ", ".join(repr(float(x)) for x in np.add(place, (0.0, 0.0, RADIUS)))
    along = ", ".join(repr(float(x)) for x in velocity)
    start = "rolling" if friction != "0" else "sliding"
    text = STRIKER.format(h=h, rough=rough, elastic=elastic, at=at, along=along) + BALL.format(
        friction=friction, restitution=restitution, spin=speed / RADIUS, speed=speed, start=start
    )
    if large:
        text = text.replace("[0.05]", "[0.1]").replace("collision_filters: {disable: [[striker, ball_base]]}", "")
    return simulator(folder, text)


def momentum(sim, name, mass):
    return mass * sim.object_motion(name)[0][3:]


def test_a_body_that_nothing_touches_moves_as_alone_bit_for_bit(tmp_path):
    alone = BALL.format(friction=0.3, restitution=0.5, spin=3.0, speed=0.5, start="sliding").replace(
        "      material: steel\n", "").replace(", material: slick", "")  # fmt: skip
    alone = simulator(tmp_path, alone)
    both = struck(tmp_path, (3.0, 0.0, 1.0), (0.0, 0.0, 0.0), friction=0.3, restitution=0.5)
    both.tree.restore(alone.tree.save())
    both.context.contact_step.follow()
    assert isinstance(alone, SurfaceSimulator) and isinstance(both, MixedSimulator)
    for _ in range(150):
        alone.step()
        both.step()
    np.testing.assert_array_equal(both.tree.q, alone.tree.q)
    np.testing.assert_array_equal(both.link_pose("ball")[0], alone.link_pose("ball")[0])
    assert both.tree.mode_name("ball") == "rolling"
    assert both.link_pose("striker")[0][2] == pytest.approx(1.0 + RADIUS - 0.5 * G * 0.15 * 0.151, abs=1e-12)


@pytest.mark.parametrize("elastic", [0.0, 0.5, 1.0])
def test_a_ball_that_cannot_slip_takes_a_strike_with_seven_fifths_of_its_mass(tmp_path, elastic):
    sim = struck(tmp_path, (-0.25, 0.0, 0.0), (1.0, 0.0, 0.0), elastic=elastic, speed=0.3, large=True)
    start = sim.energy()
    for _ in range(100):
        step = sim.step()
        if step.events:
            break
    (event,) = step.events
    gap = 0.25 - 2.0 * RADIUS
    assert event.time == pytest.approx(gap / 0.7, abs=1e-9)
    m, M = 0.5, 1.4
    impulse = 0.7 * (1.0 + elastic) * m * M / (m + M)
    w, v = np.split(sim.object_motion("ball")[0], 2)
    np.testing.assert_allclose(v, (0.3 + impulse / M, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(w, (0.0, v[0] / RADIUS, 0.0), atol=1e-11)
    np.testing.assert_allclose(sim.object_motion("striker")[0][3:], (1.0 - impulse / m, 0.0, 0.0), atol=1e-12)
    assert start - sim.energy() == pytest.approx(0.5 * m * M / (m + M) * 0.49 * (1.0 - elastic**2), abs=1e-12)
    assert abs(sim.tree.gap("ball")) < 1e-15 and sim.tree.mode_name("ball") == "rolling"
    reached = 0.3 * event.time + v[0] * (sim.time - event.time)
    np.testing.assert_allclose(sim.link_pose("ball")[0], (reached, 0.0, RADIUS), atol=1e-9)


def test_friction_lets_a_struck_ball_slip_until_it_rolls_at_five_sevenths(tmp_path):
    mu = 0.2
    sim = struck(tmp_path, (-0.151, 0.0, 0.0), (1.5, 0.0, 0.0), friction=mu)
    for _ in range(400):
        sim.step()
    kinds = [event.kind for event in sim.tree.events]
    strike, sticks = (event.time for event in sim.tree.events)
    assert kinds == ["slips", "sticks"]
    speed = 1.5 * 2.0 * 0.5 / 1.5  # of two masses, for the ball's friction needs a push along the normal
    assert sticks - strike == pytest.approx(2.0 * speed / (7.0 * mu * G), rel=1e-6)
    w, v = np.split(sim.object_motion("ball")[0], 2)
    np.testing.assert_allclose(v, (5.0 / 7.0 * speed, 0.0, 0.0), atol=1e-8)
    np.testing.assert_allclose(w, (0.0, v[0] / RADIUS, 0.0), atol=1e-7)


@pytest.mark.parametrize(("angle", "rough"), [(0.6, 0.2), (-0.6, 0.2), (-1.2, 0.0), (0.0, 0.1)])
def test_a_strike_from_any_side_is_that_of_a_sphere_on_a_plane(tmp_path, angle, rough):
    n = np.array([np.cos(angle), 0.0, np.sin(angle)])
    place = -(1.5 * RADIUS + 1e-12) * n
    sim = struck(tmp_path, place, n, rough=rough, elastic=0.7, friction=0.3)
    (event,) = sim.step().events
    steel, floor = mb.model.Material(rough, restitution=0.7), mb.model.Material(0.3)
    at = mb.model.Pose((0.0, 0.0, RADIUS)), mb.model.Pose(tuple(place + (0, 0, RADIUS)))
    ball = mb.model.Primitive("ball", "sphere", (RADIUS,), at[0], "free", 1.0, (0.004,) * 3, "steel")
    moving = mb.model.Velocity(linear=tuple(n))
    striker = mb.model.Primitive("striker", "sphere", (0.05,), at[1], "free", 0.5, None, "steel", moving)
    scene = mb.Scene(
        primitives=(ball, striker), ground=mb.model.Ground(material="floor"), time_step=0.001,
        materials={"steel": steel, "floor": floor}, pairs=(mb.model.MaterialPair(("steel", "floor"), 0.3),),
        collision_filters=mb.model.CollisionFilters(disable=(("striker", "ground"),)),
    )  # fmt: skip
    exact = mb.Simulator(scene)
    (other,) = exact.step().events
    assert event.energy_after == pytest.approx(other.energy_after, abs=1e-12)
    for name in ("ball", "striker"):  # gravity may act on one that has parted
        np.testing.assert_allclose(sim.object_motion(name)[0], exact.object_motion(name)[0], atol=2e-3 * G)
    w, v = np.split(exact.object_motion("ball")[0], 2)
    slips = "sliding" if abs(v[0] - RADIUS * w[1]) > 1e-6 else "rolling"
    assert sim.tree.mode_name("ball") == ("free" if angle > 0.0 else slips)


def test_a_ball_lifted_by_a_strike_flies_lands_and_bounces_as_its_contact_says(tmp_path):
    n = np.array([0.6, 0.0, 0.8])
    sim = struck(tmp_path, -(1.5 * RADIUS + 1e-9) * n, 2.0 * n, elastic=1.0, friction="0", restitution=0.5)
    sim.step()
    (parted,) = sim.tree.events
    assert parted.kind == "breaks"
    speed = sim.object_motion("ball")[0][5] + G * (sim.time - parted.time)
    free = 2.0 * 2.0 * 0.5 / 1.5 * 0.8  # upwards, of two masses that meet freely
    assert speed == pytest.approx(free, abs=0.5 * 0.001 * G)  # the striker's velocity comes half a step late
    for _ in range(700):
        sim.step()
    landings = [event.time for event in sim.tree.events if event.kind == "lands"]
    first = parted.time + 2.0 * speed / G
    np.testing.assert_allclose(landings[:3], first + np.array([0.0, speed / G, 1.5 * speed / G]), atol=1e-8)


def test_a_strike_keeps_momentum_along_a_slippery_surface_and_energy(tmp_path):
    sim = struck(tmp_path, (-0.14, 0.06, 0.02), (2.0, 0.0, 0.0), rough=0.4, elastic=1.0, friction="0", speed=0.2)
    before, energy = momentum(sim, "ball", 1.0) + momentum(sim, "striker", 0.5), sim.energy()
    for _ in range(30):
        step = sim.step()
        if step.events:
            break
    after = momentum(sim, "ball", 1.0) + momentum(sim, "striker", 0.5)
    np.testing.assert_allclose(after[:2], before[:2], atol=1e-12)
    assert sim.energy() <= energy + 1e-12 and abs(sim.object_motion("ball")[0][4]) > 0.05
    assert abs(sim.tree.gap("ball")) < 1e-15


def test_what_rests_on_a_surface_body_presses_it_onto_its_surface(tmp_path):
    plate = """
time_step: 0.001
primitives: [{name: plate, shape: box, size: [0.4, 0.4, 0.02], mass: 2.0, base: free,
              pose: {position: [0.0, 0.0, 0.21]}}]
"""
    sim = simulator(tmp_path, plate + BALL.format(friction=0.5, restitution=0.0, spin=0.0, speed=0.0, start="rolling")
                    .replace("      material: steel\n", "").replace(", material: slick", ""))  # fmt: skip
    for _ in range(20):
        step = sim.step()
    assert sim.tree.contact_wrench("ball")[1] == pytest.approx(3.0 * G, rel=1e-9)
    assert sim.tree.mode_name("ball") == "rolling" and abs(sim.link_pose("plate")[0][2] - 0.21) < 1e-9
    impulse = {tuple(sorted((row["link_a"], row["link_b"]))): row["impulse"] for row in step.contacts}
    assert abs(impulse["ball", "world"][2]) == pytest.approx(3.0 * G * 0.001, rel=1e-9)


def test_a_state_is_saved_and_restored_bit_for_bit(tmp_path):
    sim = struck(tmp_path, (-0.2, 0.02, 0.01), (2.0, 0.0, 0.0), rough=0.4, elastic=0.5, friction=0.3)
    state = sim.save()
    runs = []
    for _ in range(2):
        sim.restore(state)
        certificates = [sim.step().certificate for _ in range(60)]
        runs.append((sim.q, sim.v, sim.time, certificates[-1]))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    assert runs[0][2:] == runs[1][2:]
    other = struck(tmp_path, (-0.2, 0.02, 0.01), (2.0, 0.0, 0.0), rough=0.4, elastic=0.5, friction=0.4)
    for wrong, words in ((3, "needs a State"), (other.save(), "another scene with other contacts")):
        with pytest.raises(InputError, match=words):
            sim.restore(wrong)


def test_bodies_can_be_put_elsewhere(tmp_path):
    sim = struck(tmp_path, (3.0, 0.0, 0.0), (0.0, 0.0, 0.0), friction=0.3)
    sim.set_object("ball", velocity=(0.0, 5.0, 0.0, 0.5, 0.0, 0.0))
    assert sim.tree.mode_name("ball") == "rolling"
    sim.set_object("striker", pose=((5.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0)))
    assert sim.tree.mode_name("ball") == "rolling"
    sim.set_object("ball", pose=((1.0, 0.0, 0.5), (0.0, 0.0, 0.0, 1.0)))
    assert sim.tree.mode_name("ball") == "free" and sim.tree.gap("ball") == pytest.approx(0.4)
    q = sim.q
    with pytest.raises(InputError, match="ball begins .* inside"):
        sim.set_object("ball", pose=((1.0, 0.0, 0.05), (0.0, 0.0, 0.0, 1.0)))
    np.testing.assert_array_equal(sim.q, q)


def test_what_cannot_stand_in_one_scene_is_refused_in_a_sentence(tmp_path):
    box = "primitives: [{name: box, shape: box, size: [0.1, 0.1, 0.1], mass: 1.0, base: free}]\n"
    ball = BALL.format(friction=0.3, restitution=0.0, spin=0, speed=0, start="rolling").replace(
        "      material: steel\n", "").replace(", material: slick", "")  # fmt: skip
    cases = {
        "integrator: rk4\n": "integrator: beside surface_contacts it must be semi_implicit_euler, got 'rk4'",
        "collision_scheme: event\n": "collision_scheme: beside surface_contacts it must be time_stepping",
        "friction_model: viscous\n": "friction_model: beside surface_contacts",
        "loop_closures: [{kind: point, link_a: box, link_b: ball}]\n": "loop_closures.0.: 'ball' is moved by",
    }
    for line, words in cases.items():
        with pytest.raises(SceneError, match=words):
            simulator(tmp_path, box + line + ball)
    with pytest.raises(SceneError, match=r"on.material: there is no material 'slick'"):
        simulator(tmp_path, box + ball.replace("{plane: xy}", "{plane: xy}, material: slick"))
    with pytest.raises(SceneError, match="unknown key"):
        load_surface_scene(write(tmp_path, "integrator: rk4\n" + ball))
    sim = simulator(tmp_path, box + ball)
    with pytest.raises(InputError, match="no body comes or goes"):
        sim.rebuilt(sim.scene)


def write(folder, text):
    file = folder / "scene.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_commands_take_a_scene_of_both_kinds(capsys):
    scene = "package://mb_contact/config/egg_and_boxes.yaml"
    assert cli.main(["check", scene]) == 0
    out = capsys.readouterr().out
    assert "egg on the world" in out and "objects    lower, middle, upper, ball" in out and "warning" not in out
    assert cli.main(["run", scene, "--duration", "0.02", "--as-fast-as-possible", "--backend", "embedded"]) == 0
    assert "simulated 0.020 s" in capsys.readouterr().err


def test_the_egg_among_boxes_gains_no_energy_and_sinks_nowhere():
    sim = mb.surface_simulator("package://mb_contact/config/egg_and_boxes.yaml")
    energies, deepest = [sim.energy()], 0.0
    for _ in range(600):
        deepest = max(deepest, sim.step().certificate.penetration)
        energies.append(sim.energy())
    assert np.diff(energies).max() < 1e-12 and energies[-1] < 0.7 * energies[0] and deepest < 1e-4
    kinds = [event.kind for event in sim.tree.events]
    assert kinds[:2] == ["breaks", "lands"] and sim.tree.mode_name("egg") == "rolling"
    assert abs(sim.tree.gap("egg")) < 1e-14 and sim.link_pose("lower")[0][0] > 0.05

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Presets of scenes: what the papers print, which a scene's own keys override; and what it does to bodies."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError, SceneError
from mb_contact.model import Ground, Material, Pose, Primitive, Velocity, preset
from mb_contact.model.scene import check_scene
from mb_contact.model.scene.presets import PRESETS

BALL = "primitives:\n  - {name: ball, shape: sphere, size: [0.1], base: free, mass: 1.0}\n"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_scene(name):
    settings = preset(name)
    scene = mb.Scene(**settings, ground=Ground())
    check_scene(scene)
    assert {key: getattr(scene, key) for key in settings} == settings


@pytest.mark.parametrize("text", ["preset: j14_as_printed\nfriction_directions: 8\n",
                                  "friction_directions: 8\npreset: j14_as_printed\n"])  # fmt: skip
def test_the_scenes_own_keys_count_before_its_preset(tmp_path, text):
    path = tmp_path / "scene.yaml"
    path.write_text(text + BALL)
    scene = mb.load_scene(path)
    assert (scene.friction_directions, scene.friction_frame, scene.restitution_law) == (8, "fixed", "papers")
    assert scene.drift_rate == 0.0 and scene.time_step == mb.Scene().time_step


def test_an_unknown_preset_is_refused(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(BALL + "preset: j13_as_printed\n")
    with pytest.raises(SceneError, match=r"scene.yaml:3: preset: .*j14_as_printed, j12_as_printed"):
        mb.load_scene(path)
    with pytest.raises(InputError, match="j13_as_printed"):
        preset("j13_as_printed")


def test_what_a_preset_does_not_allow_is_refused(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(BALL + "preset: d15_viscous_as_printed\ncollision_scheme: event\n")
    with pytest.raises(SceneError, match="'event' needs friction_model"):
        mb.load_scene(path)


def run(steps, primitive, material, settings, **scene):
    """The simulator after so many steps of a primitive on the ground, and the events."""
    sim = mb.Simulator(
        mb.Scene(primitives=(primitive,), ground=Ground(material="m"), materials={"m": material}, **settings, **scene)
    )
    return sim, [event for _ in range(steps) for event in sim.step().events]


def test_energy_comes_from_friction_in_decompression():
    """A slender rod at 45 degrees, mu = 0.7, restitution 1, tip at (-1, -1)/sqrt(8): W = [[2.5, 1.5], [1.5, 2.5]].

    It sticks in compression, p = (0.625, -0.375), and the energy falls from 1/2 by 0.625/2.  As (57) has it 0.625 comes
    back without any friction, at 2.5 * 0.625 m/s, and the energy rises by half the product.
    """
    half = np.sqrt(0.5)
    rod = Primitive("rod", "capsule", (1e-4, 1.0), Pose((0.0, 0.0, 0.5 * half + 6e-4), rpy=(0.0, np.pi / 4, 0.0)),
                    "free", 1.0, material="m", inertia=(1 / 12, 1 / 12, 1e-6),
                    velocity=Velocity(linear=(0.0, 0.0, -1.0)))  # fmt: skip
    expected = (0.5 - 0.625 / 2 + 0.625 * 2.5 * 0.625 / 2) / 0.5
    for settings, ratio in ((preset("j14_as_printed"), expected), ({}, 1.0)):
        event = run(3, rod, Material(friction=0.7, restitution=1.0), settings, gravity=(0.0, 0.0, 0.0))[1][0]
        assert event.energy_after / event.energy_before == pytest.approx(ratio, rel=1e-3)


def test_four_fixed_directions_hold_less_between_them():
    """Between two directions friction is smaller by cos 45 degrees, so a block goes farther by sqrt 2."""
    way, at = [], Pose((0.0, 0.0, 0.025))
    for angle in (0.0, np.pi / 4):
        speed = Velocity(linear=(np.cos(angle), np.sin(angle), 0.0))
        box = Primitive("box", "box", (0.2, 0.2, 0.05), at, "free", 1.0, material="m", velocity=speed)
        way.append(np.hypot(*run(200, box, Material(friction=1.0), preset("j14_as_printed"))[0].q[:2]))
    assert way[1] / way[0] == pytest.approx(np.sqrt(2.0), rel=0.01)


@pytest.mark.parametrize("name, degrees", [("d15_no_slip_as_printed", 60.0), ("d15_viscous_as_printed", 5.0)])
def test_drumwrights_models_know_no_coulomb_friction(name, degrees):
    """Without slip nothing slides on any ramp; with c = 10 N s/m at four corners all does, v' = g sin - 4 c v."""
    slope, c = np.radians(degrees), 10.0
    gravity = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
    box = Primitive("box", "box", (0.2, 0.2, 0.05), Pose((0.0, 0.0, 0.025)), "free", 1.0, material="m")
    sim, _ = run(100, box, Material(friction=0.4, viscous=c), preset(name), gravity=gravity)
    rate = 4.0 * c
    way = gravity[0] / rate * (sim.time - (1.0 - np.exp(-rate * sim.time)) / rate) if "viscous" in name else 0.0
    assert sim.q[0] == pytest.approx(way, rel=1e-5, abs=1e-9)

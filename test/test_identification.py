# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters found again in simulated motions.

Covers gradients/recordings.py.
"""

import dataclasses

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.gradients import Recording, Unknown

M = mb.model


def recorded(scene, velocities, steps, effort=None):
    """The motion of a scene from these velocities on."""
    sim = mb.Simulator(scene, warm_up=False)
    sim.reset()
    sim.set_state(sim.q, velocities)
    effort = np.zeros((steps, len(sim.world.joint_names))) if effort is None else effort
    states = [(sim.q, sim.v)]
    for k in range(steps):
        sim.step(effort[k])
        states.append((sim.q, sim.v))
    return Recording(*map(np.array, zip(*states, strict=True)), effort)


def tossed(mass=0.37):
    """A cube that a ball hits in the air, and that lands on a corner and slides."""
    cube = M.Primitive("cube", "box", (0.1,) * 3, M.Pose((0.0, 0.0, 0.14), (0.3, 0.4, 0.1)), "free", mass, material="a")
    ball = M.Primitive("ball", "sphere", (0.05,), M.Pose((-0.12, 0.0, 0.16)), "free", 0.5, material="a")
    ground, materials = M.Ground(material="b"), {"a": M.Material(friction=0.3), "b": M.Material(friction=0.2)}
    pairs = (M.MaterialPair(("a", "b"), friction=0.18),)
    return mb.Scene(primitives=(cube, ball), ground=ground, materials=materials, pairs=pairs, time_step=0.002)


def test_friction_and_mass_of_tosses():
    rng = np.random.default_rng(5)
    scene = tossed()
    v = np.concatenate((rng.normal(size=3), [0.5, 0.1, 0.0], np.zeros(3), [2.0, 0.1, 0.0]))
    tosses = [recorded(scene, v, 64)]
    unknowns = [Unknown("friction", ("a", "b"), 0.3), Unknown("mass", "cube", 0.6, low=0.01)]
    found = mb.identify(scene, tosses, unknowns)
    np.testing.assert_allclose(found.values, [0.18, 0.37], rtol=1e-6)
    assert found.scene.pairs[0].friction == found.values[0] and found.scene.primitives[0].mass == found.values[1]
    assert found.rollouts < 40 and found.cost < 1e-12


def test_deviations_from_noise():
    """Damping and friction of a joint from noisy angles: what is found lies within three deviations."""
    scene = mb.pendulum(1, length=1.0).scene()
    properties = {"hinge_0": M.scene.JointProperties(damping=0.2, friction=0.1)}
    scene = dataclasses.replace(scene, models=(dataclasses.replace(scene.models[0], joint_properties=properties),))
    rng, steps = np.random.default_rng(2), 300
    effort = 2.0 * np.sin(np.arange(steps) * 0.05)[:, None]
    clean = recorded(scene, np.zeros(1), steps, effort)
    q, v = (x + s * rng.normal(size=x.shape) for x, s in ((clean.q, 1e-4), (clean.v, 1e-3)))
    noisy = clean._replace(q=q, v=v)
    noisy.q[0], noisy.v[0] = clean.q[0], clean.v[0]
    unknowns = [
        Unknown("damping", "hinge_0", 0.4),
        Unknown("joint_friction", "hinge_0", 0.02),
    ]
    found = mb.identify(scene, [noisy], unknowns, noise=(1e-4, 1e-3))
    assert (np.abs(found.values - [0.2, 0.1]) < 3.0 * found.deviations).all()
    assert (found.deviations < 0.01).all() and 0.8 < 2.0 * found.cost / (2 * steps) < 1.2


def test_what_the_data_do_not_show_has_an_endless_deviation():
    """The friction of a box at rest, beside that of a ball that bounces; restitution of materials without a pair."""
    ball = M.Primitive("ball", "sphere", (0.05,), M.Pose((0, 0, 0.3)), "free", 1.0, material="b")
    box = M.Primitive("box", "box", (0.1,) * 3, M.Pose((0, 2, 0.05)), "free", 1.0, material="w")
    bouncy = M.Material(0.15, restitution=0.6)
    materials = {"g": bouncy, "b": bouncy, "w": M.Material(0.5)}
    scene = mb.Scene(primitives=(ball, box), ground=M.Ground(material="g"), materials=materials)
    clean = recorded(scene, [0, 0, 0, 3.0, 0, 0, *[0.0] * 6], 400)
    noisy = clean._replace(v=clean.v + 1e-3 * np.random.default_rng(0).normal(size=clean.v.shape))
    unknowns = [
        Unknown("friction", ("w", "g"), 0.7), Unknown("friction", ("b", "g"), 0.3),
        Unknown("restitution", ("g", "b"), 0.5, 0.0, 1.0),
    ]  # fmt: skip
    found = mb.identify(scene, [noisy], unknowns, window=100, noise=(1e-5, 1e-3))
    np.testing.assert_allclose(found.values[1:], [0.15, 0.6], atol=1e-2)
    assert found.deviations[0] == np.inf and (found.deviations[1:] < 1e-2).all()


def test_errors():
    scene = tossed()
    recording = Recording(np.zeros((2, 14)), np.zeros((2, 12)))
    for unknown, message in (
        (Unknown("mass", "cup", 1.0), "no primitive 'cup'"),
        (Unknown("colour", "cube", 1.0), "kind of an unknown"),
        (Unknown("damping", "hinge", 1.0), "nothing in the scene"),
        (Unknown("mass", "cube", 3.0, 0.5, 2.0), "unknown mass of cube starts at 3; start it within .* 0.5, .* to 2"),
    ):
        with pytest.raises(InputError, match=message):
            mb.identify(scene, [recording], [unknown])
    with pytest.raises(InputError, match="q of a recording"):
        mb.identify(
            scene,
            [Recording(np.zeros((2, 3)), np.zeros((2, 12)))],
            [Unknown("mass", "cube", 1.0)],
        )
    with pytest.raises(InputError, match="recordings must be a list of Recording"):
        mb.identify(scene, recording, [Unknown("mass", "cube", 1.0)])
    with pytest.raises(InputError, match="unknowns must be a list of Unknown"):
        mb.identify(scene, [recording], Unknown("mass", "cube", 1.0))
    with pytest.raises(InputError, match="at least one"):
        mb.identify(scene, [], [])

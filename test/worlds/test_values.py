# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Values that worlds have of their own are those of a scene that has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.core.workspace import ENERGY_START
from mb_contact.errors import InputError
from mb_contact.model.scene import (
    Ground,
    JointProperties,
    Material,
    MaterialPair,
    Pose,
    Primitive,
    Scene,
    SceneModel,
    Velocity,
)


def sliding(mass=1.0, friction=0.4, restitution=0.0, gravity=(0.0, 0.0, -9.81), size=(0.2, 0.1, 0.1), height=0.05):
    """A box that slides on the ground."""
    materials = {"a": Material(friction, restitution=restitution), "b": Material(friction, restitution=restitution)}
    pairs = (MaterialPair(("a", "b"), friction),)
    box = Primitive(
        "box",
        "box",
        size,
        Pose((0.0, 0.0, height)),
        "free",
        mass,
        material="a",
        velocity=Velocity(linear=(2.0, 0.5, 0)),
    )
    return Scene(primitives=(box,), ground=Ground(0.0, "b"), materials=materials, pairs=pairs, gravity=gravity)


def ends(scene, steps=40):
    """q and v after so many steps of a simulator."""
    sim = mb.Simulator(scene)
    for _ in range(steps):
        sim.step()
    return sim.q, sim.v


@pytest.mark.parametrize(
    "name, value, scene",
    [
        ("mass", 3.0, sliding(mass=3.0)),
        ("friction", 0.1, sliding(friction=0.1)),
        ("gravity", (1.0, 0.0, -3.0), sliding(gravity=(1.0, 0.0, -3.0))),
        ("pose", (0.3, 0.0, 0.09, 0.0, 0.0, 0.0, 1.0), None),
    ],
)
def test_a_value_is_that_of_a_scene_with_it(name, value, scene):
    worlds = mb.Worlds(sliding(), 3, threads=1)
    worlds.set(name, [[value]], mask=[1])
    worlds.reset()
    worlds.step(steps=40)
    if scene is None:
        scene = replace(sliding(), primitives=(replace(sliding().primitives[0], pose=Pose((0.3, 0.0, 0.09))),))
    for w, expected in ((0, ends(sliding())), (1, ends(scene)), (2, ends(sliding()))):
        np.testing.assert_allclose(worlds.q[w], expected[0], atol=1e-12)
        np.testing.assert_allclose(worlds.v[w], expected[1], atol=1e-11)
    assert np.abs(worlds.v[1] - worlds.v[0]).max() > 1e-3 or name == "mass"


def test_mass_scales_the_inertia():
    worlds = mb.Worlds(sliding(), 2, threads=1)
    worlds.set("mass", [1.0, 5.0])
    worlds.v[:, :3] = 1.0, 2.0, 3.0
    worlds.v[:, 3:] = 0.0
    worlds.refresh()
    energy = worlds.state.sums[:, ENERGY_START]
    lift = 9.81 * 0.05
    assert energy[1] - 5.0 * lift == pytest.approx(5.0 * (energy[0] - lift), rel=1e-12)


def test_restitution_and_what_the_scene_has_none_of():
    worlds = mb.Worlds(sliding(restitution=0.5, height=0.2), 2, threads=1)
    worlds.set("restitution", [0.5, 0.9])
    worlds.step(steps=300)
    for w, restitution in enumerate((0.5, 0.9)):
        q, _ = ends(sliding(restitution=restitution, height=0.2), 300)
        np.testing.assert_allclose(worlds.q[w], q, atol=1e-9)
    assert worlds.q[1, 2] > worlds.q[0, 2] + 0.01
    with pytest.raises(mb.InputError, match="some material"):
        mb.Worlds(sliding(), 2, threads=1).set("restitution", 0.5)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("kind, sizes", [("sphere", ((0.1,), (0.15,))), ("cylinder", ((0.1, 0.2), (0.15, 0.3)))])
def test_size_of_a_shape_with_and_without_the_engine(kind, sizes, integrator):
    def scene(size):
        bodies = tuple(
            Primitive(f"b{i}", kind, size, Pose((0.12 * i, 0.0, 0.3 + 0.4 * i)), "free", 1.0, inertia=(0.01,) * 3)
            for i in range(2)
        )
        return Scene(primitives=bodies, ground=Ground(), integrator=integrator)

    worlds = mb.Worlds(scene(sizes[0]), 2, threads=1)
    worlds.set("size", [[*sizes[1], *[1.0] * (3 - len(sizes[1]))]], of=["b0", "b1"], mask=[1])
    worlds.step(steps=300)
    for w in range(2):
        q, _ = ends(scene(sizes[w]), 300)
        np.testing.assert_array_equal(worlds.q[w], q)


def test_damping_and_position_of_joints():
    arm = mb.pendulum(2, angle=0.5)
    damped = SceneModel(arm.urdf(), joint_properties={"hinge_0": JointProperties(damping=0.7)}, joints={"hinge_1": 0.2})
    scene = Scene(models=(SceneModel(arm.urdf()),))
    worlds = mb.Worlds(scene, 2, threads=1)
    worlds.set("damping", 0.7, of=["hinge_0"], mask=[1])
    worlds.set("position", 0.2, of=["hinge_1"], mask=[1])
    worlds.reset()
    worlds.step(steps=100)
    for w, model in enumerate((scene.models[0], damped)):
        q, v = ends(replace(scene, models=(model,)), 100)
        np.testing.assert_array_equal(worlds.q[w], q)
        np.testing.assert_array_equal(worlds.v[w], v)


def test_positions_keep_to_the_limits_of_their_joints():
    limited = mb.pendulum(2).urdf().replace('type="continuous"', 'type="revolute"')
    limited = limited.replace("<axis", '<limit lower="-0.5" upper="0.5" effort="1" velocity="1"/><axis')
    worlds = mb.Worlds(Scene(models=(SceneModel(limited),)), 2, threads=1)
    for call in (
        lambda: worlds.set("position", [[0.1, 0.2], [0.1, 0.7]]),
        lambda: worlds.randomise("position", 0.7, 0.7, of=["hinge_1"], by="value"),
    ):
        with pytest.raises(InputError, match="joint 'hinge_1' goes from -0.5 to 0.5, 0.7 is beyond"):
            call()
    worlds.set("position", 0.5)
    worlds.reset()
    np.testing.assert_array_equal(worlds.q, 0.5)


def test_draws_depend_on_the_seed_and_the_world_alone():
    few, many = mb.Worlds(sliding(), 3, threads=1), mb.Worlds(sliding(), 8, threads=1)
    few.randomise("mass", 0.5, 2.0, seed=7)
    many.randomise("mass", 0.5, 2.0, seed=7, mask=[2, 1, 5, 0])
    masses = [w.save().arrays["own_mass"][:, 0] for w in (few, many)]
    np.testing.assert_array_equal(masses[0], masses[1][:3])
    assert len(np.unique(masses[0])) == 3 and (masses[0] >= 0.5).all() and (masses[0] <= 2.0).all()
    assert masses[1][3] == 1.0 and masses[1][5] != 1.0
    few.randomise("mass", 0.5, 2.0, seed=(7, 1))
    assert (few.save().arrays["own_mass"][:, 0] != masses[0]).all()
    few.randomise("gravity", -0.1, 0.1, by="offset", seed=3)
    assert np.abs(few.save().arrays["own_gravity"] - [0.0, 0.0, -9.81]).max() <= 0.1


def test_poses_are_drawn_around_the_scenes():
    turned = Pose((0.3, 0.0, 0.09), rpy=(0.4, 0.0, 0.0))
    worlds = mb.Worlds(replace(sliding(), primitives=(replace(sliding().primitives[0], pose=turned),)), 50, threads=1)
    worlds.randomise("pose", [-0.02, 0.0, 0.0, 0.0, 0.0, -0.3], [0.02, 0.01, 0.0, 0.0, 0.0, 0.3], by="offset", seed=4)
    worlds.reset()
    q = worlds.q
    assert np.abs(q[:, 0] - 0.3).max() < 0.02 < np.ptp(q[:, 0]) and (q[:, 2] == 0.09).all()
    assert 0.0 <= q[:, 1].min() < 0.003 and 0.007 < q[:, 1].max() < 0.01
    roll, pitch, yaw = Rotation.from_quat(q[:, 3:7]).as_euler("xyz").T  # fixed axes: first the scene's, then about z
    np.testing.assert_allclose(np.transpose([roll, pitch]), np.tile([0.4, 0.0], (50, 1)), atol=1e-12)
    assert yaw.min() < -0.2 and yaw.max() > 0.2 and np.abs(yaw).max() < 0.3


def test_values_are_saved_with_the_state():
    worlds = mb.Worlds(sliding(), 2, threads=1)
    worlds.set("friction", [0.1, 0.9])
    saved = worlds.save()
    worlds.step(steps=20)
    then = worlds.q.copy()
    other = mb.Worlds(sliding(), 2, threads=1)
    other.restore(saved)
    other.step(steps=20)
    np.testing.assert_array_equal(other.q, then)


@pytest.mark.parametrize(
    "name, values, of, words",
    [
        ("colour", 1.0, None, "no value 'colour'"),
        ("mass", 0.0, None, "mass must be finite"),
        ("mass", [1.0, 2.0, 3.0], None, "must have the shape"),
        ("friction", -0.1, None, "at least 0, got -0.1"),
        ("mass", 1.0, ["ball"], "there is no 'ball'"),
        ("friction", 0.5, [("box", "table")], "no 'box' and 'table'|box and table"),
        ("pose", [0, 0, 1, 0, 0, 0, 0], None, "quaternion"),
    ],
)
def test_values_that_cannot_be_are_refused(name, values, of, words):
    worlds = mb.Worlds(sliding(), 2, threads=1)
    with pytest.raises(mb.InputError, match=words):
        worlds.set(name, values, of)

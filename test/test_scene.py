# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scene files: the shipped ones load, and every malformed one names file, line and key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pinocchio_peer import example_robots
from shipped_scenes import SCENES

from mb_contact.errors import SceneError
from mb_contact.model import Ground, Material, Pose, Primitive, Scene, build_world, load_scene
from mb_contact.model.scene import DEFAULT_RATES

CONFIG = Path(__file__).resolve().parents[1] / "config"

GOOD = """\
time_step: 1e-3
gravity: [0, 0, -9.81]
models:
  - name: arm
    urdf: arm.urdf
    pose:
      position: [0, 0, 1]
      rpy: [0, 0, 1.5]
    base: weld
    joints: {elbow: 0.5}
    materials:
      default: steel
      links: {tip: rubber}
primitives:
  - name: ball
    shape: sphere
    size: 0.1
    base: free
    mass: 2
    inertia: [0.01, 0.01, 0.01]
    material: rubber
    pose: {quat_xyzw: [0, 0, 0, 1]}
  - name: wall
    shape: plane
ground: {height: -1}
materials:
  rubber: {friction: 0.9, restitution: 0}
  steel: {friction: 0.4, torsional: 0, rolling: 0.0}
pairs:
  - {materials: [rubber, steel], friction: 0.7}
collision_filters:
  adjacent: true
  disable: [[ball, wall]]
formulation: os
solver: auto
integrator: semi_implicit_euler
collision_scheme: time_stepping
friction_model: coulomb_polyhedral
friction_directions: 4
contact_margin: 0.001
push_out_velocity: 0.2
operational_frames: [tip]
contact_wrench_links: [tip]
rates: {control_period: 0.002, clock_rate: 50}
"""


def load(text, tmp_path):
    file = tmp_path / "scene.yaml"
    file.write_text(text)
    return load_scene(file)


def test_every_key(tmp_path):
    scene = load(GOOD, tmp_path)
    model, (ball, wall) = scene.models[0], scene.primitives
    assert scene.time_step == 0.001 and scene.gravity == (0.0, 0.0, -9.81)
    assert (model.name, model.urdf, model.base, model.joints) == ("arm", "arm.urdf", "weld", {"elbow": 0.5})
    assert model.pose == Pose((0.0, 0.0, 1.0), rpy=(0.0, 0.0, 1.5))
    assert model.materials.default == "steel" and model.materials.links == {"tip": "rubber"}
    assert ball.size == (0.1,) and ball.mass == 2.0 and ball.inertia == (0.01, 0.01, 0.01)
    assert wall.base == "weld" and wall.size == ()
    assert scene.ground.height == -1.0 and scene.ground.material is None
    assert scene.materials == {"rubber": Material(0.9), "steel": Material(0.4)}
    assert scene.pairs[0].materials == ("rubber", "steel") and scene.pairs[0].friction == 0.7
    assert scene.collision_filters.adjacent and scene.collision_filters.disable == (("ball", "wall"),)
    assert scene.friction_directions == 4 and scene.contact_margin == 0.001
    assert scene.push_out_velocity == 0.2 and scene.operational_frames == ("tip",)
    assert scene.rates == {**DEFAULT_RATES, "control_period": 0.002, "clock_rate": 50.0}
    assert scene.path == tmp_path / "scene.yaml"
    assert scene.lines["primitives[0].mass"] == 19


def test_defaults_are_those_of_the_dataclass(tmp_path):
    scene, plain = load("time_step: 0.001\n", tmp_path), Scene()
    for name in (
        "gravity",
        "formulation",
        "friction_model",
        "friction_directions",
        "rates",
        "contact_margin",
        "push_out_velocity",
        "collision_filters",
        "ground",
    ):
        assert getattr(scene, name) == getattr(plain, name)
    assert plain.gravity == (0.0, 0.0, -9.81) and plain.friction_directions == 8
    assert plain.contact_margin == 0.002 and plain.push_out_velocity == 0.1


def test_rotation_of_a_pose():
    quarter = Pose(rpy=(0.0, 0.0, np.pi / 2)).rotation()
    np.testing.assert_allclose(
        quarter, Pose(quat_xyzw=(0, 0, np.sqrt(0.5), np.sqrt(0.5))).rotation(), atol=1e-15
    )
    np.testing.assert_allclose(quarter @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_array_equal(Pose().rotation(), np.eye(3))


@pytest.mark.parametrize("file", SCENES)
def test_shipped_scene(file):
    scene = load_scene(f"package://mb_contact/config/{file}")
    foreign = any("example-robot-data" in model.urdf for model in scene.models)
    if foreign and example_robots() is None:
        pytest.skip("example-robot-data is not installed")
    world = build_world(scene)
    assert foreign or world.warnings == ()  # robots as they ship have their own
    assert len(world.q0) == len(world.v0) + len(world.objects)


# --- wrong scenes: what to replace, by what, and line, key and sentence of the error -----------

WRONG = {
    "unknown key": (
        "solver: auto",
        "solvr: auto",
        r":35: solvr: unknown key \(did you mean 'solver'\?\); allowed",
    ),
    "unknown key deep inside": (
        "    mass: 2",
        "    weight: 2",
        r":19: primitives\[0\].weight: unknown key \(did you mean 'heights'\?\); allowed",
    ),
    "twice": ("solver: auto", "time_step: 1", ":35: time_step: is given twice, first in line 1"),
    "text for a number": ("1e-3", "fast", ":1: time_step: must be a number, got 'fast'"),
    "list for a number": ("1e-3", "[1]", ":1: time_step: must be a number, got a list"),
    "nothing": ("1e-3", "", ":1: time_step: must be a number, got nothing"),
    "infinite": ("1e-3", ".inf", ":1: time_step: must be a number, got '.inf'"),
    "zero step": ("1e-3", "0", ":1: time_step: must be greater than 0, got 0"),
    "long step": ("1e-3", "5", ":1: time_step: must be at most 0.1, got 5"),
    "short vector": ("[0, 0, -9.81]", "[0, -9.81]", ":2: gravity: must be a list of 3 numbers, got 2"),
    "number for a vector": ("[0, 0, -9.81]", "-9.81", ":2: gravity: must be a list"),
    "text in a vector": ("[0, 0, -9.81]", "[0, 0, down]", r":2: gravity\[2\]: must be a number, got 'down'"),
    "mapping for a list": ("pairs:\n  - ", "pairs:\n  ", ":29: pairs: must be a list"),
    "list for a mapping": ("ground: {height: -1}", "ground: [1]", ":25: ground: must be a mapping"),
    "number for a text": ("urdf: arm.urdf", "urdf: 3", r":5: models\[0\].urdf: must be a text, got '3'"),
    "no urdf": ("    urdf: arm.urdf\n", "", r":4: models\[0\]: the key 'urdf' is missing"),
    "unknown base": (
        "base: weld",
        "base: bolted",
        r":9: models\[0\].base: 'bolted' is not known; available: weld, free",
    ),
    "both rotations": (
        "rpy: [0, 0, 1.5]",
        "rpy: [0, 0, 1]\n      quat_xyzw: [0, 0, 0, 1]",
        "has both rpy and quat_xyzw",
    ),
    "no unit quaternion": (
        "[0, 0, 0, 1]",
        "[0, 0, 0, 2]",
        r":22: primitives\[0\].pose.quat_xyzw: must be a unit",
    ),
    "unknown shape": (
        "shape: sphere",
        "shape: egg",
        r":16: primitives\[0\].shape: 'egg' is not known; available: sphere",
    ),
    "size of another shape": (
        "size: 0.1",
        "size: [1, 2]",
        r":17: primitives\[0\].size: a sphere has size \[radius\]",
    ),
    "no size": ("    size: 0.1\n", "", r":15: primitives\[0\].size: a sphere has size"),
    "negative size": ("size: 0.1", "size: [-1]", r":17: primitives\[0\].size\[0\]: must be greater than 0"),
    "free without mass": ("    mass: 2\n", "", r":15: primitives\[0\].mass: a free body needs a mass"),
    "zero mass": ("mass: 2", "mass: 0", r":19: primitives\[0\].mass: must be greater than 0"),
    "free plane": (
        "shape: plane",
        "shape: plane\n    base: free",
        r":25: primitives\[1\].base: a plane has no mass",
    ),
    "two bodies of one name": (
        "name: wall",
        "name: ball",
        r":23: primitives\[1\].name: 'ball' is used twice",
    ),
    "no such material": (
        "material: rubber",
        "material: jelly",
        r":21: primitives\[0\].material: material 'jelly' is",
    ),
    "undefined in links": (
        "{tip: rubber}",
        "{tip: jelly}",
        r":13: models\[0\].materials.links.tip: material 'jelly'",
    ),
    "no friction": (
        "{friction: 0.9, restitution: 0}",
        "{}",
        ":27: materials.rubber: the key 'friction' is missing",
    ),
    "negative friction": (
        "friction: 0.9",
        "friction: -1",
        ":27: materials.rubber.friction: must be at least 0",
    ),
    "bounce": (
        "restitution: 0",
        "restitution: 1.5",
        ":27: materials.rubber.restitution: must be at most 1",
    ),
    "rolling": (
        "rolling: 0.0",
        "rolling: -0.1",
        ":28: materials.steel.rolling: must be at least 0, got -0.1",
    ),
    "pair of one": (
        "[rubber, steel]",
        "[rubber]",
        r":30: pairs\[0\].materials: must be a list of 2 names, got 1",
    ),
    "formulation": (
        "formulation: os",
        "formulation: cmc",
        ":34: formulation: 'cmc' is not known; available: os, nmc, mc, rmc, nmc_os, hybrid",
    ),
    "integrator": (
        "semi_implicit_euler",
        "rk5",
        "integrator: 'rk5' is not known; available: semi_implicit_euler, rk4, midpoint, adaptive",
    ),
    "event": (
        "time_stepping",
        "events",
        "collision_scheme: 'events' is not known; available: time_stepping, event",
    ),
    "friction": (
        "coulomb_polyhedral",
        "coulomb",
        "'coulomb' is not known; available: coulomb_cone, coulomb_polyhedral",
    ),
    "odd directions": (
        "friction_directions: 4",
        "friction_directions: 5",
        "must be an even whole number from 4 to 32",
    ),
    "control period": (
        "control_period: 0.002",
        "control_period: 0.0015",
        "rates.control_period: 0.0015 s must be a mult",
    ),
    "unknown rate": (
        "clock_rate",
        "klock_rate",
        r"rates.klock_rate: unknown key \(did you mean 'clock_rate'\?\)",
    ),
    "not yaml": ("gravity: [0, 0, -9.81]", "gravity: [0, 0", ":3: not well-formed YAML"),
    "tab": ("solver: auto", "solver:\n\tauto", ":36: not well-formed YAML"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_scene_names_file_line_and_key(case, tmp_path):
    old, new, message = WRONG[case]
    assert GOOD.count(old) >= 1
    with pytest.raises(SceneError, match=r"scene\.yaml:\d+: ") as caught:
        load(GOOD.replace(old, new, 1), tmp_path)
    assert caught.match(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "scene.yaml:1: the scene is empty; allowed keys: models"),
        ("- 1\n", "scene.yaml:1: scene: must be a mapping"),
        ("? [a]\n: 1\n", "scene.yaml:1: scene: must be a mapping whose keys are texts"),
        ("a: *nobody\n", "scene.yaml:1: not well-formed YAML: found undefined alias"),
        ("\x00", "scene.yaml:1: not well-formed YAML"),
    ],
)
def test_not_a_scene(text, message, tmp_path):
    with pytest.raises(SceneError, match=message):
        load(text, tmp_path)


def test_no_file(tmp_path):
    with pytest.raises(SceneError, match=r"no scene: '.*nowhere\.yaml' does not exist"):
        load_scene(tmp_path / "nowhere.yaml")
    with pytest.raises(SceneError, match="no scene: 'package://mb_contact/.*' not found; looked at"):
        load_scene("package://mb_contact/config/nowhere.yaml")
    with pytest.raises(SceneError, match="cannot be read as a scene"):
        load_scene(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(SceneError, match="cannot be read as a scene"):
        load_scene(tmp_path / "binary.yaml")


def test_a_scene_in_python_is_checked_too():
    ball = Primitive("ball", "sphere", (0.1,), base="free")
    with pytest.raises(SceneError, match=r"^scene: primitives\[0\].mass: a free body needs a mass"):
        build_world(Scene(primitives=(ball,)))
    with pytest.raises(SceneError, match=r"primitives\[0\].shape: 'egg' is not a shape"):
        build_world(Scene(primitives=(Primitive("ball", "egg"),)))
    with pytest.raises(SceneError, match=r"primitives\[0\].base: 'loose' is not available"):
        build_world(Scene(primitives=(Primitive("ball", "sphere", (0.1,), base="loose"),)))
    with pytest.raises(SceneError, match="time_step: must be greater than zero"):
        build_world(Scene(time_step=-1.0))
    with pytest.raises(SceneError, match="needs a Scene, got str; use load_scene"):
        build_world("scene.yaml")


BALL = Primitive("ball", "sphere", (0.1,), base="free", mass=1.0)
NOT_A_NUMBER = float("nan")
IMPOSSIBLE = {
    "friction_directions: must be an even whole number": {"friction_directions": 5},
    "friction_directions: must be an even whole number from 4": {"friction_directions": 0},
    "gravity: must be 3 finite numbers": {"gravity": (0.0, 0.0, NOT_A_NUMBER)},
    "contact_margin: must be a finite number of at least 0": {"contact_margin": -0.001},
    "push_out_velocity: must be a finite number of at least 0": {"push_out_velocity": NOT_A_NUMBER},
    "formulation: 'cmc' is not available; available: os, nmc": {"formulation": "cmc"},
    "formulation: rmc has friction_model coulomb_polyhedral only": {
        "formulation": "rmc", "friction_model": "coulomb_cone"
    },
    "friction_model: 'magic' is not available": {"friction_model": "magic"},
    "ground.height: must be a finite number": {"ground": Ground(NOT_A_NUMBER)},
    "materials.ice.friction: must be a finite number": {"materials": {"ice": Material(-1.0)}},
    "primitives.0..mass: a free body needs a mass": {"primitives": (replace(BALL, mass=np.inf),)},
    "primitives.0..inertia: must be 3 finite": {"primitives": (replace(BALL, inertia=(1.0, 1.0, NOT_A_NUMBER)),)},
    "primitives.0..pose.position: must be 3 finite": {
        "primitives": (replace(BALL, pose=Pose((0.0, 0.0, NOT_A_NUMBER))),)
    },
    "primitives.0..pose.quat_xyzw: must be a unit": {
        "primitives": (replace(BALL, pose=Pose(quat_xyzw=(0.0, 0.0, 0.0, 0.0))),)
    },
}


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_numbers_of_a_scene_in_python_are_checked_too(message):
    with pytest.raises(SceneError, match=f"^scene: {message}"):
        build_world(Scene(**IMPOSSIBLE[message]))


def test_an_error_that_quotes_a_whole_file_stays_one_line(tmp_path):
    text = GOOD.replace("1e-3", "|\n  <robot>\n  " + "<link/>\n  " * 500)
    with pytest.raises(SceneError) as caught:
        load(text, tmp_path)
    words = str(caught.value)
    assert "scene.yaml:1: time_step: must be a number" in words and "\n" not in words and len(words) <= 1000

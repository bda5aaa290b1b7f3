# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scene files: the shipped ones load, and every malformed one names file, line and key.

Covers model/scene/couplings.py, model/scene/materials.py, model/scene/other_files.py, model/scene/rules.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mb_contact.errors import ModelError, SceneError
from mb_contact.model import Ground, Material, Pose, Primitive, Scene, build_world, load_scene
from mb_contact.model.scene import DEFAULT_RATES
from oracles.pinocchio_peer import example_robots
from scenes.scene_files import GOOD, WRONG
from scenes.shipped_scenes import SCENES

pytestmark = pytest.mark.quick


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


def test_merged_mappings(tmp_path):
    """The order of YAML: a key of one's own first, then those of the mappings as they stand in the list."""
    one = "primitives:\n- &one {name: a, shape: box, size: [1, 1, 1], mass: 2, pose: &at {position: [0, 0, 3]}}"
    more = "{<<: [*one, {mass: 5, color: [1, 0, 0]}], name: b, mass: 3, pose: {<<: *at, rpy: [1, 0, 0]}}"
    scene = load(f"{one}\n- {more}", tmp_path)
    first, second = scene.primitives
    pose = replace(first.pose, rpy=(1.0, 0.0, 0.0))
    assert second == replace(first, name="b", mass=3.0, pose=pose, color=second.color)
    assert second.color is not None and scene.lines["primitives[1].size"] == 2
    for wrong, words in (("3", "'3'"), ("[[]]", "a list"), ("*two", "itself"), ("[{<<: *two}]", "itself")):
        with pytest.raises(SceneError, match=rf"scene.yaml:3: primitives\[1\]: '<<' merges other .*, got {words}"):
            load(f"{one}\n- &two {{<<: {wrong}, name: b}}", tmp_path)
    with pytest.raises(SceneError, match=r"scene.yaml:3: primitives\[1\]: '<<' is given twice"):
        load(f"{one}\n- {{<<: *one, <<: *one, name: b}}", tmp_path)
    rows = [f"a{i + 1}: &a{i + 1} {{<<: [{', '.join(9 * [f'*a{i}'])}]}}" for i in range(30)]
    with pytest.raises(SceneError, match="friction: unknown key"):  # in no time
        load("\n".join(["materials:", "  a0: &a0 {friction: 0.5}", *(f"  {row}" for row in rows)])
             + "\nground: {<<: *a30}", tmp_path)  # fmt: skip


def test_the_file_of_a_robot_is_the_scene_of_that_robot_alone(tmp_path):
    file = tmp_path / "my 'arm'.urdf"
    inertial = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    file.write_text(
        f"""<robot name="arm"><link name="base"/><link name="tip">{inertial}</link><joint name="j" type="continuous">
        <parent link="base"/><child link="tip"/><axis xyz="0 1 0"/></joint></robot>"""
    )
    scene = load_scene(file)
    assert scene == replace(Scene(models=scene.models), path=file, lines=scene.lines) and len(scene.models) == 1
    world = build_world(scene)
    assert world.joint_names == ("j",) and world.tree.mass.sum() == 2.0
    file.write_text("<robot/>")
    with pytest.raises(ModelError, match="the robot has no <link>"):
        build_world(load_scene(file))


def test_defaults_are_those_of_the_dataclass(tmp_path):
    scene, plain = load("time_step: 0.001\n", tmp_path), Scene()
    for name in (
        "gravity",
        "solver",
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
        ("", "scene.yaml:1: the file is empty; allowed keys: preset, models"),
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
    with pytest.raises(SceneError, match=r"the scene cannot be read: '.*nowhere\.yaml' does not exist"):
        load_scene(tmp_path / "nowhere.yaml")
    with pytest.raises(SceneError, match="the scene cannot be read: 'package://mb_contact/.*' not found; looked at"):
        load_scene("package://mb_contact/config/nowhere.yaml")
    with pytest.raises(SceneError, match="no scene: .* is a folder; name a file in it"):
        load_scene(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(SceneError, match="cannot be read as a scene"):
        load_scene(tmp_path / "binary.yaml")


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.xml", b'<?xml version="1.0"?>\n<!-- <x> -->\n<sdf version="1.7"/>', "is a world or model in SDF; with a"),
        ("a.xml", b"<mujoco/>", r"is a model of MuJoCo; mb-contact import .*/a\.xml --out FOLDER"),
        ("arm.xml", b"<robot name='x'/>", "is a robot; with a name that ends in .urdf"),
        ("arm.srdf", b"<robot name='x'/>", r"is a semantic description; .*models: \[\{urdf: …, srdf: arm\.srdf\}\]"),
        ("mug.stl", b"solid x\nendsolid x\n", "is a mesh; a scene has it in a primitive: .*mesh: mug.stl"),
        ("mug.bin", b"glTF\2\0\0\0", "is a mesh"),
        ("run.mcap", b"\x89MCAP0\r\n", r"is a recording; mb-contact view .*/run\.mcap plays it, mb-contact replay S"),
        ("a.launch", b"<launch></launch>", "is a launch file; ros2 launch takes it"),
        ("page.html", b"<!DOCTYPE html><html></html>", "is XML with the root <html>"),
        ("a.npy", b"\x93NUMPY\1\0v\0", "is no text"),
    ],
)  # fmt: skip
def test_another_kind_of_file_is_told_what_takes_it(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SceneError, match=f"{name}: not a scene: it {message}"):
        load_scene(tmp_path / name)


def test_a_scene_in_python_is_checked_too():
    ball = Primitive("ball", "sphere", (0.1,), base="free")
    with pytest.raises(SceneError, match=r"^scene: primitives\[0\].mass: a primitive of base free needs a mass"):
        build_world(Scene(primitives=(ball,)))
    with pytest.raises(SceneError, match=r"primitives\[0\].shape: 'egg' is not known"):
        build_world(Scene(primitives=(Primitive("ball", "egg"),)))
    with pytest.raises(SceneError, match=r"primitives\[0\].base: 'loose' is not known"):
        build_world(Scene(primitives=(Primitive("ball", "sphere", (0.1,), base="loose"),)))
    with pytest.raises(SceneError, match="time_step: must be greater than 0, got -1"):
        build_world(Scene(time_step=-1.0))
    with pytest.raises(SceneError, match="needs a Scene, got str; use load_scene"):
        build_world("scene.yaml")


BALL = Primitive("ball", "sphere", (0.1,), base="free", mass=1.0)
NOT_A_NUMBER = float("nan")
IMPOSSIBLE = {
    "friction_directions: must be an even whole number": {"friction_directions": 5},
    "friction_directions: must be an even whole number from 4": {"friction_directions": 0},
    "gravity.2.: must be finite, got nan": {"gravity": (0.0, 0.0, NOT_A_NUMBER)},
    "contact_margin: must be at least 0, got -0.001": {"contact_margin": -0.001},
    "push_out_velocity: must be finite": {"push_out_velocity": NOT_A_NUMBER},
    "solver: 'cmc' is not known; available: auto, lemke": {"solver": "cmc"},
    "solver: ppm solves problems of friction_model no_slip or viscous": {"solver": "ppm"},
    "friction_model: 'magic' is not known": {"friction_model": "magic"},
    "ground.height: must be finite": {"ground": Ground(NOT_A_NUMBER)},
    "materials.ice.friction: must be at least 0, got -1": {"materials": {"ice": Material(-1.0)}},
    "primitives.0..mass: must be finite, got inf": {"primitives": (replace(BALL, mass=np.inf),)},
    "primitives.0..inertia.2.: must be finite": {"primitives": (replace(BALL, inertia=(1.0, 1.0, NOT_A_NUMBER)),)},
    "primitives.0..pose.position.2.: must be finite": {
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

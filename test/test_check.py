# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact check`` refuses what ``run`` and ``view`` refuse, and tells what is odd, as ``sim.warnings`` does.

Covers simulation/warned.py.
"""

from __future__ import annotations

import contextlib
import copy
import io
import random
from pathlib import Path

import pytest
import yaml

import mb_contact as mb
from mb_contact import cli
from mb_contact.errors import MbContactError
from mb_contact.ros.main import run_node
from mb_contact.ros.options import RunOptions
from mb_contact.viewer.drawing import scene_drawing
from paths import ROOT

BASE = yaml.safe_load("""
models:
- urdf: package://mb_contact/urdf/planar_arm.urdf
  pose: {position: [0, 0, 0.5]}
  joints: {shoulder: 0.3, elbow: -0.2}
  actuators: {elbow: {kind: position, stiffness: 50.0, damping: 5.0, effort_limit: 40.0}}
  joint_properties: {shoulder: {friction: 0.1}}
  materials: {default: steel}
primitives:
- {name: table, shape: box, size: [1, 1, 0.2], pose: {position: [0, 2, 0.1]}, material: wood}
- {name: box, shape: box, size: [0.1, 0.1, 0.1], pose: {position: [0, 2, 0.25]}, mass: 1.0, base: free, material: wood}
ground: {height: 0.0, material: wood}
materials: {wood: {friction: 0.6}, steel: {friction: 0.4}}
pairs: [{materials: [wood, steel], friction: 0.3}]
collision_filters: {disable: [[tip, table]]}
time_step: 0.002
gravity: [0, 0, -9.81]
sensors:
- {name: eyes, kind: imu, link: tip, rate: 100.0}
- {name: turns, kind: encoder, joints: [shoulder]}
- {name: touch, kind: contact, link: box, partner: table}
operational_frames: [tip]
contact_wrench_links: [box]
rates: {control_period: 0.004, joint_state_rate: 100.0}
named_poses: [{name: shelf, pose: {position: [0, 0, 1]}, sphere: [0, 0, 0, 0.1]}]
""")
NUMBERS = (0.0, -1.0, 1e-7, 1e9, 0.003, float("nan"), 1, 7.0)
SEEDS = (0, 1, 2, 3, 4)
TEXTS = ("", "tpi", "box", "table", "nowhere.urdf", "7", "elbow")


def leaves(tree, place=()):
    """Places of all entries of a tree of mappings and lists."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        yield (*place, key)
        yield from leaves(value, (*place, key))


def mutated(seed):
    """The scene with one or two entries that are other, gone, twice there or misspelled."""
    draw, scene = random.Random(seed), copy.deepcopy(BASE)
    for _ in range(draw.choice((1, 1, 2))):
        *place, key = draw.choice(list(leaves(scene)))
        parent = scene
        for step in place:
            parent = parent[step]
        value, way = parent[key], draw.random()
        if way < 0.15:
            del parent[key]
        elif way < 0.25 and isinstance(parent, dict):
            parent[f"{key}s"] = parent.pop(key)
        elif way < 0.3 and isinstance(parent, list):
            parent.append(copy.deepcopy(value))
        elif isinstance(value, str):
            parent[key] = draw.choice(TEXTS)
        else:
            parent[key] = draw.choice(NUMBERS)
    return scene


def verdict(call):
    """Whether it goes through; anything but an error of ours is a crash."""
    words = io.StringIO()
    try:
        with contextlib.redirect_stdout(words), contextlib.redirect_stderr(words):
            return call() in (0, None)
    except (MbContactError, OSError):
        return False


def ran(path):
    """Whether a node of the scene runs for two steps, and the view draws it."""

    def both():
        if run_node(str(path), RunOptions(duration=0.004, backend="embedded")).failure:
            return 1
        scene = mb.load_scene(path)
        scene_drawing(scene, mb.build_world(scene))
        return 0

    return verdict(both)


def agree(seed, tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump(mutated(seed), sort_keys=False))
    checked = verdict(lambda: cli.main(["check", str(path)]))
    assert checked == ran(path), f"seed {seed}: {path.read_text()}"
    return checked


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "219")


def test_check_and_run_agree_on_mutated_scenes(tmp_path):
    verdicts = [agree(seed, tmp_path) for seed in SEEDS]
    assert 0 < sum(verdicts) < len(SEEDS)


@pytest.mark.parametrize("name, fine", [("b_x", True), ("bo x", True), ("b.ox", False), ("b ox", False)])
def test_free_objects_whose_topics_are_one_are_refused_by_both(name, fine, tmp_path, capsys):
    scene = copy.deepcopy(BASE)
    scene["primitives"].append({**scene["primitives"][1], "name": name, "pose": {"position": [0, 4, 0.05]}})
    scene["primitives"].append({**scene["primitives"][-1], "name": "b_ox", "pose": {"position": [0, 6, 0.05]}})
    path = tmp_path / "scene.yaml"
    path.write_text(yaml.safe_dump(scene, sort_keys=False))
    assert (cli.main(["check", str(path)]) == 0) == ran(path) == fine
    assert fine or f"'{name}' and 'b_ox' share external_wrench/b_ox; rename one" in capsys.readouterr().err


@pytest.mark.slow
def test_check_and_run_agree_on_500_mutated_scenes(tmp_path):
    verdicts = [agree(seed, tmp_path) for seed in range(500)]
    assert 100 < sum(verdicts) < 400


def test_the_list_of_a_simulator_is_that_of_the_check(tmp_path, capsys):
    scene = copy.deepcopy(BASE)
    scene["primitives"][1]["pose"]["position"][2] = 0.24
    (tmp_path / "scene.yaml").write_text(yaml.safe_dump(scene))
    assert cli.main(["check", str(tmp_path / "scene.yaml")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{tmp_path / 'scene.yaml'}: runs, with 1 warning"
    told = [line for line in lines if line.startswith("warning: ")]
    assert told == [f"warning: {line}" for line in mb.Simulator(tmp_path / "scene.yaml").warnings]
    assert told == ["warning: box and table penetrate by 10.0 mm at the start; move one, or disable the pair"]


def test_a_strict_check_fails_where_anything_is_odd(tmp_path, capsys):
    for height, verdict, code in ((0.25, "fine", 0), (0.24, "runs, with 1 warning", 1)):
        scene = copy.deepcopy(BASE)
        scene["primitives"][1]["pose"]["position"][2] = height
        (tmp_path / "scene.yaml").write_text(yaml.safe_dump(scene))
        assert cli.main(["check", str(tmp_path / "scene.yaml"), "--strict"]) == code
        assert capsys.readouterr().out.splitlines()[0].endswith(f": {verdict}")


def arm(**more):
    """A scene of a pendulum of 1 m and 1 kg."""
    return mb.Scene(models=(mb.model.SceneModel(mb.pendulum(1, length=1.0, mass=1.0).urdf(), **more),))


def box(name="box", **more):
    return mb.model.Primitive(name, "box", base="free", **{"size": (0.1,) * 3, "mass": 1.0, **more})


def pendulum_servo(**more):
    return {"hinge_0": mb.model.Actuator("position", **more)}


def lifted(**pad):
    """Below a tool with a suction cup a box, and another one that hangs on its magnet."""
    down = {"pose": mb.model.Pose((0.0, 0.0, -0.05), rpy=(3.1415927, 0.0, 0.0)), "force": 50.0}
    tool = mb.model.Primitive("tool", "box", (0.1,) * 3, mb.model.Pose((0.0, 0.0, 0.10005)))
    pads = tuple(mb.model.AdhesionPad(link, link, **{**down, **pad}) for link in ("tool", "box"))
    return mb.Scene(primitives=(tool, box(), box("b", pose=mb.model.Pose((0, 0, -0.10005)))), adhesion_pads=pads)


def rope(name, *path):
    return mb.model.Tendon(name, path, longest=1.0)


END, TOP = mb.model.PathElement("box"), mb.model.PathElement("world", (0.0, 0.0, 1.0))
SOFT = mb.model.Material(0.5, softness=mb.model.Softness(stiffness=100.0))
LYING = {"hinge_0": 1.5707963}
FAR = mb.model.Pose((450.0, 200.0, 780.0))
GROUND = mb.model.Ground(height=-10.0)
UNTOUCHED = mb.model.CollisionFilters(disable=(("box", "ground"),))
BARE = """<robot name="bare"><link name="bare"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
SHAPED = BARE.replace('"1" i', '"17" i').replace('iyy="1"', 'iyy="17"').replace('izz="1"', 'izz="17"').replace(
    "</link>", '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link><link name="root"/><joint '
    'name="turn" type="continuous"><parent link="root"/><child link="bare"/><axis xyz="0 0 1"/></joint>')  # fmt: skip
ODD = {
    "falls": (mb.Scene(primitives=(box(),)), "there is nothing below 'box': it falls for ever"),
    "on what falls": (mb.Scene(primitives=(box("a"), box("b", pose=mb.model.Pose((0, 0, 0.2))))), "nothing below 'b'"),
    "beside a table": (
        mb.Scene(primitives=(box(), mb.model.Primitive("table", "box", (1.0, 1.0, 0.1), mb.model.Pose((3, 0, -1))))),
        "nothing below 'box'",
    ),
    "below a cup that is off": (lifted(on=False), "there is nothing below 'b'"),
    "below a cup that is too far": (lifted(pose=mb.model.Pose((0, 0, -0.048), rpy=(3.14159, 0, 0))), "below 'box'"),
    "beside the ground by a filter": (
        mb.Scene(primitives=(box(),), ground=GROUND, collision_filters=UNTOUCHED),
        "there is nothing below 'box': it falls for ever; let it collide with the ground",
    ),
    "without a shape above the ground": (
        mb.Scene(models=(mb.model.SceneModel(BARE, base="free"),), ground=GROUND),
        "there is nothing below 'bare': it falls for ever; give it a collision shape",
    ),
    "long": (mb.Scene(primitives=(box(size=(100.0, 60.0, 80.0), mass=1e6),), ground=mb.model.Ground(-50.0)),
             "'box' is 100 m long; lengths are in m, 100 mm are 0.1 m"),
    "heavy": (mb.Scene(primitives=(box(mass=500.0),), ground=GROUND),
              "'box' has 5e+05 kg/m^3 in its box; masses are in kg (grams?) and lengths in m"),
    "fixed and large all round": (mb.Scene(primitives=(mb.model.Primitive("table", "box", (1200.0, 800.0, 750.0)),)),
                                  "'table' is 1.2e+03 m long; lengths are in m, 1.2e+03 mm are 1.2 m"),
    "far off": (mb.Scene(primitives=(box(), box("b", pose=FAR)), ground=GROUND),
                "primitives[1].pose.position: 780 m off, and nothing within 20 m; lengths are in m, 780 mm are 0.78 m"),
    "far off with what is too long": (
        mb.Scene(primitives=(box(pose=FAR), box("b", pose=FAR, size=(50.0,) * 3, mass=1e5)), ground=GROUND),
        "primitives[0].pose.position: 780 m off",
    ),
    "a robot far off": (arm(pose=FAR), "models[0].pose.position: 780 m off"),
    "kg mm^2": (mb.Scene(primitives=(box(inertia=(1667.0,) * 3),), ground=GROUND),
                "'box' has a moment of inertia of 1.7e+03 kg m^2, where its mass and size allow 0.008; 1 kg mm^2 is"),
    "kg cm^2 of a robot": (mb.Scene(models=(mb.model.SceneModel(SHAPED),)), "'bare' has a moment of inertia of 17 kg"),
    "degrees": (arm(joints={"hinge_0": 90.0}), "models[0].joints.hinge_0: 90 rad is more than a turn"),
    "degrees of a pose": (
        mb.Scene(primitives=(box(pose=mb.model.Pose((0, 0, 0), rpy=(0, 0, 45))),), ground=GROUND),
        "primitives[0].pose.rpy: 45 rad is more than a turn; angles are in rad, 45 degrees are 0.7854 rad",
    ),
    "bends": (arm(joints=LYING, actuators=pendulum_servo(stiffness=10.0)), "gravity bends its actuator by"),
    "too weak": (arm(joints=LYING, actuators=pendulum_servo(stiffness=1e4, effort_limit=2.0)), "above its limit 2"),
    "hull": (None, "its convex hull is up to"),
    "tendon on one body": (
        mb.Scene(primitives=(box(),), tendons=(rope("cord", END, mb.model.PathElement("box", (0.0, 0.0, 0.1))),)),
        "tendon 'cord' stays on one body, its length does not change; put an end on another one",
    ),
    "two ropes on one path": (
        mb.Scene(primitives=(box(),), tendons=(rope("a", END, TOP), rope("b", END, TOP))),
        "tendons 'a' and 'b' have one path and both a longest: they share its force; leave one out",
    ),
    "too soft": (
        mb.Scene(primitives=(box(material="foam"),), ground=mb.model.Ground(-0.05), materials={"foam": SOFT}),
        "'box' sinks 24.5 mm into 'ground' under its weight, more than 0.2 of its size",
    ),
}  # fmt: skip
FINE = {
    "on a table on the ground": mb.Scene(
        primitives=(box(pose=mb.model.Pose((0, 0, 0.5))), box("b", pose=mb.model.Pose((0, 0, 0.7)))),
        ground=mb.model.Ground(),
    ),
    "a wide heap": mb.Scene(
        primitives=tuple(box(f"b{k}", pose=mb.model.Pose((8.0 * k, 0, 0.05))) for k in range(9)),
        ground=mb.model.Ground(),
    ),
    "far off on a floor": mb.Scene(primitives=(
        box(pose=mb.model.Pose((40.0, 0, 0.1))),
        mb.model.Primitive("floor", "box", (100.0, 100.0, 0.1)),
    )),
    "no gravity": mb.Scene(primitives=(box(),), gravity=(0.0, 0.0, 0.0)),
    "thrown": mb.Scene(primitives=(box(velocity=mb.model.Velocity(linear=(1.0, 0.0, 0.0))),)),
    "harder to turn than its size": mb.Scene(primitives=(box(inertia=(5.0,) * 3),), ground=mb.model.Ground(-0.05)),
    "strong servo": arm(joints=LYING, actuators=pendulum_servo(stiffness=1e4)),
    "no servo": arm(joints=LYING),
    "at cups": lifted(),
    "on a rope": mb.Scene(primitives=(box(),), tendons=(rope("cord", END, TOP),)),
}


def frame(tmp_path):
    """A scene with a U of three boxes as one mesh."""
    import trimesh

    sides = [trimesh.creation.box((0.02, 0.1, 0.1)), trimesh.creation.box((0.02, 0.1, 0.1))]
    sides[0].apply_translation((-0.1, 0, 0.05)), sides[1].apply_translation((0.1, 0, 0.05))
    trimesh.util.concatenate([trimesh.creation.box((0.22, 0.1, 0.02)), *sides]).export(tmp_path / "u.stl")
    hull = {"mesh": str(tmp_path / "u.stl"), "collision_meshes": "convex_hull"}
    body = mb.model.Primitive("u", "mesh", base="free", mass=1.0, **hull)
    return mb.Scene(primitives=(body,), ground=GROUND)


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_told(name, tmp_path):
    scene, said = ODD[name]
    scene = scene or frame(tmp_path)
    told = mb.Simulator(scene, warm_up=False).warnings
    assert len([line for line in told if said in line]) == 1, told


def test_a_size_in_millimetres_is_told_before_all_that_comes_of_it(tmp_path):
    scene = copy.deepcopy(BASE)
    scene["primitives"][1]["size"] = [50, 50, 50]
    scene["models"][0]["pose"]["position"] = [450, 200, 780]
    (tmp_path / "scene.yaml").write_text(yaml.safe_dump(scene, sort_keys=False))
    told = mb.Simulator(tmp_path / "scene.yaml", warm_up=False).warnings
    assert told[0].startswith(f"{tmp_path / 'scene.yaml'}:4: models[0].pose.position: 780 m off")
    assert told[1] == "'box' is 50 m long; lengths are in m, 50 mm are 0.05 m"
    assert not any("penetrate" in line for line in told)


@pytest.mark.parametrize("name", FINE)
def test_what_is_fine_is_not_told(name):
    assert mb.Simulator(FINE[name], warm_up=False).warnings == ()


@pytest.mark.parametrize("name", ["box_on_table", "dual_arm_lift", "pushing_table", "peg_in_hole", "wedge"])
def test_shipped_scenes_have_nothing_odd(name):
    path = Path(ROOT / "config" / f"{name}.yaml")
    if path.exists():
        assert mb.Simulator(path, warm_up=False).warnings == ()

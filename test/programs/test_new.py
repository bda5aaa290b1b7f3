# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact new`` writes scenes that run at once: robots stand still, nothing overlaps, objects lie.

Covers programs/new_options.py.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact import cli
from mb_contact.simulation import initial_penetrations
from paths import ROOT

HAND = """<robot name="hand"><link name="palm"><inertial><mass value="0.3"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.05 0.05 0.02"/></geometry></collision></link>
<link name="finger"><inertial><origin xyz="0 0 0.03"/><mass value="0.1"/>
<inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 0.05"/><geometry><box size="0.01 0.02 0.04"/></geometry></collision></link>
<joint name="slide" type="prismatic"><parent link="palm"/><child link="finger"/><axis xyz="1 0 0"/>
<limit lower="0.005" upper="0.04" effort="40" velocity="1"/></joint></robot>"""


def cube(path, edge):
    """An STL file of a cube whose corner is at the origin."""
    corners = edge * np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6),
             (0, 6, 4), (1, 5, 7), (1, 7, 3)]  # fmt: skip
    text = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {:g} {:g} {:g}\n".format(*corners[i]) for i in face) + "endloop\nendfacet\n" for face in faces
    )  # fmt: skip
    path.write_text(f"solid cube\n{text}endsolid cube\n")


def new(tmp_path, monkeypatch, *arguments):
    monkeypatch.chdir(tmp_path)
    return cli.main(["new", "cell", *arguments])


def held(path, seconds=0.5):
    """The simulator of a scene after some time, whose joints have stayed."""
    sim = mb.Simulator(path)
    start = sim.joint_positions()
    sim.step(steps=round(seconds / sim.time_step))
    assert np.abs(sim.joint_positions() - start).max() < 5e-3
    assert np.abs(sim.joint_velocities()).max() < 1e-3
    return sim


def test_arm_gripper_table_and_objects(tmp_path, monkeypatch, capsys):
    (tmp_path / "hand.urdf").write_text(HAND)
    cube(tmp_path / "cube.stl", 0.06)
    cube(tmp_path / "large cube.stl", 80.0)  # in millimetres
    code = new(tmp_path, monkeypatch, "--robot", str(ROOT / "urdf" / "plate_arm.urdf"), "--gripper", "hand.urdf",
               "--at", "plate", "--object", "cube.stl", "--object", "large cube.stl", "--table")  # fmt: skip
    assert code == 0 and capsys.readouterr().out.startswith("wrote cell/scene.yaml: ")
    scene = mb.load_scene("cell/scene.yaml")
    assert set(scene.models[0].actuators) > {"slide", "shoulder"} and scene.models[0].urdf == "robot.urdf"
    assert scene.primitives[2].scale == (0.001,) * 3 and scene.operational_frames == ("plate",)
    sim = held("cell/scene.yaml")
    assert not initial_penetrations(sim.world) and not sim.world.warnings
    assert {"cube", "large cube"} <= set(sim.world.objects)
    for name in ("cube", "large cube"):  # they lie where they were put
        assert sim.link_pose(name)[0][2] == pytest.approx(0.75, abs=1e-5)
    text = (tmp_path / "cell" / "scene.yaml").read_text()
    assert "# The robots. joints: where it begins." in text
    mb.model.save_scene(scene, tmp_path / "again.yaml")
    assert replace(mb.load_scene(tmp_path / "again.yaml"), path=scene.path) == scene


def test_two_arms_with_hands_of_their_own(tmp_path, monkeypatch, capsys):
    (tmp_path / "hand.urdf").write_text(HAND)
    arm = ["--robot", str(ROOT / "urdf" / "plate_arm.urdf"), "--gripper", "hand.urdf", "--at", "plate"]
    assert new(tmp_path, monkeypatch, *arm, *arm, "--prefix", "right_", "--place", "0.2", "0.5", "-0.3") == 0
    scene = mb.load_scene("cell/scene.yaml")
    assert [model.urdf for model in scene.models] == ["robot_1.urdf", "robot_2.urdf"]
    assert scene.operational_frames == ("plate", "right_plate") and scene.models[1].name == "right_plate_arm"
    assert scene.models[1].pose == mb.model.Pose((0.2, 0.5, 0.0), rpy=(0.0, 0.0, -0.3))
    sim = held("cell/scene.yaml")
    assert not initial_penetrations(sim.world) and {"slide", "right_slide"} <= set(sim.world.joint_names)
    assert new(tmp_path / "cell", monkeypatch, *(word.replace("hand.", "../hand.") for word in arm * 2)) == 0
    third = mb.load_scene("cell/scene.yaml")  # without a prefix and a place
    assert "plate_arm_2_slide" in mb.build_world(third).joint_names
    y = [model.pose.position[1] for model in third.models]
    assert y[0] == -y[1] != 0.0
    with pytest.raises(SystemExit):
        new(tmp_path, monkeypatch, *arm, "--at", "plate")
    assert "--at is given twice for one robot" in capsys.readouterr().err


def test_the_hand_is_between_the_fingers_and_a_root_on_a_table_is_not_the_world(tmp_path, monkeypatch):
    grasp = '<link name="grasp"/><joint name="tcp" type="fixed"><origin xyz="0 0 0.05"/><parent link="palm"/>'
    (tmp_path / "hand.urdf").write_text(HAND.replace("</robot>", f'{grasp}<child link="grasp"/></joint></robot>'))
    arm = (ROOT / "urdf" / "plate_arm.urdf").read_text().replace('"stand"', '"world"')
    (tmp_path / "arm.urdf").write_text(arm)
    given = ["--robot", "arm.urdf", "--gripper", "hand.urdf", "--at", "plate", "--table"]
    assert new(tmp_path, monkeypatch, *given) == 0
    sim = mb.Simulator("cell/scene.yaml")
    assert sim.scene.operational_frames == ("grasp",) and sim.world.robot_models[0].root_link == "plate_arm_root"
    assert not sim.warnings
    alone = mb.Scene(models=(mb.model.SceneModel(arm, pose=mb.model.Pose((0.0, 0.0, 0.75))),))
    assert "models[0]: its root link is called 'world' and stands elsewhere" in mb.Simulator(alone).warnings[0]


def test_a_frame_between_the_fingers_is_the_hand(tmp_path, monkeypatch):
    (tmp_path / "hand.urdf").write_text(HAND)
    arm = ["--robot", str(ROOT / "urdf" / "plate_arm.urdf"), "--gripper", "hand.urdf", "--at", "plate"]
    assert new(tmp_path, monkeypatch, *arm, "--tcp", "0.01", "0", "0.07", "--prefix", "a_") == 0
    sim = mb.Simulator("cell/scene.yaml")
    assert sim.scene.operational_frames == ("a_tcp",)
    (at, turn), (tcp, same) = sim.link_pose("a_plate"), sim.link_pose("a_tcp")
    np.testing.assert_allclose(tcp, at + Rotation.from_quat(turn).apply([0.01, 0.0, 0.07]), atol=1e-12)
    np.testing.assert_allclose(same, turn, atol=1e-12)


def test_joints_go_no_faster_than_their_files_say(tmp_path, monkeypatch):
    (tmp_path / "hand.urdf").write_text(HAND.replace('velocity="1"', 'velocity="0.1"'))
    assert new(tmp_path, monkeypatch, "--robot", "hand.urdf") == 0
    sim = mb.Simulator("cell/scene.yaml")
    sim.set_targets(["slide"], positions=[0.04])
    fastest = max(sim.step() and sim.joint_velocities()[0] for _ in range(200))
    assert fastest == pytest.approx(0.1, abs=1e-9)
    (tmp_path / "still.urdf").write_text(HAND.replace('velocity="1"', 'velocity="0"'))  # none is meant
    assert cli.main(["new", "other", "--robot", "still.urdf"]) == 0
    assert not mb.load_scene("other/scene.yaml").enforce_velocity_limits


def test_what_compiles_first_is_told(tmp_path, monkeypatch, capsys):
    (tmp_path / "hand.urdf").write_text(HAND)
    monkeypatch.setattr("mb_contact.programs.new.is_compiled", lambda: False)
    monkeypatch.setattr("mb_contact.programs.new.compile_step", lambda progress: progress("compiling"))
    assert new(tmp_path, monkeypatch, "--robot", "hand.urdf") == 0
    assert capsys.readouterr().err == "mb-contact: compiling\n"


def test_a_scan_is_in_the_middle_of_its_place(tmp_path, monkeypatch):
    import trimesh

    ring = trimesh.creation.torus(0.06, 0.015, major_sections=52, minor_sections=52)
    ring.apply_translation((0.3, 0.2, 0.1))  # as scans are, anywhere in their own axes
    ring.export(tmp_path / "ring.stl")
    (tmp_path / "hand.urdf").write_text(HAND)
    assert new(tmp_path, monkeypatch, "--robot", "hand.urdf", "--object", "ring.stl", "--object", "ring.stl") == 0
    scene = mb.load_scene("cell/scene.yaml")
    assert mb.build_world(scene).warnings == ()  # rings are open
    middles = np.array([body.pose.position for body in scene.primitives]) + [0.3, 0.2, 0.1]
    assert np.allclose(middles[:, 1], [0.0, 0.2], atol=1e-3) and np.allclose(middles[:, 2], 0.015, atol=1e-6)


def test_the_commands_that_it_tells_can_be_pasted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "my cell", "--robot", str(ROOT / "urdf" / "plate_arm.urdf")]) == 0
    said = [shlex.split(line) for line in capsys.readouterr().out.splitlines() if line.startswith("mb-contact ")]
    assert said == [["mb-contact", command, "my cell/scene.yaml"] for command in ("check", "view")]


def test_names_that_clash_are_changed(tmp_path, monkeypatch, capsys):
    crate = HAND.replace('"palm"', '"camera"').replace('"hand"', '"crate"')
    (tmp_path / "crate.urdf").write_text(crate)
    for name in ("table", "ground", "camera", "world", "palm"):
        cube(tmp_path / f"{name}.stl", 0.04)
    (tmp_path / "hand.urdf").write_text(HAND)
    objects = ["table.stl", "ground.stl", "camera.stl", "world.stl", "palm.stl", "crate.urdf", "crate.urdf"]
    given = [word for name in objects for word in ("--object", name)]
    assert new(tmp_path, monkeypatch, "--robot", "hand.urdf", "--table", *given) == 0
    world = mb.Simulator("cell/scene.yaml").world  # sensors included
    named = {"table_2", "ground_2", "world_2", "palm_2", "crate_2_camera", "crate_3_camera"}
    assert set(world.objects) > named - {"crate_2_camera"} and len(world.objects) == 7
    assert world.frames["table"].body == world.frames["ground"].body == -1 and "world" not in world.frames
    given = ["--robot", "hand.urdf", "--prefix", "a_"]
    assert new(tmp_path / "cell", monkeypatch, *(word.replace("hand", "../hand") for word in given * 2)) == 2
    assert "with --prefix a_ the name 'a_finger' occurs twice" in capsys.readouterr().err
    assert not (tmp_path / "cell" / "cell").exists()


def test_an_object_that_is_fixed_to_the_world_stays(tmp_path, monkeypatch):
    door = HAND.replace('"palm"', '"door"').replace('"finger"', '"knob"').replace('"slide"', '"turn"')
    fixed = '<link name="world"/><joint name="hinge" type="revolute"><parent link="world"/><child link="door"/>' \
            '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="0" velocity="1"/></joint></robot>'
    (tmp_path / "door.urdf").write_text(door.replace("</robot>", fixed).replace('name="hand"', 'name="frame"'))
    (tmp_path / "hand.urdf").write_text(HAND)
    assert new(tmp_path, monkeypatch, "--robot", "hand.urdf", *["--object", "door.urdf"] * 2) == 0
    world = mb.Simulator("cell/scene.yaml").world
    assert not world.objects and {"hinge", "frame_2_hinge"} <= set(world.joint_names)
    assert {"frame_root", "frame_2_frame_root"} <= set(world.frames) and "world" not in world.frames


def test_a_scene_that_cannot_be_built_leaves_no_file(tmp_path, monkeypatch):
    def refused(_):
        raise mb.SceneError("refused")

    (tmp_path / "hand.urdf").write_text(HAND)
    two = ["--robot", "hand.urdf"] * 2
    with monkeypatch.context() as patched:
        patched.setattr("mb_contact.programs.new.build_world", refused)
        assert new(tmp_path, monkeypatch, *two) == 2
    assert not (tmp_path / "cell").exists()
    (tmp_path / "cell").mkdir()
    (tmp_path / "cell" / "robot_2.urdf").write_text("mine")
    assert new(tmp_path, monkeypatch, *two) == 2 and (tmp_path / "cell" / "robot_2.urdf").read_text() == "mine"


def test_table_and_objects_are_where_the_robots_are(tmp_path, monkeypatch):
    (tmp_path / "hand.urdf").write_text(HAND)
    cube(tmp_path / "cube.stl", 0.04)
    hand = ["--robot", "hand.urdf", "--place"]
    given = [*hand, "1", "3", "0", *hand, "4", "2", "0", "--table", "--object", "cube.stl", "--object", "cube.stl"]
    assert new(tmp_path, monkeypatch, *given) == 0
    sim = mb.Simulator("cell/scene.yaml")
    table = sim.scene.primitives[0]
    low, high = (np.array(table.pose.position) + sign * 0.5 * np.array(table.size) for sign in (-1, 1))
    for x, y in ((1.0, 3.0), (4.0, 2.0), sim.link_pose("cube")[0][:2], sim.link_pose("cube_2")[0][:2]):
        assert low[0] < x - 0.3 and x + 0.3 < high[0] and low[1] < y - 0.3 and y + 0.3 < high[1]
    assert not sim.warnings and all(sensor.pose.position[0] > 2.5 for sensor in sim.scene.sensors)


def test_a_robot_with_legs(tmp_path, monkeypatch):
    assert new(tmp_path, monkeypatch, "--robot", "package://mb_contact/urdf/quadruped.urdf", "--free") == 0
    scene = mb.load_scene("cell/scene.yaml")
    assert scene.models[0].base == "free"
    gaps = [geometry for geometry in mb.Simulator(scene).step().contacts["gap"]]
    assert all(gap > -1e-9 for gap in gaps) and not initial_penetrations(mb.build_world(scene))


def test_packages_of_scenes_and_simulators(tmp_path, monkeypatch):
    package = tmp_path / "robots" / "my_hand"
    package.mkdir(parents=True)
    (package / "hand.urdf").write_text(HAND)
    address = "package://my_hand/hand.urdf"
    assert new(tmp_path, monkeypatch, "--robot", address, "--package-path", "robots") == 0
    scene = mb.load_scene("cell/scene.yaml")
    assert scene.packages == ("../robots",) and scene.models[0].urdf == address
    monkeypatch.delenv("MB_CONTACT_PACKAGE_PATH")
    assert mb.build_world(scene).joint_names == ("slide",)
    alone = mb.Scene(models=(mb.model.SceneModel(address),))
    with pytest.raises(mb.SceneError, match="in a scene: packages; on the command line: --package-path"):
        mb.build_world(alone)
    assert mb.Simulator(alone, packages=["robots"]).world.joint_names == ("slide",)
    assert mb.Simulator(address, packages=["robots"]).world.joint_names == ("slide",)
    with pytest.raises(mb.SceneError, match=r"packages\[0\]: there is no folder '.*nowhere'"):
        mb.build_world(replace(alone, packages=("nowhere",)))


XACRO = HAND.replace('<robot name="hand">', """<robot name="hand" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="name" default=""/><xacro:arg name="wide" default="1"/>""").replace("finger", "$(arg name)")


def test_arguments_of_xacro_files(tmp_path, monkeypatch, capsys):
    """They go into the scene, or into the text where robot and gripper are written as one."""
    (tmp_path / "hand.urdf.xacro").write_text(XACRO.replace('<xacro:arg name="name" default=""/>', ""))
    assert new(tmp_path, monkeypatch, "--robot", "hand.urdf.xacro") == 2
    assert "NAME:=VALUE behind the file in mb-contact info and mb-contact new" in capsys.readouterr().err
    assert new(tmp_path, monkeypatch, "--robot", "hand.urdf.xacro", "name:=thumb", "wide:=2", "--table") == 0
    entry = mb.load_scene("cell/scene.yaml").models[0]
    assert entry.xacro_args == {"name": "thumb", "wide": "2"} and entry.urdf == "../hand.urdf.xacro"
    assert "thumb" in mb.Simulator("cell/scene.yaml").world.frames
    arm = ["--robot", "hand.urdf.xacro", "name:=thumb", "--at", "thumb", "--tcp", "0", "0", "0.1"]
    assert cli.main(["new", "pair", *arm, "--gripper", "hand.urdf.xacro", "name:=tip"]) == 0
    assert {"thumb", "tip", "tcp"} <= set(mb.load_urdf("pair/robot.urdf").link_names)
    assert cli.main(["info", "hand.urdf.xacro", "name:=thumb"]) == 0 and "thumb" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["new", "--robot", "hand.urdf.xacro", "name:=thumb", "folder"])
    assert "'folder' is no argument NAME:=VALUE of a xacro file; the folder's NAME" in capsys.readouterr().err
    two = {"xacro_args": {"name": "thumb"}, "gripper_args": {"name": "tip"}}
    text = mb.model.compose("hand.urdf.xacro", "hand.urdf.xacro", "thumb", **two)
    assert {"thumb", "tip"} <= set(mb.load_urdf(text).link_names)


@pytest.mark.parametrize("arguments, said", [
    (["--robot", "none.urdf"], "'none.urdf' does not exist"),
    (["--robot", "hand.urdf", "--at", "palm"], "--gripper and --at belong together"),
    (["--robot", "hand.urdf", "--gripper", "hand.urdf", "--at", "plam"], "no link 'plam'; did you mean 'palm'?"),
    (["--robot", "hand.urdf", "--object", "hand.txt"], "the format '.txt' is not read"),
    (["--robot", "hand.txt"], "hand.txt: not a robot: it is XML with the root <hand>"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused(tmp_path, monkeypatch, capsys, arguments, said):
    (tmp_path / "hand.urdf").write_text(HAND)
    (tmp_path / "hand.txt").write_text("<hand/>")
    assert new(tmp_path, monkeypatch, *arguments) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "cell").exists()


def test_a_scene_that_is_there_stays(tmp_path, monkeypatch, capsys):
    (tmp_path / "hand.urdf").write_text(HAND)
    assert new(tmp_path, monkeypatch, "--robot", "hand.urdf") == 0
    assert new(tmp_path, monkeypatch, "--robot", "hand.urdf") == 2
    assert "is there already" in capsys.readouterr().err

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SDF worlds and models are the scenes that they describe, and what is not taken is named with its place.

Covers model/sdf/*.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact import cli
from mb_contact.model.scene import JointProperties
from oracles.sdf_texts import BOX, JOINT, LINK, MASS, PLANE, arm, moving, still, world

TABLE_WORLD = f"""<sdf version="1.9"><world name="table_world">
<physics name="1ms" type="ignored"><max_step_size>0.002</max_step_size><real_time_factor>1</real_time_factor></physics>
<plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
<plugin filename="gz-sim-sensors-system" name="gz::sim::systems::Sensors"/>
<gravity>0 0 -3.7</gravity>
<light type="directional" name="lamp"/>
<include><uri>model://sun</uri></include>
<include><uri>model://ground_plane</uri></include>
<model name="table"><static>true</static><pose>1 0 0.7 0 0 0</pose>
<link name="link"><gravity>true</gravity>{BOX.format("collision", "0.8 1.2 0.1", "")}</link></model>
<model name="crate"><pose relative_to="table">0 0.2 0.1 0 0 0</pose><link name="link">{MASS.format(1)}
{BOX.format("collision", "0.1 0.1 0.1", "<surface><friction><ode><mu>0.4</mu></ode></friction></surface>")}
{BOX.format("visual", "0.1 0.1 0.1", "<material><diffuse>0.1 0.2 0.3</diffuse></material>")}
<sensor name="imu" type="imu"><update_rate>100</update_rate></sensor>
<sensor name="gps" type="navsat"/></link></model>
<model name="post"><static>true</static><pose>0 0 1 0 0 0</pose><link name="link">
<sensor name="eye" type="camera"><update_rate>30</update_rate><camera><horizontal_fov>1</horizontal_fov><image>
<width>16</width><height>12</height></image><clip><near>0.1</near><far>8</far></clip></camera></sensor>
<sensor name="scan" type="gpu_lidar"><lidar><scan><horizontal><samples>8</samples><min_angle>-1</min_angle>
<max_angle>1</max_angle></horizontal></scan><range><min>0.1</min><max>9</max></range><noise/></lidar></sensor>
</link></model></world></sdf>"""
GRIPPER = f"""<sdf version="1.7"><model name="gripper"><link name="palm">{MASS.format(0.4)}</link>
<link name="left"><pose>0.03 0 0.04 0 0 0</pose>{MASS.format(0.1)}</link>
<link name="right"><pose>-0.03 0 0.04 0 0 0</pose>{MASS.format(0.1)}</link>
<joint name="slide" type="prismatic"><parent>palm</parent><child>left</child><axis><xyz>-1 0 0</xyz>
<limit><lower>0</lower><upper>0.02</upper><effort>20</effort></limit></axis></joint>
<joint name="slide_2" type="prismatic"><parent>palm</parent><child>right</child><axis><xyz>1 0 0</xyz>
<limit><lower>0</lower><upper>0.02</upper></limit><mimic joint="slide"/></axis></joint></model></sdf>"""


def test_a_world_with_a_table_is_that_scene(file):
    scene = mb.load_scene(file(TABLE_WORLD))
    assert scene.gravity == (0.0, 0.0, -3.7) and scene.time_step == 0.002
    sim = mb.Simulator(scene)
    assert set(sim.world.frames) == {"table", "crate", "post", "ground_plane"} and set(sim.world.objects) == {"crate"}
    pairs = dict(zip(map(tuple, np.array(sim.world.geometry_links)[sim.world.geoms.pairs]), sim.world.geoms.mu))
    assert pairs["table", "crate"] == 0.4  # the smaller of two, as in Gazebo
    for _ in range(100):
        sim.step()
    np.testing.assert_allclose(sim.link_pose("crate")[0], [1.0, 0.2, 0.8], atol=1e-6)
    assert sim.contact_impulse("crate")[5] / 0.002 == pytest.approx(3.7, rel=1e-6)
    kinds = {sensor.name: (sensor.kind, sensor.link) for sensor in scene.sensors}
    assert kinds == {"imu": ("imu", "crate"), "eye": ("camera", "post"), "scan": ("lidar", "post")}
    assert sim.sensors.read("eye").colour.shape == (12, 16, 3)
    told = [warning.removeprefix(str(scene.path)) for warning in sim.warnings]
    assert [line[: line.index(" is not taken")] for line in told] == [
        ":3: <plugin> 'gz::sim::systems::Physics' in <world>", ":6: <light> 'lamp' in <world>",
        ":15: <sensor> 'gps' in <link>", ":20: <noise> in <lidar>",
    ]  # fmt: skip
    assert "nor in line 4" in told[0]


def test_colours_are_those_of_the_file(file):
    from mb_contact.model.shapes.visuals import scene_visuals

    scene = mb.load_scene(file(TABLE_WORLD))
    visuals, missing = scene_visuals(scene, mb.build_world(scene))
    assert not missing and [visual.link for visual in visuals] == ["crate"]
    np.testing.assert_allclose(visuals[0].colour, (0.1, 0.2, 0.3, 1.0))


def test_links_joints_and_frames_stand_where_poses_say(file):
    """Poses relative to other frames, in degrees, as quaternions; axes in other frames; a joint read backwards."""
    link = "<link name='{0}'><pose {1}</pose>{2}</link>"
    links = (
        link.format("base", ">0 0 0.1 0 0 0.3", MASS.format(3))
        + link.format("upper", "degrees='true'>0 0.1 0.4 20 0 0", MASS.format(1))
        + link.format("hand", "relative_to='upper' rotation_format='quat_xyzw'>0 0 0.3 0 0 0.6 0.8", MASS.format(0.4))
        + "<frame name='tcp' attached_to='hand'><pose>0 0.01 0.05 0 0 0</pose></frame>"
        + "<frame name='end' attached_to='slide'/>"
    )
    joints = """<joint name="foot" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="turn" type="revolute"><pose relative_to="base">0 0 0.1 0 0 0</pose><parent>base</parent>
<child>upper</child><axis><xyz expressed_in="__model__">0 1 0</xyz>
<limit><lower>-2</lower><upper>1</upper><effort>50</effort></limit>
<dynamics><spring_stiffness>3</spring_stiffness><spring_reference>0.2</spring_reference></dynamics></axis></joint>
<joint name="slide" type="prismatic"><parent>tcp</parent><child>upper</child><axis><xyz>0 0 1</xyz>
<limit><lower>-0.1</lower><upper>0.2</upper></limit></axis></joint>"""
    scene = mb.load_scene(file(arm(links, joints)))
    sim = mb.Simulator(scene)
    upper, at = Rotation.from_euler("xyz", [20, 0, 0], degrees=True), np.array([0.0, 0.1, 0.4])
    hand = upper * Rotation.from_quat([0, 0, 0.6, 0.8])
    p_hand = at + upper.apply([0, 0, 0.3])
    np.testing.assert_allclose(sim.link_pose("base")[0], [0, 0, 0.1], atol=1e-12)
    np.testing.assert_allclose(sim.link_pose("upper")[0], at, atol=1e-12)
    np.testing.assert_allclose(sim.link_pose("hand")[0], p_hand, atol=1e-12)
    np.testing.assert_allclose(sim.link_pose("tcp")[0], p_hand + hand.apply([0, 0.01, 0.05]), atol=1e-12)
    assert abs(sim.link_pose("hand")[1] @ hand.as_quat()) == pytest.approx(1.0)
    model = sim.world.robot_models[0]
    limits = {name: (model.lower[v], model.upper[v]) for name, v in zip(model.joint_names, model.joint_v)}
    assert limits == {"turn": (-2.0, 1.0), "slide": (-0.1, 0.2)}
    assert scene.models[0].joint_properties["turn"] == JointProperties(stiffness=3.0, rest_position=0.2)
    q = model.q_from({"turn": 0.7, "slide": 0.05})
    turned = Rotation.from_rotvec([0, 0.7, 0])  # about the model's y, through the joint's place
    pivot = np.array([0, 0, 0.2])
    np.testing.assert_allclose(mb.frame_pose(model, q, "upper")[1], pivot + turned.apply(at - pivot), atol=1e-12)
    along = (turned * upper).apply([0, 0, 0.05])  # by which the slide's child, the upper link, goes ahead of the hand
    place = pivot + turned.apply(p_hand - pivot) - along
    np.testing.assert_allclose(mb.frame_pose(model, q, "hand")[1], place, atol=1e-12)


def test_a_pendulum_is_that_of_a_urdf(file):
    sdf = file(arm(
        f"<link name='bob'><pose>0 0 0.5 0 0 0</pose>{MASS.format(2)}</link>",
        "<joint name='swing' type='revolute'><pose>0 0 0.5 0 0 0</pose><parent>world</parent><child>bob</child><axis>"
        "<xyz>0 1 0</xyz><dynamics><damping>0.1</damping><friction>0.2</friction></dynamics></axis></joint>",
    ))  # fmt: skip
    urdf = """<robot name="p"><link name="root"/><link name="bob"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="swing"
type="continuous"><origin xyz="0 0 1"/><parent link="root"/><child link="bob"/><axis xyz="0 1 0"/>
<dynamics damping="0.1" friction="0.2"/></joint></robot>"""
    one, other = mb.load_urdf(sdf), mb.load_urdf(urdf)
    for q in ([0.3], [2.0]):
        arguments = np.array(q), np.array([1.5]), np.array([0.7])
        np.testing.assert_allclose(
            mb.forward_dynamics(one, *arguments), mb.forward_dynamics(other, *arguments), rtol=1e-12
        )
    assert one.friction[0] == 0.2 and one.tree.damping[0] == 0.1 and np.isinf(one.upper[0])


def test_models_are_included_by_address_and_nested(file, tmp_path):
    versions = "<sdf version='1.5'>old.sdf</sdf><sdf version='1.10'>new.sdf</sdf>"
    file(f"<model>{versions}</model>", "models/gripper/model.config")
    file(GRIPPER, "models/gripper/new.sdf")
    include = "<include><uri>model://gripper</uri><name>{0}</name><pose relative_to='base'>{1} 0 0.5 0 0 0</pose>"
    include += "</include>"
    lift = """<joint name="lift" type="prismatic"><parent>base</parent><child>{0}::palm</child><axis><xyz>0 0 1</xyz>
<limit><lower>-0.1</lower><upper>0.2</upper></limit></axis></joint>"""
    link = f"<link name='base'><pose>0 0 1 0 0 0</pose>{MASS.format(1)}</link>"
    path = file(arm(link + include.format("hand", 0.1), lift.format("hand")))
    scene = mb.load_scene(path, packages=[tmp_path / "models"])
    world = mb.build_world(scene)
    assert world.joint_names == ("lift", "slide") and world.follower_names == ("slide_2",)
    assert scene.models[0].base == "free" and list(world.objects) == ["base"]
    sim = mb.Simulator(scene)
    np.testing.assert_allclose(sim.link_pose("right")[0], [0.07, 0.0, 1.54], atol=1e-12)
    both = include.format("hand", 0.1) + include.format("other", -0.1)
    two = mb.build_world(mb.load_scene(file(arm(link + both, lift.format("hand"))), packages=[tmp_path / "models"]))
    assert two.joint_names == ("lift", "hand_slide", "other_slide")  # the shortest names that are different
    assert set(two.objects) == {"base", "other_palm"}  # nothing holds the other gripper
    alone = mb.load_urdf(tmp_path / "models/gripper/new.sdf", floating=True)
    assert alone.joint_names == ("slide",) and alone.root_link == "palm"


def test_a_loop_is_closed(file):
    link = "<link name='{0}'><pose>{1} 0 0 0</pose>" + MASS.format(1) + "</link>"
    hinge = "<joint name='{0}{1}' type='revolute'>{2}<parent>{0}</parent><child>{1}</child>"
    hinge += "<axis><xyz>0 1 0</xyz></axis></joint>"
    places = {"g": "0 0 0", "a": "0 0 0", "b": "0 0 0.5", "c": "1 0 0"}
    links = "".join(link.format(*entry) for entry in places.items())
    joints = "<joint name='f' type='fixed'><parent>world</parent><child>g</child></joint>"
    joints += "".join(hinge.format(*ends, "") for ends in ("ga", "ab", "gc"))
    joints += hinge.format("c", "b", "<pose relative_to='c'>0 0 0.5 0 0 0</pose>")
    scene = mb.load_scene(file(arm(links, joints)))
    assert [(c.kind, c.link_a, c.link_b) for c in scene.loop_closures] == [("axis", "c", "b")]
    sim = mb.Simulator(scene)
    np.testing.assert_allclose(scene.loop_closures[0].pose_b.position, [1.0, 0.0, 0.0], atol=1e-12)
    step = sim.step(np.array([1.0, 0.0, 0.0]))
    assert step.certificate.closure_error < 1e-9
    assert abs(sim.joint_velocities()[0]) > 1e-4


def test_joints_of_two_axes_threads_and_wrenches(file):
    links = "".join(f"<link name='{name}'>{MASS.format(1)}</link>" for name in "abcd")
    axes = "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>"
    axes += "<axis2><xyz>0 1 0</xyz></axis2>"
    joint = "<joint name='{0}' type='{1}'><parent>{2}</parent><child>{3}</child>{4}</joint>"
    joints = joint.format("steer", "revolute2", "a", "b", axes)
    joints += joint.format("nut", "screw", "a", "c",
                           "<screw_thread_pitch>0.004</screw_thread_pitch><axis><xyz>1 0 0</xyz></axis>")  # fmt: skip
    joints += joint.format("wrist", "fixed", "a", "d", "<sensor name='ft' type='force_torque'/>")
    scene = mb.load_scene(file(arm(links, joints)))
    model = mb.build_world(scene).robot_models[0]
    assert model.joint_names == ("steer", "steer_2", "nut") and np.isinf(model.upper[model.joint_v[1]])
    assert model.upper[model.joint_v[0]] == 1.0 and [s.joint for s in scene.sensors] == ["wrist"]
    q = model.q_from({"steer": 0.5, "steer_2": 0.3, "nut": np.pi})
    R, _ = mb.frame_pose(model, q, "b")
    np.testing.assert_allclose(R, Rotation.from_euler("ZY", [0.5, 0.3]).as_matrix(), atol=1e-12)
    np.testing.assert_allclose(mb.frame_pose(model, q, "c")[1], [0.002, 0, 0], atol=1e-12)  # half a turn


def test_planes_height_fields_and_urdfs_stand_in_the_world(file):
    np.savetxt(file("", "field.csv"), [[0.0, 0.5], [0.5, 1.0]], delimiter=",")
    file(mb.pendulum(1).urdf(), "robot.urdf")
    still = "<model name='{0}'><static>1</static><link name='l'><collision name='c'><geometry>{1}</geometry>"
    still += "</collision></link></model>"
    plane = still.format("slope", "<plane><normal>0 0.6 0.8</normal></plane>")
    field = still.format("hill", "<heightmap><uri>field.csv</uri><size>2 3 0.4</size><pos>1 0 0.1</pos></heightmap>")
    robot = "<include><uri>robot.urdf</uri><static>true</static><pose>0 0 2 0 0 0</pose></include>"
    scene = mb.load_scene(file(f"<sdf version='1.6'><world name='w'>{plane}{field}{robot}</world></sdf>"))
    world = mb.build_world(scene)
    assert world.joint_names == ("hinge_0",) and scene.models[0].pose.position == (0.0, 0.0, 2.0)
    np.testing.assert_allclose(world.frames["slope"].R[:, 2], [0, 0.6, 0.8], atol=1e-12)
    np.testing.assert_allclose(world.frames["hill"].p, [1, 0, 0.1], atol=1e-12)
    assert scene.primitives[1].size == (2.0, 3.0) and scene.primitives[1].heights.factor == 0.4


def test_files_of_the_command_line_and_of_scenes(file, tmp_path, capsys):
    path = file(GRIPPER)
    assert cli.main(["info", str(path)]) == 0 and "robot 'gripper'" in capsys.readouterr().out
    scene = file("models: [{urdf: scene.sdf}]", "cell.yaml")
    assert mb.build_world(mb.load_scene(scene)).joint_names == ("slide",)
    assert cli.main(["check", str(file(TABLE_WORLD, "table.world"))]) == 0
    assert "<light> 'lamp' in <world> is not taken" in capsys.readouterr().out
    mb.model.save_scene(mb.load_scene(path), tmp_path / "again.yaml")
    assert mb.build_world(mb.load_scene(tmp_path / "again.yaml")).joint_names == ("slide",)


def test_many_frames_one_in_the_other_have_poses(file):
    from mb_contact.model.sdf.elements import Frames, SdfReader

    frames, reader = Frames(), SdfReader(file(arm(LINK)))
    for i in range(3000):
        frames.add(f"f{i}", reader, reader.sdf, f"f{i - 1}" if i else "world", np.eye(3), np.array([0.0, 0.0, 0.5]))
    np.testing.assert_allclose(frames.pose("f2999")[1], [0.0, 0.0, 1500.0])


def test_inertias_stand_in_turned_frames(file):
    """A hinge's inertia is n (R I R^T) n + m |n x c|^2 in closed form."""
    entries = {"ixx": 0.3, "ixy": 0.02, "ixz": -0.03, "iyy": 0.2, "iyz": 0.05, "izz": 0.25}
    xx, xy, xz, yy, yz, zz = entries.values()
    R, c = Rotation.from_euler("xyz", [0.4, -0.3, 1.1]).as_matrix(), np.array([0.1, 0.2, -0.3])
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    inertia = "".join(f"<{key}>{value}</{key}>" for key, value in entries.items())
    inertial = f"<inertial><pose>0.1 0.2 -0.3 0.4 -0.3 1.1</pose><mass>2</mass><inertia>{inertia}</inertia></inertial>"
    for n in np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8], [0.0, 0.6, -0.8]]):
        axis = f"<axis><xyz>{n[0]} {n[1]} {n[2]}</xyz></axis>"
        joint = JOINT.replace(">a<", ">world<").format("continuous", "a", axis)
        model = mb.load_urdf(file(arm(f"<link name='a'>{inertial}</link>", joint)))
        rate = mb.forward_dynamics(model, np.zeros(1), np.zeros(1), np.ones(1), gravity=(0.0, 0.0, 0.0))
        assert 1.0 / rate[0] == pytest.approx(n @ I @ n + 2.0 * np.sum(np.cross(n, c) ** 2), rel=1e-12)


def test_made_names_are_those_of_nothing_else(file):
    links = "".join(f"<link name='{name}'>{MASS.format(1)}</link>" for name in ("a", "u_1", "c", "d", "e"))
    two = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    joint = "<joint name='{0}' type='{1}'><parent>{2}</parent><child>{3}</child>{4}</joint>"
    joints = joint.format("u", "universal", "a", "c", two)
    joints += joint.format("u_2", "revolute", "a", "u_1", "<axis><xyz>0 0 1</xyz></axis>")
    joints += joint.format("a_floating", "revolute", "a", "e", "<axis><xyz>0 0 1</xyz></axis>")
    mimic = "<axis><xyz>0 0 1</xyz><mimic joint='u' axis='axis2'><multiplier>2</multiplier></mimic></axis>"
    model = mb.build_world(mb.load_scene(file(arm(links, joints + joint.format("f", "revolute", "a", "d", mimic)))))
    robot = model.robot_models[0]
    assert set(robot.joint_names) == {"u", "u_2_", "u_2", "a_floating"}
    R, _ = mb.frame_pose(robot, robot.q_from({"u_2_": 0.2}), "d")
    np.testing.assert_allclose(R, Rotation.from_euler("z", 0.4).as_matrix(), atol=1e-12)
    planes = PLANE.format("collision", "") + PLANE.format("collision", "").replace("'c'", "'d'")
    clash = world(f"<model name='l_c'>{LINK}</model>" + still("h", planes, "<link name='q'/>"))
    assert {"l_c", "l_c_", "l_d"} <= set(mb.build_world(mb.load_scene(file(clash))).frames)


def test_a_plane_stands_beside_what_else_its_model_has(file):
    look = PLANE.format("visual", "<material><diffuse>0.2 0.3 0.4 1</diffuse></material>")
    plane = PLANE.format("collision", "")
    bare = mb.load_scene(file(world(still("floor", plane + look))))
    assert not bare.models and bare.primitives[0].name == "floor" and bare.primitives[0].color == (0.2, 0.3, 0.4, 1.0)
    more = ("<sensor name='s' type='camera'/>", BOX.format("visual", "1 1 1", ""))
    for text in (*(still("floor", plane + part) for part in more), still("floor", plane, "<frame name='f'/>")):
        scene = mb.load_scene(file(world(text)))
        assert len(scene.models) == 1 and [plane.name for plane in scene.primitives] in (["floor_c"], ["l_c"])
        mb.build_world(scene)


def test_included_urdfs_have_friction_names_and_a_world_of_their_own(file):
    crate = """<robot name="crate"><link name="crate"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size="1 1 1"/></geometry></collision></link></robot>"""
    file(crate, "crate.urdf")
    file(crate.replace('<robot name="crate">', """<robot name="crate"><link name="world"/><joint name="hinge"
type="continuous"><parent link="world"/><child link="crate"/><axis xyz="0 0 1"/></joint>"""), "door.urdf")
    include = "<include><uri>{0}.urdf</uri><name>{1}</name></include>"
    floor = "<include><uri>model://ground_plane</uri></include>"
    crates = include.format("crate", "a") + include.format("crate", "b")
    built = mb.build_world(mb.load_scene(file(world(floor + crates))))
    assert set(built.objects) == {"crate", "b_crate"} and set(built.geoms.mu) == {1.0}
    assert mb.build_world(mb.load_scene(file(world(include.format("door", "d"))))).joint_names == ("hinge",)
    file("\n<robot>", "bad.urdf")
    with pytest.raises(mb.SceneError, match="bad.urdf:2: not well-formed XML"):
        mb.load_scene(file(world(include.format("bad", "d"))))


def test_what_a_urdf_has_no_word_for_is_told(file):
    spring = "<dynamics><spring_stiffness>3</spring_stiffness></dynamics>"
    path = file(moving("revolute", spring, "<sensor name='s' type='force_torque'/>"))
    said = "a URDF has no word for what the file holds of joint_properties, sensors; load_scene('scene.sdf') has it"
    assert said in mb.load_urdf(path).warnings[0] and not mb.load_urdf(file(moving("revolute", ""))).warnings
    scene = mb.Simulator(file("models: [{urdf: scene.sdf}]", "cell.yaml"))
    path.write_text(moving("revolute", spring))
    assert any("of joint_properties; " in said for said in mb.Simulator(mb.load_scene(scene.scene.path)).warnings)


def test_what_is_composed_of_an_sdf_tells_what_it_has_lost(file, monkeypatch, capsys):
    path = file(moving("revolute", "<dynamics><spring_stiffness>3</spring_stiffness></dynamics>"))
    said = f"{path}: a URDF has no word for what the file holds of joint_properties; load_scene('scene.sdf') has it"
    once = mb.model.compose(path, prefix_all="left_")
    hand = mb.model.compose(mb.pendulum(1).urdf(), once, "link_0", prefix="tool_")
    assert mb.load_urdf(once).warnings == mb.load_urdf(hand).warnings == (said,)
    monkeypatch.chdir(path.parent)
    for cell, more in (("a", []), ("b", ["--prefix", "left_"])):
        assert cli.main(["new", cell, "--robot", "scene.sdf", *more]) == 0
        assert f"warning: {said.rpartition('/')[2]}" in capsys.readouterr().out
        assert any(said.rpartition("/")[2] in line for line in mb.Simulator(f"{cell}/scene.yaml").warnings)


@pytest.mark.parametrize("pose", ["", "<pose>0 0 0.1 1.2 0 0.3</pose>"])
def test_wrenches_of_joints_stand_in_the_axes_of_the_child(file, pose):
    """A weight of 2 kg that hangs on a joint; axes of the sensor count where it says so."""
    links = LINK + f"<link name='b'><pose>0 0 -0.5 0 0 0</pose>{MASS.format(2)}</link>"
    foot = "<joint name='f' type='fixed'><parent>world</parent><child>a</child></joint>"
    sensor = "<sensor name='s' type='force_torque'><pose>0 0 0 3.141592653589793 0 0</pose>{0}</sensor>"
    for kind in ("fixed", "prismatic"):
        axis = f"{pose}<axis><xyz>1 0 0</xyz><limit><lower>0</lower><upper>0</upper></limit></axis>" + sensor
        sim = mb.Simulator(file(arm(links, foot + JOINT.format(kind, "b", axis.format("")))))
        sim.step()
        np.testing.assert_allclose(sim.sensors.read("s")[3:], [0, 0, 19.6], atol=1e-6)
        own = axis.format("<force_torque><frame>sensor</frame></force_torque>")
        sim = mb.Simulator(file(arm(links, foot + JOINT.format(kind, "b", own))))
        sim.step()
        turn = Rotation.from_euler("xyz", [1.2, 0, 0.3] if pose else [0, 0, 0]) * Rotation.from_euler("x", np.pi)
        np.testing.assert_allclose(sim.sensors.read("s")[3:], turn.inv().apply([0, 0, 19.6]), atol=1e-6)
    text = arm(links, foot + JOINT.format("prismatic", "a", axis.format("")).replace("<parent>a", "<parent>b"))
    scene = mb.load_scene(file(text))  # read backwards
    assert not scene.sensors and "<sensor> 's' in <joint> is not taken" in scene.doubts[0]


def test_cameras_are_those_of_sdf_and_stand_where_their_poses_say(file):
    pose = "<pose relative_to='{0}'>0 0 1 0 0 0</pose>"
    for inside in ("", "<camera/>", "<camera><clip/><image/></camera>"):
        sensor = f"<sensor name='s' type='camera'>{pose.format('a')}{inside}</sensor>"
        found = mb.load_scene(file(arm(f"<link name='a'><pose>0 0 3 0 0 0</pose>{sensor}</link>"))).sensors[0]
        image = found.image
        assert (image.width, image.height, image.near, image.far, image.fov) == (320, 240, 0.1, 100.0, 1.047)
        assert found.pose.position == (0.0, 0.0, 1.0)
    sensor = sensor.replace("'a'", "'__model__'")
    found = mb.load_scene(file(arm(f"<link name='a'><pose>0 0 3 0 0 0</pose>{sensor}</link>"))).sensors[0]
    assert found.pose.position == (0.0, 0.0, -2.0)

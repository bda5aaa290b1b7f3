# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Files of robots: wrong ones say where and why; xacro, packages, robots that other libraries have loaded.

Covers model/urdf/xml_reader.py.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
import yourdfpy

import mb_contact as mb
from mb_contact.cli import main
from mb_contact.errors import InputError, ModelError
from mb_contact.model import find_resource, load_urdf
from mb_contact.types import (
    JOINT_REVOLUTE,
    SHAPE_SPHERE,
)
from paths import ROOT
from scenes.urdf_text import SOLID, arm, joint, link, robot

DUAL_ARM = ROOT / "urdf" / "dual_arm.urdf"


# --- wrong files ---------------------------------------------------------------------------

BOX = '<collision><geometry><box size="{}"/></geometry></collision>'

WRONG = {
    "broken xml": ("<robot name='a'>\n<link name='b'>\n</robot>", "3: not well-formed XML"),
    "not a robot": ("<sdf/>", "1: the root element is <sdf>, expected <robot>"),
    "no link": (robot(""), "1: the robot has no <link>"),
    "no name": (robot("<link/>"), "2: <link> has no name"),
    "links of one name": (robot(link("a") + "\n" + link("a")), "3: link 'a' is declared twice, .* line 2"),
    "two joints of one name": (
        robot(link("a") + link("b") + link("c") + "\n" + joint("j", "a", "b") + "\n" + joint("j", "a", "c")),
        "4: joint 'j' is declared twice, first in line 3",
    ),
    "two roots": (robot(link("a") + "\n" + link("b")), "3: two root links, 'a' and 'b'"),
    "two parents": (
        robot(
            link("a")
            + link("b")
            + link("c")
            + joint("i", "a", "b")
            + joint("j", "b", "c")
            + "\n"
            + joint("k", "a", "c")
        ),
        "3: link 'c' has two parent joints, 'j' and 'k'; a URDF is a tree: declare the loop in the scene",
    ),
    "cycle": (
        robot(link("r") + link("a") + link("b") + "\n" + joint("i", "a", "b") + "\n" + joint("j", "b", "a")),
        "form a cycle of links: ",
    ),
    "no root": (robot(link("a") + "\n" + joint("i", "a", "a")), "3: the joints form a cycle.*'a' -> 'a'"),
    "unknown link": (robot(link("a") + "\n" + joint("j", "a", "b")), "3: joint 'j' names link 'b', wh"),
    "no parent": (
        robot(link("a") + '<joint name="j" type="fixed"><child link="a"/></joint>'),
        "'j' has no <parent",
    ),
    "unknown type": (arm(kind="ball"), "4: joint 'hinge': type 'ball' is not known; allowed: revolute"),
    "mimic": (arm('<mimic joint="a"/>'), "4: joint 'hinge' mimics 'a', which is not declared; correct the name"),
    "mimic of nothing": (arm("<mimic/>"), "4: joint 'hinge': <mimic> names no joint; add joint="),
    "negative friction": (arm('<dynamics friction="-1"/>'), "4: joint 'hinge': friction -1 is negative"),
    "no limit": (arm(kind="revolute"), "4: joint 'hinge': a revolute joint needs a <limit>"),
    "no limit, prismatic": (arm(kind="prismatic"), "4: joint 'hinge': a prismatic joint needs a <limit>"),
    "crossed limits": (
        arm('<limit lower="1" upper="0" effort="1" velocity="1"/>', "revolute"),
        "4: .*: lower limit 1 is above",
    ),
    "negative effort": (arm('<limit effort="-1" velocity="1"/>'), "4: joint 'hinge': limit 'effort' is neg"),
    "negative damping": (arm('<dynamics damping="-1"/>'), "4: joint 'hinge': damping -1 is negative"),
    "zero axis": (arm('<axis xyz="0 0 0"/>'), "4: joint 'hinge': the axis is zero"),
    "short axis": (arm('<axis xyz="0 1"/>'), '4: <axis xyz="0 1"> must have 3 numbers, got 2'),
    "not a number": (arm('<axis xyz="0 1 up"/>'), '4: <axis xyz="up"> is not a number'),
    "nan": (arm('<origin xyz="0 nan 0"/>'), '4: <origin xyz="nan"> must be finite'),
    "rpy and quaternion": (arm('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'), "4: <origin> has both rpy and"),
    "no unit quaternion": (arm('<origin quat_xyzw="0 0 0 2"/>'), "4: quat_xyzw has norm 2"),
    "no mass": (arm(tip="<inertial/>"), "3: link 'tip': <inertial> has no <mass>"),
    "negative mass": (arm(tip=SOLID.replace("2", "-2")), "3: link 'tip': mass -2 kg is negative"),
    "indefinite inertia": (
        arm(tip=SOLID.replace('ixx="0.1"', 'ixx="-0.1"')),
        "3: link 'tip': the inertia is indefinite, moments -0.1, 0.1, 0.1 kg m\\^2; correct <inertia>, or load with",
    ),
    "incomplete inertia": (arm(tip=SOLID.replace('izz="0.1"', "")), "3: <inertia> has no attribute 'izz'"),
    "moving without mass": (arm(tip=""), "4: joint 'hinge' moves link 'tip', which has no mass and"),
    "point mass on the axis": (
        arm(tip='<inertial><mass value="1"/></inertial>'),
        "4: joint 'hinge' moves .* no inertia along",
    ),
    "thin rod along the axis": (
        arm(tip=SOLID.replace('ixx="0.1"', 'ixx="0"')),
        "4: joint 'hinge' moves .* no inertia along",
    ),
    "unknown shape": (
        robot(link("a", "<collision><geometry><torus/></geometry></collision>")),
        "2: link 'a': <torus> is not",
    ),
    "no shape": (robot(link("a", "<collision/>")), "2: link 'a': <collision> needs one shape"),
    "flat box": (robot(link("a", BOX.format("1 0 1"))), "2: link 'a': <box> has a length that is not"),
    "capsule of nothing": (
        robot(link("a", '<collision_checking><capsule name="b"/></collision_checking>')),
        "'a' has no cylinder 'b'",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_file_says_where_and_why(case, tmp_path):
    text, message = WRONG[case]
    with pytest.raises(ModelError, match="^<urdf text>:.*" + message):
        load_urdf(text)
    file = tmp_path / "wrong.urdf"
    file.write_text(text)
    with pytest.raises(ModelError, match="wrong.urdf:.*" + message):
        load_urdf(file)


def test_missing_file(tmp_path):
    with pytest.raises(ModelError, match=r"'.*nowhere\.urdf' does not exist"):
        load_urdf(tmp_path / "nowhere.urdf")
    with pytest.raises(ModelError, match="is a folder; name a file in it"):
        load_urdf(tmp_path)
    with pytest.raises(InputError, match="needs a path, XML text or a yourdfpy.URDF, got NoneType"):
        load_urdf(None)
    with pytest.raises(InputError, match="must be one of convex_hull, .*, got 'hull'"):
        load_urdf(DUAL_ARM, collision_meshes="hull")
    with pytest.raises(InputError, match="must be one of .*, got 'hull'"):
        load_urdf(DUAL_ARM, collision_meshes={"links": {"hand": "hull"}})
    with pytest.raises(InputError, match="has the keys default and links, got 'hand'"):
        load_urdf(DUAL_ARM, collision_meshes={"hand": "convex_hull"})
    with pytest.raises(InputError, match="must be a word or a mapping, got int"):
        load_urdf(DUAL_ARM, collision_meshes=3)
    with pytest.raises(InputError, match="inertia_errors must be 'error' or 'warn', got 'ignore'"):
        load_urdf(DUAL_ARM, inertia_errors="ignore")
    with pytest.raises(InputError, match="mimic must be 'eliminate' or 'independent' or 'error', got True"):
        load_urdf(DUAL_ARM, mimic=True)


# --- xacro and packages --------------------------------------------------------------------

XACRO = """<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="side" default="left"/>
<link name="$(arg side)_link"/></robot>"""


def test_xacro_with_arguments(tmp_path):
    file = tmp_path / "a.urdf.xacro"
    file.write_text(XACRO)
    assert load_urdf(file).link_names == ("left_link",)
    assert load_urdf(file, xacro_args={"side": "right"}).link_names == ("right_link",)
    scene = tmp_path / "scene.yaml"
    for value, link_name in (("right", "right_link"), ('""', "_link"), ("2.0", "2.0_link"), ("true", "true_link")):
        scene.write_text(f"models: [{{urdf: a.urdf.xacro, xacro_args: {{side: {value}}}}}]", encoding="utf-8")
        assert link_name in mb.build_world(mb.load_scene(scene)).frames
    assert load_urdf(file, xacro_args={"side": True}).link_names == ("true_link",)
    with pytest.raises(InputError, match=r"xacro_args are for files that end in \.xacro"):
        load_urdf(DUAL_ARM, xacro_args={"side": "right"})
    file.write_text(XACRO.replace('<xacro:arg name="side" default="left"/>', ""))
    with pytest.raises(ModelError, match=r"Undefined substitution argument side; xacro_args gives arguments"):
        load_urdf(file)
    file.write_text(XACRO.replace("$(arg side)", "${nobody}"))
    with pytest.raises(ModelError, match=r"a\.urdf\.xacro: xacro failed: .*nobody"):
        load_urdf(file)


def test_xacro_finds_packages_without_ros(tmp_path, monkeypatch):
    """In the folders above the file, along ROS_PACKAGE_PATH and in package_dirs, as package:// addresses do."""
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    elsewhere = tmp_path / "elsewhere" / "parts" / "urdf"
    elsewhere.mkdir(parents=True)
    macro = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="part"/></robot>'
    (elsewhere / "part.xacro").write_text(macro, encoding="utf-8")
    file = tmp_path / "robots" / "a.urdf.xacro"
    file.parent.mkdir()
    include = '<xacro:include filename="$(find parts)/urdf/part.xacro"/>'
    text = f'<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">{include}</robot>'
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"xacro failed: 'package://parts' not found; .*package_dirs"):
        load_urdf(file)
    assert load_urdf(file, package_dirs=[tmp_path / "elsewhere"]).link_names == ("part",)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "elsewhere"))
    assert load_urdf(file).link_names == ("part",)
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    for command in ("info", "check"):
        monkeypatch.setenv("MB_CONTACT_PACKAGE_PATH", "")
        assert main([command, str(file)]) == 2
        assert main([command, str(file), "--package-path", str(tmp_path / "nowhere")]) == 2
        assert main([command, str(file), "--package-path", str(tmp_path / "elsewhere")]) == 0
    monkeypatch.delenv("MB_CONTACT_PACKAGE_PATH")
    (tmp_path / "elsewhere" / "parts").rename(tmp_path / "parts")
    assert load_urdf(file).link_names == ("part",)


def test_a_robot_that_yourdfpy_has_loaded():
    loaded = yourdfpy.URDF.load(str(DUAL_ARM), load_meshes=False, build_scene_graph=False)
    ours, theirs = load_urdf(DUAL_ARM), load_urdf(loaded)
    assert theirs.joint_names == ours.joint_names and theirs.link_names == ours.link_names
    np.testing.assert_allclose(theirs.tree.inertia, ours.tree.inertia, rtol=1e-6)


def test_joints_that_move_no_mass_are_held_or_refused():
    ghosts = link("a", SOLID) + link("ghost", "") + link("tip", "") + link("b", SOLID)
    joints = (
        joint("j0", "base", "a") + joint("j1", "a", "ghost") + joint("j2", "ghost", "tip")
        + joint("follower", "a", "b", content='<mimic joint="j2"/>')
    )  # fmt: skip
    text = robot(link("base") + ghosts + joints)
    with pytest.raises(ModelError, match=r"joint 'j1' moves link 'ghost', which has no mass .*massless='merge'"):
        load_urdf(text, mimic="independent")
    held = load_urdf(text, massless="merge")
    assert held.joint_names == ("j0",) and held.lenient == (("massless", "merge"),)
    assert "joints that move no mass are held at zero: 'j1', 'j2', 'follower'" in held.warnings[-1]
    assert {"ghost", "tip", "b"} <= set(held.frames)
    with pytest.raises(InputError, match="massless must be 'error' or 'merge' or 'armature', got 'drop'"):
        load_urdf(text, massless="drop")


def finger(tip=SOLID, mimic='<mimic joint="b" multiplier="1.05"/>'):
    """Three parallel hinges, straight at zero; the third follows the second, and the last link alone has mass."""
    axis, far = '<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><origin xyz="0.5 0 0"/>'
    tip = tip.replace("<inertial>", '<inertial><origin xyz="0.2 0 0"/>')
    links = link("base") + link("near", "") + link("middle", "") + link("far", tip)
    return robot(
        links + joint("a", "base", "near", content=axis) + joint("b", "near", "middle", content=far)
        + joint("c", "middle", "far", content=far + mimic)
    )  # fmt: skip


def test_followers_on_links_without_inertia_are_refused_or_get_rotors():
    """M = J* M_tip J by hand: the tip turns by the sum of the angles, its centre is 1.2, 0.7 and 0.2 m away."""
    with pytest.raises(ModelError, match=r"<urdf text>:2: .*singular .*: 'a', 'b'; .* massless='armature'"):
        load_urdf(finger())
    model = load_urdf(finger(), massless="armature")
    J = np.array([[1.0, 1.0, 1.0], [1.2, 0.7, 0.2]])
    M = J.T @ np.diag([0.1, 2.0]) @ J
    assert np.linalg.matrix_rank(M) == 2
    np.testing.assert_allclose(model.tree.armature, [0.01 * M[0, 0], 0.01 * M[1, 1], 0.0], rtol=1e-14)
    assert model.lenient == (("massless", "armature"),) and "get rotors of 0.01" in model.warnings[-1]
    S = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.05]])
    expected = S.T @ (M + np.diag(model.tree.armature)) @ S
    np.testing.assert_allclose(mb.mass_matrix(model, [0.0, 0.0]), expected, rtol=1e-12)
    simulator = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(finger(), massless="armature"),)))
    assert simulator.step().certificate.residual < 1e-12


def test_regular_robots_get_no_rotors():
    bent = finger().replace('<origin xyz="0.5 0 0"/>', '<origin xyz="0.5 0 0" rpy="0 0 1"/>')
    model = load_urdf(bent, massless="armature")
    assert not model.tree.armature.any() and not model.lenient
    assert load_urdf(finger(mimic="")).n == 3  # without mimic joints as before: it is the first step that refuses


def test_a_sphere_of_radius_zero_is_left_out():
    point = '<collision><geometry><sphere radius="0"/></geometry></collision>'
    model = load_urdf(robot(link("base") + link("a", SOLID + point) + joint("j", "base", "a")))
    assert not [shape for shape in model.geometries if shape.link == "a" and shape.kind == SHAPE_SPHERE]
    assert "sphere of radius zero" in model.warnings[-1]


def test_xacro_package_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    file = tmp_path / "a.xacro"
    file.write_text(XACRO)
    with pytest.raises(ModelError, match="needs the 'xacro' package: pip install xacro"):
        load_urdf(file)


def test_packages_are_found_where_ros_puts_them(tmp_path, monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    address = "package://some_robot/urdf/a.urdf"
    with pytest.raises(ModelError, match="package://some_robot/urdf/a.urdf' not found; looked at"):
        load_urdf(address)
    share = tmp_path / "prefix" / "share"
    parents = {"ament": share, "ros": tmp_path / "ros", "dirs": tmp_path}
    for name, parent in parents.items():
        folder = parent / "some_robot"
        (folder / "urdf").mkdir(parents=True)
        (folder / "urdf" / "a.urdf").write_text(robot(link("base"), name))
    assert load_urdf(address, package_dirs=[tmp_path]).name == "dirs"
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    assert load_urdf(address, package_dirs=[tmp_path]).name == "ros"
    marker = share / "ament_index" / "resource_index" / "packages" / "some_robot"
    marker.parent.mkdir(parents=True)
    marker.touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    assert load_urdf(address, package_dirs=[tmp_path]).name == "ament"


def test_packages_are_found_by_the_name_in_their_package_xml(tmp_path, monkeypatch):
    """Whatever their folder is called: among others, as the folder that is given, and above the file."""
    for variable in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH", "MB_CONTACT_PACKAGE_PATH"):
        monkeypatch.delenv(variable, raising=False)
    clone = tmp_path / "src" / "Some_Robot_Description"
    (clone / "urdf").mkdir(parents=True)
    (clone / "package.xml").write_text("<package><!-- <name>old</name> -->\n  <name>some_robot</name>\n</package>")
    macro = '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    (clone / "urdf" / "a.urdf").write_text(robot(link("base")))
    address, file = "package://some_robot/urdf/a.urdf", clone / "urdf" / "b.urdf.xacro"
    for folder in (clone.parent, clone):
        assert find_resource(address, [folder]) == clone / "urdf" / "a.urdf"
        for variable in ("ROS_PACKAGE_PATH", "MB_CONTACT_PACKAGE_PATH"):
            monkeypatch.setenv(variable, str(folder))
            assert find_resource(address) == clone / "urdf" / "a.urdf"
            monkeypatch.delenv(variable)
    file.write_text(f'{macro}<xacro:include filename="$(find some_robot)/urdf/a.urdf"/></robot>')
    assert load_urdf(file).link_names == ("base",)
    monkeypatch.chdir(tmp_path)
    assert load_urdf(file, package_dirs=["src"]).link_names == ("base",)  # xacro takes paths from the file's folder
    (clone / "package.xml").write_text("<package><name>another_robot</name></package>")
    monkeypatch.setenv("MB_CONTACT_PACKAGE_PATH", str(clone.parent))
    with pytest.raises(FileNotFoundError) as error:
        find_resource(address, [tmp_path / "mine"], clone)
    for searched in (f"--package-path ({clone.parent})", "AMENT_PREFIX_PATH (none)", f"package_dirs ({tmp_path}/mine)",
                     f"the folders above {clone}", "no package.xml there is called 'some_robot'"):  # fmt: skip
        assert searched in str(error.value)


def test_this_package_finds_itself():
    assert find_resource("package://mb_contact/urdf/dual_arm.urdf").samefile(DUAL_ARM)
    assert load_urdf("package://mb_contact/urdf/dual_arm.urdf").name == "dual_arm"


def test_long_chain_needs_no_recursion():
    n = 3000
    body = link("l0") + "".join(link(f"l{k}") + joint(f"j{k}", f"l{k - 1}", f"l{k}") for k in range(1, n + 1))
    model = load_urdf(robot(body))
    assert model.n == n and model.joint_names[-1] == f"j{n}"


def test_q_from_and_link_pose_know_names():
    model = load_urdf(arm('<origin xyz="0 0 1"/><axis xyz="0 0 1"/>'))
    q = model.q_from({"hinge": np.pi / 2})
    R, p = model.link_pose("tip", q)
    np.testing.assert_allclose(R @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(p, [0, 0, 1])
    with pytest.raises(ModelError, match="has no joint 'elbow'; it has hinge"):
        model.q_from({"elbow": 0.0})
    with pytest.raises(ModelError, match="has no link 'hand'; it has base, tip"):
        model.link_pose("hand", q)
    with pytest.raises(InputError, match="q must have 1 entries"):
        model.body_poses(np.zeros(2))
    assert model.tree.joint_type[0] == JOINT_REVOLUTE

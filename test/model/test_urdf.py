# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The URDF reader: Pinocchio reads the same robots the same way, and wrong files say where and why."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import yourdfpy

import mb_contact as mb
from mb_contact.errors import InputError, ModelError
from mb_contact.model import find_resource, load_urdf
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CYLINDER,
    SHAPE_SPHERE,
    WORLD,
)
from oracles.pinocchio_peer import Peer, example_robots
from paths import ROOT
from scenes.urdf_text import SOLID, arm, joint, link, robot

DUAL_ARM = ROOT / "urdf" / "dual_arm.urdf"

#: Robots of example-robot-data with supported joints only: fixed and continuous ones, deep
#: trees, massless and ghost links, inertias that are not aligned.
ROBOTS = (
    "a1_description/urdf/a1.urdf",
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "human_description/robots/human.urdf",
    "kinova_description/robots/kinova.urdf",
    "romeo_description/urdf/romeo_small.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "solo_description/robots/solo12.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
)


# --- the same as Pinocchio -----------------------------------------------------------------


def example_robot(file):
    folder = example_robots()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    return folder / file


def random_q(model, rng):
    q = model.neutral_q()
    q[model.joint_q] = rng.uniform(-1.0, 1.0, len(model.joint_q))
    for k in np.flatnonzero(model.tree.joint_type == JOINT_FLOATING):
        start = model.tree.q_start[k]
        quat = rng.normal(size=4)
        q[start : start + 7] = np.concatenate([rng.normal(size=3), quat / np.linalg.norm(quat)])
    return q


def compare(path, floating=False):
    pin = pytest.importorskip("pinocchio")
    model = load_urdf(path, floating=floating, collision_meshes="skip")
    peer = Peer(pin, model, path, np.zeros(3))
    other = peer.model
    assert peer.agrees_in_size()
    compare_joints(other, model)
    compare_masses(other, model)
    data, rng = other.createData(), np.random.default_rng(1)
    for _ in range(3):
        q = random_q(model, rng)
        pin.framesForwardKinematics(other, data, peer.position(q))
        R, p = model.body_poses(q)
        for name, frame in model.frames.items():
            theirs = data.oMf[other.getFrameId(name, pin.FrameType.BODY)]
            k = frame.body
            R_body, p_body = (np.eye(3), np.zeros(3)) if k == WORLD else (R[k], p[k])
            np.testing.assert_allclose(R_body @ frame.R, theirs.rotation, atol=1e-9)
            np.testing.assert_allclose(p_body + R_body @ frame.p, theirs.translation, atol=1e-9)


def compare_joints(other, model):
    for name, v in zip(model.joint_names, model.joint_v):
        theirs = other.joints[other.getJointId(name)]
        assert theirs.nv == 1
        if theirs.nq == 1:
            limits = other.lowerPositionLimit[theirs.idx_q], other.upperPositionLimit[theirs.idx_q]
            np.testing.assert_allclose((model.lower[v], model.upper[v]), limits)
        else:
            assert model.lower[v] == -np.inf and model.upper[v] == np.inf
        for mine, value in (
            (model.effort_limit, other.upperEffortLimit),
            (model.velocity_limit, other.upperVelocityLimit),
        ):
            assert mine[v] == pytest.approx(value[theirs.idx_v])
        assert model.tree.damping[v] == pytest.approx(other.damping[theirs.idx_v])


def compare_masses(other, model):
    for k, name in enumerate(model.body_joint_names):
        floating = model.tree.joint_type[k] == JOINT_FLOATING
        theirs = other.inertias[other.getJointId("root_joint" if floating else name)]
        assert model.tree.mass[k] == pytest.approx(theirs.mass, rel=1e-12)
        if theirs.mass > 0.0:
            np.testing.assert_allclose(model.tree.com[k], theirs.lever, atol=1e-12)
        np.testing.assert_allclose(model.tree.inertia[k], theirs.inertia, atol=1e-9 * (1.0 + theirs.mass))


def test_dual_arm_as_pinocchio_reads_it():
    compare(DUAL_ARM)


@pytest.mark.parametrize("file", ROBOTS)
def test_robot_as_pinocchio_reads_it(file):
    compare(example_robot(file))


@pytest.mark.parametrize("file", ["solo_description/robots/solo12.urdf", "a1_description/urdf/a1.urdf"])
def test_floating_robot_as_pinocchio_reads_it(file):
    compare(example_robot(file), floating=True)


def test_capsules_as_pinocchio_reads_them():
    pin = pytest.importorskip("pinocchio")
    model = load_urdf(DUAL_ARM)
    other = pin.buildModelFromUrdf(str(DUAL_ARM))
    shapes = pin.buildGeomFromUrdf(other, str(DUAL_ARM), pin.GeometryType.COLLISION)
    theirs = {shape.name.rsplit("_", 1)[0]: shape for shape in shapes.geometryObjects}
    capsules = [shape for shape in model.geometries if shape.kind == SHAPE_CAPSULE]
    assert len(capsules) == 18
    for shape in capsules:
        geometry = theirs[shape.link].geometry
        assert type(geometry).__name__ == "Capsule"
        np.testing.assert_allclose(shape.size[:2], (geometry.radius, geometry.halfLength))


# --- what is read --------------------------------------------------------------------------


def test_an_infinite_limit_is_none():
    limit = '<limit lower="-inf" upper="inf" effort="inf" velocity="inf"/>'
    model = load_urdf(robot(link("base") + link("a") + joint("slide", "base", "a", "prismatic", limit)))
    assert (model.lower[0], model.upper[0], model.effort_limit[0]) == (-np.inf, np.inf, np.inf)
    assert not model.warnings


def test_joint_types_and_layout_of_q():
    body = link("base") + "".join(link(name) for name in "abcd")
    limit = '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.5"/>'
    body += joint("slide", "base", "a", "prismatic", '<axis xyz="0 0 2"/>' + limit)
    body += joint("weld", "a", "b", "fixed", '<origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>')
    body += joint("hinge", "b", "c", "revolute", '<origin xyz="1 0 0"/><axis xyz="0 1 0"/>' + limit)
    body += joint("free", "c", "d", "floating", '<origin xyz="0 0 3"/>')
    model = load_urdf(robot(body))
    assert list(model.tree.joint_type) == [JOINT_PRISMATIC, JOINT_REVOLUTE, JOINT_FLOATING]
    assert model.joint_names == ("slide", "hinge")
    assert model.body_names == ("a", "c", "d")
    assert model.dof_joint_names[2:] == tuple(f"free_{axis}" for axis in ("wx", "wy", "wz", "vx", "vy", "vz"))
    assert (model.n, model.N, model.nq) == (3, 8, 9)
    assert list(model.tree.parent) == [WORLD, 0, WORLD]  # a floating joint constrains nothing
    assert list(model.tree.root) == [0, 0, 2]
    np.testing.assert_allclose(model.neutral_q()[2:5], [0, 1, 4], atol=1e-12)
    np.testing.assert_allclose(model.tree.axis[0], [0, 0, 1])
    assert model.tree.mass[0] == 4.0 and model.tree.com[0, 2] == pytest.approx(0.5)
    assert model.effort_limit[0] == 3.0 and model.velocity_limit[1] == 4.0 and model.tree.damping[1] == 0.5
    assert model.frames["b"].body == 0 and frozenset("bc") in model.adjacent_pairs
    assert frozenset("cd") not in model.adjacent_pairs
    with pytest.raises(ValueError, match="read-only"):
        model.tree.mass[0] = 1.0


def test_floating_base_has_no_scalar_joint():
    model = load_urdf(arm(), floating=True)
    assert model.joint_names == ("hinge",) and model.body_names == ("base", "tip")
    assert (model.N, model.nq) == (7, 8)
    np.testing.assert_array_equal(model.neutral_q(), [0, 0, 0, 0, 0, 0, 1, 0])
    assert (model.effort_limit[:6] == 0.0).all()


def test_shapes_and_quaternion_of_urdf_1_1():
    shapes = (
        '<collision><origin xyz="1 0 0" quat_xyzw="0 0 0.7071067811865476 0.7071067811865476"/>'
        '<geometry><capsule radius="0.1" length="0.6"/></geometry></collision>'
        '<collision><geometry><box size="1 2 3"/></geometry></collision>'
        '<collision name="ball"><geometry><sphere radius="0.2"/></geometry></collision>'
        '<collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>'
    )
    model = load_urdf(robot(link("base", shapes)))
    kinds = [shape.kind for shape in model.geometries]
    assert kinds == [SHAPE_CAPSULE, SHAPE_BOX, SHAPE_SPHERE, SHAPE_CYLINDER]
    assert [shape.name for shape in model.geometries] == ["base", "base_1", "ball", "base_3"]
    np.testing.assert_allclose(model.geometries[0].size, [0.1, 0.3, 0.0])
    np.testing.assert_allclose(model.geometries[0].R @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(model.geometries[1].size, [0.5, 1.0, 1.5])


def test_massless_and_ghost_links_are_mere_frames():
    ghost = '<inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
    body = link("base") + link("tip") + link("tool", "") + link("ghost", ghost)
    body += joint("hinge", "base", "tip")
    body += joint("a", "tip", "tool", "fixed") + joint("b", "tool", "ghost", "fixed")
    model = load_urdf(robot(body))
    assert model.n == 1 and model.tree.mass[0] == 2.0 and model.warnings == ()
    assert model.frames["ghost"].body == 0


def test_a_massless_knuckle_between_two_hinges_is_fine():
    body = link("base") + link("knuckle", "") + link("tip")
    body += joint("pan", "base", "knuckle") + joint("tilt", "knuckle", "tip", content='<axis xyz="0 1 0"/>')
    model = load_urdf(robot(body))
    assert model.n == 2 and frozenset(("base", "tip")) in model.adjacent_pairs


def test_tags_of_other_programs_pass_in_silence():
    other = '<visual><geometry><mesh filename="a.dae"/></geometry></visual><material name="red"/>'
    extra = '<transmission name="t"/><ros2_control name="c"/><gazebo reference="tip"/>'
    extra += '<drake:proximity_properties xmlns:drake="d"/>'
    model = load_urdf(robot(link("base", SOLID + other) + extra))
    assert model.warnings == ()


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (arm(tip='<inertial><origin xyz="1 1 0"/><mass value="1"/></inertial>'), "point mass"),
        (arm(tip=SOLID.replace("0.1", "0").replace("<mass", '<origin xyz="0 1 0"/><mass')), "point mass"),
        (arm(tip=SOLID.replace('izz="0.1"', 'izz="0.3"')), "principal moments"),
        (arm(tip=SOLID.replace('izz="0.1"', 'izz="0"')), "the inertia is singular, moments 0, 0.1, 0.1"),
        (arm(tip=SOLID.replace('izz="0.1"', 'izz="-1e-12"')), "the inertia is singular"),
        (arm('<limit lower="-1" effort="1" velocity="1"/>', "revolute"), "'upper' is missing and defaults"),
        (arm('<limit effort="0" velocity="1"/>'), "cannot be driven"),
        (arm('<limit velocity="1"/>'), "'effort' is missing"),
    ],
)
def test_warnings_name_line_and_element(text, warning):
    warnings = load_urdf(text).warnings
    assert len(warnings) == 1 and warning in warnings[0]
    assert "'tip'" in warnings[0] or "'hinge'" in warnings[0]
    assert warnings[0].startswith(("<urdf text>:3:", "<urdf text>:4:"))


def test_collision_meshes_can_be_skipped():
    text = robot(link("base", '<collision><geometry><mesh filename="a.stl"/></geometry></collision>'))
    with pytest.raises(ModelError, match=":2: link 'base': collision mesh 'a.stl': .*a.stl' does not exist; mend it"):
        load_urdf(text)
    with pytest.raises(ModelError, match=":2: link 'base': collision mesh 'a.stl': collision_meshes is 'error'; use"):
        load_urdf(text, collision_meshes="error")
    model = load_urdf(text, collision_meshes="skip")
    assert model.geometries == () and "a.stl" in model.warnings[0]


def test_an_indefinite_inertia_can_be_used_as_given():
    text = arm(tip=SOLID.replace('izz="0.1"', 'izz="-0.02"'))
    with pytest.raises(ModelError, match="indefinite"):
        load_urdf(text)
    model = load_urdf(text, inertia_errors="warn")
    assert model.tree.inertia[0, 2, 2] == -0.02
    assert len(model.warnings) == 1 and ":3: link 'tip': the inertia is indefinite" in model.warnings[0]


def test_an_inertia_of_rounding_errors_is_singular_and_no_more():
    """iCub's head: moments of 1e-35 of either sign."""
    tensor = 'ixx="2e-35" iyy="0" izz="-2e-35"'
    text = robot(link("base", f'<inertial><mass value="2"/><inertia {tensor}/></inertial>'))
    assert ["the inertia is singular" in warning for warning in load_urdf(text).warnings] == [True]


def test_mimic_joints_can_move_on_their_own():
    text = arm('<mimic joint="other" multiplier="2"/>')
    model = load_urdf(text, mimic="independent")
    assert model.joint_names == ("hinge",)
    assert [w.split(": ", 1)[1] for w in model.warnings] == [
        "joint 'hinge': its <mimic> of 'other' is left out: it moves on its own"
    ]


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
    with pytest.raises(ModelError, match="cannot be read"):
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

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The URDF reader: Pinocchio reads the same robots the same way; what is read of links and joints.

Covers model/model.py, model/poses.py, model/urdf/massless.py, model/urdf/reader.py, model/urdf/tree.py,
model/urdf/xml.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.errors import ModelError
from mb_contact.model import load_urdf
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

pytestmark = pytest.mark.quick

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

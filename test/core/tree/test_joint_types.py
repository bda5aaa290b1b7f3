# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Planar, spherical, universal and screw joints: the same as Pinocchio's, and read from URDF."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.describe import describe_model
from mb_contact.model.urdf.xml import first_in_plane
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_NAMES,
    JOINT_PLANAR,
    JOINT_REVOLUTE,
    JOINT_SCREW,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
)
from oracles.dense_oracle import random_forest, random_state, read_only
from oracles.pinocchio_peer import Peer

GRAVITY = np.array([0.3, -1.2, -9.0])
WITHOUT_SCREW = (1, 5, 6)  # seeds whose forest has none


def error(got, want):
    """Largest deviation relative to the largest entry."""
    return np.abs(got - want).max() / np.abs(want).max()


def forest(seed):
    """Joints of every type; planes are x y of the joint frame, as Pinocchio's are, and there are no rotors."""
    rng = np.random.default_rng([seed, 5])
    model = random_forest(rng, 12, 2, floating=0.6, multi=0.6, armature=False)
    flat = model.tree.joint_type == JOINT_PLANAR
    axis, axis2 = model.tree.axis.copy(), model.tree.axis2.copy()
    axis[flat], axis2[flat] = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    model = model._replace(tree=read_only(model.tree._replace(axis=axis, axis2=axis2)))
    return rng, model, *random_state(rng, model.tree)


@pytest.mark.parametrize("seed", range(10))
def test_every_joint_type_equals_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    rng, model, q, v = forest(seed)
    peer = Peer.of_tree(pin, model, GRAVITY)
    peer.update(q, v)
    effort, v_dot = rng.normal(size=(2, len(v)))
    assert JOINT_SCREW in model.tree.joint_type or seed in WITHOUT_SCREW
    assert error(mb.mass_matrix(model, q), peer.mass_matrix()) <= 1e-11
    kinetic, potential = mb.energy(model, q, v, GRAVITY)
    assert kinetic == pytest.approx(pin.computeKineticEnergy(peer.model, peer.data, peer.q, peer.v), rel=1e-12)
    assert potential == pytest.approx(pin.computePotentialEnergy(peer.model, peer.data, peer.q), rel=1e-12)
    assert error(mb.inverse_dynamics(model, q, v, v_dot, GRAVITY), peer.inverse_dynamics(v_dot)) <= 1e-11
    want = peer.forward_dynamics(effort - model.tree.damping * v)
    assert error(mb.forward_dynamics(model, q, v, effort, GRAVITY), want) <= 1e-10
    model.frames.update((name, model.frames[f"a{k}"]._replace(R=np.eye(3), p=np.zeros(3)))
                        for k, name in enumerate(model.body_names))
    links = model.body_names[-3:]
    peer.update(q, v)  # aba left its own accelerations
    assert error(mb.jacobian(model, q, links), peer.jacobian(links)) <= 1e-12
    assert error(mb.dynamics.jacobian_bias(model, q, v, links), peer.bias(links)) <= 1e-11
    assert error(mb.operational_compliance(model, q, links), peer.compliance(links)) <= 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_centroidal_quantities_equal_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    _, model, q, v = forest(seed)
    peer = Peer.of_tree(pin, model, GRAVITY)
    peer.update(q, v)
    got = mb.dynamics.centroidal(model, q, v)
    pin.ccrba(peer.model, peer.data, peer.q, peer.v)
    order = [3, 4, 5, 0, 1, 2]
    assert error(got.com, peer.data.com[0]) <= 1e-12
    assert error(got.momentum, peer.data.hg.vector[order]) <= 1e-11
    assert error(got.matrix, peer.data.Ag[order] @ peer.S) <= 1e-11
    assert error(got.inertia, peer.data.Ig.matrix()[np.ix_(order, order)]) <= 1e-11


def test_a_universal_joint_is_two_hinges():
    """The same as two revolute joints with nothing between them."""
    rng = np.random.default_rng(3)
    model = random_forest(rng, 2, 1, floating=0.0, prismatic=0.0, armature=False)
    tree, names = model.tree, model.body_names
    light = tree._replace(
        mass=np.array([0.0, tree.mass[1]]), inertia=tree.inertia * np.array([0.0, 1.0])[:, None, None],
        R_joint=np.array([tree.R_joint[0], np.eye(3)]), p_joint=np.array([tree.p_joint[0], np.zeros(3)]),
    )  # fmt: skip
    pair = model._replace(tree=read_only(light))
    one = random_forest(rng, 1, 1, floating=0.0, prismatic=0.0, armature=False)
    same = {name: getattr(light, name)[1:] for name in ("mass", "com", "inertia")}
    joined = one.tree._replace(
        joint_type=np.array([JOINT_UNIVERSAL]), nv=np.array([2]), axis=light.axis[:1], axis2=light.axis[1:],
        R_joint=light.R_joint[:1], p_joint=light.p_joint[:1], damping=light.damping, armature=light.armature,
        effort_limit=light.effort_limit, lower=light.lower, upper=light.upper, **same,
    )  # fmt: skip
    single = one._replace(tree=read_only(joined), body_names=names[:1])
    q, v, effort = rng.normal(size=(3, 2))
    assert error(mb.mass_matrix(single, q), mb.mass_matrix(pair, q)) <= 1e-13
    want = mb.forward_dynamics(pair, q, v, effort)
    assert error(mb.forward_dynamics(single, q, v, effort), want) <= 1e-12


# --- URDF -------------------------------------------------------------------------------------------

SOLID = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.12" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial>'


def robot(*joints):
    """A serial robot, one line to a joint: (type, content)."""
    text = ['<robot name="r">', '<link name="l0"/>']
    for k, (kind, content) in enumerate(joints):
        text.append(f'<link name="l{k + 1}">{SOLID}</link><joint name="j{k}" type="{kind}">'
                    f'<parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0.1 0.2 0.3"/>{content}</joint>')
    return "\n".join([*text, "</robot>"])


MIXED = robot(
    ("planar", '<axis xyz="0 0 1"/>'), ("continuous", '<axis xyz="0 1 0"/>'), ("spherical", ""),
    ("universal", '<axis xyz="1 0 0"/><axis2 xyz="0 1 0"/><dynamics damping="0.2"/>'),
)  # fmt: skip


def test_urdf_reads_planar_spherical_and_universal_joints():
    model = mb.load_urdf(MIXED)
    assert list(model.tree.joint_type) == [JOINT_PLANAR, JOINT_REVOLUTE, JOINT_SPHERICAL, JOINT_UNIVERSAL]
    assert (model.N, model.nq) == (9, 10)
    assert model.joint_names == ("j1",) and model.joint_q[0] == 3
    assert model.dof_joint_names == (
        "j0_x", "j0_y", "j0_angle", "j1", "j2_wx", "j2_wy", "j2_wz", "j3_1", "j3_2",
    )  # fmt: skip
    np.testing.assert_array_equal(model.neutral_q(), [0, 0, 0, 0, 0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(model.tree.damping, [0, 0, 0, 0, 0, 0, 0, 0.2, 0.2])
    assert not model.effort_limit[[0, 1, 2, 4, 5, 6, 7, 8]].any()  # passive without a <limit>
    q = model.neutral_q()
    q[:3] = 0.5, -0.4, np.pi / 2
    R, p = mb.frame_pose(model, q, "l1")
    np.testing.assert_allclose(p, [0.6, -0.2, 0.3], atol=1e-15)
    np.testing.assert_allclose(R @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(model.link_pose("l4", q)[1], mb.frame_pose(model, q, "l4")[1], atol=1e-14)


def test_planar_joint_equals_pinocchios_reading(tmp_path):
    pin = pytest.importorskip("pinocchio")
    text = robot(("planar", '<axis xyz="0 0 1"/>'), ("continuous", '<axis xyz="0 1 0"/>'))
    path = tmp_path / "planar.urdf"
    path.write_text(text)
    model = mb.load_urdf(path)
    peer = Peer(pin, model, path, GRAVITY)
    rng = np.random.default_rng(0)
    for _ in range(10):
        q, v, v_dot = rng.normal(size=(3, 4))
        peer.update(q, v)
        assert error(mb.mass_matrix(model, q), peer.mass_matrix()) <= 1e-12
        assert error(mb.inverse_dynamics(model, q, v, v_dot, GRAVITY), peer.inverse_dynamics(v_dot)) <= 1e-12


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.6, 0, -0.8), (1e-5, 0, -1)])
def test_directions_in_a_plane_are_square_to_the_normal(normal):
    normal = np.array(normal, float) / np.linalg.norm(normal)
    first = first_in_plane(normal)
    assert np.linalg.norm(first) == pytest.approx(1.0, abs=1e-9)
    assert first @ normal == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "kind, content, message",
    [
        ("universal", '<axis xyz="1 0 0"/>', "joint 'j0': a universal joint needs an <axis2> beside its <axis>"),
        ("universal", '<axis xyz="1 0 0"/><axis2 xyz="-2 0 0"/>', "<axis2> is parallel to <axis>"),
        ("universal", '<axis2 xyz="0 0 0"/>', "joint 'j0': the axis is zero"),
        ("planar", '<axis xyz="0 0 0"/>', "joint 'j0': the axis is zero"),
        ("screw", '<axis xyz="0 0 1"/>', "joint 'j0': a screw needs a <thread pitch=\"...\"/>"),
        ("screw", '<thread pitch="0"/>', "joint 'j0': a thread of pitch 0 goes nowhere"),
        ("screw", "<thread/>", "<thread> has no attribute 'pitch'; add it"),
        ("ball", "", "type 'ball' is not known; allowed: revolute, .* planar, spherical, universal"),
    ],
)
def test_wrong_joints_are_refused_in_one_sentence(kind, content, message):
    with pytest.raises(mb.ModelError, match=message):
        mb.load_urdf(robot((kind, content)))


def test_limits_of_a_planar_joint_are_reported_as_not_applied():
    model = mb.load_urdf(robot(("planar", '<limit lower="-1" upper="1" effort="7" velocity="2"/>')))
    assert sum("of a planar joint is not applied" in text for text in model.warnings) == 2
    np.testing.assert_array_equal(model.effort_limit, [7, 7, 7])


def test_a_simulation_with_every_joint_type_keeps_its_energy(tmp_path):
    """Free motion from a state with spin: the drift is the integrator's, which halves with the step."""
    path = tmp_path / "mixed.urdf"
    path.write_text(MIXED.replace(' damping="0.2"', ""))
    drift = []
    for dt in (1e-3, 5e-4):
        scene = tmp_path / "scene.yaml"
        scene.write_text(f"models: [{{urdf: {path}}}]\ntime_step: {dt}\n")
        sim = mb.Simulator(mb.load_scene(scene))
        q, v = sim.q.copy(), sim.v.copy()
        v[:] = np.linspace(-1.0, 1.0, len(v))
        sim.set_state(q, v)
        start = sum(mb.energy(sim.world, sim.q, sim.v))
        for _ in range(round(0.2 / dt)):
            sim.step()
        drift.append(abs(sum(mb.energy(sim.world, sim.q, sim.v)) - start))
        at = sim.world.tree.q_start[2]
        assert np.linalg.norm(sim.q[at : at + 4]) == pytest.approx(1.0, abs=1e-12)
    assert drift[0] < 0.2
    assert drift[1] < 0.65 * drift[0]


def test_urdf_reads_a_screw_and_its_thread():
    """Right-handed and left-handed, with and without an end to its way; friction and limits are those of the turn."""
    model = mb.load_urdf(robot(
        ("screw", '<axis xyz="0 0 2"/><thread pitch="0.003"/><dynamics friction="0.5" damping="0.1"/>'),
        ("screw", '<axis xyz="1 0 0"/><thread pitch="-0.2"/><limit lower="-1" upper="7" effort="3" velocity="5"/>'),
    ))  # fmt: skip
    assert model.joint_names == ("j0", "j1") and (model.N, model.nq) == (2, 2)
    np.testing.assert_array_equal(model.tree.lower, [-np.inf, -1.0])
    np.testing.assert_array_equal(model.tree.upper, [np.inf, 7.0])
    np.testing.assert_array_equal(model.tree.effort_limit, [np.inf, 3.0])
    np.testing.assert_array_equal(model.friction, [0.5, 0.0])
    q = np.array([4.0 * np.pi, np.pi])
    R, p = mb.frame_pose(model, q, "l1")
    np.testing.assert_allclose(R, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(p, [0.1, 0.2, 0.3 + 2 * 0.003], atol=1e-15)
    R, p = mb.frame_pose(model, q, "l2")  # half a turn the other way along
    np.testing.assert_allclose(R @ [0, 1, 0], [0, -1, 0], atol=1e-15)
    np.testing.assert_allclose(p, [0.1 + 0.1 - 0.1, 0.4, 0.6 + 2 * 0.003], atol=1e-15)
    np.testing.assert_allclose(model.link_pose("l2", q)[1], p, atol=1e-15)
    said = "\n".join(describe_model(model))
    assert "screw of pitch 3 mm, no limits" in said and "screw of pitch -200 mm, -1 to 7 rad" in said


def test_names_of_joint_types_are_complete():
    assert JOINT_NAMES[JOINT_FLOATING] == "floating" and JOINT_NAMES[JOINT_SPHERICAL] == "spherical"

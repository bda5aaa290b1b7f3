# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The sweeps against Pinocchio on the dual arm, and against dense stacked operators on random forests."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.tree.articulated import articulated_inertias, impulse_response
from mb_contact.core.tree.composite import composite_inertias
from mb_contact.core.tree.kinematics import body_inertias, body_poses
from mb_contact.core.workspace import make_articulated, make_kinematics
from mb_contact.types import JOINT_FLOATING, OK, SINGULAR_HINGE
from oracles.dense_oracle import Dense, advance, random_forest, random_state, read_only, sizes
from oracles.pinocchio_peer import Peer
from paths import ROOT

DUAL_ARM = ROOT / "urdf" / "dual_arm.urdf"
GRAVITY = np.array([0.3, -1.2, -9.0])  # tilted, so that no component drops out
FRAMES = ("left_tcp", "right_tcp", "left_finger_2", "left_arm_link_3", "head_link_4", "base_link")
RELATED = np.zeros((6, 6), bool)  # pairs of FRAMES with a common moving ancestor
for _group in ((0, 2, 3), (1,), (4,)):
    RELATED[np.ix_(_group, _group)] = True


def error(got, want):
    """Largest deviation relative to the largest entry."""
    return np.abs(got - want).max() / np.abs(want).max()


# --- Pinocchio, the dual arm ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def dual_arm():
    return mb.load_urdf(DUAL_ARM)


@pytest.fixture(scope="module")
def peer(dual_arm):
    return Peer(pytest.importorskip("pinocchio"), dual_arm, DUAL_ARM, GRAVITY)


@pytest.fixture(scope="module")
def states(dual_arm):
    """100 random states with efforts: positions within the limits, brisk velocities."""
    rng = np.random.default_rng(20)
    out = []
    for _ in range(100):
        q = rng.uniform(dual_arm.lower, dual_arm.upper)
        out.append((q, 3 * rng.normal(size=26), 20 * rng.normal(size=26), 10 * rng.normal(size=26)))
    return out


def test_dual_arm_mass_matrix_equals_pinocchio(dual_arm, peer, states):
    for q, v, _, _ in states:
        peer.update(q, v)
        assert error(mb.mass_matrix(dual_arm, q), peer.mass_matrix()) <= 1e-10


def test_dual_arm_inverse_dynamics_equals_pinocchio(dual_arm, peer, states):
    for q, v, _, v_dot in states:
        peer.update(q, v)
        zero = np.zeros(26)
        assert error(mb.dynamics.nonlinear_effects(dual_arm, q, v, GRAVITY), peer.inverse_dynamics(zero)) <= 1e-10
        assert (
            error(mb.inverse_dynamics(dual_arm, q, v, v_dot, GRAVITY), peer.inverse_dynamics(v_dot)) <= 1e-10
        )


def test_dual_arm_forward_dynamics_equals_pinocchio(dual_arm, peer, states):
    damping = dual_arm.tree.damping
    assert damping.min() > 0.0  # or the term below would test nothing
    for q, v, effort, _ in states:
        peer.update(q, v)
        # ours adds the joint damping, Pinocchio's aba does not
        want = peer.forward_dynamics(effort - damping * v)
        assert error(mb.forward_dynamics(dual_arm, q, v, effort, GRAVITY), want) <= 1e-10


def test_dual_arm_jacobians_and_bias_equal_pinocchio(dual_arm, peer, states):
    for q, v, _, _ in states:
        peer.update(q, v)
        assert error(mb.jacobian(dual_arm, q, FRAMES), peer.jacobian(FRAMES)) <= 1e-10
        assert error(mb.dynamics.jacobian_bias(dual_arm, q, v, FRAMES), peer.bias(FRAMES)) <= 1e-10


def test_dual_arm_operational_compliance_equals_pinocchio(dual_arm, peer, states):
    for q, v, _, _ in states:
        peer.update(q, v)
        J = peer.jacobian(FRAMES)
        want = J @ np.linalg.solve(peer.mass_matrix(), J.T)
        got = mb.operational_compliance(dual_arm, q, FRAMES)
        assert error(got, want) <= 1e-10
        # a finger's entries are 1e4 times the head's: also each block of two frames by its own size
        for i, j in np.argwhere(RELATED):
            block = np.s_[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
            assert error(got[block], want[block]) <= 1e-10
        assert not got[np.kron(~RELATED, np.ones((6, 6), bool))].any()  # the arms and the head share nothing


def test_dual_arm_operational_space_is_consistent(dual_arm, states):
    q, v, _, _ = states[0]
    space = mb.operational_space(dual_arm, q, v, ("left_tcp", "right_tcp"))
    assert space.rank == 12
    np.testing.assert_allclose(space.inertia @ space.compliance, np.eye(12), atol=1e-8)
    np.testing.assert_array_equal(space.jacobian, mb.jacobian(dual_arm, q, ("left_tcp", "right_tcp")))
    np.testing.assert_array_equal(space.bias, mb.dynamics.jacobian_bias(dual_arm, q, v, ("left_tcp", "right_tcp")))
    np.testing.assert_array_equal(
        space.inertia, mb.dynamics.operational_inertia(dual_arm, q, ("left_tcp", "right_tcp"))
    )


def test_operational_inertia_where_the_jacobian_loses_rank(dual_arm, states):
    """The head has 4 joints: rank 4, and the pseudo-inverse obeys Penrose's conditions in scaled rows."""
    q = states[0][0]
    space = mb.operational_space(dual_arm, q, np.zeros(26), "head_link_4")
    assert space.rank == 4
    L, A = space.compliance, space.inertia
    np.testing.assert_allclose(L @ A @ L, L, atol=1e-9 * np.abs(L).max())
    np.testing.assert_allclose(A @ L @ A, A, atol=1e-9 * np.abs(A).max())


# --- random forests against dense operators -----------------------------------------------------------


CASES = [(seed, n, roots) for seed in range(8) for n, roots in ((1, 1), (3, 1), (7, 2), (16, 3))]


def forest(seed, n, roots, **options):
    rng = np.random.default_rng([seed, n])
    model = random_forest(rng, n, roots, **options)
    q, v = random_state(rng, model.tree)
    return rng, model, q, v, Dense(model.tree, q, v)


@pytest.mark.parametrize("seed, n, roots", CASES)
def test_random_forest_equals_dense_operators(seed, n, roots):
    rng, model, q, v, dense = forest(seed, n, roots, multi=0.4)
    effort, v_dot = rng.normal(size=dense.N), rng.normal(size=dense.N)
    assert error(mb.mass_matrix(model, q), dense.mass_matrix()) <= 1e-12
    assert error(mb.dynamics.nonlinear_effects(model, q, v, GRAVITY), dense.nonlinear(GRAVITY)) <= 1e-12
    want = dense.mass_matrix() @ v_dot + dense.nonlinear(GRAVITY)
    assert error(mb.inverse_dynamics(model, q, v, v_dot, GRAVITY), want) <= 1e-12
    assert error(mb.forward_dynamics(model, q, v, effort, GRAVITY), dense.forward(effort, GRAVITY)) <= 1e-11
    kinetic, potential = mb.energy(model, q, v, GRAVITY)
    assert kinetic == pytest.approx(dense.kinetic(), rel=1e-12)
    assert kinetic == pytest.approx(0.5 * v @ dense.mass_matrix() @ v, rel=1e-12)
    assert potential == pytest.approx(dense.potential(GRAVITY), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed, n, roots", CASES)
def test_random_forest_frames_equal_dense_operators(seed, n, roots):
    """Any frames: two on a body, on ancestors and descendants, on disjoint trees, on the world."""
    rng, model, q, v, dense = forest(seed, n, roots, multi=0.4)
    names = [*rng.choice(list(model.frames), 5), "a0", "b0", "world"]
    frames = [model.frames[name] for name in names]
    assert error(mb.jacobian(model, q, names), dense.frame_jacobian(frames)) <= 1e-12
    assert error(mb.operational_compliance(model, q, names), dense.compliance(frames)) <= 1e-11
    R, p = mb.frame_pose(model, q, names[0])
    frame = frames[0]
    np.testing.assert_allclose(p, dense.frame_origin(frame), atol=1e-12)
    if frame.body >= 0:
        np.testing.assert_allclose(R, dense.R[frame.body] @ frame.R, atol=1e-13)


@pytest.mark.parametrize("seed, n, roots", CASES)
def test_jacobian_bias_is_the_derivative_of_the_jacobian(seed, n, roots):
    _, model, q, v, _ = forest(seed, n, roots, multi=0.4)
    names = list(model.frames)[-4:]
    h = 1e-6
    after = mb.jacobian(model, advance(model.tree, q, v, h), names)
    before = mb.jacobian(model, advance(model.tree, q, v, -h), names)
    assert error(mb.dynamics.jacobian_bias(model, q, v, names), (after - before) @ v / (2 * h)) <= 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_bodies_of_different_trees_do_not_share_compliance(seed):
    _, model, q, _, _ = forest(seed, 9, 2)
    root = model.tree.root
    other = int(np.flatnonzero(root == root[1])[-1])
    L = mb.operational_compliance(model, q, ("a0", f"b{other}"))
    assert not L[:6, 6:].any() and not L[6:, :6].any()
    assert L[:6, :6].any() and L[6:, 6:].any()


@pytest.mark.parametrize("seed", range(6))
def test_mass_matrix_is_the_sum_of_the_bodies(seed):
    """J11: M = sum of J_k* M_k J_k over the bodies, with the Jacobians that the package itself gives."""
    _, model, q, _, dense = forest(seed, 8, 2)
    tree = model.tree
    M = np.diag(tree.armature)
    for k in range(8):
        J = mb.jacobian(model, q, f"a{k}")
        # from the frame's origin to the centre of mass, world axes
        x = dense.p[k] + dense.R[k] @ tree.com[k] - dense.frame_origin(model.frames[f"a{k}"])
        linear = J[3:] + np.cross(J[:3].T, x).T
        M = (
            M
            + tree.mass[k] * linear.T @ linear
            + J[:3].T @ dense.R[k] @ tree.inertia[k] @ dense.R[k].T @ J[:3]
        )
    assert error(mb.mass_matrix(model, q), M) <= 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_determinant_of_the_mass_matrix_is_the_product_of_the_hinge_inertias(seed):
    """J11: det M = product of det D(k)."""
    _, model, q, _, dense = forest(seed, 6, 2, multi=0.4)
    tree, (n, N, _) = model.tree, sizes(model.tree)
    kin, art = make_kinematics(n, N), make_articulated(n, N)
    body_poses(tree, q, kin)
    body_inertias(tree, kin)
    assert articulated_inertias(tree, kin, 0.0, art) == (OK, -1)
    log = -np.log(art.D_inv).sum()
    assert log == pytest.approx(np.linalg.slogdet(dense.mass_matrix())[1], rel=1e-10, abs=1e-10)


def test_composite_inertia_of_the_root_is_that_of_the_whole_tree():
    """J11 lemma 4: R(root) is the spatial inertia of all bodies frozen together."""
    _, model, q, _, dense = forest(3, 7, 1)
    kin = make_kinematics(*sizes(model.tree)[:2])
    body_poses(model.tree, q, kin)
    body_inertias(model.tree, kin)
    mass = model.tree.mass.copy()
    composite_inertias(model.tree, kin.l, kin.I, kin.mc, mass)
    com = np.array([dense.p[k] + dense.R[k] @ model.tree.com[k] for k in range(7)]) - dense.p[0]
    assert mass[0] == pytest.approx(model.tree.mass.sum(), rel=1e-14)
    np.testing.assert_allclose(kin.mc[0], model.tree.mass @ com, atol=1e-11)
    inertia = sum(
        dense.R[k] @ model.tree.inertia[k] @ dense.R[k].T
        + model.tree.mass[k] * (com[k] @ com[k] * np.eye(3) - np.outer(com[k], com[k]))
        for k in range(7)
    )
    np.testing.assert_allclose(kin.I[0], inertia, atol=1e-10)


def response(model, q, impulse, joint_impulse, dt):
    """Velocity jump by the impulse sweep."""
    n, N, _ = sizes(model.tree)
    kin, art = make_kinematics(n, N), make_articulated(n, N)
    body_poses(model.tree, q, kin)
    body_inertias(model.tree, kin)
    assert articulated_inertias(model.tree, kin, dt, art) == (OK, -1)
    dv = np.zeros(N)
    impulse_response(model.tree, kin, art, impulse, joint_impulse, dv)
    return dv, art.alpha


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_impulse_response_equals_dense_solve(seed):
    """(M + dt d) dv = J* p + p_joint: the implicit damping is in the step's compliance too."""
    rng, model, q, _, dense = forest(seed, 4, 2)
    impulse, joint = rng.normal(size=(4, 6)), rng.normal(size=dense.N)
    J = np.vstack([dense.point_jacobian(k, dense.p[k]) for k in range(4)])
    for dt in (0.0, 0.01):
        dv, jump = response(model, q, impulse, joint, dt)
        want = np.linalg.solve(
            dense.mass_matrix() + dt * np.diag(model.tree.damping), J.T @ impulse.ravel() + joint
        )
        assert error(dv, want) <= 1e-11
        assert error(jump.ravel(), J @ want) <= 1e-11


@pytest.mark.nojit
def test_small_forest_equals_dense_operators_without_jit():
    rng, model, q, v, dense = forest(1, 3, 1, floating=1.0)
    assert JOINT_FLOATING in model.tree.joint_type
    effort = rng.normal(size=dense.N)
    names = ("a0", "b2", "a2")
    frames = [model.frames[name] for name in names]
    assert error(mb.mass_matrix(model, q), dense.mass_matrix()) <= 1e-12
    assert error(mb.forward_dynamics(model, q, v, effort, GRAVITY), dense.forward(effort, GRAVITY)) <= 1e-11
    assert error(mb.operational_compliance(model, q, names), dense.compliance(frames)) <= 1e-11


# --- what must be refused ------------------------------------------------------------------------------

TWO_LINKS = """
<robot name="thin">
  <link name="base"/>
  <link name="upper"><inertial><mass value="1"/><origin xyz="0 0 0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip">{inertial}</link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="wrist" type="revolute"><parent link="upper"/><child link="tip"/><origin xyz="0 0 1"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def weightless(tree, k):
    """The tree with body k without mass."""
    mass, inertia, armature = tree.mass.copy(), tree.inertia.copy(), tree.armature.copy()
    mass[k], inertia[k] = 0.0, 0.0
    armature[tree.v_start[k] : tree.v_start[k] + tree.nv[k]] = 0.0
    return read_only(tree._replace(mass=mass, inertia=inertia, armature=armature))


@pytest.mark.nojit
@pytest.mark.parametrize("floating", [0.0, 1.0])
def test_singular_hinge_is_refused_by_name(floating):
    _, model, q, v, dense = forest(2, 1, 1, floating=floating)
    model = model._replace(tree=weightless(model.tree, 0))
    zero = np.zeros(dense.N)
    with pytest.raises(mb.DynamicsError, match="link_0"):
        mb.forward_dynamics(model, q, v, zero)
    with pytest.raises(mb.DynamicsError, match="link_0"):
        mb.operational_compliance(model, q, "a0")


def test_singular_tip_is_refused_by_name_and_not_its_parent():
    _, model, q, v, dense = forest(2, 6, 1)
    model = model._replace(tree=weightless(model.tree, 5))
    with pytest.raises(mb.DynamicsError, match="link_5"):
        mb.forward_dynamics(model, q, v, np.zeros(dense.N))


def test_singular_hinge_status_names_the_body():
    _, model, q, _, _ = forest(2, 6, 1)
    tree = weightless(model.tree, 5)
    n, N, _ = sizes(tree)
    kin, art = make_kinematics(n, N), make_articulated(n, N)
    body_poses(tree, q, kin)
    body_inertias(tree, kin)
    assert articulated_inertias(tree, kin, 0.0, art) == (SINGULAR_HINGE, 5)


def test_urdf_link_without_mass_behind_a_joint_is_refused_by_name():
    """Either the reader or the sweep must say which link: never an infinite acceleration."""
    with pytest.raises((mb.ModelError, mb.DynamicsError), match="tip|wrist"):
        model = mb.load_urdf(TWO_LINKS.format(inertial=""))
        mb.forward_dynamics(model, np.zeros(2), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: mb.mass_matrix(m, np.zeros(25)), "q must have 26"),
        (lambda m: mb.mass_matrix(m, np.full(26, np.nan)), "q\\[0\\] is nan"),
        (lambda m: mb.dynamics.nonlinear_effects(m, np.zeros(26), np.zeros(3)), "v must have 26"),
        (
            lambda m: mb.forward_dynamics(m, np.zeros(26), np.zeros(26), np.full(26, np.inf)),
            "effort\\[0\\] is inf",
        ),
        (
            lambda m: mb.forward_dynamics(m, np.zeros(26), np.zeros(26), np.zeros(26), (0, 0)),
            "gravity must have 3",
        ),
        (lambda m: mb.jacobian(m, np.zeros(26), "nose"), "no frame 'nose'"),
        (lambda m: mb.jacobian(m, np.zeros(26), ()), "at least one frame"),
        (lambda m: mb.energy(m, np.zeros(26), np.full(26, np.nan)), "v\\[0\\] is nan"),
        (lambda m: mb.mass_matrix(m, "zero"), "q must hold numbers"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(dual_arm, call, message):
    with pytest.raises(mb.InputError, match=message):
        call(dual_arm)


def test_arguments_may_have_any_layout(dual_arm, states):
    """Lists, strided and integer input give the same bits as C-contiguous float64."""
    q = states[0][0]
    strided = np.empty((26, 2))
    strided[:, 0] = q
    want = mb.mass_matrix(dual_arm, q)
    np.testing.assert_array_equal(mb.mass_matrix(dual_arm, strided[:, 0]), want)
    np.testing.assert_array_equal(mb.mass_matrix(dual_arm, list(q)), want)


def test_a_zero_quaternion_is_refused_by_name():
    """It is no rotation, and would make everything NaN in silence."""
    model = mb.load_urdf(DUAL_ARM, floating=True)
    q = model.neutral_q()
    mb.mass_matrix(model, q)
    q[3:7] = 0.0
    with pytest.raises(mb.InputError, match="the quaternion of 'base_link' in q is zero"):
        mb.mass_matrix(model, q)

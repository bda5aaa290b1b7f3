# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Every kernel equals the SKO operators on random forests of all joint types, 1e-11 relative to the largest entry."""

from __future__ import annotations

import copy
import gc
import pickle
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mb_contact as mb
from mb_contact.core.tree.articulated import articulated_inertias
from mb_contact.core.tree.compliance import compliance_blocks, compliance_sweep, mark_essential
from mb_contact.core.tree.composite import composite_inertias
from mb_contact.core.tree.kinematics import body_inertias, body_poses
from mb_contact.core.trigonometry import padded, sines_and_cosines
from mb_contact.core.workspace import make_articulated, make_compliance, make_kinematics
from mb_contact.dynamics.evaluator import _EVALUATORS, MOST_NODE_SETS, evaluator
from mb_contact.model.rotations import rotation_about
from mb_contact.studies import sko
from mb_contact.types import JOINT_NAMES, OK, WORLD
from oracles.dense_oracle import Frame, advance, random_forest, random_state, sizes
from paths import ROOT

GRAVITY = np.array([0.3, -1.2, -9.0])
TOLERANCE = 1e-11
DUAL_ARM = ROOT / "urdf" / "dual_arm.urdf"

FORESTS = st.fixed_dictionaries({
    "seed": st.integers(0, 2**32 - 1),
    "n": st.integers(1, 14),
    "roots": st.integers(1, 3),
    "floating": st.sampled_from([0.0, 0.5, 1.0]),
    "prismatic": st.sampled_from([0.0, 0.3, 1.0]),
    "multi": st.sampled_from([0.0, 0.5, 1.0]),
})
EXAMPLES = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


class Case:
    """A random forest at a random state, and its SKO model there."""

    def __init__(self, seed, n, roots, **shares):
        self.rng = np.random.default_rng(seed)
        self.model = random_forest(self.rng, n, min(roots, n), **shares)
        self.tree = self.model.tree
        self.n, self.N, _ = sizes(self.tree)
        self.q, self.v = random_state(self.rng, self.tree)
        self.sko = sko.rigid_tree(self.model, self.q, self.v, GRAVITY)

    def vector(self):
        return self.rng.normal(size=self.N)


def error(got, want):
    """Largest deviation relative to the largest entry."""
    return np.abs(got - want).max() / max(np.abs(want).max(), 1e-300)


def packed(X):
    """The 21 numbers that the kernels keep of a symmetric matrix."""
    i, j = np.triu_indices(3)
    return np.concatenate((X[:3, :3][i, j], X[:3, 3:6].ravel(), X[3:6, 3:6][i, j]))


@given(FORESTS)
@EXAMPLES
def test_joint_space_kernels_equal_sko(parameters):
    case = Case(**parameters)
    model, q, v = case.model, case.q, case.v
    x = case.vector()
    M = sko.mass_matrix(case.sko)
    assert error(mb.mass_matrix(model, q), M) <= TOLERANCE
    assert error(mb.dynamics.mass_times(model, q, x), M @ x) <= TOLERANCE
    assert error(mb.dynamics.mass_solve(model, q, M @ x), x) <= 100 * TOLERANCE * max(1.0, np.linalg.cond(M) / 1e6)
    assert error(mb.dynamics.mass_solve(model, q, x), sko.mass_inverse(case.sko) @ x) <= TOLERANCE
    assert mb.dynamics.mass_log_determinant(model, q) == pytest.approx(sko.log_det_mass(case.sko), rel=1e-11, abs=1e-10)
    want = case.sko.inverse_dynamics(v, x).T
    assert error(mb.inverse_dynamics(model, q, v, x, GRAVITY), want) <= TOLERANCE
    effort = case.vector()
    want = sko.forward_dynamics(case.sko, effort - model.tree.damping * v)
    assert error(mb.forward_dynamics(model, q, v, effort, GRAVITY), want) <= TOLERANCE


@given(FORESTS)
@EXAMPLES
def test_sweeps_equal_sko_body_by_body(parameters):
    """P(k) of the Riccati gather, R(k) of the composite bodies, Upsilon(k) and every block of Omega."""
    case = Case(**parameters)
    n, N = case.n, case.N
    kin, art, com = make_kinematics(n, N), make_articulated(n, N), make_compliance(n)
    body_poses(case.tree, case.q, kin)
    body_inertias(case.tree, kin)
    reference = sko.riccati(case.sko)
    assert articulated_inertias(case.tree, kin, 0.0, art) == (OK, -1)
    Upsilon = sko.compliance_kernel(case.sko)
    touched = (case.rng.random(n) < 0.5).astype(np.int64)
    touched[-1] = 1
    count = mark_essential(case.tree, touched, com)
    compliance_sweep(case.tree, kin, art, com)
    compliance_blocks(case.tree, com, count)
    for k in range(n):
        assert error(art.P[k], packed(reference.P[k])) <= TOLERANCE
        s = slice(case.tree.v_start[k], case.tree.v_start[k] + case.tree.nv[k])
        assert -np.log(art.D_inv[s]).sum() == pytest.approx(np.linalg.slogdet(reference.D[k])[1], abs=1e-9)
        if com.on_path[k]:
            assert error(com.Upsilon[k], packed(Upsilon[k])) <= TOLERANCE
    omega = sko.omega(case.sko)
    starts = np.concatenate(([0], np.cumsum(case.sko.phi.sizes)))
    largest = max(np.abs(Upsilon[k][:6, :6]).max() for k in range(n))
    for i in range(count):
        for j in range(count):
            a, b = starts[com.body[i]], starts[com.body[j]]
            want = omega[a : a + 6, b : b + 6]
            if com.same_tree[i, j]:
                assert np.abs(com.Omega[i, j] - want).max() <= TOLERANCE * largest
            else:
                assert not want.any()
    mass = case.tree.mass.copy()
    composite_inertias(case.tree, kin.l, kin.I, kin.mc, mass)
    for k, R in enumerate(sko.composite_inertias(case.sko)):
        assert error(kin.I[k], R[:3, :3]) <= TOLERANCE
        assert mass[k] == pytest.approx(R[3, 3], rel=1e-13)


@given(FORESTS)
@EXAMPLES
def test_compliance_of_nodes_and_points_equals_sko(parameters):
    """Any set of nodes: several on a body, ancestors and descendants, different trees, the world; 6-D and 3-D mixed."""
    case = Case(**parameters)
    names = [str(name) for name in case.rng.choice(list(case.model.frames), 5)]
    names += ["a0", "b0", f"a{case.n - 1}", "world"]
    offsets = case.rng.normal(size=(len(names), 3))
    kinds = case.rng.integers(0, 3, len(names))
    nodes = [(name, mb.Node(name, x), mb.Point(name, x))[kind] for name, x, kind in zip(names, offsets, kinds)]
    L = mb.operational_compliance(case.model, case.q, nodes)
    J = mb.jacobian(case.model, case.q, nodes)
    want = J @ sko.mass_inverse(case.sko) @ J.T
    assert error(L, want) <= TOLERANCE
    np.testing.assert_array_equal(L, L.T)
    picks, rows, at = [], [], 0
    for name, x, kind in zip(names, offsets, kinds):
        frame = case.model.frames[name]
        size = 3 if kind == 2 else 6
        if frame.body != WORLD:
            R = mb.frame_pose(case.model, case.q, f"a{frame.body}")[0] @ case.model.frames[f"a{frame.body}"].R.T
            point = frame.p + frame.R @ (x if kind else np.zeros(3))
            B = sko.pickoff(case.sko, frame.body, R @ point)
            picks.append((frame.body, B[:, 6 - size :]))
            rows += range(at, at + size)
        at += size
    assert error(L[np.ix_(rows, rows)], sko.operational_compliance(case.sko, picks)) <= TOLERANCE


def test_the_random_forests_have_every_joint_type():
    kinds = set()
    for seed in range(20):
        kinds |= set(random_forest(np.random.default_rng(seed), 12, 2, multi=0.5).tree.joint_type)
    assert kinds == {kind for kind, name in enumerate(JOINT_NAMES) if name not in ("sliding", "rolling")}


# --- kinematics of nodes ---------------------------------------------------------------------------


def mixed(seed, n=8, roots=2):
    rng = np.random.default_rng([seed, 77])
    model = random_forest(rng, n, roots, multi=0.5)
    q, v = random_state(rng, model.tree)
    nodes = ["a0", mb.Point("b3", (0.1, 0.2, -0.3)), mb.Node(f"b{n - 1}", (0.0, 0.4, 0.1)), "world"]
    return rng, model, q, v, nodes


@pytest.mark.parametrize("seed", range(6))
def test_jacobian_rate_is_the_derivative_of_the_jacobian(seed):
    _, model, q, v, nodes = mixed(seed)
    rate = mb.dynamics.jacobian_rate(model, q, v, nodes)
    h = 1e-6
    after, before = (mb.jacobian(model, advance(model.tree, q, v, s * h), nodes) for s in (1, -1))
    assert error(rate, (after - before) / (2 * h)) <= 1e-8
    assert error(rate @ v, mb.dynamics.jacobian_bias(model, q, v, nodes)) <= 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_velocity_and_acceleration_of_nodes(seed):
    rng, model, q, v, nodes = mixed(seed)
    v_dot = rng.normal(size=len(v))
    J = mb.jacobian(model, q, nodes)
    assert error(mb.dynamics.velocity(model, q, v, nodes), J @ v) <= 1e-12
    h = 1e-5
    ahead = mb.dynamics.velocity(model, advance(model.tree, q, v + 0.5 * h * v_dot, h), v + h * v_dot, nodes)
    behind = mb.dynamics.velocity(model, advance(model.tree, q, v - 0.5 * h * v_dot, -h), v - h * v_dot, nodes)
    assert error(mb.dynamics.acceleration(model, q, v, v_dot, nodes), (ahead - behind) / (2 * h)) <= 1e-7


def test_a_point_is_the_lower_half_of_its_node():
    _, model, q, v, _ = mixed(0)
    node, point = mb.Node("b4", (0.3, -0.2, 0.5)), mb.Point("b4", (0.3, -0.2, 0.5))
    np.testing.assert_array_equal(mb.jacobian(model, q, point), mb.jacobian(model, q, node)[3:])
    bias = mb.dynamics.jacobian_bias
    np.testing.assert_array_equal(bias(model, q, v, point), bias(model, q, v, node)[3:])
    L = mb.operational_compliance(model, q, node)
    np.testing.assert_allclose(mb.operational_compliance(model, q, point), L[3:, 3:], rtol=1e-12)
    R, p = mb.frame_pose(model, q, "b4")
    np.testing.assert_allclose(mb.frame_pose(model, q, point)[1], p + R @ point.position, atol=1e-14)


# --- operational space -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_dynamically_consistent_inverse(seed):
    """J_bar = M^-1 J* Lambda^-1: J J_bar J = J, and null-space efforts do not accelerate the nodes."""
    rng, model, q, _, nodes = mixed(seed, 9, 1)
    nodes = nodes[1:3]
    J, M = mb.jacobian(model, q, nodes), mb.mass_matrix(model, q)
    J_bar = mb.dynamics.consistent_inverse(model, q, nodes)
    L = J @ np.linalg.solve(M, J.T)
    if np.linalg.matrix_rank(J) == len(J):
        assert error(J_bar, np.linalg.solve(M, J.T) @ np.linalg.inv(L)) <= 1e-8
    assert error(J @ J_bar @ J, J) <= 1e-7
    T = rng.normal(size=len(M))
    assert np.abs(J @ np.linalg.solve(M, T - J.T @ J_bar.T @ T)).max() <= 1e-7 * np.abs(J @ np.linalg.solve(M, T)).max()


def test_condition_of_the_compliance_and_rank():
    """Two points of one body: five ways to move them, the sixth row depends on the others."""
    _, model, q, v, _ = mixed(1, 9, 1)
    space = mb.operational_space(model, q, v, [mb.Point("b8", (0.1, 0, 0)), mb.Point("b8", (0.1, 0.3, 0))])
    values = np.linalg.eigvalsh(space.compliance / np.sqrt(np.outer(*2 * [np.diag(space.compliance)])))
    assert space.rank == 5
    assert space.condition == pytest.approx(values[-1] / values[1], rel=1e-6)


def test_columns_of_a_matrix_go_through_the_products_one_by_one():
    rng, model, q, _, _ = mixed(2)
    X = rng.normal(size=(len(mb.mass_matrix(model, q)), 3))
    assert error(mb.dynamics.mass_times(model, q, X), mb.mass_matrix(model, q) @ X) <= 1e-12
    assert error(mb.dynamics.mass_times(model, q, mb.dynamics.mass_solve(model, q, X)), X) <= 1e-9


# --- momentum ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_centroidal_quantities(seed):
    """h = A v; dh/dt = A v_dot + bias; the com moves with its Jacobian; kinetic energy bounds h* I^-1 h / 2."""
    rng, model, q, v, _ = mixed(seed)
    tree, v_dot = model.tree, rng.normal(size=len(v))
    c = mb.dynamics.centroidal(model, q, v)
    assert error(c.matrix @ v, c.momentum) <= 1e-12
    np.testing.assert_allclose(c.com_jacobian @ v, c.com_velocity, atol=1e-12)
    np.testing.assert_allclose(mb.dynamics.momentum(model, q, v, about=c.com), c.momentum, atol=1e-11)
    h = 1e-5
    states = [(advance(tree, q, v + 0.5 * s * h * v_dot, s * h), v + s * h * v_dot) for s in (1, -1)]
    ahead, behind = (mb.dynamics.centroidal(model, *state) for state in states)
    np.testing.assert_allclose(c.com_velocity, (ahead.com - behind.com) / (2 * h), atol=1e-8)
    rate = (ahead.momentum - behind.momentum) / (2 * h)
    assert error(c.matrix @ v_dot + c.bias, rate) <= 1e-7
    about = mb.dynamics.momentum(model, q, v)  # the world's origin
    np.testing.assert_allclose(about[:3], c.momentum[:3] + np.cross(c.com, c.momentum[3:]), atol=1e-10)


def test_momentum_of_a_frozen_robot_is_its_locked_inertia_times_the_spin():
    """A single floating tree that turns about its centre of mass as one rigid body."""
    rng = np.random.default_rng(5)
    model = random_forest(rng, 6, 1, floating=1.0, multi=0.5)
    q, v = random_state(rng, model.tree)
    v[:] = 0.0
    v[:3] = 0.3, -0.2, 0.5
    c = mb.dynamics.centroidal(model, q, v)
    v[3:6] = -c.com_velocity
    c = mb.dynamics.centroidal(model, q, v)
    np.testing.assert_allclose(c.momentum, c.inertia @ np.concatenate((v[:3], np.zeros(3))), atol=1e-12)
    assert c.mass == pytest.approx(model.tree.mass.sum())
    mass, com = mb.dynamics.centre_of_mass(model, q)
    assert mass == c.mass and (com == c.com).all()


# --- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m, q, v: mb.dynamics.mass_times(m, q, np.zeros(3)), "x must have"),
        (lambda m, q, v: mb.dynamics.mass_solve(m, q, np.full(len(v), np.nan)), r"x\[0\] is nan"),
        (lambda m, q, v: mb.jacobian(m, q, [mb.Point("a0", (0, 1))]), "position in 'a0' must have 3"),
        (lambda m, q, v: mb.jacobian(m, q, [("a0", (0, 1, 2))]), "is no frame's name, Node or Point"),
        (lambda m, q, v: mb.operational_compliance(m, q, mb.Point("nose")), "there is no frame 'nose'"),
        (lambda m, q, v: mb.forward_dynamics(m, q, v, np.full(len(v), np.inf)), r"effort\[0\] is inf"),
        (lambda m, q, v: mb.inverse_dynamics(m, q, v * np.nan, v), r"v\[0\] is nan"),
        (lambda m, q, v: mb.inverse_dynamics(m, q, v, v * np.nan), r"v_dot\[0\] is nan"),
        (lambda m, q, v: mb.inverse_dynamics(m, q, v, v, (0, np.nan, 0)), r"gravity\[1\] is nan"),
        (lambda m, q, v: mb.forward_dynamics(m, q, v, v * np.nan), r"effort\[0\] is nan"),
        (lambda m, q, v: mb.forward_dynamics(m, q, v, v, (0, np.inf, 0)), r"gravity\[1\] is inf"),
        (lambda m, q, v: mb.mass_matrix(m, q + 1j), "q must hold real numbers, got complex"),
        (lambda m, q, v: mb.mass_matrix(None, q), "model must be a Model or a World, got NoneType"),
        (lambda m, q, v: mb.energy("robot.urdf", q, v), "model must be a Model or a World, got str"),
        (lambda m, q, v: mb.jacobian(m, q, 3), "3 is no frame's name, Node or Point, nor several"),
        (lambda m, q, v: mb.jacobian(m, q, mb.Node(["a0"])), "there is no frame"),
        (lambda m, q, v: mb.dynamics.jacobian_rate(m, q, v[:-1], "a0"), "v must have"),
        (lambda m, q, v: mb.dynamics.momentum(m, q, v, about=(1, 2)), "about must have 3"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(call, message):
    _, model, q, v, _ = mixed(0)
    with pytest.raises(mb.InputError, match=message):
        call(model, q, v)


def test_a_zero_quaternion_of_a_ball_joint_is_refused_by_name():
    rng = np.random.default_rng(8)
    model = random_forest(rng, 10, 1, floating=0.0, multi=1.0)
    q, v = random_state(rng, model.tree)
    k = int(np.flatnonzero(model.tree.joint_type == JOINT_NAMES.index("spherical"))[0])
    q[model.tree.q_start[k] : model.tree.q_start[k] + 4] = 0.0
    for call in (mb.mass_matrix, lambda m, x: mb.dynamics.mass_times(m, x, v)):
        with pytest.raises(mb.InputError, match=f"the quaternion of 'link_{k}' in q is zero"):
            call(model, q)


def test_frames_may_be_rotated_without_changing_world_rows():
    """Rows are in world axes: turning a frame about its own origin changes nothing."""
    _, model, q, _, _ = mixed(3)
    frame = model.frames["a5"]
    turned = model._replace(
        frames={**model.frames, "a5": Frame(frame.body, frame.R @ rotation_about((0, 0, 1), 0.7), frame.p)}
    )
    np.testing.assert_array_equal(mb.jacobian(model, q, "a5"), mb.jacobian(turned, q, "a5"))


@pytest.mark.parametrize("call", [
    lambda m, q, v: mb.forward_dynamics(m, q, v, v), lambda m, q, v: mb.inverse_dynamics(m, q, v, v),
    lambda m, q, v: mb.energy(m, q, v),
])  # fmt: skip
def test_a_result_that_overflows_is_an_error(call):
    _, model, q, v, _ = mixed(0)
    with pytest.raises(mb.DynamicsError, match="the result is not finite although all arguments are"):
        call(model, q, np.full_like(v, 1e200))
    with pytest.raises(mb.DynamicsError, match="the result is not finite"):
        mb.operational_compliance(model, q, mb.Point("a7", (1e300, 0, 0)))


@pytest.mark.parametrize("scale", [0.0, 1e-160, 1e-7, 1e7, 1e160])
def test_quaternions_far_from_unit_ones_are_refused_everywhere(scale):
    model = mb.load_urdf(DUAL_ARM, floating=True)
    q = model.neutral_q()
    q[3:7] *= scale
    calls = (
        mb.mass_matrix,
        lambda m, x: mb.dynamics.mass_times(m, x, np.zeros(m.N)),
        lambda m, x: m.link_pose("left_tcp", x),
    )
    for call in calls:
        with pytest.raises(mb.InputError, match="quaternion .*is zero or far from a unit one"):
            call(model, q)
    q[3:7] = 0.0, 0.0, 0.0, 1e-3  # not normalised, but a rotation
    np.testing.assert_allclose(mb.mass_matrix(model, q), mb.mass_matrix(model, model.neutral_q()), rtol=1e-12)


# --- angles -----------------------------------------------------------------------------------------


@pytest.mark.nojit
@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 9.0, 9.9e4, 1.01e5, 3.3e7, 1e12])
def test_sines_and_cosines_equal_numpys(scale):
    """Any length, so that every lane is used; beyond LIMIT the C library's; multiples of pi / 4 too."""
    x = scale * np.concatenate((np.linspace(-1.0, 1.0, 21), [0.0, -0.0]))
    if scale == 9.0:
        x = np.concatenate((x, np.arange(-12, 13) * np.pi / 4))
    angle, sine, cosine = np.zeros((3, padded(len(x))))
    sines_and_cosines(x, angle, sine, cosine)
    np.testing.assert_allclose(sine[: len(x)], np.sin(x), atol=2.3e-16, rtol=4e-16)
    np.testing.assert_allclose(cosine[: len(x)], np.cos(x), atol=2.3e-16, rtol=4e-16)


def test_sine_of_what_is_not_finite_is_nan():
    angle, sine, cosine = np.zeros((3, 8))
    sines_and_cosines(np.array([np.nan, np.inf, 1.0]), angle, sine, cosine)
    assert np.isnan(sine[:2]).all() and np.isnan(cosine[:2]).all() and sine[2] == np.sin(1.0)


# --- the evaluator ------------------------------------------------------------------------------------


def test_a_node_and_a_point_of_one_place_are_not_confused():
    """Both are remembered by what they are called; the model must be one that is remembered."""
    place = ("left_tcp", (0.0, 0.0, 0.1))
    for first, second in ((mb.Point, mb.Node), (mb.Node, mb.Point)):
        model = mb.load_urdf(DUAL_ARM)
        q = model.neutral_q()
        for kind in (first, second, first):
            assert len(mb.jacobian(model, q, kind(*place))) == (3 if kind is mb.Point else 6)
            assert len(mb.operational_compliance(model, q, kind(*place))) == (3 if kind is mb.Point else 6)
        pair = mb.jacobian(model, q, (first(*place), second(*place)))
        np.testing.assert_array_equal(pair[: 3 if first is mb.Point else 6], mb.jacobian(model, q, first(*place)))
        turned = mb.jacobian(model, q, (second(*place), first(*place)))
        np.testing.assert_array_equal(turned[: 3 if second is mb.Point else 6], mb.jacobian(model, q, second(*place)))
        with pytest.raises(mb.InputError, match="is no frame's name, Node or Point"):
            mb.jacobian(model, q, place)


def test_evaluators_go_with_their_models_and_node_sets_stay_few():
    model = mb.load_urdf(DUAL_ARM)
    q = model.neutral_q()
    for k in range(3 * MOST_NODE_SETS):
        mb.jacobian(model, q, mb.Point("left_tcp", (0.0, 0.0, float(k))))
    assert len(evaluator(model)._node_sets) <= MOST_NODE_SETS
    key = id(model)
    assert key in _EVALUATORS
    del model
    gc.collect()
    assert key not in _EVALUATORS


def test_copies_of_a_model_are_read_only_and_compute_the_same():
    model = mb.load_urdf(DUAL_ARM)
    q = np.full(model.nq, 0.3)
    want = mb.mass_matrix(model, q)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert not twin.tree.mass.flags.writeable and not twin.neutral.flags.writeable
        np.testing.assert_array_equal(mb.mass_matrix(twin, q), want)


def test_threads_may_share_a_model():
    model = mb.load_urdf(DUAL_ARM)
    states = np.random.default_rng(0).uniform(-1, 1, (4, 3, model.N))
    want = [mb.forward_dynamics(model, *state) for state in states]
    wrong = []

    def work(i):
        for _ in range(200):
            if (mb.forward_dynamics(model, *states[i]) != want[i]).any():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

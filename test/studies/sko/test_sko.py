# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The SKO reference: every lemma of J11 on random models with mixed blocks, and against the compiled kernels.

Covers studies/sko/*.py.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mb_contact as mb
from mb_contact.errors import DynamicsError, InputError, ModelError
from mb_contact.studies import sko
from mb_contact.types import WORLD
from oracles.dense_oracle import random_forest, random_state, read_only
from paths import ROOT
from scenes.sko_cases import FOUR_BAR, random_blocks, random_digraph, random_model, random_spo

pytestmark = pytest.mark.quick

GRAVITY = np.array([0.3, -1.2, -9.0])
SEEDS = range(6)
#: J11's figure 3, five segments: 5 at the base, 3 and 4 on it, 1 and 2 on 4
FIGURE_3 = sko.TreeDigraph([-1, 0, 1, 2, 3, 2, 5, 6, 4, 8, 4, 10])


def error(got, want):
    """Largest deviation relative to the largest entry (of at least 1e-3)."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    return np.abs(got - want).max(initial=0.0) / max(np.abs(want).max(initial=0.0), 1e-3)


models = st.builds(
    lambda seed, n, chain: random_model(np.random.default_rng(seed), n, chain),
    st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans(),
)  # fmt: skip


# --- operators, lemmas 1 and 2 --------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_spo_is_the_1_resolvent(seed):
    rng = np.random.default_rng(seed)
    phi = random_spo(rng, random_digraph(rng, 12))
    power, total = np.eye(phi.m), np.eye(phi.m)
    for _ in range(phi.tree.n - 1):
        power = power @ phi.E
        total += power
    assert not (power @ phi.E).any()  # nilpotent
    assert error(phi.A, total) < 1e-13
    assert error(phi.A @ (np.eye(phi.m) - phi.E), np.eye(phi.m)) < 1e-13
    for i in range(phi.tree.n):
        for k in range(phi.tree.n):
            assert error(phi.block(phi.A, i, k), phi.product(i, k)) < 1e-13


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("seed", SEEDS)
def test_gather_and_scatter(seed, columns):
    rng = np.random.default_rng(seed)
    phi = random_spo(rng, random_digraph(rng, 12))
    x = rng.normal(size=(phi.m, *columns))
    assert error(phi.gather(x), phi.A @ x) < 1e-13  # lemma 1
    assert error(phi.scatter(x), phi.A.T @ x) < 1e-13  # lemma 2
    assert error(phi.gather_strict(x), phi.tilde @ x) < 1e-13  # corollary 3.1
    assert error(phi.scatter_strict(x), phi.tilde.T @ x) < 1e-13


# --- lemmas 3, 5 and 6 ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_lyapunov_equations(seed):
    rng = np.random.default_rng(seed)
    A = random_spo(rng, random_digraph(rng, 10))
    B = random_spo(rng, A.tree)  # other sizes, other weights
    X = random_blocks(rng, A, B)
    X_full = sko.block_diag(X)

    Y = sko.block_diag(sko.forward_lyapunov(A, X, B))
    assert error(Y - A.E @ Y @ B.E.T, X_full) < 1e-13  # Eq. 12
    Z = A.A @ X_full @ B.A.T
    assert error(sum(sko.forward_terms(A, X, B)), Z) < 1e-13  # Eq. 11
    assert error(sko.forward_product(A, X, B), Z) < 1e-13  # Eq. 15

    Y = sko.block_diag(sko.backward_lyapunov(A, X, B))
    inner = A.E.T @ Y @ B.E
    blocks = sko.block_diag([inner[i, j] for i, j in zip(A.slices, B.slices)])
    assert error(Y - blocks, X_full) < 1e-13  # Eq. 22
    Z = A.A.T @ X_full @ B.A
    terms = sko.backward_terms(A, X, B)
    assert error(sum(terms), Z) < 1e-13  # Eq. 21
    assert (sum((term != 0).astype(int) for term in terms) <= 1).all()  # disjoint
    assert error(sko.backward_product(A, X, B), Z) < 1e-13  # Eq. 25


@pytest.mark.parametrize("seed", SEEDS)
def test_backward_lyapunov_of_a_chain(seed):
    rng = np.random.default_rng(seed)
    A = random_spo(rng, random_digraph(rng, 7, chain=True))
    B = random_spo(rng, A.tree)
    X = random_blocks(rng, A, B)
    assert error(sko.serial_product(A, X, B), A.A.T @ sko.block_diag(X) @ B.A) < 1e-13  # Eq. 30
    Y, above, below, R = sko.backward_terms(A, X, B)
    assert not R.any()
    assert error(Y + above + below, sko.serial_product(A, X, B)) < 1e-13  # Eq. 27
    assert error(Y - A.E.T @ Y @ B.E, sko.block_diag(X)) < 1e-13  # Eq. 28, block-diagonal by itself


# --- lemmas 4 and 7 to 12 -------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(models)
def test_identities(model):
    for number, (left, right) in sko.identities(model).items():
        assert error(left, right) < 1e-10, f"Eq. {number}"


@settings(max_examples=40, deadline=None)
@given(models, st.integers(0, 2**32 - 1))
def test_mass_matrix_and_dynamics(model, seed):
    rng = np.random.default_rng(seed)
    mass = model.newton_euler_mass_matrix()
    assert error(sko.mass_matrix(model), mass) < 1e-12  # algorithm 4.2
    assert error(sum(sko.mass_matrix_terms(model)), mass) < 1e-12  # Eq. 17
    one = np.eye(model.N)
    assert error(sko.mass_inverse(model) @ mass, one) < 1e-9  # Eq. 51
    assert abs(sko.log_det_mass(model) - np.linalg.slogdet(mass)[1]) < 1e-9 * max(1, model.N)  # Eq. 53

    theta_dot, theta_ddot = rng.normal(size=(2, model.N))
    motion = model.inverse_dynamics(theta_dot, theta_ddot)
    phi, H, M = model.phi.A, model.H_full, model.M_full
    assert error(motion.V, phi.T @ H.T @ theta_dot) < 1e-12  # Eq. 1
    assert error(motion.alpha, phi.T @ (H.T @ theta_ddot + model.a)) < 1e-12
    assert error(motion.f, phi @ (M @ motion.alpha + model.b)) < 1e-12
    assert error(motion.T, mass @ theta_ddot + model.nonlinear()) < 1e-11  # Eq. 2
    want = np.linalg.solve(mass, motion.T - H @ phi @ (M @ phi.T @ model.a + model.b))  # Eq. 3
    assert error(sko.forward_dynamics(model, motion.T), want) < 1e-9  # algorithm 6.1
    assert error(sko.forward_dynamics_operators(model, motion.T), want) < 1e-9  # Eq. 54


@settings(max_examples=25, deadline=None)
@given(models, st.integers(0, 2**32 - 1))
def test_operational_space(model, seed):
    rng = np.random.default_rng(seed)
    nodes = rng.integers(0, model.tree.n, 3)  # some twice
    picks = [(int(k), rng.normal(size=(model.phi.sizes[k], 2))) for k in nodes]
    B = np.zeros((model.phi.m, 6))
    for at, (k, X) in enumerate(picks):
        B[model.phi.slices[k], 2 * at : 2 * at + 2] = X
    J = B.T @ model.partial_velocities()
    want = J @ np.linalg.solve(model.newton_euler_mass_matrix(), J.T)
    assert error(sko.operational_compliance(model, picks), want) < 1e-10  # Eq. 60
    assert error(B.T @ sko.omega(model) @ B, want) < 1e-10
    inertia = sko.operational_inertia(model, picks)
    assert error(want @ inertia @ want, want) < 1e-6  # a pseudo-inverse where J loses rank


def test_canonical_factors_are_triangular_with_unit_diagonal():
    model = random_model(np.random.default_rng(4), 9, canonical=True)
    factors = sko.mass_factors(model)
    for X in (factors.L, factors.L_inv):  # corollary 6.1; upper here, since bodies are numbered base to tip
        assert not np.tril(X, -1).any()
        assert (np.diag(X) == 1.0).all()
        for rows in model.hinges:
            assert (X[rows, rows] == np.eye(rows.stop - rows.start)).all()


# --- sparsity, section 7 --------------------------------------------------------------------------


def block_nonzeros(X, rows, columns):
    return np.array([[bool(np.abs(X[i, j]).max(initial=0.0) > 1e-13) for j in columns] for i in rows])


@pytest.mark.parametrize("tree", [FIGURE_3, *(random_digraph(np.random.default_rng(s), 14) for s in SEEDS)])
def test_patterns_are_the_nonzeros(tree):
    rng = np.random.default_rng(1)
    sizes = rng.integers(2, 7, tree.n)
    weights = [None if p == WORLD else rng.normal(size=(sizes[p], sizes[k])) for k, p in enumerate(tree.parent)]
    phi = sko.Spo(tree, weights, sizes)
    H = [rng.normal(size=(int(rng.integers(1, 3)), m)) for m in sizes]
    model = sko.SkoModel(phi, H, [np.eye(m) for m in sizes])
    assert (sko.sko_pattern(tree) == block_nonzeros(phi.E, phi.slices, phi.slices)).all()
    assert (sko.spo_pattern(tree) == block_nonzeros(phi.A, phi.slices, phi.slices)).all()
    mass = sko.mass_matrix(model)
    assert (sko.mass_pattern(tree) == block_nonzeros(mass, model.hinges, model.hinges)).all()
    assert (mass[~sko.expand(sko.mass_pattern(tree), model.r)] == 0.0).all()
    assert error(sko.segment_spo(phi), phi.A) < 1e-12  # Eq. 63


def test_segments():
    assert FIGURE_3.segments == ((0, 1, 2), (3, 4), (8, 9), (10, 11), (5, 6, 7))
    assert FIGURE_3.segment_tree.parent == (-1, 0, 1, 1, 0)  # Eq. 61
    chain = sko.TreeDigraph([1, 2, -1])  # numbered tips to base, as in the paper
    assert chain.segments == ((2, 1, 0),)
    assert chain.is_chain and not chain.is_canonical


def test_jain_2011_section_4_2_pattern():
    """The mass matrix pattern that the paper prints for its canonical tree, numbered tips to base."""
    tree = sko.TreeDigraph([2, 3, 5, 5, 5, 6, -1])
    printed = "X.X..XX .X.X.XX X.X..XX .X.X.XX ....XXX XXXXXXX XXXXXXX".split()
    rows = sko.text_picture(tree, sko.mass_pattern(tree), by_segment=False).splitlines()
    assert [row.replace(" ", "") for row in rows] == printed


def test_text_picture_has_the_rows_of_the_pattern():
    pattern = sko.mass_pattern(FIGURE_3)
    rows = [row for row in sko.text_picture(FIGURE_3, pattern).splitlines() if "-" not in row]
    order = [k for nodes in FIGURE_3.segments for k in nodes]
    assert [row.count("X") for row in rows] == list(pattern[order].sum(axis=1))


# --- refusals -------------------------------------------------------------------------------------


def test_a_cycle_is_refused():
    with pytest.raises(ModelError, match="directed cycle: 3 -> 4 -> 2 -> 3|directed cycle: 2 -> 3 -> 4 -> 2"):
        sko.TreeDigraph.from_edges(5, [(0, 1), (2, 3), (3, 4), (4, 2)])
    with pytest.raises(ModelError, match="cycle: 0 -> 0"):
        sko.TreeDigraph([0])


def test_two_parents_are_refused():
    with pytest.raises(ModelError, match="node 3 has two parents, 1 and 2"):
        sko.TreeDigraph.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])


@pytest.mark.parametrize("parent", [[5], [-2]])
def test_unknown_parents_are_refused(parent):
    with pytest.raises(ModelError, match="hangs on node"):
        sko.TreeDigraph(parent)
    with pytest.raises(ModelError, match="names node 7"):
        sko.TreeDigraph.from_edges(2, [(0, 7)])


def test_wrong_blocks_are_refused():
    tree, H, M = sko.TreeDigraph([-1, 0]), [np.eye(1, 3), np.eye(1, 2)], [np.eye(3), np.eye(2)]
    with pytest.raises(ModelError, match="needs a weight"):
        sko.Spo(tree, [None, None], [3, 2])
    with pytest.raises(ModelError, match="must be 3 x 2"):
        sko.Spo(tree, [None, np.zeros((2, 3))], [3, 2])
    with pytest.raises(ModelError, match="no weight"):
        sko.Spo(tree, [np.eye(3), np.zeros((3, 2))], [3, 2])
    phi = sko.Spo(tree, [None, np.ones((3, 2))], [3, 2])
    with pytest.raises(ModelError, match="dependent rows"):
        sko.SkoModel(phi, [np.ones((2, 3)), H[1]], M)
    with pytest.raises(ModelError, match="not symmetric"):
        sko.SkoModel(phi, H, [np.triu(np.ones((3, 3))), M[1]])
    with pytest.raises(ModelError, match="negative eigenvalue"):
        sko.SkoModel(phi, H, [M[0], -M[1]])
    with pytest.raises(DynamicsError, match="hinge of the hand carries no inertia"):
        sko.riccati(sko.SkoModel(phi, H, [M[0], np.diag([0.0, 1.0])], names=["the arm", "the hand"]))
    other = sko.Spo(sko.TreeDigraph([-1, -1]), [None, None], [3, 2])
    with pytest.raises(ModelError, match="not compatible"):
        sko.forward_lyapunov(phi, M, other)
    with pytest.raises(ModelError, match="one serial chain"):
        sko.serial_product(other, M)
    with pytest.raises(InputError, match="5 rows"):
        phi.gather(np.zeros(4))
    with pytest.raises(InputError, match="no node 2"):
        sko.operational_compliance(sko.SkoModel(phi, H, M), [(2, np.eye(3))])


# --- against the compiled kernels -----------------------------------------------------------------


def compare_with_kernels(robot, q, v, frames, effort, tolerance=1e-11):
    model = sko.rigid_tree(robot, q, v, GRAVITY)
    assert error(sko.mass_matrix(model), mb.mass_matrix(robot, q)) < tolerance
    assert error(model.nonlinear(), mb.dynamics.nonlinear_effects(robot, q, v, GRAVITY)) < tolerance
    want = mb.forward_dynamics(robot, q, v, effort, GRAVITY)  # damping is the kernel's, not the model's
    assert error(sko.forward_dynamics(model, effort - robot.tree.damping * v), want) < tolerance
    picks = sko.frame_picks(model, robot, q, frames)
    compliance = sko.operational_compliance(model, picks)
    assert error(compliance, mb.operational_compliance(robot, q, frames)) < tolerance
    B = np.zeros((model.phi.m, 6 * len(picks)))
    for at, (k, X) in enumerate(picks):
        B[model.phi.slices[k], 6 * at : 6 * at + 6] = X
    assert error(B.T @ model.partial_velocities(), mb.jacobian(robot, q, frames)) < tolerance


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 14), st.booleans())
def test_kernels_on_random_forests(seed, n, armature):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n, armature=armature)
    q, v = random_state(rng, forest.tree)
    names = [name for name in forest.frames if name != "world"]
    frames = list(rng.choice(names, size=3, replace=False))
    compare_with_kernels(forest, q, v, frames, rng.normal(size=len(v)))


def test_kernels_on_the_dual_arm():
    robot, rng = mb.load_urdf(ROOT / "urdf" / "dual_arm.urdf"), np.random.default_rng(3)
    for _ in range(3):
        q, v, effort = rng.uniform(-1.0, 1.0, robot.nq), rng.normal(size=robot.N), rng.normal(size=robot.N)
        compare_with_kernels(robot, q, v, ("left_tcp", "right_tcp", "left_finger_2", "head_link_4"), effort)


def test_rotors_make_nodes_larger():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, 6, floating=1.0)
    q, v = random_state(rng, forest.tree)
    model = sko.rigid_tree(forest, q, v)
    bare = sko.rigid_tree(forest, q, v, armature=False)
    assert set(model.phi.sizes) == {6, 7} and set(bare.phi.sizes) == {6}
    assert error(sko.mass_matrix(bare) + np.diag(forest.tree.armature), sko.mass_matrix(model)) < 1e-12
    energy = 0.5 * model.velocities(v) @ model.M_full @ model.velocities(v)  # section 8.1, step 2
    assert energy == pytest.approx(mb.energy(forest, q, v)[0], rel=1e-12)
    with pytest.raises(ModelError, match="type 99"):
        sko.rigid_tree(read_only(forest.tree._replace(joint_type=np.full(6, 99), q_start=forest.tree.v_start)), v)


# --- other digraphs: several bodies to a node, several nodes to a body ----------------------------


def test_aggregation_changes_nothing_but_the_digraph():
    model = random_model(np.random.default_rng(2), 8, canonical=True)
    subtree = [k for k in range(8) if model.tree.is_ancestor(model.tree.children[0][-1], k)]
    groups = [[k for k in range(8) if k not in subtree], subtree]
    merged = sko.aggregate(model, groups)
    order = np.concatenate([np.arange(model.N)[model.hinges[k]] for group in groups for k in group])
    T = np.random.default_rng(0).normal(size=model.N)
    assert merged.tree.n == 2
    assert error(sko.mass_matrix(merged), sko.mass_matrix(model)[np.ix_(order, order)]) < 1e-12
    assert error(merged.nonlinear(), model.nonlinear()[order]) < 1e-12
    assert error(sko.forward_dynamics(merged, T[order]), sko.forward_dynamics(model, T)[order]) < 1e-10


def test_groups_must_form_a_tree():
    model = sko.SkoModel(sko.Spo(sko.TreeDigraph([-1, 0, 1, 0]), [None, *[np.eye(2)] * 3], [2] * 4),
                         [np.eye(1, 2)] * 4, [np.eye(2)] * 4)  # fmt: skip
    with pytest.raises(ModelError, match="group 0 has two parents, the inertial frame and"):
        sko.aggregate(model, [[0, 2], [1], [3]])
    with pytest.raises(ModelError, match="two parents, 0 and 1"):
        sko.aggregate(model, [[0], [1], [2, 3]])
    with pytest.raises(ModelError, match="each of the 4 nodes"):
        sko.aggregate(model, [[0], [1]])


@pytest.mark.parametrize("seed", SEEDS)
def test_several_nodes_to_a_body(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 7, canonical=True, welds=seed > 2)
    split, body_node = sko.split_hinges(model)
    T = rng.normal(size=model.N)
    assert split.tree.n == sum(max(r, 1) for r in model.r)
    assert error(sko.mass_matrix(split), sko.mass_matrix(model)) < 1e-12
    assert error(sko.forward_dynamics(split, T), sko.forward_dynamics(model, T)) < 1e-9
    picks = [(k, np.eye(model.phi.sizes[k])) for k in (1, 6)]
    moved = [(body_node[k], X) for k, X in picks]
    assert error(sko.operational_compliance(split, moved), sko.operational_compliance(model, picks)) < 1e-9
    for number, (left, right) in sko.identities(split).items():
        assert error(left, right) < 1e-9, f"Eq. {number}"


def closed_four_bar(robot, crank, yaw=0.4, tool=0.7):
    """Coordinates with the loop closed, by Newton's method on the passive joints."""
    q = robot.q_from({"yaw": yaw, "crank": crank, "coupler": -0.5 - crank, "rocker": -1.2, "tool": tool})
    passive = [robot.joint_v[robot.joint_names.index(name)] for name in ("coupler", "rocker")]
    for _ in range(30):
        gap = robot.link_pose("coupler_end", q)[1] - robot.link_pose("rocker_end", q)[1]
        J = mb.jacobian(robot, q, ("coupler_end", "rocker_end"))
        q[passive] -= np.linalg.pinv((J[3:6] - J[9:])[:, passive]) @ gap
    assert np.abs(gap).max() < 1e-14
    return q


@pytest.mark.parametrize("crank", [-1.2, -0.7, -1.9])
def test_four_bar_by_constraint_embedding(crank):
    robot, rng = mb.load_urdf(FOUR_BAR), np.random.default_rng(5)
    assert robot.body_names == ("column", "crank", "coupler", "tool", "rocker")
    q, loop = closed_four_bar(robot, crank), [1, 2, 4]
    ends = ("coupler_end", "rocker_end")
    J = mb.jacobian(robot, q, ends)
    J = J[3:6] - J[9:]
    X = sko.constraint_map(J[:, loop], np.zeros(3), [0])[0]  # the crank drives
    rates = rng.normal(size=3)  # yaw, crank, tool
    v = np.zeros(5)
    v[[0, 3]], v[loop] = rates[[0, 2]], X @ rates[1:2]
    J_rate = mb.dynamics.jacobian_bias(robot, q, v, ends)
    J_rate = J_rate[3:6] - J_rate[9:]
    X, X_rate = sko.constraint_map(J[:, loop], J_rate, [0])
    tree = sko.rigid_tree(robot, q, v, GRAVITY)
    model = sko.aggregate(tree, [[0], loop, [3]], {1: X}, {1: X_rate})
    assert model.phi.sizes == (6, 18, 6) and model.N == 3
    V = tree.velocities(v).reshape(5, 6)
    assert error(model.velocities(rates), V[[0, *loop, 3]].ravel()) < 1e-12

    # independent: the open tree of the compiled kernels with multipliers
    effort = rng.normal(size=3)
    T = np.zeros(5)
    T[[0, 1, 3]] = effort
    U, s, _ = np.linalg.svd(J)
    J, J_rate = U[:, s > 1e-9].T @ J, U[:, s > 1e-9].T @ J_rate  # a planar loop has two independent rows of three
    kkt = np.block([[mb.mass_matrix(robot, q), J.T], [J, np.zeros((len(J), len(J)))]])
    right = np.concatenate((T - mb.dynamics.nonlinear_effects(robot, q, v, GRAVITY), -J_rate))
    want = np.linalg.solve(kkt, right)[[0, 1, 3]]
    assert error(sko.forward_dynamics(model, effort), want) < 1e-9
    for number, (left, right) in sko.identities(model).items():
        assert error(left, right) < 1e-9, f"Eq. {number}"
    with pytest.raises(ModelError, match="two parents"):  # the loop without embedding
        sko.TreeDigraph.from_edges(5, [(0, 1), (1, 2), (2, 3), (0, 4), (4, 2)])


def test_constraint_map_refuses_wrong_coordinates():
    J = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]])  # rank 1, the third rate is free
    X, _ = sko.constraint_map(J, np.zeros(2), [0, 2])
    assert np.abs(J @ X).max() < 1e-14
    for independent in ([0], [0, 1], [0, 1, 2]):
        with pytest.raises(DynamicsError, match="dependent rates do not follow"):
            sko.constraint_map(J, np.zeros(2), independent)
    with pytest.raises(InputError, match="columns of J"):
        sko.constraint_map(J, np.zeros(2), [3])


def test_the_worked_example_of_the_docs():
    """Geared motors: the code of docs/spatial_operators.md against the textbook's planar arm."""
    text = (ROOT / "docs" / "spatial_operators.md").read_text(encoding="utf-8")
    names = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "docs/spatial_operators.md", "exec"), names)
    assert f"```\n{names['picture']}\n```" in text
    q, rates, gear, T = (names[x] for x in ("q", "rates", "gear", "T"))
    c, s = np.cos(q[1]), np.sin(q[1])
    l1, c1, c2, m1, m2, I1, I2 = 0.5, 0.25, 0.2, 2.0, 1.0, 0.05, 0.02
    mr, J = 0.3, 1e-4
    mass_12 = I2 + m2 * (c2**2 + l1 * c2 * c) + gear * J
    mass = np.array([
        [I1 + m1 * c1**2 + I2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * c) + gear**2 * J + mr * l1**2 + J, mass_12],
        [mass_12, I2 + m2 * c2**2 + gear**2 * J],
    ])  # fmt: skip
    h = m2 * l1 * c2 * s
    C = np.array([-h * rates[1] * (2 * rates[0] + rates[1]), h * rates[0] ** 2])
    assert error(sko.mass_matrix(names["geared"]), mass) < 1e-12
    assert error(names["geared"].nonlinear(), C) < 1e-12
    assert error(names["theta_ddot"], np.linalg.solve(mass, T - C)) < 1e-11
    # the same from the open tree: M = X* M X
    X = names["X_all"]
    assert error(X.T @ mb.mass_matrix(names["robot"], q) @ X, mass) < 1e-12

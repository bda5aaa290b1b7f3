# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's friction models against dense matrices: mass matrix and Jacobians of ``dense_oracle``.

The oracle writes the mixed problems (29) and (47)-(55) out, with M, J, N, S, T as full matrices, and judges
what the package found by the equations themselves; nothing of the operational-space path is used.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.types import WORLD
from oracles.dense_oracle import Dense, advance, cross, random_forest, random_state

GRAVITY = np.array([0.3, -0.2, -9.81])


def random_case(seed, contacts=6, constraints=0, **options):
    """A random forest at a random state with contacts between random bodies."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    model = random_forest(rng, n)
    q, v = random_state(rng, model.tree)
    dense = Dense(model.tree, q, v)
    a, b = random_pairs(rng, n, contacts)
    points = dense.p[np.maximum(a, b)] + rng.normal(scale=0.3, size=(contacts, 3))
    options.setdefault("mu", rng.uniform(0.2, 1.0, contacts))
    options.setdefault("viscous", rng.uniform(0.1, 5.0, (contacts, 2)))
    found = mb.studies.point_contacts(a, b, points, rng.normal(size=(contacts, 3)), **options)
    a, b = random_pairs(rng, n, constraints)
    loops = mb.studies.bilateral(
        a, b, dense.p[np.maximum(a, b)] + 0.1, rng.normal(size=(constraints, 3)), rng.random(constraints) < 0.3
    )
    effort = rng.normal(size=len(v))
    return model, dense, q, v, effort, found, loops


def random_pairs(rng, n, count):
    """Two different bodies, or one and the world, ``count`` times."""
    a = rng.integers(0, n, count)
    b = rng.integers(WORLD, n, count)
    b[b == a] = WORLD
    return a, b


def rows_of(dense, body_a, body_b, point, direction, angular=None):
    """Dense Jacobian of scalar rows."""
    J = []
    for i in range(len(body_a)):
        rows = slice(0, 3) if angular is not None and angular[i] else slice(3, 6)
        both = dense.point_jacobian(body_a[i], point[i]) - dense.point_jacobian(body_b[i], point[i])
        J.append(direction[i] @ both[rows])
    return np.array(J).reshape(-1, dense.N)


class DenseCase:
    """M, J, N, S, T and the free velocity of a step."""

    def __init__(self, dense, effort, c, loops, dt):
        tree = dense.tree
        self.M = dense.mass_matrix() + dt * np.diag(tree.damping)
        force = effort - tree.damping * dense.v - dense.nonlinear(GRAVITY)
        self.J = rows_of(dense, loops.body_a, loops.body_b, loops.point, loops.direction, loops.angular)
        self.N, self.S, self.T = (rows_of(dense, c.body_a, c.body_b, c.point, d) for d in (c.normal, c.t1, c.t2))
        self.free = dense.v + dt * np.linalg.solve(self.M, force)
        self.force = force

    def scaled(self, rows, z=None, w=None):
        """z and w of rows in sqrt(N s m/s)."""
        s = np.sqrt(np.einsum("ij,ji->i", rows, np.linalg.solve(self.M, rows.T)))
        s = np.maximum(s, 1e-10 * s.max(initial=0.0))  # rows that nothing can move
        return (None if z is None else z * s), (None if w is None else w / s)


def impulse_of(case, result):
    """Generalised impulse of what a model found."""
    return (
        case.J.T @ result.bilateral + case.N.T @ result.normal
        + case.S.T @ result.tangent[:, 0] + case.T.T @ result.tangent[:, 1]
    )  # fmt: skip


def assert_complementary(case, rows, z, w, scale, tol=1e-9):
    z, w = case.scaled(rows, z, w)
    assert np.abs(np.minimum(z, w)).max(initial=0.0) <= tol * scale


# --- no slip ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_no_slip_solves_the_dense_problem(seed):
    """(23)-(25), (45), (46), with loops in every other case, contacts redundant in many."""
    model, dense, q, v, effort, c, loops = random_case(seed, 1 + seed % 12, constraints=(seed % 2) * 2)
    dt = 0.01
    result = mb.studies.no_slip_step(model, q, v, effort, c, dt, bilateral=loops, gravity=GRAVITY, rank_tolerance=1e-11)
    case = DenseCase(dense, effort, c, loops, dt)
    assert result.status == "solved"
    moved = case.M @ (result.v - case.free)
    scale = np.abs(v).max() * np.sqrt(np.abs(case.M).max())
    np.testing.assert_allclose(moved, impulse_of(case, result), atol=1e-9 * max(1.0, np.abs(moved).max()))
    for rows in (case.J, case.S, case.T):
        assert np.abs(case.scaled(rows, w=rows @ result.v)[1]).max(initial=0.0) <= 1e-9 * scale
    assert_complementary(case, case.N, result.normal, case.N @ result.v, scale)
    X = np.vstack((case.J, case.S, case.T))
    G = X @ np.linalg.solve(case.M, X.T)
    s = np.sqrt(np.maximum(np.diag(G), 1e-20 * np.diag(G).max()))
    assert result.independent == np.linalg.matrix_rank(G / np.outer(s, s), tol=1e-10)
    assert len(result.active) <= dense.N - result.independent


@pytest.mark.nojit
def test_no_slip_warm_start_takes_no_pivots():
    model, dense, q, v, effort, c, loops = random_case(7, 8)
    first = mb.studies.no_slip_step(model, q, v, effort, c, 0.01, gravity=GRAVITY)
    again = mb.studies.no_slip_step(model, q, v, effort, c, 0.01, gravity=GRAVITY, warm=first.active)
    assert len(first.active) and first.pivots >= len(first.active) and again.pivots == 0
    np.testing.assert_allclose(again.v, first.v, atol=1e-9)


@pytest.mark.nojit
def test_least_norm_of_a_flat_block():
    """Four corners carry a quarter each, and nothing pulls sideways."""
    world, half = free_body("box", (0.4, 0.3, 0.1), 2.0), np.array([0.2, 0.15, 0.05])
    c = mb.studies.point_contacts(0, WORLD, corners(np.array([0, 0, 0.05]), half), np.tile([0, 0, 1.0], (4, 1)))
    result = mb.studies.no_slip_step(world, pose(z=0.05), np.zeros(6), None, c, 0.01, least_norm=True)
    np.testing.assert_allclose(result.normal, 2.0 * 9.81 * 0.01 / 4, atol=1e-14)
    np.testing.assert_allclose(result.tangent, 0.0, atol=1e-14)
    assert len(result.active) <= 3 and result.independent == 3


def test_least_norm_changes_no_velocity():
    """Same v+, a norm that is never greater, and the least one where no normal is at zero (pseudo-inverse)."""
    least = 0
    for seed in range(80):
        model, dense, q, v, effort, c, loops = random_case(seed, 2 + seed % 10, constraints=seed % 3)
        plain, relaxed = (
            mb.studies.no_slip_step(model, q, v, effort, c, 0.01, bilateral=loops, gravity=GRAVITY, least_norm=flag)
            for flag in (False, True)
        )
        np.testing.assert_allclose(relaxed.v, plain.v, atol=1e-8 * max(1.0, np.abs(plain.v).max()))
        assert relaxed.status == "solved" and relaxed.normal.min() >= 0.0
        case = DenseCase(dense, effort, c, loops, 0.01)
        r, old = (np.concatenate((x.bilateral, x.normal, x.tangent.ravel("F"))) for x in (relaxed, plain))
        assert np.linalg.norm(r) <= np.linalg.norm(old) * (1 + 1e-9)
        B = np.vstack((case.J, case.N, case.S, case.T))
        carries = np.concatenate((np.ones(len(case.J), bool), relaxed.normal > 0, np.ones(2 * len(case.S), bool)))
        best = np.linalg.lstsq(B[carries].T, B.T @ old, rcond=1e-12)[0]
        if np.linalg.norm(best) >= np.linalg.norm(r) * (1 - 1e-6):
            least += 1
    assert least >= 70


@pytest.mark.parametrize("step", [mb.studies.no_slip_step, mb.studies.viscous_step])
def test_200_random_trees_with_many_contacts_and_loops(step):
    """Up to 20 contacts and 6 constraints, most of them redundant: every one is solved, and says how well."""
    for seed in range(200):
        rng = np.random.default_rng(5500 + seed)
        case = random_case(5500 + seed, int(rng.integers(1, 21)), constraints=int(rng.integers(0, 7)))
        model, _, q, v, effort, c, loops = case
        result = step(model, q, v, effort, c, 0.01, bilateral=loops, gravity=GRAVITY)
        assert result.status == "solved" and result.certificate.residual <= 1e-8 * result.certificate.scale, seed
        assert len(result.active) <= model.tree.armature.shape[0]


# --- viscous ------------------------------------------------------------------------------------------


def resting_case(seed, contacts):
    """A case whose contacts neither approach nor separate, with vertices, balls and planes on both sides."""
    rng = np.random.default_rng(1000 + seed)
    kinds = np.array([(0.0, np.inf), (0.2, np.inf), (np.inf, 0.0), (np.inf, 0.3), (0.2, 0.3), (0.0, 0.1)])
    radius = kinds[rng.integers(0, len(kinds), contacts)]
    model, dense, q, v, effort, c, loops = random_case(
        seed, contacts, constraints=seed % 2, radius_a=radius[:, 0], radius_b=radius[:, 1]
    )
    rows = np.vstack(
        (rows_of(dense, c.body_a, c.body_b, c.point, c.normal),
         rows_of(dense, loops.body_a, loops.body_b, loops.point, loops.direction, loops.angular))
    )  # fmt: skip
    v = v - np.linalg.pinv(rows, rcond=1e-9) @ rows @ v
    return model, Dense(model.tree, q, v), q, v, effort, c, loops


def gaps(dense, start, c):
    """Distances of the contact surfaces at ``dense``, each fixed to its body as it was at ``start``."""

    def moved(body, x):
        return x if body == WORLD else dense.p[body] + dense.R[body] @ start.R[body].T @ (x - start.p[body])

    def turned(body, x):
        return x if body == WORLD else dense.R[body] @ start.R[body].T @ x

    out = []
    for i, (a, b) in enumerate(zip(c.body_a, c.body_b)):
        x, n, ra, rb = c.point[i], c.normal[i], c.radius_a[i], c.radius_b[i]
        if np.isinf(rb):
            out.append(turned(b, n) @ (moved(a, x + ra * n) - moved(b, x + ra * n)))
        elif np.isinf(ra):
            out.append(turned(a, n) @ (moved(a, x - rb * n) - moved(b, x - rb * n)))
        else:
            out.append(np.linalg.norm(moved(a, x + ra * n) - moved(b, x - rb * n)) - ra - rb)
    return np.array(out)


def second_difference(model, dense, c):
    """d^2 gap / dt^2 at constant v, dN/dt v, extrapolated from two steps."""

    def difference(h):
        ahead, behind = (Dense(model.tree, advance(model.tree, dense.q, dense.v, t)) for t in (h, -h))
        return (gaps(ahead, dense, c) - 2.0 * gaps(dense, dense, c) + gaps(behind, dense, c)) / h**2

    return (4.0 * difference(4e-4) - difference(8e-4)) / 3.0


@pytest.mark.parametrize("seed", range(30))
def test_viscous_acceleration_solves_the_dense_problem(seed):
    """(13)-(18) with dN/dt v from second differences of the gaps."""
    model, dense, q, v, effort, c, loops = resting_case(seed, 1 + seed % 4)
    result = mb.studies.viscous_acceleration(model, q, v, effort, c, bilateral=loops, gravity=GRAVITY)
    case = DenseCase(dense, effort, c, loops, 0.0)
    slip = np.column_stack((case.S @ v, case.T @ v))
    if result.status == "inconsistent":
        product = second_difference(model, dense, c)
        F = np.vstack((case.N, case.J))
        assert np.linalg.matrix_rank(F, tol=1e-9) < len(F)  # only dependent rows can contradict each other
        assert np.abs(product).max() > 1e-6
        return
    assert (result.level, result.status) == ("acceleration", "solved")
    np.testing.assert_allclose(result.tangent, -c.viscous * slip, atol=1e-10)
    unexplained = case.M @ result.v_dot - case.force - impulse_of(case, result)
    assert np.abs(unexplained).max() <= 1e-9 * max(1.0, np.abs(case.force).max(), np.abs(result.normal).max())
    a = case.N @ result.v_dot + second_difference(model, dense, c)
    size = max(1.0, np.abs(case.N @ np.linalg.solve(case.M, case.force)).max())
    np.testing.assert_allclose(result.rows[:, 0], a, atol=3e-6 * size)
    assert_complementary(case, case.N, result.normal, a, size, tol=1e-5)
    assert result.certificate.residual <= 1e-9 * result.certificate.scale


@pytest.mark.parametrize("seed", range(30))
def test_viscous_step_solves_the_dense_problem(seed):
    model, dense, q, v, effort, c, loops = random_case(seed, 1 + seed % 8, constraints=seed % 3)
    dt = 0.02
    result = mb.studies.viscous_step(model, q, v, effort, c, dt, bilateral=loops, gravity=GRAVITY, rank_tolerance=1e-11)
    case = DenseCase(dense, effort, c, loops, dt)
    assert result.status == "solved"
    moved = case.M @ (result.v - case.free)
    np.testing.assert_allclose(moved, impulse_of(case, result), atol=1e-9 * max(1.0, np.abs(moved).max()))
    after = np.column_stack((case.S @ result.v, case.T @ result.v))
    np.testing.assert_allclose(result.tangent, -dt * c.viscous * after, atol=1e-9)
    assert_complementary(case, case.N, result.normal, case.N @ result.v, 10.0)


@pytest.mark.parametrize("seed", range(20))
def test_least_norm_of_viscous_normals_changes_no_velocity(seed):
    model, dense, q, v, effort, c, loops = random_case(seed, 6, constraints=seed % 3)
    results = [
        mb.studies.viscous_step(model, q, v, effort, c, 0.02, bilateral=loops, gravity=GRAVITY, least_norm=flag)
        for flag in (False, True)
    ]
    assert [result.status for result in results] == ["solved", "solved"]
    np.testing.assert_allclose(results[1].v, results[0].v, atol=1e-8)
    np.testing.assert_allclose(results[1].tangent, results[0].tangent, atol=1e-8)
    norms = [np.linalg.norm(result.normal) for result in results]
    assert results[1].normal.min() >= -1e-12 and norms[1] <= norms[0] * (1.0 + 1e-9)


def test_the_four_corners_of_a_block_share_its_weight_under_viscous_friction():
    world = free_body("box", (0.4, 0.2, 0.1), 3.0)
    feet = [[x, y, 0.0] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    c = mb.studies.point_contacts(0, WORLD, feet, np.tile([0, 0, 1.0], (4, 1)), viscous=2.0)
    result = mb.studies.viscous_step(world, pose(z=0.05), [0, 0, 0, 0.3, 0, 0], None, c, 0.01, least_norm=True)
    assert result.status == "solved"
    drag = 8.0 * 0.3 / (1.0 + 8.0 * 0.01 / 3.0)  # taken at the velocity after the step, at the height of the ground
    uneven = result.normal - 0.25 * 3.0 * 9.81 * 0.01
    assert np.abs(uneven[:2] - uneven[0]).max() < 1e-12 and np.abs(uneven[2:] - uneven[2]).max() < 1e-12
    assert uneven[2] == pytest.approx(drag * 0.01 * 0.05 / 0.8, rel=1e-2)  # the front corners carry the braking moment


def test_viscous_step_tends_to_no_slip():
    model, dense, q, v, effort, c, _ = random_case(4, 4)
    held = mb.studies.no_slip_step(model, q, v, effort, c, 0.01, gravity=GRAVITY)
    for size in (1e6, 1e8):
        thick = c._replace(viscous=np.full((4, 2), size))
        sticky = mb.studies.viscous_step(model, q, v, effort, thick, 0.01, gravity=GRAVITY)
        np.testing.assert_allclose(sticky.v, held.v, atol=1000.0 / size)


# --- Coulomb and viscous together -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_coulomb_viscous_step_solves_the_dense_problem(seed):
    """(23)-(28), the cone as a polygon; friction beyond the viscous part obeys Coulomb's law."""
    model, dense, q, v, effort, c, loops = random_case(seed, 1 + seed % 5, constraints=seed % 3)
    dt, n_f = 0.02, 8
    result = mb.studies.coulomb_viscous_step(
        model, q, v, effort, c, dt, directions=n_f, bilateral=loops, gravity=GRAVITY, rank_tolerance=1e-11
    )
    case = DenseCase(dense, effort, c, loops, dt)
    assert result.status == "solved", result
    moved = case.M @ (result.v - case.free)
    np.testing.assert_allclose(moved, impulse_of(case, result), atol=1e-9 * max(1.0, np.abs(moved).max()))
    assert_complementary(case, case.N, result.normal, case.N @ result.v, 10.0)
    u = np.column_stack((case.S @ result.v, case.T @ result.v))
    assert_polygon(case, result.tangent + dt * c.viscous * u, u, c.mu * result.normal, n_f, 1e-8)


def assert_polygon(case, force, u, bound, n_f, tol):
    """Friction in the polygon, and of all in it the one that brakes most: f . u = -bound max_j(-d_j . u)."""
    angle = 2 * np.pi * np.arange(n_f) / n_f
    D = np.column_stack((np.cos(angle), np.sin(angle)))
    s = np.sqrt(np.einsum("ij,ji->i", case.S, np.linalg.solve(case.M, case.S.T)))
    apothem = np.cos(np.pi / n_f)
    faces = np.column_stack((np.cos(angle + np.pi / n_f), np.sin(angle + np.pi / n_f)))
    assert ((force @ faces.T - apothem * bound[:, None]) * s[:, None]).max() <= tol
    sigma = np.maximum(0.0, -(u @ D.T).min(axis=1))
    assert np.abs(np.sum(force * u, axis=1) + bound * sigma).max() <= tol


@pytest.mark.parametrize("seed", range(30))
def test_coulomb_viscous_step_with_the_exact_cone_solves_the_dense_problem(seed):
    """(23)-(28); friction beyond the viscous part lies in the cone and is exactly against the slip."""
    model, dense, q, v, effort, c, loops = random_case(seed, 1 + seed % 5, constraints=seed % 3)
    dt = 0.02
    result = mb.studies.coulomb_viscous_step(
        model, q, v, effort, c, dt, directions=None, bilateral=loops, gravity=GRAVITY, rank_tolerance=1e-11
    )
    case = DenseCase(dense, effort, c, loops, dt)
    assert result.status == "solved", result
    moved = case.M @ (result.v - case.free)
    np.testing.assert_allclose(moved, impulse_of(case, result), atol=1e-9 * max(1.0, np.abs(moved).max()))
    assert_complementary(case, case.N, result.normal, case.N @ result.v, 10.0)
    u = np.column_stack((case.S @ result.v, case.T @ result.v))
    assert_cone(result.tangent + dt * c.viscous * u, u, c.mu * result.normal, 1e-8)


def assert_cone(force, u, bound, tol):
    """|f| <= bound and f . u = -bound |u|."""
    scale = np.maximum(1.0, bound)
    assert ((np.linalg.norm(force, axis=1) - bound) / scale).max() <= tol
    assert (np.abs(np.sum(force * u, axis=1) + bound * np.linalg.norm(u, axis=1)) / scale).max() <= tol


def test_coulomb_acceleration_with_the_exact_cone_solves_the_dense_problem():
    solved = 0
    for seed in range(40):
        model, dense, q, v, effort, c, loops = random_case(seed, 1 + seed % 3, constraints=seed % 2)
        v = np.zeros_like(v)
        dense = Dense(model.tree, q, v)
        result = mb.studies.coulomb_viscous_acceleration(
            model, q, v, effort, c, directions=None, bilateral=loops, gravity=GRAVITY
        )
        case = DenseCase(dense, effort, c, loops, 0.0)
        assert (result.level, result.status) == ("acceleration", "solved")
        unexplained = case.M @ result.v_dot - case.force - impulse_of(case, result)
        assert np.abs(unexplained).max() <= 1e-8 * max(1.0, np.abs(case.force).max())
        a = np.column_stack((case.S @ result.v_dot, case.T @ result.v_dot))
        assert_complementary(case, case.N, result.normal, case.N @ result.v_dot, 10.0)
        assert_cone(result.tangent, a, c.mu * result.normal, 1e-7)
        solved += len(result.active) > 0
    assert solved > 5


def test_coulomb_acceleration_without_slip_solves_the_dense_problem():
    """Contacts at rest: (20)-(22) with the polygon, several contacts at once."""
    solved = 0
    for seed in range(40):
        model, dense, q, v, effort, c, loops = random_case(seed, 1 + seed % 3, constraints=seed % 2)
        v = np.zeros_like(v)
        dense = Dense(model.tree, q, v)
        result = mb.studies.coulomb_viscous_acceleration(model, q, v, effort, c, bilateral=loops, gravity=GRAVITY)
        case = DenseCase(dense, effort, c, loops, 0.0)
        assert (result.level, result.status) == ("acceleration", "solved")
        unexplained = case.M @ result.v_dot - case.force - impulse_of(case, result)
        assert np.abs(unexplained).max() <= 1e-8 * max(1.0, np.abs(case.force).max())
        a = np.column_stack((case.S @ result.v_dot, case.T @ result.v_dot))
        assert np.abs(case.J @ result.v_dot).max(initial=0.0) <= 1e-8
        assert_complementary(case, case.N, result.normal, case.N @ result.v_dot, 10.0)
        assert_polygon(case, result.tangent, a, c.mu * result.normal, 8, 1e-7)
        solved += len(result.active) > 0
    assert solved > 5


# --- bodies one can work out by hand ------------------------------------------------------------------------


def free_body(shape, size, mass, inertia=None):
    """World of one free body, with its centre at the origin."""
    body = mb_scene().Primitive(name="body", shape=shape, size=size, base="free", mass=mass, inertia=inertia)
    return mb.build_world(mb.Scene(primitives=(body,)))


def mb_scene():
    from mb_contact.model import scene

    return scene


def pose(x=0.0, y=0.0, z=0.0, quat=(0.0, 0.0, 0.0, 1.0)):
    return np.array([x, y, z, *quat])


def corners(position, half):
    """Points of a box's lower face."""
    signs = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)])
    return position + np.column_stack((signs * half[:2], np.full(4, -half[2])))


def test_viscous_block_stops_exponentially():
    """v(t) = v_0 exp(-4 mu_v t / m); four corners, Runge-Kutta on the accelerations."""
    world, half, mass, mu_v = free_body("box", (0.4, 0.3, 0.1), 2.0), np.array([0.2, 0.15, 0.05]), 2.0, 0.7

    def rates(x, v):
        c = mb.studies.point_contacts(0, WORLD, corners(np.array([x, 0.0, 0.05]), half), np.tile([0, 0, 1.0], (4, 1)),
                              viscous=mu_v)  # fmt: skip
        result = mb.studies.viscous_acceleration(world, pose(x, z=0.05), [0, 0, 0, v, 0, 0], None, c)
        assert result.level == "acceleration" and result.status == "solved"
        assert result.normal.sum() == pytest.approx(mass * 9.81, rel=1e-12)
        np.testing.assert_allclose(np.delete(result.v_dot, 3), 0.0, atol=1e-12)
        return np.array([v, result.v_dot[3]])

    state, h = np.array([0.0, 0.8]), 0.02
    for _ in range(25):
        k1 = rates(*state)
        k2 = rates(*(state + 0.5 * h * k1))
        k3 = rates(*(state + 0.5 * h * k2))
        k4 = rates(*(state + h * k3))
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert state[1] == pytest.approx(0.8 * np.exp(-4 * mu_v / mass * 0.5), rel=1e-7)
    assert state[0] == pytest.approx(0.8 * mass / (4 * mu_v) * (1 - np.exp(-4 * mu_v / mass * 0.5)), rel=1e-7)


def test_viscous_block_lands_and_slides_on():
    """An impact is handed to the velocity level: inelastic, friction over the step only."""
    world, half, dt = free_body("box", (0.4, 0.3, 0.1), 2.0), np.array([0.2, 0.15, 0.05]), 1e-3
    feet = corners(np.array([0, 0, 0.05]), half)
    c = mb.studies.point_contacts(0, WORLD, feet, np.tile([0, 0, 1.0], (4, 1)), viscous=0.7)
    v = [0, 0, 0, 0.8, 0, -2.0]
    bare = mb.studies.viscous_acceleration(world, pose(z=0.05), v, None, c)
    assert bare.status == "impact"
    result = mb.studies.viscous_acceleration(world, pose(z=0.05), v, None, c, dt=dt)
    assert (result.level, result.reason, result.status) == ("velocity", "impact", "solved")
    np.testing.assert_allclose(result.v, [0, 0, 0, 0.8 / (1 + dt * 4 * 0.7 / 2.0), 0, 0], atol=1e-12)
    assert result.normal.sum() == pytest.approx(2.0 * (2.0 + 9.81 * dt))


def tilted(angle):
    """Gravity in the axes of a slope that falls along x."""
    return 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def test_no_slip_block_stays_on_a_steep_slope():
    """60 degrees: Coulomb would need mu = 1.73; the normals are those of statics."""
    world, half = free_body("box", (0.6, 0.6, 0.1), 2.0), np.array([0.3, 0.3, 0.05])
    c = mb.studies.point_contacts(0, WORLD, corners(np.array([0, 0, 0.05]), half), np.tile([0, 0, 1.0], (4, 1)))
    g, dt = tilted(np.radians(60)), 0.01
    result = mb.studies.no_slip_step(world, pose(z=0.05), np.zeros(6), None, c, dt, gravity=g)
    np.testing.assert_allclose(result.v, 0.0, atol=1e-14)
    assert result.normal.sum() == pytest.approx(2.0 * -g[2] * dt)
    assert result.tangent[:, 0].sum() == pytest.approx(-2.0 * g[0] * dt)
    moment = (c.point[:, 0] * result.normal).sum()  # about y, against the friction's lever to the centre
    assert moment == pytest.approx(2.0 * g[0] * dt * 0.05)
    assert result.independent == 3 and len(result.active) <= 3


@pytest.mark.nojit
def test_no_slip_ball_rolls():
    """A sliding ball rolls at once with 5/7 v_0; on a slope it gains 5/7 g sin(angle) dt and never slips."""
    world = free_body("sphere", (0.1,), 1.5)
    c = mb.studies.point_contacts(0, WORLD, [[0, 0, 0]], [[0, 0, 1.0]])
    result = mb.studies.no_slip_step(world, pose(z=0.1), [0, 0, 0, 0.7, 0, 0], None, c, 0.01)
    np.testing.assert_allclose(result.v, [0, 5.0, 0, 0.5, 0, 0], atol=1e-12)
    angle, v = np.radians(70), np.zeros(6)
    for step in range(1, 21):
        v = mb.studies.no_slip_step(world, pose(z=0.1), v, None, c, 0.01, gravity=tilted(angle)).v
        assert v[3] == pytest.approx(5 / 7 * 9.81 * np.sin(angle) * 0.01 * step, rel=1e-12)
        assert v[4] * v[1] <= 1e-15 and v[3] == pytest.approx(0.1 * v[1], rel=1e-12)


@pytest.mark.parametrize("radius", [0.5, np.inf])
def test_ball_rolling_over_a_ball(radius):
    """f_n = m g - m v^2 / (R + r) on top of a ball, m g on a plane: the velocity product of the contact."""
    world, r, v = free_body("sphere", (0.1,), 1.5), 0.1, 0.9
    c = mb.studies.point_contacts(0, WORLD, [[0, 0, 0]], [[0, 0, 1.0]], radius_a=r, radius_b=radius)
    result = mb.studies.viscous_acceleration(world, pose(z=r), [0, v / r, 0, v, 0, 0], None, c)
    assert result.normal[0] == pytest.approx(1.5 * 9.81 - 1.5 * v**2 / (radius + r), rel=1e-12)


@pytest.mark.nojit
def test_slab_jammed_while_turning_is_handed_to_the_velocity_level():
    """Two fixed points on both faces of a turning slab: no acceleration keeps both gaps."""
    world = free_body("box", (1.0, 0.2, 0.3), 2.0)
    c = mb.studies.point_contacts(
        0, WORLD, [[0, 0.1, 0], [0, -0.1, 0]], [[0, -1.0, 0], [0, 1.0, 0]], radius_a=np.inf, radius_b=0.0, viscous=0.1
    )
    v = [0, 0, 2.0, 0, 0, 0]
    at_rest = mb.studies.viscous_acceleration(world, pose(), np.zeros(6), None, c)
    assert at_rest.status == "solved"
    assert mb.studies.viscous_acceleration(world, pose(), v, None, c).status == "inconsistent"
    result = mb.studies.viscous_acceleration(world, pose(), v, None, c, dt=1e-3)
    assert (result.level, result.reason, result.status) == ("velocity", "inconsistent", "solved")


# --- Painleve -------------------------------------------------------------------------------------------


class Rod:
    """Painleve's rod: length 2 l, mass m, tip on the ground at angle theta, sliding towards -x, centre at +x.

        d^2 n/dt^2 = (f_n / m) (1 + 3 cos^2 - 3 mu sin cos) - g + l omega^2 sin
    """

    l, m, theta = 1.0, 1.0, float(np.arctan(2.0))

    def __init__(self):
        third = self.m * self.l**2 / 3.0
        self.world = free_body("box", (2.0, 0.01, 0.01), self.m, (0.01 * third, third, third))
        self.c, self.s = np.cos(self.theta), np.sin(self.theta)
        half = -0.5 * self.theta  # lifts the +x end
        self.q = pose(self.l * self.c, 0.0, self.l * self.s, (0.0, np.sin(half), 0.0, np.cos(half)))

    def velocity(self, tip, omega):
        """v with the tip at (tip, 0) and the rod turning with omega (towards larger theta)."""
        spin = np.array([0.0, -omega, 0.0])
        centre = np.array([tip, 0.0, 0.0]) + cross(spin, np.array([self.l * self.c, 0.0, self.l * self.s]))
        return np.concatenate((spin, centre))

    def contact(self, mu):
        return mb.studies.point_contacts(0, WORLD, [[0, 0, 0]], [[0, 0, 1.0]], mu=mu)

    def p(self, mu):
        return (1 + 3 * self.c**2 - 3 * mu * self.s * self.c) / self.m

    def b(self, omega):
        return -9.81 + self.l * omega**2 * self.s


CONES = pytest.mark.parametrize("cone", [{}, {"directions": None}], ids=["polygon", "exact"])


@pytest.mark.nojit
@pytest.mark.parametrize("mu", [0.0, 0.5, 1.2])
@CONES
def test_painleve_rod_slides_where_friction_is_low(mu, cone):
    rod = Rod()
    assert rod.p(mu) > 0
    for omega in (0.0, 1.5, 4.0):
        v = rod.velocity(-1.0, omega)
        result = mb.studies.coulomb_viscous_acceleration(rod.world, rod.q, v, None, rod.contact(mu), **cone)
        assert (result.level, result.status, result.reason) == ("acceleration", "solved", "")
        assert result.normal[0] == pytest.approx(max(0.0, -rod.b(omega) / rod.p(mu)), abs=1e-10)
        assert result.tangent[0, 0] == pytest.approx(mu * result.normal[0], abs=1e-10)


@CONES
def test_painleve_rod_is_inconsistent_and_handed_over(cone):
    """mu > 4/3 at tan(theta) = 2: no force at all; at the velocity level the tip jams at once."""
    rod, mu = Rod(), 2.0
    assert rod.p(mu) < 0 and rod.b(0.0) < 0
    v = rod.velocity(-1.0, 0.0)
    result = mb.studies.coulomb_viscous_acceleration(rod.world, rod.q, v, None, rod.contact(mu), **cone)
    assert result.status == "inconsistent"
    for dt in (1e-3, 1e-6):
        result = mb.studies.coulomb_viscous_acceleration(rod.world, rod.q, v, None, rod.contact(mu), dt=dt, **cone)
        assert (result.level, result.reason, result.status) == ("velocity", "inconsistent", "solved")
        tip = result.rows[0]
        assert abs(tip[1]) <= 1e-9 and tip[0] >= -1e-12 and result.normal[0] > 0.05  # an impulse, however short dt


@CONES
def test_painleve_rod_is_indeterminate_where_it_lifts(cone):
    """p < 0 < b: separating (f_n = 0) and pressing (f_n = -b / p) both solve it; what is found is one of them."""
    rod, mu, omega = Rod(), 2.0, 4.0
    assert rod.p(mu) < 0 < rod.b(omega)
    v = rod.velocity(-1.0, omega)
    result = mb.studies.coulomb_viscous_acceleration(rod.world, rod.q, v, None, rod.contact(mu), **cone)
    assert (result.level, result.status, result.reason) == ("acceleration", "solved", "not unique")
    assert min(abs(result.normal[0]), abs(result.normal[0] + rod.b(omega) / rod.p(mu))) <= 1e-9


@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0])
def test_painleve_rod_with_viscous_friction_alone_is_never_inconsistent(mu):
    """The sign of p that makes the paradox needs friction that grows with f_n."""
    rod = Rod()
    c = mb.studies.point_contacts(0, WORLD, [[0, 0, 0]], [[0, 0, 1.0]], viscous=mu)
    result = mb.studies.viscous_acceleration(rod.world, rod.q, rod.velocity(-1.0, 0.0), None, c)
    assert (result.level, result.status) == ("acceleration", "solved")
    torque = 3 * rod.c * rod.s * mu / rod.m  # of the viscous force mu * 1 m/s along +x, on the tip's height
    assert result.normal[0] == pytest.approx((9.81 + torque) / rod.p(0.0), rel=1e-12)


# --- input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(normal=[[0, 0, 0]]), "normal.0. is zero"),
        (dict(mu=-0.1), "mu must be at least 0"),
        (dict(body_a=0.5), "body indices"),
        (dict(viscous=[1.0, 2.0, 3.0]), "viscous must be"),
        (dict(tangent=[[0, 0, 2.0]]), "parallel to its normal"),
        (dict(radius_a=0.0, radius_b=0.0), "two vertices"),
        (dict(point=[[0, np.nan, 0]]), "finite"),
    ],
)
def test_wrong_contacts_are_refused(change, message):
    good = dict(body_a=0, body_b=WORLD, point=[[0, 0, 0]], normal=[[0, 0, 1.0]])
    with pytest.raises(InputError, match=message):
        mb.studies.point_contacts(**{**good, **change})


def test_wrong_calls_are_refused():
    world = free_body("sphere", (0.1,), 1.0)
    c = mb.studies.point_contacts(0, WORLD, [[0, 0, 0]], [[0, 0, 1.0]])
    with pytest.raises(InputError, match="bodies 0 to 0"):
        mb.studies.no_slip_step(world, pose(), np.zeros(6), None, c._replace(body_a=np.array([3])), 0.01)
    with pytest.raises(InputError, match="dt must be"):
        mb.studies.no_slip_step(world, pose(), np.zeros(6), None, c, 0.0)
    with pytest.raises(InputError, match="v must have 6"):
        mb.studies.no_slip_step(world, pose(), np.zeros(5), None, c, 0.01)
    with pytest.raises(InputError, match="held must be"):
        mb.studies.no_slip_step(world, pose(), np.zeros(6), None, c, 0.01, held=[True, False])
    with pytest.raises(InputError, match="directions"):
        mb.studies.coulomb_viscous_step(world, pose(), np.zeros(6), None, c, 0.01, directions=5)


def test_no_contacts_is_free_motion():
    world = free_body("sphere", (0.1,), 1.0)
    none = mb.studies.point_contacts(0, WORLD, np.zeros((0, 3)), np.zeros((0, 3)))
    for step in (mb.studies.no_slip_step, mb.studies.viscous_step, mb.studies.coulomb_viscous_step):
        np.testing.assert_allclose(step(world, pose(), np.zeros(6), None, none, 0.1).v[5], -0.981)
    result = mb.studies.viscous_acceleration(world, pose(), np.zeros(6), None, none)
    assert result.v_dot[5] == pytest.approx(-9.81) and result.status == "solved"

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts on random trees and on single bodies for Drumwright's models, and their equations by dense matrices."""

from __future__ import annotations

import numpy as np

import mb_contact as mb
from mb_contact.types import WORLD
from oracles.dense_oracle import Dense, advance, random_forest, random_state

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


def tilted(angle):
    """Gravity in the axes of a slope that falls along x."""
    return 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])

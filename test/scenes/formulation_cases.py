# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Random step problems: trees, states, contacts, loops; and all velocities that solve a small one."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.spatial.transform import Rotation

from mb_contact.studies.formulations.loops import LoopClosure
from mb_contact.studies.formulations.step_problem import FLOOR, ContactPoint, StepProblem
from mb_contact.types import WORLD
from oracles.dense_oracle import Dense, random_forest, random_state

DT = 1e-2
LOOP_ROWS = {"weld": 6, "axis": 5, "point": 3, "distance": 1, "planar": 3, "screw": 5}


def random_step(seed, n_f=None, friction=None, redundant=None, driven=False, **options):
    """StepProblem of a random state of a random forest, with 0-2 loops and 1-8 contacts.

    Without friction the loops are open, not at rest, and gaps are large enough that one velocity which closes the
    loops opens every contact; else nothing solves the problem.  With friction that is not enough: a driven loop
    can jam.  Then the loops' prescribed velocity is such that standing still solves their rows (all terms of them
    are there, in balance), which guarantees a solution; with ``driven`` it is not, and there may be none.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 13))
    forest = random_forest(rng, n, roots=int(rng.integers(1, 4)))
    q, v = random_state(rng, forest.tree)
    dense = Dense(forest.tree, q, v)
    loops = consistent_loops(rng, forest, dense, q, v, int(rng.integers(0, 3)))
    if loops and (rng.random() < 0.2 if redundant is None else redundant):
        loops.append(loops[0])  # the same closure twice
    n_f = int(rng.choice([4, 6, 8])) if n_f is None else n_f
    if friction is None:
        friction = 0.0 if rng.random() < 0.3 else rng.uniform(0.1, 1.0)
    contacts = [random_contact(rng, dense, friction) for _ in range(rng.integers(1, 9))]
    options = {"time_step": DT, "friction_directions": n_f, **options}
    effort = rng.normal(size=len(v))
    problem = StepProblem(forest, q, v, effort, contacts, loops, **options)
    contacts = [contact for i, contact in enumerate(contacts) if not almost_held(problem, i)] or contacts[:1]
    problem = StepProblem(forest, q, v, effort, contacts, loops, **options)
    if friction > 0.0 and loops and not driven:
        ends = np.cumsum([0, *(LOOP_ROWS[loop.kind] for loop in loops)])
        k = problem.rows.constant
        loops = [loop._replace(velocity=k[i:j]) for loop, i, j in zip(loops, ends, ends[1:])]
        problem = StepProblem(forest, q, v, effort, contacts, loops, **options)
    opened = open_contacts(rng, dense, problem, driven or friction == 0.0)
    return StepProblem(forest, q, v, effort, opened, loops, **options)


def almost_held(problem, i):
    """Whether the hinges leave contact i less than a hundredth of its mobility along some axis, but not nothing.

    There the compliance of the tree is a small difference of large ones of the bodies, and the formulations in
    body coordinates lose digits: about the square of that ratio.
    """
    rows = slice(problem.n_b + 3 * i, problem.n_b + 3 * i + 3)
    ratio = np.sqrt(np.maximum(np.diag(problem.compliance)[rows], 0.0)) / problem.least_scale[rows] * FLOOR
    return bool(((ratio > 1e-7) & (ratio < 1e-2)).any())


def consistent_loops(rng, forest, dense, q, v, count):
    """``count`` closures (fewer where the forest has no room) that together have regular rows."""
    loops = []
    inverse = np.linalg.inv(dense.mass_matrix())
    for _ in range(20):
        if len(loops) == count:
            break
        trial = [*loops, random_loop(rng, dense)]
        if 2 * sum(LOOP_ROWS[loop.kind] for loop in trial) > dense.N:
            continue  # half of the freedom is left to the contacts
        step = StepProblem(forest, q, v, loops=trial)
        G, s = dense_rows(dense, step), step.least_scale  # of rows on free bodies, times a constant
        if np.linalg.eigvalsh(G @ inverse @ G.T / np.outer(s, s))[0] > 1e-3 / FLOOR**2:
            loops = trial
    return loops


def random_contact(rng, dense, friction):
    a, b = rng.choice(dense.n, 2, replace=False)
    b = WORLD if rng.random() < 0.4 else b
    normal = rng.normal(size=3)
    point = dense.p[a] + rng.normal(scale=0.3, size=3)
    return ContactPoint(int(a), int(b), point, normal / np.linalg.norm(normal), 0.0, friction)


def random_loop(rng, dense, kind=None):
    """A closure between two bodies, or one and the world, that is open by about a millimetre."""
    kind = str(rng.choice(list(LOOP_ROWS)[:4])) if kind is None else kind
    a, b = rng.choice(dense.n, 2, replace=False)
    b = WORLD if rng.random() < 0.3 else int(b)
    x = dense.p[a] + rng.normal(scale=0.3, size=3)
    R = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    y = x + rng.normal(scale=1e-3, size=3)
    T = R @ Rotation.from_rotvec(rng.normal(scale=1e-3, size=3)).as_matrix()
    length = 0.0
    if kind == "distance":
        length = 0.4
        y = y + length * R[:, 0]
    p_a, R_a = dense.R[a].T @ (x - dense.p[a]), dense.R[a].T @ R
    p_b, R_b = (y, T) if b == WORLD else (dense.R[b].T @ (y - dense.p[b]), dense.R[b].T @ T)
    return LoopClosure(kind, int(a), b, p_a, p_b, R_a, R_b, length, lead=0.05 if kind == "screw" else 0.0)


def open_contacts(rng, dense, problem, moving):
    """The contacts with gaps that some velocity allows, see ``random_step``."""
    G = dense_rows(dense, problem)
    b, k = problem.n_b, problem.rows.constant
    v = 0.1 * problem.state.v * (moving and rng.random() < 0.3)
    if b:
        v = v - np.linalg.lstsq(G[:b], G[:b] @ v + k[:b], rcond=1e-10)[0]
    opened = []
    for i, contact in enumerate(problem.contacts):
        speed = G[b + 3 * i] @ v
        gap = 0.0 if rng.random() < 0.6 else rng.choice([5e-3, -5e-3])
        opened.append(contact._replace(gap=float(max(gap, 1.001 * problem.dt * -speed) if speed < 0.1 else gap)))
    return opened


def dense_rows(dense, problem):
    """Rows G (R, N) by the dense oracle."""
    G = np.zeros((len(problem.rows.constant), dense.N))
    for r in range(len(G)):
        for body, on in (
            (problem.rows.body_a[r], problem.rows.on_a[r]),
            (problem.rows.body_b[r], problem.rows.on_b[r]),
        ):
            if body != WORLD:
                G[r] += on @ dense.point_jacobian(body, dense.p[body])
    return G


# --- all solutions --------------------------------------------------------------------------------


def only_velocity(problem, G, M, v_free, tol=1e-7):
    """theta_dot+ (N,) if it is the only one that solves the problem, else None; for few contacts.

    Every solution has each contact in one of 2 + 2 n_f states: separate, stick, slip with friction on a vertex
    or an edge of the pyramid.  Each choice of states is a linear system.  What cannot be excluded (a singular
    system, a small violation) counts as a solution, so an answer is certain and None is not.
    """
    b, n_u, n_f = problem.n_b, problem.n_u, problem.n_f
    k = problem.rows.constant
    inverse = np.linalg.inv(M)
    if b:  # loops out: projected compliance and free velocity
        response = inverse @ G[:b].T
        S = np.linalg.pinv(G[:b] @ response, rcond=1e-11, hermitian=True)
        v_free = v_free - response @ S @ (G[:b] @ v_free + k[:b])
        inverse = inverse - response @ S @ response.T
    J = G[b:]
    W, q = J @ inverse @ J.T, J @ v_free + k[b:]
    states = contact_states(n_f)
    found = []
    for choice in itertools.product(range(len(states)), repeat=n_u):
        r = candidate(problem, W, q, [states[c] for c in choice], tol)
        if r is False:
            return None
        if r is not None:
            v = v_free + inverse @ (J.T @ r)
            if all(np.abs(v - other).max() > 1e-9 for other in found):
                found.append(v)
            if len(found) > 1:
                return None
    return found[0] if found else None


def contact_states(n_f):
    angle = 2 * np.pi * np.arange(n_f) / n_f
    D = np.column_stack([np.cos(angle), np.sin(angle)])
    states = [("separate", None), ("stick", None)]
    states += [("slip", (D[j],)) for j in range(n_f)]
    return states + [("slip", (D[j], D[(j + 1) % n_f])) for j in range(n_f)]


def candidate(problem, W, q, states, tol):
    """Impulses r of a choice of states, None if they break a condition, False where the system leaves r open."""
    R, columns, rows = len(q), [], []
    for i, (kind, d) in enumerate(states):
        if kind == "separate":
            continue
        e = np.zeros((R, 3))
        e[3 * i : 3 * i + 3] = np.eye(3)
        mu = problem.mu[i]
        if kind == "stick":
            columns += list(e.T)
            rows += list(e.T)
        else:  # F_n and the difference of two betas; no slip along the pyramid's edge
            middle = sum(d) / len(d)
            columns.append(e[:, 0] + mu * (e[:, 1:] @ middle))
            rows.append(e[:, 0])
            if len(d) == 2:
                edge = e[:, 1:] @ (d[0] - d[1])
                columns.append(edge)
                rows.append(edge)
    r = np.zeros(R)
    if columns:
        C, A = np.array(columns).T, np.array(rows)
        A = A @ W @ C
        right = -np.array(rows) @ q
        U, s, Vh = np.linalg.svd(A)
        rank = int((s > 1e-9 * np.trace(W)).sum())
        x = Vh[:rank].T @ ((U[:, :rank].T @ right) / s[:rank])
        if np.abs(A @ x - right).max() > tol:
            return None
        r = C @ x
        open_directions = C @ Vh[rank:].T
    else:
        open_directions = np.zeros((R, 0))
    u = W @ r + q
    certain = open_directions.shape[1] == 0
    moving = np.abs(W @ open_directions).max(initial=0.0) > 1e-7 * np.trace(W)
    if moving:
        return False
    # with open directions u is certain all the same, the signs of r are not: then only u can exclude
    return r if fits(problem, r, u, states, tol, certain) else None


def fits(problem, r, u, states, tol, certain):
    for i, (kind, d) in enumerate(states):
        x, y = r[3 * i : 3 * i + 3], u[3 * i : 3 * i + 3]
        if kind == "separate":
            if y[0] < -tol:
                return False
            continue
        if certain and x[0] < -tol:
            return False
        if kind == "stick" and certain and not in_pyramid(x, problem.mu[i], problem.n_f, tol):
            return False
        if kind == "slip":
            sigma = max(-(e @ y[1:]) for e, in ((e,) for e in all_directions(problem.n_f)))
            if any(-(e @ y[1:]) < sigma - tol for e in d):
                return False
            if certain and len(d) == 2 and not in_pyramid(x, problem.mu[i], problem.n_f, tol):
                return False
    return True


def all_directions(n_f):
    angle = 2 * np.pi * np.arange(n_f) / n_f
    return np.column_stack([np.cos(angle), np.sin(angle)])


def in_pyramid(x, mu, n_f, tol):
    """Whether friction is in the polygon with vertices mu F_n d_j."""
    angle = 2 * np.pi * (np.arange(n_f) + 0.5) / n_f
    out = np.column_stack([np.cos(angle), np.sin(angle)])
    return (out @ x[1:]).max() <= mu * x[0] * np.cos(np.pi / n_f) + tol

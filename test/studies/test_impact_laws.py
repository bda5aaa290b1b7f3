# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The three impact laws on W and u: both phases judged in NumPy, and the energy that they create or take."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.solvers.blocks import CONTACT, UNILATERAL, solve_blocks
from mb_contact.studies.impact_laws import LAWS
from mb_contact.types import WORLD
from oracles.dense_oracle import random_forest, random_state
from scenes.contact_problems import random_problem

pytestmark = pytest.mark.quick


def judge(W, u, mu, theta, r, directions):
    """Residual of r_n - theta _|_ u_n and of friction bounded by mu r_n, in NumPy; r are total impulses."""
    n = len(mu)
    w = W @ r + u
    normal = 3 * np.arange(n)
    scale = np.sqrt(np.diag(W))
    worst = np.abs(np.minimum((r[normal] - theta) * scale[normal], w[normal] / scale[normal])).max()
    limits = slice(3 * n, None)
    worst = max(worst, np.abs(np.minimum(r[limits] * scale[limits], w[limits] / scale[limits])).max(initial=0.0))
    for i in range(n):
        t, v, s = r[3 * i + 1 : 3 * i + 3], w[3 * i + 1 : 3 * i + 3], scale[3 * i + 1 : 3 * i + 3].mean()
        bound = mu[i] * r[3 * i]
        if directions is None:  # maximal dissipation on the disc
            x = t - v / s**2
            size = np.linalg.norm(x)
            worst = max(worst, s * np.linalg.norm(t - x * min(1.0, bound / size if size else 1.0)))
            continue
        angle = 2 * np.pi * np.arange(directions) / directions
        D = np.column_stack([np.cos(angle), np.sin(angle)])
        edge = np.cos(np.pi / directions)  # support lines of the polygon at its edges
        middle = np.column_stack([np.cos(angle + np.pi / directions), np.sin(angle + np.pi / directions)])
        worst = max(worst, s * ((middle @ t).max() - bound * edge))
        worst = max(worst, s * abs(t @ v - (bound * D @ v).min()) / (1.0 + np.linalg.norm(v)))
    return worst


def posed(seed, contacts=3, limits=1, dof=8, **options):
    """W and u of a random collision, coefficients of its contacts."""
    problem = random_problem([seed, contacts], contacts, limits, dof, tight=1.0, **options)
    eps = np.random.default_rng(seed).uniform(0.0, 1.0, contacts)
    return problem, problem.W, problem.q, problem.mu[:contacts], eps


@pytest.mark.parametrize("directions", [4, 8, None])
@pytest.mark.parametrize("law", LAWS)
def test_both_phases_solve_the_problem_of_their_law(law, directions):
    for seed in range(12):
        _, W, u, mu, eps = posed(seed)
        phases = mb.studies.two_phases(W, u, mu, eps, law=law, directions=directions, energy_gain="allow")
        normal = 3 * np.arange(len(mu))
        assert judge(W, u, mu, 0.0, phases.compression, directions) <= 1e-9
        theta = np.zeros(len(u))
        theta[normal] = eps * phases.compression[normal]
        if law == "newton":
            wanted = u.copy()
            wanted[normal] += eps * np.minimum(u[normal], 0.0)
            total = phases.compression + phases.decompression
            assert judge(W, wanted, mu, 0.0, total, directions) <= 1e-9
        elif law == "papers":
            assert judge(W, phases.u_compressed + W @ theta, mu, 0.0, phases.decompression - theta, directions) <= 1e-9
        else:
            assert judge(W, phases.u_compressed, mu, theta[normal], phases.decompression, directions) <= 1e-9
        change = 0.5 * (phases.u_after + u) @ (phases.compression + phases.decompression)
        assert phases.energy_change == pytest.approx(change, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_without_restitution_nothing_follows_compression(law):
    _, W, u, mu, _ = posed(3)
    phases = mb.studies.two_phases(W, u, mu, 0.0, law=law)
    assert np.abs(phases.decompression).max() <= 1e-10
    assert phases.energy_change <= 0.0


@pytest.mark.parametrize("contacts, limits, dof", [(1, 0, 6), (3, 2, 10), (4, 0, 6), (8, 1, 6)])
def test_the_solver_solves_both_phases(contacts, limits, dof):
    """Also with more contacts than the body has degrees of freedom; the judge is NumPy's."""
    for seed in range(40):
        _, W, u, mu, eps = posed(seed, contacts, limits, dof)
        kind, size = [CONTACT] * contacts + [UNILATERAL] * limits, [3] * contacts + [1] * limits
        rough = np.concatenate([np.outer(mu, [0.0, 1.0, 1.0]).ravel(), np.zeros(limits)])
        p_c = solve_blocks(W, u, kind, size, rough, 8).r
        theta = np.zeros(len(u))
        theta[: 3 * contacts : 3] = eps * p_c[: 3 * contacts : 3]
        second = solve_blocks(W, W @ p_c + u, kind, size, rough + theta, 8)  # least normal impulses
        p_d = second.r
        assert judge(W, u, mu, 0.0, p_c, 8) <= 1e-8
        assert judge(W, W @ p_c + u, mu, theta[: 3 * contacts : 3], p_d, 8) <= 1e-8
        assert second.status == "solved"


def rod_contact(mu, angle=np.pi / 4):
    """A slender rod of mass 1 and half-length 1 that falls on its lower end at 1 m/s: W and u of (n, t1, t2)."""
    r = np.array([-np.cos(angle), 0.0, -np.sin(angle)])
    axis = r / np.linalg.norm(r)
    inverse = 3.0 * (np.eye(3) - np.outer(axis, axis))  # of m l^2 / 3 across the rod
    J = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    moments = np.cross(r, J)
    return J @ J.T + moments @ inverse @ moments.T, J @ [0.0, 0.0, -1.0], np.array([mu])


@pytest.mark.parametrize("directions", [4, None])
def test_the_printed_law_creates_energy_at_a_rod_and_the_default_does_not(directions):
    W, u, mu = rod_contact(0.7)
    printed = mb.studies.two_phases(W, u, mu, 1.0, law="papers", directions=directions, energy_gain="allow")
    assert 1.0 + printed.energy_change / 0.5 == pytest.approx(1.352, abs=5e-4)
    assert mb.studies.two_phases(W, u, mu, 1.0, directions=directions, energy_gain="allow").energy_change <= 0.0
    refused = mb.studies.two_phases(W, u, mu, 1.0, law="papers", directions=directions)
    assert 0.0 < refused.scale < 1.0
    assert refused.energy_change == pytest.approx(0.0, abs=1e-10)


def random_collision(seed, law, **options):
    """A random tree that hits the world and itself with 1 to 4 points, eps and mu up to 1."""
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, int(rng.integers(2, 9)), roots=int(rng.integers(1, 3)))
    q, v = random_state(rng, forest.tree)
    contacts = []
    for _ in range(rng.integers(1, 5)):
        a, b = rng.choice(len(forest.tree.parent), 2, replace=False)
        normal = rng.normal(size=3)
        point = rng.normal(scale=0.5, size=3)
        b = WORLD if rng.random() < 0.5 else int(b)
        normal /= np.linalg.norm(normal)
        contacts.append(mb.studies.ContactPoint(int(a), b, point, normal, 0.0, rng.uniform(0.0, 1.0)))
    eps = rng.choice([0.5, 0.8, 1.0])
    return mb.studies.collide(forest, q, v, contacts, eps, law=law, directions=4, **options), forest, q, v


def test_anitescu_potra_created_no_energy_in_300_random_trees():
    gains = 0
    for seed in range(300):
        collision, *_ = random_collision(seed, "anitescu_potra", energy_gain="allow")
        p = collision.phases
        assert p.energy_compression <= 1e-9
        gains += p.energy_change > 1e-12 + 1e-9 * abs(p.energy_compression)
    assert gains == 0


def test_energy_of_the_phases_is_that_of_the_velocities():
    """And a law that would create some is scaled back by the largest factor, so that exactly none is left over."""
    scaled = 0
    for seed in range(60):
        collision, forest, q, v = random_collision(seed, "papers")
        M = mb.mass_matrix(forest, q)
        before, after = (0.5 * x @ M @ x for x in (v, collision.v_after))
        assert after - before == pytest.approx(collision.phases.energy_change, abs=1e-8 * before)
        assert after <= before * (1.0 + 1e-9)
        if collision.phases.scale < 1.0:
            scaled += 1
            assert after == pytest.approx(before, rel=1e-6)
    assert scaled >= 3


@pytest.mark.parametrize(
    "change, message",
    [
        ({"restitution": 1.1}, "restitution must be from 0 to 1"),
        ({"law": "hertz"}, "law must be one of anitescu_potra"),
        ({"energy_gain": "some"}, "energy_gain one of refuse, allow"),
        ({"mu": [0.5, 0.5]}, "2 contacts need 6 rows"),
        ({"W": np.eye(2)}, "W must be 3 x 3"),
    ],
)
def test_two_phases_refuses_what_does_not_fit(change, message):
    arguments = {"W": np.eye(3), "u": [-1.0, 0.0, 0.0], "mu": [0.5], "restitution": 0.5, **change}
    with pytest.raises(mb.InputError, match=message):
        mb.studies.two_phases(**arguments)

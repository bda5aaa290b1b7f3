# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Coulomb and viscous friction together at accelerations; Painleve's rod."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.types import WORLD
from oracles.dense_oracle import Dense, cross
from scenes.drumwright_cases import (
    GRAVITY,
    DenseCase,
    assert_complementary,
    free_body,
    impulse_of,
    pose,
    random_case,
)


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
def test_painleve_rod_is_inconsistent(cone):
    """mu > 4/3 at tan(theta) = 2: no force at all; the case painleve of ``mb-contact bench fidelity`` has the step."""
    rod, mu = Rod(), 2.0
    assert rod.p(mu) < 0 and rod.b(0.0) < 0
    v = rod.velocity(-1.0, 0.0)
    result = mb.studies.coulomb_viscous_acceleration(rod.world, rod.q, v, None, rod.contact(mu), **cone)
    assert result.status == result.reason == "inconsistent"


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

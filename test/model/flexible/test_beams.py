# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Modes of beams against the transfer matrices of the same differential equations, and against the textbook."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.linalg import expm
from scipy.optimize import brentq

from mb_contact.model.flexible.beams import BeamMaterial, beam_modes, section

E, G, RHO, LENGTH = 2e11, 8e10, 7800.0, 1.3


def beam(theory, shape="rectangle", size=(0.03, 0.1)):
    return BeamMaterial(LENGTH, section(shape, size), E, G, RHO, theory)


def bending_matrix(s, omega, theory):
    """d/dx of (w, th, M = E I th', V = kappa G A (w' - th)): M' = -V - rho I omega^2 th, V' = -rho A omega^2 w."""
    soft, rotary = (1.0 / (s.shear * G * s.area), RHO * s.about_y) if theory == "timoshenko" else (0.0, 0.0)
    return np.array([
        [0, 1, 0, soft], [0, 0, 1 / (E * s.about_y), 0], [0, -rotary * omega**2, 0, -1],
        [-RHO * s.area * omega**2, 0, 0, 0],
    ])  # fmt: skip


@pytest.mark.parametrize("theory", ["euler_bernoulli", "timoshenko"])
@pytest.mark.parametrize("start", ["clamped", "free"])
def test_bending_frequencies_are_roots_of_the_transfer_matrix(theory, start):
    """A clamped start has w = th = 0, a free one M = V = 0; the end is free."""
    known = beam(theory)
    rows = slice(2, 4) if start == "clamped" else slice(0, 2)

    def rest(omega):
        return np.linalg.det(expm(LENGTH * bending_matrix(known.section, omega, theory))[2:, rows])

    for omega in beam_modes(known, 5, ("bending_z",), start).omega:
        assert abs(brentq(rest, 0.998 * omega, 1.002 * omega) / omega - 1.0) < 1e-9


def test_frequencies_of_the_textbook():
    """Of Euler's and Bernoulli's beam (beta L)^2 sqrt(E I / rho A) / L^2, of bars (2 n - 1) pi c / 2 L."""
    known, s = beam("euler_bernoulli"), beam("euler_bernoulli").section
    speed = np.sqrt(E * s.about_y / (RHO * s.area)) / LENGTH**2
    clamped = beam_modes(known, 4, ("bending_z",)).omega / speed
    assert np.allclose(np.sqrt(clamped), [1.87510407, 4.69409113, 7.85475744, 10.99554073], rtol=1e-8)
    free = beam_modes(known, 3, ("bending_z",), "free").omega / speed
    assert np.allclose(np.sqrt(free), [4.73004074, 7.85320462, 10.99560784], rtol=1e-8)
    quarter = np.pi / (2.0 * LENGTH)
    assert np.allclose(beam_modes(known, 3, ("stretch",)).omega, np.array([1, 3, 5]) * quarter * np.sqrt(E / RHO))
    twist = np.sqrt(G * s.torsion / (RHO * (s.about_y + s.about_z)))
    assert np.allclose(beam_modes(known, 2, ("torsion",), "free").omega, np.array([2, 4]) * quarter * twist)


def test_the_modes_are_those_of_the_lowest_frequencies_of_all_motions():
    modes = beam_modes(beam("timoshenko"), 6)
    assert np.all(np.diff(modes.omega) > 0.0)
    alone = [beam_modes(beam("timoshenko"), 6, (motion,)).omega for motion in set(modes.motion)]
    assert np.allclose(modes.omega, np.sort(np.concatenate(alone))[:6])
    w, _, _ = modes.fields(np.linspace(0.0, LENGTH, 50))
    assert np.allclose(np.abs(w).max(axis=0), 1.0, atol=0.01) and np.allclose(w[0], 0.0) and np.all(w[-1] > 0.0)


def test_with_static_modes_the_end_deflects_as_statics_says():
    """F L^3 / 3 E I + F L / kappa G A of a shear beam, and th = F L^2 / 2 E I; one mode alone misses 2 %."""
    known, s = beam("timoshenko"), beam("timoshenko").section
    for static in (True, False):
        modes = beam_modes(known, 1, ("bending_z",), static=static)
        x = 0.5 * LENGTH * (np.polynomial.legendre.leggauss(32)[0] + 1.0)
        weight = 0.5 * LENGTH * np.polynomial.legendre.leggauss(32)[1] * RHO
        w, th, _ = modes.fields(x)
        stiffness = modes.omega**2 * (weight @ (s.area * w**2 + s.about_y * th**2))
        at_end = [field[0] for field in modes.fields(np.array([LENGTH]))]
        deflection, slope = at_end[0] @ (at_end[0] / stiffness), at_end[1] @ (at_end[0] / stiffness)
        want = LENGTH**3 / (3.0 * E * s.about_y) + LENGTH / (s.shear * G * s.area)
        assert (abs(deflection / want - 1.0) < 1e-9) == static
        assert (abs(slope / (LENGTH**2 / (2.0 * E * s.about_y)) - 1.0) < 1e-9) == static
        assert abs(deflection / want - 1.0) < 0.05


def test_sections():
    """Second moments by quadrature; J of a long strip is a b^3 / 3 (1 - 0.63 b / a), of a square 0.1406 a^4."""
    s = section("rectangle", (0.03, 0.1))
    assert np.isclose(s.about_y, dblquad(lambda z, y: z * z, -0.015, 0.015, -0.05, 0.05)[0])
    assert np.isclose(s.about_z, dblquad(lambda z, y: y * y, -0.015, 0.015, -0.05, 0.05)[0])
    assert np.isclose(section("rectangle", (1.0, 1.0)).torsion, 0.140577, rtol=1e-5)
    assert np.isclose(section("rectangle", (0.01, 1.0)).torsion, 0.01**3 / 3.0 * (1.0 - 0.63025 * 0.01), rtol=1e-6)
    ring, disc, hole = section("tube", (0.05, 0.04)), section("circle", (0.05,)), section("circle", (0.04,))
    assert np.isclose(ring.torsion, disc.torsion - hole.torsion) and np.isclose(ring.area, disc.area - hole.area)

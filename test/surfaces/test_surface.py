# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Surfaces: derivatives, frames, Montana's forms, atlases, and what is refused.

Covers core/surfaces/frames.py, core/surfaces/layout.py, core/surfaces/shapes.py, surfaces/charts.py,
surfaces/shapes.py.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces.frames import surface_frame, surface_frame_rate
from mb_contact.core.surfaces.shapes import surface_derivatives
from mb_contact.errors import InputError
from mb_contact.surfaces import shapes
from scenes.surface_cases import KINDS, nets, point_in_many_digits, rotation, surface_of

pytestmark = pytest.mark.nojit

U = (0.37, 0.45)
ORDERS = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3)]
H = 1e-30  #: complex step


def evaluate(surface, s, t, rate=None, chart=0):
    """Workspace after surface and frame at complex (s, t)."""
    code, data = surface.pack(chart)
    work = layout.make_surface_work(complex)
    surface_derivatives(code[None], data, 0, s + 0j, t + 0j, work.basis, work.partial, work.homogeneous, work.D)
    surface_frame(code[None], 0, work.D, work.R, work.A, work.W)
    if rate is not None:
        surface_frame_rate(0, work.D, work.R, work.A, work.W, rate[0] + 0j, rate[1] + 0j, work.W_dot)
    return work


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_the_textbook_formula(kind):
    f = point_in_many_digits(kind)
    got = np.array(surface_of(kind).derivatives(U))
    with mpmath.workdps(60):
        u = [mpmath.mpf(x) for x in U]
        want = [
            [float(mpmath.diff(lambda s, t, c=c: f(s, t)[c], u, orders)) for c in range(3)] for orders in ORDERS
        ]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_each_order_is_the_complex_step_of_the_one_before(kind):
    surface = surface_of(kind)
    got = np.array(surface.derivatives(U))
    along_s, along_t = evaluate(surface, U[0] + 1j * H, U[1]), evaluate(surface, U[0], U[1] + 1j * H)
    for row, (i, j) in enumerate(ORDERS[:6]):
        for moved, orders in ((along_s, (i + 1, j)), (along_t, (i, j + 1))):
            np.testing.assert_allclose(moved.D[0, row].imag / H, got[ORDERS.index(orders)], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_frame_turns_and_moves_as_the_forms_say(kind):
    surface = surface_of(kind).placed(rotation((0.6, 0.0, 0.8), 0.7), (0.1, -0.2, 0.3))
    rate = 0.3, -0.8
    work = evaluate(surface, *U, rate)
    moved = evaluate(surface, U[0] + 1j * H * rate[0], U[1] + 1j * H * rate[1])
    R = work.R[0].real
    spin = R.T @ (moved.R[0].imag / H)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], work.W[0].real @ rate, atol=1e-12)
    np.testing.assert_allclose(R.T @ (moved.D[0, 0].imag / H), [*(work.A[0].real @ rate), 0.0], atol=1e-13)
    np.testing.assert_allclose(moved.W[0].imag / H, work.W_dot[0].real, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("surface", "u", "gaussian", "mean"),
    [
        (shapes.plane(), (0.3, 0.1), 0.0, 0.0),
        (shapes.sphere(0.5), (0.3, 0.8), 4.0, 2.0),
        (shapes.cylinder(0.5), (0.3, 0.8), 0.0, 1.0),
        (shapes.torus(1.0, 0.25), (0.3, 0.0), 1.0 / (0.25 * 1.25), 0.5 * (4.0 + 1.0 / 1.25)),
        (shapes.torus(1.0, 0.25), (0.3, np.pi), -1.0 / (0.25 * 0.75), 0.5 * (4.0 - 1.0 / 0.75)),
        (shapes.ellipsoid((2.0, 1.0, 0.5)), (0.0, 0.0), 2.0**2 / (1.0 * 0.25), 0.5 * (2.0 / 1.0 + 2.0 / 0.25)),
    ],
)
def test_curvatures_of_known_surfaces(surface, u, gaussian, mean):
    forms = surface.forms(u)
    assert forms.gaussian == pytest.approx(gaussian, abs=1e-13)
    assert forms.mean == pytest.approx(mean, abs=1e-13)
    assert surface.flipped().forms(u).mean == pytest.approx(-mean, abs=1e-13)
    np.testing.assert_allclose(forms.curvature, forms.curvature.T, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_curvature_form_is_symmetric_with_skew_coordinates(kind):
    curvature = surface_of(kind).forms(U).curvature
    np.testing.assert_allclose(curvature, curvature.T, atol=1e-12 * (1.0 + np.abs(curvature).max()))


def test_torsion_of_a_sphere_is_that_of_its_parallels():
    radius, latitude = 0.7, 0.5  # Montana 1988: tan(latitude) / radius along the parallel
    assert shapes.sphere(radius).forms((0.2, latitude)).torsion == pytest.approx([np.tan(latitude) / radius, 0.0])


def test_charts_of_an_ellipsoid_cover_it():
    surface = shapes.ellipsoid((1.0, 0.7, 0.5))
    directions = np.random.default_rng(0).normal(size=(100, 3))
    for direction in (*directions, np.eye(3)[2], -np.eye(3)[2], np.eye(3)[0]):
        point = direction / np.linalg.norm(direction / [1.0, 0.7, 0.5])
        chart, u, distance = surface.locate(point)
        assert surface.charts[chart].holds(u) and distance < 1e-14


def test_atlas_of_two_patches_is_one_surface():
    points, _ = nets(4, 4)
    left, right = split_along_s(points, 0.4)
    whole, parts = shapes.bezier(points), shapes.atlas((shapes.bezier(left), shapes.bezier(right)))
    for s, t in np.random.default_rng(1).random((20, 2)):
        chart, u, distance = parts.locate(whole.point((s, t)))
        assert chart == (s > 0.4) and distance < 1e-14
        assert parts.forms(u, chart).gaussian == pytest.approx(whole.forms((s, t)).gaussian, rel=1e-9)


def split_along_s(points, at):
    """De Casteljau: the control nets of both halves."""
    rows, left, right = [np.array(points)], [], []
    while True:
        left.append(rows[-1][0])
        right.append(rows[-1][-1])
        if len(rows[-1]) == 1:
            return np.array(left), np.array(right[::-1])
        rows.append((1.0 - at) * rows[-1][:-1] + at * rows[-1][1:])


def test_a_full_circle_is_a_rational_surface():
    """Rational quadratic arc of a quarter: exactly on the cylinder, which polynomials cannot be."""
    half = np.sqrt(0.5)
    points = [[(1, 0, z) for z in (0, 1)], [(1, 1, z) for z in (0, 1)], [(0, 1, z) for z in (0, 1)]]
    patch = shapes.bezier(points, [[1, 1], [half, half], [1, 1]])
    for s in np.linspace(0.0, 1.0, 7):
        assert np.hypot(*patch.point((s, 0.3))[:2]) == pytest.approx(1.0, abs=1e-15)
        assert patch.forms((s, 0.3)).mean == pytest.approx(0.5, abs=1e-12)


def bad_net():
    return np.zeros((3, 3, 2))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: shapes.sphere(0.0), "axes must be greater than zero"),
        (lambda: shapes.torus(1.0, -0.1), "radius and tube"),
        (lambda: shapes.bezier(bad_net()), "n x m x 3"),
        (lambda: shapes.bezier([[(0, 0, 0), (0, 1)], [(1, 0, 0), (1, 1, 0)]]), "every row"),
        (lambda: shapes.bezier(nets()[0], np.zeros((4, 5))), "greater than zero"),
        (lambda: shapes.nurbs(nets()[0], (0, 0, 1, 1), (0,) * 5 + (1,) * 5), "degree"),
        (lambda: shapes.nurbs(nets()[0], (0, 0, 0, 1, 0.5, 1, 1), (0,) * 5 + (1,) * 5), "must not decrease"),
        (lambda: shapes.bezier(nets(20, 3)[0]), "allowed are 1 to 15"),
        (lambda: shapes.sphere(1.0).forms((0.0, np.pi / 2)), "singular"),
        (lambda: shapes.sphere(1.0).point((0.0, np.nan)), "finite"),
        (lambda: shapes.sphere(1.0).point((0.0, 0.0), 2), "charts 0 to 1"),
        (lambda: shapes.plane().placed(np.diag([1.0, 1.0, -1.0])), "rotation"),
        (lambda: shapes.atlas((shapes.plane(), shapes.plane().flipped())), "side"),
        (lambda: shapes.atlas(()), "at least one chart"),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()

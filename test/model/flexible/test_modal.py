# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies in modes: what few points say of their kinetic energy, and modes seen from another frame."""

import numpy as np

from mb_contact.model.flexible.modal import ModalBody, fixed_at, modal_mass, normal_modes
from mb_contact.model.flexible.spec import beam_body
from scenes.flexible_robots import strip


def random_body(rng, points=40, modes=3):
    spread = rng.normal(size=(modes, modes))
    short = rng.normal(size=(points, modes, modes))
    return ModalBody(
        rng.normal(size=(points, 3)), rng.normal(size=(points, 3, modes)), rng.normal(size=(points, 3, modes)),
        short + np.swapaxes(short, 1, 2), np.array([0.0, 0.6, 0.8]), rng.uniform(0.1, 1.0, points),
        np.array([np.diag(x) for x in rng.uniform(0.1, 1.0, (points, 3))]), spread @ spread.T,
    )  # fmt: skip


def kinetic_energy(body, eta, w, v, rate):
    """Half the sum of m |v + w x rho + rho'|^2, and of the sections' turning, point by point."""
    total = 0.0
    for x, shape, slope, short, m, J in zip(*body[:4], body.mass, body.inertia):
        rho = x + shape @ eta + 0.5 * (eta @ short @ eta) * body.axis
        velocity = v + np.cross(w, rho) + shape @ rate + (eta @ short @ rate) * body.axis
        turning = w + slope @ rate
        total += 0.5 * m * velocity @ velocity + 0.5 * turning @ J @ turning
    return total


def test_few_points_have_the_kinetic_energy_of_many():
    """Of 40 points with three modes 1 + 3 + 9 + 6 remain; of a strip's 32, 2 + 4 + 6 at most."""
    rng = np.random.default_rng(4)
    strips = beam_body(strip(), 0.0, [], np.zeros(3))[0]
    for body, most in ((random_body(rng), 19), (strips, 15)):
        few, r = modal_mass(body), body.modes
        assert len(few.one) <= most and np.isclose(few.mass, body.mass.sum())
        for _ in range(5):
            eta, w, v, rate = rng.normal(size=r), rng.normal(size=3), rng.normal(size=3), rng.normal(size=r)
            got = 0.0
            for one, x, shape, short in zip(few.one, few.point, few.shape, few.short):
                rho = x + eta @ shape + 0.5 * (eta @ short @ eta) * few.axis
                u = one * v + np.cross(w, rho) + rate @ shape + (eta @ short @ rate) * few.axis
                got += 0.5 * u @ u
            got += 0.5 * w @ few.turning @ w + rate @ few.turning_modes @ w + 0.5 * rate @ few.turning_mass @ rate
            assert np.isclose(got, kinetic_energy(body, eta, w, v, rate), rtol=1e-12)


def test_normal_modes_diagonalise_mass_and_stiffness():
    body, omega = normal_modes(random_body(np.random.default_rng(5)))
    M = modal_mass(body).modal
    assert np.allclose(M, np.diag(np.diag(M)), atol=1e-10)
    assert np.allclose(body.stiffness, np.diag(omega**2 * np.diag(M)))
    assert np.allclose(np.linalg.norm(body.shape, axis=1).max(axis=0), 1.0)


def test_modes_seen_from_a_point_leave_it_where_it_is():
    """Only rigid motions are taken away: distances between points change as they did."""
    body = random_body(np.random.default_rng(6))
    held = fixed_at(body, 7)
    assert np.allclose(held.shape[7], 0.0) and np.allclose(held.slope[7], 0.0)
    for a, b in ((0, 1), (3, 9)):
        along = body.point[a] - body.point[b]
        assert np.allclose(along @ (held.shape[a] - held.shape[b]), along @ (body.shape[a] - body.shape[b]))


def test_a_beam_that_is_free_at_both_ends_and_held_by_its_end():
    """Free modes seen from the held end come near the clamped frequency from above, and nearer with more of them."""
    def lowest(**keys):
        return beam_body(strip(motions=("bending_z",), **keys), 0.0, [], np.zeros(3))[1][0]

    clamped, found = lowest(), [lowest(root="free", modes=r) for r in (2, 4, 8)]
    assert clamped < found[2] < found[1] < found[0] < 1.4 * clamped and found[2] < 1.1 * clamped


def test_the_shortening_of_a_bent_beam():
    """The length along the axis stays: the end comes back by half the integral of w'^2."""
    body, _ = beam_body(strip(modes=1, motions=("bending_z",)), 0.0, [np.array([0.5, 0.0, 0.0])], np.zeros(3))
    order = np.argsort(body.point[:, 0])
    x, w = body.point[order, 0], 0.02 * body.shape[order, 2, 0]
    back = -0.5 * np.trapezoid(np.gradient(w, x, edge_order=2) ** 2, x)
    assert np.isclose(0.5 * 0.02**2 * body.short[-1, 0, 0], back, rtol=1e-2)
    assert not beam_body(strip(stiffening=False), 0.0, [], np.zeros(3))[0].short.any()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Motion in contact coordinates against formulas and independent references.

Covers core/surfaces/steps.py, surfaces/stepping.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.optimize import minimize

from mb_contact.errors import DynamicsError, InputError
from mb_contact.surfaces import SurfaceBody, shapes
from scenes.surface_cases import G, OneContact, ball, patch_motion, rolling_reference, rotation

DOWN = (0.0, 0.0, -1.0)


def lowered(body, base, turned=None, at=(0.0, 0.0, 1.0), **options):
    """A motion and the q of its body lowered onto the base."""
    motion = OneContact(body, base, **options)
    q, _ = motion.contact.first_touch(np.eye(3) if turned is None else turned, at, DOWN)
    return motion, q


def roll_with(motion, q, w):
    """Start rolling with absolute angular velocity w, world axes, on a base at rest."""
    motion.roll(q, motion.contact.surfaces[0].frame(q[:2], motion.contact.charts[0]).T @ w)


# --- P00's Figure 2 ---------------------------------------------------------------------------------


def test_figure_2_keeps_energy_and_falls_straight_down():
    """RK4 at 1 ms over 10 s, nothing stabilised; the gap is found anew from control nets and poses."""
    motion, net = patch_motion()
    energy, (start, _, _) = motion.energy(), motion.centre_of_mass()
    heights, normals = [], []
    for i in range(100):
        motion.run(0.1, 1e-3)
        p, _, _ = motion.centre_of_mass()
        heights.append(p[2])
        normals.append(motion.contact_force().normal_force)
        assert motion.energy() == pytest.approx(energy, rel=1e-9)
        assert np.abs(p[:2] - start[:2]).max() <= 1e-9
        if i % 20 == 0:
            assert abs(lowest_point(net, *motion.pose(), motion.q[2:4])) <= 1e-9
    assert motion.time == pytest.approx(10.0) and motion.mode_name == "sliding" and not motion.events
    assert max(heights) - min(heights) > 0.03 and min(normals) > 0.0  # it does rock


def lowest_point(net, R, p, near):
    """Height above z = 0 of a bicubic patch by SciPy's splines: its gap to the flat patch."""
    knots = np.repeat((0.0, 1.0), 4)
    height = net @ R[2] + p[2]

    def point(u):
        return BSpline(knots, BSpline(knots, height, 3)(u[0]), 3)(u[1])

    return minimize(point, near + 1e-3, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-15}).fun


def test_contact_wrench_is_a_force_along_the_normal():
    """P00: f back-substituted into the second row of Eq. 13; without friction nothing but the normal is left."""
    motion, _ = patch_motion()
    motion.run(1.3, 1e-3)
    force = motion.contact_force()
    np.testing.assert_allclose(force.moment, 0.0, atol=1e-13)
    np.testing.assert_allclose(force.force, force.normal * force.normal_force, atol=1e-12)
    h = 1e-4  # Newton's law for the centre of mass, which moves along z alone
    v = []
    for _ in range(2):
        v.append(motion.centre_of_mass()[2][2])
        motion.run(2 * h, h)
    assert force.normal_force == pytest.approx(G + (v[1] - v[0]) / (2 * h), rel=1e-3)


# --- rolling ---------------------------------------------------------------------------------------


def test_ball_in_a_bowl_has_the_period_of_the_formula():
    R, r, angle = 1.0, 0.1, 1e-4
    motion = OneContact(ball(r), shapes.sphere(R).flipped(), friction=np.inf)
    q, _ = motion.contact.first_touch(np.eye(3), -0.8 * (R - r) * np.array([np.sin(angle), 0.0, np.cos(angle)]), DOWN)
    motion.roll(q)
    period = 2.0 * np.pi * np.sqrt(7.0 * (R - r) / (5.0 * G))
    assert measured_period(motion, period) == pytest.approx(period, rel=1e-6)


def measured_period(motion, about, axis=0):
    """Twice the time between two passages of the middle, by the secant rule on the position."""
    times = []
    for guess in (0.25, 0.75):
        motion.run(guess * about - motion.time - 1e-3, 1e-3)
        a, x = motion.time, motion.centre_of_mass()[0][axis]
        motion.run(2e-3, 1e-3)
        y = motion.centre_of_mass()[0][axis]
        assert x * y < 0.0
        times.append(a + 2e-3 * x / (x - y))
    return 2.0 * (times[1] - times[0])


@pytest.mark.parametrize("moment", [0.4, 2 / 3])
def test_ball_on_a_turntable_runs_in_circles(moment):
    """At k / (1 + k) of the table's rate, k = I / (m r^2): 2/7 for a full ball."""
    r, table_rate = 0.1, 2.0
    turns = {"angular_velocity": (0.0, 0.0, table_rate), "friction": np.inf}
    motion, q = lowered(ball(r, moment=moment), shapes.plane(), at=(0.5, 0.0, 1.0), **turns)
    motion.roll(q, (0.3, 0.2, 0.1))
    rate = table_rate * moment / (1.0 + moment)
    p, _, v = motion.centre_of_mass()
    centre = p + np.cross((0.0, 0.0, 1.0), v) / rate
    for _ in range(8):
        motion.run(2.0 * np.pi / rate / 8.0, 2e-3)
        want = centre + rotation((0, 0, 1), rate * motion.time) @ (p - centre)
        np.testing.assert_allclose(motion.centre_of_mass()[0], want, atol=1e-6 * np.linalg.norm(p - centre))
    assert motion.hand_overs > 0  # the ball's charts change on the way


@pytest.mark.parametrize("mode", ["slide", "roll", "fly"])
def test_a_base_that_travels_is_another_frame(mode):
    """Nothing but the velocity of the base is added, whatever happens on the way."""
    R, along = rotation((0, 1, 0), 0.4), np.array([0.7, -0.3, 0.2])
    body = SurfaceBody(shapes.ellipsoid((0.1, 0.15, 0.2)).placed(p=(0.01, 0.0, -0.02)), 1.3, 0.02 * np.eye(3))
    motions = []
    for velocity in (np.zeros(3), along):
        motion = OneContact(body, shapes.plane(), 0.3, 0.4, R=R, p=(0.1, 0.2, 0.3), velocity=velocity)
        start = 0.5 * velocity
        if mode == "fly":
            motion.set_time(0.5)
            motion.fly(np.eye(3), start + (0.0, 0.0, 0.9), (1.0, 2.0, 3.0), velocity)
        else:
            q, _ = motion.contact.first_touch(R.T, (0.0, 0.0, 1.0), DOWN)
            v = (0.5, 0.1, 2.0, 1.0, -1.0) if mode == "slide" else (0.3, 1.0, 2.0)
            motion.set_time(0.5)
            getattr(motion, mode)(q, v)
        motion.run(0.4, 1e-3)
        motions.append(motion)
    still, moving = motions
    np.testing.assert_allclose(moving.pose()[1], still.pose()[1] + 0.9 * along, atol=1e-9)
    np.testing.assert_allclose(moving.pose()[0], still.pose()[0], atol=1e-9)
    np.testing.assert_allclose(moving.centre_of_mass()[2], still.centre_of_mass()[2] + along, atol=1e-9)
    np.testing.assert_allclose(moving.tree.pose("the base")[1], (0.1, 0.2, 0.3) + 0.9 * along, atol=1e-14)
    assert [event.kind for event in moving.events] == [event.kind for event in still.events]
    assert moving.tree.v[0] == np.linalg.norm(along)  # nothing that it carries changes it


def test_cylinder_across_a_cylinder_rocks_as_the_formula():
    """A bar of thickness 2 h across a cylinder of radius R: omega^2 = g (R - h) / (k^2 + h^2)."""
    R, h, k2, mass = 0.5, 0.2, 0.03, 2.0
    along_y, along_x = rotation((1, 0, 0), np.pi / 2), rotation((0, 1, 0), np.pi / 2)
    bar = SurfaceBody(shapes.cylinder(h).placed(along_x), mass, mass * np.diag([0.02, k2, k2]))
    base = shapes.cylinder(R).placed(along_y)
    angle = 1e-4
    p = np.array([R * np.sin(angle), 0.0, 0.8])
    motion, q = lowered(bar, base, rotation((0, 1, 0), angle), p, friction=np.inf)
    motion.roll(q)
    x = []
    rate = np.sqrt(G * (R - h) / (k2 + h * h))
    tilt = lambda: np.arctan2(-motion.pose()[0][2, 0], motion.pose()[0][0, 0])  # noqa: E731
    first, period = tilt(), 2.0 * np.pi / rate
    for _ in range(8):
        motion.run(period / 8.0, 1e-3)
        x.append(tilt() - 0.0)
    offset = np.mean(x)
    np.testing.assert_allclose(x[7] - offset, first - offset, rtol=1e-6)
    np.testing.assert_allclose(x[3] - offset, offset - first, rtol=1e-6)


def ellipsoid_arm(axes, offset):
    """From the centre of mass to the lowest point of an ellipsoid whose centre is at ``offset``."""
    squares = np.square(axes)
    return lambda n: offset - squares * n / np.sqrt(np.sum(squares * n * n))


def compare_rolling(body, arm, R, w, duration, step):
    """Roll on a plane and integrate the reference; upward normals and angular velocities in body axes, both."""
    motion, q = lowered(body, shapes.plane(), R, friction=np.inf, release=False)
    roll_with(motion, q, w)
    times = np.linspace(0.0, duration, 11)
    n, spin = rolling_reference(arm, body.mass, body.inertia, R[2], R.T @ w, times)
    got_n, got_spin = [], []
    for i, time in enumerate(times):
        motion.run(time - motion.time, step) if i else None
        E, _ = motion.pose()
        got_n.append(E[2])
        got_spin.append(E.T @ motion.centre_of_mass()[1])
    scale = np.abs(spin).max()
    np.testing.assert_allclose(got_n, n, atol=1e-6)
    np.testing.assert_allclose(got_spin, spin, atol=1e-6 * scale)
    return motion, np.sum(n * spin, 1)


def test_rattleback_reverses_its_spin():
    """Kane and Levinson's celt: axes of inertia turned against those of the ellipsoid."""
    axes, offset = np.array([0.2, 0.03, 0.02]), np.array([0.0, 0.0, 0.01])
    inertia = np.array([[2e-4, -2e-5, 0.0], [-2e-5, 1.6e-3, 0.0], [0.0, 0.0, 1.7e-3]])
    body = SurfaceBody(shapes.ellipsoid(axes).placed(p=offset), 1.0, inertia)
    R = rotation((1, 0, 0), np.deg2rad(0.5)) @ rotation((0, 1, 0), np.deg2rad(0.5))
    _, spin = compare_rolling(body, ellipsoid_arm(axes, offset), R, np.array([0.0, 0.0, -5.0]), 4.0, 1e-4)
    assert spin[0] < -4.9 and spin.max() > 0.5


def test_disc_like_torus_rolls_as_the_reference():
    """A coin with a round rim, rolling and leaning."""
    major, tube, mass = 0.2, 0.03, 1.5
    body = SurfaceBody(shapes.torus(major, tube), mass, mass * major**2 * np.diag([0.5, 0.5, 1.0]))
    R = rotation((1, 0, 0), 1.3)  # its axis is 16 degrees above the horizontal

    def arm(n):
        return -major * n * (1.0, 1.0, 0.0) / np.sqrt(n[0] * n[0] + n[1] * n[1]) - tube * n

    w = R @ np.array([0.0, 0.3, 9.0])
    motion, _ = compare_rolling(body, arm, R, w, 2.0, 1e-3)
    assert motion.energy() == pytest.approx(rolling_energy(body, R, w, arm), rel=1e-9)


def rolling_energy(body, R, w, arm):
    """Energy of a body that rolls on z = 0 with angular velocity w."""
    inside = R.T @ w
    v = np.cross(inside, -arm(R[2]))
    height = -R[2] @ arm(R[2])
    return 0.5 * (inside @ body.inertia @ inside + body.mass * v @ v) + body.mass * G * height


def test_spinning_ellipsoid_rolls_as_the_reference():
    axes = np.array([0.1, 0.15, 0.25])
    inertia = 0.2 * np.diag([axes[1] ** 2 + axes[2] ** 2, axes[0] ** 2 + axes[2] ** 2, axes[0] ** 2 + axes[1] ** 2])
    body = SurfaceBody(shapes.ellipsoid(axes), 1.0, inertia)
    R = rotation((0, 1, 0), 1.2)
    compare_rolling(body, ellipsoid_arm(axes, np.zeros(3)), R, np.array([0.5, 0.2, 8.0]), 2.0, 1e-3)


# --- events ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0.1, 0.5])
def test_ball_sliding_off_a_sphere_leaves_where_it_must(start):
    """From rest at theta_0 it leaves at cos theta = 2/3 cos theta_0 and flies a parabola."""
    R, r = 1.0, 0.3
    p = 2.0 * np.array([np.sin(start), 0.0, np.cos(start)])
    motion = OneContact(ball(r), shapes.sphere(R))
    u1, u2, _ = motion.contact.closest(np.eye(3), p)
    motion.slide(motion.contact.coordinates(u1, u2, np.eye(3)))
    energy = motion.energy()
    while motion.mode_name == "sliding":
        motion.run(1e-3, 1e-3)
    (event,) = motion.events
    again = OneContact(ball(r), shapes.sphere(R))
    again.slide(again.contact.coordinates(*again.contact.closest(np.eye(3), p)[:2], np.eye(3)))
    again.run(event.time, 1e-3)
    at, _, v = again.centre_of_mass()
    assert at[2] / np.linalg.norm(at) == pytest.approx(2.0 / 3.0 * np.cos(start), abs=1e-6)
    motion.run(0.2, 1e-3)
    flight = motion.time - event.time
    np.testing.assert_allclose(motion.centre_of_mass()[0], at + flight * v + [0, 0, -0.5 * G * flight**2], atol=1e-10)
    assert motion.energy() == pytest.approx(energy, rel=1e-10)


def test_sliding_ball_starts_to_roll_at_five_sevenths():
    r, mu, speed = 0.1, 0.3, 2.0
    motion, q = lowered(ball(r), shapes.plane(), friction=mu)
    motion.slide(q, motion.contact.rates(q) @ (0.0, 0.0, 0.0, speed, 0.0))
    motion.run(1.0, 1e-3)
    (event,) = motion.events
    assert event.kind == "sticks" and motion.mode_name == "rolling"
    assert event.time == pytest.approx(2.0 * speed / (7.0 * mu * G), rel=1e-9)
    assert motion.centre_of_mass()[2][0] == pytest.approx(5.0 / 7.0 * speed, rel=1e-9)


@pytest.mark.parametrize(("mu", "mode"), [(0.15, "sliding"), (0.25, "rolling")])
def test_ball_on_a_slope_rolls_where_friction_is_enough(mu, mode):
    """Needed: mu >= 2/7 tan(angle)."""
    angle = np.arctan(0.7)
    motion, q = lowered(ball(0.1), shapes.plane(), friction=mu, R=rotation((0, 1, 0), angle))
    motion.roll(q)
    motion.run(0.5, 1e-3)
    assert motion.mode_name == mode
    rate = G * np.sin(angle) * 5 / 7 if mode == "rolling" else G * (np.sin(angle) - mu * np.cos(angle))
    assert np.linalg.norm(motion.centre_of_mass()[2]) == pytest.approx(0.5 * rate, rel=1e-8)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_dropped_ball_lands_when_it_must(restitution):
    r, height = 0.1, 0.5
    motion = OneContact(ball(r), shapes.plane(), friction=0.2, restitution=restitution)
    motion.fly(np.eye(3), (0.0, 0.0, r + height))
    motion.run(0.5, 1e-3)
    fall = np.sqrt(2 * height / G)
    assert motion.events[0].kind == "lands" and motion.events[0].time == pytest.approx(fall, rel=1e-10)
    if restitution:
        speed = restitution * G * fall
        assert motion.mode_name == "free"
        assert motion.centre_of_mass()[0][2] == pytest.approx(
            r + speed * (0.5 - fall) - 0.5 * G * (0.5 - fall) ** 2, abs=1e-10
        )
    else:
        assert motion.mode_name == "rolling" and abs(motion.gap()) < 1e-12


def test_ball_thrown_along_the_ground_slips_after_landing():
    """Impulse: m v_n down gives at most mu m v_n along the ground, and its moment spins the ball."""
    r, mu, along = 0.1, 0.2, 4.0
    motion = OneContact(ball(r), shapes.plane(), friction=mu)
    motion.fly(np.eye(3), (0.0, 0.0, r + 0.05), velocity=(along, 0.0, 0.0))
    fall = np.sqrt(0.1 / G)
    motion.run(fall + 1e-6, 1e-3)
    _, w, v = motion.centre_of_mass()
    assert motion.mode_name == "sliding"
    assert v[0] == pytest.approx(along - mu * G * fall, abs=1e-5)
    assert w[1] == pytest.approx(mu * G * fall / (0.4 * r), rel=1e-4)


# --- integration --------------------------------------------------------------------------------------


def test_runge_kutta_has_its_order():
    """Halving the step divides the error by 16."""
    errors = []
    reference, _ = patch_motion()
    reference.run_adaptive(0.5, 1e-13, 1e-14)
    for step in (0.01, 0.005, 0.0025):
        motion, _ = patch_motion()
        motion.run(0.5, step)
        errors.append(np.abs(motion.q - reference.q).max())
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 4.0, atol=0.4)


def test_adaptive_steps_meet_their_tolerance_and_events():
    tight, _ = patch_motion()
    tight.run_adaptive(2.0, 1e-12, 1e-14)
    steps = []
    for tolerance in (1e-5, 1e-8):
        motion, _ = patch_motion()
        steps.append(motion.run_adaptive(2.0, tolerance, tolerance))
        assert np.abs(motion.q - tight.q).max() < 300 * tolerance and motion.time == pytest.approx(2.0)
    assert steps[0] < 0.5 * steps[1]
    ball_motion = OneContact(ball(0.3), shapes.sphere(1.0))
    p = 2.0 * np.array([np.sin(0.5), 0.0, np.cos(0.5)])
    ball_motion.slide(ball_motion.contact.coordinates(*ball_motion.contact.closest(np.eye(3), p)[:2], np.eye(3)))
    ball_motion.run_adaptive(1.0, 1e-11, 1e-12)
    fixed = OneContact(ball(0.3), shapes.sphere(1.0))
    fixed.slide(fixed.contact.coordinates(*fixed.contact.closest(np.eye(3), p)[:2], np.eye(3)))
    fixed.run(1.0, 1e-3)
    assert ball_motion.events[0].time == pytest.approx(fixed.events[0].time, abs=1e-9)


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda m, q: m.run(1.0, 0.0), InputError, "step greater than zero"),
        (lambda m, q: m.slide(q[:3]), InputError, "5 entries"),
        (lambda m, q: m.roll(q), InputError, "no friction"),
        (lambda m, q: m.fly(np.eye(3), (0.0, 0.0, 0.05)), DynamicsError, "inside the base"),
        (lambda m, q: OneContact(m.body, shapes.plane(), friction=-1.0), InputError, "friction"),
        (lambda m, q: OneContact(m.body, shapes.plane(), restitution=1.5), InputError, "restitution"),
        (lambda m, q: OneContact(m.body._replace(mass=0.0), shapes.plane()), InputError, "mass"),
        (lambda m, q: OneContact(m.body._replace(inertia=-np.eye(3)), shapes.plane()), InputError, "inertia"),
    ],
)
def test_what_is_refused_leaves_the_state(act, error, words):
    motion, q = lowered(ball(0.1), shapes.plane())
    motion.slide(q, (0.1, 0.0, 0.0, 0.0, 0.0))
    before = motion.q, motion.v, motion.time
    with pytest.raises(error, match=words):
        act(motion, q)
    for was, now in zip(before, (motion.q, motion.v, motion.time)):
        np.testing.assert_array_equal(now, was)


def test_a_body_that_rolls_over_the_edge_is_an_error_with_the_place():
    sheet = shapes.bezier([[(x, y, 0.0) for y in (-1, 1)] for x in (-1, 1)], name="sheet")
    motion, q = lowered(ball(0.1), sheet, friction=np.inf)
    motion.roll(q, (0.0, 50.0, 0.0))
    with pytest.raises(DynamicsError, match="edge of sheet"):
        motion.run(1.0, 1e-3)
    assert np.isfinite(motion.q).all()


def test_a_line_contact_is_an_error():
    motion = OneContact(SurfaceBody(shapes.cylinder(0.1), 1.0, np.eye(3)), shapes.plane())
    with pytest.raises(DynamicsError, match="single point"):
        motion.slide((0.0, 0.0, 0.0, 0.0, 0.0))
        motion.energy()

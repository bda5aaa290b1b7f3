# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Surfaces, bodies and independent references for the tests of contact coordinates."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import mpmath
import numpy as np
from scipy.integrate import solve_ivp

from mb_contact.surfaces import ContactJoint, SurfaceBody, SurfaceTree, moving_base, shapes, shell

G = 9.81
KNOTS_S, KNOTS_T = (0, 0, 0, 0, 0.3, 0.6, 1, 1, 1, 1), (0, 0, 0, 0.4, 0.7, 1, 1, 1)


def nets(n=4, m=5, seed=3):
    """A control net (n, m, 3) of a wavy sheet, and weights."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(0.0, 1.0, n), np.linspace(0.0, 1.2, m), indexing="ij")
    return np.stack((x, y, 0.2 * rng.normal(size=x.shape)), -1), 1.0 + 0.4 * rng.random((n, m))


def surface_of(kind):
    """A surface of every kind."""
    points, weights = nets()
    fine, fine_weights = nets(6, 5)
    return {
        "plane": lambda: shapes.plane(),
        "sphere": lambda: shapes.sphere(0.7),
        "ellipsoid": lambda: shapes.ellipsoid((1.0, 0.7, 0.5)),
        "cylinder": lambda: shapes.cylinder(0.4),
        "torus": lambda: shapes.torus(1.0, 0.3),
        "bezier": lambda: shapes.bezier(points),
        "rational bezier": lambda: shapes.bezier(points, weights),
        "nurbs": lambda: shapes.nurbs(fine, KNOTS_S, KNOTS_T, fine_weights),
    }[kind]()


KINDS = ("plane", "sphere", "ellipsoid", "cylinder", "torus", "bezier", "rational bezier", "nurbs")


def point_in_many_digits(kind):
    """c(s, t) by the textbook in mpmath, chart 0: what ``surface_of`` must describe."""
    m = mpmath
    points, weights = nets(6, 5) if kind == "nurbs" else nets()
    if "rational" not in kind and kind != "nurbs":
        weights = np.ones_like(weights)

    def spline(s, t):
        if kind == "nurbs":
            bases = [[_cox_de_boor(k, i, d, x) for i in range(n)]
                     for k, d, n, x in ((KNOTS_S, 3, 6, s), (KNOTS_T, 2, 5, t))]  # fmt: skip
        else:
            bases = [[m.binomial(n, i) * x**i * (1 - x) ** (n - i) for i in range(n + 1)] for n, x in ((3, s), (4, t))]
        total = [m.mpf(0)] * 4
        for i, b in enumerate(bases[0]):
            for j, c in enumerate(bases[1]):
                w = b * c * m.mpf(float(weights[i, j]))
                for x in range(3):
                    total[x] += w * m.mpf(float(points[i, j, x]))
                total[3] += w
        return [x / total[3] for x in total[:3]]

    return {
        "plane": lambda s, t: [s, t, m.mpf(0)],
        "sphere": lambda s, t: [0.7 * x for x in (m.cos(t) * m.cos(s), m.cos(t) * m.sin(s), m.sin(t))],
        "ellipsoid": lambda s, t: [m.cos(t) * m.cos(s), 0.7 * m.cos(t) * m.sin(s), 0.5 * m.sin(t)],
        "cylinder": lambda s, t: [0.4 * m.cos(s), 0.4 * m.sin(s), t],
        "torus": lambda s, t: [(1 + 0.3 * m.cos(t)) * m.cos(s), (1 + 0.3 * m.cos(t)) * m.sin(s), 0.3 * m.sin(t)],
    }.get(kind, spline)


def _cox_de_boor(knots, i, degree, x):
    if degree == 0:
        return mpmath.mpf(1 if knots[i] <= x < knots[i + 1] else 0)
    total = mpmath.mpf(0)
    for start, end, k, sign in ((knots[i], knots[i + degree], i, 1), (knots[i + degree + 1], knots[i + 1], i + 1, 1)):
        if start != end:
            total += sign * (x - mpmath.mpf(start)) / (mpmath.mpf(end) - mpmath.mpf(start)) * _cox_de_boor(
                knots, k, degree - 1, x
            )
    return total


def rotation(axis, angle):
    """Rotation matrix about a unit axis."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def ball(radius, mass=1.0, moment=0.4):
    """A ball; ``moment`` is its moment of inertia over mass times radius squared."""
    return SurfaceBody(shapes.sphere(radius), mass, moment * mass * radius**2 * np.eye(3))


class OneContact:
    """The SurfaceTree of one body on a base; calls about the body take no name."""

    OF_THE_BODY = ("slide", "roll", "fly", "pose", "gap", "slip")

    def __init__(self, body, base, friction=0.0, restitution=0.0, gravity=(0.0, 0.0, -G), release=True, **moves):
        self.body, carrier = body, moving_base("the base", **moves)
        laws = {"friction": friction, "restitution": restitution, "release": release}
        joint = ContactJoint("the body", "the base", base, body, "free", **laws)
        self.tree = SurfaceTree([joint], carrier, gravity)

    def __getattr__(self, name):
        value = getattr(self.tree, name)
        return partial(value, "the body") if name in self.OF_THE_BODY else value

    contact = property(lambda self: self.tree.pair("the body"))
    mode_name = property(lambda self: self.tree.mode_name("the body"))
    q = property(lambda self: self.tree.q[self.tree.coordinates("the body")[0]].copy())
    v = property(lambda self: self.tree.v[self.tree.coordinates("the body")[1]].copy())

    def centre_of_mass(self):
        """Its place, angular velocity, and velocity."""
        return self.tree.body_motion("the body")[1:]

    def contact_force(self):
        """Point, normal, force, moment and normal force of the base on it."""
        wrench, push = self.tree.contact_wrench("the body")
        point, normal = self.tree.contact_point("the body")
        return SimpleNamespace(point=point, normal=normal, force=wrench[3:], moment=wrench[:3], normal_force=push)


def patch_motion():
    """P00's Figure 2: a curved bicubic patch on a frictionless flat one, from rest, tilted."""
    x = np.array([-0.6, -0.2, 0.2, 0.6])
    z = [[0.50, 0.28, 0.26, 0.45], [0.26, 0.04, 0.02, 0.22], [0.24, 0.02, 0.00, 0.20], [0.44, 0.22, 0.23, 0.48]]
    net = np.array([[(x[i], x[j], z[i][j]) for j in range(4)] for i in range(4)])
    flat = [[(2 * a, 2 * b, 0.0) for b in x] for a in x]
    motion = OneContact(shell(shapes.bezier(net, name="upper").flipped(), 1.0), shapes.bezier(flat))
    R = rotation((1, 0, 0), 0.3) @ rotation((0, 1, 0), 0.15)
    q, _ = motion.contact.first_touch(R, (0.0, 0.0, 1.0), (0.0, 0.0, -1.0))
    motion.slide(q)
    return motion, net


def cross(a, b):
    """a x b; np.cross takes ten times as long."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rolling_reference(arm, mass, inertia, n, w, times):
    """A convex body rolling on a horizontal plane, by its moments about the contact point.

    State: the upward normal n and the angular velocity w, both in axes of the body; ``arm(n)`` is the vector from the
    centre of mass to the lowest point.  (I + m (r.r - r r*)) dw = -w x I w - m r x (w x r' + g), r' in inertial axes.
    Returns n and w at ``times``.
    """

    def slope(_, y):
        n, w = y[:3], y[3:]
        n_dot = -cross(w, n)
        r = arm(n)
        h = 1e-20
        r_dot = np.imag(arm(n + 1j * h * n_dot)) / h + cross(w, r)
        total = inertia + mass * (r @ r * np.eye(3) - np.outer(r, r))
        moment = -cross(w, inertia @ w) - mass * cross(r, cross(w, r_dot) - G * n)
        return np.concatenate((n_dot, np.linalg.solve(total, moment)))

    run = solve_ivp(slope, (0.0, times[-1]), (*n, *w), "DOP853", times, rtol=1e-10, atol=1e-11)
    return run.y[:3].T, run.y[3:].T

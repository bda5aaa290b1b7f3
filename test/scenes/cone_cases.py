# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Frictional contact problems made from bodies and contacts: towers, walls, piles, grasps, mechanisms."""

from __future__ import annotations

import numpy as np


def cross_matrix(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


class Bodies:
    """Rigid bodies with diagonal inertias, and contacts between them (or with the ground, -1)."""

    def __init__(self, rng):
        self.rng, self.mass, self.inertia, self.place, self.contacts = rng, [], [], [], []

    def box(self, mass, half, place):
        h = np.asarray(half, float) ** 2
        self.mass.append(mass)
        self.inertia.append(mass / 3.0 * (h.sum() - h))
        self.place.append(np.asarray(place, float))
        return len(self.mass) - 1

    def touch(self, a, b, point, normal):
        """A contact whose normal points from b to a, with random tangents."""
        n = np.asarray(normal, float)
        t = self.rng.normal(size=3)
        t -= n * (t @ n)
        t /= np.linalg.norm(t)
        self.contacts.append((a, b, np.asarray(point, float), np.stack([n, t, np.cross(n, t)])))

    def problem(self, velocity):
        """Delassus matrix W and free contact velocity q."""
        J = np.zeros((3 * len(self.contacts), 6 * len(self.mass)))
        for k, (a, b, point, frame) in enumerate(self.contacts):
            for body, sign in ((a, 1.0), (b, -1.0)):
                if body >= 0:
                    block = np.hstack([np.eye(3), -cross_matrix(point - self.place[body])])
                    J[3 * k : 3 * k + 3, 6 * body : 6 * body + 6] += sign * frame @ block
        inverse = np.concatenate([np.r_[np.full(3, 1.0 / m), 1.0 / i] for m, i in zip(self.mass, self.inertia)])
        W = (J * inverse) @ J.T
        return 0.5 * (W + W.T), J @ velocity

    def falling(self, noise=0.0, g=0.05):
        v = noise * self.rng.normal(size=6 * len(self.mass))
        v[2::6] -= g
        return v


def tower(seed=0, boxes=25, per_side=2, ratio=1.0, noise=0.0):
    """Boxes on each other, ``per_side``^2 contacts at each face; masses from 1 to ``ratio``."""
    rng = np.random.default_rng(seed)
    s = Bodies(rng)
    for k in range(boxes):
        s.box(ratio ** rng.random(), (0.5, 0.5, 0.2), (0.0, 0.0, 0.2 + 0.4 * k))
    for k in range(boxes):
        for x in np.linspace(-0.4, 0.4, per_side):
            for y in np.linspace(-0.4, 0.4, per_side):
                s.touch(k, k - 1, (x, y, 0.4 * k), (0, 0, 1))
    return (*s.problem(s.falling(noise)), len(s.contacts))


def wall(seed=0, rows=4, columns=4, noise=0.0):
    """A brick wall: every brick rests on two, with four contacts on each."""
    rng = np.random.default_rng(seed)
    s = Bodies(rng)
    brick = {}
    for r in range(rows):
        for c in range(columns):
            brick[r, c] = s.box(1.0, (0.5, 0.25, 0.25), (c + 0.5 * (r % 2), 0.0, 0.25 + 0.5 * r))
    for (r, _), b in brick.items():
        for dx in (-0.45, -0.05, 0.05, 0.45):
            x = s.place[b][0] + dx
            below = [o for (q, _), o in brick.items() if q == r - 1 and abs(s.place[o][0] - x) < 0.5] if r else [-1]
            for y in (-0.2, 0.2):
                for o in below[:1]:
                    s.touch(b, o, (x, y, 0.5 * r), (0, 0, 1))
    return (*s.problem(s.falling(noise)), len(s.contacts))


def grasp(seed=0, per_side=3, ratio=1e3):
    """A box squeezed between two heavy fingers, per_side^2 contacts on each face: hyperstatic."""
    rng = np.random.default_rng(seed)
    s = Bodies(rng)
    box = s.box(1.0, (0.1, 0.1, 0.1), (0, 0, 0))
    fingers = [s.box(ratio, (0.1, 0.1, 0.1), (x, 0, 0)) for x in (-0.2, 0.2)]
    for y in np.linspace(-0.09, 0.09, per_side):
        for z in np.linspace(-0.09, 0.09, per_side):
            s.touch(fingers[1], box, (0.1, y, z), (1, 0, 0))
            s.touch(box, fingers[0], (-0.1, y, z), (1, 0, 0))
    v = np.zeros(18)
    v[2], v[6], v[12] = -0.05, 0.01, -0.01
    return (*s.problem(v + 1e-3 * rng.normal(size=18)), len(s.contacts))


def pile(seed=0, bodies=20):
    """Balls thrown together, each pair that is near touches."""
    rng = np.random.default_rng(seed)
    s = Bodies(rng)
    place = rng.uniform(0, 0.75 * bodies ** (1 / 3), (bodies, 3))
    for x in place:
        s.box(1.0, (0.3, 0.3, 0.3), x)
    for i in range(bodies):
        if place[i, 2] < 0.5:
            s.touch(i, -1, (place[i, 0], place[i, 1], 0.0), (0, 0, 1))
        for j in range(i):
            d = place[i] - place[j]
            if np.linalg.norm(d) < 1.0:
                s.touch(i, j, 0.5 * (place[i] + place[j]), d / np.linalg.norm(d))
    return (*s.problem(s.falling(0.05)), len(s.contacts))


def mechanism(seed=0, contacts=20, freedoms=12):
    """Many contacts on few degrees of freedom: a dense W of low rank."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3 * contacts, freedoms))
    return J @ J.T, J @ rng.normal(size=freedoms), contacts

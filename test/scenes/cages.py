# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cages of subdivision surfaces, and Catmull and Clark's rule by the book, polygon by polygon."""

from __future__ import annotations

import numpy as np

CUBE = (
    np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]),
    [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)],
)


def sheet(n, m, seed=0):
    """A wavy regular net (n, m, 3) and its faces, s along the first index."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    net = np.stack((x, y, 0.3 * rng.normal(size=x.shape)), -1)
    faces = [
        (i * m + j, (i + 1) * m + j, (i + 1) * m + j + 1, i * m + j + 1) for i in range(n - 1) for j in range(m - 1)
    ]
    return net, faces


def pyramid(sides, seed=0):
    """A closed cage of triangles on a polygon, its top of valence ``sides``, without symmetry."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    rim = np.stack((np.cos(angle), np.sin(angle), 0.0 * angle), 1)
    points = np.concatenate((rim, [[0.0, 0.0, 0.9]])) + 0.05 * np.random.default_rng(seed).normal(size=(sides + 1, 3))
    faces = [(i, (i + 1) % sides, sides) for i in range(sides)]
    return 0.1 * points, [*faces, tuple(range(sides))[::-1]]


def fan(sides, seed=0):
    """An open cage: ``sides`` quadrilaterals about one vertex."""
    angle = np.pi * np.arange(2 * sides) / sides
    rim = np.stack((np.cos(angle), np.sin(angle), 0.0 * angle), 1) * (1.0 + 0.3 * (np.arange(2 * sides) % 2))[:, None]
    noise = np.random.default_rng(seed).normal(size=(2 * sides + 1, 3))
    points = np.concatenate(([[0.0, 0.0, 0.3]], rim)) + 0.05 * noise
    return points, [(0, 1 + 2 * i, 2 + 2 * i, 1 + (2 * i + 2) % (2 * sides)) for i in range(sides)]


def refine(points, faces):
    """One step: the average of a face, of an edge's ends and faces, (F + 2 R + (n - 3) P) / n; borders as a curve."""
    middles = [np.mean([points[v] for v in face], axis=0) for face in faces]
    beside, about = {}, {}
    for k, face in enumerate(faces):
        for a, b in zip(face, (*face[1:], face[0])):
            beside.setdefault(frozenset((a, b)), []).append(k)
            about.setdefault(a, []).append(k)
    ends = {edge: np.mean([points[v] for v in edge], axis=0) for edge in beside}
    new = []
    for v, p in enumerate(points):
        edges = [edge for edge in beside if v in edge]
        border = [edge for edge in edges if len(beside[edge]) == 1]
        n = len(about[v])
        if border and n == 1:
            new.append(p)
        elif border:
            new.append(0.75 * p + 0.125 * sum(points[w] for edge in border for w in edge if w != v))
        else:
            F, R = np.mean([middles[k] for k in about[v]], axis=0), np.mean([ends[edge] for edge in edges], axis=0)
            new.append((F + 2.0 * R + (n - 3.0) * p) / n)
    number = {}
    for edge, near in beside.items():
        number[edge] = len(new)
        inner = 0.5 * ends[edge] + 0.25 * sum(middles[k] for k in near)
        new.append(inner if len(near) == 2 else ends[edge])
    first, quads = len(new), []
    for k, face in enumerate(faces):
        for w, v, x in zip((face[-1], *face[:-1]), face, (*face[1:], face[0])):
            quads.append((v, number[frozenset((v, x))], first + k, number[frozenset((w, v))]))
    return np.array([*new, *middles]), quads


def limits(points, quads):
    """Where the vertices of a closed cage of quadrilaterals end: (n^2 v + 4 sum e + sum f) / (n (n + 5))."""
    total, count = np.zeros_like(points), np.zeros(len(points))
    for quad in quads:
        for i, v in enumerate(quad):
            total[v] += 2.0 * (points[quad[i - 1]] + points[quad[(i + 1) % 4]]) + points[quad[(i + 2) % 4]]
            count[v] += 1
    n = count[:, None]
    return (n * n * points + total) / (n * (n + 5.0))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of a mesh that overlap are one body: its surface, its mass, and what stands before it."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.model.shapes.triangle_meshes import CLOSED, triangle_mesh
from scenes.mesh_bodies import write_stl

BOX = np.array([(0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2),
                (2, 4, 6), (1, 3, 5), (3, 7, 5)])  # fmt: skip


UPRIGHT = np.eye(3)


def box(lower, upper, R=UPRIGHT):
    """Triangles (12, 3, 3) of a box, turned about the origin."""
    corners = np.array([[(lower, upper)[k >> i & 1][i] for i in range(3)] for k in range(8)], dtype=float)
    return (corners @ R.T)[BOX]


def crate(length=0.12, width=0.055, height=0.08, wall=0.006):
    """A crate of five boxes, as drawn: they share edges, and overlap in all of its corners."""
    x, y = 0.5 * length, 0.5 * width
    parts = [((-x, -y, 0.0), (x, y, wall))]
    parts += [((s - wall * (s > 0), -y, 0.0), (s + wall * (s < 0), y, height)) for s in (-x, x)]
    parts += [((-x, s - wall * (s > 0), 0.0), (x, s + wall * (s < 0), height)) for s in (-y, y)]
    return np.concatenate([box(*part) for part in parts])


def made(corners):
    return triangle_mesh(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))


def turns_around(corners, points):
    """How often a surface of triangles (t, 3, 3) goes around each point: its solid angle over 4 pi."""
    a, b, c = (corners[None, :, k] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=2) for x in (a, b, c))
    dots = [np.einsum("ptk,ptk->pt", x, y) * z for x, y, z in ((a, b, lc), (b, c, la), (c, a, lb))]
    volume = np.einsum("ptk,ptk->pt", a, np.cross(b, c))
    return np.arctan2(volume, la * lb * lc + sum(dots)).sum(axis=1) / (2.0 * np.pi)


def test_a_crate_of_overlapping_boxes_is_one_crate():
    body = made(crate())
    assert body.sided == CLOSED
    assert body.volume == pytest.approx(0.12 * 0.055 * 0.08 - 0.108 * 0.043 * 0.074, rel=1e-12)
    assert len(body.peak) == 12  # eight outer corners, four at the rim within; those of the floor are hollow
    assert len(np.unique(body.patch)) == 6 + 5
    length = np.linalg.norm(np.diff(body.vertices[body.ridge], axis=1), axis=2).sum()
    assert length == pytest.approx(4 * (0.12 + 0.055 + 0.08) + 2 * (0.108 + 0.043), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_inside_is_what_is_inside_of_any_part(seed):
    """Nine thick rods across each other; none is a cavity of another."""
    rng, parts = np.random.default_rng(seed), []
    for _ in range(9):
        middle, half = rng.uniform(-0.4, 0.4, 3), np.array([0.9, *rng.uniform(0.1, 0.3, 2)])
        parts.append((middle - half, middle + half, Rotation.random(random_state=rng).as_matrix()))
    body = made(np.concatenate([box(*part) for part in parts]))
    points = rng.uniform(-1.0, 1.0, (500, 3))
    inside = np.zeros(500, dtype=bool)
    for lower, upper, R in parts:
        inside |= ((points @ R > lower) & (points @ R < upper)).all(axis=1)
    around = turns_around((body.vertices + body.centre)[body.triangles], points)
    assert 20 < inside.sum() < 480
    np.testing.assert_allclose(around, inside, atol=1e-9)


def test_a_cavity_stays_where_parts_are_united():
    """A hollow cube, a post through its wall into the cavity, and a block that stands in the cavity alone."""
    one = np.ones(3)
    post, block = box((0.4, -0.1, -0.1), (1.5, 0.1, 0.1)), box((-0.4, -0.3, -0.3), (-0.1, 0.3, 0.3))
    body = made(np.concatenate([box(-one, one), box(-0.5 * one, 0.5 * one), post, block]))
    assert body.volume == pytest.approx(8.0 - 1.0 + 0.6 * 0.04 + 0.3 * 0.36, rel=1e-12)


@pytest.mark.parametrize(("second", "volume", "corners"), [
    (((1.0, 0.0, 0.0), (2.0, 1.0, 1.0)), 2.0, 8),  # flush
    (((0.0, 0.0, 0.0), (1.0, 1.0, 2.0)), 2.0, 8),  # with a side that both have
    (((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), 1.0, 8),  # twice the same
    (((0.2, 0.2, 0.5), (0.8, 0.8, 1.0)), 1.0, 8),  # inside, one side flush: nothing of it is to be seen
    (((1.0, 0.0, 0.0), (2.0, 0.5, 1.0)), 1.5, 12),  # flush, narrower
])  # fmt: skip
def test_parts_that_lie_flush(second, volume, corners):
    body = made(np.concatenate([box((0, 0, 0), (1, 1, 1)), box(*second)]))
    assert body.sided == CLOSED and body.volume == pytest.approx(volume, rel=1e-12)
    assert len(body.peak) == corners


def test_mass_counts_what_parts_share_once(tmp_path):
    file = write_stl(tmp_path / "crate.stl", crate())
    body = mb.model.Primitive("crate", "mesh", mesh=file, base="free", density=700.0)
    volume = 0.12 * 0.055 * 0.08 - 0.108 * 0.043 * 0.074
    assert mb.build_world(mb.Scene(primitives=(body,))).tree.mass[0] == pytest.approx(700.0 * volume, rel=1e-6)


def test_a_body_that_strikes_a_wall_of_parts_turning_stays_before_it(tmp_path):
    """A step of a fast turn ends 0.1 mm in the wall; of a sheet, as which such meshes counted, that never came out."""
    mesh = write_stl(tmp_path / "crate.stl", crate())
    jaw = mb.model.Primitive("jaw", "box", (0.02, 0.02, 0.04), mb.model.Pose((0.0, 0.08, 0.04)), base="free", mass=0.1)
    sim = mb.Simulator(mb.Scene(gravity=(0.0, 0.0, 0.0), time_step=1e-3, primitives=(
        mb.model.Primitive("crate", "mesh", mesh=mesh, base="free", mass=0.2), jaw)))  # fmt: skip
    sim.set_object("jaw", velocity=(80.0, 0.0, 0.0, 0.0, -8.0, 0.0))
    for _ in range(12):
        sim.step()
        corners = box((-0.01, -0.01, -0.02), (0.01, 0.01, 0.02)).reshape(-1, 3)
        (p, own), (q, crates) = sim.link_pose("jaw"), sim.link_pose("crate")
        corners = Rotation.from_quat(crates).inv().apply(p + Rotation.from_quat(own).apply(corners) - q)
        over = (np.abs(corners[:, 0]) < 0.06) & (corners[:, 2] > 0.0) & (corners[:, 2] < 0.08)
        assert (corners[over, 1] > 0.0275 - 2e-4).all()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sheets, meshes that enclose nothing: what goes around their borders is free, what comes through them is not."""

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import mb_contact as mb
from scenes.mesh_bodies import write_obj

Pose, Primitive = mb.model.Pose, mb.model.Primitive
FAST = np.array([-1.5, 0.0, -0.2])  #: steeper than the upper side of the blade [m/s]


def blade(width):
    """Triangles of a wedge whose edge is the y axis, between slopes of 1 and 5 degrees above the x axis."""
    low, high = 0.1 * np.tan(np.deg2rad([1.0, 5.0]))
    points = [(x, y, z) for y in (-width, width) for x, z in ((0.0, 0.0), (0.1, low), (0.1, high))]
    return trimesh.convex.convex_hull(np.array(points)).triangles


@pytest.mark.parametrize("kind", ["mesh", "convex_hull"])
@pytest.mark.parametrize("dt", [1e-3, 4e-3])
@pytest.mark.parametrize("yaw", [0.0, 0.3])
def test_a_blade_that_goes_around_the_border_of_a_plate_is_free(tmp_path, kind, dt, yaw):
    """Its edge is above the plate's plane beyond the border, and below it under the plate, at the end of a step."""
    plate = np.array([[-0.2, -0.1, 0.0], [0.0, -0.1, 0.0], [0.0, 0.1, 0.0], [-0.2, 0.1, 0.0]])[[[0, 1, 2], [0, 2, 3]]]
    plate, wedge = write_obj(tmp_path / "plate.obj", plate), write_obj(tmp_path / "blade.obj", blade(0.03))
    sim = mb.Simulator(mb.Scene(primitives=(
        Primitive("plate", "mesh", mesh=str(plate), collision_meshes="mesh"),
        Primitive("blade", "mesh", mesh=str(wedge), collision_meshes=kind, base="free", mass=0.1,
                  pose=Pose((1e-3 + 0.03 * np.sin(yaw), 0.0, 1e-4), (0.0, 0.0, yaw)),
                  velocity=mb.model.Velocity(linear=tuple(FAST)))), gravity=(0.0, 0.0, 0.0), time_step=dt))  # fmt: skip
    for _ in range(round(8e-3 / dt)):
        sim.step()
    assert np.abs(sim.v - [0.0, 0.0, 0.0, *FAST]).max() < 1e-12


def test_a_blade_that_comes_through_a_plate_is_stopped(tmp_path):
    plate = np.array([[-0.2, -0.1, 0.0], [0.0, -0.1, 0.0], [0.0, 0.1, 0.0], [-0.2, 0.1, 0.0]])[[[0, 1, 2], [0, 2, 3]]]
    plate, wedge = write_obj(tmp_path / "plate.obj", plate), write_obj(tmp_path / "blade.obj", blade(0.03))
    sim = mb.Simulator(mb.Scene(primitives=(
        Primitive("plate", "mesh", mesh=str(plate), collision_meshes="mesh"),
        Primitive("blade", "mesh", mesh=str(wedge), collision_meshes="mesh", base="free", mass=0.1,
                  pose=Pose((-0.01, 0.0, 1e-4)), velocity=mb.model.Velocity(linear=tuple(FAST)))),
        gravity=(0.0, 0.0, 0.0)))  # fmt: skip
    for _ in range(8):
        assert sim.step().certificate.end_gap > -1e-7


def box(size, hole):
    """Triangles of a box, with a hole in its lower side."""
    corners = np.array(trimesh.creation.box(size).triangles)
    if hole:
        k = int(np.argmin(corners[:, :, 2].max(axis=1)))
        t = corners[k]
        small = t.mean(axis=0) + 0.05 * (t - t.mean(axis=0))
        around = [c for i, j in ((0, 1), (1, 2), (2, 0)) for c in ((t[i], t[j], small[j]), (t[i], small[j], small[i]))]
        corners = np.concatenate([np.delete(corners, k, axis=0), around])
    return corners


@pytest.mark.parametrize("kind", ["mesh", "convex_hull"])
@pytest.mark.parametrize("seed", [0, 4, 6])
def test_a_table_with_a_hole_below_is_as_the_closed_one(tmp_path, kind, seed):
    """A box tumbles over its border: the surface that it meets is the same, though that with a hole is no solid."""
    rng = np.random.default_rng(seed)
    turn, at = Rotation.random(random_state=rng), rng.uniform(-0.07, 0.07, 2)
    start = mb.model.Velocity(linear=tuple(rng.normal(size=3) * (0.5, 0.5, 0.3) - (0.0, 0.0, 1.0)),
                              angular=tuple(rng.normal(size=3) * 10.0))  # fmt: skip
    write_obj(tmp_path / "body.obj", box((0.06, 0.05, 0.04), False))
    body = Primitive("body", "mesh", mesh=str(tmp_path / "body.obj"), collision_meshes=kind, base="free", mass=0.2,
                     material="m", pose=Pose((*at, 0.06), tuple(turn.as_euler("xyz"))), velocity=start)  # fmt: skip
    ways = []
    for hole in (False, True):
        mesh = write_obj(tmp_path / f"table{hole}.obj", box((0.1, 0.1, 0.1), hole))
        table = Primitive("table", "mesh", mesh=str(mesh), collision_meshes="mesh", pose=Pose((0.0, 0.0, -0.05)),
                          material="m")  # fmt: skip
        sim = mb.Simulator(mb.Scene(primitives=(table, body), materials={"m": mb.model.Material(0.3)}))
        way = []
        for _ in range(110):
            assert sim.step().certificate.end_gap > -1e-7
            way.append(sim.state.q.copy())
        ways.append(way)
    assert np.abs(np.array(ways[0]) - ways[1]).max() < 1e-6  # the contacts come in another order

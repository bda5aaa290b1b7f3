# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies that begin in a triangle mesh: told with their depth, and pushed out by the nearest way (mesh_shapes.py)."""

import numpy as np
import pytest
import trimesh

import mb_contact as mb
from scenes.mesh_bodies import write_obj

Pose, Primitive = mb.model.Pose, mb.model.Primitive
PUSH = 0.1  #: default push_out_velocity [m/s]


def prism(section, half):
    """Triangles of a prism along y, whose cross-section (k, 2) in x and z is star-shaped about its first corner."""
    near, far = (np.insert(np.asarray(section, dtype=float), 1, y, axis=1) for y in (-half, half))
    k = len(section)
    caps = [c for i in range(1, k - 1) for c in (near[[0, i, i + 1]], far[[0, i + 1, i]])]
    sides = [c for i in range(k) for j in [(i + 1) % k]
             for c in ((near[i], far[i], far[j]), (near[i], far[j], near[j]))]  # fmt: skip
    return np.array([*caps, *sides])


def begun(tmp_path, below, body):
    """Depth that is told [m] and linear velocity after the first step; ``body`` without a mesh is a primitive."""
    mesh = write_obj(tmp_path / "below.obj", below)
    scene = mb.Scene(
        primitives=(Primitive("below", "mesh", mesh=str(mesh), collision_meshes="mesh"), body), gravity=(0.0, 0.0, 0.0)
    )
    told = mb.simulation.initial_penetrations(mb.build_world(scene))
    sim = mb.Simulator(scene)
    sim.step()
    return told[0][2] if told else 0.0, sim.v[3:6]


@pytest.mark.parametrize("kind", ["mesh", "convex_hull", "box"])
@pytest.mark.parametrize("at, out, deep", [((0.2, 0.1, 0.42), (0, 0, 1), 0.11), ((0.41, 0.0, 0.0), (1, 0, 0), 0.14)])
def test_what_is_all_inside_leaves_by_the_nearest_side(tmp_path, kind, at, out, deep):
    size, more = (0.1, 0.2, 0.06), {"base": "free", "mass": 1.0, "pose": Pose(at)}
    body = Primitive("body", "box", size, **more)
    if kind != "box":
        file = write_obj(tmp_path / "body.obj", np.array(trimesh.creation.box(size).triangles))
        body = Primitive("body", "mesh", mesh=str(file), collision_meshes=kind, **more)
    told, v = begun(tmp_path, np.array(trimesh.creation.box((1.0, 1.0, 1.0)).triangles), body)
    assert told == pytest.approx(deep, abs=1e-9)
    assert v == pytest.approx(PUSH * np.array(out), abs=1e-9)


def test_the_nearest_way_out_may_lead_to_an_edge(tmp_path):
    """Below the bottom of a groove, over whose sides the middle of the ball is not."""
    grooved = prism([(0.0, -0.3), (-0.1, 0.0), (-1.0, 0.0), (-1.0, -1.0), (1.0, -1.0), (1.0, 0.0), (0.1, 0.0)], 1.0)
    ball = Primitive("ball", "sphere", (0.05,), base="free", mass=1.0, pose=Pose((0.0, 0.0, -0.5)))
    told, v = begun(tmp_path, grooved[:, ::-1], ball)
    assert told == pytest.approx(0.25, abs=1e-9)
    assert v == pytest.approx([0.0, 0.0, PUSH], abs=1e-9)


def test_a_body_whose_middle_is_out_leaves_by_its_corners(tmp_path):
    """Deeper than features tell, half of its least half width."""
    table = np.array(trimesh.creation.box((1.0, 1.0, 1.0)).triangles)
    box = Primitive("box", "box", (0.1, 0.1, 0.1), base="free", mass=1.0, pose=Pose((0.0, 0.0, 0.51)))
    told, v = begun(tmp_path, table, box)
    assert told == pytest.approx(0.04, abs=1e-9)
    assert v == pytest.approx([0.0, 0.0, PUSH], abs=1e-9)


def test_a_tip_beside_a_steep_roof_is_not_below_its_far_side(tmp_path):
    """1 cm below that plane, but in the air: its way to the plane is in the roof for the last twentieth."""
    s, c, deep = 0.9, np.sqrt(0.19), 0.01
    roof = prism([(0.0, 0.0), (-0.1, -0.1 * s / c), (0.1, -0.1 * s / c)], 0.2)
    tip = np.array([0.88 * deep, 0.0, (0.88 * s - 1.0) * deep / c])
    top = [tip + (x, y, 0.15) for x in (-0.03, 0.03) for y in (-0.03, 0.03)]
    file = write_obj(tmp_path / "body.obj", trimesh.convex.convex_hull(np.array([tip, *top])).triangles)
    body = Primitive("body", "mesh", mesh=str(file), collision_meshes="convex_hull", base="free", mass=1.0)
    told, v = begun(tmp_path, roof[:, ::-1], body)
    assert told == 0.0
    assert v == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Features far below each other's planes are contacts only where one body is in the other (mesh_walls.py)."""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.collision import make_buffers, make_contacts
from mb_contact.core.collision.manifolds import build_contacts, y_comes_first
from mb_contact.core.collision.workspace import FIELD_POINTS
from mb_contact.core.handle import make_geoms_handle
from mb_contact.core.jit import kernel
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.simulation.initial import geometry_poses
from scenes.mesh_bodies import revolved, write_obj

Pose, Primitive = mb.model.Pose, mb.model.Primitive
DEEP = 0.0185


def prism(section, half, first=0):
    """Triangles of a prism along y; its cross-section (k, 2) in x and z, counterclockwise, is a fan from one corner."""
    section = np.roll(section, -first, axis=0)
    near, far = (np.insert(np.asarray(section, dtype=float), 1, y, axis=1) for y in (-half, half))
    k = len(section)
    caps = [c for i in range(1, k - 1) for c in (near[[0, i, i + 1]], far[[0, i + 1, i]])]
    sides = [c for i in range(k) for j in [(i + 1) % k]
             for c in ((near[i], far[i], far[j]), (near[i], far[j], near[j]))]  # fmt: skip
    return np.array([*caps, *sides])


def blade(low, high, length, half):
    """A wedge whose edge is the y axis, between two slopes [degrees] above the x axis, and so long along x."""
    a, b = np.tan(np.deg2rad([low, high]))
    return prism([(0.0, 0.0), (length, length * a), (length, length * b)], half)


def overlaps(tmp_path, *bodies):
    """Pairs that ``initial_penetrations`` tells of bodies (triangles, pose), by depth [m]."""
    scene = mb.Scene(primitives=tuple(
        Primitive(f"body{k}", "mesh", base="free" if k else "weld", mass=1.0 if k else None, pose=pose,
                  mesh=str(write_obj(tmp_path / f"body{k}.obj", corners)), collision_meshes="mesh")
        for k, (corners, pose) in enumerate(bodies)
    ), gravity=(0.0, 0.0, 0.0))  # fmt: skip
    return mb.simulation.initial_penetrations(mb.build_world(scene)), mb.Simulator(scene)


@pytest.mark.parametrize("half, deep", [(0.04, 0.0), (0.15, DEEP)])
def test_edges_that_lean_past_each_other_are_in_each_other_only_as_far_as_they_reach(tmp_path, half, deep):
    """Two blades that lean by 78 to 85 degrees, one turned about: 18.5 mm below its edge each is 87 mm beside it."""
    turned = Pose((0.0, 0.0, -DEEP), (0.0, 0.0, 0.5 * np.pi))
    told, sim = overlaps(tmp_path, (blade(-12.0, -5.0, 0.5, half), Pose()), (blade(5.0, 12.0, 0.5, half), turned))
    certificate = sim.step().certificate
    if deep == 0.0:
        assert not told and certificate.penetration == 0.0 and sim.v == pytest.approx(0.0)
    else:
        assert told[0][2] == pytest.approx(deep, rel=1e-9) and sim.v[5] > 0.0


@pytest.mark.parametrize("thickness, deep", [(0.001, 0.0), (0.02, 0.015)])
def test_a_tip_below_a_plate_is_not_in_it(tmp_path, thickness, deep):
    """15 mm below the upper side of a plate of 1 mm that stands on a wall, from beyond whose border it leads down."""
    plate = prism([(-0.1, -0.1), (-0.098, -0.1), (-0.098, -thickness), (0.04, -thickness), (0.04, 0.0), (-0.1, 0.0)],
                  0.06, 5)  # fmt: skip
    told, sim = overlaps(tmp_path, (plate, Pose()), (blade(10.0, 15.0, 0.3, 0.035), Pose((0.0, 0.0, -0.015))))
    certificate = sim.step().certificate
    if deep == 0.0:
        assert not told and certificate.penetration == 0.0 and sim.v == pytest.approx(0.0)
    else:
        assert told[0][2] == pytest.approx(deep, rel=1e-9)


def test_a_tip_that_touches_a_floor_is_not_in_the_far_side_of_the_step_behind_it(tmp_path):
    """By rounding it is in the floor, and so 12 mm below the side of a wall over which it leans out."""
    floor = prism([(0.0, -0.05), (0.0, 0.003), (-0.003, 0.003), (-0.003, 0.0), (-0.05, 0.0), (-0.05, -0.05)], 0.06, 3)
    body = blade(30.0, 40.0, 0.2, 0.035)
    told, sim = overlaps(tmp_path, (floor, Pose()), (body, Pose((-0.012, 0.0, -1e-9))))
    certificate = sim.step().certificate
    assert not told and certificate.penetration < 1e-8 and sim.v == pytest.approx(0.0, abs=1e-5)




def spikes(tips, radius, height):
    """Triangles of pyramids whose tips, at places (k, 3), point down."""
    base = radius * np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)])
    rings = [(tip, np.column_stack([tip[:2] + base, np.full(4, tip[2] + height)])) for tip in np.asarray(tips)]
    return np.array([c for tip, r in rings for c in (
        *((tip, r[(i + 1) % 4], r[i]) for i in range(4)), (r[0], r[1], r[2]), (r[0], r[2], r[3]))])  # fmt: skip


@kernel
def _look_on_way(work, limit, start):
    """On the way of a step, from ``start``, the place of X in the axes of Y, as which it is turned."""
    mesh = work.mesh
    mesh.query[1], mesh.limit[0], mesh.limit[1] = 1, limit, limit
    for i in range(3):
        mesh.start[3, i] = start[i]
        for j in range(3):
            mesh.start[i, j] = 1.0 if i == j else 0.0


def test_false_points_do_not_crowd_out_a_true_one(tmp_path):
    """504 tips below a plate of 1 mm are 8 mm below its upper side, and one that has just come in 0.1 mm."""
    plate = prism([(-0.1, -0.1), (-0.098, -0.1), (-0.098, -0.001), (0.04, -0.001), (0.04, 0.0), (-0.1, 0.0)], 0.06, 5)
    x, y = np.meshgrid(np.linspace(-0.08, 0.03, 28), np.linspace(-0.05, 0.05, 18))
    below = np.column_stack([x.ravel(), y.ravel(), np.full(x.size, -0.008)])
    for at in ((-0.07, -0.04), (0.0, 0.0), (0.02, 0.04)):
        tips = np.concatenate([spikes(below, 0.001, 0.006), spikes([(*at, -1e-4)], 0.02, 0.03)])
        world = mb.build_world(mb.Scene(primitives=tuple(
            Primitive(name, "mesh", mesh=str(write_obj(tmp_path / f"{name}.obj", corners)), base=base, mass=mass,
                      collision_meshes="mesh")
            for name, corners, base, mass in (("plate", plate, "weld", None), ("tips", tips, "free", 1.0))
        )))  # fmt: skip
        geoms, (R, p) = world.geoms, geometry_poses(world)
        work, contacts = make_buffers(geoms, candidates=1).work, make_contacts(FIELD_POINTS)
        a, b = geoms.pairs[0]
        x, y = (b, a) if y_comes_first(geoms.kind, geoms.size, a, b) else (a, b)
        down = np.array([0.0, 0.0, -2e-4 if x == 1 else 2e-4])  # way of X against Y in the step
        _look_on_way(work, 0.02, p[x] - p[y] - down)
        build_contacts(make_geoms_handle(geoms), R, p, np.zeros((2, 7)), np.array([0]), 1, np.full(1, 0.02),
                       np.zeros((1, 4)), work, contacts)  # fmt: skip
        gaps = contacts.gap[: contacts.count[0]]
        assert gaps.min() == pytest.approx(-1e-4, abs=1e-9), at


def are_in(points, corners):
    """Which of points (n, 3) a closed surface of triangles (t, 3, 3) winds around."""
    inside = np.zeros(len(points), dtype=bool)
    for k, point in enumerate(points):
        a, b, c = (corners - point).transpose(1, 0, 2)
        la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
        height = np.einsum("ij,ij->i", a, np.cross(b, c))
        flat = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
        inside[k] = np.arctan2(height, flat).sum() > np.pi
    return inside


def along(corners, count):
    """Points (n, 3) along the edges of triangles (t, 3, 3)."""
    part = ((np.arange(count) + 0.5) / count)[:, None, None, None]
    return (part * corners + (1.0 - part) * np.roll(corners, 1, axis=1)).reshape(-1, 3)


def test_a_rim_does_not_go_through_another_one_within_a_step(tmp_path):
    """Two bowls of 20 cm, their walls 6.6 mm thick, at 4 m/s in a step of 2 ms: they end behind both walls."""
    angle = np.linspace(-0.5 * np.pi, 0.0, 7)
    inner, outer = (np.stack([r * np.cos(angle).round(15), r * np.sin(angle)], axis=1) for r in (0.093384, 0.1))
    corners = revolved(np.concatenate([inner, outer[::-1]]) + (0.0, 0.0481), 20)
    file = str(write_obj(tmp_path / "bowl.obj", corners))
    bowls = [Primitive(f"bowl{k}", "mesh", base="free", mass=1.0, mesh=file, collision_meshes="mesh",
                       pose=Pose((0.0, 0.0, 0.3 * k)), material="m") for k in range(2)]  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=tuple(bowls), time_step=2e-3, materials={"m": mb.model.Material(0.5)}))
    low = [-0.07351, 0.12243, 0.06948, 0.41974, 0.12182, 0.02192, 0.89916]
    high = [0.03397, 0.12802, 0.19775, -0.02408, -0.06137, 0.03724, 0.99713]
    turns = [4.5396, 0.3374, -0.1577, 0.0172, -0.3353, 0.11], [0.7793, 2.8482, 0.6432, -0.0373, 0.1701, -4.0037]
    sim.set_state([*low, *high], [*turns[0], *turns[1]])
    for _ in range(2):
        assert sim.step().certificate.end_gap >= -1e-8
        placed = [corners @ quat_to_matrix(turn).T + place for place, turn in map(sim.link_pose, ("bowl0", "bowl1"))]
        assert not are_in(along(placed[0], 4), placed[1]).any() and not are_in(along(placed[1], 4), placed[0]).any()


def test_a_fast_body_does_not_go_through_a_thin_wall_of_a_large_one(tmp_path):
    """A die of 6 cm goes 40 mm in a step, looked at every 10 mm, and the plate is 2 mm thick."""
    section = [(-0.1, -0.1), (-0.098, -0.1), (-0.098, -0.002), (0.04, -0.002), (0.04, 0.0), (-0.1, 0.0)]
    die = prism(0.03 * np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]), 0.03)
    for k in range(4):
        falls = Pose((-0.03, 0.0, 0.055 + 0.006 * k), (0.3, 0.4, 0.0))
        _, sim = overlaps(tmp_path, (prism(section, 0.06, 5), Pose()), (die, falls))
        sim.set_state(sim.q, [0.0, 0.0, 0.0, 0.0, 0.0, -40.0])
        for _ in range(4):
            sim.step()
        assert sim.q[2] > 0.0 and sim.v[5] > -1.0

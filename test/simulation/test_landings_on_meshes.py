# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Edges, vertices and faces of meshes that come down in the midst of a step: as those of primitive shapes.

Covers simulation/stepping/impact_needs.py.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import trimesh
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.model.scene import Heights

Pose, Primitive = mb.model.Pose, mb.model.Primitive
SCHEMES = {
    "euler": {},
    "midpoint": {"integrator": "midpoint"},
    "rk4": {"integrator": "rk4"},
    "adaptive": {"integrator": "adaptive"},
    "event": {"collision_scheme": "event"},
}


def solid(name, size, pose, folder, kind, **changes):
    """A box, as a primitive or as a mesh."""
    if kind == "box":
        return Primitive(name, "box", size, pose=pose, **changes)
    shape = trimesh.creation.box(size)
    if kind == "sheet":
        shape = trimesh.Trimesh(*_rectangle(size))
    shape.export(folder / f"{name}.stl")
    return Primitive(name, "mesh", mesh=str(folder / f"{name}.stl"), collision_meshes="mesh", pose=pose, **changes)


def _rectangle(size):
    x, y = 0.5 * size[0], 0.5 * size[1]
    return [[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]], [[0, 1, 2], [0, 2, 3]]


def heights(folder, below, falls, rpy, steps, restitution, up, **scheme):
    """Height of a body that falls from ``up``, behind every step, and the energies."""
    materials = {"m": mb.model.Material(0.3, restitution=restitution)}
    floor = solid("floor", (0.25, 0.25, 0.1), Pose((0.0, 0.0, -0.05 if below != "sheet" else 0.0)), folder, below,
                  material="m")  # fmt: skip
    body = solid("body", (0.0625, 0.05, 0.04), Pose((0.003, 0.002, up), rpy), folder, falls, base="free",
                 mass=1.0, material="m")  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=(floor, body), materials=materials, **scheme))
    told = [(sim.step().certificate, sim.link_pose("body")[0][2]) for _ in range(steps)]
    return np.array([z for _, z in told]), np.array([certificate.energy for certificate, _ in told])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("rpy, steps", [((0.0, 0.0, 0.0), 200), ((0.3, 0.4, 0.5), 90)])
def test_meshes_bounce_as_boxes_do(tmp_path, scheme, rpy, steps):
    """Until the second corner comes down: later bounces of tumbling bodies go their own ways."""
    truth, _ = heights(tmp_path, "box", "box", rpy, steps, 0.6, 0.051, **SCHEMES[scheme])
    assert np.diff(truth, 2).max() > 1e-5  # it has been struck
    for below, falls in (("mesh", "box"), ("box", "mesh"), ("mesh", "mesh")):
        z, energy = heights(tmp_path, below, falls, rpy, steps, 0.6, 0.051, **SCHEMES[scheme])
        assert z == pytest.approx(truth, abs=1e-7), (below, falls)
        assert np.diff(energy).max() < 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("below, falls", [("mesh", "mesh"), ("mesh", "sheet"), ("sheet", "mesh"), ("sheet", "sheet")])
def test_what_lands_on_a_mesh_ends_on_it(tmp_path, scheme, below, falls):
    if scheme == "event" and below == falls == "sheet":
        with pytest.raises(mb.SceneError, match="'floor' and 'body' are sheets"):
            heights(tmp_path, below, falls, (0.0, 0.0, 0.0), 1, 0.0, 0.001, **SCHEMES[scheme])
        return
    depth = 0.02 if falls == "mesh" else 0.0
    z, energy = heights(tmp_path, below, falls, (0.0, 0.0, 0.0), 120, 0.0, depth + 0.001, **SCHEMES[scheme])
    assert np.abs(z[-20:] - depth).max() < 1e-6
    assert z.min() > depth - 1e-6
    assert np.diff(energy).max() < 1e-6


def separation(a, b):
    """Of two boxes, each with its middle, axes and half extents: the largest along their normals and edges' normals."""
    (p, R, half), (q, T, other) = a, b
    axes = np.concatenate([R.T, T.T, np.cross(R.T[:, None], T.T[None]).reshape(-1, 3)])
    length = np.linalg.norm(axes, axis=1)
    axes = axes[length > 1e-9] / length[length > 1e-9, None]
    return (np.abs(axes @ (q - p)) - np.abs(axes @ R) @ half - np.abs(axes @ T) @ other).max()


@pytest.mark.parametrize("kind", ["box", "convex_hull", "mesh"])
def test_a_peg_at_the_rim_of_a_hole_stays_out_of_its_walls(tmp_path, kind):
    """Its edges pass the corners of the hole, where the ridges of two walls end, and its corners are beside walls."""
    outer, hole = trimesh.creation.box((0.2, 0.2, 0.04)), trimesh.creation.box((0.04, 0.04, 0.04))
    points, of_hole = np.array(outer.vertices), np.array(hole.vertices)
    below = [k for k in range(8) if points[k, 2] < 0.0]
    ring = sorted(below, key=lambda k: np.arctan2(points[k, 1], points[k, 0]))
    points = np.concatenate([points[ring], points[ring] + (0, 0, 0.04), of_hole[ring], of_hole[ring] + (0, 0, 0.04)])
    quads = [(k + 4 * a, (k + 1) % 4 + 4 * a, (k + 1) % 4 + 4 * b, k + 4 * b)
             for a, b in ((0, 1), (1, 3), (3, 2), (2, 0)) for k in range(4)]  # fmt: skip
    trimesh.Trimesh(points, [q[i : i + 3] if i == 0 else (q[0], q[2], q[3]) for q in quads for i in (0, 1)],
                    process=False).export(tmp_path / "plate.obj")  # fmt: skip
    walls = [(np.array(at), np.eye(3), np.array(half)) for at, half in (
        ((0.06, 0, 0), (0.04, 0.1, 0.02)), ((-0.06, 0, 0), (0.04, 0.1, 0.02)),
        ((0, 0.06, 0), (0.1, 0.04, 0.02)), ((0, -0.06, 0), (0.1, 0.04, 0.02)))]  # fmt: skip
    plate = Primitive("plate", "mesh", mesh=str(tmp_path / "plate.obj"), collision_meshes="mesh", material="m")
    for clearance, off, roll, pitch in ((1e-3, 0.3, 0.2, 0.14), (1e-3, 1.2, 0.2, 0.14), (2e-4, 1.2, 0.02, 0.014),
                                        (1e-3, 1.2, 0.1, 0.1), (2e-5, 0.3, 0.02, 0.014)):  # fmt: skip
        half = np.array([0.02 - clearance, 0.02 - clearance, 0.03])
        pose = Pose((off * clearance, 0.3 * off * clearance, 0.051 + 0.02 * (roll + pitch)), (roll, pitch, 0.0))
        more = {"base": "free", "mass": 0.5, "material": "m", "pose": pose}
        trimesh.creation.box(2 * half).export(tmp_path / "peg.obj")
        peg = Primitive("peg", "box", tuple(2 * half), **more) if kind == "box" else Primitive(
            "peg", "mesh", mesh=str(tmp_path / "peg.obj"), collision_meshes=kind, **more)  # fmt: skip
        sim = mb.Simulator(mb.Scene(primitives=(plate, peg), materials={"m": mb.model.Material(0.2)}))
        for _ in range(400):
            certificate = sim.step().certificate
            p, turn = sim.link_pose("peg")
            body = p, Rotation.from_quat(turn).as_matrix(), half
            depth = min(separation(body, wall) for wall in walls)
            assert depth > -1e-6 and certificate.end_gap > -1e-6, (clearance, off, roll, pitch)


@pytest.mark.parametrize("below", ["slab", "ridge"])
@pytest.mark.parametrize("roll", [0.0, 0.3])
def test_a_hull_lies_on_a_face_beyond_which_the_middle_of_its_bounding_box_is(tmp_path, below, roll):
    """A corner cut off a cube, on a mesh or across its ridge: on its three corners, or on two points of the ridge."""
    corner = 0.1 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    trimesh.Trimesh(corner, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]).export(tmp_path / "corner.obj")
    flat = Rotation.align_vectors([[0, 0, -1]], [[1, 1, 1]])[0]
    turn = Rotation.from_euler("yz" if below == "slab" else "z", (roll, roll)[: 1 + (below == "slab")]) * flat
    place = -turn.apply(corner[1:].mean(axis=0))
    place[2] += 0.002 - (turn.apply(corner) + place)[:, 2].min()
    prism = trimesh.creation.box((1.0, 1.0, 0.2)).vertices - (0.0, 0.0, 0.1)
    if below == "ridge":
        prism = prism * np.where(prism[:, 2:] < -0.1, 1.0, (0.0, 1.0, 1.0))
    trimesh.convex.convex_hull(prism).export(tmp_path / "below.obj")
    body = Primitive("corner", "mesh", mesh=str(tmp_path / "corner.obj"), base="free", mass=0.5,
                     pose=Pose(tuple(place), tuple(turn.as_euler("xyz"))))  # fmt: skip
    floor = Primitive("floor", "mesh", mesh=str(tmp_path / "below.obj"), collision_meshes="mesh")
    sim = mb.Simulator(mb.Scene(primitives=(floor, body)))
    steps = [sim.step() for _ in range(500)]
    p, q = sim.link_pose("corner")
    assert (Rotation.from_quat(q).apply(corner[1:]) + p)[:, 2] == pytest.approx(np.zeros(3), abs=1e-9)
    assert min(step.certificate.end_gap for step in steps) > -1e-9
    assert steps[-1].certificate.contacts == (3 if below == "slab" else 2)


def ridges(tmp_path, below):
    """A straight ridge at z = -0.1 as a hull, which is the truth, and as a mesh or a height field."""
    corners = [(x, y, -0.1 if x == 0.0 else -0.4) for x in (-0.3, 0.0, 0.3) for y in (-0.3, 0.3)]
    trimesh.convex.convex_hull(corners + [(x, y, -1.0) for x, y, _ in corners]).export(tmp_path / "ridge.obj")
    hull = Primitive("floor", "mesh", mesh=str(tmp_path / "ridge.obj"), collision_meshes="convex_hull")
    if below == "mesh":
        return hull, replace(hull, collision_meshes=below)
    heights = mb.model.scene.Heights(grid=((-0.4, -0.1, -0.4),) * 2)
    return hull, Primitive("floor", below, (0.6, 0.6), heights=heights)


@pytest.mark.parametrize("below", ["mesh", "height_field"])
def test_a_sharp_edge_that_falls_across_a_ridge_rests_on_it(tmp_path, below):
    """Where edge and ridge cross, a blade is thinner than it is deep on its way; a convex ridge is the truth."""
    blade = [(0.08, y, 0.0) for y in (-0.03, 0.03)] + [(0.0, y, z) for y in (-0.03, 0.03) for z in (0.0, 0.03)]
    trimesh.convex.convex_hull(blade).export(tmp_path / "blade.obj")
    for roll, pitch, yaw in ((0.0, 0.6, 0.7), (0.2, 0.5, 0.4), (-0.1, 0.9, 1.2), (0.05, 0.3, 0.8)):
        turn = Rotation.from_euler("xyz", (roll, pitch, yaw))
        points = turn.apply(blade)
        middle = 0.5 * (points[0] + points[1])
        along = np.linspace(points[0], points[1], 1001)
        lowest = (along[:, 2] + np.abs(along[:, 0] - middle[0])).min()
        body = Primitive("blade", "mesh", mesh=str(tmp_path / "blade.obj"), base="free", mass=0.5,
                         pose=Pose((-middle[0], -middle[1], -0.095 - lowest), (roll, pitch, yaw)))  # fmt: skip
        ends = []
        for floor in ridges(tmp_path, below):
            sim = mb.Simulator(mb.Scene(primitives=(floor, body)))
            assert min(sim.step().certificate.end_gap for _ in range(80)) > -1.01e-6, (floor, roll, pitch, yaw)
            ends.append(np.concatenate(sim.link_pose("blade")))
        assert ends[1] == pytest.approx(ends[0], abs=2e-4), (roll, pitch, yaw)


@pytest.mark.parametrize("below", ["mesh", "height_field"])
@pytest.mark.parametrize("yaw", [0.0, 0.3, -0.5])
def test_an_edge_beside_a_face_that_is_nearly_level_lands_on_a_ridge(tmp_path, below, yaw):
    """Its keel lies across the ridge, and a face of its bow, which leans by 1.5 degrees, beside; a convex ridge is the
    truth."""
    bow = [(0.1, y, 0.1 * np.tan(np.radians(1.5))) for y in (-0.02, 0.02)]
    boat = [(-0.1, 0.0, 0.0), (0.0, 0.0, 0.0), *bow, *((x, y, 0.05) for x in (-0.1, 0.1) for y in (-0.06, 0.06))]
    trimesh.convex.convex_hull(boat).export(tmp_path / "boat.obj")
    place = Rotation.from_euler("z", yaw).apply((0.05, 0.0, -0.099))
    body = Primitive("boat", "mesh", mesh=str(tmp_path / "boat.obj"), collision_meshes="convex_hull", base="free",
                     mass=0.5, pose=Pose(tuple(place), (0.0, 0.0, yaw)))  # fmt: skip
    ends = []
    for floor in ridges(tmp_path, below):
        sim = mb.Simulator(mb.Scene(primitives=(floor, body)))
        for _ in range(40):
            sim.step()
        ends.append(sim.link_pose("boat")[0])
    assert ends[1] == pytest.approx(ends[0], abs=1e-6)


def tipping(offset, times):
    """Spin of a smooth cube of 0.1 m on the edge of a stand, its centre so far from the stand's middle; in the plane.

    The normal is that of the cube's lower face: N n_z - m g with n = (sin a, cos a), and the cube turns by N about it.
    """
    inertia, half = 0.01 / 6.0, 0.05

    def rates(_, state):
        x, z, angle, vx, vz, spin = state
        n, t = (np.sin(angle), np.cos(angle)), (np.cos(angle), -np.sin(angle))
        rx, rz = x - half, z - half  # from the edge to the centre
        along, above = rx * t[0] + rz * t[1], rx * n[0] + rz * n[1]
        arm = rx * n[1] - rz * n[0]
        bias = -9.81 * n[1] + 2.0 * spin * (vx * t[0] + vz * t[1]) - spin * spin * above
        force = -bias / (1.0 + along * arm / inertia)
        return vx, vz, spin, force * n[0], force * n[1] - 9.81, force * arm / inertia

    start = offset, 2.0 * half, 0.0, 0.0, 0.0, 0.0
    return solve_ivp(rates, (0.0, times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-12).y[5]


@pytest.mark.parametrize("below", ["box", "mesh", "height_field"])
@pytest.mark.parametrize("offset", [0.0501, 0.052])
def test_a_smooth_cube_tips_off_a_stand_of_its_own_width(tmp_path, below, offset):
    """Its lower edges run along those of the stand: where these end they are no obstacle that lies level.

    Sideways edges made of it, once the cube had tilted, had it turn by 1.7 times as much.
    """
    materials, size, times = {"m": mb.model.Material(0.0)}, (0.1, 0.1, 0.1), (0.1, 0.2, 0.25)
    stand = solid("stand", size, Pose(), tmp_path, below, material="m") if below != "height_field" else Primitive(
        "stand", below, (0.1, 0.1), heights=Heights(grid=((0.05, 0.05), (0.05, 0.05))), material="m")  # fmt: skip
    cube = Primitive("cube", "box", size, Pose((offset, 0.0, 0.1)), "free", 1.0, material="m")
    sim, spins = mb.Simulator(mb.Scene(primitives=(stand, cube), materials=materials)), []
    for _ in range(250):
        sim.step()
        spins.append(sim.object_motion("cube")[0][1])
    np.testing.assert_allclose([spins[round(1e3 * t) - 1] for t in times], tipping(offset, times), rtol=3e-3)


@pytest.mark.parametrize(
    ("kind", "shape"), [*product(("mesh", "field"), ("box", "hull", "cylinder")), ("mesh", "cone")]
)
def test_a_tip_comes_in_through_a_face_that_is_not_the_nearest(tmp_path, kind, shape):
    """A steep tip ends 0.25 mm deep below the base of what falls on it, and less than 0.1 mm below its side."""
    height, beside = 0.0515, 3e-4 if shape == "cone" else 5e-5
    if kind == "mesh":
        ring = [(0.02, 0.0, -height), (-0.01, 0.01732, -height), (-0.01, -0.01732, -height)]
        faces = [[0, 1, 3], [1, 2, 3], [2, 0, 3], [0, 2, 1]]
        trimesh.Trimesh([*ring, (0.0, 0.0, 0.0)], faces, process=False).export(tmp_path / "tip.stl")
        tip = Primitive("tip", "mesh", mesh=str(tmp_path / "tip.stl"), collision_meshes="mesh")
    else:
        grid = tuple(tuple(0.0 if i == j == 1 else -height for i in range(3)) for j in range(3))
        tip = Primitive("tip", "height_field", (0.04, 0.04), heights=Heights(grid=grid))
    if shape == "hull":
        trimesh.creation.box((0.06, 0.06, 0.04)).export(tmp_path / "body.stl")
    body = Primitive(
        "body", {"hull": "mesh"}.get(shape, shape), (0.06, 0.06, 0.04) if shape == "box" else (0.03, 0.04),
        Pose((0.03 - beside, 0.0, 0.02 + 2.5e-4)), "free", 0.1,
        velocity=mb.model.Velocity(linear=(0.0, 0.0, -0.5)),
    )  # fmt: skip
    if shape == "hull":
        body = replace(body, size=(), mesh=str(tmp_path / "body.stl"), collision_meshes="convex_hull")
    sim = mb.Simulator(mb.Scene(primitives=(tip, body), gravity=(0.0, 0.0, 0.0)))
    step = sim.step()
    tips = [c for c in step.contacts if abs(c["normal"][2]) > 1.0 - 1e-12 and abs(c["gap"] - 2.5e-4) < 1e-9]
    assert len(tips) == 1 and abs(tips[0]["impulse"][2]) > 0.005 and step.certificate.end_gap >= -1e-8

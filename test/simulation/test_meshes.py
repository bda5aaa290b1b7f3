# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Concave bodies as they are: what rests in, hangs on and passes through triangle meshes, in closed form.

Covers core/collision/mesh_*.py, model/shapes/mesh_arrays.py, model/shapes/mesh_trees.py.
"""

import numpy as np
import pytest
import trimesh

import mb_contact as mb
from mb_contact.core.jit import kernel
from scenes.mesh_bodies import (
    bowl,
    circle,
    closed_around,
    half_circle,
    hollow_sphere,
    revolved,
    ring,
    sheet_of,
    threaded,
    tube,
    wheel,
    write_obj,
)

Pose, Primitive = mb.model.Pose, mb.model.Primitive
G, DT, DEEPEST = 9.81, 1e-3, 1e-8


def mesh(folder, name, corners, at=(0.0, 0.0, 0.0), mass=None, rpy=(0.0, 0.0, 0.0), **more):
    """A mesh as it is, welded or of a mass."""
    file = write_obj(folder / f"{name}.obj", corners)
    base = "weld" if mass is None else "free"
    return Primitive(
        name, "mesh", base=base, mass=mass, mesh=str(file), pose=Pose(at, rpy), collision_meshes="mesh", **more
    )


def free(name, shape, size, at, mass=0.1):
    """A free primitive."""
    return Primitive(name, shape, size, base="free", mass=mass, pose=Pose(at))


def run(primitives, steps, ground=None, **more):
    """A simulator behind so many steps, each of them solved, none deep or with more energy than the last one."""
    ground = None if ground is None else mb.model.Ground(height=ground)
    sim = mb.Simulator(mb.Scene(primitives=tuple(primitives), ground=ground, **more))
    energy = np.inf
    for _ in range(steps):
        certificate = sim.step().certificate
        assert certificate.solver != "over_budget" and certificate.end_gap >= -DEEPEST
        assert certificate.energy <= energy + 1e-9
        energy = certificate.energy
    return sim


def fallen(steps):
    """How far the steps of a free fall from rest lead [m]."""
    return 0.5 * G * DT**2 * steps * (steps + 1)


def height_over_pole(radius, steps, sides):
    """Distance from the pole, over the distance from its faces, of a point on the axis of a sphere of triangles."""
    low = np.deg2rad(-90.0 + 180.0 / (steps - 1))
    rim = radius * np.array([[np.cos(low), 0.0, np.sin(low)], [
        np.cos(low) * np.cos(2 * np.pi / sides), np.cos(low) * np.sin(2 * np.pi / sides), np.sin(low)]])  # fmt: skip
    n = np.cross(rim[0] + [0, 0, radius], rim[1] + [0, 0, radius])
    return np.linalg.norm(n) / abs(n[2])


@pytest.mark.parametrize("hollow", [True, False], ids=["hollow_sphere", "bowl"])
def test_a_ball_rests_at_the_bottom(tmp_path, hollow):
    shell = hollow_sphere(0.05, 0.06, 9, 16) if hollow else bowl(0.05, 0.005, 5, 16)
    sim = run([mesh(tmp_path, "shell", shell), free("ball", "sphere", (0.02,), (0.0, 0.0, 0.0))], 150)
    wanted = -0.05 + 0.02 * height_over_pole(0.05, 9, 16)
    assert np.allclose(sim.q[:3], [0.0, 0.0, wanted], atol=1e-9) and np.abs(sim.v).max() < 1e-9


def test_a_ball_rolls_in_a_hollow_sphere(tmp_path):
    ball = free("ball", "sphere", (0.02,), (0.01, 0.003, 0.0))
    sim = run([mesh(tmp_path, "shell", hollow_sphere(0.05, 0.06, 9, 16)), ball], 300)
    assert np.linalg.norm(sim.q[:3]) <= 0.03 + 1e-9


def test_a_ring_falls_along_its_peg(tmp_path):
    scene = [
        mesh(tmp_path, "ring", ring(0.0202, 0.03, 0.01, 32), (0.0, 0.0, 0.08), 0.2),
        Primitive("peg", "cylinder", (0.02, 0.1)),
    ]
    sim = run(scene, 120, ground=-0.05)
    assert np.allclose(sim.q[:3], [0.0, 0.0, 0.08 - fallen(120)], atol=1e-12)
    for _ in range(80):
        sim.step()
    assert np.allclose(sim.q[:3], [0.0, 0.0, -0.045], atol=1e-9)


def test_a_ring_hangs_on_a_bar(tmp_path):
    path = 0.03 * np.stack([circle(24)[:, 0], np.zeros(24), circle(24)[:, 1]], axis=1)
    bar = Primitive("bar", "cylinder", (0.01, 0.2), pose=Pose(rpy=(0.5 * np.pi, 0.0, 0.0)))
    sim = run([mesh(tmp_path, "ring", tube(path, 0.005, 8, True), mass=0.2), bar], 300)
    wanted = 0.01 / np.cos(np.pi / 24) - 0.025  # in the hollow between two edges
    assert np.allclose(sim.q[:3], [0.0, 0.0, wanted], atol=1e-9)


def u_bar():
    """A half ring of 3 cm with two arms that point up."""
    angle = np.linspace(0.0, np.pi, 13)
    arc = -0.03 * np.stack([np.cos(angle), np.zeros(13), np.sin(angle)], axis=1)
    return tube([(-0.03, 0.0, 0.05), *arc, (0.03, 0.0, 0.05)], 0.005, 8)


def test_one_u_hangs_in_another(tmp_path):
    lower = mesh(tmp_path, "lower", u_bar(), mass=0.2, rpy=(np.pi, 0.0, 0.0))
    sim = run([mesh(tmp_path, "upper", u_bar(), rpy=(0.0, 0.0, 0.5 * np.pi)), lower], 300)
    assert np.allclose(sim.q[:3], [0.0, 0.0, -0.05], atol=1e-9)


@pytest.mark.parametrize("is_mesh", [False, True], ids=["primitive", "mesh"])
def test_a_peg_falls_through_a_hole_of_20_micrometres(tmp_path, is_mesh):
    if is_mesh:
        hole = 0.01002
        peg = mesh(tmp_path, "peg", revolved([(0.004, -0.02), (0.01, -0.02), (0.01, 0.02), (0.004, 0.02)], 32),
                   (0.0, 0.0, 0.035), 0.1)  # fmt: skip
    else:
        hole, peg = 0.01002 / np.cos(np.pi / 32), free("peg", "cylinder", (0.01, 0.04), (0.0, 0.0, 0.035))
    sim = run([mesh(tmp_path, "plate", ring(hole, 0.03, 0.02, 32)), peg], 150)
    assert np.allclose(sim.q[:3], [0.0, 0.0, 0.035 - fallen(150)], atol=1e-12)


def test_boxes_as_meshes_stack_like_boxes(tmp_path):
    box = wheel(0.02 * np.sqrt(2.0) * circle(4, 0.5), 0.004, 0.04)
    scene = [mesh(tmp_path, f"box{i}", box, (0.0, 0.0, 0.0201 + 0.0403 * i), 0.2) for i in range(2)]
    sim = run(scene, 200, ground=0.0)
    assert np.allclose(sim.q[[2, 9]], [0.02, 0.06], atol=1e-9) and np.abs(sim.v).max() < 1e-9


def test_flush_meshes_catch_nothing(tmp_path):
    tile = wheel(0.1 * np.sqrt(2.0) * circle(4, 0.5), 0.01, 0.04)
    slab = wheel(0.02 * np.sqrt(2.0) * circle(4, 0.5), 0.004, 0.02)
    smooth = {"ice": mb.model.Material(friction=0.0)}
    for name, slider in (
        ("mesh", mesh(tmp_path, "slab", slab, (0.05, 0.0, 0.03), 0.2, material="ice",
                      velocity=mb.model.Velocity(linear=(0.5, 0.0, 0.0)))),
        ("box", Primitive("slab", "box", (0.04, 0.04, 0.02), base="free", mass=0.2, pose=Pose((0.05, 0.0, 0.03)),
                          material="ice", velocity=mb.model.Velocity(linear=(0.5, 0.0, 0.0)))),
    ):  # fmt: skip
        tiles = [mesh(tmp_path, f"tile{i}", tile, (0.2 * i, 0.0, 0.0), material="ice") for i in range(2)]
        sim = run([*tiles, slider], 300, materials=smooth)
        assert np.allclose(sim.q[:3], [0.2, 0.0, 0.03], atol=1e-8), name
        assert np.allclose(sim.v, [0.0, 0.0, 0.0, 0.5, 0.0, 0.0], atol=1e-7), name


def test_a_sheet_has_two_sides_and_no_thickness(tmp_path):
    x, y = np.meshgrid([-0.1, 0.1], [-0.1, 0.1])
    sheet = sheet_of(np.stack([x, y, np.zeros((2, 2))], axis=2))
    sim = run([mesh(tmp_path, "sheet", sheet), free("ball", "sphere", (0.02,), (0.03, 0.0, 0.05))], 200)
    assert sim.q[2] == pytest.approx(0.02, abs=1e-9)
    up = run([mesh(tmp_path, "sheet", sheet), free("ball", "sphere", (0.02,), (0.03, 0.0, -0.05))], 200,
             gravity=(0.0, 0.0, G))  # fmt: skip
    assert up.q[2] == pytest.approx(-0.02, abs=1e-9)
    fast = Primitive("ball", "sphere", (0.02,), base="free", mass=0.1, pose=Pose((0.03, 0.0, 0.5)),
                     velocity=mb.model.Velocity(linear=(0.0, 0.0, -80.0)))  # fmt: skip
    assert run([mesh(tmp_path, "sheet", sheet), fast], 20).q[2] == pytest.approx(0.02, abs=1e-7)


@pytest.mark.parametrize("kind, deepest, table", [
    ("convex_hull", 1e-6, "half-space"), ("convex_hull", 1e-6, "box"), ("convex_hull", 1e-6, "hull"),
    ("mesh", DEEPEST, "half-space"), ("mesh", DEEPEST, "box"),
])  # fmt: skip
def test_a_body_of_many_corners_tumbles(tmp_path, kind, deepest, table):
    """Of corners close together the one that comes down next is a contact, and not the one that is lowest now."""
    corners = sheet_of(closed_around(half_circle(0.05, 21), 48)) * (1.0, 0.8, 0.6)
    file = write_obj(tmp_path / "body.obj", corners)
    body = Primitive("body", "mesh", base="free", mass=0.3, mesh=str(file), collision_meshes=kind,
                     pose=Pose((0.0, 0.0, 0.1), (0.4, 0.3, 0.0)))  # fmt: skip
    floor = {"base": "weld", "pose": Pose((0.0, 0.0, -0.05))}
    slab = wheel(np.sqrt(2.0) * circle(4, 0.5), 0.01, 0.1)
    tables = {
        "half-space": (),
        "box": (Primitive("table", "box", (2.0, 2.0, 0.1), **floor),),
        "hull": (Primitive("table", "mesh", mesh=str(write_obj(tmp_path / "slab.obj", slab)), **floor),),
    }
    ground = mb.model.Ground() if table == "half-space" else None
    sim = mb.Simulator(mb.Scene(primitives=(body, *tables[table]), ground=ground))
    for _ in range(600):
        certificate = sim.step().certificate
        assert certificate.penetration <= deepest and certificate.end_gap >= -deepest


@pytest.mark.parametrize("kind, table, deepest", [
    ("mesh", False, 5e-7), ("convex_hull", False, 2e-6), ("convex_hull", True, 2e-6),
])  # fmt: skip
def test_a_rough_box_slaps_down(tmp_path, kind, table, deepest):
    """As scans do: corners of a face that is rough by 50 um come down at many moments of one step."""
    side = np.linspace(-1.0, 1.0, 13)
    x, y = np.meshgrid(side, side, indexing="ij")
    one = np.ones_like(x)
    faces = [np.stack(axes, axis=2) for axes in ((x, y, one), (y, x, -one), (one, x, y), (-one, y, x), (y, one, x),
                                                 (x, -one, y))]  # fmt: skip
    corners = np.concatenate([sheet_of(face) for face in faces]) * (0.05, 0.04, 0.03)
    places, index = np.unique(corners.reshape(-1, 3).round(9), axis=0, return_inverse=True)
    places += np.random.default_rng(0).uniform(-5e-5, 5e-5, places.shape)
    rough = places[index.reshape(-1)].reshape(-1, 3, 3)
    file = str(write_obj(tmp_path / "rough.obj", rough))
    floor = Primitive("table", "box", (2.0, 2.0, 0.1), base="weld", pose=Pose((0.0, 0.0, -0.05)))
    for tilt in (0.3, 0.5, 0.8):
        box = Primitive("rough", "mesh", base="free", mass=0.3, mesh=file, collision_meshes=kind,
                        pose=Pose((0.0, 0.0, 0.15), (tilt, 0.2, 0.1)))  # fmt: skip
        sim = mb.Simulator(mb.Scene(primitives=(box, floor) if table else (box,),
                                    ground=None if table else mb.model.Ground()))  # fmt: skip
        for _ in range(400):
            certificate = sim.step().certificate
            assert certificate.residual <= 1e-10 and certificate.end_gap >= -deepest


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_corner_above_the_rim_of_a_hole_is_not_in_its_wall(tmp_path, side):
    """Its foot on the wall's plane is a corner of a triangle whose plane ends there along another one's edge."""
    hole, outer = 0.004, 0.0045
    turn = side * (np.pi / 32 - np.arcsin(hole / outer * np.sin(np.pi / 32)))
    plate = mesh(tmp_path, "plate", ring(hole, 0.03, 0.004, 32))
    washer = mesh(tmp_path, "washer", ring(0.002, outer, 0.003, 32), (0.0, 0.0, 0.0035), 0.1, rpy=(0.0, 0.0, turn))
    sim = mb.Simulator(mb.Scene(primitives=(plate, washer)))
    for _ in range(3):
        certificate = sim.step().certificate
        assert certificate.penetration <= 1e-12 and certificate.end_gap >= -DEEPEST


def test_two_hulls_of_many_corners_clash(tmp_path):
    """Two turn other faces to each other within a step than those of its start; those of its end come in."""
    corners = sheet_of(closed_around(half_circle(0.05, 21), 48)) * (1.0, 0.8, 0.6)
    file = str(write_obj(tmp_path / "body.obj", corners))
    spin = mb.model.Velocity(linear=(0.0, 0.0, -1.0), angular=(20.0, -15.0, 10.0))
    bodies = [Primitive(f"body_{k}", "mesh", base="free", mass=0.3, mesh=file, collision_meshes="convex_hull",
                        pose=Pose((0.01 * k, 0.0, 0.06 + 0.12 * k), (0.4, 0.3, k)), velocity=spin)
              for k in range(4)]  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=tuple(bodies), ground=mb.model.Ground()))
    for _ in range(300):
        certificate = sim.step().certificate
        assert certificate.residual <= 1e-10 and certificate.end_gap >= -2e-5


def test_both_engines_have_the_same_contacts(tmp_path):
    scene = [mesh(tmp_path, "bowl", bowl(0.05, 0.005, 5, 16), (0.0, 0.0, 0.06), 0.2),
             free("ball", "sphere", (0.02,), (0.01, 0.0, 0.06))]  # fmt: skip
    states = [run(scene, 100, ground=0.0, collision_engine=engine).q for engine in ("coal", "fcl")]
    assert np.array_equal(*states)


def test_overlaps_at_the_start_are_told_and_pushed_out(tmp_path):
    block = wheel(0.1 * np.sqrt(2.0) * circle(4, 0.5), 0.01, 0.1)
    scene = mb.Scene(primitives=(
        mesh(tmp_path, "block", block), free("ball", "sphere", (0.02,), (0.06, 0.0, 0.062)),
    ))  # fmt: skip
    (found,) = mb.simulation.initial_penetrations(mb.build_world(scene))
    assert found[:2] == ("ball", "block") and found[2] == pytest.approx(0.008, abs=1e-12)
    sim = mb.Simulator(scene)
    for _ in range(400):
        sim.step()
    assert sim.q[2] == pytest.approx(0.07, abs=1e-5) and abs(sim.q[0] - 0.06) < 1e-9


THREAD = np.array([(0.05, 0.0033), (0.35, 0.004), (0.55, 0.004), (0.85, 0.0033)])
NUT = np.array([(0.0, 0.0034), (0.3, 0.0041), (0.6, 0.0041), (0.9, 0.0034)])


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.0, 0.2])
def test_a_nut_on_its_bolt(tmp_path, friction):
    """M8: a turn leads 1.25 mm; friction above the tangent of the lead angle, 0.05, holds it."""
    bolt = threaded([(t, 0.001) for t, _ in THREAD], THREAD, 10, 0.00125, 24)
    nut = threaded(NUT, [(t, 0.0065) for t, _ in NUT], 3, 0.00125, 24)
    scene = [mesh(tmp_path, "bolt", bolt, material="steel"),
             mesh(tmp_path, "nut", nut, (0.0, 0.0, 0.005), 0.01, material="steel")]  # fmt: skip
    steel = {"steel": mb.model.Material(friction=friction)}
    sim = run(scene, 150, materials=steel)
    z, turn = sim.q[2], _turn(sim.q)
    for _ in range(250):
        assert sim.step().certificate.end_gap >= -DEEPEST
    if friction > 0.0:
        assert sim.q[2] == pytest.approx(z, abs=1e-9) and np.abs(sim.v).max() < 1e-8
    else:
        turned = _turn(sim.q) - turn
        assert turned < -1.5 and sim.q[2] - z == pytest.approx(0.00125 * turned / (2.0 * np.pi), abs=2e-5)


def _turn(q):
    """Angle about z of a body that has turned about it alone [rad]."""
    return 2.0 * np.arctan2(q[5], q[6])



@pytest.mark.parametrize("target", ["mesh", "box"])
def test_a_fast_mesh_does_not_go_through_a_thin_wall(tmp_path, target):
    """A die of 2 cm at 50 m/s and a plate of 1 mm: the way of a step is 50 times as long as that is thick."""
    die = write_obj(tmp_path / "die.obj", wheel(0.01 * np.sqrt(2.0) * circle(4, 0.5), 0.002, 0.02))
    plate = write_obj(tmp_path / "plate.obj", wheel(0.5 * np.sqrt(2.0) * circle(4, 0.5), 0.01, 0.001))
    wall = Primitive("wall", "box", (1.0, 1.0, 1e-3))
    if target == "mesh":
        wall = Primitive("wall", "mesh", mesh=str(plate), collision_meshes="mesh")
    for k in range(4):
        thrown = mb.model.Velocity(linear=(0.0, 0.0, -50.0))
        pose = Pose((0.1, 0.05, 0.1 + 0.0125 * k), (0.3, 0.4, 0.0))
        body = Primitive("die", "mesh", (), pose, "free", 0.1, inertia=(1e-5,) * 3, velocity=thrown, mesh=str(die),
                         collision_meshes="mesh")  # fmt: skip
        sim = mb.Simulator(mb.Scene(primitives=(wall, body), gravity=(0.0, 0.0, 0.0)))
        for _ in range(6):
            sim.step()
        assert sim.q[2] > 0.0 and sim.v[5] > -1.0


@kernel
def told_of_looks(work):
    """(Number of looks at a convex shape and a mesh, depth up to which the last one was) [m]."""
    return work.mesh.query[0], work.mesh.limit[0]


def test_the_moment_of_touching_is_found_in_a_few_looks(tmp_path):
    """Of the edge of a box that falls across a ridge and turns by 0.05 rad in a step: straight back is short."""
    beam = mesh(tmp_path, "beam", wheel(0.02 * circle(4, 0.0), 0.005, 0.2), rpy=(0.0, 0.5 * np.pi, 0.0))
    thrown = mb.model.Velocity(angular=(30.0, 40.0, 0.0), linear=(0.0, 0.0, -1.0))
    box = Primitive("box", "box", (0.02, 0.03, 0.04), Pose((0.0, 0.003, 0.055)), "free", 0.1, velocity=thrown)
    sim = mb.Simulator(mb.Scene(primitives=(beam, box), gravity=(0.0, 0.0, 0.0)))
    work, looks, met = sim.context.need.poses.work, [], 0
    for _ in range(40):
        before = told_of_looks(work)[0]
        certificate = sim.step().certificate
        assert certificate.end_gap >= -DEEPEST
        looks.append(told_of_looks(work)[0] - before)
        met += certificate.pairs_met
    assert met > 0 and max(looks) <= 8  # by halves it took 13


def test_overlaps_are_looked_for_as_deep_as_bodies_go_where_they_meet(tmp_path):
    """A rod of 1 m turns by 0.05 rad in a step about its middle, on which there is a box of 1 cm."""
    rod = mesh(tmp_path, "rod", wheel(0.01 * np.sqrt(2.0) * circle(4, 0.5), 0.002, 1.0), (0.0, 0.0, 0.0), 1.0,
               (0.0, 0.5 * np.pi, 0.0), velocity=mb.model.Velocity(angular=(0.0, 0.0, 50.0)))  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=(rod, free("box", "box", (0.01,) * 3, (0.0, 0.0, 0.0151)))))
    for _ in range(3):
        sim.step()
    assert 0.0 < told_of_looks(sim.context.need.poses.work)[1] < 5e-3  # twice the way of its ends are 50 mm


@kernel
def told_of_leaves(work):
    """Pairs of leaves of two meshes whose triangles the last look compared."""
    return work.mesh.pairs[0]


def test_triangles_are_looked_at_as_far_apart_as_bodies_go_there(tmp_path):
    """One of two rods that cross turns about its axis by 0.03 rad: 0.3 mm; with its half length for radius, 7.5 mm."""
    rod = revolved([(0.0, -0.25), *((0.01, z) for z in np.linspace(-0.25, 0.25, 101)), (0.0, 0.25)], 16)
    turns = mb.model.Velocity(angular=(30.0, 0.0, 0.0))
    lies = mesh(tmp_path, "lies", rod, rpy=(0.0, 0.5 * np.pi, 0.0))
    above = mesh(tmp_path, "above", rod, (0.01, 0.0, 0.0202), 0.1, (0.0, 0.5 * np.pi, 0.2), velocity=turns)
    sim = mb.Simulator(mb.Scene(primitives=(lies, above), gravity=(0.0, 0.0, 0.0)))
    assert sim.step().certificate.end_gap == np.inf
    assert 0 < told_of_leaves(sim.context.need.poses.work) < 300  # 669 for the whole way; 398 beside planes too


def test_a_pit_is_no_peak_of_the_solid_below_it(tmp_path):
    """Under a sheet across a pit of 1 mm, whose rim goes up and down so that ridges end at its lowest point."""
    dented = revolved([(0.0, -0.01), (0.03, -0.01), (0.03, 0.0), (0.01, 0.0), (0.0, -0.001)], 16)
    around = np.round(np.arctan2(dented[..., 1], dented[..., 0]) * 8 / np.pi)
    dented[np.isclose(np.hypot(dented[..., 0], dented[..., 1]), 0.01) & (around % 2 == 1), 2] = -0.0005
    x, y = np.meshgrid([-0.02, 0.02], [-0.02, 0.02])
    sheet = sheet_of(np.stack([x, y, np.zeros((2, 2))], axis=2))
    sim = run([mesh(tmp_path, "dented", dented), mesh(tmp_path, "sheet", sheet, (0.0, 0.0, 1e-8), 0.1)], 3)
    assert sim.state.v[5] == pytest.approx(0.0, abs=1e-4)  # a false contact is 1 mm deep


def test_features_that_meet_without_room_are_not_left_out(tmp_path):
    """Four corners of a box come down on a plate within a step, where there is room for two contacts and for many."""
    plate = mesh(tmp_path, "plate", trimesh.creation.box((0.4, 0.4, 0.1)).triangles)
    falls = mb.model.Velocity(linear=(0.0, 0.0, -4.0))
    corners = trimesh.creation.box((0.06, 0.05, 0.04)).triangles
    body = mesh(tmp_path, "body", corners, (0.003, 0.002, 0.0721), 1.0, velocity=falls)
    ends = []
    for capacity in (2, 64):
        sim = mb.Simulator(mb.Scene(primitives=(plate, body)))
        sim.context.allocate(capacity)
        assert sim.step().certificate.end_gap > -DEEPEST
        ends.append(sim.q)
    np.testing.assert_allclose(*ends, atol=1e-12)

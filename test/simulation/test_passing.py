# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is not touched is not hit: seams, tiles, narrow holes, near misses; and what touches is hit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh

import mb_contact as mb
from mb_contact.model.scene import (
    Actuator,
    Ground,
    Material,
    ModelMaterials,
    Pose,
    Primitive,
    Scene,
    SceneModel,
    Velocity,
)
from mb_contact.worlds import Worlds

MU, GRAVITY = 0.3, 9.81
EVENT = {"collision_scheme": "event"}
EULER, RK4, MIDPOINT = ({"integrator": name} for name in ("semi_implicit_euler", "rk4", "midpoint"))
STILL = {"gravity": (0.0, 0.0, 0.0)}


def slab(name, begin, end, lower=0.0):
    """A fixed slab whose top is ``lower`` than the ground plane, between two places on the x axis."""
    middle = Pose((0.5 * (begin + end), 0.0, -0.05 - lower))
    return Primitive(name, "box", (end - begin, 1.0, 0.1), middle, material="m")


def tiles(count, lower=0.0):
    return [slab(f"tile_{i}", 0.1 * i - 1.0, 0.1 * i - 0.9, lower * i) for i in range(count)]


def sliding(slabs, speed=1.0, restitution=0.0, **settings):
    """A box of 1 kg with this speed on slabs; its front is at -0.235."""
    box = Primitive("box", "box", (0.13, 0.09, 0.08), Pose((-0.3, 0.0, 0.04)), "free", 1.0, material="m",
                    velocity=Velocity(linear=(speed, 0.0, 0.0)))  # fmt: skip
    return Scene(primitives=(*slabs, box), materials={"m": Material(MU, restitution=restitution)}, **settings)


def slide(scene):
    """(way until it stops, least and largest height above the surface, worst end_gap)."""
    sim = mb.Simulator(scene)
    heights, gap = [], np.inf
    for _ in range(round(1.1 * sim.v[3] / (MU * GRAVITY) / sim.time_step)):
        step = sim.step()
        heights.append(sim.link_pose("box")[0][2] - 0.04)
        gap = min(gap, step.certificate.end_gap)
        assert step.certificate.residual < 1e-9
        assert not step.certificate.deepest_pair or scene.integrator != "semi_implicit_euler"
    return sim.link_pose("box")[0][0] + 0.3, min(heights), max(heights), gap


@pytest.mark.parametrize("slabs", [
    [slab("a", -1.0, 0.0), slab("b", 0.0, 1.0)],
    [slab("a", -1.0, -0.12), slab("b", -0.12, 1.0, lower=1e-4)],
    tiles(30),
], ids=["flush", "lower", "tiles"])  # fmt: skip
@pytest.mark.parametrize("time_step", [1e-3, 1e-2])
def test_a_box_slides_over_seams_as_on_one_slab(slabs, time_step):
    way, low, high, gap = slide(sliding(slabs, time_step=time_step))
    whole, *_ = slide(sliding([slab("whole", -2.0, 2.0)], time_step=time_step))
    lower = -0.05 - slabs[-1].pose.position[2]
    assert way == pytest.approx(whole, abs=1e-9 + 10.0 * lower)
    assert high < 1e-9 + 0.3 * lower  # it tips over the edge: 0.2 of the drop in the event scheme too
    assert low > -1e-9 - lower
    assert gap > -1e-9


@pytest.mark.parametrize("settings", [RK4, MIDPOINT, {"restitution": 0.5}, {"friction_model": "coulomb_polyhedral"},
                                      {"collision_engine": "fcl"}, RK4 | {"restitution": 0.5}],
                         ids=["rk4", "midpoint", "restitution", "polyhedral", "fcl", "rk4_restitution"])  # fmt: skip
def test_seams_under_other_rules(settings):
    way, _, high, _ = slide(sliding(tiles(30), **settings))
    lag = 0.5e-3 if settings.get("integrator", "semi_implicit_euler") == "semi_implicit_euler" else 0.0
    assert way == pytest.approx(1.0 / (2.0 * MU * GRAVITY) - lag, abs=1e-6)
    assert high < 1e-7


def test_a_higher_slab_stops_the_box():
    sim = mb.Simulator(sliding([slab("a", -1.0, -0.2), slab("b", -0.2, 1.0, lower=-0.002)]))
    for _ in range(400):
        sim.step()
    assert sim.link_pose("box")[0][0] < -0.2


def passing(clearance, shape="box", speed=1.0, spin=0.0, restitution=0.0, **settings):
    """A body that flies over a fixed box without touching it; the simulator behind it, and its events."""
    fixed = Primitive("fixed", "box", (0.2, 0.2, 0.2), Pose((0.0, 0.0, -0.1)), material="m")
    size = {"box": (0.1, 0.1, 0.1), "sphere": (0.05,), "cylinder": (0.05, 0.1)}[shape]
    flying = Primitive("flying", shape, size, Pose((-0.2537, 0.0, 0.05 + clearance)), "free", 1.0, material="m",
                       velocity=Velocity((0.0, 0.0, spin), (speed, 0.0, 0.0)))  # fmt: skip
    materials = {"m": Material(MU, restitution=restitution)}
    sim = mb.Simulator(Scene(primitives=(fixed, flying), materials=materials, **STILL, **settings))
    passed, events = 0, 0
    for _ in range(round(0.5 / (speed * sim.time_step))):
        step = sim.step()
        passed, events = passed + step.certificate.pairs_passed, events + len(step.events)
    return sim, passed, events


@pytest.mark.parametrize("settings", [
    {}, RK4, MIDPOINT, {"restitution": 0.5}, RK4 | {"restitution": 0.7}, {"time_step": 1e-2},
    {"collision_engine": "fcl"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("clearance", [1e-5, 1e-3])
def test_who_passes_keeps_its_velocity(clearance, settings):
    sim, passed, events = passing(clearance, **settings)
    np.testing.assert_allclose(sim.object_motion("flying")[0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0], atol=1e-9)
    assert events == 0
    if not settings and clearance < 1e-4:
        assert passed > 0


@pytest.mark.parametrize("friction_model", ["no_slip", "viscous", "coulomb_viscous"])
@pytest.mark.parametrize("clearance", [1e-5, 1e-3])
def test_who_passes_is_left_alone_by_other_friction_models(clearance, friction_model):
    sim, *_ = passing(clearance, friction_model=friction_model)  # their friction acts up to TOUCHING_FRICTION
    np.testing.assert_allclose(sim.object_motion("flying")[0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize(("shape", "spin"), [("sphere", 30.0), ("cylinder", 30.0), ("box", 30.0)])
def test_who_spins_past_is_left_alone(shape, spin):
    sim, *_ = passing(1e-4, shape, speed=0.5, spin=spin)
    np.testing.assert_allclose(sim.object_motion("flying")[0], [0.0, 0.0, spin, 0.5, 0.0, 0.0], atol=1e-9)


def hole(width):
    """Four slabs around a square hole at the origin, tops at z = 0."""
    middle = 0.5 * width + 0.1
    walls = [(f"x{s}", (0.2, 0.6, 0.05), (s * middle, 0.0)) for s in (-1, 1)]
    walls += [(f"y{s}", (width, 0.2, 0.05), (0.0, s * middle)) for s in (-1, 1)]
    return [Primitive(name, "box", size, Pose((*at, -0.025))) for name, size, at in walls]


@pytest.mark.parametrize("shape", ["sphere", "box", "cylinder", "capsule"])
@pytest.mark.parametrize("clearance", [2e-5, 1e-3])
@pytest.mark.parametrize("time_step", [1e-3, 4e-3])
def test_pegs_fall_through_holes_as_in_free_fall(shape, clearance, time_step):
    size = {"sphere": (0.03,), "box": (0.06, 0.06, 0.08), "cylinder": (0.03, 0.08), "capsule": (0.03, 0.05)}[shape]
    at = np.array([0.49 * clearance, -0.31 * clearance, 0.12])
    peg = Primitive("peg", shape, size, Pose(tuple(at)), "free", 0.3)
    sim = mb.Simulator(Scene(primitives=(*hole(0.06 + clearance), peg), time_step=time_step))
    count = round(0.28 / time_step)
    for _ in range(count):
        sim.step()
    fallen = 0.5 * GRAVITY * time_step**2 * count * (count + 1)
    np.testing.assert_allclose(sim.link_pose("peg")[0], at - [0.0, 0.0, fallen], atol=1e-9)
    np.testing.assert_allclose(sim.object_motion("peg")[0][:3], 0.0, atol=1e-9)


def test_a_peg_wider_than_its_hole_stays_out():
    peg = Primitive("peg", "box", (0.0601, 0.06, 0.08), Pose((0.0, 0.0, 0.05)), "free", 0.3)
    sim = mb.Simulator(Scene(primitives=(*hole(0.06), peg)))
    for _ in range(200):
        sim.step()
    assert sim.link_pose("peg")[0][2] == pytest.approx(0.04, abs=1e-6)


FINGER = """<robot name="pusher"><link name="base"/><link name="finger"><inertial><mass value="2"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.02"/></geometry></collision></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="finger"/><origin xyz="-0.385001 0 0.04"/>
<axis xyz="1 0 0"/><limit lower="-2" upper="2" effort="1000" velocity="10"/></joint></robot>"""


def test_a_finger_that_pushes_over_seams_feels_friction_alone(tmp_path):
    (tmp_path / "pusher.urdf").write_text(FINGER)
    robot = SceneModel(str(tmp_path / "pusher.urdf"), actuators={"slide": Actuator("velocity", damping=2000.0)},
                       materials=ModelMaterials("m"))  # fmt: skip
    slabs = [slab(f"tile_{i}", 0.03 * i - 0.4, 0.03 * i - 0.37) for i in range(20)]
    sim = mb.Simulator(replace(sliding(slabs, 0.0), models=(robot,)))
    forces = []
    for k in range(1200):
        sim.set_targets(["slide"], velocities=[0.1 * min(1.0, k / 200)])
        sim.step()
        forces.append(-sim.contact_impulse("finger")[3] / sim.time_step)
    assert sim.link_pose("box")[0][0] > -0.2
    assert max(forces[300:]) < 1.0 / (1.0 - MU * MU) * MU * GRAVITY + 1e-6  # its own friction may press the box down


@pytest.mark.parametrize("before", [5e-4, 2e-3])
@pytest.mark.parametrize("time_step", [1e-3, 4e-3])
def test_a_bounce_before_a_flush_seam_is_one_on_one_slab(before, time_step):
    """The next slab would be met later along a path that the bounce has ended."""
    height, speed = 0.005, 2.0
    fall = np.sqrt(2.0 * height / GRAVITY)
    ball = Primitive("ball", "sphere", (0.03,), Pose((-before - speed * fall, 0.0, 0.03 + height)), "free", 1.0,
                     material="m", velocity=Velocity(linear=(speed, 0.0, 0.0)))  # fmt: skip
    slabs = slab("a", -1.0, 0.0), slab("b", 0.0, 1.0)
    materials = {"m": Material(0.0, restitution=0.6)}
    sim = mb.Simulator(Scene(primitives=(*slabs, ball), materials=materials, time_step=time_step))
    while not sim.step().events:
        pass
    velocity = sim.object_motion("ball")[0]
    assert velocity[3] == pytest.approx(speed, abs=1e-12)
    assert velocity[5] > 0.0


@pytest.mark.parametrize("higher", [6e-9, 3e-8])
@pytest.mark.parametrize("past", [0.0, 2e-9, 2e-8])
def test_a_tile_that_is_some_nanometres_higher_is_flush(higher, past):
    """Also where the front ends a step less far behind the seam than the tile is high."""
    front, step = -0.235, 1e-3 * (1.0 - MU * GRAVITY * 1e-3)
    seam = front + 5.0 * step - past
    sim = mb.Simulator(sliding([slab("a", -1.0, seam), slab("b", seam, 1.0, lower=-higher)]))
    overlaps = [sim.step().certificate.end_gap for _ in range(400)]
    assert sim.link_pose("box")[0][0] + 0.3 == pytest.approx(1.0 / (2.0 * MU * GRAVITY) - 0.5e-3, abs=1e-6)
    assert sim.link_pose("box")[0][2] - 0.04 < 1e-6
    assert min(overlaps) > -1.1 * higher  # which the certificate tells


def test_two_pairs_at_once_and_one_behind_the_other():
    """A ball that is stopped by the first of two walls never meets the second; between both it is stopped by one."""
    ball = Primitive("ball", "sphere", (0.05,), Pose((0.0, 0.0, 0.0)), "free", 1.0,
                     velocity=Velocity(linear=(1000.0, 0.0, 0.0)))  # fmt: skip
    places = {"far": 0.9, "near": 0.5}
    walls = [Primitive(name, "box", (0.001, 1.0, 1.0), Pose((x, 0.0, 0.0))) for name, x in places.items()]
    sim = mb.Simulator(Scene(primitives=(*walls, ball), **STILL))
    for _ in range(5):
        step = sim.step()
        assert sim.link_pose("ball")[0][0] <= 0.4495 + 1e-9
    np.testing.assert_allclose(sim.v, 0.0, atol=1e-9)
    assert step.certificate.end_gap == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("spin", [0.0, 120.0, 150.0])
def test_a_ball_that_spins_passes_between_two(spin):
    """1 mm beside each: who might graze one for its turning is not held by the row of the other."""
    balls = [Primitive(name, "sphere", (0.05,), Pose(at), base, 1.0 if base == "free" else None)
             for name, at, base in (("ball", (0.0, 0.0, 0.0), "free"), ("one", (0.15, -0.101, 0.0), "weld"),
                                    ("other", (0.19, 0.101, 0.0), "weld"))]  # fmt: skip
    sim = mb.Simulator(Scene(primitives=tuple(balls), gravity=(0.0, 0.0, 0.0), time_step=4e-3))
    sim.set_object("ball", velocity=(0.0, 0.0, spin, 40.0, 0.0, 0.0))
    certificate = sim.step().certificate
    np.testing.assert_allclose(sim.v, (0.0, 0.0, spin, 40.0, 0.0, 0.0), atol=1e-12)
    assert certificate.pairs_passed == 2 and certificate.pairs_met == 0


def cluttered(order):
    """A box that slides over tiles between two walls that it passes, with the parts in some order."""
    walls = [
        Primitive(f"wall_{side}", "box", (0.3, 0.1, 0.2), Pose((0.1, side * 0.09505, 0.1)), material="m")
        for side in (-1, 1)
    ]
    scene = sliding([*tiles(12), *walls], 1.0)
    parts = [scene.primitives[i] for i in np.random.default_rng(order).permutation(len(scene.primitives))]
    return replace(scene, primitives=tuple(parts))


def test_the_order_of_bodies_does_not_matter():
    runs = []
    for order in range(3):
        sim = mb.Simulator(cluttered(order))
        for _ in range(300):
            sim.step()
        runs.append((sim.link_pose("box")[0], sim.object_motion("box")[0]))
    for position, velocity in runs[1:]:
        np.testing.assert_allclose(position, runs[0][0], atol=1e-12)
        np.testing.assert_allclose(velocity, runs[0][1], atol=1e-10)


@pytest.mark.parametrize("scene", [sliding(tiles(12)), cluttered(0)], ids=["tiles", "walls"])
def test_worlds_pass_with_the_bits_of_a_simulator(scene):
    sim = mb.Simulator(scene)
    for _ in range(200):
        sim.step()
    for count, threads in ((1, 1), (33, 2)):
        worlds = Worlds(scene, count, threads=threads)
        worlds.step(steps=200)
        np.testing.assert_array_equal(worlds.q, np.tile(sim.q, (count, 1)))
        np.testing.assert_array_equal(worlds.v, np.tile(sim.v, (count, 1)))


def test_the_certificate_names_the_pair_that_ends_too_deep():
    box = Primitive("box", "box", (0.1, 0.1, 0.1), Pose((0.0, 0.0, 0.049)), "free", 1.0)
    table = Primitive("table", "box", (1.0, 1.0, 0.1), Pose((0.0, 0.0, -0.05)))
    sim = mb.Simulator(Scene(primitives=(table, box)))
    certificate = sim.step().certificate
    assert certificate.end_gap == pytest.approx(sim.link_pose("box")[0][2] - 0.05, abs=1e-12)
    assert sorted(certificate.deepest_pair.split(", ")) == ["box", "table"]
    for _ in range(300):
        certificate = sim.step().certificate
    assert certificate.deepest_pair == ""
    assert -1e-9 < certificate.end_gap < 1e-9


@pytest.mark.parametrize("shape", ["cone", "ellipsoid", "cylinder", "box", "mesh"])
def test_the_end_gap_above_a_half_space_is_that_of_the_lowest_point(shape, tmp_path):
    size = {"cone": (0.04, 0.07), "ellipsoid": (0.09, 0.06, 0.05), "cylinder": (0.03, 0.07), "box": (0.07, 0.06, 0.05)}
    trimesh.creation.cone(0.04, 0.09, sections=4).export(tmp_path / "cone.stl")  # whose origin is in its base
    mesh = {"mesh": str(tmp_path / "cone.stl")} if shape == "mesh" else {}
    pose = Pose((0.0, 0.0, 0.15), rpy=(2.0, 1.1, 0.3))
    body = Primitive("body", shape, size.get(shape, ()), pose, "free", 0.2, inertia=(1e-4, 1e-4, 1e-4), **mesh)
    sim = mb.Simulator(Scene(primitives=(body,), ground=Ground()))
    told, compared = np.inf, 0
    for _ in range(300):
        step = sim.step()
        if len(step.contacts) and np.isfinite(told):
            assert told == pytest.approx(step.contacts["gap"].min(), abs=1e-9)
            compared += 1
        told = step.certificate.end_gap
    assert compared > 50


@pytest.mark.parametrize("clearance", [1e-6, -1e-6])
def test_a_shape_away_from_its_bodys_origin_swings_past_or_strikes(clearance, tmp_path):
    """A ball on an arm of 0.2 m turns by 0.3 rad a step: its centre goes on an arc, 2 mm beside its chord."""
    arm = tmp_path / "arm.urdf"
    arm.write_text("""<robot name="arm"><link name="hub"><inertial><mass value="1"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><origin xyz="0.2 0 0"/><geometry><sphere radius="0.02"/></geometry></collision></link></robot>""")
    turning = Velocity(angular=(0.0, 0.0, 300.0))
    post = Primitive("post", "sphere", (0.01,), Pose((0.23 + clearance, 0.0, 0.0)), "free", 1.0)
    arms = SceneModel(str(arm), base="free", pose=Pose((0.0, 0.0, 0.0), (0.0, 0.0, -0.45)), velocity=turning)
    sim = mb.Simulator(Scene(models=(arms,), primitives=(post,), **STILL))
    met = 0
    for _ in range(3):
        met += int(sim.step().certificate.pairs_met)
    struck = np.abs(sim.v - [0.0, 0.0, 300.0, *9 * [0.0]]).max() > 1e-3
    assert struck == (clearance < 0.0) and met == struck


def ring_of_16():
    """Vertices and triangles of a ring of 16 flat sides."""
    return trimesh.creation.annulus(0.03, 0.06, 0.05, sections=16)


def stool():
    """A plate on four legs, 60 mm high about its origin."""
    boxes = [((0.12, 0.1, 0.02), (0.0, 0.0, 0.02))]
    boxes += [((0.02, 0.02, 0.06), (x, y, -0.02)) for x in (-0.05, 0.05) for y in (-0.04, 0.04)]
    move = trimesh.transformations.translation_matrix
    return trimesh.util.concatenate([trimesh.creation.box(size, move(middle)) for size, middle in boxes])


SLIDERS = {"box": (lambda: trimesh.creation.box((0.12, 0.09, 0.06)), 0.03), "ring": (ring_of_16, 0.025),
           "stool": (stool, 0.05)}  # fmt: skip


@pytest.mark.parametrize("floor", ["box", "convex_hull", "mesh"])
@pytest.mark.parametrize("slider", SLIDERS)
@pytest.mark.parametrize("dt, speed, settings", [
    (1e-3, 2.0, EULER), (1e-2, 2.0, EULER), (4e-3, 0.3, EULER), (4e-3, 2.0, MIDPOINT), (4e-3, 2.0, RK4),
    (1e-3, 2.0, EVENT),
])  # fmt: skip
def test_triangles_slide_over_flush_tiles(tmp_path, slider, floor, dt, speed, settings):
    """Askew over tiles of four kinds of borders, whose files round to eight digits: v^2 / 2 mu g, and no hop."""
    rng, heading = np.random.default_rng(3), 0.9
    x, y = ([-0.6, *np.sort(rng.uniform(-0.4, 0.4, 5)), 0.6] for _ in range(2))
    slabs = []
    for i in range(6):
        for j in range(6):
            size, middle = (x[i + 1] - x[i], y[j + 1] - y[j], 0.1), (0.5 * (x[i] + x[i + 1]), 0.5 * (y[j] + y[j + 1]))
            if floor == "box":
                shape = {"shape": "box", "size": size}
            else:
                file = tmp_path / f"{i}_{j}.obj"
                trimesh.creation.box(size).export(file)
                shape = {"shape": "mesh", "size": (), "mesh": str(file), "collision_meshes": floor}
            slabs.append(Primitive(f"tile_{i}_{j}", pose=Pose((*middle, -0.05)), base="weld", material="m", **shape))
    make, height = SLIDERS[slider]
    make().export(tmp_path / "slider.obj")
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    body = Primitive("body", "mesh", (), Pose((0.0, 0.0, height), (0.0, 0.0, 0.4)), "free", 1.0, material="m",
                     mesh=str(tmp_path / "slider.obj"), collision_meshes="mesh",
                     velocity=Velocity(linear=tuple(speed * along)))  # fmt: skip
    materials = {"m": Material(0.6)}
    sim = mb.Simulator(Scene(primitives=(*slabs, body), materials=materials, time_step=dt, **settings))
    hop = 0.0
    for _ in range(round(1.1 * speed / (0.6 * GRAVITY) / dt)):
        sim.step()
        hop = max(hop, abs(sim.link_pose("body")[0][2] - height))
    way = speed**2 / (2.0 * 0.6 * GRAVITY)
    assert hop < (2e-7 if settings == EVENT else 1e-11)  # which takes heights that differ in the ninth digit for such
    np.testing.assert_allclose(sim.link_pose("body")[0][:2], way * along[:2], atol=0.51 * speed * dt)


def test_the_rim_of_a_cylinder_is_met_at_an_edge_at_once(tmp_path):
    """Neither surface of the rim faces the edge: slowly, by 30 um a step, and never deeper than 0.1 um."""
    trimesh.creation.box((0.12, 0.1, 0.04)).export(tmp_path / "bar.obj")
    bar = Primitive("bar", "mesh", (), Pose(), "weld", mesh=str(tmp_path / "bar.obj"), collision_meshes="mesh")
    tilted = Pose((-0.12, 0.01, 0.052), (0.4, 0.9, 0.2))
    body = Primitive("body", "cylinder", (0.04, 0.08), tilted, "free", 1.0,
                     velocity=Velocity(linear=(0.3, 0.0, -0.05)))  # fmt: skip
    sim = mb.Simulator(Scene(primitives=(bar, body), time_step=1e-4, **STILL))
    while sim.object_motion("body")[0][3] > 0.299:
        step = sim.step()
        assert sim.time < 0.5, "passed through"
    assert step.certificate.end_gap > -1e-7
    assert step.contacts["gap"].min() > -1e-7

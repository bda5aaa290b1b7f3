# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cameras and lidars against closed forms, and what they see of the scenes.

Covers collision/ray_scene.py, core/rays/cast.py, core/rays/shade.py.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.rays.light import AMBIENT, BRIGHTEST, GROUND, HORIZON, LAMP, UPWARDS
from mb_contact.model.scene import Ground, Pose, Primitive, Scene, SceneModel
from mb_contact.model.scene.sensors import Image, Scan, Sensor
from mb_contact.model.shapes.shape_meshes import ball_profile, turned

DOWN = (0.0, 0.5 * np.pi, 0.0)  #: a sensor that looks down, its top towards x
EYE = Image(161, 121, 1.2, near=0.1, far=10.0)


def simulator(*primitives, ground=None, **sensor):
    scene = Scene(primitives=primitives, ground=ground, sensors=(Sensor("eye", link="world", **sensor),))
    return mb.Simulator(scene)


def test_depth_of_a_plane_and_its_points():
    """A tilted camera h above the ground: depth h / (sin(tilt) + v cos(tilt) / f) in the row v below the middle."""
    height, tilt = 1.7, 0.6
    pose = Pose((0.3, -0.2, height), rpy=(0.0, tilt, 0.4))
    sim = simulator(ground=Ground(0.0), kind="camera", pose=pose, image=EYE)
    reading = sim.sensors.read("eye")
    down = (np.arange(EYE.height) - 60.0) / (80.5 / np.tan(0.6))
    expected = height / (np.sin(tilt) + down * np.cos(tilt))
    expected = np.where((expected > 0.0) & (expected < 10.0), expected, np.inf)
    np.testing.assert_allclose(reading.depth, np.tile(expected[:, None], (1, EYE.width)), atol=1e-12)
    R = pose.rotation() @ np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    points = reading.points[np.isfinite(reading.depth)] @ R.T + pose.origin()
    np.testing.assert_allclose(points[:, 2], 0.0, atol=1e-12)
    assert np.isnan(reading.points[np.isinf(reading.depth)]).all() and reading.colour is None


def test_what_is_left_and_up_is_there_in_the_image():
    """The middle of a ball at (3, 0.5, 0.4) is at u = cx - f 0.5 / 3, v = cy - f 0.4 / 3, its points around it."""
    ball = Primitive("ball", "sphere", (0.01,), Pose((3.0, 0.5, 0.4)))
    reading = simulator(ball, kind="camera", image=Image(801, 601, 1.0)).sensors.read("eye")
    v, u = np.nonzero(np.isfinite(reading.depth))
    f = 400.5 / np.tan(0.5)
    np.testing.assert_allclose([u.mean(), v.mean()], [400.0 - f * 0.5 / 3.0, 300.0 - f * 0.4 / 3.0], atol=0.5)
    middle = reading.points[v, u].mean(axis=0)
    np.testing.assert_allclose(middle, [-0.5, -0.4, 3.0], atol=0.011)  # optical axes: right, down, ahead


def test_a_camera_moves_with_its_body():
    """On a box that falls and turns: the depth of the ground along its axis is its height over the cosine."""
    box = Primitive("box", "box", (0.1, 0.1, 0.1), Pose((0.0, 0.0, 3.0)), "free", 1.0,
                    velocity=mb.model.Velocity(angular=(0.0, 0.5, 0.0)))  # fmt: skip
    eye = Sensor("eye", "camera", link="box", pose=Pose((0.2, 0.0, 0.0), rpy=DOWN), image=Image(11, 11, 0.2))
    sim = mb.Simulator(Scene(primitives=(box,), ground=Ground(0.0), sensors=(eye,)))
    for _ in range(200):
        sim.step()
    R, p = mb.frame_pose(sim.world, sim.q, "box")
    height = (p + R @ [0.2, 0.0, 0.0])[2]
    assert R[2, 2] < 0.999
    assert sim.sensors.read("eye").depth[5, 5] == pytest.approx(height / R[2, 2], abs=1e-12)


@pytest.mark.parametrize("distance", [1.0, 8.0])
def test_depth_of_a_sphere(distance):
    """|z d - c| = r with d = (u, v, 1): z = (c - sqrt(c^2 - |d|^2 (c^2 - r^2))) / |d|^2 for a sphere ahead."""
    radius = 0.3
    ball = Primitive("ball", "sphere", (radius,), Pose((distance, 0.0, 0.0)))
    sim = simulator(ball, kind="camera", image=EYE)
    u, v = np.meshgrid(np.arange(161) - 80.0, np.arange(121) - 60.0)
    square = 1.0 + (u**2 + v**2) / EYE.focal_length**2
    with np.errstate(invalid="ignore"):
        root = np.sqrt(distance**2 - square * (distance**2 - radius**2))
    expected = np.where(np.isnan(root), np.inf, (distance - root) / square)
    assert np.isfinite(expected).sum() > 20
    np.testing.assert_allclose(sim.sensors.read("eye").depth, expected, atol=1e-9)


def test_a_lidar_measures_the_ground_and_a_ball():
    """t = h / -d_z of the ground h below, and d c - sqrt((d c)^2 - c^2 + r^2) of a ball of radius r at c."""
    middle, radius, height = np.array([2.0, 0.3, 0.1]), 0.4, 0.9
    ball = Primitive("ball", "sphere", (radius,), Pose(tuple(middle)))
    scan = Scan(91, (-0.6, 0.6), rings=41, elevations=(-0.6, 0.4), far=50.0)
    reading = simulator(ball, ground=Ground(-height), kind="lidar", scan=scan).sensors.read("eye")
    up, around = np.meshgrid(np.linspace(-0.6, 0.4, 41), np.linspace(-0.6, 0.6, 91), indexing="ij")
    d = np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], axis=-1)
    along = d @ middle
    with np.errstate(invalid="ignore", divide="ignore"):
        met = along - np.sqrt(along**2 - middle @ middle + radius**2)
        floor = np.where(d[..., 2] < 0.0, -height / d[..., 2], np.inf)
    expected = np.fmin(met, np.where(floor < 50.0, floor, np.inf))
    assert np.isfinite(met).sum() > 200 and (np.isnan(met) & np.isfinite(floor)).sum() > 200
    np.testing.assert_allclose(reading.ranges, expected, atol=1e-9)
    np.testing.assert_allclose(reading.directions, d, atol=1e-12)


def test_a_lidar_measures_walls():
    """Ranges d / cos(azimuth) of a wall; rings at an elevation hit it higher up."""
    wall = Primitive("wall", "box", (0.2, 40.0, 40.0), Pose((3.1, 0.0, 0.0)))
    scan = Scan(181, (-1.2, 1.2), rings=5, elevations=(-0.3, 0.5), far=50.0)
    sim = simulator(wall, kind="lidar", scan=scan)
    reading = sim.sensors.read("eye")
    azimuth, up = np.linspace(-1.2, 1.2, 181), np.linspace(-0.3, 0.5, 5)
    np.testing.assert_allclose(reading.ranges, 3.0 / np.outer(np.cos(up), np.cos(azimuth)), atol=1e-11)
    np.testing.assert_allclose(reading.points[..., 0], 3.0, atol=1e-11)
    assert (np.diff(reading.points[:, 90, 2]) > 0.0).all() and (np.diff(reading.points[2, :, 1]) > 0.0).all()


def test_what_is_too_near_or_too_far_is_not_measured():
    near, far = (Primitive(n, "box", (0.1, 1.0, 1.0), Pose((x, 0.0, 0.0))) for n, x in (("a", 0.4), ("b", -9.0)))
    scan = Scan(3, (0.0, np.pi), near=0.5, far=5.0)
    ranges = simulator(near, far, kind="lidar", scan=scan).sensors.read("eye").ranges
    np.testing.assert_array_equal(ranges, [[-np.inf, np.inf, np.inf]])


TUBES = (
    '<robot name="arm"><link name="base"/><link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial><visual><origin xyz="1 0 0" rpy="0 1.5707963267948966 0"/><geometry>'
    '<cylinder radius="0.1" length="2"/></geometry><material name="red"><color rgba="0.9 0.1 0.1 1"/></material>'
    "</visual></link><joint name=\"turn\" type=\"continuous\"><parent link=\"base\"/><child link=\"arm\"/>"
    '<axis xyz="0 0 1"/></joint></robot>'
)


def test_visuals_move_with_their_links_and_have_their_colours():
    image = Image(65, 49, 0.8, colour=True)
    eye = Sensor("eye", "camera", link="world", pose=Pose((1.0, 0.0, 3.0), rpy=DOWN), image=image)
    own = Sensor("own", "camera", link="arm", image=image)
    sim = mb.Simulator(Scene(models=(SceneModel(TUBES),), gravity=(0.0, 0.0, 0.0), sensors=(eye, own)))
    ahead = sim.sensors.read("eye")
    assert ahead.depth[24, 32] == pytest.approx(2.9, abs=1e-12)
    light = AMBIENT + UPWARDS + (BRIGHTEST - AMBIENT) * LAMP[2]  # of what faces upwards under the lamp
    np.testing.assert_allclose(ahead.colour[24, 32], 255.0 * light * np.array([0.9, 0.1, 0.1]), atol=3)  # and gloss
    np.testing.assert_allclose(ahead.colour[0, 0], 255.0 * np.array(HORIZON), atol=0.51)  # below it
    sim.set_joints(["turn"], positions=[0.5 * np.pi])
    assert np.isinf(sim.sensors.read("eye").depth[24, 32])
    assert np.isinf(sim.sensors.read("own").depth).all()  # its own link is not seen


def test_meshes_are_as_exact_as_their_triangles(tmp_path):
    """A cube as a mesh, seen through Embree, is the box in closed form; nothing shines through its edges."""
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    squares = ((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4))
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    lines += [f"f {t[0]} {t[i]} {t[i + 1]}" for t in squares for i in (1, 2)]
    (tmp_path / "cube.obj").write_text("\n".join(lines))
    pose, image = Pose((7.3, 0.1, -0.2), rpy=(0.4, 0.3, 0.2)), Image(400, 300, 0.6, colour=True)
    cube = Primitive("cube", "mesh", mesh=str(tmp_path / "cube.obj"), pose=pose)
    mesh, box = (
        simulator(body, kind="camera", image=image).sensors.read("eye")
        for body in (cube, Primitive("cube", "box", (2.0, 2.0, 2.0), pose))
    )
    both = np.isfinite(mesh.depth) & np.isfinite(box.depth)
    assert both.sum() > 1000 and (np.isfinite(mesh.depth) != np.isfinite(box.depth)).sum() <= 2  # on its outline
    np.testing.assert_allclose(mesh.depth[both], box.depth[both], atol=1e-5)
    assert (np.abs(mesh.colour.astype(int) - box.colour).max(axis=2) > 1).sum() <= 4  # on its edges


def test_shadows_fall_away_from_the_lamp():
    """From above a plate at height 1 throws a shadow aside by the slope of the light; several samples soften it."""
    plate = Primitive("plate", "box", (0.4, 0.4, 0.01), Pose((0.0, 0.0, 1.0)))
    image, seen = Image(301, 301, 0.6, colour=True), []
    for samples in (1, 3):
        eye = {"kind": "camera", "pose": Pose((0.0, 0.0, 6.0), rpy=DOWN), "image": replace(image, samples=samples)}
        seen.append(simulator(plate, ground=Ground(0.0), **eye).sensors.read("eye"))
    hard, soft = (reading.colour.astype(float) for reading in seen)
    np.testing.assert_array_equal(seen[0].depth, seen[1].depth)
    bright = 255.0 * np.array(GROUND) * (AMBIENT + UPWARDS + (BRIGHTEST - AMBIENT) * LAMP[2])
    np.testing.assert_allclose(hard[5, 5], bright, atol=1.0)
    ground, dark = seen[0].depth > 5.9, np.abs(hard - 255.0 * np.array(GROUND) * (AMBIENT + UPWARDS)).max(axis=2) < 1.0
    rows, columns = np.nonzero(ground & dark)
    metre = image.focal_length / 6.0
    across = np.array([150.0 - rows.mean(), 150.0 - columns.mean()]) / metre  # its top is towards x, y is left
    np.testing.assert_allclose(across, -np.array(LAMP[:2]) / LAMP[2], atol=0.05)  # the lamp is not infinitely far
    assert len(rows) == pytest.approx((0.4 * metre) ** 2, rel=0.1)
    between = [(np.abs(c - bright).max(axis=2) > 9.0) & (c.max(axis=2) > hard[rows, columns].max() + 9.0) & ground
               for c in (hard, soft)]  # fmt: skip
    assert between[0].sum() == 0 < between[1].sum() < len(rows)  # its edge is softened


def test_a_ball_of_few_triangles_looks_round(tmp_path):
    """Under smooth normals a ball of triangles has the colours of the ball in closed form, but near its outline."""
    points, triangles = turned(*ball_profile(), (0.5,) * 3)
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    (tmp_path / "ball.obj").write_text("\n".join(lines + [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]))
    eye = {"kind": "camera", "image": Image(81, 61, 0.6, colour=True)}
    shapes = (Primitive("ball", "mesh", mesh=str(tmp_path / "ball.obj"), pose=Pose((3.0, 0.0, 0.0))),
              Primitive("ball", "sphere", (0.5,), Pose((3.0, 0.0, 0.0))))  # fmt: skip
    flat, ideal = (simulator(shape, **eye).sensors.read("eye") for shape in shapes)
    middle = ideal.depth < 2.7
    assert middle.sum() > 800
    apart = np.abs(flat.colour.astype(int) - ideal.colour)[middle].max(axis=1)
    assert np.median(apart) <= 2 and np.percentile(apart, 95) <= 8


def test_an_image_is_that_of_the_state_in_which_it_was_taken():
    """Images made later, in other threads, show the poses of their moment: a ball that falls freely."""
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 0.0)), "free", 1.0)
    pose, image = Pose((0.0, 0.0, 3.0), rpy=DOWN), Image(31, 31, 0.5)
    sim, taken, depths = simulator(ball, kind="camera", pose=pose, image=image), [], {}
    for i in range(40):
        sim.step()
        taken.append((i, 2.9 - sim.link_pose("ball")[0][2], sim.sensors.capture("eye")))
    threads = [threading.Thread(target=lambda i=i, take=take: depths.update({i: take()})) for i, _, take in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, expected, _ in taken:
        assert depths[i].depth[15, 15] == pytest.approx(expected, abs=1e-9)


def test_noise_grows_with_depth_and_comes_again():
    wall = Primitive("wall", "box", (0.2, 9.0, 9.0), Pose((2.1, 0.0, 0.0)))
    sim = simulator(wall, kind="camera", image=EYE, noise=(0.003, 0.001), seed=5)
    exact, first, again = (take("eye").depth for take in (sim.sensors.read, sim.sensors.sample, sim.sensors.sample))
    np.testing.assert_array_equal(first, again)
    assert (first - exact).std() == pytest.approx(np.hypot(0.003, 0.004), rel=0.05)
    sim.step()
    assert not np.array_equal(sim.sensors.sample("eye").depth, first)


def test_without_embree_a_scene_with_meshes_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "embreex.mesh_construction", None)
    wedge = Primitive("wedge", "mesh", mesh="package://mb_contact/config/meshes/wedge.obj")
    with pytest.raises(mb.SceneError, match=r"sensors\[0\]: rays meet meshes through Embree: pip install mb_contact"):
        _ = simulator(wedge, kind="camera").sensors
    assert np.isfinite(simulator(ground=Ground(-1.0), kind="camera").sensors.read("eye").depth).any()


@pytest.mark.parametrize("options, message", [
    ({"kind": "camera", "image": Image(width=0)}, r"\[0\].image.width: must be a whole number from 1 to"),
    ({"kind": "camera", "image": Image(2**15, 2**15)}, "rays are more than"),
    ({"kind": "camera", "image": Image(fov=3.5)}, "image.fov"),
    ({"kind": "camera", "image": Image(near=1.0, far=1.0)}, "must be above near"),
    ({"kind": "lidar", "scan": Scan(angles=(1.0, 0.0))}, "must not be below the first"),
    ({"kind": "lidar", "image": EYE}, "a sensor of kind lidar has no image; leave it out, or set kind: camera"),
    ({"kind": "camera", "pose": Pose(quat_xyzw=(1.0, 1.0, 0.0, 0.0))}, "unit quaternion"),
])  # fmt: skip
def test_impossible_ones_are_refused(options, message):
    with pytest.raises(mb.SceneError, match=message):
        _ = simulator(**options).sensors


def test_rays_among_many_shapes_are_mujocos(tmp_path):
    """Each ray of a lidar on a moving box beside MuJoCo's, in a world of all shapes that both have exactly."""
    import mujoco

    from mb_contact.model.mjcf import export_mjcf

    chance, shapes = np.random.default_rng(3), []
    sizes = {"sphere": (0.2,), "capsule": (0.1, 0.5), "cylinder": (0.15, 0.4), "box": (0.2, 0.3, 0.5),
             "ellipsoid": (0.2, 0.4, 0.6)}  # fmt: skip
    for i in range(40):
        shape = list(sizes)[i % 5]
        pose = Pose(tuple(chance.uniform(-2.0, 2.0, 3)), rpy=tuple(chance.uniform(-3.0, 3.0, 3)))
        base = {"base": "free", "mass": 1.0} if i % 2 else {}
        shapes.append(Primitive(f"{shape}_{i}", shape, sizes[shape], pose, **base))
    carrier = Primitive("carrier", "box", (0.01, 0.01, 0.01), Pose((0.0, 0.0, 3.0), rpy=(0.1, 0.2, 0.3)), "free", 1.0)
    sensor = Sensor("eye", "lidar", link="carrier", pose=Pose((0.1, 0.2, 0.3), rpy=(0.3, 1.4, 0.2)),
                    scan=Scan(40, (-0.9, 0.9), 30, (-0.9, 0.9), near=0.0))  # fmt: skip
    scene = Scene(primitives=(*shapes, carrier), ground=Ground(-2.5), sensors=(sensor,))
    sim = mb.Simulator(scene)
    reading = sim.sensors.read("eye")
    export_mjcf(scene, tmp_path / "world.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "world.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    origin = sim.link_pose("carrier")[0] + mb.frame_pose(sim.world, sim.q, "carrier")[0] @ [0.1, 0.2, 0.3]
    R = mb.frame_pose(sim.world, sim.q, "carrier")[0] @ sensor.pose.rotation()
    own = model.geom_bodyid[[g for g in range(model.ngeom) if np.allclose(model.geom_size[g], 0.005)][0]]
    for t, d in zip(reading.ranges.ravel(), reading.directions.reshape(-1, 3) @ R.T):
        met = mujoco.mj_ray(model, data, origin, d, None, 1, int(own), np.zeros(1, dtype=np.int32))
        assert t == pytest.approx(np.inf if met < 0.0 else met, abs=1e-9)
    assert np.isfinite(reading.ranges).mean() > 0.5

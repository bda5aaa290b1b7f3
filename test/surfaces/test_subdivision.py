# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Subdivision surfaces: against splines, the rule by the book, closed forms at vertices, and as bodies that roll.

Covers surfaces/cages.py.
"""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.interpolate import BSpline
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.errors import DynamicsError, InputError, SceneError
from mb_contact.model import Ground, Material, Pose, Primitive, Scene, Velocity
from mb_contact.surfaces import SurfaceBody, load_cage, plane, shell, sphere, subdivision
from scenes.cages import CUBE, fan, limits, pyramid, refine, sheet
from scenes.surface_cases import OneContact, rotation

ORDERS = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3)]
PEBBLE = "package://mb_contact/config/nets/pebble.obj"
DOWN = (0.0, 0.0, -1.0)


# --- the surface --------------------------------------------------------------------------------------


def spline_point(net, s, t, orders):
    """A derivative of the uniform bicubic B-spline of a net by SciPy; spans begin at 1."""
    along_t = BSpline(np.arange(-2.0, net.shape[1] + 2), net.swapaxes(0, 1), 3)(t, nu=orders[1])
    return BSpline(np.arange(-2.0, net.shape[0] + 2), along_t, 3)(s, nu=orders[0])


def beyond(net):
    """A net with another row around it that goes on straight."""
    for _ in range(2):
        net = np.concatenate((2.0 * net[:1] - net[1:2], net, 2.0 * net[-1:] - net[-2:-1])).swapaxes(0, 1)
    return net


def test_a_regular_cage_is_the_spline_of_its_points_to_1e_12():
    net, faces = sheet(6, 5)
    surface, wide = subdivision(net.reshape(-1, 3), faces), beyond(net)
    assert len(surface.charts) == len(faces)
    for chart, (s, t) in enumerate(np.random.default_rng(1).random((len(faces), 2))):
        i, j = divmod(chart, 4)
        for got, orders in zip(surface.derivatives((s, t), chart), ORDERS):
            np.testing.assert_allclose(got, spline_point(wide, i + 1 + s, j + 1 + t, orders), rtol=1e-12, atol=1e-12)
            if 0 < i < 4 and 0 < j < 3:  # within, its own points alone
                np.testing.assert_allclose(got, spline_point(net, i + s, j + t, orders), rtol=1e-12, atol=1e-12)


def test_a_border_is_the_spline_of_its_vertices_and_ends_in_its_corners():
    net, faces = sheet(5, 4)
    surface, border = subdivision(net.reshape(-1, 3), faces), beyond(net)[:, 1]
    for i, s in ((0, 0.0), (1, 0.4), (3, 1.0)):
        want = BSpline(np.arange(-2.0, 9.0), border, 3)(i + 1 + s)
        np.testing.assert_allclose(surface.point((s, 0.0), 3 * i), want, atol=1e-14)
    np.testing.assert_allclose(surface.point((0.0, 0.0), 0), net[0, 0], atol=1e-14)


@pytest.mark.parametrize("cage", [CUBE, pyramid(5), pyramid(7)], ids=["cube", "valence 5", "valence 7"])
def test_points_of_the_refined_cage_end_on_the_surface(cage):
    """The rule by the book, three times, then to the limit; triangles and polygons among the faces."""
    surface, (points, faces) = subdivision(*cage), cage
    for _ in range(3):
        points, faces = refine(points, faces)
    for point in limits(points, faces)[:: len(points) // 20]:
        chart, u, distance = surface.locate(point)
        assert surface.charts[chart].holds(u) and distance < 1e-15


@pytest.mark.parametrize("cage", [CUBE, pyramid(5), fan(6)], ids=["cube", "valence 5", "open, valence 6"])
def test_charts_meet_with_position_normal_and_curvature(cage):
    """Between rings and faces twice continuous, about an extraordinary vertex with its normal."""
    surface = subdivision(*cage)
    chosen = np.random.default_rng(0).choice(len(surface.charts) - 8, 5, replace=False)
    caps = [k for k, chart in enumerate(surface.charts) if chart.degrees == (2, 2)]
    met = 0
    for chart in (*chosen.tolist(), caps[0]):
        for u in ((0.0, 0.3), (1.0, 0.3), (0.6, 1.0)):
            here, point = surface.forms(u, chart), surface.point(u, chart)
            for other in surface._nearest_charts(point)[:6]:
                _, v, distance = surface.locate(point, other)
                if other == chart or not surface.charts[other].holds(v) or distance > 1e-9:
                    continue
                there, cap = surface.forms(v, other), chart in caps or other in caps
                assert distance < 1e-15
                np.testing.assert_allclose(there.frame[:, 2], here.frame[:, 2], atol=3e-7 if cap else 1e-9)
                if not cap:
                    assert there.gaussian == pytest.approx(here.gaussian, rel=1e-6, abs=1e-6)
                met += 1
    assert met > 8


@pytest.mark.parametrize("sides", [3, 5, 6, 9])
def test_a_vertex_ends_where_its_stencil_says_and_normal_to_its_tangents(sides):
    """Eigenvectors of the step about a vertex by NumPy: for 1 the limit, for the next one the tangents."""
    points, faces = fan(sides)
    surface = subdivision(points, faces)
    (cap,) = [k for k, chart in enumerate(surface.charts) if chart.degrees == (2, 2)]
    count = len(points)
    step = np.stack([refine(np.repeat(column[:, None], 3, axis=1), faces)[0][:, 0] for column in np.eye(count)], 1)
    _, quads = refine(points, faces)  # of its vertices, those about the centre in the order of the cage
    near = [quad for quad in quads if 0 in quad]
    order = [0] + [v for quad in near for v in (quad[quad.index(0) - 3], quad[quad.index(0) - 2])]
    A = step[order]
    values, left = np.linalg.eig(A.T)
    rank = np.argsort(-values.real)
    limit = left[:, rank[0]].real
    tangents = np.concatenate((left[:, rank[1:3]].real, left[:, rank[1:3]].imag), 1).T @ points
    normal = np.linalg.svd(tangents)[2][2]
    assert values[rank[0]] == pytest.approx(1.0)
    np.testing.assert_allclose(surface.point((0.5, 0.5), cap), limit / limit.sum() @ points, atol=1e-13)
    np.testing.assert_allclose(np.cross(surface.frame((0.5, 0.5), cap)[:, 2], normal), 0.0, atol=1e-12)


def test_curvature_changes_from_ring_to_ring_by_the_eigenvalues():
    """Valence 3: heights go with 1/6, lengths with (5 + c + sqrt((9 + c)(1 + c))) / 16, c = cos 120 degrees."""
    surface = subdivision(*CUBE)
    size = (4.5 + np.sqrt(8.5 * 0.5)) / 16.0
    rings = {}
    for k, chart in enumerate(surface.charts):
        if chart.degrees == (3, 3) and chart.share < 2.0**-8:
            rings.setdefault(chart.share, []).append(surface.forms((0.5, 0.5), k).mean)
    largest = np.array([max(rings[share]) for share in sorted(rings, reverse=True)])
    errors = np.abs(largest[1:] / largest[:-1] - 1.0 / 6.0 / size**2)
    assert errors[7] < 4e-3 and errors[-1] < 2e-3  # it nears it
    assert 10.0 < largest.min() and largest.max() < 20.0


# --- the body -----------------------------------------------------------------------------------------


def rolling_pebble(base=None, friction=np.inf):
    """The shipped pebble, a shell of 1 kg, that rolls on a plane from a tilted start."""
    body = shell(load_cage(PEBBLE), 1.0)
    motion = OneContact(body, base or plane(), friction)
    q, _ = motion.contact.first_touch(rotation((0.6, 0.0, 0.8), 0.7), (0.0, 0.0, 1.0), DOWN)
    motion.roll(q, (3.0, 4.0, 1.0))
    return motion


@pytest.mark.long
@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_pebble_rolls_with_its_energy_to_1e_8(seconds):
    motion = rolling_pebble()
    energy = motion.energy()
    for _ in range(seconds):
        motion.run(1.0, 1e-3)
        assert motion.energy() == pytest.approx(energy, rel=1e-8)
        assert abs(motion.gap()) < 1e-12
    assert motion.hand_overs > 10 * seconds and motion.mode_name == "rolling"


def test_a_tumbling_pebble_lands_where_its_lowest_point_does():
    """Its nearest point goes from chart to chart in flight; the instant by the points of the surface alone."""
    body = SurfaceBody(load_cage(PEBBLE), 1.0, 4e-3 * np.eye(3))  # turns about a fixed axis
    motion = OneContact(body, plane(), 0.5)
    w = np.array([0.0, 6.0, 3.0])
    motion.fly(np.eye(3), (0.0, 0.0, 0.3), w, (0.0, 0.0, 0.0))
    grid = np.concatenate([body.surface.samples(chart, 120)[1] for chart in range(0, 400)])

    def height(time):
        return 0.3 - 4.905 * time**2 + (grid @ rotation(w / np.linalg.norm(w), np.linalg.norm(w) * time)[2]).min()

    low, high = 0.0, 0.3
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if height(middle) > 0.0 else (low, middle)
    motion.run(0.3, 1e-3)
    assert motion.events[0].kind == "lands" and motion.events[0].time == pytest.approx(low, abs=1e-5)
    assert motion.hand_overs > 0


def test_another_surface_of_the_kind_carries_the_body():
    """A ball on a cage's sheet: the sheet's points and normals are those of the contact; its border is an edge."""
    net, faces = sheet(6, 6, seed=4)
    below = subdivision((net * (0.2, 0.2, 0.02)).reshape(-1, 3), faces, "sheet")
    motion = OneContact(SurfaceBody(sphere(0.03), 1.0, 4e-4 * np.eye(3)), below, 0.0)
    q, _ = motion.contact.first_touch(np.eye(3), (0.5, 0.5, 1.0), DOWN)
    motion.slide(q, motion.contact.rates(q) @ (0.0, 0.0, 0.0, 1.0, 0.2))
    energy = motion.energy()
    with pytest.raises(DynamicsError, match="the edge of sheet"):
        motion.run(5.0, 2e-3)
    assert motion.hand_overs > 1 and motion.energy() == pytest.approx(energy, abs=1e-9)


def mesh_of(folder, level):
    """The convex mesh of the limits of a cage's vertices, refined ``level`` times."""
    points, faces = CUBE
    for _ in range(level):
        points, faces = refine(points, faces)
    points = limits(points, faces)
    file = folder / f"cage_{level}.ply"
    trimesh.Trimesh(points, ConvexHull(points).simplices, process=False).export(file)
    return {"shape": "mesh", "size": (), "mesh": str(file), "hull_vertices": len(points)}


@pytest.mark.long
@pytest.mark.parametrize("level", [2, 3, 4])
def test_it_rolls_as_its_meshes_do_to_their_resolution(level, tmp_path):
    """43 mm in 0.3 s: what rolls from facet to facet ends a quarter of an edge beside the smooth body at most."""

    def simulator(**moved):
        whole = Primitive("body", base="free", mass=1.0, material="m", **mesh_of(tmp_path, level), **moved)
        materials = {"m": Material(10.0)}
        return mb.Simulator(Scene(primitives=(whole,), ground=Ground(), materials=materials, time_step=5e-4))

    inertia = simulator(pose=Pose((0.0, 0.0, 1.0))).world.tree.inertia[0]
    motion = OneContact(SurfaceBody(subdivision(*CUBE), 1.0, inertia), plane(), np.inf)
    q, _ = motion.contact.first_touch(rotation((0.6, 0.0, 0.8), 0.7), (0.0, 0.0, 1.0), DOWN)
    motion.roll(q, (0.0, 2.0, 0.7))
    (R, start), (_, w, v) = motion.pose(), motion.centre_of_mass()
    pose = Pose(tuple(start), rpy=tuple(Rotation.from_matrix(R).as_euler("xyz")))
    sim = simulator(pose=pose, velocity=Velocity(linear=tuple(v), angular=tuple(w)))
    sim.step(steps=600)
    motion.run(0.3, 1e-3)
    end = motion.centre_of_mass()[0]
    assert np.linalg.norm(end - start) > 0.04
    assert np.linalg.norm(sim.link_pose("body")[0] - end) < 0.25 * 0.2 / 2**level


# --- files and scenes ---------------------------------------------------------------------------------


def test_an_obj_is_read_with_its_polygons(tmp_path):
    file = tmp_path / "cube.obj"
    text = "# a cube\nmtllib none.mtl\no cube\n" + "".join(f"v {x} {y} {z}\n" for x, y, z in CUBE[0])
    text += "vt 0 0\n" + "".join(f"f {' '.join(f'{v + 1}/1' for v in face)}\n" for face in CUBE[1][:-1])
    file.write_text(text + "f " + " ".join(str(v - 8) for v in CUBE[1][-1]) + "\n", encoding="utf-8")
    got, want = load_cage(file), subdivision(*CUBE)
    assert got.name == "cube" and len(got.charts) == len(want.charts)
    np.testing.assert_array_equal(got.derivatives((0.3, 0.4), 7), want.derivatives((0.3, 0.4), 7))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("v 0 0\n", "cage.obj:1: must be 'v x y z'"),
        ("v 0 0 0\nf 1 x 2\n", "cage.obj:2"),
        ("v 0 0 0\n", "at least one face"),
        ("v 0 0 0\nv 1 0 0\nf 1 2\n", "face 1 of the cage needs three corners"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "face 1 of the cage has a vertex that is not there"),
        ("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "face 1 of the cage has no area"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 1 1 1\nf 1 2 3\nf 2 1 4\nf 1 2 5\n", "share the edge 1-2"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n", "same way along the edge 1-2"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nv -1 0 0\nv 0 -1 0\nf 1 2 3\nf 1 4 5\n", "meet in vertex 1 alone"),
    ],
)
def test_what_is_refused(tmp_path, text, words):
    file = tmp_path / "cage.obj"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SceneError, match=words) as error:
        load_cage(file)
    assert "cage.obj" in str(error.value)


def test_a_cage_turned_inside_out_and_a_missing_file_are_refused():
    with pytest.raises(InputError, match="seen from inside: reverse"):
        subdivision(CUBE[0], [face[::-1] for face in CUBE[1]])
    with pytest.raises(SceneError, match="no cage: 'nowhere.obj' does not exist"):
        load_cage("nowhere.obj")
    with pytest.raises(InputError, match="n x 3 finite"):
        subdivision([(0, 0, np.nan)], [(0, 1, 2)])

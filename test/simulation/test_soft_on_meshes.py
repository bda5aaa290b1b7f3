# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What gives way on meshes and height fields: several planes at once, corners, edges, depths that are no rounding.

Covers core/step/foundations.py, core/collision/mesh_tree.py, core/collision/mesh_shapes.py, core/step/pads.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from scenes.mesh_bodies import closed, hollow_sphere, sheet_of, write_obj

m = mb.model
G, L, K = 9.81, 0.08, 1e7


def soft(friction=0.0, **keys):
    return {"soft": m.Material(friction=friction, softness=m.Softness(**keys))}


def foam(friction=0.0, **keys):
    return soft(friction, **{"foundation": K, "damping": 0.01, **keys})


def cube(at, rpy=(0.0, 0.0, 0.0)):
    return m.Primitive("cube", "box", (L, L, L), m.Pose(at, rpy), "free", 1.0, material="soft")


def mesh(folder, name, corners, *args, **keys):
    file = write_obj(folder / f"{name}.obj", corners)
    return m.Primitive(name, "mesh", (), *args, mesh=str(file), collision_meshes="mesh", **keys)


def prism(outline, half):
    """Triangles of a solid with this cross-section (k, 2), seen along y; a star about the mean of its corners."""
    ring = np.array([(x, -half, z) for x, z in outline])
    far, T = ring + [0.0, 2.0 * half, 0.0], []
    a, b = ring.mean(axis=0), far.mean(axis=0)
    for i in range(len(ring)):
        j = (i + 1) % len(ring)
        T += [(a, ring[i], ring[j]), (b, far[j], far[i]), (ring[i], far[i], ring[j]), (ring[j], far[i], far[j])]
    return np.array(T)


def valley(kind, folder, slope=1.0):
    """Two planes that rise from x = 0, as a height field or as a solid."""
    if kind == "field":
        row = tuple(float(slope * abs(x)) for x in np.linspace(-0.2, 0.2, 21))
        return m.Primitive("valley", "height_field", (0.4, 0.4), heights=m.scene.Heights(grid=(row,) * 5))
    outline = [(-0.2, -0.4), (0.2, -0.4), (0.2, 0.2 * slope), (0.0, 0.0), (-0.2, 0.2 * slope)]
    return mesh(folder, "valley", prism(outline, 0.2))


def tray(inside=0.1, wall=0.02, height=0.1):
    """Triangles of a square tray whose floor inside is z = 0."""
    square, out = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]), inside + wall
    profile = (0.0, -wall), (out, -wall), (out, height), (inside, height), (inside, 0.0), (0.0, 0.0)
    rings = np.array([np.column_stack([square * w, np.full(4, z)]) for w, z in profile])
    return sheet_of(closed(rings.transpose(1, 0, 2), wrap=False))


def slab(half, deep=0.1):
    """Triangles of a block whose upper side, of this half width, is z = 0."""
    return prism([(-half, -deep), (half, -deep), (half, 0.0), (-half, 0.0)], half)


def energy(sim):
    return float(sim.context.work.energy.sum())


def run(primitives, materials, steps, **more):
    """The simulator and its last step; no step gains energy but the first, which begins as compressed as it stands."""
    sim = mb.Simulator(mb.Scene(primitives=tuple(primitives), materials=materials, **more))
    step = sim.step()
    before = energy(sim)
    for i in range(steps - 1):
        step = sim.step()
        assert energy(sim) <= before + 1e-9, (i, energy(sim) - before)
        before = energy(sim)
    return sim, step


@pytest.mark.parametrize("kind", ["field", "mesh"])
@pytest.mark.parametrize("yaw", [0.0, 0.01])
def test_a_cube_lies_with_two_faces_on_a_valley(kind, yaw, tmp_path):
    up = L / np.sqrt(2.0)
    ground = valley(kind, tmp_path)
    sim, step = run([ground, cube((0.0, 0.0, up + 1e-3), (0.0, np.pi / 4.0, yaw))], foam(), 1000)
    assert sim.q[2] - up == pytest.approx(-G / (K * L * L), rel=1e-6)
    assert len(step.contacts) == 2 * 8**2
    force = step.contacts["impulse"].sum(axis=0) * 1e3
    assert force == pytest.approx([0.0, 0.0, -G], abs=1e-6)


@pytest.mark.parametrize("kind", ["field", "mesh"])
@pytest.mark.parametrize("slope", [0.6, 1.0, 1.7, 2.7])
def test_edges_of_a_level_cube_are_held_by_slopes(kind, slope, tmp_path):
    """Each of both edges presses with k L d^2 / (2 slope) upwards, but for cells that are met in part."""
    up = 0.5 * L * (1.0 + slope)
    sim, _ = run([valley(kind, tmp_path, slope), cube((0.0, 0.0, up + 1e-3))], foam(damping=0.05), 800)
    depth = np.sqrt(G * slope / (K * L))
    assert depth < up - sim.q[2] < depth + slope * L / 8.0
    assert abs(sim.q[0]) < 1e-9


DOWN = (3.0, 4.0, -8.0)


@pytest.mark.parametrize("walls", ["solid", "sheet"])
def test_a_cube_slides_into_the_corner_of_a_tray_and_is_held_by_three_faces(walls, tmp_path):
    corners = tray()
    if walls == "sheet":  # without its outside
        corners = corners[(abs(corners[:, :, :2]).max(axis=(1, 2)) < 0.11) & (corners[:, :, 2].min(axis=1) > -0.01)]
    start = (0.055, 0.05, 0.5 * L + 1e-3)
    sim, step = run([mesh(tmp_path, "tray", corners), cube(start)], foam(), 1000, gravity=DOWN)
    assert sim.q[:3] - [0.06, 0.06, 0.5 * L] == pytest.approx(np.array(DOWN) / (K * L * L), rel=1e-5)
    assert len(step.contacts) == 3 * 8**2 and abs(sim.v).max() < 1e-6


def test_springs_hold_a_cube_in_the_corner_of_a_tray(tmp_path):
    """Points beyond a hollow count, on both of its sides."""
    primitives = mesh(tmp_path, "tray", tray()), cube((0.06, 0.06, 0.5 * L))
    materials = soft(0.3, stiffness=1e4, damping=0.01)
    sim = mb.Simulator(mb.Scene(primitives=primitives, materials=materials, gravity=DOWN))
    step = sim.step(steps=800)
    assert step.contacts["impulse"].sum(axis=0) * 1e3 == pytest.approx(DOWN, abs=1e-6)
    assert abs(sim.q[:3] - [0.06, 0.06, 0.5 * L]).max() < 1e-3 and abs(sim.v).max() < 1e-6


@pytest.mark.parametrize("play", [1e-5, 0.0, -1e-4])
def test_a_cube_in_a_slot_is_not_thrown_out_by_the_other_wall(play, tmp_path):
    """Rays of a face that touches a wall begin no deeper than contacts are, not in the wall behind the cube."""
    sim, _ = run([mesh(tmp_path, "slot", tray(0.5 * L + play)), cube((0.0, 0.0, 0.5 * L + 1e-3))], foam(), 500)
    assert sim.q[:3] == pytest.approx([0.0, 0.0, 0.5 * L - G / (K * L * L)], abs=1e-8)


@pytest.mark.parametrize("law", [{"foundation": K, "damping": 0.01}, {"stiffness": 1e4, "damping": 0.01}], ids=str)
@pytest.mark.parametrize("height", [1e-3, 0.0, -1e-4])
def test_a_mesh_of_its_own_width_holds_a_cube_as_a_box_does(law, height, tmp_path):
    """From the first touch on, and with rays along the seams of the mesh's triangles."""
    block = m.Primitive("block", "box", (L, L, 0.1), m.Pose((0.0, 0.0, -0.05)))
    both = [
        mb.Simulator(mb.Scene(primitives=(ground, cube((0.0, 0.0, 0.5 * L + height))), materials=soft(0.3, **law)))
        for ground in (mesh(tmp_path, "block", slab(0.5 * L)), block)
    ]
    for _ in range(300):
        for sim in both:
            sim.step()
        assert both[0].q == pytest.approx(both[1].q, abs=1e-9)
    k = K * L * L if "foundation" in law else 4e4
    assert both[0].q[2] == pytest.approx(0.5 * L - G / k, abs=1e-7)


@pytest.mark.parametrize("tilt", [1e-3, 1e-2])
def test_all_corners_of_a_soft_cube_count_on_a_mesh_not_the_deepest_alone(tilt, tmp_path):
    gaps = []
    body = cube((0.0, 0.0, 0.5 * L - 1e-3), (tilt, tilt, 0.0))
    block = m.Primitive("floor", "box", (0.4, 0.4, 0.1), m.Pose((0.0, 0.0, -0.05)))
    for ground in (mesh(tmp_path, "floor", slab(0.2)), block):
        sim = mb.Simulator(mb.Scene(primitives=(ground, body), materials=soft(stiffness=1e4)))
        gaps.append(np.sort(sim.step().contacts["gap"]))
    assert len(gaps[0]) == 4 and gaps[0] == pytest.approx(gaps[1], abs=1e-12)


def test_a_mesh_sinks_into_foam_as_deep_as_the_sphere_it_is_like(tmp_path):
    """On its way farther than a quarter of the foam."""
    pad = m.Primitive("pad", "box", (0.3, 0.3, 0.05), m.Pose((0.0, 0.0, -0.025)), material="soft")
    at = m.Pose((0.0, 0.0, 0.07))
    bodies = mesh(tmp_path, "ball", hollow_sphere(0.03, 0.06, 13, 24), at, "free", 20.0), m.Primitive(
        "ball", "sphere", (0.06,), at, "free", 20.0
    )
    found = [run([pad, body], foam(0.3, damping=0.05, cells=32), 300)[0].q[2] for body in bodies]
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def hills(kind, seed, folder):
    heights = np.random.default_rng(seed).uniform(0.0, 0.04, (9, 9))
    if kind == "field":
        return m.Primitive(
            "hills", "height_field", (0.6, 0.6), heights=m.scene.Heights(grid=tuple(map(tuple, heights.tolist())))
        )
    x, y = np.meshgrid(*[np.linspace(-0.3, 0.3, 9)] * 2, indexing="ij")
    return mesh(folder, "hills", sheet_of(np.stack([x, y, heights.T], axis=-1)))


@pytest.mark.parametrize("kind", ["field", "mesh"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_energy_never_rises_on_hills(kind, seed, tmp_path):
    """Ridges and peaks are in foam by centimetres, where features tell nothing: faces that press go on pressing."""
    rng = np.random.default_rng(100 + seed)
    at = (*rng.uniform(-0.05, 0.05, 2).tolist(), 0.14)
    body = cube(at, tuple(rng.uniform(-3.0, 3.0, 3).tolist()))
    materials = foam(rng.uniform(0.0, 0.8), foundation=3e6, shear=0.5)
    sim, step = run([hills(kind, seed, tmp_path), body], materials, 500)
    assert 0.02 < sim.q[2] < 0.1 and step.certificate.residual < 1e-9

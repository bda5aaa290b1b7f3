# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Height fields in scenes: where their heights come from, what is refused, and bodies that move over them."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import SceneError
from mb_contact.model.scene import Ground, Heights, Material, Pose, Primitive, Scene, Velocity
from mb_contact.model.scene_yaml import load_scene
from mb_contact.model.world import build_world

FLAT = Heights(generator="flat", resolution=0.1)
FIELD = Primitive("ground", "height_field", (3.0, 2.0), heights=FLAT, material="stone")
STONE = {"stone": Material(0.4)}


def scene(*bodies, heights=FLAT, size=(3.0, 2.0), **more):
    terrain = replace(FIELD, heights=heights, size=size)
    return Scene(primitives=(terrain, *bodies), materials=STONE, **more)


def body(shape, size, at, velocity=(0.0, 0.0, 0.0), rpy=None, mass=1.0):
    return Primitive("body", shape, size, Pose(at, rpy=rpy), "free", mass, None, "stone", Velocity(linear=velocity))


def surface(world):
    """Heights of the vertices of the first geometry, in the frame of the scene."""
    geoms = world.geoms
    return geoms.vertices[: geoms.first_vertex[1], 2].reshape(geoms.grid[0, 1], geoms.grid[0, 0]) + geoms.p[0, 2]


# --- sources ----------------------------------------------------------------------------------------

GRID = np.array([[0.0, 0.1, 0.0], [0.0, 0.2, 0.0], [0.3, 0.0, 0.05], [0.0, 0.0, 0.0]])
TEXT = """\
primitives:
  - name: ground
    shape: height_field
    size: [2, 1.5]
    heights: {%s}
"""


def load(text, folder):
    (folder / "scene.yaml").write_text(TEXT % text)
    return load_scene(folder / "scene.yaml")


def png(values, depth=8, kind=0):
    """A grey picture; every line with its own filter."""
    raw = values.astype(">u2" if depth == 16 else "u1")
    lines, above, pixel = b"", np.zeros(raw.shape[1] * depth // 8, np.uint8), depth // 8
    for row in raw:
        line = np.frombuffer(row.tobytes(), np.uint8)
        left = np.concatenate([np.zeros(pixel, np.uint8), line[:-pixel]])
        guess = {0: 0, 1: left, 2: above, 3: ((left.astype(int) + above) // 2).astype(np.uint8)}[kind]
        lines += bytes([kind]) + (line - guess).astype(np.uint8).tobytes()
        above = line

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", raw.shape[1], raw.shape[0], depth, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def test_a_grid_in_the_scene_and_arrays_in_files_are_one(tmp_path):
    np.save(tmp_path / "a.npy", GRID)
    np.savetxt(tmp_path / "a.csv", GRID, delimiter=",")
    for text in (f"grid: {GRID.tolist()}", "file: a.npy", "file: a.csv"):
        world = build_world(load(text, tmp_path))
        np.testing.assert_allclose(surface(world), GRID, atol=1e-15)
        np.testing.assert_allclose(surface(build_world(load(text + ", factor: -2", tmp_path))), -2.0 * GRID, atol=1e-15)
        assert world.geoms.grid[0].tolist() == [3, 4]


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
@pytest.mark.parametrize("depth", [8, 16])
def test_a_picture_is_read_from_black_to_white_and_stands_upright(depth, kind, tmp_path):
    values = np.random.default_rng(depth).integers(0, 2**depth, (5, 7))
    (tmp_path / "hill.png").write_bytes(png(values, depth, kind))
    world = build_world(load("file: hill.png, factor: 0.5", tmp_path))
    np.testing.assert_allclose(surface(world), 0.5 * values[::-1] / (2**depth - 1), atol=1e-15)


def test_pictures_of_another_program_are_read(tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    pillow = pytest.importorskip("PIL.Image")
    values = (plt.cm.gray(np.random.default_rng(1).random((40, 30)))[:, :, 0] * 255).astype(np.uint8)
    values[10:20] = np.arange(30)
    pillow.fromarray(values).save(tmp_path / "hill.png")
    np.testing.assert_allclose(surface(build_world(load("file: hill.png", tmp_path))), values[::-1] / 255.0, atol=1e-15)


@pytest.mark.parametrize("generator", ["ramp", "rough", "waves", "hills", "steps"])
def test_generators_stay_within_their_amplitude_and_repeat_by_seed(generator):
    wave = 0.5 if generator in ("waves", "hills", "steps") else None
    heights = Heights(generator=generator, resolution=0.1, amplitude=0.2, wavelength=wave, seed=3)
    one, same = (surface(build_world(scene(heights=heights))) for _ in range(2))
    other = surface(build_world(scene(heights=replace(heights, seed=4))))
    np.testing.assert_array_equal(one, same)
    assert one.shape == (21, 31) and np.abs(one).max() <= 0.2 + 1e-12 and one.std() > 0.02
    assert (np.abs(one - other).max() > 0.01) == (generator in ("rough", "hills", "steps"))


WRONG = {
    "size: [2]": r":4: primitives\[0\].size: a height_field has size \[x, y\], got \[2.0\]",
    "": r":5: primitives\[0\].heights: needs one of file, grid and generator, got none",
    "grid: [[0, 1], [1]]": r":5: primitives\[0\].heights.grid\[1\]: must be 2 finite numbers",
    "grid: [[0, 1]]": r":5: primitives\[0\].heights: a height field needs at least 2 rows of 2 heights, got 1 x 2",
    "grid: [[0, 1], [0, up]]": r":5: primitives\[0\].heights.grid\[1\]\[1\]: must be a number, got 'up'",
    "grid: [[0, 1], [0, 1]], file: a.csv": "got file and grid",
    "file: nowhere.csv": r":5: primitives\[0\].heights.file: .*nowhere.csv' does not exist",
    "file: a.txt": r"heights.file: 'a.txt': the format '.txt' is not read; formats: .npy, .csv, .png",
    "file: a.csv": r"heights.file: 'a.csv' is no .csv file of heights: ",
    "file: a.npy": r"heights.file: 'a.npy' is no .npy file of heights: ",
    "file: a.png": r"heights.file: 'a.png' is no .png file of heights: it does not begin as a PNG does",
    "file: colour.png": "only grey pictures of 8 or 16 bits",
    "file: short.png": "is no .png file of heights: it",
    "generator: dunes": "heights.generator: 'dunes' is not known; available: flat, ramp",
    "generator: flat": "heights.resolution: is missing; generator flat needs it",
    "generator: hills, resolution: 0.1, amplitude: 1": "heights.wavelength: is missing; generator hills needs it",
    "generator: flat, resolution: 0.1, amplitude: 1": "heights.amplitude: belongs to no generator flat; leave it out",
    "generator: flat, resolution: 1e-5": "a resolution of 1e-05 m makes 200000 x 150000 cells",
    "generator: flat, resolution: 0.1, seed: 1.5": "heights.seed: must be a whole number",
    "generator: flat, resolution: 0.1, sead: 1": r"heights.sead: unknown key \(did you mean 'seed'",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_heights_name_file_line_and_key(text, tmp_path):
    (tmp_path / "a.txt").write_text("0")
    (tmp_path / "a.csv").write_text("0,1\n2\n")
    for name in ("a.npy", "a.png"):
        (tmp_path / name).write_bytes(b"nothing of the kind")
    picture = png(np.zeros((3, 3), int))
    (tmp_path / "short.png").write_bytes(picture[:45])
    (tmp_path / "colour.png").write_bytes(picture[:25] + b"\x02" + picture[26:])
    content = TEXT % text if not text.startswith("size") else (TEXT % "grid: [[0, 1], [0, 1]]").replace(
        "size: [2, 1.5]", text)  # fmt: skip
    (tmp_path / "scene.yaml").write_text(content)
    with pytest.raises(SceneError, match=WRONG[text]):
        build_world(load_scene(tmp_path / "scene.yaml"))


def test_a_field_is_welded_and_others_have_no_heights():
    with pytest.raises(SceneError, match="a height field has no mass and cannot be free; use base: weld"):
        build_world(Scene(primitives=(replace(FIELD, base="free", material=None),)))
    with pytest.raises(SceneError, match="only a height_field has heights"):
        build_world(Scene(primitives=(Primitive("ball", "sphere", (0.1,), heights=FLAT),)))
    with pytest.raises(SceneError, match="a height field needs heights"):
        build_world(Scene(primitives=(Primitive("ground", "height_field", (1.0, 1.0)),)))


def test_what_starts_inside_the_ground_is_reported():
    sunk = mb.simulation.initial_penetrations(build_world(scene(body("box", (0.2, 0.2, 0.2), (0.03, 0.0, 0.08)))))
    assert sunk == [("body", "ground", pytest.approx(0.02, abs=1e-9))]
    assert mb.simulation.initial_penetrations(build_world(scene(body("sphere", (0.1,), (0.03, 0.0, 0.1))))) == []


# --- motion -----------------------------------------------------------------------------------------


def motion(description, steps):
    """Positions and velocities of the body over time, and the last step's result."""
    simulator = mb.Simulator(description)
    path = []
    for _ in range(steps):
        result = simulator.step()
        path.append(np.concatenate([simulator.q, simulator.v]))
    assert result.certificate.residual < 1e-8
    return np.array(path)


@pytest.mark.parametrize(
    "thing",
    [
        body("box", (0.2, 0.16, 0.1), (-1.0, 0.013, 0.05), velocity=(2.0, 0.3, 0.0), rpy=(0.0, 0.0, 0.4)),
        body("sphere", (0.05,), (-1.0, 0.013, 0.05), velocity=(1.5, 0.2, 0.0)),
        body("capsule", (0.05, 0.2), (-1.0, 0.013, 0.05), velocity=(1.0, 0.4, 0.0), rpy=(1.5707963267948966, 0.0, 0.2)),
        body("cylinder", (0.08, 0.1), (-1.0, 0.013, 0.05), velocity=(1.5, 0.2, 0.0)),
    ],
    ids=lambda thing: thing.shape,
)
def test_what_slides_or_rolls_over_a_flat_field_moves_as_on_a_plane(thing):
    """No edge of the grid is felt: 500 steps over some 10 cells, slip, roll and come to rest, to 1e-9."""
    over_field = motion(scene(thing), 500)
    on_plane = motion(Scene(primitives=(thing,), ground=Ground(material="stone"), materials=STONE), 500)
    assert over_field[-1, 0] > -0.75
    np.testing.assert_allclose(over_field, on_plane, atol=1e-9)


def test_a_ball_rolls_down_an_inclined_field_with_the_known_acceleration():
    """5/7 g sin(a) along the slope for a ball that rolls; nothing sideways."""
    slope, radius = 0.2, 0.05
    across = radius * np.hypot(1.0, slope)
    ramp = Heights(generator="ramp", resolution=0.07, amplitude=3.0 * slope)
    start = (0.5, 0.02, 2.0 * slope + across)
    path = motion(scene(body("sphere", (radius,), start), heights=ramp), 600)
    along = 5.0 / 7.0 * 9.81 * np.sin(np.arctan(slope)) * 0.6
    np.testing.assert_allclose(np.linalg.norm(path[-1, 10:13]), along, rtol=2e-3)
    assert np.abs(path[:, 1] - 0.02).max() < 1e-9
    assert np.abs(path[:, 2] - across - (1.5 + path[:, 0]) * slope).max() < 1e-6


@pytest.mark.parametrize(
    ("velocity", "at", "depth"),
    [((0.0, 0.0, -200.0), (0.13, 0.21, 1.7), 0.0), ((0.0, 0.0, -100.0), (0.5, 0.5, 0.9), 0.0),
     ((100.0, 0.0, 0.0), (-1.4, 0.25, 0.07), 0.0), ((20.0, 10.0, -15.0), (-1.2, -0.5, 0.6), 0.06)],
    ids=str,
)  # fmt: skip
def test_fast_bodies_come_out_again(velocity, at, depth):
    """Up to 2 m in a step of 10 ms, 20 diameters: straight down, and into a slope from the side.

    Led along one slope into the next within a step, the ball may dip below the surface, and comes out again.
    """
    waves = Heights(generator="waves", resolution=0.1, amplitude=0.1, wavelength=1.0)
    simulator = mb.Simulator(scene(body("sphere", (0.05,), at, velocity=velocity), heights=waves, time_step=0.01))
    above = []
    for _ in range(60):
        simulator.step()
        x, y, z = simulator.q[:3]
        if abs(x) < 1.45 and abs(y) < 0.95:
            above.append(z - 0.1 * np.sin(2 * np.pi * (x + 1.5)) * np.sin(2 * np.pi * (y + 1.0)))
    assert min(above) > -depth and above[-1] > 0.0


@pytest.mark.parametrize("shape", ["box", "sphere", "capsule", "cylinder", "cone", "ellipsoid"])
def test_bodies_come_to_rest_on_rough_ground(shape):
    """The forces carry the weight, and nothing sinks."""
    size = {"sphere": (0.08,), "box": (0.2, 0.15, 0.1), "ellipsoid": (0.2, 0.15, 0.1)}.get(shape, (0.08, 0.15))
    rough = Heights(generator="hills", resolution=0.05, amplitude=0.15, wavelength=0.5, seed=2)
    thing = body(shape, size, (0.1, 0.05, 0.35), rpy=(0.3, 0.2, 0.0))
    simulator = mb.Simulator(scene(thing, heights=rough))
    for _ in range(3000):
        result = simulator.step()
    assert result.certificate.residual < 1e-7
    if shape == "box":  # the others roll in their hollow
        assert np.abs(simulator.v).max() < 0.02
    assert result.certificate.penetration < 1e-4
    assert simulator.q[2] > 0.0


# --- from event to event ----------------------------------------------------------------------------

G = 9.81


def bouncing(terrain, at, eps, velocity=(0.0, 0.0, 0.0), mu=0.0, model="coulomb_polyhedral"):
    """Simulator of a ball of 0.1 m over a terrain, under the event scheme."""
    ball = Primitive("ball", "sphere", (0.1,), Pose(at), "free", 2.0, None, "rubber", Velocity(linear=velocity))
    floor = {"primitives": (ball,), "ground": Ground(material="rubber")}
    if terrain is not None:
        field = Primitive("floor", "height_field", (3.0, 2.0), heights=terrain, material="rubber")
        floor = {"primitives": (field, ball)}
    materials = {"rubber": Material(mu, restitution=eps)}
    return mb.Simulator(Scene(**floor, materials=materials, collision_scheme="event", friction_model=model))


def bounces(sim, seconds):
    """(time, speed before) of every impact."""
    events = [event for _ in range(round(seconds / sim.time_step)) for event in sim.step().events]
    return np.array([(event.time, event.speeds.min()) for event in events])


@pytest.mark.parametrize("model", ["coulomb_polyhedral", "coulomb_cone"])
def test_bounces_on_a_flat_field_are_those_on_a_plane_and_of_the_formula(model):
    """Falls from 0.4 m with eps = 0.6: impacts at t_1 (1 + 2 eps + 2 eps^2 ...), speeds g t_1 eps^k."""
    at, eps = (0.33, -0.21, 0.5), 0.6
    found, plane = (bounces(bouncing(terrain, at, eps, model=model), 1.1) for terrain in (FLAT, None))
    assert len(found) == len(plane) >= 4
    np.testing.assert_allclose(found, plane, rtol=0.0, atol=1e-9)
    first = np.sqrt(2.0 * 0.4 / G)
    k = np.arange(4)
    times = np.array([first * (1.0 + 2.0 * sum(eps**j for j in range(1, n + 1))) for n in k])
    np.testing.assert_allclose(found[:4], np.column_stack([times, -G * first * eps**k]), atol=1e-7)


def test_an_impact_on_a_slope_turns_the_velocity_about_its_normal():
    slope = Heights(generator="ramp", resolution=0.25, amplitude=0.9)
    sim = bouncing(slope, (0.1, 0.05, 1.2), 0.5)
    while not (events := sim.step().events):
        pass
    (event,) = events
    normal = np.array([-0.9, 0.0, 3.0]) / np.hypot(0.9, 3.0)
    np.testing.assert_allclose(np.abs(event.normals[0] @ normal), 1.0, atol=1e-12)
    before = np.array([0.0, 0.0, -G * event.time])
    after = before - 1.5 * (before @ normal) * normal
    np.testing.assert_allclose(sim.v[3:] + [0.0, 0.0, G * (sim.time - event.time)], after, atol=1e-9)
    centre = np.array([0.1, 0.05, 1.2 - 0.5 * G * event.time**2])
    assert abs((centre - [0.0, 0.0, 0.45]) @ normal - 0.1) < 1e-9  # it touched when it was told to have


def test_a_ball_among_hills_loses_energy_at_every_bounce_and_stays_above():
    hills = Heights(generator="hills", resolution=0.1, amplitude=0.1, wavelength=0.8, seed=4)
    sim = bouncing(hills, (0.1, 0.0, 0.6), 0.7, (0.2, -0.1, 0.0), mu=0.4)
    events, energy = [], sim.energy()
    for _ in range(1500):
        step = sim.step()
        events += step.events
        assert sim.energy() <= energy + 1e-9
        energy = sim.energy()
        assert step.certificate.penetration < 1e-6 and step.certificate.residual < 1e-9
    assert len(events) >= 5
    assert all(event.energy_after <= event.energy_before + 1e-12 for event in events)

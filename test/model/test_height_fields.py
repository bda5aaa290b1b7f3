# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Height fields in scenes: where their heights come from, and what is refused.

Covers model/shapes/heights.py.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import SceneError
from mb_contact.model.scene import Heights, Primitive, Scene, load_scene
from mb_contact.model.world import build_world
from scenes.height_field_scenes import FIELD, FLAT, body, scene


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


def png(values, depth=8, kind=0, colour=0, size=None):
    """A grey picture, or what says that it is of another colour type or size; every line with its own filter."""
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

    header = struct.pack(">IIBBBBB", *(size or raw.shape[::-1]), depth, colour, 0, 0, 0)
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
    "": r":5: primitives\[0\].heights: the key 'file' is missing; give file, grid or generator",
    "grid: [[0, 1], [1]]": r":5: primitives\[0\].heights.grid\[1\]: must have 2 numbers, as the first row, got 1",
    "grid: [[0, 1]]": r":5: primitives\[0\].heights: a height field needs at least 2 rows of 2 heights, got 1 x 2",
    "grid: [[0, 1], [0, up]]": r":5: primitives\[0\].heights.grid\[1\]\[1\]: must be a number, got 'up'",
    "grid: [[0, 1], [0, 1]], file: a.csv": "has file and grid; keep one of them",
    "file: nowhere.csv": r":5: primitives\[0\].heights.file: .*nowhere.csv' does not exist",
    "file: a.txt": r"heights.file: 'a.txt': the format '.txt' is not read; formats: .npy, .csv, .png",
    "file: a.csv": r"heights.file: 'a.csv' is no .csv file of heights: ",
    "file: a.npy": r"heights.file: 'a.npy' is no .npy file of heights: ",
    "file: a.png": r"heights.file: 'a.png' is no .png file of heights: it does not begin as a PNG does",
    "file: colour.png": "only grey pictures of 8 bits",
    "file: clear.png": "or of 16 without transparency, are read; convert it",
    "file: wide.png": "3000 x 2000 pixels are too many",
    "file: vast.png": "is no .png file of heights: it cannot be unpacked: Image size",
    "file: short.png": "is no .png file of heights: it",
    "generator: dunes": "heights.generator: 'dunes' is not known; available: flat, ramp",
    "generator: flat": "heights.resolution: a height field of generator flat needs a resolution",
    "generator: hills, resolution: 0.1, amplitude: 1": "heights.wavelength: a height field of generator hills needs",
    "generator: flat, resolution: 0.1, amplitude: 1": "heights.amplitude: a height field of generator flat has no",
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
    flat = np.zeros((3, 3), int)
    pictures = {"short": png(flat)[:45], "colour": png(flat, colour=2), "clear": png(flat, 16, colour=4),
                "wide": png(flat, size=(3000, 2000)), "vast": png(flat, size=(10**5, 10**5))}  # fmt: skip
    for name, content in pictures.items():
        (tmp_path / f"{name}.png").write_bytes(content)
    content = TEXT % text if not text.startswith("size") else (TEXT % "grid: [[0, 1], [0, 1]]").replace(
        "size: [2, 1.5]", text)  # fmt: skip
    (tmp_path / "scene.yaml").write_text(content)
    with pytest.raises(SceneError, match=WRONG[text]):
        build_world(load_scene(tmp_path / "scene.yaml"))


def test_a_field_is_welded_and_others_have_no_heights():
    with pytest.raises(SceneError, match="a height field has no mass and cannot be free; use base: weld"):
        build_world(Scene(primitives=(replace(FIELD, base="free", material=None),)))
    with pytest.raises(SceneError, match="has no heights; leave it out, or set shape: height_field"):
        build_world(Scene(primitives=(Primitive("ball", "sphere", (0.1,), heights=FLAT),)))
    with pytest.raises(SceneError, match="a primitive of shape height_field needs heights; add heights: {generator"):
        build_world(Scene(primitives=(Primitive("ground", "height_field", (1.0, 1.0)),)))


def test_what_starts_inside_the_ground_is_reported():
    sunk = mb.simulation.initial_penetrations(build_world(scene(body("box", (0.2, 0.2, 0.2), (0.03, 0.0, 0.08)))))
    assert sunk == [("body", "ground", pytest.approx(0.02, abs=1e-9))]
    assert mb.simulation.initial_penetrations(build_world(scene(body("sphere", (0.1,), (0.03, 0.0, 0.1))))) == []



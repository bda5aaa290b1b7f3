# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact render``: pictures and films of scenes as files, with their forces.

Covers viewer/rendering.py.
"""

from __future__ import annotations

import struct
import sys

import numpy as np
import pytest

from mb_contact.cli import main
from mb_contact.model.shapes.shape_meshes import box_mesh
from mb_contact.simulation.arrows import LONGEST
from mb_contact.viewer.drawing import Drawing, Part
from mb_contact.viewer.film import HERE, NOWHERE, Pictures, arrow_parts, camera_of, write_film
from mb_contact.viewer.snapshot import Snapshot, contact_points
from paths import ROOT

BOX = str(ROOT / "config" / "box_on_table.yaml")
GREEN = (25, 204, 51)  #: of a force that sticks


def test_a_picture_of_a_scene_has_its_forces(tmp_path, capsys):
    Image = pytest.importorskip("PIL.Image")
    greens, corner = [], ("0.67", "-0.12", "0.74")  # of the box, from below which a force goes up
    for more in ([], ["--no-forces"]):
        path = tmp_path / "box.png"
        command = ["render", BOX, "--out", str(path), "--duration", "0.02", "--width", "160"]
        command += ["--eye", "1.2", "-0.8", "0.9", "--target", *corner]
        assert main([*command, *more]) == 0
        picture = np.asarray(Image.open(path)).astype(int)
        assert picture.shape == (120, 160, 3)
        greens.append(int(((picture[..., 1] - picture[..., [0, 2]].max(axis=-1)) > 60).sum()))
    assert greens[0] > 2 > greens[1] == 0
    assert "160 x 120, 1 pictures" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["gif", "webp", "png"])
def test_a_film_has_a_picture_for_each_moment(ending, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    pictures = [np.full((24, 32, 3), 20 * k, np.uint8) for k in range(5)]
    write_film(tmp_path / f"film.{ending}", pictures, 0.1)
    film = Image.open(tmp_path / f"film.{ending}")
    assert film.n_frames == 5 and film.size == (32, 24)
    film.seek(3)
    assert np.abs(np.asarray(film.convert("RGB")).astype(int) - 60).max() <= 4


def test_the_command_films_a_scene(tmp_path, capsys):
    path = tmp_path / "box.png"
    command = ["render", BOX, "--film", "--out", str(path), "--duration", "0.1", "--every", "0.05", "--width", "64"]
    assert main([*command, "--speed", "2"]) == 0
    data = path.read_bytes()
    assert data.count(b"fcTL") == 3 and "64 x 48, 3 pictures" in capsys.readouterr().out
    assert struct.unpack(">HH", data[data.index(b"fcTL") + 24 :][:4]) == (25, 1000)  # 0.05 s, twice as fast


def test_arrows_are_as_long_as_their_forces():
    row = ("box", "table", np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.array([0.0, 3.0, 4.0]), "stick")
    weak = (*row[:4], np.array([0.0, 0.0, 1e-3]), "stick")
    (part,) = arrow_parts(contact_points([row, weak], ("box",), {}), 0.1, 1.0)
    along = (part.vertices - (1.0, 0.0, 0.0)) @ (0.0, 0.6, 0.8)
    assert along.min() == pytest.approx(0.0) and along.max() == pytest.approx(0.5)
    np.testing.assert_allclose(part.colour, np.array(GREEN) / 255.0)


def pushed(force, seconds=0.0, size=12.0):
    """Drawing of a box of 1 m, and a Snapshot in which it is pushed up."""
    box = Part("box", *box_mesh(np.full(3, 0.5)), (0.5,) * 3)
    row = ("box", "table", np.array([0.0, 0.0, 0.5]), np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, force]), "stick")
    snapshot = Snapshot(seconds, {"box": HERE}, contact_points([row], ("box",), {}), {})
    return Drawing([box], [], [], ("box",), {}, [], size=size), snapshot


def test_a_picture_has_all_of_its_arrows():
    drawing, snapshot = pushed(9.0)
    poses, greens, ends = [snapshot.poses] * 2, [], NOWHERE
    for _ in range(2):
        drawer = Pictures(drawing, {}, camera_of(drawing, poses, (160, 120), ends))
        shown = drawer.frame(snapshot).astype(int)
        greens.append(shown[..., 1] - shown[..., [0, 2]].max(axis=-1) > 30)
        ends = drawer.ends([snapshot])
    assert ends[0, 2] > 2.0  # far above the box
    assert greens[0][0].any() and greens[1].any() and not greens[1][0].any()  # the first row of pixels


def test_arrows_of_a_film_are_as_long_as_the_last_seconds_forces_say():
    drawing, weak = pushed(10.0)
    drawer = Pictures(drawing, {}, camera_of(drawing, [weak.poses] * 2, (160, 120)))
    heights = [drawer.ends([pushed(10.0 if k < 10 else 100.0, 0.2 * k)[1]])[0, 2] for k in range(16)]
    lengths = np.subtract(heights, 0.5)  # pictures are 0.2 s apart
    assert 1.0 < lengths[-1] == lengths[9] <= LONGEST * 12.0
    assert drawer._arrows.scale == pytest.approx(lengths[-1] / 100.0)  # so it is none that was cut off


@pytest.mark.parametrize("more, words", [
    (["--out", "box.mp4"], "ends in .png, .gif, .webp, got 'box.mp4'"),
    (["--width", "3"], "--width is from 16 to 8192 pixels"),
    (["--every", "0", "--film"], "--every from 0.01 to 60 s"),
    (["--speed", "0", "--film"], "--speed must leave 0.01 to 60 s for a picture, got 0"),
    (["--out", "bar.png"], "nothing in it has a shape"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_told_before_it_is_simulated(more, words, tmp_path, capsys):
    bare = tmp_path / "bare.urdf"
    bare.write_text('<robot name="bare"><link name="base"/></robot>')
    assert main(["render", BOX if "shape" not in words else str(bare), *more]) == 2
    assert words in capsys.readouterr().err


def test_without_pillow_a_line_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert main(["render", BOX, "--out", str(tmp_path / "box.gif"), "--width", "16"]) == 2
    assert "pip install 'mb_contact[plot]'" in capsys.readouterr().err

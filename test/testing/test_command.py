# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The command and the plugin as a user runs them: exit codes, JUnit XML, the page, what failed tests leave.

Covers testing/pictures.py, testing/plugin.py, testing/report.py.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.cli import main
from mb_contact.model.resources import child_environment
from mb_contact.testing.failures import Result
from mb_contact.testing.pictures import draw
from mb_contact.testing.report import write_junit
from paths import ROOT

pytestmark = pytest.mark.long
SCENE = "package://mb_contact/config/drumwright_grasp.yaml"
JAWS = f"python {ROOT / 'test' / 'testing' / 'jaws.py'}"
PYTEST = [sys.executable, "-m", "pytest", "-p", "mb_contact.testing.plugin", "-p", "no:cacheprovider", "-c", os.devnull]
EXPECT = """
duration: 0.5
expect:
- {distance: box_left, to: start, most: 0.02, name: the box stays & holds}
- {touch: box_left, by: box_right, is: true, at: 0.1}
draw: [{mass: box_left, factor: [0.5, 1.5]}]
"""


def test_a_test_that_fails_leaves_what_shows_it(tmp_path, capsys):
    expect = tmp_path / "grasp.yaml"
    expect.write_text(EXPECT, encoding="utf-8")
    junit, out = tmp_path / "junit.xml", tmp_path / "out"
    code = main([
        "test", SCENE, "--controller", f"{JAWS} --force 1", "--expect", str(expect), "--out", str(out), "--junit",
        str(junit), "--backend", "embedded", "--trial", "3",
    ])  # fmt: skip
    said = capsys.readouterr().out
    assert code == 1 and "FAILED  expected: the distance of box_left from its start is at most 0.02 m" in said, said
    assert f"replay   mb-contact replay {out}/scene.yaml {out}/run.mcap" in said and "--trial 3" in said
    suite = ElementTree.parse(junit).getroot()[0]
    assert suite.attrib["tests"] == "3" and suite.attrib["failures"] == "1"
    assert suite[1].attrib["name"] == "the box stays & holds"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1 and page.count("data:image/png") == 2 and "the box stays &amp; holds" in page
    assert (out / "picture.png").stat().st_size > 2_000 and b"acTL" in (out / "film.png").read_bytes()
    assert main(["replay", str(out / "scene.yaml"), str(out / "run.mcap")]) == 0


def test_junit_tells_what_is_not_decided_and_how_long_trials_took(tmp_path):
    dead, open_ = Result("controllers", False, "it died", 0.1), Result("lift", False, "not decided", np.nan, "", True)
    write_junit(tmp_path / "once.xml", "lift", [dead, open_], 1.0)
    suite = ElementTree.parse(tmp_path / "once.xml").getroot()[0]
    assert [suite.attrib[name] for name in ("tests", "failures", "skipped")] == ["2", "1", "1"]
    assert suite[1].find("skipped").attrib["message"] == "not decided" and suite[1].find("failure") is None
    expect = tmp_path / "grasp.yaml"
    expect.write_text(EXPECT.replace("0.5\nexpect", "0.1\nexpect"), encoding="utf-8")
    words = ["test", SCENE, "--controller", JAWS, "--expect", str(expect), "--backend", "embedded", "--trials", "1"]
    assert main([*words, "--out", str(tmp_path), "--junit", str(tmp_path / "trials.xml")]) == 0
    suite = ElementTree.parse(tmp_path / "trials.xml").getroot()[0]
    assert suite[1].attrib["name"] == "trial 0" and 0.1 < float(suite[1].attrib["time"]) <= float(suite.attrib["time"])


def test_pictures_and_films_show_fine_visuals(tmp_path):
    Image, trimesh = pytest.importorskip("PIL.Image"), pytest.importorskip("trimesh")
    trimesh.creation.icosphere(5, 0.1).export(tmp_path / "fine.stl")  # 20,480 triangles
    ball = "{name: ball, shape: box, size: [0.3, 0.02, 0.02], mass: 1, base: free"
    seen = "color: [1, 0, 0], visual: {mesh: fine.stl}}"
    (tmp_path / "fine.yaml").write_text(f"primitives: [{ball}, {seen}]\n", encoding="utf-8")
    sim = mb.Simulator(tmp_path / "fine.yaml")
    pose = {"ball": sim.link_pose("ball")}
    files = draw(sim, [(0.0, pose), (0.1, pose)], tmp_path, 0.0)
    parts = []
    for path in files:
        picture = np.asarray(Image.open(io.BytesIO(path.read_bytes())).convert("RGB")).astype(int)
        red = picture[..., 0] - picture[..., 1:].max(axis=-1) > 40
        across = red[:, red.any(axis=0)], red[red.any(axis=1)]
        parts.append(red.sum() / (across[0].shape[1] * across[1].shape[0]))  # of the box around it
    assert len(parts) == 2 and np.allclose(parts, np.pi / 4.0, atol=0.02)


def test_what_is_odd_about_a_scene_is_said_before_it_is_tested(tmp_path, capsys):
    scene, expect = tmp_path / "deep.yaml", tmp_path / "stands.yaml"
    box = "{name: %s, shape: box, size: [0.1, 0.1, 0.1], mass: 1, base: free, pose: {position: [0, 0, %s]}}"
    scene.write_text(f"primitives: [{box % ('low', 0.05)}, {box % ('high', 0.12)}]\nground: {{}}\n", encoding="utf-8")
    expect.write_text("duration: 0.01\nexpect: [{height: low, most: 1.0}]\n", encoding="utf-8")
    assert main(["test", str(scene), "--expect", str(expect), "--out", str(tmp_path), "--backend", "embedded"]) == 0
    said = capsys.readouterr()
    assert "low" in said.err and "30.0 mm" in said.err and "passed  the height of low" in said.out, said.err


def test_bad_input_ends_with_two(tmp_path, capsys):
    expect = tmp_path / "grasp.yaml"
    expect.write_text(EXPECT, encoding="utf-8")
    assert main(["test", "none.yaml", "--expect", str(expect), "--out", str(tmp_path)]) == 2
    assert main(["test", "--expect", str(expect)]) == 2
    assert "a test needs a scene" in capsys.readouterr().err


@pytest.mark.slow
def test_the_fixture_ends_runs_and_fails_tests(tmp_path):
    file = tmp_path / "test_grasp.py"
    file.write_text(
        "from mb_contact.testing import distance, load_plan\n"
        "def test_bad(manipulation):\n"
        f"    run = manipulation({SCENE!r}, {JAWS + ' --force 1'!r})\n"
        "    run.expect(distance('box_left') <= 0.01, until=0.3, name='it stays')\n"
        "    run.advance(0.4)\n",
        encoding="utf-8",
    )
    environment = child_environment() | {"MB_CONTACT_ROS_BACKEND": "embedded"}
    command = [*PYTEST, "--rootdir", str(tmp_path), str(file), "--manipulation-out", str(tmp_path / "out")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "1 error" in done.stdout, done.stdout
    assert "is at most 0.01 m from 0 s to 0.3 s; measured: 0.01" in done.stdout and "replay   mb-contact" in done.stdout
    assert list((tmp_path / "out").rglob("picture.png")), done.stdout


@pytest.mark.slow
def test_the_example_package_passes():
    folder = ROOT / "examples" / "manipulation_tests"
    command = [*PYTEST, "--rootdir", str(folder), str(folder)]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0 and ("5 passed" in done.stdout or "6 passed" in done.stdout), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault, words", [("half", "the height of box above its start is at least 0.2 m"), ("off", "measured: ")]
)
def test_a_worse_lift_fails(tmp_path, capsys, fault, words):
    expect = ROOT / "examples" / "manipulation_tests" / "expectations" / "lift.yaml"
    worse = f"python {ROOT / 'test' / 'testing' / 'worse_lift.py'} {fault}"
    code = main(["test", "--expect", str(expect), "--controller", worse, "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert code == 1 and words in said, said

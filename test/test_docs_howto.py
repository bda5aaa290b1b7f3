# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The blocks of README.md and docs/ run, Python in one namespace a page.

Those of docs/howto as they stand, with files by their names, `mb-contact new` and `test`.  Of README.md and the guides
what a block needs and does not make stands in ``GUIDES``, which also makes large numbers small; robots that a page
does not name are several.  Tutorials run when the site is built (test_docs_site.py).
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact import cli
from paths import ROOT
from scenes.robots import path_of

PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
BLOCK = re.compile(r"^```(python|yaml|xml)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:#|<!--) ([\w/]+\.(?:py|yaml|sdf))(?: -->)?\n")  # first line of a block that is a file
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names, ran = {"__name__": page.stem}, 0
    for found in BLOCK.finditer(text):
        if file := FILE.match(found[2]):
            Path(file[1]).write_text(found[2], encoding="utf-8")
        elif found[1] == "python":
            line = text.count("\n", 0, found.start(2))
            exec(compile("\n" * line + found[2], str(page), "exec"), names)  # noqa: S102 (the page's own code)
            ran += 1
        elif not found[1]:
            ran += sum(map(run, found[2].splitlines()))
    assert ran, "the page has no block that runs"


def run(command):
    """Whether a command is one of those that run here; it has to end with 0."""
    words = shlex.split(command)
    if words[:1] != ["mb-contact"] or words[1] not in ("new", "test") or PLACEHOLDER.search(command):
        return False
    assert cli.main(words[1:]) == 0, command
    return True


# --- README.md and the guides -------------------------------------------------------------------------------


ROBOTS = ("panda", "anymal", "icub")  #: of the package example-robot-data; no page that needs a robot names them
FALLING = "<mujoco><worldbody><body name='b' pos='0 0 1'><freejoint/><geom size='.1'/></body></worldbody>{}</mujoco>"
OPTIONS = {"mimic": "independent", "massless": "merge", "collision_meshes": "skip"}
HOME = "<keyframe><key name='home' qpos='0 0 2 1 0 0 0'/></keyframe>"


def robot_state():
    """A robot with a state and a contact at its last body."""
    model = mb.load_urdf("robot.urdf", **OPTIONS)
    return {
        "model": model, "q": model.neutral_q(), "v": np.zeros(model.N), "effort": np.zeros(model.N), "loops": [],
        "body_a": model.n - 1, "body_b": -1, "points": [[0, 0, 0]], "normals": [[0, 0, 1]],
        "point": (0, 0, 0), "normal": (0, 0, 1),
    }  # fmt: skip


def and_its_simulator():
    scene = mb.Scene(models=[mb.model.SceneModel("robot.urdf", **OPTIONS)])
    return {**robot_state(), "sim": mb.Simulator(scene)}


def array_message():
    dims = [SimpleNamespace(size=2, label="frames=a,b;rows=2"), SimpleNamespace(size=3, label="columns=3")]
    layout = SimpleNamespace(data_offset=2, dim=dims)
    return {"np": np, "message": SimpleNamespace(data=np.arange(8.0), layout=layout)}


def watched():
    """Sensors of the names that the page has."""
    sensor = mb.model.Sensor
    kinds = {"imu": ("imu", "box"), "eye": ("camera", "world"), "wrist": ("contact", "box")}
    sensors = [sensor(name, kind, link=link) for name, (kind, link) in kinds.items()]
    scene = mb.load_scene("config/box_on_table.yaml")
    return {"sim": mb.Simulator(dataclasses.replace(scene, sensors=sensors))}


def model_of_mujoco():
    pytest.importorskip("mujoco")
    Path("model.xml").write_text(FALLING.format(HOME), encoding="utf-8")
    return {"mb": mb}


#: page: names that its blocks need, what is written smaller, and blocks with these words left out
GUIDES = {
    "README.md": (dict, {"2000": "20", "1000": "20"}, ()),
    "docs/control.md": (dict, {"500": "20"}, ()),
    "docs/drumwright.md": (robot_state, {}, ()),
    "docs/dynamics.md": (dict, {}, ()),
    "docs/formulations.md": (and_its_simulator, {'"left_tcp"': "body_a"}, ()),
    "docs/gradients.md": (dict, {}, ()),
    "docs/mjcf.md": (model_of_mujoco, {}, ()),
    "docs/pendulum.md": (lambda: {"mb": mb}, {}, ()),
    "docs/ros.md": (array_message, {}, ()),
    "docs/sensors.md": (watched, {}, ()),
    "docs/state.md": (dict, {}, ()),
    "docs/surfaces.md": (dict, {}, ()),
    "docs/viewer.md": (lambda: {"mb": mb, "target": np.zeros(26)}, {"5000": "5"}, ()),
    "docs/worlds.md": (dict, {"4096": "4"}, ("def law", "gymnasium", "RemoteWorlds")),  # tests of worlds, gym and Ray
}  # fmt: skip
#: pages whose blocks other tests run, or that define tests of their own
ELSEWHERE = {"docs/spatial_operators.md": "studies/sko/test_sko.py", "docs/testing.md": "testing/test_checks.py"}
UNNAMED = {"README.md": 3, "docs/drumwright.md": 3}  #: pages of any robot, and how many are tried


def blocks(page):
    return [found for found in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")) if found[1] == "python"]


@pytest.mark.long
@pytest.mark.parametrize(
    "page, robot", [(page, robot) for page in GUIDES for robot in ROBOTS[: UNNAMED.get(page, 1)]]
)
def test_blocks_of_guides_run(page, robot, tmp_path, monkeypatch):
    prelude, smaller, without = GUIDES[page]
    monkeypatch.chdir(tmp_path)
    for folder in ("config", "urdf"):
        Path(folder).symlink_to(ROOT / folder)
    Path("robot.urdf").symlink_to(path_of(robot))
    names = {"__name__": page, **prelude()}
    for found in blocks(page):
        text = found[2]
        for old, new in smaller.items():
            text = text.replace(old, new)
        if not any(word in text for word in without):
            exec(compile(text, page, "exec"), names)  # noqa: S102 (the page's own code)


def test_every_page_with_python_is_run_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    found = {page.relative_to(ROOT).as_posix() for page in pages if blocks(page.relative_to(ROOT))}
    assert found == {*GUIDES, *ELSEWHERE}
    assert all((ROOT / "test" / path).is_file() for path in ELSEWHERE.values())

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Every program of benchmarks/ runs with ``--quick``, its smallest case, and stands in the README.

A program has a ``__main__`` guard.  One that only another program starts (its file name stands there) has no
``--quick`` of its own and runs with that one.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from each import of_each
from paths import BENCHMARKS, ROOT

NEEDED = 77  # exit code of a program that lacks something of the machine (benchmarks/quick.py)
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(BENCHMARKS.glob("*.py"))}
PROGRAMS = [name for name, text in TEXTS.items() if "\nif __name__ ==" in text]
LOOKED_AT = {"drops", "heaps", "never_stuck"}  # run so by test_stepping.py, which looks at what they find
#: of several seconds each, and the test that finds the faults that they would: only `make test-all` runs the program
LONG = {
    "abuse": "ros/test_abuse.py",
    "body_coordinates": "model/test_body_coordinates.py",
    "distributed": "test_distributed.py",
    "gradients": "gradients/test_scenes.py",
    "narrow_phase": "collision/test_coal_compiled.py",
    "view_frames": "viewer/test_browser.py",
    "wandering_contacts": "benchmarks/test_wandering_contacts.py",
}
STARTED = [n for n in PROGRAMS if any(f'"{n}.py"' in text for other, text in TEXTS.items() if other != n)]


def run(monkeypatch, name, *arguments):
    """Exit code in this process, which has loaded the kernels; with the import path that Python gives a program."""
    path = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "test"]
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *path])
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    try:
        runpy.run_path(str(BENCHMARKS / f"{name}.py"), run_name="__main__")
        return 0
    except SystemExit as end:
        return end.code


@pytest.mark.slow
@pytest.mark.parametrize("part", ["hold", "ik"])
def test_every_robot_is_held_and_every_pose_is_found(monkeypatch, capfd, part):
    assert run(monkeypatch, "control", part) == 0, capfd.readouterr().out


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in PROGRAMS
     if name not in {*STARTED, *LOOKED_AT}],
)  # fmt: skip
def test_every_program_runs(monkeypatch, capfd, name):
    code = run(monkeypatch, name, "--quick")
    out, err = capfd.readouterr()
    if code == NEEDED:
        pytest.skip(err.strip().splitlines()[-1])
    assert code in (None, 0), f"{code}: {err or out}"
    assert out


@of_each(PROGRAMS)
def test_every_program_stands_in_the_readme(name):
    assert f"`{name}.py`" in (BENCHMARKS / "README.md").read_text(encoding="utf-8")


def test_programs_are_found():
    assert {"collisions", "solvers"} <= set(PROGRAMS) and "quick" not in PROGRAMS
    assert set(STARTED) >= {"abuser", "fidelity_peers", "pendulum_engines"}
    assert set(LONG) <= set(PROGRAMS) and all((ROOT / "test" / path).is_file() for path in LONG.values())

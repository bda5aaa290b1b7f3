# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Whoever ends a test, its controllers end too, with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mb_contact.model.resources import child_environment
from paths import ROOT

pytestmark = [pytest.mark.long, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")]
SCENE = "package://mb_contact/config/drumwright_grasp.yaml"
PYTEST = [sys.executable, "-m", "pytest", "-p", "mb_contact.testing.plugin", "-p", "no:cacheprovider", "-c", os.devnull]
SILENT = "jaws: no answer any more"


def running(parent):
    """All processes that descend from one, with the times at which they began."""
    begun, parents = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, ppid, *others = file.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if state != "Z":
            parents[int(file.parent.name)], begun[int(file.parent.name)] = int(ppid), others[17]
    found = {parent}
    while more := {pid for pid, ppid in parents.items() if ppid in found} - found:
        found |= more
    return {(pid, begun[pid]) for pid in found if pid in begun}


def alive(processes):
    return processes & running(0)


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def ended(command, folder, number, tests, least):
    """Start it, kill it when so many tests wait for answers; what it has printed, once no process of it is left."""
    with open(folder / "said", "wb") as said:
        process = subprocess.Popen(command, env=child_environment(), stdout=said, stderr=said, cwd=folder)
    processes = set()
    try:
        until(lambda: sum(SILENT in file.read_text() for file in folder.glob("*.said")) == tests, 300.0)
        processes = running(process.pid)
        assert len(processes) >= least
        process.send_signal(number)
        process.wait(60.0)
        until(lambda: not alive(processes), 30.0)
    finally:
        for pid, _ in alive(running(process.pid) | processes):
            os.kill(pid, signal.SIGKILL)
        process.wait()
    return (folder / "said").read_text(errors="replace")


@pytest.fixture
def controller(tmp_path):
    """A controller that has started another program, and waits for states in vain."""
    file = tmp_path / "both.sh"
    jaws = f"{sys.executable} {ROOT / 'test' / 'testing' / 'jaws.py'} hangs"
    file.write_text(f"tail -f {os.devnull} &\nexec {jaws} > {tmp_path}/$$.said\n", encoding="utf-8")
    return f"sh {file}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_pytest_that_is_killed_leaves_no_process(tmp_path, controller, number):
    file = tmp_path / "test_it.py"
    file.write_text(f"""from mb_contact.testing import height

def test_it(manipulation):
    run = manipulation({SCENE!r}, {controller!r}, backend="embedded")
    run.expect(height("box_left") >= 9.0, within=900.0)
    run.advance(1000.0)
""", encoding="utf-8")
    said = ended([*PYTEST, str(file)], tmp_path, number, 1, 3)
    assert ("mb-contact: the simulation stands at" in said) == (number == signal.SIGTERM), said
    assert "CheckFailed" not in said, said
    assert ("no tests ran" in said) == (number == signal.SIGTERM), said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nor_do_trials_in_several_processes(tmp_path, controller, number):
    file = tmp_path / "expect.yaml"
    expect = "duration: 1000\nexpect: [{height: box_left, most: 9}]\n"
    file.write_text(f"scene: {SCENE}\ncontrollers: [{controller}]\n{expect}", encoding="utf-8")
    command = [sys.executable, "-m", "mb_contact", "test", "--expect", str(file), "--trials", "8", "--processes", "2"]
    ended([*command, "--backend", "embedded"], tmp_path, number, 2, 8)  # a tracker of resources, and twice three

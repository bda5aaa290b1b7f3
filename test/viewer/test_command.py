# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""`mb-contact view` as a command: it serves and ends, and refuses what is impossible in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types

import pytest

import mb_contact as mb
from mb_contact.cli import main
from paths import ROOT
from viewer.serving import NEEDS_VISER, free_port, received

CAN = ROOT / "config" / "falling_can.yaml"


def test_without_viser_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "viser", None)
    assert main(["view", str(CAN)]) == 2
    assert "pip install 'mb_contact[viewer]'" in capsys.readouterr().err
    assert main(["run", str(CAN), "--view", "--duration", "0.01"]) == 2
    assert "pip install 'mb_contact[viewer]'" in capsys.readouterr().err


@NEEDS_VISER
@pytest.mark.parametrize("how", ["duration", "SIGTERM", "SIGINT"])
def test_the_command_serves_and_ends(how):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    more = ["--duration", "0.05", "--real-time-factor", "0"] if how == "duration" else ["--paused"]
    command = [sys.executable, "-m", "mb_contact", "view", str(CAN), "--port", str(free_port()), *more]
    process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        address = next(line for line in process.stderr if "web view at" in line).split("at ")[1].split()[0]
        if how != "duration":
            assert received(address.replace("http", "ws"), "/links/can")
            process.send_signal(getattr(signal, how))
        assert process.wait(60) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()


@NEEDS_VISER
def test_a_bug_in_a_step_ends_the_command_with_its_traceback(monkeypatch):
    def fail(simulator, effort=None):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(mb.Simulator, "step", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):  # exit code 1 of the interpreter
        main(["view", str(CAN), "--port", str(free_port())])


WRONG_OPTIONS = [
    (("--duration", "0"), "above zero"),
    (("--host", "192.0.2.1"), "cannot listen on '192.0.2.1'"),
]


@NEEDS_VISER
@pytest.mark.parametrize("wrong, words", WRONG_OPTIONS)
def test_impossible_options_are_refused_with_one_line(wrong, words, capsys):
    assert main(["view", str(CAN), *wrong]) == 2
    assert words in capsys.readouterr().err


REFUSED_AT_ONCE = [
    (("--port", "0"), "the port must be from 1 to 65535, got 0"),
    (("--port", "99999"), "the port must be from 1 to 65535, got 99999"),
    (("--port", "web"), "the port must be a whole number, got 'web'"),
    (("--real-time-factor", "-1"), "not below zero (0: as fast as possible), got -1"),
    (("--real-time-factor", "nan"), "not below zero (0: as fast as possible), got nan"),
]


@pytest.mark.parametrize("wrong, words", REFUSED_AT_ONCE)
def test_impossible_numbers_are_refused_before_the_scene_is_looked_at(wrong, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["view", "there_is_none.yaml", *wrong])
    assert ended.value.code == 2 and words in capsys.readouterr().err


def test_smooth_surfaces_cannot_be_followed_and_the_line_says_what_shows_them(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "viser", types.ModuleType("viser"))  # not reached
    assert main(["view", str(ROOT / "config" / "three_patches.yaml"), "--follow"]) == 2
    expected = "--follow does not show smooth surfaces; mb-contact view SCENE simulates and shows them"
    assert expected in capsys.readouterr().err

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Python programs begun in a copy of a process that has imported what nodes import.

An interpreter and those imports take two seconds of a core, the copy hundredths of one, and the tests begin hundreds.
The copy ends without the interpreter's own tidying up: a test of that begins an interpreter.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from paths import ROOT

#: of variables that no import reads
_LATE = ("ROS_", "RMW_", "CYCLONEDDS_", "FASTDDS_", "FASTRTPS_", "ZENOH_", "MB_CONTACT_ROS_")

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["ros.imported"])


def can_copy(command, env):
    """Whether a command is ``python -u program.py …`` whose environment leaves what was imported as it is."""
    changed = {name for name in {*env, *os.environ} if env.get(name) != os.environ.get(name)}
    program = command[:2] == [sys.executable, "-u"] and command[2].endswith(".py")
    return program and not any(name != "PYTHONPATH" and not name.startswith(_LATE) for name in changed)


class Copy:
    """A program begun so, with what :class:`ros.support.Process` asks of a :class:`subprocess.Popen`."""

    def __init__(self, command, env):
        pipes = [_CONTEXT.Pipe(duplex=False) for _ in range(2)]
        writers = [writer for _, writer in pipes]
        _begin_original()
        self._process = _CONTEXT.Process(target=_run, args=(command[2:], env, *writers))
        self._process.start()
        self.pid = self._process.pid
        self.stdout, self.stderr = (open(os.dup(reader.fileno()), encoding="utf-8") for reader, _ in pipes)
        for end in (end for pair in pipes for end in pair):
            end.close()

    def poll(self):
        """The exit code, or None while it runs."""
        return self._process.exitcode

    def wait(self, timeout=None):
        """Wait for the end and return the exit code."""
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return self.poll()

    def send_signal(self, number):
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def _begin_original():
    """Begin the process that is copied, if it does not run; it finds what it imports by ``PYTHONPATH`` alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "test"), os.environ.get("PYTHONPATH", "")]))
        forkserver.ensure_running()


def _run(arguments, env, out: Connection, err: Connection):
    """What the copy does: that program as ``__main__``."""
    os.environ.clear()
    os.environ.update(env)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    for stream, number in (("stdout", 1), ("stderr", 2)):
        setattr(sys, stream, open(number, "w", encoding="utf-8", buffering=1, closefd=False))
    out.close()
    err.close()
    sys.argv = list(arguments)
    sys.path.insert(0, str(Path(arguments[0]).parent))
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()

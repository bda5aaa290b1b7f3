# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The pytest plugin: the fixture ``manipulation`` starts runs, ends them, and fails the test where they failed."""

import contextlib
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: Any) -> None:
    """Options of the plugin."""
    group = parser.getgroup("mb_contact")
    group.addoption("--manipulation-out", metavar="DIR", help="folder for bags, logs and pictures (pytest's own else)")
    group.addoption("--manipulation-backend", default="auto", help="auto, rclpy or embedded: of the simulator's node")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any) -> Any:
    """Note down whether the test itself has failed."""
    report = (yield).get_result()
    if report.when == "call":
        item.stash[FAILED] = report.failed


FAILED = pytest.StashKey[bool]()


@pytest.fixture
def manipulation(request: Any, tmp_path: Path) -> Iterator[Any]:
    """Start runs: ``manipulation(scene, *controllers, **options)``, or ``manipulation(plan)``.

    Options are those of :class:`mb_contact.testing.Plan`.

    A run goes on while the test waits for something, and has ended, with all its processes, when the test is over.
    Meanwhile SIGTERM ends pytest as Ctrl-C does.
    """
    from mb_contact.ros.signals import give_back, take_signals
    from mb_contact.testing.failures import CheckFailed
    from mb_contact.testing.plan import Plan
    from mb_contact.testing.report import leave
    from mb_contact.testing.run import Run

    out = request.config.getoption("--manipulation-out")
    base = Path(out) / re.sub(r"\W+", "_", request.node.nodeid) if out else tmp_path
    backend = request.config.getoption("--manipulation-backend")
    runs: list[Run] = []

    terminal, capture = map(request.config.pluginmanager.getplugin, ("terminalreporter", "capturemanager"))

    def tell(line):
        with contextlib.nullcontext() if capture is None else capture.global_and_fixture_disabled():
            terminal.write_line(f"mb-contact: {line}")

    def start(scene: Any, *controllers: str, **options: Any) -> Run:
        plan = scene if isinstance(scene, Plan) else Plan(scene, controllers, **({"backend": backend} | options))
        say = None if terminal is None else tell
        run = Run(plan, base / f"run_{len(runs) + 1}" if runs else base, say)
        run.__enter__()
        runs.append(run)
        return run

    taken = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    old = take_signals(signal.default_int_handler, (signal.SIGTERM,) if taken else ())
    try:
        yield start
    finally:
        complaints = []
        for run in runs:
            run.close()
            bad = [result.text for result in run.results() if not result.passed]
            if bad or request.node.stash.get(FAILED, False):
                again = f"pytest {request.node.nodeid}"
                request.node.add_report_section("teardown", "manipulation", "\n".join(leave(run, again)))
            complaints += bad
        give_back(old)
    if complaints and not any(run.interrupted for run in runs) and not request.node.stash.get(FAILED, False):
        raise CheckFailed("\n".join(complaints))

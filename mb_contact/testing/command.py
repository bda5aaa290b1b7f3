# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact test``: a test that needs no code, once or as trials, with an exit code, JUnit XML and one page."""

import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mb_contact.errors import InputError
from mb_contact.ros.signals import give_back, take_signals
from mb_contact.testing.attached import AttachedRun
from mb_contact.testing.failures import Result
from mb_contact.testing.plan import Plan, load_plan
from mb_contact.testing.report import leave, trial_page, write_junit
from mb_contact.testing.run import Run
from mb_contact.testing.trials import law_from, run_trials, run_worlds_trials, trial_plan

_PLAN = ("duration", "wall", "backend", "seed", "rate")  #: options that count more than the file


def run_command(arguments: Any) -> int:
    """Run the test of parsed arguments; 0 when it passed, 1 when it failed.

    Raises
    ------
    MbContactError
        The scene, the file or an option is wrong.
    """
    given = {name: getattr(arguments, name) for name in (*_PLAN, "scene")}
    plan = load_plan(arguments.expect, controllers=tuple(arguments.controller), attach=arguments.attach, **given)
    begun, out = time.monotonic(), Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    wanted = plan.trials if arguments.trials is None else arguments.trials
    old = take_signals(signal.default_int_handler, (signal.SIGTERM,))  # ends it as Ctrl-C does
    try:
        if arguments.trial is None and (wanted or arguments.law):
            passed, results = _trials(plan, wanted, arguments, out)
        else:
            if arguments.trial is not None:
                plan = trial_plan(plan, arguments.trial)
            passed, results = _once(plan, arguments, out)
    finally:
        give_back(old)
    if arguments.junit:
        write_junit(Path(arguments.junit), Path(arguments.expect).stem, results, time.monotonic() - begun)
    return 0 if passed else 1


def _once(plan: Plan, arguments: Any, out: Path) -> tuple[bool, list[Result]]:
    run: Any
    if plan.attach:
        run = AttachedRun(plan, out)
        results = run.finish()
    else:
        with Run(plan, out) as run:
            for warning in run.scene.warnings:
                print(f"mb-contact: {warning}", file=sys.stderr, flush=True)
            results = run.finish()
    for result in results:
        passed = result.name + (f" ({result.measured})" if result.measured else "")
        failed = result.text if result.undecided else f"FAILED  {result.text}"
        print(f"passed  {passed}" if result.passed else failed, flush=True)
    passed = all(result.passed for result in results)
    if not plan.attach and (not passed or arguments.html):
        print("\n".join(leave(run, command_line(arguments))), flush=True)
    words = "passed" if passed else "failed"
    print(f"the test {words}: {run.time:.3f} s {'watched' if plan.attach else 'simulated'}", flush=True)
    return passed, results


def _trials(plan: Plan, count: int, arguments: Any, out: Path) -> tuple[bool, list[Result]]:
    def say(line):
        print(f"mb-contact: {line}", file=sys.stderr, flush=True)

    if arguments.law:
        if not count:
            raise InputError("--law runs trials: --trials N, or 'trials' of the file, says how many")
        trials = run_worlds_trials(plan, law_from(arguments.law), count, progress=say)
    else:
        trials = run_trials(plan, count, arguments.processes, say)
    lines = []
    if not arguments.law:
        lines = [f"trial {n}: {command_line(arguments, ('--trial', str(n)))}" for n in trials.failing]
    page = out / "trials.html"
    page.write_text(trial_page(trials, lines), encoding="utf-8")
    print("\n".join([*lines, f"page     {page}", trials.text]), flush=True)
    results = [
        Result(f"trial {entry.number}", entry.passed, "\n".join(entry.failures), entry.seconds)
        for entry in trials.outcomes
    ]
    return trials.passed, [Result("rate of success", trials.passed, trials.text, 0.0), *results]


def command_line(arguments: Any, more: Sequence[str] = ()) -> str:
    """The command that does this once more."""
    words = ["mb-contact", "test", *filter(None, [arguments.scene]), "--expect", arguments.expect]
    for command in arguments.controller:
        words += ["--controller", command]
    for name in (*_PLAN, *(() if more else ("trial",))):
        if getattr(arguments, name) is not None and name != "rate":
            words += [f"--{name}", str(getattr(arguments, name))]
    return shlex.join([*words, *more])

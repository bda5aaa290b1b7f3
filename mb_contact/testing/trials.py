# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trials over random scenes: how often a test passes, and with which numbers it does not.

What a trial draws depends on the seed and its own number alone: among thousands, alone, in one process or in several it
is the same trial.
"""

import importlib.util
import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.errors import InputError
from mb_contact.model.scene import Scene, load_scene
from mb_contact.testing.checks import BROKEN, OPEN, Tally
from mb_contact.testing.conditions import Channel
from mb_contact.testing.draws import drawn, put_into, varied
from mb_contact.testing.plan import Plan
from mb_contact.testing.run import Run
from mb_contact.testing.views import WorldsView

CONFIDENCE = 0.95
LISTED = 10  #: numbers of trials in a line


@dataclass(frozen=True, order=True)
class Outcome:
    """What became of one trial."""

    number: int
    failures: tuple[str, ...]  #: sentences; empty where it passed
    drawn: tuple[tuple[str, str], ...] = ()  #: what, and the numbers
    seconds: float = field(default=0.0, compare=False)  #: of wall time; of trials at once each one's share

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures


@dataclass(frozen=True)
class Trials:
    """Many trials.

    Attributes
    ----------
    outcomes : list of Outcome
        In the order of their numbers.
    rate : float
        The least rate of success that is asked for.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    rate: float = 1.0

    @property
    def successes(self) -> int:
        """How many passed."""
        return sum(outcome.passed for outcome in self.outcomes)

    @property
    def failing(self) -> list[int]:
        """Numbers of those that did not."""
        return [outcome.number for outcome in self.outcomes if not outcome.passed]

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's interval of the rate, at 95 % confidence."""
        from scipy.stats import binomtest

        found = binomtest(self.successes, len(self.outcomes)).proportion_ci(CONFIDENCE, "exact")
        return float(found.low), float(found.high)

    @property
    def passed(self) -> bool:
        """Whether the rate is at least what is asked for."""
        return self.successes >= self.rate * len(self.outcomes) - 1e-9

    @property
    def text(self) -> str:
        """The verdict in a line."""
        low, high = self.interval
        count = len(self.outcomes)
        share = f"{self.successes} of {count} trials passed, {self.successes / count:.1%}"
        listed = ", ".join(map(str, self.failing[:LISTED])) + (", ..." if len(self.failing) > LISTED else "")
        failed = f"; failed: {listed}" if self.failing else ""
        return f"{share} (95 % interval {low:.1%} to {high:.1%}), asked for {self.rate:.1%}{failed}"


def _scene(plan):
    return plan.scene if isinstance(plan.scene, Scene) else load_scene(plan.scene)


def trial_plan(plan: Plan, number: int) -> Plan:
    """The test of one trial: the scene and the conditions that its number draws."""
    scene, conditions = varied(_scene(plan), plan.conditions, plan.draws, plan.seed, number)
    return replace(plan, scene=scene, conditions=conditions)


def run_trial(plan: Plan, number: int, folder: str | Path | None = None) -> Outcome:
    """Run one trial over topics."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mb_contact_trial_") as place:
        with Run(trial_plan(plan, number), folder or place) as run:
            results = run.finish()
    failures = tuple(result.text for result in results if not result.passed)
    return Outcome(number, failures, _told(plan, number), time.monotonic() - begun)


def _told(plan, number):
    values = drawn(plan.draws, plan.seed, number)
    texts = [np.array2string(np.asarray(value), precision=5) for value in values]
    return tuple((draw.text, text) for draw, text in zip(plan.draws, texts))


def run_trials(
    plan: Plan, count: int | None = None, processes: int = 1, progress: Callable[[str], Any] | None = None,
    numbers: Sequence[int] | None = None,
) -> Trials:  # fmt: skip
    """Run trials over topics, each in a ROS domain of its own.

    Parameters
    ----------
    plan : Plan
    count : int, optional
        As many as the plan asks for where left out.
    processes : int
        That share them; the outcomes do not depend on it.
    progress : callable, optional
        Called with a line after each.
    numbers : sequence of int, optional
        Of the trials, in place of the first ``count``.
    """
    chosen = list(range(plan.trials if count is None else count) if numbers is None else numbers)
    if not chosen:
        raise InputError("there are no trials to run: 'trials' of the file, or --trials, says how many")
    trial_plan(plan, chosen[0])  # what is wrong with a draw comes first
    outcomes: list[Outcome] = []

    def note(outcome):
        outcomes.append(outcome)
        if progress is not None:
            verdict = "passed" if outcome.passed else f"failed: {outcome.failures[0].splitlines()[0]}"
            bad = sum(not entry.passed for entry in outcomes)
            progress(f"trial {outcome.number} {verdict} [{len(outcomes)} of {len(chosen)}, {bad} failed]")

    if processes == 1:
        for number in chosen:
            note(run_trial(plan, number))
    else:
        others = active_children()
        with ProcessPoolExecutor(processes, get_context("spawn"), _end_with_parent) as pool:
            try:
                for done in as_completed([pool.submit(run_trial, plan, number) for number in chosen]):
                    note(done.result())
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in active_children():
                    if process not in others:
                        process.terminate()
                raise
    return Trials(sorted(outcomes), plan.rate)


def _end_with_parent():
    """For a process that shares trials: it would wait for ever for one that was killed."""

    def wait():
        parent_process().join()
        os._exit(1)

    threading.Thread(target=wait, name="end of the parent", daemon=True).start()


# --- in one process, without topics -----------------------------------------------------------------


def law_from(address: str) -> Callable[..., Any]:
    """The function of ``FILE.py:NAME``.

    Raises
    ------
    InputError
        There is none.
    """
    path, _, name = address.rpartition(":")
    if not Path(path).is_file():
        raise InputError(f"--law {address}: there is no file '{path}'; write FILE.py:FUNCTION")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"--law {address}: '{path}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, name, None)):
        raise InputError(f"--law {address}: '{path}' has no function '{name}'")
    return getattr(module, name)


def run_worlds_trials(
    plan: Plan, law: Callable[..., Any], count: int | None = None, threads: int | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Trials:  # fmt: skip
    """Run trials side by side in ``mb.Worlds``, with a controller in Python for all of them at once.

    Parameters
    ----------
    plan : Plan
        With a duration; its controllers are not started.
    law : callable
        From time [s], positions and velocities (worlds, joints) of ``world.joint_names`` to efforts (worlds, joints).
    count, threads : int, optional
    progress : callable, optional

    Raises
    ------
    InputError
        The plan has no duration, or has events or draws that worlds cannot have.
    """
    from mb_contact.worlds.worlds import Worlds

    if plan.duration is None:
        raise InputError("trials in worlds need a 'duration': there is no controller whose end ends them")
    if plan.conditions.events:
        raise InputError(f"worlds have no '{plan.conditions.events[0].kind}': run such trials over topics")
    begun, count = time.monotonic(), plan.trials if count is None else count
    plan = replace(plan, scene=_scene(plan))  # read once
    plans = [trial_plan(plan, number) for number in range(count)]
    worlds = Worlds(plan.scene, count, threads)
    put_into(worlds, [entry.scene for entry in plans], plan.draws)
    tallies = [Tally(entry, count) for entry in plan.expectations]
    end = _simulate(worlds, plan, plans, law, tallies, progress or (lambda _: None))
    for tally in tallies:
        tally.end(end)
    outcomes = []
    for number in range(count):
        bad = []
        if worlds.failed[number]:
            bad.append(f"the simulation stopped at {end[number]:.3f} s: {worlds.failures[number]}")
        bad += [tally.sentence(number) for tally in tallies if tally.state[number] == BROKEN]
        seconds = (time.monotonic() - begun) / count
        outcomes.append(Outcome(number, tuple(bad), _told(plan, number), seconds))
    worlds.close()
    return Trials(outcomes, plan.rate)


def _simulate(worlds, plan, plans, law, tallies, progress):
    """Step all worlds to the plan's duration; the time [s] that each has reached."""
    world, dt = worlds.world, worlds.time_step
    period = max(1, round(worlds.scene.rates.get("control_period", dt) / dt))
    channel, view = Channel([entry.conditions for entry in plans], period * dt), WorldsView(worlds)
    steps = round(plan.duration / dt)
    view.take(0.0)
    for tally in tallies:
        tally.prime(view)
    for taken in range(0, steps + 1, period):
        now = taken * dt
        view.take(now)
        for tally in tallies:
            tally.see(view)
        if taken == steps or (tallies and not any((tally.state == OPEN).any() for tally in tallies)):
            break
        efforts = np.asarray(law(now, worlds.q[:, world.joint_q], worlds.v[:, world.joint_v]), dtype=float)
        worlds.step(channel.pass_on(efforts), steps=min(period, steps - taken))
        if taken % (period * 500) == 0:
            progress(f"{worlds.count} trials at {now:.2f} of {plan.duration:g} s")
    return worlds.times()

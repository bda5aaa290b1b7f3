# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The node's speed between two processes, by DDS or Zenoh: round trip in lockstep, publishing rate, CPU share, soak.

The simulator runs here, a controller that answers or listens in a child (responder.py), in a ROS domain of their
own on the loopback interface.  A round trip is the time from beginning to publish a state, everything that belongs
to it included, to the acceptance of the command that answers it; the physics is not in it.
"""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.errors import CommunicationError, InputError
from mb_contact.model.resources import child_environment, find_resource
from mb_contact.programs.bench.responder import percentiles
from mb_contact.simulation.simulator import Simulator

SCENE = "package://mb_contact/config/dual_arm_lift.yaml"
DOMAIN = "93"  #: unless ROS_DOMAIN_ID says another one
_WARM_UP = 2.0  #: simulated seconds that are not counted
_MEMORY_EVERY = 5.0  #: seconds between two looks at the memory
_SETTLED = 0.2  #: part of a soak after which memory must not grow
_GROWTH = 0.01  #: that is none
_PATIENCE = 30.0
_ROUNDS = 3  #: of each wire, in turn
_KEPT = 400_000  #: round trips that are kept


@dataclass
class Run:
    """What one run of the node measured."""

    seconds: float  #: simulated, without the warm-up
    factor: float  #: real-time factor
    cpu: float  #: share of one core
    round_trips: np.ndarray  #: [s]
    memory: list  #: (wall seconds, resident bytes)
    child: dict  #: what the other process counted
    summary: object


class _Meter:
    """Watches a running node from a thread of its own."""

    def __init__(self, simulator_node: Any) -> None:
        self._node = simulator_node
        self._ended = threading.Event()
        self.memory: list[tuple[float, int]] = []
        self._times, self._count = np.full(_KEPT, np.nan), 0  # full at once: a soak must not grow by being measured
        self._begun = self._last = None
        simulator_node.answered = self._answered
        self._start = time.monotonic()
        self._thread = threading.Thread(target=self._watch, name="meter", daemon=True)
        self._thread.start()

    def _answered(self, seconds):
        self._last = np.array([time.monotonic(), _cpu_seconds(), self._node.simulator.time])
        if self._begun is None and self._last[2] > _WARM_UP:
            self._begun = self._last
        if self._begun is not None:
            self._times[self._count % _KEPT] = seconds
            self._count += 1

    @property
    def round_trips(self) -> Floats:
        """The newest ones [s]."""
        return self._times[: min(self._count, _KEPT)].copy()

    def _watch(self):
        while not self._ended.wait(_MEMORY_EVERY):
            self.memory.append((time.monotonic() - self._start, resident_bytes()))

    def stop(self) -> tuple[float, float, float]:
        """Seconds simulated from the warm-up to the last control period, real-time factor, CPU share."""
        self._ended.set()
        self._thread.join()
        if self._begun is None:
            raise CommunicationError("the run was over before anything could be measured")
        wall, cpu, simulated = (float(value) for value in self._last - self._begun)
        return simulated, simulated / wall, cpu / wall


def _cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident_bytes(pid: int | str = "self") -> int:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def measure(
    simulator: Simulator, seconds: float, lockstep: bool, backend: str = "embedded", factor: float = 1.0
) -> Run:
    """Run the node for so many simulated seconds beside a child, at a real-time factor, and return a :class:`Run`.

    Raises
    ------
    CommunicationError
        The ROS domain cannot be joined, or the child failed.
    """
    from mb_contact.ros.main import RunOptions, run_node
    from mb_contact.ros.options import NodeOptions

    node = NodeOptions(lockstep=lockstep, lockstep_timeout=_PATIENCE, real_time_factor=factor)
    if not lockstep:
        node.joint_state_rate = 1.0 / simulator.time_step
    held = {}

    def ready(simulator_node):
        held["child"] = _start_child(backend, lockstep)
        held["meter"] = _Meter(simulator_node)

    options = RunOptions(
        node=node, duration=seconds + _WARM_UP, backend=backend, name="bench_node", progress=lambda _: None, ready=ready
    )
    try:
        summary = run_node(simulator, options)
    finally:
        report = _end_child(held.get("child"))
    if summary is None:
        raise KeyboardInterrupt
    simulated, factor, cpu = held["meter"].stop()
    meter = held["meter"]
    return Run(simulated, factor, cpu, meter.round_trips, meter.memory, report, summary)


def _start_child(backend, lockstep):
    command = [sys.executable, "-m", "mb_contact.programs.bench.responder", "--backend", backend]
    child = subprocess.Popen(
        [*command, *([] if lockstep else ["--listen"])], stdout=subprocess.PIPE, text=True, env=child_environment()
    )
    if child.stdout.readline().strip() != "listening":
        raise CommunicationError(f"the answering process did not start (exit code {child.wait()})")
    return child


def _end_child(child):
    if child is None:
        return {}
    child.terminate()
    try:
        output, _ = child.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        output, _ = child.communicate()
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def run_bench(
    scene: str | Path | None = None, seconds: float = 20.0, soak: float | None = None, backend: str = "embedded",
    wire: str = "auto",
) -> int:  # fmt: skip
    """Measure and print; 0, or 1 where a soak grew or lost something.

    Raises
    ------
    InputError
        A length that is not positive.
    """
    for name, value in (("--seconds", seconds), ("--soak", soak)):
        if value is not None and not value > 0.0:
            raise InputError(f"{name} must be greater than zero, got {value:g}")
    os.environ.setdefault("ROS_DOMAIN_ID", DOMAIN)
    from mb_contact.ros.embedded.wires import speak_by
    from mb_contact.simulation.simulator import Simulator

    simulator = Simulator(find_resource(scene or SCENE), progress=lambda line: print(line, flush=True))
    joints, step = len(simulator.world.joint_names), simulator.time_step
    print(f"{joints} joints, time step {1e3 * step:g} ms, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if wire == "both":
        return _print_both(simulator, seconds)
    speak_by(wire)
    if soak is not None:
        return _soak(measure(simulator, 60.0 * soak, True, backend))
    for pace, factor in (("as fast as possible", 0.0), ("paced at real time", 1.0)):
        _print_lockstep(measure(simulator, seconds, True, backend, factor), pace)
        simulator.reset()
    _print_free(measure(simulator, seconds, False, backend), step)
    return 0


def _print_both(simulator, seconds):
    """Lockstep as fast as possible over each wire in turn: whatever else the machine does hits both alike."""
    from mb_contact.ros.embedded.wires import speak_by

    times = {"dds": [], "zenoh": []}
    for _ in range(_ROUNDS):
        for wire, kept in times.items():
            speak_by(wire)
            run = measure(simulator, seconds / _ROUNDS, True, "embedded", 0.0)
            simulator.reset()
            kept.append(run.round_trips)
            print(f"{wire:5}  {_times(run.round_trips)}; {run.child.get('missed')} states missed", flush=True)
    whole = {wire: percentiles(np.concatenate(kept)) for wire, kept in times.items()}
    for name in ("p50", "p99"):
        dds, zenoh = (1e3 * whole[wire][name] for wire in times)
        print(f"{name} of {_ROUNDS} runs each: DDS {dds:.2f} ms, Zenoh {zenoh:.2f} ms, {zenoh / dds:.2f} times")
    return 0


def _times(values):
    return ", ".join(f"{name} {1e3 * value:.2f} ms" for name, value in percentiles(values).items())


def _print_lockstep(run, pace):
    print(f"lockstep, {pace}, {run.seconds:.0f} s: real-time factor {run.factor:.2f}")
    print(f"  round trip   {_times(run.round_trips)}")
    print(f"  states       {run.child.get('states')} received, {run.child.get('missed')} missed")
    print(f"  CPU          {100.0 * run.cpu:.0f} % of a core; {run.summary.missed_deadlines} missed deadlines")


def _print_free(run, step):
    child, expected = run.child, 1.0 / step
    times = ", ".join(f"{name} {value:.2f} ms" for name, value in child.get("interval_ms", {}).items())
    print(f"free running, {run.seconds:.0f} s: real-time factor {run.factor:.3f}")
    print(f"  joint_states {run.factor * expected:.0f} a second published; {child.get('states')} received, "
          f"{child.get('missed')} missed")  # fmt: skip
    print(f"  between two  {times} (one every {1e3 * step:g} ms is meant)")
    print(f"  CPU          {100.0 * run.cpu:.0f} % of a core; {run.summary.missed_deadlines} missed deadlines")


def _soak(run):
    print(f"soak in lockstep, {run.seconds / 60.0:.1f} min: real-time factor {run.factor:.2f}")
    print(f"  round trip   {_times(run.round_trips)}")
    missed, timeouts = run.child.get("missed"), run.summary.lockstep_timeouts
    print(f"  states       {run.child.get('states')} received, {missed} missed, {timeouts} lockstep timeouts")
    growth = memory_growth(run.memory)
    print(f"  memory       {run.memory[-1][1] / 2**20:.1f} MiB at the end, growth {100.0 * growth:.2f} %")
    good = growth <= _GROWTH and missed == 0 and timeouts == 0
    print("no growth and nothing missed" if good else "NOT as it should be")
    return 0 if good else 1


def memory_growth(samples: Sequence[tuple[float, int]]) -> float:
    """Relative growth of memory from the settled beginning to the end of a run.

    Parameters
    ----------
    samples : list of (seconds, bytes)
        In order; the first fifth, while caches fill, does not count.
    """
    if len(samples) < 2:
        raise InputError("too short a soak: memory was not sampled often enough")
    begin = samples[min(len(samples) - 2, int(_SETTLED * len(samples)))][1]
    return (samples[-1][1] - begin) / begin

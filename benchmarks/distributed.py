# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What Ray's actors cost beside threads of one process, and what a cluster of n machines would give.

Two actors of one thread and two threads of one process take the same rollout, in turn; the best round of each counts,
by wall clock and by CPU time (of the driver and the actors; wall clock on a busy machine says little).  Then the parts
of a call that do not shrink with more machines: the messages (bytes a world-step) and the driver's own CPU time.  With
n machines that have so many worlds each, a call takes as long as the actors' work on one of them and n times the
driver's; from that follow the rates of n machines, of rollouts, which send every state back, and of plain steps.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np
from quick import need, options_of

need("ray")

import ray  # noqa: E402

import mb_contact as mb  # noqa: E402
from mb_contact.distributed import RemoteWorlds  # noqa: E402

SCENE = "package://mb_contact/config/standing_quadruped.yaml"
CORES = 2  #: of a machine, as here
MACHINES = (1, 2, 4, 8, 16, 32)


def cpu_of(process):
    """CPU time of all threads of a process [s]."""
    total = 0
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return 1e-9 * total


class Clock:
    """Best wall clock and CPU time of several calls [s]; CPU time of the driver and of the actors' processes."""

    def __init__(self, actors):
        self.actors, self.best = actors, {}

    def time(self, name, call):
        """Call, and keep what it took where it is less than before."""
        before, start = self._cpu(), time.perf_counter()
        call()
        spent = time.perf_counter() - start, *(b - a for a, b in zip(before, self._cpu()))
        self.best[name] = tuple(map(min, zip(self.best.get(name, spent), spent)))

    def _cpu(self):
        return cpu_of(os.getpid()), sum(map(cpu_of, self.actors))


def measure(count, steps, rounds):
    """Print the table; returns the ratio of world-steps per CPU second."""
    ray.init(num_cpus=CORES, include_dashboard=False, log_to_driver=False)
    remote, local = RemoteWorlds(SCENE, count, actors=CORES), mb.Worlds(SCENE, count, threads=CORES)
    controls = np.random.default_rng(0).uniform(-1.0, 1.0, (count, steps, len(local.world.joint_names)))
    start, clock = local.save(), Clock([ray.get(actor.process.remote()) for actor in remote.actors])
    for _ in range(rounds + 1):  # the first one warms up
        for worlds in (local, remote):
            worlds.restore(start)
        clock.time("threads", lambda: mb.rollout(local, start, controls))
        clock.time("actors", lambda: remote.rollout(controls))
        clock.time("steps", lambda: remote.step(steps=steps))
        clock.time("one step", remote.step)
    remote.close()
    total, best = count * steps, clock.best
    print(f"{count} worlds, {steps} steps a call")
    print(f"{'':<24} {'steps/s':>9} {'us CPU a step':>14} {'of them the driver':>19}")
    for name, words in (("threads", f"rollout, {CORES} threads"), ("actors", f"rollout, {CORES} actors"),
                        ("steps", f"steps, {CORES} actors")):  # fmt: skip
        wall, driver, actors = best[name]
        print(f"{words:<24} {total / wall:9.0f} {1e6 * (driver + actors) / total:14.2f} {1e6 * driver / total:19.2f}")
    (wall, own, _), (far, driver, actors) = best["threads"], best["actors"]
    rate, ratio = wall / far, own / (driver + actors)
    print(f"ratio: {rate:.2f} by wall clock, {ratio:.2f} by CPU time")
    numbers = 8 * (len(local.world.joint_names) + local.q.shape[1] + local.v.shape[1] + 1)
    state = sum(array.nbytes for array in start.arrays.values()) / count
    print(f"messages: {numbers} bytes a world-step of a rollout; {state:.0f} bytes a world and call stay where it is")
    print(f"a call of one step: {1e3 * best['one step'][0]:.1f} ms")
    for name in ("actors", "steps"):
        grow(*best[name][1:], total, numbers if name == "actors" else 0)
    return ratio


def grow(driver, actors, total, numbers):
    """Print the rates of n machines like this one, from the CPU times of a call [s] and the bytes of a world-step."""
    print("rollouts" if numbers else "steps", "on machines like this one:", end="")
    for n in MACHINES:
        rate = n * total / (actors / CORES + n * driver)
        print(f"  {n}: {1e-6 * rate:.2f} M/s" + (f" ({1e-6 * rate * numbers:.0f} MB/s)" if numbers else ""), end="")
    print(f"; never more than {1e-6 * total / driver:.1f} M/s from one driver")


def main(argv=None):
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=128)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--least", type=float, default=0.9, help="ratio by CPU time that is asked for")
    options = options_of(parser, argv, count=8, steps=20, rounds=1, least=0.0)
    return 0 if measure(options.count, options.steps, options.rounds) >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps beside central differences of the step itself, and what they and gradients of rollouts cost.

    python benchmarks/gradients.py [--states N] [--only SCENE] [--quick]

Differences are extrapolated by Richardson, of each of q, v and effort; deviations are relative to the largest entry,
or to one.  A state whose step has a kink within 1e-3, slips (in an impact too) without unique impulses, or has points
of one face equally deep to 1e-6 m, of which the deepest one says how high all stand, is drawn again and counted.
Exit code 1 where a deviation is larger than 1e-6.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from time import process_time

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT), str(ROOT / "test")]

import numpy as np  # noqa: E402
from quick import options_of  # noqa: E402

import mb_contact as mb  # noqa: E402
from mb_contact.core.handle import TOLERANCE  # noqa: E402
from mb_contact.errors import InputError  # noqa: E402
from mb_contact.gradients import rollout_gradient  # noqa: E402
from mb_contact.gradients.step import NAMES  # noqa: E402
from oracles.pinocchio_peer import example_robots  # noqa: E402
from oracles.step_differences import Differences, push_out_fully  # noqa: E402
from scenes.gradient_scenes import SCENES  # noqa: E402

NEAR = 1e-3  #: a kink so near is left out [sqrt(N s m/s)]
LEVEL = 1e-6  #: points of one face so equally deep are, too [m]
SIZE, FREE = 1e-7, 1e-5  #: of differences, with contacts and without
BOUND = 1e-6
TRIES = 10  #: draws of a state at most
COSTS = ("box on a table", "dual arm", "quadruped", "g1")
SOLVED = 1e-13  #: natural map that is asked for here: rounding, instead of a step's 1e-10


def slides(sim, step):
    """Whether a contact slips in the step, or in one of its impacts."""
    mu = sim.world.geoms.mu.max()
    for strike in step.events:
        for impulses in (strike.compression, strike.decompression):
            normal = (impulses * strike.normals).sum(axis=1)
            across = np.linalg.norm(impulses - normal[:, None] * strike.normals, axis=1)
            if np.any(across > 0.999999 * mu * normal):
                return True
    return "slip" in step.contacts["state"]


def smooth(sim, step):
    """Whether the last step is away from kinks, and its velocities are unique."""
    found = sim.step_derivatives((), NEAR)
    contacts = sim.context.contacts
    count = int(contacts.count[0])
    for i in range(1, count):
        for j in range(i):
            same = contacts.pair[i] == contacts.pair[j] and (contacts.normal[i] == contacts.normal[j]).all()
            if same and abs(contacts.gap[i] - contacts.gap[j]) < LEVEL:
                return False
    return all(kink.kind == "gap" for kink in found.kinks) and (found.unique or not slides(sim, step))


def compare(make, count, seed):
    """(worst deviation, states compared, with contacts, at kinks, refused) of a scene."""
    rng = np.random.default_rng(seed)
    sim, draw = make()
    push_out_fully(sim)
    sim.context.solver[TOLERANCE] = SOLVED
    worst, done, touching, kinks, refused = 0.0, 0, 0, 0, ""
    for _ in range(count):
        for _ in range(TRIES):
            q, v, effort = draw(rng)
            differences = Differences(sim, q, v, effort)
            sim.set_state(q, v)
            step = sim.step(effort)
            try:
                if smooth(sim, step):
                    break
                kinks += 1
            except InputError as error:
                refused = str(error)
        else:
            continue
        size = SIZE if len(step.contacts["gap"]) else FREE
        deviation = differences.worst(size=size)
        if deviation > BOUND:  # a difference may cross a kink that the step is away from, by less than its size
            deviation = min(deviation, differences.worst(size=0.1 * size))
        worst = max(worst, deviation)
        done += 1
        touching += bool(len(step.contacts["gap"]) and np.any(step.contacts["state"] != "separate"))
    return worst, done, touching, kinks, refused


def beside_pinocchio(count):
    """Worst relative deviation of a chain's derivatives by q, v and effort from those of Pinocchio's dynamics."""
    import pinocchio as pin

    sim, draw = SCENES["chain of six"]()
    model = pin.buildModelFromXML(mb.pendulum(6, length=1.0).urdf())
    model.gravity.linear = sim.context.gravity
    data, rng, worst, dt = model.createData(), np.random.default_rng(7), 0.0, sim.time_step
    for _ in range(count):
        q, v, effort = draw(rng)
        sim.set_state(q, v)
        sim.step(effort)
        found = sim.step_derivatives()
        theirs = pin.computeABADerivatives(model, data, np.stack((np.cos(q), np.sin(q)), 1).ravel(), v, effort)
        for name, by, own in zip(("q", "v", "effort"), theirs, (0.0, 1.0, 0.0), strict=True):
            expected = own * np.eye(6) + dt * by
            worst = max(worst, np.abs(found.v[name] - expected).max() / np.abs(expected).max())
    return worst


def least(sim, function, repeats):
    """Least processor time of calls, 20 from the present state on [us]."""
    best, before = np.inf, sim.save()
    for _ in range(repeats):
        sim.restore(before)
        start = process_time()
        for _ in range(20):
            function()
        best = min(best, (process_time() - start) / 20)
    sim.restore(before)
    return best * 1e6


def standing(name):
    """A scene where it begins, and efforts against gravity; ``g1`` is that of step_peers.py."""
    if name == "g1":
        from step_peers import CASES

        case = CASES["g1"]()
        world = case.sim.world
        return case.sim, case.law(case.sim.q[world.joint_q], case.sim.v[world.joint_v])
    sim, _ = SCENES[name]()
    sim.reset()
    return sim, sim.nonlinear_effects()[: len(sim.world.joint_names)]


def costs(name, repeats):
    """(contacts, step, step with derivatives, step of a rollout, with its gradient), times in us."""
    sim, effort = standing(name)
    q, v = sim.q, sim.v
    sim.step(effort)
    count = int(sim.context.contacts.count[0])
    step = least(sim, lambda: sim.step(effort), repeats)
    both = least(sim, lambda: (sim.step(effort), sim.step_derivatives(NAMES[:3])), repeats)
    sim.set_state(q, v)
    efforts, N = np.tile(effort, (100, 1)), len(v)

    def cost(k, q, v):
        return (v[-1], np.zeros(N), np.eye(N)[-1]) if k == 100 else None

    rolled, gradient = np.inf, np.inf
    for _ in range(repeats):
        before, start = sim.save(), process_time()
        for effort in efforts:
            sim.step(effort)
        rolled = min(rolled, process_time() - start)
        sim.restore(before)
        start = process_time()
        rollout_gradient(sim, efforts, cost)
        gradient = min(gradient, process_time() - start)
    return count, step, both, rolled * 1e4, gradient * 1e4


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--states", type=int, default=110, metavar="N", help="of each scene (default: 110)")
    parser.add_argument("--only", choices=SCENES, metavar="SCENE", help="one scene")
    parser.add_argument("--repeats", type=int, default=30, metavar="N", help="of times (default: 30)")
    options = options_of(parser, states=2, only="box on a table", repeats=2)
    names = [options.only] if options.only else list(SCENES)
    print("| scene | states | that touch | drawn again at kinks | worst deviation |\n|---|--:|--:|--:|--:|")
    total, failed = 0, False
    for name in names:
        worst, done, touching, kinks, refused = compare(SCENES[name], options.states, list(SCENES).index(name))
        print(f"| {name} | {done} | {touching} | {kinks} | {worst:.1e} |{' ' + refused if refused else ''}", flush=True)
        total, failed = total + done, failed or worst > BOUND or done == 0
    print(f"\n{total} states")
    if find_spec("pinocchio"):
        print(f"\nThe chain beside Pinocchio's forward dynamics: {beside_pinocchio(options.states):.1e}")
    print("\n| scene | contacts | step, µs | with derivatives by q, v, effort | times a step "
          "| rollout, µs a step | with its gradient | times the rollout |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in COSTS:
        if name in names or (name == "g1" and not options.only and example_robots()):
            count, step, both, rolled, gradient = costs(name, options.repeats)
            print(f"| {name} | {count} | {step:.1f} | {both:.1f} | {both / step:.1f} | {rolled:.1f} | {gradient:.1f} "
                  f"| {gradient / rolled:.1f} |")  # fmt: skip
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

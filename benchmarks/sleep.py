# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A heap that sleeps, beside the same heap without sleep and beside MuJoCo with and without its own.

    python benchmarks/sleep.py [--bodies 99] [--rest 30] [--seconds 12] [--no-peer] [--json FILE]

Boxes fall into a bin until none moves faster than 1e-6 m/s, while a ball lies beside the bin.  Then:

    asleep      part of the island-steps of so many seconds of rest that sleep, by islands that this program finds in
                the table of contacts
    residual    the worst of these steps, and the force that is missing to balance each body's weight, from the table
    apart       the longest way between bodies of this run and of one with ``sleep: false`` from the same state: after a
                second of rest, and after the ball was dropped on the heap, when it touches and 0.1 s later
    ms          of a step: asleep, with the ball pushed along the ground beside the heap that sleeps on (partly), behind
                ``set_object``, which wakes all, while the ball falls, and awake; MuJoCo's asleep, partly and awake

Exit code 1 where less than 99 % sleep, bodies are 1e-9 m apart, or a residual or a balance is above 1e-9.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from importlib.util import find_spec

import bin as bins
import heaps
import numpy as np
from quick import options_of
from stepping import timed, write_json

import mb_contact as mb
from mb_contact.model import Pose, Primitive

SLOW = 1e-6  #: speed of what is at rest [m/s, rad/s]
ASLEEP, APART, SOLVED = 0.99, 1e-9, 1e-9  #: what is asked for
AFTER = 0.1  #: time after the touch at which runs are compared [s]
PUSH = 0.05  #: force on the ball that rolls beside the heap [N],
PUSHED = 60  #: in so many steps, of which the last two thirds are timed
DROP = 0.15  #: height of the ball above the highest body [m]


def scene_of(bodies):
    """Boxes above a bin, a ball beside it."""
    scene = replace(bins.scene_of(bodies, heaps.SHAPES["boxes"]), path=None)
    ball = Primitive("ball", "sphere", (0.03,), Pose((3.0, 3.0, 0.03)), "free", 0.1, material="plastic")
    return replace(scene, primitives=(*scene.primitives, ball))


def islands(step, names):
    """Sets of free bodies that contacts couple, of the step's table."""
    leader = {name: name for name in names}

    def top(name):
        while leader[name] != name:
            name = leader[name]
        return name

    for a, b in zip(step.contacts["link_a"], step.contacts["link_b"]):
        if a in leader and b in leader:
            leader[top(a)] = top(b)
    groups = {}
    for name in names:
        groups.setdefault(top(name), set()).add(name)
    return list(groups.values())


def unbalanced(sim, step):
    """Largest force that contacts lack of carrying the weight of a body [N]."""
    force = {name: sim.world.tree.mass[k] * sim.gravity for k, name in enumerate(sim.world.body_names)}
    for a, b, p in zip(step.contacts["link_a"], step.contacts["link_b"], step.contacts["impulse"]):
        for link, sign in ((a, 1.0), (b, -1.0)):
            if link in force:
                force[link] = force[link] + sign * p / sim.time_step
    return float(max(np.abs(f).max() for f in force.values()))


def come_to_rest(sim, seconds):
    """Step until nothing moves; how long that took [s]."""
    while sim.time < seconds:
        sim.step()
        if sim.step_count > 50 and len(sim.v) and np.abs(sim.v).max() < SLOW:
            return sim.time
    raise SystemExit(f"the heap still moves after {seconds:g} s")


def drop(sim):
    """Put the ball above the highest box of the heap."""
    place = {name: sim.link_pose(name)[0] for name in sim.world.body_names if name != "ball"}
    x, y, z = max(place.values(), key=lambda p: p[2])
    sim.set_object("ball", pose=((x + 0.01, y, z + DROP), (0.0, 0.0, 0.0, 1.0)))


def places(sim):
    return np.array([sim.link_pose(name)[0] for name in sim.world.body_names])


def apart(a, b):
    """Longest way between the same bodies of two runs [m]."""
    return float(np.abs(places(a) - places(b)).max())


def rest(sim, seconds):
    """Part of island-steps asleep, worst residual and balance, ms of a step in which all sleep."""
    names, slept, steps, residual, balance, ms = sim.world.body_names, 0, 0, 0.0, 0.0, []
    known, groups = None, []
    for _ in range(round(seconds / sim.time_step)):
        all_slept = bool(sim.asleep.all())
        step, spent = timed(sim.step)
        sleeps = sim.asleep
        if known is None or not all_slept:
            groups, known = islands(step, names), step
        if all_slept:
            ms.append(1e3 * spent)
        asleep = dict(zip(names, sleeps))
        slept += sum(all(asleep[name] for name in group) for group in groups)
        steps += len(groups)
        residual = max(residual, step.certificate.residual)
    balance = unbalanced(sim, step)
    return slept / steps, residual, balance, float(np.median(ms)) if ms else None, len(groups)


def touch(sims, limit=1.0):
    """Both runs until the ball touches; the ms of their steps and how far they are apart then, and AFTER it."""
    for sim in sims:
        drop(sim)
    ms, start = ([], []), sims[0].time
    while sims[0].time < start + limit:
        steps = []
        for sim, times in zip(sims, ms):
            step, spent = timed(sim.step)
            times.append(1e3 * spent)
            steps.append(step)
        contacts = steps[0].contacts
        if ((contacts["link_a"] == "ball") | (contacts["link_b"] == "ball")).any():
            break
    first = apart(*sims)
    for _ in range(round(AFTER / sims[0].time_step)):
        for sim in sims:
            sim.step()
    woken = int(np.count_nonzero(~sims[0].asleep))
    return [float(np.median(times[3:-1])) for times in ms], first, apart(*sims), woken


def partly(sim):
    """Median ms of a step while the ball rolls and all else sleeps, and how many bodies do; the state is put back."""
    before, ms = sim.save(), []
    sim.set_external_wrench("ball", [0.0, 0.0, 0.0, PUSH, 0.0, 0.0])
    for _ in range(PUSHED):
        ms.append(1e3 * timed(sim.step)[1])
    asleep = sim.count_asleep()[0]
    sim.restore(before)
    return float(np.median(ms[PUSHED // 3 :])), asleep


def mujoco_ms(scene, seconds, sleeps, push=0.0):
    """Median ms of MuJoCo's last hundred steps, with a force on the ball, and how many of its trees are awake then."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(heaps.mjcf(scene))
    if sleeps:
        model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
    data = mujoco.MjData(model)
    for _ in range(round(seconds / scene.time_step)):
        mujoco.mj_step(model, data)
    data.body("ball").xfrc_applied[0] = push
    ms = [1e3 * timed(mujoco.mj_step, model, data)[1] for _ in range(100)]
    return float(np.median(ms)), int(data.ntree_awake) if sleeps else model.ntree


def beside_awake(sim, scene):
    """The same second of rest and the ball's drop with and without sleep; a row's numbers."""
    awake, awake_ms = mb.Simulator(scene), []
    awake.restore(sim.save())
    for _ in range(round(1.0 / sim.time_step)):
        sim.step()
        awake_ms.append(1e3 * timed(awake.step)[1])
    resting = apart(sim, awake)
    (falling, _), touched, later, woken = touch((sim, awake))
    print(f"apart after 1 s of rest {resting:.1e} m, when the ball touches {touched:.1e} m, "
          f"{AFTER:g} s later {later:.1e} m; {woken} of {len(sim.asleep)} bodies awake")  # fmt: skip
    awake_ms = float(np.median(awake_ms))
    return {"falling_ms": falling, "awake_ms": awake_ms, "resting": resting, "touched": touched, "later": later}


def beside_mujoco(scene, seconds):
    """Steps of MuJoCo's run of so many seconds, with and without its sleep; a row's numbers."""
    import mujoco

    row = {}
    for sleeps in (True, False):
        name = f"mujoco_{'asleep' if sleeps else 'awake'}_ms"
        row[name], trees = mujoco_ms(scene, seconds, sleeps)
        state = "on" if sleeps else "off"
        print(f"ms of MuJoCo {mujoco.__version__}, sleep {state}: {row[name]:.4f}, {trees} trees awake")
    row["mujoco_partly_ms"], trees = mujoco_ms(scene, seconds, True, PUSH)
    print(f"ms of MuJoCo, sleep on, the ball rolls: {row['mujoco_partly_ms']:.4f}, {trees} trees awake")
    return row


def main(argv=None):
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bodies", type=int, default=99)
    parser.add_argument("--rest", type=float, default=30.0, help="seconds at rest (%(default)s)")
    parser.add_argument("--seconds", type=float, default=12.0, help="in which all come to rest (%(default)s)")
    parser.add_argument("--no-peer", action="store_true", help="without MuJoCo")
    parser.add_argument("--json", help="file for the numbers")
    options = options_of(parser, argv, bodies=4, seconds=4.0, rest=20.0)
    scene = scene_of(options.bodies)
    sim = mb.Simulator(replace(scene, sleep=True))
    at_rest = come_to_rest(sim, options.seconds)
    part, residual, balance, asleep_ms, groups = rest(sim, options.rest)
    print(f"{options.bodies} boxes at rest after {at_rest:.2f} s; {100.0 * part:.2f} % of the island-steps of "
          f"{options.rest:g} s more sleep ({groups} islands); residual {residual:.1e}, "
          f"weight missing {balance:.1e} N")  # fmt: skip
    row = {"bodies": options.bodies, "asleep": part, "residual": residual, "balance": balance, "asleep_ms": asleep_ms}
    row["partly_ms"], sleeping = partly(sim)
    row |= beside_awake(sim, scene)
    print(f"ms while the ball rolls and {sleeping} of {len(sim.asleep)} bodies sleep: {row['partly_ms']:.4f}")
    print(f"ms: asleep {asleep_ms:.4f}, while the ball falls {row['falling_ms']:.4f}, awake {row['awake_ms']:.4f}")
    if not options.no_peer and find_spec("mujoco"):
        row |= beside_mujoco(scene, at_rest + 1.0)
        print(f"of MuJoCo's step with its sleep, partly asleep: {row['partly_ms'] / row['mujoco_partly_ms']:.2f}")
    write_json(options.json, options, [row])
    bad = part < ASLEEP or max(row["resting"], row["touched"], row["later"]) > APART
    return 1 if bad or residual > SOLVED or balance > SOLVED else 0


if __name__ == "__main__":
    sys.exit(main())

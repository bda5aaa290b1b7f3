# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What Gymnasium's interface costs: world-steps per CPU second of the environments beside those of the worlds alone.

Both take the same efforts from the same states, in turn; the best round of each counts.  The ages of the episodes are
spread over the horizon, so that episodes end and begin in every action as they do in training.  ``--least`` is what
the ratio must reach in every task; the exit code says whether it does.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from quick import need, options_of

need("gymnasium")

from mb_contact.gym import TASKS, WorldsEnv  # noqa: E402


def measure(task, count, actions, rounds):
    """Microseconds of CPU time a world-step: (of the environments, of their worlds alone)."""
    env, rng = WorldsEnv(task, count, threads=1), np.random.default_rng(0)
    env.reset(seed=0)
    chosen = rng.uniform(-1.0, 1.0, (actions, *env.action_space.shape))
    saved, best = env.worlds.save(), [np.inf, np.inf]
    each = env.task.steps
    actor = env.task.actions.on(env.worlds)
    calls = env.step, lambda action: env.worlds.step(actor.efforts(env.worlds, action, None), each)
    for _ in range(rounds + 1):  # the first one warms up
        for side, call in enumerate(calls):
            env.worlds.restore(saved)
            env.ages[:] = env.task.horizon * np.arange(count) // count
            begun, steps = time.process_time(), 0
            for action in chosen:
                call(action)
                steps += int((env.ages > 0).sum()) if side == 0 else count
            best[side] = min(best[side], 1e6 * (time.process_time() - begun) / (steps * each))
    env.close()
    return best


def draw(path):
    """Pictures of all tasks side by side, after ten actions of zero."""
    from PIL import Image

    frames = []
    for task in TASKS:
        env = WorldsEnv(task, 1, threads=1, render_mode="rgb_array", width=360, height=320)
        env.reset(seed=3)
        for _ in range(10):
            env.step(np.zeros(env.action_space.shape))
        frames += env.render()
        env.close()
    Image.fromarray(np.hstack(frames)).quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def main(argv=None):
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default=",".join(TASKS), help="some of %(default)s")
    parser.add_argument("--count", type=int, default=256, help="environments (default: %(default)s)")
    parser.add_argument("--actions", type=int, default=20, help="of each in a round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--least", type=float, default=0.9, help="ratio that is asked for (default: %(default)s)")
    parser.add_argument("--picture", metavar="FILE", help="draw the tasks instead")
    options = options_of(parser, argv, tasks="Reach,Stand", count=16, actions=3, rounds=1, least=0.0)
    if options.picture is not None:
        draw(options.picture)
        return 0
    print(f"{options.count} environments on one thread; us of CPU time a world-step")
    print(f"{'task':<12} {'environments':>13} {'worlds alone':>13} {'ratio':>7}")
    well = True
    for task in options.tasks.split(","):
        whole, raw = measure(task, options.count, options.actions, options.rounds)
        well = well and raw >= options.least * whole
        print(f"{task:<12} {whole:13.2f} {raw:13.2f} {raw / whole:7.3f}", flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())

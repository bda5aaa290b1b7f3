# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trials of the change of the wheel: the table of docs/wheel.md.

    python benchmarks/wheel_trials.py [--only VARIANT] [--trials N] [--processes 2] [--json FILE]

Every trial draws from its seed: the place of hub and wheel (10 mm and 3 degrees about each axis), mass (10 %), friction
(of pads on the tyre 0.6 to 1.0, of the rest 0.2 to 0.4), and the sensors' noise.  A variant sets one of them, or the
play, or begins with a tilted wheel.  The controller is told nothing of it.  Exit code 1 where a nominal trial failed.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import multiprocessing
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from quick import options_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples"))

import mb_contact as mb  # noqa: E402
from mb_contact.model.builtin.wheel import DISC, PLAY, wheel_urdf  # noqa: E402
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix, rotation_about  # noqa: E402
from mb_contact.programs.demo.watch import WatchedSimulator  # noqa: E402
from mb_contact.programs.demo.wheel import BACK_TILT, BACK_TOLERANCE, SUPPORTS, judge  # noqa: E402

SCENE = ROOT / "config" / "wheel_change.yaml"
SETTLING = 0.4  #: simulated seconds before the controller begins [s]
PLACE, TURN = 0.010, np.radians(3.0)  #: the hub's place is drawn within these [m], [rad], each axis


@dataclass(frozen=True)
class Variant:
    """What a set of trials has in common; None is drawn."""

    trials: int
    pad: float | None = None  #: friction of pads on the tyre
    steel: float | None = None  #: friction of everything else
    play: float = PLAY  #: [m]
    mass: float | None = None  #: factor
    tilt: float = 0.0  #: of the wheel on its studs at the start, about a drawn axis [rad]


VARIANTS = {
    "nominal": Variant(50),
    **{f"friction {mu:g} everywhere": Variant(10, pad=mu, steel=mu) for mu in (0.2, 0.4, 0.6, 0.8)},
    **{f"play {1e3 * play:g} mm": Variant(10, play=play) for play in (0.0002, 0.001, 0.002)},
    **{f"mass {percent:+d} %": Variant(10, mass=1.0 + 0.01 * percent) for percent in (-30, 30)},
    "tilted by 3 degrees": Variant(10, tilt=np.radians(3.0)),
}


def draw_scene(variant, rng):
    """Scene of a trial, and the pose of its hub."""
    scene = mb.load_scene(SCENE)
    mass = rng.uniform(0.9, 1.1) if variant.mass is None else variant.mass
    pad = rng.uniform(0.6, 1.0) if variant.pad is None else variant.pad
    steel = rng.uniform(0.2, 0.4) if variant.steel is None else variant.steel
    turn = np.eye(3)
    for axis in np.eye(3):
        turn = turn @ rotation_about(axis, rng.uniform(-TURN, TURN))
    robot, hub, wheel = scene.models
    p = hub.pose.origin() + rng.uniform(-PLACE, PLACE, 3)
    R = turn @ hub.pose.rotation()
    materials = {name: replace(material, friction=steel) for name, material in scene.materials.items()}
    pairs = tuple(replace(pair, friction=pad) for pair in scene.pairs)
    on_hub = start_on_hub(variant, R, rng)
    models = (
        robot,
        replace(hub, pose=pose(p, R)),
        replace(wheel, pose=pose(p + R @ on_hub[0], R @ on_hub[1]), urdf=wheel_urdf(variant.play, mass)),
    )
    return replace(scene, models=models, materials=materials, pairs=pairs), (p, R)


def start_on_hub(variant, R, rng):
    """Pose of the wheel in the hub's frame: as low as the play allows, or tilted and as near as its disc allows."""
    down = R.T @ np.array([0.0, 0.0, -1.0])
    down = down * (1.0, 1.0, 0.0)  # across the axle
    if variant.tilt == 0.0:
        return np.array([0.0, 0.0, DISC]) + 0.9 * variant.play * down, np.eye(3)
    angle = rng.uniform(0.0, 2.0 * np.pi)
    axis = np.array([np.cos(angle), np.sin(angle), 0.0])
    R_tilt = rotation_about(axis, variant.tilt)
    gap = 0.076 * np.sin(variant.tilt)  # the plate of the hub has a radius of 75 mm
    return np.array([0.0, 0.0, gap]) + R_tilt @ np.array([0.0, 0.0, DISC]), R_tilt


def pose(p, R):
    """A Pose of a scene."""
    return mb.model.Pose(tuple(p), quat_xyzw=tuple(matrix_to_quat(R)))


def settle(sim):
    """Let the wheel come to rest while the robot stands still."""
    hold, inertia = sim.joint_positions(), np.diag(sim.mass_matrix())
    for _ in range(round(SETTLING / sim.time_step)):
        pull = 500.0 * (hold - sim.joint_positions()) - 20.0 * sim.joint_velocities()
        sim.step(sim.nonlinear_effects() + inertia * pull)


def run_trial(job):
    """One trial; a dict of plain values."""
    from lift_controller import FRAMES, LiftError
    from wheel_in_process import change

    name, seed, seconds = job
    variant, rng = VARIANTS[name], np.random.default_rng(seed)
    scene, hub = draw_scene(variant, rng)
    begin = time.process_time()
    reason, sim, steps = "", None, [0.0, 0.0, 0]
    try:
        sim = WatchedSimulator(scene, "wheel", FRAMES, SUPPORTS)
        settle(sim)

        def watch(controller, effort, step):
            certificate = step.certificate
            steps[0] = max(steps[0], certificate.residual)
            steps[1] = max(steps[1], np.max(np.abs(effort) / sim.world.effort_limit))
            steps[2] += certificate.residual > 1e-9
            controller.done = controller.done or (seconds is not None and sim.time >= seconds)

        sim.begin_record()
        change(sim, rng=rng, watch=watch)
    except LiftError as error:
        reason = str(error)
    except mb.MbContactError as error:
        reason = f"{type(error).__name__}: {error}"
    verdict = judge(sim.record())
    at_start, at_end = (against_hub(sim, hub, sample) for sample in (sim.samples[0], sim.samples[-1]))
    failures = verdict.failures
    if variant.tilt and failures and failures[0].startswith("the wheel was not put back"):
        failures = []  # it goes on straight, not back to where it hung
    if variant.tilt and not failures and (at_end[0] > BACK_TOLERANCE or at_end[1] > BACK_TILT):
        failures = [f"the wheel does not sit: {1e3 * at_end[0]:.2f} mm off the hub, tilted {at_end[1]:.3f} rad"]
    return {
        "variant": name, "seed": seed, "ok": not reason and not failures, "reason": reason or "; ".join(failures),
        "place_error": verdict.place_error, "back_error": verdict.back_error, "slip": verdict.slip,
        "rest_penetration": verdict.rest_penetration, "tilt": at_start[1], "gap": at_end[0], "residual": steps[0],
        "effort": steps[1], "unsolved": steps[2], "cpu": time.process_time() - begin, "simulated": sim.time,
    }  # fmt: skip


def against_hub(sim, hub, sample):
    """How far the wheel's disc is off the hub [m], and the angle of the axles [rad]."""
    p, R = sample[1], quat_to_matrix(sample[2])
    cosine = min(1.0, R[:, 2] @ hub[1][:, 2])
    return float((p - hub[0]) @ hub[1][:, 2] - DISC), float(np.arccos(cosine))


def row(name, results):
    """A line of the table."""
    good = [r for r in results if r["ok"]]
    reasons = Counter(r["reason"].split(":")[0] for r in results if not r["ok"])
    said = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common()) or "-"

    def worst(key, unit):
        return f"{unit * max((r[key] for r in good), default=np.nan):.2g}"

    return (f"| {name} | {len(good)} of {len(results)} | {worst('place_error', 1e3)} | {worst('back_error', 1e3)} | "
            f"{worst('slip', 1e3)} | {worst('rest_penetration', 1e6)} | {max(r['residual'] for r in results):.0e} | "
            f"{worst('effort', 100.0)} | {said} |")  # fmt: skip


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=tuple(VARIANTS), action="append")
    parser.add_argument("--trials", type=int, help="of each variant; without it as many as the table has")
    parser.add_argument("--seconds", type=float, help="simulated seconds of a trial; without it the whole task")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="file to which each trial is added as a line")
    options = options_of(parser, only=["nominal"], trials=1, processes=1, seconds=0.5)
    print("| variant | done | set down [mm] | put back [mm] | slip [mm] | penetration at rest [um] | worst residual | "
          "effort [% of limit] | failures |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    bad = False
    with contextlib.ExitStack() as stack:
        each = map
        if options.processes > 1:
            pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(options.processes))
            each = functools.partial(pool.imap, chunksize=1)
        for name in options.only or VARIANTS:
            count = options.trials or VARIANTS[name].trials
            results = []
            for result in each(run_trial, [(name, options.first + k, options.seconds) for k in range(count)]):
                results.append(result)
                print(f"{name}, seed {result['seed']}: {result['reason'] or 'done'}", file=sys.stderr, flush=True)
                if options.json is not None:  # as they come: a table takes an hour
                    with options.json.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(result, default=float) + "\n")
            bad |= name == "nominal" and options.seconds is None and not all(r["ok"] for r in results)
            print(row(name, results), flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runs whose answer is unique, and what they gave: what another contact solver has to reproduce.

    python test/oracles/stored_runs.py --write    # the runs of this tree to test/data/stored_runs.npz
    python test/oracles/stored_runs.py --compare  # how far this tree is from them, run by run; --only NAME chooses

A sample holds q, v and, for each pair of bodies, the wrench of the step's contacts and impacts: contact points of one
pair are summed, because how redundant points share it is the solver's choice.  Samples are evenly spaced, and every
step with an impact is one too.  Where bodies squeeze each other in more directions than they can move in, the wrenches
of pairs are not unique either: such runs keep q and v alone.

With ``--write`` each run is repeated from coordinates that are off by 1e-13, and with every step's warm start thrown
away.  What that changes is the run's sensitivity, which is stored and widens its bound on wrenches.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import mb_contact as mb
from mb_contact.types import WORLD

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))

from scenes.unique_runs import RUNS  # noqa: E402

STORE = ROOT / "test" / "data" / "stored_runs.npz"
TOLERANCE = 1e-9  #: of q and v per column, and of wrenches
RESIDUAL = 1e-9  #: largest certificate of a step or an impact
SAFETY = 10.0  #: times its sensitivity a run's wrenches may differ
MOST = 1e-7  #: largest bound of wrenches that still tells anything
STEADY = 1e-9  #: largest sensitivity of q and v; NUDGE is a hundred times what rounding does
NUDGE = 1e-13  #: of the coordinates, for the sensitivity


def wrenches_of(sim, step):
    """Wrench on the first body of each pair of bodies, {(a, b): (6,)}, about the world's origin, moment first.

    Impacts are in it too; those that a step without restitution has stopped are among its contacts already.
    """
    parts = [(c["link_a"], c["link_b"], c["point"], c["impulse"]) for c in step.contacts]
    for event in step.events:
        if event.law != "inelastic":
            parts += [(*links, *rest) for links, *rest in zip(event.links, event.points, event.impulses)]
    total = {}
    for link_a, link_b, point, impulse in parts:
        a, b = (sim.world.frames[link].body if link in sim.world.frames else WORLD for link in (link_a, link_b))
        sign = 1.0 if a > b else -1.0
        pair = (max(a, b), min(a, b))
        wrench = sign * np.concatenate((np.cross(point, impulse), impulse))
        total[pair] = total.get(pair, 0.0) + wrench
    names = sim.world.body_names
    return {(names[a], names[b] if b != WORLD else "world"): wrench for (a, b), wrench in total.items()}


def record(run, nudge=None, cold=False):
    """Run it.

    Parameters
    ----------
    run : StoredRun
    nudge : int, optional
        Seed: the run starts from coordinates that are off by NUDGE.
    cold : bool
        Throw away every step's warm start (friction frames stay: they are part of the pyramid's problem).

    Returns
    -------
    dict
        steps (S,), q (S, nq), v (S, N), pairs of "body_a body_b" (P,), wrenches (P, S, 6), the worst residual, and the
        largest number of contacts.
    """
    sim = mb.Simulator(run.make_scene())
    if run.start is not None:
        run.start(sim)
    if nudge is not None:
        sign = np.random.default_rng(nudge).choice([-1.0, 1.0], len(sim.q))
        sim.set_state(sim.q + NUDGE * sign, sim.v)
    drive = run.drive(sim) if run.drive is not None else lambda k: None
    steps, qs, vs, wrenches, residual, contacts = [], [], [], [], 0.0, 0
    for k in range(run.steps):
        if cold:
            sim.context.memory.impulse[:] = 0.0
        step = sim.step(drive(k))
        residual = max([residual, step.certificate.residual, *(event.residual for event in step.events)])
        contacts = max(contacts, step.certificate.contacts)
        if step.events or (run.steps - 1 - k) % run.stride == 0:
            steps.append(k)
            qs.append(sim.q)
            vs.append(sim.v)
            wrenches.append(wrenches_of(sim, step))
    names = sorted(set().union(*wrenches))
    held = np.array([[sample.get(name, np.zeros(6)) for sample in wrenches] for name in names])
    return {
        "steps": np.array(steps), "q": np.array(qs), "v": np.array(vs),
        "pairs": np.array([" ".join(name) for name in names], dtype=str),
        "wrenches": held.reshape(len(names), len(steps), 6), "residual": residual, "contacts": contacts,
    }  # fmt: skip


def deviation(found, stored):
    """How far a record is from another one: q and v relative to each column's scale (1 at least), wrenches to the
    largest entry of all; infinite where their impacts are in other steps."""
    if found["steps"].tolist() != stored["steps"].tolist():
        return np.inf, np.inf, np.inf
    out = []
    for key in ("q", "v"):
        scale = np.maximum(1.0, np.abs(stored[key]).max(axis=0))
        out.append(float((np.abs(found[key] - stored[key]) / scale).max()))
    ours, theirs = (dict(zip(r["pairs"].tolist(), r["wrenches"])) for r in (found, stored))
    none = np.zeros((len(stored["q"]), 6))
    scale = max((np.abs(w).max() for w in theirs.values()), default=0.0) or 1.0
    apart = (np.abs(ours.get(p, none) - theirs.get(p, none)).max() for p in {*ours, *theirs})
    return (*out, float(max(apart, default=0.0) / scale))


def sensitivity(run, stored):
    """Largest deviations of q, v and wrenches that an error of 1e-13 in the start or cold starts make."""
    ways = [{"nudge": 1}, {"nudge": 2}] + ([{"cold": True}] if run.scheme == "time_stepping" else [])
    return np.max([deviation(record(run, **way), stored) for way in ways], axis=0)


def bounds(run, stored):
    """Largest deviations of q, v and wrenches that a run may have."""
    wrenches = max(TOLERANCE, SAFETY * float(stored["sensitivity"][2])) if run.wrenches else np.inf
    return TOLERANCE, TOLERANCE, wrenches


def load():
    """The stored records by name of the run."""
    stored = {}
    with np.load(STORE) as file:
        for key in file.files:
            name, what = key.split("/")
            stored.setdefault(name, {})[what] = file[key]
    return stored


def write(runs):
    """Record all runs with their sensitivities; the names of those that cannot be compared."""
    arrays, bad = {}, []
    if len(runs) < len(RUNS):  # the others stay as they are
        arrays = {f"{name}/{key}": array for name, stored in load().items() for key, array in stored.items()}
    for run in runs:
        begun = time.perf_counter()
        stored = record(run)
        took = time.perf_counter() - begun
        q, v, wrenches = stored["sensitivity"] = sensitivity(run, stored)
        good = stored["residual"] <= RESIDUAL and max(q, v) <= STEADY
        good = good and (not run.wrenches or SAFETY * wrenches <= MOST)
        if not good:
            bad.append(run.name)
        print(
            f"{run.name:36s} {took:5.2f} s  residual {stored['residual']:.0e}  contacts {stored['contacts']:2d}  "
            f"sensitivity q {q:.0e} v {v:.0e} wrenches {wrenches:.0e}{'' if good else '  CANNOT BE COMPARED'}",
            flush=True,
        )
        if not run.wrenches:
            stored["pairs"], stored["wrenches"] = np.zeros(0, dtype="U1"), np.zeros((0, len(stored["q"]), 6))
        keys = ("steps", "q", "v", "pairs", "wrenches", "sensitivity")
        arrays.update({f"{run.name}/{key}": stored[key] for key in keys})
    np.savez_compressed(STORE, **arrays)
    print(f"{STORE}: {len(runs)} runs, {STORE.stat().st_size / 1024:.0f} KiB")
    return bad


def compare(runs):
    """Print how far each run is from what is stored; the names of those that are too far."""
    stored, bad = load(), []
    for run in runs:
        found = record(run)
        limits, apart = bounds(run, stored[run.name]), deviation(found, stored[run.name])
        good = found["residual"] <= RESIDUAL and all(x <= limit for x, limit in zip(apart, limits))
        if not good:
            bad.append(run.name)
        wrenches = f"{apart[2]:.1e} of {limits[2]:.1e}" if run.wrenches else "not compared"
        print(
            f"{run.name:36s} q {apart[0]:.1e}  v {apart[1]:.1e}  wrenches {wrenches}  "
            f"residual {found['residual']:.0e}{'' if good else '  TOO FAR'}",
            flush=True,
        )
    return bad


def main(argv=None):
    """0, or 1 where a run cannot be stored or is too far from what is stored."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="store the runs of this tree")
    what.add_argument("--compare", action="store_true", help="say how far this tree is from the stored runs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these runs alone")
    options = parser.parse_args(argv)
    runs = [run for run in RUNS if options.only is None or run.name in options.only]
    bad = write(runs) if options.write else compare(runs)
    if bad:
        print(f"not as they should be: {', '.join(bad)}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

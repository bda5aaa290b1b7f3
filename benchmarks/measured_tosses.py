# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Friction and restitution of a cube from measured tosses, by gradients and by a grid search, judged on others.

    python benchmarks/measured_tosses.py FOLDER [--tosses N] [--held-out N] [--grid N] [--quick]

FOLDER holds the tosses of ContactNets (github.com/DAIRLab/contact-nets, BSD-3-Clause, data/tosses_processed), a file
of PyTorch each: a row an instant, 1/148 s apart, with position, quaternion (w first), velocity and angular velocity in
the cube's axes, lengths in half edges.  Without a folder both methods get simulated tosses of the same kind, whose
coefficients are known.  A prediction begins anew every WINDOW instants; errors are those at its end.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from pathlib import Path
from time import process_time

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

import numpy as np  # noqa: E402
from quick import options_of  # noqa: E402

import mb_contact as mb  # noqa: E402
from mb_contact.gradients import Recording, Unknown  # noqa: E402
from mb_contact.gradients.motion import displacement  # noqa: E402

M = mb.model
HALF, MASS, INERTIA, DT = 0.0524, 0.37, 0.00081, 1.0 / 148.0  #: of the cube [m, kg, kg m^2], and between instants [s]
WINDOW, SUBSTEPS = 16, 4  #: instants of a prediction, and steps from one to the next
NOISE = 0.005, 0.2  #: of coordinates [m, rad] and velocities [m/s, rad/s], by which residuals are weighed
TOLERANCE = 1e-3  #: of coefficients
TRUE = 0.18, 0.2  #: of simulated tosses


class Storage(pickle.Unpickler):
    """The shape of a tensor of a file of PyTorch's first format; its numbers stand behind."""

    def find_class(self, module, name):
        """What makes (offset, shape) of a tensor, and nothing else."""
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, *more: (offset, shape)
        return lambda *arguments: None

    def persistent_load(self, pid):
        """No storage."""


def tensor(path):
    """The doubles of a file, (instants, 19)."""
    with path.open("rb") as file:
        for _ in range(3):  # a magic number, a version, sizes of types
            pickle.load(file)
        offset, shape = Storage(file).load()
        pickle.load(file)  # names of storages
        count = int.from_bytes(file.read(8), "little")
        return np.frombuffer(file.read(8 * count))[offset:].reshape(shape).reshape(-1, shape[-1])


def measured(folder, numbers):
    """Recordings of the tosses with these numbers."""
    recordings = []
    for number in numbers:
        x = tensor(Path(folder) / f"{number}.pt")
        q = np.concatenate((HALF * x[:, :3], x[:, 4:7], x[:, 3:4]), axis=1)
        q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
        turn = np.array([M.rotations.quat_to_matrix(row) for row in q[:, 3:]])
        spin = np.einsum("kij,kj->ki", turn, x[:, 10:13])
        recordings.append(Recording(q, np.concatenate((spin, HALF * x[:, 7:10]), axis=1)))
    return recordings


def scene(friction, restitution):
    """The cube and the ground."""
    inertia = (INERTIA,) * 3
    cube = M.Primitive("cube", "box", (2 * HALF,) * 3, M.Pose((0.0, 0.0, 0.2)), "free", MASS, inertia=inertia,
                       material="cube")  # fmt: skip
    pairs = (M.MaterialPair(("cube", "table"), friction, restitution=restitution),)
    return mb.Scene(primitives=(cube,), ground=M.Ground(material="table"), pairs=pairs, time_step=DT / SUBSTEPS,
                    materials={"cube": M.Material(), "table": M.Material()})  # fmt: skip


def simulated(count, seed):
    """Recordings of simulated tosses."""
    sim, rng, recordings = mb.Simulator(scene(*TRUE)), np.random.default_rng(seed), []
    for _ in range(count):
        q, v = np.append([0.0, 0.0, 0.13], rng.normal(size=4)), np.append(3.0 * rng.normal(size=3), [1.0, 0.3, 0.0])
        q[3:] /= np.linalg.norm(q[3:])
        sim.set_state(q, v)
        states = [(sim.q, sim.v)] + [(sim.q, sim.v) for _ in range(80) if sim.step(steps=SUBSTEPS)]
        recordings.append(Recording(*map(np.array, zip(*states, strict=True))))
    return recordings


def ends(values, recordings):
    """Errors of place [m] and angle [rad] at the end of each window, (windows, 2), and the cost."""
    sim, errors, cost = mb.Simulator(scene(*values), warm_up=False), [], 0.0
    tree = sim.context.tree
    for q, v, _ in recordings:
        for first in range(0, len(q) - 1, WINDOW):
            sim.set_state(q[first], v[first])
            for k in range(first + 1, min(first + WINDOW, len(q) - 1) + 1):
                sim.step(steps=SUBSTEPS)
                apart = displacement(tree, q[k], sim.q)
                cost += 0.5 * (apart @ apart / NOISE[0] ** 2 + np.sum((sim.v - v[k]) ** 2) / NOISE[1] ** 2)
            errors.append((np.linalg.norm(apart[3:]), np.linalg.norm(apart[:3])))
    return np.array(errors), cost


def by_gradients(recordings):
    """(values, deviations, rollouts) of ``mb.identify`` from a first guess of a half each."""
    of = ("cube", "table")
    unknowns = [Unknown("friction", of, 0.5, 0.01, 2.0), Unknown("restitution", of, 0.5, 0.01, 0.99)]
    found = mb.identify(scene(0.5, 0.5), recordings, unknowns, WINDOW, NOISE, SUBSTEPS, TOLERANCE)
    return found.values, found.deviations, found.rollouts


def by_grid(recordings, count):
    """The best of so many pairs of coefficients."""
    side = int(np.sqrt(count))
    pairs = [(mu, eps) for mu in np.linspace(0.02, 0.6, count // side) for eps in np.linspace(0.01, 0.9, side)]
    return min(pairs, key=lambda pair: ends(pair, recordings)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="?", help="with the files 0.pt, 1.pt, ...; simulated tosses if left out")
    parser.add_argument("--tosses", type=int, default=10, metavar="N", help="to learn from (default: 10)")
    parser.add_argument("--held-out", type=int, default=100, metavar="N", help="to be judged by (default: 100)")
    parser.add_argument("--grid", type=int, default=1000, metavar="N", help="runs of the grid search (default: 1000)")
    options = options_of(parser, tosses=1, held_out=1, grid=4)
    if options.folder:
        count = len(list(Path(options.folder).glob("*.pt")))
        order = np.random.default_rng(0).permutation(count)
        chosen = measured(options.folder, order[: options.tosses + options.held_out])
        ground = float(np.mean([lowest(recording.q[-1]) for recording in chosen[: options.tosses]]))
        print(f"ground where the first {options.tosses} come to rest: {1e3 * ground:.2f} mm\n")
        for recording in chosen:
            recording.q[:, 2] -= ground
        learn, judge = chosen[: options.tosses], chosen[options.tosses :]
    else:
        learn, judge = simulated(options.tosses, 0), simulated(options.held_out, 1)
    print("| | friction | restitution | runs | s | place, mm | angle, degrees | cost on held-out tosses |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    if not options.quick:
        by_gradients(learn[:1])  # compiled, or loaded
    start = process_time()
    values, deviations, runs = by_gradients(learn)
    row("gradients", values, runs, process_time() - start, judge)
    start = process_time()
    grid = by_grid(learn, options.grid)
    row("grid", grid, options.grid, process_time() - start, judge)
    print(f"\nDeviations by gradients: {deviations[0]:.1g}, {deviations[1]:.1g}")
    return 0


def lowest(q):
    """Height of the lowest corner of a cube [m]."""
    return q[2] - HALF * np.abs(M.rotations.quat_to_matrix(q[3:])[2]).sum()


def row(name, values, runs, seconds, judge):
    """One row of the table."""
    errors, cost = ends(values, judge)
    place, angle = np.sqrt((errors**2).mean(axis=0))
    print(f"| {name} | {values[0]:.4f} | {values[1]:.4f} | {runs} | {seconds:.1f} | {1e3 * place:.2f} | "
          f"{np.degrees(angle):.2f} | {cost:.5g} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

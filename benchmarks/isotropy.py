# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How far a pushed block slides in each direction: pyramids of 4, 8 and 16 friction directions, and the exact cone.

    python benchmarks/isotropy.py [--directions 72] [--dt 0.001] [--plot FILE]

A block at 1 m/s with mu = 0.5 stops after v^2 / (2 mu g) = 0.101937 m, whichever way it goes.  The polyhedral
model turns its first direction along the slip, so it too brakes a sliding block right in all directions; the second
table gives the block a spin of 2 rad/s.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from quick import options_of

import mb_contact as mb

SPEED, MU, GRAVITY = 1.0, 0.5, 9.81
MODELS = {"n_f = 4": ("coulomb_polyhedral", 4), "n_f = 8": ("coulomb_polyhedral", 8),
          "n_f = 16": ("coulomb_polyhedral", 16), "cone": ("coulomb_cone", 8)}  # fmt: skip
SCENE = """
time_step: {dt}
friction_model: {model}
friction_directions: {n_f}
materials: {{ice: {{friction: {mu}}}}}
ground: {{material: ice}}
primitives:
  - name: block
    shape: box
    size: [0.2, 0.2, 0.1]
    mass: 2.0
    material: ice
    pose: {{position: [0, 0, 0.05]}}
    base: free
"""


def simulator(model, n_f, dt):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "block.yaml"
        path.write_text(SCENE.format(dt=dt, model=model, n_f=n_f, mu=MU), encoding="utf-8")
        return mb.Simulator(mb.load_scene(path))


def distance(sim, angle, spin):
    """Way [m] to rest, and the worst residual on it."""
    sim.reset()
    sim.set_state(sim.q, [0.0, 0.0, spin, SPEED * np.cos(angle), SPEED * np.sin(angle), 0.0])
    start, worst = sim.q[:2], 0.0
    for _ in range(int(2.0 * SPEED / (MU * GRAVITY) / sim.time_step)):
        worst = max(worst, sim.step().certificate.residual)
        if np.abs(sim.v).max() < 1e-12:
            break
    return float(np.hypot(*(sim.q[:2] - start))), worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--directions", type=int, default=72, metavar="N", help="directions of the push (default: 72)")
    parser.add_argument("--dt", type=float, default=1e-3, metavar="S", help="time step [s] (default: 0.001)")
    parser.add_argument("--plot", metavar="FILE", help="polar plot, an image file")
    options = options_of(parser, directions=2, dt=5e-3)
    angles = np.linspace(0.0, 2.0 * np.pi, options.directions, endpoint=False)
    exact = SPEED**2 / (2.0 * MU * GRAVITY)
    ways = {}
    for spin in (0.0, 2.0):
        print(f"spin {spin:g} rad/s; way to rest without spin by Coulomb's law {exact:.6f} m")
        print(f"{'model':<10}{'mean [m]':>12}{'to the law':>12}{'spread':>11}{'residual':>11}")
        for name, (model, n_f) in MODELS.items():
            sim = simulator(model, n_f, options.dt)
            found = [distance(sim, angle, spin) for angle in angles]
            way = np.array([x[0] for x in found])
            ways[name, spin] = way
            spread = np.ptp(way) / way.mean()
            print(f"{name:<10}{way.mean():>12.6f}{way.mean() / exact - 1.0:>+12.2%}{spread:>11.1e}"
                  f"{max(x[1] for x in found):>11.1e}", flush=True)
    if options.plot:
        plot(angles, ways, options.plot)


def plot(angles, ways, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.6), subplot_kw={"projection": "polar"}, layout="constrained")
    for axis, spin in zip(axes, (0.0, 2.0)):
        for name in MODELS:
            way = 1e3 * ways[name, spin]
            axis.plot(np.append(angles, angles[0]), np.append(way, way[0]), label=name, lw=1.3)
        axis.set_title(f"spin {spin:g} rad/s")
        low = min(w.min() for (_, s), w in ways.items() if s == spin)
        high = max(w.max() for (_, s), w in ways.items() if s == spin)
        middle = 0.5e3 * (low + high)
        axis.set_ylim(0.97 * middle, 1.02 * middle)
    axes[0].legend(loc="lower left", bbox_to_anchor=(-0.25, -0.12))
    figure.suptitle("way to rest [mm] of a block pushed at 1 m/s, by direction")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()

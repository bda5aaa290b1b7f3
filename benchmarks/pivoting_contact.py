# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Energy that a step takes where a body turns about its contact, by integrator and collision scheme, with its order.

    python benchmarks/pivoting_contact.py [--seconds 0.4]

A rod stands on the edge of its end, leaning, and falls over without sliding (mu = 2): its foot rests, so nothing
should be lost.  Impulses are held over a step as constant generalised forces: the arm from the foot to the body's
origin is that of the start of the step, while the body turns away from it.
"""

from __future__ import annotations

import argparse

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene

LEAN = 0.3  #: [rad]
LENGTH, WIDTH, MASS = 1.0, 0.02, 1.0
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)
WAYS = (
    ("time_stepping", "semi_implicit_euler"), ("time_stepping", "rk4"), ("time_stepping", "midpoint"),
    ("event", "rk4"),
)  # fmt: skip


def rod(time_step, scheme, integrator):
    """A leaning box on one lower edge, on the ground of friction 2."""
    half, thin = 0.5 * LENGTH, 0.5 * WIDTH
    height = half * np.cos(LEAN) + thin * np.sin(LEAN)
    box = Primitive("rod", "box", (WIDTH, 0.1, LENGTH), Pose((0.0, 0.0, height), (0.0, LEAN, 0.0)), "free", MASS,
                    material="rubber")  # fmt: skip
    scene = Scene(
        primitives=(box,), ground=Ground(0.0, "rubber"), materials={"rubber": Material(2.0)}, time_step=time_step,
        collision_scheme=scheme, integrator=integrator,
    )  # fmt: skip
    return mb.Simulator(scene)


def study(time_step, scheme, integrator, seconds):
    """Part of the rod's energy above the floor that is lost, and how far its foot has moved [m]."""
    sim = rod(time_step, scheme, integrator)
    start, foot = sim.energy(), _foot(sim)
    for _ in range(round(seconds / time_step)):
        sim.step()
    return (sim.energy() - start) / start, float(np.linalg.norm(_foot(sim) - foot))


def _foot(sim):
    """Middle of the edge that the rod stands on, x and z [m]."""
    (x, _, z), (_, s, _, c) = sim.link_pose("rod")
    turn = 2.0 * np.arctan2(s, c)
    a, b = 0.5 * WIDTH, -0.5 * LENGTH
    return np.array([x + a * np.cos(turn) + b * np.sin(turn), z - a * np.sin(turn) + b * np.cos(turn)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.4, help="of the fall")
    seconds = options_of(parser, seconds=0.02).seconds
    print(f"a rod falls about its foot, {seconds:g} s: energy gained over its initial one, foot moved [um]")
    print(f"{'scheme, integrator':36s}" + "".join(f"{1e3 * dt:>14g} ms" for dt in STEPS) + "   order")
    for scheme, integrator in WAYS:
        lost, moved = np.array([study(dt, scheme, integrator, seconds) for dt in STEPS]).T
        order = np.polyfit(np.log(STEPS), np.log(np.abs(lost)), 1)[0]
        cells = "".join(f"{x:10.1e} {1e6 * y:6.1f}" for x, y in zip(lost, moved))
        print(f"{scheme + ', ' + integrator:36s}{cells}   {order:5.2f}")


if __name__ == "__main__":
    main()

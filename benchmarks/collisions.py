# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Figures of docs/impacts.md: first impacts, bounces in both schemes, Newton's cradle, what a step costs.

    python benchmarks/collisions.py [pendulum] [ball] [cradle] [cost]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, Velocity

LAWS = ((0.0, "anitescu_potra"), (0.5, "papers"), (0.5, "anitescu_potra"), (1.0, "papers"), (1.0, "anitescu_potra"))


def head(*columns):
    """The first lines of a table in Markdown."""
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")


def pendulum(options):
    """First impact of the 12 m pendulum in the event scheme (RK4 between events, 1 ms)."""
    head("links", "t [s]", "body", "v_n [m/s]", "before", "ε = 0", "0.5 papers", "0.5 Anitescu–Potra", "1 papers",
         "1 Anitescu–Potra")
    for links in options.links:
        chain = mb.pendulum(links, "first_impact")
        row = []
        for eps, law in LAWS:
            materials = {"sphere": Material(chain.friction, restitution=eps)}
            sim = mb.Simulator(
                chain.scene(materials=materials, collision_scheme="event", restitution_law=law, energy_gain="allow")
            )
            events = ()
            while not events:
                events = sim.step().events
            row.append(events[0].energy_after)
        first = events[0]
        energies = " | ".join(f"{energy:.6f}" for energy in row)
        where = first.links[0][0].removeprefix("link_")
        at = f"| {links} | {first.time:.9f} | {where} | {first.speeds[0]:.6f}"
        print(f"{at} | {first.energy_before:.6f} | {energies} |")


def ball(_options):
    """Apexes and rest of a ball dropped from 1 m with eps = 0.5, beside eps^2k h and 3 sqrt(2 h / g)."""
    rest = 3.0 * np.sqrt(2.0 / 9.81)
    head("scheme, integrator, step", "error of apex 1", "2", "3", "last impact − exact rest [s]", "impacts")
    for scheme, integrator, dt in (
        ("time_stepping", "semi_implicit_euler", 1e-3), ("time_stepping", "rk4", 1e-3),
        ("time_stepping", "semi_implicit_euler", 1e-4), ("event", "rk4", 1e-3), ("event", "rk4", 1e-2),
    ):  # fmt: skip
        sphere = Primitive("ball", "sphere", (0.1,), Pose((0, 0, 1.1)), "free", 1.0, material="rubber")
        sim = mb.Simulator(Scene(
            primitives=(sphere,), ground=Ground(0.0, "rubber"), materials={"rubber": Material(0.5, restitution=0.5)},
            collision_scheme=scheme, integrator=integrator, time_step=dt,
        ))  # fmt: skip
        events, arcs = [], []  # of each arc the least |v|, and the height that is left to rise there
        while sim.time < 1.5:
            step = sim.step()
            events += step.events
            if step.events:
                arcs.append((np.inf, 0.0))
            if arcs and abs(sim.v[5]) < arcs[-1][0]:
                arcs[-1] = abs(sim.v[5]), sim.q[2] - 0.1 + sim.v[5] ** 2 / (2.0 * 9.81)
        apexes = [apex for _, apex in arcs]
        errors = " | ".join(f"{apexes[k] / 0.25 ** (k + 1) - 1.0:+.1e}" for k in range(3))
        print(f"| {scheme}, {integrator}, {dt:g} s | {errors} | {events[-1].time - rest:+.1e} | {len(events)} |")


def cradle(_options):
    """Velocities of five touching balls after the first arrives at 1 m/s, eps = 1."""
    head("simultaneous_impacts, law", "velocities after [m/s]", "impacts", "energy after / before")
    for order in ("all", "sequential"):
        for law in ("anitescu_potra", "newton"):
            row = tuple(
                Primitive(f"b{i}", "sphere", (0.5,), Pose((float(i) - (5e-4 if i == 0 else 0.0), 0, 0)), "free", 1.0,
                          material="steel", velocity=Velocity(linear=(float(i == 0), 0, 0)))
                for i in range(5)
            )  # fmt: skip
            sim = mb.Simulator(Scene(
                primitives=row, materials={"steel": Material(0.0, restitution=1.0)}, gravity=(0, 0, 0),
                simultaneous_impacts=order, restitution_law=law,
            ))  # fmt: skip
            events = [event for _ in range(3) for event in sim.step().events]
            v = " ".join(f"{x:+.3f}" for x in sim.v.reshape(-1, 6)[:, 3])
            kept = events[-1].energy_after / events[0].energy_before
            print(f"| {order}, {law} | {v} | {len(events)} | {kept:.6f} |")


def cost(options):
    """Microseconds of a step with four resting contacts, without and with restitution, and of an impact."""
    for eps in (0.0, 0.5):
        box = Primitive("box", "box", (0.2, 0.2, 0.1), Pose((0, 0, 0.05)), "free", 1.0, material="wood")
        for scheme in ("time_stepping", "event"):
            sim = mb.Simulator(Scene(
                primitives=(box,), ground=Ground(0.0, "wood"), materials={"wood": Material(0.5, restitution=eps)},
                collision_scheme=scheme,
            ))  # fmt: skip
            for _ in range(200):
                sim.step()
            times = []
            for _ in range(options.steps):
                start = time.perf_counter()
                sim.step()
                times.append(time.perf_counter() - start)
            q = sim.q
            impacts = []
            for _ in range(200):
                sim.set_state(q, [0, 0, 0, 0, 0, -1.0])
                start = time.perf_counter()
                sim.step()
                impacts.append(time.perf_counter() - start)
            resting, hit = 1e6 * np.median(times), 1e6 * np.median(impacts)
            print(f"eps {eps:g}, {scheme}: resting {resting:.1f} us, step with an impact {hit:.1f} us")


if __name__ == "__main__":
    STUDIES = {"pendulum": pendulum, "ball": ball, "cradle": cradle, "cost": cost}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"of {', '.join(STUDIES)} (default: all)")
    parser.add_argument("--links", nargs="+", type=int, default=(3, 12, 30), help="of the pendulums")
    parser.add_argument("--steps", type=int, default=2000, help="that are timed")
    chosen = options_of(parser, links=(3,), steps=20)
    if unknown := [name for name in chosen.studies if name not in STUDIES]:
        parser.error(f"there is no study {unknown[0]}; the studies are {', '.join(STUDIES)}")
    for name in chosen.studies or STUDIES:
        print(f"## {name}")
        STUDIES[name](chosen)

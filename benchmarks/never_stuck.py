# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes that are hard on a contact solver: no step may be unsolved, and none may take long.

    python benchmarks/never_stuck.py [--only NAME ...] [--seconds S] [--limit-ms 100] [--json FILE]

    house_of_cards     15 cards of 100 x 70 x 1 mm in three storeys; whether it stands is not judged
    dominoes           20, the first one pushed
    tower_N, leaning_N N boxes on each other: upright, and each 0.2/N of a box's two widths farther out, which topples
    wedge, table_top, wheel_and_hub    scenes of config/
    shake_R            two arms grip a box, lift and shake it; R is its mass over that of a finger (0.12 kg)
    pendulum_N, pendulum_j12_N         the papers' pendulums, J14 and J12 as printed; above 30 links midpoint rule in
                                       steps of 0.2 ms: at 1 ms their links turn by radians a step

The arms are those of config/dual_arm_lift.yaml under the example's operational-space impedance (a PD law of both
hands), grip 25 N, shaken along x and z by 20 mm at 2 and 3 Hz.  From 1.2e-5 to 1200 kg only the box's mass differs, but
where it weighs more than 2 kg would (what the arms carry), gravity is scaled down to that weight; the heavy boxes do
not follow the hands, which slip on them.

Scenes from files keep the friction model that they name (table_top and wheel_and_hub: coulomb_cone), others have
the default; --friction-model is for all.  Impacts with restitution are judged beside the steps.  Exit code 1 where
a residual of a step or an impact is above 1e-10 sqrt(N s m/s), a step takes longer than --limit-ms or raises an
error, or a scene is cut off (--patience) or refused.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from stepping import (
    add_options,
    counted,
    follow,
    impact_statistics,
    line,
    number,
    statistics,
    with_model,
    write_json,
)

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, Velocity
from mb_contact.programs.bench.step import Lift

CONFIG = Path(__file__).resolve().parents[1] / "config"
CARD = (0.1, 0.07, 0.001)  #: long side, short side, thickness [m]
LEAN = np.radians(20.0)  #: of the cards, from the vertical
DOMINO = (0.01, 0.03, 0.06)  #: thickness, width, height [m]
SIDE = 0.1  #: of the towers' boxes [m]
FINGER = 0.12  #: mass of a finger of config/dual_arm_lift.yaml [kg]
CARRIED = 2.0  #: mass whose weight the arms carry [kg]
RATIOS = (1e-4, 1e-2, 1.0, 1e2, 1e4)
SHAKE, FREQUENCIES = 0.02, (2.0, 3.0)  #: amplitude [m], along x and z [Hz]

HEAD = ("scene", "time [s]", "steps", "contacts", "unsolved", "residual", "ms median", "99 %", "worst", "newton",
        "impacts", "unsolved", "residual", "solvers")  # fmt: skip
WIDTHS = (16, 8, 6, 8, 8, 8, 9, 8, 8, 6, 7, 8, 8)


# --- scenes of boxes ------------------------------------------------------------------------------


def _boxes(boxes, friction, **settings):
    """A scene of free boxes on a ground, one material."""
    bodies = tuple(replace(box, base="free", material="one") for box in boxes)
    return Scene(primitives=bodies, ground=Ground(0.0, "one"), materials={"one": Material(friction)}, **settings)


def house_of_cards():
    """Three storeys: tents of two cards that lean on each other, and cards that lie across from tent to tent."""
    long, short, thick = CARD
    sine, cosine = np.sin(LEAN), np.cos(LEAN)
    reach = 0.5 * (long * sine + thick * cosine)  # of a leaning card's centre from the apex
    middle = 0.5 * (long * cosine + thick * sine)  # height of it over its foot
    pitch, cards, z = short + 0.5 * thick, [], 0.0
    for tents in (3, 2, 1):
        for i in range(tents):
            x = (i - 0.5 * (tents - 1)) * pitch
            for side in (-1.0, 1.0):
                # 0.01 mm between the upper edges: edges that touch at the start have no normal
                place = (x + side * (reach + 5e-6), 0.0, z + middle)
                cards.append(((thick, short, long), Pose(place, (0.0, -side * LEAN, 0.0))))
        z += 2.0 * middle
        for i in range(tents - 1):
            place = ((i - 0.5 * (tents - 2)) * pitch, 0.0, z + 0.5 * thick)
            cards.append(((short, long, thick), Pose(place)))
        z += thick
    boxes = [Primitive(f"card_{i + 1}", "box", size, pose, mass=2e-3) for i, (size, pose) in enumerate(cards)]
    return _boxes(boxes, 0.6, contact_margin=2e-4)


def dominoes(count=20):
    """A row of dominoes, half their height apart; the first turns about its lower edge at 4 rad/s."""
    thick, _, height = DOMINO
    boxes = [Primitive(f"domino_{i + 1}", "box", DOMINO, Pose((0.5 * height * i, 0.0, 0.5 * height)), mass=0.02)
             for i in range(count)]  # fmt: skip
    push = Velocity((0.0, 4.0, 0.0), (4.0 * 0.5 * height, 0.0, 4.0 * 0.5 * thick))
    return _boxes([replace(boxes[0], velocity=push), *boxes[1:]], 0.3)


def tower(count, lean=0.0):
    """Boxes of 1 kg on each other, each ``lean`` [m] farther out than the one below."""
    return _boxes([Primitive(f"box_{i + 1}", "box", (SIDE,) * 3, Pose((lean * i, 0.0, SIDE * (i + 0.5))), mass=1.0)
                   for i in range(count)], 0.5, time_step=0.002)  # fmt: skip


# --- two arms shake a box -------------------------------------------------------------------------


class Shaken:
    """A reference of the example's law; while it holds, the hands swing along x and z."""

    def __init__(self, reference):
        self._reference = reference
        hold = reference.phases.index("hold")
        self._start, self._end = reference.times[hold], reference.times[hold + 1]

    def __getattr__(self, name):
        return getattr(self._reference, name)

    def __call__(self, time):
        """Value, rate and acceleration (8,) at ``time`` [s]."""
        value, rate, acceleration = (np.array(part) for part in self._reference(time))
        if self._start <= time < self._end:
            for axis, frequency in zip((0, 2), FREQUENCIES):
                w = 2.0 * np.pi * frequency
                phase = w * (time - self._start)
                both = [axis, axis + 3]
                value[both] += SHAKE * (1.0 - np.cos(phase))
                rate[both] += SHAKE * w * np.sin(phase)
                acceleration[both] += SHAKE * w**2 * np.cos(phase)
        return value, rate, acceleration


def shake(ratio, friction_model):
    """(simulator, control) of two arms with a box of ``ratio`` finger masses."""
    scene = with_model(mb.load_scene(CONFIG / "dual_arm_lift.yaml"), friction_model)
    mass = ratio * FINGER
    share = min(1.0, CARRIED / mass)
    boxes = tuple(replace(p, mass=mass) if p.name == "box" else p for p in scene.primitives)
    run = Lift(replace(scene, primitives=boxes, gravity=tuple(share * g for g in scene.gravity)))
    sim, law = run.simulator, run.law
    task = law.LiftTask(box_mass=share * mass, lift=0.05, reach_time=0.6, close_time=0.4, load_time=0.2, lift_time=0.4,
                        hold_time=2.0, retreat_time=0.4)  # fmt: skip
    model, (box, _) = mb.load_urdf(sim.robot_description), sim.link_pose("box")
    run.controller = law.LiftController(model, sim.world.joint_names, sim.joint_positions(), box, task)
    run.controller.reference = Shaken(run.controller.reference)
    return sim, run.effort


# --- all of them ----------------------------------------------------------------------------------


def _of_scene(make):
    def start(friction_model):
        scene = make()
        return mb.Simulator(with_model(scene, friction_model)), None

    return start


def _of_file(name):
    return _of_scene(lambda: mb.load_scene(CONFIG / f"{name}.yaml"))


def _of_pendulum(links, variant):
    rule, step = ("midpoint", 2e-4) if links > 30 else ("semi_implicit_euler", 1e-3)
    return _of_scene(lambda: replace(mb.pendulum(links, variant).scene(integrator=rule), time_step=step))


def scenes():
    """Simulated time [s] and a function that gives (simulator, control) for a friction model, by name."""
    found = {
        "house_of_cards": (2.0, _of_scene(house_of_cards)),
        "dominoes": (2.0, _of_scene(dominoes)),
    }
    for count in (20, 40):
        found[f"tower_{count}"] = (2.0, _of_scene(lambda n=count: tower(n)))
        found[f"leaning_{count}"] = (4.0, _of_scene(lambda n=count: tower(n, 2.0 * SIDE / n)))
    found |= {name: (2.0, _of_file(name)) for name in ("wedge", "table_top", "wheel_and_hub")}
    for ratio in RATIOS:
        found[f"shake_{ratio:g}"] = (4.4, lambda model, r=ratio: shake(r, model))
    for links in (30, 100, 300):
        found[f"pendulum_{links}"] = (5.0, _of_pendulum(links, "j14"))
        found[f"pendulum_j12_{links}"] = (5.0, _of_pendulum(links, "j12"))
    return found


def run(name, seconds, start, arguments):
    """The row of one scene."""
    sim, control = start(arguments.friction_model)
    row = {"scene": name, "friction_model": sim.scene.friction_model}
    record = follow(sim, seconds, control, patience=arguments.patience)
    row |= {"time": sim.time, **statistics(record), **impact_statistics(record)}
    return row | {"ended": record.ended, "failed": record.failed}


def cells(row):
    """Texts of a row."""
    return (
        row["scene"], f"{row['time']:.3g}", f"{row['steps']}", f"{row['contacts']}", f"{row['unsolved']}",
        number(row["residual"], "{:.1e}"), *(number(row[f"{name}_ms"]) for name in ("median", "most", "worst")),
        number(row["newton_worst"], "{}"), f"{row['impacts']}", f"{row['impacts_unsolved']}",
        number(row["impact_residual"], "{:.1e}"), counted(row["solvers"]),
    )  # fmt: skip


def faults(row, limit_ms):
    """What is wrong with a row, in words."""
    found = []
    if row["failed"]:
        found.append(row["ended"])
    if row["unsolved"]:
        found.append(f"{row['unsolved']} steps unsolved")
    if row["impacts_unsolved"]:
        found.append(f"{row['impacts_unsolved']} impacts unsolved")
    if row["worst_ms"] is not None and row["worst_ms"] > limit_ms:
        found.append(f"a step took {row['worst_ms']:.0f} ms")
    return found


def main(argv=None):
    """The command."""
    known = scenes()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=tuple(known), metavar="NAME", help=", ".join(known))
    parser.add_argument("--seconds", type=float, help="longest simulated time of a scene")
    parser.add_argument("--limit-ms", type=float, default=100.0, help="longest time of a step (%(default)s)")
    add_options(parser)
    arguments = parser.parse_args(argv)
    names = arguments.only or list(known)
    if arguments.quick:
        names, arguments.seconds = ["tower_20"], min(arguments.seconds or 0.2, 0.2)
    print(line(HEAD, WIDTHS), flush=True)
    rows, wrong = [], []
    for name in names:
        seconds, start = known[name]
        seconds = seconds if arguments.seconds is None else min(seconds, arguments.seconds)
        try:
            row = run(name, seconds, start, arguments)
        except mb.MbContactError as error:
            wrong.append(f"{name}: refused: {error}")
            print(wrong[-1], flush=True)
            continue
        rows.append(row)
        print(line(cells(row), WIDTHS), flush=True)
        if row["ended"]:
            print(f"{name}: {row['ended']}", flush=True)
        wrong += [f"{name}: {fault}" for fault in faults(row, arguments.limit_ms)]
    print("\n".join(wrong) if wrong else f"every step solved, none above {arguments.limit_ms:g} ms")
    write_json(arguments.json, arguments, rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a whole step costs beside MuJoCo's: ``Simulator.step`` and ``mj_step`` of the same worlds, in turn in one run.

    python benchmarks/step_peers.py [--only box,stack] [--blocks 20] [--robots 1,2,4,8,16] [--heaps 10,36] [--json FILE]

MuJoCo: elliptic cone, Newton solver, Euler with implicit damping, all else at its defaults; its world is made of ours
(``mb_contact/programs/bench/mujoco_world.py``).  Blocks of steps of either engine take turns; the table has the least
and the median time of a single step.  "held": every timed step starts from the same state, in the middle of a motion,
with the same efforts; the others go on from step to step.  Beside the times stand what each engine makes of the scene:
contact points, deepest penetration and our residual (MuJoCo's contacts are soft, so it solves another problem).
``heaps.py`` has heaps that fall and come to rest, by phases of the fall.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
from quick import need, options_of
from stepping import line, write_json

import mb_contact as mb
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import load_scene
from mb_contact.programs.bench.step import Lift

LIMIT = 2.5  #: of the ratio on scenes with at most 16 contacts,
CHAINS = 1.0  #: and on chains from 30 links on
STEPS = 25  #: of a block
SPACING = 3.0  #: of robots that stand side by side [m]
HEAD = ("scene", "contacts", "ours least [us]", "median", "MuJoCo least", "median", "ratio", "median",
        "penetration, theirs [mm]", "residual")  # fmt: skip
WIDTHS = (18, 9, 15, 7, 12, 7, 6, 6, 24, 8)


@dataclass
class Case:
    """A scene in both engines.

    ``law`` gives joint efforts from joint positions and velocities; ``held``: all timed steps start from the present
    state.
    """

    name: str
    sim: object
    law: object = None
    held: bool = False
    limit: float | None = LIMIT


def box_on_table():
    return Case("box on table", mb.Simulator("package://mb_contact/config/box_on_table.yaml"))


def stack():
    return Case("ten boxes", mb.Simulator("package://mb_contact/config/box_stack.yaml"), limit=None)


def lift(moment):
    """The lift in the middle of one of its moves."""

    def case():
        example = Lift()
        reference = example.controller.reference
        i = reference.phases.index(moment)
        example.run(0.5 * (reference.times[i] + reference.times[i + 1]))
        effort = example.effort()
        return Case(f"dual arm, {moment}", example.simulator, lambda q, v: effort, held=True)

    return case


def legged(name, file, step=0.001):
    """A robot that stands, its joints held by springs and dampers."""

    def case():
        import robots

        robots.ROBOTS[name] = (file, "free")
        sim = mb.Simulator(robots.scene_of(name, step)[0])
        hold, joints = robots.Holder(sim, "free"), sim.world.joint_q
        rest, stiffness, damping = hold.rest, hold.inertia * hold.rate**2, 2.0 * hold.inertia * hold.rate
        start = hold.start[joints]

        def law(q, v):
            return rest - stiffness * (q - start) - damping * v

        for _ in range(200):
            sim.step(hold())
        return Case(f"{name} standing", sim, law)

    return case


def chain(links):
    def case():
        pendulum = mb.pendulum(links, angle=0.3, restitution=0.0, wall=100.0, floor=-100.0, time_step=1e-4)
        return Case(f"chain of {links}", mb.Simulator(pendulum.scene()), limit=CHAINS)

    return case


def side_by_side(count):
    """So many dual arms, each with a box on a table of its own."""

    def case():
        scene = load_scene("package://mb_contact/config/dual_arm_lift.yaml")
        urdf = find_resource("package://mb_contact/urdf/dual_arm.urdf").read_text(encoding="utf-8")
        scene = replace(
            scene, models=tuple(_robot(scene.models[0], urdf, i) for i in range(count)),
            primitives=tuple(_beside(p, i) for i in range(count) for p in scene.primitives),
            operational_frames=(), contact_wrench_links=(),
            collision_filters=replace(scene.collision_filters, disable=tuple(
                (f"r{i}_{a}", f"r{i}_{b}") for i in range(count) for a, b in scene.collision_filters.disable)),
        )  # fmt: skip
        sim = mb.Simulator(scene)
        sim.step()
        sim.reset()
        effort = sim.nonlinear_effects()[: len(sim.world.joint_names)]
        for _ in range(5):
            sim.step(effort)
        return Case(f"{count} dual arms", sim, lambda q, v: effort, held=True, limit=LIMIT if count <= 4 else None)

    return case


def _beside(entry, i):
    """A copy of a robot or an object, the i-th to the left."""
    x, y, z = entry.pose.position
    return replace(entry, name=f"r{i}_{entry.name}", pose=replace(entry.pose, position=(x, y + SPACING * i, z)))


def _robot(entry, urdf, i):
    """A copy of a robot with names of its own."""
    text, prefix = re.sub(r'\b(name|link|joint)="', rf'\1="r{i}_', urdf), f"r{i}_"
    links = {prefix + link: material for link, material in entry.materials.links.items()}
    return replace(
        _beside(entry, i), urdf=text, joints={prefix + joint: q for joint, q in entry.joints.items()},
        materials=replace(entry.materials, links=links),
    )  # fmt: skip


def heap(bodies):
    def case():
        import bin as bins

        shapes = tuple(shape for shape in bins.SHAPES if shape[0] != "cone")  # which MuJoCo does not have
        sim = mb.Simulator(replace(bins.scene_of(bodies, shapes), path=None))
        for _ in range(int(0.5 / sim.time_step)):
            sim.step()
        return Case(f"heap of {bodies}", sim, held=True, limit=None)

    return case


CASES = {
    "box": box_on_table, "stack": stack, "reach": lift("reach"), "hold": lift("hold"), "load": lift("load"),
    "anymal": legged("anymal", "anymal_b_simple_description/robots/anymal.urdf"),
    "g1": legged("g1", "g1_description/urdf/g1_29dof_rev_1_0.urdf"), "chain30": chain(30), "chain100": chain(100),
}  # fmt: skip


class Ours:
    """Our side of a case: ``step`` returns seconds, and keeps what the step was like."""

    def __init__(self, case):
        self.case, self.sim = case, case.sim
        self.start = self.sim.save() if case.held else None
        self.contacts, self.depth, self.residual = 0, 0.0, 0.0

    def step(self):
        case, sim = self.case, self.sim
        if case.held:
            sim.restore(self.start)
        effort = None if case.law is None else case.law(sim.joint_positions(), sim.joint_velocities())
        begin = time.perf_counter()
        step = sim.step(effort)
        spent = time.perf_counter() - begin
        certificate = step.certificate
        self.contacts = certificate.contacts
        self.depth, self.residual = max(self.depth, certificate.penetration), max(self.residual, certificate.residual)
        return spent


class Theirs:
    """MuJoCo's side; efforts follow the same law of its own positions and velocities."""

    def __init__(self, case):
        import mujoco

        from mb_contact.programs.bench.mujoco_world import degrees, model_of

        self.mujoco, self.case = mujoco, case
        self.model, self.data = model_of(case.sim)
        self.dofs, self.places = degrees(case.sim, self.model)
        self.contacts, self.depth = 0, 0.0
        for _ in range(20 if case.held else 500):
            self._advance()
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_INTEGRATION)
        self.start = np.zeros(size)
        mujoco.mj_getState(self.model, self.data, self.start, mujoco.mjtState.mjSTATE_INTEGRATION)

    def _advance(self):
        data, case = self.data, self.case
        if case.law is not None:
            data.qfrc_applied[self.dofs] = case.law(data.qpos[self.places], data.qvel[self.dofs])
        begin = time.perf_counter()
        self.mujoco.mj_step(self.model, self.data)
        return time.perf_counter() - begin

    def step(self):
        if self.case.held:
            self.mujoco.mj_setState(self.model, self.data, self.start, self.mujoco.mjtState.mjSTATE_INTEGRATION)
        spent = self._advance()
        self.contacts = int(self.data.ncon)
        if self.contacts:
            self.depth = max(self.depth, -float(self.data.contact.dist.min()))
        return spent


def measure(case, blocks):
    """A row of the table."""
    ours, theirs = Ours(case), Theirs(case)
    times = {ours: [], theirs: []}
    for _ in range(blocks):
        for side in (ours, theirs):
            times[side] += [side.step() for _ in range(STEPS)][1:]
    a, b = (1e6 * np.array(times[side]) for side in (ours, theirs))
    return {
        "scene": case.name, "contacts": ours.contacts, "peer_contacts": theirs.contacts, "limit": case.limit,
        "us": float(a.min()), "median_us": float(np.median(a)), "peer_us": float(b.min()),
        "peer_median_us": float(np.median(b)), "depth": ours.depth, "peer_depth": theirs.depth,
        "residual": ours.residual,
    }  # fmt: skip


def cells(row):
    """Texts of a row."""
    ratio, median = row["us"] / row["peer_us"], row["median_us"] / row["peer_median_us"]
    return (
        row["scene"], f"{row['contacts']}/{row['peer_contacts']}", f"{row['us']:.1f}", f"{row['median_us']:.1f}",
        f"{row['peer_us']:.1f}", f"{row['peer_median_us']:.1f}", f"{ratio:.2f}", f"{median:.2f}",
        f"{1e3 * row['depth']:.1e}, {1e3 * row['peer_depth']:.1e}", f"{row['residual']:.0e}",
    )  # fmt: skip


def _numbers(text):
    return [int(part) for part in text.split(",") if part]


def main(argv=None):
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(CASES), help="some of %(default)s")
    parser.add_argument("--blocks", type=int, default=20, metavar="N", help=f"of {STEPS} steps each (%(default)s)")
    parser.add_argument("--robots", type=_numbers, default=[1, 2, 4, 8, 16], metavar="N,N", help="arms side by side")
    parser.add_argument("--heaps", type=_numbers, default=[], metavar="N,N", help="bodies of heaps, in mid-fall")
    parser.add_argument("--json", metavar="FILE", help="write all numbers to a file too")
    arguments = options_of(parser, argv, only="box", blocks=2, robots=[])
    need("mujoco")
    made = [CASES[name] for name in arguments.only.split(",") if name]
    made += [side_by_side(n) for n in arguments.robots] + [heap(n) for n in arguments.heaps]
    print(line(HEAD, WIDTHS), flush=True)
    rows = []
    for make in made:
        rows.append(measure(make(), arguments.blocks))
        print(line(cells(rows[-1]), WIDTHS), flush=True)
    write_json(arguments.json, arguments, rows)
    return 0 if all(row["residual"] <= 1e-10 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's quadruped (D15 section VII-B): ten seconds of walking over a terrain, 1 ms steps, a run for each solver.

Two experiments: no slip with semi-implicit Euler, and viscous friction with Runge-Kutta of fourth order.  Every run is
that of a scene with its own ``solver``: nothing is exchanged afterwards, so the runs part as walks do, and each has
its own contacts.  As in the paper Lemke's algorithm gets, without slip, the problem of Drumwright and Shell, a
friction pyramid of four sides with mu = 100; here it gets the no-slip problem itself as well.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_choice
from mb_contact.errors import DynamicsError, InputError, SceneError
from mb_contact.model.resources import find_resource
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import Scene, load_scene
from mb_contact.programs.bench.grasp import DIRECTIONS, FRICTION
from mb_contact.programs.bench.quadruped_picture import draw
from mb_contact.programs.bench.soles import with_soles_on_tiles
from mb_contact.programs.bench.trot import Trot
from mb_contact.simulation.simulator import Simulator

SCENE = "package://mb_contact/config/quadruped.yaml"
EXPERIMENTS = {"no_slip": "semi_implicit_euler", "viscous": "rk4"}  # friction model and integrator
SECONDS = 10.0
FEET = ("soles", "balls")
#: name of a run: friction model, solver, whether the modified PPM starts from the last step's normals
RUNS = {
    "no slip, modified PPM": ("no_slip", "ppm", True),
    "no slip, modified PPM from nothing": ("no_slip", "ppm", False),
    "no slip, active-set QP": ("no_slip", "active_set", False),
    "no slip, Lemke": ("no_slip", "lemke", False),
    "mu = 100, Lemke": ("coulomb_polyhedral", "lemke", False),
    "viscous, modified PPM": ("viscous", "ppm", True),
    "viscous, modified PPM from nothing": ("viscous", "ppm", False),
    "viscous, active-set QP": ("viscous", "active_set", False),
    "viscous, Lemke": ("viscous", "lemke", False),
}
#: what D15's Tables II and III print [s]
PRINTED = {
    "no slip, modified PPM": 301.796, "mu = 100, Lemke": 416.284,
    "viscous, modified PPM": 2139.73, "viscous, Lemke": 2936.36,
}  # fmt: skip
BESIDE = {"no slip, Lemke": "no slip, modified PPM", "mu = 100, Lemke": "no slip, modified PPM",
          "viscous, Lemke": "viscous, modified PPM"}  # fmt: skip


class Walk(NamedTuple):
    """What came out of one run; an entry of the arrays for each step."""

    seconds: float  #: wall clock of all steps, with control and collision detection [s]
    cpu: float  #: of this process, the same [s]
    trunk: np.ndarray  #: (steps, 3), its origin [m]
    upright: float  #: least cosine of the trunk's tilt
    contacts: np.ndarray
    iterations: np.ndarray  #: pivots
    solvers: list[str]  #: what the certificates say
    residual: np.ndarray  #: of the certificates [sqrt(N s m/s)]


def quadruped(friction_model: str, solver: str = "auto", feet: str = "balls") -> Scene:
    """Scene of a run.

    Parameters
    ----------
    friction_model : str
        One of EXPERIMENTS, or coulomb_polyhedral: the friction of Drumwright and Shell.
    solver : str
        That of the scene.
    feet : str
        ``"balls"`` on hills as in the scene file, or ``"soles"`` of 30 studs on tiles of different heights.

    Raises
    ------
    SceneError
        The robots of example-robot-data are not installed.
    """
    scene = load_scene(find_resource(SCENE))
    if feet == "soles":
        scene = with_soles_on_tiles(scene)
    if friction_model == "coulomb_polyhedral":  # the geometric mean of both sides
        scene = replace(scene, materials={k: replace(m, friction=FRICTION) for k, m in scene.materials.items()})
    integrator = EXPERIMENTS.get(friction_model, "semi_implicit_euler")
    return replace(
        scene, friction_model=friction_model, integrator=integrator, friction_directions=DIRECTIONS, solver=solver
    )


def walk(simulator: Simulator, seconds: float = SECONDS) -> Walk:
    """Walk from the simulator's present state."""
    trot = Trot(simulator)
    trunk, certificates, upright = [], [], 1.0
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(round(seconds / simulator.time_step)):
        certificates.append(simulator.step(trot.efforts()).certificate)
        position, attitude = simulator.link_pose("trunk")
        trunk.append(position)
        upright = min(upright, quat_to_matrix(attitude)[2, 2])
    spent = time.perf_counter() - start, time.process_time() - cpu
    contacts, iterations, residual = (
        np.array([getattr(c, name) for c in certificates]) for name in ("contacts", "iterations", "residual")
    )
    solvers = [c.solver for c in certificates]
    return Walk(*spent, np.array(trunk), float(upright), contacts, iterations, solvers, residual)


def simulator_of(name: str, feet: str) -> Simulator:
    """The simulator of one of RUNS, its kernels loaded."""
    friction_model, solver, warm = RUNS[name]
    simulator = Simulator(quadruped(friction_model, solver, feet))
    simulator.context.contact_step.starts_warm = warm
    walk(simulator, 0.02)
    simulator.reset()
    return simulator


def rows(seconds: float, feet: str) -> Iterator[tuple[str, Walk | DynamicsError]]:
    """(name, Walk) of every run, or why a run ended; the first is walked before, since kernels load on the way."""
    for i, name in enumerate((next(iter(RUNS)), *RUNS)):
        try:
            run = walk(simulator_of(name, feet), seconds)
            if i > 0:
                yield name, run
        except DynamicsError as error:
            yield name, error


def run_bench(seconds: float = SECONDS, picture: str | Path | None = None, feet: str = "soles") -> int:
    """Measure and print; returns the exit code."""
    if not 0.0 < seconds <= 1000.0:
        raise InputError(f"--seconds must be above 0 and at most 1000, got {seconds:g}")
    as_choice(feet, FEET, "kind of feet")
    try:
        Simulator(quadruped("no_slip"), warm_up=False)
    except SceneError as error:
        print(f"no quadruped: {error}")
        return 1
    ground = {"soles": "soles of 30 studs on tiles", "balls": "balls on hills"}[feet]
    print(f"HyQ trots {seconds:g} s on {ground}, steps of 1 ms; whole runs with control and collision detection")
    print(f"{'run':<36}{'wall [s]':>9}{'CPU [s]':>9}{'paper [s]':>11}{'Lemke/PPM':>11}{'paper':>7}{'contacts':>22}"
          f"{'pivots':>8}{'way [m]':>9}{'over 1e-6':>10}{'unsolved':>9}")  # fmt: skip
    done: dict[str, Walk] = {}
    for name, run in rows(seconds, feet):
        if isinstance(run, DynamicsError):
            print(f"{name:<36} {run}")
            continue
        done[name] = run
        print(_line(name, run, done), flush=True)
    if picture is not None:
        print(f"wrote {draw(picture, quadruped('no_slip', feet=feet))}")
    return 0


def _line(name, run, done):
    other, n = BESIDE.get(name), run.contacts
    ratio = f"{run.cpu / done[other].cpu:.2f}" if other in done else ""
    printed = f"{PRINTED[name] / PRINTED[other]:.2f}" if other and name in PRINTED else ""
    seconds = f"{PRINTED[name]:.0f}" if name in PRINTED else ""
    contacts = f"{n.min()} to {n.max()}, {n.mean():.1f} +- {n.std():.1f}"
    return (
        f"{name:<36}{run.seconds:>9.2f}{run.cpu:>9.2f}{seconds:>11}{ratio:>11}{printed:>7}{contacts:>22}"
        f"{run.iterations.mean():>8.1f}{run.trunk[-1, 0] - run.trunk[0, 0]:>9.2f}"
        f"{int((run.residual > 1e-6).sum()):>10}{run.solvers.count('over_budget'):>9}"
    )

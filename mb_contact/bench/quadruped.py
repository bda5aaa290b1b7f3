# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's quadruped (D15 section VII-B): ten seconds of walking over a terrain map, 1 ms steps.

Two experiments: no slip with semi-implicit Euler, and viscous friction with Runge-Kutta of fourth order.  The robot
walks with the simulator's own solver, and the problem of each step is also solved by the modified PPM and, as in the
paper, by Lemke's algorithm: with viscous friction the same problem in the normals, without slip that of Drumwright and
Shell, a friction pyramid of four sides with mu = 100.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mb_contact.bench.grasp import DIRECTIONS, FRICTION, SOLVED_TOLERANCE, regularised_lemke
from mb_contact.bench.quadruped_picture import draw
from mb_contact.bench.trot import Trot
from mb_contact.core.lcp.active_factor import make_ppm_work
from mb_contact.core.lcp.lcp import lcp_assemble, lcp_size
from mb_contact.core.solve.draft import HALVES
from mb_contact.core.step import problem as _problem
from mb_contact.core.step import step as _step
from mb_contact.core.step.assemble import assemble
from mb_contact.core.workspace import ITERATIONS, STAGE
from mb_contact.errors import InputError, SceneError
from mb_contact.model.resources import find_resource
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import Scene
from mb_contact.model.scene_yaml import load_scene
from mb_contact.simulation.contact_step import ContactStep
from mb_contact.simulation.context import StepContext
from mb_contact.simulation.simulator import Simulator
from mb_contact.studies.drumwright import equality_rows as _eq
from mb_contact.studies.drumwright.friction_state import row_residuals
from mb_contact.studies.drumwright.friction_system import RANK_TOLERANCE, SOLVED
from mb_contact.types import OK, SOLVER_OVER_BUDGET, TOUCHING_FRICTION

SCENE = "package://mb_contact/config/quadruped.yaml"
EXPERIMENTS = {"no_slip": "semi_implicit_euler", "viscous": "rk4"}  # friction model and integrator
METHODS = ("the simulator's solver", "modified PPM", "Lemke")
SECONDS = 10.0


class Walk(NamedTuple):
    """What came out of one experiment; an entry of the arrays for each step."""

    seconds: float  #: wall clock of all steps, with control and collision detection [s]
    trunk: np.ndarray  #: (steps, 3), its origin [m]
    upright: float  #: least cosine of the trunk's tilt
    contacts: np.ndarray
    residual: float  #: largest of a certificate [sqrt(N s m/s)]


def quadruped(friction_model: str) -> Scene:
    """Scene of one of EXPERIMENTS.

    Raises
    ------
    SceneError
        The robots of example-robot-data are not installed.
    """
    scene = load_scene(find_resource(SCENE))
    return replace(
        scene, friction_model=friction_model, integrator=EXPERIMENTS[friction_model], friction_directions=DIRECTIONS
    )


def walk(simulator: Simulator, seconds: float = SECONDS) -> Walk:
    """Walk from the simulator's present state."""
    trot = Trot(simulator)
    trunk, contacts, upright, residual = [], [], 1.0, 0.0
    start = time.perf_counter()
    for _ in range(round(seconds / simulator.time_step)):
        certificate = simulator.step(trot.efforts()).certificate
        position, attitude = simulator.link_pose("trunk")
        trunk.append(position)
        upright = min(upright, quat_to_matrix(attitude)[2, 2])
        contacts.append(certificate.contacts)
        residual = max(residual, certificate.residual)
    return Walk(time.perf_counter() - start, np.array(trunk), float(upright), np.array(contacts), residual)


class BesideOthers(ContactStep):
    """The simulator's steps; each problem is solved by modified PPM and by Lemke's algorithm too.

    All are timed from the assembled rows to the impulses, Lemke's without the scaling in NumPy around it.
    """

    def __init__(self, context: StepContext) -> None:
        super().__init__(context)
        self.clear()

    def clear(self) -> None:
        """Start to record: of each problem, by METHODS, (unknowns, seconds, pivots or Newton steps, solved).

        ``seconds`` is what the study has taken in all, ``apart`` the largest difference of a row's velocity from that
        of the modified PPM [m/s].
        """
        self.records: list[tuple] = []
        self.seconds, self.apart = 0.0, 0.0

    def allocate(self) -> None:
        context, rows = self.context, len(self.context.solution.r)
        n, N, size = context.n, context.N, (DIRECTIONS + 2) * context.capacity + rows
        self._eq, self._ppm = _eq.make_equality_work(n, N, rows, rows), make_ppm_work(len(context.blocks.start), N)
        self._W, self._e = np.zeros((rows, rows)), np.zeros(rows)
        self._M, self._h = np.zeros((size, size)), np.zeros(size)

    def solve(self, handle: Any) -> int:
        context, info = self.context, self.context.work.info
        assemble(handle)
        warm = np.flatnonzero(context.solution.r[context.blocks.start[: context.blocks.count[0]]] > 0.0)
        start = time.perf_counter()
        status = _problem.assemble_problem(handle)
        status = _problem.solve(handle, _problem.STEP) if status == OK else status
        middle = time.perf_counter()
        if status == OK and context.blocks.count[0]:
            solved = info[STAGE] < SOLVER_OVER_BUDGET
            own = context.blocks.rows[0], middle - start, info[ITERATIONS], solved
            _step.apply_impulses(handle)
            self.records.append((own, self._by_ppm(warm), self._by_lemke()))
            self.seconds += time.perf_counter() - middle
        return status

    def _rows(self):
        """What the kernels of equality_rows.py want first."""
        c = self.context
        return c.tree, c.kin, c.art, c.compliance, c.rows, int(c.blocks.rows[0]), RANK_TOLERANCE

    def _by_ppm(self, warm):
        """Unknowns, seconds, pivots, and whether the problem was solved; ``warm`` normals are expected to press."""
        context, eq = self.context, self._eq
        rows, contacts = int(context.blocks.rows[0]), int(context.contacts.count[0])
        hard = context.blocks.start[: context.blocks.count[0]]
        near = np.flatnonzero(context.contacts.gap[:contacts] <= TOUCHING_FRICTION)
        tangents = np.column_stack((3 * near + 1, 3 * near + 2)).ravel()
        eq.q[:rows], eq.info[:] = context.solution.q[:rows], 0
        eq.equality[: len(tangents)], eq.hard[: len(hard)] = tangents, hard
        eq.softness[: len(tangents)], eq.start[: len(warm)] = 0.0, warm
        if context.scene.friction_model == "viscous":
            viscous = context.world.viscous[context.contacts.pair[near]]
            acting = 0.5 * context.dt * context.friction.model[HALVES]
            eq.softness[: len(tangents)] = np.repeat(1.0 / (acting * viscous), 2)
        eq.info[_eq.EQUALITY_ROWS], eq.info[_eq.FREE_ROWS] = len(tangents), len(hard)
        start = time.perf_counter()
        _eq.solve_with_equalities(*self._rows(), len(warm), 20 * len(hard) + 50, eq, self._ppm)
        seconds = time.perf_counter() - start
        *wrong, largest = row_residuals(eq, hard)
        self.apart = max(self.apart, np.abs(eq.u[:rows] - context.solution.u[:rows]).max())
        return len(hard), seconds, int(eq.info[_eq.TOTAL_PIVOTS]), max(wrong) <= SOLVED * largest

    def _by_lemke(self):
        """The same; with viscous friction the rows that PPM has eliminated are eliminated here too."""
        eq, W, e, blocks = self._eq, self._W, self._e, self.context.blocks
        count, rows, start = int(blocks.count[0]), int(blocks.rows[0]), time.perf_counter()
        pyramid = self.context.scene.friction_model == "no_slip"
        if pyramid:
            eq.hard[:rows], blocks.mu[:count] = np.arange(rows), FRICTION
            eq.info[:], eq.info[_eq.FREE_ROWS] = 0, rows
        _eq.condense(*self._rows(), eq, W, e)
        M, q, size, forces, mean = W, e, count, count, np.trace(W[:count, :count]) / count
        if pyramid:
            M, q, size = self._M, self._h, int(lcp_size(blocks))
            lcp_assemble(W, e, blocks, M, q)
            forces, mean = size - int((blocks.dim[:count] == 3).sum()), np.trace(W[:rows, :rows]) / rows
        seconds = time.perf_counter() - start
        _, residual, pivots, more = regularised_lemke(M[:size, :size], q[:size], forces, max(mean, 1e-300))
        return size, seconds + more, pivots, residual <= SOLVED_TOLERANCE


class _Studied(Simulator):
    """A simulator whose problems are solved by all METHODS."""

    def _make_contact_step(self):
        return BesideOthers(self.context)


def compare(friction_model: str, seconds: float = SECONDS) -> tuple[Walk, BesideOthers]:
    """A Walk, without the seconds of the other methods, and the BesideOthers of its problems."""
    simulator = _Studied(quadruped(friction_model))
    walk(simulator, 0.02)  # compiles
    simulator.reset()
    simulator.context.contact_step.clear()
    run = walk(simulator, seconds)
    return run._replace(seconds=run.seconds - simulator.context.contact_step.seconds), simulator.context.contact_step


def run_bench(seconds: float = SECONDS, picture: str | Path | None = None) -> int:
    """Measure and print; returns the exit code."""
    if not 0.0 < seconds <= 1000.0:
        raise InputError(f"--seconds must be above 0 and at most 1000, got {seconds:g}")
    try:
        Simulator(quadruped("no_slip"), warm_up=False)
    except SceneError as error:
        print(f"no quadruped: {error}")
        return 1
    print(f"HyQ trots over a height field for {seconds:g} s, steps of 1 ms")
    for model, integrator in EXPERIMENTS.items():
        run, study = compare(model, seconds)
        n = run.contacts
        print(
            f"\n{model}, {integrator}: {run.trunk[-1, 0] - run.trunk[0, 0]:.2f} m forwards, least cosine of the tilt "
            f"{run.upright:.3f}, residual {run.residual:.1e}, velocities of PPM within {study.apart:.1e} m/s"
        )
        print(f"contact points: {n.min()} to {n.max()}, mean {n.mean():.1f}, deviation {n.std():.1f}")
        head = ("unknowns", "solver [s]", "mean [us]", "pivots", "whole [s]", "failed")
        print(f"{'method':<26}" + "".join(f"{word:>{width}}" for word, width in zip(head, (9, 12, 11, 8, 11, 8))))
        records = np.array(study.records, float)
        for name, (size, spent, pivots, solved) in zip(METHODS, records.transpose(1, 2, 0)):
            print(
                f"{name:<26}{int(size.max()):>9}{spent.sum():>12.2f}{1e6 * spent.mean():>11.0f}{pivots.mean():>8.1f}"
                f"{run.seconds - records[:, 0, 1].sum() + spent.sum():>11.2f}{int((solved == 0.0).sum()):>8}"
            )
    if picture is not None:
        print(f"wrote {draw(picture, quadruped('no_slip'))}")
    return 0

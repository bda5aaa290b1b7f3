# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's quadruped (D15 section VII-B): ten seconds of walking over a terrain map, 1 ms steps.

Two experiments: no slip with semi-implicit Euler, and viscous friction with Runge-Kutta of fourth order.  Beside the
modified PPM, Lemke's algorithm solves the problem that the paper gave it at the same states: with viscous friction the
same problem in the normals, without slip that of Drumwright and Shell, a friction pyramid of four sides with mu = 100.
The states are those of the modified PPM, so both solve the same problems.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mb_contact.bench.trot import Trot
from mb_contact.core.lcp.lcp import lcp_assemble, lcp_size
from mb_contact.core.lcp.lemke import LEMKE_SOLVED, lemke
from mb_contact.core.rows.equality_rows import FREE_ROWS, condense
from mb_contact.core.step.friction_step import COULOMB_VISCOUS, NO_SLIP, RANK_TOLERANCE, friction_rows
from mb_contact.core.step.step import rows_in_use
from mb_contact.errors import SceneError
from mb_contact.model.resources import find_resource
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene_yaml import load_scene
from mb_contact.simulation.friction import FrictionStep
from mb_contact.simulation.simulator import Simulator

SCENE = "package://mb_contact/config/quadruped.yaml"
EXPERIMENTS = {"no_slip": "semi_implicit_euler", "viscous": "rk4"}  # friction model and integrator
SECONDS = 10.0
FRICTION = 100.0  # of Drumwright and Shell's problem, as in the paper
DIRECTIONS = 4
TIKHONOV = (0.0, *10.0 ** np.arange(-14.0, -3.0))  # of the mean diagonal, tried in turn
GOOD = 1e-6  # residual from which on a problem counts as solved


class Walk(NamedTuple):
    """What came out of one experiment; an entry of the arrays for each step."""

    seconds: float  #: wall clock of all steps, with control and collision detection [s]
    trunk: np.ndarray  #: (steps, 3), its origin [m]
    upright: float  #: least cosine of the trunk's tilt
    contacts: np.ndarray
    residual: float  #: largest of a certificate [sqrt(N s m/s)]
    pivots: np.ndarray
    fell_back: int  #: steps that were not solved at the first attempt


class Lemke(NamedTuple):
    """How both methods fared on the same problems."""

    unknowns: int  #: most
    ppm: np.ndarray  #: seconds of every problem, from the state to the impulses
    lemke: np.ndarray
    pivots: np.ndarray
    failed: int  #: problems that Lemke's algorithm left unsolved


def quadruped(friction_model):
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


def walk(simulator, seconds=SECONDS):
    """Walk from the simulator's present state."""
    trot = Trot(simulator)
    trunk, contacts, pivots, upright, residual, fell_back = [], [], [], 1.0, 0.0, 0
    start = time.perf_counter()
    for _ in range(round(seconds / simulator.time_step)):
        certificate = simulator.step(trot.efforts()).certificate
        position, attitude = simulator.link_pose("trunk")
        trunk.append(position)
        upright = min(upright, quat_to_matrix(attitude)[2, 2])
        contacts.append(certificate.contacts)
        pivots.append(certificate.iterations)
        residual = max(residual, certificate.residual)
        fell_back += certificate.solver not in ("none", "principal_pivoting")
    wall = time.perf_counter() - start
    return Walk(wall, np.array(trunk), float(upright), np.array(contacts), residual, np.array(pivots), fell_back)


class BesideLemke(FrictionStep):
    """Steps by the modified PPM, each problem of which Lemke's algorithm solves first.

    Both are timed from the state to the impulses, Lemke's without the scaling in NumPy around it.
    """

    def __init__(self, simulator):
        super().__init__(simulator.world, simulator.scene.friction_model)
        self._sim = simulator  # whose arrays the handle holds, in which only kernels can look
        self.records = []  # of unknowns, seconds by PPM and Lemke, pivots, solved

    def allocate(self, contacts, rows, units):
        super().allocate(contacts, rows, units)
        size = (DIRECTIONS + 2) * contacts + rows
        self._W, self._e = np.zeros((rows, rows)), np.zeros(rows)
        self._M, self._h, self._z = np.zeros((size, size)), np.zeros(size), np.zeros(size)
        self._T, self._basis = np.zeros((size, 2 * size + 2)), np.zeros(size, np.int64)

    def solve(self, handle):
        self._lemke_seconds = 0.0
        size, pivots, solved = self._by_lemke(handle)
        start = time.perf_counter()
        status = super().solve(handle)
        if size:
            self.records.append((size, time.perf_counter() - start, self._lemke_seconds, pivots, solved))
        return status

    def _by_lemke(self, h):
        """Unknowns, pivots, and whether the problem was solved."""
        eq, W, e, sim, start = self._eq, self._W, self._e, self._sim, time.perf_counter()
        cones = sim._cones
        pyramid = self._model == NO_SLIP
        friction_rows(h, COULOMB_VISCOUS if pyramid else self._model, self._viscous, eq)
        units, rows = int(cones.count[0]), int(cones.rows[0])
        if units == 0:
            return 0, 0, True
        if pyramid:
            eq.hard[:rows] = np.arange(rows)
            eq.info[FREE_ROWS] = rows
            cones.mu[:units] = FRICTION
        condense(sim._tree, sim._kin, sim._art, sim._com, sim._rows, rows_in_use(h), RANK_TOLERANCE, eq, W, e)
        M, q, forces, mean = W, e, units, np.trace(W[:units, :units]) / units
        size = units
        if pyramid:
            size = int(lcp_size(cones))
            M, q = self._M, self._h
            lcp_assemble(W, e, cones, M, q)
            forces, mean = size - int((cones.dim[:units] == 3).sum()), np.trace(W[:rows, :rows]) / rows
        self._lemke_seconds += time.perf_counter() - start
        pivots, solved = self._pivot(M[:size, :size], q[:size], forces, max(mean, 1e-300))
        return size, pivots, solved

    def _pivot(self, M, q, forces, mean):
        """Lemke's algorithm in comparable units, with Tikhonov regularisation where it fails."""
        size, z, pivots = len(q), self._z, 0
        units = np.sqrt(np.concatenate([np.full(forces, mean), np.full(size - forces, 1.0 / mean)]))
        scale = max(np.abs(q / units).max(), 1e-300)
        for weight in TIKHONOV:
            A = M / np.outer(units, units)
            A[np.arange(forces), np.arange(forces)] += weight
            b = q / units
            start = time.perf_counter()
            status, more = lemke(A, b, size, self._T, self._basis, z, 20 * size + 50)
            self._lemke_seconds += time.perf_counter() - start
            pivots += more
            y = z[:size] / units
            residual = np.abs(np.minimum(y * units, (M @ y + q) / units)).max() / scale
            if status == LEMKE_SOLVED and residual <= GOOD:
                return pivots, True
        return pivots, False


class _Timed(Simulator):
    """A simulator whose steps solve every problem twice."""

    def _make_contact_step(self):
        return BesideLemke(self)


def compare(friction_model, seconds=SECONDS):
    """Both methods on the problems of a walk.

    Returns
    -------
    Lemke
    """
    simulator = _Timed(quadruped(friction_model))
    walk(simulator, 0.02)  # compiles
    simulator.reset()
    step = simulator._friction
    step.records.clear()
    walk(simulator, seconds)
    size, ppm, other, pivots, solved = np.array(step.records).T
    return Lemke(int(size.max()), ppm, other, pivots, int((solved == 0.0).sum()))


def run_bench(seconds=SECONDS, picture=None):
    """Measure and print; returns the exit code."""
    try:
        quadruped("no_slip")
        Simulator(quadruped("no_slip"), warm_up=False)
    except SceneError as error:
        print(f"no quadruped: {error}")
        return 1
    print(f"HyQ trots over a height field for {seconds:g} s, steps of 1 ms")
    for model, integrator in EXPERIMENTS.items():
        simulator = Simulator(quadruped(model))
        walk(simulator, 0.02)
        simulator.reset()
        run = walk(simulator, seconds)
        print(
            f"\n{model}, {integrator}: {run.trunk[-1, 0] - run.trunk[0, 0]:.2f} m forwards, least cosine of the tilt "
            f"{run.upright:.3f}, residual {run.residual:.1e}, {run.fell_back} steps without push-out or worse"
        )
        n = run.contacts
        print(f"contact points: {n.min()} to {n.max()}, mean {n.mean():.1f}, deviation {n.std():.1f}")
        other = compare(model, seconds)
        ppm, lemke_ = other.ppm.sum(), other.lemke.sum()
        head = ("unknowns", "solver [s]", "mean [us]", "pivots", "whole [s]", "failed")
        print(f"{'method':<26}" + "".join(f"{word:>{width}}" for word, width in zip(head, (9, 12, 11, 8, 11, 8))))
        contacts = int(n.max())
        print(
            f"{'modified PPM':<26}{contacts:>9}{ppm:>12.2f}{1e6 * other.ppm.mean():>11.0f}{run.pivots.mean():>8.1f}"
            f"{run.seconds:>11.2f}{run.fell_back:>8}"
        )
        name = "Lemke, pyramid, mu 100" if model == "no_slip" else "Lemke"
        print(
            f"{name:<26}{other.unknowns:>9}{lemke_:>12.2f}{1e6 * other.lemke.mean():>11.0f}{other.pivots.mean():>8.1f}"
            f"{run.seconds - ppm + lemke_:>11.2f}{other.failed:>8}"
        )
    if picture is not None:
        from mb_contact.bench.quadruped_picture import draw

        print(f"wrote {draw(picture)}")
    return 0

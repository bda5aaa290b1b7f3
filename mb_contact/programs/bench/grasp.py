# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's grasp (D15 section VII-A): two jaws press two equal boxes, gravity pulls, 100 steps of 10 ms.

Three pairs of boxes touch face to face.  Each of a pair's four corners is given three times, with the three
normals that the boxes have there: 36 contacts, 216 unknowns in the problem of Stewart and Trinkle with four
friction directions, 36 in the no-slip model.  Two readings of "36 contacts without slip":

    all     every contact forbids slip in its own tangent plane, as (45), (46) say; the three contacts of a
            corner then leave no relative velocity at all, F = 0 and nothing is left to pivot on
    faces   only the contacts with the face's normal do; the other 24 keep their normals
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.core.lcp.lcp import impulses_of
from mb_contact.core.lcp.lemke import LEMKE_SOLVED, lemke, make_lemke_work
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.model.poses import tree_poses
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import Scene, load_scene
from mb_contact.model.world import build_world
from mb_contact.simulation.simulator import Simulator
from mb_contact.solvers.active_set import active_set_qp
from mb_contact.solvers.blocks import polyhedral, row_layout
from mb_contact.studies.drumwright.friction_system import RANK_TOLERANCE, FrictionSystem
from mb_contact.studies.drumwright.no_slip import no_slip_step
from mb_contact.studies.drumwright.point_contacts import PointContacts, point_contacts

SCENE = "package://mb_contact/config/drumwright_grasp.yaml"
NAMES = ("left_jaw", "box_left", "box_right", "right_jaw")  # from -x to +x
HALF = 0.05  # [m], of the boxes' edges
PRESS = 100.0  # [N], each jaw
DT = 0.01
STEPS = 100
FRICTION = 100.0  # of the Stewart-Trinkle problem, as in the paper
DIRECTIONS = 4
LOST = 1e-3  # [m] a box that has moved so far is no longer held
TIKHONOV = (0.0, *10.0 ** np.arange(-14.0, -3.0))  # of the mean diagonal, tried in turn
SOLVED_TOLERANCE = 1e-6  # relative residual up to which Lemke's algorithm has solved a problem


class Grasp:
    """The boxes, their state, and the contacts that the experiment prescribes."""

    def __init__(self, scene: Scene | None = None) -> None:
        self.world = build_world(load_scene(find_resource(SCENE)) if scene is None else scene)
        self.system = FrictionSystem(self.world)
        self.bodies = np.array([self.world.frames[name].body for name in NAMES])
        self.effort = np.zeros(len(self.world.v0))
        self.effort[self.world.joint_v] = PRESS, -PRESS
        self.gravity = np.array(self.world.gravity)
        self.q, self.v = self.world.q0.copy(), self.world.v0.copy()
        self.start = tree_poses(self.world.tree, self.q)[1][self.bodies]

    def contacts(self) -> PointContacts:
        """The 36 contacts at the boxes' corners: for each pair the face's normal, then the two others."""
        R, p = tree_poses(self.world.tree, self.q)
        a, b, points, normals, gaps = [], [], [], [], []
        for left, right in zip(self.bodies[:-1], self.bodies[1:]):
            for axis in range(3):
                for y in (-1.0, 1.0):
                    for z in (-1.0, 1.0):
                        on_left = p[left] + R[left] @ (HALF * np.array([1.0, y, z]))
                        on_right = p[right] + R[right] @ (HALF * np.array([-1.0, y, z]))
                        outward = np.array([-1.0, y, z])[axis]  # of the right box's face
                        a.append(left)
                        b.append(right)
                        points.append(0.5 * (on_left + on_right))
                        normals.append(outward * R[right][:, axis])
                        gaps.append(normals[-1] @ (on_left - on_right))
        return point_contacts(np.array(a), np.array(b), points, normals, mu=FRICTION, gap=np.array(gaps))

    def faces(self) -> npt.NDArray[np.bool_]:
        """Which of the contacts have the face's normal."""
        return np.tile(np.repeat([True, False, False], 4), len(self.bodies) - 1)

    def take(self, v: Floats) -> None:
        """Move on with the velocities v."""
        self.v = np.array(v)
        integrate_joints(self.world.tree, self.v, DT, self.q)

    def moved(self) -> float:
        """How far the free boxes are from where they were [m]."""
        return float(np.linalg.norm(tree_poses(self.world.tree, self.q)[1][self.bodies] - self.start, axis=1).max())


class Run(NamedTuple):
    """What came out of one method."""

    solve: np.ndarray  #: seconds of the complementarity solver in each step
    whole: np.ndarray  #: seconds of the whole step from state to velocity
    pivots: np.ndarray
    residual: np.ndarray  #: scaled residual relative to the largest free velocity
    held: int  #: steps until a box had moved by LOST
    note: str = ""


# --- the methods: state -> velocity; each returns (v, seconds in the solver, pivots, residual) ------------


def no_slip(grasp: Grasp, contacts: PointContacts, sticking: npt.NDArray[np.bool_]) -> tuple[Floats, float, int, float]:
    """The no-slip model by algorithms 2 and 1."""
    result = no_slip_step(
        grasp.system, grasp.q, grasp.v, grasp.effort, contacts, DT, gravity=grasp.gravity, sticking=sticking
    )
    certificate = result.certificate
    return result.v, _kernel_seconds(grasp.system), result.pivots, certificate.residual / certificate.scale


def _kernel_seconds(system):
    """The compiled part alone, once more: compliance, algorithm 2, algorithm 1, impulses, residual."""
    start = time.perf_counter()
    system.solve(RANK_TOLERANCE, ())
    return time.perf_counter() - start


def no_slip_qp(
    solver: Callable[[Floats, Floats], tuple[Floats, int]]
) -> Callable[..., tuple[Floats, float, int, float]]:
    """The no-slip model with the same reduced problem (56), (57) as a convex quadratic programme."""

    def step(grasp, contacts, sticking):
        system = _no_slip_system(grasp, contacts, sticking)
        start = time.perf_counter()
        F, e = system.condensed(RANK_TOLERANCE)
        s = 1.0 / np.sqrt(system.eq.diagonal[system.eq.hard[: len(e)]])
        z, iterations = solver(F * np.outer(s, s), e * s)
        system.complete(z * s)
        seconds = time.perf_counter() - start
        certificate = system.certify()
        return system.v_free + system.eq.dv, seconds, iterations, certificate.residual / certificate.scale

    return step


def _no_slip_system(grasp, contacts, sticking):
    system = grasp.system
    system.begin_step(grasp.q, grasp.v, grasp.effort, contacts, DT, gravity=grasp.gravity)
    normals = 3 * np.arange(system.count)
    tangents = np.column_stack((normals + 1, normals + 2))[sticking].ravel()
    system.choose(tangents, 0.0, normals)
    return system


def quadprog_qp(F: Floats, e: Floats) -> tuple[Floats, int]:
    """The same by the package quadprog (Goldfarb and Idnani, dual active set); it wants F positive definite."""
    import quadprog

    raised = F + 1e-10 * np.eye(len(e))
    solution = quadprog.solve_qp(raised, -e, np.eye(len(e)), np.zeros(len(e)))
    return np.maximum(solution[0], 0.0), int(solution[3].sum())


def daqp_qp(F: Floats, e: Floats) -> tuple[Floats, int]:
    """The same by the package daqp (dual active set, proximal where F is singular)."""
    import ctypes

    import daqp

    n = len(e)
    upper, lower = np.full(n, 1e30), np.zeros(n)
    z, _, _, info = daqp.solve(
        np.ascontiguousarray(F), np.array(e), np.zeros((0, n)), upper, lower, np.zeros(n, ctypes.c_int), eps_prox=1e-9
    )
    return np.maximum(z, 0.0), int(info["iterations"])


def stewart_trinkle(scaled: bool) -> Callable[..., tuple[Floats, float, int, float]]:
    """The problem of Stewart and Trinkle by Lemke's algorithm; Tikhonov regularisation where it fails.

    ``scaled``: newton seconds and metres per second are first brought to comparable size.
    """

    def step(grasp, contacts, sticking):
        return _stewart_trinkle(grasp, contacts, scaled)

    return step


def _stewart_trinkle(grasp, contacts, scaled):
    system = grasp.system
    system.begin_step(grasp.q, grasp.v, grasp.effort, contacts, DT, gravity=grasp.gravity)
    n = system.count
    system.choose((), 0.0, np.arange(3 * n))
    layout, r = row_layout([3] * n, contacts.mu, DIRECTIONS), np.zeros(3 * n)
    start = time.perf_counter()
    W, e = system.condensed(RANK_TOLERANCE)
    M, h = polyhedral(W, e, layout)
    z, residual, pivots, _ = regularised_lemke(M, h, len(h) - n, np.trace(W) / len(W), scaled)
    impulses_of(layout, z, r)
    system.complete(r)
    return system.v_free + system.eq.dv, time.perf_counter() - start, pivots, residual


def regularised_lemke(
    M: Floats, q: Floats, forces: int, mean: float, scaled: bool = True
) -> tuple[Floats, float, int, float]:
    """Lemke's algorithm, with Tikhonov regularisation until the residual is SOLVED_TOLERANCE.

    Parameters
    ----------
    forces : int
        The first unknowns, impulses; the others are velocities.
    mean : float
        Diagonal entry of W by which the two are made comparable, where ``scaled``.

    Returns
    -------
    z, relative residual (inf: no solution), pivots, seconds in the algorithm
    """
    size, seconds, pivots, best = len(q), 0.0, 0, (np.inf, np.zeros(len(q)))
    units = np.sqrt(np.concatenate((np.full(forces, mean), np.full(size - forces, 1.0 / mean))))
    scale = max(np.abs(q / units).max(), 1e-300)
    s = units if scaled else np.ones(size)
    work, z = make_lemke_work(size), np.zeros(size)
    for weight in TIKHONOV:
        A, b = M / np.outer(s, s), q / s
        A[np.arange(forces), np.arange(forces)] += weight * mean / s[0] ** 2
        start = time.perf_counter()
        status, more = lemke(A, b, np.ones(size), size, *work, z, 20 * size + 50)
        seconds += time.perf_counter() - start
        pivots += more
        y = z / s
        residual = np.abs(np.minimum(y * units, (M @ y + q) / units)).max() / scale
        if residual < best[0] and status == LEMKE_SOLVED:
            best = (residual, y)
        if best[0] <= SOLVED_TOLERANCE:
            break
    return best[1], best[0], pivots, seconds


# --- running ------------------------------------------------------------------------------------------------


def run_method(
    step: Callable[..., tuple[Floats, float, int, float]], sticking_rows: str = "faces", steps: int = STEPS
) -> Run:
    """Simulate the grasp with one method.

    Parameters
    ----------
    step : callable
        (grasp, contacts, sticking) -> (v, seconds, pivots, residual).
    sticking_rows : str
        "faces" or "all" (see the module's head).
    """
    grasp = Grasp()
    sticking = grasp.faces() if sticking_rows == "faces" else np.ones(36, bool)
    step(grasp, grasp.contacts(), sticking)  # compiles
    records, kept = [], 0
    for _ in range(steps):
        contacts = grasp.contacts()
        start = time.perf_counter()
        v, seconds, pivots, residual = step(grasp, contacts, sticking)
        records.append((seconds, time.perf_counter() - start, pivots, residual))
        grasp.take(v)
        if not np.isfinite(grasp.q).all() or grasp.moved() > LOST:
            break
        kept += 1
    solve, whole, pivots, residual = np.array(records).T
    return Run(solve, whole, pivots, residual, kept)


def rows(steps: int = STEPS) -> Iterator[Any]:
    """(name, Run) of every method that can run here."""
    methods = [
        ("no-slip, modified PPM", no_slip, "faces"),
        ("no-slip, active-set QP", no_slip_qp(active_set_qp), "faces"),
        ("no-slip, quadprog", no_slip_qp(quadprog_qp), "faces"),
        ("no-slip, daqp", no_slip_qp(daqp_qp), "faces"),
        ("no-slip everywhere, modified PPM", no_slip, "all"),
        ("Stewart-Trinkle, Lemke", stewart_trinkle(scaled=True), "faces"),
        ("Stewart-Trinkle, Lemke, unscaled", stewart_trinkle(scaled=False), "faces"),
    ]
    for name, step, sticking in methods:
        try:
            yield name, run_method(step, sticking, steps)
        except ImportError:
            continue


class Simulated(NamedTuple):
    """The grasp in the simulator, with the contacts that collision detection finds."""

    contacts: int
    pivots: np.ndarray
    residual: float
    moved: float  #: how far a box has moved in all [m]
    step: float  #: least seconds of a whole step, collision detection included


def simulate(friction_model: str, steps: int = STEPS) -> Simulated:
    """Run the scene with ``no_slip`` or ``coulomb_polyhedral`` (mu = 1) in the simulator."""
    simulator = Simulator(replace(load_scene(find_resource(SCENE)), friction_model=friction_model))
    start = [simulator.link_pose(name)[0] for name in NAMES]
    effort, certificates, seconds = [PRESS, -PRESS], [], []
    for _ in range(steps):
        begin = time.perf_counter()
        certificates.append(simulator.step(effort).certificate)
        seconds.append(time.perf_counter() - begin)
    return Simulated(
        contacts=max(c.contacts for c in certificates),
        pivots=np.array([c.iterations for c in certificates]),
        residual=max(c.residual for c in certificates),
        moved=max(float(np.linalg.norm(simulator.link_pose(name)[0] - p)) for name, p in zip(NAMES, start)),
        step=min(seconds),
    )


def run_bench(steps: int = STEPS) -> int:
    """Measure and print; returns the exit code."""
    print(f"36 prescribed contacts, {steps} steps of 10 ms; times in us, ratio to the first line by means")
    print(f"{'method':<34}{'unknowns':>9}{'least':>9}{'mean':>10}{'ratio':>8}{'pivots':>22}{'residual':>10}{'held':>9}")
    first = None
    for name, run in rows(steps):
        size = 216 if name.startswith("Stewart") else 36
        first = run.solve.mean() if first is None else first
        pivots = f"{run.pivots.mean():.1f}, at most {run.pivots.max():.0f}"
        print(
            f"{name:<34}{size:>9}{1e6 * run.solve.min():>9.0f}{1e6 * run.solve.mean():>10.0f}"
            f"{run.solve.mean() / first:>8.1f}{pivots:>22}{run.residual.max():>10.1e}{run.held:>5}/{steps}",
            flush=True,
        )
    print("contacts from collision detection, whole steps of the simulator:")
    for model in ("no_slip", "coulomb_polyhedral"):
        run = simulate(model, steps)
        print(
            f"{model:<34}{run.contacts:>3} contacts, {1e6 * run.step:.0f} us a step, pivots {run.pivots.mean():.2f}, "
            f"at most {run.pivots.max()}, residual {run.residual:.1e}, moved {run.moved:.1e} m"
        )
    return 0

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""World-steps a second against the number of worlds and threads, beside ``mujoco.rollout`` of the same scenes.

Efforts differ by world and step.  Rounds of both engines take turns, and the best of each counts; beside it stands the
CPU time of a step, because other programs take wall clock.  MuJoCo (where it is installed): elliptic cone, Newton
solver, its own soft contacts; so it solves another problem.
"""

import importlib.util
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mb_contact.checks import Floats, as_choice
from mb_contact.errors import InputError
from mb_contact.model.scene import Ground, Pose, Primitive, Scene, load_scene
from mb_contact.programs.bench.legged import DRIVEN, legged_scene
from mb_contact.programs.bench.step import Lift
from mb_contact.simulation.simulator import Simulator
from mb_contact.worlds import Worlds

COUNTS, THREADS, STEPS, ROUNDS = (1, 16, 256), (1, 2), 100, 3
SHAKE = 3.0  #: efforts of the legged machine's drives [N m]
HELD = 20  #: steps for which a random effort holds
HEAD = "scene          worlds threads    steps/s  us CPU   MuJoCo  us CPU  ratio  contacts  worst residual  KB/world"


class Case(NamedTuple):
    """A scene, where its worlds start, and the efforts around which they are shaken."""

    scene: Scene
    q: Floats  #: (nq,)
    v: Floats  #: (N,)
    effort: Floats  #: (joints,)
    shaken: NDArray[np.int64]  #: joints that are
    shake: float  #: by so much [N m]


def legged() -> Case:
    """The machine of 36 joints with closed loops, which shuffles its feet."""
    sim = Simulator(legged_scene())
    names = sim.world.joint_names
    driven = np.array([names.index(f"{side}_{name}") for side in ("left", "right") for name in DRIVEN])
    return Case(sim.scene, sim.q, sim.v, np.zeros(len(names)), driven, SHAKE)


def dual_arm() -> Case:
    """Two arms that hold a box in the air."""
    example = Lift()
    reference = example.controller.reference
    i = reference.phases.index("hold")
    example.run(0.5 * (reference.times[i] + reference.times[i + 1]))
    sim = example.simulator
    return Case(sim.scene, sim.q, sim.v, example.effort(), np.arange(len(sim.world.joint_names)), 0.05)


def quadruped() -> Case:
    """A robot of twelve joints on four round feet, its joints held by servos."""
    scene = load_scene("package://mb_contact/config/standing_quadruped.yaml")
    sim = Simulator(scene)
    for _ in range(200):
        sim.step()
    return Case(scene, sim.q, sim.v, np.zeros(12), np.arange(12), 1.0)


def heap() -> Case:
    """Twenty spheres, capsules and boxes that lie on each other."""
    shapes = (("sphere", (0.06,)), ("capsule", (0.05, 0.1)), ("box", (0.12, 0.1, 0.08)))
    rng, bodies = np.random.default_rng(1), []
    for i in range(20):
        kind, size = shapes[i % 3]
        place = (0.13 * (i % 2) + rng.uniform(-0.02, 0.02), 0.13 * (i // 2 % 2), 0.1 + 0.16 * (i // 4))
        bodies.append(Primitive(f"body_{i}", kind, size, Pose(place), "free", 1.0))
    scene = Scene(primitives=tuple(bodies), ground=Ground(), time_step=0.001)
    sim = Simulator(scene)
    for _ in range(600):
        sim.step()
    return Case(scene, sim.q, sim.v, np.zeros(0), np.zeros(0, np.int64), 0.0)


CASES: dict[str, Callable[[], Case]] = {
    "legged36": legged,
    "dual_arm": dual_arm,
    "quadruped": quadruped,
    "heap20": heap,
}


def controls_of(case: Case, count: int, steps: int, seed: int = 0) -> Floats:
    """Efforts (count, steps, joints): waves, random ones that hold for a while, and noise."""
    rng, n = np.random.default_rng(seed), len(case.shaken)
    controls = np.tile(case.effort, (count, steps, 1))
    phase = rng.uniform(0.0, 2.0 * np.pi, (count, 1, n))
    wave = np.sin(4.0 * np.pi * case.scene.time_step * np.arange(steps)[None, :, None] + phase)
    held = np.repeat(rng.uniform(-1.0, 1.0, (count, -(-steps // HELD), n)), HELD, axis=1)[:, :steps]
    noise = 0.05 * rng.normal(size=(count, steps, n))
    controls[:, :, case.shaken] += case.shake * (0.5 * wave + 0.5 * held + noise)
    return controls


class Ours:
    """Worlds that take the steps of a job again and again."""

    def __init__(self, case: Case, count: int, threads: int, steps: int, tolerance: float) -> None:
        self.case, self.controls = case, controls_of(case, count, steps)
        self.worlds = Worlds(case.scene, count, threads)
        self.worlds.solver_tolerance = tolerance
        self.job = self.worlds.job(np.arange(count), self.controls)
        self.steps, self.contacts, self.residual = count * steps, 0.0, 0.0

    def round(self) -> tuple[float, float]:
        """(wall clock, CPU time) of all steps [s]."""
        worlds, shape = self.worlds, self.worlds.q.shape
        worlds.reset(None, (np.broadcast_to(self.case.q, shape), np.broadcast_to(self.case.v, worlds.v.shape)))
        start, cpu = time.perf_counter(), time.process_time()
        worlds.advance(self.job)
        spent = time.perf_counter() - start, time.process_time() - cpu
        self.residual = float(np.nanmax(self.job.arrays.residual))
        self.contacts = float(self.job.arrays.contacts.mean())
        if worlds.failures:
            raise InputError(f"worlds have failed: {worlds.failures}")
        return spent


class Theirs:
    """``mujoco.rollout`` of the same scene, state and efforts."""

    def __init__(self, case: Case, count: int, threads: int, controls: Floats) -> None:
        import mujoco
        from mujoco import rollout

        from mb_contact.programs.bench.mujoco_world import degrees, model_of

        sim = Simulator(case.scene)
        sim.set_state(case.q, case.v)
        self.model, data = model_of(sim)
        dofs, _ = degrees(sim, self.model)
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        state = np.zeros(size)
        mujoco.mj_getState(self.model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.state = np.tile(state, (count, 1))
        self.controls = np.zeros((count, controls.shape[1], self.model.nv))
        self.controls[:, :, dofs] = controls
        self.data = [mujoco.MjData(self.model) for _ in range(threads)]
        self.rollout = rollout.Rollout(nthread=threads if threads > 1 else 0)
        self.spec = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value

    def round(self) -> tuple[float, float]:
        """(wall clock, CPU time) of all steps [s]."""
        start, cpu = time.perf_counter(), time.process_time()
        self.rollout.rollout(self.model, self.data, self.state, self.controls, control_spec=self.spec)
        return time.perf_counter() - start, time.process_time() - cpu


def measure(
    case: Case, count: int, threads: int, steps: int, rounds: int, tolerance: float, peer: bool
) -> dict[str, Any]:
    """A row of the table."""
    ours = Ours(case, count, threads, steps, tolerance)
    sides: list[Any] = [ours] + ([Theirs(case, count, threads, ours.controls)] if peer else [])
    best = {side: (np.inf, np.inf) for side in sides}
    for _ in range(rounds + 1):  # the first one warms up
        for side in sides:
            best[side] = min(best[side][0], (spent := side.round())[0]), min(best[side][1], spent[1])
    total = ours.steps
    row = {
        "rate": total / best[ours][0], "us": 1e6 * best[ours][1] / total, "contacts": ours.contacts,
        "residual": ours.residual, "kilobytes": ours.worlds.bytes_per_world / 1e3,
    }  # fmt: skip
    if peer:
        row |= {"peer_rate": total / best[sides[1]][0], "peer_us": 1e6 * best[sides[1]][1] / total}
    ours.worlds.close()
    return row


def line_of(name: str, count: int, threads: int, row: dict[str, Any]) -> str:
    """A line of the table."""
    peer = (
        f"{row['peer_rate']:9.0f} {row['peer_us']:7.1f} {row['rate'] / row['peer_rate']:6.2f}"
        if "peer_rate" in row
        else " " * 24
    )
    return (
        f"{name:<14} {count:6d} {threads:7d} {row['rate']:10.0f} {row['us']:7.1f} {peer} {row['contacts']:9.1f}"
        f" {row['residual']:15.1e} {row['kilobytes']:9.1f}"
    )


def run_bench(
    scenes: str | None = None,
    counts: Sequence[int] | None = None,
    threads: Sequence[int] | None = None,
    steps: int = STEPS,
    rounds: int = ROUNDS,
    tolerance: float = 1e-9,
) -> int:
    """Measure and print; returns the exit code."""
    names = [as_choice(name, CASES, "scene") for name in (CASES if scenes is None else scenes.split(","))]
    peer = importlib.util.find_spec("mujoco") is not None
    print(f"{steps} steps a round, solver tolerance {tolerance:g}" + ("" if peer else "; without MuJoCo"))
    print(HEAD)
    worst = 0.0
    for name in names:
        case = CASES[name]()
        for count in counts or COUNTS:
            for n in threads or THREADS:
                if n <= count:
                    row = measure(case, count, n, steps, rounds, tolerance, peer)
                    worst = max(worst, row["residual"])
                    print(line_of(name, count, n, row), flush=True)
    return 0 if worst <= 1e-8 else 1

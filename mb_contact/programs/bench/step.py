# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a time step costs: the stages of a step in microseconds, a whole lift, and the time to the first step.

Every number is the least of several repeats of the very same work: other programs can only add to it.
"""

import importlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.collision.closed_forms import ASKED, NEAR
from mb_contact.core.integrate.flow_step import ANSWERED, BEGIN, whole_step
from mb_contact.core.step import problem, step as kernels
from mb_contact.core.step.assemble import assemble
from mb_contact.core.step.report import summarise
from mb_contact.model.resources import child_environment, find_resource
from mb_contact.model.scene import Scene
from mb_contact.simulation.simulator import Simulator
from mb_contact.types import ASK_ENGINE

SCENE = "package://mb_contact/config/dual_arm_lift.yaml"
CONTROLLER = "package://mb_contact/examples/lift_controller.py"
STAGES = {
    "near": "broad phase, narrow phase",
    "engine": "narrow phase that is asked from Python",
    "manifolds": "manifolds: contact points",
    "dynamics": "dynamics: articulated sweep, free velocity",
    "assembly": "assembly: rows of contacts and limits, q",
    "pose": "pose: islands, W by rows or by bodies",
    "solve": "solve: Newton steps",
    "impulses": "impulse sweep: new velocity, certificate",
    "record": "impulses on shapes, energies, warm start, report",
    "kinematics": "new state: poses, velocities, bias, energy",
    "summary": "numbers of the certificate",
}  #: of ``measure_stages``, in their order
MOMENT = "load"  #: the move in whose middle a step is taken apart: box in both hands and still on the table

_FIRST_STEP = """
import sys, time
import mb_contact as mb
simulator = mb.Simulator(sys.argv[1])
simulator.step()
"""


class Lift:
    """The example's lift in this process, without ROS and without pacing; ``scene``: another one of the same robot."""

    def __init__(self, scene: Scene | str | Path | None = None) -> None:
        from mb_contact.model.urdf.reader import load_urdf

        self.law = _load(find_resource(CONTROLLER))
        self.simulator = sim = Simulator(find_resource(SCENE) if scene is None else scene)
        box, _ = sim.link_pose("box")
        model = load_urdf(sim.robot_description)
        self.controller = self.law.LiftController(model, sim.world.joint_names, sim.joint_positions(), box)
        self.effort()  # loads or compiles the operational-space kernels

    def effort(self) -> Floats:
        """Efforts for the state of now."""
        sim, law = self.simulator, self.law
        space = sim.operational_space(law.FRAMES)
        terms = law.Terms(
            space.inertia, space.jacobian, space.bias, sim.mass_matrix(), sim.nonlinear_effects()
        )
        return self.controller.update(sim.time, sim.joint_positions(), sim.joint_velocities(), terms)

    def run(self, until: float) -> tuple[float, float, int]:
        """Simulate until a time [s]; returns wall seconds in steps, in all, and the most contacts."""
        inside, most = 0.0, 0
        begin = time.perf_counter()
        while self.simulator.time < until - 1e-9:
            effort = self.effort()
            start = time.perf_counter()
            step = self.simulator.step(effort)
            inside += time.perf_counter() - start
            most = max(most, step.certificate.contacts)
        return inside, time.perf_counter() - begin, most


def _load(path):
    """The example's module, from its folder."""
    sys.path.append(str(Path(path).parent))  # the examples import one another
    try:
        return importlib.import_module(Path(path).stem)
    finally:
        sys.path.pop()


def measure_stages(sim: Simulator, effort: Floats, repeats: int) -> dict[str, float]:
    """Least times of the parts of one step from the simulator's present state, which is left as it was.

    Each part is called by itself; what such a call costs from Python is taken off.

    Returns
    -------
    dict of str to float
        Microseconds; ``whole`` is the compiled call (two around an engine), ``step`` the whole ``Simulator.step``.
    """
    state = sim.save()
    runs = []
    for _ in range(repeats + 1):  # the first one loads or compiles what the simulator never calls by itself
        sim.restore(state)
        runs.append(_staged_step(sim, effort))
        sim.restore(state)
        runs[-1]["whole"] = _timed(_whole_step, sim, effort)[0]
        sim.restore(state)
        runs[-1]["step"] = _timed(sim.step, effort)[0]
    sim.restore(state)
    times = {name: 1e6 * min(run[name] for run in runs[1:]) for name in runs[0]}
    call = times.pop("call")
    return {name: max(0.0, value - call) if name in STAGES else value for name, value in times.items()}


def _timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def _staged_step(sim, effort):
    """One step by hand, stage by stage; ``call`` is a call that does nothing."""
    context, h, b = sim.context, sim.context.handle, sim.context.buffers
    context.effort[sim.world.joint_v] = effort
    times = {"call": _timed(problem.rows_in_use, h)[0], "near": _timed(kernels.find_near, h)[0]}
    times["engine"] = _timed(context.ask_engine)[0] if b.found[ASKED] else 0.0
    for name, stage, *arguments in (
        ("manifolds", kernels.find_contacts, h, b.found[NEAR]),
        ("dynamics", kernels.smooth_dynamics, h),
        ("assembly", assemble, h),
        ("pose", problem.assemble_problem, h),
        ("solve", problem.solve, h, problem.STEP),
        ("impulses", kernels.settle, h),
        ("record", kernels.record_step, h),
        ("kinematics", kernels.advance, h),
        ("summary", summarise, h),
    ):
        times[name], _ = _timed(stage, *arguments)
    return times


def _whole_step(sim, effort):
    """One step as the simulator takes it, without its checks and its result."""
    context = sim.context
    context.effort[sim.world.joint_v] = effort
    if whole_step(context.handle, BEGIN) == ASK_ENGINE:
        context.ask_engine()
        whole_step(context.handle, ANSWERED)


def stage_rows(times: Mapping[str, float]) -> list[tuple[str, float]]:
    """(what, microseconds) of the breakdown; the rows add up to the whole step."""
    rows = [(text, times[name]) for name, text in STAGES.items()]
    inside = sum(value for _, value in rows)
    rows.append(("between the parts, calls", times["whole"] - inside))
    rows.append(("Python: arguments, checks, result", times["step"] - times["whole"]))
    return rows


def first_step_seconds(cache: str | Path | None = None) -> float:
    """Wall seconds of a new process from its start to the end of its first step.

    Parameters
    ----------
    cache : path, optional
        Folder of compiled kernels instead of the usual one.
    """
    environment = child_environment()
    if cache is not None:
        environment["MB_CONTACT_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", _FIRST_STEP, str(find_resource(SCENE))]
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def run_bench(repeats: int = 30, cold: bool = False) -> int:
    """Measure and print; returns the exit code."""
    lift = Lift()
    sim, reference = lift.simulator, lift.controller.reference
    i = reference.phases.index(MOMENT)
    middle = 0.5 * (reference.times[i] + reference.times[i + 1])
    first = lift.run(middle)
    effort = lift.effort()
    times = measure_stages(sim, effort, repeats)
    contacts = sim.step(effort).certificate.contacts
    print(
        f"one step of the lift, box in both hands and on the table, {contacts} contacts (least of {repeats}):"
    )
    for what, value in stage_rows(times):
        print(f"  {what:<50} {value:8.1f} us")
    print(f"  {'the whole step':<50} {times['step']:8.1f} us")
    second = lift.run(reference.duration)
    inside, everything = np.array(first[:2]) + np.array(second[:2])
    simulated, step, most = sim.time, 1e3 * sim.time_step, max(first[2], second[2])
    print(f"the whole lift, {simulated:.1f} s at {step:g} ms, up to {most} contacts:")
    print(f"  real-time factor, simulator alone                  {simulated / inside:8.1f}")
    print(f"  real-time factor, with operational space and law   {simulated / everything:8.1f}")
    warm = min(first_step_seconds() for _ in range(2))
    print(f"a new process to its first step, kernels cached      {warm:8.2f} s")
    if cold:
        with tempfile.TemporaryDirectory() as folder:
            print(f"a new process to its first step, compiling           {first_step_seconds(folder):8.1f} s")
    return 0

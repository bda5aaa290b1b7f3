# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""First compilation of the kernels, stage by stage with progress, half of it in a second process.

Numba compiles under one lock, so a second core only helps in a second process: it compiles the two
largest stages into the shared cache on disk, from where the whole step then takes them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from mb_contact.core import step
from mb_contact.core.jit import CACHE_DIRECTORY

#: (what the user reads, kernel, arguments after the handle), in the order of a step
STAGES = {
    "kinematics": (step.refresh, ()),
    "broad phase": (step.begin_step, ()),
    "contact manifolds": (step.find_contacts, (0,)),
    "articulated-body sweeps": (step.smooth_dynamics, ()),
    "operational-space compliance": (step.assemble, ()),
    "complementarity solvers": (step.solve, ()),
    "impulse sweep": (step.apply_impulses, ()),
}
SECOND_PROCESS = ("complementarity solvers", "contact manifolds")
_CHILD = "from mb_contact.simulation.warm_up import compile_stages; compile_stages()"


def is_compiled():
    """Whether this version's kernels are in the cache."""
    return any(CACHE_DIRECTORY.glob("*/step.finish_step*.nbi"))


def compile_with_progress(handle, progress):
    """Compile every kernel of the step for ``handle``; ``progress`` gets one line a stage."""
    start = time.perf_counter()
    child = _start_child()
    mine = [name for name in STAGES if child is None or name not in SECOND_PROCESS]
    total = len(STAGES) + 1
    for number, name in enumerate(mine, 1):
        progress(f"compiling {number}/{total}: {name} (first run only)")
        run_stage(handle, name)
    if child is not None:
        for number, name in enumerate(SECOND_PROCESS, len(mine) + 1):
            progress(f"compiling {number}/{total}: {name} (first run only)")
            if number == total - 1:
                child.wait()
    progress(f"compiling {total}/{total}: the whole step (first run only)")
    step.finish_step(handle, 0)
    progress(f"compiled in {time.perf_counter() - start:.0f} s")


def run_stage(handle, name):
    """Call one stage's kernel; none of them changes the state."""
    kernel, arguments = STAGES[name]
    kernel(handle, *arguments)


def compile_stages(names=SECOND_PROCESS):
    """What the second process runs: a small world of the same types, and the named stages."""
    from mb_contact.model.scene import Ground, Scene
    from mb_contact.simulation.simulator import Simulator

    simulator = Simulator(Scene(ground=Ground()), warm_up=False)
    for name in names:
        run_stage(simulator._handle, name)


def _start_child():
    if (os.cpu_count() or 1) < 2 or not sys.executable:
        return None
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
    except OSError:
        return None  # this process then compiles everything

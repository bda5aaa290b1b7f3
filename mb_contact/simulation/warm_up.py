# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""First compilation of the kernels, stage by stage with progress, half of it in a second process.

Numba compiles under one lock, so a second core only helps in a second process: it compiles the two
largest stages into the shared cache on disk, from where the whole step then takes them.
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from mb_contact.core.jit import DISABLE_JIT
from mb_contact.core.step import problem, step
from mb_contact.core.step.assemble import assemble

#: (what the user reads, kernel, arguments after the handle), in the order of a step
STAGES = {
    "kinematics": (step.refresh, ()),
    "broad phase": (step.begin_step, ()),
    "contact manifolds": (step.find_contacts, (0,)),
    "articulated-body sweeps": (step.smooth_dynamics, ()),
    "contact rows": (assemble, ()),
    "operational-space compliance": (problem.assemble_problem, ()),
    "contact solver": (problem.solve, (False,)),
    "impulse sweep": (step.settle, ()),
    "the next state": (step.conclude, ()),
}
SECOND_PROCESS = ("contact solver", "contact manifolds")
_CHILD = "from mb_contact.simulation.warm_up import compile_stages; compile_stages()"


def is_compiled():
    """Whether the kernels of these files and this Python are in the cache (or need no compiling)."""
    return in_cache(step.conclude)


def in_cache(kernel):
    """Whether a kernel was compiled by this Python from these files (or needs no compiling)."""
    if DISABLE_JIT:
        return True
    name = f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}"  # as Numba calls it in the cache
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    folder = Path(kernel.stats.cache_path)  # Numba's own, one for each folder of sources
    return any(folder.glob(f"{name}-*.{python}*.nbi"))


class FirstCompilation:
    """Compiles every kernel of the step; make it before the workspaces, ``run`` it with the handle.

    Parameters
    ----------
    progress : callable
        Gets one line of text a stage.
    """

    def __init__(self, progress):
        self._progress = progress
        self._start = time.perf_counter()
        self._done = 0
        self._total = len(STAGES) + 1
        self._tell("workspaces")
        self._child = _start_child()

    def _tell(self, what):
        self._done += 1
        self._progress(f"compiling {self._done}/{self._total}: {what} (first run only)")

    def run(self, handle):
        """Compile all stages, then the whole step; advances the state that ``handle`` holds."""
        later = SECOND_PROCESS if self._child is not None else ()
        for name in STAGES:
            if name not in later:
                self._tell(name)
                run_stage(handle, name)
        for name in later:
            self._tell(name)
        if self._child is not None:
            self._child.wait()
        self._progress(f"compiled in {time.perf_counter() - self._start:.0f} s")


def run_stage(handle, name):
    """Call one stage's kernel; none of them changes the state."""
    kernel, arguments = STAGES[name]
    kernel(handle, *arguments)


def compile_stages(names=SECOND_PROCESS):
    """What the second process runs: a small world of the same types, and the named stages."""
    from mb_contact.model.scene import Ground, Scene
    from mb_contact.model.world import build_world
    from mb_contact.simulation.context import StepContext

    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    scene = Scene(ground=Ground())
    context = StepContext(scene, build_world(scene))
    context.allocate()
    for name in names:
        run_stage(context.handle, name)


def _end_with_the_parent():
    """The pipe closes when the first process is gone, however it ended."""
    while os.read(0, 1):
        pass
    os._exit(1)


def _start_child():
    if (os.cpu_count() or 1) < 2 or not sys.executable:
        return None
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
    except OSError:
        return None  # this process then compiles everything

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Compilation ahead of time: jobs that compile kernels into the cache, in a process for each processor.

Numba compiles under one lock, so other processors only help in other processes.  Each takes a job when it has done the
one before, and loads what others have compiled; the jobs that come first have few kernels in common.  The process that
waits takes the machine code from the cache, and is free for other things meanwhile.
"""

import contextlib
import functools
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mb_contact.collision import coal_library
from mb_contact.core import kernel_files as files
from mb_contact.core.integrate import whole
from mb_contact.core.jit import DISABLE_JIT, ROOMS, STUDIES, source_digest
from mb_contact.errors import InputError
from mb_contact.model.resources import child_environment, find_resource
from mb_contact.model.scene import CHOICES
from mb_contact.types import SHAPE_CONE, SHAPE_CONVEX, SHAPE_CYLINDER, SHAPE_ELLIPSOID

LIBRARY = "package://mb_contact/config"
WORKER = "MB_CONTACT_COMPILES"  # in the environment of processes that compile: they start no further ones
_PROGRAM = "import os; os.nice({}); from mb_contact.simulation.kernel_jobs import work; work()"

WITHOUT_CLOSED_FORM = (SHAPE_CYLINDER, SHAPE_CONE, SHAPE_ELLIPSOID, SHAPE_CONVEX)
_WIDTH = 24  #: of the progress bar


class Job(NamedTuple):
    """Something that compiles kernels: its kind and argument, and how many functions it compiles, about."""

    kind: str
    argument: str = ""
    functions: int = 1


#: kernels of every step: two processes that take them in this order hardly compile a function twice, and end together
STEP = (
    Job("stage", "assemble_problem", 46), Job("stage", "find_contacts", 77), Job("stage", "solve", 26),
    Job("stage", "conclude", 50), Job("stage", "find_near", 40), Job("stage", "assemble", 45),
    Job("stage", "settle", 20), Job("terms", functions=20), Job("stage", "smooth_dynamics", 10),
    *(Job("stage", name) for name in ("refresh", "begin_step", "saturate", "whole")),
)  # fmt: skip
WORLDS = (Job("worlds", functions=12),)  #: steps of many worlds
CAMERAS = (Job("cameras", functions=20),)
#: what measurements compile, in little of their time
BENCHES = (
    Job("bench", "grasp", 50), Job("bench", "quadruped --seconds 0.2", 40), Job("bench", "collision --repeats 1", 30),
    Job("bench", "pendulum --links 3,6 --seconds 0.05", 30), Job("bench", "formulations --repeats 1", 5),
    Job("bench", "step --repeats 1", 5), Job("bench", "fidelity --case rod_on_ice", 5),
    Job("bench", "fidelity --case rod_falls", 5),
)  # fmt: skip


def is_compiled():
    """Whether the kernels of every step can be loaded (or need no compiling)."""
    return in_cache(whole.euler_step) and in_cache(whole.long_euler_step)


def in_cache(kernel):
    """Whether a kernel was compiled for this environment from these files (or needs no compiling)."""
    return DISABLE_JIT or kernel.is_kept()


def compile_step(progress, more=()):
    """Compile the kernels of every step.

    Parameters
    ----------
    progress : callable
        Gets a line of text now and then.
    more : sequence of Job
        What is built on them.
    """
    reason = files.why_compile()
    if reason:
        progress(reason)
    compile_jobs([STEP, more] if more else [STEP], progress)


def compile_parts(context, progress):
    """Compile what a scene's choices need beside the kernels of every step.

    Parameters
    ----------
    context : StepContext
    progress : callable
        Gets lines of text.
    """
    scene = context.scene
    if scene.collision_engine == "coal" and not DISABLE_JIT and WORKER not in os.environ:
        _build_narrow_phase(context.world.geoms.kind, progress)
    parts = {
        "the contact step": context.contact_step,
        f"the integrator {scene.integrator}": context.integrator,
        "the impact phase": context.impacts, "the event scheme": context.events,
    }  # fmt: skip
    missing = [name for name, part in parts.items() if part is not None and not in_cache(part.kernel)]
    if missing:
        progress(f"compiled too (first run only): {', '.join(missing)}")
        chosen = {key: getattr(scene, key) for key in CHOICES if getattr(scene, key) != CHOICES[key][0]}
        compile_jobs([[Job("choices", json.dumps(chosen), 60)]], progress)


def _build_narrow_phase(kinds, progress):
    """Build coal's narrow phase for processes to come where shapes have no closed form."""
    if np.isin(kinds, WITHOUT_CLOSED_FORM).any() and coal_library.is_worth_a_try():
        progress("the collision library's part is compiled (first run only)")
        try:
            coal_library.build()
        except coal_library.NoLibrary as error:
            progress(f"coal is asked from Python, which gives the same numbers: {error}")


def compile_ahead(scenes, everything, into, progress):
    """What ``mb-contact compile`` does.

    Parameters
    ----------
    scenes : sequence of path
    everything : bool
        Every feature and every scene of the library.
    into : path or None
        Folder that gets a copy, as a package carries it.
    progress : callable
        Gets lines of text.

    Raises
    ------
    InputError
        ``into`` is asked for, and this process compiles for this CPU alone.

    Returns
    -------
    bool
        Whether all went well.
    """
    if into and files.target() != files.PORTABLE:
        raise InputError(f"a package carries kernels for {files.PORTABLE}; this process compiles for {files.target()}")
    phases = all_jobs() if everything else [STEP, WORLDS]
    if scenes:
        phases.append([Job("scene", str(path), 40) for path in scenes])
    well = compile_jobs(phases, progress, every=0.02)
    if everything:
        well = compile_wanted(progress) and well
    try:
        coal_library.build(into)
    except coal_library.NoLibrary as error:
        progress(f"coal is asked from Python, which gives the same numbers: {error}")
    if into:
        count, size = files.copy_into(into, _digests())
        progress(f"{count} files, {size / 1e6:.1f} MB in {into}")
    return well


def compile_wanted(progress, **options):
    """Compile what machine code may ask for later, and what that may ask for; returns whether all went well."""
    tried, well = set(), True
    while keys := set(files.wanted(_digests())) - tried:
        well = compile_jobs([[Job("kernel", key, 3) for key in sorted(keys)]], progress, **options) and well
        tried |= keys
    return well


@functools.cache
def compile_behind():
    """``compile_wanted`` behind everything else that this process does, once; it ends with the process."""
    if WORKER not in os.environ and not DISABLE_JIT and files.can_write():
        options = {"progress": lambda _line: None, "processes": 1, "niceness": 19}
        threading.Thread(target=compile_wanted, kwargs=options, daemon=True).start()


def _digests():
    return [source_digest(room) for room in ("", *ROOMS, STUDIES)]


def all_jobs():
    """Jobs of every feature: choices of scenes, contact coordinates, examples of public functions, scenes."""
    keys = ("friction_model", "integrator", "collision_scheme")
    choices = [dict(zip(keys, values)) for values in itertools.product(*(CHOICES[key] for key in keys))]
    scenes = [str(path) for path in sorted(Path(find_resource(LIBRARY)).glob("*.yaml")) if path.name != "node.yaml"]
    large = (Job("choices", json.dumps({"collision_scheme": "event"}), 90), Job("surfaces", functions=90),
             Job("choices", json.dumps({"integrator": "midpoint"}), 30), Job("examples", "studies", 90),
             *(Job("examples", room, 30) for room in ("solvers", "dynamics", "surfaces")))  # fmt: skip
    small = [Job("choices", json.dumps(chosen), 2) for chosen in choices] + [Job("library", path, 2) for path in scenes]
    return [STEP, (*WORLDS, *CAMERAS, *large), (*BENCHES, *small)]


# --- processes --------------------------------------------------------------------------------------


class Progress:
    """Share of the work that is done, and the time that is left, as lines of text."""

    def __init__(self, total, progress, every=0.1):
        self._total, self.say, self._every = total, progress, every
        self._start, self._said, self._jobs = time.perf_counter(), -1.0, {}
        self.failures = []  #: one sentence each
        self._lock = threading.Lock()

    def tell(self, job, functions):
        """So many functions of a job are compiled."""
        with self._lock:
            self._jobs[job] = min(functions, job.functions)
            share = min(sum(self._jobs.values()) / self._total, 0.99)
            if share < self._said + self._every:
                return
            self._said = share
            spent = time.perf_counter() - self._start
            bar = "#" * round(_WIDTH * share)
            left = f", {spent * (1.0 / share - 1.0):.0f} s left" if share > 0.03 else ""
            self.say(f"compiling [{bar:-<{_WIDTH}}] {share:.0%}{left} (first run only)")


def compile_jobs(phases, progress, processes=None, every=0.1, niceness=0):
    """Run jobs, phase after phase, those of a phase side by side; returns whether all went well.

    Parameters
    ----------
    phases : sequence of sequences of Job
    progress : callable
        Gets lines of text.
    processes : int, optional
        As many as there are processors.
    every : float
        Share of the work after which a line is due.
    niceness : int
        Of the processes.
    """
    if not sys.executable or DISABLE_JIT or WORKER in os.environ or not files.can_write():
        progress("compiling (first run only)")  # here, whatever is called
        return False
    bar = Progress(sum(job.functions for jobs in phases for job in jobs), progress, every)
    start, count = time.perf_counter(), 0
    for jobs in phases:
        left = queue.SimpleQueue()
        for job in jobs:
            left.put(job)
        workers = [_Worker(left, bar, niceness) for _ in range(min(len(jobs), processes or os.cpu_count() or 1))]
        try:
            count += sum(worker.wait() for worker in workers)
        finally:
            for worker in workers:
                worker.end()
    for failure in bar.failures:
        progress(failure)
    progress(f"compiled {count} functions in {time.perf_counter() - start:.0f} s")
    return not bar.failures


class _Worker:
    """A process that runs jobs, and the thread that hands them out."""

    def __init__(self, jobs, bar, niceness):
        self._jobs, self._bar, self._niceness, self._count, self._ended = jobs, bar, niceness, 0, False
        self._process = self._start()
        self._thread = threading.Thread(target=self._hand_out, daemon=True)
        self._thread.start()

    def _start(self):
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(self._niceness)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=child_environment() | {WORKER: "1"},
        )  # fmt: skip

    def _hand_out(self):
        with contextlib.suppress(ValueError):  # of a file that ``end`` has closed
            self._run()

    def _run(self):
        before = 0  # functions that the process had compiled
        while not self._ended:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps([job.kind, job.argument]) + "\n")
                self._process.stdin.flush()
            answer = {"functions": before}
            for line in self._process.stdout:
                answer = json.loads(line)
                self._bar.tell(job, job.functions if "done" in answer else answer["functions"] - before)
                if "done" in answer:
                    break
            self._count += answer["functions"] - before
            before = answer["functions"]
            if "done" not in answer:
                if self._ended:
                    return
                answer, before = {"failure": "the process that compiled it has ended"}, 0
                self._process.communicate()
                self._process = self._start()
            if answer["failure"]:
                self._bar.failures.append(f"{job.argument or job.kind}: {answer['failure']}")

    def wait(self):
        self._thread.join()
        return self._count

    def end(self):
        self._ended = True
        self._process.kill()
        self._thread.join()
        self._process.kill()
        self._process.communicate()

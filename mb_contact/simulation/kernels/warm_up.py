# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Compilation ahead of time: jobs that compile kernels into the cache, in a process for each processor.

Numba compiles under one lock, so other processors only help in other processes.  Each takes a job when it has done the
one before, and loads what others have compiled; the jobs that come first have few kernels in common.  The process that
waits takes the machine code from the cache, and is free for other things meanwhile.
"""

import functools
import itertools
import json
import os
import threading
from pathlib import Path

import numpy as np

from mb_contact.collision import coal_library
from mb_contact.compile import files
from mb_contact.compile.decorated import AS_IT_IS, is_kept
from mb_contact.compile.workers import WORKER, Job, run_jobs
from mb_contact.core.integrate import flow_step
from mb_contact.core.jit import ROOMS, STUDIES, source_digest
from mb_contact.errors import InputError
from mb_contact.model.resources import child_environment, find_resource
from mb_contact.model.scene import CHOICES
from mb_contact.types import SHAPE_CONE, SHAPE_CONVEX, SHAPE_CYLINDER, SHAPE_ELLIPSOID

LIBRARY = "package://mb_contact/config"
_PROGRAM = "from mb_contact.simulation.kernels.kernel_jobs import work; work()"

WITHOUT_CLOSED_FORM = (SHAPE_CYLINDER, SHAPE_CONE, SHAPE_ELLIPSOID, SHAPE_CONVEX)


#: kernels of every step: two processes that take them in this order hardly compile a function twice, and end together
STEP = (
    Job("stage", "assemble_problem", 46), Job("stage", "find_contacts", 77), Job("stage", "solve", 26),
    Job("stage", "conclude", 50), Job("stage", "find_near", 40), Job("stage", "assemble", 45),
    Job("stage", "settle", 20), Job("terms", functions=20), Job("stage", "smooth_dynamics", 10),
    *(Job("stage", name) for name in ("refresh", "begin_step", "saturate", "leave_out_passers", "whole")),
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
    return all(map(is_kept, (flow_step.long_step, flow_step.quick_step, flow_step.long_quick_step)))


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
    if scene.collision_engine == "coal" and not AS_IT_IS and WORKER not in os.environ:
        _build_narrow_phase(context.world.geoms.kind, progress)
    parts = {
        "the contact step": context.contact_step,
        f"the integrator {scene.integrator}": context.integrator,
        "the impact phase": context.impacts, "the event scheme": context.events,
    }  # fmt: skip
    missing = [name for name, part in parts.items() if part is not None and not is_kept(part.kernel)]
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
    if WORKER not in os.environ and not AS_IT_IS and files.can_write():
        options = {"progress": lambda _line: None, "processes": 1, "niceness": 19}
        threading.Thread(target=compile_wanted, kwargs=options, daemon=True).start()


def _digests():
    return [source_digest(room) for room in ("", *ROOMS, STUDIES)]


def all_jobs():
    """Jobs of every feature: choices of scenes, contact coordinates, examples of public functions, scenes."""
    keys = ("friction_model", "integrator", "collision_scheme")
    choices = [dict(zip(keys, values)) for values in itertools.product(*(CHOICES[key] for key in keys))]
    scenes = [str(path) for path in sorted(Path(find_resource(LIBRARY)).glob("*.yaml")) if path.name != "node.yaml"]
    large = (
        Job("choices", json.dumps({"collision_scheme": "event"}), 90), Job("surfaces", functions=90),
        Job("choices", json.dumps({"integrator": "midpoint"}), 30), Job("examples", "studies", 90),
        *(Job("examples", room, 30) for room in ("solvers", "dynamics", "surfaces", "model", "simulation")),
    )  # fmt: skip
    small = [Job("choices", json.dumps(chosen), 2) for chosen in choices] + [Job("library", path, 2) for path in scenes]
    return [STEP, (*WORLDS, *CAMERAS, *large), (*BENCHES, *small)]


def compile_jobs(phases, progress, processes=None, every=0.1, niceness=0):
    """``run_jobs`` with the jobs of ``kernel_jobs.py``."""
    return run_jobs(phases, _PROGRAM, child_environment(), progress, processes, every, niceness)

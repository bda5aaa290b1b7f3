# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Compilation ahead of time: what the jobs are, what is said meanwhile, what happens when one fails.

Covers compile/workers.py, simulation/kernels/kernel_jobs.py.
"""

from __future__ import annotations

import re

import pytest

from mb_contact.collision import coal_library
from mb_contact.compile import files
from mb_contact.compile.workers import Job, Progress
from mb_contact.errors import InputError
from mb_contact.model.scene import CHOICES, Pose, Primitive, Scene
from mb_contact.simulation.kernels import kernel_jobs, warm_up
from mb_contact.simulation.kernels.warm_up import compile_ahead, compile_jobs, compile_wanted
from mb_contact.simulation.simulator import Simulator


def test_the_jobs_have_every_choice_and_every_scene_of_the_library():
    jobs = [job for jobs in warm_up.all_jobs() for job in jobs]
    assert {job.kind for job in jobs} == set(kernel_jobs.KINDS) - {"kernel", "scene"}
    text = " ".join(job.argument for job in jobs)
    for key in ("friction_model", "integrator", "collision_scheme"):
        assert all(f'"{key}": "{choice}"' in text for choice in CHOICES[key])
    assert sum(job.kind == "library" for job in jobs) >= 20


def test_progress_tells_the_share_done_and_the_time_left():
    lines, jobs = [], (Job("motion", functions=30), Job("contacts", functions=70))
    progress = Progress(100, lines.append)
    for k in range(0, 40):
        progress.tell(jobs[0], k)
    for k in range(0, 71):
        progress.tell(jobs[1], k)
    shares = [int(re.search(r"(\d+)%", line)[1]) for line in lines]
    assert shares[0] == 0 and all(10 <= b - a <= 12 for a, b in zip(shares, shares[1:])) and shares[-1] >= 88
    assert all(" s left (first run only)" in line for line in lines[1:])
    assert lines[2].startswith("compiling [#####-------------------] 20%, ")


@pytest.mark.long
def test_what_fails_is_told_and_the_rest_is_done(tmp_path):
    lines = []
    missing = str(tmp_path / "missing.yaml")
    excluded = '{"friction_model": "viscous", "collision_scheme": "event"}'
    jobs = [Job("scene", missing), Job("library", "other.yaml"), Job("no such kind"), Job("choices", excluded)]
    assert not compile_jobs([jobs], lines.append, processes=2)
    assert any(line.startswith(f"{missing}: ") for line in lines)
    assert "no such kind: the process that compiled it has ended" in lines
    assert not [line for line in lines if "viscous" in line or "other.yaml" in line]
    assert lines[-1].startswith("compiled 0 functions in ")


@pytest.mark.long
def test_a_process_that_ends_takes_no_other_job_with_it():
    """Each process takes the jobs that are left; the next one is done by a new process."""
    lines = []
    assert not compile_jobs([[Job("no such kind"), Job("scene", "missing.yaml")]], lines.append, processes=1)
    failures = [line for line in lines if "compil" not in line or "has ended" in line]
    assert failures[0] == "no such kind: the process that compiled it has ended" and len(failures) == 2
    assert failures[1].startswith("missing.yaml: ") and "ended" not in failures[1]


@pytest.mark.parametrize("compiles", [True, False])
def test_what_may_be_asked_for_is_compiled_until_nothing_new_is(monkeypatch, compiles):
    """A function that is compiled may ask for others; one that cannot be compiled is tried once."""
    after, done = {"a": {"c"}, "b": set(), "c": {"d"}, "d": set()}, []

    def fake(phases, progress, **options):
        done.append(sorted(job.argument for job in phases[0]))
        return compiles

    def wanted(_digests):
        known = {"a", "b"}.union(*(after[key] for keys in done for key in keys))
        return known - {key for keys in done for key in keys if compiles}

    monkeypatch.setattr(warm_up, "compile_jobs", fake)
    monkeypatch.setattr(files, "wanted", wanted)
    assert compile_wanted(print) == compiles
    assert done == [["a", "b"], ["c"], ["d"]]


def test_where_nothing_can_be_kept_no_process_is_started(monkeypatch):
    lines = []
    monkeypatch.setattr(files, "can_write", lambda: False)
    assert not compile_jobs([[Job("no such kind")]], lines.append)
    assert lines == ["compiling (first run only)"]


def test_a_packages_kernels_are_for_a_level_of_cpus(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "target", lambda: "znver4-01234567")
    with pytest.raises(InputError, match="for x86-64-v3; this process compiles for znver4"):
        compile_ahead([], False, tmp_path, print)


@pytest.mark.parametrize("kind, size, built", [("cylinder", (0.1, 0.2), True), ("box", (0.1, 0.1, 0.1), False)])
def test_coals_narrow_phase_is_built_where_shapes_have_no_closed_form(monkeypatch, kind, size, built):
    """And a build that fails is told of, and stops nothing."""

    def build():
        raise coal_library.NoLibrary("the compiler is on holiday")

    lines = []
    monkeypatch.setattr(coal_library, "is_worth_a_try", lambda: True)
    monkeypatch.setattr(coal_library, "build", build)
    scene = Scene(primitives=(Primitive("thing", kind, size, Pose(), "free", 1.0),))
    assert Simulator(scene, progress=lines.append).step().certificate.contacts == 0
    assert any(line.endswith("the same numbers: the compiler is on holiday") for line in lines) == built


@pytest.mark.parametrize("job", [job for job in warm_up.STEP if job.kind == "stage"], ids=lambda job: job.argument)
def test_jobs_of_a_step_do_their_work(job):
    """The job of whole steps failed, and every start waited for it."""
    kernel_jobs.KINDS[job.kind](job.argument)

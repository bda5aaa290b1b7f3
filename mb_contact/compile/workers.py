# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Compilation ahead of time, by processes that take jobs: a side that hands them out, and one that does them.

Numba compiles under one lock, so other processors only help in other processes.  Each takes a job when it has done the
one before, and loads what others have compiled.
"""

import contextlib
import gc
import json
import os
import queue
import subprocess
import sys
import threading
import time
from functools import partial
from typing import NamedTuple

from mb_contact.compile import files
from mb_contact.compile.decorated import ALONE, AS_IT_IS

COMPILED = []
if not ALONE:
    from mb_contact.compile.dispatcher import COMPILED

WORKER = "MB_CONTACT_COMPILES"  #: in the environment of processes that compile: they start no further ones
_WIDTH = 24  #: of the progress bar


class Job(NamedTuple):
    """Something that compiles kernels: its kind and argument, and how many functions it compiles, about."""

    kind: str
    argument: str = ""
    functions: int = 1


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


def run_jobs(phases, program, environment, progress, processes=None, every=0.1, niceness=0):
    """Run jobs, phase after phase, those of a phase side by side; returns whether all went well.

    Parameters
    ----------
    phases : sequence of sequences of Job
    program : str
        Python that a process runs; it ends in ``serve``.
    environment : dict of str to str
        Its environment.
    progress : callable
        Gets lines of text.
    processes : int, optional
        As many as there are processors.
    every : float
        Share of the work after which a line is due.
    niceness : int
        Of the processes.
    """
    if not sys.executable or AS_IT_IS or WORKER in os.environ or not files.can_write():
        progress("compiling (first run only)")  # here, whatever is called
        return False
    bar = Progress(sum(job.functions for jobs in phases for job in jobs), progress, every)
    began, count = time.perf_counter(), 0
    start = partial(_start, f"import os; os.nice({niceness}); {program}", environment)
    for jobs in phases:
        left = queue.SimpleQueue()
        for job in jobs:
            left.put(job)
        workers = [_Worker(left, bar, start) for _ in range(min(len(jobs), processes or os.cpu_count() or 1))]
        try:
            count += sum(worker.wait() for worker in workers)
        finally:
            for worker in workers:
                worker.end()
    for failure in bar.failures:
        progress(failure)
    progress(f"compiled {count} functions in {time.perf_counter() - began:.0f} s")
    return not bar.failures


def _start(program, environment):
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, env=environment | {WORKER: "1"},
    )  # fmt: skip


class _Worker:
    """A process that runs jobs, and the thread that hands them out."""

    def __init__(self, jobs, bar, start):
        self._jobs, self._bar, self._start, self._count, self._ended = jobs, bar, start, 0, False
        self._process = start()
        self._thread = threading.Thread(target=self._hand_out, daemon=True)
        self._thread.start()

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


# --- the process that compiles ----------------------------------------------------------------------


def serve(kinds, optional, failures):
    """What a process runs: jobs as they come on its standard input; its lines say how many functions it compiled.

    Parameters
    ----------
    kinds : dict of str to callable
        What a job of each kind calls, with its argument.
    optional : collection of str
        Kinds of jobs that may fail.
    failures : class of Exception
        What says so.
    """
    gc.disable()  # of a compiler's many objects that costs an eighth of its time
    jobs = queue.Queue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    threading.Thread(target=_count, daemon=True).start()
    while True:
        kind, argument = jobs.get()
        try:
            kinds[kind](argument)
            failure = None
        except failures as error:
            failure = None if kind in optional else str(error)
        _answer(done=True, failure=failure)


def _answer(**more):
    """One line in one piece: two threads write."""
    os.write(1, (json.dumps({"functions": len(COMPILED), **more}) + "\n").encode())


def _listen(jobs):
    for line in sys.stdin:
        jobs.put(json.loads(line))
    os._exit(0)  # the process that waits needs no more, or is gone


def _count():
    while True:
        time.sleep(0.5)
        _answer()

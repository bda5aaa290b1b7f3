# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Run a simulator and collect what its steps were like; shared by heaps.py, never_stuck.py and drops.py.

The time of a step is the smaller of the wall time and the process time of ``Simulator.step``: other programs of the
machine can only add to the first, other threads of this one only to the second.
"""

from __future__ import annotations

import json
import platform
import time
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

import mb_contact as mb

SOLVED = 1e-10  #: residual up to which a step counts as solved [sqrt(N s m/s)]


@dataclass
class Record:
    """The steps of a run, one entry each, and how the run ended.

    Attributes
    ----------
    seconds, contacts, residual, newton, kinetic : list
        Time of a step [s], contact points, ``certificate.residual``, ``certificate.iterations``, kinetic energy [J].
    joints : list of float
        ``certificate.loop_residual``, the part of loops, gears and joint friction in ``residual``.
    solvers : list of str
        ``certificate.solver``.
    impacts : list of float
        Residual of each impact of the run, in the order of their steps.
    ended : str
        Why the run ended before its time; empty where it did not.
    failed : bool
        Whether a step raised an error or the run was cut off.
    """

    seconds: list = field(default_factory=list)
    contacts: list = field(default_factory=list)
    residual: list = field(default_factory=list)
    newton: list = field(default_factory=list)
    kinetic: list = field(default_factory=list)
    solvers: list = field(default_factory=list)
    joints: list = field(default_factory=list)
    impacts: list = field(default_factory=list)
    ended: str = ""
    failed: bool = False

    def add(self, seconds, step):
        """Append one step."""
        certificate = step.certificate
        self.seconds.append(seconds)
        self.contacts.append(certificate.contacts)
        self.residual.append(float(certificate.residual))
        self.newton.append(certificate.iterations)
        self.kinetic.append(float(certificate.kinetic_energy))
        self.solvers.append(certificate.solver)
        self.joints.append(float(certificate.loop_residual))
        self.impacts.extend(float(event.residual) for event in step.events)


def timed(work, *arguments):
    """(result, seconds): the smaller of wall time and process time of ``work(*arguments)``."""
    wall, process = time.perf_counter(), time.process_time()
    result = work(*arguments)
    process, wall = time.process_time() - process, time.perf_counter() - wall
    return result, min(wall, process)


def follow(sim, seconds, control=None, until=None, patience=np.inf):
    """Step a simulator.

    Parameters
    ----------
    sim : Simulator
    seconds : float
        Simulated time [s].
    control : callable, optional
        Gives the joint efforts of the next step; its time does not count.
    until : callable, optional
        Of the record so far; True ends the run.
    patience : float
        Wall time [s] after which the run is cut off; a step is never interrupted.

    Returns
    -------
    Record
    """
    record, start = Record(), time.perf_counter()
    for _ in range(round(seconds / sim.time_step)):
        try:
            step, spent = timed(sim.step, *(() if control is None else (control(),)))
        except mb.MbContactError as error:
            record.ended, record.failed = f"stopped at {sim.time:.3f} s: {error}", True
            break
        record.add(spent, step)
        if until is not None and until(record):
            break
        if time.perf_counter() - start > patience:
            record.ended, record.failed = f"cut off at {sim.time:.3f} s", True
            break
    return record


def statistics(record, chosen=slice(None), solved=SOLVED):
    """Numbers of the ``chosen`` steps (a slice or a mask) of a record, times in ms; None where there is no step.

    A step counts as solved up to the residual ``solved`` [sqrt(N s m/s)].
    """
    seconds, residual, newton, contacts = (
        np.array(values)[chosen] for values in (record.seconds, record.residual, record.newton, record.contacts)
    )
    solvers = np.array(record.solvers, dtype=object)[chosen]
    joints = np.array(record.joints)[chosen]
    some, ms = len(seconds) > 0, 1e3 * seconds
    wrong = ~(residual <= solved)  # a residual that is no number is not solved
    return {
        "steps": len(seconds),
        "contacts": int(contacts.max()) if some else 0,
        "unsolved": int(np.count_nonzero(wrong)),
        "unsolved_joints": int(np.count_nonzero(~(joints <= solved))),
        "unsolved_by": dict(Counter(solvers[wrong].tolist()).most_common()),
        "residual": float(residual.max()) if some else None,
        "median_ms": float(np.median(ms)) if some else None,
        "mean_ms": float(ms.mean()) if some else None,
        "most_ms": float(np.percentile(ms, 99.0)) if some else None,
        "worst_ms": float(ms.max()) if some else None,
        "newton_median": float(np.median(newton)) if some else None,
        "newton_most": float(np.percentile(newton, 99.0)) if some else None,
        "newton_worst": int(newton.max()) if some else None,
        "solvers": dict(Counter(solvers.tolist()).most_common()),
    }


def impact_statistics(record):
    """Number of impacts of a record, of unsolved ones, and their worst residual."""
    residual = np.array(record.impacts)
    unsolved = int(np.count_nonzero(~(residual <= SOLVED)))
    return {
        "impacts": len(residual),
        "impacts_unsolved": unsolved,
        "impact_residual": float(residual.max()) if len(residual) else None,
    }


def with_model(scene, friction_model):
    """The scene under a friction model; None leaves it as it is."""
    return scene if friction_model is None else replace(scene, friction_model=friction_model)


# --- options, tables, files -----------------------------------------------------------------------


def add_options(parser):
    """The options that the programs share."""
    parser.add_argument("--friction-model", metavar="MODEL",
                        help="coulomb_polyhedral or coulomb_cone; without it the default of Scene")  # fmt: skip
    parser.add_argument("--patience", type=float, default=300.0, metavar="S",
                        help="wall time after which a scene is cut off and has failed (%(default)s)")  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write all numbers to a file too")
    parser.add_argument("--quick", action="store_true", help="the smallest case only, in a few seconds")


def number(value, form="{:.3g}"):
    """Text of a number, - for none."""
    return "-" if value is None else form.format(value)


def counted(solvers):
    """Text of a count of solver names."""
    return ", ".join(f"{name} {count}" for name, count in solvers.items()) or "-"


def line(cells, widths):
    """A line of a plain table: the first cell to the left, the last one as long as it is."""
    first, *middle, last = cells
    padded = [f"{first:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(middle, widths[1:]))]
    return "  ".join([*padded, last])


def markdown(head, rows):
    """A table in Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def write_json(path, arguments, rows):
    """Options, machine and rows to a file; nothing without one."""
    if path is None:
        return
    options = {name: value for name, value in vars(arguments).items() if name != "json"}
    content = {"options": options, "machine": platform.platform(), "python": platform.python_version(), "rows": rows}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, default=str)
        file.write("\n")

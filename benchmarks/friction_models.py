# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The example's lift under each Coulomb model: what ended the steps, residuals, and the cost of a step.

    python benchmarks/friction_models.py [--seconds 5] [--markdown FILE]

Times are CPU times of the thread that steps, so other programs add little to them.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.bench import step as bench
from mb_contact.model.resources import find_resource

MODELS = ("coulomb_polyhedral", "coulomb_cone")


def lift(model, most):
    """Certificates and CPU seconds of the lift's steps up to ``most`` [s], and how far the box rose [m]."""
    scene = replace(mb.load_scene(find_resource(bench.SCENE)), friction_model=model)
    run = bench.Lift(scene)
    sim, start = run.simulator, run.simulator.link_pose("box")[0][2]
    certificates, seconds, highest = [], [], 0.0
    while sim.time < min(run.controller.reference.duration, most) - 1e-9:
        effort = run.effort()
        begin = time.thread_time()
        certificates.append(sim.step(effort).certificate)
        seconds.append(time.thread_time() - begin)
        highest = max(highest, sim.link_pose("box")[0][2] - start)
    return certificates, np.array(seconds), highest


def rows(model, certificates, seconds, highest):
    """Table rows: all steps, then by number of contacts."""
    residual = max(certificate.residual for certificate in certificates)
    solvers = Counter(certificate.solver for certificate in certificates)
    counts = np.array([certificate.contacts for certificate in certificates])
    rungs = ", ".join(f"{name} {count}" for name, count in solvers.most_common())
    head = [f"{residual:.0e}", f"{solvers['best_residual']}", f"{highest:.3f}", rungs]
    table = [[model, "all", f"{len(seconds)}", *_times(seconds), *head]]
    for contacts in sorted(set(counts.tolist())):
        chosen = seconds[counts == contacts]
        if len(chosen) >= 100:
            table.append([model, f"{contacts}", f"{len(chosen)}", *_times(chosen), "", "", "", ""])
    return table


def _times(seconds):
    return [f"{1e6 * x:.0f}" for x in (np.median(seconds), seconds.mean(), np.percentile(seconds, 99))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--seconds", type=float, default=np.inf, help="of the lift (default: all)")
    arguments = options_of(parser, seconds=0.3)
    table = [["model", "contacts", "steps", "median [us]", "mean [us]", "99 % [us]", "worst residual", "failed",
              "lifted [m]", "what ended the steps"]]  # fmt: skip
    table.append(["---"] * len(table[0]))
    for model in MODELS:
        table += rows(model, *lift(model, arguments.seconds))
    text = "\n".join("| " + " | ".join(row) + " |" for row in table)
    print(text)
    if arguments.markdown is not None:
        arguments.markdown.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

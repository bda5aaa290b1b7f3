# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Forward dynamics, mass matrix, inverse dynamics and operational-space compliance beside Pinocchio, in one run.

    python benchmarks/dynamics.py [--quick] [--plot FILE] [--markdown FILE] [--json FILE] [--csv FILE]

Every time is the least of interleaved repeats (ours, theirs, ours, theirs ...) of a loop over several states; the
results are compared before anything is timed.  docs/performance.md says more.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cases  # noqa: E402
import numpy as np  # noqa: E402
import ours  # noqa: E402
import peer  # noqa: E402
import report  # noqa: E402
from quick import need, options_of  # noqa: E402

CHAINS = (7, 30, 100, 300, 1000)
TOLERANCE = 1e-9  #: relative deviation that counts as the same number

#: our algorithm -> theirs; of several conventions of one algorithm the faster counts
PEERS = {
    "aba": {"aba": ("aba", "aba_local")},
    "crba": {"crba": ("crba", "crba_local")},
    "rnea": {"rnea": ("rnea",)},
    "oscm": {"computeDelassusMatrix": ("osim",), "PV-OSIMr": ("pv",), "damped inverse": ("inverse", "inverse_efpa")},
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=25, metavar="N", help="interleaved repeats (default: 25)")
    parser.add_argument("--seconds", type=float, default=0.002, metavar="T",
                        help="length of one timed loop (default: 0.002), shorter than a time slice")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains TEXT")
    parser.add_argument("--algorithms", nargs="+", choices=tuple(PEERS), default=tuple(PEERS), metavar="NAME",
                        help=f"of {', '.join(PEERS)}")
    parser.add_argument("--no-python", action="store_true", help="leave out the calls from Python")
    for name, text in (("plot", "log-log plot, an image file"), ("markdown", "the tables of docs/measurements"),
                       ("json", "all numbers"), ("csv", "all numbers")):
        parser.add_argument(f"--{name}", metavar="FILE", help=text)
    options = options_of(parser, repeats=2, seconds=0.001)
    if options.repeats < 1 or not options.seconds > 0.0:
        parser.error("--repeats must be 1 or more and --seconds greater than zero")
    return options


def all_cases(options, folder):
    """Chains, the dual arm, and the robots that are installed."""
    chains = [n for n in CHAINS if not options.quick or n <= 10]
    makers = [(f"chain {n}", lambda n=n: cases.chain(n, folder)) for n in chains]
    makers.append(("dual arm", cases.dual_arm))
    if not options.quick:
        makers += [(robot[0], lambda robot=robot: cases.robot(*robot)) for robot in cases.ROBOTS]
    for name, make in makers:
        if options.only in name:
            case = make()
            if case is not None:
                yield case


# --- one case ---------------------------------------------------------------------------------------


def measure(case, program, options):
    """Rows of the table: dictionaries with the times [s] of one algorithm and one of its peers."""
    compiled = peer.Program(program, case, options.folder) if program else None
    python = None if options.no_python or case.model.N > peer.PYTHON_DOFS else peer.Python(case)
    try:
        for algorithm in options.algorithms:
            entry = getattr(ours, f"ours_{algorithm}")(case)
            for name, variants in PEERS[algorithm].items():
                if compiled or (python and any(v in python.calls for v in variants)):
                    yield _row(case, algorithm, name, variants, entry, compiled, python, options)
    finally:
        if compiled:
            compiled.close()


def _row(case, algorithm, name, variants, entry, compiled, python, options):
    row = {"case": case.name, "bodies": case.model.n, "dof": case.model.N, "chain": case.bodies,
           "algorithm": algorithm, "peer": name, "rows": case.rows}
    deviations = _deviations(case, variants, entry, compiled, python)
    # of Pinocchio's two conventions WORLD can lose digits that LOCAL keeps: ours is judged by the nearer one
    row["deviation"], row["deviations"] = min(deviations.values()), deviations
    tolerance = 1e-4 if name == "damped inverse" else TOLERANCE  # the inverse loses the digits that 1/mu costs
    if row["deviation"] > tolerance:
        raise SystemExit(f"{case.name}: {algorithm} and {name} differ by {row['deviation']:.1e}: nothing to compare")
    if compiled:
        clocks = [lambda R: _loop_seconds(entry.loop, R)]
        clocks += [lambda R, v=v: compiled.seconds(v, R) for v in variants]
        mine, *theirs = _interleaved(clocks, options)
        row["ours"], row["theirs"] = mine, min(theirs)
        row["variant"] = variants[int(np.argmin(theirs))]
    if python and entry.call:
        calls = [python.calls[v] for v in variants if v in python.calls]
        if calls:
            times = _interleaved([lambda R, f=f: _call_seconds(f, R) for f in (entry.call, *calls)], options)
            row["ours_python"], row["theirs_python"] = times[0], min(times[1:])
    return row


def _deviations(case, variants, entry, compiled, python):
    """Worst difference of the results over all states, relative to the largest entry, for each of their variants.

    Both ways of calling them are compared.
    """
    sources = [(v, lambda s, v=v: compiled.value(v, s)) for v in variants if compiled]
    sources += [(v, lambda s, v=v: _full(v, python.calls[v](s))) for v in variants if python and v in python.calls]
    worst = {}
    for variant, source in sources:
        for s in range(len(case.states)):
            mine = entry.value(s)
            theirs = peer.expected(case, variant, s, source(s))
            if variant.startswith("inverse"):
                mine = np.linalg.inv(mine + peer.MU * np.eye(len(mine)))
            apart = float(np.abs(mine - theirs).max() / np.abs(mine).max())
            worst[variant] = max(worst.get(variant, 0.0), apart)
    return worst


def _full(name, A):
    """Pinocchio fills upper triangles only."""
    A = np.asarray(A)
    return A if A.ndim == 1 else np.triu(A) + np.triu(A, 1).T


def _interleaved(clocks, options):
    """Least seconds a call of each clock, measured in turn."""
    counts = []
    for clock in clocks:
        clock(cases.STATES)  # compiles, warms up
        R = cases.STATES
        while True:
            taken = clock(R)
            if taken > 0.2 * options.seconds:
                break
            R *= 4
        counts.append(max(cases.STATES, int(R * options.seconds / taken)))
    best = [np.inf] * len(clocks)
    for _ in range(options.repeats):
        for i, clock in enumerate(clocks):
            best[i] = min(best[i], clock(counts[i]) / counts[i])
    return best


def _loop_seconds(loop, R):
    start = perf_counter()
    loop(R)
    return perf_counter() - start


def _call_seconds(call, R):
    start = perf_counter()
    for r in range(R):
        call(r % cases.STATES)
    return perf_counter() - start


# --- all of them ------------------------------------------------------------------------------------


def main():
    need("pinocchio")
    options = arguments()
    program, why = None, "--quick builds none"
    try:
        program = None if options.quick else peer.build()
    except peer.NoProgram as reason:
        why = str(reason)
    rows = []
    with tempfile.TemporaryDirectory() as options.folder:
        for case in all_cases(options, options.folder):
            for row in measure(case, program, options):
                if not rows:
                    print(report.HEADER)
                print(report.line(row), flush=True)
                rows.append(row)
    if not rows:
        raise SystemExit(f"no case has '{options.only}' in its name")
    print("\n".join(["", *report.summary(rows, why)]))
    if options.markdown:
        Path(options.markdown).write_text(report.markdown(rows, why), encoding="utf-8")
    if options.json:
        Path(options.json).write_text(json.dumps({"machine": report.machine(), "rows": rows}, indent=1))
    if options.csv:
        Path(options.csv).write_text(report.csv(rows), encoding="utf-8")
    if options.plot:
        report.plot(rows, options.plot)


if __name__ == "__main__":
    main()

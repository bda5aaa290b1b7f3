# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact lcp``: a complementarity problem, or contact on friction cones, from a NumPy archive."""

import argparse
import zipfile

import numpy as np

from mb_contact.errors import InputError
from mb_contact.solvers import solve_friction, solve_lcp


def run_lcp(arguments: argparse.Namespace) -> int:
    """Solve the problem of a file and print z or the impulses; the exit code."""
    problem = _read_lcp(arguments.problem)
    if "mu" in problem:
        return _cone(problem, arguments)
    tolerance = 1e-9 if arguments.tolerance is None else arguments.tolerance
    result = solve_lcp(
        problem["M"],
        problem["q"],
        method=arguments.method or "lemke",
        tolerance=tolerance,
        lower=problem.get("lower"),
        upper=problem.get("upper"),
    )
    return _report("z", result.z, result, result.residual)


def _cone(problem, arguments):
    """A frictional contact problem: W (or M), q, mu."""
    if arguments.method not in (None, "cone"):
        raise InputError(f"there is no method '{arguments.method}' for contact with mu; choose cone")
    W = problem["W"] if "W" in problem else problem["M"]
    tolerance = 1e-8 if arguments.tolerance is None else arguments.tolerance
    result = solve_friction(W, problem["q"], problem["mu"], tolerance=tolerance)
    return _report("r", result.r, result, result.residual.relative)


def _report(name, values, result, residual):
    print(f"{name}          [" + ", ".join(f"{value:.12g}" for value in values) + "]")
    print(f"status     {result.status}")
    print(f"residual   {residual:.3e}")
    print(f"iterations {result.iterations}")
    return 0 if result.status == "solved" else 1


def _read_lcp(path):
    """The arrays of a NumPy archive: M and q, or W, q and mu."""
    try:
        archive = np.load(path, allow_pickle=False)
        if not hasattr(archive, "files"):
            raise InputError(f"{path} holds one array; it must be an .npz archive with M and q")
        with archive:
            matrix = "W" if "W" in archive.files and "mu" in archive.files else "M"
            missing = [name for name in (matrix, "q") if name not in archive.files]
            if missing:
                held = ", ".join(archive.files) or "nothing"
                raise InputError(f"{path} has no {' and no '.join(missing)}; it holds {held}")
            return {name: archive[name] for name in ("M", "W", "q", "mu", "lower", "upper") if name in archive.files}
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not an .npz archive of numbers; np.savez(file, M=M, q=q) writes one") from None

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Solvers beside each other: discrete friction problems on exact cones, and the speed of the linear ones.

    python benchmarks/solvers.py fc3d FOLDER [--peer-python /usr/bin/python3] [--limit 10000]
    python benchmarks/solvers.py speed
    python benchmarks/solvers.py hard [--count 50]

``fc3d`` reads every .npz of a folder (W, q, mu), makes W symmetric, and prints for each solver the natural residual
recomputed here, |r - P_K(r - (u + mu |u_T| n))| / max(1, |q|), its time (least of ``--repeats``) and its iterations.
``!`` marks a solver that claims success above 1e-8.  Peers: Siconos (Debian's python3-siconos; if this Python cannot
import it, ``--peer-python`` names one that can) and Pinocchio (PyPI ``pin``); what is not installed is left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from quick import options_of

TOLERANCE = 1e-8


def natural_residual(W, q, mu, r):
    """The judge of this table, in plain NumPy."""
    x = W @ r + q
    x = x.reshape(-1, 3).copy()
    x[:, 0] += mu * np.linalg.norm(x[:, 1:], axis=1)
    x = r.reshape(-1, 3) - x
    n, t = x[:, 0], np.linalg.norm(x[:, 1:], axis=1)
    p = np.zeros_like(x)
    inside, polar = t <= mu * n, mu * t <= -n
    p[inside] = x[inside]
    side = ~inside & ~polar
    a = (n[side] + mu[side] * t[side]) / (1.0 + mu[side] ** 2)
    p[side, 0] = a
    p[side, 1:] = (mu[side] * a / t[side])[:, None] * x[side, 1:]
    return np.linalg.norm(r - p.ravel()) / max(1.0, np.linalg.norm(q))


def read(path):
    with np.load(path) as d:
        return 0.5 * (d["W"] + d["W"].T), d["q"].copy(), d["mu"].copy()


def timed(repeats, run):
    """The last result and the least time."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - start)
        if best > 2.0:
            break
    return result, best


# --- solvers: (W, q, mu, limit, repeats) -> r, claims success, iterations, seconds -----------------------------------


def ours(W, q, mu, limit, repeats):
    import mb_contact as mb

    result, seconds = timed(repeats, lambda: mb.solve_friction(W, q, mu))
    return result.r, result.status == "solved", result.iterations, seconds


def siconos(name, function):
    def run(W, q, mu, limit, repeats):
        import siconos.numerics as sn

        def once():
            problem = sn.FrictionContactProblem(3, len(mu), np.asfortranarray(W), q.copy(), mu.copy())
            options = sn.SolverOptions(getattr(sn, "SICONOS_FRICTION_3D_" + name))
            options.dparam[sn.SICONOS_DPARAM_TOL] = TOLERANCE
            options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = limit
            r, u = np.zeros(len(q)), np.zeros(len(q))
            info = getattr(sn, function)(problem, r, u, options)
            info = info[0] if isinstance(info, (list, tuple)) else info
            return r, info == 0, int(options.iparam[sn.SICONOS_IPARAM_ITER_DONE])

        (r, claims, iterations), seconds = timed(repeats, once)
        return r, claims, iterations, seconds

    return run


def pinocchio(kind):
    def run(W, q, mu, limit, repeats):
        import pinocchio as pin

        order = np.arange(len(q)).reshape(-1, 3)[:, [1, 2, 0]].ravel()  # tangents first
        model = pin.Model()
        model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
        contacts, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for m in mu:
            contact = pin.PointContactConstraintModel(model, 1)
            contact.setFriction(float(m))
            contact.setCompliance(np.zeros(3))
            contacts.append(pin.ConstraintModel(contact))
            datas.append(contacts[len(contacts) - 1].createData())
        settings = getattr(pin, f"{kind}SolverSettings")()
        settings.max_iterations = limit
        for field in ("feasibility", "complementarity"):
            setattr(settings, f"absolute_{field}_tol", TOLERANCE)
            setattr(settings, f"relative_{field}_tol", 0.0)
        W_there, q_there = np.asfortranarray(W[np.ix_(order, order)]), q[order].copy()

        def once():
            solver = getattr(pin, f"{kind}ConstraintSolver")(len(q))
            result = getattr(pin, f"{kind}SolverResult")()
            solver.solve(pin.DelassusOperatorDense(W_there), q_there, contacts, datas, settings, result)
            return result

        result, seconds = timed(repeats, once)
        r = np.zeros(len(q))
        try:
            impulses = result.retrieveConstraintImpulses()
        except Exception:  # wants an array to fill
            impulses = np.zeros(len(q))
            result.retrieveConstraintImpulses(impulses)
        r[order] = np.asarray(impulses).ravel()
        return r, bool(result.converged), int(result.iterations), seconds

    return run


PEERS = {
    "Siconos NSGS": siconos("NSGS", "fc3d_nsgs"),
    "Siconos NSN-AC": siconos("NSN_AC", "fc3d_nonsmooth_Newton_AlartCurnier"),
    "Siconos ADMM": siconos("ADMM", "fc3d_admm"),
    "Pinocchio ADMM": pinocchio("ADMM"),
    "Pinocchio PGS": pinocchio("PGS"),
}


def one_peer(arguments):
    """Run one peer on one problem and print a line of JSON (in a process of its own: peers print and may crash)."""
    W, q, mu = read(arguments.path)
    r, claims, iterations, seconds = PEERS[arguments.peer](W, q, mu, arguments.limit, arguments.repeats)
    line = {"residual": natural_residual(W, q, mu, r), "claims": claims, "iterations": iterations, "seconds": seconds}
    print("\nRESULT " + json.dumps({k: (bool(v) if k == "claims" else float(v)) for k, v in line.items()}))


def ask_peer(python, peer, path, arguments):
    command = [python, __file__, "peer", str(path), "--peer", peer, "--limit", str(arguments.limit)]
    command += ["--repeats", str(arguments.repeats)]
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        return None
    lines = [line for line in out.stdout.splitlines() if line.startswith("RESULT ")]
    return json.loads(lines[-1][7:]) if lines else None


def available(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def fc3d(arguments):
    ours(np.eye(3), np.array([-1.0, 1.0, 0.0]), np.array([0.5]), 0, 1)  # compile
    pythons = {}
    for module, prefix in (("siconos.numerics", "Siconos"), ("pinocchio", "Pinocchio")):
        found = [p for p in (sys.executable, arguments.peer_python) if p and available(p, module)]
        if not found:
            print(f"{prefix} cannot be imported and is left out")
        pythons.update({peer: found[0] for peer in PEERS if peer.startswith(prefix) and found})
    print("| problem (contacts) | mb_contact | " + " | ".join(pythons) + " |")
    print("|---" * (2 + len(pythons)) + "|")
    failed = 0
    for path in sorted(Path(arguments.folder).glob("*.npz")):
        W, q, mu = read(path)
        r, claims, iterations, seconds = ours(W, q, mu, 0, arguments.repeats)
        cells = [cell(natural_residual(W, q, mu, r), claims, iterations, seconds)]
        failed += natural_residual(W, q, mu, r) > TOLERANCE
        for peer, python in pythons.items():
            result = ask_peer(python, peer, path, arguments)
            cells.append(cell(*(result[k] for k in ("residual", "claims", "iterations", "seconds"))) if result else "—")
        print(f"| {path.stem} ({len(mu)}) | " + " | ".join(cells) + " |", flush=True)
    return 1 if failed else 0


def cell(residual, claims, iterations, seconds):
    mark = "!" if claims and residual > TOLERANCE else ("" if residual <= TOLERANCE else " fails")
    return f"{residual:.0e}{mark}, {int(iterations)} it, {1e3 * seconds:.3g} ms"


# --- speed -----------------------------------------------------------------------------------------------------


def speed(arguments):
    sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
    lcp_speed()
    cone_speed()
    return 0


def lcp_speed():
    """The dual arm's size: four contacts, n_f = 4, 24 unknowns, 26 degrees of freedom; loops inside compiled code."""
    import numba

    import mb_contact as mb
    from mb_contact.core.lcp.box_pivoting import box_pivot
    from mb_contact.core.lcp.lemke import lemke
    from scenes.contact_problems import random_problem, written_out

    @numba.njit
    def cold(repeats, M, q, d, n, T, line, basis, nonbasis, place, z):
        for _ in range(repeats):
            lemke(M, q, d, n, T, line, basis, nonbasis, place, z, 1000)

    @numba.njit
    def pivot(repeats, start, M, q, lower, upper, n, state, work, z, w):
        for _ in range(repeats):
            for i in range(n):
                state[i] = start[i]
            box_pivot(M, q, lower, upper, n, state, work, z, w, 100)

    for name, problems in (
        ("the dual arm's tips on walls", dual_arm_problems()),
        ("random mechanisms", [written_out(random_problem(seed, 4, 0, 26, 4)).lcp() for seed in range(10)]),
    ):
        mean, worst = lcp_times(problems, cold, pivot, mb)
        print(f"24 unknowns (4 contacts, n_f = 4), {name}: us, mean and worst of {len(problems)} problems:")
        for method, a, b in zip(("Lemke cold", "block pivoting cold", "block pivoting warm"), mean, worst):
            print(f"  {method:22s} {a:6.2f} {b:6.2f}")


def dual_arm_problems(count=10):
    """(M, q) of J14 Eq. 53 for the dual arm: four fingertips that touch, in random directions, at random velocities."""
    from mb_contact import load_urdf
    from mb_contact.programs.bench.formulations import bench_problem
    from mb_contact.studies import StepProblem, formulate

    model = load_urdf(Path(__file__).parents[1] / "urdf" / "dual_arm.urdf")
    q, _, points, options = bench_problem(model, 4, 4)
    random = np.random.default_rng(1)
    found = []
    for _ in range(count):
        v = random.normal(scale=0.3, size=model.N)
        os = formulate(StepProblem(model, q, v, None, points, **options), "os")
        found.append((np.asarray(os.M, dtype=float), np.asarray(os.q, dtype=float)))
    return found


def lcp_times(problems, cold, pivot, mb):
    """Mean and worst time [us] of the three ways to solve each problem, unit diagonals."""
    rows, count = [], 200
    for M, q in problems:
        n = len(q)
        s = np.sqrt(np.where(np.diag(M) > 0.0, np.diag(M), 1.0))
        M, q = np.ascontiguousarray(M / np.outer(s, s)), q / s
        ints = [np.zeros(n, np.int64), np.zeros(n + 1, np.int64), np.zeros(n, np.int64)]
        lemke_work = (np.zeros((n, n + 2)), np.zeros(n + 2), *ints, np.zeros(n))
        box_work = (*np.zeros((2, n, n)), *np.zeros((2, n), np.int64), *np.zeros((3, n)))
        box_work = (np.zeros(n, np.int64), box_work, *np.zeros((2, n)))
        bounds = np.zeros(n), np.full(n, np.inf)
        active = mb.solve_lcp(M, q).active
        below = np.full(n, -1, np.int64)
        runs = (
            lambda m=M, p=q, k=n, w=lemke_work, c=count: cold(c, m, p, np.ones(k), k, *w),
            lambda m=M, p=q, k=n, w=box_work, a=below, b=bounds, c=count: pivot(c, a, m, p, *b, k, *w),
            lambda m=M, p=q, k=n, w=box_work, a=active, b=bounds, c=count: pivot(c, a, m, p, *b, k, *w),
        )
        for run in runs:
            run()  # compile
        rows.append([timed(20, run)[1] / count * 1e6 for run in runs])
    return np.mean(rows, axis=0), np.max(rows, axis=0)


def cone_speed():
    """100 contacts: a tower of 25 boxes (sparse W) and one mechanism of 36 degrees of freedom (dense W)."""
    import mb_contact as mb
    from scenes.cone_cases import mechanism, tower

    print("100 contacts on exact cones, ms of a call, and Newton steps:")
    for name, (W, q, n) in (("tower", tower(0, 25)), ("mechanism", mechanism(0, 100, 36))):
        mu, rng = np.full(n, 0.5), np.random.default_rng(0)
        near = q + 1e-3 * np.abs(q).max() * (W / np.abs(W).max()) @ rng.normal(size=len(q))
        mb.solve_friction(W, q, mu)  # compile
        first, cold = timed(5, lambda W=W, q=q, mu=mu: mb.solve_friction(W, q, mu))
        second, warm = timed(20, lambda W=W, q=near, mu=mu, r=first.r: mb.solve_friction(W, q, mu, warm=r))
        print(f"  {name:10s} cold {1e3 * cold:7.2f}, {first.iterations}   warm {1e3 * warm:6.2f}, {second.iterations}, "
              f"residual {second.residual.relative:.0e}")  # fmt: skip


# --- hard ------------------------------------------------------------------------------------------------------


def hard(arguments):
    """Random problems of test/scenes/cone_cases.py over friction coefficients; counts what is not solved."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
    import mb_contact as mb
    import scenes.cone_cases as cases

    families = {
        "tower, impacts": lambda s: cases.tower(s, boxes=15, noise=0.05),
        "tower, 3 x 3 contacts a face": lambda s: cases.tower(s, boxes=6, per_side=3, noise=0.02),
        "tower, masses 1 to 1e4": lambda s: cases.tower(s, boxes=10, ratio=1e4),
        "wall": lambda s: cases.wall(s, 4, 4, noise=0.02),
        "grasp, fingers 1e4": lambda s: cases.grasp(s, ratio=1e4),
        "pile": lambda s: cases.pile(s, 30),
        "mechanism": lambda s: cases.mechanism(s, 30, 12),
    }
    ours(np.eye(3), np.array([-1.0, 1.0, 0.0]), np.array([0.5]), 0, 1)  # compile
    print("| family | mu | solved | claimed wrongly | worst residual | Newton mean | worst | ms mean | worst |")
    print("|---" * 9 + "|")
    solved = problems = 0
    for name, make in families.items():
        for friction in (0.1, 0.5, 0.8, 1.2):
            claims, residuals, steps, times = [], [], [], []
            for seed in range(arguments.count):
                W, q, n = make(seed)
                mu = np.full(n, friction)
                start = time.perf_counter()
                result = mb.solve_friction(W, q, mu)
                times.append(1e3 * (time.perf_counter() - start))
                claims.append(result.status == "solved")
                residuals.append(natural_residual(W, q, mu, result.r))
                steps.append(result.iterations)
            claims, good = np.array(claims), np.array(residuals) <= TOLERANCE
            solved, problems = solved + int((claims & good).sum()), problems + len(good)
            print(
                f"| {name} | {friction} | {(claims & good).sum()} of {arguments.count} | {(claims & ~good).sum()} "
                f"| {max(residuals):.0e} | {np.mean(steps):.1f} | {max(steps)} | {np.mean(times):.2f} "
                f"| {np.max(times):.0f} |",
                flush=True,
            )
    print(f"{solved} of {problems} problems are solved")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command")
    table = commands.add_parser("fc3d", help="problems of a folder, beside Siconos and Pinocchio")
    table.add_argument("folder")
    table.add_argument("--peer-python", default="/usr/bin/python3", help="another Python to look for Siconos in")
    table.add_argument("--timeout", type=float, default=60.0, help="seconds for one peer and problem")
    peer = commands.add_parser("peer", help="one peer on one problem (used by fc3d)")
    peer.add_argument("path")
    peer.add_argument("--peer", choices=PEERS)
    for p in (table, peer):
        p.add_argument("--limit", type=int, default=10000, help="iterations of the peers")
        p.add_argument("--repeats", type=int, default=3)
    commands.add_parser("speed", help="24 unknowns as a linear problem; 100 contacts on cones")
    random = commands.add_parser("hard", help="random hard problems")
    random.add_argument("--count", type=int, default=50)
    arguments = options_of(parser, command="hard", count=1)
    if arguments.command is None:
        parser.error("choose fc3d, speed or hard")
    run = {"fc3d": fc3d, "peer": one_peer, "speed": speed, "hard": hard}[arguments.command]
    sys.exit(run(arguments))


if __name__ == "__main__":
    main()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cost of the no-slip model against the number of contacts: python benchmarks/no_slip_scaling.py

The four bodies of Drumwright's grasp (14 degrees of freedom) with n contacts spread over the three faces.
D15 promises O(m^3 + m^2 n); Lemke's algorithm on the problem of Stewart and Trinkle is cubic in n.
"""

import argparse
import time

import numpy as np
from quick import options_of

from mb_contact.core.solve.equality_rows import PICKED_ROWS
from mb_contact.programs.bench.grasp import DT, HALF, Grasp
from mb_contact.studies.drumwright.friction_system import RANK_TOLERANCE
from mb_contact.studies.drumwright.no_slip import no_slip_step
from mb_contact.studies.drumwright.point_contacts import point_contacts


def spread_contacts(grasp, n, seed=0):
    """n contacts at random points of the three faces."""
    rng = np.random.default_rng(seed)
    face = np.arange(n) % 3
    point = np.column_stack((2 * HALF * (face - 1), rng.uniform(-HALF, HALF, (n, 2))))
    point[:, 2] += 1.0
    return point_contacts(grasp.bodies[face], grasp.bodies[face + 1], point, np.tile([-1.0, 0, 0], (n, 1)))


def measure(n, repeats):
    """Least seconds of the compiled part and of the whole call; pivots; independent rows; residual."""
    grasp = Grasp()
    contacts = spread_contacts(grasp, n)
    solve, whole = [], []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        result = no_slip_step(grasp.system, grasp.q, grasp.v, grasp.effort, contacts, DT)
        middle = time.perf_counter()
        grasp.system.solve(RANK_TOLERANCE, ())
        solve.append(time.perf_counter() - middle)
        whole.append(middle - start)
    certificate = result.certificate
    return min(solve[1:]), min(whole[1:]), result.pivots, int(grasp.system.eq.info[PICKED_ROWS]), certificate


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=3000, help="most contacts (default: 3000)")
    parser.add_argument("--repeats", type=int, default=30)
    arguments = options_of(parser, most=36, repeats=2)
    heads = (("contacts", 9), ("solve us", 10), ("us/contact", 12), ("call us", 9), ("rank of X", 11), ("pivots", 8))
    print("".join(f"{text:>{width}}" for text, width in (*heads, ("residual", 10))))
    for n in (12, 36, 100, 300, 1000, 3000):
        if n <= arguments.most:
            solve, whole, pivots, rank, certificate = measure(n, arguments.repeats)
            print(
                f"{n:>9}{1e6 * solve:>10.0f}{1e6 * solve / n:>12.2f}{1e6 * whole:>9.0f}{rank:>11}{pivots:>8}"
                f"{certificate.residual / certificate.scale:>10.1e}",
                flush=True,
            )

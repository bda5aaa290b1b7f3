# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Energy in every step of random passive scenes: T(v+) - T(v_free) <= sum p_n v_push + 1e-10 T; impacts gain nothing.

    python benchmarks/fidelity_energy.py [--scenes 200] [--seconds 10] [--dt 0.001]

One line for every tenth scene, and the worst of all: (T(v+) - T(v_free) - sum p_n v_push) / T(v_free).
"""

from __future__ import annotations

import argparse
import sys
import time

from quick import options_of

from mb_contact.programs.bench.fidelity.energy import run_scene

ALLOWED = 1e-10


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--scenes", type=int, default=200, metavar="N", help="how many (default: 200)")
    parser.add_argument("--seconds", type=float, default=10.0, metavar="S", help="of each scene (default: 10)")
    parser.add_argument("--dt", type=float, default=1e-3, metavar="S", help="time step [s] (default: 0.001)")
    options = options_of(parser, scenes=2, seconds=0.2)
    start, worst, steps, pressed, residual, impacts, gained = time.perf_counter(), [], 0, 0, 0.0, 0, -float("inf")
    for seed in range(options.scenes):
        result = run_scene(seed, options.seconds, options.dt)
        worst.append(result.excess)
        steps += result.steps
        pressed += result.touched
        residual = max(residual, result.residual)
        impacts += result.impacts
        gained = max(gained, result.gained)
        if seed % 10 == 9:
            print(f"{seed + 1:4d} scenes, {time.perf_counter() - start:6.0f} s, worst excess {max(worst):.1e}, "
                  f"worst residual {residual:.1e}", flush=True)  # fmt: skip
    broken = sum(excess > ALLOWED for excess in worst)
    print(f"{options.scenes} scenes, {steps} steps, {pressed} with pressing contacts: worst excess {max(worst):.1e}, "
          f"worst residual {residual:.1e}, {broken} scenes over {ALLOWED:g}; {impacts} impacts with restitution, "
          f"largest change of energy {gained:.1e} J")  # fmt: skip
    return 1 if broken or gained > ALLOWED else 0


if __name__ == "__main__":
    sys.exit(main())

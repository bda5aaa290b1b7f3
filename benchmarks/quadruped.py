# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's quadruped, D15 Tables II and III: python benchmarks/quadruped.py [--seconds 10] [--feet soles|balls]"""

import argparse

from quick import options_of

from mb_contact.bench.quadruped import FEET, SECONDS, run_bench

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="simulated time of each run (default: 10)")
    parser.add_argument("--feet", choices=FEET, default="soles", help="soles on tiles, or balls on hills")
    options = options_of(parser, seconds=0.02)
    raise SystemExit(run_bench(options.seconds, feet=options.feet))

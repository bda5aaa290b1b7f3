# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's grasp: python benchmarks/grasp.py [--steps 100]"""

import argparse

from quick import options_of

from mb_contact.bench.grasp import STEPS, run_bench

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of 10 ms (default: 100)")
    raise SystemExit(run_bench(options_of(parser, steps=3).steps))

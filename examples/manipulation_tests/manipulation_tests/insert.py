# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A peg is let down into a hole: a spring pulls it along a ramp, with a force that is bounded.

    python insert.py

The same in C++: manipulation_tests_cpp/src/insert.cpp.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from squeeze import serve  # noqa: E402

JOINTS = ("x_joint", "y_joint", "z_joint")
SPEED, DEPTH = 0.06, 0.09  #: of the ramp [m/s], [m]
STIFFNESS, DAMPING = 800.0, 40.0  #: [N/m], [N s/m]
PUSH, WEIGHT = 25.0, 7.848  #: greatest force, and what the peg weighs [N]


def law(time, q, v):
    """Efforts (..., 3) [N] of the gantry, for positions and velocities (..., 3)."""
    target = -np.minimum(SPEED * time, DEPTH)
    pull = np.clip(STIFFNESS * (target - q[..., 2]) - DAMPING * v[..., 2], -PUSH, PUSH)
    return np.stack([np.zeros_like(pull), np.zeros_like(pull), pull + WEIGHT], axis=-1)


def main():
    """Insert until Ctrl-C."""
    return serve("insert", JOINTS, law)


if __name__ == "__main__":
    sys.exit(main())

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""benchmarks/formulation_stiffness.py runs, and finds what docs/formulation_stiffness.md says, on one small case."""

from __future__ import annotations

import subprocess
import sys

import pytest

from paths import ROOT

SCRIPT = ROOT / "benchmarks" / "formulation_stiffness.py"


def test_the_study_runs():
    pytest.importorskip("mpmath")
    command = [sys.executable, str(SCRIPT), "--draws", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=SCRIPT.parents[1], timeout=300)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    assert "1e+12" in done.stdout or "1e12" in done.stdout

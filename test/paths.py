# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Folders of the checkout, for tests at any depth."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "config"
DATA = ROOT / "test" / "data"
BENCHMARKS = ROOT / "benchmarks"

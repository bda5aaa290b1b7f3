# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Kernels are compiled before pytest-xdist starts its workers, which would each compile them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from paths import ROOT


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    """In the process that starts the workers, and in no worker."""
    option = session.config.option
    if getattr(option, "numprocesses", None) and not option.collectonly and not os.environ.get("NUMBA_DISABLE_JIT"):
        subprocess.run([sys.executable, "-m", "mb_contact.cli", "compile", "--all"], cwd=ROOT, check=False)

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
        subprocess.run([sys.executable, "-m", "mb_contact", "compile", "--all"], cwd=ROOT, check=False)


def pytest_collection_modifyitems(items):
    """Processes that find each other over DDS while other tests load the cores: they run once more, printed."""
    talking = [ROOT / "test" / room for room in ("ros", "programs/demo", "examples")]
    for item in items:
        if any(room in item.path.parents for room in talking):
            item.add_marker(pytest.mark.flaky(reruns=1))

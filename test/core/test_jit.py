# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""An edited kernel file never runs stale from Numba's cache (docs/design.md, "Kernel cache")."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from paths import ROOT

PACKAGE = ROOT / "mb_contact"

DECORATORS = {
    "ours": "from toy.core.jit import kernel",
    "plain": "import numba\nkernel = numba.njit(cache=True)",
}
LEAF = "{decorator}\n\n\n@kernel\ndef leaf(x):\n    return {factor}.0 * x\n"
CALLER = """{decorator}
from toy.core.tree.leaf import leaf
from toy.types import OFFSET


@kernel
def caller(x):
    return leaf(x) + OFFSET
"""
RUN = """
from toy.core.step.caller import caller
value = caller(1.0)
print(value, sum(caller.stats.cache_hits.values()))
"""


def make_package(root, decorator):
    """A package with our cache mechanism and two kernels in two files; returns its folder."""
    package = root / "toy"
    folders = [package / "core" / room for room in ("tree", "step")]
    for folder in folders:
        folder.mkdir(parents=True)
    for folder in (package, package / "core", *folders):
        (folder / "__init__.py").write_text("", encoding="utf-8")
    shutil.copy(PACKAGE / "core" / "jit.py", package / "core" / "jit.py")
    shutil.copytree(PACKAGE / "compile", package / "compile", ignore=shutil.ignore_patterns("__pycache__"))
    write_leaf(package, decorator, 2)
    write_types(package, 0)
    caller = CALLER.format(decorator=DECORATORS[decorator])
    (package / "core" / "step" / "caller.py").write_text(caller, encoding="utf-8")
    return package


def write_leaf(package, decorator, factor):
    text = LEAF.format(decorator=DECORATORS[decorator], factor=factor)
    (package / "core" / "tree" / "leaf.py").write_text(text, encoding="utf-8")


def write_types(package, offset):
    (package / "types.py").write_text(f"OFFSET = {offset}.0\n", encoding="utf-8")


def run_caller(package, code=RUN):
    """Value of caller(1.0) in a fresh process, and how many compilations the cache saved it."""
    cache = package.parent / "cache"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"MB_CONTACT_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=package.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert answer.returncode == 0, answer.stderr
    value, hits = answer.stdout.split()
    return float(value), int(hits)


@pytest.mark.long
def test_an_edited_kernel_file_never_runs_stale(tmp_path):
    package = make_package(tmp_path, "ours")
    assert run_caller(package) == (2.0, 0)
    assert run_caller(package) == (2.0, 1), "an unchanged package must come from the cache"
    write_leaf(package, "ours", 3)
    assert run_caller(package) == (3.0, 0), "the edited callee was not noticed"
    caller = package / "core" / "step" / "caller.py"
    caller.write_text(caller.read_text() + "# edited\n")
    leaf_alone = "from toy.core.tree.leaf import leaf; leaf(1.0); print(1, sum(leaf.stats.cache_hits.values()))"
    assert run_caller(package, leaf_alone) == (1.0, 1), "an edit of step/ leaves the kernels of tree/ compiled"
    write_types(package, 10)
    assert run_caller(package) == (13.0, 0), "the edited constant was not noticed"
    write_leaf(package, "ours", 2)
    write_types(package, 0)
    caller.write_text(caller.read_text().removesuffix("# edited\n"))
    assert run_caller(package) == (2.0, 1), "going back finds the first compilation again"


@pytest.mark.long
def test_plain_numba_runs_stale(tmp_path):
    """The fault that the mechanism is there for: without it the test above would fail."""
    package = make_package(tmp_path, "plain")
    assert run_caller(package) == (2.0, 0)
    write_leaf(package, "plain", 3)
    assert run_caller(package) == (2.0, 1)


@pytest.mark.nojit
def test_nojit_runs_the_same_functions_interpreted():
    from mb_contact.core.jit import kernel

    @kernel
    def twice(x):
        return 2 * x

    interpreted = os.environ.get("NUMBA_DISABLE_JIT") == "1"
    assert hasattr(twice, "py_func") != interpreted
    assert twice(1.5) == 3.0

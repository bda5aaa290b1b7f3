# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Functions compiled once, found again in other processes, at other places and under other CPUs' names.

Covers compile/place.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from paths import ROOT

KERNELS = '''
from numba import types
from toy.core.jit import kernel, on_demand, sweep


@sweep
def halved(x):
    return 0.5 * x


@kernel
def large(x):
    """More instructions than a caller takes over."""
    total = 0.0
{lines}
    return total


@kernel
def one(x):
    return large(x) + halved(x)


@kernel
def other(x):
    return large(x) - halved(x)


@sweep
def scaled(x):
    return 3.0 * large(x)


@kernel
def total(x):
    return scaled(x)


@kernel
def first(values):
    return large(values[0])


@kernel
def first_twice(values):
    return 2.0 * first(values)


@on_demand(types.UniTuple(types.float64, 2))
def rare(x, n):
    return large(x), n


@kernel
def cautious(x):
    return 2.0 * rare(x, 3)[0] + rare(x, 4)[1] if x > 1.0 else 0.0


@on_demand(types.float64)
def wrong(x):
    return x.missing


@kernel
def careless(x):
    return wrong(x) if x > 1.0 else 1.0


@kernel
def doubled(x):
    return 2.0 * one(x) + other(x)
'''
RUN = """
import json
import numba
from numba.core import event
compiled = event.RecordingListener()
with event.install_listener("numba:compile", compiled):
    from toy.core.tree import kernels
    from toy.compile.dispatcher import COMPILED
    values = [float(getattr(kernels, name)(2.0)) for name in {names}]
    total = {more}
starts = sum(record.is_start for _, record in compiled.buffer)
print(json.dumps([values, COMPILED, starts, total]))
"""
FIRST = ["doubled", "other", "halved"]
LARGE = sum((2.0 - k) / (2.0 + k) for k in range(1, 150))


def write_package(folder):
    """A package with our cache mechanism and kernels that call each other; returns its folder."""
    package = folder / "here" / "toy"
    folders = [package, package / "core", package / "core" / "tree"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("", encoding="utf-8")
    shutil.copy(ROOT / "mb_contact" / "core" / "jit.py", package / "core" / "jit.py")
    shutil.copytree(ROOT / "mb_contact" / "compile", package / "compile", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "types.py").write_text("", encoding="utf-8")
    lines = "\n".join(f"    total += (x - {k}.0) / (x + {k}.0)" for k in range(1, 150))
    (package / "core" / "tree" / "kernels.py").write_text(KERNELS.format(lines=lines), encoding="utf-8")
    return package


@pytest.fixture
def package(tmp_path):
    """Nothing of it is compiled."""
    return write_package(tmp_path)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """(package, what the process found that compiled some of its functions), for all tests here."""
    package = write_package(tmp_path_factory.mktemp("compiled"))
    return package, run(package, FIRST)


@pytest.fixture
def compiled_package(first_run, tmp_path):
    """A copy of that package, with the kernels that were kept."""
    shutil.copytree(first_run[0].parents[1], tmp_path, dirs_exist_ok=True)
    return tmp_path / "here" / "toy"


def run(package, names, cache="cache", more="0", **variables):
    """(values, names of what was compiled, compilations that Numba counts, more) in a fresh process."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"MB_CONTACT_CACHE_DIR": str(package.parents[1] / cache), "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", RUN.format(names=names, more=more)], cwd=package.parent, env=environment | variables,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.mark.long
def test_each_function_is_compiled_once_and_loaded_without_compiling(first_run, compiled_package):
    values, compiled, *_ = first_run[1]
    assert values == pytest.approx([3.0 * LARGE + 1.0, LARGE - 1.0, 1.0])
    assert len(compiled) == len(set(compiled))
    again, compiled, starts, _ = run(compiled_package, FIRST)
    assert again == values and compiled == [] and starts == 0
    _, compiled, *_ = run(compiled_package, ["doubled", "one"])
    assert compiled == ["core.tree.kernels.one-167.entry"], "a wrapper alone was missing"


@pytest.mark.long
def test_a_loaded_function_that_is_copied_brings_what_it_calls(package):
    """A wrapper of ``scaled`` is made from its stored code alone, and has to find ``large`` in the next process."""
    values = run(package, ["total"])[0]
    assert run(package, ["scaled"])[1] == ["core.tree.kernels.scaled-177.entry"]
    again, compiled, *_ = run(package, ["scaled"])
    assert compiled == [] and again == values == pytest.approx([3.0 * LARGE])


@pytest.mark.long
def test_a_wrapper_alone_takes_tuples(package):
    """Numba loads what it knows of their types when it compiles a function, and here none is compiled."""
    assert run(package, ["doubled"], more="kernels.first_twice((2.0, 1.0))")[3] == pytest.approx(2.0 * LARGE)
    value = run(package, ["doubled"], more="kernels.first((2.0, 1.0))")[3]
    assert value == pytest.approx(LARGE)


@pytest.mark.long
def test_a_large_function_is_machine_code_in_one_file_only(compiled_package):
    files = compiled_package.parents[1].rglob("*.kernel")
    sizes = {path.name.split("-")[0]: path.stat().st_size for path in files}
    assert sizes["core.tree.kernels.large"] > 1.5 * max(
        size for name, size in sizes.items() if name != "core.tree.kernels.large"
    )


@pytest.mark.long
def test_a_packages_kernels_load_at_another_place_and_under_another_cpus_name(compiled_package):
    whole = compiled_package.parents[1]
    moved = whole / "there" / "toy"
    shutil.copytree(compiled_package, moved)
    shutil.move(whole / "cache", moved / "kernels")
    for name in ("x86-64", "haswell"):
        values, compiled, starts, _ = run(moved, ["doubled"], cache="empty", NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES="")
        assert values == pytest.approx([3.0 * LARGE + 1.0]) and compiled == [] and starts == 0
    assert not (whole / "empty").exists(), "kernels that travel with the package are read only"


@pytest.mark.long
def test_what_is_missing_or_damaged_is_compiled_again(first_run, compiled_package):
    values = first_run[1][0][:1]
    (path,) = compiled_package.parents[1].rglob("core.tree.kernels.large-*.kernel")
    whole = path.read_bytes()
    for damaged in (None, whole[:1000], b""):
        path.unlink() if damaged is None else path.write_bytes(damaged)
        again, compiled, *_ = run(compiled_package, ["doubled"])
        assert again == values and "core.tree.kernels.large-11" in compiled
        assert len(path.read_bytes()) == len(whole), "and kept again"


@pytest.mark.long
def test_an_entry_that_is_asked_for_is_compiled(package):
    """As steps ask for theirs, where nothing was compiled ahead: a folder that cannot be written, say."""
    more = "__import__('toy.compile.decorated').compile.decorated.entry_for(kernels.doubled, 2.0)(2.0)"
    for _ in range(2):
        assert run(package, [], more=more)[3] == pytest.approx(3.0 * LARGE + 1.0)


@pytest.mark.long
def test_another_compiled_function_calls_a_kernel_that_was_loaded(compiled_package):
    more = "numba.njit(lambda x: kernels.doubled(x))(2.0)"
    assert run(compiled_package, ["doubled"], more=more)[3] == pytest.approx(3.0 * LARGE + 1.0)


@pytest.mark.long
def test_a_function_on_demand_is_compiled_when_it_is_first_called(package):
    """By whoever runs into it: the process that compiled its caller, or one that has loaded it as machine code."""
    assert not {"rare", "large"} & names_of(run(package, [], more="kernels.cautious(0.0)")[1])
    values, compiled, *_ = run(package, ["cautious"])
    assert values == pytest.approx([2.0 * LARGE + 4.0]) and names_of(compiled) == {"rare", "large"}
    again, compiled, starts, _ = run(package, ["cautious"])
    assert again == values and compiled == [] and starts == 0
    assert run(package, ["cautious", "cautious"], cache="another")[0] == [*values, *values], "all in one process"


@pytest.mark.long
def test_a_function_on_demand_that_cannot_be_compiled_is_an_error_of_its_caller(package):
    with pytest.raises(AssertionError, match="RuntimeError: .*wrong-.* cannot be compiled"):
        run(package, ["careless"])
    assert run(package, [], more="kernels.careless(0.0)")[3] == 1.0


def names_of(compiled):
    return {name.split(".")[-1].split("-")[0] for name in compiled}

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Each file of the package has a test of its name, or one whose docstring names it (test/covers.py)."""

from __future__ import annotations

from pathlib import PurePath

import pytest

import covers

pytestmark = pytest.mark.quick


def test_each_file_has_its_test():
    tests = covers.all_tests()
    missing = [str(file) for file in covers.package_files() if not covers.tests_of(file, tests)]
    assert not missing, f"a test of this name, or a last line 'Covers FILE.' in a test's docstring: {missing}"


def test_what_tests_name_is_there():
    files, tests = covers.package_files(), covers.all_tests()
    named = [(test.name, pattern) for test in tests for pattern in covers.covers(test)]
    assert len(named) > 200
    assert not [pair for pair in named if not any(covers.fnmatch(file.as_posix(), pair[1]) for file in files)]


@pytest.mark.parametrize(
    ("test", "file", "found"),
    [
        ("core/solve/test_newton.py", "core/solve/newton.py", True),
        ("simulation/test_pads.py", "simulation/sensors/pads.py", True),  # a theme within a room
        ("surfaces/test_tree.py", "core/tree.py", False),
        ("core/solve/test_newton.py", "core/newton.py", False),
        ("test_cli.py", "cli.py", True),
        ("test_check.py", "programs/check.py", False),  # no higher than its room
        ("core/solve/test_newton.py", "core/solve/newton_step.py", False),
    ],
)
def test_names_that_go_with_each_other(test, file, found):
    assert covers.is_of_its_name(PurePath(test), PurePath(file)) is found


def test_a_change_asks_for_the_tests_that_cover_it():
    found = covers.tests_of(PurePath("core/solve/nodes.py"), covers.all_tests())
    assert [test.name for test in found] == ["test_by_nodes.py"]
    several = covers.tests_of(PurePath("core/gradients/adjoint.py"), covers.all_tests())
    assert {test.name for test in several} == {"test_rollout.py", "test_step.py"}  # by name and by pattern


def test_the_command_prints_the_tests_of_what_has_changed(monkeypatch, capsys):
    changed = [covers.PACKAGE / "core/solve/nodes.py", covers.TESTS / "test_covers.py", covers.ROOT / "README.md"]
    monkeypatch.setattr(covers, "changed_files", lambda: changed)
    covers.main()
    assert capsys.readouterr().out == "test/core/solve/test_by_nodes.py\ntest/test_covers.py\n"

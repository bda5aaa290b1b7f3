# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Public names: where they stand, what a type checker sees of them, what former ones say."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mb_contact as mb

PACKAGE = Path(mb.__file__).parent
FORMER = [(room, name) for room, names in mb._MOVED.items() for name in names]


def exported(stub):
    """``__all__`` of a stub, as a type checker reads it."""
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)


@pytest.mark.parametrize("stub", sorted(PACKAGE.rglob("*.pyi")), ids=lambda stub: stub.parent.name)
def test_stubs_name_what_the_packages_have(stub):
    name = ".".join(stub.parent.relative_to(PACKAGE.parent).parts)
    package = importlib.import_module(name)
    assert sorted(exported(stub)) == sorted(package.__all__) == sorted(dir(package))
    assert all(hasattr(package, public) for public in package.__all__)
    imported = {
        (node.module, alias.name)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for module, public in imported:
        assert getattr(importlib.import_module(module), public) is getattr(package, public)


def test_the_top_level_is_small():
    assert len(mb.__all__) <= 43


@pytest.mark.parametrize("room, name", FORMER, ids=[name for _, name in FORMER])
def test_former_names_work_and_say_where_they_are(room, name):
    message = rf"mb_contact\.{name} has moved: use mb_contact\.{room}\.{name}$"
    with pytest.warns(DeprecationWarning, match=message) as seen:
        value = getattr(mb, name)
    assert seen[0].filename == __file__
    assert value is getattr(getattr(mb, room), name)


@pytest.mark.parametrize("package, name, place", [
    (package, name, f"{room}.{new}")
    for package, room in ((mb, "mb_contact"), (mb.studies, "mb_contact.studies"))
    for name, new in package._RENAMED.items()
])
def test_names_that_changed_work_and_say_the_new_one(package, name, place):
    message = f"^{re.escape(f'{package.__name__}.{name} has moved: use {place}')}$"
    with pytest.warns(DeprecationWarning, match=message):
        former = getattr(package, name)
    module, _, new = place.rpartition(".")
    assert former is getattr(importlib.import_module(module), new)


def former_fields():
    """(object, former name, name) of each field and method that has another name now."""
    problem = mb.studies.ContactProblem(np.eye(1), np.ones(1), np.zeros(1), np.array([1]), 4, np.zeros(1), np.zeros(1))
    yield mb.solvers.ConeLayout.contacts([0.5]), "units", "blocks"
    yield problem, "cones", "blocks"
    yield mb.studies.certify(problem), "worst_unit", "worst_block"
    yield mb.studies.FrictionSystem(mb.build_world(mb.pendulum(1).scene())), "judge", "certify"


def test_fields_that_changed_work_and_say_the_new_one():
    for instance, former, name in former_fields():
        owner = type(instance).__name__
        with pytest.warns(DeprecationWarning, match=rf"^{owner}\.{former} is now {owner}\.{name}$") as seen:
            assert getattr(instance, former) == getattr(instance, name)
        assert seen[0].filename == __file__


def test_the_former_module_of_sko_models_works_and_says_where_it_is():
    sys.modules.pop("mb_contact.sko", None)
    with pytest.warns(DeprecationWarning, match=r"mb_contact\.sko has moved: use mb_contact\.studies\.sko$"):
        former = importlib.import_module("mb_contact.sko")
    assert former.__all__ == mb.studies.sko.__all__
    assert all(getattr(former, name) is getattr(mb.studies.sko, name) for name in former.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'mb_contact' has no attribute 'simulater'"):
        mb.simulater()


def test_a_simulation_imports_no_study():
    code = "import sys, mb_contact as mb; mb.Simulator; print([m for m in sys.modules if 'studies' in m])"
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert answer.stdout == "[]\n"

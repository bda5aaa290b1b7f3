# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Public names: where they stand, what a type checker sees of them.

Covers lazy.py.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mb_contact as mb

pytestmark = pytest.mark.quick

PACKAGE = Path(mb.__file__).parent


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
    assert len(mb.__all__) <= 48


def test_what_examples_take_of_the_model_is_public():
    files = [*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "docs").rglob("*.md")]
    named = {name for file in files for name in re.findall(r"\bmb\.model\.(\w+)", file.read_text(encoding="utf-8"))}
    assert "Primitive" in named and not named - set(mb.model.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'mb_contact' has no attribute 'simulater'"):
        mb.simulater()


def test_a_simulation_imports_no_study():
    code = "import sys, mb_contact as mb; mb.Simulator; print([m for m in sys.modules if 'studies' in m])"
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert answer.stdout == "[]\n"

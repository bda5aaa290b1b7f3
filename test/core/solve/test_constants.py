# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The table of the solver's constants names those that the code has, with their values (core/solve)."""

from __future__ import annotations

import ast
import re

import pytest

from paths import ROOT

pytestmark = pytest.mark.quick

PAGE = ROOT / "docs" / "measurements" / "solver_constants.md"
ROW = re.compile(r"^\| `(\w+)\.(\w+)` \| (\S+) \|", re.MULTILINE)


def constants(module):
    """Numbers that a module of core/solve names, by their names."""
    tree, found = ast.parse((ROOT / "mb_contact" / "core" / "solve" / f"{module}.py").read_text(encoding="utf-8")), {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = zip(target.elts, value.elts) if isinstance(value, ast.Tuple) else [(target, value)]
            found |= {name.id: number.value for name, number in pairs if isinstance(number, ast.Constant)}
    return found


def test_the_table_has_the_code_s_constants():
    told = {}
    for module, name, value in ROW.findall(PAGE.read_text(encoding="utf-8")):
        told.setdefault(module, {})[name] = float(value)
    assert len(told) == 10
    for module, values in told.items():
        own = constants(module)
        assert {name: own.get(name) for name in values} == values, module
        missing = {name for name, value in own.items() if isinstance(value, float)} - set(values)
        assert not missing, f"{PAGE.name} lacks {sorted(missing)} of {module}.py"

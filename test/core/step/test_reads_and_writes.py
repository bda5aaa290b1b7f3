# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the stages of a step say that they read and write of its handle is what their code does (core/step)."""

from __future__ import annotations

import ast

import pytest

from oracles.handle_fields import fields, module, sentence, stages
from paths import ROOT

pytestmark = pytest.mark.quick

FILES = sorted((ROOT / "mb_contact" / "core" / "step").glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_docstrings_name_the_fields(file):
    home = f"mb_contact.core.step.{file.stem}"
    for name in stages(home):
        said = " ".join(ast.get_docstring(module(home)[0][name]).split())
        assert " ".join(sentence(home, name).split()) in said, f"{home}.{name}: {sentence(home, name)}"


def test_fields_are_followed_through_names_tuples_rows_and_calls():
    assert fields("mb_contact.core.step.closing", "keep_state") == [["gravity", "q", "v"], ["work"]]
    assert fields("mb_contact.core.step.sleep", "hold_coordinates") == [["sleep", "work"], ["q"]]
    reads, writes = fields("mb_contact.core.step.problem", "start_phase")
    assert reads == writes == ["system"]
    assert "rows" in fields("mb_contact.core.step.assemble", "assemble")[1]  # by kernels of core/constraints

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's grasp as a command; test/studies/drumwright/test_scenes.py has its figures."""

from __future__ import annotations

from mb_contact import cli


def test_the_command_prints_a_line_for_each_method(capsys):
    assert cli.main(["bench", "grasp", "--steps", "3"]) == 0
    text = capsys.readouterr().out
    assert all(method in text for method in ("no-slip, modified PPM", "36 prescribed contacts, 3 steps"))

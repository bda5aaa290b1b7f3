# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The blocks of docs/howto run: Python in one namespace a page, `mb-contact new` too."""

from __future__ import annotations

import re
import shlex

import pytest

from mb_contact import cli
from paths import ROOT

PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
BLOCK = re.compile(r"^```(python)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names, ran = {"__name__": page.stem}, 0
    for found in BLOCK.finditer(text):
        if found[1]:
            line = text.count("\n", 0, found.start(2))
            exec(compile("\n" * line + found[2], str(page), "exec"), names)  # noqa: S102 (the page's own code)
            ran += 1
            continue
        for command in found[2].splitlines():
            words = shlex.split(command)
            if words[:2] == ["mb-contact", "new"] and not PLACEHOLDER.search(command):
                assert cli.main(words[1:]) == 0, command
    assert ran, "the page has no block of Python"

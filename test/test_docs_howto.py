# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The blocks of docs/howto run: Python in one namespace a page, files by their names, `mb-contact new` and `test`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mb_contact import cli
from paths import ROOT

PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
BLOCK = re.compile(r"^```(python|yaml|xml)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:#|<!--) ([\w/]+\.(?:py|yaml|sdf))(?: -->)?\n")  # first line of a block that is a file
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names, ran = {"__name__": page.stem}, 0
    for found in BLOCK.finditer(text):
        if file := FILE.match(found[2]):
            Path(file[1]).write_text(found[2], encoding="utf-8")
        elif found[1] == "python":
            line = text.count("\n", 0, found.start(2))
            exec(compile("\n" * line + found[2], str(page), "exec"), names)  # noqa: S102 (the page's own code)
            ran += 1
        elif not found[1]:
            ran += sum(map(run, found[2].splitlines()))
    assert ran, "the page has no block that runs"


def run(command):
    """Whether a command is one of those that run here; it has to end with 0."""
    words = shlex.split(command)
    if words[:1] != ["mb-contact"] or words[1] not in ("new", "test") or PLACEHOLDER.search(command):
        return False
    assert cli.main(words[1:]) == 0, command
    return True

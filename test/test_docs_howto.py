# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The Python blocks of docs/howto run, those of one page one after the other in one namespace."""

from __future__ import annotations

import re

import pytest

from paths import ROOT

PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names = {"__name__": page.stem}
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start(1))
        exec(compile("\n" * line + found[1], str(page), "exec"), names)  # noqa: S102 (the page's own code)
    assert len(names) > 2, "the page has no block"

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Every source file names its owner and licence in its first lines."""

from __future__ import annotations

import pytest

from paths import ROOT

pytestmark = pytest.mark.quick

FOLDERS = (".ci", ".github", "benchmarks", "config", "examples", "launch", "mb_contact", "test", "urdf")
SUFFIXES = {".py", ".urdf", ".xacro", ".srdf", ".xml", ".yaml", ".yml", ".toml", ".cfg", ".cff", ".sh", ".js",
            ".cpp"}
NAMES = {"Makefile", "run"}
HEADER = ("Copyright 2026 The mb_contact authors", "SPDX-License-Identifier: Apache-2.0")
FIRST_LINES = 8  # room for a shebang, an XML declaration and the banner that xacro writes


def source_files():
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    files = inside + [path for path in ROOT.iterdir() if path.is_file()]
    return sorted(
        path
        for path in files
        if (path.suffix in SUFFIXES or path.name in NAMES) and "node_modules" not in path.parts
    )


def has_header(path):
    with path.open(encoding="utf-8") as file:
        head = [file.readline() for _ in range(FIRST_LINES)]
    return all(any(text in line for line in head) for text in HEADER)


def test_every_source_file_has_the_header():
    files = source_files()
    assert len(files) > 20
    missing = [str(path.relative_to(ROOT)) for path in files if not has_header(path)]
    assert not missing, f"without the two header lines: {missing}"


@pytest.mark.parametrize("text", ["", f"# {HEADER[0]}\n", "\n" * FIRST_LINES + "\n".join(HEADER)])
def test_a_missing_header_is_seen(tmp_path, text):
    file = tmp_path / "module.py"
    file.write_text(text, encoding="utf-8")
    assert not has_header(file)


def test_the_licence_text_is_the_whole_one():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text and "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text

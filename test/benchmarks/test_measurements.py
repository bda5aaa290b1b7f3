# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The logs in docs/measurements/ say when, where and by which command they were made."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from paths import BENCHMARKS, ROOT

PAGES = ROOT / "docs" / "measurements"
#: pages of programs that write them themselves, or that need files of other repositories
OTHERS = {"index", "by_hand", "collision", "control", "drumwright", "fidelity", "fidelity_settings", "flows",
          "formulation_stiffness", "fuzz", "heaps", "loops", "menagerie", "objects", "peers", "push_to_pose", "robots",
          "sensors", "solver_constants", "solvers", "surfaces", "urdf_files", "verified_on", "wheel",
          "worlds"}  # fmt: skip


@pytest.fixture(scope="module")
def program():
    """The names of benchmarks/measurements.py."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return runpy.run_path(str(BENCHMARKS / "measurements.py"))
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_pages_and_measurements_are_the_same(program):
    assert {page.stem for page in PAGES.glob("*.md")} - OTHERS <= set(program["MEASUREMENTS"])


@pytest.mark.parametrize("page", sorted(page for page in PAGES.glob("*.md") if page.stem not in OTHERS), ids=str)
def test_a_page_has_its_date_machine_and_command(program, page):
    text, measurement = page.read_text(encoding="utf-8"), program["MEASUREMENTS"][page.stem]
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \|$", text, re.MULTILINE))
    assert text.startswith(f"# {measurement.title}\n") and rows["command"] == f"`{measurement.command}`"
    assert rows["date"].count("-") == 2 and "cores" in rows["machine"] and "Python" in rows["versions"]
    assert len(text.split("| versions |")[1].splitlines()) > 3  # and figures


@pytest.mark.parametrize("name", sorted(OTHERS - {"index"}))
def test_other_pages_say_when_and_where_too(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", text) and re.search(r"\bcores?\b", text)


def test_explanations_are_there(program):
    for measurement in program["MEASUREMENTS"].values():
        page, _, anchor = measurement.explained.partition("#")
        heads = [line.lstrip("# ").lower().replace(" ", "-").replace("'", "") for line in
                 (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines() if line.startswith("#")]  # fmt: skip
        assert not anchor or anchor in heads, measurement.explained


def test_a_program_that_fails_leaves_its_page(program, tmp_path, monkeypatch, capsys):
    """Exit code 1, and nothing is written."""
    main = program["main"]
    monkeypatch.setitem(main.__globals__, "run", lambda *_: (1, "", None, "it broke"))
    monkeypatch.setattr(sys, "argv", ["measurements.py", "--only", "isotropy", "--out", str(tmp_path)])
    assert main() == 1 and "isotropy: it broke" in capsys.readouterr().err and not list(tmp_path.iterdir())
    monkeypatch.setitem(main.__globals__, "run", lambda *_: (77, "", None, "no peer here"))
    assert main() == 0 and not list(tmp_path.iterdir())
    monkeypatch.setitem(main.__globals__, "run", lambda *_: (0, "42", None, ""))
    assert main() == 0 and "```text\n42\n```" in (tmp_path / "isotropy.md").read_text(encoding="utf-8")

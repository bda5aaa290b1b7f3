# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The marked figures of the docs are those that their commands print (benchmarks/figures.py says how marks are read).

Commands whose mark says ``quick`` run here, the others with the slow tests.
"""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from paths import BENCHMARKS, ROOT

sys.path.insert(0, str(BENCHMARKS))
try:
    FIGURES = runpy.run_path(str(BENCHMARKS / "figures.py"))
finally:
    sys.path.remove(str(BENCHMARKS))
MARKS = [mark for page in FIGURES["PAGES"] for mark in FIGURES["marks_of"](page)]
COMMANDS = FIGURES["commands_of"](MARKS)
#: pages whose tables all have a mark, but for those without figures: definitions, equations, names of files
MARKED = ("integrators", "impacts", "formulations", "pendulum", "papers")
DEFINITIONS = {
    "| integrator | order |", "| phase | problem |", "| | as |", "| | J14 | unknowns |", "| | J14 | J12 as printed |",
}  # fmt: skip


@pytest.mark.parametrize(
    "command", [pytest.param(c, marks=() if quick else pytest.mark.slow) for c, (_, quick) in COMMANDS.items()]
)
def test_the_command_prints_these_figures(command):
    code, output, _, errors = FIGURES["run"](command)
    if code == 77:
        pytest.skip(errors.splitlines()[-1])
    assert code == 0, errors or output
    assert not FIGURES["check"](command, COMMANDS[command][0], output)


@pytest.mark.parametrize("name", MARKED)
def test_every_table_has_a_mark(name):
    page = ROOT / "docs" / f"{name}.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    inside = {i for mark in MARKS if mark.page == page for i in range(mark.first, mark.end)}
    tables = [i for i, line in enumerate(lines) if re.match(r"\|[ |:-]*---", line)]
    blocks = [i + 1 for i, line in enumerate(lines) if line == "```text"]
    bare = [lines[i - 1] for i in (*tables, *blocks) if i not in inside]
    assert not [head for head in bare if not any(head.startswith(known) for known in DEFINITIONS)]


def test_bounds_of_the_papers_stand_in_the_tests_beside_them():
    rows = [line.split(" | ") for line in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").splitlines()]
    rows = [(re.search(r"pytest (test/[\w/.]+)", row[3]), row[4]) for row in rows if len(row) == 5]
    assert sum(found is not None for found, _ in rows) > 30
    for found, figure in rows:
        for bound in re.findall(r"\b\d+e-\d+\b", figure if found else ""):
            assert bound in (ROOT / found[1]).read_text(encoding="utf-8"), f"{found[1]} has no {bound}"


# --- the comparison itself ----------------------------------------------------------------------------------


PAGE = """
<!-- figures: python some.py; within 0.1; below 1e-9; not us -->
| case | a | b | us |
|---|---|---|---|
| one | 1.0 | 2e-12 | 7 |
"""
TABLE = "noise\n| case | a | b | us |\n|---|---|---|---|\n| one | {} | 3e-11 | 99 |\n"


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """Judges, and on demand rewrites, a page of its own."""
    monkeypatch.setitem(FIGURES["check"].__globals__, "ROOT", tmp_path)
    page = tmp_path / "page.md"

    def judged(text, output, **options):
        page.write_text(text, encoding="utf-8")
        return FIGURES["check"]("python some.py", FIGURES["marks_of"](page), output, **options), page

    return judged


@pytest.mark.parametrize(
    "output, complaints",
    [
        (TABLE.format("1.05"), 0),  # within 0.1; below 1e-9; times are not compared
        (TABLE.format("1.2"), 1),
        (TABLE.format("none"), 1),  # another word
        (TABLE.format("1.0") + "| two | 1.0 | 0 | 1 |\n", 1),  # a line more
        ("noise\n", 1),  # no such table
    ],
)
def test_tables_are_compared(judge, output, complaints):
    assert len(judge(PAGE, output)[0]) == complaints


def test_whole_numbers_are_exact_and_last_digits_are_not(judge):
    text = "<!-- figures: python some.py; within 0.01 -->\n```text\nhead\nsize {} rate {}\n```\n"
    assert not judge(text.format(310, "2e-09"), "head\nsize 310 rate 1e-09\n")[0]
    assert judge(text.format(311, "1e-09"), "head\nsize 310 rate 1e-09\n")[0]


def test_sentences_name_the_lines_of_their_figures(judge):
    text = "<!-- figures: python some.py; within 0.01 -->\n3.00<!--=case … two :1--> J in 5<!--=case … two :2-->.\n"
    assert not judge(text, "two | 9 | 9\n| case |\n| two | 3.001 | 5 |\n")[0]
    assert len(judge(text, "| case |\n| two | 3.2 | 6 |\n")[0]) == 2
    assert len(judge(text, "| case |\n")[0]) == 2


def test_figures_are_written_anew(judge):
    wrong, page = judge(PAGE, TABLE.format("1.2"), write=True)
    assert len(wrong) == 1 and page.read_text(encoding="utf-8") == PAGE.replace("1.0 | 2e-12 | 7", "1.2 | 3e-11 | 99")

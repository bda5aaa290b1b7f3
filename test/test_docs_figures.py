# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Figures of README.md and docs/ have something that holds them.

Marked ones are those that their commands print (benchmarks/figures.py says how marks are read); commands whose mark
says ``quick`` run here, the others with the slow tests.  Tables without a mark refer to docs/measurements/, and so do
times.  Bounds stand in the tests that are named beside them.
"""

from __future__ import annotations

import itertools
import re
import runpy
import sys

import pytest

from each import of_each
from paths import BENCHMARKS, ROOT

sys.path.insert(0, str(BENCHMARKS))
try:
    FIGURES = runpy.run_path(str(BENCHMARKS / "figures.py"))
finally:
    sys.path.remove(str(BENCHMARKS))
MARKS = [mark for page in FIGURES["PAGES"] for mark in FIGURES["marks_of"](page)]
COMMANDS = FIGURES["commands_of"](MARKS)
#: README.md, guides and recipes; what is generated and the logs have their own tests
PAGES = [
    page for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "howto").glob("*.md"))
    if not page.stem.endswith("_reference")
]  # fmt: skip
#: pages whose tables all have a mark, but for those without figures: definitions, equations, names of files
MARKED = ("integrators", "impacts", "formulations", "pendulum", "papers")
DEFINITIONS = {
    "| integrator | order |", "| phase | problem |", "| | as |", "| | J14 | unknowns |", "| | J14 | J12 as printed |",
}  # fmt: skip
VALUE = re.compile(r"[*<≤ ]*[-+−]?\d[\d.,]*(?:e[-+−]?\d+|·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?(?: ?[a-zA-Zµ%/²³°]{1,6})?[* ]*")
TIME = re.compile(r"\d ?(?:µs|us|ns)\b|\d s of CPU|\bload (?:of |above )?\d(?![\d.]* kg)")
#: before a time that is the length of a step or of a difference
SETTING = re.compile(r"(?:\bat|\bsteps?|\bsteps? of|\bover) [\d.]*$")
TESTS = re.compile(r"test/[\w/]*\w(?:\.py)?")
BOUND = re.compile(r"(?<![\w.])(?:(\d+(?:\.\d+)?)e-0?(\d+)|(?:(\d+(?:\.\d+)?)·)?10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+))")
DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def is_rule(line):
    """The line below the head of a table."""
    return re.match(r"\|[ |:-]*---", line) is not None


def marked_lines(page):
    return {i for mark in FIGURES["marks_of"](page) for i in range(mark.first, mark.end)}


@pytest.mark.parametrize(
    "command", [pytest.param(c, marks=() if quick else pytest.mark.slow) for c, (_, quick) in COMMANDS.items()]
)
def test_the_command_prints_these_figures(command):
    code, output, _, errors = FIGURES["run"](command)
    if code == 77:
        pytest.skip(errors.splitlines()[-1])
    assert code == 0, errors or output
    assert not FIGURES["check"](command, COMMANDS[command][0], output)


@of_each(MARKED)
def test_every_table_has_a_mark(name):
    page = ROOT / "docs" / f"{name}.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    inside = marked_lines(page)
    tables = [i for i, line in enumerate(lines) if is_rule(line)]
    blocks = [i + 1 for i, line in enumerate(lines) if line == "```text"]
    bare = [lines[i - 1] for i in (*tables, *blocks) if i not in inside]
    assert not [head for head in bare if not any(head.startswith(known) for known in DEFINITIONS)]


def table_of_figures(lines, i):
    """Whether half of the cells behind the first column are figures, in the table whose head stands before line i."""
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[i + 1 :])
    cells = [cell.strip() for row in rows for cell in row.strip("| ").split("|")[1:]]
    cells = [cell for cell in cells if cell]
    return 2 * sum(VALUE.fullmatch(cell) is not None for cell in cells) >= max(len(cells), 1)


@of_each(PAGES)
def test_tables_of_figures_have_a_mark_or_a_log(page):
    lines, inside = page.read_text(encoding="utf-8").splitlines(), marked_lines(page)
    for i, line in enumerate(lines):
        if is_rule(line) and i not in inside and table_of_figures(lines, i):
            before = next((text for text in reversed(lines[: i - 1]) if text), "")
            assert "measurements/" in before, f"line {i}: no command is compared with this table, and no log named"


@of_each(PAGES)
def test_times_stand_in_logs(page):
    lines, inside = page.read_text(encoding="utf-8").splitlines(), marked_lines(page)
    found = [(i + 1, time[0]) for i, line in enumerate(lines) if i not in inside and "measurements/" not in line
             for time in TIME.finditer(line) if not SETTING.search(line[: time.start()])]  # fmt: skip
    assert not found, "times belong in docs/measurements/, with date and machine"


def bounds_beside_tests(page):
    """(line, bound, tests) of sentences that name tests, and of tables in which or above which they are named."""
    lines = page.read_text(encoding="utf-8").splitlines()
    above = last = []
    for i, line in enumerate(lines):
        named = TESTS.findall(line)
        if not line.startswith("|"):
            above, last = (named if line.strip() else above), []
            parts = [(part, TESTS.findall(part)) for part in re.split(r"(?<=[.;:]) ", line)]
        else:
            last = named or last * ("the same" in line)
            above = named if named and is_rule((*lines, "", "")[i + 1]) else above
            parts = [(line, last or above)]
        for part, tests in parts:
            if tests:
                yield from ((i + 1, bound, tests) for bound in BOUND.finditer(part))


def texts_of(tests):
    """What stands in test files and in folders of them."""
    named = [ROOT / test for test in tests]
    files = [file for path in named for file in (path.rglob("*.py") if path.is_dir() else [path])]
    return "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())


@of_each(PAGES)
def test_bounds_stand_in_the_tests_beside_them(page):
    for line, bound, tests in bounds_beside_tests(page):
        factor, power = bound[1] or bound[3] or "1", (bound[2] or bound[4].translate(DIGITS)).lstrip("0")
        number = rf"(?<![\d.]){re.escape(factor)}(?:\.0)?e-0?{power}\b"
        assert re.search(number, texts_of(tests)), f"line {line}: {', '.join(tests)} has no {bound[0]}"


def test_bounds_are_found():
    assert sum(len(list(bounds_beside_tests(page))) for page in PAGES) > 40


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

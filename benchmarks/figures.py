# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The figures of README.md and docs/ beside what their commands print; ``--write`` puts the printed ones in.

    python benchmarks/figures.py [--only WORD ...] [--quick] [--write]

A comment above a table, a fenced block or a paragraph names the command, and what is compared how:

    <!-- figures: COMMAND; within 0.05; below 1e-11; not wall [s], us a step; quick -->

A table is that of the output with the same head, a block that which begins with the same line and ends before the next
empty one.  In tables of another layout and in sentences a figure names its line: ``2943.0<!--=links … 30 :5-->`` is the
fifth number (-1 is the last) of the line that begins with ``30`` behind one that begins with ``links``, bars left out.
``each row`` in the place of the command is the first command of the figure's own row.

Words have to be the same.  Numbers may differ by ``within`` of the larger one (default 0.05) or by one in their last
digit, whole ones not at all; two that are both smaller than ``below`` count as equal.  ``not`` lists columns that are
not compared, wall times above all: of blocks by the number of the word in a line, from its end below 0.  ``rows TEXT``
compares lines with this text alone.  ``quick`` commands run in `make test`, the others in `make test-all`
(test/test_docs_figures.py).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import NamedTuple

from measurements import run
from quick import options_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARK = re.compile(r"^<!-- figures: (.+) -->$")
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:e[-+−]?\d+)?(?![\w])")
KEYED = re.compile(rf"({NUMBER.pattern})<!--=(.*?):(-?\d+)-->")
COMMAND = re.compile(r"`((?:python|mb-contact) [^`]+)`")


class Mark(NamedTuple):
    """A comment, its options, and the lines ``first`` to ``end`` of its page that it is about."""

    page: Path
    first: int
    end: int
    command: str
    within: float = 0.05
    below: float = 0.0
    skipped: tuple[str, ...] = ()
    rows: str = ""
    quick: bool = False

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}, line {self.first + 1}"


def marks_of(page):
    """The marks of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [_mark(page, lines, i, found[1]) for i, line in enumerate(lines) if (found := MARK.match(line))]


def _mark(page, lines, i, text):
    command, *options = text.split("; ")
    given = {}
    for option in options:
        name, _, value = option.partition(" ")
        if name in ("within", "below"):
            given[name] = float(value)
        elif name == "not":
            given["skipped"] = tuple(value.split(", "))
        elif name in ("rows", "quick"):
            given[name] = value or True
        else:
            raise ValueError(f"{page.name}, line {i + 1}: a mark has no option {option!r}")
    first = i + 1
    if lines[first].startswith("```"):
        return Mark(page, first + 1, lines.index("```", first + 1), command, **given)
    end = first
    while end < len(lines) and lines[end].strip() and lines[end].startswith("|") == lines[first].startswith("|"):
        end += 1
    return Mark(page, first, end, command, **given)


def commands_of(marks):
    """By command, its marks and whether it is quick."""
    found: dict[str, list[Mark]] = {}
    for mark in marks:
        for command in _commands(mark):
            found.setdefault(command, []).append(mark)
    return {command: (those, any(mark.quick for mark in those)) for command, those in found.items()}


def _commands(mark):
    if mark.command != "each row":
        return [mark.command]
    lines = mark.page.read_text(encoding="utf-8").splitlines()[mark.first : mark.end]
    return list(dict.fromkeys(COMMAND.search(line)[1] for line in lines if KEYED.search(line)))


# --- comparing ----------------------------------------------------------------------------------------------


def value_of(text):
    """A number as it is printed."""
    return float(text.replace("−", "-"))


def same_number(old, new, mark):
    """Two printed numbers are the same within the bounds of the mark."""
    a, b = value_of(old), value_of(new)
    largest = max(abs(a), abs(b))
    if a == b or largest <= mark.below:
        return True
    if not any(re.search("[.e]", text) for text in (old, new)):
        return False
    unit = 1.001 * max(_last_digit(old), _last_digit(new))
    return abs(a - b) <= max(mark.within * largest, unit)


def _last_digit(text):
    digits, _, power = text.partition("e")
    return 10.0 ** (int(power.replace("−", "-") or 0) - len(digits.partition(".")[2]))


def same_cell(old, new, mark):
    """Words are equal, numbers within the bounds."""
    numbers = [NUMBER.findall(text) for text in (old, new)]
    return NUMBER.sub("#", old) == NUMBER.sub("#", new) and all(same_number(a, b, mark) for a, b in zip(*numbers))


def differences(mark, old, new):
    """What differs between two tables or blocks."""
    table = old[0].startswith("|")
    cells = (lambda line: [cell.strip() for cell in line.strip()[1:-1].split("|")]) if table else str.split
    old, new = ([line for line in lines if mark.rows in line] for lines in (old, new))
    if len(old) != len(new):
        return [f"{len(old)} lines where the command prints {len(new)}"]
    heads, found = cells(old[0]), []
    for line, other in zip(old, new):
        here, there = cells(line), cells(other)
        left_out = {heads.index(name) if table else (int(name) - (int(name) > 0)) % len(here) for name in mark.skipped}
        if len(here) != len(there):
            found.append(f"'{line.strip()}' where the command prints '{other.strip()}'")
            continue
        found += [f"{a} where the command prints {b} ({here[0]})" for i, (a, b) in enumerate(zip(here, there))
                  if i not in left_out and not same_cell(a, b, mark)]  # fmt: skip
    return found


def renewed(mark, command, lines, output):
    """(lines with the figures of the output, what differed) of what a mark is about."""
    printed = output.splitlines()
    if any(KEYED.search(line) for line in lines):
        return _renewed_sentences(mark, command, lines, printed)
    new, found = [], []
    for part in _parts(lines):
        new += [""] * bool(new)
        if part[0] not in printed:
            new, found = new + part, [*found, f"the command does not print '{part[0]}'"]
            continue
        begin = end = printed.index(part[0])
        while end < len(printed) and printed[end].strip() and printed[end].startswith("|") == part[0].startswith("|"):
            end += 1
        there = printed[begin:end]
        wrong = differences(mark, part, there)
        if mark.rows:  # the others stay as they are
            those = iter([line for line in there if mark.rows in line])
            there = [next(those, line) if mark.rows in line else line for line in part]
        new, found = new + (there if wrong else part), found + wrong
    return new, found


def _parts(lines):
    """Parts of a block between empty lines."""
    parts = [[]]
    for line in lines:
        if line.strip():
            parts[-1].append(line)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _renewed_sentences(mark, command, lines, printed):
    found = []

    def put(match):
        old, key, place = match[1], match[2], int(match[3])
        new = _look_up(printed, key, place)
        if new is None:
            found.append(f"the command prints no number {place} in a line '{key}'")
        elif not same_number(old, new, mark):
            found.append(f"{old} where the command prints {new} ({key})")
            return f"{new}<!--={key}:{place}-->"
        return match[0]

    own = [mark.command != "each row" or bool((m := COMMAND.search(line)) and m[1] == command) for line in lines]
    return [KEYED.sub(put, line) if this else line for line, this in zip(lines, own)], found


def _look_up(printed, key, place):
    lines = (" ".join(line.replace("|", " ").split()) for line in printed)
    for begin in key.split(" … "):
        line = next((line for line in lines if line.startswith(begin)), None)
    numbers = NUMBER.findall(line or "")
    return numbers[place - (place > 0)] if abs(place) <= len(numbers) else None


def check(command, marks, output, write=False):
    """What differs, with its place; the pages are rewritten on demand, from their ends on so that places stay right."""
    found = []
    for mark in sorted(marks, key=lambda mark: -mark.first):
        lines = mark.page.read_text(encoding="utf-8").splitlines()
        new, wrong = renewed(mark, command, lines[mark.first : mark.end], output)
        found += [f"{mark}: {text}" for text in wrong]
        if write and wrong:
            lines[mark.first : mark.end] = new
            mark.page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return found


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="+", metavar="WORD", help="commands and pages with one of these words")
    parser.add_argument("--write", action="store_true", help="put printed figures in the place of those that differ")
    parser.add_argument("--output", type=Path, metavar="FILE", help="output that was kept, of the command of --only")
    options = options_of(parser, only=["infinite_friction"])
    names = list(commands_of(mark for page in PAGES for mark in marks_of(page)))
    failed = 0
    for command in names:
        marks, _ = commands_of(mark for page in PAGES for mark in marks_of(page))[command]  # as they stand by now
        places = {command, *(mark.page.name for mark in marks)}
        if options.only and not any(word in place for word in options.only for place in places):
            continue
        begin = time.monotonic()
        code, output, _, errors = (0, options.output.read_text(), None, "") if options.output else run(command)
        found = check(command, marks, output, options.write and code == 0)
        print(f"{command}: exit code {code}, {len(found)} figures differ, {time.monotonic() - begin:.0f} s", flush=True)
        print("".join(f"  {line}\n" for line in found) + (errors if code else ""), end="", flush=True)
        failed += bool(code or (found and not options.write))  # a program that fails leaves the pages as they are
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

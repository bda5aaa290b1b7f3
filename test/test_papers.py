# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""docs/papers.md names files that exist, names that they define, and presets as they are."""

from __future__ import annotations

import ast
import re

import mb_contact as mb
from each import of_each
from mb_contact.model.scene.presets import PRESETS
from mb_contact.studies import sko
from paths import ROOT

TEXT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`]+)`", TEXT)
PATHS = sorted({text for text in CODE if re.fullmatch(r"[\w./-]+\.(py|yaml|urdf|cff)", text) and "/" in text})
#: the third cell of the papers' tables: files, and names that stand in them
WHERE = [cells[2] for cells in (line.split(" | ") for line in TEXT.splitlines()) if len(cells) == 5]


def place(path):
    """A file of the repository, or of the package."""
    return ROOT / path if (ROOT / path).exists() else ROOT / "mb_contact" / path


def defined(path):
    """Functions, classes, methods and assigned names of a module."""
    names = set()
    for node in ast.walk(ast.parse(place(path).read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


def test_tables_are_found():
    assert len(WHERE) > 80 and len(PATHS) > 50
    assert all(f"\n## {paper}\n" in TEXT for paper in ("J11", "J14", "J12", "D15", "P00"))


@of_each(PATHS)
def test_files_exist(path):
    assert place(path).is_file()


@of_each(cell for cell in WHERE if "`" in cell)
def test_names_stand_in_the_files_beside_them(cell):
    names, known = [], set()
    for text in re.findall(r"`([^`]+)`", cell):
        if "/" in text:
            known |= defined(text) if text.endswith(".py") else set()
        else:
            names.append(text)
    assert set(names) <= known


@of_each(sorted({t for t in CODE if re.match(r"(mb|sko)\.\w", t)}))
def test_public_names_resolve(name):
    thing = {"mb": mb, "sko": sko}[name.split(".")[0]]
    for part in re.match(r"[\w.]+", name)[0].split(".")[1:]:
        thing = getattr(thing, part)


#: By paper: the last equation, and what else has a number
CONTENTS = {
    "J11": (63, "Figs?[.] {}: 1 2 3 4 5 6 7", "algorithms? {}: 3.1 4.1 4.2 4.3 6.1",
            "lemmas? {}: 1 2 3 4 5 6 7 8 9 10 11 12"),
    "J14": (69, "Figs?[.] {}: 1 2 3 4 5 6", "Table {}: 1 2"),
    "J12": (54, "Figs?[.] {}: 1 2", "Table {}: I"),
    "D15": (57, "Figs?[.] {}: 1 2", "Table {}: I II III", "algorithms? {}: 1 2"),
    "P00": (14, "Figs?[.] {}: 1 2"),
}  # fmt: skip


@of_each(CONTENTS)
def test_every_equation_figure_table_and_algorithm_has_a_row(paper):
    part = TEXT[TEXT.index(f"\n## {paper}\n") :].split("\n## ")[1]
    first = "; ".join(line.split(" | ")[0] for line in part.splitlines() if line.startswith("| "))
    last, *others = CONTENTS[paper]
    found = {int(n) for n in re.findall(r"\((\d+)\)", first)}
    for low, high in re.findall(r"\((\d+)\)–\((\d+)\)", first):
        found.update(range(int(low), int(high) + 1))
    assert found == set(range(1, last + 1))
    for other in others:
        word, numbers = other.split(": ")
        for number in numbers.split():
            assert re.search(word.format(rf"(?:[\w.]+, )*{re.escape(number)}\b"), first), f"{word} {number}"


@of_each(sorted(set(re.findall(r"\]\(([^)]+)\)", TEXT))))
def test_links_lead_somewhere(link):
    path, _, anchor = link.partition("#")
    file = ROOT / "docs" / path if path else ROOT / "docs" / "papers.md"
    assert file.is_file()
    if anchor:
        heads = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@of_each(PRESETS)
def test_every_setting_of_a_preset_stands_in_its_table(name):
    rows, current = {}, ""
    for line in TEXT[TEXT.index("## As printed") :].splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and cells[1].startswith("`"):
            current = cells[0] or current
            rows.update({(preset, cells[1]): cells[2] for preset in re.findall(r"`(\w+)`", current)})
    for key, (value, where) in PRESETS[name].items():
        assert rows[name, f"`{key}: {value}`"] == where
    assert len([preset for preset, _ in rows if preset == name]) == len(PRESETS[name])

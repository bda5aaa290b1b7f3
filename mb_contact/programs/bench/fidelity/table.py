# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The fidelity suite as a table: figures beside exact values, and other engines' where they were measured."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mb_contact.checks import as_choice
from mb_contact.programs.bench.fidelity import CASES
from mb_contact.programs.bench.fidelity.frame import Case, Outcome, run_case


def chosen(name: str | None) -> list[Case]:
    """All cases, or the one called so."""
    return list(CASES.values()) if name is None else [CASES[as_choice(name, CASES, "case")]]


def rows(cases: Iterable[Case]) -> Iterator[Any]:
    """Outcomes of the cases under all their settings, one after the other."""
    for case in cases:
        for setting in case.settings:
            yield from run_case(case, setting)


def cells(outcome: Outcome) -> tuple[str, ...]:
    """Setting, figure, measured, exact, error, tolerance as texts."""
    figure = outcome.figure
    unit = f" {figure.unit}" if figure.unit else ""
    bound = figure.bound(outcome.setting)
    bounded = figure.exact == 0.0
    return (
        outcome.setting.label(),
        figure.name,
        f"{outcome.measured:.{2 if bounded else 9}{'e' if bounded else 'g'}}{unit}",
        "at most" if bounded else f"{figure.exact:.9g}{unit}",
        "" if bounded else f"{outcome.error:.1e}{'' if figure.relative else unit}",
        f"{bound:g}{unit if bounded or not figure.relative else ''}",
        "yes" if outcome.passed else "**no**",
    )


WIDTHS = ("<26", "<30", ">22", ">22", ">11", ">12", ">8")
HEADER = ("setting", "figure", "measured", "exact", "error", "tolerance", "holds")


def markdown(case: Case, outcomes: Sequence[Outcome], peers: Sequence[Any] = ()) -> str:
    """A section of docs/measurements/fidelity.md; ``peers``: rows (engine, figure name, measured) of the same scene."""
    lines = [f"## {case.name}", "", f"{case.text[0].upper()}{case.text[1:]}.", ""]
    lines += ["| " + " | ".join(HEADER) + " |", "|---" * len(HEADER) + "|"]
    lines += ["| " + " | ".join(cells(outcome)) + " |" for outcome in outcomes]
    figures = {figure.name: figure for figure in case.figures}
    for engine, name, measured in peers:
        figure = figures[name]
        unit = f" {figure.unit}" if figure.unit else ""
        exact = "at most" if figure.exact == 0.0 else f"{figure.exact:.9g}{unit}"
        error = "" if figure.exact == 0.0 else f"{figure.error(measured):.1e}"
        lines.append(f"| *{engine}* | {name} | {measured:.4g}{unit} | {exact} | {error} | | |")
    return "\n".join(lines) + "\n"


def run_bench(name: str | None = None, as_markdown: bool = False) -> int:
    """Measure and print; the exit code is 1 if a figure misses its tolerance."""
    missed = total = 0
    for case in chosen(name):
        outcomes = list(rows([case]))
        total += len(outcomes)
        missed += sum(not outcome.passed for outcome in outcomes)
        if as_markdown:
            print(markdown(case, outcomes), flush=True)
            continue
        print(f"{case.name}: {case.text}")
        for outcome in outcomes:
            padded = (f"{cell:{width}}" for cell, width in zip(cells(outcome), WIDTHS))
            print("  " + " ".join(padded), flush=True)
    if not as_markdown:
        print(f"{total - missed} of {total} figures within their tolerances")
    return 1 if missed else 0

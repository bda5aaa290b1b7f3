# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a test leaves: JUnit XML for machines, one page of plots for people, and the commands that show it again."""

from __future__ import annotations

import base64
import math
import re
import shlex
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from mb_contact.model.scene.named_files import beside
from mb_contact.model.scene.writer import save_scene
from mb_contact.testing.checks import BROKEN, KEPT, Tally
from mb_contact.testing.failures import Result
from mb_contact.testing.pictures import draw

if TYPE_CHECKING:
    from mb_contact.testing.run import Run

POINTS = 600  #: of a curve that is drawn, at most
WIDTH, HEIGHT, LEFT, BOTTOM = 760, 170, 80, 24
STYLE = """body{font:15px sans-serif;max-width:800px;margin:2em auto;color:#222}h2{font-size:1em;margin-bottom:.2em}
.good{color:#176b2c}.bad{color:#b3261e}pre{background:#f3f3f3;padding:.6em;white-space:pre-wrap}img{max-width:100%}"""


def write_junit(path: Path, name: str, results: Sequence[Result], seconds: float, output: str = "") -> None:
    """A test suite with a test case for each result, in the JUnit format of Jenkins, GitLab and colcon."""
    skipped = sum(result.undecided for result in results)
    bad = sum(not result.passed for result in results) - skipped
    facts = {"name": name, "tests": str(len(results)), "failures": str(bad), "errors": "0", "skipped": str(skipped),
             "time": f"{seconds:.3f}"}  # fmt: skip
    suites = ElementTree.Element("testsuites", facts)
    suite = ElementTree.SubElement(suites, "testsuite", facts)
    for result in results:
        moment = 0.0 if math.isnan(result.time) else result.time
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=result.name, time=f"{moment:.3f}")
        if result.undecided:
            ElementTree.SubElement(case, "skipped", message=_clean(result.text))
        elif not result.passed:
            failure = ElementTree.SubElement(case, "failure", message=_clean(result.text), type="CheckFailed")
            failure.text = _clean(result.text)
    if output:
        ElementTree.SubElement(suite, "system-out").text = _clean(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def _clean(text):
    """What XML can hold of a text: programs print other characters too."""
    return re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)


def leave(run: Run, command: str = "", pictures: bool = True) -> list[str]:
    """Write what shows a run again into its folder: scene, picture, film, page; lines that tell of it."""
    folder, bag, lines = run.folder, run.folder / "run.mcap", []
    scene = run.plan.scene
    if not isinstance(scene, (str, Path)):
        scene = folder / "scene.yaml"
        save_scene(beside(run.plan.scene, run.plan.scene.path), scene)
    if bag.exists():
        lines.append(f"replay   mb-contact replay {shlex.quote(str(scene))} {shlex.quote(str(bag))}")
    lines += [f"again    {command}"] if command else []
    broken = [float(tally.when[0]) for tally in run.tallies if tally.state[0] == BROKEN]
    files = draw(run.scene, run.frames, folder, min(broken, default=run.time)) if pictures else []
    lines += [f"{file.stem:<8} {file}" for file in files]
    page = folder / "report.html"
    page.write_text(html_page(run, lines, files), encoding="utf-8")
    return [*lines, f"page     {page}"]


def html_page(run: Run, lines: Sequence[str], pictures: Sequence[Path] = ()) -> str:
    """The page: verdict, a plot for each check, pictures, logs; one file that needs nothing else."""
    results = run.results()
    good = all(result.passed for result in results)
    scene = escape(str(getattr(run.plan.scene, "path", run.plan.scene)))
    parts = [f"<h1 class='{_class(good)}'>{'passed' if good else 'failed'}</h1>"]
    parts.append(f"<p>{scene}, {run.time:.3f} s simulated</p>")
    parts += [f"<pre class='bad'>{escape(text)}</pre>" for text in run.failures]
    moments = [(event.at, event.text) for event in run.plan.conditions.events]
    for result, tally in zip(results[1:], run.tallies):
        head = f"<h2 class='{_class(result.passed)}'>{escape(result.name)}</h2>"
        parts.append(f"{head}<p>{escape(result.text)}</p>{plot(tally, moments)}")
    for picture in pictures:
        data = base64.b64encode(picture.read_bytes()).decode()
        parts.append(f"<h2>{picture.stem}</h2><img alt='{picture.stem}' src='data:image/png;base64,{data}'>")
    parts.append(f"<pre>{escape(chr(10).join(lines))}</pre>")
    for program in run.programs:
        parts.append(f"<h2>{escape(program.text)}</h2><pre>{escape(program.tail())}</pre>")
    return _page("\n".join(parts))


def _page(body):
    head = f"<meta charset='utf-8'><title>manipulation test</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'>{head}{body}</html>"


def _class(good):
    return "good" if good else "bad"


def plot(tally: Tally, moments: Sequence[tuple[float, str]] = ()) -> str:
    """SVG of what was measured over time, with the bounds in red and the moments of events as lines."""
    curve = np.array([point for point in tally.curve if math.isfinite(point[1])])
    if len(curve) < 2:
        return ""
    curve = curve[np.unique(np.linspace(0, len(curve) - 1, min(POINTS, len(curve))).round().astype(int))]
    check = tally.expectation.check
    bounds = [bound for bound in (check.low, check.high) if math.isfinite(bound)]
    (t0, t1), values = curve[[0, -1], 0], [*curve[:, 1], *bounds]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 1.0

    def x(time):
        return LEFT + (WIDTH - LEFT - 8) * (time - t0) / (t1 - t0)

    def y(value):
        return (HEIGHT - BOTTOM) * (high + room - value) / (high - low + 2.0 * room)

    def line(a, b, colour, dash=""):
        ends = f"x1='{a[0]:.1f}' y1='{a[1]:.1f}' x2='{b[0]:.1f}' y2='{b[1]:.1f}'"
        return f"<line {ends} stroke='{colour}' stroke-dasharray='{dash}'/>"

    points = " ".join(f"{x(time):.1f},{y(value):.1f}" for time, value in curve)
    drawn = [f"<polyline fill='none' stroke='#1f5fa8' stroke-width='1.4' points='{points}'/>"]
    drawn += [line((LEFT, y(bound)), (WIDTH - 8, y(bound)), "#b3261e", "5 3") for bound in bounds]
    for time, text in moments:
        if t0 <= time <= t1:
            drawn.append(line((x(time), 0), (x(time), HEIGHT - BOTTOM), "#777", "2 2"))
            drawn.append(f"<text x='{x(time) + 3:.1f}' y='11' font-size='11'>{escape(text)}</text>")
    if math.isfinite(when := float(tally.when[0])) and t0 <= when <= t1:
        colour = "#176b2c" if tally.state[0] == KEPT else "#b3261e"
        drawn.append(f"<circle cx='{x(when):.1f}' cy='{y(float(tally.value[0])):.1f}' r='4' fill='{colour}'/>")
    words = check.quantity.words
    for place, text in ((y(high), words(high)), (y(low), words(low))):
        drawn.append(f"<text x='{LEFT - 6}' y='{place + 4:.1f}' font-size='11' text-anchor='end'>{escape(text)}</text>")
    for place, time in ((LEFT, t0), (WIDTH - 40, t1)):
        drawn.append(f"<text x='{place}' y='{HEIGHT - 8}' font-size='11'>{time:.2f} s</text>")
    return f"<svg width='{WIDTH}' height='{HEIGHT}' role='img'>{''.join(drawn)}</svg>"


def trial_page(trials: Any, lines: Sequence[str]) -> str:
    """The page of many trials: rate, interval, what was drawn, and how each that failed is run alone."""
    rows = []
    for outcome in trials.outcomes:
        good = outcome.passed
        texts = "<br>".join(escape(text.splitlines()[0]) for text in outcome.failures) or "passed"
        values = escape(", ".join(f"{name} {value}" for name, value in outcome.drawn))
        rows.append(f"<tr class='{_class(good)}'><td>{outcome.number}<td>{texts}<td>{values}")
    head = f"<h1 class='{_class(trials.passed)}'>{escape(trials.text)}</h1><pre>{escape(chr(10).join(lines))}</pre>"
    table = f"<table><tr><th>trial<th>verdict<th>drawn{''.join(rows)}</table>"
    return _page(head + table + "</table>")

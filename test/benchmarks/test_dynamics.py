# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""benchmarks/dynamics.py compares the same numbers and does its sums right; nothing is timed or built in C++ here."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from paths import BENCHMARKS


@pytest.fixture(scope="module")
def bench():
    """The scripts as modules."""
    pytest.importorskip("pinocchio")
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import cases
        import dynamics
        import ours
        import peer
        import report

        yield SimpleNamespace(cases=cases, dynamics=dynamics, ours=ours, peer=peer, report=report)
    finally:
        sys.path.remove(str(BENCHMARKS))


def rows():
    """Times of an exactly linear algorithm, twice as fast as its peer."""
    return [
        {"case": f"chain {n}", "bodies": n, "dof": n, "chain": n, "algorithm": a, "peer": f"their {a}", "rows": 6,
         "deviation": 1e-14, "deviations": {a: 1e-14}, "ours": 1e-7 * n, "theirs": 2e-7 * n}
        for a in ("aba", "oscm") for n in (7, 30, 100, 1000)
    ]


@pytest.mark.parametrize("algorithm", ["aba", "crba", "rnea", "oscm"])
@pytest.mark.parametrize("name", ["chain", "points", "floating"])
def test_both_sides_compute_the_same(bench, tmp_path, algorithm, name):
    solo = ("solo12", "solo_description/robots/solo12.urdf", True, ("FL_FOOT", "HR_FOOT"))
    make = {
        "chain": lambda: bench.cases.chain(7, tmp_path),
        "points": bench.cases.dual_arm,
        "floating": lambda: bench.cases.robot(*solo),
    }[name]
    case = make()
    if case is None:
        pytest.skip("example-robot-data is not installed")
    entry = getattr(bench.ours, f"ours_{algorithm}")(case)
    variants = [v for names in bench.dynamics.PEERS[algorithm].values() for v in names]
    deviations = bench.dynamics._deviations(case, variants, entry, None, bench.peer.Python(case))
    assert deviations and max(deviations.values()) <= 1e-10
    if entry.call:
        np.testing.assert_allclose(entry.call(3), entry.value(3), rtol=1e-9, atol=1e-9)


def test_the_compiled_peer_reads_what_is_written_for_it(bench, tmp_path):
    text = bench.peer.case_text(bench.cases.chain(7, tmp_path)).splitlines()
    assert text[0] == "gravity 0.0 0.0 -9.81" and text[1] == "joints 7" and text[-1] == "end"
    assert text[2].startswith("JointModelRevoluteUnaligned 0 ")
    assert all(len(line.split()) == 30 for line in text[2:9])  # kind, parent, axis, R, p, mass, lever, inertia


def test_slopes_and_ratios(bench):
    for mine, theirs in bench.report.slopes(rows()).values():
        assert mine == pytest.approx(1.0) and theirs == pytest.approx(1.0)
    assert "  2.00 |" in bench.report.line(rows()[0])
    text = bench.report.markdown(rows(), None)
    assert "| chain 7 | 7 | aba | their aba | 0.70 | 1.40 | 2.00 |" in text
    assert "| aba | their aba | 1.000 | 1.000 |" in text


def test_table_and_plot_files(bench, tmp_path):
    pytest.importorskip("matplotlib")
    bench.report.plot(rows(), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes()[:4] == b"\x89PNG"
    lines = bench.report.csv(rows()).splitlines()
    assert len(lines) == 9 and lines[0].startswith("case,bodies,dof")


def test_without_a_compiler_it_says_so(bench, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(bench.peer.shutil, "which", lambda name: None)
    with pytest.raises(bench.peer.NoProgram, match="no C\\+\\+ compiler"):
        bench.peer.build()
    assert "no compiled loop: no C++ compiler" in bench.report.summary(rows(), "no C++ compiler")[-1]

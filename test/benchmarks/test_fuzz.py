# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A slice of benchmarks/fuzz.py: mutated files are read or refused with a place; none crashes or passes as nonsense."""

from __future__ import annotations

import sys
import time

import pytest

from paths import BENCHMARKS


@pytest.fixture(scope="module")
def fuzz():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import fuzz

        yield fuzz
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.mark.parametrize("kind, cases", [("urdf", 200), ("scene", 80), ("srdf", 100), ("surface", 60)])
def test_mutated_files_are_read_or_refused_with_a_place(kind, cases, fuzz):
    counts, wrong = fuzz.run(cases, seed=2, kinds=(kind,))
    assert [case[:4] for case in wrong] == []
    assert counts[kind, "accepted"] > 2 and counts[kind, "refused"] > 20


def test_the_judge_sees_what_is_wrong(fuzz, tmp_path):
    def crash():
        raise KeyError("x")

    def vague():
        raise fuzz.MbContactError("something is wrong")

    def place():
        raise fuzz.MbContactError("a.urdf:3: wrong")

    assert fuzz.judge(crash, False)[0] == "crash" and fuzz.judge(vague, False)[0] == "no place"
    assert fuzz.judge(place, True)[0] == "refused"
    model = fuzz.mb.load_urdf(fuzz.SMALL)
    assert fuzz.judge(lambda: model, False) == ("accepted", "")
    assert fuzz.judge(lambda: model, True)[0] == "nonsense"
    heavy = fuzz.copy.copy(model)
    object.__setattr__(heavy, "tree", model.tree._replace(mass=-model.tree.mass))
    assert fuzz.judge(lambda: heavy, False) == ("nonsense", "a negative mass or damping")


def test_a_case_that_spins_and_one_that_sleeps_are_hangs(fuzz, monkeypatch):
    def spin():
        while True:
            pass

    monkeypatch.setattr(fuzz, "LIMIT", 0.02)
    assert fuzz.judge(spin, False) == ("hang", "longer than 0.02 s of CPU time")
    monkeypatch.setattr(fuzz, "WALL_LIMIT", 0.02)
    assert fuzz.judge(lambda: time.sleep(30.0), False) == ("hang", "longer than 0.02 s of wall time")


def test_a_case_is_the_same_every_time(fuzz, tmp_path):
    fuzzer = fuzz.Fuzzer(tmp_path, 3)
    assert fuzzer.case("scene", 11) == fuzzer.case("scene", 11)

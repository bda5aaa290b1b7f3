# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact bench collision``: what it counts is what is near; its times are measured by hand."""

from __future__ import annotations

import pytest

from mb_contact.collision import ENGINES
from mb_contact.programs.bench import collision


@pytest.mark.parametrize("engine", ENGINES)
def test_each_object_that_lies_on_a_link_is_near_one(engine):
    """A box and a cylinder lie on a line of the capsule, two points each, a ball in one."""
    pytest.importorskip({"coal": "coal", "fcl": "fcl"}[engine])
    times, near, points = collision.measure(*collision.robot_and_objects(engine), repeats=1)
    assert (near, points) == (collision.NEAR, 6 * 2 + 2)
    assert set(times) == {"broad", "engine", "manifolds"} and min(times.values()) > 0.0


def test_every_second_pair_of_a_loose_grid_touches(monkeypatch, capsys):
    monkeypatch.setattr(collision, "GROWTH", (8,))
    _, near, _ = collision.measure(*collision.loose_grid(8, "coal"), repeats=1)
    assert near == 4
    assert collision.run_bench(repeats=1) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["8"])
    assert row.split()[-2] == "4,"  # near pairs

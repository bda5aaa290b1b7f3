# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact bench worlds``: every scene runs, and its certificates decide the exit code.

Covers programs/bench/legged.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.programs.bench import worlds as bench


@pytest.mark.parametrize("name", ["legged36", "quadruped", "heap20"])
def test_a_scene_prints_its_rate_and_contacts(name, capsys):
    assert bench.run_bench(name, (2,), (1, 2), steps=5, rounds=1) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split()[:3] for line in lines] == [[name, "2", "1"], [name, "2", "2"]]
    assert all(float(line.split()[3]) > 0.0 for line in lines)


def test_efforts_differ_by_world_and_step_and_come_again_with_the_seed():
    case = bench.quadruped()
    controls = bench.controls_of(case, 3, 50)
    assert len(np.unique(controls[:, :, 0])) == 150 and np.abs(controls).max() < 1.5 * case.shake
    np.testing.assert_array_equal(controls, bench.controls_of(case, 3, 50))


def test_a_scene_that_does_not_exist_is_refused():
    with pytest.raises(mb.InputError, match="there is no scene .biped.; choose one of legged36"):
        bench.run_bench("biped")

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The finger brings the box to its pose, in few turns."""

import sys

import pytest

from paths import ROOT


@pytest.fixture(scope="module")
def example():
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        import push_to_pose
    finally:
        sys.path.remove(str(ROOT / "examples"))
    return push_to_pose


@pytest.mark.parametrize("goal", [(), ("--x", "0.1", "--y", "-0.01", "--yaw", "-5")])
def test_the_box_comes_within_a_millimetre_and_half_a_degree(example, capsys, goal):
    assert example.main(list(goal)) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    place, turn = (abs(float(lines[-1].split("|")[i])) for i in (3, 4))
    assert place < 1.0 and turn < 0.5 and len(lines) < 12

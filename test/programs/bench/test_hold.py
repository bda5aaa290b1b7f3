# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is held stays where it is."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.programs.bench.hold import GRASPS, LOST, SETTLED, Creep, hold, hold_in_bullet


@pytest.mark.long
@pytest.mark.parametrize("name", GRASPS)
def test_nothing_creeps(name):
    creep, residual, _ = hold(GRASPS[name], SETTLED + 0.3)
    assert creep.start is not None and creep.most < 1e-10 and residual < 1e-10


@pytest.mark.long
def test_what_is_held_too_loosely_is_lost():
    weak = GRASPS["cube of 0.5 kg"]._replace(force=1.0)  # 1.6 N of friction for 4.9 N of weight
    assert hold(weak, SETTLED + 0.3)[0].most > LOST


def test_creep_counts_from_when_the_grasp_has_settled():
    creep = Creep()
    for now, x in ((0.5, 9.0), (SETTLED, 1.0), (1.1, 1.2), (1.2, 1.1)):
        creep.add(now, np.array([x, 0.0, 0.0]))
    assert creep.most == pytest.approx(0.2) and creep.last == pytest.approx(0.1)


def test_bullet_holds_the_same_cube():
    """Its sequential impulses let it slide, by far less than it would fall: 1.6e-5 m in five seconds."""
    pytest.importorskip("pybullet")
    creep, _ = hold_in_bullet(GRASPS["cube of 0.5 kg"], SETTLED + 0.5)
    assert 0.0 < creep.most < 1e-3

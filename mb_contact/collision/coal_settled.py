# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``coal``, with what it keeps of the first question of a process settled before anybody asks.

Its support function of a box keeps for ever whether the first direction that a process asked it for had a zero: then
the negative sides of all boxes lie 1e-10 of themselves farther out.  A turned box beside a cylinder is that first
question here, so boxes have their own size, and the answers are the same bits whatever ran before.
"""

import coal
import numpy as np

__all__ = ["coal"]


def _settle():
    box, cylinder = coal.Box(1.0, 1.0, 1.0), coal.Cylinder(1.0, 1.0)
    here, there = coal.Transform3s(), coal.Transform3s()
    there.setRotation(np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3.0)
    there.setTranslation(np.array([5.0, 0.0, 0.0]))
    coal.ComputeDistance(cylinder, box)(here, there, coal.DistanceRequest(), coal.DistanceResult())


_settle()

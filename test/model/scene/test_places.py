# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Places and bounds that scenes and requests name."""

import numpy as np
import pytest

from mb_contact.model.scene.places import is_hull
from mb_contact.model.shapes.hulls import convex_hull


@pytest.mark.parametrize("corners, good", [
    ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], True),
    ([(0, 0, 0), (1, 0, 0), (2, 0, 0)], False),
    ([(0, 0, 0), (0, 0, 1e6), (1e-3, 0, 0)], False),  # as good as a line, although it spans 500 m^2
    ([(0, 0, 0), (0, 0, 1e6), (1, 0, 0)], True),
    ([(0, 0, 0), (1, 0, 0)], False),
])  # fmt: skip
def test_corners_on_a_line_are_no_hull(corners, good):
    assert is_hull(corners) == good


def test_whatever_is_a_hull_can_be_made():
    chance, values, made = np.random.default_rng(0), (0.0, 1.0, -1.0, 1e-9, 1e6, 1e9), 0
    for _ in range(300):
        corners = chance.choice(values, size=(chance.integers(3, 12), 3))
        if is_hull(corners):
            assert len(convex_hull(corners).vertices) >= 4
            made += 1
    assert made > 100

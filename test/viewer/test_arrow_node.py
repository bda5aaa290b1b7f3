# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Arrows of few triangles: where they begin and end, and that their faces turn outwards."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.model.rotations import quat_to_matrix
from mb_contact.viewer.arrow_node import Arrows, cone, tube, turns_to
from viewer.serving import NEEDS_VISER

pytestmark = pytest.mark.quick
WAYS = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.48, -0.6, -0.64],
                 [1e-7, 0.0, -1.0], [1e-4, 0.0, -1.0]])  # fmt: skip
WAYS /= np.linalg.norm(WAYS, axis=1, keepdims=True)


def test_the_z_axis_is_turned_to_each_way():
    for way, turn in zip(WAYS, turns_to(WAYS)):
        np.testing.assert_allclose(quat_to_matrix(np.roll(turn, -1))[:, 2], way, atol=1e-6)


@pytest.mark.parametrize("mesh", [tube(6), cone(8)])
def test_faces_turn_outwards(mesh):
    """A browser draws their front alone."""
    vertices, triangles = mesh
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    outwards = (a + b + c) / 3.0 - np.array([0.0, 0.0, 0.4])
    assert (np.einsum("ij,ij->i", normals, outwards) > 0.0).all()
    sides = np.abs(normals[:, 2]) < 0.99 * np.linalg.norm(normals, axis=1)
    turn = np.arctan2((a + b + c)[sides, 1], (a + b + c)[sides, 0])
    assert len(np.unique(np.round(turn, 6))) >= 8 and len(triangles) < 15


@NEEDS_VISER
def test_arrows_begin_and_end_where_they_should(server):
    arrows = Arrows(server, "/arrows", 0.01, 0.02, 0.05)
    assert not arrows.visible
    starts, lengths = np.arange(21.0).reshape(7, 3), np.array([0.3, 0.03, 0.05, 1.0, 0.2, 0.4, 0.1])
    ends = starts + lengths[:, None] * WAYS
    colours = np.arange(21, dtype=np.uint8).reshape(7, 3)
    arrows.draw(np.stack([starts, ends], axis=1), colours)
    arrows.visible = True
    shafts, heads = arrows.parts
    assert shafts.visible and heads.visible
    for part, tip in ((shafts, ends - 0.05 * WAYS), (heads, ends)):
        assert len(part.batched_colors) == 7 and (part.batched_colors == colours).all()
        reached = part.batched_positions + part.batched_scales[:, 2:] * WAYS
        np.testing.assert_allclose(reached[lengths > 0.05], tip[lengths > 0.05], atol=1e-5)
    np.testing.assert_allclose(shafts.batched_positions, starts, atol=1e-6)
    assert shafts.batched_scales[1, 2] == 0.0  # shorter than a head: a head alone
    np.testing.assert_allclose(heads.batched_positions + 0.05 * WAYS, ends, atol=1e-5)
    np.testing.assert_allclose(shafts.batched_scales[:, :2], 0.005)
    np.testing.assert_allclose(heads.batched_scales[:, :2], 0.01)
    arrows.draw(np.stack([starts, ends], axis=1)[:2], colours[:2])
    assert {len(getattr(part, f"batched_{what}")) for part in arrows.parts
            for what in ("positions", "wxyzs", "scales", "colors")} == {2}  # fmt: skip

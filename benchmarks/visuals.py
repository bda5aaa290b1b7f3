# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Triangles of a robot's visual meshes and shapes, for pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mb_contact.model.shapes.visuals import read_visuals


def visual_triangles(file, link_pose):
    """Triangles (t, 3, 3) [m] in world axes and colours (t, 3) of all visuals of a URDF file.

    ``link_pose`` gives the position and rotation matrix of a link.  What cannot be read is left out, and told.
    """
    visuals, missing = read_visuals(Path(file).read_text(encoding="utf-8"), Path(file).parent)
    triangles, colours = [], []
    for visual in visuals:
        p, R = link_pose(visual.link)
        mesh = visual.vertices[visual.triangles] @ R.T + p
        triangles.append(mesh)
        colours.append(np.tile(visual.colour[:3], (len(mesh), 1)))
    return np.concatenate(triangles), np.concatenate(colours), missing

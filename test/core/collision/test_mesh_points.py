# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Points of meshes become manifolds, plane by plane (core/collision/mesh_points.py)."""

import numpy as np

from mb_contact.core.collision.mesh_points import CELL, reduce_mesh_points
from mb_contact.core.collision.workspace import FieldWork, ManifoldWork, MeshWork
from mb_contact.core.declare import allocate


def test_points_of_one_plane_are_found_wherever_their_normals_stand():
    """60 planes with the corners of a heptagon each, shuffled; their normals are on both sides of a cell's edge."""
    field, mesh = allocate(FieldWork, c=512, s=8), allocate(MeshWork, c=512, t=8)
    rng, work = np.random.default_rng(3), allocate(ManifoldWork, c=16, field=field, mesh=mesh)
    planes, each = 60, 7
    normals = rng.normal(size=(planes, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    rows = rng.permutation(planes * each)
    for k, (plane, corner) in enumerate(zip(*np.divmod(rows, each))):
        n, angle = normals[plane], 2.0 * np.pi * corner / each
        across = np.linalg.qr(np.column_stack((n, np.eye(3)[:, :2])))[0][:, 1:]
        work.field.points[k, :3] = 0.01 * plane * n + across @ (np.cos(angle), np.sin(angle))
        work.field.points[k, 3] = 0.0
        work.field.normals[k] = n + rng.uniform(-0.1, 0.1, 3) * CELL
        work.field.ids[k] = plane
    count = reduce_mesh_points(work, len(rows), 1e-6)
    kept = work.field.ids[:count]
    assert count == 4 * planes and (np.bincount(kept) == 4).all()
    assert (np.diff(np.flatnonzero(np.diff(kept))) == 4).all()  # those of a plane one behind the other

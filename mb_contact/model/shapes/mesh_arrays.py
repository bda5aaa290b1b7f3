# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""All triangle meshes of a world in the arrays that kernels take."""

import numpy as np

from mb_contact.model.shapes.triangle_meshes import TriangleMesh, field_mesh
from mb_contact.types import Meshes


def mesh_arrays(shapes):
    """Meshes of geometries, of each a TriangleMesh, a HeightField, a Hull or None."""
    faces = np.cumsum([0, *(0 if shape is None else len(shape.faces) for shape in shapes)])
    points = np.cumsum([0, *(0 if shape is None else len(shape.vertices) for shape in shapes)])
    meshes = [shape if isinstance(shape, TriangleMesh) else field_mesh(shape) if hasattr(shape, "shape") else None
              for shape in shapes]  # fmt: skip
    given = [(mesh, faces[g], points[g]) for g, mesh in enumerate(meshes) if mesh is not None]

    def ahead(name):
        return np.cumsum([0, *(len(getattr(mesh, name)) for mesh, _, _ in given)])

    def joined(name, shift, kind=np.int64):
        return np.concatenate([getattr(given[0][0], name)[:0].astype(kind), *(
            getattr(mesh, name) + (0 if shift is None else shift[k]) for k, (mesh, _, _) in enumerate(given))])

    vertex, face = [point for _, _, point in given], [first for _, first, _ in given]
    nodes, leaves, ridges, peaks, sides = (ahead(name) for name in ("box", "order", "ridge", "peak", "beside"))
    child = [np.where(mesh.child[:, :1] < 0, mesh.child + [-leaves[k], 0], mesh.child + nodes[k])
             for k, (mesh, _, _) in enumerate(given)]  # fmt: skip

    def starts(name, shift):
        full, at = np.zeros(faces[-1] + 1, dtype=np.int64), 0
        for k, (mesh, first, _) in enumerate(given):
            full[at:first] = shift[k]
            at = first + len(mesh.faces)
            full[first : at + 1] = getattr(mesh, name) + shift[k]
        full[at:] = full[at]
        return full

    border = np.full((faces[-1], 9), -1, dtype=np.int64)
    for k, (mesh, first, _) in enumerate(given):
        border[first : first + len(mesh.faces)] = np.where(mesh.border < 0, mesh.border, mesh.border + ridges[k])
    return Meshes(**{
        "first_node": np.cumsum([0, *(0 if mesh is None else len(mesh.box) for mesh in meshes)]).astype(np.int64),
        "box": joined("box", None, np.float64), "child": np.concatenate(child), "order": joined("order", face),
        "sided": np.array([0 if mesh is None else mesh.sided for mesh in meshes], dtype=np.int64),
        "first_ridge": starts("first_ridge", ridges), "ridge": joined("ridge", vertex),
        "goes_on": joined("goes_on", None), "sides": joined("sides", None, np.float64),
        "first_peak": starts("first_peak", peaks), "peak": joined("peak", vertex),
        "first_beside": np.concatenate([*(mesh.first_beside[:-1] + sides[k] for k, (mesh, _, _) in enumerate(given)),
                                        [sides[-1]]]).astype(np.int64),
        "beside": joined("beside", vertex), "outward": joined("outward", None, np.float64), "border": border,
    })  # fmt: skip

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh files to convex bodies: read by trimesh, scaled, hulled whole or in pieces, kept on disk by content."""

import hashlib
import io
import os
import re
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from lxml import etree

from mb_contact.model.shapes.deviations import deviation, is_close
from mb_contact.model.shapes.hulls import DETAIL, FLAT, MOST_VERTICES, Hull, convex_hull
from mb_contact.model.shapes.mesh_files import read_stl, with_buffers
from mb_contact.model.shapes.triangle_meshes import TriangleMesh, triangle_mesh

FORMATS = ("stl", "obj", "dae", "ply", "glb", "gltf")
LOOKS = ("library_effects", "library_images", "library_materials", "bind_material")  #: elements of a Collada file
#: pieces at most and voxels of a convex decomposition, finer and finer; without a tolerance V-HACD's defaults
PIECES = ((64, 400_000), (128, 800_000), (256, 1_600_000))
KINDS = Hull, TriangleMesh  #: of what is kept, which its fields tell apart
#: what, beside the content, a kept body depends on; the first number grows where hulls or meshes are made otherwise
RULES = f"13 {DETAIL} {FLAT}"


def convex_bodies(path, scale=(1.0, 1.0, 1.0), method="convex_hull", most=MOST_VERTICES, tolerance=None):
    """Convex bodies in place of a mesh.

    Parameters
    ----------
    path : Path
        STL, OBJ, Collada, PLY, GLB or glTF.  A Collada file's unit is applied, its upward axis is not, as in RViz and
        Pinocchio; that of a glTF file is y, and stays it.
    scale : (3,)
        Factors along the axes; negative ones mirror.
    method : {"auto", "convex_hull", "convex_pieces", "mesh"}
        One hull of all of it, or of each piece of a convex decomposition (V-HACD, through the package vhacdx); or its
        triangles. ``auto``: the hull where it is as good as convex (``is_close``), its triangles elsewhere.
    most : int
        Vertices of a hull; beyond, those that stand out least are left out.
    tolerance : float, optional
        Deviation up to which pieces are cut finer [m]; what was reached is ``Hull.gap``.

    Returns
    -------
    list of Hull or TriangleMesh
        In the mesh's frame, see ``Hull.centre``.

    Raises
    ------
    ValueError
        The file is no mesh that can be read, or has no extent; the message does not name the file.
    """
    if method == "auto":
        bodies = convex_bodies(path, scale, "convex_hull", most)
        return bodies if is_close(bodies) else convex_bodies(path, scale, "mesh")
    content = mesh_content(path)
    digest = hashlib.sha256(content)
    digest.update(f"{RULES} {path.suffix.lower()} {tuple(map(float, scale))} {method} {most} {tolerance}".encode())
    kept = cache_folder("hulls") / f"{digest.hexdigest()[:32]}.npz"
    bodies = _load(kept)
    if bodies is None:
        vertices, triangles = read_mesh(content, path.suffix.lower()[1:])
        bodies = _bodies(vertices * np.asarray(scale, dtype=np.float64), triangles, method, most, tolerance)
        _keep(kept, bodies)
    return bodies


def mesh_content(path):
    """All bytes that a mesh file is made of.

    Raises
    ------
    ValueError
        Its format is none that is read, or it is not there.
    """
    kind = path.suffix.lower()[1:]
    if kind not in FORMATS:
        raise ValueError(f"the format '{path.suffix}' is not read; save it as one of: {', '.join(FORMATS)}")
    try:
        content = path.read_bytes()
        return with_buffers(content, path.parent) if kind == "gltf" else content
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None


def _bodies(vertices, triangles, method, most, tolerance):
    if method == "convex_hull":
        return _judged([convex_hull(vertices, most)], vertices, triangles)
    if method == "mesh":
        return [triangle_mesh(vertices, triangles)]
    try:
        import vhacdx
    except ImportError:
        raise ValueError("convex_pieces needs the package vhacdx: pip install vhacdx, or use convex_hull") from None
    faces = np.column_stack([np.full(len(triangles), 3), triangles]).astype(np.uint32)
    best = None
    for pieces, resolution in PIECES[: 1 if tolerance is None else len(PIECES)]:
        given = {} if tolerance is None else {
            "maxConvexHulls": pieces, "resolution": resolution, "minimumVolumePercentErrorAllowed": 0.01,
            "maxRecursionDepth": 14, "maxNumVerticesPerCH": 128,
        }  # fmt: skip
        cut = vhacdx.compute_vhacd(np.ascontiguousarray(vertices), faces.ravel(), **given)
        bodies = _judged([convex_hull(points, most) for points, _ in cut], vertices, triangles)
        if best is None or bodies[0].gap < best[0].gap:
            best = bodies
        if tolerance is not None and best[0].gap <= tolerance:
            break
    return best


def _judged(bodies, vertices, triangles):
    """The bodies, with what they deviate from the mesh."""
    gap, excess = deviation(bodies, vertices, triangles)
    return [hull._replace(gap=gap, excess=excess) for hull in bodies]


def read_mesh(content, kind):
    """Vertices (n, 3) and triangles (t, 3) of a mesh file, all of its parts together [m].

    Raises
    ------
    ValueError
        It cannot be read, or holds no triangle.
    """
    try:
        if kind == "stl":
            return _checked(*read_stl(content))
        import trimesh  # takes seconds, and only such a mesh needs it

        unit = collada_unit(content) if kind == "dae" else 1.0
        content = _without_looks(content) if kind == "dae" else content
        loaded = trimesh.load(io.BytesIO(content), file_type=kind, process=False, force="scene", skip_materials=True)
        mesh = loaded.to_mesh() if hasattr(loaded, "to_mesh") else loaded.dump(concatenate=True)
        vertices = np.array(mesh.vertices, dtype=np.float64).reshape(-1, 3)
        triangles = np.array(mesh.faces, dtype=np.int64).reshape(-1, 3)
    except Exception as error:  # trimesh and pycollada raise whatever their parsers meet
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"is no {kind} mesh that can be read: {reason[:200]}") from None
    return _checked(unit * vertices, triangles)


def _checked(vertices, triangles):
    """Vertices and triangles, if they are a mesh."""
    if len(triangles) == 0 or triangles.min() < 0 or triangles.max() >= len(vertices):
        raise ValueError("holds no triangle")
    used = vertices[np.unique(triangles)]
    if not np.isfinite(used).all():
        raise ValueError("has a vertex that is not finite")
    return vertices, triangles


def _without_looks(content):
    """A Collada file without materials: a texture that is not there would cost it its triangles."""
    root = etree.fromstring(content, etree.XMLParser(huge_tree=True))
    for element in list(root.iter(*(f"{{*}}{name}" for name in LOOKS))):
        element.getparent().remove(element)
    return etree.tostring(root)


def collada_unit(content):
    """Metres in a unit of a Collada file."""
    unit = re.search(rb'<unit\b[^>]*\bmeter\s*=\s*"([^"]+)"', content)
    return float(unit.group(1)) if unit else 1.0


# --- kept on disk ---------------------------------------------------------------------------------


def cache_folder(kind):
    """Folder of what is kept of a kind; ``MB_CONTACT_CACHE_DIR`` or the user's cache folder is its parent."""
    base = os.environ.get("MB_CONTACT_CACHE_DIR")
    if not base:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mb_contact"
    return Path(base) / kind


def _load(file):
    """The bodies of a kept file, or None if there is none that can be used."""
    try:
        with np.load(file, allow_pickle=False) as kept:
            kind = KINDS["patch_0" in kept]
            return [kind(*(_value(kept[f"{name}_{i}"]) for name in kind._fields)) for i in range(int(kept["count"]))]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _value(array):
    """A field as it was: what has no dimension is a number."""
    return array if array.ndim else array.item()


def _keep(file, bodies):
    """Write bodies so that no reader sees half a file; a folder that cannot be written to is no error."""
    arrays = {f"{name}_{i}": value for i, body in enumerate(bodies) for name, value in body._asdict().items()}
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".npz", delete=False) as draft:
            np.savez(draft, count=len(bodies), **arrays)
        os.replace(draft.name, file)
    except OSError:
        pass

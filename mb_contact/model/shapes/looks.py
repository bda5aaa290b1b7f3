# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How mesh files look: the colour or the picture of each of their materials, colours of vertices and faces."""

import io
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from mb_contact.model.shapes.meshes import collada_unit, mesh_content, read_mesh
from mb_contact.types import SHAPE_BOX

CLEAR = 0.02  #: opacity up to which a material is opaque: files mean so, whatever their format says
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".tga", ".tif", ".tiff", ".gif", ".webp")
LINEAR = ("glb", "gltf")  #: formats whose colours, but not their pictures, are linear


class Texture(NamedTuple):
    """A picture on triangles."""

    picture: np.ndarray  #: (rows, columns, 3) of bytes, red, green, blue
    corners: np.ndarray  #: (t, 3, 2), of each corner, from the left and from the bottom; 1 is the whole, and it repeats

    def on(self, rows, points, triangles):
        """Colours (n, 3), from 0 to 1, of points (n, 3) on the triangles ``rows``, whose corners are (n, 3, 3) [m]."""
        return self._at(np.einsum("nk,nkx->nx", weights(points, triangles), self.corners[rows]))

    def _at(self, place):
        height, width = self.picture.shape[:2]
        x, y = np.floor(place[:, 0] * width).astype(np.int64), np.floor((1.0 - place[:, 1]) * height).astype(np.int64)
        return self.picture[y % height, x % width] / 255.0

    def mean(self):
        """Mean colour of the middles of its triangles."""
        return tuple(float(x) for x in self._at(self.corners.mean(axis=1)).mean(axis=0))


class Painted(NamedTuple):
    """The part of a mesh file that has one material."""

    vertices: np.ndarray  #: (v, 3) [m]
    triangles: np.ndarray  #: int64 (t, 3)
    colour: tuple | None = None  #: red, green, blue, opacity, from 0 to 1; None where the file says nothing
    texture: Texture | None = None
    places: np.ndarray | None = None  #: (t, 3, 2), where each corner is on a picture, as ``Texture`` has it


def read_painted(path):
    """The parts of a mesh file, each with its material, and sentences about pictures that cannot be read.

    Parameters
    ----------
    path : Path

    Returns
    -------
    parts : list of Painted
    missing : list of str

    Raises
    ------
    ValueError
        It is no mesh; the message does not name the file.
    """
    kind, content, missing = path.suffix.lower()[1:], mesh_content(path), []
    if kind == "stl":
        return [Painted(*read_mesh(content, kind))], missing
    try:
        parts = _parts(path, kind, missing)
    except Exception as error:  # trimesh and pycollada raise whatever their parsers meet; the triangles are read
        parts = []
        missing.append(f"its colours cannot be read and are left out ({error})")
    if not parts:
        parts = [Painted(*read_mesh(content, kind))]
    return parts, missing


def read_picture(path):
    """A picture as bytes (rows, columns, 3).

    Raises
    ------
    ValueError
        It is none that can be read.
    """
    try:
        return _picture(io.BytesIO(Path(path).read_bytes()))
    except Exception as error:  # Pillow raises whatever its parsers meet
        reason = getattr(error, "strerror", None) or "it is no picture that can be read"
        raise ValueError(f"picture '{Path(path).name}': {reason}; put it there, or leave its material out") from None


def tinted(picture, rgb):
    """A picture times a colour; black and None, which files beside their pictures say, are none."""
    if rgb is None or not np.any(rgb) or np.all(np.equal(rgb, 1.0)):
        return picture
    return np.round(picture * np.asarray(rgb)).astype(np.uint8)


def weights(points, corners):
    """Barycentric weights (n, 3) of points (n, 3) on triangles (n, 3, 3)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(b - a, c - a)
    whole = np.maximum(np.einsum("ij,ij->i", normal, normal), 1e-30)
    u = np.einsum("ij,ij->i", np.cross(c - b, points - b), normal) / whole
    v = np.einsum("ij,ij->i", np.cross(a - c, points - c), normal) / whole
    return np.clip(np.stack([u, v, 1.0 - u - v], axis=1), 0.0, 1.0)


def wrapped(kind, vertices, triangles, picture):
    """A picture on the triangles of a shape: whole on each side of a box, around the z axis of any other shape."""
    corners = vertices[triangles]
    low, size = vertices.min(axis=0), np.maximum(np.ptp(vertices, axis=0), 1e-12)
    if kind == SHAPE_BOX:
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        across = np.abs(normal).argmax(axis=1)
        axes = np.array([(1, 2), (0, 2), (0, 1)])[across]
        places = np.take_along_axis((corners - low) / size, axes[:, None, :].repeat(3, axis=1), axis=2)
        sign = np.take_along_axis(normal, across[:, None], axis=1)[:, 0] * np.array([1.0, -1.0, 1.0])[across]
        places[sign < 0.0, :, 0] = 1.0 - places[sign < 0.0, :, 0]  # seen from outside, the first axis goes to the left
        return Texture(picture, places)
    turn = np.arctan2(corners[..., 1], corners[..., 0]) / (2.0 * np.pi)
    turn[np.linalg.norm(corners[..., :2], axis=2) < 1e-9 * size.max()] = np.nan  # a pole is at the turn of the others
    first = np.nanmin(turn, axis=1, keepdims=True)
    turn = np.where(turn - first < 0.5, turn, turn - 1.0)
    turn = np.where(np.isnan(turn), np.nanmean(turn, axis=1, keepdims=True), turn)
    return Texture(picture, np.stack([turn, (corners[..., 2] - low[2]) / size[2]], axis=2))


# --- one file -------------------------------------------------------------------------------------


def _parts(path, kind, missing):
    """What trimesh reads, with materials."""
    import trimesh  # takes seconds, and only such a mesh needs it

    content = path.read_bytes()
    files = _Beside(path.parent, missing)
    unit = collada_unit(content) if kind == "dae" else 1.0
    loaded = trimesh.load(io.BytesIO(content), file_type=kind, process=False, force="scene", resolver=files)
    parts = []
    for node in loaded.graph.nodes_geometry:  # Scene.dump() loses colours of vertices beside a material
        transform, name = loaded.graph[node]
        mesh = loaded.geometry[name]
        if getattr(mesh, "faces", None) is None or not len(mesh.faces):
            continue
        vertices = unit * trimesh.transform_points(np.array(mesh.vertices, np.float64), transform)
        triangles = np.array(mesh.faces, np.int64)
        if np.linalg.det(transform[:3, :3]) < 0.0:
            triangles = triangles[:, ::-1].copy()
        parts.append(Painted(vertices, triangles, *_look(mesh.visual, triangles, kind in LINEAR, missing)))
    return parts


class _Beside(dict):
    """Files that a mesh names, from its folder; those that are not there are told."""

    def __init__(self, folder, missing):
        self.folder, self.missing = folder, missing

    def get(self, name, default=None):
        return self[name]

    def __missing__(self, name):
        name = str(name).strip().strip('"').removeprefix("file://").replace("\\", "/")
        for candidate in (self.folder / name, self.folder / unquote(name), self.folder / Path(name).name):
            if candidate.is_file():
                if candidate.suffix.lower() in PICTURES:
                    self._try(candidate)
                return candidate.read_bytes()
        self.missing.append(f"'{name}' is not there, which has its colours; put it beside the mesh")
        raise FileNotFoundError(name)

    def _try(self, file):
        try:
            read_picture(file)
        except ValueError as error:
            self.missing.append(str(error))

    def namespaced(self, namespace):
        """For trimesh: the files of a folder below."""
        return _Beside(self.folder / namespace, self.missing)


def _look(visual, triangles, linear, missing):
    """(colour, Texture, places) of trimesh's visual."""
    if visual is None or not visual.defined:
        return None, None, None
    if visual.kind in ("vertex", "face"):
        return *_by_face(np.asarray(visual.face_colors)[:, :3] / 255.0, linear), None
    image, rgba, opacity = _material(visual.material, linear)
    uv, colours = visual.uv, _of_vertices(visual.vertex_attributes.get("color"))
    places = None if uv is None or not len(uv) else np.nan_to_num(np.asarray(uv, np.float64))[:, :2][triangles]
    rgb = None if rgba is None else _srgb(rgba) if linear else rgba
    if image is not None and places is not None:
        if colours is not None and np.any(colours < 1.0):
            missing.append("colours of vertices beside a picture are left out; put them into the picture")
        texture = Texture(tinted(_picture(image), rgb), places)
        return (*texture.mean(), opacity), texture, places
    if image is not None:
        name = Path(str(image.info.get("file_path") or "")).name
        missing.append(f"picture '{name}' is left out: its triangles have no texture coordinates")
    if colours is not None:
        faces = colours[triangles].mean(axis=1) * (rgba if linear and rgba is not None else 1.0)
        mean, texture = _by_face(faces, linear)
        return (*mean[:3], opacity), texture, places
    return None if rgb is None else (*(float(x) for x in rgb), opacity), None, places


def _of_vertices(colours):
    """Colours of vertices (v, 3), from 0 to 1, of what trimesh has read; None where there are none."""
    if colours is None or not len(colours):
        return None
    colours = np.asarray(colours)
    whole = np.iinfo(colours.dtype).max if colours.dtype.kind in "iu" else 255.0 if colours.max() > 1.0 else 1.0
    return colours[:, :3] / whole


def _material(material, linear):
    """(picture or None, red, green and blue from 0 to 1 or None, opacity) of trimesh's material."""
    if hasattr(material, "baseColorFactor"):  # of Collada and glTF, whose materials are white where they say nothing
        rgba = np.ones(4) if material.baseColorFactor is None else np.asarray(material.baseColorFactor) / 255.0
        seen_through = (material.alphaMode or ("OPAQUE" if linear else "BLEND")) == "BLEND"
        opacity = float(rgba[3]) if seen_through else 1.0
        return material.baseColorTexture, rgba[:3], opacity if opacity > CLEAR else 1.0
    said = getattr(material, "kwargs", {})  # of OBJ
    rgb = np.asarray(material.diffuse)[:3] / 255.0 if "kd" in said else None
    try:
        opacity = float(said["d"][-1])
    except (KeyError, TypeError, ValueError, IndexError):
        opacity = 1.0
    image = material.image
    if image is not None and "file_path" not in image.info:  # trimesh's own, where a file names no material
        image = None
    return image, rgb, opacity if CLEAR < opacity <= 1.0 else 1.0


def _by_face(faces, linear):
    """(mean colour, Texture with a pixel for each colour) of triangles with a colour each (t, 3)."""
    faces = _srgb(faces) if linear else faces
    colours, index = np.unique(np.round(255.0 * faces).astype(np.uint8), axis=0, return_inverse=True)
    mean = (*(float(x) / 255.0 for x in colours[index.reshape(-1)].mean(axis=0)), 1.0)
    if len(colours) == 1:
        return mean, None
    side = int(np.ceil(np.sqrt(len(colours))))
    picture = np.zeros((side, side, 3), dtype=np.uint8)
    picture.reshape(-1, 3)[: len(colours)] = colours
    row, column = np.divmod(index.reshape(-1), side)
    place = np.stack([(column + 0.5) / side, 1.0 - (row + 0.5) / side], axis=1)
    return mean, Texture(picture, np.repeat(place[:, None, :], 3, axis=1))


def _srgb(linear):
    """sRGB of linear light (IEC 61966-2-1)."""
    linear = np.clip(linear, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)


def _picture(image):
    """Bytes (rows, columns, 3) of a Pillow image, or of a file of one."""
    from PIL import Image

    image = Image.open(image) if not isinstance(image, Image.Image) else image
    return np.ascontiguousarray(np.asarray(image.convert("RGB"), dtype=np.uint8))

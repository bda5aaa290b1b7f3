# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Geoms of a compiled MJCF: collision shapes and visuals of links, primitives of the scene, mesh and height files."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from mb_contact.model.mjcf.compiled import (
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    FLAT,
    HFIELD,
    MESH,
    PLANE,
    RGB,
    RGBA,
    SPHERE,
    Compiled,
    Names,
    file_name,
    rotation,
    three,
)
from mb_contact.model.mjcf.contact import Contacts
from mb_contact.model.mjcf.elements import number, numbers, origin
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.scene import Heights, Pose, Primitive

GREY = (0.5, 0.5, 0.5, 1.0)  #: colour of a geom that has none of its own
DRAWN_GROUPS = 3  #: MuJoCo's viewer draws the groups below it
SHAPES = {SPHERE: "sphere", CAPSULE: "capsule", CYLINDER: "cylinder", BOX: "box", ELLIPSOID: "ellipsoid"}

Element = ElementTree.Element


class Shapes:
    """Writes what geoms look like; mesh files once each, when they are first used."""

    def __init__(self, compiled: Compiled, contacts: Contacts, folder: Path) -> None:
        self.c, self.m, self.contacts, self.folder = compiled, compiled.m, contacts, folder
        self.files: dict[tuple[int, bool], str] = {}
        self.pictures: dict[int, str] = {}
        self.file_names = Names()

    def parts_of(self, body: int) -> list[str]:
        """Links that hold the collision shapes of a body; its own is the first, where it has any."""
        return list(self.contacts.parts[body])

    def collide(self, link: Element, name: str) -> None:
        """Add the collision shapes of a link to its element."""
        for g in self.contacts.parts[self._body_of(name)][name]:
            collision = ElementTree.SubElement(link, "collision")
            if self.c.name("geom", g):
                collision.set("name", self.c.name("geom", g))
            self._shape(collision, g)

    def _body_of(self, name: str) -> int:
        return next(body for body, parts in self.contacts.parts.items() if name in parts)

    def draw(self, link: Element, body: int) -> None:
        """Add what MuJoCo draws of a body to its link's element; ellipsoids are drawn by their collision shapes."""
        for g in np.flatnonzero(self.m.geom_bodyid == body).tolist():
            rgba = self._colour(g)
            shown = self.m.geom_group[g] < DRAWN_GROUPS and rgba[3] > 0.0
            if not shown or self.m.geom_type[g] not in (SPHERE, CAPSULE, CYLINDER, BOX, MESH):
                continue
            visual = ElementTree.SubElement(link, "visual")
            picture = self._picture(int(self.m.geom_matid[g]))
            self._shape(visual, g, picture)
            name = "_".join([*(f"{x:.3g}" for x in rgba), *([] if picture is None else [Path(picture).stem])])
            material = ElementTree.SubElement(visual, "material", name=f"rgba_{name}")
            ElementTree.SubElement(material, "color", rgba=" ".join(f"{x:.4g}" for x in rgba))
            if picture is not None:
                ElementTree.SubElement(material, "texture", filename=picture)

    def _colour(self, g: int) -> list[float]:
        """Colour of a geom: its own where it is another than the default, then its material's, as MuJoCo draws it."""
        material, own = int(self.m.geom_matid[g]), self.m.geom_rgba[g]
        return (own if material < 0 or not np.array_equal(own, GREY) else self.m.mat_rgba[material]).tolist()

    def _picture(self, material: int) -> str | None:
        """Address of the picture of a material, written when it is first asked for; None without a flat one."""
        m = self.m
        k = next((int(t) for t in m.mat_texid[material][[RGB, RGBA]] if t >= 0), -1) if material >= 0 else -1
        if k < 0 or m.tex_type[k] != FLAT:
            return None
        if k not in self.pictures:
            from PIL import Image  # as model/shapes/looks.py has it

            height, width, channels, first = (
                int(a[k]) for a in (m.tex_height, m.tex_width, m.tex_nchannel, m.tex_adr))  # fmt: skip
            pixels = m.tex_data[first : first + height * width * channels].reshape(height, width, channels)[..., :3]
            name = self.file_names.unique(file_name(self.c.name("tex", k) or f"texture_{k}"))
            self.pictures[k] = f"textures/{name}.png"
            Image.fromarray(np.ascontiguousarray(pixels if channels > 2 else pixels[..., :1].repeat(3, 2))).save(
                self._write(self.pictures[k])
            )
        return self.pictures[k]

    def _shape(self, element: Element, g: int, picture: str | None = None) -> None:
        """Pose and geometry of a geom in the frame of its body's link; a mesh with a picture tells where it is."""
        m = self.m
        R = rotation(m.geom_quat[g])
        origin(element, R, m.geom_pos[g] - self.c.anchor[m.geom_bodyid[g]])
        geometry = ElementTree.SubElement(element, "geometry")
        kind = int(m.geom_type[g])
        if kind == MESH:
            ElementTree.SubElement(geometry, "mesh", filename=self.mesh(int(m.geom_dataid[g]), picture is not None))
            return
        shape, size = ElementTree.SubElement(geometry, SHAPES[kind]), self._lengths(g)
        if kind in (BOX, ELLIPSOID):
            shape.set("size", numbers(size))
            return
        for key, length in zip(("radius", "length"), size):
            shape.set(key, number(length))

    def _lengths(self, g: int) -> tuple[float, ...]:
        """Full lengths of a geom, as a scene and a URDF have them [m]."""
        size, kind = self.m.geom_size[g].tolist(), int(self.m.geom_type[g])
        if kind in (BOX, ELLIPSOID):
            return tuple(2.0 * length for length in size)
        return tuple(size[:1]) if kind == SPHERE else (size[0], 2.0 * size[1])

    def mesh(self, k: int, drawn: bool = False) -> str:
        """Address of a mesh's file, written when it is first asked for: vertices as compiled, in the geom's frame.

        One that is ``drawn`` with a picture has the places of its corners on it.
        """
        m = self.m
        drawn = drawn and int(m.mesh_texcoordnum[k]) > 0
        if (k, drawn) in self.files:
            return self.files[k, drawn]
        first, count = int(m.mesh_vertadr[k]), int(m.mesh_vertnum[k])
        face, faces = int(m.mesh_faceadr[k]), int(m.mesh_facenum[k])
        corners = m.mesh_face[face : face + faces] + 1
        lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in m.mesh_vert[first : first + count].tolist()]
        if drawn:  # MuJoCo's pictures begin above
            at, places = int(m.mesh_texcoordadr[k]), int(m.mesh_texcoordnum[k])
            lines += [f"vt {u:.7g} {1.0 - v:.7g}" for u, v in m.mesh_texcoord[at : at + places].tolist()]
            both = np.stack([corners, m.mesh_facetexcoord[face : face + faces] + 1], axis=2).reshape(-1, 6)
            lines += ["f {}/{} {}/{} {}/{}".format(*row) for row in both.tolist()]
        else:
            lines += [f"f {a} {b} {c}" for a, b, c in corners.tolist()]
        name = self.file_names.unique(file_name(self.c.name("mesh", k) or f"mesh_{k}") + "_drawn" * drawn)
        self.files[k, drawn] = f"meshes/{name}.obj"
        self._write(self.files[k, drawn]).write_text("\n".join(lines) + "\n", encoding="ascii")
        return self.files[k, drawn]

    def _write(self, address: str) -> Path:
        path = self.folder / address
        path.parent.mkdir(exist_ok=True)
        return path

    # --- primitives of the scene --------------------------------------------------------------

    def primitives(self) -> tuple[Primitive, ...]:
        """Geoms of the world, planes and height fields, welded."""
        found = []
        for g, name in self.contacts.link_of.items():
            if self.contacts.is_primitive(g):
                found.append(self._primitive(g, name))
        return tuple(found)

    def _primitive(self, g: int, name: str) -> Primitive:
        m, kind = self.m, int(self.m.geom_type[g])
        R, p = self.c.static_pose(int(m.geom_bodyid[g]))
        p = p + R @ m.geom_pos[g]
        quat = matrix_to_quat(R @ rotation(m.geom_quat[g])) + 0.0
        pose = Pose(three(p), quat_xyzw=None if not quat[:3].any() else tuple(quat.tolist()))
        common: dict[str, Any] = {"name": name, "pose": pose, "material": self.contacts.material_of(g)}
        common["color"] = tuple(round(x, 4) for x in self._colour(g))
        if kind == PLANE:
            return Primitive(shape="plane", **common)
        if kind == HFIELD:
            size, heights = self._heights(int(m.geom_dataid[g]))
            return Primitive(shape="height_field", size=size, heights=heights, **common)
        if kind == MESH:
            mesh = self.mesh(int(m.geom_dataid[g]))
            return Primitive(shape="mesh", mesh=mesh, collision_meshes="convex_hull", **common)  # as in MuJoCo
        return Primitive(shape=SHAPES[kind], size=self._lengths(g), **common)

    def _heights(self, k: int) -> tuple[tuple[float, float], Heights]:
        """Size and heights of a height field, whose grid goes into a file."""
        m = self.m
        rows, columns, first = int(m.hfield_nrow[k]), int(m.hfield_ncol[k]), int(m.hfield_adr[k])
        x, y, top, _ = m.hfield_size[k].tolist()
        grid = m.hfield_data[first : first + rows * columns].reshape(rows, columns).astype(np.float64) * top
        address = f"heights/{self.file_names.unique(file_name(self.c.name('hfield', k) or f'heights_{k}'))}.npy"
        np.save(self._write(address), grid)
        return (2.0 * x, 2.0 * y), Heights(file=address)

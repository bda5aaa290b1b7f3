# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scene graph in the browser: a frame for each link, meshes under it, the contacts of the last step."""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.simulation.arrows import COLOURS, CUT, HEAD, POINT, SHAFT, WEAK, ArrowScale
from mb_contact.viewer.arrow_node import Arrows
from mb_contact.viewer.drawing import SHADY, Drawing, Part
from mb_contact.viewer.look import cell_size, linear, rgb
from mb_contact.viewer.normals import creased, fewer, side, textured
from mb_contact.viewer.snapshot import ContactPoints, Objects, Poses

SLASH = "\u2215"  #: what stands for a slash in the names of nodes
LINKS, SPAWNED = "/links", "/spawned"  #: above the nodes of the scene's links, and of objects that came later
CROWDS, CROWD = "/crowds", 8  #: above the nodes of links that look alike, and from how many on they share one
STILL = 7  #: digits of a pose in which it has changed, if it has
COLLISION = (255, 120, 30)  #: colour of collision shapes
AXES = 0.12  #: length of the axes of a link, of the scene's size
NORMAL = 0.05  #: length of a drawn normal, of the scene's size
LIGHTS = {state: linear(np.divide(colour, 255.0)) for state, colour in COLOURS.items()}  #: of arrows
SIDES = 16  #: of a drawn friction cone


# Meshes throw shadows and receive none: a page's shadows have no bias, so lit faces would be in their own.
class Crowd:
    """Moving links that one mesh each draws, the same but for its colour: one node, which a browser draws in one call.

    Parameters
    ----------
    server : viser.ViserServer
    name : str
        Of the node.
    parts : list of Part
    """

    def __init__(self, server: Any, name: str, parts: list[Part]) -> None:
        self.links = tuple(part.link for part in parts)
        self._rows = np.tile((0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), (len(parts), 1))  #: places and quaternions w x y z
        self.mesh = server.scene.add_batched_meshes_simple(
            name, *creased(parts[0]), self._rows[:, 3:], self._rows[:, :3], batched_scales=np.ones(len(parts)),
            batched_colors=np.array([linear(part.colour) for part in parts], np.uint8), receive_shadow=False,
            lod=fewer(parts[0]), side=side(parts[0]),
        )  # fmt: skip

    def place(self, poses: Poses) -> None:
        """Move its links; those that are not named stay."""
        rows = self._rows.copy()
        for k, link in enumerate(self.links):
            if link in poses:
                rows[k, :3], rows[k, 3:] = poses[link][0], wxyz(poses[link][1])
        if np.abs(rows - self._rows).max() > 10.0**-STILL:
            self._rows = rows
            self.mesh.batched_positions, self.mesh.batched_wxyzs = rows[:, :3], rows[:, 3:]

    def hide(self, gone: Collection[str]) -> None:
        """Show its links but for those that are gone."""
        self.mesh.batched_scales = np.array([float(link not in gone) for link in self.links])


def crowds(drawing: Drawing) -> list[list[Part]]:
    """Visual parts that may share a node: of CROWD or more links that move, carry nothing, and have no other part."""
    count = Counter(part.link for part in drawing.visuals)
    hosts = {host for host, _, _ in drawing.frames.values()}
    found: dict[Any, list[Part]] = {}
    for part in drawing.visuals:
        alone = count[part.link] == 1 and part.link in drawing.moving and part.link not in hosts
        if alone and part.texture is None and part.opacity >= 1.0:
            found.setdefault((part.vertices.tobytes(), part.triangles.tobytes()), []).append(part)
    return [parts for parts in found.values() if len(parts) >= CROWD]


class SceneGraph:
    """Nodes of a Drawing below ``/links``, named after their links; those of spawned objects are below ``/spawned``.

    Links that look alike are Crowds; those have a node of their own from when it is needed.

    Parameters
    ----------
    server : viser.ViserServer
    drawing : Drawing
    poses : dict
        Link to position and quaternion x y z w, of every link that is drawn and of the fixed ones too.
    attach : callable, optional
        Called with each mesh of what moves and its links: several where they look alike.
    """

    def __init__(
        self, server: Any, drawing: Drawing, poses: Poses, attach: Callable[[Any, tuple[str, ...]], Any] | None = None,
        size: float = 1.0,
    ) -> None:  # fmt: skip
        self._server, self._drawing, self._attach = server, drawing, attach
        self.cell = cell_size(size)  #: of the ground [m]
        self._axes = {"show_axes": False, "axes_length": AXES * size, "axes_radius": 0.04 * AXES * size}
        self._names: dict[str, Any] = {}
        self._shown = {"axes": False, "names": False}
        self._selected: str | None = None
        self._collisions: list[Any] | None = None
        self._version: int | None = None
        self._placed: dict[str, tuple[float, ...]] = {}  #: poses of links
        self._spawned: dict[str, Any] = {}  #: frames of objects that the scene file does not know
        server.scene.set_up_direction("+z")
        drawn = dict.fromkeys(part.link for part in (*drawing.visuals, *drawing.collisions, *drawing.planes))
        self.links = (*drawn, *drawing.frames)  #: all that have a node, or can have one
        self.frames: dict[str, Any] = {}  #: link to the handle of its frame
        self.grounds: list[Any] = []
        with server.atomic():
            groups = enumerate(crowds(drawing))
            self._crowds = [Crowd(server, f"{CROWDS}/{k}", parts) for k, parts in groups]
            crowded = {link for crowd in self._crowds for link in crowd.links}
            for link in drawn:
                if link not in crowded:
                    self._frame(link)
            for link, (host, position, quaternion) in drawing.frames.items():
                pose = {"position": position, "wxyz": wxyz(quaternion)}
                self.frames[link] = server.scene.add_frame(node_name(link, node_name(host)), **self._axes, **pose)
            self.place({link: pose for link, pose in poses.items() if link not in drawing.frames})
            self._visuals = [self._mesh(part, f"visual_{i}") for i, part in enumerate(drawing.visuals)
                             if part.link not in crowded]  # fmt: skip
            for crowd in self._crowds:
                self._visuals.append(self._attached(crowd.mesh, *crowd.links))
            for i, plane in enumerate(drawing.planes):
                self._plane(plane, f"plane_{i}")

    def _frame(self, link):
        """The frame of a link, made where it has none yet."""
        if link not in self.frames:
            *position, x, y, z, w = self._placed.get(link, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
            pose = {"position": position, "wxyz": (w, x, y, z)}
            self.frames[link] = self._server.scene.add_frame(node_name(link), **self._axes, **pose)
        return self.frames[link]

    def _mesh(self, part, name, root=LINKS):
        node = f"{node_name(part.link, root)}/{name}"
        shadows = {"receive_shadow": False, "cast_shadow": part.opacity >= SHADY}
        if part.texture is not None:
            return self._attached(self._server.scene.add_mesh_trimesh(node, textured(part), **shadows), part.link)
        mesh = self._server.scene.add_mesh_simple(
            node, *creased(part), side=side(part),
            color=rgb(part.colour), opacity=part.opacity if part.opacity < 1.0 else None, **shadows,
        )  # fmt: skip
        return self._attached(mesh, part.link)

    def _attached(self, mesh, *links):
        """A mesh of a link, or of several that look alike, which can be dragged if they move."""
        if self._attach is not None and links[0] in self._drawing.moving:
            self._attach(mesh, links)
        return mesh

    def _wires(self, part, name):
        node = f"{self._frame(part.link).name}/{name}"
        mesh = self._server.scene.add_mesh_simple(node, part.vertices, part.triangles, color=COLLISION, wireframe=True)
        return self._attached(mesh, part.link)

    def _plane(self, plane, name):
        self.grounds.append(self._server.scene.add_grid(
            f"{node_name(plane.link)}/{name}", infinite_grid=True, cell_size=self.cell,
            section_size=10.0 * self.cell, fade_distance=150.0 * self.cell,
            plane_opacity=1.0, shadow_opacity=0.35, wxyz=wxyz(matrix_to_quat(plane.R)), position=plane.p,
        ))  # fmt: skip

    def place(self, poses: Poses) -> None:
        """Move the links; those that are not named stay."""
        with self._server.atomic():
            for crowd in self._crowds:
                crowd.place(poses)
            for link, (position, quaternion) in poses.items():
                now = (*(round(float(x), STILL) for x in position), *(round(float(x), STILL) for x in quaternion))
                if self._placed.get(link) == now:  # viser would compare each anew, which takes most of a frame
                    continue
                self._placed[link] = now
                for frames in (self.frames, self._spawned):  # a spawned object may bear the name of a deleted one
                    if link in frames:
                        frames[link].position = position
                        frames[link].wxyz = wxyz(quaternion)

    def set_objects(self, objects: Objects | None) -> None:
        """Show the objects that there are (Objects), those of the scene file and others."""
        if objects is None or objects.version == self._version:
            return
        self._version = objects.version
        self._placed.clear()
        with self._server.atomic():
            for frame in self._spawned.values():
                frame.remove()
            self._spawned = {
                link: self._server.scene.add_frame(node_name(link, SPAWNED), show_axes=False)
                for link in dict.fromkeys(part.link for part in objects.spawned)
            }
            for i, part in enumerate(objects.spawned):
                self._mesh(part, f"visual_{i}", SPAWNED)
            for crowd in self._crowds:
                crowd.hide(self._drawing.objects.keys() - objects.present)
            for link in self._drawing.objects:
                if link in self.frames:
                    self.frames[link].visible = link in objects.present

    def select(self, link: str | None) -> None:
        """Show axes and name of one link, whatever the others do."""
        self._selected = link
        self._mark()

    def show_axes(self, visible: bool) -> None:
        """Show or hide the axes of all links."""
        self._shown["axes"] = visible
        self._mark()

    def show_names(self, visible: bool) -> None:
        """Show or hide the names of all links."""
        self._shown["names"] = visible
        self._mark()

    def _mark(self):
        with self._server.atomic():
            for link in self.links:
                axes, named = (self._shown[what] or link == self._selected for what in ("axes", "names"))
                if link not in self.frames and not (axes or named):
                    continue
                frame = self._frame(link)
                frame.show_axes = axes
                if named and link not in self._names:
                    self._names[link] = self._server.scene.add_label(f"{frame.name}/name", link, anchor="bottom-left")
                if link in self._names:
                    self._names[link].visible = named

    def show_visuals(self, visible: bool) -> None:
        """Show or hide the visual meshes."""
        for mesh in self._visuals:
            mesh.visible = visible

    def show_collisions(self, visible: bool) -> None:
        """Show or hide the collision shapes, as wires; they are sent when they are first asked for."""
        if self._collisions is None:
            if not visible:
                return
            parts = enumerate(self._drawing.collisions)
            self._collisions = [self._wires(part, f"collision_{i}") for i, part in parts]
        for mesh in self._collisions:
            mesh.visible = visible


class ContactLayer:
    """Contact points, their normals, forces and friction cones below ``/contacts``; green sticks, orange slips."""

    def __init__(self, server: Any, size: float, weight: float = 0.0) -> None:
        scene, none = server.scene, np.zeros((1, 2, 3))
        self._server, self._size, point = server, size, POINT * size
        self.arrows = ArrowScale(size, weight)
        self.longer = 1.0  #: what somebody makes the arrows longer by
        self.shown = {"points": True, "normals": False, "forces": True, "cones": False}
        self.points = {state: scene.add_point_cloud(
            f"/contacts/points/{state}", none[:, 0], colour, point_size=point, point_shape="circle",
            precision="float32", visible=False,
        ) for state, colour in COLOURS.items()}  # fmt: skip
        self.normals = scene.add_line_segments(
            "/contacts/normals", none, np.zeros((1, 2, 3), np.uint8), thickness=0.2 * point, visible=False
        )
        self.forces = Arrows(server, "/contacts/forces", SHAFT * point, HEAD * point, HEAD * point)
        self.cones: Any = None
        self._last: ContactPoints | None = None

    @property
    def scale(self) -> float:
        """Length of a force arrow [m/N]."""
        return self.longer * self.arrows.scale

    def show(self, name: str, visible: bool) -> None:
        """Show or hide points, normals, forces or cones."""
        self.shown[name] = visible
        self.draw(self._last)

    def draw(self, contacts: ContactPoints | None) -> None:
        """Draw the contact points of a step (ContactPoints), or none."""
        if contacts is not None and contacts is not self._last:
            self.arrows.see(contacts.forces)
        self._last = contacts
        some = contacts is not None and len(contacts.points) > 0
        with self._server.atomic():
            self.normals.visible = some and self.shown["normals"]
            self._draw_points(contacts if some and self.shown["points"] else None)
            if some and self.shown["normals"]:
                self._draw_normals(contacts)
            self.forces.visible = some and self.shown["forces"]
            if self.forces.visible:
                self._draw_forces(contacts)
            self._draw_cones(contacts if some and self.shown["cones"] else None)

    def _draw_points(self, contacts):
        # A node for each colour: where a cloud's colours are sent anew, a browser compiles its shaders again, which
        # takes it as long as all the rest of a frame.
        states = np.array([] if contacts is None else contacts.states)
        for state, cloud in self.points.items():
            rows = states == state
            cloud.visible = bool(rows.any())
            if cloud.visible:
                cloud.points = contacts.points[rows]

    def _draw_normals(self, contacts):
        both = np.repeat(_colours(contacts.states)[:, None], 2, axis=1)
        tips = contacts.points + NORMAL * self._size * contacts.normals
        self.normals.points, self.normals.colors = np.stack([contacts.points, tips], axis=1), both

    def _draw_forces(self, contacts):
        arrows = self.scale * contacts.forces
        length = np.linalg.norm(arrows, axis=1, keepdims=True)
        rows = length[:, 0] >= self.longer * WEAK * POINT * self._size
        arrows /= np.maximum(length / (self.longer * CUT * self._size), 1.0)
        self.forces.visible = bool(rows.any())
        if self.forces.visible:
            ends = np.stack([contacts.points, contacts.points + arrows], axis=1)
            lights = np.array([LIGHTS[state] for state in contacts.states], np.uint8)
            self.forces.draw(ends[rows], lights[rows])

    def _draw_cones(self, contacts):
        if contacts is None:
            if self.cones is not None:
                self.cones.visible = False
            return
        vertices, triangles = friction_cones(contacts, self.scale, self.longer * CUT * self._size)
        self.cones = self._server.scene.add_mesh_simple(  # again: the number of triangles changes
            "/contacts/cones", vertices, triangles, color=COLOURS["slip"], opacity=0.3, side="double", cast_shadow=False
        )


def _colours(states):
    """Colours (c, 3) of contacts in these states."""
    return np.array([COLOURS[state] for state in states], np.uint8)


def friction_cones(
    contacts: ContactPoints, scale: float, longest: float = np.inf
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Vertices and triangles of the forces that friction allows at the present normal forces, as long as the arrows."""
    angle = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    vertices: list[Floats] = []
    triangles: list[npt.NDArray[np.int64]] = []
    for point, normal, force, mu in zip(contacts.points, contacts.normals, contacts.forces, contacts.friction):
        height = min(longest, scale * max(0.0, float(force @ normal)))
        across = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
        across /= np.linalg.norm(across)
        rim = np.outer(np.cos(angle), across) + np.outer(np.sin(angle), np.cross(normal, across))
        first = len(vertices) * (SIDES + 1)
        vertices.append(np.vstack([point, point + height * (normal + mu * rim)]))
        k = np.arange(SIDES)
        triangles.append(first + np.column_stack([np.zeros(SIDES, int), 1 + k, 1 + (k + 1) % SIDES]))
    return np.concatenate(vertices), np.concatenate(triangles)


def node_name(link: str, root: str = LINKS) -> str:
    """Name of a link's node; a slash would make a level of its own, another sign might be another link's."""
    return f"{root}/{link.replace('/', SLASH)}"


def wxyz(quaternion: Floats) -> tuple[float, float, float, float]:
    """The viewer's order of a quaternion x y z w."""
    x, y, z, w = (float(c) for c in quaternion)
    return w, x, y, z

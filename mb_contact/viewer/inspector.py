# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is selected: where it is, what touches it and how hard; and the distance of two places."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.viewer.drawing import Drawing
from mb_contact.viewer.graph import SceneGraph
from mb_contact.viewer.look import plain
from mb_contact.viewer.snapshot import ContactPoints, Poses, Snapshot

NOTHING = "nothing"
PERIOD = 0.2  #: wall time between two updates of the text [s]
MEASURE = (214, 39, 116)  #: colour of the line between two places


class Inspector:
    """A folder about one link, chosen from a list that can be searched or by a click.

    Parameters
    ----------
    server : viser.ViserServer
    graph : SceneGraph
    drawing : Drawing
    poses : dict
        Of all links at the start.
    """

    def __init__(self, server: Any, graph: SceneGraph, drawing: Drawing, poses: Poses) -> None:
        self._server, self._graph, self._drawing = server, graph, drawing
        self._poses, self._due = dict(poses), 0.0
        self._last: Snapshot | None = None
        self._places: list[tuple[str, Floats]] = []  #: that are measured: link and point in its axes
        self.folder = server.gui.add_folder("Selected and measured")
        with self.folder:
            links = tuple(dict.fromkeys((NOTHING, *graph.links)))  # a list that has a name twice ends the page
            hint = "Click a link in the picture, or type a part of its name."
            self.choice = server.gui.add_dropdown("link", links, initial_value=NOTHING, hint=hint)
            self.text = server.gui.add_markdown("")
            self.measuring = server.gui.add_checkbox("measure: click two places", False)
            self.distance = server.gui.add_markdown("")
        self.choice.on_update(lambda _: self._selected())
        self.measuring.on_update(lambda _: self._forget())
        self.line = server.scene.add_line_segments(
            "/measured", np.zeros((1, 2, 3)), MEASURE, thickness=3.0, thickness_units="screen", visible=False
        )
        self.label = server.scene.add_label("/measured_distance", "", visible=False)
        server.scene.on_click()(lambda event: self.click(event.ray_origin, event.ray_direction))

    def remove(self) -> None:
        """Take the folder away, and hear no clicks any more."""
        self.folder.remove()
        self._server.scene.remove_click_callback()

    # --- what is asked for ----------------------------------------------------------------------
    def click(self, origin: Any, direction: Any) -> None:
        """A ray from the camera through the pixel of a click, in the world."""
        hit = pick(self._drawing, self._poses, np.asarray(origin, float), np.asarray(direction, float))
        if not self.measuring.value:
            self.choice.value = NOTHING if hit is None or hit[0] not in self._graph.links else hit[0]
        elif hit is not None:
            link, place = hit
            p, quaternion = self._poses[link]
            self._places = [*self._places[-1:], (link, quat_to_matrix(quaternion).T @ (place - p))][-2:]
            self._measure()

    def _selected(self):
        link = self.choice.value
        self._graph.select(link if link in self._graph.links else None)
        self._write()

    def _forget(self):
        self._places = []
        self._measure()

    # --- every frame ----------------------------------------------------------------------------
    def update(self, snapshot: Snapshot) -> None:
        """Write what has changed."""
        self._last = snapshot
        self._poses.update(snapshot.poses)
        if time.perf_counter() >= self._due:
            self._due = time.perf_counter() + PERIOD
            self._write()
            self._measure()

    def _write(self):
        link = self.choice.value
        if link == NOTHING:
            self.text.content = ""
            return
        p, quaternion = self._pose(link)
        lines = [f"at **{_numbers(p)}** m, turned {_numbers(np.degrees(rotation_vector(quaternion)), 1)}°"]
        touched = {} if self._last is None else touching(self._last.contacts, link)
        rows = [f"| {plain(other)} | {text} |" for other, text in touched.items()]
        table = ["| touches | N, points |", "|---|---|", *rows] if rows else ["touches nothing"]
        self.text.content = "\n\n".join([*lines, "\n".join(table)])

    def _pose(self, link):
        if link not in self._drawing.frames:
            return self._poses[link]
        host, position, quaternion = self._drawing.frames[link]
        p, R = self._poses[host][0], quat_to_matrix(self._poses[host][1])
        return p + R @ position, matrix_to_quat(R @ quat_to_matrix(quaternion))

    def _measure(self):
        shown = len(self._places) == 2
        self.line.visible = self.label.visible = shown
        self.distance.content = ""
        if shown:
            told = [(self._poses[link], point) for link, point in self._places]
            ends = np.array([p + quat_to_matrix(quaternion) @ point for (p, quaternion), point in told])
            way = ends[1] - ends[0]
            self.line.points, self.label.position = ends[None], ends.mean(axis=0)
            self.label.text = f"{np.linalg.norm(way):.4f} m"
            (a, _), (b, _) = self._places
            between = f"from {plain(a)} to {plain(b)}: {_numbers(way, 4)} m"
            self.distance.content = f"**{np.linalg.norm(way):.4f} m** {between}"


def touching(contacts: ContactPoints, link: str) -> dict[str, str]:
    """What touches a link: force on it along the world's axes, its length, and the points' states, in words."""
    found: dict[str, Any] = {}
    for (a, b), side, force, state in zip(contacts.links, contacts.sides, contacts.forces, contacts.states):
        if link in (a, b):
            of = found.setdefault(b if link == a else a, [np.zeros(3), {}])
            of[0] = of[0] + (side if link == a else -side) * force
            of[1][state] = of[1].get(state, 0) + 1
    return {
        other: f"**{np.linalg.norm(force):.3g}** ({_numbers(force)}); "
        + ", ".join(f"{count} {plain(state)}" for state, count in states.items())
        for other, (force, states) in found.items()
    }


def pick(drawing: Drawing, poses: Mapping[str, Any], origin: Floats, direction: Floats) -> tuple[str, Floats] | None:
    """The link that a ray meets first, and where (3,) in the world [m]; None where it meets nothing."""
    best, found = np.inf, None
    for part in drawing.visuals:
        if part.link not in poses or not len(part.triangles):
            continue
        p, quaternion = poses[part.link]
        R = quat_to_matrix(quaternion)
        distance = ray_length(R.T @ (origin - p), R.T @ direction, part.vertices[part.triangles])
        if distance < best:
            best, found = distance, part.link
    for plane in drawing.planes:
        p, quaternion = poses[plane.link]
        R = quat_to_matrix(quaternion)
        up, base = R @ plane.R[:, 2], p + R @ plane.p
        if abs(up @ direction) > 1e-9 and 0.0 < (distance := up @ (base - origin) / (up @ direction)) < best:
            best, found = distance, plane.link
    return None if found is None else (found, origin + best * direction)


def ray_length(origin: Floats, direction: Floats, triangles: Floats) -> float:
    """Length along a ray to the nearest of triangles (t, 3, 3), inf where there is none (Moeller and Trumbore 1997)."""
    first, second = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    across = np.cross(direction, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1.0 / np.einsum("ij,ij->i", first, across)
        way = origin - triangles[:, 0]
        u = scale * np.einsum("ij,ij->i", way, across)
        around = np.cross(way, first)
        v, t = scale * (around @ direction), scale * np.einsum("ij,ij->i", second, around)
        hit = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 1e-9)
    return float(t[hit].min(initial=np.inf))


def rotation_vector(quaternion: Any) -> Floats:
    """Axis times angle of a quaternion x y z w [rad]."""
    xyz, w = np.asarray(quaternion)[:3], float(quaternion[3])
    sine = float(np.linalg.norm(xyz))
    return np.zeros(3) if sine < 1e-12 else (2.0 * np.arctan2(sine, abs(w)) * np.sign(w or 1.0) / sine) * xyz


def _numbers(values, digits=3):
    return ", ".join(f"{value + 0.0:.{digits}f}" for value in np.round(values, digits))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A view: the scene graph, the contacts and the panel on one server, fed with frames."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.ros.outputs.sizes import diagonal
from mb_contact.viewer.dragging import Dragging
from mb_contact.viewer.graph import ContactLayer, SceneGraph
from mb_contact.viewer.panel import Panel
from mb_contact.viewer.sight import clear_sight

if TYPE_CHECKING:
    from mb_contact.viewer.drawing import Drawing
    from mb_contact.viewer.snapshot import Poses, Snapshot
    from mb_contact.viewer.source import Source

ORIGIN = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
CORNERS = np.array([[k >> i & 1 for i in range(3)] for k in range(8)])  #: of a box, as rows of its two ends
SIGHT = np.array([0.75, -0.7, 0.5])  #: from the middle of a scene to the camera, of its size
NEAR, FAR = 0.01, 1000.0  #: what a camera sees of a scene of 1 m [m]; of others by their sizes
WAIT = 0.1  #: longest wait for a frame before a signal is looked at [s]


class View:
    """Draws the frames of a source: the one drawer of simulations, loops of one's own, recordings, nodes and files.

    Parameters
    ----------
    server : viser.ViserServer
    drawing : Drawing
    poses : dict
        Of all drawn links at the start.
    source : Source
    title : str
    """

    def __init__(self, server: Any, drawing: Drawing, poses: Poses, source: Source, title: str) -> None:
        self.server, self.drawing, self.title, self._source = server, drawing, title, source
        self.lock = threading.RLock()  #: of the scene: frames are drawn one after the other, whoever draws them
        self.shown: Snapshot | None = None  #: what was drawn last
        middle, size = extent(drawing, poses)
        self.dragging = Dragging(server, source) if source.can_drag else None  # type: ignore[arg-type]
        attach, measure = None if self.dragging is None else self.dragging.attach, drawing.size or size
        self.graph = SceneGraph(server, drawing, poses, attach, measure)
        self.layer = ContactLayer(server, measure, drawing.weight)
        self.panel = Panel(self, source, title, poses)
        way = clear_sight(drawing, [poses], SIGHT)
        self.near = NEAR * min(1.0, size)  #: nearest that a camera sees or comes [m]
        for camera in (server.initial_camera, *(client.camera for client in server.get_clients().values())):
            camera.near, camera.far = self.near, FAR * max(1.0, size)
            camera.look_at = middle
            camera.position = middle + size * way

    def draw(self, snapshot: Snapshot) -> None:
        """Keep a Snapshot, and draw it unless somebody looks back."""
        self.panel.timeline.add(snapshot)
        if not self.panel.timeline.back:
            self.show(snapshot)

    def show(self, snapshot: Snapshot) -> None:
        """Draw a Snapshot."""
        with self.lock:
            self.shown = snapshot
            self.draw_scene(snapshot)
            if self.dragging is not None:
                self.dragging.draw(snapshot.pulls)
            self.panel.update(snapshot)

    def draw_scene(self, snapshot: Snapshot) -> None:
        """Draw links and contacts of a Snapshot."""
        self.graph.set_objects(snapshot.objects)
        self.graph.place(snapshot.poses)
        self.layer.draw(snapshot.contacts)

    def remove(self) -> None:
        """Take everything away again, for another scene on the same server."""
        self.panel.remove()
        self.server.scene.reset()

    def draw_next(self) -> bool:
        """Draw the next frame of the source if there is one soon; returns whether there was."""
        snapshot = self._source.frame(WAIT)
        if snapshot is not None:
            self.draw(snapshot)
        return snapshot is not None


def extent(drawing: Drawing, poses: Poses) -> tuple[Floats, float]:
    """Middle (3,) and diagonal of the box around what moves, or where nothing does all that is drawn [m]."""
    corners = [np.zeros((1, 3))]
    for part in [part for part in drawing.visuals if part.link in drawing.moving] or drawing.visuals:
        p, quaternion = poses.get(part.link, ORIGIN)
        box = np.array([part.vertices.min(axis=0), part.vertices.max(axis=0)])
        corners.append(box[CORNERS, range(3)] @ quat_to_matrix(quaternion).T + p)
    every = np.concatenate(corners[1:] or corners)
    low, high = every.min(axis=0), every.max(axis=0)
    return 0.5 * (low + high), diagonal(low, high)

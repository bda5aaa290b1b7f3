# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Environments as pictures, and in the browser: what the web view draws of a scene, and the goal."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.gym.own_tasks import SceneTask
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.shapes.shape_meshes import ball_profile, turned
from mb_contact.types import WORLD
from mb_contact.viewer.drawing import Part, scene_drawing
from mb_contact.viewer.graph import SceneGraph
from mb_contact.viewer.library import start_server
from mb_contact.viewer.render import Camera, picture
from mb_contact.viewer.snapshot import Poses
from mb_contact.worlds.worlds import Worlds

GOAL = "goal"  #: link of the mark of the goal
GREEN, RADIUS = (0.20, 0.65, 0.32), 0.025  #: of that mark, its radius in m


class Pictures:
    """What can be seen of the worlds of a task.

    Parameters
    ----------
    worlds : Worlds
    task : SceneTask
    """

    def __init__(self, worlds: Worlds, task: SceneTask) -> None:
        self._worlds, self._task = worlds, task
        drawing = scene_drawing(worlds.scene, worlds.world)
        if task.goal_at is not None:
            vertices, triangles = turned(*ball_profile())
            mark = Part(GOAL, RADIUS * vertices, triangles, GREEN)
            drawing = drawing._replace(visuals=[*drawing.visuals, mark], moving=(*drawing.moving, GOAL))
        self._drawing = drawing
        self._server: Any = None

    def frame(self, number: int, goal: Any, width: int, height: int) -> NDArray[np.uint8]:
        """Picture (height, width, 3) of one world, whose goal is (g,)."""
        camera = Camera(self._task.eye, self._task.target, width=width, height=height)
        return picture(self._drawing, self._poses(number, goal), camera)

    def show(self, number: int, goal: Any) -> None:
        """Show one world in the browser."""
        poses = self._poses(number, goal)
        if self._server is None:
            self._server = start_server()
            self._graph = SceneGraph(self._server, self._drawing, poses)
            camera = self._server.initial_camera
            camera.look_at, camera.position = self._task.target, self._task.eye
            print(f"environment at http://localhost:{self._server.get_port()}", flush=True)
        self._graph.place(poses)

    def close(self) -> None:
        """End the server of the browser."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _poses(self, number: int, goal: Any) -> Poses:
        """Poses of all links that are drawn."""
        worlds, drawing = self._worlds, self._drawing
        p, R = worlds.body_positions[number], worlds.body_rotations[number]
        poses = {}
        for link in {part.link for part in (*drawing.visuals, *drawing.planes)} - {GOAL}:
            frame = worlds.world.frames[link]
            origin, axes = frame.p, frame.R
            if frame.body != WORLD:
                origin, axes = p[frame.body] + R[frame.body] @ origin, R[frame.body] @ axes
            poses[link] = origin, matrix_to_quat(axes)
        if self._task.goal_at is not None:
            poses[GOAL] = np.array(self._task.goal_at(goal)), np.array([0.0, 0.0, 0.0, 1.0])
        return poses

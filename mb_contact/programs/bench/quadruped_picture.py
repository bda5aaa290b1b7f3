# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A picture of the quadruped on its terrain: the robot at a few moments of the walk, and the trunk's path."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from mb_contact.model.scene import Scene
from mb_contact.model.shapes.shape_meshes import box_mesh
from mb_contact.programs.bench.trot import Trot
from mb_contact.simulation.simulator import Simulator
from mb_contact.viewer.drawing import Part, scene_drawing
from mb_contact.viewer.film import camera_of, write_film
from mb_contact.viewer.render import picture

MOMENTS = (0.4, 9.3)  #: at which the robot is drawn [s]
SECONDS = 10.0
SIZE, ANGLE = (1100, 460), 0.34  #: of the picture [px], its vertical field of view [rad]
DOT, EVERY, RED = 0.006, 20, (0.84, 0.15, 0.16)  #: dots of the path: half a side [m], steps between


def draw(file: str | Path, scene: Scene, seconds: float = SECONDS) -> Path:
    """Walk in the quadruped's scene and draw; returns the file's path."""
    simulator = Simulator(scene)
    drawing = scene_drawing(scene, simulator.world)
    trot, path, moments = Trot(simulator), [], []
    for _ in range(round(seconds / simulator.time_step)):
        if any(abs(simulator.time - moment) < 0.5 * simulator.time_step for moment in MOMENTS):
            moments.append({part.link: simulator.link_pose(part.link) for part in drawing.visuals})
        simulator.step(trot.efforts())
        path.append(simulator.link_pose("trunk")[0])
    robot = [part for part in drawing.visuals if part.link in drawing.moving]
    shown = [part for part in drawing.visuals if part.link not in drawing.moving]
    poses = {**moments[0], "world": (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))}
    for k, there in enumerate(moments):
        shown += [part._replace(link=f"{part.link} {k}") for part in robot]
        poses |= {f"{link} {k}": pose for link, pose in there.items()}
    corners, triangles = box_mesh(np.full(3, DOT))
    dots = [Part("world", corners + place, triangles, RED) for place in path[::EVERY]]
    file, camera = Path(file), replace(camera_of(drawing, moments, SIZE), angle=ANGLE)
    write_film(file, [picture(drawing._replace(visuals=shown), poses, camera, dots)], 0.1)
    return file

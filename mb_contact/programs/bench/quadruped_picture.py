# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A picture of the quadruped on its terrain: collision shapes at a few moments of the walk, and the trunk's path."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.model import tree_poses
from mb_contact.model.scene import Scene
from mb_contact.model.shapes.shape_meshes import shape_mesh
from mb_contact.model.world import World
from mb_contact.programs.bench.trot import Trot
from mb_contact.simulation.simulator import Simulator
from mb_contact.types import SHAPE_HEIGHT_FIELD, WORLD

MOMENTS = (0.4, 9.3)  # at which the robot is drawn [s]
SECONDS = 10.0
VIEW = {"elev": 28.0, "azim": -62.0}
LIGHT = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])


def draw(file: str | Path, scene: Scene, seconds: float = SECONDS) -> str | Path:
    """Walk in the quadruped's scene and draw; returns the file's path.

    Raises
    ------
    ImportError
        matplotlib is missing.
    """
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    simulator = Simulator(scene)
    trot, path, robots = Trot(simulator), [], []
    for _ in range(round(seconds / simulator.time_step)):
        if any(abs(simulator.time - moment) < 0.5 * simulator.time_step for moment in MOMENTS):
            robots.append(robot_triangles(simulator))
        simulator.step(trot.efforts())
        path.append(simulator.link_pose("trunk")[0])
    way = np.array(path)
    figure = Figure(figsize=(11.0, 5.0), dpi=110)
    axes: Any = figure.add_axes((-0.3, -0.75, 1.6, 2.5), projection="3d", computed_zorder=False)
    ground = ground_triangles(simulator.world)
    near = np.abs(ground[:, :, 0] - 0.5 * way[-1, 0]).max(axis=1) < 0.5 * abs(way[-1, 0]) + 1.0
    ground = ground[near & (np.abs(ground[:, :, 1]).max(axis=1) < 1.25)]
    height = ground[:, :, 2].mean(axis=1)
    height = (height - height.min()) / max(np.ptp(height), 1e-9)
    soil = shades(ground, (0.72, 0.66, 0.52)) * (0.6 + 0.5 * height[:, None])
    axes.add_collection3d(Poly3DCollection(ground, facecolors=np.clip(soil, 0.0, 1.0), zorder=0))
    axes.plot(*way.T, color="tab:red", linewidth=1.2, zorder=2)
    for k, triangles in enumerate(robots):
        colour = ((0.25, 0.45, 0.7), (0.7, 0.4, 0.3))[k % 2]
        axes.add_collection3d(Poly3DCollection(triangles, facecolors=shades(triangles, colour), zorder=3 + k))
    low, high = ground.reshape(-1, 3).min(axis=0), ground.reshape(-1, 3).max(axis=0)
    high[2] = max(triangles[:, :, 2].max() for triangles in robots)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=0.9)
    axes.view_init(**VIEW)
    axes.set_axis_off()
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)
    return file


def shades(triangles: Floats, colour: Sequence[float]) -> Floats:
    """Colours of triangles under a light."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    return np.clip((0.45 + 0.55 * np.abs(normals @ LIGHT))[:, None] * np.array(colour), 0.0, 1.0)


def ground_triangles(world: World) -> Floats:
    """Triangles (t, 3, 3) of the height field [m]."""
    g = int(np.flatnonzero(world.geoms.kind == SHAPE_HEIGHT_FIELD)[0])
    vertices, triangles = shape_mesh(world.geoms, g)
    return (vertices @ world.geoms.R[g].T + world.geoms.p[g])[triangles]


def robot_triangles(simulator: Simulator) -> Floats:
    """Triangles (t, 3, 3) of all moving collision shapes where they are now [m]."""
    geoms, out = simulator.world.geoms, []
    R, p = tree_poses(simulator.world.tree, simulator.q)
    for g, body in enumerate(geoms.body.tolist()):
        if body != WORLD:
            vertices, triangles = shape_mesh(geoms, g)
            out.append(((vertices @ geoms.R[g].T + geoms.p[g]) @ R[body].T + p[body])[triangles])
    return np.concatenate(out)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cameras and lidars: rays from a sensor at a snapshot of all bodies' poses, which any thread may cast."""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.collision.ray_scene import RayScene, tiles
from mb_contact.errors import CollisionError
from mb_contact.model.model import Frame
from mb_contact.model.scene import Pose
from mb_contact.model.scene.sensors import Image, Scan
from mb_contact.model.shapes.visuals import visible
from mb_contact.types import WORLD

#: from the optical axes (x right, y down, z ahead) to those of the sensor (x ahead, y left, z up): REP 103
OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])


class ImageReading(NamedTuple):
    """What a camera tells; rows from the top of the image down.

    Examples
    --------
    >>> ahead = np.array([[[0.0, 0.0, 1.0]]])
    >>> mb.simulation.ImageReading(np.array([[2.0]]), None, ahead).points
    array([[[0., 0., 2.]]])
    """

    depth: Floats  #: (height, width), along the optical axis; inf beyond the farthest, -inf below the least [m]
    colour: npt.NDArray[np.uint8] | None  #: (height, width, 3), red, green, blue; None of a camera without colours
    directions: Floats  #: (height, width, 3), of the pixels in the optical frame, at depth 1

    @property
    def points(self) -> Floats:
        """What is seen as points.

        Returns
        -------
        ndarray (height, width, 3)
            In the optical frame (x right, y down, z ahead); nan where nothing is measured [m].
        """
        return _points(self.depth, self.directions)


class ScanReading(NamedTuple):
    """What a lidar tells; rings from the lowest to the highest.

    Examples
    --------
    >>> ahead = np.array([[[1.0, 0.0, 0.0]]])
    >>> mb.simulation.ScanReading(np.array([[2.0]]), ahead).points
    array([[[2., 0., 0.]]])
    """

    ranges: Floats  #: (rings, samples); inf beyond the farthest, -inf below the least [m]
    directions: Floats  #: (rings, samples, 3), unit vectors in the sensor's frame

    @property
    def points(self) -> Floats:
        """What is seen as points.

        Returns
        -------
        ndarray (rings, samples, 3)
            In the sensor's frame (x ahead, y left, z up); nan where nothing is measured [m].
        """
        return _points(self.ranges, self.directions)


def _points(distance, directions):
    return np.where(np.isfinite(distance), distance, np.nan)[..., None] * directions


def image_directions(image: Image, right: float = 0.0, down: float = 0.0) -> Floats:
    """Directions of a camera's pixels in its optical frame, at depth 1: (height, width, 3); beside their middles."""
    u = (np.arange(image.width) - 0.5 * (image.width - 1) + right) / image.focal_length
    v = (np.arange(image.height) - 0.5 * (image.height - 1) + down) / image.focal_length
    directions = np.ones((image.height, image.width, 3))
    directions[..., 0], directions[..., 1] = u, v[:, None]
    return directions


def scan_directions(scan: Scan) -> Floats:
    """Unit vectors of a lidar's rays in its frame: (rings, samples, 3)."""
    up, turn = np.meshgrid(np.linspace(*scan.elevations, scan.rings), scan.azimuths(), indexing="ij")
    return np.stack([np.cos(up) * np.cos(turn), np.cos(up) * np.sin(turn), np.sin(up)], axis=-1)


class _Rays:
    """The rays of a camera or lidar; those with the same image or scan share them, while one of them is there.

    So a world that is built anew, for each body that comes or goes, has not to make them again.
    """

    _made: "WeakValueDictionary[str, _Rays]" = WeakValueDictionary()

    def __init__(self, grid: Image | Scan) -> None:
        self.directions = image_directions(grid) if isinstance(grid, Image) else scan_directions(grid)
        self.tiles = tiles(self.directions)
        self.finer = []  #: several rays a pixel, for colours
        if isinstance(grid, Image) and grid.colour and grid.samples > 1:
            beside = (np.arange(grid.samples) + 0.5) / grid.samples - 0.5
            self.finer = [tiles(image_directions(grid, right, down)) for down in beside for right in beside]

    @classmethod
    def of(cls, grid: Image | Scan) -> "_Rays":
        """Those of an image or a scan."""
        rays = cls._made.get(repr(grid))
        if rays is None:
            rays = cls._made[repr(grid)] = cls(grid)
        return rays


class _View(NamedTuple):
    """A camera or lidar: its rays, and where they come from."""

    sensor: Any
    rays: _Rays
    frame: Frame  #: of the rays, on the body that carries the sensor


class Cameras:
    """The cameras and lidars of a scene, and what they can see; made once, however the simulation goes on.

    Parameters
    ----------
    scene : Scene
    world : World
    R, p : ndarray
        Rotations (n, 3, 3) and origins (n, 3) of its bodies [m], whose entries are those of now.

    Raises
    ------
    SceneError
        They see meshes and Embree is not installed.
    """

    def __init__(self, scene: Any, world: Any, R: Floats, p: Floats) -> None:
        self._bodies, self._views = (R, p), {}
        for i, sensor in enumerate(scene.sensors):
            if sensor.kind in ("camera", "lidar"):
                self._views[sensor.name] = _view(sensor, mount(world, sensor))
                last = f"sensors[{i}]"
        try:
            images = [view.sensor.image for view in self._views.values()]
            self._coloured = any(image is not None and image.colour for image in images)
            self._scene = RayScene(world, visible(scene, world), self._coloured)
        except (CollisionError, OSError) as error:
            raise scene.error(last, str(error)) from None
        around = tiles(np.concatenate([np.eye(3), -np.eye(3)])[None])
        first = self._scene.look if self._coloured else self._scene.cast  # compiles or loads
        first(around, R, p, (np.eye(3), np.zeros(3)), None)

    def capture(self, name: str) -> Callable[[], ImageReading | ScanReading]:
        """Copy the poses of now; the function returned makes the exact reading of them, in any thread."""
        R, p = (array.copy() for array in self._bodies)
        return lambda: self.read(name, R, p)

    def read(self, name: str, R: Floats, p: Floats) -> ImageReading | ScanReading:
        """The exact reading where the bodies are at these rotations (n, 3, 3) and origins (n, 3) [m]."""
        view = self._views[name]
        sensor, camera = view.sensor, view.sensor.kind == "camera"
        limits = (sensor.image or Image()) if camera else (sensor.scan or Scan())
        pose = view.frame.placed(R, p)
        where = R, p, pose, sensor.link
        if camera and limits.colour and not view.rays.finer:
            t, colours = self._scene.look(view.rays.tiles, *where)
        else:
            t, colours = self._scene.cast(view.rays.tiles, *where), None
        if view.rays.finer:
            places = lamp_places(len(view.rays.finer))
            seen = [self._scene.look(rays, *where, place)[1] for rays, place in zip(view.rays.finer, places)]
            colours = sum(seen) / len(seen)
        t[t > limits.far], t[t < limits.near] = np.inf, -np.inf
        if not camera:
            return ScanReading(t, view.rays.directions)
        rows = None if colours is None else (255.0 * colours + 0.5).astype(np.uint8)
        return ImageReading(t, rows, view.rays.directions)


    def surfaces(
        self, name: str, R: Floats, p: Floats
    ) -> tuple[Frame, Floats, Floats, npt.NDArray[np.int64], Floats]:
        """A lidar's frame, its rays (k, 3) in it, and their ranges (k,), bodies (k,) and normals (k, 3).

        As ``RayScene.surfaces`` has them, ring by ring; ranges that it does not tell have the normal 0.
        """
        view = self._views[name]
        scan, rays = view.sensor.scan or Scan(), view.rays
        t, body, normal = self._scene.surfaces(rays.tiles, R, p, view.frame.placed(R, p), view.sensor.link)
        normal[(t < scan.near) | (t > scan.far)] = 0.0
        return view.frame, rays.directions.reshape(-1, 3), t.ravel(), body.ravel(), normal.reshape(-1, 3)


def lamp_places(count: int) -> Floats:
    """Places (count, 2) all over a disc of radius 1, each for as much of it, by the golden angle."""
    turn, out = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count), np.sqrt((np.arange(count) + 0.5) / count)
    return out[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)


def _view(sensor, frame):
    if sensor.kind == "lidar":
        return _View(sensor, _Rays.of(sensor.scan or Scan()), frame)
    return _View(sensor, _Rays.of(sensor.image or Image()), Frame(frame.body, frame.R @ OPTICAL, frame.p))


def mount(world: Any, sensor: Any) -> Frame:
    """Frame of a camera or lidar on a body, x ahead and z up; the link ``world`` is the inertial frame."""
    link = world.frames.get(sensor.link, Frame(WORLD, np.eye(3), np.zeros(3)))
    pose = sensor.pose or Pose()
    return Frame(link.body, link.R @ pose.rotation(), link.p + link.R @ pose.origin())


def noisy(reading: Any, deviations: tuple[float, float], chance: np.random.Generator) -> Any:
    """A reading with noise on what is measured: of a deviation that grows with depth squared, or with the range."""
    distance, (constant, growing) = reading[0], deviations
    if constant or growing:
        finite = np.where(np.isfinite(distance), distance, 0.0)
        power = 2 if isinstance(reading, ImageReading) else 1
        noise = np.hypot(constant, growing * finite**power) * chance.standard_normal(distance.shape)
        reading = reading._replace(**{reading._fields[0]: distance + noise})
    return reading


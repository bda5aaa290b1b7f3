# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of a scene: what is measured where, how often, how late and with how much noise."""

import re
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from mb_contact.model.scene_parts import Pose

#: kinds of sensors, and the two quantities that each has noise of
KINDS = MappingProxyType({
    "imu": ("angular velocity [rad/s]", "linear acceleration [m/s^2]"),
    "force_torque": ("torque [N m]", "force [N]"),
    "encoder": ("position [rad, m]", "velocity [rad/s, m/s]"),
    "contact": ("torque [N m]", "force [N]"),
    "tactile": ("normal force of a cell [N]", "shear force of a cell [N]"),
    "camera": ("depth [m]", "depth, over its square [1/m]"),
    "lidar": ("range [m]", "range, over itself"),
})
RAYS = ("camera", "lidar")  #: kinds that see shapes
PLACES = MappingProxyType({  #: keys of a sensor, and the kinds that have them; what some of them cannot do without
    "link": ("imu", "contact", "tactile", *RAYS), "joint": ("force_torque",), "joints": ("encoder",),
    "pose": ("imu", "force_torque", "contact", *RAYS),
    "image": ("camera",), "scan": ("lidar",), "pad": ("tactile",), "partner": ("contact", "tactile"),
})  # fmt: skip
NEEDED = ("link", "joint", "pad")
FACES = ("+x", "-x", "+y", "-y", "+z", "-z")  #: of a box
MOST_RAYS = 2**24  #: of one sensor


@dataclass(frozen=True)
class Image:
    """What a camera without distortion takes; pixel (u, v) looks along ((u - cx) / f, (v - cy) / f, 1), optical axes.

    Examples
    --------
    >>> round(mb.model.Image(width=320, height=240, fov=1.0).focal_length, 3)
    292.878
    """

    width: int = 640  #: [pixels]
    height: int = 480
    fov: float = 1.2  #: horizontal field of view, over the whole width [rad]
    near: float = 0.05  #: least depth that is measured [m]
    far: float = 20.0  #: largest one [m]
    colour: bool = False  #: whether it takes colours beside depths

    @property
    def focal_length(self) -> float:
        """Focal length f; the principal point is the middle of the image, ((width - 1) / 2, (height - 1) / 2).

        Returns
        -------
        float
            [pixels]
        """
        return float(0.5 * self.width / np.tan(0.5 * self.fov))


@dataclass(frozen=True)
class Scan:
    """The rays of a lidar: in each ring the first and the last azimuth belong to it, and so do both elevations.

    Examples
    --------
    >>> mb.model.Scan(samples=3, angles=(-1.0, 1.0)).azimuths()
    array([-1.,  0.,  1.])
    """

    samples: int = 541  #: of a ring
    angles: tuple[float, float] = (-2.356194490192345, 2.356194490192345)  #: about z, from x on [rad]
    rings: int = 1
    elevations: tuple[float, float] = (0.0, 0.0)  #: of the lowest and of the highest ring [rad]
    near: float = 0.05  #: least range that is measured [m]
    far: float = 30.0  #: largest one [m]

    def azimuths(self) -> np.ndarray:
        """Azimuths of a ring's rays.

        Returns
        -------
        ndarray (samples,)
            [rad]
        """
        return np.linspace(*self.angles, self.samples)


@dataclass(frozen=True)
class Pad:
    """A face of a box among a link's collision shapes, as a grid of cells.

    Its frame stands in the middle of the face: z out of the box, x and y along its edges.

    Examples
    --------
    >>> mb.model.Pad(face="-z", cells=(4, 6)).geometry is None
    True
    """

    face: str = "+z"  #: one of FACES, in the axes of the shape
    cells: tuple[int, int] = (1, 1)  #: along the pad's x and y
    geometry: str | None = None  #: name of the collision shape; may be left out where the link has one box only


@dataclass(frozen=True)
class Sensor:
    """A sensor on a robot, on an object or in the world.

    Examples
    --------
    >>> mb.model.Sensor("wrist", "imu", link="tool", rate=200.0, noise=(1e-3, 1e-2)).latency
    0.0
    """

    name: str
    kind: str  #: one of KINDS
    link: str | None = None  #: that it is mounted on
    joint: str | None = None  #: of force and torque: a joint, fixed ones too, or a loop closure
    joints: tuple[str, ...] = ()  #: of an encoder; all joints of the robots where none is named
    pose: Pose | None = None  #: in the link's frame, of force and torque that of the joint's child; rays: x ahead, z up
    image: Image | None = None  #: of a camera
    scan: Scan | None = None  #: of a lidar
    pad: Pad | None = None  #: of a tactile sensor
    partner: str | None = None  #: link or object whose contacts alone count, for contact and tactile sensors
    rate: float = 0.0  #: samples a second, rounded to whole time steps; 0: every step
    noise: tuple[float, float] = (0.0, 0.0)  #: standard deviations of the two quantities of its kind
    resolution: float = 0.0  #: of an encoder's position, rounded to multiples of it [rad, m]
    latency: float = 0.0  #: after which a sample is published [s]
    seed: int = 0  #: of its noise


def sensor_rules(scene, numbers):
    """(whether it is broken, key, what is wrong) of the sensors' rules; ``numbers`` makes the rule of numbers."""
    names, topics = set(), set()
    for i, sensor in enumerate(scene.sensors):
        key = f"sensors[{i}]"
        yield sensor.name in names or not sensor.name, f"{key}.name", f"'{sensor.name}' is empty or used twice"
        names.add(sensor.name)
        topic = re.sub(r"\W", "_", sensor.name, flags=re.ASCII)
        message = f"'{sensor.name}' has the topic sensors/{topic}, as another sensor; change a letter or a digit"
        yield topic in topics, f"{key}.name", message
        topics.add(topic)
        yield sensor.kind not in KINDS, f"{key}.kind", f"'{sensor.kind}' is not known; available: {', '.join(KINDS)}"
        for place, kinds in PLACES.items():
            given = bool(getattr(sensor, place))
            yield given and sensor.kind not in kinds, f"{key}.{place}", f"a sensor of kind {sensor.kind} has none"
            needed = place in NEEDED and sensor.kind in kinds
            yield needed and not given, f"{key}.{place}", f"a sensor of kind {sensor.kind} needs one"
        for name in ("rate", "latency", "resolution"):
            yield numbers(f"{key}.{name}", getattr(sensor, name), low=0.0)
        yield numbers(f"{key}.noise", sensor.noise, 2, low=0.0)
        coarse = sensor.resolution > 0.0 and sensor.kind != "encoder"
        yield coarse, f"{key}.resolution", "only an encoder has one"
        yield not isinstance(sensor.seed, (int, np.integer)) or sensor.seed < 0, f"{key}.seed", "must be a whole number"
        yield from _image_rules(sensor.image or Image(), f"{key}.image", numbers)
        yield from _scan_rules(sensor.scan or Scan(), f"{key}.scan", numbers)
        yield from _pad_rules(sensor.pad or Pad(), f"{key}.pad")


def _image_rules(image, key, numbers):
    yield from _count_rules(key, {"width": image.width, "height": image.height}, image.width * image.height)
    yield numbers(f"{key}.fov", image.fov, low=1e-3, high=3.1)
    yield from _reach_rules(image, key, numbers)


def _scan_rules(scan, key, numbers):
    yield from _count_rules(key, {"samples": scan.samples, "rings": scan.rings}, scan.samples * scan.rings)
    yield numbers(f"{key}.angles", scan.angles, 2, low=-2.0 * np.pi, high=2.0 * np.pi)
    yield numbers(f"{key}.elevations", scan.elevations, 2, low=-0.5 * np.pi, high=0.5 * np.pi)
    yield scan.angles[1] < scan.angles[0], f"{key}.angles", "the second must not be below the first"
    yield scan.elevations[1] < scan.elevations[0], f"{key}.elevations", "the second must not be below the first"
    yield from _reach_rules(scan, key, numbers)


def _count_rules(key, counts, rays):
    for name, count in counts.items():
        wrong = not isinstance(count, (int, np.integer)) or count < 1
        yield wrong, f"{key}.{name}", f"must be a whole number from 1 on, got {count}"
    yield rays > MOST_RAYS, key, f"{rays} rays are more than {MOST_RAYS}"


def _reach_rules(rays, key, numbers):
    yield numbers(f"{key}.near", rays.near, low=0.0)
    yield numbers(f"{key}.far", rays.far, low=0.0)
    yield rays.far <= rays.near, f"{key}.far", f"must be above near, {rays.near}"


def _pad_rules(pad, key):
    yield pad.face not in FACES, f"{key}.face", f"'{pad.face}' is not known; available: {', '.join(FACES)}"
    good = len(pad.cells) == 2 and all(isinstance(n, (int, np.integer)) and 1 <= n <= 1000 for n in pad.cells)
    yield not good, f"{key}.cells", f"must be two whole numbers from 1 to 1000, got {pad.cells}"

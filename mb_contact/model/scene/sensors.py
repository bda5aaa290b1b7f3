# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of a scene: what is measured where, how often, how late and with how much noise."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from mb_contact.keys.declaration import key
from mb_contact.model.scene.bodies import MOST_SEED, Pose

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
MOUNTED = {"kind": ("imu", "contact", "tactile", *RAYS)}  #: what is mounted on a link
#: What looks at the contacts of one pair needs.
PAIRED: dict[str, Any] = {
    "needs": {"collision_scheme": ("time_stepping",)}, "why": "events tell no contacts of single pairs",
}  # fmt: skip
FACES = ("+x", "-x", "+y", "-y", "+z", "-z")  #: of a box
MOST_RAYS = 2**24  #: of one sensor
MOST_COUNT = 2**15  #: of pixels or rays in a row
MOST_CELLS = 1000  #: of a pad, along each of its edges


@dataclass(frozen=True)
class Image:
    """What a camera without distortion takes; pixel (u, v) looks along ((u - cx) / f, (v - cy) / f, 1), optical axes.

    Examples
    --------
    >>> round(mb.model.Image(width=320, height=240, fov=1.0).focal_length, 3)
    292.878
    """

    width: int = key("Pixels of a row.", 640, low=1, high=MOST_COUNT, example="320")
    height: int = key("Pixels of a column.", 480, low=1, high=MOST_COUNT, example="240")
    fov: float = key(
        "Horizontal field of view, over the whole width.", 1.2, unit="rad", low=1e-3, high=3.1, example="1.0"
    )
    near: float = key("Least depth that is measured.", 0.05, unit="m", low=0.0, example="0.1")
    far: float = key("Largest depth that is measured.", 20.0, unit="m", above=0.0, example="5.0")
    colour: bool = key("Whether it takes colours beside depths.", False)
    samples: int = key(
        "Rays of a pixel for its colour along each axis, each with a place of its own on the lamp: 1 has hard edges.",
        1, low=1, high=8, example="2",
    )  # fmt: skip

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

    samples: int = key("Rays of a ring.", 541, low=1, high=MOST_COUNT, example="181")
    angles: tuple[float, float] = key(
        "First and last azimuth, about z and from x on.", (-2.356194490192345, 2.356194490192345), unit="rad",
        low=-2.0 * np.pi, high=2.0 * np.pi, example="[-1.57, 1.57]",
    )
    rings: int = key("Number of rings.", 1, low=1, high=MOST_COUNT, example="16")
    elevations: tuple[float, float] = key(
        "Elevations of the lowest and of the highest ring.", (0.0, 0.0), unit="rad", low=-0.5 * np.pi,
        high=0.5 * np.pi, example="[-0.26, 0.26]",
    )
    near: float = key("Least range that is measured.", 0.05, unit="m", low=0.0, example="0.1")
    far: float = key("Largest range that is measured.", 30.0, unit="m", above=0.0, example="10.0")

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

    face: str = key("Face of the box, in the axes of the shape.", "+z", choices=FACES, example="'-z'")
    cells: tuple[int, int] = key(
        "Cells along the pad's x and y.", (1, 1), low=1, high=MOST_CELLS, example="[4, 6]"
    )
    geometry: str | None = key(
        "Name of the collision shape; may be left out where the link has one box only.", None, example="finger_box"
    )


@dataclass(frozen=True)
class Sensor:
    """A sensor on a robot, on an object or in the world.

    Examples
    --------
    >>> mb.model.Sensor("wrist", "imu", link="tool", rate=200.0, noise=(1e-3, 1e-2)).latency
    0.0
    """

    name: str = key("Name, of its topics and frames too.", example="wrist")
    kind: str = key("What it measures.", choices=KINDS, example="imu")
    link: str | None = key("Link that it is mounted on.", None, only=MOUNTED, needed=MOUNTED, example="tool")
    joint: str | None = key(
        "Joint, fixed ones too, or loop closure whose wrench it measures.", None, example="wrist_joint",
        only={"kind": ("force_torque",)}, needed={"kind": ("force_torque",)},
    )
    joints: tuple[str, ...] = key(
        "Joints of an encoder; by default all of the robots.", (), example="[shoulder, elbow]",
        only={"kind": ("encoder",)},
    )
    pose: Pose | None = key(
        "Its frame in the link's, of force and torque in that of the joint's child; rays look along x, z is up.", None,
        only={"kind": ("imu", "force_torque", "contact", *RAYS)},
    )
    image: Image | None = key("What a camera takes.", None, only={"kind": ("camera",)})
    scan: Scan | None = key("The rays of a lidar.", None, only={"kind": ("lidar",)})
    pad: Pad | None = key(
        "Face of a tactile sensor.", None, only={"kind": ("tactile",)}, needed={"kind": ("tactile",)}, **PAIRED
    )
    partner: str | None = key(
        "Link or object whose contacts alone count.", None, only={"kind": ("contact", "tactile")}, example="box",
        **PAIRED,
    )
    rate: float = key("Samples a second, in whole time steps; 0: every step.", 0.0, unit="Hz", low=0.0, example="200.0")
    noise: tuple[float, float] = key(
        "Standard deviations of the two quantities of its kind.", (0.0, 0.0), low=0.0, example="[0.001, 0.01]"
    )
    resolution: float = key(
        "Steps in which an encoder counts.", 0.0, unit="rad, m", low=0.0, only={"kind": ("encoder",)}, example="0.001"
    )
    latency: float = key("Time after which a sample is published.", 0.0, unit="s", low=0.0, example="0.01")
    seed: int = key("Seed of its noise.", 0, low=0, high=MOST_SEED, example="7")

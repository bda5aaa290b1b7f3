# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Images, point clouds and scans in the messages of sensor_msgs: REP 103 for frames, 117 and 118 for what is absent."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from mb_contact.model.scene.sensors import Image, Scan

_BYTES = {"32FC1": 4, "rgb8": 3}  #: of a pixel
_FLOAT32 = 7  #: sensor_msgs/PointField
_BIG = int(sys.byteorder == "big")


def optical(name: str) -> str:
    """Frame of a camera's images: z ahead, x right, y down."""
    return f"{name}_optical"


def optics(sensor: Any) -> Image:
    """What a camera takes."""
    return sensor.image or Image()


def scan(sensor: Any) -> Scan:
    """What a lidar takes."""
    return sensor.scan or Scan()


def describe(message: Any, width: int, height: int, encoding: str) -> None:
    """Give a sensor_msgs/Image its shape."""
    message.width, message.height, message.encoding, message.is_bigendian = width, height, encoding, _BIG
    message.step = width * _BYTES[encoding]
    message.data = np.zeros(message.step * height, dtype=np.uint8)


def put(message: Any, pixels: npt.NDArray[Any]) -> None:
    """Pixels into a prepared sensor_msgs/Image."""
    message.array("data")[:] = np.ascontiguousarray(pixels).view(np.uint8).ravel()


def describe_camera(message: Any, image: Image) -> None:
    """A sensor_msgs/CameraInfo of a camera without distortion."""
    f, u, v = image.focal_length, 0.5 * (image.width - 1), 0.5 * (image.height - 1)
    message.width, message.height, message.distortion_model = image.width, image.height, "plumb_bob"
    message.d, message.k = [0.0] * 5, [f, 0.0, u, 0.0, f, v, 0.0, 0.0, 1.0]
    message.r = np.eye(3).ravel()
    message.p = [f, 0.0, u, 0.0, 0.0, f, v, 0.0, 0.0, 0.0, 1.0, 0.0]


def describe_points(message: Any, make: Any, size: tuple[int, int], coloured: bool) -> None:
    """Give a sensor_msgs/PointCloud2 of so many columns and rows its fields: x, y, z and, where ``coloured``, rgb."""
    message.width, message.height = size
    message.fields = []
    for i, name in enumerate(("x", "y", "z", *(("rgb",) if coloured else ()))):
        field = make.message("sensor_msgs/msg/PointField")
        field.name, field.offset, field.datatype, field.count = name, 4 * i, _FLOAT32, 1
        message.fields.append(field)
    message.point_step, message.is_bigendian, message.is_dense = 4 * len(message.fields), bool(_BIG), False
    message.row_step = message.point_step * message.width
    message.data = np.zeros(message.row_step * message.height, dtype=np.uint8)


def put_points(message: Any, points: Any, colour: npt.NDArray[np.uint8] | None) -> None:
    """Points (rows, columns, 3) and their colours into a prepared sensor_msgs/PointCloud2."""
    table = message.array("data").view(np.float32).reshape(points.shape[0] * points.shape[1], -1)
    table[:, :3] = points.reshape(-1, 3)
    if colour is not None:  # red, green and blue as one number 0x00RRGGBB
        red, green, blue = colour.reshape(-1, 3).astype(np.uint32).T
        table[:, 3] = (red << 16 | green << 8 | blue).view(np.float32)


def describe_scan(message: Any, scan: Scan, rate: float, time_step: float) -> None:
    """Give a sensor_msgs/LaserScan its shape; all its rays are of one moment."""
    azimuths = scan.azimuths()
    message.angle_min, message.angle_max = (float(angle) for angle in azimuths[[0, -1]])
    message.angle_increment = float(azimuths[-1] - azimuths[0]) / max(1, scan.samples - 1)
    message.time_increment, message.scan_time = 0.0, 1.0 / rate if rate > 0.0 else time_step
    message.range_min, message.range_max = scan.near, scan.far
    message.ranges = np.zeros(scan.samples, dtype=np.float32)

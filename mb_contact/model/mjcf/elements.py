# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers and poses in the elements of a URDF, with all their digits."""

import math
from typing import Any
from xml.etree import ElementTree

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.scene.bodies import Pose


def pose_of(position: Any, quat: Any) -> Pose:
    """Pose out of a position and MuJoCo's quaternion w x y z."""
    x, y, z = (float(value) + 0.0 for value in position)
    qx, qy, qz, qw = (float(value) + 0.0 for value in np.roll(quat, -1))
    if (qx, qy, qz) == (0.0, 0.0, 0.0):
        return Pose((x, y, z))
    return Pose((x, y, z), quat_xyzw=(qx, qy, qz, qw))


def number(value: Any) -> str:
    """A number with all its digits."""
    return repr(float(value) + 0.0)


def numbers(values: Any) -> str:
    """Numbers with all their digits."""
    return " ".join(number(value) for value in np.ravel(values))


def origin(element: ElementTree.Element, R: Floats, p: Floats) -> None:
    """``<origin>`` of a pose, left out where it is none."""
    if np.array_equal(R, np.eye(3)) and not p.any():
        return
    ElementTree.SubElement(element, "origin", xyz=numbers(p), rpy=numbers(roll_pitch_yaw(R)))


def roll_pitch_yaw(R: Floats) -> tuple[float, float, float]:
    """Roll, pitch and yaw [rad] that give a rotation back to rounding, also where pitch is a right angle."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    s, c = math.sin(yaw), math.cos(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    return math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1]), pitch, yaw

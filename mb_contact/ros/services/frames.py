# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Poses in requests: checked, and turned from the frame that they are in to the world's."""

from typing import Any

import numpy as np

from mb_contact.checks import Floats, shorten
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.ros.services.common import refuse_if

_UNIT = 1e-3  #: deviation from length one up to which a quaternion is normalised
FARTHEST = 1e6  #: of a pose in a request [m]: beyond, digits of a millimetre are lost


def pose_of(pose: Any, code: int) -> tuple[Floats, Floats]:
    """Position (3,) and unit quaternion (4,) of a geometry_msgs/Pose, refused with ``code`` where there is none."""
    position = np.array([getattr(pose.position, axis) for axis in "xyz"])
    quaternion = np.array([getattr(pose.orientation, axis) for axis in "xyzw"])
    length = float(np.linalg.norm(quaternion))
    refuse_if(
        not np.isfinite(position).all() or not abs(length - 1.0) <= _UNIT, code,
        "the pose is not finite, or its quaternion is not of length one",
    )
    refuse_if(np.abs(position).max() > FARTHEST, code, f"the pose is farther away than {FARTHEST:g} m")
    return position, quaternion / length


def in_world(control: Any, frame: str, pose: tuple[Floats, Floats], code: int) -> tuple[Floats, Floats, Floats]:
    """Position (3,), quaternion (4,) and the frame's axes (3, 3) of a pose in a frame: the world's, or a link's.

    Refused with ``code`` where there is no such frame.
    """
    options, simulator = control.options, control.simulator
    if frame in ("", options.world_frame):
        return *pose, np.eye(3)
    link = frame.removeprefix(options.frame_prefix)
    known = link in getattr(simulator.world, "frames", {})
    refuse_if(
        not known, code,
        f"frame_id is '{shorten(frame)}'; known are '{options.world_frame}' and the frames of links",
    )
    origin, quaternion = simulator.link_pose(link)
    axes = quat_to_matrix(quaternion)
    return origin + axes @ pose[0], matrix_to_quat(axes @ quat_to_matrix(pose[1])), axes

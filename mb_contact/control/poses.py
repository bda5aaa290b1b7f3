# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Wanted poses of frames, and how far frames are from them."""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mb_contact.checks import Floats, as_vector
from mb_contact.errors import InputError

NEARLY_UNIT = 1e-3  #: how far the norm of a quaternion may be from 1, which rounding explains


def wanted_pose(name: str, pose: Any) -> tuple[Floats, Floats]:
    """Position (3,) [m] and unit quaternion x y z w (4,) of a wanted pose, checked; ``name`` is for the message."""
    if not isinstance(pose, (tuple, list)) or len(pose) != 2:
        raise InputError(f"the pose of '{name}' must be (position (3,), quaternion x y z w (4,))")
    position = as_vector(pose[0], 3, f"the position of '{name}'")
    quaternion = as_vector(pose[1], 4, f"the quaternion of '{name}'")
    norm = float(np.linalg.norm(quaternion))
    if abs(norm - 1.0) > NEARLY_UNIT:
        raise InputError(f"the quaternion of '{name}' has the norm {norm:g}, and a rotation's is 1")
    return position, quaternion / norm


def pose_error(wanted: tuple[Floats, Floats], pose: tuple[Floats, Floats]) -> Floats:
    """[log(R_wanted R^T); p_wanted - p] (6,) in world axes [rad, m], of two poses of position and quaternion."""
    turn = Rotation.from_quat(wanted[1]) * Rotation.from_quat(pose[1]).inv()
    return np.concatenate((turn.as_rotvec(), np.subtract(wanted[0], pose[0])))

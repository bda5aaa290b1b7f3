# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The model as arrays: operational space, mass matrix, nonlinear effects."""

import time
from typing import Any

import numpy as np

_AXES = "axes=world;origin=frame;order=wx,wy,wz,vx,vy,vz"  #: key=value pairs, angular first


LOOK_EVERY = 0.01  #: seconds between two looks for listeners: to ask takes longer than to publish a small message


def wanted(publisher: Any) -> bool:
    """Whether somebody listens to a publisher, or a recording does; who has come or gone is noticed 10 ms late."""
    if publisher.tap is not None:
        return True
    now = time.monotonic()
    if now >= publisher.look_at:
        publisher.look_at, publisher.heard = now + LOOK_EVERY, publisher.get_subscription_count() > 0
    return publisher.heard


class ModelArrays:
    """operational_space/{inertia,compliance,jacobian,bias}, mass_matrix and nonlinear_effects.

    Float64MultiArray, row major; ``data_offset`` is 2 and data[0:2] = (sec, nanosec) of the
    joint state with the same stamp; the labels of ``layout.dim`` say what the rows and columns are.
    """

    def __init__(self, make: Any, simulator: Any, constraints: str) -> None:
        self._simulator, self._constraints = simulator, constraints
        self._frames = tuple(simulator.scene.operational_frames)
        count, joints = 6 * len(self._frames), len(simulator.world.joint_names)
        task = (f"frames={','.join(self._frames)};{_AXES};constraints={constraints}", count)
        joint = (f"joints={','.join(simulator.world.joint_names)}", joints)
        self._task = []
        if self._frames:
            shapes = {
                "inertia": (task, task),
                "compliance": (task, task),
                "jacobian": (task, joint),
                "bias": (task,),
            }
            self._task = [
                (name, _FloatArray(make, f"operational_space/{name}", dims)) for name, dims in shapes.items()
            ]
        self._mass = _FloatArray(make, "mass_matrix", (joint, joint))
        self._nonlinear = _FloatArray(make, "nonlinear_effects", (joint,))

    def publish(self, stamp: int) -> None:
        """Send what somebody listens to."""
        wanted = [(name, array) for name, array in self._task if array.wanted()]
        if wanted:
            result = self._simulator.operational_space(self._frames, self._constraints)
            for name, array in wanted:
                array.publish(stamp, getattr(result, name))
        if self._mass.wanted():
            self._mass.publish(stamp, self._simulator.mass_matrix())
        if self._nonlinear.wanted():
            self._nonlinear.publish(stamp, self._simulator.nonlinear_effects())


class _FloatArray:
    """A Float64MultiArray with time in front."""

    def __init__(self, make, topic, dims):
        type_name = "std_msgs/msg/Float64MultiArray"
        prototype = make.message(type_name)
        stride = int(np.prod([size for _, size in dims]))
        prototype.data = [0.0] * (stride + 2)
        prototype.layout.data_offset = 2
        for label, size in dims:
            dim = make.message("std_msgs/msg/MultiArrayDimension")
            dim.label, dim.size, dim.stride = label, size, stride
            stride //= max(1, size)
            prototype.layout.dim.append(dim)
        self._message, self._publisher = make.prepared(type_name, topic, prototype)
        self._data = self._message.array("data")

    def wanted(self):
        """Whether somebody listens."""
        return wanted(self._publisher)

    def publish(self, stamp, values):
        """Send ``values``."""
        self._data[0], self._data[1] = divmod(stamp, 1_000_000_000)
        self._data[2:] = np.ravel(values)
        self._message.publish()

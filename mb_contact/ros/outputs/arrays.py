# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The model as arrays: operational space, mass matrix, nonlinear effects."""

import time
from typing import Any

import numpy as np

_AXES = "axes=world;origin=frame;order=wx,wy,wz,vx,vy,vz"  #: key=value pairs, angular first


_TYPE = "std_msgs/msg/Float64MultiArray"
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
    """operational_space/{state,inertia,compliance,jacobian,bias}, mass_matrix and nonlinear_effects.

    Float64MultiArray, row major; ``data_offset`` is 2 and data[0:2] = (sec, nanosec) of the
    joint state with the same stamp; the labels of ``layout.dim`` say what the rows and columns are.
    ``operational_space/state`` holds positions, velocities and, but for the compliance, these arrays one after the
    other, each with an entry of ``layout.dim``: a controller of many kilohertz takes one message instead of six.
    """

    def __init__(self, make: Any, simulator: Any, constraints: str) -> None:
        self._simulator, self._constraints = simulator, constraints
        self._frames = tuple(simulator.scene.operational_frames)
        count, joints = 6 * len(self._frames), len(simulator.world.joint_names)
        task = (f"frames={','.join(self._frames)};{_AXES};constraints={constraints}", count)
        joint = (f"joints={','.join(simulator.world.joint_names)}", joints)
        shapes = {"inertia": (task, task), "compliance": (task, task), "jacobian": (task, joint), "bias": (task,)}
        self._task = [
            (name, _FloatArray(make, f"operational_space/{name}", dims))
            for name, dims in shapes.items() if self._frames
        ]  # fmt: skip
        shapes |= {"mass_matrix": (joint, joint), "nonlinear_effects": (joint,)}
        self._mass = _FloatArray(make, "mass_matrix", (joint, joint))
        self._nonlinear = _FloatArray(make, "nonlinear_effects", (joint,))
        left_out = ("compliance",) if self._frames else ("compliance", "inertia", "jacobian", "bias")
        parts = {"position": (joint,), "velocity": (joint,), **shapes}
        self._state = _Parts(
            make, "operational_space/state", {name: dims for name, dims in parts.items() if name not in left_out}
        )

    def publish(self, stamp: int) -> None:
        """Send what somebody listens to."""
        simulator, whole = self._simulator, self._state.wanted()
        wanted = [(name, array) for name, array in self._task if array.wanted()]
        if self._frames and (whole or wanted):
            result = simulator.operational_space(self._frames, self._constraints)
            for name, array in wanted:
                array.publish(stamp, getattr(result, name))
        if whole:
            task = (result.inertia, result.jacobian, result.bias) if self._frames else ()
            joint = simulator.mass_matrix(), simulator.nonlinear_effects()
            self._state.publish(stamp, simulator.joint_positions(), simulator.joint_velocities(), *task, *joint)
        if self._mass.wanted():
            self._mass.publish(stamp, simulator.mass_matrix())
        if self._nonlinear.wanted():
            self._nonlinear.publish(stamp, simulator.nonlinear_effects())


class _Parts:
    """Arrays with time in front in one Float64MultiArray.

    An entry of ``layout.dim`` is an array's: ``size`` its numbers, ``stride`` those of a row, and the label
    ``NAME|ROWS|COLUMNS`` what it holds.
    """

    def __init__(self, make, topic, parts):
        prototype = make.message(_TYPE)
        prototype.layout.data_offset, places = 2, [2]
        for name, dims in parts.items():
            dim = make.message("std_msgs/msg/MultiArrayDimension")
            dim.label = "|".join((name, *(label for label, _ in dims)))
            dim.size, dim.stride = int(np.prod([size for _, size in dims])), dims[-1][1]
            prototype.layout.dim.append(dim)
            places.append(places[-1] + dim.size)
        prototype.data = [0.0] * places[-1]
        self._message, self._publisher = make.prepared(_TYPE, topic, prototype)
        self._time = self._message.array("data")[:2]
        self._views = [
            self._message.array("data")[first:end].reshape([size for _, size in dims])
            for dims, first, end in zip(parts.values(), places, places[1:])
        ]

    def wanted(self):
        """Whether somebody listens."""
        return wanted(self._publisher)

    def publish(self, stamp, *parts):
        """Send arrays in the order of the parts."""
        self._time[:] = divmod(stamp, 1_000_000_000)
        for view, values in zip(self._views, parts):
            view[...] = values
        self._message.publish()


class _FloatArray:
    """A Float64MultiArray with time in front."""

    def __init__(self, make, topic, dims):
        prototype = make.message(_TYPE)
        stride = int(np.prod([size for _, size in dims]))
        prototype.data = [0.0] * (stride + 2)
        prototype.layout.data_offset = 2
        for label, size in dims:
            dim = make.message("std_msgs/msg/MultiArrayDimension")
            dim.label, dim.size, dim.stride = label, size, stride
            stride //= max(1, size)
            prototype.layout.dim.append(dim)
        self._message, self._publisher = make.prepared(_TYPE, topic, prototype)
        self._data = self._message.array("data")

    def wanted(self):
        """Whether somebody listens."""
        return wanted(self._publisher)

    def publish(self, stamp, values):
        """Send ``values``."""
        self._data[0], self._data[1] = divmod(stamp, 1_000_000_000)
        self._data[2:] = np.ravel(values)
        self._message.publish()

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
        shapes = {"inertia": (task, task), "jacobian": (task, joint), "bias": (task,)} if self._frames else {}
        self._terms = tuple(shapes)  #: of the task in the state's message
        single = shapes | ({"compliance": (task, task)} if self._frames else {})
        self._task = [(name, _Arrays(make, f"operational_space/{name}", [dims])) for name, dims in single.items()]
        self._mass = _Arrays(make, "mass_matrix", [(joint, joint)])
        self._nonlinear = _Arrays(make, "nonlinear_effects", [(joint,)])
        whole = {"position": (joint,), "velocity": (joint,), **shapes, "mass_matrix": (joint, joint),
                 "nonlinear_effects": (joint,)}  # fmt: skip
        self._state = _Arrays(make, "operational_space/state", list(whole.values()), list(whole))

    def publish(self, stamp: int) -> None:
        """Send what somebody listens to."""
        simulator, whole = self._simulator, self._state.wanted()
        wanted = [(name, array) for name, array in self._task if array.wanted()]
        if self._frames and (whole or wanted):
            result = simulator.operational_space(self._frames, self._constraints)
            for name, array in wanted:
                array.publish(stamp, getattr(result, name))
        if whole:
            task = [getattr(result, name) for name in self._terms]
            joint = simulator.mass_matrix(), simulator.nonlinear_effects()
            self._state.publish(stamp, simulator.joint_positions(), simulator.joint_velocities(), *task, *joint)
        if self._mass.wanted():
            self._mass.publish(stamp, simulator.mass_matrix())
        if self._nonlinear.wanted():
            self._nonlinear.publish(stamp, simulator.nonlinear_effects())


class _Arrays:
    """Arrays with time in front in one Float64MultiArray.

    ``dims`` holds the (label, size) of each array's axes.  Without ``names`` there is one array and an entry of
    ``layout.dim`` is an axis of it; with them an entry is an array: ``size`` its numbers, ``stride`` those of a row,
    and the label ``NAME|ROWS|COLUMNS``.
    """

    def __init__(self, make, topic, dims, names=None):
        shapes = [[size for _, size in axes] for axes in dims]
        sizes = [int(np.prod(shape)) for shape in shapes]
        if names is None:
            entries = [(label, size, int(np.prod(shapes[0][i:]))) for i, (label, size) in enumerate(dims[0])]
        else:
            labels = ("|".join((name, *(label for label, _ in axes))) for name, axes in zip(names, dims))
            entries = [(label, size, shape[-1]) for label, size, shape in zip(labels, sizes, shapes)]
        prototype = make.message(_TYPE)
        prototype.data = [0.0] * (2 + sum(sizes))
        prototype.layout.data_offset = 2
        for label, size, stride in entries:
            dim = make.message("std_msgs/msg/MultiArrayDimension")
            dim.label, dim.size, dim.stride = label, size, stride
            prototype.layout.dim.append(dim)
        self._message, self._publisher = make.prepared(_TYPE, topic, prototype)
        data = self._message.array("data")
        self._time, *parts = np.split(data, np.cumsum([2, *sizes])[:-1])
        self._arrays = [part.reshape(shape) for part, shape in zip(parts, shapes)]

    def wanted(self):
        """Whether somebody listens."""
        return wanted(self._publisher)

    def publish(self, stamp, *arrays):
        """Send arrays in the order of ``dims``."""
        self._time[:] = divmod(stamp, 1_000_000_000)
        for place, values in zip(self._arrays, arrays):
            place[...] = values
        self._message.publish()

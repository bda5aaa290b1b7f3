# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""sensors/NAME: samples of the scene's sensors at their rates, published after their latencies."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from mb_contact.ros.outputs.arrays import wanted
from mb_contact.simulation.sensors import Sensors


class SensorOutputs:
    """A topic for each sensor: sensor_msgs/Imu, geometry_msgs/WrenchStamped or sensor_msgs/JointState.

    Stamps are those of the states that were measured.
    """

    def __init__(self, make: Any, simulator: Any, time_step: float, frame_prefix: str) -> None:
        self._outputs = []
        if not getattr(simulator.scene, "sensors", ()):
            return
        sensors = Sensors(simulator)
        for sensor in simulator.scene.sensors:
            kind = {"imu": _Imu, "force_torque": _Wrench, "encoder": _Encoder}[sensor.kind]
            self._outputs.append(kind(make, sensors, sensor, simulator, time_step, frame_prefix))

    def publish(self, step: int, stamp: int) -> None:
        """Sample what is due at this time step, and send what is late enough."""
        for output in self._outputs:
            output.publish(step, stamp)


class _Output:
    """One sensor and its samples that have not been sent yet."""

    TYPE = ""

    def __init__(self, make, sensors, sensor, simulator, time_step, frame_prefix):
        self._sensors, self._name = sensors, sensor.name
        self._every = max(1, round(1.0 / (sensor.rate * time_step))) if sensor.rate > 0.0 else 1
        self._latency, self._late = round(1e9 * sensor.latency), deque()
        prototype = make.message(self.TYPE)
        self.describe(prototype, sensor, simulator, frame_prefix)
        self.message, self._publisher = make.prepared(self.TYPE, f"sensors/{sensor.name}", prototype)

    def publish(self, step, stamp):
        if step % self._every == 0 and wanted(self._publisher):
            if self._late and self._late[-1][0] >= stamp:  # time was set back
                self._late.clear()
            self._late.append((stamp, self._sensors.sample(self._name)))
        while self._late and self._late[0][0] + self._latency <= stamp:
            when, sample = self._late.popleft()
            self.fill(sample)
            self.message.stamp("header.stamp", when)
            self.message.publish()

    def put(self, fields, values):
        for field, value in zip(fields, np.asarray(values).tolist()):
            self.message.set(field, value)


class _Imu(_Output):
    TYPE = "sensor_msgs/msg/Imu"
    FIELDS = tuple(
        f"{part}.{axis}" for part, axes in (("orientation", "xyzw"), ("angular_velocity", "xyz"),
                                            ("linear_acceleration", "xyz")) for axis in axes
    )  # fmt: skip

    def describe(self, prototype, sensor, simulator, frame_prefix):
        prototype.header.frame_id = frame_prefix + sensor.link
        for part, deviation in zip(("angular_velocity", "linear_acceleration"), sensor.noise):
            covariance = np.zeros(9)
            covariance[::4] = deviation**2
            setattr(prototype, f"{part}_covariance", covariance)

    def fill(self, sample):
        self.put(self.FIELDS, np.concatenate(sample))


class _Wrench(_Output):
    TYPE = "geometry_msgs/msg/WrenchStamped"
    FIELDS = tuple(f"wrench.{part}.{axis}" for part in ("torque", "force") for axis in "xyz")

    def describe(self, prototype, sensor, simulator, frame_prefix):
        prototype.header.frame_id = frame_prefix + simulator.joint_wrenches.child_link(sensor.joint)

    def fill(self, sample):
        self.put(self.FIELDS, sample)


class _Encoder(_Output):
    TYPE = "sensor_msgs/msg/JointState"

    def describe(self, prototype, sensor, simulator, frame_prefix):
        names = [simulator.world.joint_names[i] for i in self._sensors.joints(sensor.name)]
        prototype.name, prototype.position, prototype.velocity = names, [0.0] * len(names), [0.0] * len(names)

    def fill(self, sample):
        self.message.array("position")[:], self.message.array("velocity")[:] = sample

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""sensors/NAME: samples of the scene's sensors at their rates, published after their latencies."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from mb_contact.model.scene.sensors import RAYS
from mb_contact.ros.names import sanitise
from mb_contact.ros.outputs import images
from mb_contact.ros.outputs.arrays import wanted
from mb_contact.ros.qos import SENSOR, STATE

WRENCH_FIELDS = tuple(f"wrench.{part}.{axis}" for part in ("torque", "force") for axis in "xyz")


class SensorOutputs:
    """The topics of each sensor; stamps are those of the states that were measured.

    Images and scans are made and sent by a thread of their own, from poses copied at their time step.  The physics
    thread waits for none, and an image that is due while that before it is still being made is left out; but in
    lockstep it waits until what is due has been sent, before the state goes out, and nothing is left out.
    """

    def __init__(
        self, make: Any, simulator: Any, time_step: float, options: Any, former: SensorOutputs | None = None
    ) -> None:
        self._outputs: list[_Output] = []
        self._thread: ThreadPoolExecutor | None = None if former is None else former._thread
        self.sensors = simulator.sensors if getattr(simulator.scene, "sensors", ()) else None
        if self.sensors is None:
            return
        if former is not None and former.sensors is not None:
            self.sensors.offsets |= former.sensors.offsets
        for sensor in simulator.scene.sensors:
            topics = [kind(make, simulator, sensor, options) for kind in TOPICS[sensor.kind](sensor)]
            arguments = self.sensors, sensor, topics, time_step
            if sensor.kind not in RAYS:
                self._outputs.append(_Output(*arguments))
                continue
            self._thread = self._thread or ThreadPoolExecutor(1, "cameras")
            self._outputs.append(_Images(*arguments, self._thread, make.logger, options.lockstep))

    def publish(self, step: int, stamp: int, again: bool = False) -> None:
        """Sample what is due at this time step, and send what is late enough; ``again`` what is so at once."""
        for output in self._outputs:
            if not again or output.latency == 0:
                output.publish(step, stamp)

    def close(self) -> None:
        """Wait for the image that is being made, and make no more."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)


class _Output:
    """One sensor and its samples that have not been sent yet."""

    def __init__(self, sensors, sensor, topics, time_step):
        self._sensors, self._name, self._topics = sensors, sensor.name, topics
        self._every = max(1, round(1.0 / (sensor.rate * time_step))) if sensor.rate > 0.0 else 1
        self.latency, self._late = round(1e9 * sensor.latency), deque()  #: [ns]

    def publish(self, step, stamp):
        if step % self._every == 0 and any(wanted(topic.publisher) for topic in self._topics):
            if self._late and self._late[-1][0] >= stamp:  # time was set back
                self._late.clear()
            self._take(stamp)
        while self._late and self._late[0][0] + self.latency <= stamp:
            self._send(*self._late.popleft())

    def _take(self, stamp):
        self._late.append((stamp, self._sensors.capture(self._name)))

    def _send(self, stamp, take):
        sample = take()
        for topic in self._topics:
            if wanted(topic.publisher):
                topic.fill(sample)
                topic.message.stamp("header.stamp", stamp)
                topic.message.publish()


class _Images(_Output):
    """The same by a thread that does one thing after the other."""

    def __init__(self, sensors, sensor, topics, time_step, thread, logger, waits):
        super().__init__(sensors, sensor, topics, time_step)
        self._waits = waits
        self._thread, self._logger, self._making, self._left_out = thread, logger, Future(), 0
        self._making.set_result(None)

    def _take(self, stamp):
        if not (self._waits or self._making.done()):
            self._left_out += 1
            text = f"sensor '{self._name}': {self._left_out} images left out, because the one before was not finished"
            self._logger.warning(f"{text}; a lower rate or fewer rays help", throttle_duration_sec=10.0)
            return
        self._making = self._thread.submit(self._sensors.capture(self._name))
        self._late.append((stamp, self._making.result))

    def _send(self, stamp, take):
        sent = self._thread.submit(self._send_here, stamp, take)
        if self._waits:
            sent.result()

    def _send_here(self, stamp, take):
        try:
            super()._send(stamp, take)
        except Exception as error:  # nobody else would hear of it
            self._logger.error(f"sensor '{self._name}': {error}", throttle_duration_sec=10.0)


def topic_name(sensor: Any, kind: type[Topic]) -> str:
    """Relative name of one of a sensor's topics."""
    return f"sensors/{sanitise(sensor.name)}{kind.NAME}"


# --- one topic each -------------------------------------------------------------------------------
class Topic:
    """A message on a topic of a sensor."""

    TYPE, NAME, QOS = "", "", STATE

    def __init__(self, make: Any, simulator: Any, sensor: Any, options: Any) -> None:
        prototype = make.message(self.TYPE)
        prototype.header.frame_id = options.frame_prefix + self.frame(simulator, sensor)
        self._make = make
        self.describe(prototype, sensor, simulator)
        topic = topic_name(sensor, type(self))
        self.message, self.publisher = make.prepared(self.TYPE, topic, prototype, self.QOS)

    def frame(self, _simulator: Any, sensor: Any) -> str:
        """Name of the frame that the numbers are in."""
        return str(sensor.link) if sensor.pose is None else sensor.name

    def describe(self, prototype: Any, sensor: Any, simulator: Any) -> None:
        """Give the message its shape, and what never changes."""

    def fill(self, sample: Any) -> None:
        """Put a sample in."""
        raise NotImplementedError

    def put(self, fields: Any, values: Any) -> None:
        """Set single numbers."""
        for field, value in zip(fields, np.asarray(values).tolist()):
            self.message.set(field, value)


class _Imu(Topic):
    TYPE = "sensor_msgs/msg/Imu"
    FIELDS = tuple(
        f"{part}.{axis}" for part, axes in (("orientation", "xyzw"), ("angular_velocity", "xyz"),
                                            ("linear_acceleration", "xyz")) for axis in axes
    )  # fmt: skip

    def describe(self, prototype, sensor, simulator):
        for part, deviation in zip(("angular_velocity", "linear_acceleration"), sensor.noise):
            covariance = np.zeros(9)
            covariance[::4] = deviation**2
            setattr(prototype, f"{part}_covariance", covariance)

    def fill(self, sample):
        self.put(self.FIELDS, np.concatenate(sample))


class _Wrench(Topic):
    TYPE = "geometry_msgs/msg/WrenchStamped"

    def frame(self, simulator, sensor):
        if sensor.joint is None or sensor.pose is not None:
            return super().frame(simulator, sensor)
        return simulator.joint_wrenches.child_link(sensor.joint)

    def fill(self, sample):
        self.put(WRENCH_FIELDS, sample)


class _PadWrench(_Wrench):
    def frame(self, simulator, sensor):
        return sensor.name

    def fill(self, sample):
        self.put(WRENCH_FIELDS, sample.wrench)


class _Pressure(Topic):
    """An image whose columns are the cells along x and whose rows those along y, from the pad's corner on [Pa]."""

    TYPE, NAME = "sensor_msgs/msg/Image", "/pressure"

    def frame(self, simulator, sensor):
        return sensor.name

    def describe(self, prototype, sensor, simulator):
        images.describe(prototype, *sensor.pad.cells, "32FC1")

    def fill(self, sample):
        images.put(self.message, sample.pressure.T.astype(np.float32))


class _Encoder(Topic):
    TYPE = "sensor_msgs/msg/JointState"

    def frame(self, simulator, sensor):
        return ""

    def describe(self, prototype, sensor, simulator):
        known = simulator.world.joint_names or simulator.world.hinge_names
        names = [known[i] for i in simulator.sensors.joints(sensor.name)]
        prototype.name, prototype.position, prototype.velocity = names, [0.0] * len(names), [0.0] * len(names)

    def fill(self, sample):
        self.message.array("position")[:], self.message.array("velocity")[:] = sample


class _Depth(Topic):
    TYPE, NAME, QOS = "sensor_msgs/msg/Image", "/depth", SENSOR
    ENCODING = "32FC1"

    def frame(self, simulator, sensor):
        return images.optical(sensor.name)

    def describe(self, prototype, sensor, simulator):
        image = images.optics(sensor)
        images.describe(prototype, image.width, image.height, self.ENCODING)

    def fill(self, sample):
        images.put(self.message, sample.depth.astype(np.float32))


class _Colour(_Depth):
    NAME, ENCODING = "/image", "rgb8"

    def fill(self, sample):
        images.put(self.message, sample.colour)


class _CameraInfo(Topic):
    TYPE, NAME, QOS = "sensor_msgs/msg/CameraInfo", "/camera_info", SENSOR

    def frame(self, simulator, sensor):
        return images.optical(sensor.name)

    def describe(self, prototype, sensor, simulator):
        images.describe_camera(prototype, images.optics(sensor))

    def fill(self, sample):
        """All of it never changes."""


class _Points(Topic):
    TYPE, NAME, QOS = "sensor_msgs/msg/PointCloud2", "/points", SENSOR

    def frame(self, simulator, sensor):
        return images.optical(sensor.name)

    def describe(self, prototype, sensor, simulator):
        image = images.optics(sensor)
        images.describe_points(prototype, self._make, (image.width, image.height), image.colour)

    def fill(self, sample):
        images.put_points(self.message, sample.points, sample.colour)


class _Cloud(_Points):
    """Of a lidar with several rings."""

    NAME = ""

    def frame(self, simulator, sensor):
        return sensor.name

    def describe(self, prototype, sensor, simulator):
        images.describe_points(prototype, self._make, (sensor.scan.samples, sensor.scan.rings), False)

    def fill(self, sample):
        images.put_points(self.message, sample.points, None)


class _Scan(Topic):
    TYPE, QOS = "sensor_msgs/msg/LaserScan", SENSOR

    def frame(self, simulator, sensor):
        return sensor.name

    def describe(self, prototype, sensor, simulator):
        images.describe_scan(prototype, images.scan(sensor), sensor.rate, simulator.time_step)

    def fill(self, sample):
        self.message.array("ranges")[:] = sample.ranges[0]


#: kind of a sensor -> its topics
TOPICS = {
    "imu": lambda _: (_Imu,), "force_torque": lambda _: (_Wrench,), "encoder": lambda _: (_Encoder,),
    "contact": lambda _: (_Wrench,), "tactile": lambda _: (_PadWrench, _Pressure),
    "camera": lambda s: (_CameraInfo, _Depth, *((_Colour,) if images.optics(s).colour else ()), _Points),
    "lidar": lambda s: (_Scan,) if images.scan(s).rings == 1 else (_Cloud,),
}  # fmt: skip

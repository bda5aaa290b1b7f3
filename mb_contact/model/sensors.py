# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of a scene: what is measured where, how often, how late and with how much noise."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

#: kinds of sensors, and the two quantities that each has noise of
KINDS = MappingProxyType({
    "imu": ("angular velocity [rad/s]", "linear acceleration [m/s^2]"),
    "force_torque": ("torque [N m]", "force [N]"),
    "encoder": ("position [rad, m]", "velocity [rad/s, m/s]"),
})


@dataclass(frozen=True)
class Sensor:
    """A sensor on a robot.

    Examples
    --------
    >>> mb.model.Sensor("wrist", "imu", link="tool", rate=200.0, noise=(1e-3, 1e-2)).latency
    0.0
    """

    name: str
    kind: str  #: one of KINDS
    link: str | None = None  #: of an IMU, which measures at the link's origin in its axes; a fixed joint mounts one
    joint: str | None = None  #: of force and torque: a joint, fixed ones too, or a loop closure
    joints: tuple[str, ...] = ()  #: of an encoder; all joints of the robots where none is named
    rate: float = 0.0  #: samples a second, rounded to whole time steps; 0: every step
    noise: tuple[float, float] = (0.0, 0.0)  #: standard deviations of the two quantities of its kind
    resolution: float = 0.0  #: of an encoder's position, rounded to multiples of it [rad, m]
    latency: float = 0.0  #: after which a sample is published [s]
    seed: int = 0  #: of its noise


def sensor_rules(scene, numbers):
    """(whether it is broken, key, what is wrong) of the sensors' rules; ``numbers`` makes the rule of numbers."""
    names = set()
    for i, sensor in enumerate(scene.sensors):
        key = f"sensors[{i}]"
        yield sensor.name in names or not sensor.name, f"{key}.name", f"'{sensor.name}' is empty or used twice"
        names.add(sensor.name)
        yield sensor.kind not in KINDS, f"{key}.kind", f"'{sensor.kind}' is not known; available: {', '.join(KINDS)}"
        places = {"imu": "link", "force_torque": "joint", "encoder": "joints"}
        for kind, place in places.items():
            given = bool(getattr(sensor, place))
            yield given and kind != sensor.kind, f"{key}.{place}", f"a sensor of kind {sensor.kind} has none"
            needed = kind == sensor.kind != "encoder"
            yield needed and not given, f"{key}.{place}", f"a sensor of kind {sensor.kind} needs one"
        for name in ("rate", "latency", "resolution"):
            yield numbers(f"{key}.{name}", getattr(sensor, name), low=0.0)
        yield numbers(f"{key}.noise", sensor.noise, 2, low=0.0)
        coarse = sensor.resolution > 0.0 and sensor.kind != "encoder"
        yield coarse, f"{key}.resolution", "only an encoder has one"
        yield not isinstance(sensor.seed, (int, np.integer)) or sensor.seed < 0, f"{key}.seed", "must be a whole number"

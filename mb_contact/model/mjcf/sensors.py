# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of a compiled MJCF that a scene knows too: inertial units at sites, and encoders."""

import numpy as np

from mb_contact.model.mjcf.compiled import HINGE, SITE, SLIDE, Compiled, Names
from mb_contact.model.scene.sensors import Sensor

ACCELEROMETER, GYRO, JOINTPOS, JOINTVEL = 1, 3, 9, 10  #: mjtSensor


def sensors(c: Compiled) -> tuple[Sensor, ...]:
    """An IMU at each site with an accelerometer or a gyro, and encoders of the joints that are measured.

    What is neither is named among what is left out.  MuJoCo adds no noise, so these have none.
    """
    m, names = c.m, Names()
    sites, joints, others = [], [], []
    for i in range(m.nsensor):
        kind, index = int(m.sensor_type[i]), int(m.sensor_objid[i])
        if kind in (ACCELEROMETER, GYRO) and m.sensor_objtype[i] == SITE and index in c.site_links:
            sites.append(index)
        elif kind in (JOINTPOS, JOINTVEL) and m.jnt_type[index] in (HINGE, SLIDE):
            joints.append(index)
        else:
            others.append(c.called("sensor", i))
    if others:
        c.left_out.append(f"sensors: {', '.join(others)}")
    found = [
        Sensor(names.unique(f"{c.site_links[s]}_imu"), "imu", link=c.site_links[s]) for s in dict.fromkeys(sites)
    ]
    if joints:
        found.append(Sensor(names.unique("encoders"), "encoder", joints=tuple(c.joints[j] for j in np.unique(joints))))
    return tuple(found)

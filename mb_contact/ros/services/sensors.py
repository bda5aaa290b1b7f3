# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""sensors/NAME/tare: the zero of sensors of forces."""

from functools import partial
from typing import Any

from mb_contact.ros.names import sanitise
from mb_contact.ros.services.standard import TRIGGER, asked
from mb_contact.simulation.sensors.sensors import TARED


def tare_services(simulator_node: Any) -> None:
    """Serve a std_srvs/Trigger for each sensor of a :class:`~mb_contact.ros.node.SimulatorNode` that can be tared."""
    for sensor in getattr(simulator_node.simulator.scene, "sensors", ()):
        if sensor.kind in TARED:
            name = f"sensors/{sanitise(sensor.name)}/tare"
            if not simulator_node.services.serves(name):  # another world may have a sensor of that name
                simulator_node.services.create(TRIGGER, name, partial(_tare, simulator_node, sensor.name))


def _tare(control, name, _request, answer):
    return asked(control, answer, lambda: control.outputs.tare(name))

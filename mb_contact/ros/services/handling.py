# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""adhesion/NAME/switch and attachments/NAME/hold: pads and welds on and off, by std_srvs."""

from functools import partial
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.handling import act, handles
from mb_contact.ros.services.standard import SET_BOOL, asked


def handling_services(simulator_node: Any) -> None:
    """Serve a std_srvs/SetBool for each pad and weld of a :class:`~mb_contact.ros.node.SimulatorNode`'s scene."""
    for handle in handles(simulator_node.simulator.scene):
        if not handle.type and not simulator_node.services.serves(handle.name):  # of another world, as tare has them
            simulator_node.services.create(SET_BOOL, handle.name, partial(_answer, simulator_node, handle.name))


def _answer(control, name, request, answer):
    def do():
        here = [handle for handle in handles(control.simulator.scene) if handle.name == name]
        if not here:
            raise CommunicationError(f"this world has no {name}")
        kind, fields = here[0].does(request)
        act(control.simulator, kind, fields)
        control.tell(kind, **fields)
        return f"{name.split('/')[1]} is {'on' if request.data else 'off'}"

    return asked(control, answer, do)

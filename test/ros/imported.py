# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the copies of :mod:`ros.warm` begin with: a node's imports, and what its wire makes of the types of messages."""

import importlib
import importlib.util

import mb_contact.ros.embedded.backend
import mb_contact.ros.node
import mb_contact.ros.recorder  # noqa: F401
from mb_contact.ros.embedded.messages import type_hash
from mb_contact.ros.embedded.wires import chosen_wire
from ros import contract

if importlib.util.find_spec("rclpy"):
    importlib.import_module("rclpy.executors")

for _topic in contract.TOPICS:
    type_hash(_topic.type)
if chosen_wire() == "zenoh":
    importlib.import_module("mb_contact.ros.embedded.zenoh.link")
else:
    _types = importlib.import_module("mb_contact.ros.embedded.dds.types")
    importlib.import_module("cyclonedds.builtin")
    _made = {topic.type: _types.idl_struct for topic in contract.TOPICS}
    for _service in contract.SERVICES:
        _made |= dict.fromkeys(
            (f"{_service.type}_Request", f"{_service.type}_Response"), _types.idl_service_struct
        )
    _made["rmw_dds_common/msg/ParticipantEntitiesInfo"] = _types.idl_struct
    for _name, _make in _made.items():
        type_hash(_name)
        _make(_name).__idl__.fill_type_data()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the copies of :mod:`ros.warm` begin with: a node's imports, and Cyclone DDS's classes of its messages."""

import importlib
import importlib.util

import cyclonedds.builtin  # noqa: F401

import mb_contact.ros.embedded.backend
import mb_contact.ros.node
import mb_contact.ros.recorder  # noqa: F401
from mb_contact.ros.embedded.dds.types import idl_service_struct, idl_struct
from mb_contact.ros.embedded.messages import type_hash
from ros import contract

if importlib.util.find_spec("rclpy"):
    importlib.import_module("rclpy.executors")

_TYPES = {topic.type: idl_struct for topic in contract.TOPICS}
_TYPES |= {f"{s.type}_{side}": idl_service_struct for s in contract.SERVICES for side in ("Request", "Response")}
_TYPES["rmw_dds_common/msg/ParticipantEntitiesInfo"] = idl_struct
for _name, _make in _TYPES.items():
    type_hash(_name)
    _make(_name).__idl__.fill_type_data()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A node on rclpy for the tests' own side, with the calls and the messages of the embedded backend.

Services do not cross from one DDS vendor to another: where the node runs on rmw_fastrtps, its tests have to as well.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest
from rclpy.serialization import deserialize_message

from mb_contact.errors import CommunicationError
from mb_contact.ros import create_node
from mb_contact.ros.embedded.backend import EmbeddedNode
from mb_contact.ros.embedded.cdr import Decoder
from mb_contact.ros.embedded.messages import deserialize, interface_class, message_class, serialize
from mb_contact.ros.embedded.services import Future
from mb_contact.ros.rclpy_backend import message_class as class_of_rclpy

#: What carries an action, by the ends of its types' names.
CARRIERS = {"_SendGoal": "SendGoalService", "_GetResult": "GetResultService", "_FeedbackMessage": "FeedbackMessage"}


def of_rclpy(type_name):
    """The type as rclpy's calls take it: its name, or its class where no module has that under its name."""
    for ending, name in CARRIERS.items():
        if type_name.endswith(ending):
            return getattr(class_of_rclpy(type_name.removesuffix(ending)).Impl, name)
    return type_name


def converted(message):
    """The message of the embedded backend that says the same as one of rclpy."""
    if isinstance(message, (list, tuple)):
        return [converted(item) for item in message]
    if not hasattr(message, "get_fields_and_field_types"):
        return np.asarray(message) if hasattr(message, "typecode") else message
    package, kind = type(message).__module__.split(".")[:2]
    made = message_class(f"{package}/{kind}/{type(message).__name__}")()
    for name in message.get_fields_and_field_types():
        setattr(made, name, converted(getattr(message, name)))
    return made


class RclpyPeerNode:
    """A node of this process on rclpy, in the domain of an environment."""

    def __init__(self, name, namespace, environment):
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in environment.items():
                patch.setenv(variable, value)
            self._node = create_node(name, "rclpy", namespace=namespace)
        self._environment, self._name = environment, name

    def __getattr__(self, name):
        return getattr(self._node, name)

    @cached_property
    def context(self):
        """Of a second participant, which sees with Cyclone's eyes what endpoints there are."""
        self._observer = EmbeddedNode(f"{self._name}_observer", environment=self._environment)
        return self._observer.context

    def own_prefixes(self):
        """The first bytes of the identifiers of all endpoints of both."""
        own = self._node.get_publishers_info_by_topic("/parameter_events")
        mine = [info for info in own if info.node_name == self._node.get_name()]
        return {self.context.participant.guid.bytes[:12], *(bytes(info.endpoint_gid[:12]) for info in mine)}

    def message_type(self, type_name):
        return interface_class(type_name)

    def create_subscription(self, type_name, topic, callback, qos, raw=False):
        kind = of_rclpy(type_name)

        def decode(data):
            try:
                return deserialize(data, type_name)
            except CommunicationError:  # the writer left bytes behind the end
                return converted(deserialize_message(data, class_of_rclpy(kind) if isinstance(kind, str) else kind))

        quick = Decoder(type_name, decode)
        take = callback if raw else lambda data: callback(quick(data))
        return self._node.create_subscription(kind, topic, take, qos, raw=True)

    def create_publisher(self, type_name, topic, qos):
        publisher = self._node.create_publisher(type_name, topic, qos)
        send = publisher.publish
        publisher.publish = lambda message: send(serialize(message, type_name))
        return publisher

    def create_client(self, type_name, service):
        return _Client(self._node, type_name, service)

    def destroy_client(self, client):
        self._node.destroy_client(client.of_rclpy)

    def destroy_node(self):
        self._node.destroy_node()
        if "context" in self.__dict__:
            self._observer.destroy_node()


class _Client:
    """As the embedded backend's."""

    def __init__(self, node, type_name, service):
        self.of_rclpy = node.create_client(of_rclpy(type_name), service)
        self.Request = message_class(f"{type_name}_Request")
        self._type_name = type_name
        self.wait_for_service, self.service_is_ready = self.of_rclpy.wait_for_service, self.of_rclpy.service_is_ready

    def call_async(self, request):
        future, data = Future(), serialize(request, f"{self._type_name}_Request")
        asked = self.of_rclpy.call_async(deserialize_message(data, self.of_rclpy.srv_type.Request))
        asked._set_executor = lambda _: None  # which would run what follows as a task, when no topic has anything
        asked.add_done_callback(lambda answered: future.set_result(converted(answered.result())))
        return future

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the simulator node publishes, and when.

All messages of a fixed shape are prepared once and patched.  Joint states go last: a
controller that reacts to them finds everything else with the same stamp already sent.
Costly quantities are computed only while somebody listens.
"""

from __future__ import annotations

from mb_contact.ros.outputs.arrays import ModelArrays
from mb_contact.ros.outputs.contacts import Certificate, ContactWrenches
from mb_contact.ros.outputs.robot import Clock, Description, JointStates, ObjectFrames
from mb_contact.ros.qos import STATE


class Outputs:
    """The publishers of the node.

    Parameters
    ----------
    node : object
        rclpy-like node.
    simulator : Simulator
    schedule : Schedule
    world_frame : str
    """

    def __init__(self, node, simulator, schedule, world_frame):
        self._schedule = schedule
        self.publishers = []
        make = _Maker(node, self.publishers)
        self.wrenches = ContactWrenches(make, simulator, schedule)
        self._clock = Clock(make)
        self._model = ModelArrays(make, simulator)
        self._objects = ObjectFrames(make, simulator, world_frame)
        self._certificate = Certificate(make, node, simulator)
        self._joints = JointStates(make, simulator)
        self._description = Description(make, simulator)
        self._sent = None

    def describe(self):
        """Publish the latched topics (again: a recording has just begun)."""
        self._description.publish()
        self._objects.publish_static()

    def publish(self, step, stamp, last=None, force=False):
        """Publish all that is due at this time step.

        Parameters
        ----------
        step : int
            Steps since the start or the last reset.
        stamp : int
            Published time [ns].
        last : Step, optional
            Of the step that led here.
        force : bool
            Publish everything again (a controller may have joined late).
        """
        if stamp == self._sent and not force:
            return
        self._sent = stamp
        due = self._schedule

        def is_due(every):
            return every and (force or step % every == 0)

        if is_due(due.clock):
            self._clock.publish(stamp)
        if is_due(due.contact):
            self.wrenches.publish(stamp)
        if is_due(due.tf):
            self._objects.publish(stamp)
        if is_due(due.certificate) and last is not None:
            self._certificate.publish(stamp, last)
        if is_due(due.operational_space):
            self._model.publish(stamp)
        if is_due(due.joint_state):
            self._joints.publish(stamp)


class _Maker:
    """Creates publishers and keeps the list of them."""

    def __init__(self, node, publishers):
        self._node = node
        self._publishers = publishers

    def publisher(self, type_name, topic, qos=STATE):
        """Return a publisher."""
        publisher = self._node.create_publisher(type_name, topic, qos)
        self._publishers.append(publisher)
        return publisher

    def message(self, type_name):
        """Return an empty message."""
        return self._node.message_type(type_name)()

    def prepared(self, type_name, topic, message):
        """Return a prepared message on a publisher of its own, and that publisher."""
        publisher = self.publisher(type_name, topic)
        return publisher.prepare(message), publisher

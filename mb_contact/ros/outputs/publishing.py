# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the simulator node publishes, and when.

All messages of a fixed shape are prepared once and patched.  Joint states go last: a
controller that reacts to them finds everything else with the same stamp already sent.
Costly quantities are computed only while somebody listens.
"""

import time
from typing import Any

from mb_contact.errors import CommunicationError, InputError
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.outputs.arrays import ModelArrays
from mb_contact.ros.outputs.contact_markers import ContactMarkers
from mb_contact.ros.outputs.contact_points import Contacts
from mb_contact.ros.outputs.contacts import Certificate, Wrenches
from mb_contact.ros.outputs.object_markers import AGAIN, ObjectMarkers
from mb_contact.ros.outputs.planning_scene import PlanningScene
from mb_contact.ros.outputs.robot import Clock, Description, JointStates, ObjectFrames, Run
from mb_contact.ros.outputs.sensors import SensorOutputs
from mb_contact.ros.qos import STATE
from mb_contact.simulation.surfaces.simulator import AnySimulator


class Outputs:
    """The publishers of the node.

    Parameters
    ----------
    node : object
        rclpy-like node.
    simulator : AnySimulator
    schedule : Schedule
    options : NodeOptions
        Read again for every message, so that live options count at once.

    Attributes
    ----------
    run : int
        Number of the run, from 1 on.
    told : int or None
        Stamp of the last joint states [ns].
    """

    def __init__(self, node: Any, simulator: AnySimulator, schedule: Any, options: NodeOptions) -> None:
        self._node, self._schedule, self._options = node, schedule, options
        self.publishers = []
        self._make = _Maker(node, self.publishers)
        self.run = 1
        self.told: int | None = None
        self._sent: int | None = None
        self._shown = 0.0
        self._wrenches: Any = None
        self._sensors: Any = None
        self._planning: Any = None
        self._runs = Run(self._make)
        self._runs.publish(self.run)
        self.bind(simulator)

    def bind(self, simulator: AnySimulator, anew: bool = False) -> None:
        """Publish the states of (another) simulator, on the same topics.

        ``anew``: its scene is another one, whose topics may have other types; nothing goes on.
        """
        make, schedule, options = self._make, self._schedule, self._options
        make.asked.clear()
        if anew and self._sensors is not None:
            self._sensors.close()
            self._sensors = None
        former, self._wrenches = self._wrenches, Wrenches(make, simulator, schedule, options)
        if former is not None and not anew:
            self._wrenches.go_on(former)
        self._clock = Clock(make)
        self._model = ModelArrays(make, simulator, options.operational_space_constraints)
        self._frames = ObjectFrames(make, simulator, options)
        self._contacts = Contacts(make, simulator, options)
        self._markers = ContactMarkers(make, simulator, options)
        self._objects = ObjectMarkers(make, simulator, options)
        self._planning = PlanningScene(make, simulator, options, self._planning)
        self._certificate = Certificate(make, self._node)
        self._joints = JointStates(make, simulator, self.run)
        self._sensors = SensorOutputs(make, simulator, schedule.time_step, options, self._sensors)
        if former is None or anew:  # what is spawned later has no description
            self._description = Description(make, simulator)
        if anew:
            make.close_others()

    def accumulate(self) -> None:
        """Take up what the step just taken adds to means over an interval."""
        self._wrenches.accumulate()

    def clear(self) -> None:
        """Begin new intervals."""
        self._wrenches.clear()

    def begin_run(self) -> None:
        """Count a reset: the states that come now belong to another run."""
        self.run += 1
        self._runs.publish(self.run)
        self._joints.begin_run(self.run)

    def describe(self) -> None:
        """Publish the latched topics (again: a recording has just begun)."""
        self._runs.publish(self.run)
        self._description.publish()
        self._frames.publish_static()
        self._objects.tell()

    def tare(self, name: str) -> str:
        """Set a sensor's zero; returns a sentence, on the physics thread.

        Raises
        ------
        InputError
            There is no such sensor any more.
        """
        if self._sensors is None or self._sensors.sensors is None:
            raise InputError(f"there is no sensor '{name}' any more")
        self._sensors.sensors.tare(name)
        return f"'{name}' tells what comes on top of what it reads now"

    def close(self) -> None:
        """Make no more images."""
        if self._sensors is not None:
            self._sensors.close()

    def listeners(self) -> int:
        """How many subscriptions there are to all of this."""
        return sum(publisher.get_subscription_count() for publisher in self.publishers)

    def show_frames(self, stamp: int) -> None:
        """The same while nothing moves, every second: who begins to look then finds everything where it stands."""
        if time.monotonic() > self._shown + AGAIN:
            self._shown = time.monotonic()
            self.publish_frames(stamp)
            self._objects.publish(stamp)

    def publish_frames(self, stamp: int) -> None:
        """Show where everything is, between two states."""
        if self._schedule.tf:
            self._frames.publish(stamp)

    def publish(
        self, step: Any, stamp: int, last: Any = None, force: bool = False, again: bool = False
    ) -> None:
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
            Publish everything, due or not.
        again : bool
            Publish the same state once more (a controller may have joined late), and samples of sensors of it.
        """
        if stamp == self._sent and not (force or again):
            return
        self._sent = stamp
        self._sensors.publish(step, stamp, again)
        due = self._schedule
        for every, output, arguments in (
            (due.clock, self._clock, ()),
            (due.contact, self._wrenches, ()),
            (due.contact, self._contacts, (last,)),
            (due.marker, self._markers, (last,)),
            (due.marker, self._objects, ()),
            (due.tf, self._frames, ()),
            (due.planning_scene, self._planning, ()),
            (due.certificate if last is not None else 0, self._certificate, (last,)),
            (due.operational_space, self._model, ()),
            (due.joint_state, self._joints, ()),
        ):
            if every and (force or again or step % every == 0):
                output.publish(stamp, *arguments)
                if output is self._joints:
                    self.told = stamp


class _Maker:
    """Creates each publisher once and keeps the list of them; ``asked`` holds the topics that were asked for."""

    def __init__(self, node, publishers):
        self._node = node
        self._publishers = publishers
        self._known, self.asked, self._missing = {}, set(), set()
        self.logger = node.get_logger()

    def publisher(self, type_name, topic, qos=STATE):
        """Return a publisher."""
        self.asked.add(topic)
        if topic in self._known and self._known[topic].type_name != type_name:
            self._close(topic)
        if topic not in self._known:
            self._known[topic] = self._node.create_publisher(type_name, topic, qos)
            self._publishers.append(self._known[topic])
        return self._known[topic]

    def close_others(self):
        """Close what nobody has asked for; the number of the run goes on."""
        for topic in set(self._known) - self.asked - {Run.TOPIC}:
            self._close(topic)

    def _close(self, topic):
        publisher = self._known.pop(topic)
        self._publishers.remove(publisher)
        self._node.destroy_publisher(publisher)

    def has(self, type_name, topics):
        """Whether this ROS has the type; what is not published without it is said once."""
        try:
            self._node.message_type(type_name)
        except CommunicationError as error:
            if topics not in self._missing:
                self.logger.info(f"{error}; until then there is nothing on {topics}")
            self._missing.add(topics)
            return False
        return True

    def message(self, type_name):
        """Return an empty message."""
        return self._node.message_type(type_name)()

    def prepared(self, type_name, topic, message, qos=STATE):
        """Return a prepared message on a publisher of its own, and that publisher."""
        publisher = self.publisher(type_name, topic, qos)
        return publisher.prepare(message), publisher

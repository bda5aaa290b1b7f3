# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the simulator node publishes, and when.

All messages of a fixed shape are prepared once and patched.  Joint states go last: a
controller that reacts to them finds everything else with the same stamp already sent.
Costly quantities are computed only while somebody listens.
"""

from __future__ import annotations

import numpy as np

from mb_contact.ros.names import sanitise
from mb_contact.ros.output_arrays import ModelArrays, wanted
from mb_contact.ros.qos import LATCHED, STATE


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


class Description:
    """robot_description, latched."""

    def __init__(self, make, simulator):
        self._publisher = make.publisher("std_msgs/msg/String", "robot_description", LATCHED)
        self._message = make.message("std_msgs/msg/String")
        self._message.data = simulator.robot_description
        self.publish()

    def publish(self):
        """Send the URDF text."""
        self._publisher.publish(self._message)


class Clock:
    """/clock."""

    def __init__(self, make):
        type_name = "rosgraph_msgs/msg/Clock"
        self._message, _ = make.prepared(type_name, "/clock", make.message(type_name))

    def publish(self, stamp):
        """Send the time."""
        self._message.stamp("clock", stamp)
        self._message.publish()


class JointStates:
    """joint_states: position, velocity, and the effort that really acted in the last step; mimic joints come last."""

    def __init__(self, make, simulator):
        type_name = "sensor_msgs/msg/JointState"
        prototype = make.message(type_name)
        self._own = len(simulator.world.joint_names)
        prototype.name = [*simulator.world.joint_names, *simulator.world.follower_names]
        zeros = [0.0] * len(prototype.name)
        prototype.position, prototype.velocity, prototype.effort = zeros, zeros, zeros
        self._message, _ = make.prepared(type_name, "joint_states", prototype)
        self._simulator = simulator
        self._arrays = [self._message.array(field) for field in ("position", "velocity", "effort")]

    def publish(self, stamp):
        """Send the state."""
        position, velocity, effort = self._arrays
        own = self._own
        position[:own] = self._simulator.joint_positions()
        velocity[:own] = self._simulator.joint_velocities()
        effort[:own] = self._simulator.joint_efforts()
        if len(position) > own:
            position[own:], velocity[own:] = self._simulator.follower_state()
        self._message.stamp("header.stamp", stamp)
        self._message.publish()


class ContactWrenches:
    """contact_wrenches/<link>: impulse over the publishing interval divided by the interval.

    In the link's frame, moments about its origin; impacts are included, and zero is
    published too.
    """

    _FIELDS = tuple(f"wrench.{part}.{axis}" for part in ("torque", "force") for axis in "xyz")

    def __init__(self, make, simulator, schedule):
        self._simulator = simulator
        self._dt = schedule.time_step
        self._links = tuple(simulator.scene.contact_wrench_links)
        self._impulses = np.zeros((len(self._links), 6))
        self._steps = 0
        self._messages = []
        type_name = "geometry_msgs/msg/WrenchStamped"
        for link in self._links:
            prototype = make.message(type_name)
            prototype.header.frame_id = link
            message, _ = make.prepared(type_name, f"contact_wrenches/{sanitise(link)}", prototype)
            self._messages.append(message)

    def accumulate(self):
        """Add the impulses of the step just taken."""
        for row, link in zip(self._impulses, self._links):
            row += self._simulator.contact_impulse(link)
        self._steps += 1

    def clear(self):
        """Start a new interval."""
        self._impulses[:] = 0.0
        self._steps = 0

    def publish(self, stamp):
        """Send the mean wrenches of the interval."""
        if self._steps:
            self._impulses /= self._steps * self._dt
        for row, message in zip(self._impulses, self._messages):
            for field, value in zip(self._FIELDS, row.tolist()):
                message.set(field, value)
            message.stamp("header.stamp", stamp)
            message.publish()
        self.clear()


def _fixed_frames(make, simulator, world_frame):
    """Publish /tf_static once: where the robots that are welded to the world stand."""
    publisher = make.publisher("tf2_msgs/msg/TFMessage", "/tf_static", LATCHED)
    message = make.message("tf2_msgs/msg/TFMessage")
    for model in getattr(simulator.world, "robot_models", ()):
        root = model.link_names[0]
        if root in simulator.world.objects or root == world_frame:
            continue
        position, quaternion = simulator.link_pose(root)
        transform = make.message("geometry_msgs/msg/TransformStamped")
        transform.header.frame_id, transform.child_frame_id = world_frame, root
        for axis, value in zip("xyz", position):
            setattr(transform.transform.translation, axis, float(value))
        for axis, value in zip("xyzw", quaternion):
            setattr(transform.transform.rotation, axis, float(value))
        message.transforms.append(transform)
    publisher.publish(message)
    return publisher, message


class ObjectFrames:
    """/tf of the free objects, /tf_static of the welded robots."""

    def __init__(self, make, simulator, world_frame):
        self._simulator = simulator
        self._names = tuple(simulator.world.objects)
        prototype = make.message("tf2_msgs/msg/TFMessage")
        for name in self._names:
            transform = make.message("geometry_msgs/msg/TransformStamped")
            transform.header.frame_id, transform.child_frame_id = world_frame, name
            prototype.transforms.append(transform)
        self._message, _ = make.prepared("tf2_msgs/msg/TFMessage", "/tf", prototype)
        self._static = _fixed_frames(make, simulator, world_frame)

    def publish_static(self):
        """Send /tf_static (again: a recording has just begun)."""
        publisher, message = self._static
        publisher.publish(message)

    def publish(self, stamp):
        """Send the poses."""
        if not self._names:
            return
        for i, name in enumerate(self._names):
            path = f"transforms.{i}"
            position, quaternion = self._simulator.link_pose(name)
            for axis, value in zip("xyz", position):
                self._message.set(f"{path}.transform.translation.{axis}", float(value))
            for axis, value in zip("xyzw", quaternion):
                self._message.set(f"{path}.transform.rotation.{axis}", float(value))
            self._message.stamp(f"{path}.header.stamp", stamp)
        self._message.publish()


class Certificate:
    """certificate: how well the contact problem of the step was solved, and every contact's state."""

    def __init__(self, make, node, simulator):
        self._make = make
        self._publisher = make.publisher("diagnostic_msgs/msg/DiagnosticStatus", "certificate")
        self._type = node.message_type("diagnostic_msgs/msg/DiagnosticStatus")
        self._name = f"{node.get_fully_qualified_name()}: contact certificate"

    def publish(self, stamp, last):
        """Send the certificate of the step that led to the state stamped ``stamp``."""
        if not wanted(self._publisher):
            return
        certificate = last.certificate
        solver = str(certificate.solver)
        status = self._type()
        degraded = solver in ("regularised", "best_residual")
        status.level = self._type.WARN if degraded else self._type.OK
        status.name, status.hardware_id = self._name, "mb_contact"
        status.message = f"{len(last.contacts)} contacts, solver {solver}"
        pairs = [("stamp", f"{stamp // 1_000_000_000}.{stamp % 1_000_000_000:09d}")]
        pairs += [(key, _text(value)) for key, value in certificate._asdict().items()]
        pairs += [(f"contact/{i}", contact_text(c)) for i, c in enumerate(last.contacts)]
        status.values = [key_value(self._make.message, key, value) for key, value in pairs]
        self._publisher.publish(status)


def contact_text(contact):
    """Return one contact as text: the two links, its state, sigma."""
    state = contact["state"]
    if not isinstance(state, str):
        from mb_contact.types import CONTACT_STATE_NAMES

        state = CONTACT_STATE_NAMES[int(state)]
    return f"{contact['link_a']} {contact['link_b']} {state} sigma={float(contact['sigma']):.6g}"


def key_value(message, key, value):
    """Return a diagnostic_msgs/KeyValue."""
    pair = message("diagnostic_msgs/msg/KeyValue")
    pair.key, pair.value = key, value
    return pair


def _text(value):
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contacts: wrenches on links, and the certificate."""

from __future__ import annotations

import numpy as np

from mb_contact.errors import CommunicationError
from mb_contact.ros.names import sanitise
from mb_contact.ros.outputs.arrays import wanted


class ContactWrenches:
    """contact_wrenches/<link>: impulse over the publishing interval divided by the interval.

    In the link's frame, moments about its origin; impacts are included, and zero is
    published too.
    """

    FIELDS = tuple(f"wrench.{part}.{axis}" for part in ("torque", "force") for axis in "xyz")

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
            for field, value in zip(self.FIELDS, row.tolist()):
                message.set(field, value)
            message.stamp("header.stamp", stamp)
            message.publish()
        self.clear()


class JointWrenches:
    """joint_wrenches/<joint>: what a force and torque sensor in a joint reads, the mean over the publishing interval.

    The wrench that the parent link puts on the child link, in the child's axes about its origin.  Computed while
    somebody listens.

    Raises
    ------
    CommunicationError
        A joint that no robot has.
    """

    def __init__(self, make, simulator, schedule, joints):
        self._simulator, self._dt = simulator, schedule.time_step
        self._outputs = []
        names = [name for name in joints if name]
        if not names:
            return
        known = simulator.joint_wrenches.names
        for name in names:
            if name not in known:
                raise CommunicationError(f"joint_wrench_joints: no joint '{name}'; the robots have {', '.join(known)}")
            prototype = make.message("geometry_msgs/msg/WrenchStamped")
            prototype.header.frame_id = simulator.joint_wrenches.child_link(name)
            topic = f"joint_wrenches/{sanitise(name)}"
            message, publisher = make.prepared("geometry_msgs/msg/WrenchStamped", topic, prototype)
            self._outputs.append(_MeanWrench(name, message, publisher))

    def accumulate(self):
        """Add the wrenches of the step just taken."""
        for output in self._outputs:
            if wanted(output.publisher):
                output.total += self._simulator.joint_wrench(output.joint)
                output.steps += 1

    def clear(self):
        """Start a new interval."""
        for output in self._outputs:
            output.clear()

    def publish(self, stamp):
        """Send the means of the interval."""
        for output in self._outputs:
            if wanted(output.publisher):
                for field, value in zip(ContactWrenches.FIELDS, (output.total / max(1, output.steps)).tolist()):
                    output.message.set(field, value)
                output.message.stamp("header.stamp", stamp)
                output.message.publish()
            output.clear()


class _MeanWrench:
    """One joint's output and the sum of its wrenches in this interval."""

    def __init__(self, joint, message, publisher):
        self.joint, self.message, self.publisher = joint, message, publisher
        self.total, self.steps = np.zeros(6), 0

    def clear(self):
        self.total[:] = 0.0
        self.steps = 0


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
        degraded = solver in ("no_push_out", "over_budget")
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
    return f"{contact['link_a']} {contact['link_b']} {contact['state']} sigma={float(contact['sigma']):.6g}"


def key_value(message, key, value):
    """Return a diagnostic_msgs/KeyValue."""
    pair = message("diagnostic_msgs/msg/KeyValue")
    pair.key, pair.value = key, value
    return pair


def _text(value):
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)

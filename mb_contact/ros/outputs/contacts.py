# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contacts: wrenches on links, and the certificate."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mb_contact.checks import instead_of
from mb_contact.errors import CommunicationError
from mb_contact.ros.names import sanitise
from mb_contact.ros.options import NodeOptions, Schedule
from mb_contact.ros.outputs.arrays import wanted
from mb_contact.simulation.results import NUMBERS


class Wrenches:
    """Means over the publishing interval, zero ones too.

    contact_wrenches/<link>: impulse of all contacts over the interval divided by the interval, in the link's frame,
    moments about its origin; impacts are included.  joint_wrenches/<joint>: what a force and torque sensor in a joint
    reads, the wrench that the parent link puts on the child link, in the child's axes about its origin; computed while
    somebody listens.

    Raises
    ------
    CommunicationError
        A joint that no robot has.
    """

    def __init__(self, make: Any, simulator: Any, schedule: Schedule, options: NodeOptions) -> None:
        prefix, links = options.frame_prefix, tuple(simulator.scene.contact_wrench_links)
        self._simulator, self._links, self._sums = simulator, links, np.zeros((len(links), 6))
        self._contacts = [
            _MeanWrench(make, f"contact_wrenches/{sanitise(link)}", prefix + link, total, schedule.time_step)
            for link, total in zip(links, self._sums)
        ]
        self._joints: list[_MeanWrench] = []
        for name in filter(None, options.joint_wrench_joints):
            known = simulator.joint_wrenches.names
            if name not in known:
                known = instead_of(name, known, "the robots have")
                raise CommunicationError(f"joint_wrench_joints: no joint '{name}'; {known}")
            topic, take = f"joint_wrenches/{sanitise(name)}", partial(simulator.joint_wrench, name)
            frame = prefix + simulator.joint_wrenches.child_link(name)
            self._joints.append(_MeanWrench(make, topic, frame, np.zeros(6), take=take))
        self._outputs = [*self._contacts, *self._joints]
        self._over = False  #: whether the interval has been told of; it may be once more, until the next step

    def go_on(self, former: Wrenches) -> None:
        """Take over the sums of an interval that began in another world, where the topic is the same."""
        sums = {output.topic: (output.total, output.steps) for output in former._outputs}
        self._over = former._over
        for output in self._outputs:
            output.total[:], output.steps = sums.get(output.topic, (output.total, output.steps))

    def accumulate(self) -> None:
        """Add the wrenches of the step just taken."""
        if self._over:
            self.clear()
        if self._links:
            self._sums += self._simulator.contact_impulse(self._links)
        for output in self._contacts:
            output.steps += 1
        for output in self._joints:
            output.accumulate()

    def clear(self) -> None:
        """Start a new interval."""
        self._over = False
        for output in self._outputs:
            output.clear()

    def publish(self, stamp: int) -> None:
        """Send the means of the interval."""
        self._over = True
        for output in self._outputs:
            output.publish(stamp)


class _MeanWrench:
    """One topic and the ``total`` (6,) of the steps of this interval, in ``unit`` [s] or none.

    With ``take`` only what it gives while somebody listens counts; else somebody adds to ``total`` at every step.
    """

    TYPE = "geometry_msgs/msg/WrenchStamped"
    FIELDS = tuple(f"wrench.{part}.{axis}" for part in ("torque", "force") for axis in "xyz")

    def __init__(self, make, topic, frame, total, unit=1.0, take=None):
        prototype = make.message(self.TYPE)
        prototype.header.frame_id = frame
        self._message, self._publisher = make.prepared(self.TYPE, topic, prototype)
        self.topic, self._take, self._unit = topic, take, unit
        self.total, self.steps = total, 0

    def _due(self):
        return self._take is None or wanted(self._publisher)

    def accumulate(self):
        if self._due():
            self.total += self._take()
            self.steps += 1

    def clear(self):
        self.total[:] = 0.0
        self.steps = 0

    def publish(self, stamp):
        if self._due():
            for field, value in zip(self.FIELDS, (self.total / (max(1, self.steps) * self._unit)).tolist()):
                self._message.set(field, value)
            self._message.stamp("header.stamp", stamp)
            self._message.publish()


class Certificate:
    """certificate: how well the contact problem of the step was solved, and every contact's state."""

    def __init__(self, make: Any, node: Any) -> None:
        self._make = make
        self._publisher = make.publisher("diagnostic_msgs/msg/DiagnosticStatus", "certificate")
        self._type = node.message_type("diagnostic_msgs/msg/DiagnosticStatus")
        self._name = f"{node.get_fully_qualified_name()}: contact certificate"

    def publish(self, stamp: int, last: Any) -> None:
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
        pairs += [(key, _text(value)) for key, value in zip(certificate._fields, certificate[:NUMBERS])]
        pairs += [(f"contact/{i}", contact_text(c)) for i, c in enumerate(last.contacts)]
        pairs += held_texts(certificate)
        status.values = [key_value(self._make.message, key, value) for key, value in pairs]
        self._publisher.publish(status)


def contact_text(contact: Any) -> str:
    """Return one contact as text: the two links, its state, sigma."""
    return f"{contact['link_a']} {contact['link_b']} {contact['state']} sigma={float(contact['sigma']):.6g}"


def held_texts(certificate: Any) -> list[tuple[str, str]]:
    """(key, text) of each pad and of each weld that comes on and off: what it holds, with which share of its bound."""
    pads = [
        (f"hold/{name}", f"{hold.link or 'nothing'} force={hold.force:.6g} share={hold.share:.6g} slip={hold.slip:.6g}")
        for name, hold in certificate.holds.items()
    ]
    return pads + [
        (f"attachment/{name}", f"{at.link} {at.body} {'on' if at.attached else 'off'} force={at.force:.6g} "
         f"torque={at.torque:.6g} share={at.share:.6g}")
        for name, at in certificate.attachments.items()
    ]  # fmt: skip


def key_value(message: Any, key: str, value: Any) -> Any:
    """Return a diagnostic_msgs/KeyValue."""
    pair = message("diagnostic_msgs/msg/KeyValue")
    pair.key, pair.value = key, value
    return pair


def _text(value):
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)

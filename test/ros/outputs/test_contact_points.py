# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contacts topic: messages whose pairs are those of the last are filled in place, with the same bytes.

Covers ros/embedded/prepared.py, ros/outputs/arrays.py.
"""

from __future__ import annotations

from types import SimpleNamespace

import mb_contact as mb
from mb_contact.ros.embedded.messages import deserialize, message_class, serialize
from mb_contact.ros.embedded.prepared import Prepared
from mb_contact.ros.outputs.contact_points import CONTACTS, Contacts


class Sent:
    """A publisher that keeps what it sends."""

    type_name, tap = CONTACTS, print

    def __init__(self):
        self.messages, self.filled = [], 0

    def publish(self, message):
        self.messages.append(bytes(serialize(message, CONTACTS)))

    def prepare(self, message):
        return Prepared(self, message)

    def send(self, data, size):
        self.messages.append(bytes(data[:size]))
        self.filled += 1


def make(sent):
    """What makes publishers and messages."""
    return SimpleNamespace(
        publisher=lambda *_: sent, has=lambda *_: True, message=lambda type_name: message_class(type_name)()
    )


def test_contacts_that_are_filled_in_equal_those_that_are_built():
    """Two boxes land one after the other: pairs come, stay and change their numbers of points."""
    boxes = tuple(
        mb.model.Primitive(name, "box", (0.1, 0.1, 0.1), mb.model.Pose((0.3 * i, 0.0, z), (a, 0.0, 0.0)), "free", 1.0)
        for i, (name, z, a) in enumerate((("a", 0.052, 0.05), ("b", 0.07, 0.0)))
    )
    sim, options, sent = mb.Simulator(mb.Scene(primitives=boxes, ground=mb.model.Ground())), SimpleNamespace(), Sent()
    options.world_frame = "world"
    contacts, shapes = Contacts(make(sent), sim, options), set()
    contacts.publish(0, None)
    for k in range(1, 200):
        step, alone = sim.step(), Sent()
        contacts.publish(k * 10**6, step)
        Contacts(make(alone), sim, options).publish(k * 10**6, step)
        assert sent.messages[-1] == alone.messages[0], k
        message = deserialize(sent.messages[-1], CONTACTS)
        assert sum(len(entry.depths) for entry in message.contacts) == len(step.contacts)
        shapes.add(tuple((entry.collision1.name, len(entry.depths)) for entry in message.contacts))
    assert len(shapes) >= 3 and 100 < sent.filled < 199
    force = sum(w.body_1_wrench.force.z - w.body_2_wrench.force.z for e in message.contacts for w in e.wrenches) / 2
    assert abs(abs(force) - 2 * 9.81) < 0.5  # they lie on the ground

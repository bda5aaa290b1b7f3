# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The node of the contract, one for each file of tests."""

from __future__ import annotations

import pytest

import ros.contract as contract
from mb_contact.ros.qos import QoS
from ros.support import BACKENDS, Session


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request):
    """Of the simulator's node; the others are embedded ones."""
    return request.param


@pytest.fixture(scope="module")
def cell(backend, tmp_path_factory):
    """(peer, node's process): one simulator for all tests here, running in real time."""
    scene = contract.write_scene(tmp_path_factory.mktemp("scene"))
    with Session.of(backend) as ros:
        node = ros.node(scene, *contract.ARGUMENTS, backend=backend)
        peer = ros.peer()
        for topic in contract.installed(contract.OUT, backend):
            peer.listen(topic.name, topic.type, QoS(50, reliable=topic.reliable, latched=topic.latched))
        node.own_words = backend == "embedded"  # rclpy says some things in its own
        states = peer.received["/cell/joint_states"]
        peer.until(lambda: states and states[-1].header.stamp.sec >= 2)  # what falls at first has come to rest
        yield peer, node

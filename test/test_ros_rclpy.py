# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The rclpy backend against the embedded one, where a ROS 2 with rmw_cyclonedds is sourced.

PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 keeps ROS 2's own pytest plugins out, which newer pytests refuse.
"""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy", reason="no sourced ROS 2 here: the rclpy backend cannot run")

from ros_support import Session  # noqa: E402

REAL = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


@pytest.mark.parametrize(
    "node, controller", [("rclpy", "embedded"), ("embedded", "rclpy"), ("rclpy", "rclpy")]
)
def test_lockstep_between_the_backends(node, controller):
    with Session(**REAL) as ros:
        simulator = ros.simulator("--lockstep", "--duration", "1", "--joints", "26", backend=node)
        peer = ros.controller(1000, "--backend", controller)
        assert simulator.wait() == 0, simulator.output()
        assert peer.wait() == 0, peer.output()
        report = json.loads(peer.lines[-1])
        assert report["states"] == 1000 and report["gaps"] == 0
        assert "0 lockstep timeouts" in simulator.output()


def test_services_and_latched_topics_of_the_rclpy_node():
    with Session(**REAL) as ros:
        simulator = ros.simulator("--joints", "2", "--ros-args", "-p", "clock_rate:=50.0", backend="rclpy")
        peer = ros.peer()
        description = peer.listen("robot_description", "std_msgs/msg/String", latched())
        peer.until(lambda: description)
        assert description[0].data.startswith("<robot")
        assert peer.call("/mb_contact/reset").success
        assert peer.call("/mb_contact/pause", "std_srvs/srv/SetBool", data=True).success
        simulator.signal()
        assert simulator.wait() == 0, simulator.output()


def latched():
    from mb_contact.ros import QoS

    return QoS(depth=1, latched=True)

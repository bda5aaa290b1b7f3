# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulator.launch.py twice: two nodes in two namespaces of one domain, which know nothing of each other.

    launch_test test/ros/launch_tests/launch_two_robots.py
"""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

import launch_testing.asserts
import pytest
from launch_testing import post_shutdown_test

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2])]

from observer import (  # noqa: E402
    SET_BOOL,
    UP,
    WORDS,
    Observer,
    described,
    effort_command,
    launch_file,
    stamp_of,
    text_of,
    wait_for,
)

import ros.contract as contract  # noqa: E402

SIDES = ("left", "right")


@pytest.mark.launch_test
def generate_test_description():
    urdf = Path(tempfile.mkdtemp(prefix="mb_contact_")) / "arm.urdf"
    urdf.write_text(contract.ARM, encoding="utf-8")
    common = {"urdf": str(urdf), "height": "1.0", "state_publisher": "false"}
    clocks = {"left": "1000.0", "right": "0.0"}  # one domain has one /clock
    return described(
        *(launch_file("simulator.launch.py", namespace=side, clock_rate=clocks[side], **common) for side in SIDES)
    )


class TestTwoRobots(unittest.TestCase):
    @classmethod
    def setUpClass(cls, proc_output):
        wait_for(proc_output, UP, count=len(SIDES))
        cls.ros = Observer()
        cls.states = {side: cls.ros.listen(f"/{side}/joint_states") for side in SIDES}

    @classmethod
    def tearDownClass(cls):
        cls.ros.close()

    def test_both_publish_under_their_names(self):
        for side in SIDES:
            self.assertEqual(list(self.ros.next(f"/{side}/joint_states")[0].name), ["shoulder", "elbow"])
        nodes = self.ros.node.get_node_names_and_namespaces()
        self.assertLessEqual({("mb_contact", f"/{side}") for side in SIDES}, set(nodes))

    def test_one_clock(self):
        self.ros.until(lambda: self.ros.node.count_publishers("/clock") == len(SIDES), "publishers of /clock")
        clock = self.ros.listen("/clock", "rosgraph_msgs/msg/Clock")
        self.ros.next("/clock", 100)
        times = [message.clock.sec * 1_000_000_000 + message.clock.nanosec for message in clock]
        gaps = [b - a for a, b in zip(times, times[1:])]
        self.assertEqual((min(gaps), {gap % 1_000_000 for gap in gaps}), (1_000_000, {0}))  # a second clock goes back

    def test_pausing_one_leaves_the_other(self):
        self.assertTrue(self.ros.call("/left/mb_contact/pause", SET_BOOL, data=True).success)
        self.assertTrue(self.ros.call("/left/mb_contact/step").success)
        state = ("/left/get_entity_state", "simulation_interfaces/srv/GetEntityState")
        still = stamp_of(self.ros.call(*state, entity="robot").state)
        self.ros.next("/right/joint_states", 50)
        self.assertEqual(stamp_of(self.ros.call(*state, entity="robot").state), still)
        self.assertTrue(self.ros.call("/left/mb_contact/pause", SET_BOOL, data=False).success)
        self.ros.next("/left/joint_states", 5)

    def test_commands_reach_one_of_them(self):
        publisher = self.ros.publisher("/left/joint_commands", reliable=False)

        def acts():
            publisher.publish(effort_command(["elbow"], [1.5]))
            return abs(self.states["left"][-1].effort[1] - 1.5) < 1e-9

        self.ros.until(acts, "effort of the left arm")
        self.ros.next("/right/joint_states", 20)
        self.assertEqual(self.states["right"][-1].effort[1], 0.0)


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_clean_end(self, proc_info, proc_output):
        launch_testing.asserts.assertExitCodes(proc_info)
        text = text_of(proc_output, "simulator_node")
        self.assertEqual(text.count("lockstep timeouts"), len(SIDES))
        for word in WORDS:
            self.assertNotIn(word, text)

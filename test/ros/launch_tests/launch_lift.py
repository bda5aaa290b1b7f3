# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""dual_arm.launch.py with its controller: lockstep at 26 joints, a duration that ends both processes by itself.

    launch_test test/ros/launch_tests/launch_lift.py
"""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

import launch_testing.asserts
import pytest
from launch_testing import post_shutdown_test
from launch_testing.markers import keep_alive

sys.path.insert(0, str(Path(__file__).resolve().parent))

from observer import START, UP, WORDS, Observer, described, launch_file, stamp_of, text_of, wait_for  # noqa: E402

SECONDS = 1.5  #: simulated
JOINTS = 26
FOLDER = Path(tempfile.mkdtemp(prefix="mb_contact_"))
BAG = FOLDER / "lift.mcap"


@pytest.mark.launch_test
@keep_alive
def generate_test_description():
    arguments = {"controller": "true", "real_time_factor": "0.0", "duration": str(SECONDS), "record": str(BAG)}
    return described(launch_file("dual_arm.launch.py", **arguments))


class TestLift(unittest.TestCase):
    def test_every_state_is_published_until_the_end(self, proc_output, proc_info):
        wait_for(proc_output, UP)
        ros = Observer()
        states = ros.listen("/joint_states")
        ros.listen("/operational_space/inertia", "std_msgs/msg/Float64MultiArray")
        ros.listen("/clock", "rosgraph_msgs/msg/Clock")
        end = round((SECONDS - 0.002) * 1e9)
        ros.until(lambda: states and stamp_of(states[-1]) >= end, "state near the end", START)
        self.assertEqual(len(states[-1].name), JOINTS)
        stamps = sorted({stamp_of(message) for message in states})  # the first state is repeated
        self.assertEqual({b - a for a, b in zip(stamps, stamps[1:])}, {1_000_000})
        inertia = ros.heard["/operational_space/inertia"][-1]
        self.assertEqual([dim.size for dim in inertia.layout.dim], [12, 12])
        self.assertGreater(len(ros.heard["/clock"]), len(stamps) // 2)
        ros.close()
        wait_for(proc_output, "lockstep timeouts")  # the summary


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_both_ended(self, proc_info, proc_output):
        """With 0, the controller too, which launch interrupts when the node has gone."""
        for name in proc_info.process_names():
            launch_testing.asserts.assertExitCodes(proc_info, [0], name)

    def test_output(self, proc_output):
        text = text_of(proc_output, "simulator_node")
        self.assertIn(f"({round(SECONDS / 0.001)} steps)", text)
        self.assertIn(" 0 lockstep timeouts", text)
        self.assertIn("controller: ", text_of(proc_output, "dual_arm_lift"))
        for word in WORDS:
            self.assertNotIn(word, text_of(proc_output))

    def test_recording(self):
        self.assertGreater(BAG.stat().st_size, 100_000)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""grasp.launch.py: a controller is killed and started again, then the simulator; the other side stays as it is.

    launch_test test/ros/launch_tests/launch_restart.py
"""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

import launch_testing.asserts
import pytest
from launch.actions import ExecuteProcess
from launch_ros.actions import Node
from launch_testing import post_shutdown_test
from launch_testing.tools import launch_process

sys.path.insert(0, str(Path(__file__).resolve().parent))

from observer import (  # noqa: E402
    START,
    UP,
    WORDS,
    Observer,
    described,
    example,
    kill,
    launch_file,
    stamp_of,
    text_of,
    wait_for,
    write,
)

SCENE = "package://mb_contact/config/drumwright_grasp.yaml"
PARAMETERS = "/**: {ros__parameters: {lockstep_timeout: 1.0}}"  # it goes on without its controller
GONE, BACK = "no answer to the state", "commands are back"


@pytest.mark.launch_test
def generate_test_description():
    """One simulator without a controller, one controller (in a namespace of its own) without a simulator."""
    lonely = ExecuteProcess(cmd=example("grasp_squeeze.py", "--namespace", "other"), name="lonely", output="screen")
    parameters = write(Path(tempfile.mkdtemp(prefix="mb_contact_")), "node.yaml", PARAMETERS)
    simulator = launch_file("grasp.launch.py", lockstep="true", controller="false", params_file=parameters)
    return described(simulator, lonely), {"lonely": lonely}


class TestControllerRestarts(unittest.TestCase):
    def test_controller_killed_and_started_again(self, launch_service, proc_info, proc_output):
        wait_for(proc_output, UP)
        ros = Observer()
        states = ros.listen("/joint_states")

        def height():
            state = ros.call("/get_entity_state", "simulation_interfaces/srv/GetEntityState", entity="box_left").state
            return state.pose.position.z

        def squeezes():
            return ExecuteProcess(cmd=example("grasp_squeeze.py"), name="squeeze", output="screen")

        first, second = squeezes(), squeezes()
        with launch_process(launch_service, first, proc_info, proc_output):
            ros.until(lambda: states and stamp_of(states[-1]) > 0, "step in lockstep", START)
            ros.next("/joint_states", 20)
            self.assertAlmostEqual(height(), 1.0, delta=0.01)
            kill(proc_info, first)
            wait_for(proc_output, GONE)
            proc_info.assertWaitForShutdown(first, timeout=30)
        ros.next("/joint_states", 20)  # it goes on in real time with the last effort: the boxes stay where they are
        self.assertAlmostEqual(height(), 1.0, delta=0.01)
        with launch_process(launch_service, second, proc_info, proc_output):
            wait_for(proc_output, BACK)
            ros.next("/joint_states", 20)
            self.assertAlmostEqual(height(), 1.0, delta=0.01)
        stamps = [stamp_of(message) for message in states]
        self.assertEqual(stamps, sorted(stamps))
        ros.close()


class TestSimulatorRestarts(unittest.TestCase):
    def test_simulator_killed_and_started_again(self, launch_service, proc_info, proc_output, lonely):
        ros = Observer("watcher")
        states = ros.listen("/other/joint_states")
        pid = proc_info[lonely].pid

        def node(*arguments):
            parameters = [{"lockstep": True}]
            return Node(
                package="mb_contact", executable="simulator_node", namespace="other", parameters=parameters,
                arguments=[SCENE, "--backend", "rclpy", *arguments], name="again", output="screen",
            )  # fmt: skip

        first, second = node(), node("--duration", "0.5")
        with launch_process(launch_service, first, proc_info, proc_output):
            ros.until(lambda: states and stamp_of(states[-1]) > 200_000_000, "lockstep with the first one", START)
            kill(proc_info, first)
            proc_info.assertWaitForShutdown(first, timeout=30)
        last = len(states)
        with launch_process(launch_service, second, proc_info, proc_output):
            ros.until(lambda: len(states) > last, "state of the second one", START)
            self.assertLess(stamp_of(states[last]), 200_000_000)  # a new run, from its beginning
            proc_info.assertWaitForShutdown(second, timeout=60)
        self.assertEqual(proc_info[second].returncode, 0)
        self.assertEqual(proc_info[lonely].pid, pid)
        self.assertIn("(50 steps)", text_of(proc_output, "simulator_node"))
        ros.close()


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_those_that_were_not_killed_ended_well(self, proc_info, proc_output, lonely):
        launch_testing.asserts.assertExitCodes(proc_info, [0], lonely)
        codes = sorted(proc_info[name].returncode for name in proc_info.process_names() if "simulator_node" in name)
        self.assertEqual(codes, [-9, 0, 0])
        for word in WORDS[::2]:
            self.assertNotIn(word, text_of(proc_output))

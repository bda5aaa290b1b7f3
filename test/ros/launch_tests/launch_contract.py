# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulator.launch.py with anybody's robot: the whole contract of the node, asked by plain rclpy.

    launch_test test/ros/launch_tests/launch_contract.py
"""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

import launch_testing.asserts
import pytest
from launch_testing import post_shutdown_test
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rosidl_runtime_py.utilities import get_message

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2])]

from observer import (  # noqa: E402
    SET_BOOL,
    UP,
    WORDS,
    Observer,
    described,
    effort_command,
    has_message,
    launch_file,
    stamp_of,
    text_of,
    wait_for,
    write,
)

import ros.contract as contract  # noqa: E402

NODE = "/cell/mb_contact"
MILLISECOND = 1_000_000
TOPICS = [topic for topic in contract.TOPICS if has_message(topic.type)]
PARAMETERS = """
/**:
  ros__parameters: {joint_wrench_joints: [sensor], marker_cones: true}
"""


@pytest.mark.launch_test
def generate_test_description():
    folder = tempfile.mkdtemp(prefix="mb_contact_")
    scene = contract.write_scene(Path(folder))
    parameters = write(folder, "node.yaml", PARAMETERS)
    return described(
        launch_file(
            "simulator.launch.py", scene=str(scene), namespace="cell", params_file=parameters, state_publisher="false"
        )  # fmt: skip
    )


def number(name, value):
    kind = ParameterType.PARAMETER_DOUBLE
    return Parameter(name=name, value=ParameterValue(type=kind, double_value=value))


def word(name, value):
    return Parameter(name=name, value=ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value))


class TestContract(unittest.TestCase):
    @classmethod
    def setUpClass(cls, proc_output):
        wait_for(proc_output, UP)
        cls.ros = Observer()
        cls.states = cls.ros.listen("/cell/joint_states")

    @classmethod
    def tearDownClass(cls):
        cls.ros.close()

    def tearDown(self):
        self.pause(False)

    def set(self, *parameters):
        kind = "rcl_interfaces/srv/SetParameters"
        return self.ros.call(f"{NODE}/set_parameters", kind, parameters=list(parameters)).results

    def pause(self, paused):
        self.assertTrue(self.ros.call(f"{NODE}/pause", SET_BOOL, data=paused).success)

    def simulation(self, service, **fields):
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in service)[1:]
        return self.ros.call(f"/cell/{name}", f"simulation_interfaces/srv/{service}", **fields)

    # --- topics ---------------------------------------------------------------------------------
    def test_topics_have_their_types_and_qos(self):
        node = self.ros.node
        for topic in TOPICS:
            ends = node.get_publishers_info_by_topic if topic.way == "out" else node.get_subscriptions_info_by_topic
            mine = lambda: [e for e in ends(topic.name) if e.node_name == "mb_contact"]  # noqa: B023, E731
            with self.subTest(topic.name):
                self.ros.until(mine, f"{topic.way}put {topic.name}")
                (end,) = mine()
                self.assertEqual((end.topic_type, end.node_namespace), (topic.type, "/cell"))
                reliable = end.qos_profile.reliability == ReliabilityPolicy.RELIABLE
                latched = end.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
                self.assertEqual((reliable, latched), (topic.reliable, topic.latched))
                self.assertNotEqual(str(end.topic_type_hash), "INVALID")

    def test_every_output_arrives(self):
        outputs = [topic for topic in TOPICS if topic.way == "out" and not topic.asked]  # those come when asked
        for topic in outputs:
            self.ros.listen(topic.name, topic.type, topic.latched, reliable=topic.reliable)
        self.set(number("marker_scale", 0.004))  # /parameter_events
        self.ros.until(lambda: all(self.ros.heard[topic.name] for topic in outputs), "message on every topic")
        force = self.ros.next("/cell/contact_wrenches/tool")[0].wrench.force
        self.assertGreater(force.x**2 + force.y**2 + force.z**2, 0.0)
        self.assertIn("upper", self.ros.heard["/cell/robot_description"][0].data)

    def test_rate_of_joint_states(self):
        """In simulated time, so that a busy machine cannot fail it."""
        for rate in (1000.0, 250.0):
            self.assertTrue(self.set(number("joint_state_rate", rate))[0].successful)
            now = stamp_of(self.simulation("GetEntityState", entity="box").state)
            self.ros.until(lambda: stamp_of(self.states[-1]) > now + 50 * MILLISECOND, "later state")  # noqa: B023
            stamps = [stamp_of(message) for message in self.ros.next("/cell/joint_states", 50)]
            gaps, period = {b - a for a, b in zip(stamps, stamps[1:])}, round(1e9 / rate)
            self.assertEqual((min(gaps), {gap % period for gap in gaps}), (period, {0}))  # a slow reader loses some
        self.set(number("joint_state_rate", -1.0))

    # --- services ---------------------------------------------------------------------------------
    def test_all_services_are_there(self):
        expected = {(s.name.replace("/cell/sim/", f"{NODE}/"), s.type) for s in contract.SERVICES}
        node = self.ros.node

        def found():
            return {(name, kinds[0]) for name, kinds in node.get_service_names_and_types()}

        self.ros.until(lambda: expected <= found(), "service of the contract")

    def test_pause_step_go_on(self):
        self.pause(True)
        self.assertTrue(self.ros.call(f"{NODE}/step").success)
        before = stamp_of(self.simulation("GetEntityState", entity="box").state)  # what is heard may lag behind
        self.assertTrue(self.ros.call(f"{NODE}/step").success)
        self.ros.until(lambda: stamp_of(self.states[-1]) == before + MILLISECOND, "state of the next step")
        self.assertEqual(self.simulation("StepSimulation", steps=25).result.result, 1)
        self.ros.until(lambda: stamp_of(self.states[-1]) == before + 26 * MILLISECOND, "state after 25 more")
        self.pause(False)
        self.ros.next("/cell/joint_states", 5)
        self.assertFalse(self.ros.call(f"{NODE}/step").success)  # only while paused

    def test_reset_lets_time_go_on(self):
        before = stamp_of(self.ros.next("/cell/joint_states")[0])
        self.assertTrue(self.ros.call(f"{NODE}/reset").success)
        self.ros.next("/cell/joint_states", 5)
        stamps = [stamp_of(message) for message in self.states]
        self.assertGreater(stamps[-1], before)
        self.assertEqual(stamps, sorted(stamps))

    def test_simulation_interfaces(self):
        state = get_message("simulation_interfaces/msg/SimulationState")
        self.assertEqual(self.simulation("GetSimulationState").state.state, state.STATE_PLAYING)
        self.assertIn("urdf", self.simulation("GetSimulatorFeatures").features.spawn_formats)
        self.assertEqual(set(self.simulation("GetEntities").entities), {"arm", "box"})
        box = self.simulation("GetEntityState", entity="box").state
        self.assertAlmostEqual(box.pose.position.z, 0.05, delta=1e-3)
        pose = get_message("geometry_msgs/msg/PoseStamped")()
        pose.pose.position.x, pose.pose.position.z, pose.pose.orientation.w = 2.0, 0.5, 1.0
        ball = "{shape: sphere, size: [0.05], mass: 0.2}"
        answer = self.simulation("SpawnEntity", name="ball", resource_string=ball, initial_pose=pose)
        self.assertEqual((answer.result.result, answer.entity_name), (1, "ball"))
        self.ros.until(lambda: self.simulation("GetEntityState", entity="ball").state.pose.position.z < 0.2, "fall")
        self.assertEqual(self.simulation("DeleteEntity", entity="ball").result.result, 1)
        self.assertNotIn("ball", self.simulation("GetEntities").entities)
        self.assertNotEqual(self.simulation("GetEntityState", entity="ball").result.result, 1)

    # --- parameters ---------------------------------------------------------------------------------
    def test_parameters_are_listed_described_set_and_refused(self):
        listed = self.ros.call(f"{NODE}/list_parameters", "rcl_interfaces/srv/ListParameters").result.names
        self.assertLessEqual(set(contract.PARAMETERS), set(listed))
        names = ["lockstep", "real_time_factor"]
        about = self.ros.call(f"{NODE}/describe_parameters", "rcl_interfaces/srv/DescribeParameters", names=names)
        lockstep, pace = about.descriptors
        self.assertTrue(lockstep.read_only and lockstep.description)
        self.assertEqual(pace.floating_point_range[0].to_value, 1e4)
        yes, too_low, fixed = self.set(
            number("real_time_factor", 0.9),
            number("real_time_factor", -3.0),
            Parameter(name="lockstep", value=ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True)),
        )
        self.assertTrue(yes.successful)
        self.assertFalse(too_low.successful or fixed.successful)
        self.assertTrue(too_low.reason and fixed.reason)
        values = self.ros.call(f"{NODE}/get_parameters", "rcl_interfaces/srv/GetParameters", names=names).values
        self.assertEqual((values[0].bool_value, values[1].double_value), (False, 0.9))
        self.set(number("real_time_factor", 1.0))

    # --- commands ---------------------------------------------------------------------------------
    def test_commands_act_and_time_out(self):
        publisher = self.ros.publisher("/cell/joint_commands", reliable=False)
        command = effort_command(["elbow"], [3.5])

        def acts():
            publisher.publish(command)
            return abs(self.states[-1].effort[1] - 3.5) < 1e-9

        self.ros.until(acts, "effort of the command")
        self.ros.next("/cell/joint_states", 200)  # the timeout of 0.1 s has passed: 'hold' keeps it
        self.assertAlmostEqual(self.states[-1].effort[1], 3.5)
        self.assertTrue(self.set(word("command_timeout_policy", "zero"))[0].successful)
        self.ros.until(lambda: self.states[-1].effort[1] == 0.0, "end of the effort under 'zero'")
        self.ros.until(acts, "effort of new commands")
        self.set(word("command_timeout_policy", "hold"))

    def test_a_bad_command_is_refused_and_counted(self):
        publisher = self.ros.publisher("/cell/joint_commands", reliable=False)
        told = self.ros.listen("/rosout", "rcl_interfaces/msg/Log", latched=True)
        heard = self.ros.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")

        def rejected():
            """As the newest diagnostics count them."""
            for message in reversed(heard):
                for status in message.status:
                    if status.name == f"{NODE}: simulation":
                        return int({pair.key: pair.value for pair in status.values}["rejected_commands"])
            return None

        self.ros.until(lambda: rejected() is not None, "diagnostics of the node")
        before = rejected()

        def refused():
            publisher.publish(effort_command(["nobody"], [1.0]))
            return any("unknown joint 'nobody'" in message.msg for message in told)

        self.ros.until(refused, "warning on /rosout")
        self.ros.until(lambda: rejected() > before, "rejected command in /diagnostics")


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_clean_end(self, proc_info, proc_output):
        """SIGINT of launch ends everything with 0, with a summary and without a word of failure."""
        launch_testing.asserts.assertExitCodes(proc_info)
        text = text_of(proc_output, "simulator_node")
        self.assertIn("real-time factor", text)
        for word in WORDS:
            self.assertNotIn(word, text)

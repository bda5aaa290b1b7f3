# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A plain rclpy program, without this package: what somebody else's node hears of ours, and says to it.

    python plain_rclpy.py listen               every topic until it was heard, then {topic: messages} as a line of JSON
    python plain_rclpy.py command JOINT EFFORT repeats a command; a line when that effort comes back in joint_states
    python plain_rclpy.py answer COUNT         answers so many states of a lockstep; {"states": ..., "gaps": ...}
    python plain_rclpy.py events               one line for each parameter event
    python plain_rclpy.py topics               one line for each topic on the graph when it is seen first
    python plain_rclpy.py call NODE COUNT      asks so often for a node's parameters, and for 2,000 descriptions of one
    python plain_rclpy.py serve COUNT          offers switch (SetBool); what it was asked for, so often
    python plain_rclpy.py simulate             a paused simulator's steps: seven, and a million that are cancelled
"""

from __future__ import annotations

import importlib
import json
import sys

import rclpy
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import DescribeParameters, ListParameters
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool


def listen(node):
    """Best effort, as a viewer may: also latched topics, which DDS keeps for reliable readers alone."""
    heard = {}
    while not heard or min(heard.values()) == 0:
        for topic, (kind, *_) in node.get_topic_names_and_types():
            package, space, name = kind.split("/")
            publishers = node.get_publishers_info_by_topic(topic)
            if topic in heard or not publishers or topic in ("/parameter_events", "/rosout"):
                continue
            try:
                message = getattr(importlib.import_module(f"{package}.{space}"), name)
            except (ImportError, AttributeError):  # this rclpy has no such type
                continue
            heard[topic] = 0
            qos = QoSProfile(
                depth=10, reliability=ReliabilityPolicy.BEST_EFFORT, durability=publishers[0].qos_profile.durability
            )
            node.create_subscription(message, topic, lambda _, t=topic: heard.__setitem__(t, heard[t] + 1), qos)
        yield
    print(json.dumps(heard), flush=True)


def command(node, joint, effort):
    back = []
    message = JointState(name=[joint], effort=[float(effort)])
    publisher = node.create_publisher(JointState, "joint_commands", 10)

    def on_state(state):
        back.append(dict(zip(state.name, state.effort)))

    node.create_subscription(JointState, "joint_states", on_state, 10)
    while not back or back[-1][joint] != float(effort):
        publisher.publish(message)
        yield
    print(f"{joint} has {effort}", flush=True)


def answer(node, count):
    stamps = []
    publisher = node.create_publisher(JointState, "joint_commands", 10)

    def on_state(state):
        publisher.publish(JointState(header=state.header, name=state.name, effort=[1.0] * len(state.name)))
        stamp = state.header.stamp.sec * 10**9 + state.header.stamp.nanosec
        if not stamps or stamp != stamps[-1]:
            stamps.append(stamp)

    node.create_subscription(JointState, "joint_states", on_state, 10)
    while len(stamps) < int(count):
        yield
    gaps = sum(b - a != 1_000_000 for a, b in zip(stamps, stamps[1:]))
    print(json.dumps({"states": len(stamps), "gaps": gaps}), flush=True)


def events(node):
    def on_event(event):
        values = {p.name: p.value.double_value for p in [*event.new_parameters, *event.changed_parameters]}
        print(f"{event.node} {json.dumps(values)}", flush=True)

    node.create_subscription(ParameterEvent, "/parameter_events", on_event, 1000)
    print("listening", flush=True)
    while True:
        yield


def topics(node):
    seen = set()
    while True:
        for topic, _ in node.get_topic_names_and_types():
            if topic not in seen:
                seen.add(topic)
                print(f"sees {topic}", flush=True)
        yield


def done(future):
    while not future.done():
        yield
    return future.result()


def ask(node, kind, name, **fields):
    client = node.create_client(kind, name)
    while not client.service_is_ready():
        yield
    return (yield from done(client.call_async(kind.Request(**fields))))


def call(node, other, count):
    for _ in range(int(count)):
        answer = yield from ask(node, ListParameters, f"{other}/list_parameters")
    names = [max(answer.result.names)] * 2000
    answer = yield from ask(node, DescribeParameters, f"{other}/describe_parameters", names=names)
    found = {description.name for description in answer.descriptors}
    print(json.dumps([len(answer.descriptors), found == {names[0]}]), flush=True)


def serve(node, count):
    asked = []

    def switch(request, response):
        asked.append(request.data)
        response.success, response.message = request.data, "x" * 100_000 if request.data else "off"
        return response

    node.create_service(SetBool, "switch", switch)
    print("serving", flush=True)
    while len(asked) < int(count):
        yield
    for _ in range(20):  # the last answer has to leave
        yield
    print(json.dumps(asked), flush=True)


def simulate(node):
    from rclpy.action import ActionClient
    from simulation_interfaces.action import SimulateSteps
    from simulation_interfaces.srv import StepSimulation

    answer = yield from ask(node, StepSimulation, "step_simulation", steps=3)
    heard, told, steps = [], [], ActionClient(node, SimulateSteps, "simulate_steps")
    while not steps.server_is_ready():
        yield
    while not heard:  # DDS may still have to tell the server of who listens to its feedback
        goal = yield from done(steps.send_goal_async(SimulateSteps.Goal(steps=1), heard.append))
        yield from done(goal.get_result_async())
    goal = yield from done(steps.send_goal_async(SimulateSteps.Goal(steps=7), told.append))
    while len(told) < 7:  # before the result: with that rclpy forgets who listens to feedback
        yield
    seven = yield from done(goal.get_result_async())
    goal = yield from done(steps.send_goal_async(SimulateSteps.Goal(steps=10**6)))
    yield from done(goal.cancel_goal_async())
    ended = yield from done(goal.get_result_async())
    print(json.dumps([answer.result.result, len(told), seven.status, ended.status]), flush=True)


def main(what, *arguments):
    rclpy.init()
    node = rclpy.create_node("peer")
    for _ in globals()[what](node, *arguments):
        rclpy.spin_once(node, timeout_sec=0.01)


if __name__ == "__main__":
    main(*sys.argv[1:])

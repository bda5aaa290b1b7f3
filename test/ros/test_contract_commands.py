# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Commands, runs, resets and frames of the contract, row by row of contract.py, over DDS and on both backends.

Covers ros/inputs.py, ros/qos.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import ros.contract as contract
from mb_contact.ros.embedded.messages import message_class, stamp_ns
from mb_contact.ros.qos import QoS
from ros.support import JOINT_STATE, SET_BOOL, Session, wait_until

BALL = "{shape: sphere, size: [0.05], mass: 0.5}"
SERVICE = "simulation_interfaces/srv/{}".format


@pytest.fixture(scope="module")
def bench(backend, tmp_path_factory):
    """(peer, states, run): one simulator for all tests here, running in real time."""
    scene = contract.write_bench(tmp_path_factory.mktemp("bench"))
    with Session.of(backend) as ros:
        ros.node(scene, *contract.BENCH_ARGUMENTS, backend=backend)
        peer = ros.peer(namespace="/bench")
        peer.listen("joint_states", qos=QoS(1000))
        peer.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        peer.listen("run", "std_msgs/msg/UInt64", QoS(1, latched=True))
        peer.until(lambda: all(peer.received.values()))
        yield peer
        runs = [int(state.header.frame_id.split()[1]) for state in peer.received["joint_states"]]
        assert (np.diff(runs) >= 0).all(), "a state of an earlier run"


def state_of(peer, topic="joint_states"):
    return peer.next_messages(topic)[0]


def counters(peer):
    peer.next_messages("/diagnostics")  # one may have been on its way
    return {pair.key: pair.value for pair in peer.next_messages("/diagnostics")[0].status[0].values}


def test_the_run_is_latched_and_named_by_the_states(bench):
    assert bench.received["run"][-1].data >= 1
    assert state_of(bench).header.frame_id == f"run {bench.received['run'][-1].data}"


@pytest.mark.parametrize("row", contract.COMMANDS, ids=lambda row: row.what)
def test_command(bench, row):
    reliable = row.topic == "set_joint_states"
    publisher = bench.publisher(row.topic, qos=QoS(10, reliable=reliable))
    message = message_class(JOINT_STATE)(**row.fields)
    run = bench.received["run"][-1].data
    message.header.frame_id = "" if row.run is None else f"run {run + row.run}"
    before, states = counters(bench), bench.received["joint_states"]
    bench.until(lambda: states and states[-1].name == ["valve", "wheel", "free"])
    begun = len(states)
    publisher.publish(message)

    def holds(state):
        return all(
            abs(getattr(state, name)[state.name.index(joint)] - value) < 1e-3
            for name, wanted in (("position", row.positions), ("velocity", row.velocities), ("effort", row.efforts))
            for joint, value in wanted.items()
        )

    if row.topic == "set_joint_states" and row.positions:  # the joint may move on
        bench.until(lambda: any(holds(state) for state in states[begun:]))
    bench.until(lambda: row.topic == "set_joint_states" or holds(states[-1]))
    after = {}

    def counted():
        after.update(counters(bench))
        return all(int(after[name]) == int(before[name]) + 1 for name in row.counters)

    wait_until(counted, "counters of the command")
    names = ("accepted_commands", "rejected_commands", "unstamped_commands", "commands_without_run")
    assert {name for name in names if after[name] != before[name]} == set(row.counters)
    assert state_of(bench).header.frame_id == f"run {run}"


@pytest.mark.parametrize("scope", contract.SCOPES, ids=lambda scope: f"scope {scope.value}")
def test_reset(bench, backend, scope):
    contract.need(contract.RESET, backend)
    pose = message_class("geometry_msgs/msg/PoseStamped")()
    pose.pose.position.x, pose.pose.position.z, pose.pose.orientation.w = 5.0, 1.0, 1.0

    def done(service, kind, /, **fields):
        return int(bench.call(service, SERVICE(kind), **fields).result.result)

    def entities():
        return set(bench.call("get_entities", SERVICE("GetEntities")).entities)

    assert done("reset_simulation", "ResetSimulation") == 1
    spawn = {"name": "ball", "resource_string": BALL, "initial_pose": pose}
    assert done("spawn_entity", "SpawnEntity", **spawn) == done("delete_entity", "DeleteEntity", entity="crate") == 1
    commands = bench.publisher("joint_commands", qos=QoS(10, reliable=False))
    bench.send_until(commands, message_class(JOINT_STATE)(name=["valve"], position=[0.5]),
                     lambda: bench.received["joint_states"][-1].position[0] > 0.4)  # fmt: skip
    assert bench.call("sim/pause", SET_BOOL, data=True).success
    run, time = bench.received["run"][-1].data, stamp_ns(bench.received["joint_states"][-1].header.stamp)
    begun = len(bench.received["joint_states"])
    assert done("reset_simulation", "ResetSimulation", scope=scope.value) == scope.answer
    if scope.run:
        bench.until(lambda: bench.received["run"][-1].data == run + 1)
        bench.until(lambda: bench.received["joint_states"][-1].header.frame_id == f"run {run + 1}")
    assert bench.call("sim/pause", SET_BOOL, data=False).success
    bench.until(lambda: len(bench.received["joint_states"]) > begun + 2)
    first = bench.received["joint_states"][begun]
    assert bench.received["run"][-1].data == run + scope.run
    assert (stamp_ns(first.header.stamp) == 0) == scope.time and (scope.time or stamp_ns(first.header.stamp) > time)
    assert (abs(first.position[0]) < 1e-9) == scope.state
    here = {"bench", "box", *(("crate",) if scope.deleted else ()), *(() if scope.spawned else ("ball",))}
    assert entities() == here


def frames_of(message):
    if hasattr(message, "transforms"):
        return {transform.child_frame_id for transform in message.transforms}
    if hasattr(message, "markers"):
        return {marker.header.frame_id for marker in message.markers if marker.action == 0}
    return {message.header.frame_id}


@pytest.mark.parametrize("topic, kind, frames", contract.FRAMES)
def test_frames_have_their_prefix(bench, topic, kind, frames):
    assert bench.call("reset_simulation", SERVICE("ResetSimulation")).result.result == 1
    latched = topic in ("/tf_static", "object_markers")
    received = bench.listen(topic, kind, QoS(1, latched=latched))
    bench.until(lambda: received and frames_of(received[-1]) == frames)


def test_a_push_in_the_axes_of_a_link_names_its_frame(bench):
    assert bench.call("reset_simulation", SERVICE("ResetSimulation")).result.result == 1
    publisher = bench.publisher("external_wrench/box", contract.WRENCH)
    before = counters(bench)
    push = message_class(contract.WRENCH)()
    for frame in ("box", "bench/box", "world", ""):
        push.header.frame_id = frame
        publisher.publish(push)
    wait_until(lambda: int(counters(bench)["accepted_wrenches"]) == int(before["accepted_wrenches"]) + 3, "pushes")
    assert int(counters(bench)["rejected_wrenches"]) == int(before["rejected_wrenches"]) + 1

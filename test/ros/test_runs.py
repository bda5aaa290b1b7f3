# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runs: every state is told once, also the last one before a pause or a reset, and says to which run it belongs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.ros.embedded.messages import stamp_ns
from mb_contact.ros.qos import QoS
from ros.fake_simulator import FakeSimulator
from ros.support import JOINT_STATE, SET_BOOL, Session, wait_until

RUN, REPORT = "std_msgs/msg/UInt64", "diagnostic_msgs/msg/DiagnosticArray"
MS = 1_000_000
SLOW = {"real_time_factor": 0.2}  #: a writer keeps ten states, and a busy machine may hold a listener up for so long


def stamps(states):
    return [stamp_ns(state.header.stamp) for state in states]


def test_a_pause_shows_the_state_in_which_it_stands(backend):
    with Session.of(backend) as ros, ros.running(FakeSimulator(2), backend=backend, **SLOW) as node:
        peer = ros.peer()
        states = peer.listen("joint_states", qos=QoS(1000))
        peer.until(lambda: len(states) > 20)
        for _ in range(10):
            assert peer.call("/sim/pause", SET_BOOL, data=True).success
            peer.until(lambda: stamps(states)[-1] == node.stamp())
            assert peer.call("/sim/pause", SET_BOOL, data=False).success
        assert (np.diff(stamps(states)) == MS).all()


def test_no_state_is_left_out_at_a_reset(backend):
    """Time goes on over a reset, so a state that was not told would be a gap."""
    with Session.of(backend) as ros, ros.running(FakeSimulator(2), backend=backend, **SLOW):
        peer = ros.peer()
        states, runs = peer.listen("joint_states", qos=QoS(1000)), peer.listen("run", RUN, QoS(10, latched=True))
        for run in range(1, 21):
            peer.until(lambda n=run: runs and states and states[-1].header.frame_id == f"run {n}")
            assert peer.call("/sim/reset").success
        peer.until(lambda: states and states[-1].header.frame_id == "run 21")
        assert (np.diff(stamps(states)) == MS).all()
        assert [run.data for run in runs] == list(range(1, 22))
        frames = [state.header.frame_id for state in states]
        assert sorted(frames, key=lambda frame: int(frame.split()[1])) == frames


def test_commands_of_an_old_run_are_refused_and_those_without_one_counted(backend):
    with Session.of(backend) as ros:
        with ros.running(FakeSimulator(1), lockstep=True, reset_rewinds_time=True, wait_for_controller=False,
                         lockstep_timeout=30.0, backend=backend) as node:  # fmt: skip
            peer = ros.peer()
            states = peer.listen("joint_states")
            commands = peer.publisher("joint_commands")

            def answer(header, effort):
                message = peer.node.message_type(JOINT_STATE)(name=["joint_0"], effort=[effort])
                message.header = header
                commands.publish(message)

            wait_until(lambda: node.stamp() == 0, "start")
            node.ask(lambda: node._publish(force=True))
            for k in range(20):
                peer.until(lambda n=k: states and stamps(states)[-1] == n * MS)
                answer(states[-1].header, 1.0)
            peer.until(lambda: stamps(states)[-1] == 20 * MS)
            old = states[0].header
            assert old.frame_id == "run 1" and stamp_ns(old.stamp) == 0
            assert peer.call("/sim/reset").success
            peer.until(lambda: states and states[-1].header.frame_id == "run 2" and stamps(states)[-1] == 0)
            answer(old, 7.0)  # the right stamp of the wrong run
            wait_until(lambda: node.summary().rejected == 1, "refusal")
            assert node.stamp() == 0 and node.summary().without_run == 0
            header = states[-1].header
            header.frame_id = ""
            answer(header, 2.0)
            peer.until(lambda: stamps(states)[-1] == MS)
            assert states[-1].effort[0] == 2.0 and node.summary().without_run == 1


@pytest.mark.parametrize("policy", ["accept", "refuse"])
def test_commands_without_a_stamp_in_lockstep_are_told_or_refused(policy, backend):
    with Session.of(backend) as ros:
        with ros.running(FakeSimulator(1), lockstep=True, diagnostics_rate=1000.0, unstamped_commands=policy,
                         lockstep_timeout=0.5, backend=backend) as node:  # fmt: skip
            peer = ros.peer()
            states, reports = peer.listen("joint_states"), peer.listen("/diagnostics", REPORT)
            peer.until(lambda: states)
            commands = peer.publisher("joint_commands")
            foreign = peer.joint_command(["joint_0"], [3.0])
            if policy == "accept":
                peer.send_until(commands, foreign, lambda: len(reports) and any(
                    "without a stamp were obeyed" in r.status[0].message for r in reports))  # fmt: skip
                assert node.summary().unstamped > 0
            else:
                for _ in range(3):
                    commands.publish(foreign)
                wait_until(lambda: node.summary().rejected == 3, "refusals")
                assert node.stamp() == 0 and not states[-1].effort.any()


def test_a_state_that_runs_away_pauses_the_world_and_a_reset_mends_it(backend):
    simulator = mb.Simulator(mb.pendulum(2, length=2.0, angle=0.5, rate=0.0).scene())
    with Session.of(backend) as ros, ros.running(simulator, diagnostics_rate=100.0, backend=backend) as node:
        peer = ros.peer()
        states, reports = peer.listen("joint_states"), peer.listen("/diagnostics", REPORT)
        commands = peer.publisher("joint_commands")
        peer.send_until(commands, peer.joint_command(["hinge_0"], [1e308]), lambda: node.paused)
        assert "run away" in node.summary().failure
        assert not peer.call("/sim/step").success  # it is impossible still
        before = len(states)
        assert peer.call("/sim/reset").success
        peer.until(lambda: len(states) > before + 20)
        assert not node.paused and not node.summary().failure and np.isfinite(states[-1].position).all()
        assert states[-1].effort[0] == 0.0 and reports


def test_an_overload_is_looked_at_once_a_second(backend):
    """What a log costs (rclpy's walks the stack) must not slow down further what is too slow already."""
    with Session.of(backend) as ros, ros.running(FakeSimulator(2), real_time_factor=10_000.0, backend=backend) as node:
        asked = []
        node._logger.warning = lambda text, **_: asked.append(text)
        wait_until(lambda: node._pacer.overloaded, "overload")
        wait_until(lambda: node._pacer.wall > 3.0, "three seconds")
        seconds = node._pacer.wall
        assert asked and sum("overloaded" in text for text in asked) <= seconds + 1


def test_joints_are_set_whole_or_not_at_all(backend):
    simulator = mb.Simulator(mb.pendulum(2, length=2.0, angle=0.5, rate=0.0).scene())
    with Session.of(backend) as ros, ros.running(simulator, start_paused=True, backend=backend) as node:
        peer = ros.peer()
        states, told = peer.listen("joint_states"), []
        node.happened = lambda *event: told.append(event)
        setting = peer.publisher("set_joint_states")
        make = peer.node.message_type(JOINT_STATE)
        setting.publish(make(name=["hinge_1"], position=[0.25], velocity=[-1.0]))
        peer.until(lambda: states and list(states[-1].position) == [0.5, 0.25])
        assert list(states[-1].velocity) == [0.0, -1.0]
        for bad in (
            make(name=["hinge_1", "elbow"], position=[0.0, 0.0]), make(name=["hinge_1"], position=[np.nan]),
            make(name=["hinge_1"], position=[0.0, 1.0]), make(name=["hinge_1", "hinge_1"], position=[0.0, 1.0]),
        ):  # fmt: skip
            setting.publish(bad)
        setting.publish(make(name=["hinge_0"], position=[0.75]))
        peer.until(lambda: list(states[-1].position) == [0.75, 0.25])
        assert [kind for _, kind, _ in told] == ["joints", "joints"]


def test_two_nodes_share_tf_without_sharing_frames(backend):
    with Session.of(backend) as ros:
        for side, rate in (("left", 1000.0), ("right", 0.0)):
            more = ("-p", f"frame_prefix:={side}/", "-p", f"clock_rate:={rate}")
            ros.simulator("--namespace", side, "--ros-args", *more, backend=backend)
        peer = ros.peer()
        frames = peer.listen("/tf", "tf2_msgs/msg/TFMessage", QoS(1000))
        wrenches = peer.listen("/left/contact_wrenches/left_finger", "geometry_msgs/msg/WrenchStamped")
        peer.until(lambda: wrenches and len(frames) > 30 and len({m.transforms[0].child_frame_id for m in frames}) > 1)
        found = {}
        for message in frames:
            for transform in message.transforms:
                found.setdefault(transform.child_frame_id, []).append(stamp_ns(transform.header.stamp))
        assert set(found) == {"left/box", "right/box"} and wrenches[0].header.frame_id == "left/left_finger"
        assert all((np.diff(times) > 0).all() for times in found.values())


def test_a_node_that_does_not_simulate_yet_says_so(backend):
    """The first run compiles for minutes: whoever waits for states hears why there are none."""
    with Session.of(backend) as ros:
        node = ros.simulator("--setup-seconds", "8", "--joints", "1", ready=False, backend=backend)
        peer = ros.peer()
        reports = peer.listen("/diagnostics", REPORT)
        peer.until(lambda: reports)
        assert reports[0].status[0].message.startswith("not simulating yet: ")
        state = peer.call("get_simulation_state", "simulation_interfaces/srv/GetSimulationState")
        told = peer.call("get_simulator_features", "simulation_interfaces/srv/GetSimulatorFeatures")
        asked = ("step_simulation", "StepSimulation"), ("get_entities", "GetEntities")
        refused = [peer.call(name, f"simulation_interfaces/srv/{kind}").result for name, kind in asked]
        plain = [peer.call(f"/mb_contact/{name}", "std_srvs/srv/Trigger") for name in ("step", "reset")]
        sentences = [told.features.custom_info, *(r.error_message for r in refused), *(a.message for a in plain)]
        assert "ready" not in node.output() and sentences == ["not simulating yet: setting up"] * 5
        assert state.state.state == 5 and state.result.result == 1, "STATE_LOADING_WORLD"
        assert {r.result for r in refused} == {4} and not any(a.success for a in plain)
        node.wait_for("ready")
        for name in ("pause", "reset", "step"):  # at the same services
            kind, data = ("SetBool", {"data": True}) if name == "pause" else ("Trigger", {})
            assert peer.call(f"/mb_contact/{name}", f"std_srvs/srv/{kind}", **data).success
        answer = peer.call("step_simulation", "simulation_interfaces/srv/StepSimulation", steps=2)
        assert answer.result.result == 1, answer.result.error_message
        assert peer.call("get_simulation_state", "simulation_interfaces/srv/GetSimulationState").state.state == 2
        peer.until(lambda: not reports[-1].status[0].message.startswith("not simulating yet"))


def test_states_are_told_once_and_wrenches_go_on_where_bodies_come_and_go(backend):
    ball = mb.model.Primitive("ball", "sphere", (0.05,), mb.model.Pose((3.0, 0.0, 0.05)), "free", mass=2.0)
    scene = dataclasses.replace(
        mb.pendulum(2, length=2.0, angle=0.5, rate=0.0).scene(), primitives=(ball,), ground=mb.model.Ground(-3.0),
        contact_wrench_links=("ball",),
    )  # fmt: skip
    simulator = mb.Simulator(scene)
    simulator.set_object("ball", ((3.0, 0.0, -2.95), (0.0, 0.0, 0.0, 1.0)), np.zeros(6))
    spawn, delete = (f"simulation_interfaces/srv/{kind}" for kind in ("SpawnEntity", "DeleteEntity"))
    with Session.of(backend) as ros, ros.running(simulator, lockstep=True, lockstep_timeout=30.0, backend=backend):
        peer = ros.peer()
        states, wrenches = (peer.listen(topic, kind, QoS(1000)) for topic, kind in (
            ("joint_states", JOINT_STATE), ("contact_wrenches/ball", "geometry_msgs/msg/WrenchStamped")))  # fmt: skip
        commands = peer.publisher("joint_commands")

        def answer(state):
            command = peer.node.message_type(JOINT_STATE)(name=list(state.name), effort=[0.0] * len(state.name))
            command.header = state.header
            commands.publish(command)

        def steps(count):
            for k in range(len(states), len(states) + count):
                peer.until(lambda n=k: len(states) >= n)
                answer(states[k - 1])
            peer.until(lambda: len(states) > k)

        peer.until(lambda: states)
        answer(states[0])  # which is repeated until that has come
        peer.until(lambda: stamps(states[-1:]) == [MS])
        del states[:-1]
        steps(19)
        pose = peer.node.message_type("geometry_msgs/msg/PoseStamped")()
        pose.pose.position.x, pose.pose.orientation.w = 5.0, 1.0
        for k in range(5):  # the node waits for an answer meanwhile
            name = f"visitor_{k}"
            text = "{shape: sphere, size: [0.05], mass: 0.5}"
            spawned = peer.call("/spawn_entity", spawn, name=name, resource_string=text, initial_pose=pose)
            assert spawned.result.result == 1
            steps(7)
            assert peer.call("/delete_entity", delete, entity=name).result.result == 1
            steps(7)
        assert (np.diff(stamps(states)) == MS).all()
        peer.until(lambda: stamps(wrenches[-1:]) == [90 * MS])  # means over ten steps
        del wrenches[: stamps(wrenches).count(0) - 1]
        assert (np.diff(stamps(wrenches)) == 10 * MS).all()
        assert np.allclose([wrench.wrench.force.z for wrench in wrenches[1:]], 2.0 * 9.8, rtol=1e-6)

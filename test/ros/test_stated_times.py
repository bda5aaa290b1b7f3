# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep: what acts from outside does so at a simulated time, whatever the wall clock has done meanwhile.

Covers ros/pushes.py.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Pose, Primitive, Scene, SceneModel
from mb_contact.ros.embedded.messages import message_class, stamp_ns
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.outputs import sensors
from mb_contact.ros.pushes import WAITING, WRENCH, PushInbox
from mb_contact.ros.qos import QoS
from ros.fake_simulator import FakeSimulator
from ros.simulation import BALL, Simulation, message
from ros.support import BACKENDS, JOINT_STATE, TRIGGER, Session, wait_until

MS = 1_000_000
PAUSED, PLAYING = 2, 1
SLIDER = (
    '<robot name="slider"><link name="base"/><link name="cart"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
    'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="along" type="prismatic"><parent link="base"/>'
    '<child link="cart"/><axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="100" velocity="100"/></joint></robot>'
)
BOX = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((0.0, 2.0, 0.1)), "free", 2.0)
SCENE = Scene(models=(SceneModel(SLIDER),), primitives=(BOX,), ground=None, rates={"joint_state_rate": 1000.0})
LOCKSTEP = {"lockstep": True, "lockstep_timeout": 0.0, "real_time_factor": 0.0}


def law(position, velocity):
    return 1.0 - 40.0 * position - 3.0 * velocity


class Controller:
    """Answers states by the law; ``untidy``: after any while, and by a copy of an older answer before and after."""

    def __init__(self, peer, untidy):
        self._commands = peer.node.create_publisher(JOINT_STATE, "joint_commands", QoS(1000))
        self._peer, self._untidy, self._chance, self._old = peer, untidy, random.Random(3), None
        self.silent = False
        peer.node.create_subscription(JOINT_STATE, "joint_states", self._answer, QoS(1000))

    def _answer(self, state):
        command = self._peer.joint_command(["along"], [law(state.position[0], state.velocity[0])])
        command.header = state.header
        around = [self._old] if self._untidy and self._old is not None else []
        if self._untidy:
            time.sleep(self._chance.choice((0.0, 0.0, 0.001, 0.004)))
        for item in () if self.silent else (*around, command, *around):
            self._commands.publish(item)
        self._old = command


def deliver(publisher, what, arrived):
    """Publish once more where the reader's side had not been matched yet, which loses a message."""
    for _ in range(10):
        publisher.publish(what)
        with contextlib.suppress(AssertionError):
            wait_until(arrived, "message", 2.0)
            return
    raise AssertionError(f"{publisher} is not heard")


def verdict(backend, untidy):
    """States by run and stamp, and poses of the box, where things act at stated times."""
    found, poses = {}, []
    options = LOCKSTEP | {"backend": backend, "pause_at": 0.05}
    with Session.of(backend) as ros, ros.running(mb.Simulator(SCENE), **options) as node:
        ros.env.pop("RMW_IMPLEMENTATION", None)  # peers are embedded: of two participants of Fast DDS in a process one
        peer, first = ros.peer(), ros.peer("first")  # goes deaf in one of six runs
        simulation = Simulation(peer)

        def keep(state):
            found[state.header.frame_id, stamp_ns(state.header.stamp)] = (state.position[0], state.effort[0])

        def play_until(milliseconds):
            assert simulation.set_state(PLAYING) == 1
            stop(milliseconds)

        def stop(milliseconds):
            wait_until(lambda: node.paused and node.stamp() >= milliseconds * MS, f"pause at {milliseconds} ms")
            assert node.stamp() == milliseconds * MS
            poses.append(simulation.pose("box"))

        def pause_at(seconds):
            node.ask(lambda: node.options.changed({"pause_at": seconds}))

        peer.node.create_subscription(JOINT_STATE, "joint_states", keep, QoS(1000))
        push = peer.publisher("external_wrench/box", WRENCH)
        wrench = peer.node.message_type(WRENCH)()
        wrench.header.stamp.nanosec, wrench.wrench.force.z = 20 * MS, 60.0
        deliver(push, wrench, lambda: node.inputs.pushes.accepted)
        jump = peer.joint_command(["along"], [])
        jump.header.stamp.nanosec, jump.position = 30 * MS, [0.3]
        deliver(peer.publisher("set_joint_states"), jump, lambda: node.inputs._states)
        controller = Controller(first, untidy)
        stop(50)
        assert simulation.spawn("ball", BALL, (0.0, 2.0, 0.5)).result.result == 1
        pause_at(0.08)
        play_until(80)
        pose = message_class("geometry_msgs/msg/Pose")()
        pose.position.y, pose.position.z, pose.orientation.w = 2.0, 0.3, 1.0
        assert simulation.put("box", message("EntityState", pose=pose)).result.result == 1
        controller.silent = True
        first.close()
        Controller(ros.peer("second"), untidy)
        pause_at(0.1)
        play_until(100)
        assert peer.call("/sim/reset", TRIGGER).success
        pause_at(0.14)
        play_until(140)
        assert node.summary().lockstep_timeouts == 0 and node.summary().unstamped == 0
    return found, poses


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_same_bits_where_things_act_at_stated_times(backend):
    """A push, joints that are set, a spawn, an object that is put, a controller that is replaced, a reset."""
    first, poses = verdict(backend, untidy=False)
    second, again = verdict(backend, untidy=True)
    same = first.keys() & second.keys()
    assert len(same) >= 135 and poses == again
    assert {key: first[key] for key in same} == {key: second[key] for key in same}
    reference = mb.Simulator(SCENE)
    for k in range(50):
        if k == 20:
            reference.set_external_wrench("box", np.array([0.0, 0.0, 0.0, 0.0, 0.0, 60.0]), 0.1, "world")
        if k == 30:
            reference.set_joints(["along"], np.array([0.3]), None)
        position, velocity = reference.joint_positions()[0], reference.joint_velocities()[0]
        assert first["run 1" if k < 30 else "run 2", k * MS][0] == position, k
        reference.step(np.array([law(position, velocity)]))
    assert poses[0] == tuple(reference.link_pose("box")[0])


def test_steps_of_a_paused_lockstep_wait_for_the_answers():
    """A controller that is slow answers every state of many steps that a service asks for, and each answer acts."""
    with Session() as ros, ros.running(FakeSimulator(1), start_paused=True, **LOCKSTEP) as node:
        peer, slow = ros.peer(), ros.peer("slow")
        commands = slow.node.create_publisher(JOINT_STATE, "joint_commands", QoS(100))
        states, answering = {}, threading.Event()
        answering.set()

        def answer(state):
            number = stamp_ns(state.header.stamp) // MS
            states[number] = state.effort[0]
            time.sleep(0.005)
            if answering.is_set():
                commands.publish(slow.joint_command(["joint_0"], [number + 1.0], stamp_ns(state.header.stamp)))

        slow.node.create_subscription(JOINT_STATE, "joint_states", answer, QoS(100))
        wait_until(lambda: commands.get_subscription_count() and node.outputs.listeners(), "controller")
        simulation = Simulation(peer)
        assert simulation("step_simulation", steps=1).result.result == 1  # nobody has answered yet
        wait_until(lambda: node.summary().accepted, "an answer")
        assert simulation("step_simulation", steps=20).result.result == 1
        wait_until(lambda: 21 in states, "state")
        assert [states[k] for k in range(2, 22)] == [float(k) for k in range(2, 22)]
        wait_until(lambda: node._inbox.answered, "the answer to the last state")
        answering.clear()
        steps = peer.node.create_client("simulation_interfaces/srv/StepSimulation", "step_simulation")
        assert steps.wait_for_service(10.0)
        waiting = steps.call_async(steps.Request(steps=5))
        wait_until(lambda: node.stamp() == 22 * MS, "the step that was answered")
        assert not waiting.wait(0.3) and peer.call("/sim/pause", "std_srvs/srv/SetBool", data=True).success
        assert waiting.wait(10.0) and "after 1 of 5 steps" in waiting.result().result.error_message


def test_links_are_told_at_time_0_where_robot_state_publisher_is_silent():
    """A viewer that comes while the simulation is paused there, or waits for a controller, sees the robot."""
    with Session() as ros, ros.running(mb.Simulator(SCENE), start_paused=True, **LOCKSTEP) as node:
        peer = ros.peer()
        frames = peer.listen("/tf", "tf2_msgs/msg/TFMessage", QoS(1000))
        shapes = peer.listen("object_markers", "visualization_msgs/msg/MarkerArray", QoS(10))

        def told():
            return {frame.child_frame_id: stamp_ns(frame.header.stamp) for m in frames for frame in m.transforms}

        peer.until(lambda: told() == {"box": 0, "cart": 0} and len(shapes) > 1)
        node.ask(lambda: node.do_pause(False))
        count = len(frames)
        peer.until(lambda: len(frames) > count + 2)
        Controller(ros.peer("controller"), untidy=False)
        peer.until(lambda: told()["box"] >= 100 * MS)
        assert told()["cart"] == 0


def test_a_state_whose_answer_was_lost_comes_again():
    """Nobody has come or gone: it is the message that has not arrived."""
    with Session() as ros, ros.running(FakeSimulator(1), **LOCKSTEP) as node:
        peer = ros.peer()
        states, commands = peer.listen("joint_states", qos=QoS(100)), peer.publisher("joint_commands")

        def answer(state):
            commands.publish(peer.joint_command(["joint_0"], [1.0], stamp_ns(state.header.stamp)))

        peer.until(lambda: states)
        peer.send_until(commands, peer.joint_command(["joint_0"], [1.0]), lambda: node.stamp() > 0)
        time.sleep(1.2)  # whoever came has been met
        count = len(states)
        peer.until(lambda: len(states) > count)
        last = stamp_ns(states[-1].header.stamp)
        answer(states[-1])
        peer.until(lambda: stamp_ns(states[-1].header.stamp) > last)


def wrench(force, stamp=0.0):
    found = message_class(WRENCH)()
    found.wrench.force.x = force
    found.header.stamp.sec, found.header.stamp.nanosec = divmod(round(stamp * 1e9), 10**9)
    return found


def test_pushes_wait_for_their_stamps_and_late_ones_are_told():
    lines, acted = [], []
    log = SimpleNamespace(warning=lambda text, **_: lines.append(text))
    world = SimpleNamespace(frames={"box": SimpleNamespace(body=0)}, objects={"box": 0})
    simulator = SimpleNamespace(world=world, set_external_wrench=lambda link, six, *_: acted.append(six[3]))
    inbox = PushInbox(world, ["box"], [], NodeOptions(lockstep=True), log)

    def at(seconds):
        acted.clear()
        inbox.apply(simulator, round(seconds * 1e9), lambda *_, **__: None)
        return list(acted)

    for force, stamp in ((1.0, 0.5), (2.0, 0.3), (3.0, 0.0), (4.0, 1.7e9)):
        inbox.take("external_wrench/box", wrench(force, stamp))
    assert at(0.0) == [4.0]  # without a stamp or with a wall clock's: the newest
    assert at(0.2) == [] and at(0.3) == [2.0] and at(0.499) == [] and not lines
    assert at(0.5) == [1.0]
    inbox.take("external_wrench/box", wrench(5.0, 0.4))
    assert at(0.6) == [5.0] and "was for 0.400000 s and acts at 0.600000 s" in lines[0]
    for i in range(WAITING + 1):
        inbox.take("external_wrench/box", wrench(6.0, 1.0 + i))
    assert inbox.rejected == 1 and "wait for their time" in lines[-1]


@pytest.mark.parametrize("waits", [False, True])
def test_images_of_a_lockstep_are_sent_before_the_state_and_none_is_left_out(waits):
    """A camera that takes longer than a step."""
    sent, free = [], threading.Event()
    lines = []

    class Topic:
        publisher = SimpleNamespace(tap=print)

        def __init__(self):
            self.message = SimpleNamespace(stamp=self.stamp, publish=lambda: None)

        def fill(self, sample):
            self.sample = sample

        def stamp(self, _, stamp):
            sent.append((stamp, self.sample))

    def capture(_):
        number = len(captured)
        captured.append(number)

        def take():
            assert free.wait(0.05) or waits
            return number

        return take

    captured = []
    sensor = SimpleNamespace(name="eye", rate=0.0, latency=0.002)
    with sensors.ThreadPoolExecutor(1) as thread:
        log = SimpleNamespace(warning=lambda text, **_: lines.append(text), error=lambda text, **_: lines.append(text))
        images = sensors._Images(
            SimpleNamespace(capture=capture), sensor, [Topic()], 0.001, thread, log, waits
        )
        for step in range(6):
            images.publish(step, step * MS)
            if waits:
                assert sent == [(k * MS, k) for k in range(step - 1)]
        free.set()
    assert bool(lines) is not waits

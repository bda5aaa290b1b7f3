# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The node as a process: signals in every phase, bad input, ports in use, namespaces, two nodes.

Covers ros/embedded/backend.py, ros/embedded/dds/services.py, ros/embedded/services.py, ros/main.py, ros/node.py,
ros/signals.py.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from mb_contact.ros.embedded.backend import EmbeddedNode
from mb_contact.ros.qos import QoS
from paths import ROOT
from ros.fake_simulator import FakeSimulator
from ros.support import TIMEOUT, TRIGGER, Session, on_dds, wait_until

SIGNALS = [signal.SIGINT, signal.SIGTERM]
FIXED_PORT = (
    '<CycloneDDS><Domain><General><Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces>'
    "<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>0</ParticipantIndex>"
    "</Discovery></Domain></CycloneDDS>"
)


def clean_end(process):
    assert process.wait() == 0, process.output()
    assert "Traceback" not in process.output(), process.output()


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_while_setting_up(number):
    with Session() as ros:
        node = ros.simulator("--setup-seconds", "60", ready=False)
        node.wait_for("compiling")
        node.signal(number)
        clean_end(node)


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_while_running(number):
    with Session() as ros:
        node = ros.simulator()
        node.signal(number)
        clean_end(node)
        assert "real-time factor" in node.output()  # the summary is still printed


def test_signal_while_waiting_for_a_controller():
    with Session() as ros:
        node = ros.simulator("--lockstep")
        node.wait_for("waiting for the first command")
        node.signal(signal.SIGINT)
        clean_end(node)


def test_signal_while_paused():
    with Session() as ros:
        node = ros.simulator("--ros-args", "-p", "start_paused:=true")
        node.signal(signal.SIGTERM)
        clean_end(node)
        assert "(0 steps)" in node.output()


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_after_the_end_of_a_run(number):
    """What comes while the interpreter tidies up leaves the exit code alone."""
    with Session() as ros:
        node = ros.simulator("--duration", "0.1", "--as-fast-as-possible", copied=False)
        node.wait_for("lockstep timeouts")  # the summary
        while node.popen.poll() is None:
            node.signal(number)
        assert node.wait() == 0, node.output()


def test_signal_in_the_middle_of_a_lockstep_run():
    with Session() as ros:
        node = ros.simulator("--lockstep")
        controller = ros.controller(10**9)
        controller.wait_for("running")
        node.signal(signal.SIGINT)
        clean_end(node)


def test_node_leaves_the_graph_at_once():
    with Session() as ros:
        node = ros.simulator("--joints", "2")
        peer = ros.peer()
        peer.listen("joint_states")
        peer.next_messages("joint_states")
        subscription = peer.node._waiter.sources[-1]
        node.signal(signal.SIGINT)
        clean_end(node)
        wait_until(lambda: subscription.get_publisher_count() == 0, "farewell", timeout=5.0)  # lease: 10 s


@on_dds
def test_port_already_in_use():
    with Session(CYCLONEDDS_URI=FIXED_PORT) as ros:
        ros.simulator()
        second = ros.simulator(ready=False)
        assert second.wait() == 2, second.output()
        (line,) = [line for line in second.errors if "error:" in line]
        assert f"cannot join ROS domain {ros.domain}" in line and "in use" in line and "ROS_DOMAIN_ID" in line
        assert "Traceback" not in second.output()


@pytest.mark.parametrize(
    "variables, text",
    [
        ({"ROS_DOMAIN_ID": "many"}, "ROS_DOMAIN_ID is 'many'"),
        ({"ROS_DOMAIN_ID": "233"}, "from 0 to 232"),
        pytest.param(
            {"ROS_AUTOMATIC_DISCOVERY_RANGE": "GALAXY"}, "LOCALHOST, SUBNET, OFF, SYSTEM_DEFAULT", marks=on_dds
        ),
    ],
)
def test_bad_environment(variables, text):
    with Session(**variables) as ros:
        node = ros.simulator(ready=False)
        assert node.wait() == 2
        assert text in node.output() and "Traceback" not in node.output()


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--ros-args", "-p", "command_timeout_policy:=panic"], "hold, zero, gravity_compensation"),
        (["--ros-args", "-p", "lockstep:=3"], "'lockstep' must be a bool"),
        (["--ros-args", "-p", "control_period:=0.0015"], "multiple of the time step"),
        (["--ros-args", "-p"], "needs a value"),
        (["--ros-args", "-r", "joint_states"], "name:=value"),
        (["--ros-args", "--params-file", "/no/such/file.yaml"], "parameter file"),
        (["--name", "two words"], "not a node name"),
        (["--record", "bag.txt"], "must end in .mcap"),
        (["--record", "/proc/nowhere/a.mcap"], "cannot record"),
    ],
)
def test_bad_arguments(arguments, text):
    with Session() as ros:
        node = ros.simulator(*arguments, ready=False)
        assert node.wait() == 2, node.output()
        assert text in node.output() and "Traceback" not in node.output()


LACKING = """
import sys
sys.modules.update(cyclonedds=None, zenoh=None, rclpy=None)
from mb_contact.errors import CommunicationError
from mb_contact.ros import create_node
for backend, wire in (("embedded", "dds"), ("embedded", "zenoh"), ("rclpy", "auto")):
    try:
        create_node("n", backend, wire=wire)
    except CommunicationError as error:
        print(error)
"""


def test_what_is_missing_names_the_remedy():
    with Session() as ros:
        done = subprocess.run(
            [sys.executable, "-c", LACKING], env=ros.env, capture_output=True, text=True, timeout=TIMEOUT
        )
    assert done.returncode == 0, done.stderr
    dds, zenoh, rclpy = done.stdout.splitlines()
    assert "pip install cyclonedds" in dds and "ROS 2 installation" in dds
    assert "pip install eclipse-zenoh" in zenoh and "source /opt/ros" in rclpy


def test_two_nodes_in_namespaces_and_remapping():
    with Session() as ros:
        ros.simulator("--namespace", "left", "--joints", "2")
        ros.simulator(
            "--joints", "3", "--ros-args", "-r", "__ns:=/right", "-r", "__node:=sim",
            "-r", "joint_states:=robot_joint_states",
        )  # fmt: skip
        peer = ros.peer()
        left = peer.listen("/left/joint_states")
        right = peer.listen("/right/robot_joint_states")
        peer.until(lambda: left and right)
        assert (len(left[-1].name), len(right[-1].name)) == (2, 3)
        assert peer.call("/left/mb_contact/reset").success
        assert peer.call("/right/sim/reset").success
        commands, command = peer.publisher("/right/joint_commands"), peer.joint_command(["joint_2"], [1.0])
        peer.send_until(commands, command, lambda: right and right[-1].effort[2] == 1.0)
        assert not left[-1].effort.any()


def test_parameter_file(tmp_path):
    file = tmp_path / "node.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    clock_rate: 50\nother:\n  ros__parameters: {clock_rate: 1}\n"
    )
    with Session() as ros:
        ros.simulator("--joints", "2", "--ros-args", "--params-file", str(file))
        peer = ros.peer()
        clock = peer.listen("/clock", "rosgraph_msgs/msg/Clock")
        peer.next_messages("/clock", 10)
        times = [m.clock.sec * 10**9 + m.clock.nanosec for m in clock]
        assert {b - a for a, b in zip(times, times[1:])} == {20_000_000}


def test_nodes_of_one_process_share_a_participant():
    with Session() as ros:
        peer = ros.peer("watcher")
        first = EmbeddedNode("first", environment=ros.env)
        second = EmbeddedNode("second", "deep/er", environment=ros.env)
        assert first.context is second.context is peer.node.context
        assert second.get_fully_qualified_name() == "/deep/er/second"
        first.destroy_node()
        second.destroy_node()
        second.destroy_node()  # twice does no harm


INTERRUPTED_OFTEN = """
import os, signal, threading, time
from mb_contact.ros import QoS, create_node
node = create_node("reader", "embedded")
received = []
node.create_subscription("std_msgs/msg/Float64MultiArray", "numbers", received.append, QoS(depth=50))
publisher = node.create_publisher("std_msgs/msg/Float64MultiArray", "numbers", QoS(depth=50))
message = node.message_type("std_msgs/msg/Float64MultiArray")()
armed, interruptions, end = False, 0, time.monotonic() + 3.0

def handler(*_):
    # raises once each round, wherever the main thread is, never in this script's own except
    global armed, interruptions
    if armed:
        armed = False
        interruptions += 1
        raise KeyboardInterrupt

def interrupt():
    while time.monotonic() < end:
        pause.wait(0.0005)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

while not received:
    publisher.publish(message)
    node.spin_once(0.01)
signal.signal(signal.SIGINT, handler)
pause = threading.Event()
thread = threading.Thread(target=interrupt)
thread.start()
while time.monotonic() < end:
    try:
        armed = True
        for _ in range(20):
            publisher.publish(message)
        node.spin_once(0.01)
        armed = False
    except KeyboardInterrupt:
        pass
thread.join()
print("survived", interruptions >= 5, interruptions, flush=True)
os._exit(0)
"""


def test_an_interrupt_while_samples_are_taken_does_not_crash():
    """Python's own Ctrl-C raises in the middle of anything, the wheel's take included."""
    with Session() as ros:
        child = ros.process(sys.executable, "-u", "-c", INTERRUPTED_OFTEN)
        assert child.wait() == 0, child.output()
        assert "survived True" in child.output()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_reliable_subscriber_that_is_lost_holds_nothing_up(number):
    """Peers learn of it after ten seconds; until then a reliable writer without an answer might wait at each step."""
    with Session() as ros, ros.running(FakeSimulator(26), operational_space_rate=1000.0) as node:
        peer = ros.peer()
        peer.listen("joint_states", qos=QoS(1000))

        def seconds_for(states):
            begun = time.monotonic()
            peer.next_messages("joint_states", states)
            return time.monotonic() - begun

        lost = ros.controller(10**9)
        lost.wait_for("running")
        before = seconds_for(2000)
        lost.signal(number)
        assert seconds_for(4000) < 4.0 * before
        assert not any(publisher.dropped for publisher in node.outputs.publishers)


@pytest.mark.parametrize("example", ["dual_arm_lift.py", "press_with_force.py"])
@pytest.mark.parametrize("number", SIGNALS)
def test_an_example_that_is_interrupted_ends_cleanly(example, number):
    """A launch file says of what ends otherwise that it has died."""
    with Session() as ros:
        peer = ros.peer()
        commands = peer.node.create_subscription("sensor_msgs/msg/JointState", "joint_commands", print, QoS(10))
        controller = ros.process(sys.executable, "-u", ROOT / "examples" / example, "--backend", "embedded")
        wait_until(lambda: commands.get_publisher_count() > 0, "controller")
        controller.signal(number)
        clean_end(controller)


@on_dds
def test_clients_of_another_vendor_are_told_of(monkeypatch):
    """Their calls cannot be answered; here everybody counts as one whose vendor's number is another."""
    from mb_contact.ros.embedded.dds import services

    with Session() as ros, ros.running(FakeSimulator(1), diagnostics_rate=20.0) as node:
        peer = ros.peer()
        reports = peer.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        peer.call("/sim/reset")
        peer.until(lambda: reports and node.node.foreign_clients() == [])
        monkeypatch.setattr(services, "_CYCLONE", b"\x01\x0f")
        words = "a client of another DDS vendor waits in vain for /sim/reset: "
        peer.until(lambda: words in reports[-1].status[0].message)
        monkeypatch.undo()
        peer.until(lambda: words not in reports[-1].status[0].message)


@on_dds
def test_requests_of_another_vendor_are_not_taken_for_ones_of_ours(monkeypatch):
    """One that decodes by chance would have things done that nobody asked for."""
    from mb_contact.ros.embedded.dds import services

    looked, own = [], services.Server.is_foreign

    def is_foreign(service, *asked):
        looked.append(own(service, *asked))
        return looked[-1]

    with Session() as ros, ros.running(FakeSimulator(1)) as node:
        client = ros.peer().node.create_client(TRIGGER, "/sim/reset")
        assert client.wait_for_service(TIMEOUT)
        monkeypatch.setattr(services, "_CYCLONE", b"\x01\x0f")
        monkeypatch.setattr(services.Server, "is_foreign", is_foreign)
        client.call_async(client.Request())
        wait_until(lambda: True in looked, "look at the client")
        monkeypatch.undo()
        assert client.call_async(client.Request()).wait(TIMEOUT)  # the same thread has left the first alone
        assert node.outputs.run == 2


def test_services_are_answered_behind_errors_of_the_look_around(monkeypatch, capfd):
    """The same thread looks for foreign clients and rivals every two seconds; no known fault makes that fail."""
    asked = []

    def broken():
        asked.append(None)
        raise IndexError("late by one")

    with Session() as ros, ros.running(FakeSimulator(1)) as node:
        monkeypatch.setattr(node.node, "foreign_clients", broken)
        monkeypatch.setattr(node._looks.runs, "get_publisher_count", broken)
        wait_until(lambda: len(asked) >= 4, "two looks at either")
        ros.peer().call("/sim/reset")
    told = capfd.readouterr().err
    assert "IndexError in the look for foreign clients" in told


def test_a_second_simulator_on_the_same_topics_is_told_of():
    with Session() as ros, ros.running(FakeSimulator(1), diagnostics_rate=20.0):
        peer = ros.peer()
        reports = peer.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        words = "another simulator publishes on the topics of this one"
        peer.until(lambda: reports)
        with ros.running(FakeSimulator(1), diagnostics_rate=20.0):
            peer.until(lambda: words in reports[-1].status[0].message)
        peer.until(lambda: words not in reports[-1].status[0].message)


@pytest.mark.slow
def test_a_node_that_compiles_says_so_answers_and_then_starts(tmp_path):
    """On a machine where nothing is compiled yet."""
    with Session(MB_CONTACT_CACHE_DIR=str(tmp_path)) as ros:
        node = ros.node(ROOT / "config" / "box_on_table.yaml", up=False)
        peer = ros.peer()
        reports = peer.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        peer.until(lambda: reports and "compiling [" in reports[-1].status[0].message, 600.0)
        assert reports[-1].status[0].message.startswith("not simulating yet: compiling [")
        answer = peer.call("/mb_contact/list_parameters", "rcl_interfaces/srv/ListParameters")
        state = peer.call("get_simulation_state", "simulation_interfaces/srv/GetSimulationState").state
        assert "use_sim_time" in answer.result.names and " is up" not in node.output()
        assert state.state == 5, "STATE_LOADING_WORLD"
        node.wait_for(" is up", 600.0)
        assert "compiled " in node.output() and list(tmp_path.rglob("*.kernel"))
        clock = peer.listen("/clock", "rosgraph_msgs/msg/Clock")
        peer.until(lambda: clock and clock[-1].clock.nanosec > 0)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Processes and nodes for the tests over a real wire: loopback only, a free ROS domain each, waits on events.

The wire is DDS or, where ``MB_CONTACT_ROS_WIRE`` says so and where Cyclone DDS is not installed, Zenoh.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from mb_contact.ros.backend import create_node
from mb_contact.ros.embedded.backend import EmbeddedNode
from mb_contact.ros.embedded.wires import chosen_wire
from mb_contact.ros.node import SimulatorNode
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.qos import QoS
from mb_contact.testing.processes import own_domain
from paths import ROOT
from ros.warm import Copy, can_copy

HERE = Path(__file__).resolve().parent
PEER = HERE / "peer"
LOOPBACK_MULTICAST = (
    '<CycloneDDS><Domain><General><Interfaces><NetworkInterface address="127.0.0.1" multicast="true"/>'
    "</Interfaces><AllowMulticast>true</AllowMulticast></General></Domain></CycloneDDS>"
)  #: what the independent subscriber needs
SIMULATOR = HERE / "fake_simulator.py"
CONTROLLER = HERE / "controller.py"
NODE = HERE / "node.py"
TIMEOUT = 30.0  #: generous: the machines of CI are slow, and every wait ends on an event
COMPILING = 300.0  #: the first run on a machine compiles the kernels [s]

JOINT_STATE = "sensor_msgs/msg/JointState"
TRIGGER = "std_srvs/srv/Trigger"
WIRE = chosen_wire()  #: of all nodes that no test has speak by another
on_dds = pytest.mark.skipif(WIRE != "dds", reason="of DDS; the wire here is Zenoh")
SET_BOOL = "std_srvs/srv/SetBool"

_kept = contextlib.ExitStack()


def free_port():
    """A port of this machine that nobody listens at."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


def at_port(port):
    """Environment of nodes on Zenoh whose router is at a port of this machine."""
    return {"MB_CONTACT_ROS_WIRE": "zenoh", "ZENOH_CONFIG_OVERRIDE": f'connect/endpoints=["tcp/localhost:{port}"]'}


def free_domain():
    """A ROS domain that nobody else has, until this process ends."""
    return _kept.enter_context(own_domain())


class Process:
    """A child process whose output lines can be waited for."""

    def __init__(self, command, env, copied=True):
        self.lines, self.errors = [], []
        self._changed = threading.Condition()
        if copied and can_copy(command, env):
            self.popen = Copy(command, env)
        else:
            self.popen = subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pairs = ((self.popen.stdout, self.lines), (self.popen.stderr, self.errors))
        self._threads = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in pairs]
        for thread in self._threads:
            thread.start()

    def _read(self, stream, lines):
        for line in stream:
            with self._changed:
                lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def wait_for(self, text, timeout=TIMEOUT):
        """Wait until a line of either output contains ``text`` and return it."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                found = [line for line in self.lines + self.errors if text in line]
                if found:
                    return found[0]
                gone = not any(thread.is_alive() for thread in self._threads)
                remaining = deadline - time.monotonic()
                if gone or remaining <= 0.0:
                    raise AssertionError(f"no '{text}' in the output:\n{self.output()}")
                self._changed.wait(min(remaining, 0.5))

    def output(self):
        """Return everything printed so far."""
        return "\n".join(self.lines + self.errors)

    def stacks(self, timeout=5.0):
        """Have a node of :meth:`Session.node` write where its threads are; its last lines."""
        begun = len(self.errors)
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGUSR2)
            with self._changed:  # until it has written no more for a moment
                self._changed.wait_for(lambda: len(self.errors) > begun, timeout)
                while self._changed.wait(0.2):
                    pass
        return "\n".join((self.errors[:begun])[-20:] + self.errors[begun:] + [f"exit code {self.popen.poll()}"])

    def signal(self, number=signal.SIGINT):
        """Send a signal."""
        self.popen.send_signal(number)

    def wait(self, timeout=TIMEOUT):
        """Wait for the end and return the exit code; where it does not end, what it has said stands in the error."""
        try:
            code = self.popen.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise subprocess.TimeoutExpired(f"{error.cmd}, which has said\n{self.output()}\n", timeout) from None
        for thread in self._threads:
            thread.join(timeout)
        return code

    def close(self):
        """Kill it if it still runs."""
        if self.popen.poll() is None:
            self.popen.kill()
        self.wait()
        self.popen.stdout.close()
        self.popen.stderr.close()


class Peer:
    """A node in the test's own process, spun by a thread; keeps what its subscriptions receive."""

    def __init__(self, name, environment, namespace="", others=(), make=EmbeddedNode):
        self.node = make(name, namespace, environment=environment)
        self._others = others
        self.changed = threading.Condition()
        self.received = {}
        self._stop = False
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self):
        while not self._stop:
            self.node.spin_once(0.1)

    def listen(self, topic, type_name=JOINT_STATE, qos=None, raw=False):
        """Subscribe and keep every message; returns the list."""
        kept = self.received[topic] = []

        def keep(message):
            with self.changed:
                kept.append(message)
                self.changed.notify_all()

        self.node.create_subscription(type_name, topic, keep, qos or QoS(10), raw=raw)
        return kept

    def until(self, condition, timeout=TIMEOUT):
        """Wait until ``condition()`` is true, asked after every message."""
        with self.changed:
            if not self.changed.wait_for(condition, timeout):
                raise AssertionError(f"not within {timeout} s; received {self.counts()}")

    def counts(self):
        """Return how many messages came on each topic."""
        return {topic: len(messages) for topic, messages in self.received.items()}

    def next_messages(self, topic, count=1):
        """Wait for ``count`` more messages on a topic and return them."""
        kept = self.received[topic]
        start = len(kept)
        self.until(lambda: len(kept) >= start + count)
        return kept[start : start + count]

    def publisher(self, topic, type_name=JOINT_STATE, qos=None):
        """Return a publisher that is already matched."""
        publisher = self.node.create_publisher(type_name, topic, qos or QoS(10))
        wait_until(lambda: publisher.get_subscription_count() > 0, f"subscriber of {topic}")
        return publisher

    def send_until(self, publisher, message, condition, timeout=TIMEOUT):
        """Publish again and again until ``condition()`` is true.

        Real-time commands are best effort: one that is sent before the reader's side has matched is lost.
        """
        deadline = time.monotonic() + timeout
        while True:
            publisher.publish(message)
            with self.changed:
                if self.changed.wait_for(condition, 0.1):
                    return
            assert time.monotonic() < deadline, f"not within {timeout} s; received {self.counts()}"

    def call(self, service, service_type=TRIGGER, /, **fields):
        """Call a service and return its answer."""
        client = self.node.create_client(service_type, service)
        assert client.wait_for_service(TIMEOUT), f"no service {service}"
        future = client.call_async(client.Request(**fields))
        assert future.wait(TIMEOUT), f"no answer from {service}\n{self._whereabouts()}"
        return future.result()

    def _whereabouts(self):
        """What this node and the others do, for who waits in vain."""
        own = "is" if self._thread.is_alive() else "is NOT"
        return "\n".join([f"the peer's thread {own} alive", *(process.stacks() for process in self._others)])

    def joint_command(self, names, effort, stamp=0):
        """Return a joint command."""
        message = self.node.message_type(JOINT_STATE)()
        message.name, message.effort = list(names), effort
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        return message

    def close(self):
        """Leave the graph."""
        self._stop = True
        self.node.wake()
        self._thread.join(TIMEOUT)
        self.node.destroy_node()


def foxglove_folder(config):
    """The folder of the installed npm subscriber, outside of the source tree; skips where it cannot run."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("no node and npm here: the independent subscriber @foxglove/ros2 cannot run")
    folder = Path(config.cache.mkdir("ros_peer"))
    for file in PEER.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    if not (folder / "node_modules" / "@foxglove" / "ros2").is_dir():
        command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            pytest.skip(f"npm install of @foxglove/ros2 failed: {done.stderr.strip()[-300:]}")
    return folder


def installed_program(package, name):
    """The path of a program of a ROS package; skips where that is not installed."""
    if not os.environ.get("AMENT_PREFIX_PATH"):
        pytest.skip("no sourced ROS 2 here")
    import ament_index_python as index

    try:
        path = Path(index.get_package_prefix(package)) / "lib" / package / name
    except index.PackageNotFoundError:
        pytest.skip(f"this ROS 2 lacks {package}")
    assert path.is_file(), path
    return path


def wait_until(condition, what, timeout=TIMEOUT):
    """Wait for something that DDS discovery does in the background (it gives no event for it)."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"no {what} within {timeout} s"
        time.sleep(0.005)


def installed_rmw(vendor):
    """Whether the ROS 2 that is sourced, or that of the wheels beside us, has the middleware of a vendor."""
    prefixes = (os.environ.get("AMENT_PREFIX_PATH") or sys.prefix).split(os.pathsep)
    kind = Path("share", "ament_index", "resource_index", "rmw_typesupport", f"rmw_{vendor}_cpp")
    return any((Path(prefix) / kind).is_file() for prefix in prefixes)


#: A real ROS 2's variables with which its processes and those of the embedded backend hear each other.
RANGE = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
VENDOR = "cyclonedds" if installed_rmw("cyclonedds") else "fastrtps"
REAL = {"RMW_IMPLEMENTATION": f"rmw_{VENDOR}_cpp", **RANGE}
HAS_RCLPY = find_spec("rclpy") is not None and find_spec("tf2_msgs") is not None
_NO_RCLPY = pytest.mark.skipif(not HAS_RCLPY or WIRE != "dds", reason="no rclpy with tf2_msgs on this wire here")
BACKENDS = ("embedded", pytest.param("rclpy", marks=_NO_RCLPY))
SLOW_ON_RCLPY = ("embedded", pytest.param("rclpy", marks=(_NO_RCLPY, pytest.mark.slow)))


class Session:
    """A ROS domain of its own with its processes and nodes; a context manager."""

    def __init__(self, **variables):
        self._stack = contextlib.ExitStack()
        self.domain = self._stack.enter_context(own_domain())
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("ROS_", "CYCLONEDDS_", "RMW_"))}
        if WIRE == "zenoh":
            self.env |= at_port(free_port())
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self.env |= {"ROS_DOMAIN_ID": str(self.domain), "PYTHONPATH": path, **variables}
        self._open, self._nodes = [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for item in reversed(self._open):
            item.close()
        self._stack.close()

    def process(self, *command, copied=True):
        """Start a program, a Python one in a copy of a process with its imports (:mod:`ros.warm`) where ``copied``."""
        process = Process([str(part) for part in command], self.env, copied)
        self._open.append(process)
        return process

    def node(self, *arguments, backend="embedded", up=True):
        """Start the node with a scene and its arguments; where ``up``, wait until it simulates."""
        process = self.process(sys.executable, "-u", NODE, "--backend", backend, *arguments)
        self._nodes.append(process)
        if up:
            process.wait_for(" is up", COMPILING)
        return process

    def simulator(self, *arguments, ready=True, backend="embedded", copied=True):
        """Start the stand-in simulator's node."""
        process = self.process(sys.executable, "-u", SIMULATOR, "--backend", backend, *arguments, copied=copied)
        if ready:
            process.wait_for("ready")
        return process

    def controller(self, *arguments):
        """Start the test controller."""
        return self.process(sys.executable, "-u", CONTROLLER, *arguments)

    @classmethod
    def of(cls, backend, **variables):
        """A session where a node has this backend."""
        return cls(**(REAL if backend == "rclpy" else {}), **variables)

    @contextlib.contextmanager
    def running(self, simulator, name="sim", backend="embedded", **options):
        """A SimulatorNode in this process, which runs until the block ends."""
        node = self._node(name, backend)
        running = SimulatorNode(node, simulator, NodeOptions(**options))
        thread = threading.Thread(target=running.run, daemon=True)
        thread.start()
        try:
            yield running
        finally:
            running.stop()
            thread.join(TIMEOUT)
            node.destroy_node()
        assert not thread.is_alive()

    def _node(self, name, backend):
        """A node in this process; rclpy takes its domain from the process's environment."""
        if backend == "embedded":
            return EmbeddedNode(name, environment=self.env)
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in self.env.items():
                patch.setenv(variable, value)
            return create_node(name, backend)

    def peer(self, name="tester", namespace=""):
        """Return a node in this process, of the embedded backend wherever the services of a node answer that."""
        make = EmbeddedNode
        if self.env.get("RMW_IMPLEMENTATION", "").startswith("rmw_fastrtps"):
            from ros.rclpy_peer import RclpyPeerNode as make
        peer = Peer(name, self.env, namespace, self._nodes, make)
        self._open.append(peer)
        return peer


__all__ = [
    "BACKENDS",
    "COMPILING",
    "JOINT_STATE",
    "LOOPBACK_MULTICAST",
    "RANGE",
    "REAL",
    "SET_BOOL",
    "TIMEOUT",
    "TRIGGER",
    "WIRE",
    "Peer",
    "Process",
    "Session",
    "at_port",
    "foxglove_folder",
    "free_port",
    "installed_program",
    "on_dds",
    "wait_until",
]

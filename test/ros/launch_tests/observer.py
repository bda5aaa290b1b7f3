# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the launch tests share: a plain rclpy node that listens and asks, and looks at the processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import rclpy
from ament_index_python.packages import get_package_share_directory
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosidl_runtime_py.utilities import get_message, get_service

from launch import LaunchDescription

START = 300.0  #: seconds: the first run compiles
PATIENCE = 60.0
UP = "is up ("  #: what the node prints when it runs
JOINT_STATE = "sensor_msgs/msg/JointState"
TRIGGER, SET_BOOL = "std_srvs/srv/Trigger", "std_srvs/srv/SetBool"
WORDS = ("Traceback", "ERROR", "Segmentation")  #: that no process may print


class Observer:
    """A node of its own context, spun by a thread; keeps what it hears."""

    def __init__(self, name="observer"):
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node(name, context=self.context)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self.changed = threading.Condition()
        self.heard = {}
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self):
        try:
            self._executor.spin()
        except (ExternalShutdownException, ShutdownException):
            pass

    def listen(self, topic, type_name=JOINT_STATE, latched=False, depth=1000, reliable=True):
        """Subscribe once; returns the list of the messages.  A reliable reader hears no best-effort writer."""
        if topic in self.heard:
            return self.heard[topic]
        kept = self.heard[topic] = []

        def keep(message):
            with self.changed:
                kept.append(message)
                self.changed.notify_all()

        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        reliability = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        qos = QoSProfile(depth=depth, durability=durability, reliability=reliability)
        self.node.create_subscription(get_message(type_name), topic, keep, qos)
        return kept

    def until(self, condition, what, timeout=PATIENCE):
        """Wait until ``condition()`` is true; asked again after every message and now and then."""
        deadline = time.monotonic() + timeout
        while not condition():  # without the lock: it may call a service
            left = deadline - time.monotonic()
            counts = {topic: len(messages) for topic, messages in self.heard.items()}
            assert left > 0.0, f"no {what} within {timeout:g} s; heard {counts}"
            with self.changed:
                self.changed.wait(min(left, 0.02))

    def next(self, topic, count=1):
        """Wait for ``count`` more messages on a topic that is listened to, and return them."""
        kept = self.heard[topic]
        start = len(kept)
        self.until(lambda: len(kept) >= start + count, f"{count} messages on {topic}")
        return kept[start : start + count]

    def call(self, name, type_name=TRIGGER, timeout=PATIENCE, /, **fields):
        """Call a service and return its answer."""
        kind = get_service(type_name)
        client = self.node.create_client(kind, name)
        try:
            assert client.wait_for_service(timeout), f"no service {name}"
            done = threading.Event()
            future = client.call_async(kind.Request(**fields))
            future.add_done_callback(lambda _: done.set())
            assert done.wait(timeout), f"no answer from {name}"
            return future.result()
        finally:
            self.node.destroy_client(client)

    def publisher(self, topic, type_name=JOINT_STATE, reliable=True):
        """A publisher that somebody listens to."""
        reliability = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        qos = QoSProfile(depth=10, reliability=reliability)
        publisher = self.node.create_publisher(get_message(type_name), topic, qos)
        self.until(lambda: publisher.get_subscription_count() > 0, f"subscriber of {topic}")
        return publisher

    def close(self):
        """Leave the graph."""
        self._executor.shutdown(timeout_sec=5.0)
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)
        self._thread.join(PATIENCE)


def has_message(type_name):
    """Whether this ROS has the type; the node leaves out what it lacks."""
    try:
        return get_message(type_name) is not None
    except (AttributeError, ModuleNotFoundError):
        return False


def stamp_of(message):
    """Stamp of a message [ns]."""
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def effort_command(names, efforts):
    """A sensor_msgs/JointState with efforts alone."""
    message = get_message(JOINT_STATE)()
    message.name, message.effort = list(names), [float(effort) for effort in efforts]
    return message


def launch_file(name, **arguments):
    """Include one of our launch files, installed by colcon, with arguments of its own."""
    path = os.path.join(get_package_share_directory("mb_contact"), "launch", name)
    source = PythonLaunchDescriptionSource(path)
    return GroupAction([IncludeLaunchDescription(source, launch_arguments=list(arguments.items()))])


def described(*actions):
    """A launch description; the tests begin at once and wait for what they need."""
    return LaunchDescription([*actions, ReadyToTest()])


def wait_for(proc_output, text, part="simulator_node", count=1, timeout=START):
    """Wait until processes with ``part`` in their name have printed ``text`` so many times."""
    with proc_output.io_event:
        said = proc_output.io_event.wait_for(lambda: text_of(proc_output, part).count(text) >= count, timeout)
    assert said, f"no '{text}' ({count} times) within {timeout:g} s:\n{text_of(proc_output)}"


def example(script, *arguments):
    """Command line of an installed example controller."""
    path = os.path.join(get_package_share_directory("mb_contact"), "examples", script)
    return [sys.executable, "-u", path, *arguments]


def kill(proc_info, action, number=signal.SIGKILL):
    """Send a signal to a process that was launched."""
    os.kill(proc_info[action].pid, number)


def text_of(proc_output, part=""):
    """Everything that processes with ``part`` in their name have printed."""
    names = [name for name in proc_output.process_names() if part in name]
    return "".join(event.text.decode(errors="replace") for name in names for event in proc_output[name])


def write(folder, name, text):
    """Write a file and return its path as a string."""
    path = Path(folder) / name
    path.write_text(text, encoding="utf-8")
    return str(path)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The robots and objects: description, clock, joint states, frames."""

from typing import Any
from xml.etree import ElementTree

from mb_contact.model.rotations import matrix_to_quat
from mb_contact.ros.names import description_topics
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.outputs.fields import put
from mb_contact.ros.qos import LATCHED
from mb_contact.ros.runs import run_frame
from mb_contact.simulation.simulator import Simulator
from mb_contact.types import WORLD

TF = "tf2_msgs/msg/TFMessage"


class Description:
    """robot_description, robot_description_2 and so on, latched: the URDF of each robot of the scene, in its order."""

    def __init__(self, make: Any, simulator: Any) -> None:
        self._sent = []
        models = simulator.world.robot_models
        for topic, text in description_topics([model.urdf for model in models] or [simulator.robot_description]):
            message = make.message("std_msgs/msg/String")
            message.data = text
            self._sent.append((make.publisher("std_msgs/msg/String", topic, LATCHED), message))
        self.publish()

    def publish(self) -> None:
        """Send the URDF texts."""
        for publisher, message in self._sent:
            publisher.publish(message)


class Clock:
    """/clock."""

    def __init__(self, make: Any) -> None:
        type_name = "rosgraph_msgs/msg/Clock"
        self._message, _ = make.prepared(type_name, "/clock", make.message(type_name))

    def publish(self, stamp: int) -> None:
        """Send the time."""
        self._message.stamp("clock", stamp)
        self._message.publish()


class Run:
    """run (std_msgs/UInt64), latched: how many times the simulation has begun."""

    TYPE, TOPIC = "std_msgs/msg/UInt64", "run"

    def __init__(self, make: Any) -> None:
        self._publisher = make.publisher(self.TYPE, self.TOPIC, LATCHED)
        self._message = make.message(self.TYPE)

    def publish(self, number: int) -> None:
        """Send the number of the run."""
        self._message.data = number
        self._publisher.publish(self._message)


class JointStates:
    """joint_states: position, velocity, and the effort that really acted in the last step; mimic joints come last.

    Its frame_id names the run.
    """

    TYPE = "sensor_msgs/msg/JointState"

    def __init__(self, make: Any, simulator: Any, run: int) -> None:
        self._make, self._prototype = make, make.message(self.TYPE)
        prototype = self._prototype
        self._own = len(simulator.world.joint_names)
        prototype.name = [*simulator.world.joint_names, *simulator.world.follower_names]
        zeros = [0.0] * len(prototype.name)
        prototype.position, prototype.velocity, prototype.effort = zeros, zeros, zeros
        self._simulator = simulator
        self.begin_run(run)

    def begin_run(self, number: int) -> None:
        """States that come now are of this run."""
        self._prototype.header.frame_id = run_frame(number)
        self._message, _ = self._make.prepared(self.TYPE, "joint_states", self._prototype)
        self._arrays = [self._message.array(field) for field in ("position", "velocity", "effort")]

    def publish(self, stamp: int) -> None:
        """Send the state."""
        position, velocity, effort = self._arrays
        own = self._own
        position[:own] = self._simulator.joint_positions()
        velocity[:own] = self._simulator.joint_velocities()
        effort[:own] = self._simulator.joint_efforts()
        if len(position) > own:
            position[own:], velocity[own:] = self._simulator.follower_state()
        self._message.stamp("header.stamp", stamp)
        self._message.publish()


def _fixed_frames(make, simulator, options):
    """The publisher of /tf_static and its message: where the robots that are welded to the world stand."""
    publisher = make.publisher(TF, "/tf_static", LATCHED)
    message = make.message(TF)
    for model in simulator.world.robot_models:
        root = model.link_names[0]
        if root in simulator.world.objects or root == options.world_frame:
            continue
        position, quaternion = simulator.link_pose(root)
        transform = make.message("geometry_msgs/msg/TransformStamped")
        _name_frames(transform, options, root)
        put(transform.transform.translation, position)
        put(transform.transform.rotation, quaternion)
        message.transforms.append(transform)
    for sensor in getattr(simulator.scene, "sensors", ()):
        message.transforms += _sensor_frames(make, simulator, options, sensor)
    return publisher, message


def _sensor_frames(make, simulator, options, sensor):
    """Transforms of a sensor's own frames from that of its link."""
    link = sensor.link if sensor.joint is None else simulator.joint_wrenches.child_link(sensor.joint)
    transforms, known = [], link in simulator.world.frames
    parent = f"{options.frame_prefix}{link}" if known else options.world_frame
    for child, (R, p) in simulator.sensors.frames(sensor.name).items():
        transform = make.message("geometry_msgs/msg/TransformStamped")
        transform.header.frame_id, transform.child_frame_id = parent, options.frame_prefix + child
        put(transform.transform.translation, p)
        put(transform.transform.rotation, matrix_to_quat(R))
        transforms.append(transform)
        parent = transform.child_frame_id
    return transforms


def _name_frames(transform, options, name):
    transform.header.frame_id, transform.child_frame_id = options.world_frame, options.frame_prefix + name


def _moved_links(models):
    """Names of the links that a joint of their robot's description moves."""
    robots = (ElementTree.fromstring(model.urdf.encode()) for model in models if model.urdf)
    joints = (joint for robot in robots for joint in robot.findall("joint") if joint.get("type") != "fixed")
    return {child.get("link") for joint in joints for child in joint.findall("child")}


class ObjectFrames:
    """/tf of the free objects and, with ``link_tf``, of the robots' links; /tf_static of the welded robots.

    At time 0, which may last while a controller starts, the links that joints move are told in any case:
    robot_state_publisher tells nothing of a state before its first period is over.  What it tells in /tf_static, links
    behind fixed joints, is left to it.  Where this ROS has no tf2_msgs there is neither.
    """

    def __init__(self, make: Any, simulator: Any, options: NodeOptions) -> None:
        self._simulator, self._options = simulator, options
        self._has_links = isinstance(simulator, Simulator)
        moved = _moved_links(simulator.world.robot_models) if self._has_links else set()
        self._at_first = tuple(name for name in simulator.world.frames if name in moved) if moved else ()
        self._messages = {}
        self._make, has_frames = make, make.has(TF, "/tf and /tf_static")
        self._publisher = make.publisher(TF, "/tf") if has_frames else None
        self._static = _fixed_frames(make, simulator, options) if has_frames else None
        self.publish_static()

    def _names(self, stamp):
        """Frames to publish now."""
        world = self._simulator.world
        if not self._options.link_tf or not self._has_links:
            return (*world.objects, *(self._at_first if stamp == 0 else ()))
        return tuple(name for name, frame in world.frames.items() if frame.body != WORLD)

    def _message(self, names):
        """The prepared message of these frames."""
        if names not in self._messages:
            prototype = self._make.message(TF)
            for name in names:
                transform = self._make.message("geometry_msgs/msg/TransformStamped")
                _name_frames(transform, self._options, name)
                prototype.transforms.append(transform)
            self._messages[names] = self._publisher.prepare(prototype)
        return self._messages[names]

    def publish_static(self) -> None:
        """Send /tf_static (again: a recording has just begun)."""
        if self._static is not None:
            publisher, message = self._static
            publisher.publish(message)

    def publish(self, stamp: int) -> None:
        """Send the poses."""
        names = self._names(stamp)
        if not names or self._publisher is None:
            return
        message = self._message(names)
        for i, name in enumerate(names):
            path = f"transforms.{i}"
            position, quaternion = self._simulator.link_pose(name)
            for axis, value in zip("xyz", position):
                message.set(f"{path}.transform.translation.{axis}", float(value))
            for axis, value in zip("xyzw", quaternion):
                message.set(f"{path}.transform.rotation.{axis}", float(value))
            message.stamp(f"{path}.header.stamp", stamp)
        message.publish()

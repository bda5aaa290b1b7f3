# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Everything that comes in on topics: commands, targets of actuators, joint states, pushes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.errors import MbContactError
from mb_contact.ros.backend import spin_safely
from mb_contact.ros.commands import CommandInbox
from mb_contact.ros.handling import act, handles
from mb_contact.ros.pushes import WAITING, WRENCH, PushInbox, due_at, warn_of_delay
from mb_contact.ros.qos import COMMAND, COMMAND_LOCKSTEP, STATE
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.surfaces.simulator import AnySimulator

COMMANDS = ("joint_commands", "effort_commands")


class Inputs:
    """Subscriptions of a simulator's node, and what their messages do to the simulator between two steps.

    Parameters
    ----------
    owner : SimulatorNode
        Its node, simulator and options are used, and it is told of what acts.
    logger : object
    between_steps : callable
        Has the physics thread do something between two steps.

    Attributes
    ----------
    commands : CommandInbox
    pushes : PushInbox or None
    types : dict
        Absolute topic name to type of everything that comes in.
    """

    def __init__(self, owner: Any, logger: Any, between_steps: Callable[[Callable[[], None]], None]) -> None:
        self._owner, self._logger, self._between_steps = owner, logger, between_steps
        node, options, simulator = owner.node, owner.options, owner.simulator
        joints = simulator.world.joint_names
        self.commands = CommandInbox(
            joints, simulator.world.effort_limit > 0.0, options, logger, _servos(simulator)
        )
        self.pushes = self._make_pushes()
        self._states: list[Any] = []  #: of joints, which wait for their time
        self.types, self._subscriptions = {}, {}
        self._handled: set[str] = set()  #: topics of pads, surfaces and welds
        # in lockstep the physics thread waits for commands itself, where the backend lets it
        self._port = node.create_port() if options.lockstep and hasattr(node, "create_port") else None
        if self._port is not None:
            self.commands.listen = self.take

    def listen(self) -> None:
        """Subscribe; messages may come from now on."""
        node, options = self._owner.node, self._owner.options
        qos, own = COMMAND_LOCKSTEP if options.lockstep else COMMAND, self._port or node
        self._listen("joint_commands", "sensor_msgs/msg/JointState", self.commands.on_joint_command, qos, own)
        self._listen("effort_commands", "std_msgs/msg/Float64MultiArray", self.commands.on_effort_command, qos, own)
        if isinstance(self._owner.simulator, Simulator):
            self._listen("set_joint_states", "sensor_msgs/msg/JointState", self._on_joint_states, STATE, node)
        self._listen_for_pushes()
        self._listen_for_handles()

    def take(self, seconds: float = 0.0, _interrupted: Any = None) -> None:
        """Take the commands that have come, or come within some seconds, where the physics thread does that itself."""
        if self._port is not None:
            spin_safely(self._port, seconds)

    def senders(self) -> int:
        """How many publish commands, that are heard here."""
        return sum(self._heard(self._owner.node.resolve(topic), 1) for topic in COMMANDS)

    def _heard(self, topic, otherwise):
        """How many publishers of a topic are heard; older releases of rclpy cannot tell."""
        return getattr(self._subscriptions[topic], "get_publisher_count", lambda: otherwise)()

    def unheard(self) -> list[str]:
        """Topics of commands on which somebody publishes as best effort what is subscribed to reliably."""
        found = []
        for topic in map(self._owner.node.resolve, COMMANDS):
            publishers, best_effort = self._owner.node.publishers_of(topic)
            if best_effort and publishers > self._heard(topic, publishers - best_effort):
                found.append(topic)
        return found

    def wake(self) -> None:
        """End a wait for commands."""
        if self._port is not None:
            self._port.wake()
        with self.commands.changed:
            self.commands.changed.notify_all()

    def copy_to(self, topic: str, keep: Callable[[bytes], Any]) -> None:
        """Hand the CDR bytes of what comes in on a topic (its absolute name) to ``keep`` too, for recording."""
        self._subscriptions[topic].tap = keep

    def bind(self, simulator: AnySimulator) -> None:
        """Take what is for another simulator from now on."""
        world = simulator.world
        self.commands.set_joints(world.joint_names, world.effort_limit > 0.0, _servos(simulator))
        former, self.pushes = self.pushes, self._make_pushes()
        if former is not None and self.pushes is not None:
            self.pushes.go_on(former)
        self._listen_for_pushes()
        self._listen_for_handles()

    def ask_actuators(self, asked: dict[str, dict[str, float]]) -> None:
        """Hand on targets, as ``CommandInbox.take_targets`` has them."""
        simulator = self._owner.simulator
        if not any(asked.values()):
            return
        groups = {}  # joints of which the same is asked
        for name in simulator.world.joint_names:
            fields = tuple(field for field, values in asked.items() if name in values)
            if fields:
                groups.setdefault(fields, []).append(name)
        for fields, names in groups.items():
            targets = {"names": names, **{field: [asked[field][name] for name in names] for field in fields}}
            try:
                simulator.set_targets(**targets)
            except MbContactError as error:  # nobody waits for an answer
                self.commands.refuse("joint_commands", str(error))
                continue
            self._owner.tell("targets", **targets)

    def push(self) -> None:
        """Hand on the pushes that act now."""
        if self.pushes is not None:
            self.pushes.apply(self._owner.simulator, self._owner.stamp(), self._owner.tell)

    def set_states(self) -> None:
        """Put joints where messages have said for a time that has come."""
        while self._states and self._states[0][0] <= self._owner.stamp():
            self._set_joints(*self._states.pop(0))

    def forget(self) -> None:
        """What waits for its time is of a run that has ended."""
        self._states = []
        if self.pushes is not None:
            self.pushes.clear()

    def _make_pushes(self):
        simulator, options = self._owner.simulator, self._owner.options
        if not isinstance(simulator, Simulator):
            return None
        links, near = options.external_wrench_links, simulator.scene.contact_wrench_links
        return PushInbox(simulator.world, links, near, options, self._logger)

    def _on_joint_states(self, message):
        """Put the robots' joints where a message says, between two steps, or at the time of its stamp."""
        names, rows = list(message.name), (message.position, message.velocity)
        positions, velocities = (np.array(row, dtype=float) if len(row) else None for row in rows)
        entry = due_at(message.header), names, positions, velocities
        if len(self._states) < WAITING:
            self._between_steps(lambda: self._take_states(entry))
        else:
            self._logger.warning(f"rejected a message on set_joint_states: {WAITING} wait", throttle_duration_sec=1.0)

    def _take_states(self, entry):
        if entry[0] > self._owner.stamp():
            self._states.append(entry)
            self._states.sort(key=lambda entry: entry[0])
        else:
            self._set_joints(*entry)

    def _set_joints(self, stamp, names, positions, velocities):
        now = self._owner.stamp()
        if self._owner.options.lockstep:
            warn_of_delay(self._logger, "a message on set_joint_states", stamp, now)
        try:
            self._owner.simulator.set_joints(names, positions, velocities)
        except MbContactError as error:  # nobody waits for an answer
            self._logger.warning(f"rejected a message on set_joint_states: {error}", throttle_duration_sec=1.0)
            return
        self._owner.tell("joints", names=names, positions=positions, velocities=velocities)
        self._owner.state_was_set()

    def _listen_for_pushes(self):
        """Subscribe to the pushes of all links that there are, and to those of no others."""
        node = self._owner.node
        topics = self.pushes.topics if self.pushes else ()
        with node.announced_once():
            for topic in topics:
                self._listen(topic, WRENCH, lambda message, topic=topic: self.pushes.take(topic, message), STATE, node)
        gone = {name for name, type_name in self.types.items() if type_name == WRENCH}
        self._close(gone - {node.resolve(topic) for topic in topics})

    def _listen_for_handles(self):
        """Subscribe to what switches pads, surfaces and welds of the scene that there is."""
        node = self._owner.node
        topics = [handle for handle in handles(self._owner.simulator.scene) if handle.type]
        names = {node.resolve(handle.name) for handle in topics}
        self._close(self._handled - names)
        self._handled = names
        for name, type_name, does in topics:
            self._listen(name, type_name, partial(self._on_handle, name, does), STATE, node)

    def _on_handle(self, topic, does, message):
        """Do what a message says between two steps."""
        self._between_steps(lambda: self._handle(topic, does, message))

    def _handle(self, topic, does, message):
        try:
            kind, fields = does(message)
            act(self._owner.simulator, kind, fields)
        except MbContactError as error:  # nobody waits for an answer
            self._logger.warning(f"rejected a message on {topic}: {error}", throttle_duration_sec=1.0)
            return
        self._owner.tell(kind, **fields)

    def _close(self, names):
        """Hear these topics no more."""
        for name in names:
            del self.types[name]
            self._owner.node.destroy_subscription(self._subscriptions.pop(name))

    def _listen(self, topic, type_name, callback, qos, place):
        """Subscribe once to a topic."""
        name = self._owner.node.resolve(topic)
        if name not in self.types:
            self.types[name] = type_name
            self._subscriptions[name] = place.create_subscription(type_name, topic, callback, qos)


def _servos(simulator: AnySimulator) -> tuple[ArrayLike, ArrayLike] | None:
    """Joints that can be asked for positions and for velocities; None where none can."""
    return simulator.servos() if isinstance(simulator, Simulator) else None

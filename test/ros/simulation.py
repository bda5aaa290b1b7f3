# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The services and the action of simulation_interfaces as one calls them from a test, of either release."""

from __future__ import annotations

import itertools
import threading

from mb_contact.ros.embedded.messages import message_class
from mb_contact.ros.embedded.simulation_definitions import simulation_release
from mb_contact.ros.qos import QoS
from ros.support import TIMEOUT

OK, UNSUPPORTED, NOT_FOUND, INCORRECT_STATE, FAILED = 1, 0, 2, 3, 4
PACKAGE = "simulation_interfaces"
SIMULATE = f"{PACKAGE}/action/SimulateSteps"
BALL = "{shape: sphere, size: [0.05], mass: 0.5}"
SUCCEEDED, CANCELED, ABORTED = 4, 5, 6  # action_msgs/GoalStatus


def message(name, /, *values, **fields):
    """A message of simulation_interfaces."""
    return message_class(f"{PACKAGE}/msg/{name}")(*values, **fields)


def code(answer):
    """The number of a result."""
    return int(answer.result.result)


def points(*rows):
    """geometry_msgs/Vector3 of rows of three."""
    return [message_class("geometry_msgs/msg/Vector3")(*map(float, row)) for row in rows]


class Simulation:
    """The services of one node, called by name."""

    def __init__(self, peer, namespace=""):
        self.peer, self.namespace = peer, namespace

    def __call__(self, service, /, **fields):
        kind = "".join(word.capitalize() for word in service.split("_"))
        return self.peer.call(f"{self.namespace}{service}", f"{PACKAGE}/srv/{kind}", **fields)

    def state(self):
        return int(self("get_simulation_state").state.state)

    def set_state(self, number):
        return code(self("set_simulation_state", state=message("SimulationState", state=number)))

    def features(self):
        """Names of what is advertised."""
        advertised = {int(number) for number in self("get_simulator_features").features.features}
        return {name for name, number in self.known_features().items() if number in advertised}

    @staticmethod
    def known_features():
        """Name to number of all features that there are."""
        kind = message_class(f"{PACKAGE}/msg/SimulatorFeatures")
        return {name: number for name, number in vars(kind).items() if name.isupper()}

    def spawn(self, name, text="", position=(0.0, 0.0, 2.0), uri="", **more):
        return self("spawn_entity", **self.spawning(name, text, position, uri, **more))

    def spawning(self, name, text="", position=(0.0, 0.0, 2.0), uri="", w=1.0, frame="", many=False, **more):
        """The fields of a request to spawn."""
        pose = message_class("geometry_msgs/msg/PoseStamped")()
        pose.header.frame_id = frame
        pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = position
        pose.pose.orientation.w = w
        resource = self.resource("entity_resource", uri, text, 2 if many else simulation_release())
        return {"name": name, "initial_pose": pose, **resource, **more}

    @staticmethod
    def resource(field, uri, text, release):
        """A resource in a request: two fields in release 1, a message in release 2."""
        if release == 1:
            return {"uri": uri, "resource_string": text}
        return {field: message("Resource", uri, text)}

    def load(self, uri="", text=""):
        return self("load_world", **self.resource("world_resource", uri, text, simulation_release()))

    def put(self, entity, state):
        """Set the pose and the twist of an entity."""
        flags = {} if simulation_release() == 1 else {"set_pose": True, "set_twist": True}
        return self("set_entity_state", entity=entity, state=state, **flags)

    def entities(self, **filters):
        return list(self("get_entities", filters=message("EntityFilters", **filters)).entities)

    def pose(self, entity):
        """Position of an entity."""
        position = self("get_entity_state", entity=entity).state.pose.position
        return position.x, position.y, position.z


class Steps:
    """A client of simulate_steps: what came of its goals, and all feedback."""

    _numbers = itertools.count(1)

    def __init__(self, peer, namespace=""):
        self.peer, self.place, self.feedback = peer, f"{namespace}simulate_steps/_action", {}
        self.changed = threading.Condition()
        node = peer.node
        self._send = node.create_client(f"{SIMULATE}_SendGoal", f"{self.place}/send_goal")
        self._result = node.create_client(f"{SIMULATE}_GetResult", f"{self.place}/get_result")
        self.status = peer.listen(f"{self.place}/status", "action_msgs/msg/GoalStatusArray", QoS(1, latched=True))
        feedback = node.create_subscription(
            f"{SIMULATE}_FeedbackMessage", f"{self.place}/feedback", self._on_feedback, QoS(1000)
        )
        assert self._send.wait_for_service(TIMEOUT) and self._result.wait_for_service(TIMEOUT)
        peer.until(lambda: feedback.get_publisher_count() > 0)

    def _on_feedback(self, told):
        with self.changed:
            pair = int(told.feedback.completed_steps), int(told.feedback.remaining_steps)
            self.feedback.setdefault(bytes(told.goal_id.uuid), []).append(pair)
            self.changed.notify_all()

    def send(self, steps, identity=None):
        """Send a goal; its identity, and whether it is accepted."""
        identity = identity or next(self._numbers).to_bytes(16, "little")
        request = self._send.Request()
        request.goal_id.uuid, request.goal.steps = list(identity), steps
        future = self._send.call_async(request)
        assert future.wait(TIMEOUT)
        return identity, future.result().accepted

    def result(self, identity):
        """A future of the result."""
        request = self._result.Request()
        request.goal_id.uuid = list(identity)
        return self._result.call_async(request)

    def run(self, steps):
        """Send a goal and wait for its end: (status, result, feedback)."""
        identity, accepted = self.send(steps)
        assert accepted
        return self.end(identity)

    def end(self, identity):
        """Wait for the end of a goal: (status, result, feedback)."""
        future = self.result(identity)
        assert future.wait(TIMEOUT), f"no result; status {self.status[-1:]}"
        return int(future.result().status), future.result().result.result, self.feedback.get(identity, [])

    def cancel(self, identity=bytes(16), stamp=0):
        """Cancel a goal: (return code, identities of the goals that are cancelled)."""
        info = message_class("action_msgs/msg/GoalInfo")()
        info.goal_id.uuid, (info.stamp.sec, info.stamp.nanosec) = list(identity), divmod(stamp, 10**9)
        answer = self.peer.call(f"{self.place}/cancel_goal", "action_msgs/srv/CancelGoal", goal_info=info)
        return int(answer.return_code), [bytes(goal.goal_id.uuid) for goal in answer.goals_canceling]

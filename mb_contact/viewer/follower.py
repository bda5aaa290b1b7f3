# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A node that somebody else runs, seen through its topics: joint_states, /tf, contacts, certificate, object_markers."""

import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.errors import CommunicationError
from mb_contact.model.model import tree_poses
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.model.world import World
from mb_contact.ros.backend import create_node, spin_safely
from mb_contact.ros.embedded.messages import deserialize, stamp_ns
from mb_contact.ros.qos import LATCHED, QoS
from mb_contact.types import CONTACT_STATE_NAMES, JOINT_FLOATING, WORLD
from mb_contact.viewer.drawing import Drawing, marker_parts
from mb_contact.viewer.snapshot import (
    FRAME_SECONDS,
    Objects,
    Poses,
    Readings,
    Snapshot,
    certificate_text,
    contact_points,
    energies_of,
    no_contacts,
    pair_forces,
)

STATES, TF = "sensor_msgs/msg/JointState", "tf2_msgs/msg/TFMessage"
CONTACTS, STATUS = "ros_gz_interfaces/msg/Contacts", "diagnostic_msgs/msg/DiagnosticStatus"
MARKERS = "visualization_msgs/msg/MarkerArray"
TOPICS = (("joint_states", STATES), ("contacts", CONTACTS), ("certificate", STATUS))
NEWEST = QoS(depth=1, reliable=False)  #: only the newest counts; hears writers of either reliability
ALL = QoS(depth=100, reliable=False)  #: /tf has several writers
PACE_SECONDS = 0.5  #: wall time over which the pace is measured
TELL_SECONDS = 10.0  #: wall time between two lines about messages that are skipped


class Follower:
    """Snapshots of a running node.

    The scene file says what there is at first, object_markers what has been spawned or deleted since.  Joints that
    joint_states does not have (planar, spherical, universal) move only where the node publishes all links (link_tf).

    Parameters
    ----------
    world : World
        Of the scene that the node runs.
    drawing : Drawing
    backend, namespace : str
        As of :func:`~mb_contact.ros.create_node`.
    node_name : str
        Of the node to follow, for its services.
    ros_args : sequence of str
        Such as ``--ros-args -r joint_states:=robot_joint_states -p frame_prefix:=left/``, the node's frame_prefix.

    Raises
    ------
    CommunicationError
        The ROS domain cannot be joined.
    """

    can_pace = can_drag = False
    crash = None  #: see Player; bugs of callbacks are logged

    def __init__(
        self,
        world: World,
        drawing: Drawing,
        backend: str = "auto",
        namespace: str = "",
        node_name: str = "mb_contact",
        ros_args: Sequence[str] = (),
    ) -> None:
        self._world, self._drawing = world, drawing
        self.joint_names = tuple(world.joint_names)
        self._joints: dict[str, Any] = {}  #: of the last joint_states, as Readings has them
        self._q = np.array(world.q0)
        self._changed = True
        self._newest: dict[str, Any] = {}
        self._objects = Objects(0, frozenset(drawing.objects), [])
        self._spawned: set[str] = set()
        self._direct: Poses = {}  #: links whose pose in the world came as such
        self._told: dict[str, tuple[float, float]] = {}  #: of links of robots: when it came last, and how often [s]
        self._clock_mark, self._pace = (0.0, time.perf_counter()), None
        self._next, self._stop = 0.0, False
        self._message = f"waiting for the node {node_name}"
        self.node = create_node("mb_contact_view", backend, list(ros_args), namespace)
        self._prefix = self.node.declare_parameter("frame_prefix", "").value
        self._subscribe()
        self._clients = {
            name: self.node.create_client(f"std_srvs/srv/{kind}", f"{node_name}/{name}")
            for name, kind in (("pause", "SetBool"), ("step", "Trigger"), ("reset", "Trigger"))
        }
        self._thread = threading.Thread(target=self._spin, name="ros executor", daemon=True)

    def _subscribe(self):
        wanted = [(topic, kind, partial(self._keep, kind), NEWEST) for topic, kind in TOPICS]
        markers = partial(self._hear, MARKERS, self._on_markers)
        for topic, kind, callback, qos in (*wanted, ("object_markers", MARKERS, markers, LATCHED)):
            try:
                self.node.create_subscription(kind, topic, callback, qos, raw=True)
            except CommunicationError as error:  # ros_gz_interfaces and visualization_msgs need not be installed
                self.node.get_logger().warning(f"{topic} is not shown: {error}")
        self.node.create_subscription(TF, "/tf", partial(self._hear, TF, self._on_tf), ALL, raw=True)

    # --- as of a Player -------------------------------------------------------------------------
    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Leave the graph."""
        self._stop = True
        self.node.wake()
        if self._thread.is_alive():
            self._thread.join()
        self.node.destroy_node()

    done = False  #: a node that has ended may come back

    def run(self) -> None:
        """Ask the node to go on."""
        self._call("pause", data=False)

    def pause(self) -> None:
        """Ask the node to pause."""
        self._call("pause", data=True)

    def step(self) -> None:
        """Ask the node for one step."""
        self._call("step")

    def reset(self) -> None:
        """Ask the node for its initial state."""
        self._call("reset")

    def _call(self, name, **fields):
        client = self._clients[name]
        if not client.service_is_ready():
            self._message, self._changed = f"the node does not offer {name}: is it running?", True
            return
        message = (getattr(client, "Request", None) or client.srv_type.Request)()  # ours, or rclpy's
        for field, value in fields.items():
            setattr(message, field, value)
        client.call_async(message)
        self._message = ""

    def frame(self, timeout: float) -> Snapshot | None:
        """The next Snapshot, at most one every FRAME_SECONDS; None if nothing came within ``timeout`` seconds."""
        deadline = time.perf_counter() + timeout
        while time.perf_counter() < deadline and not self._stop:
            now = time.perf_counter()
            if now >= self._next and self._changed:
                self._next, self._changed = now + FRAME_SECONDS, False
                return self._snapshot()
            time.sleep(max(0.001, min(self._next - now, deadline - now, 0.01)))
        return None

    # --- executor thread ------------------------------------------------------------------------
    def _spin(self):
        while not self._stop:
            spin_safely(self.node, 0.1)

    def _keep(self, kind, data):
        self._newest[kind] = data
        self._changed = True

    def _hear(self, kind, take, data):
        """What ``take`` makes of a message; None if it cannot be read: anybody may write on a topic."""
        try:
            return take(deserialize(data, kind))
        except Exception as error:
            text = f"skipping a {kind} that makes no sense: {type(error).__name__}: {error}"
            self.node.get_logger().warning(text, throttle_duration_sec=TELL_SECONDS)
            return None

    def _on_tf(self, message):
        frames = self._world.frames
        for transform in message.transforms:
            link, parent = self._link(transform.child_frame_id), self._link(transform.header.frame_id)
            free = link in self._world.objects or link in self._spawned
            if free or (link in frames and self._is_world(parent)):
                p, o = transform.transform.translation, transform.transform.rotation
                position, quaternion = as_vector((p.x, p.y, p.z), 3, link), as_vector((o.x, o.y, o.z, o.w), 4, link)
                quat_to_matrix(quaternion)  # refuses what is none
                self._direct[link] = position, quaternion
                if not free:
                    stamp, (before, every) = 1e-9 * stamp_ns(transform.header.stamp), self._told.get(link, (0.0, 0.0))
                    self._told[link] = stamp, stamp - before if stamp > before else every
        self._changed = True

    def _is_world(self, link):
        """Whether a frame is the world's, and not a link's that is elsewhere: a root link may be called `world` too."""
        frame = self._world.frames.get(link)
        return frame is None or (frame.body == WORLD and np.array_equal((*frame.R, frame.p), (*np.eye(3), np.zeros(3))))

    def _link(self, frame):
        """The link of a frame; None where the frame is another node's."""
        return frame.removeprefix(self._prefix) if frame.startswith(self._prefix) else None

    def _on_markers(self, message):
        """Objects have come or gone."""
        markers = message.markers
        for marker in markers:
            marker.header.frame_id = marker.header.frame_id.removeprefix(self._prefix)
        names, objects = {marker.ns for marker in markers}, self._drawing.objects
        known = {name for shapes in objects.values() for name in shapes}
        spawned = marker_parts([marker for marker in markers if marker.ns not in known])
        self._spawned = {part.link for part in spawned}
        present = frozenset(link for link, shapes in objects.items() if shapes & names)
        self._objects = Objects(self._objects.version + 1, present, spawned)
        self._changed = True

    # --- the frame --------------------------------------------------------------------------------
    def _read(self, kind, take, default=None):
        """What ``take`` makes of the newest message of a kind; the default if there is none or it cannot be read."""
        data = self._newest.get(kind)
        found = None if data is None else self._hear(kind, take, data)
        return default if found is None else found

    def _snapshot(self):
        seconds = self._read(STATES, self._take_joints, 0.0)
        poses = self._poses(seconds)
        states, certificate, energies = self._read(STATUS, _take_certificate, ({}, {}, {}))
        contacts, pairs = self._read(CONTACTS, partial(self._take_contacts, states), (no_contacts(), {}))
        readings = Readings(**self._joints, forces=pairs, energies=energies)
        self._measure_pace(seconds)
        if self._newest and self._message.startswith("waiting"):
            self._message = ""
        return Snapshot(seconds, poses, contacts, certificate, self._pace, self._message, self._objects, readings)

    def _take_joints(self, message):
        """Keep the positions that are numbers; returns the time of the state [s]."""
        world = self._world
        places = dict(zip(world.joint_names, world.joint_q)) | dict(zip(world.follower_names, world.follower_q))
        for name, position in zip(message.name, message.position):
            if name in places and np.isfinite(position):
                self._q[places[name]] = position
        columns = message.position, message.velocity, message.effort  # the last two may be empty
        self._joints = dict(zip(("joints", "positions", "velocities", "efforts"), (tuple(message.name), *columns)))
        return 1e-9 * stamp_ns(message.header.stamp)

    def _poses(self, seconds=0.0):
        """World poses of all links that move, from joint positions, the frames of the free bodies and those of links.

        A node may tell frames of links at its first state alone: they count no longer than twice their own period.
        """
        world, told = self._world, self._told.copy()
        past = {link for link, (stamp, every) in told.items() if seconds > stamp + 2.0 * every}
        direct = {link: pose for link, pose in self._direct.copy().items() if link not in past}
        for link, (p, quaternion) in direct.items():
            frame = world.frames.get(link)
            if frame is not None and frame.body != WORLD and world.tree.joint_type[frame.body] == JOINT_FLOATING:
                R = quat_to_matrix(quaternion) @ frame.R.T
                start = world.tree.q_start[frame.body]
                self._q[start : start + 3], self._q[start + 3 : start + 7] = p - R @ frame.p, matrix_to_quat(R)
        R_body, p_body = tree_poses(world.tree, self._q, world.flexible)
        poses = {}
        for link in self._drawing.moving:
            frame = world.frames[link]
            R = R_body[frame.body]
            poses[link] = p_body[frame.body] + R @ frame.p, matrix_to_quat(R @ frame.R)
        return poses | {link: pose for link, pose in direct.items() if link in poses or link in self._spawned}

    def _measure_pace(self, seconds):
        """Twice a second: how fast the time of the joint states runs, None while it stands still."""
        since, wall = self._clock_mark
        now = time.perf_counter()
        if seconds < since or now - wall >= PACE_SECONDS:
            self._pace = (seconds - since) / (now - wall) if seconds > since else None
            self._clock_mark = seconds, now

    def _take_contacts(self, states, message):
        """ContactPoints and forces of pairs; points of which the certificate has another number stick."""
        rows = []
        for pair in message.contacts:
            links = pair.collision1.name, pair.collision2.name
            named = states.get(" ".join(links), ())
            if len(named) != len(pair.positions):
                named = ["stick"] * len(pair.positions)
            for point, normal, wrench, state in zip(pair.positions, pair.normals, pair.wrenches, named):
                rows.append((*links, _xyz(point), _xyz(normal), _xyz(wrench.body_1_wrench.force), state))
        return contact_points(rows, self._drawing.moving, self._drawing.friction), pair_forces(rows)


def _take_certificate(message):
    """(states of the contacts of each "A B", shown fields as text, energies) of a certificate."""
    values = {pair.key: pair.value for pair in message.values}
    states = {}
    for key, text in values.items():
        if key.startswith("contact/"):
            links, state, _ = text.rsplit(" ", 2)  # from the end: names may have spaces
            if state not in CONTACT_STATE_NAMES:
                raise ValueError(f"'{state}' is no state of a contact")
            states.setdefault(links, []).append(state)
    return states, certificate_text(values), energies_of(values)


def _xyz(vector):
    return as_vector((vector.x, vector.y, vector.z), 3, "a contact")

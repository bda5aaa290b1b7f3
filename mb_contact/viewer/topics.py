# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a node's topics say of a scene, heard now or recorded: joint_states, /tf, contacts, certificate, objects."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.model.poses import tree_poses
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.model.world import World
from mb_contact.ros.embedded.messages import deserialize, stamp_ns
from mb_contact.types import CONTACT_STATE_NAMES, JOINT_FLOATING, WORLD
from mb_contact.viewer.drawing import Drawing, marker_parts
from mb_contact.viewer.snapshot import (
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
_FOREIGN = "/"  #: before the names of frames that are no link's


class Topics:
    """Messages in, Snapshots out.

    The scene says what there is at first, object_markers what has been spawned or deleted since.  Joints that
    joint_states does not have (planar, spherical, universal) move only where somebody tells the frames of all links.
    Joint states may come from several publishers, each with some of the joints.

    Parameters
    ----------
    world : World
        Of the scene.
    drawing : Drawing
    prefix : str
        Of the names of its links' frames.
    warn : callable
        Called with a sentence for a message that makes no sense: anybody may write on a topic.
    """

    def __init__(self, world: World, drawing: Drawing, prefix: str, warn: Callable[[str], Any]) -> None:
        self._world, self._drawing, self.prefix, self._warn = world, drawing, prefix, warn
        self._q = np.array(world.q0)
        self.newest: dict[tuple[str, Any], Any] = {}  #: CDR bytes by kind and publisher's part of it
        followers = () if world.follower_q is None else zip(world.follower_names, world.follower_q)
        self._places = dict(zip(world.joint_names, world.joint_q)) | dict(followers)
        self._objects = Objects(0, frozenset(drawing.objects), [])
        self._spawned: set[str] = set()
        self.frames: dict[str, tuple[str, Any, Any]] = {}  #: frame to its parent, and its pose in that
        self._told: dict[str, tuple[float, float]] = {}  #: of links of robots: when it came last, and how often [s]

    # --- messages -------------------------------------------------------------------------------
    def keep(self, kind: str, data: Any) -> None:
        """Keep the newest bytes of a kind; joint states, /tf and markers that tell of other things beside."""
        self.newest[kind, first_name(data) if kind == STATES else None] = data

    def forget(self) -> None:
        """Forget all but the objects, and where joints were."""
        for known in (self.newest, self.frames, self._told):
            known.clear()

    def hear(self, kind: str, data: Any) -> None:
        """Read bytes of /tf or object_markers now."""
        self._take(kind, {TF: self.on_tf, MARKERS: self.on_markers}[kind], data)

    def _take(self, kind, take, data):
        """What ``take`` makes of a message; None if it cannot be read."""
        try:
            return take(deserialize(data, kind))
        except Exception as error:
            self._warn(f"skipping a {kind} that makes no sense: {type(error).__name__}: {error}")
            return None

    def on_tf(self, message: Any) -> None:
        """Frames, each in its parent: of free bodies, of links in the world, and what stands between."""
        links = self._world.frames
        for transform in message.transforms:
            name, parent = self._frame(transform.child_frame_id), self._frame(transform.header.frame_id)
            free = name in self._world.objects or name in self._spawned
            if name in links and not free and not (parent.startswith(_FOREIGN) or self._at_origin(parent)):
                continue  # where a link is in another one, the joints say
            p, o = transform.transform.translation, transform.transform.rotation
            position, quaternion = as_vector((p.x, p.y, p.z), 3, name), as_vector((o.x, o.y, o.z, o.w), 4, name)
            quat_to_matrix(quaternion)  # refuses what is none
            self.frames[name] = parent, position, quaternion
            if name in links and not free:
                stamp, (before, every) = 1e-9 * stamp_ns(transform.header.stamp), self._told.get(name, (0.0, 0.0))
                self._told[name] = stamp, stamp - before if stamp > before else every

    def _frame(self, frame):
        """The link or spawned object of a frame; a name that no link has where it is another node's, or none's."""
        name = frame.removeprefix(self.prefix) if frame.startswith(self.prefix) else None
        known = name in self._world.frames or name in self._spawned
        return name if known and name is not None else _FOREIGN + frame

    def _at_origin(self, link):
        """Whether a link stands still where the world's axes are: that is a world of its own."""
        frame = self._world.frames.get(link)
        still = frame is not None and frame.body == WORLD
        return still and np.array_equal((*frame.R, frame.p), (*np.eye(3), np.zeros(3)))

    def on_markers(self, message: Any) -> None:
        """Objects have come or gone."""
        markers = message.markers
        for marker in markers:
            marker.header.frame_id = marker.header.frame_id.removeprefix(self.prefix)
        names, objects = {marker.ns for marker in markers}, self._drawing.objects
        known = {name for shapes in objects.values() for name in shapes}
        spawned = marker_parts([marker for marker in markers if marker.ns not in known])
        self._spawned = {part.link for part in spawned}
        present = frozenset(link for link, shapes in objects.items() if shapes & names)
        self._objects = Objects(self._objects.version + 1, present, spawned)

    # --- the frame ------------------------------------------------------------------------------
    def _read(self, kind, take):
        """What ``take`` makes of the newest messages of a kind that can be read: of each publisher one."""
        found = []
        for key, data in [(key, data) for key, data in self.newest.copy().items() if key[0] == kind]:
            value = self._take(kind, take, data)
            if value is not None:
                found.append(value)
            elif self.newest.get(key) is data:
                del self.newest[key]  # said once
        return found

    def snapshot(self, factor: float | None = None, message: str = "", lag: float | None = None) -> Snapshot:
        """The Snapshot of what is known now."""
        told = self._read(STATES, self._take_joints)
        seconds = max((each[0] for each in told), default=0.0)
        joints = tuple(name for each in told for name in each[1])
        poses = self.poses(seconds)
        states, certificate, energies = (self._read(STATUS, _take_certificate) or [({}, {}, {})])[-1]
        found = self._read(CONTACTS, partial(self._take_contacts, states)) or [(no_contacts(), {})]
        contacts, pairs = found[-1]
        q, v, efforts = (np.concatenate([each[k] for each in told] or [np.zeros(0)]) for k in (2, 3, 4))
        readings = Readings(joints, q, v, efforts, pairs, energies)
        return Snapshot(seconds, poses, contacts, certificate, factor, message, self._objects, readings, lag=lag)

    def _take_joints(self, message):
        """Keep the positions that are numbers; returns the time of the state [s], names, and three columns."""
        for name, position in zip(message.name, message.position):
            if name in self._places and np.isfinite(position):
                self._q[self._places[name]] = position
        missing = np.full(len(message.name), np.nan)  # velocities and efforts may be left out
        columns = [c if len(c) else missing for c in (message.position, message.velocity, message.effort)]
        return (1e-9 * stamp_ns(message.header.stamp), tuple(message.name), *columns)

    def poses(self, seconds: float = 0.0) -> Poses:
        """World poses of all links that move, from joint positions, the frames of the free bodies and those of links.

        A node may tell frames of links at its first state alone: they count no longer than twice their own period.
        """
        world, told = self._world, self._told.copy()
        past = {link for link, (stamp, every) in told.items() if seconds > stamp + 2.0 * every}
        direct: dict[str, Any] = {}
        carried: dict[str, Any] = {}
        for link in [name for name in self.frames.copy() if not name.startswith(_FOREIGN) and name not in past]:
            carrier, pose = self._resolved(link)
            (direct if carrier is None else carried)[link] = pose if carrier is None else (carrier, pose)
        for link, (p, quaternion) in direct.items():
            frame = world.frames.get(link)
            if frame is not None and frame.body != WORLD and world.tree.joint_type[frame.body] == JOINT_FLOATING:
                R = quat_to_matrix(quaternion) @ frame.R.T
                start = world.tree.q_start[frame.body]
                self._q[start : start + 3], self._q[start + 3 : start + 7] = p - R @ frame.p, matrix_to_quat(R)
        bodies = tree_poses(world.tree, self._q, world.flexible)
        poses = {link: _placed(world.frames[link], *bodies) for link in self._drawing.moving}
        for link, (carrier, pose) in carried.items():
            direct[link] = compose(direct.get(carrier) or _placed(world.frames[carrier], *bodies), pose)
        return poses | {link: pose for link, pose in direct.items() if link in poses or link in self._spawned}

    def _resolved(self, link):
        """(Link that carries it or None, pose in that or in the world), by way of the frames between them."""
        parent, *pose = self.frames[link]
        seen = {link}
        while parent not in seen:
            seen.add(parent)
            frame, told = self._world.frames.get(parent), parent in self.frames
            if frame is not None and (frame.body != WORLD or told):  # a link; a root that nobody places is the world
                return parent, tuple(pose)
            if not told:
                break
            parent, *above = self.frames[parent]
            pose = compose(above, pose)
        return None, tuple(pose)

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


def _placed(frame, R_body, p_body):
    """World pose of a link: position and quaternion."""
    if frame.body == WORLD:
        return frame.p, matrix_to_quat(frame.R)
    R = R_body[frame.body]
    return p_body[frame.body] + R @ frame.p, matrix_to_quat(R @ frame.R)


def compose(outer: Any, inner: Any) -> Any:
    """Pose of a frame whose pose ``inner`` is told in one that is at ``outer``."""
    R = quat_to_matrix(outer[1])
    return outer[0] + R @ inner[0], matrix_to_quat(R @ quat_to_matrix(inner[1]))


def first_name(data: Any) -> Any:
    """The first joint of joint states in CDR bytes, by which one publisher's are told from another's; None of none."""
    try:
        order = "<" if data[1] & 1 else ">"
        (length,) = struct.unpack_from(order + "I", data, 12)  # behind the encapsulation and the stamp: frame_id
        names = 16 + -(-length // 4) * 4
        count, length = struct.unpack_from(order + "II", data, names)
        return (count, bytes(data[names + 8 : names + 8 + length])) if count else None
    except (struct.error, IndexError):  # no message
        return None


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

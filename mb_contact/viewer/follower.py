# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A node that somebody else runs, seen through its topics."""

import threading
import time
from collections.abc import Sequence
from functools import partial

from mb_contact.errors import CommunicationError
from mb_contact.model.world import World
from mb_contact.ros.backend import create_node, spin_safely
from mb_contact.ros.qos import LATCHED, QoS
from mb_contact.viewer.drawing import Drawing
from mb_contact.viewer.snapshot import FRAME_SECONDS, Snapshot
from mb_contact.viewer.source import Source
from mb_contact.viewer.topics import CONTACTS, MARKERS, STATES, STATUS, TF, Topics

TOPICS = (("joint_states", STATES), ("contacts", CONTACTS), ("certificate", STATUS))
NEWEST = QoS(depth=1, reliable=False)  #: only the newest counts; hears writers of either reliability
ALL = QoS(depth=100, reliable=False)  #: joint_states and /tf have several writers
PACE_SECONDS = 0.5  #: wall time over which the pace is measured
QUIET_SECONDS = 0.5  #: wall time after which a frame is drawn again though nothing came: its age has changed
TELL_SECONDS = 10.0  #: wall time between two lines about messages that are skipped
SAME_CLOCK = 3600.0  #: stamps as near to the wall clock as that are of the wall clock [s]


class Follower(Source):
    """Snapshots of a running node.

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

    def __init__(
        self,
        world: World,
        drawing: Drawing,
        backend: str = "auto",
        namespace: str = "",
        node_name: str = "mb_contact",
        ros_args: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.joint_names = tuple(world.joint_names)
        self._clock_mark, self._pace = (0.0, time.perf_counter()), None
        self._news, self._heard = True, time.perf_counter()
        self._next, self._stop = 0.0, False
        self._message = f"waiting for the node {node_name}"
        self.node = create_node("mb_contact_view", backend, list(ros_args), namespace)
        prefix = self.node.declare_parameter("frame_prefix", "").value
        warn = partial(self.node.get_logger().warning, throttle_duration_sec=TELL_SECONDS)
        self.topics = Topics(world, drawing, prefix, warn)
        self._subscribe()
        self._clients = {
            name: self.node.create_client(f"std_srvs/srv/{kind}", f"{node_name}/{name}")
            for name, kind in (("pause", "SetBool"), ("step", "Trigger"), ("reset", "Trigger"))
        }
        self._thread = threading.Thread(target=self._spin, name="ros executor", daemon=True)

    def _subscribe(self):
        keep, hear = self.topics.keep, self.topics.hear
        wanted = [(topic, kind, keep, ALL if kind == STATES else NEWEST) for topic, kind in TOPICS]
        wanted += [("object_markers", MARKERS, hear, LATCHED)]
        wanted += [("/tf", TF, hear, ALL), ("/tf_static", TF, hear, LATCHED)]
        for topic, kind, take, qos in wanted:
            try:
                self.node.create_subscription(kind, topic, partial(self._on, take, kind), qos, raw=True)
            except CommunicationError as error:  # ros_gz_interfaces and visualization_msgs need not be installed
                self.node.get_logger().warning(f"{topic} is not shown: {error}")

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
            self._message, self._news = f"the node does not offer {name}: is it running?", True
            return
        message = (getattr(client, "Request", None) or client.srv_type.Request)()  # ours, or rclpy's
        for field, value in fields.items():
            setattr(message, field, value)
        client.call_async(message)
        self._message = ""

    def frame(self, timeout: float) -> Snapshot | None:
        """The next Snapshot, at most one every FRAME_SECONDS; None if nothing came within ``timeout`` seconds."""
        deadline = time.perf_counter() + timeout
        while (now := time.perf_counter()) < deadline and not self._stop:
            if now >= self._next and (self._news or now - self._next > QUIET_SECONDS):
                self._next, self._news = now + FRAME_SECONDS, False
                return self._snapshot()
            time.sleep(max(0.001, min(self._next - now, deadline - now, 0.01)))
        return None

    # --- executor thread ------------------------------------------------------------------------
    def _spin(self):
        while not self._stop:
            spin_safely(self.node, 0.1)

    def _on(self, take, kind, data):
        take(kind, data)
        self._news, self._heard = True, time.perf_counter()

    # --- the frame --------------------------------------------------------------------------------
    def _snapshot(self):
        if self.topics.newest and self._message.startswith("waiting"):
            self._message = ""
        frame = self.topics.snapshot(None, self._message)
        self._measure_pace(frame.time)
        return frame._replace(real_time_factor=self._pace, lag=self._lag(frame.time) if self.topics.newest else None)

    def _lag(self, seconds):
        """Seconds since what is drawn was so, where it is stamped by the wall clock; else since it was heard."""
        behind = time.time() - seconds
        return behind if abs(behind) < SAME_CLOCK else time.perf_counter() - self._heard

    def _measure_pace(self, seconds):
        """Twice a second: how fast the time of the joint states runs, None while it stands still."""
        since, wall = self._clock_mark
        now = time.perf_counter()
        if seconds < since or now - wall >= PACE_SECONDS:
            self._pace = (seconds - since) / (now - wall) if seconds > since else None
            self._clock_mark = seconds, now

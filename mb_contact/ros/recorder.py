# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Record what the node publishes into one MCAP file that ``ros2 bag`` and Foxglove read.

rosbags writes an MCAP bag as a folder (file and ``metadata.yaml``); the MCAP file inside carries
its own index, schemas and metadata, so it is moved out and the folder removed at the end.
Messages are stamped with simulated time.  A thread of its own writes: a slow disk does not
disturb the physics.
"""

import contextlib
import queue
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.cdr import Template
from mb_contact.ros.embedded.messages import message_class, serialize, type_store
from mb_contact.ros.interventions import EVENTS, encode
from mb_contact.ros.qos import STATE
from mb_contact.ros.replay import APPLIED

_EVERY = 0.02  #: seconds between two times of writing: each time takes Python's lock from the physics
_ARRAY = "std_msgs/msg/Float64MultiArray"
_BULKY = ("operational_space/", "mass_matrix", "nonlinear_effects")
_BULKY_TYPES = tuple(f"sensor_msgs/msg/{name}" for name in ("Image", "CameraInfo", "PointCloud2"))


class Recorder:
    """Writes messages (CDR bytes) to an MCAP file.

    Parameters
    ----------
    path : path
        The ``.mcap`` file; replaced if it exists.
    clock : callable
        Returns the time [ns] that messages get.

    Raises
    ------
    CommunicationError
        The file cannot be written.
    """

    def __init__(self, path: str, clock: Any) -> None:
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer
        except ImportError as error:
            raise CommunicationError(f"recording needs the 'rosbags' package ({error}): pip install rosbags") from None

        self.path = Path(path)
        self._clock = clock
        self._folder = self.path.with_name(f".{self.path.name}.part")
        self._connections = {}
        self._queue, self._closing = queue.SimpleQueue(), threading.Event()
        self._applied_templates = {}  #: by bytes of efforts
        self._error = None
        self.count = 0
        if self.path.suffix != ".mcap":
            raise CommunicationError(f"cannot record to '{self.path}': the file name must end in .mcap")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._writer: Any = Writer(self._folder, version=9, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
        except OSError as error:
            raise CommunicationError(f"cannot record to '{self.path}': {error}") from None
        self._thread = threading.Thread(target=self._work, name="mcap recorder", daemon=True)
        self._thread.start()

    def add_topic(self, topic: str, type_name: str, qos: Any = STATE) -> Any:
        """Return the function that records CDR bytes of this topic."""
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(
                topic, type_name, typestore=type_store(), offered_qos_profiles=[_offered(qos)]
            )
        connection = self._connections[topic]

        def record(data):
            self._queue.put((connection, self._clock(), data))

        return record

    def attach(self, simulator_node: Any, bulky: bool = False) -> None:
        """Record what a :class:`SimulatorNode` publishes and the commands it receives.

        Parameters
        ----------
        bulky : bool
            Also the model arrays (operational space, mass matrix) and what cameras see: megabytes a second.
        """
        for publisher in simulator_node.outputs.publishers:
            small = not any(part in publisher.topic_name for part in _BULKY)
            if bulky or small and publisher.type_name not in _BULKY_TYPES:
                qos = getattr(publisher, "qos", STATE)
                publisher.tap = self.add_topic(publisher.topic_name, publisher.type_name, qos)
        for topic, type_name in simulator_node.inputs.types.items():
            simulator_node.inputs.copy_to(topic, self.add_topic(topic, type_name))
        simulator_node.applied = self._applied(simulator_node.node)
        simulator_node.happened = self._happened(simulator_node.node)
        simulator_node.outputs.describe()
        self._name_scene(simulator_node)

    def _name_scene(self, simulator_node):
        """Say which file the scene is from: ``mb-contact view FILE.mcap`` draws it."""
        path = getattr(simulator_node.simulator.scene, "path", None)
        if path is not None:
            type_name = "std_msgs/msg/String"
            record = self.add_topic(f"{simulator_node.node.get_fully_qualified_name()}/scene", type_name)
            record(serialize(message_class(type_name)(data=str(Path(path).resolve())), type_name))

    def _happened(self, node):
        """Return the function that records what acts beside efforts, for a replay."""
        type_name = "std_msgs/msg/String"
        record = self.add_topic(f"{node.get_fully_qualified_name()}/{EVENTS}", type_name)

        def keep(stamp, kind, fields):
            record(serialize(message_class(type_name)(data=encode(stamp, kind, fields)), type_name))

        return keep

    def _applied(self, node):
        """Return the function that records the efforts that act whenever they change, for a replay."""
        topic = f"{node.get_fully_qualified_name()}/{APPLIED}"
        self.add_topic(topic, _ARRAY)
        connection, last = self._connections[topic], None

        def record(stamp, effort):
            nonlocal last
            now = b"" if effort is None else effort.tobytes()
            same, last = now == last, now
            if effort is not None and (same or not now):  # no efforts mark a reset, a scene without joints has none
                return
            self._queue.put((connection, stamp, (stamp, now)))  # encoded by the writing thread

        return record

    def _work(self):
        while (item := self._queue.get()) is not None:
            try:
                connection, stamp, data = item
                self._writer.write(connection, stamp, self._applied_message(*data) if type(data) is tuple else data)
                self.count += 1
            except Exception as error:  # a full disk must not end the simulation; close() reports it
                self._error = error
                return
            if self._queue.empty():
                self._closing.wait(_EVERY)

    def _applied_message(self, stamp, effort):
        """CDR bytes of (sec, nanosec, efforts); without efforts a reset."""
        template = self._applied_templates.get(len(effort))
        if template is None:
            message = message_class(_ARRAY)()
            message.layout.data_offset = 2
            message.data = np.zeros(2 + len(effort) // 8)
            template = self._applied_templates[len(effort)] = Template(message, _ARRAY)
        data = template.view("data")
        data[:2], data[2:] = divmod(stamp, 1_000_000_000), np.frombuffer(effort)
        return bytes(template.data[: template.size])

    def close(self) -> None:
        """Finish the file.

        Raises
        ------
        CommunicationError
            Writing failed; what was written so far is lost.
        """
        if self._writer is None:
            return
        self._queue.put(None)
        self._closing.set()
        self._thread.join()
        writer, self._writer = self._writer, None
        try:
            if self._error is not None:
                raise self._error
            writer.close()
            next(self._folder.glob("*.mcap")).replace(self.path)
        except Exception as error:
            with contextlib.suppress(Exception):
                writer.abort()
            raise CommunicationError(f"the recording '{self.path}' failed: {error}") from None
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _offered(qos):
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    forever = QosTime(9223372036, 854775807)
    return Qos(
        QosHistory.KEEP_LAST,
        qos.depth,
        QosReliability.RELIABLE if qos.reliable else QosReliability.BEST_EFFORT,
        QosDurability.TRANSIENT_LOCAL if qos.latched else QosDurability.VOLATILE,
        forever,
        forever,
        QosLiveliness.AUTOMATIC,
        forever,
        False,
    )

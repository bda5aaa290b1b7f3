# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What rviz2 shows of a scene: a display for each robot, wrench and sensor that the node tells of.

Topics are relative to rviz's namespace.  No ROS 2 is needed here.
"""

import re
import struct
import tempfile
from typing import Any

import numpy as np
import yaml

from mb_contact.core.rays.light import HORIZON, ZENITH
from mb_contact.ros.names import description_topics, sanitise
from mb_contact.ros.outputs.sensors import TOPICS, topic_name
from mb_contact.ros.outputs.sizes import scene_box, scene_size
from mb_contact.ros.qos import LATCHED, STATE, QoS
from mb_contact.simulation.arrows import POINT, SHAFT, ArrowScale, typical_weight

WINDOW, PANEL = (1500, 960), 340  #: window, width of the panels (the least that Displays takes) [pixels]
FRAME, MOST = 90, 0xFFFFFF  #: height of menu, tools and status line; Qt's greatest size [pixels]
SKY = "; ".join(str(round(127.5 * (a + b))) for a, b in zip(HORIZON, ZENITH))  #: of one colour, the mean of the view's
LINES = "110; 116; 116"  #: of the ground
NAMED = 4  #: of as many objects at most axes and names are shown; those of more hide each other
TOOLS = ("MoveCamera", "Select", "FocusCamera", "Measure")


def configuration(scene: Any, world: Any, frame_prefix: str = "", world_frame: str = "world") -> dict[str, Any]:
    """The configuration of rviz2 for a node that runs ``scene``, of which ``world`` is made.

    Robots are drawn from their descriptions with ``frame_prefix``, objects from object_markers; wrenches, depth images
    and coloured clouds can be switched on.
    """
    low, high = scene_box(world)
    size = scene_size(world)
    floor = float(low[2]) if scene.ground is None else scene.ground.height
    cell = 10.0 ** np.floor(np.log10(size)) / 4.0
    displays = [
        _display("Grid", "Ground", {"Cell Size": float(cell), "Plane Cell Count": 40, "Alpha": 0.4, "Color": LINES,
                                    "Offset": {"X": 0.0, "Y": 0.0, "Z": floor}, "Reference Frame": world_frame}),
        *_robots(world, frame_prefix),
        _display("MarkerArray", "Objects", _topic("object_markers", STATE)),  # they come again every second
        _display("MarkerArray", "Contact points and forces", _topic("contact_markers", STATE, depth=1)),
        *_wrenches(scene, world, size),
        *_sensors(scene, size),
        _frames(world, frame_prefix, size),
    ]  # fmt: skip
    return {
        "Panels": [{"Class": "rviz_common/Displays", "Name": "Displays", "Property Tree Widget": {"Expanded": []}}],
        "Visualization Manager": {
            "Class": "",
            "Displays": displays,
            "Global Options": {"Background Color": SKY, "Fixed Frame": world_frame, "Frame Rate": 30},
            "Tools": [{"Class": f"rviz_default_plugins/{tool}"} for tool in TOOLS],
            "Views": {"Current": _view(0.5 * (low + high), size, world_frame)},
        },
        "Window Geometry": {
            "Width": WINDOW[0], "Height": WINDOW[1], "Hide Left Dock": False, "Hide Right Dock": False,
            "QMainWindow State": _docks(displays),
        },
    }  # fmt: skip


def _docks(displays):
    """Where panels stand, one below the other at the left, in the hexadecimal digits of Qt's QMainWindow::saveState.

    Without it Qt gives each panel the room that it would like, and what remains to the scene.  Every image has a panel,
    and is off while that is hidden.
    """
    images = [(d["Name"], d["Enabled"]) for d in displays if d["Class"].endswith("/Image")]
    panels, height, pack = [("Displays", True), *images], WINDOW[1] - FRAME, struct.pack
    each = height // sum(shown for _, shown in panels)
    left = [_text(name) + pack(">B4i", shown, 0, each, PANEL // 4, MOST) for name, shown in panels]
    area = pack(">4iBBi", 1, 0, PANEL, height, 0xFC, 2, len(panels))  # one area: at the left, from top to bottom
    centre = pack(">2i4i", WINDOW[0] - PANEL, height, 4, 4, 8, 8)  # what remains, and whose the corners are
    tools = pack(">B3i", 0xFC, 1, 2, 1) + _text("Tools") + pack(">B4i", 1, 0, -1, 0, 0)  # one line of them, on top
    parts = [pack(">2iB", 0xFF, 0, 0xFD), area, *(b"\xfb" + panel for panel in left), centre, tools]
    return b"".join(parts).hex()


def _text(text):
    """A string as Qt writes it."""
    letters = text.encode("utf-16-be")
    return struct.pack(">i", len(letters)) + letters


def write_configuration(scene: Any, world: Any, frame_prefix: str = "") -> str:
    """Write the configuration into a file of its own and return its path."""
    with tempfile.NamedTemporaryFile("w", prefix="mb_contact_", suffix=".rviz", delete=False) as stream:
        yaml.safe_dump(configuration(scene, world, frame_prefix), stream, sort_keys=False)
    return stream.name


def _display(kind, name, values, enabled=True):
    return {"Class": f"rviz_default_plugins/{kind}", "Name": name, "Enabled": enabled, **values}


def _topic(name, qos: QoS, key="Topic", depth=5):
    """A topic as a display has it; ``qos`` is the node's, and a latched one is asked for as such."""
    return {key: {
        "Value": name, "Depth": depth, "History Policy": "Keep Last",
        "Reliability Policy": "Reliable" if qos.reliable else "Best Effort",
        "Durability Policy": "Transient Local" if qos.latched else "Volatile",
    }}  # fmt: skip


def _robots(world, frame_prefix):
    """rviz itself puts a slash behind the prefix."""
    return [
        _display("RobotModel", f"Robot {model.name}", {
            "Description Source": "Topic", **_topic(topic, LATCHED, "Description Topic"),
            "TF Prefix": frame_prefix.rstrip("/"), "Visual Enabled": True, "Collision Enabled": False,
        })
        for topic, model in description_topics(world.robot_models)
    ]  # fmt: skip


def _wrenches(scene, world, size):
    """Off to begin with: contact_markers show the same forces one by one."""
    scale = ArrowScale(size, typical_weight(world)).scale
    arrows = {"Force Arrow Scale": scale, "Torque Arrow Scale": 10.0 * scale, "Arrow Width": SHAFT * POINT * size}
    topics = [(link, f"contact_wrenches/{sanitise(link)}") for link in scene.contact_wrench_links]
    told = _told(scene, "geometry_msgs/msg/WrenchStamped")
    topics += [(sensor.name, topic_name(sensor, kind)) for sensor, kind in told]
    found = [_display("Wrench", name, {**_topic(topic, STATE), **arrows}) for name, topic in topics]
    group = {"Class": "rviz_common/Group", "Name": "Wrenches", "Enabled": False, "Displays": found}
    return [group] if found else []


def _told(scene, type_name):
    """(sensor, its topic of this type) of all sensors."""
    every = [(sensor, kind) for sensor in scene.sensors for kind in TOPICS[sensor.kind](sensor)]
    return [(sensor, kind) for sensor, kind in every if type_name == kind.TYPE]


def _sensors(scene, size):
    """Images, scans and clouds; of a camera with colours the image alone is on: its cloud takes most of a core."""
    found = []
    for sensor, kind in _told(scene, "sensor_msgs/msg/Image"):
        on = sensor.kind == "camera" and (kind.NAME == "/image" or not _coloured(sensor))
        values = {**_topic(topic_name(sensor, kind), kind.QOS), "Normalize Range": True}
        found.append(_display("Image", f"{sensor.name} {kind.NAME.strip('/')}", values, on))
    points = {"Style": "Flat Squares", "Size (m)": 0.4 * POINT * size, "Color Transformer": "FlatColor"}
    for display, colour in (("LaserScan", "255; 80; 60"), ("PointCloud2", "90; 200; 255")):
        for sensor, kind in _told(scene, f"sensor_msgs/msg/{display}"):
            values = {**_topic(topic_name(sensor, kind), kind.QOS), **points, "Color": colour}
            if _coloured(sensor):
                values["Color Transformer"] = "RGB8"
            name = f"{sensor.name} {'scan' if display == 'LaserScan' else 'points'}"
            found.append(_display(display, name, values, sensor.kind == "lidar"))
    return found


def _coloured(sensor):
    return sensor.image is not None and sensor.image.colour


def _frames(world, frame_prefix, size):
    """Axes and names of the objects alone; the whitelist is a regular expression."""
    names = "|".join(re.escape(frame_prefix + name) for name in world.objects)
    few = 0 < len(world.objects) <= NAMED
    return _display("TF", "Frames of the objects", {
        "Show Names": True, "Show Arrows": False, "Marker Scale": 0.5 * size,
        "Filter (whitelist)": f"^({names})$",
    }, few)  # fmt: skip


def _view(centre, size, frame):
    focus = dict(zip("XYZ", np.round(centre, 3).tolist()))
    return {
        "Class": "rviz_default_plugins/Orbit", "Name": "Current View", "Target Frame": frame,
        "Distance": round(1.4 * size, 3), "Yaw": 0.7, "Pitch": 0.4, "Focal Point": focus,
        "Near Clip Distance": round(0.01 * size, 4),
    }  # fmt: skip

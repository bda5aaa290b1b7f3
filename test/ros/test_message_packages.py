# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Message packages that no wheel brings, as rosidl's wheels make them; a node where they, or rosbags, are missing.

Covers ros/embedded/definitions.py, ros/embedded/planning_definitions.py, ros/embedded/simulation_definitions.py.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="no rclpy here")

import mb_contact.ros.message_packages as packages  # noqa: E402
from mb_contact.errors import CommunicationError  # noqa: E402
from mb_contact.ros.embedded.messages import deserialize, fields_of, message_class, serialize, type_hash  # noqa: E402
from paths import ROOT  # noqa: E402
from ros.support import HAS_RCLPY, REAL, TIMEOUT, Session  # noqa: E402

MADE = [
    f"{package}/{name}" for package, texts in packages.interfaces().items() for name in texts
    if importlib.util.find_spec(package)
]  # fmt: skip
MESSAGES = [name for name in MADE if "/msg/" in name]


@pytest.mark.skipif(not HAS_RCLPY, reason="no tf2_msgs here: python -m mb_contact.ros.message_packages")
@pytest.mark.skipif("AMENT_PREFIX_PATH" in os.environ, reason="a sourced ROS 2 has what its owner installed")
def test_the_packages_are_there():
    wanted = {"tf2_msgs", "simulation_interfaces", "ros_gz_interfaces", "moveit_msgs"}
    assert wanted <= {name.split("/")[0] for name in MADE}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_encoded_as_the_embedded_backend_encodes_it(name):
    """Fields in the same order and of the same types; a type that differs would have another hash."""
    from rclpy.serialization import deserialize_message, serialize_message

    from mb_contact.ros.rclpy_backend import message_class as class_of_rclpy

    ours, kind = message_class(name)(), class_of_rclpy(name)
    assert list(kind.get_fields_and_field_types()) == [field for field, _ in fields_of(name)]
    data = serialize(ours, name)
    back = bytes(serialize_message(deserialize_message(data, kind)))[: len(data)]  # it leaves bytes behind the end
    assert serialize(deserialize(back, name), name) == data  # and between numbers


@pytest.mark.skipif(not HAS_RCLPY, reason="no tf2_msgs here: python -m mb_contact.ros.message_packages")
def test_their_hashes_are_those_of_ros():
    """As a publisher announces them."""
    code = (
        "import sys\nfrom mb_contact.ros import create_node\nnode = create_node('hashes', 'rclpy')\n"
        "for number, name in enumerate(sys.argv[1:]):\n    node.create_publisher(name, f't{number}', 1)\n"
        "    (info,) = node.get_publishers_info_by_topic(f't{number}')\n"
        "    print(name, 'RIHS01_' + bytes(info.topic_type_hash.value).hex())\nnode.destroy_node()\n"
    )
    with Session(**REAL) as ros:
        process = ros.process(sys.executable, "-c", code, *MESSAGES)
        assert process.wait() == 0, process.output()
    assert dict(line.split() for line in process.lines) == {name: type_hash(name) for name in MESSAGES}


def test_what_is_missing_for_making_them_is_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(packages, "missing", lambda folder: {"tf2_msgs": packages.interfaces()["tf2_msgs"]})
    monkeypatch.setenv("CC", "no-such-compiler")
    if all(map(importlib.util.find_spec, ("rosidl_generator_py", "rosidl_typesupport_fastrtps_c"))):
        with pytest.raises(CommunicationError, match="no C compiler 'no-such-compiler' here: install one"):
            packages.make(tmp_path, tmp_path)
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    assert packages.main() == 2
    assert "pip install 'mb_contact[ros]'" in capsys.readouterr().err


WITHOUT = """
import sys
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
sys.meta_path.insert(0, Gone())
from mb_contact.ros.main import main
sys.exit(main(sys.argv[1:]))
"""


def run_without(*gone, arguments=()):
    """The node on rclpy for a moment, in a process that lacks packages."""
    scene = ROOT / "config" / "box_on_table.yaml"
    with Session(**REAL) as ros:
        code = f"GONE = {gone!r}\n{WITHOUT}"
        command = [sys.executable, "-c", code, str(scene), "--backend", "rclpy", "--duration", "0.1", *arguments]
        return subprocess.run(command, env=ros.env, capture_output=True, text=True, timeout=10 * TIMEOUT)


def test_a_node_on_rclpy_needs_rosbags_for_recording_alone(tmp_path):
    done = run_without("rosbags", "cyclonedds")
    assert done.returncode == 0 and "simulated 0.100 s" in done.stderr, done.stderr
    done = run_without("rosbags", arguments=("--record", str(tmp_path / "a.mcap")))
    assert done.returncode == 2 and done.stderr.count("recording needs the 'rosbags' package") == 1, done.stderr


def test_a_node_on_rclpy_says_once_what_it_does_not_publish_for_want_of_messages():
    gone = ("tf2_msgs", "ros_gz_interfaces", "moveit_msgs", "simulation_interfaces")
    done = run_without(*gone)
    assert done.returncode == 0 and "simulated 0.100 s" in done.stderr, done.stderr
    for topics in ("/tf and /tf_static", "contacts", "planning_scene"):
        (line,) = [text for text in done.stderr.splitlines() if text.endswith(f"there is nothing on {topics}")]
        assert "no type '" in line and "install the package " in line
    assert "no simulation_interfaces here" in done.stderr


def test_auto_is_rclpy_in_a_sourced_ros_alone():
    """Wheels of rclpy beside us do not change what a user has had without them."""
    code = "import os, sys\nos.environ['AMENT_PREFIX_PATH'] = sys.argv[1]\n"
    code += "from mb_contact.ros import create_node\nprint(create_node('n').backend)"
    with Session(**REAL) as ros:
        for prefix, backend in (("", "embedded"), (os.environ.get("AMENT_PREFIX_PATH") or sys.prefix, "rclpy")):
            ros.process(sys.executable, "-c", code, prefix).wait_for(backend)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Demonstrations: two processes over DDS; how they end when something goes wrong.

Covers ros/children.py, viewer/process.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paths import ROOT
from ros.support import free_domain

SCENE = ROOT / "config" / "dual_arm_lift.yaml"


def demo(out, *arguments, name="lift"):
    """Start a demonstration in a ROS domain of its own."""
    environment = dict(os.environ, ROS_DOMAIN_ID=str(free_domain()), PYTHONUNBUFFERED="1")
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    command = [
        sys.executable,
        "-m",
        "mb_contact",
        "demo",
        name,
        "--backend",
        "embedded",
        "--out",
        str(out),
    ]
    return subprocess.Popen(
        [*command, "--as-fast-as-possible", *arguments], env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def finish(process, timeout=200):
    """Wait for the end; exit code, output and error text."""
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        if process.poll() is None:
            process.kill()
    return process.returncode, out, err


def wait_for(process, text):
    for line in process.stdout:
        if text in line:
            return
    pytest.fail(f"the demonstration ended without saying '{text}': {process.stderr.read()}")


def children_of(process):
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not path.exists():
        pytest.skip("no /proc/<pid>/task/<pid>/children here")
    return [int(number) for number in path.read_text().split()]


def test_lift_over_dds(tmp_path):
    code, out, err = finish(demo(tmp_path))
    assert code == 0, out + err
    assert "The box was lifted, held and set down." in out
    for what in (
        "slip in the hands",
        "real-time factor",
        "worst complementarity",
        "steps per solver",
        "0 lost",
    ):
        assert what in out
    assert "Traceback" not in err
    assert (tmp_path / "lift.png").stat().st_size > 20_000
    check_bag(tmp_path / "lift.mcap")


@pytest.mark.slow
def test_the_wheel_over_dds(tmp_path):
    code, out, err = finish(demo(tmp_path, name="wheel"), timeout=600)
    assert code == 0, out + err
    assert "The wheel was taken off, carried, set down, carried back and put on." in out and "0 lost" in out
    assert (tmp_path / "wheel.png").stat().st_size > 20_000


def check_bag(path):
    """Decode it with rosbags alone."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    from_store = get_typestore(Stores.ROS2_JAZZY)
    heights, stamps, commands = [], [], 0
    with AnyReader([path], default_typestore=from_store) as reader:
        topics = {connection.topic for connection in reader.connections}
        assert {
            "/joint_states",
            "/joint_commands",
            "/tf",
            "/clock",
            "/certificate",
            "/robot_description",
        } <= topics
        assert "/contact_wrenches/left_finger_1" in topics
        for connection, _, data in reader.messages():
            commands += connection.topic == "/joint_commands"
            if connection.topic == "/joint_states":
                stamp = reader.deserialize(data, connection.msgtype).header.stamp
                stamps.append(stamp.sec + 1e-9 * stamp.nanosec)
            elif connection.topic == "/tf":
                message = reader.deserialize(data, connection.msgtype)
                heights.append(message.transforms[0].transform.translation.z)
    assert max(heights) - heights[0] >= 0.2
    steps = np.unique(stamps)
    np.testing.assert_allclose(np.diff(steps), 1e-3, atol=1e-9)  # every state, none lost
    assert commands >= len(steps) - 1


@pytest.mark.parametrize("text", ["is up", "controller: squeeze"])
def test_interrupt_ends_both_processes(tmp_path, text):
    process = demo(tmp_path)
    wait_for(process, text)
    children = children_of(process)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process, 60)
    assert code == 130
    assert "interrupted" in out and "Traceback" not in out + err
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_a_dying_controller_fails_the_lift_in_one_line(tmp_path):
    script = tmp_path / "controller.py"
    script.write_text("import sys\nprint('controller: reach', flush=True)\nsys.exit(7)\n", encoding="utf-8")
    code, out, err = finish(demo(tmp_path, "--controller", str(script)), 60)
    assert code == 1
    (line,) = [line for line in err.splitlines() if "mb-contact: error" in line]
    assert "the controller ended with exit code 7" in line and "Traceback" not in err

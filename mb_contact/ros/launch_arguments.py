# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The arguments that the launch files take, and the scene around anybody's robot; no ROS 2 is needed here."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

TRUTHS = ("true", "false", "1", "0")

#: name -> (default, text) of every argument that some launch file takes
ARGUMENTS = {
    "scene": ("", "scene file (YAML) or URDF to simulate, a path or package://"),
    "urdf": ("", "robot (URDF or xacro) to simulate on a ground plane, instead of a scene"),
    "base": ("weld", "with urdf: weld (fixed to the world) or free (a floating base)"),
    "height": ("0.0", "with urdf: height of the robot's root above the ground [m]"),
    "robot": ("", "robot with its ros2_control part (URDF or xacro)"),
    "controllers": ("", "parameters of the controllers (YAML)"),
    "controller": ("false", "start the example controller"),
    "nuts": ("false", "the wheel has its lug nuts on, and the controller turns one off"),
    "lockstep": ("auto", "wait for one command per control period: true, false; auto: with the controller"),
    "real_time_factor": ("1.0", "pace of simulated time; 0.0: as fast as possible"),
    "clock_rate": ("1000.0", "rate of /clock [Hz]; 0.0: none, for every node but one of a domain"),
    "paused": ("false", "begin paused (go on with the service ~/pause)"),
    "duration": ("", "simulated seconds after which everything ends; empty: until Ctrl-C"),
    "params_file": ("", "YAML file with parameters of the node; the arguments here win over it"),
    "rviz": ("false", "start rviz2 (needs the package rviz2)"),
    "rviz_config": ("", "what rviz2 shows; empty: the scene's robots, objects, contacts, wrenches and sensors"),
    "view": ("false", "show the node in the browser too (needs viser: pip install 'mb_contact[viewer]')"),
    "record": ("", "MCAP file to record into"),
    "state_publisher": ("true", "robot_state_publisher gives the robots' links to /tf; without it the node does"),
    "namespace": ("", "namespace of the nodes"),
    "frame_prefix": ("", "in front of all frames but the world; simulators of one domain need different ones"),
    "backend": (
        "auto",
        "how the simulator speaks: rclpy, or embedded (Cyclone DDS from PyPI, faster); auto: embedded where "
        "RMW_IMPLEMENTATION is rmw_cyclonedds_cpp and the wheel is installed",
    ),
}


def chosen_backend(asked: str) -> Any:
    """The backend of a launched simulator: embedded only where ROS 2's own processes can call its services.

    Raises
    ------
    RuntimeError
        There is no such backend.
    """
    if asked not in ("auto", "rclpy", "embedded"):
        raise RuntimeError(f"backend:={asked} must be auto, rclpy or embedded")
    if asked != "auto":
        return asked
    same_vendor = os.environ.get("RMW_IMPLEMENTATION") == "rmw_cyclonedds_cpp"
    return "embedded" if same_vendor and importlib.util.find_spec("cyclonedds") else "rclpy"


def write_scene(urdf: str, base: str = "weld", height: float = 0.0) -> Any:
    """Write a scene of one robot on a ground plane and return its path.

    Raises
    ------
    RuntimeError
        ``base`` is neither weld nor free.
    """
    if base not in ("weld", "free"):
        raise RuntimeError(f"base:={base} must be weld or free")
    urdf = urdf if urdf.startswith("package://") else str(Path(urdf).absolute())
    model = {"name": "robot", "urdf": urdf, "base": base, "pose": {"position": [0.0, 0.0, height]}}
    scene = {"models": [model], "ground": {"height": 0.0, "material": "ground"}}
    scene["materials"] = {"ground": {"friction": 0.8}}
    with tempfile.NamedTemporaryFile("w", prefix="mb_contact_", suffix=".yaml", delete=False) as stream:
        yaml.safe_dump(scene, stream)
    return stream.name


def has_joints(urdf: str) -> bool:
    """Whether robot_state_publisher has something to tell of a robot: it leaves floating joints to others."""
    kinds = {joint.get("type") for joint in ElementTree.fromstring(urdf.encode()).findall("joint")}
    return bool(kinds - {"floating"})


def write_rviz(scene: str, frame_prefix: str) -> str:
    """Write what rviz2 shows of a scene into a file of its own and return its path."""
    from mb_contact.model.scene import load_scene
    from mb_contact.model.world import build_world
    from mb_contact.ros.rviz import write_configuration

    loaded = load_scene(scene)
    return write_configuration(loaded, build_world(loaded), frame_prefix)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The arguments that the launch files take, and the scene around anybody's robot; no ROS 2 is needed here."""

import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from mb_contact.keys.declaration import declared
from mb_contact.ros.options import BACKENDS, DESCRIPTIONS, NodeOptions, RunOptions

TRUTHS = ("true", "false", "1", "0")

#: name -> (default, text) of the arguments that are no options of the node
OTHERS = {
    "scene": ("", "scene file (YAML), URDF or SDF to simulate, a path or package://"),
    "urdf": ("", "robot (URDF, xacro or SDF) to simulate on a ground plane, instead of a scene"),
    "base": ("weld", "with urdf: weld (fixed to the world) or free (a floating base)"),
    "height": ("0.0", "with urdf: height of the robot's root above the ground [m]"),
    "robot": ("", "robot with its ros2_control part (URDF or xacro)"),
    "controllers": ("", "parameters of the controllers (YAML)"),
    "controller": ("false", "start the example controller"),
    "nuts": ("false", "the wheel has its lug nuts on, and the controller turns one off"),
    "params_file": ("", "YAML file with parameters of the node; the arguments here win over it"),
    "rviz": ("false", "start rviz2 (needs the package rviz2)"),
    "rviz_config": ("", "what rviz2 shows; empty: the scene's robots, objects, contacts, wrenches and sensors"),
    "view": ("false", "show the node in the browser too (needs viser: pip install 'mb_contact[viewer]')"),
    "state_publisher": ("true", "robot_state_publisher gives the robots' links to /tf; without it the node does"),
}


def _of_options():
    """(name, (default, text)) of the options that launch files take."""
    for options in (NodeOptions, RunOptions):
        for about, _, usual in declared(options).values():
            text = "" if usual is None else str(usual).lower() if isinstance(usual, bool) else str(usual)
            if about.launch:
                yield about.launch, about.launched or (text, about.told)


#: name -> (default, text) of every argument that some launch file takes
ARGUMENTS = {**OTHERS, **dict(_of_options())}


def chosen_backend(asked: str) -> Any:
    """The backend of a launched simulator: embedded only where ROS 2's own processes can call its services.

    Raises
    ------
    RuntimeError
        There is no such backend.
    """
    if asked not in BACKENDS:
        raise RuntimeError(f"backend:={asked} must be auto, rclpy or embedded")
    if asked != "auto":
        return asked
    wheel = {"rmw_cyclonedds_cpp": "cyclonedds", "rmw_zenoh_cpp": "zenoh"}.get(os.environ.get("RMW_IMPLEMENTATION", ""))
    return "embedded" if wheel and importlib.util.find_spec(wheel) else "rclpy"


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


def parameters_of(text_of: Callable[[str], str]) -> dict[str, Any]:
    """The node's parameters out of the arguments of a launch file; what is empty is left to the parameter file.

    Parameters
    ----------
    text_of : callable
        The text of an argument, by name.

    Raises
    ------
    RuntimeError
        A text is not what the parameter is.
    """
    texts = {name: text_of(about.launch) for name, about in DESCRIPTIONS.items() if about.launch}
    given, usual = {name: text for name, text in texts.items() if text}, NodeOptions()
    return {name: as_parameter(DESCRIPTIONS[name].launch, text, getattr(usual, name)) for name, text in given.items()}


def as_parameter(name: str, text: str, usual: Any) -> Any:
    """The value of an argument that is what ``usual`` is: true or false, a number or a text.

    Raises
    ------
    RuntimeError
        It is none.
    """
    if isinstance(usual, bool):
        if text.lower() not in TRUTHS:
            raise RuntimeError(f"{name}:={text} must be true or false")
        return text.lower() in ("true", "1")
    if isinstance(usual, str):
        return text
    try:
        return float(text)
    except ValueError:
        raise RuntimeError(f"{name}:={text} must be a number") from None

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the launch files share: their arguments, and the processes that these start.

Only launch files import this: it needs a sourced ROS 2 (launch, launch_ros).
"""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, EmitEvent, ExecuteProcess, LogInfo, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from mb_contact.model.resources import find_resource
from mb_contact.ros.launch_arguments import (
    ARGUMENTS,
    as_parameter,
    chosen_backend,
    has_joints,
    parameters_of,
    write_rviz,
    write_scene,
)

STATE_PUBLISHER = "robot_state_publisher"
_END_SECONDS = "15"  #: SIGINT to SIGTERM to SIGKILL: writers wait some seconds for readers that have gone


def declare(*names: str, **defaults: str) -> Any:
    """Return the declarations of these arguments, some with another default."""
    return [
        DeclareLaunchArgument(name, default_value=defaults.get(name, default), description=text)
        for name, (default, text) in ((name, ARGUMENTS[name]) for name in names)
    ]


def text_of(context: Any, name: str) -> Any:
    """The value of an argument; its default where the launch file does not take it."""
    return LaunchConfiguration(name, default=ARGUMENTS[name][0]).perform(context).strip()


def truth_of(context: Any, name: str) -> bool:
    """Whether an argument is true.

    Raises
    ------
    RuntimeError
        It is neither true nor false.
    """
    return bool(as_parameter(name, text_of(context, name), False))


def number_of(context: Any, name: str) -> Any:
    """An argument that is a number.

    Raises
    ------
    RuntimeError
        It is none.
    """
    return as_parameter(name, text_of(context, name), 0.0)


def scene_of(context: Any) -> Any:
    """The scene file: the one asked for, or one written around the robot of ``urdf``.

    Raises
    ------
    RuntimeError
        Neither or both are given, or ``base`` is unknown.
    """
    scene, urdf = text_of(context, "scene"), text_of(context, "urdf")
    if bool(scene) == bool(urdf):
        raise RuntimeError("give scene:=FILE.yaml or urdf:=FILE.urdf, one of them")
    return scene if scene else write_scene(urdf, text_of(context, "base"), number_of(context, "height"))


def require(*packages: str) -> None:
    """Refuse to start anything without these ROS packages.

    Raises
    ------
    RuntimeError
        Some are not installed.
    """
    missing = [name for name in packages if not has_package(name)]
    if missing:
        debian = " ".join(f"ros-$ROS_DISTRO-{name.replace('_', '-')}" for name in missing)
        raise RuntimeError(f"not installed: {', '.join(missing)}; sudo apt install {debian}")


def refuse_lockstep(context: Any) -> None:
    """For controllers that cannot answer state by state.

    Raises
    ------
    RuntimeError
        The argument ``lockstep`` is true.
    """
    if truth_of(context, "lockstep"):
        raise RuntimeError("lockstep:=true does not work with ros2_control: its commands answer no particular state")


def simulation(
    context: Any,
    scene: Any,
    controller: Sequence[str] | None = None,
    remappings: Mapping[str, str] | None = None,
    state_publisher: bool | None = None,
    parameters: Any = None,
) -> Any:
    """The processes of one simulation.

    Parameters
    ----------
    context : LaunchContext
    scene : path
    controller : list of str, optional
        Command of the example controller, started where the argument ``controller`` is true.
    remappings : dict, optional
        Of the simulator's topics.
    state_publisher : bool, optional
        Whether to start robot_state_publisher; by default as the argument says.
    parameters : dict, optional
        Further parameters of the simulator; those of ``params_file`` win over them.

    Returns
    -------
    list of launch actions
    """
    namespace, prefix = text_of(context, "namespace"), text_of(context, "frame_prefix")
    with_controller = controller is not None and truth_of(context, "controller")
    lockstep = with_controller if text_of(context, "lockstep") == "auto" else truth_of(context, "lockstep")
    simulator = _simulator(context, scene, namespace, lockstep, remappings, parameters)
    actions = [simulator, _ends_the_launch(simulator)]
    if state_publisher is False:
        pass  # the launch file starts its own
    elif _has_state_publisher(context):
        actions += _state_publishers(scene, namespace, prefix)
    elif truth_of(context, "state_publisher"):
        actions.append(LogInfo(msg=f"{STATE_PUBLISHER} is not installed: the node puts the links into /tf itself"))
    if with_controller and controller is not None:
        command = [*controller, *(["--namespace", namespace] if namespace else [])]
        name = Path(controller[1]).stem
        process = ExecuteProcess(cmd=command, name=name, output="screen", sigterm_timeout=_END_SECONDS)
        actions += [process, _ends_the_launch(process)]
    if truth_of(context, "rviz"):
        actions += _rviz(text_of(context, "rviz_config"), scene, namespace, prefix)
    if truth_of(context, "view"):
        actions.append(_web_view(scene, namespace, remappings, prefix))
    return actions


def example(script: str) -> Any:
    """The command that runs an example controller."""
    return [sys.executable, str(find_resource(f"package://mb_contact/examples/{script}"))]


def _simulator(context, scene, namespace, lockstep, remappings, further):
    arguments = [str(scene), "--backend", chosen_backend(text_of(context, "backend"))]
    for name in ("record", "duration"):
        if text_of(context, name):
            arguments += [f"--{name}", text_of(context, name)]
    chosen = {"lockstep": str(lockstep)}
    parameters = parameters_of(lambda name: chosen.get(name) or text_of(context, name))
    parameters["link_tf"] = not _has_state_publisher(context)
    file = text_of(context, "params_file")
    return Node(
        package="mb_contact",
        executable="simulator_node",
        namespace=namespace,
        arguments=arguments,
        parameters=[further or {}, *([file] if file else []), parameters],
        remappings=list((remappings or {}).items()),
        output="screen",
        sigterm_timeout=_END_SECONDS,
    )


def _ends_the_launch(process):
    done = [EmitEvent(event=Shutdown(reason="the simulation or its controller has ended"))]
    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=done))


def has_package(name: str) -> bool:
    """Whether a ROS package is installed."""
    try:
        get_package_prefix(name)
    except PackageNotFoundError:
        return False
    return True


def _has_state_publisher(context):
    return truth_of(context, "state_publisher") and has_package(STATE_PUBLISHER)


def _state_publishers(scene, namespace, prefix):
    """robot_state_publisher for each robot of the scene that has joints; the node gives single links to /tf itself.

    The node publishes the descriptions, so that each topic has one publisher.
    """
    from mb_contact.model.scene import load_scene
    from mb_contact.model.world import build_world

    name = STATE_PUBLISHER
    actions = []
    for index, model in enumerate(build_world(load_scene(scene)).robot_models):
        if not has_joints(model.urdf):
            continue
        parameters = [{"robot_description": model.urdf, "use_sim_time": True, "frame_prefix": prefix}]
        own = f"{name}_{index + 1}" if index else name
        remappings = [("robot_description", f"{own}/robot_description")]
        actions.append(
            Node(
                package=name, executable=name, name=own, namespace=namespace, parameters=parameters,
                remappings=remappings,
            )
        )  # fmt: skip
    return actions


def _rviz(config, scene, namespace, prefix):
    if not has_package("rviz2"):
        return [LogInfo(msg="rviz:=true, but rviz2 is not installed: sudo apt install ros-$ROS_DISTRO-rviz2")]
    actions = []
    if prefix and not prefix.endswith("/"):
        actions.append(LogInfo(msg=f"frame_prefix:={prefix} must end in '/' for rviz2 to show the robots"))
    config = str(find_resource(config)) if config else write_rviz(scene, prefix)
    parameters = [{"use_sim_time": True}]
    arguments = ["-d", config]
    node = Node(package="rviz2", executable="rviz2", namespace=namespace, arguments=arguments, parameters=parameters)
    return [*actions, node]


def _web_view(scene, namespace, remappings, prefix):
    """The web view of the node, in a process of its own."""
    if importlib.util.find_spec("viser") is None:
        return LogInfo(msg="view:=true, but the web view needs viser: pip install 'mb_contact[viewer]'")
    command = [sys.executable, "-m", "mb_contact", "view", str(scene), "--follow", "--backend", "rclpy"]
    command.append("--open")
    command += ["--namespace", namespace] if namespace else []
    more = [word for old, new in (remappings or {}).items() for word in ("-r", f"{old}:={new}")]
    more += ["-p", f"frame_prefix:={prefix}"] if prefix else []
    command += ["--ros-args", *more] if more else []
    return ExecuteProcess(cmd=command, name="web_view", output="screen")

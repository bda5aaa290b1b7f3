# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a user may set on the simulator node, each option declared once: docs/node_reference.md has all.

Every field of NodeOptions is a ROS parameter of that name; those with a ``flag`` are of the command line, those with
``launch`` of launch files too.
"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from mb_contact.checks import CONSTRAINTS
from mb_contact.errors import CommunicationError
from mb_contact.keys.declaration import declared, key
from mb_contact.ros.parameters import Option

POLICIES = ("hold", "zero", "gravity_compensation")
UNSTAMPED = ("accept", "refuse")
BACKENDS = ("auto", "rclpy", "embedded")
WIRES = ("auto", "dds", "zenoh")
FASTEST = 1e4  #: greatest real-time factor, and rate [Hz]
LONGEST = 3600.0  #: [s]
SWITCH = {"action": "store_true"}  #: a flag without a value


def option(default: Any, text: str, **about: Any) -> Any:
    """The field of an option; ``about`` are fields of Option."""
    return key(text, default, form=Option, **about)


def names(text: str, **about: Any) -> Any:
    """The field of an option that is a list of names; ROS knows no empty one, so an empty text stands for nothing."""
    return key(text, factory=lambda: [""], form=Option, **about)


def seconds(text: str) -> float:
    """A duration out of a command line: a finite number that is not negative.

    Raises
    ------
    ArgumentTypeError
        It is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0.0):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds; leave it out to run until Ctrl-C")
    return value


def _rate(topics: str, default: float = -1.0, **about: Any) -> Any:
    text = f"{topics}: rate, rounded to whole time steps; 0: never; negative: the scene's"
    return option(default, text, unit="Hz", live=True, low=-1.0, high=FASTEST, example="50.0", **about)


@dataclass
class NodeOptions:
    """Parameters of the node.

    In lockstep the joint states, operational space and, unless its rate is 0, the clock come every control period.
    """

    lockstep: bool = option(
        False, "wait for one command per control period", launch="lockstep", flag=("--lockstep", SWITCH),
        launched=("auto", "wait for one command per control period: true, false; auto: with the controller"),
    )
    lockstep_timeout: float = option(
        0.0, "lockstep: wall time to wait for a command before the policy applies; 0: without end", unit="s",
        live=True, low=0.0, high=LONGEST, example="5.0",
    )
    lockstep_joints: list[str] = names(
        "lockstep: joints for which each state has to be answered, beside those commanded",
        example="[left_elbow, right_elbow]",
    )
    wait_for_controller: bool = option(True, "lockstep: stay at the first state until the first command")
    command_timeout: float = option(
        0.1, "simulated time without a command before the policy applies; 0: never", unit="s", live=True, low=0.0,
        high=LONGEST, example="0.5",
    )
    command_timeout_policy: str = option(
        "hold", "what acts when commands stay away: the last effort, none, gravity and Coriolis terms", live=True,
        choices=POLICIES,
    )
    unstamped_commands: str = option(
        "accept", "lockstep: what becomes of commands without the stamp of a state", live=True, choices=UNSTAMPED
    )
    real_time_factor: float = option(
        1.0, "pace of simulated time; 0: as fast as possible", live=True, low=0.0, high=FASTEST, example="0.5",
        launch="real_time_factor",
        flag=("--as-fast-as-possible", {"action": "store_const", "const": 0.0, "help": "do not pace at real time"}),
    )
    control_period: float = option(
        0.0, "time between two command instants, a multiple of the time step; 0: the scene's", unit="s", low=0.0,
        high=LONGEST, example="0.002",
    )
    joint_state_rate: float = _rate("joint_states")
    operational_space_rate: float = _rate("operational_space/*, mass_matrix and nonlinear_effects")
    operational_space_constraints: str = option(
        "loops",
        "what operational_space/* obey beside the tree: loops and gears; these and joints held by friction; none",
        choices=CONSTRAINTS,
    )
    clock_rate: float = _rate(
        "/clock", launch="clock_rate",  # use_sim_time needs it every control period
        launched=("1000.0", "rate of /clock [Hz]; 0.0: none, for every node but one of a domain"),
    )
    contact_rate: float = _rate("contact_wrenches/*, joint_wrenches/* and contacts")
    certificate_rate: float = _rate("certificate")
    tf_rate: float = _rate("/tf")
    diagnostics_rate: float = _rate("/diagnostics")
    world_frame: str = option("world", "frame_id of /tf, and of external wrenches in world axes", example="map")
    frame_prefix: str = option(
        "", "in front of all other frames; simulators that share /tf need different ones", example="left/",
        launch="frame_prefix",
    )
    start_paused: bool = option(False, "begin paused; go on with the service ~/pause", launch="paused")
    pause_at: float = option(
        -1.0, "published time at which the simulation pauses by itself, once; negative: never", unit="s", live=True,
        low=-1.0, high=1e9, example="2.0",
    )
    reset_rewinds_time: bool = option(
        False, "let a reset set time back to zero; otherwise it never runs backwards", live=True
    )
    marker_rate: float = _rate("contact_markers", 30.0)
    planning_scene_rate: float = _rate("planning_scene", 10.0)
    link_tf: bool = option(
        False, "put the robots' links into /tf too; robot_state_publisher normally does that", live=True
    )
    external_wrench_links: list[str] = names(
        "links with an external_wrench/LINK input; empty: free objects and contact_wrench_links; '*': all that move",
        example="[box, left_hand]",
    )
    external_wrench_duration: float = option(
        0.1, "simulated time that a message on external_wrench acts", unit="s", live=True, low=0.0, high=LONGEST,
        example="0.5",
    )
    external_wrench_limit: float = option(
        1e4, "greatest component of an external wrench", unit="N, N m", live=True, low=0.0, high=1e9,
        example="500.0",
    )
    joint_wrench_joints: list[str] = names(
        "joints, fixed ones too, and loop closures, with a joint_wrenches/NAME output", example="[left_wrist]"
    )
    value_parameters: list[str] = names(
        "values of the scene that are live parameters too, as mass.box or friction.box.ground: names of Simulator.set, "
        "of all that have it, or of one; the service set_values has all",
        example="[mass, gravity.box]",
    )
    marker_scale: float = option(
        0.0, "length of a force arrow in contact_markers; 0: that of the web view", unit="m/N",
        live=True, low=0.0, high=1e3, example="0.01",
    )
    marker_cones: bool = option(False, "draw friction cones in contact_markers", live=True)
    resource_roots: list[str] = names(
        "folders and package:// addresses that requests may take robots and worlds from, beside those of mb_contact",
        example="[/srv/robots]",
    )
    resource_limit: int = option(
        1_000_000, "size of a robot or world in a request, or of its file", unit="bytes", low=0, high=10**9,
        example="5000000",
    )
    mesh_limit: int = option(
        50_000_000, "size of a mesh that a robot or world from a request names", unit="bytes", low=0, high=10**10,
        example="100000000",
    )
    spawn_limit: int = option(
        500, "entities that may be spawned at a time", live=True, low=0, high=10**6, example="50"
    )

    def declared_on(self, node: Any) -> Any:
        """Return these options with the node's parameter overrides.

        Raises
        ------
        CommunicationError
            An impossible value.
        """
        values = {
            f.name: node.declare_parameter(f.name, getattr(self, f.name), DESCRIPTIONS[f.name]).value
            for f in fields(self)
        }
        return NodeOptions(**values).checked()

    def checked(self) -> Any:
        """Return self; raise CommunicationError naming the first impossible option."""
        for f in fields(self):
            reason = DESCRIPTIONS[f.name].reason_against(f.name, getattr(self, f.name))
            if reason:
                raise CommunicationError(reason)
        return self

    def changed(self, values: Any) -> None:
        """Take new values of live options (dict); others are not ours."""
        for name, value in values.items():
            if name in DESCRIPTIONS:
                setattr(self, name, value)


@dataclass
class RunOptions:
    """How to run a scene.

    Beside the flags: ``node`` (NodeOptions, which ``--ros-args -p`` overrides), ``ros_args`` (``--ros-args ...``),
    ``progress``, called with lines of text while setting up, by default the node's log, and ``ready``, called with the
    SimulatorNode when everything is set up.
    """

    node: NodeOptions = key("parameters", factory=NodeOptions, form=Option)
    duration: float | None = option(
        None, "simulated time after which everything ends; without it with Ctrl-C", unit="s", example="10.0",
        flag=("--duration", {"type": seconds, "metavar": "S"}), launch="duration",
    )
    record: str | None = option(
        None, "MCAP file to record the topics into", example="run.mcap", flag=("--record", {"metavar": "FILE.mcap"}),
        launch="record",
    )
    record_bulky: bool = option(False, "record matrices and images too", flag=("--record-all", SWITCH))
    backend: str = option(
        "auto",
        "how the node speaks: rclpy, or embedded (by wheels from PyPI, faster); auto: rclpy in a sourced ROS 2",
        choices=BACKENDS, flag=("--backend", {"choices": BACKENDS}), launch="backend",
        launched=("auto", "rclpy, or embedded; auto: embedded where RMW_IMPLEMENTATION is that of an installed wheel"),
    )
    wire: str = option(
        "auto",
        "wire of the embedded backend: dds (Eclipse Cyclone DDS) or zenoh (Eclipse Zenoh, as rmw_zenoh_cpp); auto: "
        "zenoh where RMW_IMPLEMENTATION is rmw_zenoh_cpp or Cyclone DDS is not installed",
        choices=WIRES, flag=("--wire", {"choices": WIRES}),
    )
    name: str = option("mb_contact", "name of the node", example="simulator", flag=("--name", {}))
    namespace: str = option("", "namespace of the node", example="left", flag=("--namespace", {}), launch="namespace")
    ros_args: tuple = ()
    progress: Any = None
    ready: Any = None


#: Of every parameter of the node; those that are ``live`` can be changed while it runs.
DESCRIPTIONS = {name: about.key for name, about in declared(NodeOptions).items()}


def flags() -> Iterator[tuple[str, dict[str, Any]]]:
    """(flag, settings for argparse) of the options of the command line."""
    for options in (RunOptions, NodeOptions):
        for name, (about, _, default) in declared(options).items():
            if about.flag:
                flag, settings = about.flag
                yield flag, {"dest": name, "default": default, "help": about.told, **settings}


def options_from_arguments(arguments: Any, ros_args: Sequence[str] = ()) -> RunOptions:
    """The options that the flags of a command line ask for."""
    given = [
        {name: getattr(arguments, name) for name, about in declared(options).items() if about.key.flag}
        for options in (NodeOptions, RunOptions)
    ]
    return RunOptions(NodeOptions(**given[0]), **given[1], ros_args=tuple(ros_args))


RATES = tuple(name.removesuffix("_rate") for name in DESCRIPTIONS if name.endswith("_rate"))

_OF_LOCKSTEP = ("joint_state", "operational_space")  #: what is answered there: every control period


class Schedule:
    """Rates in whole time steps.

    Parameters
    ----------
    options : NodeOptions
    rates : mapping
        The scene's rates, keys as the options.
    time_step : float
    """

    def __init__(self, options: NodeOptions, rates: Mapping[str, float], time_step: float) -> None:
        self._options = options
        self.take(rates, time_step)

    def take(self, rates: Mapping[str, float], time_step: float) -> None:
        """Be the schedule of another scene.

        Raises
        ------
        CommunicationError
            The control period is no multiple of the time step; nothing has changed.
        """
        period = self._options.control_period or rates.get("control_period", time_step)
        control = round(period / time_step)
        if control < 1 or abs(control * time_step - period) > 1e-6 * period:
            raise CommunicationError(
                f"control_period is {period} s; it must be a multiple of the time step {time_step} s"
            )
        self.time_step, self.control, self._rates = time_step, control, rates
        self.tolerance = 2.0 * control * time_step  #: by which a step may be late [s]
        self.configure(self._options)

    def configure(self, options: NodeOptions) -> None:
        """Take the rates of (changed) options."""
        for name in RATES:
            rate = getattr(options, f"{name}_rate")
            rate = self._rates.get(f"{name}_rate", 100.0) if rate < 0.0 else rate
            steps = max(1, round(1.0 / (rate * self.time_step))) if rate > 0.0 else 0
            if options.lockstep and (name in _OF_LOCKSTEP or (name == "clock" and steps)):
                steps = self.control
            setattr(self, name, steps)

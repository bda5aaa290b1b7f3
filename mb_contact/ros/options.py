# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a user may set on the simulator node; every field is also a ROS parameter of that name."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from mb_contact.checks import CONSTRAINTS
from mb_contact.errors import CommunicationError
from mb_contact.ros.parameters import Description

POLICIES = ("hold", "zero", "gravity_compensation")
UNSTAMPED = ("accept", "refuse")
FASTEST = 1e4  #: greatest real-time factor, and rate [Hz]
_RATE = "rate [Hz], rounded to whole time steps; 0: never; negative: the scene's"


def _rate(topic):
    return Description(f"{topic}: {_RATE}", live=True, low=-1.0, high=FASTEST)


#: Of every option; those that are ``live`` can be changed while the node runs.
DESCRIPTIONS = {
    "lockstep": Description("wait for one command per control period"),
    "lockstep_timeout": Description(
        "lockstep: wall seconds to wait for a command before the policy applies; 0: without end", True, 0.0, 3600.0
    ),
    "lockstep_joints": Description("lockstep: joints for which each state has to be answered, beside those commanded"),
    "wait_for_controller": Description("lockstep: stay at the first state until the first command"),
    "command_timeout": Description(
        "simulated seconds without a command before the policy applies; 0: never", True, 0.0, 3600.0
    ),
    "command_timeout_policy": Description(
        "what acts when commands stay away: the last effort, none, gravity and Coriolis terms", True, choices=POLICIES
    ),
    "unstamped_commands": Description(
        "lockstep: what becomes of commands without the stamp of a state", True, choices=UNSTAMPED
    ),
    "real_time_factor": Description("pace of simulated time; 0: as fast as possible", True, 0.0, FASTEST),
    "control_period": Description(
        "seconds between two command instants, a multiple of the time step; 0: the scene's", False, 0.0, 3600.0
    ),
    "joint_state_rate": _rate("joint_states"),
    "operational_space_rate": _rate("operational_space/*, mass_matrix and nonlinear_effects"),
    "operational_space_constraints": Description(
        "what operational_space/* obey beside the tree: loops and gears; these and joints held by friction; none",
        choices=CONSTRAINTS,
    ),
    "clock_rate": _rate("/clock"),
    "contact_rate": _rate("contact_wrenches/*, joint_wrenches/* and contacts"),
    "marker_rate": _rate("contact_markers"),
    "planning_scene_rate": _rate("planning_scene"),
    "certificate_rate": _rate("certificate"),
    "tf_rate": _rate("/tf"),
    "diagnostics_rate": _rate("/diagnostics"),
    "world_frame": Description("frame_id of /tf, and of external wrenches in world axes"),
    "frame_prefix": Description("in front of all other frames; simulators that share /tf need different ones"),
    "start_paused": Description("begin paused"),
    "pause_at": Description(
        "published time at which the simulation pauses by itself [s], once; negative: never", True, -1.0, 1e9
    ),
    "reset_rewinds_time": Description("let a reset set time back to zero; otherwise it never runs backwards", True),
    "link_tf": Description("put the robots' links into /tf too; robot_state_publisher normally does that", True),
    "external_wrench_links": Description(
        "links with an external_wrench/LINK input; empty: free objects and contact_wrench_links; '*': all that can move"
    ),
    "external_wrench_duration": Description(
        "simulated seconds that a message on external_wrench acts", True, 0.0, 3600.0
    ),
    "external_wrench_limit": Description("greatest component of an external wrench [N, N m]", True, 0.0, 1e9),
    "joint_wrench_joints": Description("joints, fixed ones too, and loop closures, with a joint_wrenches/NAME output"),
    "marker_scale": Description(
        "length of a force arrow in contact_markers [m/N]; 0: as the scene's size lets one see it", True, 0.0, 1e3
    ),
    "marker_cones": Description("draw friction cones in contact_markers", True),
    "resource_roots": Description(
        "folders and package:// addresses that requests may take robots and worlds from, beside those of mb_contact"
    ),
    "resource_limit": Description("bytes of a robot or world in a request, or of its file", low=0, high=1e9),
    "mesh_limit": Description("bytes of a mesh that a robot or world from a request names", low=0, high=1e10),
    "spawn_limit": Description("entities that may be spawned at a time", True, 0, 1e6),
}  # fmt: skip


@dataclass
class NodeOptions:
    """Options of :class:`~mb_contact.ros.node.SimulatorNode`.

    Attributes
    ----------
    lockstep : bool
        Wait for one command per control period.
    lockstep_timeout : float
        Wall seconds to wait for it; then the policy applies and the simulation goes on
        in real time until a command comes again, so that the run depends on the wall clock.  0: wait without end.
    lockstep_joints : list of str
        Joints for which each state has to be answered from the first one on, beside those that are commanded: where
        several controllers share a robot and may start long after one another.
    wait_for_controller : bool
        Lockstep only: stay at the first state until the first command.
    command_timeout : float
        Simulated seconds without a command before the policy applies; 0: never.
    command_timeout_policy : str
        'hold' the last effort (with a warning), 'zero', or 'gravity_compensation'
        (the nonlinear effects: gravity and Coriolis).
    unstamped_commands : str
        In lockstep, commands without a stamp: 'accept' (as answers to the present state, told in /diagnostics) or
        'refuse'.
    real_time_factor : float
        Pace; 0: as fast as possible.
    control_period : float
        Seconds between two command instants, a multiple of the time step; 0: the scene's.
    joint_state_rate, operational_space_rate, clock_rate, contact_rate : float
    certificate_rate, tf_rate, diagnostics_rate : float
        Publishing rates [Hz], rounded to whole time steps; 0: never; negative: the scene's.
        Mass matrix and nonlinear effects follow ``operational_space_rate``.  In lockstep the joint
        states, operational space and, unless its rate is 0, the clock come every control period.
    operational_space_constraints : str
        What the operational space obeys beside the tree: 'loops' (closures, gears, mimic joints), 'held' (these and
        joints that friction held in the last step), 'none'.
    world_frame : str
        ``frame_id`` of /tf.
    frame_prefix : str
        In front of the names of links and objects wherever they are frames, as robot_state_publisher's.
    start_paused : bool
    pause_at : float
        Published time at which the simulation pauses by itself [s], at the next control instant; -1: never.
    link_tf : bool
        Put the robots' links into /tf too.
    external_wrench_links, joint_wrench_joints : list of str
        Links with an ``external_wrench`` input, joints with a ``joint_wrenches`` output; an empty text stands for
        nothing, because ROS knows no empty lists.
    external_wrench_duration, external_wrench_limit : float, float
        Simulated seconds for which a message acts; greatest component that is accepted [N, N m].
    marker_rate, marker_scale, marker_cones : float, float, bool
        Of contact_markers: rate [Hz], arrow length [m/N] or 0 for one that fits the scene, whether cones are drawn.
    planning_scene_rate : float
        At which planning_scene tells what has moved [Hz].
    reset_rewinds_time : bool
        Let a reset set time back to zero; otherwise published time never runs backwards.
    resource_roots : list of str
        Folders, or ``package://`` addresses, from which requests may take robots and worlds, beside the library's own.
    resource_limit, mesh_limit, spawn_limit : int
        Bytes of a robot or world from a request, bytes of a mesh that it names, entities that may be spawned.
    """

    lockstep: bool = False
    lockstep_timeout: float = 0.0
    lockstep_joints: list = field(default_factory=lambda: [""])
    wait_for_controller: bool = True
    command_timeout: float = 0.1
    command_timeout_policy: str = "hold"
    unstamped_commands: str = "accept"
    real_time_factor: float = 1.0
    control_period: float = 0.0
    joint_state_rate: float = -1.0
    operational_space_rate: float = -1.0
    operational_space_constraints: str = "loops"
    clock_rate: float = -1.0
    contact_rate: float = -1.0
    certificate_rate: float = -1.0
    tf_rate: float = -1.0
    diagnostics_rate: float = -1.0
    world_frame: str = "world"
    frame_prefix: str = ""
    start_paused: bool = False
    pause_at: float = -1.0
    reset_rewinds_time: bool = False
    marker_rate: float = 30.0
    planning_scene_rate: float = 10.0
    link_tf: bool = False
    external_wrench_links: list = field(default_factory=lambda: [""])
    external_wrench_duration: float = 0.1
    external_wrench_limit: float = 1e4
    joint_wrench_joints: list = field(default_factory=lambda: [""])
    marker_scale: float = 0.0
    marker_cones: bool = False
    resource_roots: list = field(default_factory=lambda: [""])
    resource_limit: int = 1_000_000
    mesh_limit: int = 50_000_000
    spawn_limit: int = 500

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


RATES = (
    "joint_state", "operational_space", "clock", "contact", "marker", "certificate", "tf", "diagnostics",
    "planning_scene",
)  # fmt: skip

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

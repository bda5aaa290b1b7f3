# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a user may set on the simulator node; every field is also a ROS parameter of that name."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from mb_contact.errors import CommunicationError

POLICIES = ("hold", "zero", "gravity_compensation")


@dataclass
class NodeOptions:
    """Options of :class:`~mb_contact.ros.node.SimulatorNode`.

    Attributes
    ----------
    lockstep : bool
        Wait for one command per control period.
    lockstep_timeout : float
        Wall seconds to wait for it; then the policy applies and the simulation goes on
        in real time until a command comes again.
    wait_for_controller : bool
        Lockstep only: stay at the first state until the first command.
    command_timeout : float
        Simulated seconds without a command before the policy applies; 0: never.
    command_timeout_policy : str
        'hold' the last effort (with a warning), 'zero', or 'gravity_compensation'
        (the nonlinear effects: gravity and Coriolis).
    real_time_factor : float
        Pace; 0: as fast as possible.
    control_period : float
        Seconds between two command instants, a multiple of the time step; 0: the scene's.
    joint_state_rate, operational_space_rate, clock_rate, contact_rate : float
    certificate_rate, tf_rate, diagnostics_rate : float
        Publishing rates [Hz], rounded to whole time steps; 0: never; negative: the scene's.
        Mass matrix and nonlinear effects follow ``operational_space_rate``.  In lockstep the joint
        states, operational space and clock come every control period.
    world_frame : str
        ``frame_id`` of /tf.
    start_paused : bool
    reset_rewinds_time : bool
        Let a reset set time back to zero; otherwise published time never runs backwards.
    """

    lockstep: bool = False
    lockstep_timeout: float = 1.0
    wait_for_controller: bool = True
    command_timeout: float = 0.1
    command_timeout_policy: str = "hold"
    real_time_factor: float = 1.0
    control_period: float = 0.0
    joint_state_rate: float = -1.0
    operational_space_rate: float = -1.0
    clock_rate: float = -1.0
    contact_rate: float = -1.0
    certificate_rate: float = -1.0
    tf_rate: float = -1.0
    diagnostics_rate: float = -1.0
    world_frame: str = "world"
    start_paused: bool = False
    reset_rewinds_time: bool = False

    def declared_on(self, node):
        """Return these options with the node's parameter overrides.

        Raises
        ------
        CommunicationError
            An impossible value.
        """
        values = {f.name: node.declare_parameter(f.name, getattr(self, f.name)).value for f in fields(self)}
        return NodeOptions(**values).checked()

    def checked(self):
        """Return self; raise CommunicationError naming the first impossible option."""
        if self.command_timeout_policy not in POLICIES:
            policy = self.command_timeout_policy
            raise CommunicationError(
                f"command_timeout_policy is '{policy}'; it must be one of {', '.join(POLICIES)}"
            )
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise CommunicationError(f"{f.name} is {value}; it must be finite")
        for name in ("lockstep_timeout", "command_timeout", "real_time_factor", "control_period"):
            if getattr(self, name) < 0.0:
                raise CommunicationError(f"{name} is {getattr(self, name)}; it must not be negative")
        return self


class Schedule:
    """Rates in whole time steps.

    Parameters
    ----------
    options : NodeOptions
    rates : mapping
        The scene's rates, keys as the options.
    time_step : float
    """

    def __init__(self, options, rates, time_step):
        self.time_step = time_step
        period = options.control_period or rates.get("control_period", time_step)
        self.control = round(period / time_step)
        if self.control < 1 or abs(self.control * time_step - period) > 1e-6 * period:
            raise CommunicationError(
                f"control_period is {period} s; it must be a multiple of the time step {time_step} s"
            )
        names = ("joint_state", "operational_space", "clock", "contact", "certificate", "tf", "diagnostics")
        for name in names:
            rate = getattr(options, f"{name}_rate")
            rate = rates.get(f"{name}_rate", 100.0) if rate < 0.0 else rate
            setattr(self, name, max(1, round(1.0 / (rate * time_step))) if rate > 0.0 else 0)
        if options.lockstep:
            self.joint_state = self.operational_space = self.clock = self.control

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How the run goes: /diagnostics while it lasts, a summary at its end."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mb_contact.ros.backend import spin_safely
from mb_contact.ros.options import Schedule
from mb_contact.ros.outputs.contacts import key_value
from mb_contact.ros.qos import STATE

REPEAT_SECONDS = 1.0  #: between two reports while time stands still
SETTING_UP_SECONDS = 1.0  #: between two reports of a node that does not simulate yet
SLICE = 0.1  #: seconds that such a node waits for questions at a time
WORST = ("complementarity_gap", "infeasibility", "cone_violation", "penetration")  #: of a certificate


@dataclass
class Summary:
    """Counts and worst values of a run.

    Attributes
    ----------
    steps : int
        Time steps taken.
    simulated, wall : float
        Seconds; wall time without pauses and without waiting for the first command.
    real_time_factor, real_time_factor_now : float
        Of the whole run, of the last second.
    complementarity_gap, infeasibility, cone_violation, penetration : float
        Worst certificate values over all steps.
    solvers : Counter
        Steps by how they were solved (docs/contact.md).
    contacts : int
        Most contacts in a step.
    accepted, rejected, late : int
        Commands.
    unstamped, without_run : int
        Accepted commands that named no state, and no run.
    lockstep : bool
    failure : str
        Why the simulation paused itself; empty: it did not.
    missed_deadlines : int
        Steps that began later than two control periods after they were due.
    lockstep_timeouts : int
        How often the controller was given up.
    waiting_for : str
        Lockstep: whose command is missing; empty: nobody's.
    overloaded : bool
        Whether simulated time goes slower than asked for.
    policy_active : bool
        Whether the timeout policy applies now.
    accepted_wrenches, rejected_wrenches : int
        Messages on external_wrench.
    foreign_clients : list of str
        Services that clients of another DDS vendor call in vain.
    unheard : list of str
        Topics on which best-effort controllers send commands that a lockstep does not hear.
    rivals : int
        Other simulators that publish on the topics of this one.
    bodies_asleep, islands_asleep : int
        What the last step has left as it is (docs/sleep.md).
    """

    steps: int = 0
    simulated: float = 0.0
    wall: float = 0.0
    real_time_factor: float = 0.0
    real_time_factor_now: float = 0.0
    complementarity_gap: float = 0.0
    infeasibility: float = 0.0
    cone_violation: float = 0.0
    penetration: float = 0.0
    solvers: Counter = field(default_factory=Counter)
    contacts: int = 0
    accepted: int = 0
    rejected: int = 0
    late: int = 0
    unstamped: int = 0
    without_run: int = 0
    lockstep: bool = False
    failure: str = ""
    missed_deadlines: int = 0
    lockstep_timeouts: int = 0
    waiting_for: str = ""
    overloaded: bool = False
    policy_active: bool = False
    policy: str = "hold"
    accepted_wrenches: int = 0
    rejected_wrenches: int = 0
    foreign_clients: list[str] = field(default_factory=list)
    unheard: list[str] = field(default_factory=list)
    rivals: int = 0
    bodies_asleep: int = 0
    islands_asleep: int = 0

    def add(self, step: Any, time_step: float) -> None:
        """Count one step."""
        self.steps += 1
        self.simulated = self.steps * time_step
        certificate = step.certificate
        for name in WORST:
            value = getattr(certificate, name)
            worst = getattr(self, name)
            if value > worst or value != value:  # a NaN must be seen, and stay
                setattr(self, name, float(value))
        self.solvers[str(certificate.solver)] += 1
        self.contacts = max(self.contacts, int(certificate.contacts))

    def text(self) -> str:
        """Return a few lines for a terminal."""
        worst = ", ".join(f"{name.replace('_', ' ')} {getattr(self, name):.2e}" for name in WORST)
        return (
            f"simulated {self.simulated:.3f} s in {self.wall:.3f} s ({self.steps} steps), "
            f"real-time factor {self.real_time_factor:.2f}\n"
            f"commands: {self.accepted} accepted, {self.rejected} rejected, {self.late} late; "
            f"{self.missed_deadlines} missed deadlines, {self.lockstep_timeouts} lockstep timeouts\n"
            f"worst: {worst}"
        )


def foreign_text(services: list[str]) -> str:
    """What to do about clients whose calls this middleware cannot answer."""
    return (
        f"a client of another DDS vendor waits in vain for {', '.join(services)}: start it with the RMW_IMPLEMENTATION "
        "of this node, rmw_cyclonedds_cpp for the embedded backend, or this node with backend rclpy and the client's"
    )


def unheard_text(topics: list[str]) -> str:
    """What to do about controllers that publish as best effort."""
    return (
        f"a best-effort publisher of {', '.join(topics)} is not heard: commands in lockstep are RELIABLE; publish them "
        "so, or give this node -p qos_overrides.TOPIC.subscription.reliability:=best_effort"
    )


#: what to do about another simulator in the same namespace of the same domain
RIVAL_TEXT = (
    "another simulator publishes on the topics of this one, and controllers would take the states of both: end one, or "
    "give it another namespace or ROS_DOMAIN_ID"
)


class Diagnostics:
    """/diagnostics (diagnostic_msgs/DiagnosticArray).

    Parameters
    ----------
    node : object
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._summary: Any = None
        self._schedule: Any = None
        self._publisher = node.create_publisher("diagnostic_msgs/msg/DiagnosticArray", "/diagnostics", STATE)
        self._status_type = node.message_type("diagnostic_msgs/msg/DiagnosticStatus")
        self._rejected = self._over_budget = self._unstamped = 0
        self._told = "setting up"
        self._repeat_at = 0.0

    def bind(self, summary: Callable[[], Summary], schedule: Schedule) -> None:
        """Report of a running simulation from now on: ``summary()`` gives its :class:`Summary`."""
        self._summary, self._schedule = summary, schedule

    def doing(self) -> str:
        """What was told last while the simulation was set up."""
        return self._told

    @contextlib.contextmanager
    def setting_up(self) -> Any:
        """Tell every second what is going on before a simulation runs, and answer what the node alone is asked.

        Gives the function that takes new lines.
        """
        ended = threading.Event()

        def tell(line):
            self._told = line
            self._node.get_logger().info(line)

        def repeat():
            due = time.monotonic() + SETTING_UP_SECONDS
            while not ended.is_set():
                spin_safely(self._node, SLICE)
                if time.monotonic() < due:
                    continue
                due += SETTING_UP_SECONDS
                status = self._named(self._status_type.WARN)
                status.message = f"not simulating yet: {self._told}"
                self._send(0, status)

        thread = threading.Thread(target=repeat, name="setting up", daemon=True)
        thread.start()
        try:
            yield tell
        finally:
            ended.set()
            thread.join()

    def publish(self, step: Any, stamp: int, repeat: bool = False) -> None:
        """Send the counters when they are due; ``repeat``: also while time stands still, once a second."""
        every = self._schedule.diagnostics
        if every and (time.monotonic() > self._repeat_at if repeat else step % every == 0):
            self._repeat_at = time.monotonic() + REPEAT_SECONDS
            self._send(stamp, self._status(self._summary()))

    def _send(self, stamp, status):
        message = self._node.message_type("diagnostic_msgs/msg/DiagnosticArray")()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        message.status = [status]
        self._publisher.publish(message)

    def _named(self, level):
        status = self._status_type()
        status.name = f"{self._node.get_fully_qualified_name()}: simulation"
        status.level, status.hardware_id = level, "mb_contact"
        return status

    def _status(self, summary):
        warnings = self._warnings(summary)
        status = self._named(self._status_type.WARN if warnings else self._status_type.OK)
        status.message = "; ".join(warnings) or "running"
        if summary.failure:
            status.level, status.message = self._status_type.ERROR, f"paused: {summary.failure}"
        self._rejected, self._over_budget = summary.rejected, summary.solvers["over_budget"]
        self._unstamped = summary.unstamped
        solvers = " ".join(f"{name}:{count}" for name, count in sorted(summary.solvers.items()))
        values = {
            "real_time_factor": f"{summary.real_time_factor_now:.3f}",
            "real_time_factor_overall": f"{summary.real_time_factor:.3f}",
            "steps": summary.steps,
            "accepted_commands": summary.accepted,
            "rejected_commands": summary.rejected,
            "late_commands": summary.late,
            "unstamped_commands": summary.unstamped,
            "commands_without_run": summary.without_run,
            "accepted_wrenches": summary.accepted_wrenches,
            "rejected_wrenches": summary.rejected_wrenches,
            "missed_deadlines": summary.missed_deadlines,
            "lockstep_timeouts": summary.lockstep_timeouts,
            "max_contacts": summary.contacts,
            "bodies_asleep": summary.bodies_asleep,
            "islands_asleep": summary.islands_asleep,
            "solvers": solvers,
            **{f"worst_{name}": f"{getattr(summary, name):.3e}" for name in WORST},
        }
        make = self._message
        status.values = [key_value(make, key, str(value)) for key, value in values.items()]
        return status

    def _warnings(self, summary):
        """What a user should know now."""
        warnings = []
        if summary.waiting_for:
            warnings.append(f"lockstep: waiting for {summary.waiting_for}")
        if summary.policy_active:
            warnings.append(f"no commands: policy '{summary.policy}' applies")
        if summary.rejected > self._rejected:
            warnings.append(f"{summary.rejected - self._rejected} commands rejected since the last report")
        if summary.lockstep and summary.unstamped > self._unstamped:
            warnings.append(f"lockstep: {summary.unstamped - self._unstamped} commands without a stamp were obeyed")
        if summary.solvers["over_budget"] > self._over_budget:
            steps = summary.solvers["over_budget"] - self._over_budget
            warnings.append(f"{steps} steps left their contact problem unsolved within the budget (certificate)")
        if summary.foreign_clients:
            warnings.append(foreign_text(summary.foreign_clients))
        if summary.unheard:
            warnings.append(unheard_text(summary.unheard))
        if summary.rivals:
            warnings.append(RIVAL_TEXT)
        if summary.overloaded:
            warnings.append(f"overloaded: real-time factor {summary.real_time_factor_now:.2f}")
        return warnings

    def _message(self, type_name):
        return self._node.message_type(type_name)()

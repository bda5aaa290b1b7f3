# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The inbox of efforts and actuators' targets: checked whole, held, timed out, matched to states in lockstep."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, instead_of, shorten
from mb_contact.ros.answers import Answers, joint_set
from mb_contact.ros.embedded.messages import stamp_ns
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.runs import run_in

_THROTTLE = 1.0  #: wall seconds between two warnings about rejected commands
_SLICE = 0.1  #: longest wait before interruptions are looked at [s]
_SETS = 100  #: sets of joints that are remembered


def _asks_for_nothing(effort):
    """NaN where no controller is active yet, zeros beside it where ros2_control begins with an ``initial_value``."""
    nothing = np.isnan(effort)
    return bool(nothing.any() and (nothing | (effort == 0.0)).all())


class CommandInbox:
    """Commands arrive on the executor's thread and are consumed by the physics thread.

    Parameters
    ----------
    joint_names : sequence of str
        Order of the effort vector.
    actuated : array of bool
        Joints that ``effort_commands`` addresses, in order.
    servos : two arrays of bool, optional
        Joints whose actuators can be asked for positions, and for velocities; none where left out.
    options : NodeOptions
        ``lockstep``, ``lockstep_joints``, ``unstamped_commands``.
    logger : object

    Attributes
    ----------
    accepted, rejected, late : int
        Counters; a late command answers a state that is no longer waited for.  It is still the newest command and
        is held, but in lockstep, where every command acts on the state that it answers, or not at all.
    unstamped, without_run : int
        Of the accepted ones: without the stamp of a state, without the run of one.
    answers : Answers
        Of lockstep.
    answered : bool
        Whether the state that is waited for is.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        actuated: ArrayLike,
        options: NodeOptions,
        logger: Any,
        servos: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        self._options, self._logger = options, logger
        self._index, self._held = {}, np.zeros(0)
        self.changed = threading.Condition()
        self.listen: Callable[[float, Callable[[], bool]], None] = self._doze  #: waits so many seconds at most
        self.accepted = self.rejected = self.late = self.unstamped = self.without_run = 0
        self._epoch, self._run = 0, 1
        self.answers = Answers(options.lockstep_joints if options.lockstep else ())
        self.answered, self._enough = False, self._is_answered
        self._told_of_none = False
        self._doubtful: list[tuple[Any, ...]] = []  # without a stamp, and perhaps of the state before
        self._asked = {"positions": {}, "velocities": {}}
        self.set_joints(joint_names, actuated, servos)

    def set_joints(
        self, joint_names: Sequence[str], actuated: ArrayLike, servos: tuple[ArrayLike, ArrayLike] | None = None
    ) -> None:
        """Take commands for these joints from now on; those that were there keep their effort."""
        none = np.zeros(len(joint_names), dtype=bool)
        with self.changed:
            both = (none, none) if servos is None else servos
            self.answers.set_joints(joint_names, np.any([actuated, *both], axis=0))
            held = {name: self._held[i] for name, i in self._index.items()}
            self._index = {name: i for i, name in enumerate(joint_names)}
            self._actuated = np.flatnonzero(actuated)
            self._sets = {}  # of joints, by the rows that address them
            self._held = np.array([held.get(name, 0.0) for name in joint_names])
            self._servos = dict(zip(self._asked, both))
            self._last_names = self._last_rows = None

    # --- executor's side ----------------------------------------------------------------------
    def on_joint_command(self, message: Any) -> None:
        """Take a sensor_msgs/JointState with ``name`` and ``effort``; a subset of the joints is allowed.

        ``position`` and ``velocity`` are targets of the joints that have an actuator for them, and pass by the others;
        ``effort`` may be empty where every joint has one.
        """
        count = len(message.name)
        for field in ("position", "velocity"):
            if len(getattr(message, field)) not in (0, count):
                self._reject("joint_commands", f"{field} must be empty or have {count} entries like name")
                return
        with self.changed:  # or robots that come and go would change the rows meanwhile
            rows = self._rows(message.name)
            if not isinstance(rows, str):
                stamp, run = stamp_ns(message.header.stamp), run_in(message.header.frame_id)
                named = stamp or (run is not None and self._options.lockstep)  # the first state has the stamp 0
                stamp = stamp if named else None
                self._accept("joint_commands", message.effort, rows, stamp, run, self._targets(message, rows))
                return
        self._reject("joint_commands", rows)

    def on_effort_command(self, message: Any) -> None:
        """Take a std_msgs/Float64MultiArray: the actuated joints in the model's order.

        Stamped where ``data_offset`` is 2: seconds and nanoseconds of the state come first, as in the arrays out.
        """
        data, offset = np.asarray(message.data, dtype=np.float64), message.layout.data_offset
        stamped = offset == 2 and len(data) > 1 and np.isfinite(data[:2]).all()
        stamp = int(data[0]) * 1_000_000_000 + int(data[1]) if stamped else None
        with self.changed:
            self._accept("effort_commands", data[offset:], self._actuated, stamp)

    def _targets(self, message, rows):
        """Targets in a message: positions and velocities by the places of their joints."""
        found = {}  # empty where the message has neither
        for field, values in (("positions", message.position), ("velocities", message.velocity)):
            if len(values):
                taken = self._servos[field][rows]
                found[field] = (rows[taken], np.asarray(values, dtype=np.float64)[taken])
        return found

    def _rows(self, names):
        """Return the rows of these joints, or the reason why not; remembered, names rarely change."""
        names = list(names)
        if names == self._last_names:
            return self._last_rows
        unknown = [name for name in names if name not in self._index]
        if unknown:
            name = shorten(unknown[0])
            return f"unknown joint '{name}'; {instead_of(name, self._index, 'known are')}"
        if len(set(names)) != len(names):
            return "a joint is named twice"
        self._last_names, self._last_rows = names, np.array([self._index[n] for n in names], dtype=np.int64)
        return self._last_rows

    def _accept(self, topic, effort, rows, stamp, run=None, targets=None):
        effort, targets = np.asarray(effort, dtype=np.float64), targets or {}
        if not self.accepted and not targets and _asks_for_nothing(effort):
            self._pass_by(topic)
            return
        reason = self._reason_against(effort, rows, stamp, run, targets)
        if reason:
            self._reject(topic, reason)
        elif stamp is not None and stamp < self._epoch:
            self.late += 1  # answers a state from before a reset
        elif not self._options.lockstep or self.answers.free:
            self.late += stamp not in (None, self.answers.expected)
            self._take(effort, rows, stamp, run, targets)
        elif stamp is None and self.answers.doubt:
            self._doubtful.append((effort, rows, None, run, targets))
        elif stamp is None:
            self._take(effort, rows, stamp, run, targets)
        elif stamp > self.answers.expected:
            reason = "its stamp is of no state that was waited for; in lockstep a command echoes that which it answers"
            self._reject(topic, reason)
        else:
            self._answer(effort, rows, stamp, run, targets)

    def _reason_against(self, effort, rows, stamp, run, targets):
        """Why a command cannot be taken, or ''."""
        if effort.shape[0] == 0 and targets:
            free = set(rows).difference(*(places for places, _ in targets.values()))
            if free:
                name = list(self._index)[min(free)]
                return f"joint '{name}' has no actuator for what is asked, and the message has no efforts"
        elif effort.shape[0] != len(rows) or not len(rows):
            return f"{effort.shape[0]} efforts for {len(rows)} joints"
        for field, (places, values) in {**targets, "effort": (rows, effort)}.items():
            for place, value in zip(places, values):
                if not np.isfinite(value):
                    return f"{field}: that of joint '{list(self._index)[place]}' is {value}"
        if run not in (None, self._run):
            return f"it answers run {run}, and this is run {self._run}"
        if stamp is None and self._options.lockstep and self._options.unstamped_commands == "refuse":
            return "it has no stamp, and unstamped_commands is 'refuse'"
        return ""

    def _answer(self, effort, rows, stamp, run, targets):
        """In lockstep: the first answer of a joint to the state that is waited for acts, and nothing else."""
        joints = self._set_of(rows)
        first = self.answers.first(stamp, joints)
        if stamp < self.answers.expected:
            self.late += first != 0  # otherwise it answers once more what was sent once more
        elif first == joints:
            self._take(effort, rows, stamp, run, targets)
        elif first:
            new = np.array([first >> int(row) & 1 for row in rows], dtype=bool)
            chosen = {}
            for field, (places, values) in targets.items():
                among = np.isin(places, rows[new])
                chosen[field] = (places[among], values[among])
            self._take(effort[new] if effort.shape[0] else effort, rows[new], stamp, run, chosen)

    def _set_of(self, rows):
        """The joints of these rows, remembered: controllers command the same ones again and again."""
        key = rows.tobytes()
        if key not in self._sets:
            if len(self._sets) > _SETS:
                self._sets.clear()
            self._sets[key] = joint_set(rows)
        return self._sets[key]

    def _take(self, effort, rows, stamp, run, targets):
        """A command acts."""
        self._held[rows[: effort.shape[0]]] = effort
        names = list(self._index) if targets else ()
        for field, (places, values) in targets.items():
            self._asked[field].update(zip((names[i] for i in places), values.tolist()))
        self.accepted += 1
        self.unstamped += stamp is None
        self.without_run += run is None
        self.answers.take(self._set_of(rows), self.answers.expected if stamp is None else stamp)
        if self.answers.complete:
            self.answered = True
        self.changed.notify_all()

    def _pass_by(self, topic):
        """What ros2_control sends until its controllers are active is no fault."""
        if not self._told_of_none:
            self._told_of_none = True
            self._logger.info(f"what comes on {topic} is not finite yet, NaN and zeros alone: no controller is active")

    def refuse(self, topic: str, reason: str) -> None:
        """Count a message that was taken and turned out to be impossible, and say why."""
        self._reject(topic, reason)

    def _reject(self, topic, reason):
        with self.changed:
            self.rejected += 1
        self._logger.warning(
            f"rejected a message on {topic}: {reason}; the last good command stays "
            f"({self.rejected} rejected so far)",
            throttle_duration_sec=_THROTTLE,
        )

    # --- physics' side ------------------------------------------------------------------------
    def expect(self, stamp: int) -> None:
        """From now on wait for the answer to the state stamped ``stamp`` [ns]; call before publishing it."""
        with self.changed:
            if stamp != self.answers.expected:
                self.answers.expect(stamp)
                self.answered = False
                self._doubtful.clear()

    def wait(
        self, timeout: float, interrupted: Callable[[], bool], enough: Callable[[], bool] | None = None
    ) -> bool:
        """Wait until the expected state is answered; returns whether it is.

        Parameters
        ----------
        timeout : float
            Wall seconds.
        interrupted : callable
            Asked after every wake-up; true ends the wait.
        enough : callable, optional
            Wait until this is true instead.
        """
        deadline, self._enough = time.monotonic() + timeout, enough or self._is_answered
        while not self._enough() and not interrupted():
            remaining = deadline - time.monotonic()
            if remaining <= 0.0:
                break
            self.listen(min(_SLICE, remaining), interrupted)
        return self.answered

    @property
    def doubtful(self) -> bool:
        """Whether there are commands that may answer this state or the one before."""
        return bool(self._doubtful)

    def settle(self) -> bool:
        """Nothing better has come for long: commands without a stamp answer the state; whether it is answered."""
        with self.changed:
            self.answers.doubt, doubtful = False, self._doubtful
            self._doubtful = []
            for command in doubtful:
                self._take(*command)
            return self.answered

    def _doze(self, seconds, interrupted):
        with self.changed:
            if not self._enough() and not interrupted():
                self.changed.wait(seconds)

    def _is_answered(self):
        return self.answered

    def held(self) -> tuple[Floats, int]:
        """Return the newest good command (a copy) and how many were accepted so far."""
        with self.changed:
            return self._held.copy(), self.accepted

    def take_targets(self) -> dict[str, dict[str, float]]:
        """Return ``{"positions": {joint: value}, "velocities": ...}`` asked for since the last call."""
        with self.changed:
            asked, self._asked = self._asked, {field: {} for field in self._asked}
            return asked

    def clear(self, epoch: int, run: int) -> None:
        """Forget the command (a reset); answers to other runs, or stamped before ``epoch`` [ns], are refused."""
        with self.changed:
            self._held[:] = 0.0
            self._asked = {field: {} for field in self._asked}
            self._epoch = epoch
            self.begin_run(run)

    def begin_run(self, run: int) -> None:
        """Answers to the states of other runs are refused from now on; what is held stays."""
        with self.changed:
            self._run, self.answered = run, False
            self.answers.forget()
            self._doubtful.clear()


class TimeoutPolicy:
    """Decides the effort of a control period: the held command, or the policy once it is too old.

    Parameters
    ----------
    inbox : CommandInbox
    options : NodeOptions
    gravity : callable
        Returns the nonlinear effects (n_joints,).
    logger : object
    """

    def __init__(self, inbox: Any, options: NodeOptions, gravity: Callable[[], Floats], logger: Any) -> None:
        self._inbox = inbox
        self.configure(options)
        self._gravity = gravity
        self._logger = logger
        self._seen = 0
        self._last = 0.0
        self.active = False  #: whether the policy applies now

    def configure(self, options: NodeOptions) -> None:
        """Take the timeout and policy of (changed) options."""
        self._timeout = options.command_timeout
        self._policy = options.command_timeout_policy

    def effort(self, now: float, force: bool = False) -> Floats:
        """Return the effort (n_joints,) at simulated time ``now`` [s]; ``force`` applies the policy now."""
        held, accepted = self._inbox.held()
        if accepted != self._seen:
            self._seen, self._last = accepted, now
        # before the first command there is none to hold: a robot that could stand would fall until the timeout
        none_yet = accepted == 0 and self._policy == "gravity_compensation"
        # half a microsecond: sums of time steps are not exact
        expired = force or none_yet or (self._timeout > 0.0 and now - self._last > self._timeout + 5e-7)
        if expired and not self.active and not force:  # whoever forces it has said so
            self._warn(now)
        self.active = expired
        if not expired or self._policy == "hold":
            return held
        return self._gravity() if self._policy == "gravity_compensation" else np.zeros_like(held)

    def _warn(self, now):
        if self._seen:
            self._logger.warning(
                f"no command for {now - self._last:.3f} s of simulated time; policy '{self._policy}' applies"
            )

    def restart(self, now: float) -> None:
        """Start counting anew (a reset)."""
        self._last = now
        self.active = False

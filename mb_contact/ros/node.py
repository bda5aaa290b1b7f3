# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator as a ROS 2 node: its whole behaviour, on either backend.

Two threads: the physics runs in the thread that calls :meth:`SimulatorNode.run`; messages and services
come in on an executor thread.  They share only the command inbox and a request slot.  In lockstep the
physics thread waits for commands itself.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from mb_contact.errors import CommunicationError, DynamicsError, MbContactError, SolverError
from mb_contact.ros.backend import spin_safely
from mb_contact.ros.commands import TimeoutPolicy
from mb_contact.ros.diagnostics import Diagnostics, Summary
from mb_contact.ros.inputs import Inputs
from mb_contact.ros.lockstep import SLICE, Lockstep
from mb_contact.ros.looks import Looks
from mb_contact.ros.memory import REBUILDS, give_memory_back
from mb_contact.ros.options import DESCRIPTIONS, NodeOptions, Schedule
from mb_contact.ros.outputs import Outputs
from mb_contact.ros.pacing import Pacer
from mb_contact.ros.parameters import unknown_parameters
from mb_contact.ros.services import serve
from mb_contact.ros.services.announced import Services
from mb_contact.ros.services.requests import ANSWER_SECONDS, Request
from mb_contact.ros.services.values import SceneValues
from mb_contact.ros.stepping import Stepping
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.surfaces.simulator import AnySimulator


class SimulatorNode:
    """Publishes a simulator's state and applies the commands that come in.

    Parameters
    ----------
    node : object
        rclpy-like node (:func:`mb_contact.ros.create_node`).
    simulator : AnySimulator
    options : NodeOptions, optional
        Defaults of the node's parameters.
    diagnostics : Diagnostics, optional
    services : Services, optional
        Where the node has them already.

    Raises
    ------
    CommunicationError
        An impossible option.
    """

    def __init__(
        self, node: Any, simulator: AnySimulator, options: NodeOptions | None = None, diagnostics: Any = None,
        services: Services | None = None,
    ) -> None:  # fmt: skip
        self.node = node
        self.services = services or Services(node)
        self.simulator = simulator
        self.options = (options or NodeOptions()).declared_on(node)
        self._logger = node.get_logger()
        self._dt_ns = round(simulator.time_step * 1e9)
        self._schedule = Schedule(self.options, dict(simulator.scene.rates), simulator.time_step)
        self.inputs = Inputs(self, self._logger, lambda action: self._hand_over(Request(action)))
        self._inbox = self.inputs.commands
        self._policy = TimeoutPolicy(
            self._inbox, self.options, lambda: self.simulator.nonlinear_effects(), self._logger
        )
        self.outputs = Outputs(node, simulator, self._schedule, self.options)
        self._pacer = Pacer(self.options.real_time_factor, self._schedule.tolerance)
        self._diagnostics = diagnostics or Diagnostics(node)
        self._diagnostics.bind(self.summary, self._schedule)
        self._stop = False
        self._interrupt = threading.Event()
        self._requests = []
        self._rebuilt = 0  #: how many simulators have been replaced
        self.stepping = Stepping(self, self._hand_over, self._one_step)
        self.paused = self.options.start_paused
        self.inactive, self.loading = "", False  #: why nothing can be simulated, and whether a world is being loaded
        self._first_ns = 0  #: published time of the state after the last reset
        self._failure = ""  #: why the simulation paused itself
        self._lockstep = Lockstep(
            self.options, self._inbox, self._interrupted, lambda: self._pacer.resume(self.simulator.time),
            self._publish_again, self._tell, lambda: (self.outputs.listeners(), self.inputs.senders()), self._logger,
        )  # fmt: skip
        self._step = self._effort = None
        self._doubts: set[str] = set()  #: what has been said of files that do not become a scene as a whole
        self._paused_at = -1.0  #: the ``pause_at`` that has been obeyed
        self._record = Summary()
        self.applied = None  #: called with (stamp [ns], effort) of every step and (stamp, None) at a reset, to record
        self.happened = None  #: called with (stamp [ns], kind, fields) of all else that acts, to record
        self.watch = None  #: called between two control periods, before the state is told, with the last step or None
        self.commanded = None  #: called with the efforts and targets that have come; returns those that act
        self.answered = None  #: called with the seconds from publishing a state to its answer, to measure
        self._looks = Looks(node, self._record, lambda: self.inputs.unheard() if self._lockstep.waiting_for else ())
        self.inputs.listen()
        if not serve(self):
            self._logger.info("no simulation_interfaces here: ~/reset, ~/pause and ~/step only")
        self._values = SceneValues(self, self._hand_over)
        node.add_on_set_parameters_callback(self._on_parameters)
        for line in unknown_parameters(node.undeclared_parameters(), DESCRIPTIONS):
            self._logger.warning(line)
        self._tell_doubts()

    def _tell_doubts(self):
        """Say once what the simulator's scene has not of the file that it comes from."""
        doubts = set(getattr(self.simulator.scene, "doubts", ())) - self._doubts
        self._doubts |= doubts
        for line in sorted(doubts):
            self._logger.warning(line)

    def _on_parameters(self, values):
        """Take changed parameters between two steps; returns the reason against them, or ''."""
        for name, value in values.items():
            reason = DESCRIPTIONS[name].reason_against(name, value) if name in DESCRIPTIONS else ""
            if reason:
                return reason
        reason = self._values.take(values)
        if not reason:
            self._hand_over(Request(lambda: self._configure(values)))
        return reason

    def _configure(self, values):
        try:
            self.options.changed(values)
            self._schedule.configure(self.options)
            self._policy.configure(self.options)
            self._pacer.set_factor(self.options.real_time_factor, self.simulator.time)
        except MbContactError as error:  # nobody waits for the answer of this request
            self._logger.error(f"parameters {', '.join(values)} were set but do not act: {error}")

    # --- from any thread ------------------------------------------------------------------------
    def stop(self) -> None:
        """End :meth:`run` soon; safe in a signal handler."""
        self._stop = True

    def summary(self) -> Any:
        """Return the :class:`~mb_contact.ros.diagnostics.Summary` so far."""
        record = self._record
        record.real_time_factor = self._pacer.factor_overall
        record.real_time_factor_now = self._pacer.factor_now
        record.wall, record.overloaded = self._pacer.wall, self._pacer.overloaded
        record.accepted, record.rejected = self._inbox.accepted, self._inbox.rejected
        record.rejected += getattr(self.node, "undecodable", 0)
        record.late, record.missed_deadlines = self._inbox.late, self._pacer.missed
        record.unstamped, record.without_run = self._inbox.unstamped, self._inbox.without_run
        record.lockstep, record.failure = self.options.lockstep, self._failure
        record.lockstep_timeouts, record.waiting_for = self._lockstep.timeouts, self._lockstep.waiting_for
        if (pushes := self.inputs.pushes) is not None:
            record.accepted_wrenches, record.rejected_wrenches = pushes.accepted, pushes.rejected
        record.policy_active, record.policy = self._policy.active, self.options.command_timeout_policy
        if isinstance(self.simulator, Simulator):
            record.bodies_asleep, record.islands_asleep = self.simulator.count_asleep()
        return record

    def stamp(self) -> Any:
        """Published time of the current state [ns]; never runs backwards."""
        return self._first_ns + self._steps() * self._dt_ns

    def _steps(self):
        return int(self.simulator.step_count)

    def ask(self, action: Callable[[], Any]) -> Any:
        """Have the physics thread do ``action()`` between two steps and return its value.

        Raises
        ------
        MbContactError
            What the action raised, or that the simulation is not running.
        """
        request = Request(action)
        self._hand_over(request)
        return request.result()

    def _hand_over(self, request):
        self._requests.append(request)
        if self._stop:
            request.cancel()  # nobody serves it any more
        self._interrupt.set()
        self.inputs.wake()

    # --- physics thread -------------------------------------------------------------------------
    def run(self, duration: float | None = None) -> Any:
        """Simulate until :meth:`stop`, or for ``duration`` simulated seconds; returns the summary.

        Raises
        ------
        MbContactError
            The simulation failed.
        """
        executor = threading.Thread(target=self._spin, name="ros executor", daemon=True)
        executor.start()
        self._logger.info(self._what_runs())
        self._pacer.resume(self.simulator.time)
        last = None if duration is None else round(duration / self.simulator.time_step)
        try:
            while not self._stop and (last is None or self._record.steps < last):
                self._advance_or_pause(last is not None)
            self._publish()
        finally:
            self._stop = True
            for request in self._requests:  # callers on the executor thread must not hold up the end
                request.cancel()
            self.stepping.end("the simulation ends")
            self.node.wake()
            self.outputs.close()
            executor.join(timeout=ANSWER_SECONDS)
        return self.summary()

    def _what_runs(self):
        """The line by which a log tells one simulation from another."""
        simulator, factor = self.simulator, self.options.real_time_factor
        pace = f"at {factor:g} of real time" if factor > 0.0 else "as fast as possible"
        waits = "in lockstep" if self.options.lockstep else "free running"
        joints, step = len(simulator.world.joint_names), 1e3 * simulator.time_step
        return f"{joints} joints, steps of {step:g} ms, {waits}, {pace}{', paused' if self.paused else ''}"

    def _spin(self):
        while not self._stop or self.stepping.awaited:
            spin_safely(self.node, SLICE)
            self._looks.look()
            self._values.look()

    def _advance_or_pause(self, bounded):
        """As ``_advance``; a step that is impossible pauses the simulation, and ends one of a given duration."""
        try:
            self._advance()
        except (DynamicsError, SolverError) as error:
            if bounded:
                raise
            self.do_pause(True)
            self._failure = str(error)
            self._logger.error(f"paused: {error}; ~/reset or reset_simulation begins anew")

    def _advance(self):
        """Do one control period, or less when interrupted."""
        if self.paused or self._lockstep.given_up:  # else the wait for the answer takes what has come
            self.inputs.take()
        self._serve_requests()
        self.inputs.set_states()
        self._obey_pause_at()
        if self.watch is not None and self._is_control_instant():
            self.watch(self._step)
        if self.paused:
            if not self.stepping:
                self._interrupt.wait(SLICE)
                self.outputs.show_frames(self.stamp())
            elif self.stepping.cancelled or self._is_answered():
                self.stepping.advance()
            self._pacer.resume(self.simulator.time)
            return
        if self._is_control_instant():
            self._inbox.expect(self.stamp())
            begun = time.perf_counter()
            self._publish()
            if self.options.lockstep and not self._lockstep.await_command(self.stamp()):
                return
            if self.answered is not None:
                self.answered(time.perf_counter() - begun)
        effort = self._efforts(self._lockstep.given_up)
        self._do_steps(effort)

    def _efforts(self, force=False):
        """What acts from now on; in lockstep what has acted since the last control instant."""
        if self._effort is None or self._is_control_instant() or not self.options.lockstep:
            asked = self.inputs.commands.take_targets()
            self._effort = self._policy.effort(self.stamp() * 1e-9, force)
            if self.commanded is not None:
                self._effort, asked = self.commanded(self._effort, asked)
            self.inputs.ask_actuators(asked)
        return self._effort

    def _is_control_instant(self):
        return self._steps() % self._schedule.control == 0

    def _is_answered(self):
        """Whether the next step of a paused simulation may be taken: in lockstep, controllers have their say first."""
        waits = self.options.lockstep and self._lockstep.begun and self._is_control_instant()
        return not waits or self._lockstep.await_command(self.stamp())

    def _obey_pause_at(self):
        """Pause when published time has come to the parameter ``pause_at``, once for each value."""
        due, now = self.options.pause_at, self.stamp() * 1e-9 + 5e-10
        if now < self._paused_at:
            self._paused_at = -1.0  # time was set back
        if due >= 0.0 and due != self._paused_at and now >= due:
            self._paused_at = due
            if not self.paused:
                self.do_pause(True)
                self._logger.info(f"paused {self.whereabouts()}, as pause_at says")

    def _do_steps(self, effort):
        """Step to the next control instant; a request that comes in meanwhile waits until then."""
        while True:
            self._take_step(effort)
            self._pace()
            if self._is_control_instant() or self._stop:
                return
            self._publish()

    def _take_step(self, effort):
        if self.applied is not None:
            self.applied(self.stamp(), effort)
        self.inputs.push()
        self._step = self.simulator.step(effort)
        self._record.add(self._step, self.simulator.time_step)
        self.outputs.accumulate()

    def _publish(self, force=False):
        self.outputs.publish(self._steps(), self.stamp(), self._step, force)
        self._diagnostics.publish(self._steps(), self.stamp())

    def _publish_again(self):
        self.outputs.publish(self._steps(), self.stamp(), self._step, again=True)
        self._tell()

    def _tell(self):
        self._diagnostics.publish(self._steps(), self.stamp(), repeat=True)

    def _pace(self):
        # without its controller the simulation goes on in real time even when it could be faster
        delay = self._pacer.delay(self.simulator.time, 1.0 if self._lockstep.given_up else None)
        if self._pacer.overload_news():
            self._logger.warning(
                f"overloaded: real-time factor {self._pacer.factor_now:.2f} instead of "
                f"{self._pacer.paced:g}; time that is lost is not made up",
                throttle_duration_sec=10.0,
            )
        due = time.perf_counter() + delay
        # in slices: a signal only sets a flag; a request ends the wait
        while (left := due - time.perf_counter()) > 0.0 and not self._stop:
            if self._interrupt.wait(min(left, SLICE)):
                return

    def _interrupted(self):
        return self._stop or bool(self._requests) or self.stepping.cancelled

    # --- what services ask for, on the physics thread ---------------------------------------------
    def tell(self, kind: str, **fields: Any) -> None:
        """Something other than efforts acts on the state of now: see :mod:`mb_contact.ros.interventions`."""
        if self.happened is not None:
            self.happened(self.stamp(), kind, fields)

    def _serve_requests(self):
        self._interrupt.clear()
        while self._requests:
            self._requests.pop(0).run()

    def do_reset(self, rewind: bool | None = None) -> str:
        """Back to the initial state; published time goes on, or with ``rewind`` begins again at zero."""
        self._refuse_inactive()
        self._publish()  # the last state of this run
        stamp = self.stamp()
        self.stepping.end("reset")
        self.simulator.reset()
        if self._failure:
            self.paused = False
        self._start_over(stamp, rewind)
        return f"reset; time goes on at {self.stamp() * 1e-9:.6f} s"

    def begin_world(self, simulator: AnySimulator) -> None:
        """Simulate something else from its beginning, as after a reset: nothing of what was there stays.

        Raises
        ------
        MbContactError
            The node's parameters do not fit this world: its control period, joints that they name; nothing has changed.
        """
        self._publish()
        stamp, former = self.stamp(), self.simulator
        self._schedule.take(dict(simulator.scene.rates), simulator.time_step)
        try:
            self._use(simulator, anew=True)
        except Exception:  # whatever it is, the former world goes on
            self._schedule.take(dict(former.scene.rates), former.time_step)
            self._use(former, anew=True)
            raise
        self.stepping.end("another world is loaded")
        self._start_over(stamp, None)
        self._dt_ns = round(simulator.time_step * 1e9)
        self._pacer.tolerance = self._schedule.tolerance
        self._logger.info(f"another world: {self._what_runs()}")

    def _start_over(self, stamp, rewind):
        """The first state of a run that follows one whose last state had this stamp [ns]."""
        rewind = self.options.reset_rewinds_time if rewind is None else rewind
        # one step later, so that no two different states carry the same stamp
        self._first_ns = 0 if rewind else stamp + self._dt_ns
        self._step, self._failure = None, ""
        if self.applied is not None:
            self.applied(self._first_ns, None)
        self.inputs.forget()
        self._begin_run()

    def _refuse_inactive(self):
        if self.inactive:
            raise CommunicationError(self.inactive)

    def rewind(self) -> None:
        """Let published time begin again at zero, in the present state."""
        self._refuse_inactive()
        self._publish()
        self._first_ns = -self._steps() * self._dt_ns
        self._begin_run()

    def _begin_run(self):
        """Time, state or both are set back: what answers an earlier state is of an earlier run."""
        self.outputs.begin_run()
        self.state_changed()

    def state_was_set(self) -> None:
        """The state is another than steps have made it: what answers the one that had its stamp is of a former run."""
        if self.options.lockstep:
            self._begin_run()
        else:
            self.state_changed()

    def state_changed(self) -> None:
        """Old commands do not answer this state; publish it."""
        self._inbox.clear(self.stamp(), self.outputs.run)
        self._policy.restart(self.stamp() * 1e-9)
        self.outputs.clear()
        self._pacer.resume(self.simulator.time)
        self._inbox.expect(self.stamp())
        self._publish(force=True)

    def do_pause(self, paused: bool) -> Any:
        """Pause, or go on."""
        if not paused:
            self._refuse_inactive()
        self.stepping.end("paused" if paused else "the simulation goes on")
        self.paused, self._failure = bool(paused), ""
        if paused:  # everybody sees the state in which it stands
            if self._is_control_instant() or not self.options.lockstep:
                self._inbox.expect(self.stamp())
            self._publish(force=self.outputs.told != self.stamp())
        self._pacer.resume(self.simulator.time)
        return "paused" if paused else "running"

    def _one_step(self, last):
        """Take one time step while paused; the last one is published in any case."""
        self._take_step(self._efforts())
        if self._is_control_instant() or not self.options.lockstep:
            self._inbox.expect(self.stamp())
        self._publish(force=last)
        return self.whereabouts()

    def whereabouts(self) -> str:
        """Published time as a sentence."""
        return f"at {self.stamp() * 1e-9:.6f} s"

    def replace_simulator(self, simulator: AnySimulator) -> None:
        """Go on with another simulator, whose time is the same and whose objects and robots may be others."""
        self._inbox.expect(self.stamp())
        self._publish()  # of the world as it was, with what its interval has gathered
        former = self.simulator
        try:
            self._use(simulator)
        except Exception:  # whatever it is, the former world goes on
            self._use(former)
            raise
        joints, others = ((s.world.joint_names, s.world.follower_names) for s in (simulator, former))
        if joints != others:  # a state is told once, but one of other joints is another state
            if self.options.lockstep:
                self.outputs.begin_run()
                self._inbox.begin_run(self.outputs.run)
            self._publish(force=True)
        else:
            self.outputs.publish_frames(self.stamp())

    def _use(self, simulator, anew=False):
        """Go on with another simulator; ``anew`` where nothing of what was there stays."""
        self.simulator, self._step, self._effort = simulator, None, None
        self.inputs.bind(simulator)
        self.outputs.bind(simulator, anew)
        self._values.stale = True
        self._rebuilt += 1
        self._tell_doubts()
        if self._rebuilt % REBUILDS == 0:
            give_memory_back()

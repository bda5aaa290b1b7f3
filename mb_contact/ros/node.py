# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator as a ROS 2 node: its whole behaviour, on either backend.

Two threads: the physics runs in the thread that calls :meth:`SimulatorNode.run`; messages and services
come in on an executor thread.  They share only the command inbox and a request slot.
"""

from __future__ import annotations

import threading

from mb_contact.errors import MbContactError
from mb_contact.ros.commands import CommandInbox, TimeoutPolicy
from mb_contact.ros.diagnostics import Diagnostics, Summary
from mb_contact.ros.options import NodeOptions, Schedule
from mb_contact.ros.outputs import Outputs
from mb_contact.ros.pacing import Pacer
from mb_contact.ros.qos import COMMAND, COMMAND_LOCKSTEP

_SLICE = 0.1  #: longest wait before the stop flag is looked at [s]
_ANSWER_SECONDS = 5.0  #: a service gives up waiting for the physics thread after this


class SimulatorNode:
    """Publishes a simulator's state and applies the commands that come in.

    Parameters
    ----------
    node : object
        rclpy-like node (:func:`mb_contact.ros.create_node`).
    simulator : Simulator
    options : NodeOptions, optional
        Defaults of the node's parameters.

    Raises
    ------
    CommunicationError
        An impossible option.
    """

    def __init__(self, node, simulator, options=None):
        self.node = node
        self.simulator = simulator
        self.options = (options or NodeOptions()).declared_on(node)
        self._logger = node.get_logger()
        self._dt_ns = round(simulator.time_step * 1e9)
        self._schedule = Schedule(self.options, dict(simulator.scene.rates), simulator.time_step)
        joints = simulator.world.joint_names
        self._inbox = CommandInbox(joints, simulator.world.effort_limit > 0.0, self._logger)
        self._policy = TimeoutPolicy(self._inbox, self.options, simulator.nonlinear_effects, self._logger)
        self.outputs = Outputs(node, simulator, self._schedule, self.options.world_frame)
        self._pacer = Pacer(self.options.real_time_factor, 2.0 * self._schedule.control * simulator.time_step)
        self._diagnostics = Diagnostics(node, self.summary, self._schedule)
        self._subscribe()
        self._serve()
        self._stop = False
        self._interrupt = threading.Event()
        self._requests = []
        self._paused = self.options.start_paused
        self._first_ns = 0  #: published time of the state after the last reset
        self._started = False  #: whether the first lockstep command has come
        self._alone = None  #: commands accepted when lockstep was given up, None while it works
        self.lockstep_timeouts = 0
        self._step = None
        self._record = Summary()
        self.applied = None  #: called with (stamp [ns], effort) of every step and (stamp, None) at a reset, to record

    def _subscribe(self):
        qos = COMMAND_LOCKSTEP if self.options.lockstep else COMMAND
        inputs = {
            "joint_commands": ("sensor_msgs/msg/JointState", self._inbox.on_joint_command),
            "effort_commands": ("std_msgs/msg/Float64MultiArray", self._inbox.on_effort_command),
        }
        #: absolute topic name to type of everything that comes in
        self.inputs = {self.node.resolve(topic): type_name for topic, (type_name, _) in inputs.items()}
        self._subscriptions = [
            self.node.create_subscription(type_name, topic, callback, qos)
            for topic, (type_name, callback) in inputs.items()
        ]

    def _serve(self):
        make = self.node.create_service
        make("std_srvs/srv/Trigger", "~/reset", lambda _, answer: self._answer(answer, self._do_reset))
        make("std_srvs/srv/Trigger", "~/step", lambda _, answer: self._answer(answer, self._do_step))
        make(
            "std_srvs/srv/SetBool",
            "~/pause",
            lambda request, answer: self._answer(answer, lambda: self._do_pause(bool(request.data))),
        )

    # --- from any thread ------------------------------------------------------------------------
    def stop(self):
        """End :meth:`run` soon; safe in a signal handler."""
        self._stop = True

    def summary(self):
        """Return the :class:`~mb_contact.ros.diagnostics.Summary` so far."""
        record = self._record
        record.real_time_factor = self._pacer.factor_overall
        record.real_time_factor_now = self._pacer.factor_now
        record.wall = self._pacer.wall
        record.accepted, record.rejected = self._inbox.accepted, self._inbox.rejected
        record.late, record.missed_deadlines = self._inbox.late, self._pacer.missed
        record.lockstep_timeouts = self.lockstep_timeouts
        record.policy_active, record.policy = self._policy.active, self.options.command_timeout_policy
        return record

    def stamp(self):
        """Published time of the current state [ns]; never runs backwards."""
        return self._first_ns + self._steps() * self._dt_ns

    def _steps(self):
        return int(self.simulator.step_count)

    def _answer(self, answer, action):
        """Have the physics thread do ``action`` between two steps and fill in the service's answer."""
        done = threading.Event()
        request = [action, done, (False, "the simulation is not running")]
        self._requests.append(request)
        self._interrupt.set()
        with self._inbox.changed:
            self._inbox.changed.notify_all()
        if not done.wait(_ANSWER_SECONDS):
            request[0] = None  # too late: do not do it behind the caller's back
        answer.success, answer.message = request[2]
        return answer

    # --- physics thread -------------------------------------------------------------------------
    def run(self, duration=None):
        """Simulate until :meth:`stop`, or for ``duration`` simulated seconds; returns the summary.

        Raises
        ------
        MbContactError
            The simulation failed.
        """
        executor = threading.Thread(target=self._spin, name="ros executor", daemon=True)
        executor.start()
        self._pacer.resume(self.simulator.time)
        last = None if duration is None else round(duration / self.simulator.time_step)
        try:
            while not self._stop and (last is None or self._record.steps < last):
                self._advance()
            self._publish()
        finally:
            self._stop = True
            for _, done, _ in self._requests:  # callers on the executor thread must not hold up the end
                done.set()
            self.node.wake()
            executor.join(timeout=_ANSWER_SECONDS)
        return self.summary()

    def _spin(self):
        while not self._stop:
            try:
                self.node.spin_once(_SLICE)
            except MbContactError as error:
                self._logger.error(str(error), throttle_duration_sec=1.0)
            except Exception as error:  # a callback's bug must not silence the node
                text = f"{type(error).__name__} in a callback: {error}"
                self._logger.error(text, throttle_duration_sec=1.0)

    def _advance(self):
        """Do one control period, or less when interrupted."""
        self._serve_requests()
        if self._paused:
            self._interrupt.wait(_SLICE)
            self._pacer.resume(self.simulator.time)
            return
        if self._steps() % self._schedule.control == 0:
            self._inbox.expect(self.stamp())
            self._publish()
            if self.options.lockstep and not self._await_command():
                return
        effort = self._policy.effort(self.stamp() * 1e-9, force=self._alone is not None)
        self._do_steps(effort)

    def _do_steps(self, effort):
        """Step to the next control instant; a request that comes in meanwhile waits until then."""
        while True:
            self._take_step(effort)
            self._pace()
            if self._steps() % self._schedule.control == 0 or self._stop:
                return
            self._publish()

    def _take_step(self, effort):
        if self.applied is not None:
            self.applied(self.stamp(), effort)
        self._step = self.simulator.step(effort)
        self._record.add(self._step, self.simulator.time_step)
        self.outputs.wrenches.accumulate()

    def _publish(self, force=False):
        self.outputs.publish(self._steps(), self.stamp(), self._step, force)
        self._diagnostics.publish(self._steps(), self.stamp())

    def _pace(self):
        # without its controller the simulation goes on in real time even when it could be faster
        delay = self._pacer.delay(self.simulator.time, None if self._alone is None else 1.0)
        if delay > 0.0:
            self._interrupt.wait(delay)

    def _await_command(self):
        """Wait for the answer to the state just published; False when something else has to be done first."""
        if not self._started and self.options.wait_for_controller:
            return self._await_first_command()
        if self._alone is not None and self._inbox.accepted != self._alone:
            self._alone = None
            self._logger.info("commands are back: lockstep goes on")
        if self._alone is not None:
            return not self._interrupted()
        if self._inbox.wait(self.options.lockstep_timeout, self._interrupted):
            self._started = True
            return True
        if self._interrupted():
            return False
        self._alone = self._inbox.accepted
        self.lockstep_timeouts += 1
        waited, policy = self.options.lockstep_timeout, self.options.command_timeout_policy
        self._logger.warning(
            f"no answer to the state at {self.stamp() * 1e-9:.6f} s within {waited} s: going on in real time "
            f"with policy '{policy}' until commands come again"
        )
        return True

    def _await_first_command(self):
        """Wait for a controller without end, repeating the first state: it may join late."""
        self._logger.info("lockstep: waiting for the first command", throttle_duration_sec=10.0)
        while not self._inbox.wait(_SLICE, self._interrupted):
            self._pacer.resume(self.simulator.time)
            if self._interrupted():
                return False
            self._publish(force=True)
        self._pacer.resume(self.simulator.time)
        self._started = True
        return True

    def _interrupted(self):
        return self._stop or bool(self._requests)

    # --- services, on the physics thread ----------------------------------------------------------
    def _serve_requests(self):
        self._interrupt.clear()
        while self._requests:
            request = self._requests.pop(0)
            if request[0] is not None:
                try:
                    request[2] = request[0]()
                except MbContactError as error:
                    request[2] = (False, str(error))
            request[1].set()

    def _do_reset(self):
        stamp = self.stamp()
        self.simulator.reset()
        # one step later, so that no two different states carry the same stamp
        self._first_ns = 0 if self.options.reset_rewinds_time else stamp + self._dt_ns
        self._step = None
        if self.applied is not None:
            self.applied(self._first_ns, None)
        self._inbox.clear(self._first_ns)
        self._policy.restart(self.stamp() * 1e-9)
        self.outputs.wrenches.clear()
        self._pacer.resume(self.simulator.time)
        self._inbox.expect(self.stamp())
        self._publish(force=True)
        return True, f"reset; time goes on at {self.stamp() * 1e-9:.6f} s"

    def _do_pause(self, paused):
        self._paused = paused
        self._pacer.resume(self.simulator.time)
        return True, "paused" if paused else "running"

    def _do_step(self):
        if not self._paused:
            return False, "step works only while paused: call ~/pause first"
        self._take_step(self._policy.effort(self.stamp() * 1e-9))
        self._publish(force=True)
        return True, f"at {self.stamp() * 1e-9:.6f} s"

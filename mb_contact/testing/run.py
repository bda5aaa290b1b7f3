# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One run of a test: the node on a thread of this process, controllers in processes of their own, checks in between.

The node's physics thread looks at every state before the controllers hear of it, and stands still whenever nobody waits
for something: what a test does between two waits happens at a simulated time, not at a wall time.
"""

from __future__ import annotations

import contextlib
import operator
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.errors import DynamicsError, SolverError
from mb_contact.ros.backend import create_node
from mb_contact.ros.node import SimulatorNode
from mb_contact.simulation.simulator import Simulator
from mb_contact.testing.checks import EPSILON, KEPT, OPEN, Check, Expectation, Quantity, Tally
from mb_contact.testing.conditions import Channel, Event, push
from mb_contact.testing.failures import CheckFailed, Result
from mb_contact.testing.plan import Plan
from mb_contact.testing.processes import Program, domain_environment, own_domain, variables
from mb_contact.testing.views import SimulatorView

LOOK = 0.05  #: between two looks at processes and budgets [wall s]
QUIET = 1.0  #: without a new state, after a controller has ended: its last command has come [wall s]
TELL = 30.0  #: between two lines about what is waited for [wall s]
FRAME = 0.1  #: between two pictures of the film, beside those of moments of decision [simulated s]
FOREVER = 1e9  #: a duration that nobody reaches; a step that is impossible ends such a run [s]
STOP_SECONDS = 60.0  #: for the physics thread to end
__tracebackhide__ = operator.methodcaller("errisinstance", CheckFailed)  #: pytest shows the test's own line


class Run:
    """A run that goes on while somebody waits for something; a context manager.

    Parameters
    ----------
    plan : Plan
    folder : path
        For the bag, the logs and, where something fails, pictures and the page.
    say : callable, optional
        Called with a line where nothing has moved for long.

    Attributes
    ----------
    node : SimulatorNode
    time : float
        Simulated [s].
    interrupted : bool
        By Ctrl-C or SIGTERM, while it was waited for something.
    programs : list of Program
    tallies : list of Tally
    failures : list of str
        What is wrong beside checks: controllers, budgets, commands that were refused.

    Raises
    ------
    MbContactError
        The scene, a controller's command or the name in a check is wrong.
    """

    def __init__(self, plan: Plan, folder: str | Path, say: Callable[[str], Any] | None = None) -> None:
        self.plan, self.folder = plan, Path(folder)
        self._say = say or (lambda line: print(f"mb-contact: {line}", file=sys.stderr, flush=True))
        self.tallies = [Tally(entry) for entry in plan.expectations]
        self.failures: list[str] = []
        self.frames: list[tuple[float, dict[str, Any]]] = []
        self.time, self.interrupted = 0.0, False
        self.programs: list[Program] = []
        self._changed = threading.Condition()
        self._goal: Callable[[], bool] | None = None
        self._error: BaseException | None = None
        self._stamp, self._moved, self._begun, self._told = None, 0.0, 0.0, 0.0
        self._events = sorted(plan.conditions.events, key=lambda event: event.at)[::-1]
        self._over = self._closed = False
        self._refused, self._commanded = "", -1
        self._stack = contextlib.ExitStack()

    # --- begin and end --------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = domain_environment(self._stack.enter_context(own_domain()), self.plan.backend)
        simulator = Simulator(self.plan.scene, progress=None)
        with variables(environment):
            renamed = [word for old, new in self.plan.remap.items() for word in ("-r", f"{old}:={new}")]
            ros = create_node("mb_contact", self.plan.backend, ["--ros-args", *renamed] if renamed else None)
        self._stack.callback(ros.destroy_node)
        environment["MB_CONTACT_ROS_BACKEND"] = ros.backend
        log = self._stack.enter_context(open(self.folder / "node.log", "w", encoding="utf-8"))
        logger = _Log(ros.get_logger(), self._on_log, log)
        ros.get_logger = lambda: logger
        self.node = SimulatorNode(ros, simulator, self.plan.options)
        self.view, self.scene = SimulatorView(self.node), simulator
        self.view.coming |= {event.fields["name"] for event in self._events if event.kind == "spawn"}
        period = self.node.options.control_period or simulator.scene.rates.get("control_period", simulator.time_step)
        channel = Channel([self.plan.conditions], period)
        if not channel.is_clear:
            self.node.commanded = lambda effort, asked: self._pass_on(channel, effort, asked)
        self.node.watch = self._watch
        self._record()
        thread = threading.Thread(target=self._simulate, name="physics", daemon=True)
        thread.start()
        self._stack.callback(self._end_physics, thread)
        self._begun = self._moved = self._told = time.monotonic()
        for number, command in enumerate(self.plan.controllers, 1):
            log = self.folder / f"controller_{number}.log"
            log.unlink(missing_ok=True)
            self.programs.append(Program(command, environment, log, self.plan.folder))
            self.programs[-1].start()

    def _record(self):
        try:
            from mb_contact.ros.recorder import Recorder
        except ImportError:  # without rosbags there is no bag
            return
        recorder = Recorder(str(self.folder / "run.mcap"), self.node.stamp)
        self._stack.callback(recorder.close)
        recorder.attach(self.node)
        for publisher in self.node.outputs.publishers:
            if publisher.topic_name.endswith("/contact_markers"):  # as pictures of 'contacts' they take longest
                publisher.tap = None

    def _simulate(self):
        try:
            self.node.run(FOREVER)
        except BaseException as error:
            self._error = error
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _end_physics(self, thread):
        self.node.stop()
        self.node.inputs.wake()
        thread.join(STOP_SECONDS)

    def close(self) -> None:
        """End everything and decide what is still open; whatever happens, no process is left."""
        if self._closed:
            return
        self._closed = self._over = True
        self.node.stop()
        if isinstance(self._error, (DynamicsError, SolverError)):
            self.failures.insert(0, f"the simulation stopped at {self.time:.3f} s: {self._error}")
        fault = self.failures[0].split("; ")[0] if self.failures else ""  # what is found out later has not ended it
        for program in self.programs:
            program.stop()
            if (complaint := program.complaint()) and complaint not in self.failures:
                self.failures.append(complaint)
        self._stack.close()
        for tally in self.tallies:
            tally.end(self.time, fault)
        if self._error is not None and not isinstance(self._error, (DynamicsError, SolverError)):
            raise self._error

    # --- on the physics thread --------------------------------------------------------------------------

    def _pass_on(self, channel, effort, asked):
        """Efforts and targets that act where these have come; those of before a reset never arrive."""
        if self.node.outputs.run != self._commanded:
            channel.forget()
        self._commanded = self.node.outputs.run
        return channel.pass_on(np.asarray(effort)[None])[0], channel.pass_targets(asked)

    def _watch(self, step):
        """Look at a state once, before it is told; then stand still where nobody waits for more."""
        stamp = self.node.stamp()
        if stamp != self._stamp:
            first, self._stamp = self._stamp is None, stamp
            self._moved = time.monotonic()
            self.view.take(step)
            self.time = self.view.time
            for tally in self.tallies:
                if first:
                    tally.prime(self.view)
                tally.see(self.view)
            decided = any(tally.when[0] == self.time for tally in self.tallies)
            if decided or not self.frames or self.time >= self.frames[-1][0] + FRAME - EPSILON:
                self._take_picture()
            self.view.forget()
            while self._events and self._events[-1].at <= self.time + EPSILON:
                self._events.pop().act(self)
        with self._changed:
            if self._goal is None or self._goal():
                self._goal = None
                self.node.paused = True  # not by do_pause, which would tell the state before its time
                self._changed.notify_all()
        if self.plan.duration is not None and self.time >= self.plan.duration - EPSILON:
            self._end()

    def _take_picture(self):
        simulator = self.node.simulator
        links = [name for name, frame in simulator.world.frames.items() if frame.body >= 0]
        self.frames.append((self.time, {name: simulator.link_pose(name) for name in links}))

    def _on_log(self, text):
        # who answers a state of before a reset is late, not wrong
        if "rejected a message on" in text and "it answers run" not in text and not self._refused:
            self._refused = f"at {self.time:.3f} s the node {text}"

    # --- on the test's thread ---------------------------------------------------------------------------

    def _go(self, goal):
        """Let simulated time pass until ``goal()``, which is asked at every state; False where the run ends before."""
        if self._over:
            return False
        with self._changed:
            self._goal = goal
        self.node.ask(lambda: self.node.do_pause(False))
        try:
            while self._goal is not None and not self._over:
                with self._changed:
                    self._changed.wait(LOOK)
                self._look()
        except KeyboardInterrupt:
            self.interrupted = True
            self._say(self._whereabouts())
            self._end("it was interrupted")
            raise
        return self._goal is None

    def _look(self):
        """What may end a run while somebody waits: a controller's end, a refused command, a budget."""
        now = time.monotonic()
        codes = [program.code for program in self.programs]
        complaints = [program.complaint() for program, code in zip(self.programs, codes) if code not in (None, 0)]
        if complaints or self._refused:
            self._end(*complaints, *filter(None, [self._refused]))
        elif 0 in codes and (now - self._moved > QUIET if self.plan.lockstep else not self._waits()):
            self._end()
        elif self.plan.wall is not None and now - self._begun > self.plan.wall:
            self._end(f"the run has taken {self.plan.wall:g} s of wall time, its budget; {self._whereabouts()}")
        elif now - max(self._moved, self._told) > TELL:
            self._told = now
            self._say(f"{self._whereabouts()} (no budget of wall time is set)")

    def _waits(self):
        """Whether something that has to come to pass has not yet; in real time it does so after a controller's end."""
        return any(tally.state[0] == OPEN for tally in self.tallies if tally.expectation.within is not None)

    def _whereabouts(self):
        waiting = self.node.summary().waiting_for
        running = ", ".join(f"'{program.text}'" for program in self.programs if program.code is None)
        text = f"the simulation stands at {self.time:.3f} s" + (f" and waits for {waiting}" if waiting else "")
        return text + (f"; running: {running}" if running else "; no controller runs")

    def _end(self, *failures):
        for text in failures:
            if text not in self.failures:
                self.failures.append(text)
        self.node.stop()
        with self._changed:
            self._over = True

    def _require(self, reached, what):
        if not reached:
            self.close()
            over = self.plan.duration is not None and self.time >= self.plan.duration - EPSILON
            why = "\n".join(self.failures) or ("that is its duration" if over else "its controllers have ended")
            raise CheckFailed(f"{what}: the run ended at {self.time:.3f} s: {why}")

    # --- what a test calls ------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let so much simulated time pass.

        Raises
        ------
        CheckFailed
            The run ends before.
        """
        end = self.time + seconds
        self._require(self._go(lambda: self.view.time >= end - EPSILON), f"expected: to go on until {end:g} s")

    def expect(self, check: Check, **when: Any) -> Tally:
        """Judge a check from now on, while the test does other things; ``when`` as :class:`Expectation` has it."""
        tally = Tally(Expectation(check, **({"after": self.time} | when)))
        self.value(tally.expectation.check.quantity)
        self.tallies.append(tally)
        return tally

    def wait_for(self, check: Check, within: float, lasting: float = 0.0) -> None:
        """Go on until a check has held for ``lasting`` seconds on end, ``within`` simulated seconds from now.

        Raises
        ------
        CheckFailed
            It has not.
        """
        self._decide(self.expect(check, within=self.time + within, lasting=lasting))

    def keep(self, check: Check, lasting: float) -> None:
        """Go on for so many seconds, in which a check holds at every step.

        Raises
        ------
        CheckFailed
            It does not.
        """
        self._decide(self.expect(check, until=self.time + lasting))

    def now(self, check: Check) -> None:
        """Check the present state.

        Raises
        ------
        CheckFailed
            It is not so.
        """
        tally = self.expect(check, at=self.time)
        self._ask(lambda: tally.see(self.view))
        self._judge(tally)

    def _decide(self, tally):
        self._go(lambda: bool(tally.state[0] != OPEN))
        self._judge(tally)

    def _judge(self, tally):
        if tally.state[0] != KEPT:
            self.close()
            raise CheckFailed("\n".join([tally.sentence(), *self.failures]))

    def value(self, quantity: Quantity) -> float:
        """What a quantity is now."""
        return float(self._ask(lambda: np.ravel(quantity.read(self.view, {}))[0]))

    def push(self, link: str, force: Any = (0, 0, 0), torque: Any = (0, 0, 0), lasting: float = 0.1) -> None:
        """Push a link from now on for so long [s], with a force [N] and a torque [N m] about its origin, world axes."""
        kind, fields = push(link, force, torque, lasting)
        self.act(kind, **fields)

    def act(self, kind: str, **fields: Any) -> None:
        """Do what an :class:`~mb_contact.testing.conditions.Event` of this kind does, now."""
        self._ask(lambda: Event(self.time, kind, fields).act(self))

    def _ask(self, action):
        self._settle()
        return action() if self._over else self.node.ask(action)

    def _settle(self):
        """Before the first wait the physics thread has yet to look at the first state."""
        with self._changed:
            while self._stamp is None and not self._over:
                self._changed.wait(LOOK)
        if self._error is not None:
            self.close()

    def finish(self) -> list[Result]:
        """Go on until everything is decided, the duration is over or the controllers have ended; then end it all.

        Returns
        -------
        list of Result
        """
        last = self.plan.duration

        def done():
            if last is not None:
                return self.view.time >= last - EPSILON
            return bool(self.tallies) and all(tally.state[0] != OPEN for tally in self.tallies)

        self._go(done)
        self.close()
        return self.results()

    def results(self) -> list[Result]:
        """What became of the controllers and of each check."""
        controllers = Result("controllers", not self.failures, "\n".join(self.failures), self.time)
        return [controllers, *(tally.result() for tally in self.tallies)]


class _Log:
    """A node's logger whose warnings and errors go to a file, and to who listens, before they are throttled."""

    def __init__(self, logger, hear, file):
        self._logger, self._hear, self._file = logger, hear, file

    def __getattr__(self, name):
        return getattr(self._logger, name)

    def info(self, _text, **_more):
        """Nothing: what a run does is told by its checks."""

    def warning(self, text, **_more):
        """A line of what the user should know."""
        self._keep("WARN", text)

    def error(self, text, **_more):
        """A line of what failed."""
        self._keep("ERROR", text)

    def _keep(self, level, text):
        if not self._file.closed:
            self._file.write(f"[{level}] {text}\n")
            self._file.flush()
        self._hear(text)

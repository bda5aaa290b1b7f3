# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A simulator played in a thread of its own: run, pause, step, reset, always between two steps."""

import threading
import time
from typing import Any

from mb_contact.errors import InputError, MbContactError
from mb_contact.ros.pacing import Pacer
from mb_contact.simulation.joints.springs import Springs
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.surfaces.simulator import AnySimulator
from mb_contact.viewer.drawing import Drawing
from mb_contact.viewer.options import EFFORTS, as_factor
from mb_contact.viewer.snapshot import FRAME_SECONDS, Snapshot, snapshot_of

SLICE = 0.05  #: longest wait before a request is looked at [s]
LATE = 0.01  #: from which a step counts as late [s]; nothing depends on it here


class Player:
    """Steps a simulator at the pace of the wall clock and keeps the newest frame.

    What the user asks for is done by the physics thread between two steps, so the states are those of a
    :class:`~mb_contact.Simulator` that took as many steps, bit for bit, however it was paused.

    Parameters
    ----------
    simulator : AnySimulator
    drawing : Drawing
        Tells which links to follow.
    factor : float
        Simulated seconds per second; 0: as fast as possible.
    efforts : str
        One of EFFORTS.
    paused : bool
    duration : float, optional
        Simulated seconds after which it ends.
    """

    can_pace = True  #: the panel offers a real-time factor and efforts

    def __init__(
        self,
        simulator: AnySimulator,
        drawing: Drawing,
        factor: float = 1.0,
        efforts: str = "zero",
        paused: bool = False,
        duration: float | None = None,
    ) -> None:
        self._simulator, self._drawing, self._duration = simulator, drawing, duration
        self._requests: list[Any] = []
        self._changed = threading.Condition()
        self._frame, self._frame_due = None, 0.0
        self._stop = False
        self._message, self._step = "", None
        self.paused = bool(paused)
        self.failed = None  #: the MbContactError of the last step, until a reset
        self.crash = None  #: any other exception: it ends the physics thread
        self._pacer = Pacer(0.0, LATE)
        self._set_factor(factor)
        self._set_efforts(efforts)
        self.can_drag = isinstance(simulator, Simulator)  #: links can be dragged: not those of smooth surfaces
        self._springs: Any = Springs(simulator) if self.can_drag else None  # type: ignore[arg-type]
        self._strength = 1.0
        self.joint_names = tuple(simulator.world.joint_names)
        self._thread = threading.Thread(target=self._play, name="physics", daemon=True)

    # --- from any thread ------------------------------------------------------------------------
    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the physics thread and wait for it."""
        self._stop = True
        self._ask(lambda: None)
        if self._thread.is_alive():
            self._thread.join()

    @property
    def done(self) -> bool:
        """Whether the duration is over, or a crash ended it."""
        return not self._thread.is_alive()

    def run(self) -> None:
        """Go on."""
        self._ask(lambda: self._pause(False))

    def pause(self) -> None:
        """Stop after the step that is being taken."""
        self._ask(lambda: self._pause(True))

    def step(self, count: int = 1) -> None:
        """Take so many steps and be paused."""
        self._ask(lambda: self._steps(count))

    def reset(self) -> None:
        """Back to the scene's initial state."""
        self._ask(self._reset)

    def set_factor(self, factor: float) -> None:
        """Pace at another real-time factor."""
        self._ask(lambda: self._set_factor(factor))

    def set_efforts(self, efforts: str) -> None:
        """Change what the joints' motors do."""
        self._ask(lambda: self._set_efforts(efforts))

    def grab(self, who: Any, link: str, place: Any) -> None:
        """Somebody takes hold of a link at a place in the world (3,) [m]."""
        self._ask(lambda: self._springs.grab(who, link, place, self._strength))

    def drag(self, who: Any, place: Any) -> None:
        """And pulls it towards another place, if it is held."""
        self._ask(lambda: self._springs.move(who, place), paced=True)

    def release(self, who: Any) -> None:
        """And lets go."""
        self._ask(lambda: self._springs.release(who))

    def set_strength(self, strength: float) -> None:
        """Multiply the stiffness of the springs that drag links, now and later."""
        self._ask(lambda: self._set_strength(strength))

    def tell(self, message: str) -> None:
        """Say something beside time and pace, until the next thing that is asked for."""
        self._ask(lambda: self._tell(message))

    def frame(self, timeout: float) -> Snapshot | None:
        """The newest Snapshot that was not handed out yet, or None after ``timeout`` seconds without any."""
        with self._changed:
            self._changed.wait_for(lambda: self._frame is not None, timeout)
            frame, self._frame = self._frame, None
        return frame

    def _ask(self, action, paced=False):
        """Let the physics thread do something; ``paced``: so little that the pace need not begin anew."""
        with self._changed:
            self._requests.append((action, paced))
            self._changed.notify_all()

    # --- physics thread -------------------------------------------------------------------------
    def _play(self):
        try:
            self._go_on()
        except Exception as error:  # a bug: the main thread has to hear of it
            self.crash = error

    def _go_on(self):
        self._pacer.resume(self._simulator.time)
        self._show()
        while not self._stop:
            self._serve()
            if self._over():
                self._show()
                return
            if self.paused or self.failed is not None:
                self._wait(SLICE)
                self._pacer.resume(self._simulator.time)
                continue
            self._take_step()
            self._wait(self._pacer.delay(self._simulator.time))
            if time.perf_counter() >= self._frame_due:
                self._show()

    def _over(self):
        half = 0.5 * self._simulator.time_step
        return self._stop or (self._duration is not None and self._simulator.time > self._duration - half)

    def _serve(self):
        while self._requests:
            action, paced = self._requests.pop(0)
            if self.failed is None and not paced:
                self._message = ""
            try:
                action()
            except MbContactError as error:
                self._message = str(error)
            if not paced:
                self._pacer.resume(self._simulator.time)
            if not paced or time.perf_counter() >= self._frame_due:
                self._show()

    def _wait(self, seconds):
        """Wait, or less when there is a request."""
        with self._changed:
            self._changed.wait_for(lambda: self._requests or self._stop, seconds)

    def _take_step(self):
        try:
            if self.can_drag:
                self._springs.apply()
            self._step = self._simulator.step(self._effort())
        except MbContactError as error:  # the state is as it was
            self.failed, self._message = error, f"stopped: {error}"
            self._show()

    def _effort(self):
        if self.efforts == "zero" or not self._simulator.world.joint_names:
            return None
        return self._simulator.nonlinear_effects()

    def _pause(self, paused):
        self.paused = paused

    def _steps(self, count):
        self.paused = True
        for _ in range(count):
            if self.failed is None and not self._stop:
                self._take_step()

    def _reset(self):
        self._simulator.reset()
        self._step, self.failed, self._message = None, None, ""

    def _tell(self, message):
        self._message = message

    def _set_strength(self, strength):
        self._springs.set_strength(strength)
        self._strength = strength

    def _set_factor(self, factor):
        self.factor = as_factor(factor)
        self._pacer.set_factor(self.factor, self._simulator.time)

    def _set_efforts(self, efforts):
        if efforts not in EFFORTS:
            raise InputError(f"efforts are {', '.join(EFFORTS)}, not '{efforts}'")
        self.efforts = efforts

    def _show(self):
        """Make a frame of the present state."""
        factor = self._pacer.factor_now if not self.paused else None
        springs = self._springs.held if self.can_drag else ()
        frame = snapshot_of(self._simulator, self._step, self._drawing, factor, self._message, springs)
        self._frame_due = time.perf_counter() + FRAME_SECONDS
        with self._changed:
            self._frame = frame
            self._changed.notify_all()

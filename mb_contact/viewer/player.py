# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A simulator played in a thread of its own: run, pause, step, reset, always between two steps."""

import threading
import time
from typing import Any

import numpy as np

from mb_contact.checks import instead_of
from mb_contact.errors import InputError, MbContactError
from mb_contact.ros.pacing import Pacer
from mb_contact.simulation.joints.springs import Springs
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.surfaces.simulator import AnySimulator
from mb_contact.viewer.drawing import Drawing
from mb_contact.viewer.options import EFFORTS, as_factor
from mb_contact.viewer.snapshot import FRAME_SECONDS, snapshot_of
from mb_contact.viewer.source import Source

SLICE = 0.05  #: longest wait before a request is looked at [s]
SENSOR_SECONDS = 0.2  #: between two readings of a sensor that is looked at, wall time
FREE = 3.2  #: range of a joint without an end, to either side [rad, m]
LATE = 0.01  #: from which a step counts as late [s]; nothing depends on it here


class Player(Source):
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

    can_pace = can_drive = True

    def __init__(
        self,
        simulator: AnySimulator,
        drawing: Drawing,
        factor: float = 1.0,
        efforts: str = "zero",
        paused: bool = False,
        duration: float | None = None,
    ) -> None:
        super().__init__()
        self._simulator, self._drawing, self._duration = simulator, drawing, duration
        self._requests: list[Any] = []
        self._frame_due, self._stop = 0.0, False
        self._message, self._step = "", None
        self.paused = bool(paused)
        self.failed = None  #: the MbContactError of the last step, until a reset
        self._pacer = Pacer(0.0, LATE)
        self._set_factor(factor)
        self._watched, self._sensor_due, self._capture = None, 0.0, None
        self._set_efforts(efforts)
        self.can_drag = isinstance(simulator, Simulator)  #: links can be dragged: not those of smooth surfaces
        self._springs: Any = Springs(simulator) if self.can_drag else None  # type: ignore[arg-type]
        self._strength = 1.0
        self.joint_names = tuple(simulator.world.joint_names)
        self.can_pose = self.can_drag and bool(self.joint_names)
        self.sensor_names = tuple(simulator.sensors.names) if isinstance(simulator, Simulator) else ()
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

    def move(self, joint: str, position: float) -> None:
        """Put a joint somewhere [rad, m] while paused; else ask its actuator, or a law that holds all, for it."""
        self._ask(lambda: self._move(joint, position))

    def joint_range(self, joint: str) -> tuple[float, float, float]:
        """Lowest and highest position of a joint, and where it is [rad, m]; FREE to either side where it has no end."""
        world, k = self._simulator.world, self.joint_names.index(joint)
        tree, v = world.tree, world.joint_v[k]  # type: ignore[union-attr]
        start = float(self._simulator.joint_positions()[k])
        ends = ((float(tree.lower[v]), start - FREE), (float(tree.upper[v]), start + FREE))
        low, high = (end if np.isfinite(end) else other for end, other in ends)
        return low, high, start

    def watch(self, sensor: str | None) -> None:
        """Read a sensor with every frame, or none."""
        self._ask(lambda: self._watch(sensor))

    def tell(self, message: str) -> None:
        """Say something beside time and pace, until the next thing that is asked for."""
        self._ask(lambda: self._tell(message))

    def recorded(self, seconds: float, every: float = FRAME_SECONDS) -> list[Any]:
        """Frames of so many simulated seconds from now, as fast as they come; for a player that was not started."""
        frames, due = [self._seen()], self._simulator.time
        end = due + seconds - 0.5 * self._simulator.time_step
        while self._simulator.time < end and self.failed is None:
            self._take_step()
            if self._simulator.time >= due + every or self._simulator.time >= end:
                due += every
                frames.append(self._seen())
        return frames

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
        if self.efforts == "gravity_compensation":
            return self._simulator.nonlinear_effects()
        from mb_contact.control import hold

        return np.where(self._served, 0.0, hold(self._simulator, self._targets))

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
        if efforts == "hold":
            self._targets = self._simulator.joint_positions()
            self._served = self._simulator.servos()[0]  # these hold themselves
        self.efforts = efforts

    def _move(self, joint, position):
        simulator, k = self._simulator, self.joint_names.index(joint)
        if self.paused:
            simulator.set_joints([joint], [position])
            self._step = None  # what touched, touches no more
        elif simulator.servos()[0][k]:
            simulator.set_targets([joint], [position])
            return
        elif self.efforts != "hold":
            self._set_efforts("hold")
        if self.efforts == "hold":
            self._targets[k] = position

    def _watch(self, sensor):
        if sensor is not None and sensor not in self.sensor_names:
            raise InputError(f"there is no sensor '{sensor}'; {instead_of(sensor, self.sensor_names, 'there are')}")
        self._watched, self._sensor_due, self._capture = sensor, 0.0, None

    def _sensor(self):
        """What takes the reading of the sensor that is looked at, in another thread; the last one until it is due."""
        if self._watched is not None and time.perf_counter() >= self._sensor_due:
            self._sensor_due = time.perf_counter() + SENSOR_SECONDS
            self._capture = self._simulator.sensors.capture(self._watched)
        return self._capture

    def _seen(self):
        """A frame of the present state."""
        factor = self._pacer.factor_now if not self.paused else None
        springs = self._springs.held if self.can_drag else ()
        return snapshot_of(self._simulator, self._step, self._drawing, factor, self._message, springs)

    def _show(self):
        self._frame_due = time.perf_counter() + FRAME_SECONDS
        self._put(self._seen()._replace(sensor=self._sensor()))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A loop of one's own, watched: ``mb.show(sim)`` draws what ``sim.step`` does, wherever it is called."""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path
from typing import Any

from mb_contact.errors import InputError
from mb_contact.simulation.surfaces.simulator import AnySimulator
from mb_contact.viewer.drawing import Drawing
from mb_contact.viewer.page import Page, simulated_scene
from mb_contact.viewer.player import SLICE, Player


class Loop(Player):
    """A simulator whose ``step`` is called by somebody else's loop: each call is paced, and drawn if it is time to.

    Pausing in the page holds the loop before its next step; links can be dragged; efforts are the loop's.

    Parameters
    ----------
    simulator : AnySimulator
    drawing : Drawing
    factor : float
        Simulated seconds per second at most; 0: never wait.
    """

    can_drive = False

    def __init__(self, simulator: AnySimulator, drawing: Drawing, factor: float = 1.0) -> None:
        super().__init__(simulator, drawing, factor)
        self._plain, self._allowed = simulator.step, 0

    @property
    def done(self) -> bool:
        """Whether it was ended."""
        return self._stop

    def start(self) -> None:
        """Take the place of the simulator's ``step``, and draw its state."""

        @functools.wraps(self._plain)
        def step(*args: Any, **kwargs: Any) -> Any:
            return self._stepped(*args, **kwargs)

        step.loop = self  # type: ignore[attr-defined]
        self._simulator.step = step  # type: ignore[method-assign]
        self._pacer.resume(self._simulator.time)
        self._show()

    def stop(self) -> None:
        """Give the simulator its ``step`` back; what waits goes on."""
        self._stop = True
        if getattr(vars(self._simulator).get("step"), "loop", None) is self:
            del self._simulator.step
        self._ask(lambda: None)

    def draw(self) -> None:
        """Draw the simulator's state now: after a reset, or when something was put elsewhere."""
        self._show()

    def _stepped(self, *args, **kwargs):
        if self._stop:  # somebody kept the bound method
            return self._plain(*args, **kwargs)
        self._serve()
        while self.paused and not self._allowed and not self._stop:
            self._wait(SLICE)
            self._serve()
            self._pacer.resume(self._simulator.time)
        self._allowed = max(self._allowed - 1, 0)
        if self.can_drag:
            self._springs.apply()
        self._step = self._plain(*args, **kwargs)
        if time.perf_counter() >= self._frame_due or self.paused:
            self._show()
        delay = self._pacer.delay(self._simulator.time)
        if delay > 0.0:
            time.sleep(delay)
        return self._step

    def _steps(self, count):
        self.paused, self._allowed = True, self._allowed + count

    def _move(self, joint, position):
        if not self.paused and not self._simulator.servos()[0][self.joint_names.index(joint)]:
            raise InputError(f"the loop's efforts move '{joint}', it has no actuator to ask: pause to put it somewhere")
        super()._move(joint, position)


class Show:
    """A page that shows a simulator while a loop of one's own steps it; a context, and a picture in notebooks.

    Attributes
    ----------
    address : str
        Of the page.
    """

    def __init__(self, simulator: Any, real_time_factor: float, host: str, port: int, open_browser: bool) -> None:
        from mb_contact.viewer.serving import Served, has_screen

        drawing, poses = simulated_scene(simulator)
        self._loop = Loop(simulator, drawing, real_time_factor)
        self._served = Served(host, port)
        self.address = self._served.address
        name = simulator.scene.path.stem if getattr(simulator.scene, "path", None) else "scene"
        try:
            self._page = Page(self._served.server, (self._loop, drawing, poses, name))
        except BaseException:
            self._served.close()
            raise
        self._loop.start()
        self._thread = threading.Thread(target=self._draw, name="view", daemon=True)
        self._thread.start()
        if open_browser and has_screen():
            import webbrowser

            webbrowser.open(self.address)

    def _draw(self):
        try:
            while not self._loop.done:
                self._page.draw_next()
        finally:  # also where another page of the same simulator has ended this one
            self._served.close()

    def draw(self) -> None:
        """Draw the state as it is now; steps are drawn by themselves."""
        self._loop.draw()

    def save(self, path: str | Path) -> Path:
        """Write the frames of the last half minute as one HTML file that runs without a server.

        Parameters
        ----------
        path : path

        Returns
        -------
        Path
        """
        return self._page.save(path)

    def wait(self) -> None:
        """Stay until Ctrl-C: a script that has ended shows nothing any more."""
        try:
            while not self._loop.done:
                time.sleep(SLICE)
        except KeyboardInterrupt:
            pass

    def close(self) -> None:
        """End the page; the simulator is as it was."""
        self._loop.stop()
        self._thread.join()

    def __enter__(self) -> Show:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Show({self.address})"

    def _repr_html_(self) -> str:
        """The page within a notebook."""
        return f'<iframe src="{self.address}" width="100%" height="520" style="border:0"></iframe>'


def show(
    simulator: Any, real_time_factor: float = 1.0, host: str = "127.0.0.1", port: int = 8080, open: bool = True
) -> Show:
    """Show a simulator in the browser while a loop of one's own steps it.

    Every ``simulator.step`` waits until it is due, and is drawn 30 times a second; the page can pause the loop, let it
    take single steps, and drag links.  In a notebook the page is the value of the cell.

    Parameters
    ----------
    simulator : Simulator
        Or one of smooth surfaces.
    real_time_factor : float
        Simulated seconds per second at most; 0: the loop never waits.
    host, port
        As of ``mb-contact view``; a port that is taken is passed over.
    open : bool
        Open a browser, where there is a screen.

    Returns
    -------
    Show
        With ``address``, ``draw``, ``save``, ``wait`` and ``close``; a context that closes it.

    Raises
    ------
    InputError
        It is no simulator, viser is not installed, or the address cannot be listened on.

    Examples
    --------
    >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    >>> with mb.show(sim, real_time_factor=0, open=False) as view:  # doctest: +SKIP
    ...     for _ in range(100):
    ...         step = sim.step()
    """
    if not isinstance(simulator, AnySimulator):
        raise InputError(f"mb.show shows a simulator, got {type(simulator).__name__}: mb.show(mb.Simulator(scene))")
    former = getattr(vars(simulator).get("step"), "loop", None)
    if former is not None:
        former.stop()  # as a cell of a notebook that is run again
    shown = Show(simulator, real_time_factor, host, port, open)
    print(f"view at {shown.address}", flush=True)
    return shown

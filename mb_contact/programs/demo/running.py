# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Run a demonstration: the node in this process, its example controller in another, over DDS, in lockstep."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mb_contact.errors import CommunicationError
from mb_contact.model.resources import find_resource
from mb_contact.ros.children import Child
from mb_contact.ros.signals import give_back, take_signals

if TYPE_CHECKING:
    from mb_contact.checks import Floats
    from mb_contact.programs.demo.watch import WatchedSimulator
    from mb_contact.ros.node import SimulatorNode

HANDS = ("left_tcp", "right_tcp")
INTERRUPTED = 130  #: exit code after Ctrl-C, as shells have it
_GRACE = 3.0  #: seconds for the controller to end after SIGTERM
_LOOK = 20.0  #: seconds to wait for a browser before it begins


@dataclass(frozen=True)
class Demonstration:
    """What is shown, and how it is judged.

    Attributes
    ----------
    name : str
        Of the bag and the plot.
    scene, controller : str
        Scene file and the controller's script.
    item : str
        The object that is watched.
    supports : tuple of str
        Links whose forces on the object are kept beside those of the fingers.
    opening, closing, failure : str
        Sentences at the beginning, at a good end, and the words before what is missing.
    progress : callable
        From the watched simulator to a line for every simulated second.
    judge : callable
        From a record to a verdict: an object with ``failures``, a list of str.
    rows : callable
        From a verdict to its rows (what, value) of the table.
    plot : callable
        From path, record, phases (name, start [s]), and the watched simulator to a picture.
    """

    name: str
    scene: str
    controller: str
    item: str
    opening: str
    closing: str
    failure: str
    progress: Callable[[WatchedSimulator], str]
    judge: Callable[[dict[str, Floats]], Any]
    rows: Callable[[Any], list[tuple[str, str]]]
    plot: Callable[[Path, dict[str, Floats], Sequence[tuple[str, float]], WatchedSimulator], None]
    supports: tuple[str, ...] = ()


@dataclass
class DemoOptions:
    """How to run a demonstration.

    Attributes
    ----------
    out : path
        Folder for the bag and the plot.
    backend : str
        'auto', 'rclpy' or 'embedded', for both processes.
    real_time : bool
        Pace at real time; otherwise as fast as possible.
    controller : path, optional
        Another controller's script; it gets ``--backend`` and ``--wait``.
    view : bool
        Show the node in the browser too.
    """

    out: str = "out"
    backend: str = "auto"
    real_time: bool = True
    controller: str | None = None
    view: bool = False


def say(text: str) -> None:
    """One line of progress."""
    print(text, flush=True)


class ControllerProcess(Child):
    """The controller as a child; its end ends the simulation."""

    def __init__(self, script: str | Path, backend: str, clock: Callable[[], float]) -> None:
        super().__init__([sys.executable, str(script), "--backend", backend, "--wait", "30"], _GRACE)
        self._clock = clock
        self._node: SimulatorNode | None = None
        self.phases: list[tuple[str, float]] = []  #: (name, start [s]) of its moves
        self.code: int | None = None  #: exit code once it has ended by itself

    def start(self, simulator_node: SimulatorNode) -> None:
        """Start it; from now on its end stops ``simulator_node``."""
        _refuse_second_simulator(simulator_node)
        self._node = simulator_node
        self.launch(stdout=subprocess.PIPE)

    def heard(self, line: str) -> None:
        """Note down which move begins, and pass the line on."""
        name = line.removeprefix("controller: ")
        if name != line and name != "done" and not name.startswith("error"):
            self.phases.append((name, self._clock()))
        say(f"  {self._clock():6.2f} s  {line}")

    def ended(self, code: int | None) -> None:
        """End the simulation."""
        self.code = code
        if self._node is not None:
            self._node.stop()


def _refuse_second_simulator(simulator_node):
    """Two simulators on the same topics would answer each other's controllers."""
    node = simulator_node.node
    probe = node.create_subscription("sensor_msgs/msg/JointState", "joint_states", lambda _: None, 1)
    count = getattr(probe, "get_publisher_count", lambda: 1)()
    if hasattr(node, "destroy_subscription"):
        node.destroy_subscription(probe)
    if count > 1:
        raise CommunicationError(
            "another simulator publishes joint_states in this ROS domain: end it, or set ROS_DOMAIN_ID"
        )


def run_demonstration(demo: Demonstration, options: DemoOptions) -> int:
    """Run, judge, report; returns the exit code.

    Returns
    -------
    int
        0: all was done; 1: not so, or the controller died; 130: Ctrl-C or SIGTERM.

    Raises
    ------
    MbContactError
        The ROS domain cannot be joined, a file cannot be written, the simulation failed.
    """
    script = _controller_script(demo, options)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    watched = child = summary = view = None
    old = take_signals(signal.default_int_handler, (signal.SIGTERM,))  # ends it as Ctrl-C does
    try:
        say(demo.opening)
        watched = _watched(demo)
        child = ControllerProcess(script, options.backend, lambda: watched.time)
        view = start_view(demo, options) if options.view else None
        summary = _run_node(watched, child, options, out / f"{demo.name}.mcap")
    except KeyboardInterrupt:
        summary = None
    finally:
        ended_by_itself = child is not None and child.code is not None
        if child is not None:
            child.stop()
        if view is not None:
            view.stop()
        give_back(old)
    if summary is None or not ended_by_itself:
        say("interrupted: simulator and controller have ended")
        return INTERRUPTED
    return _report(demo, watched, child, summary, out)


def _watched(demo):
    from mb_contact.programs.demo.watch import WatchedSimulator

    def tell(watched):
        if watched.step_count % round(1.0 / watched.time_step) == 0:
            say(f"  {watched.time:6.2f} s  {demo.progress(watched)}")

    scene = find_resource(demo.scene)
    return WatchedSimulator(
        scene, demo.item, HANDS, demo.supports, progress=lambda text: say(f"  {text}"), on_sample=tell
    )


def start_view(demo: Demonstration, options: DemoOptions) -> Any:
    """The web view of the node, which begins to run when a browser looks, or some seconds later."""
    from mb_contact.viewer.process import ViewProcess

    view = ViewProcess(
        find_resource(demo.scene), ["--backend", options.backend, "--open"], lambda line: say(f"  {line}")
    )
    try:
        view.start()
        say(f"  open {view.address} in a browser; it begins then, or in {_LOOK:.0f} s")
        view.wait_for_browser(_LOOK)
    except BaseException:
        view.stop()
        raise
    return view


def _controller_script(demo, options):
    if options.controller is None:
        return find_resource(demo.controller)
    script = Path(options.controller)
    if not script.is_file():
        raise FileNotFoundError(2, "no such controller script", str(script))
    return script


def _run_node(watched, child, options, bag):
    from mb_contact.ros.main import RunOptions, run_node
    from mb_contact.ros.options import NodeOptions

    node = NodeOptions(lockstep=True, real_time_factor=1.0 if options.real_time else 0.0)
    run = RunOptions(
        node=node, record=str(bag), backend=options.backend, progress=lambda text: say(f"  {text}"),
        ready=child.start,
    )  # fmt: skip
    return run_node(watched, run)


def _report(demo, watched, child, summary, out):
    from mb_contact.programs.demo.table import common_rows, print_table

    record = watched.record()
    verdict = demo.judge(record)
    say("")
    print_table([*demo.rows(verdict), *common_rows(summary, watched)])
    say("")
    say(f"bag   {out / demo.name}.mcap")
    _plot(demo, out / f"{demo.name}.png", record, child, watched)
    failures = list(verdict.failures)
    if child.code != 0:
        how = f"exit code {child.code}" if child.code > 0 else f"signal {-child.code}"
        failures.insert(0, f"the controller ended with {how}")
    if failures:
        print(f"mb-contact: error: {demo.failure}: {'; '.join(failures)}", file=sys.stderr, flush=True)
        return 1
    say(demo.closing)
    return 0


def _plot(demo, path, record, child, watched):
    if len(record["time"]) < 2:
        return  # it ended before there was anything to see
    try:
        demo.plot(path, record, child.phases, watched)
    except ImportError:
        say("plot  left out: it needs matplotlib, pip install 'mb_contact[plot]'")
        return
    say(f"plot  {path}")

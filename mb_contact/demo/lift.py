# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms lift a box: the node in this process, the example controller in another, over DDS, in lockstep."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mb_contact.errors import CommunicationError
from mb_contact.model.resources import find_resource
from mb_contact.ros.children import Child
from mb_contact.ros.signals import give_back, take_signals

if TYPE_CHECKING:
    from mb_contact.ros.node import SimulatorNode

SCENE = "package://mb_contact/config/dual_arm_lift.yaml"
CONTROLLER = "package://mb_contact/examples/dual_arm_lift.py"
BOX = "box"
HANDS = ("left_tcp", "right_tcp")
INTERRUPTED = 130  #: exit code after Ctrl-C, as shells have it
_GRACE = 3.0  #: seconds for the controller to end after SIGTERM
_LOOK = 20.0  #: seconds to wait for a browser before the lift begins
_PATIENCE = 10.0  #: wall seconds to wait for one command: a busy machine must not end the demonstration


@dataclass
class LiftOptions:
    """How to run the demonstration.

    Attributes
    ----------
    out : path
        Folder for lift.mcap and lift.png.
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


def run_lift(options: LiftOptions | None = None) -> int:
    """Run, judge, report; returns the exit code.

    Returns
    -------
    int
        0: lifted, held and set down; 1: not so, or the controller died; 130: Ctrl-C or SIGTERM.

    Raises
    ------
    MbContactError
        The ROS domain cannot be joined, a file cannot be written, the simulation failed.
    """
    options = options or LiftOptions()
    script = _controller_script(options)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    watched = child = summary = view = None
    old = take_signals(signal.default_int_handler, (signal.SIGTERM,))  # ends it as Ctrl-C does
    try:
        say("Two arms lift a box: the simulator here, its controller in another process.")
        from mb_contact.demo.watch import WatchedSimulator

        watched = WatchedSimulator(
            find_resource(SCENE), BOX, HANDS, progress=lambda text: say(f"  {text}"), on_sample=_tell
        )
        child = ControllerProcess(script, options.backend, lambda: watched.time)
        view = _start_view(options) if options.view else None
        summary = _run_node(watched, child, options, out / "lift.mcap")
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
    return _report(watched, child, summary, out)


def _start_view(options):
    """The web view of the node, which begins to run when a browser looks, or some seconds later."""
    from mb_contact.viewer.process import ViewProcess

    view = ViewProcess(find_resource(SCENE), ["--backend", options.backend, "--open"], lambda line: say(f"  {line}"))
    try:
        view.start()
        say(f"  open {view.address} in a browser; the lift begins then, or in {_LOOK:.0f} s")
        view.wait_for_browser(_LOOK)
    except BaseException:
        view.stop()
        raise
    return view


def _controller_script(options):
    if options.controller is None:
        return find_resource(CONTROLLER)
    script = Path(options.controller)
    if not script.is_file():
        raise FileNotFoundError(2, "no such controller script", str(script))
    return script


def _run_node(watched, child, options, bag):
    from mb_contact.ros.main import RunOptions, run_node
    from mb_contact.ros.options import NodeOptions

    node = NodeOptions(
        lockstep=True, lockstep_timeout=_PATIENCE, real_time_factor=1.0 if options.real_time else 0.0
    )
    run = RunOptions(
        node=node, record=str(bag), backend=options.backend, progress=lambda text: say(f"  {text}"),
        ready=child.start,
    )  # fmt: skip
    return run_node(watched, run)


def _tell(watched):
    """A line for every simulated second."""
    if watched.step_count % round(1.0 / watched.time_step) == 0:
        height = watched.samples[-1][1][2] - watched.samples[0][1][2]
        force = sum(watched.samples[-1][4])
        say(f"  {watched.time:6.2f} s  box {height:+.3f} m, forces on the fingers {force:.1f} N in all")


def _report(watched, child, summary, out):
    from mb_contact.demo.verdict import judge, print_table, table

    record = watched.record()
    verdict = judge(record)
    say("")
    print_table(table(verdict, summary, watched))
    say("")
    say(f"bag   {out / 'lift.mcap'}")
    _plot(out / "lift.png", record, child, watched)
    failures = verdict.failures
    if child.code != 0:
        how = f"exit code {child.code}" if child.code > 0 else f"signal {-child.code}"
        failures.insert(0, f"the controller ended with {how}")
    if failures:
        print(f"mb-contact: error: the lift failed: {'; '.join(failures)}", file=sys.stderr, flush=True)
        return 1
    say("The box was lifted, held and set down.")
    return 0


def _plot(path, record, child, watched):
    if len(record["time"]) < 2:
        return  # it ended before there was anything to see
    try:
        from mb_contact.demo.plot import plot_lift

        plot_lift(path, record, child.phases, watched.fingers, watched.world.joint_names)
    except ImportError:
        say("plot  left out: it needs matplotlib, pip install 'mb_contact[plot]'")
        return
    say(f"plot  {path}")

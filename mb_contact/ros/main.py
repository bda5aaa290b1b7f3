# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Run a scene as a ROS 2 node: what ``mb-contact run`` and ``simulator_node`` do."""

import argparse
import atexit
import contextlib
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from mb_contact.errors import MbContactError
from mb_contact.ros.options import RunOptions, flags, options_from_arguments
from mb_contact.ros.signals import give_back, take_signals


class _Interrupted(BaseException):
    """SIGINT or SIGTERM before the simulation runs; a BaseException, so that no library swallows it."""


class _Signals:
    """SIGINT and SIGTERM end a run cleanly in every phase: setting up, compiling, running."""

    def __init__(self):
        self.target = None  #: SimulatorNode once it runs
        self.received = None

    def __enter__(self):
        self._old = take_signals(self._handle)
        self._unraisable, sys.unraisablehook = sys.unraisablehook, self._unraised
        return self

    def __exit__(self, *_):
        sys.unraisablehook = self._unraisable
        give_back(self._old)

    def _unraised(self, unraisable):
        if not issubclass(unraisable.exc_type, _Interrupted):  # ours is remembered in ``received``
            self._unraisable(unraisable)

    def _handle(self, number, _frame):
        self.received = number
        if self.target is None:
            raise _Interrupted
        self.target.stop()


def run_node(scene: Any, options: RunOptions | None = None) -> Any:
    """Run a scene as a node until its duration ends or SIGINT or SIGTERM comes.

    Parameters
    ----------
    scene : path, Scene or Simulator
    options : RunOptions, optional

    Returns
    -------
    Summary or None
        None when a signal came before the simulation ran.

    Raises
    ------
    MbContactError
        A bad scene, a ROS domain that cannot be joined, a failed simulation.
    """
    options = options or RunOptions()
    with _Signals() as signals:
        try:
            return _run(scene, options, signals)
        except _Interrupted:
            return None
        except Exception:
            # a compiler's callback drops exceptions and fails later for want of what it was to make
            if signals.received is not None and signals.target is None:
                return None
            raise


def _run(scene, options, signals):
    with contextlib.ExitStack() as stack:
        from mb_contact.ros.backend import create_node
        from mb_contact.ros.diagnostics import Diagnostics
        from mb_contact.ros.node import SimulatorNode
        from mb_contact.ros.services.announced import Services

        node = create_node(options.name, options.backend, list(options.ros_args), options.namespace, options.wire)
        stack.callback(node.destroy_node)
        diagnostics = Diagnostics(node)
        services = Services(node)
        services.announce(diagnostics.doing)
        with diagnostics.setting_up() as tell:  # the first run compiles
            progress = options.progress or tell
            simulator = _simulator(scene, progress)
        simulator_node = SimulatorNode(node, simulator, options.node, diagnostics, services)
        if options.record:
            from mb_contact.ros.recorder import Recorder

            recorder = Recorder(options.record, simulator_node.stamp)
            stack.callback(recorder.close)
            recorder.attach(simulator_node, options.record_bulky)
        signals.target = simulator_node
        if signals.received is not None:  # raised where Python drops exceptions, in a __del__ for instance
            return None
        progress(f"{node.get_fully_qualified_name()} is up ({node.backend} backend{_reach(node)})")
        if options.ready is not None:
            options.ready(simulator_node)
        _compile_behind()
        return simulator_node.run(options.duration)


def _reach(node):
    """Who hears the node, where that is not what ROS 2 does by default."""
    if node.backend != "embedded":
        return ""
    by = " over Zenoh" if node.wire == "zenoh" else ""
    if node.context.confined is None:
        return by
    opening = "ZENOH_SESSION_CONFIG_URI" if by else "ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET"
    return f"{by}, for this machine alone: {opening} opens it to the network"


def _simulator(scene, progress):
    if hasattr(scene, "step"):
        return scene
    progress(f"loading {getattr(scene, 'path', scene)}")
    from mb_contact.simulation.simulator import Simulator

    return Simulator(scene, progress=progress)


def _compile_behind():
    """What the simulation may need later is compiled while it runs."""
    from mb_contact.simulation.kernels.warm_up import compile_behind

    compile_behind()


#: Options of a run; the command line and the ament executable share them.
RUN_OPTIONS = (("scene", {"help": "scene file (YAML), URDF or SDF, a path or package://"}), *flags())


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN_OPTIONS to a parser."""
    for flag, settings in RUN_OPTIONS:
        parser.add_argument(flag, **settings)


def split_ros_arguments(argv: Sequence[str]) -> Any:
    """Return ``(own, ros)``: everything from ``--ros-args`` on is ROS's, up to a ``--``."""
    if "--ros-args" not in argv:
        return list(argv), []
    start = argv.index("--ros-args")
    end = argv.index("--", start) + 1 if "--" in argv[start:] else len(argv)
    return [*argv[:start], *argv[end:]], list(argv[start:end])


def main(argv: Sequence[str] | None = None) -> Any:
    """``simulator_node SCENE [options] [--ros-args ...]``; returns the exit code.

    0 after a clean end (duration over, Ctrl-C or SIGTERM), 1 when the simulation failed, 2 for bad input.
    """
    own, ros_args = split_ros_arguments(list(sys.argv[1:] if argv is None else argv))
    parser = argparse.ArgumentParser(prog="simulator_node", description="Run a scene as a ROS 2 node.")
    add_run_arguments(parser)
    arguments = parser.parse_args(own)
    return run_and_report(arguments.scene, options_from_arguments(arguments, ros_args))


def run_and_report(scene: Any, options: RunOptions) -> Any:
    """Run, print the summary or one line about what is wrong, and return the exit code."""
    from mb_contact.ros.embedded.wires import speak_by

    speak_by(options.wire)  # the web view too
    ending = _Ending()
    try:
        return _reported(scene, options)
    except KeyboardInterrupt:  # outside of the run itself, which handles the signal
        return 0
    finally:
        ending.begin()


class _Ending:
    """Signals around a run: one before it interrupts, one after it leaves the exit code of a good run alone."""

    TIDYING = 10.0  #: from then on a process that goes on can be interrupted again [s]

    def __init__(self):
        self._since = None
        take_signals(self._handle)

    def begin(self):
        """The run is over."""
        self._since = time.monotonic()
        # at the very end a signal would only turn the exit code of a good run into that of a killed one
        atexit.register(take_signals, signal.SIG_IGN)

    def _handle(self, _number, _frame):
        now = time.monotonic()
        if self._since is None or now - self._since > self.TIDYING:
            self._since = now  # one interrupts; a second one would break what the first has begun
            raise KeyboardInterrupt


def _reported(scene, options):
    from mb_contact.errors import DynamicsError, SolverError

    try:
        summary = run_node(scene, options)
    except MbContactError as error:
        print(f"mb-contact: error: {error}", file=sys.stderr)
        return 1 if isinstance(error, (DynamicsError, SolverError)) else 2
    except ModuleNotFoundError as error:
        print(
            f"mb-contact: error: the Python package '{error.name}' is missing in {sys.executable}: "
            f"{sys.executable} -m pip install {error.name}",
            file=sys.stderr,
        )
        return 2
    except FileNotFoundError as error:
        print(f"mb-contact: error: {error.filename}: no such file", file=sys.stderr)
        return 2
    if summary is not None:
        print(summary.text(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

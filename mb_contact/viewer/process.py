# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact view --follow`` as a child: a program that runs a node shows it in the browser."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.children import Child
from mb_contact.viewer.command import LISTENING, SEEN, refuse_surfaces
from mb_contact.viewer.library import import_viser

if TYPE_CHECKING:
    from mb_contact.ros.node import SimulatorNode

TOPICS = ("joint_states", "contacts", "certificate")  #: relative ones that the view hears
GRACE = 10.0  #: seconds for it to end after SIGTERM


class ViewProcess(Child):
    """The web view of a node, in a process of its own so that drawing does not slow the physics down.

    Parameters
    ----------
    scene : path
    options : sequence of str
        More options of ``mb-contact view``, such as ``--namespace``.
    say : callable
        Called with its lines.

    Raises
    ------
    InputError
        viser is not installed.
    """

    def __init__(self, scene: str | Path, options: Sequence[str] = (), say: Callable[[str], Any] = print) -> None:
        import_viser()
        command = [sys.executable, "-m", "mb_contact", "view", str(scene), "--follow", *options]
        super().__init__(command, GRACE)
        self._say = say
        self._listening, self._seen = threading.Event(), threading.Event()
        self.address: str | None = None  #: of the web page once it is there

    def start(self, timeout: float = 60.0) -> None:
        """Start it and wait until it listens.

        Raises
        ------
        CommunicationError
            It ended, or does not listen within ``timeout`` seconds.
        """
        self.launch(stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if not self._listening.wait(timeout) or self.address is None:
            self.stop()
            raise CommunicationError("the web view did not start; its last line says why")

    def wait_for_browser(self, timeout: float) -> bool:
        """Wait until a browser looks; returns whether one does."""
        return self._seen.wait(timeout)

    def heard(self, line: str) -> None:
        """Pass a line on; some say that the view listens, or that a browser looks."""
        self._say(line)
        if LISTENING in line:
            self.address = line.split(LISTENING)[1].split()[0]
            self._listening.set()
        if SEEN in line:
            self._seen.set()

    def ended(self, _code: int | None) -> None:
        """Whoever waits for it to listen need not any more."""
        self._listening.set()


class NodeView:
    """The web view of a node that this process runs, as a context; ``start`` is what a run calls when it is ready.

    Raises
    ------
    InputError
        viser is not installed, or the scene is one of smooth surfaces, which a view shows only by itself.
    """

    def __init__(self, scene: str | Path) -> None:
        import_viser()
        refuse_surfaces(scene, "--view")
        self._scene = scene
        self._view: ViewProcess | None = None

    def start(self, simulator_node: SimulatorNode) -> None:
        """Show this node, whatever its names are."""
        node = simulator_node.node
        names = ["--backend", node.backend, "--namespace", node.get_namespace(), "--node", node.get_name()]
        renamed = [word for topic in TOPICS for word in ("-r", f"{topic}:={node.resolve(topic)}")]
        prefix = simulator_node.options.frame_prefix
        prefixed = ["-p", f"frame_prefix:={prefix}"] if prefix else []
        self._view = ViewProcess(self._scene, [*names, "--open", "--ros-args", *renamed, *prefixed], _say)
        self._view.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._view is not None:
            self._view.stop()


def _say(line):
    print(line, file=sys.stderr, flush=True)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What ``mb-contact view`` does: a view of a scene that is simulated here, or of a node that runs elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import webbrowser
from dataclasses import dataclass

from mb_contact.errors import InputError
from mb_contact.simulation.initial import link_poses
from mb_contact.viewer.drawing import scene_drawing, surface_drawing
from mb_contact.viewer.library import import_viser, start_server
from mb_contact.viewer.player import EFFORTS, Player
from mb_contact.viewer.view import View

LISTENING = "web view at "  #: what the line that names the address has, for programs that wait for it
SEEN = "a browser is looking"


@dataclass
class ViewOptions:
    """How to view a scene; see ``mb-contact view --help``."""

    host: str = "127.0.0.1"
    port: int = 8080
    paused: bool = False
    factor: float = 1.0
    efforts: str = "zero"
    duration: float | None = None
    follow: bool = False
    backend: str = "auto"
    namespace: str = ""
    node: str = "mb_contact"
    ros_args: tuple = ()
    open: bool = False


def add_view_arguments(parser):
    """Add the options of a view to a parser."""
    default = ViewOptions()
    parser.add_argument("scene", metavar="SCENE", help="scene file (YAML), a path or package://")
    parser.add_argument("--port", type=int, default=default.port, help="of the web page, or the next free one")
    text = "address to listen on; 0.0.0.0 lets other machines look and press the buttons (default: this machine alone)"
    parser.add_argument("--host", default=default.host, help=text)
    parser.add_argument("--open", action="store_true", help="open a browser too, where there is a screen")
    parser.add_argument("--paused", action="store_true", help="begin paused")
    parser.add_argument("--real-time-factor", dest="factor", type=float, default=1.0, help="0: as fast as possible")
    parser.add_argument("--efforts", choices=EFFORTS, default=default.efforts, help="what the joints' motors do")
    parser.add_argument("--duration", type=float, metavar="S", help="simulated seconds (else until Ctrl-C)")
    follow = parser.add_argument_group("following a node", "show a node that runs this scene instead of simulating it")
    follow.add_argument("--follow", action="store_true", help="by its topics joint_states, /tf, contacts, certificate")
    follow.add_argument("--backend", choices=("auto", "rclpy", "embedded"), default=default.backend)
    follow.add_argument("--namespace", default=default.namespace, help="of the node")
    follow.add_argument("--node", default=default.node, help="its name, for its services (default: mb_contact)")


def options_from_arguments(arguments, ros_args=()):
    """ViewOptions of parsed arguments."""
    names = ViewOptions.__dataclass_fields__.keys() - {"ros_args"}
    return ViewOptions(**{name: getattr(arguments, name) for name in names}, ros_args=tuple(ros_args))


def run_view(scene, options=None):
    """Show a scene until its duration is over, or SIGINT or SIGTERM comes; returns the exit code.

    Raises
    ------
    MbContactError
        viser is not installed, a bad scene, an impossible option.
    """
    options = options or ViewOptions()
    import_viser()  # before anything that takes long
    if options.duration is not None and not options.duration > 0.0:
        raise InputError(f"--duration must be above zero, got {options.duration:g}")
    ending = _Ending()
    try:
        source, drawing, poses, title = _follow(scene, options) if options.follow else _simulate(scene, options)
        try:
            _show(source, drawing, poses, title, options)
        finally:
            source.stop()
    except KeyboardInterrupt:
        pass
    finally:
        ending.restore()
    return 0


class _Ending:
    """SIGTERM ends the view as Ctrl-C does."""

    def __init__(self):
        self._old = None
        try:
            self._old = signal.signal(signal.SIGTERM, signal.default_int_handler)
        except ValueError:  # not the main thread: the caller owns the signals
            pass

    def restore(self):
        """Give the signal back."""
        if self._old is not None:
            signal.signal(signal.SIGTERM, self._old)


def _simulate(scene, options):
    """(source, drawing, poses, title) of a scene that is simulated in this process."""
    from mb_contact.surfaces.scene_file import is_surface_scene

    if is_surface_scene(scene):
        from mb_contact.simulation.surface_tree_simulator import surface_simulator

        simulator = surface_simulator(scene, _progress)
        drawing = surface_drawing(simulator)
        poses = {link: simulator.link_pose(link) for link in drawing.moving}
    else:
        from mb_contact.simulation.simulator import Simulator

        simulator = Simulator(scene, progress=_progress)
        drawing = scene_drawing(simulator.scene, simulator.world)
        poses = {name: simulator.link_pose(name) for name in simulator.world.frames}
    player = Player(simulator, drawing, options.factor, options.efforts, options.paused, options.duration)
    return player, drawing, poses, simulator.scene.path.stem


def _follow(scene, options):
    """The same of a node."""
    from mb_contact.model.scene_yaml import load_scene
    from mb_contact.model.world import build_world
    from mb_contact.viewer.follower import Follower

    scene = load_scene(scene)
    world = build_world(scene)
    drawing = scene_drawing(scene, world)
    follower = Follower(world, drawing, options.backend, options.namespace, options.node, options.ros_args)
    return follower, drawing, link_poses(world), scene.path.stem


def _show(source, drawing, poses, title, options):
    for line in drawing.missing:
        _progress(line)
    server = start_server(options.host, options.port)
    try:
        view = View(server, drawing, poses, source, title)
        server.on_client_connect(lambda _: _progress(SEEN))
        address = f"http://{'localhost' if options.host == '127.0.0.1' else options.host}:{server.get_port()}"
        _progress(f"{LISTENING}{address} (Ctrl-C ends it)")
        if options.open and _screen():
            webbrowser.open(address)
        source.start()
        while not source.done:
            view.draw_next()
        view.draw_next()
    finally:
        server.stop()


def _screen():
    """Whether a browser would have a window to open."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _progress(line):
    print(f"mb-contact: {line}", file=sys.stderr, flush=True)

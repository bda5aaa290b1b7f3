# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What ``mb-contact view`` does: a view of a scene that is simulated here, or of a node that runs elsewhere."""

import os
import signal
import socket
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path

from mb_contact.errors import InputError, MbContactError
from mb_contact.ros.signals import give_back, take_signals
from mb_contact.simulation.initial import link_poses
from mb_contact.viewer.drawing import scene_drawing, surface_drawing
from mb_contact.viewer.gate import Gate, is_local, make_token
from mb_contact.viewer.library import check_host, import_viser, start_server
from mb_contact.viewer.options import ViewOptions, as_port
from mb_contact.viewer.panel import Bar
from mb_contact.viewer.player import Player
from mb_contact.viewer.view import View

LISTENING = "web view at "  #: what the line that names the address has, for programs that wait for it
SEEN = "a browser is looking"
INNER_PORT = 28080  #: from which on viser looks for a free port of this machine where a gate stands before it


def run_view(scene: str | Path, options: ViewOptions | None = None) -> int:
    """Show a scene until its duration is over, or SIGINT or SIGTERM comes; returns the exit code.

    Raises
    ------
    MbContactError
        viser is not installed, a bad scene, an impossible option.
    Exception
        A bug in a step: what ended the simulation.
    """
    options = options or ViewOptions()
    import_viser()  # before anything that takes long
    if options.duration is not None and not options.duration > 0.0:
        raise InputError(f"--duration must be above zero, got {options.duration:g}")
    old = take_signals(signal.default_int_handler, (signal.SIGTERM,))  # ends the view as Ctrl-C does
    try:
        first = _follow(scene, options) if options.follow else _simulate(scene, options)
        _show(first, options, scene)
    except KeyboardInterrupt:
        pass
    finally:
        give_back(old)
    return 0


def _simulate(scene, options):
    """(source, drawing, poses, title) of a scene that is simulated in this process."""
    from mb_contact.surfaces.scene_file import is_surface_scene

    if is_surface_scene(scene):
        from mb_contact.simulation.surfaces.simulator import surface_simulator

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


def refuse_surfaces(scene: str | Path, option: str) -> None:
    """Raise InputError for a scene of smooth surfaces: no node runs one."""
    from mb_contact.surfaces.scene_file import is_surface_scene

    if is_surface_scene(scene):
        raise InputError(f"{option} does not show smooth surfaces; mb-contact view SCENE simulates and shows them")


def _follow(scene, options):
    """The same of a node."""
    from mb_contact.model.scene import load_scene
    from mb_contact.model.world import build_world
    from mb_contact.viewer.follower import Follower

    refuse_surfaces(scene, "--follow")
    scene = load_scene(scene)
    world = build_world(scene)
    drawing = scene_drawing(scene, world)
    follower = Follower(world, drawing, options.backend, options.namespace, options.node, options.ros_args)
    return follower, drawing, link_poses(world), scene.path.stem


class Session:
    """A page, and the scene that it shows now; another one can be chosen in the page where scenes are simulated here.

    Parameters
    ----------
    server : viser.ViserServer
    first : tuple
        Of the first scene: source (not started), drawing, poses and title, as ``View`` takes them.
    options : ViewOptions
    scene : path
        Where the first scene came from.
    """

    def __init__(self, server, first, options, scene):
        source, drawing, poses, title = first
        self.server, self.source, self._options = server, source, options
        self.bar = Bar(server.gui, title, scene) if source.can_pace else Bar(server.gui)
        self.view = View(server, drawing, poses, source, title)

    def start(self):
        """Let time run."""
        self.source.start()

    def draw_next(self):
        """Draw the next frame, of another scene if one was chosen."""
        chosen = self.bar.take()
        if chosen is not None:
            self.change(*chosen)
        self.view.draw_next()

    def change(self, name, path):
        """Show another scene; where it cannot be loaded the present one goes on."""
        self.view.panel.tell(f"loading {name} …")
        self.server.flush()
        options = replace(self._options, paused=self.source.paused, factor=self.source.factor)
        try:
            source, drawing, poses, title = _simulate(path, options)
        except MbContactError as error:
            self.source.tell(f"{name} cannot be shown: {error}")
            self.bar.show(self.view.title)
            return
        self.source.stop()
        with self.server.atomic():
            self.view.remove()
            self.view, self.source = View(self.server, drawing, poses, source, title), source
        for line in drawing.missing:
            _progress(line)
        source.start()


def _show(first, options, scene):
    for line in first[1].missing:
        _progress(line)
    server, gate, address = _served(options.host, options.port)
    session = Session(server, first, options, scene)
    try:
        server.on_client_connect(lambda _: _progress(SEEN))
        _progress(f"{LISTENING}{address} (Ctrl-C ends it)")
        if options.open and _screen():
            webbrowser.open(address)
        session.start()
        while not session.source.done:
            session.draw_next()
        session.draw_next()
        if session.source.crash is not None:
            raise session.source.crash
    finally:
        session.source.stop()
        if gate is not None:
            gate.close()
        server.stop()


def _served(host, port):
    """The server of the page, the gate before it where other machines can come, and the page's address."""
    if is_local(host):
        server = start_server(host, port)
        return server, None, f"http://{'localhost' if host == '127.0.0.1' else host}:{server.get_port()}"
    check_host(host)
    token, server = make_token(), start_server(port=INNER_PORT)
    gate = Gate(host, as_port(port), server.get_port(), token)
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    return server, gate, f"http://{name}:{gate.port}/?token={token}"


def _screen():
    """Whether a browser would have a window to open."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _progress(line):
    print(f"mb-contact: {line}", file=sys.stderr, flush=True)

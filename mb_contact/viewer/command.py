# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What ``mb-contact view`` does: a view of a scene that is simulated here, or of a node that runs elsewhere."""

import signal
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Any

from mb_contact.errors import InputError
from mb_contact.ros.replay import is_recording
from mb_contact.ros.signals import give_back, take_signals
from mb_contact.simulation.initial import link_poses
from mb_contact.simulation.surfaces.simulator import simulator_of
from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.export import ENDINGS, require_ending
from mb_contact.viewer.library import import_viser
from mb_contact.viewer.options import ViewOptions
from mb_contact.viewer.page import Page, simulated_scene
from mb_contact.viewer.player import Player
from mb_contact.viewer.recording import Bag, Recording, tell
from mb_contact.viewer.rerun import write_rerun
from mb_contact.viewer.serving import Served, has_screen

LISTENING = "web view at "  #: what the line that names the address has, for programs that wait for it
SEEN = "a browser is looking"
HTML_SECONDS = 5.0  #: that an HTML file has of a simulation where no duration is given


def run_view(scene: str | Path | None, options: ViewOptions | None = None) -> int:
    """Show a scene, or a recording, until its duration is over, or SIGINT or SIGTERM comes; returns the exit code.

    Parameters
    ----------
    scene : path, optional
        Of a scene or a recording; without one the page begins with a gallery of the scenes that there are.
    options : ViewOptions, optional

    Raises
    ------
    MbContactError
        viser is not installed, a bad scene, an impossible option.
    Exception
        A bug in a step: what ended the simulation.
    """
    options = options or ViewOptions()
    if options.rerun is None:
        import_viser()  # before anything that takes long
    if options.duration is not None and not options.duration > 0.0:
        raise InputError(f"--duration must be above zero, got {options.duration:g}")
    first = _first(scene, options)
    old = take_signals(signal.default_int_handler, (signal.SIGTERM,))  # ends the view as Ctrl-C does
    try:
        if options.html is not None or options.rerun is not None:
            _write(first(), options)
        else:
            _show(first() if scene is not None else None, options, scene)
    except KeyboardInterrupt:
        pass
    finally:
        give_back(old)
    return 0


def loaded(scene: str | Path, options: ViewOptions) -> Any:
    """(source, drawing, poses, title) of a scene or a recording, for whoever draws its frames."""
    return _first(scene, options)()


def _first(scene, options):
    """What makes (source, drawing, poses, title) of what is to be shown; impossible options are refused at once."""
    if options.html is not None:
        require_ending("--html", options.html, ENDINGS)
    if options.rerun is not None:
        require_ending("--rerun", options.rerun, (".rrd",))
    recorded = scene is not None and is_recording(scene)
    if options.scene is not None and not recorded:
        raise InputError("--scene names the scene of a recording; a scene is shown by mb-contact view SCENE")
    written = "--html" if options.html is not None else "--rerun" if options.rerun is not None else None
    if scene is None and (options.follow or written):
        raise InputError(f"{'--follow' if options.follow else written} needs a scene: mb-contact view SCENE ...")
    if recorded and options.follow:
        raise InputError("--follow shows a node that runs a scene; a recording is shown by mb-contact view FILE")
    if recorded:
        return lambda: _play(scene, options)
    if options.follow:
        if written:
            raise InputError(f"{written} writes what is simulated or recorded; record the node, and view that")
        return lambda: _follow(scene, options)
    return lambda: _simulate(scene, options)


def _simulate(scene, options):
    """(source, drawing, poses, title) of a scene that is simulated in this process."""
    simulator = simulator_of(scene, tell)
    drawing, poses = simulated_scene(simulator)
    player = Player(simulator, drawing, options.factor, options.efforts, options.paused, options.duration)
    return player, drawing, poses, simulator.scene.path.stem


def _play(path, options):
    """The same of a recording."""
    from mb_contact.model.world import build_world

    bag = Bag(path)
    scene = bag.scene(options.scene)
    world = build_world(scene)
    drawing = scene_drawing(scene, world)
    recording = Recording(bag, world, drawing, options.factor, options.paused)
    return recording, drawing, link_poses(world), Path(path).stem


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


def _another(options):
    """What loads a scene that is chosen in the page: it begins as the one before it goes on."""

    def load(path, before):
        now = options if before is None else replace(options, paused=before.paused, factor=before.factor)
        loaded = _simulate(path, now)
        for line in loaded[1].missing:
            tell(line)
        return loaded

    return load


def _write(first, options):
    """Files of a recording, or of a simulation that runs as fast as it can."""
    source, drawing, poses, title = first
    for line in drawing.missing:
        tell(line)
    frames = [*(source.recorded(options.duration or HTML_SECONDS) if isinstance(source, Player) else source.frames())]
    if isinstance(source, Player):
        tell_failure(source)
    if options.rerun is not None:
        path = write_rerun(options.rerun, drawing, poses, frames, title)
        tell(f"{title}: {path}, {path.stat().st_size / 1e6:.1f} MB, opens in Rerun's viewer: rerun {path}")
    if options.html is not None:
        served = Served("127.0.0.1", options.port)
        try:
            path = Page(served.server, first).save(options.html, frames)
        finally:
            served.close()
        tell(f"{title}: {path}, {path.stat().st_size / 1e6:.1f} MB, opens in any browser")


def tell_failure(player: Player) -> None:
    """Say why frames end before their time, if they do."""
    if player.failed is not None:
        tell(f"the simulation stopped: {player.failed}")


def _show(first, options, scene):
    simulated = first is None or isinstance(first[0], Player)
    for line in () if first is None else first[1].missing:
        tell(line)
    served = Served(options.host, options.port)
    page = Page(served.server, first, scene or "", _another(options) if simulated else None)
    try:
        served.server.on_client_connect(lambda _: tell(SEEN))
        tell(f"{LISTENING}{served.address} (Ctrl-C ends it)")
        if options.open and has_screen():
            webbrowser.open(served.address)
        page.start()
        while not page.done:
            page.draw_next()
        page.draw_next()
        if page.source is not None and page.source.crash is not None:
            raise page.source.crash
    finally:
        page.stop()
        served.close()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A page: the view of a source, what stays when the scene changes, and the files that come out of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mb_contact.errors import InputError, MbContactError
from mb_contact.viewer.drawing import Drawing, scene_drawing, surface_drawing
from mb_contact.viewer.export import ENDINGS, html_of, require_ending
from mb_contact.viewer.gallery import Gallery
from mb_contact.viewer.look import camera_html, dress
from mb_contact.viewer.panel import Bar
from mb_contact.viewer.snapshot import Poses, Snapshot
from mb_contact.viewer.source import Source
from mb_contact.viewer.view import WAIT, View


def simulated_scene(simulator: Any) -> tuple[Drawing, Poses]:
    """Drawing of a simulator's scene, and where all that is drawn of it is now."""
    from mb_contact.model.world import World

    if not hasattr(simulator, "surface_scene") and isinstance(simulator.world, World):
        drawing = scene_drawing(simulator.scene, simulator.world)
        return drawing, {name: simulator.link_pose(name) for name in simulator.world.frames}
    drawing = surface_drawing(simulator)
    return drawing, {link: simulator.link_pose(link) for link in drawing.moving}


class Page:
    """A page, and the scene that it shows now; another one can be chosen where scenes are simulated here.

    Parameters
    ----------
    server : viser.ViserServer
    first : tuple, optional
        Of the first scene: source (not started), drawing, poses and title, as ``View`` takes them; without one the page
        begins with the gallery.
    scene : path, optional
        Where it came from.
    load : callable, optional
        Makes such a tuple of the path of another scene and the source before it, or None; without one there is only
        the first.
    """

    def __init__(
        self,
        server: Any,
        first: tuple[Source, Drawing, Poses, str] | None,
        scene: str | Path = "",
        load: Callable[[Any, Source | None], Any] | None = None,
    ) -> None:
        self.server, self._load = server, load
        self.source: Source | None = None
        self.view: View | None = None
        self._gallery: Gallery | None = None
        self.bar = Bar(self, None if load is None else first[3] if first else "", scene)
        if first is None:
            self.dress()
            self.open_gallery()
        else:
            self._put(first)

    @property
    def done(self) -> bool:
        """Whether the source has ended."""
        return self.source is not None and self.source.done

    def start(self) -> None:
        """Let time run."""
        if self.source is not None:
            self.source.start()

    def stop(self) -> None:
        """End the source."""
        if self.source is not None:
            self.source.stop()

    def draw_next(self) -> None:
        """Draw the next frame, of another scene if one was chosen."""
        chosen = self.bar.take()
        if chosen is not None:
            self.change(*chosen)
        if self.view is None:
            time.sleep(WAIT)
        else:
            self.view.draw_next()

    def change(self, name: str, path: str | Path) -> None:
        """Show another scene; where it cannot be loaded the present one goes on."""
        if self.view is not None:
            self.view.panel.tell(f"loading {name} …")
            self.server.flush()
        try:
            loaded = self._load(path, self.source)  # type: ignore[misc]
        except MbContactError as error:
            self._tell(f"{name} cannot be shown: {error}")
            self.bar.show(self.view.title if self.view is not None else "")
            return
        self.stop()
        with self.server.atomic():
            if self.view is not None:
                self.view.remove()
            self._put(loaded)
        self.bar.show(loaded[3])
        self.start()

    def _put(self, shown):
        self.source, drawing, poses, title = shown
        self.view = View(self.server, drawing, poses, self.source, title)
        self.dress()
        self.limit()

    def _tell(self, message):
        if self.source is not None:
            self.source.tell(message)

    # --- how it looks ---------------------------------------------------------------------------
    def dress(self) -> None:
        """Light or dark, with or without shadows, as it is ticked."""
        grounds = () if self.view is None else self.view.graph.grounds
        dress(self.server, grounds, self.bar.dark.value, self.bar.shadows.value)

    def limit(self) -> None:
        """Where the camera may go."""
        if self.view is not None:
            self.bar.camera.content = camera_html(self.view.drawing.floor, self.bar.below.value, self.view.near)

    def open_gallery(self) -> None:
        """Show the gallery of the scenes above the page."""
        if self._gallery is not None:
            self._gallery.close()
        self._gallery = Gallery(self.server, self.bar.choose_shipped)

    # --- files ----------------------------------------------------------------------------------
    def html(self, frames: Sequence[Snapshot] | None = None) -> str:
        """The scene and frames, those that are kept where none are given, as the text of one HTML file.

        Raises
        ------
        InputError
            There is nothing to see yet.
        """
        if self.view is None:
            raise InputError("there is no scene to save: choose one first")
        if frames is None:
            frames = [*getattr(self.source, "frames", lambda: self.view.panel.timeline.frames)()]
        return html_of(self.view, frames, self.bar.dark.value)

    def save(self, path: str | Path, frames: Sequence[Snapshot] | None = None) -> Path:
        """Write :meth:`html` to a file whose name ends in .html or .htm."""
        require_ending("an HTML file", path, ENDINGS)
        text = self.html(frames)
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write '{path}': {error.strerror or error}") from None
        return Path(path)

    def send_html(self, client: Any) -> None:
        """Let a browser save the HTML file."""
        try:
            text = self.html()
        except InputError as error:
            self._tell(str(error))
            return
        name = self.view.title if self.view is not None else "view"
        client.send_file_download(f"{name}.html", text.encode(), save_immediately=True)

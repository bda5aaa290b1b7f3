# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The gallery: small pictures of the scenes that the package ships; a click opens one."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import threading
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from mb_contact.errors import InputError
from mb_contact.model.scene import load_scene
from mb_contact.model.shapes.meshes import cache_folder
from mb_contact.model.world import build_world
from mb_contact.simulation.initial import link_poses
from mb_contact.surfaces.scene_file import is_surface_scene
from mb_contact.viewer import render, sight
from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.film import camera_of, png
from mb_contact.viewer.scenes import about, shipped_scenes

SIZE = (200, 140)  #: of a picture [pixels]
PRESS = (
    "((name) => [...document.querySelectorAll('button')].find((b) => b.innerText.trim() === name)?.click())"
    "(this.dataset.name)"
)
CELL = (
    '<div data-name="open {name}" onclick="{press}" title="{about}" style="cursor:pointer;width:200px;'
    'font-size:0.8em;line-height:1.25">{picture}<div><b>{name}</b></div><div style="opacity:0.75;height:2.5em;'
    'overflow:hidden">{about}</div></div>'
)
WIDE = "<style>.mantine-Modal-root{--modal-size:min(940px,94vw)!important}</style>"  #: a window of four columns
BLANK = '<div style="width:200px;height:140px;background:#8884"></div>'


class Gallery:
    """A window above the page, filled with pictures as they are drawn; they are kept for the next time.

    Parameters
    ----------
    server : viser.ViserServer
    choose : callable
        Called with the name of the scene that is clicked.
    """

    def __init__(self, server: Any, choose: Callable[[str], Any]) -> None:
        self._scenes, self._open = dict(sorted(shipped_scenes().items(), key=_last)), True
        self._pictures: dict[str, str] = {}  #: base64 of PNG
        self._window = server.gui.add_modal("Scenes")
        with self._window:
            self._html = server.gui.add_html("")
            with server.gui.add_folder("by name", expand_by_default=False):
                for name in self._scenes:
                    button = server.gui.add_button(f"open {name}")
                    button.on_click(lambda _, name=name: self._choose(choose, name))
            server.gui.add_button("close the gallery").on_click(lambda _: self.close())
        self._write()
        threading.Thread(target=self._fill, name="gallery", daemon=True).start()

    def _choose(self, choose, name):
        self.close()
        choose(name)

    def close(self) -> None:
        """Close it."""
        if self._open:
            self._open = False
            self._window.close()

    def _write(self):
        cells = []
        for name, path in self._scenes.items():
            data = self._pictures.get(name)
            picture = BLANK if data is None else f'<img width="200" height="140" src="data:image/png;base64,{data}">'
            cells.append(CELL.format(name=name, press=PRESS, about=escape(about(path), quote=True), picture=picture))
        style = "display:flex;flex-wrap:wrap;gap:12px;justify-content:center"
        self._html.content = f'{WIDE}<div style="{style}">{"".join(cells)}</div>'

    def _fill(self):
        scenes = [item for item in self._scenes.items() if not is_surface_scene(item[1])]
        for drawn, (name, path) in enumerate(scenes):
            if not self._open:
                return
            try:
                self._pictures[name] = base64.b64encode(thumbnail(path)).decode()
            except Exception as error:  # one scene must not leave the others without a picture
                print(f"mb-contact: no picture of {name}: {error}", file=sys.stderr, flush=True)
            if drawn % 4 == 3:
                self._write()
        if self._open:
            self._write()


def _last(item):
    """Smooth surfaces come last, which have no picture."""
    return is_surface_scene(item[1]), item[0]


def thumbnail(path: Path) -> bytes:
    """PNG of a scene at its start, kept in the cache by what its file and this package are."""
    parts = path.read_bytes(), *(Path(str(part.__file__)).read_bytes() for part in (render, sight)), str(SIZE).encode()
    key = hashlib.sha256(b"".join(parts)).hexdigest()[:24]
    kept = cache_folder("thumbnails") / f"{key}.png"
    if kept.exists():
        return kept.read_bytes()
    data = _drawn(path)
    kept.parent.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_bytes(data)
    part.replace(kept)
    return data


def _drawn(path):
    """PNG of a scene at its start, seen as a page sees it first; smooth surfaces have none without a simulator."""
    scene = load_scene(path)
    world = build_world(scene)
    drawing, poses = scene_drawing(scene, world), link_poses(world)
    if not drawing.visuals:
        raise InputError("nothing in it has a shape")
    return png([render.picture(drawing, poses, camera_of(drawing, [poses, poses], SIZE))])

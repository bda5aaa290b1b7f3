# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One HTML file of a view that runs without a server: the page's own program, the scene, and its frames over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mb_contact.errors import InputError
from mb_contact.viewer.look import camera_script
from mb_contact.viewer.snapshot import FRAME_SECONDS, Snapshot

if TYPE_CHECKING:
    from mb_contact.viewer.view import View

ENDINGS = (".html", ".htm")


def require_ending(what: str, path: str | Path, endings: Sequence[str]) -> None:
    """Refuse to write a file of another kind, such as the scene itself, with an InputError."""
    if Path(path).suffix.lower() not in endings:
        raise InputError(f"{what} ends in {', '.join(endings)}, got '{path}'")


def html_of(view: View, frames: Sequence[Snapshot], dark: bool = False) -> str:
    """Text of an HTML file in which the frames play, with a timeline and speeds; it loads nothing from elsewhere.

    Parameters
    ----------
    view : View
        Whose server's scene is written; the frames are drawn into it one after the other.
    frames : sequence of Snapshot
        By time.
    dark : bool
    """
    server: Any = view.server
    with view.lock:  # what is drawn meanwhile would be in the file
        if frames:
            view.draw_scene(frames[0])
        writer = server.get_scene_serializer()
        for last, frame in zip(frames, frames[1:]):
            writer.insert_sleep(max(0.0, frame.time - last.time))
            view.draw_scene(frame)
        if len(frames) > 1:
            writer.insert_sleep(FRAME_SECONDS)
        text = writer.as_html(dark_mode=dark)
        if view.shown is not None:
            view.draw_scene(view.shown)
    end = text.index("</body>")
    return f"{text[:end]}<script>{camera_script(view.drawing.floor, False, view.near)}</script>{text[end:]}"

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Dragging links with the mouse: what the browser tells goes to the player, its springs come back as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mb_contact.viewer.player import Player
    from mb_contact.viewer.snapshot import Pull

LINE = (214, 39, 116)  #: colour of the line from the grabbed point to the pointer
WIDTH = 4.0  #: of that line [pixels]


class Dragging:
    """Hears drags of meshes and draws the springs; every browser has a hand of its own.

    Parameters
    ----------
    server : viser.ViserServer
    player : Player
    """

    def __init__(self, server: Any, player: Player) -> None:
        self._player = player
        self.lines = server.scene.add_line_segments(
            "/pulls", np.zeros((1, 2, 3)), LINE, thickness=WIDTH, thickness_units="screen", visible=False
        )

    def attach(self, mesh: Any, links: tuple[str, ...]) -> None:
        """Let a mesh be dragged with the left button; ``links`` are those that it draws, each once."""

        async def hear(event: Any) -> None:  # a coroutine: the phases come in their order
            which = event.instance_index or 0
            if 0 <= which < len(links):  # a browser may send anything
                self.hear(event.client_id, links[which], event.phase, event.start_position, event.end_position)

        mesh.on_drag("left")(hear)

    def hear(self, who: int, link: str, phase: str, place: Any, target: Any) -> None:
        """A browser begins, goes on or ends; the grabbed place and the pointer's are in the world [m]."""
        if phase == "start":
            self._player.grab(who, link, place)
        if phase == "end":  # viser says so for a browser that has gone, too
            self._player.release(who)
        else:
            self._player.drag(who, target)

    def draw(self, pulls: Sequence[Pull]) -> None:
        """Draw a line for each spring."""
        self.lines.visible = bool(pulls)
        if pulls:
            self.lines.points = np.array([(pull.place, pull.target) for pull in pulls])

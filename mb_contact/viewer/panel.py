# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The controls beside the picture: run, pause, step, reset; what is shown; the certificate of the last step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mb_contact.viewer.options import EFFORTS

if TYPE_CHECKING:
    from mb_contact.viewer.follower import Follower
    from mb_contact.viewer.graph import ContactLayer, SceneGraph
    from mb_contact.viewer.player import Player
    from mb_contact.viewer.snapshot import Snapshot

FASTEST = 2.0  #: real-time factor at the right end of the slider
BUTTONS = ("run", "pause", "step", "reset")
LAYERS = {"points": "contact points", "forces": "contact forces", "normals": "normals", "cones": "friction cones"}


class Panel:
    """Controls of a server.

    Parameters
    ----------
    server : viser.ViserServer
    graph : SceneGraph
    layer : ContactLayer
    control : Player or Follower
        What the buttons act on.
    title : str
    """

    def __init__(
        self, server: Any, graph: SceneGraph, layer: ContactLayer, control: Player | Follower, title: str
    ) -> None:
        self._gui, self._graph, self._layer, self._control = server.gui, graph, layer, control
        self._gui.configure_theme(show_logo=False, show_share_button=False)
        self._gui.set_panel_label(title)
        self.status = self._gui.add_markdown("")
        self._simulation()
        with self._gui.add_folder("Show"):
            self._shown()
        with self._gui.add_folder("Certificate of the last step"):
            self.certificate = self._gui.add_markdown("no step yet")

    def _simulation(self):
        control = self._control
        self.buttons = self._gui.add_button_group("physics", BUTTONS)
        self.buttons.on_click(lambda _: self.press(self.buttons.value))
        if not control.can_pace:
            return
        start = min(FASTEST, control.factor or FASTEST)
        self.factor = self._gui.add_slider("real-time factor", 0.05, FASTEST, 0.05, start)
        self.factor.on_update(lambda _: control.set_factor(self.factor.value))
        self.efforts = self._gui.add_dropdown("joint efforts", EFFORTS, initial_value=control.efforts)
        self.efforts.on_update(lambda _: control.set_efforts(self.efforts.value))

    def press(self, button: str) -> None:
        """What one of BUTTONS does."""
        getattr(self._control, button)()

    def _shown(self):
        self.boxes = {}
        self._box("visuals", "visual meshes", True, self._graph.show_visuals)
        self._box("collisions", "collision shapes", False, self._graph.show_collisions)
        for name, label in LAYERS.items():
            self._box(name, label, self._layer.shown[name], lambda on, name=name: self._layer.show(name, on))
        start = float(f"{1e3 * self._layer.scale:.2g}")
        self.scale = self._gui.add_slider("arrows [mm/N]", 0.0, 5.0 * start, 0.05 * start, start)
        self.scale.on_update(lambda _: self._rescale())

    def _box(self, name, label, value, act):
        box = self.boxes[name] = self._gui.add_checkbox(label, value)
        box.on_update(lambda _: act(box.value))

    def _rescale(self):
        self._layer.scale = 1e-3 * self.scale.value
        self._layer.show("forces", self._layer.shown["forces"])

    def update(self, snapshot: Snapshot) -> None:
        """Write time, pace and certificate."""
        factor = snapshot.real_time_factor
        pace = "paused" if factor is None else f"real-time factor {factor:.2f}"
        lines = [f"**{snapshot.time:.3f} s** &nbsp; {pace}", *filter(None, [snapshot.message])]
        self.status.content = "\n\n".join(lines)
        if snapshot.certificate:
            rows = [f"| {words} | {text} |" for words, text in snapshot.certificate.items()]
            self.certificate.content = "\n".join(["| | |", "|---|---|", *rows])

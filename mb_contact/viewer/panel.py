# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The controls beside the picture: run, pause, step, reset; what is shown; the certificate of the last step."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mb_contact.viewer.options import EFFORTS
from mb_contact.viewer.plots import Plots
from mb_contact.viewer.scenes import shipped_scenes

if TYPE_CHECKING:
    from mb_contact.viewer.follower import Follower
    from mb_contact.viewer.graph import ContactLayer, SceneGraph
    from mb_contact.viewer.player import Player
    from mb_contact.viewer.snapshot import Snapshot

FASTEST = 2.0  #: real-time factor at the right end of the slider
BUTTONS = ("run", "pause", "step", "reset")
STRONGEST = 2.0  #: decades of the slider of a spring's strength, to both sides of 1
BUTTON = (
    '<div style="padding:0 0.75em 0.5em"><button style="width:100%;padding:0.4em;font:inherit;font-size:0.85em;'
    'border:1px solid #ccc;border-radius:4px;background:none;color:inherit;cursor:pointer" onclick="{script}">'
    "record a video</button></div>"
)
LAYERS = {"points": "contact points", "forces": "contact forces", "normals": "normals", "cones": "friction cones"}


class Bar:
    """What stays when the scene changes: the choice of the scene, and the recording of a video in the browser.

    Parameters
    ----------
    gui : viser.GuiApi
    title : str, optional
        Name of the scene that is shown; without one no other can be chosen.
    scene : path, optional
        Its file.
    """

    def __init__(self, gui: Any, title: str | None = None, scene: str | Path = "") -> None:
        gui.configure_theme(show_logo=False, show_share_button=False)
        self._wanted: str | None = None
        if title is not None:
            shipped = shipped_scenes()
            self._scenes = shipped if title in shipped else {title: scene, **shipped}
            self.choice = gui.add_dropdown("scene", tuple(self._scenes), initial_value=title, order=-2.0)
            self.choice.on_update(lambda _: self._choose(self.choice.value))
        script = Path(__file__).with_name("record.js").read_text(encoding="utf-8")
        self.record = gui.add_html(BUTTON.format(script=escape(script, quote=True)), order=-1.0)

    def _choose(self, name):
        if name in self._scenes:  # a browser may send anything
            self._wanted = name

    def take(self) -> tuple[str, str | Path] | None:
        """Name and file of the scene that was chosen since the last call, or None."""
        name, self._wanted = self._wanted, None
        return None if name is None else (name, self._scenes[name])

    def show(self, name: str) -> None:
        """Say which scene is shown."""
        self.choice.value = name


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
        self._gui.set_panel_label(title)
        self.status = self._gui.add_markdown("")
        self._simulation()
        self.plots = Plots(server.gui, control.joint_names)
        with self._gui.add_folder("Show") as show:
            self._shown()
        with self._gui.add_folder("Certificate of the last step") as folder:
            self.certificate = self._gui.add_markdown("no step yet")
        self._parts = [self.status, self.buttons, *self._settings, self.plots.folder, show, folder]

    def _simulation(self):
        control = self._control
        self.buttons = self._gui.add_button_group("physics", BUTTONS)
        self.buttons.on_click(lambda _: self.press(self.buttons.value))
        self._settings: list[Any] = []
        if not control.can_pace:
            return
        start = min(FASTEST, control.factor or FASTEST)
        self.factor = self._gui.add_slider("real-time factor", 0.05, FASTEST, 0.05, start)
        self.factor.on_update(lambda _: control.set_factor(self.factor.value))
        self.efforts = self._gui.add_dropdown("joint efforts", EFFORTS, initial_value=control.efforts)
        self.efforts.on_update(lambda _: control.set_efforts(self.efforts.value))
        self._settings = [self.factor, self.efforts]
        if control.can_drag:
            self.strength = self._gui.add_slider(
                "strength of dragging (log10)", -STRONGEST, STRONGEST, 0.1, 0.0,
                hint="Drag what moves with the left mouse button: a damped spring pulls it to the pointer.",
            )  # fmt: skip
            self.strength.on_update(lambda _: control.set_strength(10.0**self.strength.value))
            self._settings.append(self.strength)

    def remove(self) -> None:
        """Take the controls away again."""
        for part in self._parts:
            part.remove()

    def tell(self, message: str) -> None:
        """Say something where time and pace stand, until the next frame."""
        self.status.content = message

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
        if math.isfinite(self.scale.value):  # a browser may send anything
            self._layer.scale = 1e-3 * self.scale.value
        self._layer.show("forces", self._layer.shown["forces"])

    def update(self, snapshot: Snapshot) -> None:
        """Write time, pace and certificate."""
        factor = snapshot.real_time_factor
        pace = "paused" if factor is None else f"real-time factor {factor:.2f}"
        lines = [f"**{snapshot.time:.3f} s** &nbsp; {pace}", *map(_pull_text, snapshot.pulls), snapshot.message]
        self.status.content = "\n\n".join(filter(None, lines))
        if snapshot.certificate:
            rows = [f"| {words} | {text} |" for words, text in snapshot.certificate.items()]
            self.certificate.content = "\n".join(["| | |", "|---|---|", *rows])
        self.plots.update(snapshot)


def _pull_text(pull):
    return f"{pull.link} is dragged with {pull.force:.3g} N ({pull.stiffness:.3g} N/m, {pull.damping:.3g} N s/m)"

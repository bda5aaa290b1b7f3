# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The controls beside the picture: run, pause, step, reset, the timeline, and folders of all else."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mb_contact.model.resources import find_resource
from mb_contact.viewer.inspector import Inspector
from mb_contact.viewer.joints import JointSliders, SensorPane
from mb_contact.viewer.look import PANEL, plain
from mb_contact.viewer.options import EFFORTS
from mb_contact.viewer.plots import Plots
from mb_contact.viewer.scenes import shipped_scenes
from mb_contact.viewer.timeline import Timeline

if TYPE_CHECKING:
    from mb_contact.viewer.snapshot import Poses, Snapshot
    from mb_contact.viewer.view import View

FASTEST = 2.0  #: real-time factor at the right end of the slider
UNCHOSEN = "choose a scene"
STRONGEST = 2.0  #: decades of the slider of a spring's strength, to both sides of 1
LONGEST = 2.0  #: and of that of the length of arrows
BUTTON = (
    '<div style="padding:0 0.75em 0.5em"><button style="width:100%;padding:0.4em;font:inherit;font-size:0.85em;'
    'border:1px solid #ccc;border-radius:4px;background:none;color:inherit;cursor:pointer" onclick="{script}">'
    "record a video</button></div>"
)
SHIPPED = " (shipped)"  #: behind the name of a scene that somebody's own has too
LAYERS = {"points": "contact points", "forces": "contact forces", "normals": "normals", "cones": "friction cones"}


class Bar:
    """What stays when the scene changes: the gallery, the choice of a scene, light and dark, videos and HTML files.

    Parameters
    ----------
    page : Page
        Whose scene can be changed and saved.
    title : str, optional
        Name of the scene that is shown; without one no other can be chosen.
    scene : path, optional
        Its file.
    """

    def __init__(self, page: Any, title: str | None = None, scene: str | Path = "") -> None:
        self._wanted: str | None = None
        gui = page.server.gui
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL)
        if title is not None:
            self._scenes = _choices(title, scene)
            shown = (*self._scenes,) if title else (UNCHOSEN, *self._scenes)
            self.choice = gui.add_dropdown("scene", shown, initial_value=title or UNCHOSEN, order=-3.0)
            self.choice.on_update(lambda _: self.choose(self.choice.value))
            gui.add_button("gallery", order=-2.9).on_click(lambda _: page.open_gallery())
        with gui.add_folder("Page and files", order=1e6, expand_by_default=False):
            self.dark = gui.add_checkbox("dark", False)
            self.dark.on_update(lambda _: page.dress())
            self.shadows = gui.add_checkbox("shadows", True, hint="A browser that draws slowly turns them off, once.")
            self.shadows.on_update(lambda _: page.dress())
            self.below = gui.add_checkbox("look from below", False, hint="Else the camera is above what it looks at.")
            self.below.on_update(lambda _: page.limit())
            self.export = gui.add_button("save an HTML file", hint="Runs without a server: the frames that are kept.")
            self.export.on_click(lambda event: page.send_html(event.client))
            script = Path(__file__).with_name("record.js").read_text(encoding="utf-8")
            self.record = gui.add_html(BUTTON.format(script=escape(script, quote=True)))
        self.camera = gui.add_html("")

    def choose_shipped(self, name: str) -> None:
        """Ask for the scene of this name that the package ships."""
        self.choose(name + SHIPPED if name + SHIPPED in self._scenes else name)

    def choose(self, name: str) -> None:
        """Ask for the scene of this name, if there is one: a browser may send anything."""
        if name in self._scenes:
            self._wanted = name

    def take(self) -> tuple[str, str | Path] | None:
        """Name and file of the scene that was chosen since the last call, or None."""
        name, self._wanted = self._wanted, None
        return None if name is None else (name, self._scenes[name])

    def show(self, name: str) -> None:
        """Say which scene is shown."""
        if name in self._scenes:
            self.choice.value = name


def _choices(title, scene):
    """Names of scenes to their files: the one that is shown first, and those that the package ships.

    A file of somebody's own that bears a shipped scene's name keeps it, and that one is marked.
    """
    shipped = shipped_scenes()
    if not title:
        return shipped
    own = title not in shipped or (scene and find_resource(scene).resolve() != Path(shipped[title]).resolve())
    if not own:
        return shipped
    return {title: scene, **{f"{name}{SHIPPED}" if name == title else name: path for name, path in shipped.items()}}


class Panel:
    """Controls of a view.

    Parameters
    ----------
    view : View
    control : Source
        What the buttons act on.
    title : str
    poses : dict
        Of all links at the start.
    """

    def __init__(self, view: View, control: Any, title: str, poses: Poses) -> None:
        server = view.server
        self._gui, self._graph, self._layer, self._control = server.gui, view.graph, view.layer, control
        self._gui.set_panel_label(title)
        self.status = self._gui.add_markdown("")
        self._simulation()
        self.timeline = Timeline(server.gui, control, view.show)
        self.folders: list[Any] = [Inspector(server, view.graph, view.drawing, poses)]
        if control.can_pose:
            self.folders.append(JointSliders(server.gui, control))
        if control.sensor_names:
            self.folders.append(SensorPane(server.gui, control))
        self.inspector, self.plots = self.folders[0], Plots(server.gui, control)
        with self._gui.add_folder("Show", expand_by_default=False) as show:
            self._shown()
        with self._gui.add_folder("Certificate of the last step", expand_by_default=False) as folder:
            self.certificate = self._gui.add_markdown("no step yet")
        self._parts = [self.status, self.buttons, *self._settings, self.timeline.slider, *self.folders]
        self._parts += [self.plots.folder, show, folder]

    def _simulation(self):
        control = self._control
        self.buttons = self._gui.add_button_group("physics", control.buttons)
        self.buttons.on_click(lambda _: self.press(self.buttons.value))
        self._settings: list[Any] = []
        if control.can_pace:
            start = min(FASTEST, control.factor or FASTEST)
            self.factor = self._gui.add_slider("real-time factor", min(0.05, start), FASTEST, 0.05, start)
            self.factor.on_update(lambda _: control.set_factor(self.factor.value))
            self._settings.append(self.factor)
        if control.can_drive:
            self.efforts = self._gui.add_dropdown("joint efforts", EFFORTS, initial_value=control.efforts)
            self.efforts.on_update(lambda _: control.set_efforts(self.efforts.value))
            self._settings.append(self.efforts)
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
            (part.folder if isinstance(part, (JointSliders, SensorPane)) else part).remove()

    def tell(self, message: str) -> None:
        """Say something where time and pace stand, until the next frame."""
        self.status.content = plain(message)

    def press(self, button: str) -> None:
        """What a button of the source does; what happens now is looked at again."""
        if button in self._control.buttons:  # a browser may send anything
            self.timeline.now()
            getattr(self._control, button)()

    def _shown(self):
        self.boxes = {}
        self._box("visuals", "visual meshes", True, self._graph.show_visuals)
        self._box("collisions", "collision shapes", False, self._graph.show_collisions)
        self._box("axes", "axes of links", False, self._graph.show_axes)
        self._box("names", "names of links", False, self._graph.show_names)
        for name, label in LAYERS.items():
            self._box(name, label, self._layer.shown[name], lambda on, name=name: self._layer.show(name, on))
        self.scale = self._gui.add_slider("length of arrows (log10)", -LONGEST, LONGEST, 0.05, 0.0)
        self.scale.on_update(lambda _: self._rescale())
        self.legend = self._gui.add_markdown("")

    def _box(self, name, label, value, act):
        box = self.boxes[name] = self._gui.add_checkbox(label, value)
        box.on_update(lambda _: act(box.value))

    def _rescale(self):
        if abs(self.scale.value) <= LONGEST:  # a browser may send anything
            self._layer.longer = 10.0**self.scale.value
        self._layer.show("forces", self._layer.shown["forces"])

    def update(self, snapshot: Snapshot) -> None:
        """Write time, pace, certificate and all that folders show."""
        factor = snapshot.real_time_factor
        pace = "paused" if factor is None else f"real-time factor {factor:.2f}"
        lines = [f"**{snapshot.time:.3f} s** &nbsp; {pace}{_lag_text(snapshot.lag)}"]
        lines += [*map(_pull_text, snapshot.pulls), plain(snapshot.message)]
        self.status.content = "\n\n".join(filter(None, lines))
        self.legend.content = f"an arrow of {self._graph.cell:g} m is {self._graph.cell / self._layer.scale:.3g} N"
        if snapshot.certificate:
            rows = [f"| {words} | {plain(text)} |" for words, text in snapshot.certificate.items()]
            self.certificate.content = "\n".join(["| | |", "|---|---|", *rows])
        for folder in self.folders:
            folder.update(snapshot)
        self.plots.update(snapshot)


def _lag_text(lag):
    if lag is None:
        return ""
    return f" &nbsp; nothing heard for {lag:.1f} s" if lag > 1.0 else f" &nbsp; lag {1e3 * lag:.0f} ms"


def _pull_text(pull):
    return f"{plain(pull.link)} is dragged with {pull.force:.3g} N ({pull.stiffness:.3g} N/m, {pull.damping:.3g} N s/m)"

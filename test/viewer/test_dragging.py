# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Dragging in the page, as browsers tell it: hostile messages, browsers that go, several of them, other scenes."""

from __future__ import annotations

import importlib.util
import math
import threading

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.viewer.command import _another, _simulate
from mb_contact.viewer.options import ViewOptions
from mb_contact.viewer.page import Page
from paths import ROOT
from viewer.serving import new_server, until

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("viser") is None, reason="viser is not installed: pip install 'mb_contact[viewer]'"
)
CAN = ROOT / "config" / "falling_can.yaml"
MESH = "/links/can/visual_0"


@pytest.fixture
def session():
    """A page of the falling can, paused."""
    server = new_server()
    options = ViewOptions(factor=0.0, paused=True)
    session = Page(server, _simulate(CAN, options), CAN, _another(options))
    session.start()
    yield session
    session.source.stop()
    server.stop()


class Client:
    """A browser's end of the connection."""

    def __init__(self, session):
        import viser
        from websockets.sync.client import connect

        before = set(session.server.get_clients())
        address = f"ws://127.0.0.1:{session.server.get_port()}"
        protocol = [f"viser-v{viser.__version__}"]
        self.socket = connect(address, subprotocols=protocol, compression=None, max_size=None)
        threading.Thread(target=self._listen, daemon=True).start()
        camera = {"wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 0.0, 1.0), "fov": 1.0, "near": 0.1, "far": 100.0}
        view = {"image_height": 480, "image_width": 640, "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0)}
        self.send("ViewerCameraMessage", **camera, **view)
        until(lambda: set(session.server.get_clients()) - before)

    def _listen(self):
        """Take what comes, so that the connection lives."""
        for _ in self.socket:
            pass

    def send(self, kind, **fields):
        """A message as a page would send it."""
        import msgspec

        self.socket.send(msgspec.msgpack.encode({"type": kind, **fields}))

    def drag(self, phase, place, target, name=MESH):
        """One message of a drag."""
        self.send("SceneNodeDragMessage", phase=phase, name=name, instance_index=None, start_position=place,
                  start_screen_pos=(0.5, 0.5), end_position=target, end_screen_pos=(0.5, 0.5), button="left",
                  modifier=None, owner="")  # fmt: skip

    def set(self, handle, value):
        """Give a control of the panel a value."""
        self.send("GuiUpdateMessage", uuid=handle._impl.uuid, updates={"value": value})


def held(session):
    return session.source._springs.held


def centre(session):
    return tuple(float(x) for x in session.source._simulator.link_pose("can")[0])


def frame(session, condition=lambda frame: True):
    """The first frame that meets a condition, drawn."""
    for _ in range(600):
        found = session.source.frame(0.1)
        if found is not None:
            session.view.draw(found)
            if condition(found):
                return found
    raise AssertionError("no such frame came")


def test_a_drag_moves_the_body_and_is_drawn_and_told(session):
    client, place = Client(session), centre(session)
    target = (place[0], place[1], place[2] + 0.05)
    client.drag("start", place, place)
    client.drag("update", place, target)
    until(lambda: held(session) and held(session)[0].target[2] == target[2])
    (spring,) = held(session)
    assert spring.link == "can"
    np.testing.assert_allclose(spring.place, place, atol=1e-9)
    session.source.run()
    found = frame(session, lambda frame: frame.time > 1.0)
    sim = session.source._simulator
    sag = sim.world.tree.mass[sim.world.objects["can"]] * 9.81 / spring.stiffness
    assert spring.place[2] == pytest.approx(target[2] - sag, abs=1e-3)  # it hangs where the forces are equal
    lines = session.view.dragging.lines
    assert lines.visible
    np.testing.assert_allclose(lines.points[0], (found.pulls[0].place, target), atol=1e-6)
    assert f"can is dragged with {found.pulls[0].force:.3g} N" in session.view.panel.status.content
    client.drag("end", place, target)
    until(lambda: not held(session))
    frame(session, lambda frame: not frame.pulls)
    assert not lines.visible


def test_a_browser_that_goes_lets_go(session):
    client, place = Client(session), centre(session)
    client.drag("start", place, place)
    until(lambda: held(session))
    client.socket.close()
    until(lambda: not held(session))


def test_two_browsers_have_a_hand_each(session):
    one, two, place = Client(session), Client(session), centre(session)
    one.drag("start", place, place)
    two.drag("start", place, place)
    until(lambda: len(held(session)) == 2)
    one.drag("end", place, place)
    until(lambda: len(held(session)) == 1)
    two.socket.close()
    until(lambda: not held(session))


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e300])
def test_numbers_that_are_none_change_nothing_of_the_state(session, bad):
    client, place = Client(session), centre(session)
    client.drag("start", (bad, 0.0, 0.0), place)
    client.drag("start", place, place)
    until(lambda: held(session))
    client.drag("update", place, (0.0, bad, 0.0))
    panel = session.view.panel
    client.set(panel.timeline.slider, bad)
    for handle in (panel.factor, panel.strength, panel.scale):
        client.set(handle, bad)
    session.source.run()
    found = frame(session, lambda frame: frame.time > 0.05)
    panel._rescale()  # what the slider calls in a thread, where an error is only logged
    sim = session.source._simulator
    assert np.isfinite(sim.q).all() and np.isfinite(sim.v).all() and np.abs(sim.q).max() < 100.0
    assert math.isfinite(session.source.factor) and np.isfinite(session.view.layer.forces.points).all()
    client.drag("end", place, place)
    until(lambda: not held(session))
    assert found.time > 0.05 and session.source.failed is None


def test_messages_that_make_no_sense_are_passed_over(session):
    client, place = Client(session), centre(session)
    client.drag("update", place, place)  # nobody holds anything
    client.drag("end", place, place)
    client.drag("start", place, place, name="/links/nobody/visual_0")
    client.set(session.bar.choice, "no scene of this name")
    client.drag("start", place, place)
    until(lambda: held(session))
    session.draw_next()
    assert session.view.title == "falling_can"


def test_another_scene_while_a_body_is_dragged(session):
    client, place = Client(session), centre(session)
    client.drag("start", place, place)
    until(lambda: held(session))
    before, view = session.source, session.view
    client.set(session.bar.choice, "box_on_table")
    until(lambda: session.bar._wanted is not None)
    session.draw_next()
    assert session.view.title == "box_on_table" and session.source is not before and before.done
    assert not held(session) and session.source.paused
    client.drag("update", place, (9.0, 9.0, 9.0))  # the browser has not heard yet
    client.drag("end", place, place)
    place = tuple(float(x) for x in session.source._simulator.link_pose("box")[0])
    client.drag("start", place, place, name="/links/box/visual_1")  # that of the table is 0
    until(lambda: held(session))
    assert held(session)[0].link == "box"
    assert session.server.scene.get_handle_by_name(MESH) is None and view.panel.status._impl.removed


def test_a_scene_that_cannot_be_loaded_leaves_the_present_one(session, monkeypatch):
    def fail(*_):
        raise mb.InputError("the file is gone")

    monkeypatch.setattr("mb_contact.viewer.command._simulate", fail)
    session.change("ramp", "nowhere")
    assert session.view.title == "falling_can" == session.bar.choice.value
    assert "ramp cannot be shown: the file is gone" in frame(session, lambda frame: frame.message).message


def test_every_shipped_scene_can_be_chosen(session):
    names = set(session.bar.choice.options)
    assert {"falling_can", "dual_arm_lift", "three_patches", "wheel_change"} <= names and "node" not in names
    session.change("three_patches", session.bar._scenes["three_patches"])  # smooth surfaces: nothing to drag
    assert not session.source.can_drag and session.view.dragging is None
    session.source.step()
    frame(session, lambda frame: frame.time > 0.0)


def test_plots_hold_the_readings_of_the_frames(session):
    session.change("dual_arm_lift", session.bar._scenes["dual_arm_lift"])
    plots, sim = session.view.panel.plots, session.source._simulator
    for name in ("joints", "forces", "energy"):
        plots.boxes[name].value = True
        plots.charts[name].visible = True
    session.source.step(3)
    last = frame(session, lambda frame: frame.time > 2.5 * sim.time_step)
    plots._draw()
    energy, joints, forces = (plots.charts[name] for name in ("energy", "joints", "forces"))
    assert [series["label"] for series in energy.series[1:]] == ["energy", "kinetic energy", "start + work"]
    assert energy.data[0][-1] == last.time and energy.data[1][-1] == pytest.approx(sim.energy(), rel=1e-12)
    names = [series["label"] for series in joints.series[1:]]
    assert names == list(sim.world.joint_names[:8])
    np.testing.assert_allclose([curve[-1] for curve in joints.data[1:]], sim.joint_positions()[:8])
    box = dict(zip((series["label"] for series in forces.series[1:]), (curve[-1] for curve in forces.data[1:])))
    on_box = np.linalg.norm(sim.contact_impulse("box")[3:]) / sim.time_step
    assert any("box" in name and force == pytest.approx(on_box, rel=1e-9) for name, force in box.items())
    session.source.reset()
    session.view.draw(frame(session, lambda frame: frame.time == 0.0))
    assert len(plots._history) == 1

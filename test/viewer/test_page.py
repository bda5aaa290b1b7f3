# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A page without a browser: loops of one's own, looking back, selecting, measuring, joints, the gallery, HTML files.

Covers viewer/gallery.py, viewer/inspector.py, viewer/joints.py, viewer/panel.py, viewer/plots.py, viewer/scenes.py,
viewer/source.py.
"""

from __future__ import annotations

import base64
import re
import threading
import time

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.cli import main
from mb_contact.errors import InputError
from mb_contact.simulation.arrows import LONGEST, ArrowScale
from mb_contact.surfaces.scene_file import is_surface_scene
from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.inspector import pick, ray_length, touching
from mb_contact.viewer.library import start_server
from mb_contact.viewer.page import Page, simulated_scene
from mb_contact.viewer.panel import _choices
from mb_contact.viewer.player import Player
from mb_contact.viewer.scenes import about, shipped_scenes
from mb_contact.viewer.snapshot import contact_points
from paths import ROOT
from viewer.serving import NEEDS_VISER, free_port, until

CAN, ARMS = ROOT / "config" / "falling_can.yaml", ROOT / "config" / "dual_arm_lift.yaml"
BOX = ROOT / "config" / "box_on_table.yaml"


def paused_page(server, scene):
    """A page of a paused scene that nobody draws but the test, and its simulator."""
    simulator = mb.Simulator(scene)
    drawing, poses = simulated_scene(simulator)
    player = Player(simulator, drawing, factor=0.0, paused=True)
    page = Page(server, (player, drawing, poses, scene.stem))
    page.start()
    return page, simulator


def drawn(page, condition, seconds=60.0):
    """The first frame of a page's source that meets a condition, drawn."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        frame = page.source.frame(0.1)
        if frame is not None:
            page.view.draw(frame)
            if condition(frame):
                return frame
    pytest.fail("no such frame came")


# --- arrows, rays, what touches -------------------------------------------------------------------


@pytest.mark.parametrize("force", [0.02, 9.81, 60.0, 4000.0])
def test_arrows_are_as_long_as_the_scene_allows_whatever_the_forces(force):
    scale = ArrowScale(size=1.3, weight=2.0)
    for _ in range(120):
        scale.see(np.array([[0.0, 0.0, force], [0.1 * force, 0.0, 0.0]]))
    assert 0.4 * LONGEST * 1.3 <= scale.scale * force <= LONGEST * 1.3 * (1.0 + 1e-9)


def test_a_blow_of_a_few_frames_leaves_the_scale_of_arrows():
    scale = ArrowScale(size=1.0, weight=10.0)
    for k in range(200):
        scale.see(np.array([[0.0, 0.0, 1e5 if k % 20 == 0 else 10.0]]))
    assert scale.scale * 10.0 == pytest.approx(0.1)  # and without contacts it stays, too
    before = scale.scale
    for _ in range(200):
        scale.see(np.zeros((0, 3)))
    assert scale.scale == before


def test_a_ray_meets_the_nearest_thing_and_the_ground_behind_it():
    simulator = mb.Simulator(BOX)
    drawing, poses = simulated_scene(simulator)
    top = simulator.link_pose("box")[0] + (0.0, 0.0, 1.0)
    link, place = pick(drawing, poses, top, np.array([0.0, 0.0, -1.0]))
    half = simulator.world.geoms.size[simulator.world.geometry_names.index("box")][2]
    assert link == "box" and place[2] == pytest.approx(simulator.link_pose("box")[0][2] + half)
    assert pick(drawing, poses, top, np.array([0.0, 0.0, 1.0])) is None
    triangle = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])
    down = np.array([0.0, 0.0, -2.0])
    assert ray_length(np.array([0.2, 0.2, 4.0]), down, triangle) == 2.0
    assert ray_length(np.array([0.8, 0.8, 4.0]), down, triangle) == np.inf


def test_what_touches_a_link_is_told_with_the_force_on_it():
    rows = [("can", "table", np.zeros(3), np.array([0.0, 0, 1]), np.array([0.0, 1.0, 4.0]), "stick"),
            ("can", "table", np.ones(3), np.array([0.0, 0, 1]), np.array([0.0, 2.0, 0.0]), "slip")]  # fmt: skip
    points = contact_points(rows, ("can",), {})
    assert touching(points, "can") == {"table": "**5** (0.000, 3.000, 4.000); 1 stick, 1 slip"}
    assert touching(points, "table") == {"can": "**5** (0.000, -3.000, -4.000); 1 stick, 1 slip"}
    assert touching(points, "nobody") == {}


# --- a loop of one's own --------------------------------------------------------------------------


@NEEDS_VISER
def test_a_loop_of_ones_own_is_drawn_paused_and_left_as_it_was(capsys):
    simulator, plain = mb.Simulator(CAN), mb.Simulator(CAN)
    with mb.show(simulator, real_time_factor=0.0, port=free_port(), open=False) as view:
        assert view.address in capsys.readouterr().out and f'src="{view.address}"' in view._repr_html_()
        for _ in range(30):
            simulator.step()
        page = view._page
        view.draw()
        until(lambda: page.view.panel.timeline.frames and page.view.panel.timeline.frames[-1].time == simulator.time)
        p = page.server.scene.get_handle_by_name("/links/can").position
        np.testing.assert_allclose(p, simulator.link_pose("can")[0])
        page.source.pause()
        count, thread = simulator.step_count, threading.Thread(target=lambda: [simulator.step() for _ in range(3)])
        thread.start()
        page.source.step()
        until(lambda: simulator.step_count == count + 1)
        time.sleep(0.2)
        assert simulator.step_count == count + 1  # the loop is held
    thread.join(30.0)  # and let go where the page is closed
    assert simulator.step_count == count + 3 and "step" not in vars(simulator)
    for _ in range(33):
        plain.step()
    assert (plain.q == simulator.q).all()


@NEEDS_VISER
def test_a_cell_that_is_run_again_shows_anew():
    simulator = mb.Simulator(CAN)
    first = mb.show(simulator, port=free_port(), open=False)
    second = mb.show(simulator, real_time_factor=0.0, port=free_port(), open=False)
    simulator.step()
    assert first._loop.done and not second._loop.done and second._loop._step is not None
    first.close()
    second.close()
    assert "step" not in vars(simulator)


def test_what_is_no_simulator_is_not_shown():
    with pytest.raises(InputError, match=r"mb.show shows a simulator, got str: mb.show\(mb.Simulator\(scene\)\)"):
        mb.show("config/ramp.yaml")


# --- the page -------------------------------------------------------------------------------------


@NEEDS_VISER
def test_looking_back_draws_a_frame_of_the_past_and_keeps_what_comes(server):
    page, simulator = paused_page(server, CAN)
    drawn(page, lambda frame: frame.time == 0.0)
    for count in (40, 80):
        page.source.step(40)
        drawn(page, lambda frame, count=count: frame.time > (count - 0.5) * simulator.time_step)
    timeline, can = page.view.panel.timeline, server.scene.get_handle_by_name("/links/can")
    timeline.go(-40 * simulator.time_step)
    past = timeline.frames[-2]
    np.testing.assert_allclose(can.position, past.poses["can"][0])
    page.source.step()
    drawn(page, lambda frame: frame.time > 80.5 * simulator.time_step)
    np.testing.assert_allclose(can.position, past.poses["can"][0])  # still
    page.view.panel.press("step")
    drawn(page, lambda frame: frame.time > 81.5 * simulator.time_step)
    np.testing.assert_allclose(can.position, simulator.link_pose("can")[0])
    page.stop()


@NEEDS_VISER
def test_a_click_selects_and_two_clicks_measure(server):
    page, simulator = paused_page(server, BOX)
    page.source.step(5)
    drawn(page, lambda frame: len(frame.contacts.points))
    inspector = page.view.panel.inspector
    box = simulator.link_pose("box")[0]
    inspector.click(box + (0.0, 0.0, 1.0), (0.0, 0.0, -1.0))
    frame = server.scene.get_handle_by_name("/links/box")
    weight = 9.81 * float(simulator.world.tree.mass[simulator.world.objects["box"]])
    assert inspector.choice.value == "box" and frame.show_axes
    text = inspector.text.content.replace("-0.000", "0.000")
    assert f"| table | **{weight:.3g}** (0.000, 0.000, {weight:.3f})" in text
    inspector.measuring.value = True
    for x in (-0.01, 0.02):
        inspector.click(box + (x, 0.0, 1.0), (0.0, 0.0, -1.0))
    assert inspector.line.visible and inspector.distance.content.startswith("**0.0300 m** from box to box")
    inspector.measuring.value = False
    inspector.click(box + (0.0, 0.0, 1.0), (0.0, 0.0, 1.0))  # the sky
    assert inspector.choice.value == "nothing" and not frame.show_axes and not inspector.line.visible
    page.stop()


@NEEDS_VISER
def test_axes_and_names_of_links_are_there_when_asked_for_those_without_a_shape_too(server):
    page, simulator = paused_page(server, ARMS)
    graph = page.view.graph
    assert "left_tcp" in page.view.drawing.frames and not graph._names
    graph.show_axes(True)
    graph.show_names(True)
    assert set(graph._names) == set(graph.frames) and all(frame.show_axes for frame in graph.frames.values())
    host, p, _ = page.view.drawing.frames["left_tcp"]
    carrier, (at, quaternion) = simulator.link_pose("left_tcp")[0], simulator.link_pose(host)
    from mb_contact.model.rotations import quat_to_matrix

    np.testing.assert_allclose(at + quat_to_matrix(quaternion) @ p, carrier, atol=1e-12)
    assert page.view.panel.inspector._pose("left_tcp")[0] == pytest.approx(carrier)
    graph.show_axes(False)
    graph.show_names(False)
    assert not any(label.visible for label in graph._names.values())
    page.stop()


@NEEDS_VISER
def test_sliders_put_joints_while_paused_and_hold_them_while_it_runs(server):
    page, simulator = paused_page(server, ARMS)
    (sliders,) = (folder for folder in page.view.panel.folders if hasattr(folder, "sliders"))
    assert not sliders.sliders
    sliders.box.value = True
    joint = simulator.world.joint_names[2]
    k, (low, high, start) = 2, page.source.joint_range(joint)
    assert sliders.sliders[joint].min == low < start < high == sliders.sliders[joint].max
    sliders._moved(joint, start + 0.1)
    drawn(page, lambda frame: frame.readings.positions[k] == start + 0.1)
    page.source.run()
    sliders._moved(joint, start + 0.2)
    drawn(page, lambda frame: abs(frame.readings.positions[k] - start - 0.2) < 2e-3)
    assert page.source.efforts == "hold"
    page.source.move(joint, 99.0)
    page.source.pause()
    page.source.move(joint, 99.0)
    assert "99 is beyond" in drawn(page, lambda frame: frame.message).message
    page.stop()


@NEEDS_VISER
def test_sensors_can_be_looked_at(server):
    page, simulator = paused_page(server, ROOT / "config" / "watched_table.yaml")
    pane = page.view.panel.folders[-1]
    names = simulator.sensors.names
    assert pane.choice.options == ("none", *names)
    for name in names:
        pane.choice.value = name
        page.source.step()
        drawn(page, lambda _, name=name: page.source._watched == name and (pane.image.visible or pane.text.content))
        assert pane.image.visible or "|" in pane.text.content
    page.stop()


@NEEDS_VISER
def test_the_gallery_has_every_scene_with_a_picture_and_opens_the_chosen_one(server, tmp_path, monkeypatch):
    from mb_contact.viewer import gallery

    monkeypatch.setenv("MB_CONTACT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(gallery, "shipped_scenes", lambda: {"ramp": shipped_scenes()["ramp"], "can": CAN})
    simulator = mb.Simulator(CAN)

    def load(path, before):
        drawing, poses = simulated_scene(simulator)
        return Player(simulator, drawing, paused=True), drawing, poses, path.stem

    page = Page(server, None, load=load)
    window = page._gallery
    until(lambda: set(window._pictures) == {"ramp", "can"})
    assert base64.b64decode(window._pictures["ramp"]).startswith(b"\x89PNG") and "open ramp" in window._html.content
    assert len(list((tmp_path / "thumbnails").iterdir())) == 2
    page.draw_next()
    window._choose(page.bar.choose, "falling_can")
    page.draw_next()
    assert page.view.title == "falling_can" == page.bar.choice.value and not window._open
    page.stop()


def test_every_scene_of_the_gallery_has_something_to_draw():
    scenes = [mb.load_scene(path) for path in shipped_scenes().values() if not is_surface_scene(path)]
    bare = [scene.path.stem for scene in scenes if not scene_drawing(scene, mb.build_world(scene)).visuals]
    assert not bare


def test_every_shipped_scene_says_what_it_is():
    said = {name: about(path) for name, path in shipped_scenes().items()}
    assert all(10 < len(text) < 400 and "Copyright" not in text for text in said.values()), said


@NEEDS_VISER
def test_an_html_file_has_the_scene_and_its_frames_and_loads_nothing(server, tmp_path):
    page, simulator = paused_page(server, CAN)
    for count in (30, 60):
        page.source.step(30)
        drawn(page, lambda frame, count=count: frame.time > (count - 0.5) * simulator.time_step)
    path = page.save(tmp_path / "can.html")
    text = path.read_text(encoding="utf-8")
    duration, names, times = contents(text)
    frames = page.view.panel.timeline.frames
    assert duration == pytest.approx(frames[-1].time - frames[0].time + 1 / 30)
    assert "/links/can/visual_0" in names and max(times) == pytest.approx(frames[-1].time - frames[0].time)
    assert "maxPolarAngle" in text and '{"floor": 0.0, "below": false, "near": ' in text
    assert re.search(r"""<(script|link|img)[^>]*(src|href)="https?:""", text) is None
    page.stop()
    (tmp_path / "folder.html").mkdir()
    for name, words in (("folder.html", "cannot write"), ("can.yaml", "an HTML file ends in .html, .htm, got")):
        with pytest.raises(InputError, match=words):
            page.save(tmp_path / name)
    assert not (tmp_path / "can.yaml").exists()


def contents(text):
    """(Duration, names of nodes, times of messages) of what an HTML file plays."""
    import msgspec
    import zstandard

    data = base64.b64decode(text.split('__VISER_EMBED_DATA__="')[1].split('"')[0])
    data = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=int.from_bytes(data[:8], "little"))
    said = msgspec.msgpack.decode(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return said["durationSeconds"], {m.get("name") for _, m in said["messages"]}, [t for t, _ in said["messages"]]


@NEEDS_VISER
def test_the_command_writes_an_html_file_of_a_simulation(tmp_path, capsys):
    path = tmp_path / "box.html"
    assert main(["view", str(BOX), "--html", str(path), "--duration", "0.2", "--port", str(free_port())]) == 0
    assert "opens in any browser" in capsys.readouterr().err
    duration, names, _ = contents(path.read_text(encoding="utf-8"))
    assert duration == pytest.approx(0.2 + 1 / 30, abs=0.04) and "/links/box/visual_1" in names


@NEEDS_VISER
@pytest.mark.parametrize("wrong, words", [
    (["--follow"], "--follow needs a scene"),
    (["--html", "x.html"], "--html needs a scene"),
    ([str(CAN), "--html", "can.yaml"], "--html ends in .html, .htm, got 'can.yaml'"),
    ([str(CAN), "--rerun", "can.yaml"], "--rerun ends in .rrd, got 'can.yaml'"),
    ([str(CAN), "--scene", str(CAN)], "--scene names the scene of a recording"),
    ([str(CAN), "--follow", "--html", "x.html"], "record the node, and view that"),
    (["nowhere.mcap"], "no recording: 'nowhere.mcap' does not exist"),
])  # fmt: skip
def test_options_that_do_not_go_together_are_refused_with_one_line(wrong, words, capsys):
    assert main(["view", *wrong]) in (1, 2)
    assert words in capsys.readouterr().err


def test_a_scene_of_ones_own_keeps_a_shipped_name(tmp_path):
    """The list has the own one by its name, and the shipped one marked; the shipped file itself is there once."""
    own = tmp_path / "ramp.yaml"
    own.write_text(BOX.read_text())
    choices = _choices("ramp", str(own))
    assert choices["ramp"] == str(own) and choices["ramp (shipped)"] == shipped_scenes()["ramp"]
    assert _choices("ramp", shipped_scenes()["ramp"]) == _choices("", "") == shipped_scenes()


def test_what_is_shown_does_not_write_on_standard_output(capsys):
    start_server(port=free_port()).stop()
    assert capsys.readouterr().out == ""

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The page in a real browser: drags, plots, scenes, videos, the gallery, loops, recordings, HTML files, sliders, nodes.

``MB_CONTACT_BROWSER`` names a Chromium; with ``MB_CONTACT_SCREENSHOTS`` pictures are kept in that folder.

Covers viewer/export.py, viewer/loop.py, viewer/timeline.py.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.cli import main
from mb_contact.viewer.command import _another, _follow, _play, _simulate, _write
from mb_contact.viewer.options import ViewOptions
from mb_contact.viewer.page import Page, simulated_scene
from mb_contact.viewer.player import Player
from paths import ROOT
from ros.support import Session
from viewer.browser import MISSING, Browser, find_browser
from viewer.serving import free_port, new_server
from viewer.test_topics import ROBOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("viser") is None, reason="viser is not installed"),
    pytest.mark.skipif(find_browser() is None, reason=MISSING),
]
SCENE = ROOT / "config" / "dual_arm_lift.yaml"
STEPS = 12  #: in which the pointer moves
FRAME = "new Promise(requestAnimationFrame)"
PIXELS = "((canvas) => canvas.width / canvas.clientWidth)(document.querySelector('canvas[data-engine^=three]'))"
MARK = "[...document.querySelectorAll('canvas')].some((c) => getComputedStyle(c).cursor === 'pointer')"
RATIO = "((canvas) => canvas.width / canvas.height)(document.querySelector('canvas[data-engine^=three]'))"
#: counts the lights of each frame that is drawn from now on
LIGHTS = """(() => {
    const { scene } = window.mbContactCamera.viewer.scene.__r3f.root.getState(), former = scene.onAfterRender;
    window.lights = [];
    scene.onAfterRender = (...all) => {
        let lights = 0;
        scene.traverseVisible((node) => { lights += node.isLight ? 1 : 0; });
        window.lights.push(lights);
        former.apply(scene, all);
    };
})()"""
#: shares of the pixels that change when what is one mesh is drawn as instances, and when it is not drawn
MERGED = """(() => {
    const { gl, scene, camera } = window.mbContactCamera.viewer.scene.__r3f.root.getState(), context = gl.getContext();
    const groups = [...window.mbContactMerged.values()], nodes = groups.flatMap((group) => [...group.members.keys()]);
    const materials = nodes.flatMap((node) => node.LODinfo?.objects.map((o) => o.material) ?? [node.material]);
    const draw = (merged, instances) => {
        for (const { mesh } of groups) mesh.visible = merged;
        for (const material of materials) material.visible = instances;
        gl.render(scene, camera);
        const all = new Uint8Array(4 * context.drawingBufferWidth * context.drawingBufferHeight);
        context.readPixels(0, 0, context.drawingBufferWidth, context.drawingBufferHeight, context.RGBA,
                           context.UNSIGNED_BYTE, all);
        return all;
    };
    const other = (a, b) => a.filter((value, k) => Math.abs(value - b[k]) > 12).length / a.length;
    const merged = draw(true, false), instances = draw(false, true), none = draw(false, false);
    draw(true, false);
    return [other(merged, instances), other(merged, none)];
})()"""
PLAYED = """new Promise((play, fail) => {
    const video = document.createElement("video");
    video.onloadeddata = () => play([video.videoWidth, video.videoHeight]);
    video.onerror = () => fail(video.error.message);
    video.src = "data:video/webm;base64,%s";
})"""


@contextlib.contextmanager
def shown(first, scene="", options=None):
    """A page of what is to be shown first, drawn by a thread, as the command does it."""
    server = new_server()
    session, stop = Page(server, first, scene, None if options is None else _another(options)), threading.Event()
    session.start()

    def draw():
        while not stop.is_set():
            session.draw_next()

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    yield session
    stop.set()
    thread.join(60.0)
    session.stop()
    server.stop()


@pytest.fixture
def session():
    """A page of two arms and a box."""
    options = ViewOptions(efforts="gravity_compensation", factor=0.5)
    with shown(_simulate(SCENE, options), SCENE, options) as session:
        yield session


@pytest.fixture
def browser(tmp_path):
    browser = Browser(tmp_path / "profile")
    yield browser
    browser.close()


def opened(browser, session):
    """A tab that shows the scene, and the handle of its client."""
    before = set(session.server.get_clients())
    page = browser.open(f"http://127.0.0.1:{session.server.get_port()}")
    page.wait("document.querySelector('canvas') && document.body.innerText.includes('Certificate')", 120.0)
    (client,) = (client for key, client in session.server.get_clients().items() if key not in before)
    page.front()
    begin = session.server.initial_camera
    until(lambda: np.allclose(client.camera.position, begin.position, atol=1e-3) and client.camera.image_height > 100)
    return page, client


def picture(page, name):
    """Keep a screenshot if somebody wants to look at it, without the page's warning of a missing graphics card."""
    folder = os.environ.get("MB_CONTACT_SCREENSHOTS")
    if folder:
        page.evaluate("document.querySelectorAll('[class*=Notification-closeButton]').forEach((b) => b.click())")
        page.wait("document.querySelector('[class*=Notification-closeButton]') === null")
        page.evaluate(FRAME)
        page.screenshot(Path(folder) / f"{name}.png")


def pixel(client, place):
    """Where a place in the world is in the picture, by the camera of a client."""
    camera = client.camera
    forward = np.array(camera.look_at) - camera.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, camera.up_direction)
    right /= np.linalg.norm(right)
    way = np.asarray(place) - camera.position
    scale = 0.5 * camera.image_height / np.tan(0.5 * camera.fov) / (way @ forward)
    return 0.5 * camera.image_width + scale * (way @ right), 0.5 * camera.image_height - scale * (
        way @ np.cross(right, forward)
    )


def until(condition, seconds=180.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def find(page, client, session):
    """The pixel of the box, once the page has its mesh: the pointer over it is a hand then."""
    page.front()
    start = pixel(client, session.source._simulator.link_pose("box")[0])

    def marked():
        for x in (start[0] + 2.0, start[0]):  # the page looks when the pointer moves
            page.mouse("mouseMoved", x, start[1], "none")
            page.evaluate(FRAME)
        return page.evaluate(MARK)

    until(marked)
    return start


def drag(page, start, way):
    """Press and move, a step a frame, without letting go; returns where the pointer is."""
    page.mouse("mousePressed", *start)
    for k in range(1, STEPS + 1):
        end = start[0] + way[0] * k / STEPS, start[1] + way[1] * k / STEPS
        page.mouse("mouseMoved", *end)
        page.evaluate(FRAME)
    return end


def saved(folder):
    """The bytes of the one file that the browser has saved there, once it is whole."""
    until(lambda: [path.suffix for path in folder.iterdir()] == [".webm"])
    (path,) = folder.iterdir()
    return path.read_bytes()


def test_a_box_is_dragged_plotted_and_filmed_in_a_browser(session, browser, tmp_path):
    page, client = opened(browser, session)
    simulator, folder = session.source._simulator, tmp_path / "saved"
    folder.mkdir()
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.click("Plots")
    page.click("plot energy [J]")
    page.click("Page and files")
    start = find(page, client, session)
    page.click("record a video")
    page.wait("document.body.innerText.includes('stop and save the video')")
    box = simulator.link_pose("box")[0]
    end = drag(page, start, (-60.0, -90.0))
    until(lambda: session.source._springs.held)
    spring = session.source._springs.held[0]
    until(lambda: simulator.link_pose("box")[0][2] > box[2] + 0.05)
    assert spring.link == "box" and np.linalg.norm(spring.point) < 0.2  # a point of its surface
    until(lambda: np.linalg.norm(np.subtract(pixel(client, spring.target), end)) < 8.0)  # the pointer
    page.wait("document.body.innerText.includes('box is dragged with')")
    page.wait("document.querySelector('.u-legend') !== null")
    picture(page, "view_dragging")
    page.mouse("mouseReleased", *end)
    until(lambda: not session.source._springs.held)
    page.wait("Number(document.querySelector('button[onclick]').dataset.parts) > 1")  # a slow machine encodes late
    page.click("stop and save the video")
    video = base64.b64encode(saved(folder)).decode()
    width, height = page.evaluate(PLAYED % video)  # the browser plays what it has saved
    assert width / height == pytest.approx(page.evaluate(RATIO), rel=0.02)  # a slow page draws fewer pixels at times


def test_two_tabs_and_another_scene_while_one_of_them_drags(session, browser):
    one, client = opened(browser, session)
    two, _ = opened(browser, session)
    drag(one, find(one, client, session), (-40.0, -60.0))
    until(lambda: session.source._springs.held)
    two.wait("document.body.innerText.includes('box is dragged with')")
    before = session.source
    session.bar.choice.value = "table_top"
    session.bar.choose("table_top")
    until(lambda: session.source is not before)
    for page in (one, two):
        page.wait("document.querySelector('input[value=table_top]') !== null")
    until(lambda: session.source._simulator.time > 0.1)
    two.front()
    two.evaluate(FRAME)
    picture(two, "view_another_scene")
    assert before.done and not session.source._springs.held
    two.close()
    one.mouse("mouseReleased", 100.0, 100.0)
    released = session.source._simulator.time
    until(lambda: session.source._simulator.time > released + 0.1)  # it goes on
    assert session.source.crash is None and session.source.failed is None


def test_a_tab_that_is_closed_while_it_drags_lets_go(session, browser):
    page, client = opened(browser, session)
    drag(page, find(page, client, session), (-40.0, -60.0))
    until(lambda: session.source._springs.held)
    page.close()
    until(lambda: not session.source._springs.held)


HEIGHT = """(() => {  // of the camera above the ground
    const controls = window.mbContactCamera && window.mbContactCamera.controls;
    return controls ? controls.camera.position.y : null;
})()"""


def swing(page, rows):
    """Press where there is nothing to drag, and move the pointer by so many pixels."""
    page.front()
    page.wait(HEIGHT + " !== null")
    page.mouse("mousePressed", 60.0, 250.0)
    lowest = []
    for k in range(1, 21):
        page.mouse("mouseMoved", 60.0 + 2.0 * k, 250.0 + rows * k / 20)
        page.evaluate(FRAME)
        lowest.append(page.evaluate(HEIGHT))
    page.mouse("mouseReleased", 100.0, 250.0 + rows)
    return min(lowest)


def test_a_drag_that_misses_leaves_the_camera_above_the_table_and_the_ground(session, browser):
    page, client = opened(browser, session)
    top = session.source._simulator.link_pose("table")[0][2]
    begun = client.camera.position[2]
    assert top < swing(page, -400.0) < begun  # upwards: the camera goes down
    picture(page, "view_missed_drag")
    session.bar.below.value = True
    page.wait("window.mbContactCamera.below")
    assert 0.0 < swing(page, -400.0) < top  # from below the table, and never from below the ground
    assert session.source.crash is None and not session.source._springs.held


def test_a_click_selects_and_what_touches_is_told(session, browser):
    page, client = opened(browser, session)
    start = find(page, client, session)
    page.mouse("mousePressed", *start)
    page.mouse("mouseReleased", *start)
    page.wait("document.querySelector('input[value=box]') !== null")
    page.wait("document.body.innerText.includes('table') && document.body.innerText.includes('touches')")
    picture(page, "view_selected")


def test_a_slow_browser_does_without_shadows_then_with_fewer_pixels(session, browser):
    page, _ = opened(browser, session)
    shadows = session.bar.shadows
    assert page.evaluate(PIXELS) > 0.8
    page.evaluate("""(function dally() {
        for (const begun = performance.now(); performance.now() - begun < 60.0; );
        window.dallies = requestAnimationFrame(dally);
    })()""")
    until(lambda: not shadows.value)
    page.wait(f"{PIXELS} < 0.76")
    shadows.value = True
    page.wait(f"(async () => {{ for (let k = 0; k < 100; k++) await {FRAME}; return true; }})()")
    assert shadows.value  # once


def test_many_alike_are_one_mesh_where_there_is_no_graphics_card(browser):
    """The picture is that of the instances but for edges, and each of them can be clicked."""
    Pose, Primitive = mb.model.Pose, mb.model.Primitive
    cans = [Primitive(f"can_{k}", "cylinder", (0.03, 0.1), base="free", mass=0.1, pose=Pose((0.1 * k, 0.0, 0.05)))
            for k in range(10)]  # fmt: skip
    simulator = mb.Simulator(mb.Scene(primitives=tuple(cans), ground=mb.model.Ground(0.0)))
    drawing, poses = simulated_scene(simulator)
    with shown((Player(simulator, drawing), drawing, poses, "cans")) as session:
        page, client = opened(browser, session)
        page.wait("[...(window.mbContactMerged?.values() ?? [])].some((group) => group.mesh.visible)")
        session.source.pause()
        otherwise, drawn = page.evaluate(MERGED)
        assert drawn > 0.01 and otherwise < 0.1 * drawn
        shapes = page.evaluate("""[...window.mbContactMerged.values()].flatMap(({ members }) =>
            [...members.values()].map(({ shapes }) => shapes.map(({ triangles }) => triangles.length / 3)))""")
        assert [128, 28] in shapes  # 32 sides, and 8 where they are small
        start = pixel(client, simulator.link_pose("can_6")[0])
        page.mouse("mousePressed", *start)
        page.mouse("mouseReleased", *start)
        page.wait("document.querySelector('input[value=can_6]') !== null")
        picture(page, "view_merged")


def test_sliders_move_an_arm(session, browser):
    page, _ = opened(browser, session)
    page.click("Joints")
    page.click("sliders")
    joint = session.source.joint_names[2]
    page.wait(f"document.body.innerText.includes('{joint}')")
    page.wait(f"document.body.innerText.includes('{session.source.joint_names[-1]}')")
    place = f"""(() => {{
        const label = [...document.querySelectorAll('label, div, span')].filter((e) => e.innerText === '{joint}').pop();
        let row = label;
        while (row && !row.querySelector('.mantine-Slider-track')) row = row.parentElement;
        if (!row) return null;
        const track = row.querySelector('.mantine-Slider-track');
        track.scrollIntoView({{block: 'center'}});
        const box = track.getBoundingClientRect();
        return [box.left + 0.75 * box.width, box.top + 0.5 * box.height];
    }})()"""
    slider, before = page.wait(place), None
    while slider != before:  # the panel may still grow
        page.evaluate(FRAME)
        slider, before = page.wait(place), slider
    low, high, start = session.source.joint_range(joint)
    page.mouse("mouseMoved", *slider, "none")
    page.mouse("mousePressed", *slider)
    page.evaluate(FRAME)
    page.mouse("mouseReleased", *slider)
    wanted = low + 0.75 * (high - low)
    until(lambda: abs(session.source._simulator.joint_positions()[2] - wanted) < 0.1 * (high - low))
    assert session.source.efforts == "hold" and abs(start - wanted) > 0.2 * (high - low)
    picture(page, "view_sliders")


def test_the_gallery_opens_a_scene(browser):
    options = ViewOptions(factor=0.5)
    with shown(None, "", options) as session:
        page = browser.open(f"http://127.0.0.1:{session.server.get_port()}")
        page.wait("document.querySelectorAll('[data-name] img').length > 3", 300.0)
        picture(page, "view_gallery")
        page.evaluate("document.querySelector('[data-name=\"open falling_can\"]').click()")
        page.wait("document.body.innerText.includes('Certificate')", 300.0)
        assert session.view.title == "falling_can"
        page.wait("document.querySelector('input[value=falling_can]') !== null")


def test_a_recording_is_played_from_its_timeline(browser, tmp_path, monkeypatch):
    path = tmp_path / "box.mcap"
    with Session() as ros:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.domain))
        command = ["run", str(ROOT / "config" / "falling_can.yaml"), "--record", str(path), "--duration", "1.0"]
        assert main([*command, "--backend", "embedded", "--as-fast-as-possible"]) == 0
    with shown(_play(path, ViewOptions(paused=True))) as session:
        page, _ = opened(browser, session)
        page.wait("document.body.innerText.includes('time [s]')")
        page.click("back")
        page.click("step")
        until(lambda: session.source._index == 1)
        page.click("run")
        until(lambda: session.source.paused and session.source.seconds > 0.9)
        page.click("Plots")
        page.click("plot energy [J]")
        session.view.panel.timeline.go(0.5)
        page.wait("document.body.innerText.includes('0.500 s')")
        page.wait("document.querySelector('.u-legend') !== null")
        picture(page, "view_recording")


@pytest.mark.parametrize("root", ["world", "base", "map", "odom"])
def test_a_followed_box_falls_whatever_a_root_link_is_called(root, browser, tmp_path, monkeypatch):
    (tmp_path / "r.urdf").write_text(ROBOT.format(root=root, tool="tool", joint="joint"), encoding="utf-8")
    box = "{name: box, shape: box, size: [0.2, 0.2, 0.2], mass: 1, base: free, pose: {position: [0, 0, 1.1]}}"
    scene = tmp_path / "scene.yaml"
    robot = "{urdf: r.urdf, pose: {position: [2, 0, 1]}}"
    scene.write_text(f"ground: {{}}\nmodels: [{robot}]\nprimitives: [{box}]\n", encoding="utf-8")
    with Session() as ros:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.domain))
        with shown(_follow(scene, ViewOptions(follow=True, backend="embedded"))) as session:
            page, _ = opened(browser, session)
            ros.node(scene)
            session.view.panel.inspector.choice.value = "box"
            page.wait("document.body.innerText.includes('at 0.000, 0.000, 0.100 m')")
            page.wait("/lag \\d+ ms/.test(document.body.innerText)")
            page.front()
            page.evaluate(FRAME)
            picture(page, f"view_followed_{root}")
            session.view.panel.inspector.choice.value = "tool"
            page.wait("document.body.innerText.includes('at 2.000, 0.000, 1.000 m')")


def test_an_html_file_is_opened_without_a_server(browser, tmp_path):
    path = tmp_path / "can.html"
    options = ViewOptions(html=str(path), duration=0.6, port=28500)
    _write(_simulate(ROOT / "config" / "falling_can.yaml", options), options)
    page = browser.open(path.as_uri())
    page.wait("document.querySelector('canvas[data-engine^=three]') !== null", 120.0)
    page.wait("document.querySelector('.mantine-Slider-root') !== null")  # its timeline
    page.front()
    page.wait(HEIGHT + " !== null")
    assert swing(page, -400.0) > 0.0
    picture(page, "view_html")
    page.evaluate(LIGHTS)
    page.wait("window.lights.length > 20", 60.0)  # several rounds
    assert set(page.evaluate("window.lights")) == {4}  # the sky's, and a lamp of three cascades
    assert not page.evaluate("performance.getEntriesByType('resource').some((e) => e.name.startsWith('http'))")


def test_a_loop_of_ones_own_is_watched(browser):
    simulator = mb.Simulator(SCENE)
    port = free_port()
    with mb.show(simulator, port=port, open=False) as view:
        page = browser.open(f"http://127.0.0.1:{port}")
        deadline = time.monotonic() + 120.0
        while "real-time factor" not in page.text():
            simulator.step(mb.control.hold(simulator, np.zeros(len(simulator.world.joint_names))))
            assert time.monotonic() < deadline
        page.click("pause")
        until(lambda: view._page.source._requests or view._page.source.paused)
        held = threading.Thread(target=lambda: [simulator.step() for _ in range(2)], daemon=True)
        held.start()
        page.wait("document.body.innerText.includes('paused')")
        picture(page, "view_own_loop")
    held.join(30.0)
    assert not held.is_alive()

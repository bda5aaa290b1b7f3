# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The page in a real browser: a drag with the mouse, plots, another scene, a video, two tabs.

``MB_CONTACT_BROWSER`` names a Chromium; with ``MB_CONTACT_SCREENSHOTS`` pictures are kept in that folder.
"""

from __future__ import annotations

import base64
import importlib.util
import os
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from mb_contact.viewer.command import _another, _simulate
from mb_contact.viewer.options import ViewOptions
from mb_contact.viewer.page import Page
from paths import ROOT
from viewer.browser import MISSING, Browser, find_browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("viser") is None, reason="viser is not installed"),
    pytest.mark.skipif(find_browser() is None, reason=MISSING),
]
SCENE = ROOT / "config" / "dual_arm_lift.yaml"
STEPS = 12  #: in which the pointer moves
FRAME = "new Promise(requestAnimationFrame)"
MARK = "[...document.querySelectorAll('canvas')].some((c) => getComputedStyle(c).cursor === 'pointer')"
RATIO = "((canvas) => canvas.width / canvas.height)(document.querySelector('canvas[data-engine^=three]'))"
PLAYED = """new Promise((play, fail) => {
    const video = document.createElement("video");
    video.onloadeddata = () => play([video.videoWidth, video.videoHeight]);
    video.onerror = () => fail(video.error.message);
    video.src = "data:video/webm;base64,%s";
})"""


@pytest.fixture
def session():
    """A page of two arms and a box, drawn by a thread, as the command does it."""
    from mb_contact.viewer.library import start_server

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server = start_server(port=probe.getsockname()[1])
    options = ViewOptions(efforts="gravity_compensation", factor=0.5)
    session, stop = Page(server, _simulate(SCENE, options), SCENE, _another(options)), threading.Event()
    session.start()

    def draw():
        while not stop.is_set():
            session.draw_next()

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    yield session
    stop.set()
    thread.join(60.0)
    session.source.stop()
    server.stop()


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

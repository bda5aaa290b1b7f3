# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A real browser without a screen, for tests: Chromium or Chrome over its DevTools protocol.

``MB_CONTACT_BROWSER`` names the program; else those usual names are looked for.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell")
FLAGS = (
    "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist", "--hide-scrollbars", "--in-process-gpu", "--remote-debugging-port=0",
    f"--window-size={'1000,800' if os.environ.get('MB_CONTACT_SCREENSHOTS') else '800,500'}", "--lang=en-US",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
)  # fmt: skip
MISSING = "no Chromium or Chrome here: install one, or name it in MB_CONTACT_BROWSER"


def find_browser():
    """The browser's program, or None."""
    named = os.environ.get("MB_CONTACT_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser of its own folder, ended by ``close``."""

    def __init__(self, folder, seconds=180.0):
        command = [find_browser(), *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                         env={**os.environ, "LANG": "en_US.UTF-8"})  # not C, which has no language
        self.pid, found = self._process.pid, None
        for line in self._process.stderr:
            found = re.search(r"ws://([^/\s]+)(/\S*)", line)
            if found:
                break
        assert found, "the browser did not start"
        self._http = f"http://{found[1]}"
        self._seconds = seconds

    def open(self, address):
        """A Page of a new tab."""
        request = urllib.request.Request(f"{self._http}/json/new?{address}", method="PUT")
        with urllib.request.urlopen(request, timeout=self._seconds) as answer:
            return Page(json.load(answer)["webSocketDebuggerUrl"], self._seconds)

    def close(self):
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Page:
    """One tab."""

    def __init__(self, address, seconds):
        from websockets.sync.client import connect

        self._socket = connect(address, max_size=None)
        self._ids, self._seconds = itertools.count(1), seconds
        self.call("Runtime.enable")

    def call(self, method, **parameters):
        """The result of a command of the protocol."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=self._seconds))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def evaluate(self, script):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, script, seconds=None):
        """The first value of an expression that is true."""
        deadline = time.monotonic() + (seconds or self._seconds)
        while time.monotonic() < deadline:
            value = self.evaluate(script)
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError(f"the page never had: {script}\n{self.text()[:2000]}")

    def text(self):
        """What the page says."""
        return self.evaluate("document.body ? document.body.innerText : ''")

    def mouse(self, kind, x, y, button="left"):
        """mousePressed, mouseMoved or mouseReleased at a pixel; button "none": nothing is pressed."""
        held = 0 if kind == "mouseReleased" or button == "none" else 1
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held, clickCount=1)

    def click(self, text):
        """Click the innermost thing that bears this text, wherever it has been scrolled to."""
        self.wait(f"""(() => {{
            const all = [...document.querySelectorAll("button, label, span, div, input, p")];
            const found = all.filter((e) => (e.value || e.innerText || "").trim() === {json.dumps(text)}).pop();
            if (found) found.click();
            return !!found;
        }})()""")

    def front(self):
        """Show this tab: one that is hidden draws no frames."""
        self.call("Page.bringToFront")

    def screenshot(self, path):
        """Write a PNG picture of the page."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        """Close the tab."""
        self.call("Page.close")
        self._socket.close()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The web view in a headless Chromium without a graphics card: what its frames cost, and how many it shows.

    python benchmarks/view_frames.py [--seconds 8] [--only lift]

``MB_CONTACT_BROWSER`` names a Chromium.  The simulator with its page and the browser are a process each, on the cores
that this one may use.  Each scene runs, or is paused, while the camera turns, with shadows or without them.
Printed are the frames that the browser draws a second, at most 60, which depend on what else the machine does, and
what does not: the CPU time of a frame, of all threads of the browser, and its draw calls.  Exit code 1 where two cores
that have nothing else to do cannot draw as many frames a second, and simulate, as SCENES says.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from quick import lacks, need, options_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test"))
need("viser", "websockets")

from viewer.browser import MISSING, Browser, find_browser  # noqa: E402 (the tests' browser)

CORES = 2
#: file, more options, whether shadows are drawn, least frames a second
SCENES = {
    "lift": ("dual_arm_lift.yaml", ["--efforts", "hold"], False, 25.0),
    "lift, shadows": ("dual_arm_lift.yaml", ["--efforts", "hold"], True, 0.0),
    "bin_of_200, paused": ("bin_of_200.yaml", ["--paused"], False, 15.0),
    "bin_of_200, paused, shadows": ("bin_of_200.yaml", ["--paused"], True, 0.0),
    "bin_of_200": ("bin_of_200.yaml", [], False, 15.0),
}
COUNT = """
window.counted = {frames: 0, calls: 0, drawn: 0};
for (const name of ["drawElements", "drawArrays", "drawElementsInstanced", "drawArraysInstanced"]) {
  const draw = WebGL2RenderingContext.prototype[name];
  WebGL2RenderingContext.prototype[name] = function (...rest) { window.counted.calls += 1; draw.apply(this, rest); };
}
(function count() {
  const { calls, drawn } = window.counted;
  if (calls > drawn) window.counted.frames += 1;
  window.counted.drawn = calls;
  requestAnimationFrame(count);
})();
"""
TURN = """(function turn() {
  window.mbContactCamera.controls.rotate(0.003, 0, false);
  window.mbContactCamera.viewer.requestRender();
  requestAnimationFrame(turn);
})()"""
TICK = """(() => {
  const label = [...document.querySelectorAll("label")].find((e) => e.innerText.trim() === "shadows");
  const box = label && document.getElementById(label.htmlFor);
  if (box && box.checked !== WANTED) box.click();
  return box && box.checked === WANTED;
})()"""
FACTOR = r"real-time factor ([0-9.]+)"


def measure(scene, more, shadows, seconds, folder):
    """Frames a second, of each CPU seconds and draw calls, CPU seconds of the simulator a second, real-time factor."""
    command = [sys.executable, "-m", "mb_contact", "view", str(ROOT / "config" / scene), *more]
    view = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        address = next(found[0] for line in view.stderr if (found := re.search(r"http://\S+", line)))
        browser = Browser(folder, 300.0)
        try:
            page = browser.open("about:blank")
            page.call("Page.enable")
            page.call("Page.addScriptToEvaluateOnNewDocument", source=COUNT)
            page.call("Page.navigate", url=address)
            page.wait("document.querySelector('canvas[data-engine^=three]') !== null")
            page.wait("document.body.innerText.includes('Certificate') && !!window.mbContactCamera?.controls")
            page.front()
            page.evaluate("window.mbContactCamera.keep = true")  # shadows as they are
            page.click("Page and files")
            page.wait(TICK.replace("WANTED", "true" if shadows else "false"))  # a slow page may have unticked it
            page.evaluate(TURN)  # a page draws only what has changed
            page.wait("window.counted.frames > 30")  # everything has come, and shaders are compiled
            begun, before, spent = time.perf_counter(), page.evaluate("window.counted"), _all_cpu(browser.pid, view.pid)
            time.sleep(seconds)
            after, took = page.evaluate("window.counted"), time.perf_counter() - begun
            drawn, simulated = (b - a for a, b in zip(spent, _all_cpu(browser.pid, view.pid)))
            frames = max(after["frames"] - before["frames"], 1)
            factor = re.search(FACTOR, page.text())
            pace = float(factor[1]) if factor else None
            return frames / took, drawn / frames, (after["calls"] - before["calls"]) / frames, simulated / took, pace
        finally:
            browser.close()
    finally:
        view.terminate()
        view.wait(60.0)


def _all_cpu(browser, view):
    """CPU seconds that the processes of a browser have taken, and the view."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
    family = {browser}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(map(_cpu, family)), _cpu(view)


def _cpu(pid):
    """CPU seconds that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--only", choices=tuple(SCENES), action="append")
    options = options_of(parser, seconds=1.0, only=["lift"])
    if find_browser() is None:
        lacks(MISSING)
    well = True
    print("| scene | CPU of a frame [ms] | draw calls | simulator and page [cores] | frames a second | "
          "real-time factor | load |\n|---|--:|--:|--:|--:|--:|--:|")  # fmt: skip
    for name in options.only or SCENES:
        scene, more, shadows, least = SCENES[name]
        with tempfile.TemporaryDirectory() as folder:
            frames, cost, calls, cores, factor = measure(scene, more, shadows, options.seconds, folder)
        pace = "paused" if factor is None else f"{factor:.2f}"
        print(f"| {name} | {1e3 * cost:.0f} | {calls:.0f} | {cores:.2f} | {frames:.1f} | {pace} | "
              f"{os.getloadavg()[0]:.1f} |", flush=True)  # fmt: skip
        well = well and (options.quick or cores + least * cost <= CORES)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())

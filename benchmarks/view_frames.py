# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The web view in a headless Chromium without a graphics card: frames a second, and the real-time factor beside them.

    python benchmarks/view_frames.py [--seconds 8] [--only lift]

``MB_CONTACT_BROWSER`` names a Chromium.  The simulator with its page and the browser are a process each, on the cores
that this one may use.  Frames are those that the browser shows, at most 60 a second.  Exit code 1
where there are fewer than SCENES says.
"""

from __future__ import annotations

import argparse
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

SCENES = {"lift": ("dual_arm_lift.yaml", 25.0), "bin_of_200": ("bin_of_200.yaml", 15.0)}  #: file, least frames a second
LISTEN = """window.frames_ = 0, (function count() { window.frames_ += 1; requestAnimationFrame(count); })()"""
FACTOR = r"real-time factor ([0-9.]+)"


def measure(scene, seconds, folder):
    """(frames a second, CPU seconds of the simulator a second, real-time factor as the page says it)."""
    command = [sys.executable, "-m", "mb_contact", "view", str(ROOT / "config" / scene), "--efforts", "hold"]
    view = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        address = next(found[0] for line in view.stderr if (found := re.search(r"http://\S+", line)))
        browser = Browser(folder, 300.0)
        try:
            page = browser.open(address)
            page.wait("document.querySelector('canvas[data-engine^=three]') !== null")
            page.wait(f"/{FACTOR}/.test(document.body.innerText)")
            time.sleep(0.5 * seconds)  # everything has come
            page.evaluate(LISTEN)
            begun, before, spent = time.perf_counter(), page.evaluate("window.frames_"), _cpu(view.pid)
            time.sleep(seconds)
            frames, took = page.evaluate("window.frames_") - before, time.perf_counter() - begun
            factor = re.search(FACTOR, page.text())
            return frames / took, (_cpu(view.pid) - spent) / took, float(factor[1])
        finally:
            browser.close()
    finally:
        view.terminate()
        view.wait(60.0)


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
    for name in options.only or SCENES:
        scene, least = SCENES[name]
        with tempfile.TemporaryDirectory() as folder:
            frames, cpu, factor = measure(scene, options.seconds, folder)
        print(f"{name:<11} {frames:5.1f} frames a second (least {least:g}), real-time factor {factor:.2f}, "
              f"{cpu:.2f} cores for simulator and page; load {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
        well = well and (options.quick or frames >= least)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())

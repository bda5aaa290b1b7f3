# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Programs that run beside a node as its children: how they end."""

from __future__ import annotations

import subprocess


def end_child(process, grace):
    """SIGTERM if it still runs, SIGKILL after ``grace`` seconds; returns when it has ended."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

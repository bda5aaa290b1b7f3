# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scene of the demonstration, compiled."""

from __future__ import annotations

import pytest

from mb_contact.programs.demo.watch import WatchedSimulator
from paths import CONFIG


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compile here, once: the demonstrations then start at once."""
    return WatchedSimulator(CONFIG / "dual_arm_lift.yaml", "box", ("left_tcp", "right_tcp"))

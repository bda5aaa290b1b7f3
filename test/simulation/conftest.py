# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Simulators that tests of whole steps share."""

from __future__ import annotations

import pytest

from scenes.whole_steps import lift_simulator


@pytest.fixture(scope="module")
def lift():
    """The lift scene on the pyramid, shared: every test starts with ``reset``."""
    return lift_simulator()


@pytest.fixture
def dual_arm(lift):
    lift.reset()
    return lift

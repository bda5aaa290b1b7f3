# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Slip with infinite friction (D15 section VI, Lynch and Mason): a pushed rod beside its closed form."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from paths import ROOT

SIN, COS = 2.0 / np.sqrt(5.0), 1.0 / np.sqrt(5.0)
INERTIA = (2.0**2 + 0.001**2) / 12.0  # of the rod of 2 m, 1 mm and 1 kg about its centre
#: compliance of its tip
NORMAL, BOTH, ALONG = 1.0 + COS**2 / INERTIA, -SIN * COS / INERTIA, 1.0 + SIN**2 / INERTIA
PUSH = 40.0  # [N]; beyond 27.8 the tip would have to be pulled down to stick


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("infinite_friction", ROOT / "benchmarks" / "infinite_friction.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("mu", [0.5, 2.0, 100.0, 1e6])
def test_the_tip_slides_whatever_the_coefficient_is(program, mu):
    tip, normal = program.slide(PUSH, mu), 9.81 / (NORMAL - mu * BOTH)
    expected = (normal, -mu * normal, 0.0, (BOTH - mu * ALONG) * normal + PUSH)
    np.testing.assert_allclose(tip, expected, rtol=1e-9, atol=1e-7)
    assert tip.slip > 12.0


def test_in_the_limit_friction_is_finite_and_nothing_presses(program):
    tip = program.slide(PUSH, 1e9)
    np.testing.assert_allclose(tip, (0.0, 9.81 / BOTH, 0.0, PUSH + ALONG * 9.81 / BOTH), rtol=1e-9, atol=1e-7)


def test_a_weaker_push_sticks(program):
    push, det = 20.0, NORMAL * ALONG - BOTH**2
    tip = program.slide(push, 1e6)
    forces = np.array([[ALONG, -BOTH], [-BOTH, NORMAL]]) @ [9.81, -push] / det
    assert forces[0] > 0.0
    np.testing.assert_allclose(tip, (*forces, 0.0, 0.0), atol=1e-8)
    np.testing.assert_allclose(program.stick(push), (*forces, 0.0, 0.0), atol=1e-8)


def test_without_slip_the_tip_is_held_and_lifts(program):
    """(45), (46) hold whatever the normal impulse is: friction without pressure."""
    tip = program.stick(PUSH)
    np.testing.assert_allclose(tip, (0.0, -PUSH / ALONG, -9.81 - BOTH * PUSH / ALONG, 0.0), atol=1e-8)
    assert tip.lift > 4.0

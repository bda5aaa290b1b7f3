# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pairs with a gap that the last step's problem did not have are left out of the first one of the next."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Material, Pose, Primitive, Scene, Velocity

pytestmark = pytest.mark.quick

STILL = (0.0, 0.0, 0.0)


def balls(*others, gravity=STILL):
    """A ball at 2 m/s along x, a diameter before the origin, and others (place, velocity); radii of 50 mm."""
    places = ((-0.1, 0.0, 0.0), (2.0, 0.0, 0.0)), *others
    primitives = tuple(
        Primitive(f"ball_{i}", "sphere", (0.05,), Pose(place), "free", 1.0, material="m", velocity=Velocity(STILL, v))
        for i, (place, v) in enumerate(places)
    )
    return mb.Simulator(Scene(primitives=primitives, materials={"m": Material(0.5)}, gravity=gravity))


def test_who_goes_on_passing_takes_no_newton_step():
    """In two steps the row of the start would hold the ball: its normal leads from one centre to the other."""
    sim, passing = balls(((5e-4, 0.1 + 1e-7, 0.0), STILL)), []
    for _ in range(100):
        certificate = sim.step().certificate
        if certificate.pairs_passed:
            passing.append(certificate.iterations)
        else:
            assert certificate.iterations == 0
    assert len(passing) == 2 and passing[0] > 0 and passing[1] == 0
    np.testing.assert_array_equal(sim.v[3:6], [2.0, 0.0, 0.0])
    assert not sim.v[6:].any()


def test_who_is_near_and_goes_apart_is_a_contact_of_the_first_problem():
    sim = balls(((0.001, 0.0, 0.0), (3.0, 0.0, 0.0)))
    step = sim.step()
    np.testing.assert_allclose(step.contacts["gap"], [0.001])
    np.testing.assert_array_equal(step.contacts["impulse"], [STILL])
    assert (step.certificate.iterations, step.certificate.pairs_passed) == (0, 0)


def test_of_those_left_out_at_first_only_who_passes_stays_out():
    """In the first step one ball is passed, and from another one the flying ball goes away: that one is a contact."""
    sim = balls(((-0.0975, 0.1 + 1e-7, 0.0), STILL), ((-0.1025, -0.1 - 1e-4, 0.0), STILL))
    step = sim.step()
    assert step.certificate.pairs_passed == 1
    pairs = {tuple(sorted(pair)) for pair in zip(step.contacts["link_a"], step.contacts["link_b"])}
    assert pairs == {("ball_0", "ball_2")}
    assert not step.contacts["impulse"].any()
    np.testing.assert_array_equal(sim.v[3:6], [2.0, 0.0, 0.0])


def test_who_meets_comes_in_and_is_stopped():
    sim = balls(((0.001, 0.0, 0.0), STILL))
    step = sim.step()
    assert (step.certificate.pairs_met, step.certificate.pairs_passed) == (1, 0)
    for _ in range(2):
        sim.step()
    np.testing.assert_allclose(sim.v[[3, 9]], 1.0, atol=1e-12)
    assert sim.step().certificate.end_gap == pytest.approx(0.0, abs=1e-12)


def test_what_a_chain_hands_on_comes_in_one_after_the_other():
    """Three balls in a row with small gaps: each is met in the same step, though none was in its first problem."""
    sim = balls(((1e-4, 0.0, 0.0), STILL), ((0.1 + 2e-4, 0.0, 0.0), STILL))
    first = sim.step().certificate
    assert first.pairs_met + first.pairs_held == 2
    for _ in range(5):
        sim.step()
    np.testing.assert_allclose(sim.v[[3, 9, 15]], 2.0 / 3.0, atol=1e-12)


def test_a_state_in_the_midst_of_a_pass_goes_on_alike():
    sim = balls(((0.0, 0.1 + 1e-6, 0.0), STILL), gravity=(0.0, 0.0, -9.81))
    passed = 0
    for _ in range(200):
        passed = passed or sim.step().certificate.pairs_passed
        if passed:
            break
    assert passed
    other = balls(((0.0, 0.1 + 1e-6, 0.0), STILL), gravity=(0.0, 0.0, -9.81))
    other.restore(sim.save())
    for _ in range(5):
        assert other.step().certificate == sim.step().certificate
    assert np.array(other.state).tobytes() == np.array(sim.state).tobytes()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of seeded states of scenes beside central differences, a few of those of ``benchmarks/gradients.py``."""

import numpy as np
import pytest

import mb_contact as mb
from oracles.step_differences import Differences, push_out_fully
from scenes.gradient_scenes import SCENES


@pytest.mark.parametrize(
    ("name", "seed"),
    [("quadruped", 4), ("ball with rolling friction", 9), ("ball in honey", 10), ("two boxes", 15), ("limits", 17),
     ("box on hills", 3), ("crank and rocker", 2), ("two bodies on a hinge", 1), ("two bodies on a rod", 2),
     ("two bodies welded", 3), ("bouncing capsule, by Newton", 4), ("two bodies on a plane", 1),
     ("two bodies on a screw", 2),
     ("bouncing box, polygons", 3), ("bouncing ball with rolling friction", 3), ("bouncing box, midpoint", 5),
     ("joint that strikes its limit, midpoint", 1)],
)
def test_states_of_scenes(name, seed):
    sim, draw = SCENES[name]()
    push_out_fully(sim)
    q, v, effort = draw(np.random.default_rng(seed))
    differences = Differences(sim, q, v, effort)
    sim.set_state(q, v)
    sim.step(effort)
    assert not sim.step_derivatives((), near=1e-3).kinks
    assert differences.worst(size=1e-7) < 1e-6


def test_smooth_motion_beside_pinocchio():
    pin = pytest.importorskip("pinocchio")
    sim, draw = SCENES["chain of six"]()
    model = pin.buildModelFromXML(mb.pendulum(6, length=1.0).urdf())
    q, v, effort = draw(np.random.default_rng(1))
    sim.set_state(q, v)
    sim.step(effort)
    model.gravity.linear = sim.context.gravity
    data = model.createData()  # which has the matrices
    theirs = pin.computeABADerivatives(model, data, np.stack((np.cos(q), np.sin(q)), 1).ravel(), v, effort)
    for by, expected, own in zip(sim.step_derivatives().v.values(), theirs, (0.0, 1.0, 0.0), strict=True):
        expected = own * np.eye(6) + sim.time_step * expected
        assert np.abs(by - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize(
    "name", ["dual arm", "gears", "joint friction", "ball with rolling friction", "two bodies on a hinge",
             "two bodies on a screw"]
)
def test_the_adjoint_is_the_transposed_of_the_derivative(name):
    sim, draw = SCENES[name]()
    rng = np.random.default_rng(3)
    q, v, effort = draw(rng)
    sim.set_state(q, v)
    sim.step(effort)
    names = mb.gradients.step.NAMES
    matrix, _, columns, _ = sim.differentiator().solve(names)
    matrix, y = matrix.copy(), rng.normal(size=2 * len(v))
    record, same = sim.differentiator().record(names, [])
    assert same == columns
    expected = y @ matrix.reshape(len(y), -1)
    np.testing.assert_allclose(sim.differentiator().pull(record, y), expected, atol=1e-11 * np.abs(expected).max())


def test_what_the_solver_does_not_tell_apart_sticks():
    """A box at rest whose bound of friction has no room left: derivatives are those of one that sticks."""
    sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    sim.set_object("box", velocity=[0, 0, 0, 0.5 * 9.81e-3, 0, 0])  # friction just stops it
    sim.step()
    assert np.abs(sim.step_derivatives(["v"]).v["v"]).max() < 1e-9


def test_corrected_positions_are_named():
    """Of an ellipsoid that begins 10 um deep and turns its depth goes on, which the derivative does not know."""
    sim, draw = SCENES["ellipsoid"]()
    push_out_fully(sim)
    rng = np.random.default_rng(14)
    for deep in (False, False, False, True):
        q, v, effort = draw(rng)
        sim.set_state(q, v)
        sim.step(effort)
        kinks = sim.step_derivatives(()).kinks
        assert [kink.kind for kink in kinks] == ["turned_in"] * deep
        assert np.abs(sim.context.need.ahead).max() == (kinks[0].distance if deep else 0.0)

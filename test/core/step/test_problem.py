# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The step's contact problem: what jams is named with a proof, a budget bounds a step, mass ratios do not matter."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Ground, Pose, Primitive, Scene
from paths import CONFIG


def tower(masses, side=0.2, **options):
    """Boxes on the ground, one on the other, the first one lowest."""
    boxes = tuple(
        Primitive(f"box_{i}", "box", (side, side, side), Pose((0.0, 0.0, (i + 0.5) * side)), "free", mass)
        for i, mass in enumerate(masses)
    )
    return Scene(primitives=boxes, ground=Ground(), **options)


def test_a_wedge_between_walls_is_named_and_proved():
    """No motion pushes eight corners out of two walls; unit impulses of the ray move nothing."""
    sim = mb.Simulator(CONFIG / "wedge.yaml")
    for _ in range(20):
        certificate = sim.step().certificate
        assert certificate.solver == "no_push_out" and certificate.residual <= 1e-10
        assert certificate.ray <= 1e-9 and certificate.ray_gain < 0.0


def test_what_is_solved_has_no_ray():
    sim = mb.Simulator(tower([1.0, 2.0]))
    for _ in range(20):
        certificate = sim.step().certificate
        assert certificate.solver in ("warm_start", "newton")
        assert (certificate.ray, certificate.ray_gain) == (0.0, 0.0)


@pytest.mark.parametrize("model", ["coulomb_cone", "coulomb_polyhedral"])
def test_a_heavy_box_on_a_light_one_rests(model):
    """1e9 kg on 1 kg: every step solved as far as impulses of 1e7 N s can be told apart, nothing sinks."""
    sim = mb.Simulator(tower([1.0, 1e9], friction_model=model))
    for _ in range(300):
        certificate = sim.step().certificate
        assert certificate.solver in ("warm_start", "newton") and certificate.residual <= 3e-8
    assert sim.link_pose("box_1")[0][2] == pytest.approx(0.3, abs=1e-6)


def test_a_small_budget_ends_a_step_with_an_honest_certificate():
    sim = mb.Simulator(tower([1.0, 2.0, 3.0]))
    for name, speed in (("box_0", 0.5), ("box_2", -0.7)):
        sim.set_object(name, velocity=np.array([0.0, 0.0, 1.0, speed, 0.1, 0.0]))
    sim.newton_budget = 1
    certificate = sim.step().certificate
    assert certificate.solver == "over_budget" and certificate.residual > 1e-10
    assert certificate.iterations <= 3  # one by nodes, one from zero, one by bodies
    assert np.isfinite(sim.q).all()


def test_the_solver_is_asked_for_the_tolerance_that_was_set():
    sim = mb.Simulator(tower([1.0, 2.0, 3.0]))
    assert sim.solver_tolerance == 1e-10
    sim.solver_tolerance = 1e4  # any impulses will do: none
    sim.set_object("box_2", velocity=np.array([0.0, 0.0, 0.0, 0.1, 0.0, 0.0]))
    certificate = sim.step().certificate
    assert certificate.solver == "warm_start" and certificate.residual > 1e-3
    for wrong in (0.0, -1e-9, np.nan):
        with pytest.raises(mb.InputError, match="solver_tolerance"):
            sim.solver_tolerance = wrong
    assert sim.solver_tolerance == 1e4

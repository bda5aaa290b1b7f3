# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What turning adds to the way of contacts is taken out of the positions, and velocities are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.core.step.need import CORRECTED, LOOKS_BACK
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene

pytestmark = pytest.mark.quick

SIZES = {"box": (0.1, 0.06, 0.04), "capsule": (0.03, 0.1), "cylinder": (0.04, 0.1), "cone": (0.05, 0.1),
         "ellipsoid": (0.1, 0.06, 0.04), "sphere": (0.08,)}  # fmt: skip


def thrown(kind, seed):
    """A body that falls on the ground at 3 m/s and turns at some 25 rad/s."""
    rng = np.random.default_rng(seed)
    body = Primitive("body", kind, SIZES[kind], Pose((0.0, 0.0, 0.2)), "free", 0.5)
    sim = mb.Simulator(Scene(primitives=(body,), ground=Ground()))
    turn = Rotation.random(random_state=rng).as_quat()
    sim.set_object("body", ((0.0, 0.0, 0.2), turn), (*rng.normal(size=3) * 15.0, 0.0, 0.0, -3.0))
    return sim


@pytest.mark.parametrize("kind", ["box", "capsule"])
def test_positions_are_corrected_and_velocities_are_not(kind):
    """The same step without a look at its end has the same impulses, and ends deep by its second order.

    But for what the higher end would make in energy, which is taken out of the motion again.
    """
    corrected = 0
    for seed in range(20):
        sim, plain = thrown(kind, seed), thrown(kind, seed)
        plain.context.need_rule[LOOKS_BACK] = 0.0
        for _ in range(100):
            plain.state[:] = sim.state
            with_it, without = sim.step().certificate, plain.step().certificate
            info = sim.context.need.info
            if info[CORRECTED] == 0 or with_it.pairs_met > 0:
                continue
            corrected += 1
            np.testing.assert_array_equal(sim.context.solution.r, plain.context.solution.r)
            np.testing.assert_allclose(sim.v, plain.v, rtol=0.0, atol=1e-4 * np.abs(sim.v).max())
            second = (1e-3 * np.linalg.norm(sim.v[:3])) ** 2 * max(SIZES[kind])
            assert without.end_gap < -1e-6 and with_it.end_gap > max(without.end_gap, -2e-6 - 0.1 * second)
            assert np.abs(sim.q - plain.q)[:3].max() < 10.0 * second
    assert corrected >= 5


@pytest.mark.parametrize(("a", "b", "deep"), [
    ("box", "box", 1e-5), ("capsule", "capsule", 5e-4), ("ellipsoid", "ellipsoid", 1e-3), ("box", "cylinder", 1e-3),
])  # fmt: skip
def test_bodies_that_clash_turning_do_not_end_in_each_other(a, b, deep):
    """At 1 to 4 m/s and 25 rad/s: they ended up to 7 mm in each other."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        bodies = tuple(
            Primitive(name, kind, SIZES[kind], Pose((x, 0.0, 0.0)), "free", 1.0, material="m")
            for name, kind, x in (("a", a, -0.15), ("b", b, 0.15))
        )
        sim = mb.Simulator(Scene(primitives=bodies, materials={"m": Material(0.3)}, gravity=(0.0, 0.0, 0.0)))
        for name, x in (("a", -1.0), ("b", 1.0)):
            pose = (0.15 * x, *rng.normal(size=2) * 0.01), Rotation.random(random_state=rng).as_quat()
            sim.set_object(name, pose, (*rng.normal(size=3) * 15.0, -x * rng.uniform(1.0, 4.0), 0.0, 0.0))
        assert min(sim.step().certificate.end_gap for _ in range(60)) > -deep


def test_a_coin_that_rolls_on_its_rim_keeps_its_energy():
    """In steps of 1 ms; a row for each point of the rim would take it as a wheel of spokes does."""
    coin = Primitive("coin", "cylinder", (0.05, 0.01), Pose((0.0, 0.0, 0.0484132), (1.2, 0.0, 0.0)), "free", 1.0,
                     material="m")  # fmt: skip
    sim = mb.Simulator(Scene(primitives=(coin,), ground=Ground(0.0, "m"), materials={"m": Material(0.5)}))
    sim.set_object("coin", velocity=(0.0, 8.0, 8.0, 0.0, 0.0, 0.0))
    for _ in range(100):
        first = sim.step().certificate
    for _ in range(900):
        last = sim.step().certificate
        assert last.end_gap > -1e-4
    assert last.energy == pytest.approx(first.energy, rel=0.01)

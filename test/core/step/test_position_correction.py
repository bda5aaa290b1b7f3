# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What turning adds to the way of contacts is taken out of the positions, and velocities are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.core.step.need import CORRECTED, LOOKS_BACK
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, SceneModel

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


@pytest.mark.parametrize("kind, place, turned, turned_b, spin, velocity_b", [
    ("cylinder", (-0.00408, -0.0152, 0.06415), (0.7074, 0.0185, 0.5941, 0.3824), (-0.7441, 0.6677, 0.0068, 0.022),
     (-6.31, 4.23, -0.46), (3.29, -7.38, -1.75, 0.01, -0.06, -0.18)),
    ("cone", (-0.0163, -0.04353, 0.02194), (0.0082, 0.4033, 0.6243, 0.669), (0.9252, -0.0355, -0.2291, 0.3005),
     (3.27, 6.47, 0.88), (24.03, -10.19, -2.41, -0.11, -0.19, -1.6)),
    ("cone", (-0.02563, 0.02673, 0.05137), (0.9329, 0.3514, -0.0558, 0.0561), (0.5761, -0.6252, -0.1195, 0.5128),
     (-15.59, -21.75, 2.59), (-17.66, 42.33, -11.69, -0.9, 0.44, -1.65)),
])  # fmt: skip
def test_a_place_that_turns_in_beside_a_contact_of_the_same_name_comes_in(
    kind, place, turned, turned_b, spin, velocity_b
):
    """Rims and edges have one name all round: of a bin of 200 bodies these ended 0.6, 1.6 and 3.4 mm deep."""
    size = (0.03, 0.07) if kind == "cylinder" else (0.04, 0.07)
    bodies = tuple(
        Primitive(name, kind, size, Pose((0.0, 0.0, z)), "free", 0.2) for name, z in (("a", 0.0), ("b", 1.0))
    )
    sim = mb.Simulator(Scene(primitives=bodies, time_step=2e-3, gravity=(0.0, 0.0, 0.0)))
    sim.set_object("a", ((0.0, 0.0, 0.0), turned), (*spin, 0.0, 0.0, 0.0))
    sim.set_object("b", (place, turned_b), velocity_b)
    certificate = sim.step().certificate
    assert certificate.end_gap > -certificate.penetration - 1e-4 and certificate.residual <= 1e-10


LEG = """<robot name="leg"><link name="base"/><link name="shank"><inertial><origin xyz="0 0 0.25"/><mass value="1"/>
<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="foot"><inertial><mass value="1"/><inertia ixx="0.002" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/>
</inertial><collision><geometry><box size="0.1 0.1 0.02"/></geometry></collision></link>
<joint name="hip" type="continuous"><parent link="base"/><child link="shank"/><axis xyz="0 1 0"/></joint>
<joint name="ankle" type="continuous"><parent link="shank"/><child link="foot"/><origin xyz="0 0 0.5"/>
<axis xyz="0 1 0"/></joint></robot>"""


def test_a_foot_that_its_leg_brings_down_has_no_second_row_at_its_corners(tmp_path):
    """It does not turn itself, and ends 25 um deep at the corners that touch: a robot had 40 rows a foot of that."""
    (tmp_path / "leg.urdf").write_text(LEG)
    table = Primitive("table", "box", (2.0, 2.0, 0.2), Pose((0.0, 0.0, 0.39)))
    models = (SceneModel(str(tmp_path / "leg.urdf")),)
    sim = mb.Simulator(Scene(models=models, primitives=(table,), gravity=(0.0, 0.0, 0.0)))
    sim.set_state(sim.q, np.array([10.0, -10.0]))
    certificate = sim.step().certificate
    assert (certificate.contacts, certificate.pairs_met) == (4, 0) and certificate.end_gap > -3e-5


def test_a_coin_that_wobbles_moves_on_to_other_places_of_its_rim():
    """At 3 degrees and more, of 1 ms each: no place comes in, which would stop the coin as a spoke does a wheel."""
    tilt, radius, half = 0.1, 0.05, 0.005
    height = radius * np.sin(tilt) + half * np.cos(tilt)
    coin = Primitive("coin", "cylinder", (radius, 2.0 * half), Pose((0.0, 0.0, height), (tilt, 0.0, 0.0)), "free", 0.5,
                     material="m")  # fmt: skip
    sim = mb.Simulator(Scene(primitives=(coin,), ground=Ground(0.0, "m"), materials={"m": Material(0.0)}))
    turn = np.sin(tilt) * np.sqrt(4.0 * 9.81 / (radius * np.sin(tilt)))
    sim.set_object("coin", velocity=(0.0, turn * np.cos(tilt), turn * np.sin(tilt), 0.0, 0.0, 0.0))
    at_rest = 0.5 * 9.81 * half
    certificates = [sim.step().certificate for _ in range(250)]
    assert sum(c.pairs_met for c in certificates) == 0 and min(c.end_gap for c in certificates) > -1.5e-4
    assert certificates[-1].energy - at_rest > 0.3 * (certificates[0].energy - at_rest)


def rolling(shape, size, height, tilt, velocity, time_step):
    """One body that rolls on the ground, and the certificates of a second."""
    body = Primitive("body", shape, size, Pose((0.0, 0.0, height), (tilt, 0.0, 0.0)), "free", 1.0, material="m")
    sim = mb.Simulator(Scene(primitives=(body,), ground=Ground(0.0, "m"), materials={"m": Material(0.5)},
                             time_step=time_step))  # fmt: skip
    sim.set_object("body", velocity=velocity)
    return [sim.step().certificate for _ in range(round(1.0 / time_step))]


@pytest.mark.parametrize("time_step", [1e-3, 4e-3])
def test_a_coin_that_rolls_on_its_rim_keeps_its_energy(time_step):
    """A row for each point of the rim would take it as a wheel of spokes does.

    Where a step brings the rim down by more than is left to push-out velocities the row asks for it, or else steps of
    4 ms end 0.3 mm deep.
    """
    told = rolling("cylinder", (0.05, 0.01), 0.0484132, 1.2, (0.0, 8.0, 8.0, 0.0, 0.0, 0.0), time_step)
    first = told[round(0.1 / time_step)]
    assert min(certificate.end_gap for certificate in told) > -7e-5
    assert told[-1].energy == pytest.approx(first.energy, rel=0.02)


def test_the_deepest_pair_is_that_of_the_end_gap():
    """A coin that rolls ends deeper than a box that began 5 nm deep, but for its turning: nobody is named."""
    coin = Primitive("coin", "cylinder", (0.05, 0.01), Pose((0.0, 0.0, 0.0484132), (1.2, 0.0, 0.0)), "free", 1.0)
    box = Primitive("box", "box", (0.1, 0.1, 0.1), Pose((1.0, 0.0, 0.05 - 5e-9)), "free", 1.0)
    sim = mb.Simulator(Scene(primitives=(box, coin), ground=Ground(), time_step=2e-3))
    sim.set_object("coin", velocity=(0.0, 8.0, 8.0, 0.0, 0.0, 0.0))
    told = [sim.step().certificate for _ in range(5)]
    assert min(certificate.end_gap for certificate in told) < -1e-6
    assert {certificate.deepest_pair for certificate in told if certificate.end_gap < -1e-6} == {""}


@pytest.mark.parametrize("shape, size", [("ellipsoid", (0.12, 0.08, 0.05)), ("cylinder", (0.05, 0.04))])
def test_no_row_asks_for_more_velocity_than_that_of_its_approach(shape, size):
    """Drops in steps of 4 ms; impulses of what rolls on do no work but that of the push-out."""
    rng, asked = np.random.default_rng(5), 0
    for _ in range(6):
        pose = Pose((0.0, 0.0, 0.12), tuple(rng.uniform(-1.5, 1.5, 3)))
        body = Primitive("body", shape, size, pose, "free", 1.0, material="m")
        sim = mb.Simulator(Scene(primitives=(body,), ground=Ground(0.0, "m"), materials={"m": Material(0.5)},
                                 time_step=4e-3))  # fmt: skip
        sim.set_object("body", velocity=(*rng.normal(size=3) * 15.0, *rng.normal(size=3)))
        for _ in range(100):
            turn, velocity, at = sim.v[:3].copy(), sim.v[3:].copy(), sim.link_pose("body")[0].copy()
            contacts = sim.step().contacts
            for k in np.flatnonzero(sim.context.need.rolls[: len(contacts)]):
                before = (velocity + np.cross(turn, contacts[k]["point"] - at)) @ contacts[k]["normal"]
                ask = -sim.context.work.gap_shift[k] / sim.time_step
                assert 0.0 < ask <= -before + 1e-9
                asked += 1
    assert asked > 10


@pytest.mark.parametrize("time_step", [2e-3, 4e-3])
def test_an_egg_that_rolls_keeps_its_energy_and_its_height(time_step):
    """What its rows ask for is a velocity of the step, which the certificate judges, and its push-out.

    Without it the egg ends 0.18 and 0.58 mm deep.
    """
    told = rolling("ellipsoid", (0.12, 0.08, 0.08), 0.04, 0.0, (0.0, 20.0, 3.0, 0.8, 0.0, 0.0), time_step)
    energies = [certificate.energy for certificate in told]
    assert min(certificate.end_gap for certificate in told) > -5e-5
    assert max(certificate.residual for certificate in told) < 1e-10
    assert np.ptp(energies) < 0.03 * energies[0]
    assert max(certificate.push_out_energy for certificate in told) > 0.0

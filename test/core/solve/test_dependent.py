# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts without slip whose rows nearly follow from each other: a sole tips although its points differ in height.

Beside it stands a wheel with a brake, whose joint friction is a row of another kind.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.impact.phases import apply_compliance
from mb_contact.core.solve.dependent import OWN
from mb_contact.core.step.problem import start_phase
from mb_contact.model.scene import Ground, Pose, Primitive, Scene, SceneModel

MASS, INERTIA, HEIGHT, FRONT = 2.0, 0.03, 0.4, 0.1  # [kg, kg m^2, m, m] centre above the ground, studs before it
STUDS = [(x, y) for x in (-0.1, 0.0, FRONT) for y in (-0.05, 0.05)]
RADIUS = 0.01
WHEEL = (
    '<robot name="w"><link name="fork"/><link name="wheel"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="axle" type="continuous"><parent link="fork"/>'
    '<child link="wheel"/><axis xyz="0 0 1"/><dynamics friction="0.1"/></joint></robot>'
)


def sole(uneven):
    """A body on six studs; those behind the front ones end up to ``uneven`` higher [m]."""
    behind = np.where([x < FRONT for x, _ in STUDS], uneven, 0.0)
    higher = behind * np.random.default_rng(1).uniform(0.1, 1.0, len(STUDS))
    studs = "".join(
        f'<collision><origin xyz="{x} {y} {RADIUS - HEIGHT + up}"/><geometry><sphere radius="{RADIUS}"/></geometry>'
        "</collision>" for (x, y), up in zip(STUDS, higher)
    )  # fmt: skip
    tensor = " ".join(f'{name}="{INERTIA if name[1] == name[2] else 0}"' for name in ("ixx", "iyy", "izz", "ixy"))
    text = f'<robot name="r"><link name="sole"><inertial><mass value="{MASS}"/><inertia {tensor}/></inertial>'
    model = SceneModel(f"{text}{studs}</link></robot>", base="free", pose=Pose((0.0, 0.0, HEIGHT)))
    return Scene(models=(model, SceneModel(WHEEL)), ground=Ground(), friction_model="no_slip")


@pytest.mark.parametrize("uneven", [0.0, 1e-8, 1e-6, 1e-5])
def test_an_uneven_sole_tips_as_an_even_one(uneven):
    """About the line of its front studs, with the angular acceleration of the rigid body there."""
    sim, push = mb.Simulator(sole(uneven)), 20.0
    sim.set_external_wrench("sole", [0.0, 0.0, 0.0, push, 0.0, 0.0])
    step = sim.step()
    about = INERTIA + MASS * (FRONT**2 + HEIGHT**2)
    expected = sim.time_step * (push * HEIGHT - MASS * 9.81 * FRONT) / about
    assert step.certificate.solver == "newton"
    np.testing.assert_allclose(sim.v[1], expected, rtol=1e-4)
    assert step.certificate.residual < 1e-10 and step.certificate.tied_residual < (1e-4 if uneven else 1e-9)


def test_what_stands_stays_and_the_residual_is_told():
    sim = mb.Simulator(sole(1e-6))
    steps = [sim.step() for _ in range(50)]
    assert np.abs(sim.v).max() < 1e-6 and sim.context.system.tied[0] > 0
    weight = sum(p[2] for p in (step.contacts["impulse"].sum(axis=0) for step in steps[-1:])) / sim.time_step
    assert weight == pytest.approx(MASS * 9.81, rel=1e-3)


def test_rows_that_are_tied_follow_from_the_others_and_get_no_impulse():
    """Beside what NumPy's least squares over the rows that lead leaves of each row of the whole W, by rows."""
    sim = mb.Simulator(sole(1e-6))
    context, P = sim.context, sim.context.system
    sim.step()
    n = int(P.count[1])
    rows, tied = P.source[:n], P.follower[:n] != 0
    is_equality = P.blocks.kind[np.searchsorted(P.blocks.start[: int(P.count[0]) + 1], np.arange(n), "right") - 1] == 0
    assert tied.sum() == P.tied[0] > 0 and (tied & is_equality).any() and not (is_equality & ~tied).all()
    np.testing.assert_array_equal(context.solution.r[rows[tied]], 0.0)
    np.testing.assert_array_equal(P.W[rows[tied]][:, rows], 0.0)
    np.testing.assert_array_equal(P.W[rows][:, rows[tied]], 0.0)
    whole = np.zeros((n, n))
    for k in range(n):  # by the impulse sweep, which knows nothing of ties
        impulse, column = np.zeros(len(context.solution.r)), np.zeros(len(context.solution.r))
        impulse[rows[k]] = 1.0
        apply_compliance(context.handle, impulse, column)
        whole[:, k] = column[rows]
    leads = is_equality & ~tied
    for k in np.flatnonzero(is_equality):
        others = leads & (np.arange(n) != k)
        a = np.linalg.lstsq(whole[np.ix_(others, others)], whole[others, k], rcond=None)[0]
        left = (whole[k, k] - a @ whole[others, k]) / whole[k, k]
        assert left < 2.0 * OWN if tied[k] else left > 0.5 * OWN
    np.testing.assert_allclose(whole[np.ix_(~tied, ~tied)], P.W[np.ix_(rows[~tied], rows[~tied])], atol=1e-12)


def test_normals_that_tangents_hold_are_tied():
    """In the corner of a floor and a wall the tangents of either hold what the normals of the other would."""
    box = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((-0.1, 0.0, 0.1)), "free", 1.0)
    wall = Primitive("wall", "box", (0.1, 1.0, 1.0), Pose((0.05, 0.0, 0.5)))
    scene = Scene(primitives=(box, wall), ground=Ground(), friction_model="no_slip", gravity=(9.0, 0.0, -3.0))
    sim = mb.Simulator(scene)
    for _ in range(20):
        certificate = sim.step().certificate
    P = sim.context.system
    n = int(P.count[1])
    assert (P.follower[:n][P.source[:n] % 3 == 0] != 0).sum() == 4
    assert certificate.residual < 1e-10 and certificate.tied_residual < 1e-10
    np.testing.assert_allclose(sim.v, 0.0, atol=1e-12)


def test_phases_of_impacts_ask_nothing_of_tied_rows():
    sim = mb.Simulator(sole(1e-6))
    sim.step()
    h, P = sim.context.handle, sim.context.system
    rng, size = np.random.default_rng(5), len(sim.context.solution.q)
    start_phase(h, rng.normal(size=size), np.ones(size))
    tied = P.follower[: int(P.count[1])] != 0
    equality = P.blocks.kind[: int(P.count[0])] == 0
    starts = P.blocks.start[: int(P.count[0])][equality]
    assert tied.any() and not P.q[starts[tied[starts]]].any() and P.q[starts[~tied[starts]]].all()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts without slip whose rows nearly follow from each other: a sole tips although its points differ in height.

Beside it stands a wheel with a brake: of joint friction the modified PPM, which is the default, knows nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.step.problem import drop_all_push_out, start_phase
from mb_contact.model.scene import Ground, Pose, Scene, SceneModel

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
    assert step.certificate.residual < (1e-4 if uneven else 1e-9)  # measured, also of rows that were tied


def test_what_stands_stays_and_the_residual_is_told():
    sim = mb.Simulator(sole(1e-6))
    steps = [sim.step() for _ in range(50)]
    assert np.abs(sim.v).max() < 1e-6 and sim.context.system.tied[0] > 0
    weight = sum(p[2] for p in (step.contacts["impulse"].sum(axis=0) for step in steps[-1:])) / sim.time_step
    assert weight == pytest.approx(MASS * 9.81, rel=1e-3)


def test_a_row_that_follows_is_the_combination_of_the_others():
    """W and q of the posed system, after a step, beside NumPy's least squares over the rows that lead."""
    sim = mb.Simulator(sole(1e-6))
    sim.step()
    P, other = sim.context.system, mb.Simulator(replace(sole(1e-6), models=sole(1e-6).models[:1]))
    other.step()
    n, lead, last = int(P.count[1]), slice(int(P.segment[0]), int(P.rank[0])), int(P.segment[1])
    leads, rows = P.source[P.order[lead]], P.source[:n]
    W = P.W[np.ix_(rows, rows)]
    np.testing.assert_allclose(W, W.T, atol=1e-12)
    for k in range(lead.stop, last):
        row = P.source[P.order[k]]
        a = np.linalg.lstsq(P.W[np.ix_(leads, leads)], P.W[row, leads], rcond=None)[0]
        np.testing.assert_allclose(P.W[row, rows], a @ P.W[np.ix_(leads, rows)], atol=1e-6 * np.abs(W).max())
    np.testing.assert_allclose(sim.v[:6], other.v, atol=1e-6)


def test_velocities_follow_in_phases_of_impacts_and_without_push_out():
    sim = mb.Simulator(sole(1e-6))
    sim.step()
    h, P = sim.context.handle, sim.context.system

    def apart():
        lead, last = slice(int(P.segment[0]), int(P.rank[0])), int(P.segment[1])
        leads = P.source[P.order[lead]]
        rows = [P.source[P.order[k]] for k in range(lead.stop, last)]
        a = np.linalg.lstsq(P.W[np.ix_(leads, leads)], P.W[np.ix_(leads, rows)], rcond=None)[0]
        return P.q[P.order[lead.stop : last]] - P.q[P.order[lead]] @ a

    rng, size = np.random.default_rng(5), len(sim.context.solution.q)
    start_phase(h, rng.normal(size=size), np.zeros(size))
    assert P.tied[0] > 0
    np.testing.assert_allclose(apart(), 0.0, atol=1e-6)
    offset = sim.context.rows.offset
    rows = P.source[: int(P.count[1])]
    rows = rows[rows < sim.context.bilateral.info[0]]
    offset[rows] = -rng.uniform(0.5, 1.0, len(rows))  # a push-out along every row
    assert drop_all_push_out(h) and not offset[rows].any()
    np.testing.assert_allclose(apart(), 0.0, atol=1e-6)

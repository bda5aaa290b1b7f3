# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps by flows with impacts, beside differences of the step and closed forms of bounces."""

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.handle import TOLERANCE
from oracles.step_differences import Differences, push_out_fully
from scenes.gradient_scenes import joints, posed

M = mb.model
G = 9.81
FLOWS = ("midpoint", "rk4", "adaptive")


def exact(sim, q, v, effort=None):
    """Differences of a simulator whose solver leaves rounding alone."""
    push_out_fully(sim)
    sim.context.solver[TOLERANCE] = 1e-13
    return Differences(sim, q, v, effort)


def strikes(shape, seed, integrator, above=0.0, **more):
    """Differences of a seeded body that meets the ground within the step."""
    sim, draw = posed(shape, integrator=integrator, **more)()
    q, v, effort = draw(np.random.default_rng(seed))
    q[2] += above
    return exact(sim, q, v, effort)


@pytest.mark.parametrize("integrator", FLOWS)
@pytest.mark.parametrize(
    ("shape", "seed", "more"),
    [("sphere", 0, {"restitution": 0.5}), ("box", 1, {"restitution": 0.5}),
     ("box", 0, {"restitution": 0.5, "restitution_law": "newton"}),
     ("box", 2, {"restitution": 0.5, "restitution_law": "papers"}), ("cylinder", 0, {"above": 3e-4})],
)  # fmt: skip
def test_bodies_that_strike_the_ground(shape, seed, more, integrator):
    """Every law, and a landing without restitution, which is an impact of its own under flows."""
    differences = strikes(shape, seed, integrator, **more)
    differences.step()
    impacts = differences.sim.context.impacts
    assert len(impacts.events) == 1 and impacts.work.body_moment[0] > 0.0
    assert not differences.sim.step_derivatives((), near=1e-4).kinks
    assert max(differences.worst(("q",), 1e-7), differences.worst(("v",), 1e-6)) < 1e-7


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", *FLOWS[:2]])
def test_a_capsule_that_stands_on_one_end_and_falls_on_the_other(integrator):
    """The motion without what collides has a contact that carries, or slides, and says when the other end is there."""
    rubber = {"rubber": M.Material(restitution=0.5, friction=0.3)}
    body = M.Primitive("body", "capsule", (0.06, 0.2), M.Pose((0.0, 0.0, 1.0)), "free", 1.5, material="rubber")
    sim = mb.Simulator(mb.Scene(primitives=(body,), ground=M.Ground(material="rubber"), materials=rubber,
                                integrator=integrator))  # fmt: skip
    sim.reset()
    lean, turn = 8e-4 / 0.2, sim.q  # of its axis, z, from the horizontal
    turn[3:] = 0.0, np.sin(0.25 * np.pi - 0.5 * lean), 0.0, np.cos(0.25 * np.pi - 0.5 * lean)
    turn[2] = 0.06 + 0.1 * np.sin(lean) - 1e-6
    for slip, falls in ((0.0, 1.5), (0.5, 2.0)):
        v = np.array([0.0, falls / 0.2, 0.0, slip, 0.1 * slip, -0.5 * falls])
        differences = exact(sim, turn, v)
        differences.step()
        (impact,) = sim.context.impacts.tape
        (r,) = (kept for array, kept in impact.meeting.arrays if array is sim.context.solution.r)
        assert impact.body_moment[0] > 0.0 and np.count_nonzero(r[:4:3]) == 1  # of normals
        assert max(differences.worst(("q",), 1e-8), differences.worst(("v",), 1e-6)) < 1e-6


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", *FLOWS[:2]])
def test_a_joint_that_strikes_its_limit(integrator):
    """Under flows it is an impact, at the moment at which the joint gets there."""
    sim, draw = joints(limits=(-0.5, 0.5))()
    sim = mb.Simulator(replace(sim.scene, integrator=integrator))
    q, v, effort = draw(np.random.default_rng(1))
    q[0], v[0] = 0.499, abs(v[0]) + 1.0
    differences = exact(sim, q, v, effort)
    differences.step()
    assert integrator == "semi_implicit_euler" or sim.context.impacts.work.body_moment[0] > 0.0
    assert differences.worst(size=1e-7) < 1e-6


@pytest.mark.parametrize("integrator", FLOWS[:2])
@pytest.mark.parametrize("name", ["mass", "friction", "restitution"])
def test_by_parameters(name, integrator):
    """A corner that slips as it strikes."""
    ends = {}
    for way in (-1e-6, 0.0, 1e-6):
        at = {"mass": 2.0, "friction": 0.03, "restitution": 0.5}
        at[name] += way
        body = M.Primitive("body", "box", (0.2, 0.16, 0.12), M.Pose((0, 0, 1.0)), "free", at.pop("mass"), material="r")
        sim = mb.Simulator(mb.Scene(primitives=(body,), ground=M.Ground(material="r"), integrator=integrator,
                                    materials={"r": M.Material(**at)}), warm_up=False)  # fmt: skip
        sim.set_external_wrench("body", [0.1, 0.2, 0.3, 1.0, 2.0, -3.0])
        q = sim.q
        q[3:] = np.array([0.3, 0.5, 0.1, 0.8]) / np.sqrt(0.99)
        q[2] = np.abs(M.rotations.quat_to_matrix(q[3:])[2] * (0.1, 0.08, 0.06)).sum() + 7e-4
        differences = exact(sim, q, np.array([1.0, 0.5, 0.2, 1.5, 0.2, -2.0]))
        end = differences.step()
        ends[way] = np.concatenate((end[0][:3], end[1]))
        if way == 0.0:
            by = sim.step_derivatives((name,))
            found = np.concatenate((by.q[name][3:], by.v[name]))[:, 0]
    np.testing.assert_allclose(found, (ends[1e-6] - ends[-1e-6]) / 2e-6, atol=1e-6)


@pytest.mark.parametrize("integrator", FLOWS[:2])
def test_apexes_by_restitution(integrator):
    """Of a ball from 1/2 m: 1/2 eps^(2 k), and 2 k / eps of it, through all bounces before, by adjoints."""
    eps, steps = 0.6, (51, 82, 100)
    rubber = {"rubber": M.Material(restitution=eps)}
    ball = M.Primitive("ball", "sphere", (0.1,), M.Pose((0.0, 0.0, 0.6)), "free", 2.0, material="rubber")
    sim = mb.Simulator(mb.Scene(primitives=(ball,), ground=M.Ground(material="rubber"), materials=rubber,
                                integrator=integrator, time_step=0.01), warm_up=False)  # fmt: skip
    sim.reset()
    for k, step in enumerate(steps, 1):

        def apex(at, q, v, step=step):
            height = q[2] - 0.1 + v[5] ** 2 / (2 * G)
            return (height, [0, 0, 0, 0, 0, 1.0], [0, 0, 0, 0, 0, v[5] / G]) if at == step else None

        found = mb.rollout_gradient(sim, np.zeros((step, 0)), apex, ["restitution"])
        np.testing.assert_allclose(found.cost, 0.5 * eps ** (2 * k), rtol=1e-9)
        np.testing.assert_allclose(found.parameters["restitution"], [2 * k / eps * found.cost], rtol=1e-8)
        np.testing.assert_allclose(found.q[5], eps ** (2 * k), rtol=1e-8)

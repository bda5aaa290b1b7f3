# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps with impacts: beside differences of the step, and of bounces by closed forms.

Covers gradients/tape.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.handle import TOLERANCE
from mb_contact.errors import InputError
from oracles.step_differences import Differences, push_out_fully
from scenes.gradient_scenes import SCENES

M = mb.model
G, DT = 9.81, 1e-3
LAWS = ("anitescu_potra", "papers", "newton")
TURN = np.array([0.3, 0.5, 0.1, 0.8]) / np.sqrt(0.99)


def dropped(shape="sphere", size=(0.1,), friction=0.3, restitution=0.5, law=LAWS[0], z=0.1005, **scene):
    """A body of 2 kg over the ground."""
    rubber = {"rubber": M.Material(restitution=restitution, friction=friction)}
    body = M.Primitive("body", shape, size, M.Pose((0.0, 0.0, z)), base="free", mass=2.0, material="rubber")
    sim = mb.Simulator(mb.Scene(primitives=(body,), ground=M.Ground(material="rubber"), materials=rubber,
                                restitution_law=law, **scene), warm_up=False)  # fmt: skip
    return exact(sim)


def exact(sim):
    sim.reset()
    push_out_fully(sim)
    sim.differentiator()
    sim.context.solver[TOLERANCE] = 1e-13
    return sim


def box_over_ground(gap=7e-4, **more):
    """(Simulator, q) of a box with a corner so high above the ground."""
    sim = dropped("box", (0.2, 0.16, 0.12), **more)
    q = sim.q
    q[3:] = TURN
    up = M.rotations.quat_to_matrix(TURN)[2]
    q[2] = np.abs(up * (0.1, 0.08, 0.06)).sum() + gap
    return sim, q


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("friction", [0.03, 0.3])
def test_a_corner_that_strikes(law, friction):
    """Slipping and sticking; by mass, friction and restitution too."""
    sim, q = box_over_ground(law=law, friction=friction)
    v = np.array([1.0, 0.5, 0.2, 1.5, 0.2, -2.0])
    assert Differences(sim, q, v).worst(("q", "v"), 1e-7) < 1e-6
    sim.set_state(q, v)
    assert len(sim.step().events) == 1
    by, ends = sim.step_derivatives(("friction", "restitution")), {}
    for name, at in (("friction", friction), ("restitution", 0.5)):
        for way in (-1e-6, 1e-6):
            other, _ = box_over_ground(**{"law": law, "friction": friction, name: at + way})
            other.set_state(q, v)
            other.step()
            ends[way] = np.concatenate((other.q[:3], other.v))
        found = np.concatenate((by.q[name][3:], by.v[name]))[:, 0]
        np.testing.assert_allclose(found, (ends[1e-6] - ends[-1e-6]) / 2e-6, atol=1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_what_is_only_hit_through_others(law):
    """A box between two balls, one of which strikes it from below while another lies on it."""
    ball = "sphere", (0.1,)
    parts = (("a", "box", (0.2,) * 3, 0.0, 1.0), ("b", *ball, 0.3, 0.5), ("c", *ball, -0.3, 0.7))
    rubber = {"rubber": M.Material(restitution=0.5, friction=0.1)}
    bodies = tuple(M.Primitive(name, shape, size, M.Pose((0.03 * (z > 0) - 0.02 * (z < 0), 0.0, z)), "free", mass,
                               material="rubber") for name, shape, size, z, mass in parts)  # fmt: skip
    sim = exact(mb.Simulator(mb.Scene(primitives=bodies, gravity=(0, 0, 0), materials=rubber, restitution_law=law),
                             warm_up=False))  # fmt: skip
    q, v = sim.q, np.array([0, 0, 0, 0.05, 0, 0, 1, 0, 0.3, 0.2, 0.1, -3.0, 0.3, -0.2, 0.1, 0.3, 0.2, 2.0])
    q[9], q[16] = 0.2 - 1e-5, -0.2 + 1e-5
    assert Differences(sim, q, v).worst(("q", "v"), 1e-7) < 1e-6
    assert sim.context.impacts.picked.count[0] == 2


def test_apexes_by_restitution():
    """Apexes of a ball from 1/2 m are 1/2 eps^(2 k); derivatives 2 k / eps of them, through all bounces before."""
    eps, steps = 0.6, (510, 817, 1001)
    sim = dropped(restitution=eps, z=0.6)
    for k, step in enumerate(steps, 1):

        def apex(at, q, v, step=step):
            late = v[5] - 0.5 * G * DT  # of Euler's step, whose velocities come half a step late
            height = q[2] - 0.1 + late**2 / (2 * G)
            return (height, [0, 0, 0, 0, 0, 1.0], [0, 0, 0, 0, 0, late / G]) if at == step else None

        found = mb.rollout_gradient(sim, np.zeros((step, 0)), apex, ["restitution"])
        np.testing.assert_allclose(found.cost, 0.5 * eps ** (2 * k), rtol=1e-5)
        np.testing.assert_allclose(found.parameters["restitution"], [2 * k / eps * found.cost], rtol=1e-9)
        np.testing.assert_allclose(found.q[5], eps ** (2 * k), rtol=1e-9)


def test_the_record_of_a_step_with_impacts():
    sim, q = box_over_ground()
    sim.set_state(q, [1.0, 0.5, 0.2, 1.5, 0.2, -2.0])
    sim.step()
    names, y = mb.gradients.step.NAMES, np.arange(1.0, 13.0)
    matrix, _, columns, _ = sim.differentiator().solve(names)
    record, same = sim.differentiator().record(names, [])
    assert same == columns
    np.testing.assert_allclose(sim.differentiator().pull(record, y), y @ matrix.reshape(12, -1), rtol=1e-13)
    sim.step()
    by = sim.step_derivatives(("v", "restitution"))  # the next one does not bounce
    assert np.abs(by.v["restitution"]).max() == 0.0 and by.v["restitution"].shape == (6, 1)
    record, columns = sim.differentiator().record(("q", "v", "restitution"), [])
    assert sim.differentiator().pull(record, y)[columns["restitution"]] == [0.0]


def test_an_impact_between_bodies_in_flight_is_refused():
    """Its contact is that of the moment at which they meet."""
    rubber = {"rubber": M.Material(restitution=0.5)}
    balls = tuple(M.Primitive(name, "sphere", (0.1,), M.Pose((0.0, 0.02 * z, z)), "free", 1.0, material="rubber")
                  for name, z in (("a", 1.0), ("b", 1.2005)))  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=balls, materials=rubber, gravity=(0, 0, 0)), warm_up=False)
    sim.reset()
    q, v = sim.q, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -3.0]
    sim.set_state(q, v)
    assert sim.step().events
    with pytest.raises(InputError, match="call sim.differentiator"):
        sim.step_derivatives()
    sim.set_state(q, v)
    sim.step()
    with pytest.raises(InputError, match="at the moment of meeting"):
        sim.step_derivatives()


def test_energy_that_was_taken_out_is_named():
    """A cone that spins fast over its rim: Euler's step has gained energy, which no derivative knows."""
    cone = M.Primitive("cone", "cone", (0.08, 0.2), M.Pose((0.0, 0.0, 1.0)), "free", 1.0)
    sim = exact(mb.Simulator(mb.Scene(primitives=(cone,), ground=M.Ground()), warm_up=False))
    q = sim.q
    q[2:] = 0.0547, -0.5017, 0.6032, 0.5363, 0.3113
    q[3:] /= np.linalg.norm(q[3:])
    sim.set_state(q, [3.0, -2.0, 4.0, 0.5, 0.1, -0.6])
    removed = sim.step().certificate.energy_removed
    named = [kink for kink in sim.step_derivatives().kinks if kink.kind == "energy_removed"]
    assert bool(named) == (removed > 0.0) and all(kink.distance == removed for kink in named)
    assert named


def test_a_face_whose_deepest_point_has_left_is_named():
    """The second impact of a step, by another corner: the derivative does not know that its gap is the face's."""
    sim, draw = SCENES["bouncing box"]()
    push_out_fully(sim)
    sim.differentiator()
    rng = np.random.default_rng(3)
    for _ in range(405):
        q, v, effort = draw(rng)
    sim.set_state(q, v)
    sim.step(effort)
    (kink,) = {k for k in sim.step_derivatives(("v",)).kinks if k.kind == "face"}
    assert set(kink.links) == {"ground", "body"} and kink.distance > 0.0

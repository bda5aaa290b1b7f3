# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pendulums of free bodies (NMC/OS) against joint coordinates (OS) and the written-out formulations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.studies.closure_step import ClosureStep
from scenes.pendulums import bent

WITH_PRODUCT = partial(ClosureStep, velocity_product=True)


def free_at(chain, q, v, step=ClosureStep):
    """Simulator of a chain's free bodies in the state of joint angles and rates."""
    sim = mb.Simulator(chain.free_scene(), step=step)
    bend, rate = np.cumsum(q), np.cumsum(v)
    centre, speed = chain.centres(q), chain.centre_velocities(q, v)
    zero = np.zeros(chain.links)
    pose = np.stack([centre[:, 0], zero, centre[:, 1], zero, np.sin(0.5 * bend), zero, np.cos(0.5 * bend)], axis=1)
    twist = np.stack([zero, rate, zero, speed[:, 0], zero, speed[:, 1]], axis=1)
    sim.set_state(pose.ravel(), twist.ravel())
    return sim


def test_free_bodies_start_where_the_joints_are():
    chain = mb.pendulum(4, "j12")
    sim = mb.Simulator(chain.free_scene(), step=ClosureStep)
    assert sim.energy() == pytest.approx(mb.Simulator(chain.scene()).energy(), rel=1e-13)
    assert sim.step().certificate.closure_error < 1e-4 and sim.world.couplings.rows == 20


def test_bodies_take_the_step_of_the_nmc_os_formulation():
    """In the air, against the sparse Python formulation, with the velocity product, no drift yet to take back."""
    chain, q, v = bent(5, floor=-20.0, wall=50.0)
    joints = mb.Simulator(chain.scene())
    joints.set_state(q, v)
    solution = mb.studies.formulate(mb.studies.next_step_problem(joints, friction_directions=4), "nmc_os").solve()
    sim = free_at(chain, q, v, WITH_PRODUCT)
    sim.step()
    rates = sim.v.reshape(-1, 6)[:, 1]
    assert np.diff(rates, prepend=0.0) == pytest.approx(solution.v_next, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_step_with_contacts_satisfies_the_formulation(friction):
    """A chain let go on floor and wall: the velocities after the step are those of the other formulations.

    At rest, because a moving one has its contact rows in other coordinates: they differ by dt D' V.
    """
    changes = {"base_height": 2.9, "length": 4.0, "wall": 0.95, "friction": friction, "angle": 0.0}
    chain = mb.pendulum(4, "first_impact", **changes)
    q, v = np.array([-0.1, -0.2, 1.2, 0.6]), np.zeros(4)
    low = chain.centres(q)[:, 1].min() - chain.radius
    right = chain.centres(q)[:, 0].max() + chain.radius
    chain = mb.pendulum(4, "first_impact", **{**changes, "floor": low, "wall": right})
    joints = mb.Simulator(chain.scene())
    joints.set_state(q, v)
    problem = mb.studies.next_step_problem(joints)
    assert problem.n_u == 2
    expected = mb.studies.formulate(problem, "os").solve()
    sim = free_at(chain, q, v, WITH_PRODUCT)
    certificate = sim.step().certificate
    assert certificate.contacts == 2 and certificate.residual <= 1e-9
    assert np.diff(sim.v.reshape(-1, 6)[:, 1], prepend=0.0) == pytest.approx(expected.v_next, abs=1e-9)
    assert np.abs(expected.impulses).max() > 1e-3


def test_impacts_of_free_bodies_are_those_of_joints():
    """The same state, a sphere about to hit the floor: both phases leave the same energy and impulse."""
    chain, q, v = bent(5, restitution=0.5, floor=-20.0, wall=50.0)
    low = chain.centres(q)[:, 1].min() - chain.radius
    chain, q, v = bent(5, restitution=0.5, floor=low - 1e-9, wall=50.0, time_step=1e-9)  # or both fall differently
    lowest = int(np.argmin(chain.centres(q)[:, 1]))
    v = v - 4.0 * np.sign(chain.centre_velocities(q, np.ones(5))[lowest, 1]) * np.ones(5)
    joints = mb.Simulator(chain.scene())
    joints.set_state(q, v)
    (expected,) = joints.step().events
    (impact,) = free_at(chain, q, v).step().events
    assert expected.speeds.min() < -1.0 and impact.links == expected.links
    assert impact.residual <= 1e-9
    for name in ("energy_before", "energy_compressed", "energy_after"):
        assert getattr(impact, name) == pytest.approx(getattr(expected, name), rel=1e-8)
    plane = [0, 2]  # across it the hinges hold the sphere, and nothing tells how much of a push is the contact's
    assert impact.compression[:, plane] == pytest.approx(expected.compression[:, plane], rel=1e-7)
    assert impact.decompression[:, plane] == pytest.approx(expected.decompression[:, plane], rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("gamma, low, high", [(0.0, 1e-4, 1e-1), (0.2, 0.0, 1e-4)])
def test_open_hinges_are_taken_back(gamma, low, high):
    """Without stabilisation body coordinates drift; with it an opening stays below a tenth of a millimetre."""
    sim = mb.Simulator(mb.pendulum(6, "first_impact").free_scene(drift_rate=gamma), step=ClosureStep)
    for _ in range(1300):
        step = sim.step()
    assert low <= step.certificate.closure_error <= high


def test_energy_never_rises_without_the_velocity_product():
    """J14's chain of 3 in the air: with the product of its (19) the energy rises, without it never."""
    rises = []
    for step in (ClosureStep, WITH_PRODUCT):
        sim = mb.Simulator(mb.pendulum(3).free_scene(), step=step)
        rises.append(np.diff([sim.step().certificate.energy for _ in range(200)]).max())
    assert rises[0] <= 1e-12 < 1e-6 < rises[1]

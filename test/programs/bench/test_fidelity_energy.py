# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Energy of every step: T(v+) - T(v_free) <= sum p_n v_push + 1e-10 T, and what the certificate says of it.

Covers programs/bench/fidelity/energy.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.constraints.flat_manifolds import SAME_GAP
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import Ground, Pose, Primitive
from mb_contact.programs.bench.fidelity.energy import motion_of, random_scene, run_scene, setting_of

G = 9.81


@pytest.mark.parametrize("seed, seconds", [
    *((seed, 10.0) for seed in range(20)),
    *((seed, 1.0) for seed in range(20, 24)),
    *(pytest.param(seed, 10.0, marks=pytest.mark.slow) for seed in range(20, 24)),  # from event to event
])
def test_no_step_of_a_passive_scene_gains_energy(seed, seconds):
    """Bodies that tumble onto the ground, walls, limp chains at their limits.

    Four scenes each, pyramids and the cone: Euler with restitution 0, 0.5 and 0.8, rk4, midpoint with 0.3,
    and from event to event with 0.3.
    """
    result = run_scene(seed, seconds, 2e-3)
    assert result.excess <= 1e-10
    assert result.touched > 0.5 * result.steps
    assert result.residual <= 1e-7  # of a few steps on the pyramid that end over budget, 2.3e-8 with seed 9
    assert result.gained <= 1e-10
    assert (result.impacts > 0) == (motion_of(seed, 2e-3)[1] > 0.0)


def kinetic(sim, q, v):
    """Kinetic energy of free bodies, by hand."""
    tree, total = sim.world.tree, 0.0
    for k in range(len(tree.parent)):
        R = quat_to_matrix(q[7 * k + 3 : 7 * k + 7])
        w, u = R.T @ v[6 * k : 6 * k + 3], v[6 * k + 3 : 6 * k + 6]
        total += 0.5 * w @ tree.inertia[k] @ w + 0.5 * tree.mass[k] * u @ u
    return total


def free_velocity(sim, q, v):
    """Velocity after a step without contact: Newton and Euler, explicitly."""
    tree, dt, out = sim.world.tree, sim.time_step, v.copy()
    for k in range(len(tree.parent)):
        R = quat_to_matrix(q[7 * k + 3 : 7 * k + 7])
        inertia = R @ tree.inertia[k] @ R.T
        w = v[6 * k : 6 * k + 3]
        out[6 * k : 6 * k + 3] -= dt * np.linalg.solve(inertia, np.cross(w, inertia @ w))
        out[6 * k + 5] -= dt * G
    return out


@pytest.mark.parametrize("seed", [s for s in range(30) if not random_scene(s, setting_of(s, 1e-3)).scene.models][:4])
def test_contact_energy_is_what_the_impulses_add(seed):
    """Against T(v+) - T(v_free) by hand; and the push-out energy from the reported gaps and impulses."""
    sim = random_scene(seed, setting_of(seed, 2e-3))
    pressed = 0
    for _ in range(500):
        q, v = sim.q, sim.v
        step = sim.step()
        c = step.certificate
        want = kinetic(sim, q, sim.v) - kinetic(sim, q, free_velocity(sim, q, v))
        assert c.contact_energy == pytest.approx(want, abs=1e-9 * max(1.0, kinetic(sim, q, v)))
        assert c.kinetic_energy == pytest.approx(kinetic(sim, sim.q, sim.v), rel=1e-12, abs=1e-15)
        gap = step.contacts["gap"]
        push = np.where(gap < 0.0, np.minimum(-0.2 * gap / sim.time_step, 0.1), 0.0)
        met = sim.context.need.rolls[: len(gap)] == 0  # along a normal of later, along which they overlap at the start
        push += np.where(met, np.maximum(-sim.context.work.gap_shift[: len(gap)], 0.0), 0.0) / sim.time_step
        normal = np.einsum("ij,ij->i", step.contacts["impulse"], step.contacts["normal"])
        bound = float(normal @ push)
        noise = normal.sum() * SAME_GAP / sim.time_step  # by which offsets of one face are made to agree
        asked, frames = sim.context.work.asked_slip[: len(gap)], sim.context.frames
        for along, t in zip(asked.T, (frames.t1, frames.t2)):  # the slip that friction asks for
            bound -= float(np.einsum("ij,ij->i", step.contacts["impulse"], t[: len(gap)]) @ along)
        assert c.push_out_energy == pytest.approx(bound, abs=1e-12 + noise)
        pressed += c.contact_energy < 0.0
    assert pressed > 50


def test_a_step_pushed_out_may_gain_what_the_push_gives():
    """A ball that starts 5 mm inside the ground: it rises at the push-out velocity, by that energy and no more."""
    ball = Primitive("ball", "sphere", (0.1,), Pose((0, 0, 0.095)), "free", 2.0)
    scene = mb.Scene(primitives=(ball,), ground=Ground(), gravity=(0.0, 0.0, 0.0))
    c = mb.Simulator(scene).step().certificate
    assert c.contact_energy == pytest.approx(0.5 * 2.0 * 0.1**2) and c.push_out_energy == pytest.approx(2.0 * 0.1**2)

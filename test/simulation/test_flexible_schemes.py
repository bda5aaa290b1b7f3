# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Flexible links under what else a scene can ask for: the event scheme, prescribed motions, saved states, worlds."""

import dataclasses

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Motion
from scenes.flexible_robots import DENSITY, YOUNG, joint, strip

LENGTH, WIDTH, HEIGHT = 0.5, 0.02, 0.004
STIFF, LINE = YOUNG * WIDTH * HEIGHT**3 / 12.0, DENSITY * WIDTH * HEIGHT


def finger(spec, restitution=0.0, speed=0.0, **settings):
    """A strip on a slide along -z with a ball at its end, above a table that stands still."""
    ball = '<collision><geometry><sphere radius="0.01"/></geometry></collision>'
    urdf = (
        f'<robot name="finger"><link name="wall"/><link name="finger"/><link name="pad">{ball}</link>'
        + joint("slide", "wall", "finger", "prismatic", "0 0 0.0105", "0 0 -1")
        + joint("glue", "finger", "pad", "fixed", f"{LENGTH} 0 0")
        + "</robot>"
    )
    robot = mb.model.SceneModel(
        urdf, flexible_links={"finger": spec}, velocities={"slide": speed}, materials=mb.model.ModelMaterials("plain")
    )
    plain = {"plain": mb.model.Material(0.0, restitution=restitution)}
    made = {"materials": plain, "ground": mb.model.Ground(material="plain"), "gravity": (0.0, 0.0, 0.0), **settings}
    return mb.Scene(models=(robot,), **made)


def flap(damping_ratio=0.0, **keys):
    """Only bending along z, without shortening."""
    beam = strip(LENGTH, motions=("bending_z",), stiffening=False, **keys)
    return mb.model.FlexibleLink(beam=beam, damping_ratio=damping_ratio)


def test_the_event_scheme_keeps_the_energy_of_bounces():
    """Restitution 1: every impact at its time, the energy of slide and modes as before; the ball never goes in."""
    sim = mb.Simulator(finger(flap(modes=2), 1.0, 0.5, collision_scheme="event", time_step=1e-4))
    energy, impacts, deepest = sim.energy(), 0, 1.0
    for _ in range(150):
        step = sim.step()
        impacts += len(step.events)
        deepest = min(deepest, sim.link_pose("pad")[0][2])
    assert impacts >= 2 and deepest > 0.01 - 1e-7
    assert sim.energy() == pytest.approx(energy, rel=1e-6)


def test_a_strip_whose_root_is_driven_bends_as_a_uniform_load_says():
    """Prescribed constant acceleration a of the slide: w = rho A a L^4 / (8 E I) at the end, against a."""
    a, times = 0.5, np.linspace(0.0, 3.0, 31)  # the spline ends at rest, far from where the strip is looked at
    made = finger(flap(damping_ratio=0.3, modes=6), time_step=5e-4)
    motion = Motion(joint="slide", times=tuple(times), positions=tuple(-0.5 * a * times**2))
    sim = mb.Simulator(dataclasses.replace(made, motions=(motion,)))
    for _ in range(1600):
        sim.step()
    t = sim.time
    assert sim.joint_positions()[0] == pytest.approx(-0.5 * a * t**2, abs=1e-7)
    bent = sim.link_pose("pad")[0][2] - sim.link_pose("finger")[0][2]
    assert bent == pytest.approx(-LINE * a * LENGTH**4 / (8.0 * STIFF), rel=1e-3)


@pytest.mark.parametrize("settings", [{}, {"collision_scheme": "event"}, {"integrator": "rk4"}])
def test_a_restored_run_goes_on_bit_for_bit(settings):
    """From a state between bounces, and after a reset from the start."""
    sim = mb.Simulator(finger(flap(modes=2), 0.7, 0.5, time_step=1e-4, **settings))
    for _ in range(40):
        sim.step()
    start, runs = sim.save(), []
    for _ in range(2):
        for _ in range(40):
            sim.step()
        runs.append(np.concatenate((sim.q, sim.v)))
        sim.restore(start)
    np.testing.assert_array_equal(*runs)
    sim.reset()
    for _ in range(80):
        sim.step()
    np.testing.assert_array_equal(np.concatenate((sim.q, sim.v)), runs[0])


def test_worlds_with_contacts_and_impacts_move_as_simulators():
    """What environments are made of: each world from a state of its own."""
    made = finger(flap(modes=2), 0.7, 0.5, time_step=1e-4)
    worlds, sims = mb.Worlds(made, 2), [mb.Simulator(made) for _ in range(2)]
    q = worlds.q.copy()
    q[1, 1] += 1e-3
    worlds.reset(states=(q, worlds.v.copy()))
    sims[1].set_state(q[1], sims[1].v)
    worlds.step(steps=60)
    for world, sim in enumerate(sims):
        for _ in range(60):
            sim.step()
        np.testing.assert_array_equal(worlds.q[world], sim.q)

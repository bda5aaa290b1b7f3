# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps under every integrator: contact forces held through stages, saved states, energy in the books, refusals."""

from __future__ import annotations

import gc
import hashlib
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, SceneModel, Velocity
from mb_contact.studies.formulations.scene_step import FormulationStep
from scenes.moving_systems import (
    FRICTION_MODELS,
    INTEGRATORS,
    SMOOTH,
    G,
    chain,
    machine,
    run,
    simulator,
    spinning_body,
)


def on_ground(body, integrator, gravity=(0.0, 0.0, -G), mu=0.5, **options):
    body = Primitive(**{**vars(body), "material": "stuff"})
    return mb.Simulator(
        Scene(primitives=(body,), ground=Ground(material="stuff"), materials={"stuff": Material(mu)}, gravity=gravity,
              integrator=integrator, **options)
    )  # fmt: skip


def slope(angle):
    """Gravity of a slope falling towards x, for a level ground."""
    return (G * np.sin(angle), 0.0, -G * np.cos(angle))


@pytest.mark.parametrize("integrator", SMOOTH)
def test_a_block_stays_on_a_ramp(integrator):
    """Gravity and the held contact forces cancel in every stage."""
    block = Primitive("block", "box", (0.2, 0.2, 0.1), Pose((0.0, 0.0, 0.05)), "free", 1.0)
    sim = on_ground(block, integrator, slope(np.radians(20.0)))
    start = sim.q
    run(sim, 2.0)
    assert np.abs(sim.q - start).max() < 1e-9


@pytest.mark.parametrize("integrator", SMOOTH)
def test_a_block_slides_down_as_coulomb_says(integrator):
    block = Primitive("block", "box", (0.2, 0.2, 0.1), Pose((0.0, 0.0, 0.05)), "free", 1.0)
    sim = on_ground(block, integrator, slope(np.radians(35.0)))
    step = run(sim, 1.0)
    a = G * (np.sin(np.radians(35.0)) - 0.5 * np.cos(np.radians(35.0)))
    assert sim.v[3] == pytest.approx(a, abs=1e-6) and sim.q[0] == pytest.approx(a / 2, abs=2e-3)
    assert abs(step.certificate.energy_balance) < 1e-10


@pytest.mark.parametrize("integrator", SMOOTH)
def test_a_sphere_rolls_down_without_sinking(integrator):
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 0.1)), "free", 1.0)
    sim = on_ground(ball, integrator, slope(np.radians(20.0)))
    run(sim, 1.0)
    a = 5.0 / 7.0 * G * np.sin(np.radians(20.0))
    assert sim.v[3] == pytest.approx(a, abs=1e-6)
    assert sim.v[3] == pytest.approx(0.1 * sim.v[1], abs=1e-9)
    assert sim.q[0] == pytest.approx(a / 2, abs=1e-6)  # the motion between the contacts is exact too
    assert sim.q[2] == pytest.approx(0.1, abs=1e-6)


# --- state ------------------------------------------------------------------------------------------


def scene_with_everything(integrator, friction_model):
    """A robot that swings into a box, which slides over the ground."""
    box = Primitive("box", "box", (0.2, 0.2, 0.1), Pose((0.3, 0.1, 0.049), (0.0, 0.0, 0.2)), "free", 1.0,
                    velocity=Velocity(linear=(0.5, 0.1, 0.0)))  # fmt: skip
    model = SceneModel(chain("revolute", "continuous", "prismatic"), pose=Pose((0.0, 0.0, 2.0)))
    return Scene(models=(model,), primitives=(box,), ground=Ground(), integrator=integrator,
                 materials={}, friction_model=friction_model)  # fmt: skip


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("friction_model", FRICTION_MODELS)
def test_saved_and_restored_it_goes_on_bit_for_bit(integrator, friction_model):
    sim = mb.Simulator(scene_with_everything(integrator, friction_model))
    effort = np.array([3.0, -1.0, 0.5])
    run(sim, 0.02, effort)
    sim.step(effort, time_step=0.0007)
    sim.set_gravity((0.1, 0.0, -5.0))
    saved = sim.save()

    def go_on():
        for dt in (None, 0.0005, None, 0.002, 0.001):
            step = sim.step(effort, time_step=dt)
        return sim.q, sim.v, sim.time, step.certificate, step.contacts["impulse"].tobytes()

    first = go_on()
    sim.reset()
    run(sim, 0.003)
    sim.restore(saved)
    second = go_on()
    assert first[0].tobytes() == second[0].tobytes() and first[1].tobytes() == second[1].tobytes()
    assert first[2:] == second[2:]
    assert tuple(sim.gravity) == (0.1, 0.0, -5.0)
    sim.reset()
    assert tuple(sim.gravity) == (0.0, 0.0, -9.81) and sim.time == 0.0


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_steps_of_different_lengths_follow_the_same_motion(integrator):
    sims = [mb.Simulator(spinning_body(spin=(1.0, 2.0, 0.3), integrator=integrator)) for _ in range(2)]
    run(sims[0], 0.4)
    for i in range(400):
        sims[1].step(time_step=0.0005 if i % 2 else 0.0015)
    assert sims[1].time == pytest.approx(0.4, abs=1e-12)
    bound = {"semi_implicit_euler": 2e-3, "midpoint": 1e-6}.get(integrator, 1e-9)
    assert np.abs(sims[0].q - sims[1].q).max() < bound


def test_time_is_exact_with_steps_of_one_length():
    sim = mb.Simulator(spinning_body())
    for _ in range(1000):
        sim.step(time_step=0.001)
    assert sim.time == 1000 * 0.001 and sim.step_count == 1000
    sim.step(time_step=0.25)
    assert sim.time == 1.25 and sim.step_count == 1001
    sim.step()
    assert sim.time == 1.25 + 0.001


@pytest.mark.parametrize("time_step", [0.0, -0.001, np.inf, np.nan, "long"])
def test_impossible_steps_are_refused(time_step):
    sim = mb.Simulator(spinning_body())
    with pytest.raises(mb.InputError, match="time_step"):
        sim.step(time_step=time_step)
    assert sim.time == 0.0 and sim.step_count == 0


def test_changing_gravity_counts_as_work():
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 5.0)), "free", 2.0)
    sim = mb.Simulator(Scene(primitives=(ball,), integrator="rk4"))
    run(sim, 0.1)
    sim.set_gravity((0.0, 0.0, 3.0))
    v = sim.v[5]
    step = run(sim, 0.1)
    assert sim.v[5] == pytest.approx(v + 0.3, abs=1e-12)
    assert abs(step.certificate.energy_balance) < 1e-10
    with pytest.raises(mb.InputError, match="gravity"):
        sim.set_gravity((0.0, np.nan, 0.0))
    assert tuple(sim.gravity) == (0.0, 0.0, 3.0)


@pytest.mark.parametrize("integrator", SMOOTH)
def test_work_of_everything_is_in_the_books(integrator):
    """Efforts, damping and a wrench: what the energy gains beside their work is the integrator's error."""
    sim = simulator(machine("spherical", "revolute", "continuous", damping=0.1, integrator=integrator))
    sim.set_external_wrench("l3", (0.3, 0.1, -0.2, 1.0, 2.0, -1.0))
    start = sim.energy()
    step = run(sim, 0.5, (2.0, -0.5))
    assert abs(sim.energy() - start) > 0.1
    assert abs(step.certificate.energy_balance) < 1e-8


def test_other_formulations_keep_to_their_own_integrator():
    with pytest.raises(mb.SceneError, match="integrator: 'rk4' needs the usual steps"):
        scene = spinning_body(integrator="rk4", friction_model="coulomb_polyhedral")
        mb.Simulator(scene, step=partial(FormulationStep, formulation="rmc"))


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("friction_model", FRICTION_MODELS)
def test_impulses_never_add_more_than_the_push_out_allows(integrator, friction_model):
    """T(v+) - T(v_free) <= sum p_n v_push + 1e-10 T, where the impulses are solved."""
    sim = mb.Simulator(scene_with_everything(integrator, friction_model))
    touched = 0
    for _ in range(300):
        c = sim.step((3.0, -1.0, 0.5)).certificate
        touched += c.contacts > 0
        assert c.contact_energy <= c.push_out_energy + 1e-10 * c.kinetic_energy + 1e-14
    assert touched > 250


# --- the same bits, and no leaks ---------------------------------------------------------------------


SAME = """
import runpy, sys
sys.path.insert(0, {tests!r})
print(runpy.run_path({file!r})["fingerprint"]())
"""


def fingerprint():
    """Bits of the state after some steps under every integrator."""
    text = []
    for integrator in INTEGRATORS:
        sim = mb.Simulator(scene_with_everything(integrator, "coulomb_polyhedral"))
        run(sim, 0.05, np.array([3.0, -1.0, 0.5]))
        text.append(hashlib.sha256(sim.q.tobytes() + sim.v.tobytes()).hexdigest())
    return " ".join(text)


def test_two_processes_come_to_the_same_bits():
    here = Path(__file__).resolve()
    code = SAME.format(file=str(here), tests=str(here.parents[1]))
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == fingerprint().split()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_many_steps_leave_no_memory_behind(integrator):
    sim = mb.Simulator(scene_with_everything(integrator, "coulomb_polyhedral"))
    tracemalloc.start()
    kept = []
    for _ in range(2):  # caches of Python and NumPy fill in the first round
        for _ in range(1500):
            sim.step(time_step=0.0009)
            sim.restore(sim.save())
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert kept[1] - kept[0] < 60_000  # one small object left by each step would be 84 kB


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_step_that_runs_away_changes_nothing(integrator):
    sim = simulator(machine("continuous", "continuous", integrator=integrator))
    run(sim, 0.01)
    q, v = sim.q, sim.v
    with pytest.raises(mb.DynamicsError):
        sim.step((1e308, -1e308), time_step=1e10)
    assert (sim.q == q).all() and (sim.v == v).all()
    assert sim.time == pytest.approx(0.01)
    sim.step()


@pytest.mark.parametrize("tolerance, bound", [("1e-20", "at least 1e-13"), ("0.02", "at most 0.01")])
def test_a_tolerance_below_rounding_or_beyond_sense_is_refused(tmp_path, tolerance, bound):
    scene = tmp_path / "scene.yaml"
    scene.write_text(f"integrator: adaptive\nintegrator_tolerance: {tolerance}\n")
    with pytest.raises(mb.SceneError, match=f"integrator_tolerance.*{bound}"):
        mb.load_scene(scene)
    with pytest.raises(mb.SceneError, match=f"integrator_tolerance.*{bound}"):
        mb.build_world(mb.Scene(integrator="adaptive", integrator_tolerance=float(tolerance)))


# --- what is reached fast ----------------------------------------------------------------------------


@pytest.mark.parametrize("friction_model", ["coulomb_polyhedral", "coulomb_cone"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_dropped_ball_does_not_sink(integrator, friction_model):
    """Without restitution, from 1 m: an impact of its own stops it, held impulses would let it sink by v dt / 2."""
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 1.1)), base="free", mass=1.0)
    sim = mb.Simulator(
        Scene(primitives=(ball,), ground=Ground(), integrator=integrator, friction_model=friction_model)
    )
    deepest = 0.0
    for _ in range(600):
        deepest = max(deepest, sim.step().certificate.penetration)
    assert deepest < 5e-5
    assert np.abs(sim.v).max() < 1e-9


@pytest.mark.parametrize("scheme", ["time_stepping", "event"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_joint_limit_is_inelastic_at_speed(integrator, scheme):
    """A slide at 5 m/s stops at the end of its range or, where impulses are held, up to a step before it."""
    text = (
        '<robot name="r"><link name="base"/><link name="cart"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="0.5" effort="10" velocity="10"/></joint></robot>'
    )
    cart = SceneModel(text, velocities={"slide": 5.0})
    sim = mb.Simulator(Scene(models=(cart,), integrator=integrator, collision_scheme=scheme))
    for _ in range(200):
        step = sim.step()
        assert sim.q[0] < 0.5 + 1e-6
    assert abs(sim.v[0]) < 1e-9 and sim.q[0] > 0.5 - 5.0 * sim.time_step
    assert abs(step.certificate.energy_balance) < 1e-9


@pytest.mark.parametrize("links, dt", [(5, 0.03), (30, 0.01)])
def test_a_slow_fixed_point_is_not_halved(links, dt):
    """The iteration alone took two pieces in each first step; energy is kept to rounding."""
    sim = mb.Simulator(replace(mb.pendulum(links, "j14").scene(integrator="midpoint"), time_step=dt))
    velocity = np.zeros(sim.v.size)
    velocity[0], velocity[-1] = 3.0, 20.0
    sim.set_state(sim.q, velocity)
    certificate = sim.step().certificate
    assert sim.context.flow_arrays.count[0] == 1
    assert abs(certificate.energy_balance) <= 1e-11 * certificate.kinetic_energy


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint", "rk4", "adaptive"])
def test_the_first_step_needs_no_warm_up(integrator):
    """Without ``warm_up`` the energies at the start were not known, and steps by flows refused their first."""
    ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=1.0)
    scene = mb.Scene(primitives=(ball,), integrator=integrator)
    cold, warm = mb.Simulator(scene, warm_up=False), mb.Simulator(scene)
    cold.step()
    warm.step()
    assert (cold.q == warm.q).all() and (cold.v == warm.v).all()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Every formulation steps a scene, and comes to what OS comes to."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, SceneModel, Velocity
from mb_contact.studies.formulations.catalogue import FORMULATIONS
from mb_contact.studies.formulations.scene_step import FormulationStep

OTHERS = [name for name in FORMULATIONS if name != "os"]


def sliding_box(friction, **settings):
    """A box that is thrown onto the ground and slides."""
    box = Primitive("box", "box", (0.3, 0.2, 0.1), Pose((0.0, 0.0, 0.0502)), "free", 2.0, material="wood",
                    velocity=Velocity((0.0, 0.0, 0.5), (0.6, 0.2, -0.1)))  # fmt: skip
    return Scene(primitives=(box,), ground=Ground(0.0, "wood"), materials={"wood": Material(friction)}, **settings)


def skidding_ball():
    """A ball that is thrown onto the ground without spin."""
    at, velocity = Pose((0.0, 0.0, 0.1005)), Velocity((0.0, 0.0, 0.5), (1.0, 0.3, -0.1))
    ball = Primitive("ball", "sphere", (0.1,), at, "free", 1.0, velocity=velocity)
    return Scene(primitives=(ball,), ground=Ground())


def limited_arm():
    """A double pendulum that swings into a joint limit and onto the ground."""
    links = "".join(
        f'<link name="{n}"><inertial><origin xyz="0 0 -0.25"/><mass value="1"/><inertia ixx="0.02" iyy="0.02"'
        f' izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0 0 -0.5"/>'
        f'<geometry><sphere radius="0.05"/></geometry></collision></link>' for n in "ab"
    )
    urdf = (
        f'<robot name="arm"><link name="base"/>{links}'
        '<joint name="j0" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>'
        '<dynamics damping="0.05"/></joint>'
        '<joint name="j1" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 -0.5"/>'
        '<axis xyz="0 1 0"/><limit lower="-0.3" upper="0.3" effort="10" velocity="100"/></joint></robot>'
    )
    start = {"joints": {"j0": 0.5, "j1": 0.25}, "velocities": {"j0": -4.0, "j1": 1.0}}
    arm = SceneModel(urdf, name="arm", pose=Pose((0.0, 0.0, 1.02)), **start)
    return Scene(models=(arm,), ground=Ground())


def simulator(scene, formulation, solver="auto"):
    """Simulator that steps a scene by a formulation."""
    step = partial(FormulationStep, formulation=formulation, solver=solver)
    return mb.Simulator(replace(scene, friction_model="coulomb_polyhedral"), step=step)


def run(scene, steps, *formulation):
    """States, impulses and certificates of a scene."""
    sim = simulator(scene, *formulation) if formulation else mb.Simulator(scene)
    out = [sim.step() for _ in range(steps)]
    return sim, out


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("make", [lambda: sliding_box(0.0), skidding_ball, limited_arm])
def test_steps_are_those_of_os(name, make):
    """Where the solution is unique."""
    scene = replace(make(), friction_model="coulomb_polyhedral")
    usual, expected = run(scene, 120)
    sim, steps = run(scene, 120, name)
    assert sum(s.certificate.contacts > 0 for s in steps) > 20
    assert max(s.certificate.residual for s in steps) <= 1e-8
    assert all(s.certificate.solver != "best_residual" for s in steps)
    assert sim.q == pytest.approx(usual.q, abs=1e-8) and sim.v == pytest.approx(usual.v, abs=1e-7)
    for ours, theirs in zip(steps[::10], expected[::10]):
        assert ours.contacts["impulse"].sum(axis=0) == pytest.approx(theirs.contacts["impulse"].sum(axis=0), abs=1e-8)
        assert ours.certificate.energy == pytest.approx(theirs.certificate.energy, abs=1e-7)


@pytest.mark.parametrize("solver, said", [("lemke", {"none", "lemke"}), ("newton", {"none", "newton"})])
@pytest.mark.parametrize("name", ["os", "nmc"])
def test_a_formulation_takes_a_solver_of_choice(name, solver, said):
    scene = replace(limited_arm(), friction_model="coulomb_polyhedral")
    usual, _ = run(scene, 120)
    sim, steps = run(scene, 120, name, solver)
    assert {s.certificate.solver for s in steps} <= said and len({s.certificate.solver for s in steps}) > 1
    assert max(s.certificate.residual for s in steps) <= 1e-8
    assert sim.q == pytest.approx(usual.q, abs=1e-8) and sim.v == pytest.approx(usual.v, abs=1e-7)


def test_a_chosen_solver_has_pyramids():
    assert mb.Scene(solver="lemke").friction_model == "coulomb_polyhedral" and not mb.Scene().pivots
    with pytest.raises(mb.SceneError, match="lemke solves problems of friction_model coulomb_polyhedral"):
        mb.Simulator(replace(skidding_ball(), solver="lemke"))


@pytest.mark.parametrize("name", OTHERS)
def test_steps_solve_the_problem_of_os(name):
    """Four corners with friction share one weight in many ways, so only the residuals must agree."""
    sim, steps = run(sliding_box(0.8), 100, name)
    assert max(s.certificate.residual for s in steps) <= 1e-9
    assert np.abs(sim.v).max() <= 1e-9 and sim.q[2] == pytest.approx(0.05, abs=1e-4)


def test_nmc_keeps_hinges_closed():
    """Every step starts from joint coordinates: the pendulum stays one, and finds its height again."""
    chain = mb.pendulum(4, "first_impact", floor=-20.0, wall=50.0)
    usual, _ = run(chain.scene(), 100)
    sim, _ = run(chain.scene(), 100, "nmc")
    assert sim.q == pytest.approx(usual.q, abs=1e-9) and sim.v == pytest.approx(usual.v, abs=1e-9)


def bouncing_ball(**settings):
    """A ball that falls from 1 m onto the ground, with a restitution of 0.5."""
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 1.1)), "free", 1.0, material="steel")
    return Scene(primitives=(ball,), ground=Ground(0.0, "steel"), materials={"steel": Material(0.5, restitution=0.5)},
                 **settings)  # fmt: skip


def bouncing_pendulum(**settings):
    """Twelve links whose last but one meets the floor after 1.389 s, with a restitution of 0.5."""
    scene = mb.pendulum(12, "first_impact").scene(**settings)
    return replace(scene, materials={key: replace(m, restitution=0.5) for key, m in scene.materials.items()})


def beside_os(make, name, start, steps):
    """Heights by a formulation behind the start [s], from where it has stepped as OS has."""
    usual, sim = mb.Simulator(make()), simulator(make(), name)
    while usual.time < start:
        usual.step()
    sim.set_state(usual.q, usual.v)
    heights, events = [], []
    for _ in range(steps):
        events += usual.step().events
        step = sim.step()
        assert step.certificate.residual <= 1e-10
        heights.append(sim.q[2])
    assert len(events) >= 1
    assert sim.q == pytest.approx(usual.q, abs=1e-12) and sim.v == pytest.approx(usual.v, abs=1e-10)
    return heights


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("make, start", [(bouncing_ball, 0.45), (bouncing_pendulum, 1.388)])
def test_impacts_happen_at_their_time_within_the_step(name, make, start):
    beside_os(make, name, start, 4)


def test_a_ball_comes_back_to_a_quarter_of_its_height():
    """With impacts at the start of a step it comes to 0.2484 m."""
    heights = beside_os(bouncing_ball, "rmc", 0.45, 230)
    assert max(heights[20:]) - 0.1 == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("make", [bouncing_ball, bouncing_pendulum])
def test_the_problem_behind_an_impact_is_the_step_s(make):
    """``next_step_problem`` poses the rows as the impact has moved them, and starts from the velocities it leaves."""
    sim = mb.Simulator(make())
    before = sim.save()
    while not sim.step().events:
        before = sim.save()
    sim.restore(before)
    problem = mb.studies.next_step_problem(sim)
    assert sim.step().events and problem.n_u > 0
    for name in OTHERS:
        assert mb.studies.formulate(problem, name).solve().v_next == pytest.approx(sim.v, abs=1e-9)


def test_a_step_of_another_length_is_posed_as_such():
    ball = replace(skidding_ball(), friction_model="coulomb_polyhedral")
    usual, sim = mb.Simulator(ball), simulator(ball, "nmc")
    for _ in range(30):
        usual.step(time_step=4e-4)
        sim.step(time_step=4e-4)
    assert len(usual.step().contacts) and usual.v[3] != 0.0
    sim.step()
    assert sim.q == pytest.approx(usual.q, abs=1e-12) and sim.v == pytest.approx(usual.v, abs=1e-11)


def test_the_formulation_itself_is_at_hand():
    """A step of NMC solves NMC's own problem, of its own size."""
    sim, _ = run(sliding_box(0.4, friction_directions=4), 5, "nmc")
    solution = sim.last_formulation
    assert solution.formulation == "nmc" and solution.solved
    assert solution.size == 6 + len(sim.step().contacts) * 6
    usual, _ = run(sliding_box(0.4), 1)
    assert usual.last_formulation is None


@pytest.mark.parametrize("model", ["coulomb_cone", "viscous", "no_slip", "coulomb_viscous"])
def test_other_friction_models_are_refused(model):
    with pytest.raises(mb.SceneError, match="nmc has friction_model coulomb_polyhedral only"):
        mb.Simulator(sliding_box(0.4, friction_model=model), step=partial(FormulationStep, formulation="nmc"))


@pytest.mark.parametrize("change, message", [
    ({"sleep": True}, "sleep: is for the usual steps; leave it out where a step is handed in"),
    ({"solver": "lemke"}, "solver: is for the usual steps"),
    ({"collision_scheme": "event"}, "'event' needs the usual steps"),
])
def test_what_the_steps_of_a_study_do_not_know_is_refused(change, message):
    with pytest.raises(mb.SceneError, match=message):
        simulator(sliding_box(0.4, **change), "nmc")


def test_wrong_formulations_and_solvers_are_refused():
    with pytest.raises(mb.InputError, match="there is no formulation 'magic'; choose one of nmc, mc, rmc, os"):
        simulator(sliding_box(0.4), "magic")
    with pytest.raises(mb.InputError, match="there is no solver 'ppm' of a formulation"):
        simulator(sliding_box(0.4), "nmc", "ppm")
    assert np.isfinite(simulator(sliding_box(0.4), "hybrid").step().certificate.energy)


def test_a_state_belongs_to_its_kind_of_steps():
    state, other = mb.Simulator(sliding_box(0.4, friction_model="coulomb_polyhedral")).save(), sliding_box(0.4)
    with pytest.raises(mb.InputError, match="steps"):
        simulator(other, "nmc").restore(state)

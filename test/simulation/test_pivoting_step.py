# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scene key ``solver`` with D15's solvers: modified PPM, active sets, Lemke.

Covers core/lcp/robust_lemke.py, core/solve/equality_rows.py, core/solve/modified_ppm.py, core/step/by_pivots.py,
solvers/active_set.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.lcp.robust_lemke import make_lemke_work, robust_lemke
from mb_contact.model.scene import Gear, Ground, JointProperties, Material, Pose, Primitive, Scene, SceneModel, Velocity
from scenes.loop_cases import hinge

SOLVERS = ("ppm", "active_set", "lemke")


def thrown_box(model, **settings):
    """A box that falls flat, turning, onto the ground and slides: four redundant contacts."""
    at, velocity = Pose((0.0, 0.0, 0.052)), Velocity((0.0, 0.0, 0.7), (0.6, 0.2, -0.1))
    box = Primitive("box", "box", (0.3, 0.2, 0.1), at, "free", 2.0, material="wood", velocity=velocity)
    materials = {"wood": Material(0.5, viscous=8.0)}
    return Scene(primitives=(box,), ground=Ground(0.0, "wood"), materials=materials, friction_model=model, **settings)


def geared_arm(model):
    """Two links on hinges that are geared, one with a limit, whose tips come to the ground."""
    links = "".join(
        f'<link name="{n}"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.02" izz="0.02"/></inertial>'
        '<collision><origin xyz="0.4 0 0"/><geometry><sphere radius="0.05"/></geometry></collision></link>'
        for n in "ab"
    )
    limits = '<limit lower="-0.5" upper="0.9" effort="10" velocity="9"/>'
    text = (
        f'<robot name="arm"><link name="base"/>{links}{hinge("j0", "base", "a", 0, "0 1 0", limits, "revolute")}'
        f'{hinge("j1", "base", "b", 0.3, "0 1 0", limits, "revolute")}</robot>'
    )
    robot = SceneModel(text, pose=Pose((0.0, 0.0, 0.1)))
    materials = {"default": Material(0.0, viscous=3.0)}
    return Scene(models=(robot,), ground=Ground(), gears=(Gear("j1", "j0", 0.5),), friction_model=model,
                 materials=materials)  # fmt: skip


def states(scene, steps):
    sim = mb.Simulator(scene)
    out = []
    for _ in range(steps):
        certificate = sim.step().certificate
        assert certificate.residual <= 1e-8 and certificate.solver != "over_budget"
        out.append(np.concatenate((sim.q, sim.v)))
    return np.array(out), certificate


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("model", ["no_slip", "viscous"])
@pytest.mark.parametrize("make", [thrown_box, geared_arm])
def test_steps_are_those_of_the_simulators_solver(make, model, solver):
    """Velocities are unique in both models."""
    usual, _ = states(make(model), 150)
    ours, certificate = states(replace(make(model), solver=solver), 150)
    np.testing.assert_allclose(ours, usual, atol=1e-8)
    assert certificate.solver == solver and certificate.contacts > 0


@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_flows_solve_again_where_they_end(integrator):
    """A ball, whose one contact leaves no choice of impulses."""
    scene = thrown_box("viscous", integrator=integrator)
    scene = replace(scene, primitives=(replace(scene.primitives[0], shape="sphere", size=(0.05,)),))
    usual, _ = states(scene, 60)
    for solver in SOLVERS:
        np.testing.assert_allclose(states(replace(scene, solver=solver), 60)[0], usual, atol=1e-8)


def test_viscous_friction_by_lemke_slows_a_block_down_as_the_formula_says():
    """Four corners of 8 N s/m: m dv/dt = -32 v, of a block that neither turns nor tips."""
    box = Primitive("box", "box", (0.4, 0.4, 0.02), Pose((0.0, 0.0, 0.01)), "free", 2.0, material="wood",
                    velocity=Velocity((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)))  # fmt: skip
    scene = replace(thrown_box("viscous", solver="lemke", time_step=1e-4), primitives=(box,))
    sim = mb.Simulator(scene)
    for _ in range(500):
        sim.step()
    assert sim.v[3] == pytest.approx(np.exp(-32.0 / 2.0 * 0.05), rel=1e-3)


def test_coulombs_pyramid_by_lemke_under_a_flow():
    """Where impulses are not unique the certificate decides: it is recomputed from the problem."""
    _, certificate = states(thrown_box("coulomb_polyhedral", solver="lemke", friction_directions=4), 150)
    assert certificate.solver == "lemke" and certificate.contacts == 4


def test_robust_lemke_solves_what_redundant_contacts_leave():
    """Ranks of three among up to forty unknowns; the residual is recomputed here."""
    random = np.random.default_rng(0)
    for n in (4, 12, 40):
        for _ in range(20):
            J = random.normal(size=(n, 3))
            M = J @ J.T
            q = J @ random.normal(size=3) + np.maximum(random.normal(size=n), 0.0) * (random.random(n) < 0.5)
            z, s = np.zeros(n), np.sqrt(np.diag(M))
            residual, _ = robust_lemke(M, q, s, n, 1e-9, make_lemke_work(n), z)
            w = M @ z + q
            assert np.abs(np.minimum(z * s, w / s)).max() == pytest.approx(residual, abs=1e-11)
            assert residual <= 1e-9


def test_squeezed_bodies_are_solved_without_push_out():
    """Welded walls that overlap a box from both sides ask it to go both ways."""
    walls = [Primitive(f"wall_{x}", "box", (0.1, 1.0, 1.0), Pose((x * 0.099, 0.0, 0.0))) for x in (-1, 1)]
    box = Primitive("box", "box", (0.1, 0.1, 0.1), Pose(), "free", 1.0)
    scene = Scene(primitives=(*walls, box), friction_model="no_slip", gravity=(0.0, 0.0, 0.0))
    for solver in ("ppm", "lemke"):
        certificate = mb.Simulator(replace(scene, solver=solver)).step().certificate
        assert certificate.solver == "no_push_out" and certificate.residual <= 1e-9


def test_what_a_solver_does_not_know_is_refused():
    with pytest.raises(mb.SceneError, match="solver: ppm solves problems of friction_model no_slip or viscous"):
        mb.Simulator(thrown_box("coulomb_polyhedral", solver="ppm"))
    with pytest.raises(mb.SceneError, match="coulomb_polyhedral, no_slip or viscous"):
        mb.Simulator(thrown_box("coulomb_cone", solver="lemke"))
    scene = replace(geared_arm("no_slip"), solver="ppm")
    rubbing = replace(scene.models[0], joint_properties={"j0": JointProperties(friction=1.0)})
    with pytest.raises(mb.SceneError, match="ppm does not know joint friction"):
        mb.Simulator(replace(scene, models=(rubbing,)))


def test_velocities_at_the_end_that_have_no_end_are_left_so():
    """A rod that spins under a box in steps of 20 ms: steps by pivots know no pieces, and go on."""
    bodies = (
        Primitive("rod", "capsule", (0.02, 0.6), Pose((0.0, 0.0, 0.05)), "free", 1.0),
        Primitive("box", "box", (0.3, 0.1, 0.05), Pose((0.0, 0.0, 0.2)), "free", 0.3),
    )
    sim = mb.Simulator(Scene(primitives=bodies, ground=Ground(), integrator="midpoint", solver="lemke", time_step=0.02))
    sim.set_state(sim.q, 8.0 * np.random.default_rng(6).normal(size=sim.v.size))
    for _ in range(25):
        sim.step()
    assert sim.time == pytest.approx(0.5) and np.isfinite(sim.q).all()

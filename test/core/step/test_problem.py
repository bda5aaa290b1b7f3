# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The step's contact problem: what jams is named with a proof, a budget bounds a step, mass ratios do not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Ground, Pose, Primitive, Scene, SceneModel
from paths import CONFIG


def tower(masses, side=0.2, **options):
    """Boxes on the ground, one on the other, the first one lowest."""
    boxes = tuple(
        Primitive(f"box_{i}", "box", (side, side, side), Pose((0.0, 0.0, (i + 0.5) * side)), "free", mass)
        for i, mass in enumerate(masses)
    )
    return Scene(primitives=boxes, ground=Ground(), **options)


def test_a_wedge_between_walls_is_named_and_proved():
    """No motion pushes eight corners out of two walls; unit impulses of the ray move nothing."""
    sim = mb.Simulator(CONFIG / "wedge.yaml")
    for _ in range(20):
        certificate = sim.step().certificate
        assert certificate.solver == "no_push_out" and certificate.residual <= 1e-10
        assert certificate.ray <= 1e-9 and certificate.ray_gain < 0.0


def test_what_is_solved_has_no_ray():
    sim = mb.Simulator(tower([1.0, 2.0]))
    for _ in range(20):
        certificate = sim.step().certificate
        assert certificate.solver in ("warm_start", "newton")
        assert (certificate.ray, certificate.ray_gain) == (0.0, 0.0)


@pytest.mark.parametrize("mass", [1e9, 1e10, 1e12])
@pytest.mark.parametrize("model", ["coulomb_cone", "coulomb_polyhedral"])
def test_a_heavy_box_on_a_light_one_rests(model, mass):
    """That mass on 1 kg: every step solved as far as impulses of 1e7 N s and more can be told apart, nothing sinks."""
    sim = mb.Simulator(tower([1.0, mass], friction_model=model))
    for _ in range(300):
        certificate = sim.step().certificate
        assert certificate.solver in ("warm_start", "newton") and certificate.residual <= 3e-17 * mass
    assert sim.link_pose("box_1")[0][2] == pytest.approx(0.3, abs=1e-6)


def test_a_small_budget_ends_a_step_with_an_honest_certificate():
    sim = mb.Simulator(tower([1.0, 2.0, 3.0]))
    for name, speed in (("box_0", 0.5), ("box_2", -0.7)):
        sim.set_object(name, velocity=np.array([0.0, 0.0, 1.0, speed, 0.1, 0.0]))
    sim.newton_budget = 1
    certificate = sim.step().certificate
    assert certificate.solver == "over_budget" and certificate.residual > 1e-10
    assert certificate.iterations <= 3  # one by nodes, one from zero, one by bodies
    assert np.isfinite(sim.q).all()


TURNTABLE = """<robot name="turntable"><link name="post"/><link name="plate"><inertial><origin xyz="0.05 0 0"/>
<mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.2 0.02"/></geometry></collision></link><joint name="turn" type="continuous">
<parent link="post"/><child link="plate"/><axis xyz="{} 0 1"/></joint></robot>"""


@pytest.mark.parametrize("tilt", [0.0, 1e-10, 8e-9])
def test_contacts_along_the_axis_of_a_hinge_do_not_brake_it(tmp_path, tilt):
    """The plate is 10 mm deep in the ground, which it cannot leave: over 1e8 N s of a tilt that is rounding held it."""
    path = tmp_path / "turntable.urdf"
    path.write_text(TURNTABLE.format(tilt))
    sim = mb.Simulator(Scene(models=(SceneModel(str(path)),), ground=Ground()))
    sim.set_state(sim.q, np.ones(1))
    for _ in range(3):
        certificate = sim.step().certificate
        assert certificate.contacts == 4 and certificate.residual <= 1e-10 and certificate.solver == "warm_start"
    assert sim.v[0] == pytest.approx(1.0, abs=1e-7)


DOOR = """<robot name="door"><link name="post"/><link name="door"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0.3 0 0"/>
<geometry><sphere radius="0.05"/></geometry></collision></link><joint name="hinge" type="continuous">
<parent link="post"/><child link="door"/><axis xyz="8e-9 0 1"/></joint></robot>"""


def test_friction_that_cannot_move_keeps_its_velocity_where_the_normal_moves(tmp_path):
    """A door strikes a wall; along the wall its handle moves by the tilt of the hinge alone, before and after."""
    (tmp_path / "door.urdf").write_text(DOOR)
    wall = Primitive("wall", "box", (0.2, 0.1, 0.2), Pose((0.3, 0.1, 0.0)))
    sim = mb.Simulator(Scene(models=(SceneModel(str(tmp_path / "door.urdf")),), primitives=(wall,)))
    sim.set_state(sim.q, np.ones(1))
    certificate = sim.step().certificate
    P, solution = sim.context.system, sim.context.solution
    source = P.source[:3]
    assert certificate.contacts == 1 and certificate.residual <= 1e-10 and abs(sim.v[0]) <= 1e-12
    assert P.immobile[:3].tolist() == [0, 0, 0] and np.abs(solution.q[source[1:]]).max() > 1e-10
    np.testing.assert_allclose(P.q[:3], solution.q[source], atol=0)
    np.testing.assert_allclose(solution.u[source], 0.0, atol=1e-12)


@pytest.mark.parametrize("seed, most", [(4, 1e-8), (10, 1e-9)])
def test_a_light_box_in_a_pile_of_heavy_ones_does_not_lose_its_solution(seed, most):
    """Boxes of 5 kg to 6e8 kg: a step solved from zero may end at 13, or at 4e-9 for 2e-10: then the first stays."""
    rng = np.random.default_rng(seed)
    masses, boxes = 10.0 ** rng.uniform(0, 9, size=rng.integers(2, 5)), []
    for i, mass in enumerate(masses):
        x, y = 0.05 * rng.standard_normal(2)
        pose = Pose((x, y, (i + 0.5) * 0.2), (0.0, 0.0, rng.uniform(0.0, 3.0)))
        boxes.append(Primitive(f"box_{i}", "box", (0.2, 0.2, 0.2), pose, "free", mass))
    sim = mb.Simulator(Scene(primitives=tuple(boxes), ground=Ground(), time_step=0.01))
    assert max(sim.step().certificate.residual for _ in range(25)) < most


def test_a_folded_chain_that_lands_is_solved_in_the_scale_of_its_compliances():
    """A contact of its fold gives way to 4e-6 along the normal: a start that solved it in the scale of friction only
    was told as a solution at 4e-10, in step 4050.
    """
    sim = mb.Simulator(mb.pendulum(30).scene())
    assert max(sim.step().certificate.residual for _ in range(4100)) <= 1e-10


def test_the_solver_is_asked_for_the_tolerance_that_was_set():
    sim = mb.Simulator(tower([1.0, 2.0, 3.0]))
    assert sim.solver_tolerance == 1e-10
    sim.solver_tolerance = 1e4  # any impulses will do: none
    sim.set_object("box_2", velocity=np.array([0.0, 0.0, 0.0, 0.1, 0.0, 0.0]))
    certificate = sim.step().certificate
    assert certificate.solver == "warm_start" and certificate.residual > 1e-3
    for wrong in (0.0, -1e-9, np.nan):
        with pytest.raises(mb.InputError, match="solver_tolerance"):
            sim.solver_tolerance = wrong
    assert sim.solver_tolerance == 1e4


def test_impulses_of_any_size_that_fulfil_the_laws_are_not_carried_on():
    """Walls may press a box by 1e7 N s from both sides for ever: beside that the weight of the box is rounding."""
    walls = [Primitive(f"wall_{x:+.0f}", "box", (0.2, 0.2, 0.2), Pose((0.2 * x, 0.0, 0.1))) for x in (-1, 1)]
    scene = tower([1.0, 1.0])
    sim = mb.Simulator(replace(scene, primitives=(*scene.primitives, *walls)))
    sim.step()
    memory = sim.context.memory
    beside = [k for k in range(memory.count[0]) if "wall" in "".join(sim.context.pair_links[memory.pair[k]])]
    assert len(beside) == 8
    memory.impulse[beside, 0] = 1e7
    step = sim.step()
    assert step.certificate.residual <= 1e-10 and np.abs(step.contacts["impulse"]).max() < 1.0

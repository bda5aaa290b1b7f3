# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps that fail change nothing, and states are saved, restored and reset to the bit."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene
from mb_contact.simulation.surfaces.simulator import simulator_of
from mb_contact.types import NOT_FINITE
from paths import ROOT
from scenes.whole_steps import bits, box_scene, lift_simulator, random_efforts

# --- steps that fail -------------------------------------------------------------------------------


def bouncing_box(**options):
    materials = {"rubber": Material(0.5, restitution=0.5)}
    box = Primitive("box", "box", (0.1, 0.1, 0.1), Pose((0, 0, 0.05)), "free", 1.0, material="rubber")
    return mb.Simulator(Scene(primitives=(box,), ground=Ground(0.0, "rubber"), materials=materials, **options))


@pytest.mark.parametrize("fails", ["raises", "status"])
def test_a_failed_step_changes_nothing(monkeypatch, fails):
    """Its impact is undone, and wrench, efforts and length are those before it.

    No input is known with which a step fails behind its impact: numbers that overflow are found before.
    """
    sim, other = bouncing_box(), bouncing_box()
    for each in (sim, other):
        each.set_state(each.q, [0, 0, 0, 0, 0, -2.0])
        each.set_external_wrench("box", (0, 0, 0, 1.0, 0, 0), duration=1.0)

    ours = sim.context.contact_step.solve

    def solve(handle):
        if sim.v[5] <= 0.0:  # not thrown back yet
            return ours(handle)
        if fails == "raises":
            raise mb.DynamicsError("no solution")
        return NOT_FINITE

    before = sim.save()
    length = sim.context.dt
    monkeypatch.setattr(sim.context.contact_step, "solve", solve)
    with pytest.raises(mb.DynamicsError):
        sim.step(time_step=2e-3)
    monkeypatch.undo()
    after = sim.save()
    assert (after.q == before.q).all() and (after.v == before.v).all() and after.effort.tolist() == [0.0] * 6
    assert after.wrench_end.tolist() == before.wrench_end.tolist() == [1.0]
    assert sim.context.dt == length
    assert bits(sim, [None] * 5) == bits(other, [None] * 5)
    assert sim.v[5] > 0.9  # thrown back


def test_the_command_of_a_failed_step_is_not_kept():
    sim = mb.Simulator("package://mb_contact/config/planar_reach.yaml")  # whose efforts have no limits
    for _ in range(2):  # the first step is taken in another way than those behind it
        sim.step([0.5, 0.5])
        before, length = sim.save(), sim.context.dt
        for effort, error in (([1e300, 0.0], mb.DynamicsError), ([np.nan, 0.0], mb.InputError)):
            with pytest.raises(error):
                sim.step(np.array(effort), time_step=2e-3)
            np.testing.assert_array_equal(sim.save(), before)
            assert sim.context.dt == length


def test_infinite_efforts_are_refused_also_where_limits_would_cut_them():
    sim = lift_simulator()
    zero = np.zeros(len(sim.world.joint_names))
    for _ in range(2):
        sim.step(zero)
        before = sim.save()
        with pytest.raises(mb.InputError, match=r"effort\[0\] is -inf"):
            sim.step(np.full(len(zero), -np.inf))
        np.testing.assert_array_equal(sim.save(), before)


@pytest.mark.parametrize("length", [True, np.True_])
def test_true_is_no_length_of_a_step(dual_arm, length):
    with pytest.raises(mb.InputError, match="time_step must be a number, got "):
        dual_arm.step(time_step=length)


# --- save, restore, reset -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, what",
    [({"friction_model": "coulomb_polyhedral"}, "friction_model"), ({"integrator": "rk4"}, "integrator"),
     ({"collision_scheme": "event"}, "collision_scheme")],
)  # fmt: skip
def test_states_of_other_kinds_of_steps_are_refused(options, what):
    sim, state = bouncing_box(), bouncing_box(**options).save()
    q = sim.q
    with pytest.raises(mb.InputError, match=f"another scene with other {what}"):
        sim.restore(state)
    assert (sim.q == q).all()


def test_a_state_with_a_wrench_on_a_link_that_is_not_here_is_refused():
    def box(name):
        body = Primitive(name, "box", (0.1, 0.1, 0.1), Pose((0, 0, 1.0)), "free", 1.0)
        return mb.Simulator(Scene(primitives=(body,)))

    sim, other = box("box"), box("crate")
    other.set_external_wrench("crate", (0, 0, 0, 1.0, 0, 0))
    with pytest.raises(mb.InputError, match="another scene with other links"):
        sim.restore(other.save())
    sim.step()
    assert not sim.state.wrench_end.any()


def test_two_runs_give_the_same_bits(dual_arm):
    efforts = random_efforts(dual_arm, 400, 3)
    first = bits(dual_arm, efforts)
    dual_arm.reset()
    assert bits(dual_arm, efforts) == first
    assert bits(lift_simulator(), efforts) == first


def test_restore_continues_bit_for_bit(dual_arm):
    """Saved amid contacts and limits; restored after other steps, after a reset, and in another simulator."""
    efforts = random_efforts(dual_arm, 500, 4)
    for effort in efforts[:300]:
        step = dual_arm.step(effort)
    assert step.certificate.contacts > 0
    saved = dual_arm.save()
    time, energy = dual_arm.time, dual_arm.energy()
    impulse = dual_arm.contact_impulse("box")
    first = bits(dual_arm, efforts[300:])
    dual_arm.restore(saved)
    assert (dual_arm.time, dual_arm.energy(), dual_arm.step_count) == (time, energy, 300)
    np.testing.assert_array_equal(dual_arm.contact_impulse("box"), impulse)
    assert bits(dual_arm, efforts[300:]) == first
    dual_arm.reset()
    dual_arm.restore(saved)
    assert bits(dual_arm, efforts[300:]) == first
    other = lift_simulator()
    other.step()
    other.restore(saved)
    assert bits(other, efforts[300:]) == first


def test_a_saved_state_is_a_copy(dual_arm):
    saved = dual_arm.save()
    kept = np.array(saved)
    for effort in random_efforts(dual_arm, 50, 5):
        dual_arm.step(effort)
    np.testing.assert_array_equal(saved, kept)


def test_restore_refuses_the_state_of_another_scene(dual_arm):
    q, v = dual_arm.q, dual_arm.v
    with pytest.raises(mb.InputError, match="another scene"):
        dual_arm.restore(mb.Simulator(box_scene()).save())
    np.testing.assert_array_equal(dual_arm.q, q)
    np.testing.assert_array_equal(dual_arm.v, v)
    with pytest.raises(mb.InputError, match="needs a State"):
        dual_arm.restore(q)


def test_restore_refuses_a_scene_of_other_shapes_and_changes_nothing():
    """q and v are as long, the number of collision shapes is not."""
    sim, other = mb.Simulator(box_scene()), mb.Simulator(box_scene(ground=None))
    assert len(sim.q) == len(other.q)
    other.step()
    before = sim.q
    with pytest.raises(mb.InputError, match="another scene with other links"):
        sim.restore(other.save())
    np.testing.assert_array_equal(sim.q, before)


def test_reset_is_the_scene_s_initial_state(dual_arm):
    q, energy = dual_arm.q, dual_arm.energy()
    for effort in random_efforts(dual_arm, 100, 6):
        dual_arm.step(effort)
    assert dual_arm.time == pytest.approx(0.1) and dual_arm.step_count == 100
    dual_arm.reset()
    np.testing.assert_array_equal(dual_arm.q, q)
    np.testing.assert_array_equal(dual_arm.q, dual_arm.world.q0)
    assert not dual_arm.v.any() and not dual_arm.joint_efforts().any()
    assert not dual_arm.contact_impulse("box").any()
    assert (dual_arm.time, dual_arm.step_count, dual_arm.energy()) == (0.0, 0, energy)


def test_two_simulators_do_not_share_anything():
    a, b = mb.Simulator(box_scene()), mb.Simulator(box_scene())
    b.set_state(b.q, np.ones(6))
    alone = mb.Simulator(box_scene())
    for _ in range(50):
        a.step()
        b.step()
        alone.step()
    np.testing.assert_array_equal(a.q, alone.q)
    np.testing.assert_array_equal(a.v, alone.v)


def test_more_contacts_than_the_first_capacity():
    """24 boxes have 96 contact points: the workspaces grow within the step, and again bit for bit."""
    places = [(0.3 * i, 0.3 * j, 0.05) for i in range(6) for j in range(4)]
    boxes = tuple(
        Primitive(f"box_{i}", "box", (0.2, 0.2, 0.1), Pose(p), "free", 1.0) for i, p in enumerate(places)
    )
    sim = mb.Simulator(Scene(primitives=boxes, ground=Ground()))
    for _ in range(20):
        step = sim.step()
    assert step.certificate.contacts == 96 and step.certificate.residual <= 1e-9
    np.testing.assert_allclose(step.contacts["impulse"][:, 2], 9.81e-3 / 4, rtol=1e-6)
    saved = sim.save()
    first = bits(sim, np.zeros((5, 0)))
    other = mb.Simulator(Scene(primitives=boxes, ground=Ground()))
    other.restore(saved)
    assert bits(other, np.zeros((5, 0))) == first


# --- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["box_on_table", "three_patches", "egg_and_boxes"])
def test_copies_and_pickles_go_on_alike(name):
    """With the state, values and tolerances that were set; surfaces, alone and among objects, too."""
    sim = simulator_of(ROOT / "config" / f"{name}.yaml")
    if isinstance(sim, mb.Simulator):
        sim.set_gravity([0.5, 0.0, -5.0])
        sim.solver_tolerance, sim.newton_budget, sim.time_step = 1e-11, 90, 5e-4
        if name == "box_on_table":
            sim.set("mass", [2.5], of=["box"])
    for _ in range(3):
        sim.step()
    others = pickle.loads(pickle.dumps(sim)), copy.deepcopy(sim), copy.copy(sim)
    for _ in range(3):
        sim.step()
    for other in others:
        for _ in range(3):
            other.step()
        assert np.array_equal(other.state, sim.state) and other is not sim
        if isinstance(sim, mb.Simulator):
            assert (other.solver_tolerance, other.newton_budget, other.time_step) == (1e-11, 90, 5e-4)


def test_what_is_of_a_subclass_is_not_copied():
    class Counted(mb.Simulator):
        count = 3

    with pytest.raises(TypeError, match="Counted cannot be copied or pickled as a Simulator"):
        copy.copy(Counted(box_scene()))


def test_worlds_are_not_copied():
    with pytest.raises(TypeError, match="make others of their scene"):
        pickle.dumps(mb.Worlds(box_scene(), 2))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies at rest that steps leave as they are, beside the same run without: nothing else may tell them apart.

Covers core/step/sleep.py, simulation/sleeping.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import SceneError
from mb_contact.model import Ground, Material, Pose, Primitive, Scene
from mb_contact.model.scene import Rest

WOOD = {"wood": Material(0.5)}
NEAR = 1e-11  #: way that runs with and without sleep may be apart here; awake boxes tremble by 4e-16 m [m]


def box(name, x, z, size=0.2, mass=1.0):
    return Primitive(name, "box", (size,) * 3, Pose((x, 0.0, z)), "free", mass, material="wood")


def ball(height):
    return Primitive("ball", "sphere", (0.05,), Pose((0.03, 0.02, height)), "free", 0.3, material="wood")


#: two boxes one on the other, one beside them
STACK = Scene(
    primitives=(box("lower", 0.0, 0.1), box("upper", 0.0, 0.3), box("beside", 1.0, 0.1)), ground=Ground(0.0, "wood"),
    materials=WOOD,
)  # fmt: skip


def both(scene, steps):
    """The scene with and without sleep after so many steps."""
    sims = mb.Simulator(replace(scene, sleep=True)), mb.Simulator(scene)
    run(sims, steps)
    return sims


def run(sims, steps):
    """Largest difference of the coordinates over so many steps of both, and the last Step of the one that may sleep."""
    worst, step = 0.0, None
    for _ in range(steps):
        step = sims[0].step()
        sims[1].step()
        worst = max(worst, float(np.abs(sims[0].q - sims[1].q).max()))
    return worst, step


def is_fixed(sim):
    """Whether a step leaves coordinates, velocities and impulses as they are, bit for bit."""
    memory = sim.context.memory
    before = sim.q, sim.v, memory.impulse.copy()
    sim.step()
    return all((a == b).all() for a, b in zip(before, (sim.q, sim.v, memory.impulse)))


def asleep(sim):
    return {name for name, sleeps in zip(sim.world.body_names, sim.asleep) if sleeps}


def test_a_ball_wakes_what_it_lands_on_and_no_more():
    scene = replace(STACK, primitives=(*STACK.primitives, ball(0.9)))
    sims = both(scene, 200)
    assert asleep(sims[0]) == {"lower", "upper", "beside"}  # while the ball falls
    assert sims[0].count_asleep() == (3, 2) and sims[1].count_asleep() == (0, 0)
    worst, step = run(sims, 90)
    assert worst < NEAR
    assert len(step.contacts) == 12  # those of what sleeps are in the table
    worst, _ = run(sims, 80)
    assert asleep(sims[0]) == {"beside"} and sims[0].count_asleep() == (1, 1)
    assert worst < NEAR
    assert "ball" in {link for pair in sims[0].step().contacts[["link_a", "link_b"]] for link in pair}


def test_all_asleep_a_step_takes_nothing_from_the_state():
    sims = both(STACK, 150)
    sim = sims[0]
    before, v = sim.q, sim.v
    worst, step = run(sims, 100)
    assert worst < NEAR and (sim.q == before).all() and (sim.v == v).all()
    assert asleep(sim) == {"lower", "upper", "beside"}
    weights = {"lower": 2.0, "beside": 1.0}
    for name, mass in weights.items():  # impulses of the ground balance the weight: no solver is asked
        on = step.contacts[(step.contacts["link_a"] == "ground") & (step.contacts["link_b"] == name)]
        on = on if len(on) else step.contacts[(step.contacts["link_b"] == "ground") & (step.contacts["link_a"] == name)]
        assert np.abs(on["impulse"].sum(axis=0)[:2]).max() < 1e-12
        assert abs(on["impulse"][:, 2].sum()) == pytest.approx(9.81 * mass * sim.time_step, rel=1e-10)
    assert step.certificate.residual < 1e-10 and step.certificate.contacts == 12
    assert sim.time == pytest.approx(0.25) and sim.step_count == 250
    assert sim.contact_impulse("upper")[5] == pytest.approx(9.81 * sim.time_step, rel=1e-10)


@pytest.mark.parametrize("push", ["wrench", "velocity", "gravity", "step"])
def test_what_acts_wakes(push):
    sims = both(STACK, 150)
    for sim in sims:
        if push == "wrench":
            sim.set_external_wrench("upper", [0, 0, 0, 3.0, 0, 0], duration=0.05)
        elif push == "velocity":
            sim.set_object("upper", velocity=[0, 0, 0, 0.3, 0, 0])
        elif push == "gravity":
            sim.set_gravity([0.5, 0.0, -9.0])
        else:
            sim.time_step = 0.0005
    worst, _ = run(sims, 1)
    touched = {"lower", "upper"} if push == "wrench" else {"lower", "upper", "beside"}
    assert not asleep(sims[0]) & touched
    worst, _ = run(sims, 60)
    assert worst < NEAR
    moves = push not in ("gravity", "step", "wrench")
    assert (abs(sims[0].link_pose("upper")[0][0]) > 1e-3) == moves


def test_a_support_that_is_taken_away_wakes_what_stood_on_it():
    sims = both(STACK, 150)
    for sim in sims:
        sim.set_object("lower", pose=((3.0, 0.0, 0.1), (0.0, 0.0, 0.0, 1.0)))
    worst, _ = run(sims, 100)
    assert worst < NEAR
    assert sims[0].link_pose("upper")[0][2] == pytest.approx(0.3 - 0.5 * 9.81 * 0.1**2, abs=1e-3)


def test_efforts_wake_a_robot_and_only_when_they_change():
    arm = mb.pendulum(2, length=1.0, rate=0.0).scene()
    arm = replace(arm, gravity=(0.0, 0.0, 0.0), primitives=(box("box", 5.0, 0.1),), ground=Ground(0.0, "wood"),
                  materials={**arm.materials, **WOOD})  # fmt: skip
    sims = both(arm, 150)
    assert sims[0].asleep.all()
    effort = np.array([0.2, -0.1])
    for _ in range(50):
        for sim in sims:
            sim.step(effort)
    assert sims[0].asleep.sum() == 1 and (sims[0].q == sims[1].q).all() and abs(sims[0].v[0]) > 0.01


def test_a_saved_sleep_goes_on_bit_for_bit():
    scene = replace(STACK, sleep=True, primitives=(*STACK.primitives, ball(0.9)))
    first, second = mb.Simulator(scene), mb.Simulator(scene)
    for _ in range(250):
        first.step()
    saved = first.save()
    assert len(asleep(first)) == 3
    second.restore(saved)
    assert asleep(second) == asleep(first)
    for _ in range(150):
        a, b = first.step(), second.step()
        assert (first.q == second.q).all() and (first.v == second.v).all()
        assert (a.contacts["impulse"] == b.contacts["impulse"]).all()
        assert a.certificate.residual == b.certificate.residual
    assert asleep(second) == asleep(first) == {"beside"}


def test_a_saved_sleep_of_all_goes_on_with_the_same_contacts():
    first, second = mb.Simulator(replace(STACK, sleep=True)), mb.Simulator(replace(STACK, sleep=True))
    for _ in range(200):
        first.step()
    second.restore(first.save())
    for _ in range(3):
        a, b = first.step(), second.step()
        for name in ("feature", "point", "gap", "impulse", "sigma"):
            assert (a.contacts[name] == b.contacts[name]).all()
    second.reset()
    assert not second.asleep.any()


def test_a_bounce_wakes():
    rubber = {"wood": Material(0.5, restitution=0.5)}
    scene = replace(STACK, primitives=(*STACK.primitives, ball(0.9)), materials=rubber)
    sims = both(scene, 250)
    assert len(asleep(sims[0])) == 3
    worst, _ = run(sims, 120)
    assert not asleep(sims[0]) & {"lower", "upper"} and worst < NEAR


def test_worlds_do_not_sleep():
    awake, may = (mb.worlds.Worlds(replace(STACK, sleep=sleep), 3) for sleep in (False, True))
    for worlds in (awake, may):
        worlds.step(200)
    assert (awake.q == may.q).all()


@pytest.mark.parametrize("rest", [True, Rest(distance=0.0)])
def test_bit_for_bit_where_the_rest_is_a_fixed_point_of_the_step(rest):
    """A row of boxes that touch without weight, until a ball flies into it."""
    row = tuple(box(name, 0.25 * i, 0.0, 0.25) for i, name in enumerate("abc"))
    comes = replace(ball(0.0), pose=Pose((-0.675, 0.01, 0.02)), velocity=mb.model.Velocity(linear=(2.0, 0.0, 0.0)))
    scene = Scene(primitives=(*row, box("far", 3.0, 0.0), comes), materials=WOOD, gravity=(0.0, 0.0, 0.0))
    awake = mb.Simulator(scene)
    _ = [awake.step() for _ in range(3)]
    assert is_fixed(mb.Simulator(replace(scene, primitives=scene.primitives[:-1]))) and len(awake.step().contacts) > 0
    sims = mb.Simulator(replace(scene, sleep=rest)), mb.Simulator(scene)
    assert run(sims, 200)[0] == 0.0 and asleep(sims[0]) == {"a", "b", "c", "far"}
    assert run(sims, 150)[0] == 0.0 and asleep(sims[0]) == {"far"} and np.abs(sims[0].v).max() > 0.1


def test_what_does_not_rest_bit_for_bit_sleeps_with_a_distance_alone():
    sims = [mb.Simulator(replace(STACK, sleep=sleep)) for sleep in (Rest(distance=0.0), True)]
    run(sims, 200)
    assert not sims[0].asleep.any() and sims[1].asleep.all()


@pytest.mark.parametrize("key, value", [("integrator", "rk4"), ("collision_scheme", "event"), ("loops", "embed")])
def test_other_ways_to_step_refuse_sleep(key, value):
    with pytest.raises(SceneError, match=f"sleep: needs {key} .*, got {value}: bodies sleep"):
        mb.Simulator(replace(STACK, sleep=True, **{key: value}))


def test_scene_files_say_what_rest_is(tmp_path):
    file = tmp_path / "scene.yaml"
    for text, sleep in (("true", True), ("false", False), ("{distance: 1.0e-11}", Rest(distance=1e-11))):
        file.write_text(f"ground: {{}}\nsleep: {text}\n", encoding="utf-8")
        assert mb.load_scene(file).sleep == sleep
    mb.model.save_scene(replace(STACK, sleep=Rest(time=0.5)), file)
    assert mb.load_scene(file).sleep == Rest(time=0.5)
    file.write_text("sleep: {distance: 1.0}\n", encoding="utf-8")
    with pytest.raises(SceneError, match="sleep.distance"):
        mb.load_scene(file)

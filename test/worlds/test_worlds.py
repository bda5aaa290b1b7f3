# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""worlds.py and states.py: the same bits alone, among others and in a Simulator; states, failures, own values.

Covers core/worlds/run.py, core/worlds/store.py, worlds/chosen.py, worlds/jobs.py, worlds/lanes.py, worlds/readings.py,
worlds/states.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, Velocity
from mb_contact.programs.bench.legged import legged_scene

CONFIG = "package://mb_contact/config"


def bouncing():
    """Balls with restitution and a cylinder: impacts, and a shape that needs the collision engine."""
    rubber = {"rubber": Material(0.5, restitution=0.6)}
    shapes = ("sphere", (0.1,)), ("cylinder", (0.08, 0.2)), ("box", (0.2, 0.15, 0.1)), ("capsule", (0.05, 0.2))
    bodies = tuple(
        Primitive(f"body_{i}", kind, size, Pose((0.05 * i, 0.02 * i, 0.2 + 0.22 * i)), "free", 1.0, material="rubber")
        for i, (kind, size) in enumerate(shapes)
    )
    return Scene(primitives=bodies, ground=Ground(0.0, "rubber"), materials=rubber)


def heap():
    """Shapes that fall on each other without restitution, among them some that need the engine."""
    return replace(bouncing(), materials={"rubber": Material(0.5)})


def fast():
    """A spinning stick: steps that turn so far that they leave the compiled call."""
    spin = Velocity(angular=(0.0, 1200.0, 300.0))
    stick = Primitive("stick", "capsule", (0.05, 0.4), Pose((0.0, 0.0, 0.5)), "free", 1.0, velocity=spin)
    return Scene(primitives=(stick,), ground=Ground(), integrator="rk4", time_step=5e-4)


def start_of(worlds, seed=0):
    """Velocities that differ by world, and efforts."""
    rng = np.random.default_rng(seed)
    worlds.v[:] += 0.3 * rng.uniform(-1.0, 1.0, worlds.v.shape)
    worlds.refresh()
    return rng.uniform(-3.0, 3.0, worlds.efforts.shape)


def results(worlds, chosen):
    """All that a step leaves, of some worlds."""
    return [
        array[chosen].copy()
        for array in (worlds.q, worlds.v, worlds.certificates, worlds.contact_impulses, worlds.body_rotations,
                      worlds.body_positions, worlds.joint_efforts, worlds.worst_residuals)
    ]  # fmt: skip


SCENES = {
    "box_stack": lambda: f"{CONFIG}/box_stack.yaml",
    "dual_arm": lambda: f"{CONFIG}/dual_arm_lift.yaml",
    "legged": legged_scene,
    "heap": heap,
    "bouncing": bouncing,
    "fast": fast,
    "heap_rk4": lambda: replace(heap(), integrator="rk4"),
    "heap_midpoint": lambda: replace(heap(), integrator="midpoint"),
    "heap_adaptive": lambda: replace(heap(), integrator="adaptive"),
    "ball_events": lambda: replace(bouncing(), primitives=bouncing().primitives[:1], collision_scheme="event"),
    "bouncing_rk4": lambda: replace(bouncing(), integrator="rk4"),
    "quadruped_midpoint": lambda: replace(mb.load_scene(f"{CONFIG}/standing_quadruped.yaml"), integrator="midpoint"),
}
ONE_BY_ONE = pytest.mark.parametrize("name", SCENES)


MANY = [
    *((name, 37, 30) for name in SCENES), ("box_on_table", 4096, 10),
    *(pytest.param(name, 4096, 6, marks=pytest.mark.slow) for name in SCENES),
]  # fmt: skip


@pytest.mark.parametrize("name, count, steps", MANY)
def test_a_world_has_the_same_bits_alone_among_others_and_on_any_thread(name, count, steps):
    scene = SCENES[name]() if name in SCENES else f"{CONFIG}/{name}.yaml"
    among = mb.Worlds(scene, count, threads=1)
    efforts = start_of(among)
    start = among.save()
    among.step(efforts, steps)
    threaded = mb.Worlds(scene, count, threads=3)
    threaded.restore(start)
    for _ in range(steps):  # one step a call, others in one call
        threaded.step(efforts)
    for a, b in zip(results(among, slice(None)), results(threaded, slice(None))):
        np.testing.assert_array_equal(a, b)
    alone = mb.Worlds(scene, 1)
    for w in (0, count // 2, count - 1):
        alone.restore(start.rows([w]))
        alone.step(efforts[w : w + 1], steps)
        for a, b in zip(results(alone, slice(None)), results(among, [w])):
            np.testing.assert_array_equal(a, b)


@ONE_BY_ONE
def test_a_world_has_the_same_bits_as_a_simulator_step_by_step(name):
    scene = SCENES[name]()
    worlds, sim = mb.Worlds(scene, 3, threads=1), mb.Simulator(scene)
    efforts = start_of(worlds)
    sim.set_state(worlds.q[1], worlds.v[1])
    for _ in range(60):
        worlds.step(efforts)
        certificate = sim.step(efforts[1]).certificate
        np.testing.assert_array_equal(worlds.q[1], sim.q)
        np.testing.assert_array_equal(worlds.v[1], sim.v)
        pairs = list(zip(worlds.certificates[1], certificate))
        ours, numbers = zip(*(pair for pair in pairs if not isinstance(pair[1], str)))
        np.testing.assert_array_equal(ours, numbers)
        np.testing.assert_array_equal(worlds.contact_impulses[1], sim.context.work.geom_impulse)
    assert worlds.times()[1] == pytest.approx(sim.time, rel=1e-15)
    other = mb.Simulator(scene)
    other.restore(worlds.state(1))
    other.step(efforts[1])
    sim.step(efforts[1])
    np.testing.assert_array_equal(other.v, sim.v)


def test_worlds_start_where_a_simulator_does():
    """Quaternions that are of length one but for rounding stay what they are."""
    body = Primitive("body", "box", (0.1, 0.2, 0.3), Pose((0, 0, 1), (0.3, 0.2, 0.1)), "free", 1.0)
    scene = mb.Scene(primitives=(body,))
    sim, worlds = mb.Simulator(scene), mb.Worlds(scene, 2, 1)
    q = sim.q
    np.testing.assert_array_equal(worlds.q, [q, q])
    sim.set_state(q, sim.v)
    np.testing.assert_array_equal(sim.q, q)
    sim.set_state(np.concatenate((q[:3], 2.0 * q[3:])), sim.v)
    np.testing.assert_allclose(sim.q, q, atol=1e-15)


def test_states_are_saved_and_restored_bit_for_bit():
    worlds = mb.Worlds(heap(), 4, threads=2)
    start_of(worlds)
    worlds.step(steps=200)
    saved = worlds.save()
    worlds.step(steps=20)
    then = results(worlds, slice(None))
    worlds.restore(saved)
    worlds.step(steps=20)
    for a, b in zip(results(worlds, slice(None)), then):
        np.testing.assert_array_equal(a, b)
    worlds.reset([1, 2], saved.rows([3, 3]))
    worlds.step(steps=20, mask=[1, 2])
    for w in (1, 2):
        np.testing.assert_array_equal(worlds.q[w], then[0][3])


def test_reset_puts_some_worlds_back_and_leaves_the_others():
    worlds = mb.Worlds(heap(), 3, threads=1)
    initial, moved = worlds.q.copy(), None
    start_of(worlds)
    worlds.step(steps=30)
    moved = worlds.q.copy()
    worlds.reset([True, False, False])
    np.testing.assert_array_equal(worlds.q[0], initial[0])
    np.testing.assert_array_equal(worlds.q[1:], moved[1:])
    np.testing.assert_array_equal(worlds.times(), [0.0, 0.03, 0.03])
    twice = 2.0 * initial[:1]
    worlds.reset([2], (twice, np.zeros((1, worlds.v.shape[1]))))
    np.testing.assert_allclose(worlds.q[2, :3], 2.0 * initial[0, :3])
    np.testing.assert_allclose(worlds.q[2, 3:7], initial[0, 3:7])


def test_a_world_that_fails_ends_alone():
    scene = replace(fast(), integrator="semi_implicit_euler", time_step=0.002)
    worlds = mb.Worlds(scene, 5, threads=2)
    worlds.v[:] = 0.0
    good = worlds.save()
    worlds.v[3, :3] = 4e170, 3e170, 2e170
    worlds.step(steps=40)
    assert list(worlds.failures) == [3] and "run away" in worlds.failures[3] and worlds.failed.tolist()[3]
    assert worlds.times()[3] < 0.08 and np.isfinite(worlds.q).all()
    np.testing.assert_array_equal(worlds.times()[[0, 1, 2, 4]], 0.08)
    kept = worlds.q[3].copy()
    worlds.step()
    np.testing.assert_array_equal(worlds.q[3], kept)
    worlds.reset([3], good.rows([3]))
    worlds.step(steps=41, mask=[3])
    np.testing.assert_array_equal(worlds.q[3], worlds.q[0])
    assert worlds.failures == {} and not worlds.failed.any()


def test_more_contacts_than_the_store_has_room_for():
    scene = mb.load_scene(f"{CONFIG}/box_stack.yaml")
    worlds, sim = mb.Worlds(scene, 3, threads=2), mb.Simulator(scene)
    worlds.step(steps=2)
    for _ in range(2):
        last = sim.step()
    assert last.certificate.contacts > 16
    np.testing.assert_array_equal(worlds.q[2], sim.q)
    assert len(worlds.contacts(2)) == last.certificate.contacts
    np.testing.assert_array_equal(worlds.contacts(2)[:, 6:9], last.contacts["impulse"])


def test_states_of_another_scene_are_refused():
    with pytest.raises(mb.InputError, match="take one from save"):
        mb.Worlds(mb.pendulum(2).scene(), 3, threads=1).restore(mb.Worlds(heap(), 3, threads=1).save())


def test_link_poses_are_those_of_a_simulator():
    worlds, sim = (kind(legged_scene(), *more) for kind, more in ((mb.Worlds, (2,)), (mb.Simulator, ())))
    positions, rotations = worlds.link_poses("left_foot")
    np.testing.assert_allclose(positions[1], sim.link_pose("left_foot")[0], atol=1e-15)
    assert rotations.shape == (2, 3, 3) and worlds.link_poses("ground")[0].shape == (2, 3)

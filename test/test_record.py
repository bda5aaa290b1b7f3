# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The state is one record: whatever is assigned to it is gone on from bit for bit, in every kind of scene.

Covers core/state.py, simulation/state.py.
"""

from __future__ import annotations

import inspect
import pickle
import re

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core import state as declared
from mb_contact.model import Actuator
from mb_contact.model.scene import Ground, Pose, Primitive, Scene, SceneModel
from mb_contact.record import FIELDS
from mb_contact.surfaces.scene_file import is_surface_scene
from mb_contact.types import JOINT_ROWS
from paths import ROOT

CONFIG = ROOT / "config"
QUICK = ("box_stack", "four_bar", "flexible_arm", "bezier_patch", "egg_and_boxes", "press_on_wall", "dual_arm_lift")
SCENES = [
    pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
    for path in sorted(CONFIG.glob("*.yaml")) if path.stem != "node"
]  # fmt: skip


def made(path):
    return mb.surface_simulator(path) if is_surface_scene(path) else mb.Simulator(path)


def run(sim, steps, seed):
    """Bits of every certificate, and of the state at the end."""
    rng = np.random.default_rng(seed)
    out = [repr(sim.step(rng.uniform(-1.0, 1.0, len(sim.world.joint_names))).certificate) for _ in range(steps)]
    return [*out, np.array(sim.state).tobytes(), sim.time]


def assert_goes_on(sim, steps=8):
    """From a copy of the vector, after other steps, and after a reset, as it went on the first time."""
    run(sim, steps, 0)
    vector = np.array(sim.state)
    then = run(sim, steps, 1)
    run(sim, 3, 2)
    sim.state[:] = vector
    assert np.array(sim.state).tobytes() == vector.tobytes()
    assert run(sim, steps, 1) == then
    sim.reset()
    sim.state[:] = vector
    assert run(sim, steps, 1) == then


@pytest.mark.parametrize("path", SCENES)
def test_a_scene_of_the_library_goes_on_bit_for_bit(path):
    assert_goes_on(made(path))


def boxes(**choices):
    """Two boxes that land, one on the other."""
    parts = [
        Primitive(name, "box", (0.2, 0.2, 0.1), Pose((x, 0.0, z), (0.0, tilt, 0.0)), "free", 1.0)
        for name, x, z, tilt in (("lower", 0.0, 0.06, 0.05), ("upper", 0.04, 0.17, 0.0))
    ]
    return Scene(primitives=tuple(parts), ground=Ground(), **choices)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "adaptive", "midpoint"])
@pytest.mark.parametrize("scheme", ["time_stepping", "event"])
def test_every_integrator_goes_on_bit_for_bit(integrator, scheme):
    assert_goes_on(mb.Simulator(boxes(integrator=integrator, collision_scheme=scheme)), 30)


def test_sleep_wrenches_and_steps_of_other_lengths_go_on_bit_for_bit():
    sim = mb.Simulator(boxes(sleep=True))
    sim.step(steps=400)
    assert sim.asleep.all()
    sim.set_external_wrench("upper", [0, 0, 0, 9.0, 0, 0], duration=0.01)
    sim.step(time_step=0.0005)
    assert not sim.asleep.all() and sim.state.wrench_end.any()
    assert_goes_on(sim, 12)
    sim.step(steps=600)
    assert sim.asleep.all()
    vector = np.array(sim.state)
    sim.step(steps=3)
    q, v = sim.q, sim.v
    sim.reset()
    sim.state[:] = vector
    assert sim.asleep.all()
    sim.step(steps=3)
    assert sim.asleep.all() and (sim.q == q).all() and (sim.v == v).all()


def test_targets_of_servos_are_a_part_of_it():
    servo = {"hinge_1": Actuator("position", stiffness=1e4, damping=10.0)}
    sim = mb.Simulator(Scene(models=(SceneModel(mb.pendulum(2).urdf(), actuators=servo),)))
    sim.set_targets(["hinge_1"], positions=[0.4])
    assert_goes_on(sim)


def test_a_state_with_more_contacts_makes_room_and_one_with_fewer_fits():
    sims = [mb.Simulator(boxes()) for _ in range(2)]
    sims[0].step(steps=60)
    large, count = np.array(sims[0].state), int(sims[0].state.count[0])
    small = np.array(sims[1].state)
    sims[1].context.allocate(2)
    assert count > 2 and len(sims[1].state) < len(large)
    sims[1].state[:] = large
    assert sims[1].context.capacity == count
    for sim in sims:
        sim.step(steps=8)
    np.testing.assert_array_equal(sims[0].q, sims[1].q)
    np.testing.assert_array_equal(sims[0].v, sims[1].v)
    sims[1].state[:] = small
    assert sims[1].time == 0.0 and sims[1].step_count == 0


def test_rows_of_worlds_and_simulators_are_the_same_record():
    worlds, sim = mb.Worlds(boxes(), 3, threads=1), mb.Simulator(boxes())
    worlds.v[2, 3] = 0.3
    worlds.refresh()
    worlds.step(steps=40)
    sim.state[:] = worlds.state(2)
    np.testing.assert_array_equal(sim.q, worlds.q[2])
    assert sim.time == worlds.times()[2] == 0.04
    worlds.state[0] = sim.state
    worlds.state[[1]] = worlds.state[[2]]
    sim.step(steps=30)
    worlds.step(steps=30)
    for w in range(3):
        np.testing.assert_array_equal(worlds.q[w], sim.q)
        np.testing.assert_array_equal(worlds.v[w], sim.v)
    before, efforts = np.array(worlds.state), worlds.efforts
    worlds.step(efforts, steps=5)
    then = np.array(worlds.state)
    worlds.state[:] = before
    worlds.step(steps=5)
    assert np.array(worlds.state).tobytes() == then.tobytes()
    worlds.reset([0, 1], sim.save())
    assert (worlds.q[:2] == sim.q).all() and worlds.state.shape == (3, before.shape[1])


def test_a_copy_can_be_pickled_indexed_and_named():
    sim = mb.Simulator(boxes())
    sim.step(steps=60)
    saved = pickle.loads(pickle.dumps(sim.save()))
    sim.step(steps=10)
    then = np.array(sim.state)
    sim.restore(saved)
    sim.step(steps=10)
    assert np.array(sim.state).tobytes() == then.tobytes()
    assert saved.clock.tolist() == [60, 60] and int(saved.count[0]) > 0
    sim.state[2] = 3.0  # the height of the lower box
    assert sim.q[2] == 3.0 == sim.state[2]
    with pytest.raises(AttributeError, match="a state has no 'queue'; it has q, v"):
        _ = sim.state.queue


def test_numbers_that_are_no_state_are_refused_and_nothing_has_changed():
    sim = mb.Simulator(boxes())
    before = np.array(sim.state)
    with pytest.raises(mb.InputError, match=r"a state of this scene has \d+ numbers and 11 for each contact"):
        sim.state[:] = np.zeros(17)
    wrong = sim.save()
    wrong.count[0] = 10**6
    with pytest.raises(mb.InputError, match="are no state of this scene"):
        sim.state[:] = np.array(wrong)
    with pytest.raises(mb.InputError, match="another scene with other links"):
        sim.state[:] = mb.Simulator(boxes().__class__(ground=Ground())).save()
    assert np.array(sim.state).tobytes() == before.tobytes()


def test_the_table_of_the_state_has_every_part_of_the_code_s():
    declarations = re.findall(r"\n    (\w+): Annotated\[(Reals|Integers), (.*?)\]", inspect.getsource(declared))
    assert tuple(name for name, *_ in declarations) == FIELDS
    page = (ROOT / "docs" / "state.md").read_text(encoding="utf-8")
    for name, kind, shape in declarations:
        size = shape.replace('"', "").replace("JOINT_ROWS", str(JOINT_ROWS)) + ", whole" * (kind == "Integers")
        assert re.search(rf"\n\| `{name}` \| {re.escape(size)} \| .+ \|\n", page), name

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Whole steps in compiled code: the same bits as the step taken in parts, and nothing else between Python and them.

Covers core/step/end_gap.py, simulation/stepping/step.py.
"""

import numpy as np
import pytest
import trimesh

import mb_contact as mb
from mb_contact.collision import coal_library
from mb_contact.compile.decorated import DISABLE_JIT
from mb_contact.compile.dispatcher import KernelDispatcher
from mb_contact.model.scene import Actuator, Ground, Material, Pose, Primitive, Scene, SceneModel
from mb_contact.simulation.stepping.step import UNBOUND

pytestmark = pytest.mark.quick

INTEGRATORS = ("semi_implicit_euler", "rk4", "midpoint", "adaptive")
STEPS = 150
ARM = (
    '<robot name="arm"><link name="base"/><link name="beam"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
    'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="base"/>'
    '<child link="beam"/><axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="1" velocity="99"/></joint></robot>'
)


@pytest.fixture(autouse=True)
def engine_in_python(monkeypatch):
    """Steps ask for the engine: coal's narrow phase is not taken from its compiled library."""
    monkeypatch.setattr(coal_library, "library", lambda: None)


@pytest.fixture(scope="module")
def hull(tmp_path_factory):
    """A mesh: its pairs have no closed form."""
    file = tmp_path_factory.mktemp("hull") / "icosahedron.stl"
    trimesh.creation.icosahedron().apply_scale(0.1).export(file)
    return str(file)


def scene(kind, mesh, **choices):
    """Bodies that slide, roll and turn on the ground and on each other, or bounce."""
    materials = {"m": Material(0.6, restitution=0.5 if kind == "bounce" else 0.0)}
    bodies = [
        Primitive("slab", "box", (0.6, 0.6, 0.1), Pose((0.0, 0.0, 0.05)), "free", 5.0, material="m"),
        Primitive("coin", "cylinder", (0.05, 0.01), Pose((0.5, 0.0, 0.051), (1.4, 0, 0)), "free", 0.1, material="m"),
        Primitive("ball", "sphere", (0.05,), Pose((0.1, 0.0, 0.16)), "free", 0.2, material="m"),
    ]
    if kind == "engine":
        bodies += [
            Primitive("hull", "mesh", (), Pose((-0.1, 0.0, 0.19)), "free", 0.5, material="m", mesh=mesh),
            Primitive("other", "mesh", (), Pose((-0.1, 0.1, 0.38)), "free", 0.5, material="m", mesh=mesh),
        ]
    return Scene(primitives=tuple(bodies), ground=Ground(0.0, "m"), materials=materials, **choices)


def simulators(kind, mesh, **choices):
    """Two of a scene: one takes whole steps where it can, the other all in parts; and how often the first did not."""
    pair = [mb.Simulator(scene(kind, mesh, **choices)) for _ in range(2)]
    parts = []
    for sim in pair:
        sim.set_object("coin", velocity=(4.0, 1.0, 0.5, 0.3, 0.2, 0.0))
        sim.set_object("ball", velocity=(0.0, 5.0, 0.0, 0.2, 0.0, -0.5))
        sim.set_object("slab", velocity=(0.0, 0.0, 0.3, 0.5, 0.0, 0.0))
    stepper = pair[0]._stepper
    taken = stepper._step_in_parts
    stepper._step_in_parts = lambda dt: parts.append(pair[0].time) or taken(dt)
    pair[1]._stepper._in_one_call, pair[1]._stepper._bound = False, UNBOUND
    return *pair, parts


@pytest.mark.parametrize("kind", ["slide", "engine", "bounce"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_whole_step_is_the_step_in_parts_bit_for_bit(integrator, kind, hull):
    whole, parts, in_parts = simulators(kind, hull, integrator=integrator)
    at_start, at_end = calls(whole.context, "ask_engine"), calls(whole.context.integrator, "ask_engine")
    impacts = 0
    for _ in range(STEPS):
        one, other = whole.step(), parts.step()
        impacts += any(event.law != "inelastic" or len(event.speeds) for event in one.events)
        np.testing.assert_array_equal(whole.q, parts.q)
        np.testing.assert_array_equal(whole.v, parts.v)
        assert repr(one.certificate) == repr(other.certificate)
        assert len(one.events) == len(other.events)
        np.testing.assert_array_equal(one.contacts["impulse"], other.contacts["impulse"])
    assert len(in_parts) <= impacts + 1  # the balls' way to a first touch, and impacts
    assert len(in_parts) < STEPS // 5
    if kind == "engine":
        assert len(at_start) > STEPS // 5
        assert integrator == "semi_implicit_euler" or len(at_end) > STEPS // 5


def calls(part, name):
    """A list that grows with every call of a method, where the part has it."""
    made, method = [], getattr(part, name, None)
    if method:
        setattr(part, name, lambda: made.append(name) or method())
    return made


@pytest.mark.parametrize("integrator", INTEGRATORS[1:])
def test_a_step_that_is_interrupted_at_its_end_changes_nothing(monkeypatch, integrator, hull):
    """Nor which servos are at their limits: that of the arm reaches its own in this step."""
    arm = SceneModel(ARM, pose=Pose((0.0, 0.0, 9.0)), actuators={"j": Actuator("position", stiffness=1e7)})
    sims = [simulators("engine", hull, integrator=integrator, models=(arm,))[0] for _ in range(2)]
    asked = calls(sims[0].context.integrator, "ask_engine")
    while not asked:
        for sim in sims:
            sim.step()

    def interrupt():
        raise KeyboardInterrupt

    sims[0].set_targets(["j"], [3.0])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sims[0].context.integrator, "ask_engine", interrupt)
        sims[0].step()
    sims[0].set_targets(["j"], [0.0])
    for _ in range(5):
        one, other = (sim.step() for sim in sims)
        np.testing.assert_array_equal(sims[0].v, sims[1].v)
        assert repr(one.certificate) == repr(other.certificate)


@pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("scheme", ["time_stepping", "event"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_call_of_a_kernel_takes_no_time_to_find_its_types(monkeypatch, integrator, scheme, hull):
    sim, *_ = simulators("engine", hull, integrator=integrator, collision_scheme=scheme)
    for _ in range(STEPS):
        sim.step()
    asked, typeof = [], KernelDispatcher.typeof_pyval
    monkeypatch.setattr(
        KernelDispatcher, "typeof_pyval", lambda self, value: asked.append(self.__name__) or typeof(self, value)
    )
    for _ in range(STEPS):
        sim.step()
    assert not asked

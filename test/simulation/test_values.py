# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Values that change while a simulation runs, by what they do from then on.

Covers simulation/joints/joint_requests.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.model.rotations import quat_to_matrix

m = mb.model
G = 9.81


def sliding():
    going = m.Velocity(linear=(2.0, 0.0, 0.0))
    box = m.Primitive("box", "box", (0.1,) * 3, m.Pose((0.0, 0.0, 0.05)), "free", 1.0, velocity=going)
    return mb.Simulator(mb.Scene(primitives=(box,), ground=m.Ground()))


def test_friction_and_mass_act_from_the_next_step_on():
    sim = sliding()
    sim.step(steps=10)
    before = sim.v[3]
    sim.set("friction", 0.2, of=[("ground", "box")])
    sim.set("mass", 3.0, of=["box"])
    inertia = sim.world.tree.inertia[0].copy()
    certificate = sim.step(steps=10).certificate
    assert sim.v[3] == pytest.approx(before - 0.01 * 0.2 * G, abs=1e-9)
    assert sim.contact_impulse("box")[5] == pytest.approx(1e-3 * 3.0 * G, rel=1e-6)
    assert abs(certificate.energy_balance) < 1e-9
    assert inertia == pytest.approx(np.eye(3) * 3.0 * 0.01 / 6.0)


def test_damping_of_a_joint():
    arm = mb.Simulator(mb.pendulum(1, length=1.0, angle=0.0, rate=1.0).scene())
    arm.set_gravity([0.0, 0.0, 0.0])
    arm.set("damping", 2.0, of=["hinge_0"])
    inertia, rate = arm.mass_matrix()[0, 0], arm.v[0]
    arm.step()
    assert arm.v[0] == pytest.approx(rate / (1.0 + arm.time_step * 2.0 / inertia), rel=1e-9)


def test_what_is_not_there_or_impossible_is_refused():
    sim = sliding()
    for name, value, of in (("mass", 0.0, ["box"]), ("mass", 1.0, ["ground"]), ("restitution", 0.5, None),
                            ("stiffness", 1.0, None), ("friction", [0.1, 0.2], None),
                            ("inertia", [1.0, 0.0, 0.0, 1.0, 0.0, 3.0], ["box"]), ("gravity", [0.0, 0.0], ["box"]),
                            ("gravity", [0.0, 0.0, 0.0], ["ground"])):  # fmt: skip
        with pytest.raises(InputError):
            sim.set(name, value, of)
    assert sim.world.tree.mass[0] == 1.0


def test_values_that_were_set_go_over_to_a_rebuilt_simulator():
    sim = sliding()
    sim.set("friction", 0.2, of=[("ground", "box")])
    sim.set("mass", 3.0, of=["box"])
    sim.step(steps=10)
    other = m.Primitive("other", "box", (0.1,) * 3, m.Pose((5.0, 0.0, 0.05)), "free", 1.0)
    again = sim.rebuilt(mb.Scene(primitives=(*sim.scene.primitives, other), ground=m.Ground()))
    before = again.v[3]
    again.step(steps=10)
    assert again.v[3] == pytest.approx(before - 0.01 * 0.2 * G, abs=1e-9)
    assert again.world.tree.mass == pytest.approx([3.0, 1.0])
    alone = again.rebuilt(mb.Scene(primitives=(other,), ground=m.Ground()))  # what is gone needs no value
    assert alone.world.tree.mass == pytest.approx([1.0])


def test_gravity_and_inertia_of_one_body():
    boxes = [m.Primitive(name, "box", (0.1,) * 3, m.Pose((x, 0.0, 1.0)), "free", 2.0) for x, name in enumerate("ab")]
    sim = mb.Simulator(mb.Scene(primitives=tuple(boxes), integrator="midpoint"))
    sim.set("gravity", [0.0, 0.0, 0.0], of=["a"])
    sim.set("inertia", [0.01, 0.001, 0.0, 0.02, 0.0, 0.025], of=["a"])
    sim.set_external_wrench("a", [0.0, 0.1, 0.0, 0.0, 0.0, 0.0], 0.1)
    certificate = sim.step(steps=100).certificate
    I = np.array([[0.01, 0.001, 0.0], [0.001, 0.02, 0.0], [0.0, 0.0, 0.025]])
    R = quat_to_matrix(sim.link_pose("a")[1])
    assert R @ I @ R.T @ sim.v[:3] == pytest.approx([0.0, 0.01, 0.0], abs=1e-12)  # the angular momentum
    assert sim.v[3:6] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12) and sim.v[11] == pytest.approx(-0.1 * G, abs=1e-12)
    assert abs(certificate.energy_balance) < 1e-9
    sim.set_gravity([0.0, 0.0, 0.0])  # of the scene: what has its own keeps it
    sim.set("gravity", [0.0, 1.0, 0.0], of=["a"])
    sim.step(steps=10)
    assert sim.v[4] == pytest.approx(0.01, abs=1e-12) and sim.v[11] == pytest.approx(-0.1 * G, abs=1e-12)
    assert sim.values("gravity") == {"a": [0.0, 1.0, 0.0], "b": [0.0, 0.0, 0.0]}


def test_efforts_that_hold_an_arm_know_links_without_weight():
    arm = mb.Simulator(mb.pendulum(2, length=1.0, angle=0.7, rate=0.0).scene())
    both = arm.nonlinear_effects()
    arm.set("gravity", [0.0, 0.0, 0.0], of=["link_1"])
    alone = arm.nonlinear_effects()
    assert alone[1] == pytest.approx(0.0, abs=1e-12) and 0.0 < alone[0] < both[0]
    arm.step(alone)
    assert arm.v == pytest.approx([0.0, 0.0], abs=1e-12)
    assert arm.joint_wrench("hinge_1") == pytest.approx(np.zeros(6), abs=1e-12)


def test_a_simulator_and_worlds_are_given_the_same_values_by_the_same_names():
    soft = m.Softness(stiffness=1e4)
    arm = mb.pendulum(1, length=1.0, angle=0.3).scene()
    materials = {**arm.materials, "rubber": m.Material(0.8, restitution=0.3), "pad": m.Material(0.5, softness=soft)}
    boxes = [m.Primitive(name, "sphere", (0.1,), m.Pose((x, 0.0, 0.1)), "free", 1.0, material=material)
             for x, (name, material) in enumerate((("ball", "rubber"), ("soft", "pad")))]  # fmt: skip
    scene = mb.Scene(models=arm.models, primitives=tuple(boxes), ground=m.Ground(material="rubber"),
                     materials=materials, pairs=(m.MaterialPair(("rubber", "pad"), 0.5, softness=soft),))  # fmt: skip
    sim, worlds = mb.Simulator(scene), mb.Worlds(scene, 1)
    pair, pads = [("ball", "ground")], [("soft", "ground")]
    for name, value, of in (("mass", 2.0, ["ball"]), ("friction", 0.2, pair), ("restitution", 0.6, pair),
                            ("damping", 0.4, ["hinge_0"]), ("stiffness", 3e4, pads),
                            ("gravity", [1.0, 0.0, -5.0], None)):  # fmt: skip
        sim.set(name, value, of)
        worlds.set(name, value, of)
    sim.step(steps=20)
    worlds.step(steps=20)
    assert worlds.v[0].tobytes() == sim.v.tobytes() and np.abs(sim.v).max() > 1e-3


def test_what_was_set_in_any_order_is_done_again_as_it_is():
    """Mass scales an inertia that was set before it, and leaves one that is set behind it."""
    sim, one = sliding(), [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]
    for name, value in (("inertia", [one]), ("mass", 2.0), ("inertia", [one]), ("mass", 3.0)):
        sim.set(name, value, of=["box"])
        assert sim.rebuilt(sim.scene).values("inertia")["box"] == pytest.approx(sim.values("inertia")["box"], rel=1e-12)
    assert sim.values("inertia")["box"][0] == pytest.approx(0.015)

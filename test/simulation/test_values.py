# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Values that change while a simulation runs, by what they do from then on."""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError

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
                            ("stiffness", 1.0, None), ("friction", [0.1, 0.2], None)):  # fmt: skip
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

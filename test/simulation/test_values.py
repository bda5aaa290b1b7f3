# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Values that change while a simulation runs, by what they do from then on.

Covers core/tree/gravity.py, simulation/joints/joint_requests.py.
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


INTEGRATORS = ("semi_implicit_euler", "midpoint", "rk4", "adaptive")


def tumbling(integrator, gravity):
    """A free body with its mass beside its origin, and two joined hinges."""
    inertial = (
        '<inertial><origin xyz="0.05 0.1 -0.08"/><mass value="2"/>'
        '<inertia ixx="0.03" iyy="0.025" izz="0.02" ixy="0.001" ixz="0" iyz="0.002"/></inertial>'
    )
    going = m.Velocity(angular=(9.0, -4.0, 6.0), linear=(0.5, 0.0, 1.0))
    body = m.SceneModel(f'<robot name="body"><link name="body">{inertial}</link></robot>', base="free", velocity=going)
    arm = mb.pendulum(2, length=1.0, angle=0.7, rate=2.0).scene()
    return mb.Simulator(mb.Scene(
        models=(*arm.models, body), materials=arm.materials, gravity=gravity, integrator=integrator
    ))  # fmt: skip


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_bodies_with_a_gravity_of_their_own_move_as_in_a_scene_that_has_it(integrator):
    own, scene = (1.0, -2.0, -9.0), (0.0, 3.0, 4.0)
    theirs, ours = tumbling(integrator, own), tumbling(integrator, scene)
    ours.set("gravity", own, of=["body", "link_0", "link_1"])
    for _ in range(100):
        balance = ours.step().certificate.energy_balance - theirs.step().certificate.energy_balance
    np.testing.assert_allclose(ours.q, theirs.q, atol=1e-12)
    np.testing.assert_allclose(ours.v, theirs.v, atol=1e-11)
    assert ours.energy() == pytest.approx(theirs.energy(), abs=1e-10) and abs(balance) < 1e-10
    np.testing.assert_allclose(ours.joint_wrench("hinge_1"), theirs.joint_wrench("hinge_1"), atol=1e-10)
    ours.set("gravity", None, of=["body", "link_0"])  # the scene's again, whatever it becomes
    ours.set("gravity", None, of=["link_1"])
    ours.set_gravity(own)
    assert ours.values("gravity")["body"] == list(own) and np.isnan(ours.world.tree.body_gravity).all()
    for _ in range(20):
        ours.step(), theirs.step()
    np.testing.assert_allclose(ours.v, theirs.v, atol=1e-11)
    assert np.isnan(ours.rebuilt(ours.scene).world.tree.body_gravity).all()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_worlds_have_inertias_and_gravities_of_single_bodies_as_the_simulator(integrator):
    scene = tumbling(integrator, (0.0, 0.0, -G)).scene
    worlds = mb.Worlds(scene, 2)
    begin = worlds.save()
    inertia, own = [0.05, 0.001, 0.0, 0.06, 0.002, 0.07], [0.0, 1.0, -2.0]
    sims = [mb.Simulator(scene) for _ in range(2)]
    for name, value, of in (("mass", 3.0, ["body"]), ("inertia", inertia, ["body"]), ("gravity", own, ["body"]),
                            ("gravity", [0.0, 0.0, 0.0], ["link_1"]), ("mass", 4.0, ["body"])):  # fmt: skip
        sims[1].set(name, value, of)
        worlds.set(name, value, of, mask=[False, True])
    worlds.step(steps=20)
    for w, sim in enumerate(sims):
        sim.step(steps=20)
        assert worlds.v[w].tobytes() == sim.v.tobytes() and worlds.q[w].tobytes() == sim.q.tobytes()
    sims[1].set("gravity", None, of=["body"])
    worlds.set("gravity", None, of=["body"])
    worlds.step(steps=5)
    sims[1].step(steps=5)
    assert worlds.v[1].tobytes() == sims[1].v.tobytes()
    worlds.restore(begin)  # without any of it
    sims[0].reset()
    worlds.step(steps=5)
    sims[0].step(steps=5)
    assert worlds.v[1].tobytes() == sims[0].v.tobytes()
    k = sims[0].world.body_names.index("body")
    worlds.randomise("gravity", -0.1, 0.1, of=["body"], by="offset")
    worlds.randomise("inertia", 0.9, 1.1, of=["body"])
    drawn = worlds.save().arrays
    beside = drawn["own_body_gravity"][:, k] - [0.0, 0.0, -G]
    assert np.isnan(np.delete(drawn["own_body_gravity"], k, axis=1)).all() and 0.01 < np.abs(beside).max() < 0.1
    parts = drawn["own_inertia"][:, k] / sims[0].rebuilt(scene).world.tree.inertia[k]
    assert 0.9 < np.nanmin(parts) < np.nanmax(parts) < 1.1
    with pytest.raises(InputError, match="no body has"):
        worlds.set("inertia", [1.0, 0.0, 0.0, 1.0, 0.0, 3.0], of=["body"])


def test_what_knows_one_gravity_alone_refuses_a_second():
    arm = mb.Simulator(mb.pendulum(2, length=1.0, angle=0.7).scene())
    arm.set("gravity", [0.0, 0.0, 0.0], of=["link_1"])
    with pytest.raises(InputError, match="one gravity for all bodies"):
        mb.forward_dynamics_derivatives(arm.world, arm.q, arm.v, [0.0, 0.0])
    arm.step()
    with pytest.raises(InputError, match="one gravity for all bodies"):
        arm.step_derivatives()
    with pytest.raises(InputError, match="one gravity for all bodies"):
        mb.studies.next_step_problem(arm)
    arm.set("gravity", None, of=["link_1"])
    arm.step()
    assert arm.step_derivatives() is not None


def test_an_imu_that_floats_without_weight_feels_nothing():
    ball = m.Primitive("ball", "sphere", (0.1,), m.Pose((0.0, 0.0, 1.0)), "free", 1.0)
    sim = mb.Simulator(mb.Scene(primitives=(ball,), sensors=(m.Sensor("imu", "imu", "ball"),)))
    sim.set("gravity", [0.0, 0.0, 0.0], of=["ball"])
    sim.step()
    assert sim.sensors.read("imu").linear_acceleration == pytest.approx(np.zeros(3), abs=1e-12)


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

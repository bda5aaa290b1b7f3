# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A nut on a thread that ends: the closure ``screw``, its friction, and what happens where it comes off."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import Closure, CollisionFilters, Ground, Material, Pose, Primitive, Scene, Velocity
from mb_contact.studies.formulations.scene_step import FormulationStep

MASS, PITCH, G = 0.2, 0.05, 9.81
LEAD = PITCH / (2.0 * np.pi)
MOMENT = 3e-4
#: turns by m g lead / (I + m lead^2) as it falls along its thread
FALL = MASS * G * LEAD / (MOMENT + MASS * LEAD**2)
UPSIDE_DOWN = Pose((0.0, 0.0, 0.0), (np.pi, 0.0, 0.0))  # of a thread whose free end is below


def nut(**options):
    return Primitive(
        "nut", "sphere", (0.01,), Pose((0.0, 0.0, 1.0)), "free", MASS, inertia=(2e-4, 2e-4, MOMENT), **options
    )


def hanging(**options):
    """A nut on a stud that hangs down from the world; the thread's axis points down, to its free end."""
    keys = {"pitch": PITCH} | {key: options.pop(key) for key in ("friction", "end", "pitch") if key in options}
    thread = Closure("screw", "nut", "world", UPSIDE_DOWN, name="thread", **keys)
    return Scene(primitives=(nut(),), loop_closures=(thread,), **options)


def flying(end=None):
    """A bolt and its nut that tumble in free space, the nut on its way off."""
    velocity = Velocity((0.3, -0.2, 8.0), (0.1, 0.0, 8.0 * LEAD))
    bolt = Primitive("bolt", "box", (0.02, 0.03, 0.1), Pose((0.01, 0.0, 0.9), (0.02, 0.0, 0.4)), "free", 0.5,
                     velocity=Velocity((0.3, -0.2, -4.0), (0.1, 0.0, -4.0 * LEAD)))  # fmt: skip
    thread = Closure("screw", "nut", "bolt", pitch=PITCH, end=end, name="thread")
    filters = CollisionFilters(disable=(("nut", "bolt"),))
    return Scene(
        primitives=(nut(velocity=velocity), bolt), loop_closures=(thread,), gravity=(0.0, 0.0, 0.0),
        collision_filters=filters,
    )  # fmt: skip


def momenta(sim):
    """Momentum and angular momentum of all bodies about the world's origin, from masses and velocities."""
    total = np.zeros(6)
    tree = sim.world.tree
    for k in range(len(tree.parent)):
        q, v = sim.q[7 * k : 7 * k + 7], sim.v[6 * k : 6 * k + 6]
        R = quat_to_matrix(q[3:])
        com = q[:3] + R @ tree.com[k]
        linear = tree.mass[k] * (v[3:] + np.cross(v[:3], R @ tree.com[k]))
        total[3:] += linear
        total[:3] += R @ tree.inertia[k] @ R.T @ v[:3] + np.cross(com, linear)
    return total


def test_a_nut_falls_along_its_thread_as_the_joint_has_it():
    sim = mb.Simulator(hanging())
    for _ in range(600):
        certificate = sim.step().certificate
        assert certificate.residual < 1e-12 and certificate.closure_error < 1e-12
    v, t = sim.v, sim.time
    assert v[2] == pytest.approx(-FALL * t, rel=1e-10)  # about the world's axis up, which is against the thread's
    assert v[5] == pytest.approx(-LEAD * FALL * t, rel=1e-10)
    np.testing.assert_allclose(v[[0, 1, 3, 4]], 0.0, atol=1e-14)
    assert 0.5 * abs(v[2]) * t > 2.5 * np.pi  # more than a turn went by: turns are counted right
    np.testing.assert_allclose(sim.joint_wrench("thread")[5], MASS * (G - LEAD * FALL), rtol=1e-9)


@pytest.mark.parametrize("share", [1.01, 0.99, 0.4])
def test_friction_of_the_thread_holds_the_nut_or_slows_its_fall(share):
    sim = mb.Simulator(hanging(friction=share * MASS * G * LEAD))
    for _ in range(50):
        assert sim.step().certificate.residual < 1e-12
    want = -max(1.0 - share, 0.0) * FALL * sim.time
    assert sim.v[2] == pytest.approx(want, rel=1e-9, abs=1e-12)
    moment = min(share, 1.0) * MASS * G * LEAD
    along = MASS * (G - max(1.0 - share, 0.0) * FALL * LEAD)
    wrench = sim.joint_wrench("thread")  # in the axes of the nut, whose z is the world's
    np.testing.assert_allclose(wrench[5], along, rtol=1e-9)
    np.testing.assert_allclose(wrench[2], moment - along * LEAD, atol=1e-9)


def test_a_left_handed_thread_turns_the_other_way():
    sim = mb.Simulator(hanging(pitch=-PITCH))
    for _ in range(20):
        sim.step()
    assert sim.v[2] == pytest.approx(FALL * sim.time, rel=1e-10) and sim.v[5] < 0.0


def test_bolt_and_nut_in_flight_keep_their_momenta_and_the_thread():
    sim = mb.Simulator(flying())
    sim.step()  # velocities that do not fit the thread are made to
    before, turned, way = momenta(sim), 0.0, []
    for _ in range(400):
        certificate = sim.step().certificate
        assert certificate.residual < 1e-11 and certificate.closure_error < 3e-5
        (p_a, quat_a), (p_b, _) = sim.link_pose("nut"), sim.link_pose("bolt")
        z = quat_to_matrix(quat_a)[:, 2]
        turned += (sim.v[:3] - sim.v[6:9]) @ z * sim.time_step
        way.append((p_a - p_b) @ z)
    np.testing.assert_allclose(momenta(sim)[3:], before[3:], atol=1e-13)
    np.testing.assert_allclose(momenta(sim)[:3], before[:3], atol=2e-4 * np.abs(before[:3]).max())  # Euler's
    assert turned > 4.0
    assert way[-1] - way[0] == pytest.approx(LEAD * turned, rel=1e-2)


def test_at_its_end_the_nut_comes_off_and_nothing_else_changes():
    held, ending = mb.Simulator(flying()), mb.Simulator(flying(end=0.005))
    came_off = None
    for _ in range(400):
        held.step()
        if ending.step().certificate.released:
            came_off = ending.time
            break
        assert ending.released_threads == ()
    assert came_off is not None and ending.released_threads == ("thread",)
    way = np.subtract(ending.link_pose("nut")[0], ending.link_pose("bolt")[0])
    axis = quat_to_matrix(ending.link_pose("bolt")[1])[:, 2]
    start = np.subtract(mb.Simulator(flying()).link_pose("nut")[0], mb.Simulator(flying()).link_pose("bolt")[0])
    assert way @ axis - start @ [0, 0, 1] == pytest.approx(0.005, abs=1e-3)
    # on a thread that goes on the same bits
    np.testing.assert_array_equal(held.v, ending.v)
    np.testing.assert_array_equal(held.q, ending.q)
    at_release, v = momenta(ending), ending.v
    certificate = ending.step().certificate
    assert certificate.released == 0 and certificate.loop_rows == 0 and held.step().certificate.loop_rows == 5
    np.testing.assert_array_equal(ending.v[[3, 4, 5, 9, 10, 11]], v[[3, 4, 5, 9, 10, 11]])  # free flight
    np.testing.assert_allclose(momenta(ending)[3:], at_release[3:], atol=1e-16)
    np.testing.assert_array_equal(ending.joint_wrench("thread"), 0.0)
    for _ in range(50):
        ending.step()
    assert ending.released_threads == ("thread",)  # it takes hold never again


def test_reset_puts_the_nut_back_and_a_saved_state_has_it_as_it_was():
    sim = mb.Simulator(hanging(end=0.02, friction=1e-4))
    on = sim.save()
    while not sim.released_threads:
        sim.step()
    off, turning = sim.save(), sim.v[2]
    for _ in range(30):
        certificate = sim.step().certificate
    assert sim.v[2] == pytest.approx(turning, rel=1e-12) and certificate.loop_residual < 1e-15  # nothing rubs any more
    assert sim.v[5] == pytest.approx(off.v[5] - 30 * sim.time_step * G, rel=1e-12)
    sim.restore(on)
    assert sim.released_threads == () and sim.step().certificate.loop_rows == 6
    sim.restore(off)
    assert sim.released_threads == ("thread",)
    again = sim.rebuilt(sim.scene)
    assert again.released_threads == ("thread",)
    sim.reset()
    assert sim.released_threads == ()
    for _ in range(20):
        sim.step()
    assert abs(sim.v[2]) < FALL * sim.time  # friction of the thread is back


def test_the_operational_space_knows_the_thread_until_it_is_off():
    """A stud on a slide of mass M: the slide's mass is M + m - (m lead)^2 / (I + m lead^2), then M."""
    slide = (
        '<robot name="slide"><link name="base"/><link name="stud"><inertial><mass value="0.7"/></inertial></link>'
        '<joint name="rail" type="prismatic"><parent link="base"/><child link="stud"/><axis xyz="0 0 1"/>'
        '<limit lower="-9" upper="9" effort="99" velocity="9"/></joint></robot>'
    )
    thread = Closure("screw", "nut", "stud", UPSIDE_DOWN, pitch=PITCH, end=0.02, name="thread")
    scene = Scene(models=(mb.model.SceneModel(slide),), primitives=(nut(),), loop_closures=(thread,))
    sim = mb.Simulator(scene)

    def mass():
        return 1.0 / sim.operational_space(["stud"]).compliance[5, 5]

    assert mass() == pytest.approx(0.7 + MASS - (MASS * LEAD) ** 2 / (MOMENT + MASS * LEAD**2), rel=1e-9)
    while not sim.released_threads:
        sim.step([0.9 * G])
    assert mass() == pytest.approx(0.7, rel=1e-9)


@pytest.mark.parametrize(
    "closure, message",
    [
        (Closure("screw", "nut", "world"), "pitch: a closure of kind screw needs a pitch"),
        (Closure("screw", "nut", "world", pitch=0.0), "pitch: must not be zero"),
        (Closure("axis", "nut", "world", pitch=0.1), "pitch: a closure of kind axis has no pitch"),
        (Closure("axis", "nut", "world", end=0.1), "end: a closure of kind axis has no end"),
        (Closure("point", "nut", "world", friction=0.1), "friction: a closure of kind point has no friction"),
        (Closure("screw", "nut", "world", pitch=0.1, friction=-1.0), "friction"),
        (Closure("screw", "nut", "world", pitch=0.1, end=-0.01), "end: 'nut' starts 0 m along the thread"),
    ],
)
def test_threads_that_make_no_sense_are_refused(closure, message):
    with pytest.raises(mb.SceneError, match=message):
        mb.Simulator(Scene(primitives=(nut(),), loop_closures=(closure,)))


def test_what_knows_no_thread_says_so():
    with pytest.raises(mb.SceneError, match=r"loop_closures\[0\].end: worlds have none"):
        mb.Worlds(hanging(end=0.1), 2)
    with pytest.raises(mb.SceneError, match="threads that end"):
        mb.Simulator(hanging(end=0.1), step=partial(FormulationStep, formulation="rmc"))
    motion = mb.model.Motion(closure="thread", times=(0.0, 1.0), displacements=((0, 0, 0), (0, 0, 1)))
    with pytest.raises(mb.SceneError, match="a thread turns by the forces on its nut"):
        mb.Simulator(hanging(motions=(motion,)))
    sim = mb.Worlds(hanging(), 2)  # a thread without an end they have
    sim.step()
    assert sim.certificates["loop_rows"].tolist() == [5.0, 5.0]


def test_a_nut_that_is_off_meets_what_it_could_not_before():
    """The pair of nut and stud is in the collision detection: the nut falls onto a plate of the stud's."""
    plate = Primitive("plate", "box", (0.2, 0.2, 0.02), Pose((0.0, 0.0, 0.9)), "weld", material="steel")
    thread = Closure("screw", "nut", "plate", UPSIDE_DOWN, pitch=PITCH, end=0.02, name="thread")
    body = Primitive("nut", "sphere", (0.01,), Pose((0.0, 0.0, 1.0)), "free", MASS, material="steel")
    steel = {"steel": Material(0.3)}
    scene = Scene(primitives=(body, plate), loop_closures=(thread,), materials=steel, ground=Ground(0.0, "steel"))
    sim = mb.Simulator(scene)
    for _ in range(400):
        step = sim.step()
    assert sim.released_threads and sim.link_pose("nut")[0][2] == pytest.approx(0.92, abs=1e-6)
    assert step.certificate.residual < 1e-10


# --- friction of the flanks, which grows with the load: a square thread's closed forms ---------------------
FLANK = 0.012  # their mean radius
SLOPE = LEAD / FLANK  # tangent of the lead angle


def jack(share, hand=1.0, torque=0.0, moment=MOMENT):
    """A nut whose flanks have ``share`` of the tangent of the lead angle as their coefficient of friction."""
    body = Primitive("nut", "sphere", (0.01,), Pose((0.0, 0.0, 1.0)), "free", MASS, inertia=(2e-4, 2e-4, moment))
    thread = Closure("screw", "nut", "world", UPSIDE_DOWN, name="thread", pitch=hand * PITCH,
                     flank_friction=share * SLOPE, radius=FLANK)  # fmt: skip
    sim = mb.Simulator(Scene(primitives=(body,), loop_closures=(thread,)))
    sim.set_external_wrench("nut", [0.0, 0.0, torque, 0.0, 0.0, 0.0])
    return sim


@pytest.mark.parametrize("hand", [1.0, -1.0])
@pytest.mark.parametrize("share", [1.001, 0.999, 0.4])
def test_a_thread_locks_itself_above_the_tangent_of_its_lead(share, hand):
    """Slipping, R along the axis: m l a + R (1 + mu l / r) = m g, I a = R (l - mu r); it stands where mu r >= l."""
    sim, mu = jack(share, hand), share * SLOPE
    for _ in range(50):
        certificate = sim.step().certificate
        assert certificate.residual < 1e-12
    a = MASS * G / (MASS * LEAD + MOMENT * (1.0 + mu * SLOPE) / (LEAD - mu * FLANK)) if share < 1.0 else 0.0
    assert sim.v[2] == pytest.approx(-hand * a * sim.time, rel=1e-9, abs=1e-10)
    assert abs(certificate.energy_balance) < 1e-4
    if share > 1.0:  # the nut hangs, and what turns it back is what the load would turn it by
        np.testing.assert_allclose(sim.joint_wrench("thread"), [0, 0, 0, 0, 0, MASS * G], atol=1e-6)


@pytest.mark.parametrize("share", [0.3, 2.0])
@pytest.mark.parametrize("part, moves", [(0.999, False), (1.001, True)])
def test_a_screw_raises_and_lowers_its_load_by_the_torques_of_a_square_thread(share, part, moves):
    """W r (tan + mu) / (1 - mu tan) raises, W r (mu - tan) / (1 + mu tan) lowers, or holds what is not locked."""
    mu, weight = share * SLOPE, MASS * G
    up = weight * FLANK * (SLOPE + mu) / (1.0 - mu * SLOPE)
    low = weight * FLANK * (mu - SLOPE) / (1.0 + mu * SLOPE)
    rising = jack(share, torque=part * up)
    rising.step(steps=20)
    assert (rising.v[2] > 1e-4) == moves and rising.v[2] > -1e-10
    turned = part if share > 1.0 else 2.0 - part  # of what is not locked less than this torque lets it sink
    sinking = jack(share, torque=-turned * low)
    sinking.step(steps=20)
    assert (sinking.v[2] < -1e-4) == moves and sinking.v[2] < 1e-10


def test_a_heavy_load_on_a_light_screw_is_raised():
    """Rounds of bounds alone would swing: the load answers the friction more than it is asked for."""
    weight = MASS * G
    sim = jack(0.3, torque=1.001 * weight * FLANK * 1.3 * SLOPE / (1.0 - 0.3 * SLOPE**2), moment=1e-6)
    certificate = sim.step(steps=50).certificate
    a = np.linalg.solve([[MASS * LEAD, -(1.0 - 0.3 * SLOPE**2)], [1e-6, 1.3 * LEAD]],
                        [-weight, 1.001 * weight * FLANK * 1.3 * SLOPE / (1.0 - 0.3 * SLOPE**2)])[0]  # fmt: skip
    assert sim.v[2] == pytest.approx(a * sim.time, rel=1e-6) and certificate.residual < 1e-12


# --- blows --------------------------------------------------------------------------------------------------
def struck(share, e, hand=1.0, law="anitescu_potra"):
    """A nut without weight that a ball of 0.5 kg hits along the axis at 3 m/s; both as they are behind the blow."""
    ball = Primitive("ball", "sphere", (0.02,), Pose((0.0, 0.0, 1.0315)), "free", 0.5, material="hard",
                     velocity=Velocity(linear=(0.0, 0.0, -3.0)))  # fmt: skip
    thread = Closure("screw", "nut", "world", UPSIDE_DOWN, name="thread", pitch=hand * PITCH,
                     flank_friction=share * SLOPE, radius=FLANK)  # fmt: skip
    sim = mb.Simulator(Scene(
        primitives=(nut(material="hard"), ball), loop_closures=(thread,), restitution_law=law,
        materials={"hard": Material(0.0, restitution=e)}, gravity=(0.0, 0.0, 0.0),
    ))  # fmt: skip
    gained = 0.0
    for _ in range(5):
        step = sim.step()
        gained = max(gained, step.certificate.energy_balance)
        assert step.certificate.residual < 1e-10 and all(event.residual < 1e-10 for event in step.events)
    return sim, gained


@pytest.mark.parametrize("e", [0.0, 0.5])
@pytest.mark.parametrize("hand", [1.0, -1.0])
@pytest.mark.parametrize("share", [1.001, 3.0])
def test_no_blow_turns_a_thread_that_locks_itself(share, hand, e):
    sim, gained = struck(share, e, hand)
    np.testing.assert_allclose(sim.v[:6], 0.0, atol=1e-9)
    assert sim.v[11] == pytest.approx(3.0 * e, abs=1e-9) and gained < 1e-9


@pytest.mark.parametrize("law", ["anitescu_potra", "papers", "newton"])
@pytest.mark.parametrize("e", [0.0, 0.5])
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_blow_turns_what_does_not_lock_itself_against_its_friction(share, e, law):
    """Along the axis the nut weighs m + I (1 + mu l / r) / (l (l - mu r)): R (1 + mu l / r) from P, R (l - mu r) turns.
    """
    sim, gained = struck(share, e, law=law)
    mass = MASS + MOMENT * (1.0 + share * SLOPE**2) / (LEAD**2 * (1.0 - share))
    impulse = 3.0 * (1.0 + e) / (1.0 / 0.5 + 1.0 / mass)
    assert sim.v[5] == pytest.approx(-impulse / mass, rel=1e-9)
    assert sim.v[2] == pytest.approx(-impulse / mass / LEAD, rel=1e-9)
    assert sim.v[11] == pytest.approx(impulse / 0.5 - 3.0, abs=1e-9) and gained < 1e-9

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Suction cups, moving surfaces and welds that come on and off, by statics and closed forms.

Covers core/constraints/belts.py, core/step/pads.py, model/scene/handling.py, simulation/attachments.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.checks import nearest_first
from mb_contact.core.workspace import CARRIED, CONTACTS
from mb_contact.errors import InputError, SceneError
from mb_contact.model.scene import AnisotropicFriction

m = mb.model
G = 9.81
DOWN = (np.pi, 0.0, 0.0)
MU = 0.5  #: where no material is given


def cups(*places, force, shape="box", size=(0.1, 0.1, 0.1)):
    """A plate of 1 kg under cups on feet of a welded frame, each pulling with ``force``."""
    feet = tuple(
        m.Primitive(f"foot_{i}", *(shape, size), m.Pose((x, y, 1.05)))
        for i, (x, y) in enumerate(places)
    )
    pads = tuple(
        m.AdhesionPad(f"cup_{i}", f"foot_{i}", m.Pose((0.0, 0.0, -0.05), rpy=DOWN), force=force)
        for i in range(len(places))
    )
    plate = m.Primitive("plate", "box", (0.5, 0.5, 0.1), m.Pose((0.0, 0.0, 0.95)), "free", 1.0)
    return mb.Simulator(mb.Scene(primitives=(*feet, plate), adhesion_pads=pads))


@pytest.mark.parametrize("part, holds", [(0.999, True), (1.001, False)])
def test_a_cup_holds_up_to_its_force(part, holds):
    sim = cups((0.0, 0.0), force=G / part)
    step = sim.step()
    if holds:
        assert sim.holds()["cup_0"].share == pytest.approx(part, abs=1e-9)
    sim.step(steps=100)
    fallen = 0.95 - sim.q[2]
    assert fallen == pytest.approx(0.0 if holds else 0.5 * (1.0 - 1.0 / part) * G * 0.101**2, abs=1e-6)
    assert abs(step.certificate.energy_balance) < 1e-6 and step.certificate.residual < 1e-9


@pytest.mark.parametrize("off", [0.0, 1e-9, -1e-9, 1e-5])
def test_the_share_is_that_of_a_pad_in_the_plane_of_its_rim(off):
    tool = m.Primitive("tool", "box", (0.04, 0.04, 0.06), m.Pose((0.0, 0.0, 0.23)))
    box = m.Primitive("box", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 0.15)), "free", 1.0)
    cup = m.AdhesionPad("cup", "tool", m.Pose((0.0, 0.0, -0.03 + off), rpy=DOWN), force=20.0)
    sim = mb.Simulator(mb.Scene(primitives=(tool, box), adhesion_pads=(cup,)))
    sim.step()
    assert sim.holds()["cup"].share == pytest.approx(G / 20.0, rel=1e-6)


@pytest.mark.parametrize("part, holds", [(0.999, True), (1.001, False)])
def test_a_cup_holds_sideways_up_to_friction_of_what_its_rim_presses(part, holds):
    sim = cups((0.0, 0.0), force=30.0)
    sim.set_external_wrench("plate", [0.0, 0.05 * part * MU * (30.0 - G), 0.0, part * MU * (30.0 - G), 0.0, 0.0])
    sim.step()
    assert sim.holds()["cup_0"].slip == pytest.approx(min(part, 1.0), abs=1e-6)
    sim.step(steps=100)
    assert (abs(sim.v[3]) < 1e-9) == holds


@pytest.mark.parametrize("part, holds", [(0.999, True), (1.001, False)])
def test_a_moment_peels_a_cup_off_over_its_edge(part, holds):
    sim = cups((0.0, 0.0), force=30.0)
    sim.set_external_wrench("plate", [0.0, part * (30.0 - G) * 0.05, 0.0, 0.0, 0.0, 0.0])
    sim.step()
    if holds:
        assert sim.holds()["cup_0"].share == pytest.approx(1.0 - (30.0 - G) / 30.0 * (1.0 - part), abs=1e-6)
    sim.step(steps=50)
    assert (abs(sim.v[1]) < 1e-9) == holds


@pytest.mark.parametrize("part, first", [(0.999, set()), (1.001, {"cup_0", "cup_1"})])
def test_of_four_cups_those_near_the_load_go_first(part, first):
    a, d, force = 0.2, 0.1, 50.0  # a load W at d: W (a + d) / 2 a on the two cups there, which hold 2 F
    sim = cups((a, a), (a, -a), (-a, a), (-a, -a), force=force, shape="sphere", size=(0.05,))
    load = part * 4.0 * force * a / (a + d) - G * (a / (a + d))  # beside the plate's weight in the middle
    sim.set_external_wrench("plate", [0.0, load * d, 0.0, 0.0, 0.0, -load])
    gone, steps = set(), 0
    while not gone and steps < 400:
        sim.step()
        steps += 1
        gone = {name for name, hold in sim.holds().items() if not hold.link}
    assert gone == first


def test_pads_between_two_bodies_share_one_rim():
    foot = m.Primitive("foot", "box", (0.4, 0.1, 0.1), m.Pose((0.0, 0.0, 1.05)))
    other = m.Primitive("other", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.2, 0.85)))  # holds a corner up
    plate = m.Primitive("plate", "box", (0.5, 0.5, 0.1), m.Pose((0.0, 0.0, 0.95)), "free", 1.0)
    pads = tuple(m.AdhesionPad(f"cup_{x}", "foot", m.Pose((x, 0.0, -0.05), rpy=DOWN), force=10.0) for x in (-0.1, 0.1))
    sim = mb.Simulator(mb.Scene(primitives=(foot, plate, other), adhesion_pads=pads))
    sim.set_external_wrench("plate", [0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    sim.step()
    for hold in sim.holds().values():
        assert hold.share == pytest.approx(1.0 - hold.pressed / 20.0, abs=1e-2) and hold.pressed < 20.0 - 0.5 * G


def test_the_point_of_a_ball_has_no_edge_to_peel_over():
    beam = m.Primitive("beam", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 1.05)))
    ball = m.Primitive("ball", "sphere", (0.1,), m.Pose((0.0, 0.0, 0.89)), "free", 1.0)
    magnet = m.AdhesionPad("magnet", "beam", m.Pose((0.0, 0.0, -0.05), rpy=DOWN), force=60.0,
                           curve=((0.0, 1.0), (0.02, 0.3)))  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=(beam, ball), adhesion_pads=(magnet,)))
    sim.step(steps=200)
    assert sim.holds()["magnet"].share == pytest.approx(G / 60.0)


def test_nothing_pulls_at_a_distance_unless_the_curve_says_so():
    for curve, pull in (((), 0.0), (((0.0, 1.0), (0.02, 0.0)), 7.5)):
        magnet = m.AdhesionPad("magnet", "beam", m.Pose((0.0, 0.0, -0.05), rpy=DOWN), force=15.0, curve=curve)
        beam = m.Primitive("beam", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 1.06)))
        ball = m.Primitive("ball", "sphere", (0.1,), m.Pose((0.0, 0.0, 0.9)), "free", 1.0)
        sim = mb.Simulator(mb.Scene(primitives=(beam, ball), adhesion_pads=(magnet,)))
        certificate = sim.step().certificate
        assert sim.v[5] == pytest.approx(1e-3 * (pull - G), abs=1e-12)
        assert abs(certificate.energy_balance) < 1e-4


@pytest.mark.parametrize("shape", ["hull", "triangles", "cylinder"])
def test_pads_find_every_shape(shape, tmp_path):
    import trimesh

    trimesh.creation.box((0.2, 0.2, 0.1)).export(tmp_path / "slab.stl")
    mesh = {"mesh": str(tmp_path / "slab.stl")}
    kinds = {
        "hull": {"shape": "mesh", **mesh}, "triangles": {"shape": "mesh", "collision_meshes": "mesh", **mesh},
        "cylinder": {"shape": "cylinder", "size": (0.1, 0.1)},
    }  # fmt: skip
    beam = m.Primitive("beam", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 1.05)))
    plate = m.Primitive("plate", pose=m.Pose((0.01, 0.02, 0.95)), base="free", mass=1.0, **kinds[shape])
    cup = m.AdhesionPad("cup", "beam", m.Pose((0.0, 0.0, -0.05), rpy=DOWN), pressure=2e4, area=1e-3)
    sim = mb.Simulator(mb.Scene(primitives=(beam, plate), adhesion_pads=(cup,)))
    sim.step()
    hold = sim.holds()["cup"]
    assert hold.link == "plate" and hold.force == pytest.approx(20.0)
    assert hold.pressed == pytest.approx(20.0 - G, rel=1e-4)  # corners of single precision


GANTRY = (
    '<robot name="gantry"><link name="rail"/><link name="cart"><inertial><mass value="5"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="foot"><inertial>'
    '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>'
    '<joint name="x" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>'
    '<limit lower="-2" upper="2" effort="1000" velocity="10"/></joint>'
    '<joint name="z" type="prismatic"><parent link="cart"/><child link="foot"/><origin xyz="0 0 0.15"/>'
    '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1000" velocity="10"/></joint></robot>'
)


def carried(acceleration):
    """A box lifted by 0.1 m, carried 0.5 m at up to so much, set down, let go and left; its simulator."""
    way = 0.5
    time = np.sqrt(6.0 * way / acceleration)  # of a cubic from rest to rest
    lift = m.Motion(joint="z", times=(0.0, 0.5, 0.5 + time, 1.0 + time), positions=(0.0, 0.1, 0.1, 0.0),
                    interpolation="cubic")  # fmt: skip
    go = m.Motion(joint="x", times=(0.5, 0.5 + time), positions=(0.0, way))
    cup = m.AdhesionPad("cup", "foot", m.Pose((0.0, 0.0, -0.05), rpy=DOWN), force=40.0)
    box = m.Primitive("box", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    scene = mb.Scene(
        models=(m.SceneModel(GANTRY),), primitives=(box,), ground=m.Ground(), adhesion_pads=(cup,),
        motions=(lift, go),
    )  # fmt: skip
    sim = mb.Simulator(scene)
    for _ in range(round((1.0 + time) * 1000) + 2):
        sim.step()
    sim.set("adhesion", 0.0)
    sim.step(steps=5)
    return sim


def test_a_box_is_lifted_carried_at_5_m_s2_and_set_down():
    sim = carried(5.0)  # friction holds mu (F - m g) / m = 15 m/s^2
    assert sim.q[2:5] == pytest.approx([0.5, 0.0, 0.05], abs=1e-5)
    assert sim.holds()["cup"].link == ""
    assert carried(40.0).q[2] < 0.45  # and is left behind where it is carried faster than that


def test_a_sensor_in_the_joint_weighs_what_hangs_on_cup_or_weld():
    cup = m.AdhesionPad("cup", "foot", m.Pose((0.0, 0.0, -0.05), rpy=DOWN), force=40.0)
    box = m.Primitive("box", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    weld = m.Closure("weld", "box", "rail", name="grip", attached=False)
    still = tuple(m.Motion(joint=name) for name in "xz")
    sim = mb.Simulator(mb.Scene(
        models=(m.SceneModel(GANTRY),), primitives=(box,), adhesion_pads=(cup,), loop_closures=(weld,), motions=still,
    ))  # fmt: skip
    sim.step(steps=5)
    assert sim.joint_wrench("z")[5] == pytest.approx(2.0 * G, rel=1e-6)
    sim.attach("box", "foot")
    sim.set("adhesion", 0.0)
    sim.step(steps=5)
    assert sim.joint_wrench("z")[5] == pytest.approx(2.0 * G, rel=1e-6)
    sim.detach("box")
    sim.step(steps=5)
    assert sim.joint_wrench("z")[5] == pytest.approx(1.0 * G, rel=1e-6)


def test_a_sensor_in_a_fixed_joint_weighs_what_is_welded_to_the_link_behind():
    tool = (
        '<link name="tool"><inertial><mass value="0.5"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link><joint name="wrist" type="fixed"><parent link="foot"/><child link="tool"/></joint></robot>'
    )
    robot = m.SceneModel(GANTRY.replace("</robot>", tool))
    box = m.Primitive("box", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 2.0)), "free", 1.0)
    weld = m.Closure("weld", "box", "rail", name="grip", attached=False)
    still = tuple(m.Motion(joint=name) for name in "xz")
    sim = mb.Simulator(mb.Scene(models=(robot,), primitives=(box,), loop_closures=(weld,), motions=still))
    sim.attach("box", "tool")
    sim.step(steps=3)
    assert sim.joint_wrench("wrist")[5] == pytest.approx(1.5 * G, rel=1e-6)


BELT = m.MovingSurface("belt", "ground", linear=(0.1, 0.0, 0.0))


def on_belt(surface=BELT, dt=1e-3, **more):
    box = m.Primitive("box", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    return mb.Simulator(
        mb.Scene(primitives=(box,), ground=m.Ground(), moving_surfaces=(surface,), time_step=dt, **more)
    )


def test_a_box_on_a_belt_goes_as_friction_says():
    sim = on_belt(dt=2e-5)
    sim.step(steps=2500)
    assert sim.q[0] == pytest.approx(0.1 * sim.time - 0.1**2 / (2.0 * MU * G), abs=1e-6)
    assert sim.v[3] == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("interpolation, speed", [("cubic", lambda t: 6.0 * t**2 - 4.0 * t**3),
                                                  ("linear", lambda t: 2.0 * t)])  # fmt: skip
def test_a_belt_goes_as_its_motion_says(interpolation, speed):
    """What sticks to it has its speed at the end of every step, and its way."""
    rise = m.Motion(surface="belt", times=(0.0, 1.0), speeds=(0.0, 2.0), interpolation=interpolation)
    sim = on_belt(motions=(rise,))
    assert sim.surface_speeds() == {"belt": 0.0}
    for time in (0.25, 0.75, 1.5):
        sim.step(steps=round((time - sim.time) * 1e3))
        assert sim.surface_speeds()["belt"] == pytest.approx(speed(min(time, 1.0)), rel=1e-12)
        assert sim.v[3] == pytest.approx(0.1 * speed(min(time, 1.0)), rel=1e-9)
    assert sim.q[0] == pytest.approx(0.1 * (1.0 + 2.0 * 0.5), abs=2e-4)  # Euler's steps count the speed of their end
    saved = sim.save()
    sim.step(steps=5)
    end = sim.q.tobytes()
    sim.restore(saved)
    sim.step(steps=5)
    assert sim.q.tobytes() == end
    with pytest.raises(InputError, match="nothing whose surface_speed can be set"):
        sim.set("surface_speed", 1.0)


def test_a_belt_does_the_work_of_the_box_and_of_friction():
    sim, belt, friction = on_belt(), 0.0, 0.0
    for _ in range(50):
        certificate = sim.step().certificate
        belt += sim.context.work.work_terms[CARRIED]
        friction += sim.context.work.work_terms[CONTACTS]
        assert certificate.pieces == 1 and certificate.energy_gained == 0.0
        assert abs(certificate.energy_balance) < 1e-12
    assert belt == pytest.approx(0.1**2, rel=1e-6)  # m v^2: half of it moves the box
    assert friction == pytest.approx(-0.5 * 0.1**2, rel=2e-2)
    assert sim.step().contacts[0]["state"] == "stick"


def test_rollers_carry_a_board_over_them():
    """Two rollers of 0.1 m whose surfaces turn at 3 rad/s: the board on top goes at 0.3 m/s."""
    across = (np.pi / 2.0, 0.0, 0.0)
    rollers = tuple(m.Primitive(f"r{i}", "cylinder", (0.1, 0.4), m.Pose((x, 0.0, 0.1), across))
                    for i, x in enumerate((-0.2, 0.2)))  # fmt: skip
    board = m.Primitive("board", "box", (1.0, 0.3, 0.02), m.Pose((0.0, 0.0, 0.21)), "free", 2.0)
    turning = tuple(m.MovingSurface(f"s{i}", f"r{i}", angular=(0.0, 0.0, 3.0)) for i in range(2))
    sim = mb.Simulator(mb.Scene(primitives=(*rollers, board), moving_surfaces=turning))
    step = sim.step(steps=150)  # at rest against them from v / (mu g) = 61 ms on
    assert sign_of_turn(across) * sim.v[3] == pytest.approx(0.3, rel=1e-6) and step.certificate.residual < 1e-9
    np.testing.assert_allclose(sim.v[[0, 1, 2, 4, 5]], 0.0, atol=1e-6)


def sign_of_turn(rpy):
    """Of the way on top of a cylinder that turns about its z axis, along the world's x axis."""
    axis = m.Pose((0.0, 0.0, 0.0), rpy).rotation()[:, 2]
    return np.cross(axis, [0.0, 0.0, 1.0])[0]


@pytest.mark.parametrize("slope, goes", [(0.4, True), (0.5, False)])
def test_an_escalator_takes_up_what_friction_holds(slope, goes):
    """A belt that climbs at 0.2 m/s: where tan(slope) < mu the box goes with it, else it slides down against it."""
    c, s = np.cos(slope), np.sin(slope)
    stairs = m.Primitive("stairs", "box", (2.0, 0.5, 0.1), m.Pose((0.05 * s, 0.0, -0.05 * c), (0.0, -slope, 0.0)))
    box = m.Primitive("box", "box", (0.1,) * 3, m.Pose((-0.05 * s, 0.0, 0.05 * c), (0.0, -slope, 0.0)), "free", 1.0,
                      velocity=m.Velocity(linear=(0.2 * c, 0.0, 0.2 * s)))  # fmt: skip
    surface = m.MovingSurface("steps", "stairs", linear=(0.2, 0.0, 0.0))
    sim = mb.Simulator(mb.Scene(primitives=(stairs, box), moving_surfaces=(surface,)))
    sim.step(steps=100)
    along = sim.v[3:] @ [c, 0.0, s]
    assert along == pytest.approx(0.2 + (0.0 if goes else 0.1 * G * (MU * c - s)), abs=1e-6)


@pytest.mark.parametrize("part, stays", [(0.99, True), (1.01, False)])
def test_a_box_slips_on_a_turntable_where_it_turns_too_fast(part, stays):
    r, rate = 0.3, np.sqrt(part * MU * G / 0.3)
    table = m.MovingSurface("table", "ground", angular=(0.0, 0.0, 1.0), speed=rate)
    ball = m.Primitive(
        "box", "box", (0.02, 0.02, 0.002), m.Pose((r, 0.0, 0.001)), "free", 1.0,
        velocity=m.Velocity((0.0, 0.0, rate), (0.0, r * rate, 0.0)),
    )  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=(ball,), ground=m.Ground(), moving_surfaces=(table,), time_step=1e-4))
    sim.step(steps=8000)
    assert (np.hypot(*sim.q[:2]) < 1.01 * r) == stays


def test_speeds_and_switches_are_part_of_the_state():
    sim = on_belt()
    sim.step(steps=10)
    saved = sim.save()
    sim.step(steps=20)
    end = sim.q.copy()
    sim.set("surface_speed", -1.0, of=["belt"])
    sim.step(steps=100)
    assert sim.q[0] < end[0]
    sim.restore(saved)
    sim.step(steps=20)
    assert sim.q.tobytes() == end.tobytes() and sim.surface_speeds() == {"belt": 1.0}
    with pytest.raises(InputError, match="'other' with a surface_speed; there are 'belt'"):
        sim.set("surface_speed", 1.0, of=["other"])
    for of in ("belt", 3, [{}]):
        with pytest.raises(InputError, match="of must be a list of names"):
            sim.set("surface_speed", 2.0, of=of)
    for value in ("x", {}, 1j, 1e200, np.nan, [1.0, 2.0]):
        with pytest.raises(InputError, match="surface_speed"):
            sim.set("surface_speed", value)
    sim.reset()
    assert sim.surface_speeds() == {"belt": 1.0}


def test_worlds_convey_and_hold_as_a_simulator_does():
    sim = on_belt()
    worlds = mb.worlds.Worlds(sim.scene, 3)
    worlds.step(steps=30)
    sim.step(steps=30)
    assert worlds.q[1].tobytes() == sim.q.tobytes()
    worlds.state.belt_speed[:] = [[0.0], [1.0], [-1.0]]
    worlds.step(steps=100)
    assert worlds.q[2, 0] < 0.0 < worlds.q[0, 0] < worlds.q[1, 0]
    held = cups((0.0, 0.0), force=G / 0.999)
    worlds = mb.worlds.Worlds(held.scene, 2)
    worlds.step(steps=30)
    held.step(steps=30)
    assert worlds.q[1].tobytes() == held.q.tobytes()


def test_the_sorting_line_takes_what_is_high():
    sim = mb.Simulator("package://mb_contact/config/sorting_line.yaml")
    sim.step(steps=3000)
    assert sim.holds()["magnet"].link == "high" and sim.link_pose("high")[0][0] < 0.25
    way = 0.5 * (3.0 - 0.5 / (2.0 * np.sqrt(0.8 * 0.4) * G))
    assert sim.link_pose("low")[0] == pytest.approx([way - 0.5, 0.0, 0.825], abs=3e-3)


def gripped(**more):
    box = m.Primitive("box", "box", (0.1,) * 3, m.Pose((0.02, 0.0, 0.5), rpy=(0.0, 0.3, 0.0)), "free", 2.0)
    hand = m.Primitive("hand", "box", (0.1,) * 3, m.Pose((0.0, 0.0, 1.0)))
    weld = m.Closure("weld", "box", "hand", name="grip", attached=False, **more)
    return mb.Simulator(mb.Scene(primitives=(box, hand), loop_closures=(weld,)))


def test_a_body_is_attached_as_it_stands_and_let_go():
    sim = gripped()
    sim.step(steps=100)
    assert sim.attachments()["grip"].attached is False and sim.v[5] == pytest.approx(-0.1 * G)
    assert sim.attach("box", "hand") == "grip"
    place = sim.q.copy()
    sim.step(steps=100)
    assert sim.q == pytest.approx(place, abs=1e-9)
    hold = sim.attachments()["grip"]
    assert hold.attached and hold.force == pytest.approx(2.0 * G, rel=1e-6) and hold.share == 0.0
    with pytest.raises(InputError, match="all 1 attachments"):
        sim.attach("box", "hand")
    saved = sim.save()
    assert sim.detach("grip") == ("grip",) and sim.detach("grip") == ()
    sim.step(steps=10)
    assert sim.v[5] == pytest.approx(-0.01 * G)
    sim.restore(saved)
    sim.step(steps=10)
    assert sim.q == pytest.approx(place, abs=1e-9)


@pytest.mark.parametrize("part, holds", [(0.999, True), (1.001, False)])
def test_a_weld_breaks_at_its_force_and_at_its_moment(part, holds):
    for bound in ({"break_force": 2.0 * G / part}, {"break_torque": 3.0 / part}):
        sim = gripped()
        sim.attach("box", "hand", **bound)
        sim.set_external_wrench("box", [0.0, 3.0, 0.0, 0.0, 0.0, 0.0])
        steps = [sim.step() for _ in range(3)]
        assert sim.attachments()["grip"].attached is holds
        assert sum(step.certificate.released for step in steps) == (not holds)


def test_a_free_weld_takes_any_two_links():
    sim = gripped()
    with pytest.raises(InputError, match="one body"):
        sim.attach("box", "box")
    for pose in (1, ((0.0, 0.0, 0.0),), {"position": 1.0}):
        with pytest.raises(InputError, match="pose must be"):
            sim.attach("box", "hand", pose)
    sim.attach("box", "world", pose=((0.0, 0.0, 0.5), (0.0, 0.0, 0.0, 1.0)))
    sim.step(steps=200)
    assert sim.link_pose("box")[0] == pytest.approx([0.0, 0.0, 0.5], abs=1e-6)


def test_a_weld_breaks_where_the_scene_says_unless_told_otherwise():
    for bound, holds in ((None, False), (np.inf, True), (100.0, True)):
        sim = gripped(break_force=5.0)
        sim.attach("box", "hand", break_force=bound)
        sim.step(steps=2)
        assert sim.attachments()["grip"].attached is holds


def test_a_weld_that_a_motion_drives_is_not_attached_anew():
    box = m.Primitive("box", "box", (0.1,) * 3, m.Pose((0.0, 0.0, 0.5)), "free", 2.0)
    hand = m.Primitive("hand", "box", (0.1,) * 3, m.Pose((0.0, 0.0, 2.0)))
    weld = m.Closure("weld", "box", "hand", name="grip", attached=True)
    lift = m.Motion(closure="grip", times=(0.0, 1.0), displacements=((0.0, 0.0, 0.0), (0.0, 0.0, 0.2)))
    sim = mb.Simulator(mb.Scene(primitives=(box, hand), loop_closures=(weld,), motions=(lift,)))
    sim.step(steps=500)
    assert sim.q[2] == pytest.approx(0.6, abs=1e-6) and sim.attachments()["grip"][:2] == ("hand", "box")
    assert sim.detach("grip") == ("grip",)
    with pytest.raises(InputError, match="a motion drives"):
        sim.attach("box", "world")
    sim.step(steps=10)
    assert not sim.attachments()["grip"].attached and sim.v[5] == pytest.approx(0.3 - 0.01 * G, rel=1e-3)


@pytest.mark.parametrize("base", ["free", "weld"])
def test_what_goes_is_let_go(base):
    box, hand, other = (
        m.Primitive(name, "box", (0.1,) * 3, m.Pose((0.0, 0.0, z)), kind, 1.0 if kind == "free" else None)
        for name, z, kind in (("box", 0.5, "free"), ("hand", 1.0, "weld"), ("other", 2.0, base))
    )
    weld = m.Closure("weld", "box", "hand", name="grip", attached=False)
    sim = mb.Simulator(mb.Scene(primitives=(other, box, hand), loop_closures=(weld,), gravity=(0.0, 0.0, 0.0)))
    sim.step()
    sim.attach("box", "other")
    sim.step()
    assert sim.rebuilt(mb.Scene(primitives=(box, hand, other), loop_closures=(weld,))).attachments()["grip"][:3] == (
        "other", "box", True,
    )  # fmt: skip
    left = sim.rebuilt(mb.Scene(primitives=(box, hand), loop_closures=(weld,)))
    left.set("gravity", (0.0, 0.0, -G))
    left.step(steps=10)
    assert not left.attachments()["grip"].attached and left.v[5] == pytest.approx(-0.01 * G)


def test_attachments_tell_the_links_that_were_asked_for():
    boxes = tuple(m.Primitive(name, "box", (0.1,) * 3, m.Pose((0.0, 0.0, z)), base, 1.0 if base == "free" else None)
                  for name, z, base in (("box", 0.5, "free"), ("hand", 1.0, "weld"), ("shelf", 2.0, "weld")))
    weld = m.Closure("weld", "box", "hand", name="grip", attached=True)
    sim = mb.Simulator(mb.Scene(primitives=boxes, loop_closures=(weld,)))
    assert sim.attachments()["grip"][:2] == ("hand", "box")
    sim.detach("hand")
    sim.step(steps=10)
    sim.attach("box", "shelf")
    saved = sim.save()
    assert sim.attachments()["grip"][:2] == ("shelf", "box") and sim.detach("hand") == ()
    sim.detach("shelf")
    sim.step(steps=10)
    sim.attach("box", "hand")
    sim.restore(saved)
    assert sim.attachments()["grip"][:2] == ("shelf", "box")  # which the simulator has known
    other = mb.Simulator(sim.scene)
    other.restore(saved)
    assert other.attachments()["grip"][:2] == ("world", "box")  # the state has bodies, not links
    sim.reset()
    assert sim.attachments()["grip"][:2] == ("hand", "box") and sim.detach("hand") == ("grip",)


def test_what_a_weld_bears_is_no_number_until_a_step_has_told():
    sim = gripped()
    sim.step(steps=10)
    assert sim.attachments()["grip"].force == 0.0  # off
    sim.attach("box", "hand")
    assert np.isnan(sim.attachments()["grip"][3:]).all()
    sim.step()
    assert sim.attachments()["grip"].force > 0.0
    sim.detach("grip")
    assert sim.attachments()["grip"].force == 0.0


def test_without_a_name_no_weld_is_taken_that_a_motion_drives():
    bodies = tuple(m.Primitive(name, "box", (0.1,) * 3, m.Pose((x, 0.0, 0.5)), base, 1.0 if base == "free" else None)
                   for name, x, base in (("box", 0.0, "free"), ("other", 1.0, "free"), ("hand", 2.0, "weld")))
    welds = (m.Closure("weld", "box", "hand", name="driven", attached=True),
             m.Closure("weld", "other", "hand", name="free", attached=False))  # fmt: skip
    motion = m.Motion(closure="driven", times=(0.0, 1.0), displacements=((0.0, 0.0, 0.0), (0.0, 0.0, 0.2)))
    sim = mb.Simulator(mb.Scene(primitives=bodies, loop_closures=welds, motions=(motion,)))
    sim.detach("driven")
    assert sim.attach("box", "hand") == "free"
    with pytest.raises(InputError, match="a motion drives attachment 'driven'"):
        sim.attach("other", "hand")


def test_impacts_rub_against_a_belt():
    mu, e, jumps = 0.02, 0.5, []
    for speed in (0.0, 1.0):
        sim, step, jump = dropped_on_a_belt(mu, e, speed)
        hit = -step.events[0].speeds[0]
        along = mu * (1.0 + e) * hit * speed
        assert sim.v[3] == pytest.approx(along, rel=1e-9) and sim.v[1] == pytest.approx(-2.5 * along / 0.1, rel=1e-9)
        jumps.append(jump)
    assert jumps[1] == pytest.approx(jumps[0], abs=1e-9)  # friction and the drive add nothing that is not booked


def dropped_on_a_belt(mu, e, speed):
    """A ball behind its impact on a belt: the simulator, that step, and the change of its energy balance."""
    ball = m.Primitive("ball", "sphere", (0.1,), m.Pose((0.0, 0.0, 0.3)), "free", 1.0, material="steel")
    belt = m.MovingSurface("belt", "ground", linear=(speed, 0.0, 0.0))
    materials = {"steel": m.Material(friction=mu, restitution=e)}
    sim = mb.Simulator(mb.Scene(
        primitives=(ball,), ground=m.Ground(material="steel"), materials=materials, moving_surfaces=(belt,),
    ))  # fmt: skip
    step, before = sim.step(), 0.0
    while not step.events:
        before = step.certificate.energy_balance
        step = sim.step()
    return sim, step, step.certificate.energy_balance - before


def test_friction_keeps_its_direction_in_a_third_frame():
    for frame in ("marker", None):
        friction = AnisotropicFriction(0.0, 0.6, (1.0, 0.0, 0.0), frame=frame)
        roller = {"roller": m.Material(anisotropic_friction=friction)}
        disc = m.Primitive(
            "disc", "cylinder", (0.1, 0.02), m.Pose((0.0, 0.0, 0.01)), "free", 1.0, material="roller",
            velocity=m.Velocity((0.0, 0.0, 20.0), (1.0, 0.0, 0.0)),
        )  # fmt: skip
        marker = m.Primitive("marker", "sphere", (0.01,), m.Pose((0.0, 0.0, 5.0)))
        floor = m.Primitive("floor", "box", (10.0, 10.0, 0.1), m.Pose((0.0, 0.0, -0.05)), material="plain")
        sim = mb.Simulator(
            mb.Scene(primitives=(disc, marker, floor), materials={**roller, "plain": m.Material(friction=0.6)})
        )
        sim.step(steps=100)
        kept = sim.v[3] == pytest.approx(1.0, abs=1e-9)
        assert kept == (frame is not None)


@pytest.mark.parametrize("broken, match", [
    ({"adhesion_pads": (m.AdhesionPad("cup", "nowhere", force=1.0),)}, "no link"),
    ({"adhesion_pads": (m.AdhesionPad("cup", "ground"),)}, "force"),
    ({"adhesion_pads": (m.AdhesionPad("cup", "ground", force=1.0, curve=((0.1, 1.0), (0.0, 0.0))),)}, "grow"),
    ({"adhesion_pads": (m.AdhesionPad("cup", "ground", force=1.0, reach=0.01, curve=((0.0, 1.0),)),)},
     r"adhesion_pads\[0\].reach: has no meaning beside curve"),
    ({"moving_surfaces": (BELT, BELT)}, "twice"),
    ({"loop_closures": (m.Closure("weld", "ground", "world", attached=False),) * 2}, "its own name"),
    ({"loop_closures": (m.Closure("weld", "ground", "world", name="cup 1", attached=False),
                        m.Closure("weld", "ground", "world", name="cup_1", attached=False))}, "has topics of cup_1"),
    ({"adhesion_pads": tuple(m.AdhesionPad(name, "ground", force=1.0) for name in ("c-p", "c.p"))}, "topics of c_p"),
    ({"adhesion_pads": (m.AdhesionPad("cup", "ground", force=1.0),), "integrator": "midpoint"}, "integrator"),
    ({"moving_surfaces": (m.MovingSurface("belt", "rail"),), "models": (m.SceneModel(GANTRY),)}, "has no shape"),
    ({"moving_surfaces": (BELT,), "integrator": "rk4"}, "integrator"),
    ({"motions": (m.Motion(surface="belt", times=(0.0, 1.0), speeds=(0.0, 1.0)),)}, "no moving surface is called"),
    ({"moving_surfaces": (BELT,), "motions": (m.Motion(surface="belt"),)}, "a surface's motion needs speeds"),
    ({"moving_surfaces": (BELT,), "motions": (m.Motion(surface="belt", times=(0.0, 1.0), positions=(0.0, 1.0)),)},
     "a surface has none"),
])  # fmt: skip
def test_scenes_that_cannot_be_are_refused(broken, match):
    with pytest.raises(SceneError, match=match):
        mb.Simulator(mb.Scene(ground=m.Ground(), **broken), warm_up=False)


def test_names_that_are_not_there_are_told_the_nearest_first():
    assert nearest_first("Bottle and hand", ["a and b", "floor and hand", "MustardBottle and hand"], most=2) == (
        "MustardBottle and hand, floor and hand and 1 more"
    )
    assert nearest_first("x", []) == "none"
    sim = cups((0.0, 0.0), force=30.0)
    with pytest.raises(InputError, match="no 'plat' with a mass; there are 'plate'"):
        sim.set("mass", 2.0, of=["plat"])
    with pytest.raises(InputError, match="no foot_1 and plate with a friction; there are foot_0 and plate"):
        sim.set("friction", 0.2, of=[("plate", "foot_1")])

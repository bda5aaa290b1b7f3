# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Suction cups by statics, and what is refused of cups, moving surfaces and welds.

Covers core/step/pads.py, model/scene/handling.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.checks import nearest_first
from mb_contact.errors import InputError, SceneError

m = mb.model
G = 9.81
DOWN = (np.pi, 0.0, 0.0)
MU = 0.5  #: where no material is given
BELT = m.MovingSurface("belt", "ground", linear=(0.1, 0.0, 0.0))


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


def test_the_certificate_has_what_holds_with_which_share_of_its_bound():
    """Of its own step, whatever happened behind it; a scene without pads and welds has nothing there."""
    box = m.Primitive("box", "box", (0.1,) * 3, m.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    load = m.Primitive("load", "box", (0.1,) * 3, m.Pose((0.0, 0.0, 0.15)), "free", 0.5)
    weld = m.Closure("weld", "load", "box", name="grip", attached=True, break_force=100.0)
    cup = m.AdhesionPad("cup", "ground", force=9.81)
    sim = mb.Simulator(mb.Scene(primitives=(box, load), ground=m.Ground(), adhesion_pads=(cup,), loop_closures=(weld,)))
    steps = [sim.step()]
    told = [(sim.holds(), sim.attachments())]
    assert told[0][0]["cup"].share == pytest.approx(-1.5, abs=1e-9)  # the weights press, 1.5 times its force
    assert told[0][1]["grip"].attached and 0.0 <= told[0][1]["grip"].share < 0.05
    sim.set("adhesion", 0.0, of=["cup"])
    sim.detach("grip")
    steps.append(sim.step(steps=5))
    told.append((sim.holds(), sim.attachments()))
    assert told[1][0]["cup"].link == "" and not told[1][1]["grip"].attached
    sim.attach("load", "ground")
    sim.step()
    assert [(step.certificate.holds, step.certificate.attachments) for step in steps] == told
    bare = mb.Simulator(mb.Scene(primitives=(box,), ground=m.Ground())).step().certificate
    assert (bare.holds, bare.attachments) == ({}, {})


def test_worlds_hold_as_a_simulator_does():
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

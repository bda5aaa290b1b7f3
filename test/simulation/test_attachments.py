# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Welds that come on and off, and break."""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError

m = mb.model
G = 9.81


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

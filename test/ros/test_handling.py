# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What topics and services do to pads, surfaces and welds, and that a recording does it again."""

from types import SimpleNamespace

import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.ros.handling import act, handles
from mb_contact.ros.interventions import decode, do_again, encode
from mb_contact.ros.outputs.contacts import held_texts

m = mb.model


@pytest.fixture(scope="module")
def sim():
    box = m.Primitive("box", "box", (0.1,) * 3, m.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    hand = m.Primitive("hand", "box", (0.1,) * 3, m.Pose((0.0, 0.0, 0.3)))
    return mb.Simulator(mb.Scene(
        primitives=(box, hand), ground=m.Ground(),
        adhesion_pads=(m.AdhesionPad("cup", "ground", force=9.81, on=False),),
        moving_surfaces=(m.MovingSurface("belt", "ground", linear=(1.0, 0.0, 0.0), speed=0.0),),
        loop_closures=(m.Closure("weld", "box", "hand", name="grip", attached=False),),
        tendons=(m.Tendon("cord", (m.PathElement("hand"), m.PathElement("box")), stiffness=0.01),),
    ))  # fmt: skip


@pytest.mark.parametrize("name, message, reads", [
    ("adhesion/cup/on", {"data": True}, lambda sim: sim.holds()["cup"].link == "box"),
    ("adhesion/cup/switch", {"data": True}, lambda sim: sim.holds()["cup"].force == 9.81),
    ("surfaces/belt/speed", {"data": 0.5}, lambda sim: sim.v[3] > 0.0 and sim.surface_speeds() == {"belt": 0.5}),
    ("tendons/cord/tension", {"data": 5.0}, lambda sim: sim.tendons()["cord"].tension == pytest.approx(5.0, abs=1e-6)),
    ("tendons/cord/rest_length", {"data": 0.1}, lambda sim: sim.tendons()["cord"].tension > 1e-3),
    ("attachments/grip/attach", {}, lambda sim: sim.attachments()["grip"].attached),
    ("attachments/grip/hold", {"data": True}, lambda sim: sim.attachments()["grip"].attached),
    ("attachments/grip/detach", {}, lambda sim: not sim.attachments()["grip"].attached),
    ("attach", {"data": "box hand"}, lambda sim: sim.attachments()["grip"].attached),
    ("detach", {"data": "box"}, lambda sim: not sim.attachments()["grip"].attached),
])  # fmt: skip
def test_each_handle_does_what_it_says_and_a_recording_again(sim, name, message, reads):
    (handle,) = [handle for handle in handles(sim.scene) if handle.name == name]
    kind, fields = handle.does(SimpleNamespace(**message))
    for again in (False, True):
        sim.reset()
        if again:
            _, told, more = decode(encode(0, kind, fields))
            assert do_again(sim, told, more, sim.scene) is sim
        else:
            act(sim, kind, fields)
        sim.step()
        assert reads(sim)
    keys = [key for key, _ in held_texts(sim)]
    assert keys == ["hold/cup", "attachment/grip"]


def test_a_weld_to_the_world_is_attached_by_its_topic():
    box = m.Primitive("box", "box", (0.1,) * 3, m.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    weld = m.Closure("weld", "box", "world", name="grip", attached=False, break_force=5.0)
    sim = mb.Simulator(mb.Scene(primitives=(box,), loop_closures=(weld,)))
    (handle,) = [handle for handle in handles(sim.scene) if handle.name == "attachments/grip/attach"]
    act(sim, *handle.does(SimpleNamespace()))
    assert sim.attachments()["grip"][:3] == ("world", "box", True)
    sim.step()
    assert not sim.attachments()["grip"].attached


def test_a_message_that_names_no_two_links_is_refused(sim):
    (handle,) = [handle for handle in handles(sim.scene) if handle.name == "attach"]
    with pytest.raises(InputError, match="a body and a link"):
        handle.does(SimpleNamespace(data="box"))

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
from ros.contract import STATUS, TF
from ros.support import BACKENDS, SET_BOOL, Session

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
        certificate = sim.step().certificate
        assert reads(sim)
    keys = [key for key, _ in held_texts(certificate)]
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


CELL = """
ground: {}
primitives:
- {name: box, shape: box, size: [0.1, 0.1, 0.1], base: free, mass: 1.0, pose: {position: [0.0, 0.0, 0.05]}}
- {name: hand, shape: box, size: [0.1, 0.1, 0.1], pose: {position: [0.0, 0.0, 0.5]}}
adhesion_pads: [{name: cup, link: ground, force: 30.0, on: false}]
moving_surfaces: [{name: belt, link: ground, linear: [1.0, 0.0, 0.0], speed: 0.0}]
loop_closures: [{kind: weld, link_a: box, link_b: hand, name: grip, attached: false}]
tendons: [{name: cord, path: [{link: hand}, {link: box}], stiffness: 0.01}]
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_messages_of_another_process_act_and_the_node_tells_of_it(tmp_path, backend):
    (tmp_path / "cell.yaml").write_text(CELL)
    with Session.of(backend) as ros:
        ros.node(tmp_path / "cell.yaml", backend=backend)
        peer = ros.peer()
        certificates, poses = peer.listen("certificate", STATUS), peer.listen("tf", TF)

        def says(key, start):
            values = {pair.key: pair.value for pair in certificates[-1].values} if certificates else {}
            return values.get(key, "").startswith(start)

        def place():
            found = [t.transform.translation for m in poses[-5:] for t in m.transforms if t.child_frame_id == "box"]
            return found[-1] if found else SimpleNamespace(x=0.0, z=0.0)

        def send(topic, kind, condition, **fields):
            message = peer.node.message_type(f"std_msgs/msg/{kind}")()
            for name, value in fields.items():
                setattr(message, name, value)
            peer.send_until(peer.publisher(topic, f"std_msgs/msg/{kind}"), message, condition)

        send("adhesion/cup/on", "Bool", lambda: says("hold/cup", "box force=30 "), data=True)
        send("adhesion/cup/on", "Bool", lambda: says("hold/cup", "nothing "), data=False)
        assert peer.call("adhesion/cup/switch", SET_BOOL, data=True).success
        peer.until(lambda: says("hold/cup", "box "))
        assert peer.call("adhesion/cup/switch", SET_BOOL, data=False).success
        send("tendons/cord/tension", "Float64", lambda: place().z > 0.06, data=15.0)
        send("attachments/grip/attach", "Empty", lambda: says("attachment/grip", "hand box on "))
        send("attachments/grip/detach", "Empty", lambda: says("attachment/grip", "hand box off "))
        send("attach", "String", lambda: says("attachment/grip", "hand box on "), data="box hand")
        send("detach", "String", lambda: says("attachment/grip", "hand box off "), data="box")
        send("tendons/cord/tension", "Float64", lambda: place().z < 0.051, data=0.0)
        send("surfaces/belt/speed", "Float64", lambda: place().x > 0.01, data=0.2)


def test_a_message_that_names_no_two_links_is_refused(sim):
    (handle,) = [handle for handle in handles(sim.scene) if handle.name == "attach"]
    with pytest.raises(InputError, match="a body and a link"):
        handle.does(SimpleNamespace(data="box"))

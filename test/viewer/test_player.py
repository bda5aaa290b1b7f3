# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A player's clock is the simulator's, and what is drawn of a scene is where it is; without a server.

Covers viewer/look.py, viewer/snapshot.py.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.simulation.initial import link_poses
from mb_contact.viewer.drawing import scene_drawing, surface_drawing
from mb_contact.viewer.player import Player
from mb_contact.viewer.snapshot import FRAME_SECONDS, certificate_text, contact_points
from paths import ROOT
from viewer.serving import frame_when

pytestmark = pytest.mark.quick

ARMS, CAN = ROOT / "config" / "dual_arm_lift.yaml", ROOT / "config" / "falling_can.yaml"


def ended(player):
    """The last frame of a player that ends."""
    player._thread.join(60.0)
    assert player.done
    return player.frame(1.0)


@pytest.fixture
def can():
    """A paused player of the falling can, as fast as possible."""
    simulator = mb.Simulator(CAN)
    player = Player(simulator, scene_drawing(simulator.scene, simulator.world), factor=0.0, paused=True)
    player.start()
    yield player, simulator
    player.stop()


def test_pausing_and_stepping_gives_the_states_of_a_plain_run_bit_for_bit(can):
    player, simulator = can
    start = frame_when(player, lambda frame: True)
    assert start.time == 0.0 and simulator.step_count == 0 and len(start.contacts.points) == 0
    player.step(3)
    player.step()
    assert frame_when(player, lambda frame: frame.time > 3.5 * simulator.time_step).time == 4 * simulator.time_step
    player.run()
    frame_when(player, lambda frame: frame.time > 0.05)
    player.pause()
    frame_when(player, lambda frame: player.paused)
    count = simulator.step_count
    time.sleep(2 * FRAME_SECONDS)
    assert simulator.step_count == count > 5
    player.step(2)
    last = frame_when(player, lambda frame: frame.time > (count + 1.5) * simulator.time_step)
    plain = mb.Simulator(CAN)
    for _ in range(count + 2):
        step = plain.step()
    assert (plain.q == simulator.q).all() and (plain.v == simulator.v).all()
    assert last.time == plain.time
    for link, (p, quaternion) in last.poses.items():
        expected = plain.link_pose(link)
        assert (p == expected[0]).all() and (quaternion == expected[1]).all()
    assert (last.contacts.points == step.contacts["point"]).all()
    on_can = np.where(step.contacts["link_a"] == "ground", -1.0, 1.0)[:, None]
    np.testing.assert_allclose(last.contacts.forces * plain.time_step, on_can * step.contacts["impulse"], rtol=1e-14)
    assert last.certificate["contacts"] == str(step.certificate.contacts)
    assert last.certificate["solver"] == step.certificate.solver


def test_reset_goes_back_and_a_duration_ends(can):
    player, simulator = can
    player.step(5)
    frame_when(player, lambda frame: frame.time > 0.0)
    player.reset()
    frame = frame_when(player, lambda frame: frame.time == 0.0)
    assert (simulator.q == mb.Simulator(CAN).q).all() and frame.certificate == {}
    short = Player(simulator, scene_drawing(simulator.scene, simulator.world), 0.0, duration=7 * simulator.time_step)
    player.stop()
    short.start()
    frame = ended(short)
    assert frame.time == 7 * simulator.time_step


def test_a_step_that_fails_is_told_and_a_reset_mends_it(can, monkeypatch):
    player, simulator = can

    def fail(effort=None):
        raise mb.DynamicsError("the state ran away")

    monkeypatch.setattr(simulator, "step", fail)
    player.run()
    frame = frame_when(player, lambda frame: frame.message)
    assert frame.message == "stopped: the state ran away"
    monkeypatch.undo()
    player.reset()
    player.run()
    assert not frame_when(player, lambda frame: frame.time > 0.01).message


def test_a_bug_in_a_step_ends_the_player_and_is_kept(can, monkeypatch):
    player, simulator = can
    bug = ZeroDivisionError("a bug")

    def fail(effort=None):
        raise bug

    monkeypatch.setattr(simulator, "step", fail)
    player.run()
    player._thread.join(60.0)
    assert player.done and player.crash is bug and player.failed is None


def test_gravity_compensation_keeps_the_arms_up_and_without_it_they_fall():
    simulator = mb.Simulator(ARMS)
    drawing = scene_drawing(simulator.scene, simulator.world)
    falls = {}
    for efforts in ("gravity_compensation", "zero"):
        simulator.reset()
        start = simulator.joint_positions()
        player = Player(simulator, drawing, 0.0, efforts, duration=0.1)
        player.start()
        ended(player)
        falls[efforts] = np.abs(simulator.joint_positions() - start).max()
    assert falls["gravity_compensation"] < 1e-6 < 1e-2 < falls["zero"]


@pytest.mark.parametrize("wrong, words", [({"factor": -1.0}, "not below zero"), ({"efforts": "full"}, "not 'full'")])
def test_impossible_settings_are_refused(wrong, words, can):
    player, simulator = can
    with pytest.raises(InputError, match=words):
        Player(simulator, scene_drawing(simulator.scene, simulator.world), **wrong)


def test_every_link_with_a_shape_is_drawn_where_it_is():
    scene = mb.load_scene(ARMS)
    world = mb.build_world(scene)
    drawing = scene_drawing(scene, world)
    assert not drawing.missing
    drawn = {part.link for part in drawing.visuals} | {plane.link for plane in drawing.planes}
    assert drawn >= set(world.geometry_links) and "box" in drawn
    assert "box" in drawing.moving and "table" not in drawing.moving and "ground" not in drawing.moving
    box = world.geometry_names.index("box")
    (part,) = [part for part in drawing.collisions if part.link == "box"]
    np.testing.assert_allclose(part.vertices.max(axis=0), world.geoms.size[box])
    assert drawing.friction["box", "table"] == drawing.friction["table", "box"] > 0.0
    sim, poses = mb.Simulator(scene), link_poses(world)
    for link in world.frames:
        np.testing.assert_allclose(poses[link][0], sim.link_pose(link)[0], atol=1e-12)
        np.testing.assert_allclose(np.abs(poses[link][1] @ sim.link_pose(link)[1]), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", ["bezier_patch", "three_patches"])
def test_smooth_surfaces_are_drawn_through_their_contact_points(name):
    from mb_contact.simulation.surfaces.simulator import surface_simulator

    simulator = surface_simulator(ROOT / "config" / f"{name}.yaml")
    drawing = surface_drawing(simulator)
    for contact in simulator.step().contacts:
        for link in (contact["link_a"], contact["link_b"]):
            p, quaternion = (np.zeros(3), np.array([0, 0, 0, 1.0])) if link == "world" else simulator.link_pose(link)
            R = quat_to_matrix(quaternion)
            near = min(
                np.linalg.norm(part.vertices @ R.T + p - contact["point"], axis=1).min() - spacing(part)
                for part in drawing.visuals if part.link == link
            )  # fmt: skip
            assert near < 0.0


def test_surfaces_among_ordinary_objects_are_drawn_once_each():
    from mb_contact.simulation.surfaces.simulator import surface_simulator

    simulator = surface_simulator(ROOT / "config" / "egg_and_boxes.yaml")
    drawing = surface_drawing(simulator)
    links = [part.link for part in drawing.visuals]
    assert set(links) == {"egg", "world", "lower", "middle", "upper", "ball"} and links.count("lower") == 1
    assert links.count("egg") == 1 and not drawing.planes
    assert set(drawing.moving) == {"egg", "lower", "middle", "upper", "ball"}
    assert max(np.abs(part.vertices).max() for part in drawing.visuals if part.link != "world") < 1.0
    assert drawing.friction["egg", "world"] == 0.5 and drawing.friction["egg", "lower"] == pytest.approx(0.4)


def spacing(part):
    """Longest side of a part's triangles."""
    corners = part.vertices[part.triangles]
    return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max()


def test_certificate_text_takes_numbers_and_the_texts_of_a_node():
    shown = certificate_text({"contacts": 4, "solver": "lemke", "complementarity_gap": 1e-12, "infeasibility": 2e-9})
    assert shown == {"contacts": "4", "solver": "lemke", "worst residual": "2e-09"}
    shown = certificate_text({"contacts": "4", "complementarity_gap": "1e-12", "stamp": "0.1"})
    assert shown == {"contacts": "4", "worst residual": "1e-12"}


@pytest.mark.parametrize("links, side", [(("can", "ground"), 1.0), (("ground", "can"), -1.0), (("can", "ball"), 1.0)])
def test_contacts_are_shown_as_the_link_that_moves_feels_them(links, side):
    row = (*links, np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 5.0]), "stick")
    points = contact_points([row], ("can", "ball"), {("can", "ground"): 0.3, ("ground", "can"): 0.3})
    np.testing.assert_allclose(points.normals, [[0.0, 0.0, side]])
    np.testing.assert_allclose(points.forces, [[0.0, side, 5.0 * side]])
    assert points.friction[0] == (0.0 if "ball" in links else 0.3) and points.states == ("stick",)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Links that look alike share a node of the page: where they are, what is shown of them, which one is dragged."""

from __future__ import annotations

import types

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.shapes.shape_meshes import box_mesh, shape_mesh
from mb_contact.viewer.drawing import Drawing, Part, scene_drawing
from mb_contact.viewer.graph import CROWD, SceneGraph, crowds
from mb_contact.viewer.normals import closed, fewer, side
from mb_contact.viewer.page import Page, simulated_scene
from mb_contact.viewer.player import Player
from mb_contact.viewer.snapshot import Objects, snapshot_of
from viewer.serving import NEEDS_VISER

pytestmark = NEEDS_VISER
BALLS = CROWD + 2


@pytest.fixture(scope="module")
def simulator():
    """Balls of one size in two colours, and a box, which fall."""
    Pose, Primitive = mb.model.Pose, mb.model.Primitive
    balls = [Primitive(f"ball_{k}", "sphere", (0.03,), base="free", mass=0.1, pose=Pose((0.1 * k, 0.0, 0.3)))
             for k in range(BALLS)]  # fmt: skip
    box = Primitive("box", "box", (0.1, 0.1, 0.1), base="free", mass=1.0, pose=Pose((0.0, 0.3, 0.3)))
    return mb.Simulator(mb.Scene(primitives=(*balls, box), ground=mb.model.Ground(0.0)))


@pytest.fixture
def view(server, simulator):
    simulator.reset()
    drawing, poses = simulated_scene(simulator)
    return Page(server, (Player(simulator, drawing, paused=True), drawing, poses, "balls")).view


def places(crowd):
    return {link: crowd.mesh.batched_positions[k] for k, link in enumerate(crowd.links)}


def test_parts_that_look_alike_are_one_node_and_others_are_not(simulator):
    drawing = scene_drawing(simulator.scene, simulator.world)
    (parts,) = crowds(drawing)
    assert [part.link for part in parts] == [f"ball_{k}" for k in range(BALLS)]
    assert not crowds(drawing._replace(visuals=drawing.visuals[BALLS - 7 : BALLS + 1]))  # one too few
    clear = [part._replace(opacity=0.5) for part in drawing.visuals]
    assert not crowds(drawing._replace(visuals=clear)) and not crowds(drawing._replace(moving=()))
    carried = {"tool": ("ball_3", np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))}  # its node has to be there
    assert "ball_3" not in [part.link for part in crowds(drawing._replace(frames=carried))[0]]


def test_they_are_where_the_simulator_has_them_and_what_rests_is_not_sent_again(view, simulator):
    (crowd,) = view.graph._crowds
    names = [node for node in view.server.scene._handle_from_node_name if node.startswith("/links/")]
    assert not any("ball" in name for name in names) and "/links/box" in names
    for _ in range(40):
        step = simulator.step()
    frame = snapshot_of(simulator, step, view.drawing)
    view.draw(frame)
    for link, place in places(crowd).items():
        np.testing.assert_allclose(place, simulator.link_pose(link)[0], atol=1e-6)
    turns = np.roll(crowd.mesh.batched_wxyzs, -1, axis=1)
    np.testing.assert_allclose(turns, [simulator.link_pose(link)[1] for link in crowd.links], atol=1e-6)
    colours = {part.link: np.array(part.colour) for part in view.drawing.visuals}
    lights = np.array([colours[link] for link in crowd.links]) ** 2.2  # about what a screen makes of a colour
    np.testing.assert_allclose(crowd.mesh.batched_colors / 255.0, lights, atol=0.015)
    assert len({tuple(colour) for colour in crowd.mesh.batched_colors}) > 1
    before = crowd._rows
    view.draw(frame)
    assert crowd._rows is before


def test_one_that_is_selected_or_named_has_a_node_of_its_own(view, simulator):
    view.graph.select("ball_4")
    node = view.server.scene.get_handle_by_name("/links/ball_4")
    assert node.show_axes and view.server.scene.get_handle_by_name("/links/ball_3") is None
    np.testing.assert_allclose(node.position, simulator.link_pose("ball_4")[0])
    moved = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 1.0, 0.0])
    view.graph.place({"ball_4": moved})
    np.testing.assert_allclose(node.position, moved[0])
    np.testing.assert_allclose(places(view.graph._crowds[0])["ball_4"], moved[0])
    view.graph.show_collisions(True)
    assert view.server.scene.get_handle_by_name("/links/ball_3/collision_3").wireframe
    view.graph.show_names(True)
    assert set(view.graph._names) == set(view.graph.links)


def test_those_that_are_gone_are_hidden_and_all_with_the_visual_meshes(view):
    (crowd,) = view.graph._crowds
    view.graph.set_objects(Objects(1, frozenset(view.drawing.objects) - {"ball_1", "box"}, []))
    assert crowd.mesh.batched_scales.tolist() == [float(k != 1) for k in range(BALLS)]
    view.graph.show_visuals(False)
    assert not crowd.mesh.visible


@pytest.mark.parametrize("which", [0, 5, BALLS, -1])
def test_the_one_under_the_pointer_is_dragged(view, which):
    import asyncio

    heard = []
    view.dragging.hear = lambda who, link, *_: heard.append(link)
    (entry,) = view.graph._crowds[0].mesh._impl.drag_cb
    hear = entry.callback
    event = types.SimpleNamespace(client_id=1, instance_index=which, phase="start", start_position=0, end_position=0)
    asyncio.run(hear(event))
    assert heard == ([f"ball_{which}"] if 0 <= which < BALLS else [])  # a browser may send anything


def part_of(vertices, triangles, opacity=1.0):
    return Part("it", np.asarray(vertices, dtype=float), np.asarray(triangles), (0.5, 0.5, 0.5), opacity)


@pytest.mark.parametrize("kind", ["box", "sphere", "capsule", "cylinder", "cone"])
def test_of_what_is_closed_the_front_alone_is_drawn(kind):
    size = {"box": (0.2, 0.3, 0.4), "sphere": (0.1,)}.get(kind, (0.1, 0.3))
    world = mb.Simulator(mb.Scene(primitives=(mb.model.Primitive("it", kind, size, base="free", mass=1.0),))).world
    geoms = world.geoms
    vertices, triangles = shape_mesh(geoms, 0)
    part = part_of(vertices, triangles)
    assert closed(part) and side(part) == "front"
    assert closed(part_of(vertices[triangles].reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3)))  # STL
    assert not closed(part_of(vertices, triangles[:, ::-1]))  # inside out
    assert not closed(part_of(vertices, triangles[1:])) and side(part_of(vertices, triangles[1:])) == "double"
    turned = triangles.copy()
    turned[0] = turned[0, ::-1]
    assert not closed(part_of(vertices, turned))
    assert not closed(part_of(vertices, triangles, 0.5)) and not closed(part_of(vertices, triangles[:0]))
    assert not closed(part_of(vertices, np.vstack([triangles, triangles[:, ::-1]])))  # both sides of a sheet


def test_far_away_meshes_of_many_triangles_have_fewer(view, simulator):
    (crowd,) = view.graph._crowds
    ratios = [ratio for _, ratio in crowd.mesh.lod]
    distances = np.array([distance for distance, _ in crowd.mesh.lod])
    assert ratios == sorted(ratios, reverse=True) and (distances > 10.0 * 0.03).all() and crowd.mesh.side == "front"
    box = next(part for part in view.drawing.visuals if part.link == "box")
    assert fewer(box) == "off" and view.server.scene.get_handle_by_name(f"/links/box/visual_{BALLS}").side == "front"


def test_what_is_more_than_half_transparent_throws_no_shadow(server):
    parts = [part_of(*box_mesh(np.ones(3)), opacity) for opacity in (1.0, 0.6, 0.4)]
    graph = SceneGraph(server, Drawing(parts, [], [], (), {}, []), {})
    assert [mesh.cast_shadow for mesh in graph._visuals] == [True, True, False]

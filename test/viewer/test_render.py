# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures without a graphics card: what is where by the laws of perspective, what hides what, and shadows.

Covers core/rays/light.py, model/shapes/normals.py, viewer/drawing.py, viewer/normals.py.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.rays.light import GROUND, HORIZON, LAMP, ZENITH
from mb_contact.core.rays.shade import part_seen
from mb_contact.model.shapes.normals import corner_normals
from mb_contact.model.shapes.shape_meshes import ball_profile, box_mesh, turned
from mb_contact.viewer.drawing import Drawing, Part, Plane
from mb_contact.viewer.film import HERE, camera_of
from mb_contact.viewer.normals import creased, part_normals
from mb_contact.viewer.render import SOFT, Camera, lamp_tiles, picture, render

CUBES = ((0.0, 0.0, 0.5), 0.5), ((1.5, 0.0, 0.2), 0.2)  #: their middles, and half their sides
RED, BLUE = (0.9, 0.1, 0.1), (0.1, 0.1, 0.9)


def ball(place, radius):
    vertices, triangles = turned(*ball_profile(), (radius,) * 3)
    return (vertices + place)[triangles]


def of_colour(picture, strong):
    """Rows and columns of pixels in which one of red, green, blue is far above the others."""
    others = [k for k in range(3) if k != strong]
    return np.nonzero(picture[..., strong].astype(int) - picture[..., others].max(axis=-1) > 40)


def test_a_ball_is_where_and_as_large_as_perspective_says():
    camera = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0), angle=0.6, width=300, height=200)
    place, radius = np.array([0.4, 0.0, 0.3]), 0.2
    rows, columns = of_colour(render(ball(place, radius), np.tile(RED, (len(ball(place, radius)), 1)), camera, None), 0)
    pixels = 100.0 / np.tan(0.3) / 5.0  # a metre at the distance of the ball
    assert abs(columns.mean() + 0.5 - (150.0 + 0.4 * pixels)) < 1.0
    assert abs(rows.mean() + 0.5 - (100.0 - 0.3 * pixels)) < 1.0
    area = np.pi * (radius * pixels) ** 2
    assert abs(len(rows) / area - 1.0) < 0.05


def test_the_nearer_one_hides_the_other_whatever_their_order():
    camera = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0), width=120, height=80)
    near, far = ball((0.0, -1.0, 0.0), 0.3), ball((0.0, 1.0, 0.0), 0.3)
    colours = [np.tile(c, (len(near), 1)) for c in (RED, BLUE)]
    one = render(np.concatenate([near, far]), np.concatenate(colours), camera, None)
    other = render(np.concatenate([far, near]), np.concatenate(colours[::-1]), camera, None)
    np.testing.assert_array_equal(one, other)
    assert len(of_colour(one, 0)[0]) > 280 and len(of_colour(one, 2)[0]) == 0
    sky = one[0, 0] / 255.0  # between the colours of horizon and zenith
    assert ((np.minimum(HORIZON, ZENITH) <= sky + 0.01) & (sky <= np.maximum(HORIZON, ZENITH) + 0.01)).all()


def test_a_floor_lies_where_it_is_said_and_shadows_fall_away_from_the_lamp():
    """Seen from straight above (nearly), a plate at height 1 throws its shadow aside by the slope of the light."""
    vertices, triangles = box_mesh((0.2, 0.2, 0.005))
    plate = (vertices + (0.0, 0.0, 1.0))[triangles]
    camera = Camera((0.0, -1e-3, 9.0), (0.0, 0.0, 0.0), width=400, height=400)
    picture = render(plate, np.tile(RED, (len(plate), 1)), camera, 0.0)
    bright = picture.sum(axis=-1)
    lit, shade = np.median(bright), bright < 0.75 * np.median(bright)
    shade[of_colour(picture, 0)] = False
    rows, columns = np.nonzero(shade)
    pixels = 200.0 / np.tan(0.3) / 9.0  # a metre on the floor
    expected = -np.array(LAMP[:2]) / LAMP[2]  # of the plate's centre, on the floor
    assert abs((columns.mean() + 0.5 - 200.0) / pixels - expected[0]) < 0.02
    assert abs(-(rows.mean() + 0.5 - 200.0) / pixels - expected[1]) < 0.02
    assert lit > 0.75 * 255.0 * sum(GROUND)
    hidden = render(plate, np.tile(RED, (len(plate), 1)), camera, 2.0)  # a floor above it
    assert len(of_colour(hidden, 0)[0]) == 0


def test_round_things_are_smooth_and_edges_stay_edges():
    sphere = ball((0.0, 0.0, 0.0), 0.5)
    np.testing.assert_allclose(corner_normals(sphere), sphere / 0.5, atol=0.04)
    vertices, triangles = box_mesh((0.5, 0.5, 0.5))
    corners = vertices[triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    np.testing.assert_allclose(corner_normals(corners), np.repeat(across[:, None], 3, axis=1), atol=1e-12)
    part = Part("box", vertices, triangles, RED)
    assert part_normals(part) is part_normals(part)
    apart, faces = creased(part)
    assert len(apart) == 24  # three faces meet at each corner of a box
    np.testing.assert_allclose(apart[faces], corners)
    ends = turned(np.array([0.0, 1.0, 1.0, 0.0]), np.array([-1.0, -1.0, 1.0, 1.0]), (0.1, 0.1, 0.2))
    count = len(creased(Part("cylinder", *ends, RED))[0])
    assert count == len(np.unique(ends[0].round(9), axis=0)) * 2 - 2  # each rim is two, the middles of the ends one


def test_the_shade_of_a_ball_has_no_facets():
    """Along a row of pixels the brightness of a smooth ball has no steps as those of its triangles."""
    camera = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0), angle=0.3, width=300, height=300)
    shape = ball((0.0, 0.0, 0.0), 0.6)
    colours = np.tile((0.6, 0.6, 0.6), (len(shape), 1))
    flat = np.repeat(np.cross(shape[:, 1] - shape[:, 0], shape[:, 2] - shape[:, 0])[:, None], 3, axis=1)
    flat /= np.linalg.norm(flat, axis=2, keepdims=True)
    kinks = [np.abs(np.diff(render(shape, colours, camera, None, normals)[150, 110:190, 0].astype(int), 2)).max()
             for normals in (None, flat)]  # fmt: skip
    assert kinks[0] <= 3 < kinks[1]


def test_the_edge_of_a_shadow_has_no_steps():
    """Behind a straight edge, along one of its pixels' axes or aslant, the light grows steadily, not pixel by pixel."""
    frame, at = np.eye(3), np.array([0.0, 0.0, 0.0, 1.0])  # a pixel of the lamp is a metre
    place = np.linspace(20.0, 44.0, 481)
    for slope in (0.0, 0.5):
        rows, columns = np.mgrid[0:64, 0:64] + 0.5
        depth = np.where(columns + slope * (rows - 32.0) < 32.0, 100.0, 1.0)
        seen = np.array([part_seen(depth, lamp_tiles(depth), frame, at, SOFT, (x, 32.0, 1.0)) for x in place])
        assert seen[0] == 0.0 and seen[-1] == 1.0
        assert np.abs(np.diff(seen)).max() <= 0.051 / SOFT * (1.0 + 1e-9)
        if slope == 0.0:
            np.testing.assert_allclose(seen, np.clip((place - 32.0) / SOFT + 0.5, 0.0, 1.0), atol=1e-12)


def test_what_is_thinner_than_a_soft_edge_throws_its_part_of_a_shadow():
    frame, at = np.eye(3), np.array([0.0, 0.0, 0.0, 1.0])
    depth = np.ones((64, 64))
    depth[30:32, 30:33] = 100.0
    for row, column in ((31.0, 31.5), (27.0, 34.0), (36.5, 36.5)):
        seen = part_seen(depth, lamp_tiles(depth), frame, at, SOFT, (column, row, 1.0))
        assert abs(seen - (1.0 - 6.0 / SOFT**2)) < 1e-12


def boxes(*places_and_halves):
    """Triangles of boxes, and their colours."""
    corners = []
    for place, half in places_and_halves:
        vertices, triangles = box_mesh(half)
        corners.append((vertices + place)[triangles])
    every = np.concatenate(corners)
    return every, np.tile((0.6, 0.6, 0.6), (len(every), 1))


def test_a_shadow_is_as_sharp_whatever_stands_far_away():
    crate = ((0.0, 0.0, 0.25), (0.25,) * 3)
    walls = ((0.0, 50.0, 1.5), (50.0, 0.25, 1.5)), ((-50.0, 0.0, 1.5), (0.25, 50.0, 1.5))
    camera = Camera((-1.5, 2.0, 2.0), (0.0, 0.0, 0.25), width=240, height=180)
    alone, among = (render(*boxes(*all_of_them), camera) for all_of_them in ((crate,), (crate, *walls)))
    assert (np.abs(alone.astype(int) - among).max(axis=-1) > 30).mean() < 0.002  # the edge alone is softer
    dark = alone.sum(axis=-1) < 0.75 * np.median(alone.sum(axis=-1))
    assert dark.mean() > 0.02


def test_a_picture_is_the_same_at_any_scale():
    """Of millimetres and of hundreds of metres: nothing is cut off, and shadows are as long and as dark."""
    pictures = []
    for scale in (2e-3, 1.0, 300.0):
        shapes = boxes(*(([scale * x for x in place], (scale * half,) * 3) for place, half in CUBES))
        corners = shapes[0].reshape(-1, 3)
        part = Part("it", corners, np.arange(len(corners)).reshape(-1, 3), RED)
        drawing = Drawing([part], [], [], ("it",), {}, [])
        camera = camera_of(drawing, [{"it": HERE}] * 2, (160, 120))
        pictures.append(render(*shapes, camera).astype(int))
    for other in (pictures[0], pictures[2]):
        changed = np.abs(other - pictures[1])[60:].max(axis=-1) > 12  # the mist of the horizon is above
        assert changed.mean() < 0.01


def test_what_reaches_behind_the_camera_is_drawn_in_front_of_it():
    slab, colours = boxes(((0.0, 0.0, -0.5), (50.0, 50.0, 0.5)))
    camera = Camera((0.0, -3.0, 2.0), (0.0, 0.0, 0.0), width=120, height=80)
    picture = render(slab, np.tile(RED, (len(slab), 1)), camera, None)
    assert len(of_colour(picture, 0)[0]) == 120 * 80


def plate(y, colour):
    corners = np.array([(-0.6, y, -0.6), (0.6, y, -0.6), (0.6, y, 0.6), (-0.6, y, 0.6)])
    return Part("world", corners, np.array([(0, 1, 2), (0, 2, 3)]), colour)


def test_what_is_behind_transparent_parts_is_seen_through_all_of_them():
    camera, poses = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0), width=120, height=80), {"world": HERE}

    def centre(*parts):
        return picture(Drawing(list(parts), [], [], (), {}, []), poses, camera)[30:50, 50:70].astype(float)

    wall, far, near = plate(1.0, BLUE), plate(0.0, (0.1, 0.9, 0.1)), plate(-1.0, RED)
    expected = 0.3 * centre(near) + 0.7 * (0.4 * centre(far) + 0.6 * centre(wall))
    veils = far._replace(opacity=0.4), near._replace(opacity=0.3)
    np.testing.assert_allclose(centre(wall, *veils), expected, atol=1.0)
    np.testing.assert_allclose(centre(*veils[::-1], wall), expected, atol=1.0)


def test_of_a_transparent_body_the_far_side_is_seen_too_and_glass_throws_no_shadow():
    camera, half = Camera((0.0, -5.0, 3.0), (0.0, 0.0, 0.3), width=120, height=80), np.full(3, 0.3)
    box = Part("box", *box_mesh(half), (0.8, 0.8, 0.8), 0.2)
    drawing = Drawing([box], [], [Plane("world", np.eye(3), np.zeros(3))], ("box",), {}, [])
    poses = {"world": HERE, "box": (np.array([0.0, 0.0, 0.31]), HERE[1])}
    pictures = [picture(drawing._replace(visuals=[box._replace(opacity=o)]), poses, camera) for o in (0.0, 0.2, 1.0)]
    nothing, glass, solid = (p.astype(float) for p in pictures)
    both = (np.abs(solid - nothing).max(axis=-1) > 30.0) & (np.abs(glass - nothing).max(axis=-1) < 0.5)
    assert both.sum() > 15  # the shadow of the solid one
    middle = (slice(36, 42), slice(58, 62))
    part = (glass[middle] - nothing[middle]) / (solid[middle] - nothing[middle])
    assert 0.24 < np.median(part) < 0.5, np.median(part)  # more than the front alone would cover, 0.2


def test_a_scene_of_glass_alone_is_drawn():
    camera = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0), width=60, height=40)
    drawing = Drawing([plate(0.0, RED)._replace(opacity=0.3)], [], [], (), {}, [])
    assert picture(drawing, {"world": HERE}, camera)[20, 30, 0] > 0

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What an SRDF says about which links may touch, alone and beside a scene's filters."""

from __future__ import annotations

import pytest

from mb_contact.errors import ModelError, SceneError
from mb_contact.model import Scene, SceneModel, build_world
from mb_contact.model.scene import CollisionFilters, load_scene
from scenes.urdf_text import SOLID, joint, link, robot

BALL = '<collision><geometry><sphere radius="0.1"/></geometry>{}</collision>'
CHAIN = robot(
    "".join(link(name, SOLID + BALL.format("")) for name in "abcd")
    + joint("ab", "a", "b") + joint("bc", "b", "c") + joint("cd", "c", "d"), "chain"
)  # fmt: skip
FILTERS = CollisionFilters()


def pairs_of(tmp_path, srdf="", filters=FILTERS):
    file = tmp_path / "chain.srdf"
    file.write_text(f'<robot name="chain">\n{srdf}\n</robot>')
    scene = Scene(models=(SceneModel(CHAIN, srdf=str(file)),), collision_filters=filters)
    world = build_world(scene)
    links = world.geometry_links
    return {links[a] + links[b] for a, b in world.geoms.pairs}, world.warnings


@pytest.mark.parametrize(
    ("srdf", "filters", "pairs"),
    [
        ("", {}, {"ac", "ad", "bd"}),
        ('<disable_collisions link1="d" link2="a" reason="Never"/>', {}, {"ac", "bd"}),
        ('<disable_default_collisions link="a"/>', {}, {"bd"}),
        ('<disable_default_collisions link="a"/><enable_collisions link1="a" link2="d"/>', {}, {"ad", "bd"}),
        ('<enable_collisions link1="a" link2="b"/>', {}, {"ab", "ac", "ad", "bd"}),
        ('<enable_collisions link1="a" link2="b"/>', {"disable": (("a", "b"),)}, {"ac", "ad", "bd"}),
        ('<disable_collisions link1="a" link2="b"/>', {"adjacent": False}, {"bc", "cd", "ac", "ad", "bd"}),
        ('<group name="arm"><chain base_link="a" tip_link="d"/></group>', {}, {"ac", "ad", "bd"}),
    ],
)
def test_srdf_decides_which_links_may_touch(srdf, filters, pairs, tmp_path):
    found, warnings = pairs_of(tmp_path, srdf, CollisionFilters(**filters))
    assert found == pairs and warnings == ()


@pytest.mark.parametrize(
    ("srdf", "warning"),
    [
        ('<disable_collisions link1="a" link2="z"/>', "chain.srdf:2: <disable_collisions> names 'z', which is no link"),
        ('<disable_default_collisions link="z"/>', "<disable_default_collisions> names 'z', which is no link"),
        ('<disable_collisions link1="a" link2="a"/>', "names 'a' twice"),
        ('<enable_collisions link1="a" link2="c"/><disable_collisions link1="c" link2="a"/>', "they are disabled"),
    ],
)
def test_doubtful_srdf_warns(srdf, warning, tmp_path):
    assert [warning in text for text in pairs_of(tmp_path, srdf)[1]] == [True]


def test_srdf_of_another_robot_warns(tmp_path):
    file = tmp_path / "other.srdf"
    file.write_text('<robot name="other"/>')
    warnings = build_world(Scene(models=(SceneModel(CHAIN, srdf=str(file)),))).warnings
    assert "other.srdf:1: this SRDF is of robot 'other', the URDF of 'chain'" in warnings[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<robot>\n<disable_collisions link1='a'/></robot>", r"x\.srdf:2: .* has no attribute 'link2'"),
        ("<robot>\n<oops</robot>", r"x\.srdf:2: not well-formed XML"),
        ("<scene/>", r"x\.srdf:1: the root element is <scene>, expected <robot>; is this an SRDF"),
    ],
)
def test_wrong_srdf_says_where(content, message, tmp_path):
    file = tmp_path / "x.srdf"
    file.write_text(content)
    with pytest.raises(ModelError, match=message):
        build_world(Scene(models=(SceneModel(CHAIN, srdf=str(file)),)))


def test_srdf_of_a_scene_file_stands_beside_it(tmp_path):
    (tmp_path / "chain.urdf").write_text(CHAIN)
    (tmp_path / "chain.srdf").write_text('<robot name="chain"><disable_collisions link1="a" link2="d"/></robot>')
    scene = tmp_path / "scene.yaml"
    scene.write_text("models:\n  - urdf: chain.urdf\n    srdf: chain.srdf\n")
    assert len(build_world(load_scene(scene)).geoms.pairs) == 2
    scene.write_text("models:\n  - urdf: chain.urdf\n    srdf: gone.srdf\n")
    with pytest.raises(SceneError, match=r"scene\.yaml:3: models\[0\]\.srdf: .*gone\.srdf' does not exist"):
        build_world(load_scene(scene))

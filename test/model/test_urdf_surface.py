# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a URDF and an SRDF say about surfaces: friction tags, collision rules, spelling of names."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.errors import ModelError, SceneError
from mb_contact.model import Ground, Material, Scene, SceneModel, build_world, load_urdf
from mb_contact.model.scene import CollisionFilters, ModelMaterials
from mb_contact.model.scene_yaml import load_scene
from scenes.urdf_text import SOLID, arm, joint, link, robot

BALL = '<collision><geometry><sphere radius="0.1"/></geometry>{}</collision>'
DRAKE = '<drake:proximity_properties><drake:mu_dynamic value="{}"/></drake:proximity_properties>'
GAZEBO = '<gazebo reference="base"><mu1>{}</mu1><mu2>{}</mu2></gazebo>'
BULLET = '<contact><lateral_friction value="{}"/><rolling_friction value="0.1"/></contact>'


def one_ball(drake=None, gazebo=None, bullet=None):
    inside = DRAKE.format(drake) if drake is not None else ""
    content = BALL.format(inside) + (BULLET.format(bullet) if bullet is not None else "")
    return robot(link("base", content) + "\n" + (GAZEBO.format(gazebo, gazebo) if gazebo is not None else ""))


# --- friction --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "friction"),
    [
        ({}, None),
        ({"bullet": 0.3}, 0.3),
        ({"gazebo": 0.4, "bullet": 0.3}, 0.4),
        ({"drake": 0.6, "gazebo": 0.4, "bullet": 0.3}, 0.6),
        ({"drake": 0.0, "bullet": 0.3}, 0.0),
    ],
)
def test_the_first_friction_tag_counts(tags, friction):
    """Drake's, then Gazebo's, then Bullet's; the prefix of Drake's need not be declared."""
    model = load_urdf(one_ball(**tags))
    assert model.geometries[0].friction == friction and model.warnings == ()


def test_a_material_of_the_scene_counts_more_than_the_file():
    text = one_ball(drake=0.64)

    def mu(**values):
        scene = Scene(models=(SceneModel(text, base="weld", **values),), ground=Ground(material="soil"),
                      materials={"soil": Material(0.36), "steel": Material(0.25)})
        shapes = build_world(scene)
        assert len(shapes.geoms.pairs) == 0  # both stand on the inertial frame
        from mb_contact.model.pairs import pair_frictions

        model = load_urdf(text)
        default = values["materials"].default if values else None
        geometries = [model.geometries[0]._replace(material=default), model.geometries[0]._replace(material="soil")]
        return pair_frictions(scene, geometries, [(0, 1)])[0][0]

    assert mu() == pytest.approx(np.sqrt(0.64 * 0.36))
    assert mu(materials=ModelMaterials(default="steel")) == pytest.approx(np.sqrt(0.25 * 0.36))


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (one_ball(drake=12), ":2: link 'base': <drake:mu_dynamic> of 12 is above 10; used as given"),
        (one_ball(gazebo=100), ":3: link 'base': <mu1> of 100 is above 10; used as given"),
        (robot(link("base") + "\n<gazebo reference='hand'><mu1>1</mu1></gazebo>"), ":3: .* 'hand', which is no link"),
        (robot(link("base") + "\n<gazebo reference='base'><mu1>1</mu1><mu2>2</mu2></gazebo>"), "<mu2> differs from"),
    ],
)
def test_doubtful_friction_warns(text, warning):
    import re

    assert any(re.search(warning, text) for text in load_urdf(text).warnings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (one_ball(drake=-1), ":2: link 'base': <drake:mu_dynamic> is -1; a friction coefficient is at least 0"),
        (one_ball(gazebo="slippery"), ":3: link 'base': <mu1> must be a number, got 'slippery'"),
        (one_ball(bullet="nan"), ":2: link 'base': <lateral_friction> is nan"),
        (robot(link("base") + "\n<gazebo reference='base'><mu1/></gazebo>"), ":3: .* must be a number, got 'None'"),
    ],
)
def test_impossible_friction_is_refused(text, message):
    with pytest.raises(ModelError, match=message):
        load_urdf(text)


# --- collision rules -------------------------------------------------------------------------

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


# --- spelling --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (robot(link("base", SOLID.replace("inertial", "inertal"))), ":2: <inertal> in <link> is not known and passed"),
        (robot(link("base", "<colision/>")), "did you mean <collision>"),
        (robot(link("base") + "<jiont/>"), "<jiont> in <robot> is not known and passed over; did you mean <joint>"),
        (arm('<dynamcs damping="3"/>'), ":4: <dynamcs> in <joint> is not known"),
        (arm('<origin xzy="0 0 1"/>'), ":4: <origin> has no attribute 'xzy'; passed over; it may have xyz, rpy, quat"),
        (arm('<dynamics dampening="3"/>'), "<dynamics> has no attribute 'dampening'"),
        (robot(link("base", BALL.replace('radius="0.1"', 'radius="0.1" length="3"'))), "<sphere> has no attribute 'le"),
        (robot(link("base", SOLID + SOLID)), ":2: a second <inertial> in <link>; only the first counts"),
        (robot(link("base")).replace("<robot", '<robot version="2.0"'), ":1: URDF version '2.0' is not known"),
    ],
)
def test_misspelled_names_warn(text, warning):
    assert [warning in text for text in load_urdf(text).warnings] == [True]


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_limits_of_urdf_1_2_are_no_surprise(version):
    limit = '<limit effort="1" velocity="1" acceleration="3" deceleration="3" jerk="9"/>'
    text = arm(limit).replace("<robot", f'<robot version="{version}"')
    assert load_urdf(text).warnings == ()

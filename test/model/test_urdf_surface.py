# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a URDF says about surfaces: friction tags, and names that are misspelled.

Covers model/urdf/gazebo.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import ModelError
from mb_contact.model import Ground, Material, Scene, SceneModel, build_world, load_urdf
from mb_contact.model.scene import ModelMaterials
from scenes.urdf_text import SOLID, arm, link, robot

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
        (one_ball(gazebo=1e14), r":3: link 'base': <mu1> of 1e\+14 is above 1000, the most that a pair has"),
        (robot(link("base") + "\n<gazebo reference='hand'><mu1>1</mu1></gazebo>"), ":3: .* 'hand', which is no link"),
        (robot(link("base") + "\n<gazebo reference='base'><mu1>1</mu1><mu2>2</mu2></gazebo>"), "<mu2> differs from"),
    ],
)
def test_doubtful_friction_warns(text, warning):
    import re

    assert any(re.search(warning, text) for text in load_urdf(text).warnings)


def of_gazebo(inside, reference="reference='base'"):
    return robot(link("base") + f"\n<gazebo {reference}>{inside}</gazebo>")


@pytest.mark.parametrize(
    ("inside", "warning"),
    [
        ("<gravity>0</gravity>", None),
        ("<gravity value='true'/>", None),
        ("<turnGravityOff>false</turnGravityOff>", None),
        ("<static>true</static>", "<static>: link 'base' moves, as only a whole robot is static"),
        ("<mu1>0.1</mu1><fdir1 value='1 0 0'/>", r"<fdir1> .*{along: 0.1, across: ..., direction: \[1, 0, 0\]}"),
        ("<fdir1>0 0 0</fdir1>", None),
        ("<kp>1000000.0</kp><kd>100.0</kd>", "<kp> is passed over, .*{stiffness: 1e.06, damping: 0.0001} gives way"),
        ("<kp value='1e12'/><kd value='1'/>", None),
        ("<kd>1.0</kd>", "<kd> is passed over, as contacts are rigid; a material of the scene with softness"),
    ],
)
def test_what_gazebo_alone_would_do_is_named_with_a_remedy(inside, warning):
    import re

    told = load_urdf(of_gazebo(inside)).warnings
    assert len(told) == (warning is not None) and all(re.search(warning, text) for text in told), told


def arm_of_gazebo(*tags):
    """A floating base, a hinge, and a plate fixed to the link behind it."""
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="{name}">{inertia}</link>' for name in ("base", "arm", "plate"))
    joints = "".join(
        f'<joint name="{kind}" type="{kind}"><parent link="{a}"/><child link="{b}"/><axis xyz="0 1 0"/></joint>'
        for kind, a, b in (("continuous", "base", "arm"), ("fixed", "arm", "plate"))
    )
    return f'<robot name="r">{links}{joints}{"".join(tags)}</robot>'


def test_links_without_weight_have_none():
    """The base hovers; the arm and its plate are one body, which hovers where both have no weight."""
    off = [f'<gazebo reference="{link}"><gravity>0</gravity></gazebo>' for link in ("base", "arm")]
    off.append('<gazebo reference="plate"><turnGravityOff value="true"/></gazebo>')
    sim = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(arm_of_gazebo(*off), base="free"),)))
    sim.step(steps=20)
    assert np.abs(sim.v).max() < 1e-15 and sim.values("gravity") == {"base": [0.0] * 3, "arm": [0.0] * 3}
    part = load_urdf(arm_of_gazebo(*off[:2]))
    assert "link 'arm' has a weight here, as other links of its body" in part.warnings[0]
    sim = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(arm_of_gazebo(off[0]), base="free"),)))
    sim.step()
    assert 3.0 * sim.v[5] == pytest.approx(-2.0 * 9.81e-3, rel=1e-9)  # two of three masses have weight


def test_a_static_robot_stands_still():
    text = arm_of_gazebo("<gazebo><static>1</static></gazebo>")
    model = load_urdf(text, floating=True)
    assert model.N == 0 and "stands still" in model.warnings[0]
    assert load_urdf(arm_of_gazebo("<gazebo><static>0</static></gazebo>"), floating=True).N == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (of_gazebo("<gravity>down</gravity>"), ":3: <gravity> must be true or false, got 'down'"),
        (of_gazebo("<fdir1>1 0</fdir1>"), ":3: link 'base': <fdir1> must have 3 numbers, got '1 0'"),
        (of_gazebo("<kp>-5</kp>"), ":3: link 'base': <kp> and <kd> must be at least zero, got -5 and 0"),
        (of_gazebo("<kp>stiff</kp>"), ":3: link 'base': <kp> must have 1 number, got 'stiff'"),
        (one_ball(drake=-1), ":2: link 'base': <drake:mu_dynamic> is -1; a friction coefficient is at least 0"),
        (one_ball(gazebo="slippery"), ":3: link 'base': <mu1> must be a number, got 'slippery'"),
        (one_ball(bullet="nan"), ":2: link 'base': <lateral_friction> is nan"),
        (robot(link("base") + "\n<gazebo reference='base'><mu1/></gazebo>"), ":3: .* must be a number, got 'None'"),
    ],
)
def test_impossible_friction_is_refused(text, message):
    with pytest.raises(ModelError, match=message):
        load_urdf(text)


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

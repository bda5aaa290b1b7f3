# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A robot with another one at a link has the bodies of both, where they belong, with names of their own.

Covers model/urdf/naming.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model import Pose, compose, load_urdf

ARM = mb.pendulum(3, length=1.5).urdf()
FOLLOWS = """<robot name="jaws"><material name="red"><color rgba="1 0 0 1"/></material><link name="world"/>
<link name="left">{0}</link><link name="right">{0}</link>
<joint name="open" type="prismatic"><parent link="world"/><child link="left"/><axis xyz="1 0 0"/>
<limit lower="0" upper="1" effort="1" velocity="1"/></joint>
<joint name="other" type="prismatic"><parent link="world"/><child link="right"/><axis xyz="-1 0 0"/>
<limit lower="0" upper="1" effort="1" velocity="1"/><mimic joint="open"/></joint></robot>""".format(
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def test_the_gripper_stands_where_it_is_put():
    pose = Pose((0.1, 0.2, 0.3), rpy=(0.4, np.pi / 2, -0.7))
    model = load_urdf(compose(ARM, FOLLOWS, "link_2", pose))
    q = model.q_from({"hinge_0": 0.3, "hinge_2": -0.8})
    R, p = mb.frame_pose(model, q, "link_2")
    R_hand, p_hand = mb.frame_pose(model, q, "world")
    np.testing.assert_allclose(R_hand, R @ pose.rotation(), atol=1e-12)
    np.testing.assert_allclose(p_hand, p + R @ pose.origin(), atol=1e-12)
    assert model.tree.mass.sum() == pytest.approx(load_urdf(ARM).tree.mass.sum() + 2.0)


def test_two_of_one_kind_have_names_of_their_own_and_follow_their_own_leaders():
    two = compose(compose(ARM, FOLLOWS, "link_2"), FOLLOWS, "link_0")
    three = load_urdf(compose(two, FOLLOWS, "link_1"))
    assert sorted((m.joint, m.leader) for m in three.mimics) == [
        ("jaws_2_other", "jaws_2_open"), ("jaws_other", "jaws_open"), ("other", "open")
    ]  # fmt: skip
    assert two.count('<material name="red">') == 1
    assert load_urdf(compose(ARM, FOLLOWS, "base", prefix="l_")).joint_names[-1] == "l_open"


def test_meshes_are_found_from_any_folder(tmp_path, monkeypatch):
    part = tmp_path / "part"
    part.mkdir()
    (part / "a.stl").write_bytes(b"")
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual></link>'
    text = FOLLOWS.replace('<link name="world"/>', '<link name="world">' + mesh.format("a.stl"), 1)
    (part / "jaws.urdf").write_text(text)
    assert f'filename="{part / "a.stl"}"' in compose(ARM, part / "jaws.urdf", "link_0")
    (part / "jaws.urdf").write_text(text.replace("a.stl", "none.stl"))
    assert 'filename="none.stl"' in compose(ARM, part / "jaws.urdf", "link_0")


def test_all_names_have_a_prefix_and_followers_know_their_leaders():
    right = load_urdf(compose(ARM, FOLLOWS, "link_2", prefix_all="right_"))
    assert all(name.startswith("right_") for name in (*right.link_names, *right.joint_names))
    assert [(m.joint, m.leader) for m in right.mimics] == [("right_other", "right_open")]
    assert load_urdf(compose(ARM)).joint_names == load_urdf(ARM).joint_names


def test_what_does_not_fit_is_refused():
    with pytest.raises(mb.InputError, match="nothing is fixed to link 'link_2'"):
        compose(ARM, at="link_2")
    with pytest.raises(mb.InputError, match="a gripper needs the link"):
        compose(ARM, FOLLOWS)
    with pytest.raises(mb.InputError, match=r"no link 'link_9'; did you mean 'link_\d'\?$"):
        compose(ARM, FOLLOWS, "link_9")
    with pytest.raises(mb.InputError, match="the name 'l_left' occurs twice"):
        compose(compose(ARM, FOLLOWS, "link_0", prefix="l_"), FOLLOWS, "link_0", prefix="l_")
    with pytest.raises(mb.ModelError, match="root element is <sdf>"):
        compose(ARM, "<sdf/>", "link_0")
    with pytest.raises(mb.ModelError, match="not well-formed XML"):
        compose(ARM, "<robot>", "link_0")

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What other URDF readers stumble over, row by row: what ours makes of it, and beside it what Pinocchio makes of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mb_contact.errors import ModelError
from mb_contact.model import load_urdf
from mb_contact.types import SHAPE_CAPSULE
from scenes.urdf_text import SOLID, arm, joint, link, robot

LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
GHOST = '<inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
NO_TENSOR = '<inertial><origin xyz="0.1 0.1 0"/><mass value="1"/></inertial>'
CAPSULE = '<collision><geometry><capsule radius="0.1" length="0.6"/></geometry></collision>'
FOLLOWS = '<mimic joint="{}" multiplier="3"/>'
THREE = link("a") + link("b") + link("c")
OTHERS = (
    '<transmission name="t"/><ros2_control name="c" type="system"/><gazebo/>'
    + joint("k", "base", "tip", content='<calibration rising="0"/><safety_controller k_velocity="1"/>')
)


def masses(model):
    return list(model.tree.mass)


def axis(model):
    return model.tree.axis[0].tolist()


#: text of the file -> what ours gives: an error (``!sentence``), or a value of the model and a warning (or none)
ROWS = {
    "no inertial, nothing below moves": (
        arm(tip=""), "!joint 'hinge' moves link 'tip', which has no mass and none below",
    ),
    "no inertial, mass below": (
        robot(link("base") + link("knuckle", "") + link("tip") + joint("i", "base", "knuckle") + joint("j", "knuckle",
              "tip", content='<axis xyz="0 1 0"/>')),
        (masses, [0.0, 2.0], None),
    ),
    "explicit zero mass and inertia": (
        robot(link("base") + link("tip") + link("ghost", GHOST) + joint("h", "base", "tip")
              + joint("w", "tip", "ghost", "fixed")),
        (lambda model: sorted(model.frames), ["base", "ghost", "tip"], None),
    ),
    "inertial without inertia": (arm(tip=NO_TENSOR), (masses, [1.0], "taken as a point mass of 1 kg")),
    "inertia not positive definite": (
        arm(tip=SOLID.replace('ixx="0.1"', 'ixx="-0.1"')), "!link 'tip': the inertia is indefinite",
    ),
    "triangle inequality broken": (
        arm(tip=SOLID.replace('izz="0.1"', 'izz="0.3"')), (masses, [2.0], "the largest exceeds the sum of the others"),
    ),
    "revolute without limit": (arm(kind="revolute"), "!joint 'hinge': a revolute joint needs a <limit>"),
    "continuous without limit": (arm(), (lambda model: model.upper[0], np.inf, None)),
    "limit without lower and upper": (
        arm('<limit effort="1" velocity="1"/>', "revolute"),
        (lambda model: (model.lower[0], model.upper[0]), (0.0, 0.0), "limit 'lower' is missing and defaults to 0"),
    ),
    "axis of length 2": (arm('<axis xyz="0 0 2"/>'), (axis, [0.0, 0.0, 1.0], None)),
    "zero axis": (arm('<axis xyz="0 0 0"/>'), "!joint 'hinge': the axis is zero"),
    "no axis": (arm(), (axis, [1.0, 0.0, 0.0], None)),
    "capsule": (
        robot(link("base", CAPSULE)), (lambda model: model.geometries[0].kind, SHAPE_CAPSULE, None),
    ),
    "quat_xyzw": (
        arm('<origin quat_xyzw="0 0 0.6 0.8"/>'),
        (lambda model: model.tree.R_joint[0, 0, 0].round(12), 0.28, None),
    ),
    "duplicate link": (robot(link("a") + "\n" + link("a")), "!link 'a' is declared twice, first in line 2"),
    "two roots": (robot(link("a") + "\n" + link("b")), "!two root links, 'a' and 'b'"),
    "a link with two parents": (
        robot(THREE + joint("i", "a", "b") + joint("j", "a", "c") + joint("k", "b", "c")),
        "!link 'c' has two parent joints, 'j' and 'k'; a URDF is a tree: declare the loop in the scene file",
    ),
    "a joint of every kind": (
        robot("".join(link(name) for name in "abcdef") + joint("1", "a", "b", "planar")
              + joint("2", "b", "c", "floating") + joint("3", "c", "d", "prismatic", LIMIT)
              + joint("4", "d", "e", "fixed")
              + joint("5", "e", "f", "revolute", LIMIT)),
        (lambda model: (model.N, sorted(model.frames)), (11, list("abcdef")), None),
    ),
    "mimic of a mimic": (
        robot(THREE + link("d") + joint("i", "a", "b") + joint("j", "b", "c", content=FOLLOWS.format("i"))
              + joint("k", "c", "d", content=FOLLOWS.format("j"))),
        (lambda model: [(m.joint, m.leader, m.ratio) for m in model.mimics], [("j", "i", 3.0), ("k", "i", 9.0)], None),
    ),
    "a circle of mimics": (
        robot(THREE + joint("i", "a", "b", content=FOLLOWS.format("j")) + joint("j", "b", "c",
              content=FOLLOWS.format("i"))),
        "!the mimic joints form a circle: 'i' -> 'j' -> 'i'",
    ),
    "mimic is eliminated": (
        robot(THREE + joint("i", "a", "b") + joint("j", "b", "c", content=FOLLOWS.format("i"))),
        (lambda model: (model.N, model.joint_names), (1, ("i",)), None),
    ),
    "tags of other programs": (
        robot(link("base") + link("tip") + OTHERS), (lambda model: model.joint_names, ("k",), None),
    ),
    "package:// that is nowhere": (
        robot(link("a", '<collision><geometry><mesh filename="package://nobody/a.stl"/></geometry></collision>')),
        "!'package://nobody/a.stl' not found; looked at .*; source its workspace or pass package_dirs",
    ),
    "absurd friction": (
        robot(link("a", '<contact><lateral_friction value="50"/></contact>')),
        (masses, [], "is above 10; used as given"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_ours(row):
    text, outcome = ROWS[row]
    if isinstance(outcome, str):
        with pytest.raises(ModelError, match=r"<urdf text>:\d+: .*" + outcome[1:]):
            load_urdf(text)
        return
    value, expected, warning = outcome
    model = load_urdf(text)
    assert value(model) == expected
    if warning is None:
        assert model.warnings == ()
    else:
        assert all(re.match(r"<urdf text>:\d+: ", text) for text in model.warnings)
        assert any(warning in text for text in model.warnings)


#: where Pinocchio differs from the row above: what it does instead
PINOCCHIO = {
    "inertia not positive definite": "accepts",
    "triangle inequality broken": "accepts",
    "a link with two parents": "reads it twice",
    "zero axis": "accepts",
}


@pytest.mark.parametrize("row", PINOCCHIO)
def test_pinocchio_accepts_what_ours_refuses_or_doubts(row):
    """The rows that make this reader worth having; when one fails, Pinocchio has become stricter."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(ROWS[row][0])
    if PINOCCHIO[row] == "reads it twice":
        assert len(set(model.names)) < len(model.names)
    else:
        assert model.nq >= 1

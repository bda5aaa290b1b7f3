# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's grasp (D15 section VII-A): four equal boxes in a row, the outer two press, gravity pulls.

Three pairs of boxes touch face to face.  Each of a pair's four corners is given three times, with the three
normals that the two boxes have there: 36 contacts, 216 unknowns in the problem of Stewart and Trinkle with
four friction directions, 36 in the no-slip model.  Variants:

    corners   the 36 prescribed contacts, tangents at every one of them (the model as the paper states it)
    faces     the same 36 contacts, but only the 12 with the face's normal forbid slip
    plain     the 12 contacts with the face's normal alone
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from mb_contact.contact.friction_system import RANK_TOLERANCE, FrictionSystem
from mb_contact.contact.no_slip import no_slip_step
from mb_contact.contact.point_contacts import point_contacts
from mb_contact.core.lcp import lcp_assemble, lcp_size
from mb_contact.core.lemke import LEMKE_SOLVED, lemke
from mb_contact.core.workspace import make_cones
from mb_contact.model.model import tree_poses
from mb_contact.model.scene_yaml import load_scene
from mb_contact.model.world import build_world

SCENE = "package://mb_contact/config/drumwright_grasp.yaml"
NAMES = ("left_jaw", "box_left", "box_right", "right_jaw")  # from -x to +x
HALF = 0.05  # of the boxes' edges [m]
PRESS = 100.0  # [N], each jaw
DT = 0.01
STEPS = 100


class Grasp:
    """The boxes, their state and the contacts that the experiment prescribes."""

    def __init__(self, world):
        self.world = world
        self.bodies = [world.frames[name].body for name in NAMES]
        self.effort = np.zeros(len(world.v0))
        self.effort[world.joint_v] = PRESS, -PRESS
        self.reset()

    def reset(self):
        """Back to the start."""
        self.q, self.v = self.world.q0.copy(), self.world.v0.copy()
        R, p = self.poses()
        self.start = p[self.bodies[1:3]]

    def poses(self):
        """Rotations and origins of the bodies."""
        return tree_poses(self.world.tree, self.q)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scene files of smooth surfaces, and how they can be wrong: what to replace, by what, and the error."""

from __future__ import annotations

GOOD = """time_step: 0.002
gravity: [0, 0, -9.81]
base:
  name: bowl
  pose: {position: [0, 0, 1.0]}
surface_contacts:
  - on: {link: bowl, surface: {sphere: 1.0, side: inner}}
    friction: 0.4
    restitution: 0.5
    body:
      name: ball
      surface: {sphere: 0.1}
      mass: 2.0
      inertia: [0.008, 0.008, 0.008]
      pose: {position: [0.3, 0, 0.8]}
      velocity: {angular: [0, 3, 0]}
      start: rolling
"""
WRONG = {
    "unknown key": ("friction: 0.4", "fiction: 0.4", r":8: surface_contacts\[0\].fiction: unknown key"),
    "two shapes": ("{sphere: 0.1}", "{sphere: 0.1, cylinder: 1}", r":12: .*body.surface: has sphere and cylinder"),
    "no shape": ("{sphere: 0.1}", "{side: outer}", r":12: .*body.surface: the key 'net' is missing; give net, sub"),
    "no inertia": ("      inertia: [0.008, 0.008, 0.008]\n", "", r"'inertia' is missing"),
    "bad inertia": ("[0.008, 0.008, 0.008]", "[0.008, 0.008, -1]", r":10: .*inertia must be symmetric"),
    "no net": ("{sphere: 0.1}", "{net: nowhere.yaml}", r":12: .*net"),
    "no cage": ("{sphere: 0.1}", "{subdivision: nowhere.obj}", r":12: .*body.surface.subdivision: no cage"),
    "endless name": ("{sphere: 0.1}", "{net: " + 300 * "a" + "}", r":12: .*net"),
    "negative": ("mass: 2.0", "mass: -2.0", r":13: .*mass: must be greater than 0"),
    "does not touch": ("[0.3, 0, 0.8]", "[3, 0, 0.8]", r":10: .*no point in common"),
    "rolls on ice": ("friction: 0.4", "friction: 0", r":10: .*start it with slide"),
    "no body": (GOOD[GOOD.index("    body:") :], "", r":7: surface_contacts\[0\]: the key 'body' is missing"),
}
TREE = """time_step: 0.002
model:
  urdf: package://mb_contact/urdf/plate_arm.urdf
  joints: {wrist: 0.1}
  velocities: {shoulder: 1.0}
surface_contacts:
  - on: {link: plate, surface: {plane: xy, pose: {position: [0, 0, 0.02]}}}
    friction: 0.3
    body:
      name: tray
      surface: {ellipsoid: [0.3, 0.2, 0.1]}
      mass: 1.0
      inertia: [0.01, 0.02, 0.03]
      pose: {position: [0.5, 0.05, 0.9]}
      velocity: {angular: [0, 0, 2.0], linear: [0.3, 0, 0]}
  - on: {link: tray, surface: {sphere: 0.5, side: inner, pose: {position: [0, 0, 0.55]}}}
    friction: .inf
    body:
      name: ball
      surface: {sphere: 0.04}
      mass: 0.2
      inertia: [0.00013, 0.00013, 0.00013]
      pose: {position: [0.55, 0.05, 1.0]}
      velocity: {angular: [1.0, 2.0, 3.0]}
      start: rolling
"""
WRONG_TREE = {
    "no robot": ("plate_arm.urdf", "plate_leg.urdf", r":3: model.urdf: .*plate_leg"),
    "no joint": ("{wrist: 0.1}", "{waist: 0.1}", r":4: model.joints.waist: robot 'plate_arm' has no joint 'waist'"),
    "no link": ("{link: plate,", "{link: place,", r":7: surface_contacts\[0\]: tray stands on 'place', which does not"),
    "unknown key": ("    friction: 0.3\n", "    fraction: 0.3\n", r":8: surface_contacts\[0\].fraction: unknown key"),
    "two names": ("name: ball", "name: tray", r":16: surface_contacts\[1\]: there are two bodies called tray"),
    "rolls on ice": ("friction: .inf", "friction: 0", r":18: .*\[1\].body: ball has no friction: such a body slides"),
    "slides always": ("    friction: 0.3\n", "    friction: .inf\n", r":9: .*friction of tray is infinite"),
    "apart": ("[0.55, 0.05, 1.0]", "[5.5, 0.05, 1.0]", r":18: .*body: ball and tray's surface have no point in common"),
    "no mass": ("      mass: 1.0\n", "", r":9: surface_contacts\[0\].body: the key 'mass' is missing"),
    "no inertia": ("      inertia: [0.01, 0.02, 0.03]\n", "", r":9: .*the key 'inertia' is missing: .* bounded"),
    "no weight": (  # such a number is no zero, and its moments are
        "mass: 1.0\n      inertia: [0.01, 0.02, 0.03]", "mass: 1.0e-320\n      inertia: [1.0e-322, 1.0e-322, 1.0e-322]",
        r":6: surface_contacts: the scene cannot begin to move: .*'tray' moves no inertia",
    ),
    "none": (TREE[TREE.index("  - on"):], "  []\n", r"needs at least one contact"),
}  # fmt: skip

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A scene file with every key, and wrong ones: what to replace, by what, and line, key and sentence of the error."""

from __future__ import annotations

GOOD = """\
time_step: 1e-3
gravity: [0, 0, -9.81]
models:
  - name: arm
    urdf: arm.urdf
    pose:
      position: [0, 0, 1]
      rpy: [0, 0, 1.5]
    base: weld
    joints: {elbow: 0.5}
    materials:
      default: steel
      links: {tip: rubber}
primitives:
  - name: ball
    shape: sphere
    size: 0.1
    base: free
    mass: 2
    inertia: [0.01, 0.01, 0.01]
    material: rubber
    pose: {quat_xyzw: [0, 0, 0, 1]}
  - name: wall
    shape: plane
ground: {height: -1}
materials:
  rubber: {friction: 0.9, restitution: 0}
  steel: {friction: 0.4, torsional: 0, rolling: 0.0}
pairs:
  - {materials: [rubber, steel], friction: 0.7}
collision_filters:
  adjacent: true
  disable: [[ball, wall]]
loops: auto
solver: auto
integrator: semi_implicit_euler
collision_scheme: time_stepping
friction_model: coulomb_polyhedral
friction_directions: 4
contact_margin: 0.001
push_out_velocity: 0.2
operational_frames: [tip]
contact_wrench_links: [tip]
rates: {control_period: 0.002, clock_rate: 50}
"""
WRONG = {
    "unknown key": (
        "solver: auto",
        "solvr: auto",
        r":35: solvr: unknown key \(did you mean 'solver'\?\); allowed",
    ),
    "unknown key deep inside": (
        "    mass: 2",
        "    weight: 2",
        r":19: primitives\[0\].weight: unknown key \(did you mean 'heights'\?\); allowed",
    ),
    "twice": ("solver: auto", "time_step: 1", ":35: time_step: is given twice, first in line 1"),
    "text for a number": ("1e-3", "fast", ":1: time_step: must be a number, got 'fast'"),
    "list for a number": ("1e-3", "[1]", ":1: time_step: must be a number, got a list"),
    "nothing": ("1e-3", "", ":1: time_step: must be a number, got nothing"),
    "infinite": ("1e-3", ".inf", ":1: time_step: must be a number, got '.inf'"),
    "zero step": ("1e-3", "0", ":1: time_step: must be greater than 0, got 0"),
    "long step": ("1e-3", "5", ":1: time_step: must be at most 0.1, got 5"),
    "short vector": ("[0, 0, -9.81]", "[0, -9.81]", ":2: gravity: must be a list of 3 numbers, got 2"),
    "number for a vector": ("[0, 0, -9.81]", "-9.81", ":2: gravity: must be a list"),
    "text in a vector": ("[0, 0, -9.81]", "[0, 0, down]", r":2: gravity\[2\]: must be a number, got 'down'"),
    "mapping for a list": ("pairs:\n  - ", "pairs:\n  ", ":29: pairs: must be a list"),
    "list for a mapping": ("ground: {height: -1}", "ground: [1]", ":25: ground: must be a mapping"),
    "number for a text": ("urdf: arm.urdf", "urdf: 3", r":5: models\[0\].urdf: must be a text, got '3'"),
    "no urdf": ("    urdf: arm.urdf\n", "", r":4: models\[0\]: the key 'urdf' is missing"),
    "unknown base": (
        "base: weld",
        "base: bolted",
        r":9: models\[0\].base: 'bolted' is not known; available: weld, free",
    ),
    "both rotations": (
        "rpy: [0, 0, 1.5]",
        "rpy: [0, 0, 1]\n      quat_xyzw: [0, 0, 0, 1]",
        "has both rpy and quat_xyzw",
    ),
    "no unit quaternion": (
        "[0, 0, 0, 1]",
        "[0, 0, 0, 2]",
        r":22: primitives\[0\].pose.quat_xyzw: must be a unit",
    ),
    "unknown shape": (
        "shape: sphere",
        "shape: egg",
        r":16: primitives\[0\].shape: 'egg' is not known; available: sphere",
    ),
    "size of another shape": (
        "size: 0.1",
        "size: [1, 2]",
        r":17: primitives\[0\].size: a sphere has size \[radius\]",
    ),
    "no size": ("    size: 0.1\n", "", r":15: primitives\[0\].size: a sphere has size"),
    "negative size": ("size: 0.1", "size: [-1]", r":17: primitives\[0\].size\[0\]: must be greater than 0"),
    "free without mass": (
        "    mass: 2\n", "", r":15: primitives\[0\].mass: a primitive of base free needs a mass; add mass: 2.0"
    ),
    "zero mass": ("mass: 2", "mass: 0", r":19: primitives\[0\].mass: must be greater than 0"),
    "free plane": (
        "shape: plane",
        "shape: plane\n    base: free",
        r":25: primitives\[1\].base: a plane has no mass",
    ),
    "two bodies of one name": (
        "name: wall",
        "name: ball",
        r":23: primitives\[1\].name: 'ball' is used twice",
    ),
    "no such material": (
        "material: rubber",
        "material: jelly",
        r":21: primitives\[0\].material: material 'jelly' is",
    ),
    "undefined in links": (
        "{tip: rubber}",
        "{tip: jelly}",
        r":13: models\[0\].materials.links.tip: material 'jelly'",
    ),
    "no friction": (
        "{friction: 0.9, restitution: 0}",
        "{}",
        ":27: materials.rubber: the key 'friction' is missing",
    ),
    "negative friction": (
        "friction: 0.9",
        "friction: -1",
        ":27: materials.rubber.friction: must be at least 0",
    ),
    "bounce": (
        "restitution: 0",
        "restitution: 1.5",
        ":27: materials.rubber.restitution: must be at most 1",
    ),
    "rolling": (
        "rolling: 0.0",
        "rolling: -0.1",
        ":28: materials.steel.rolling: must be at least 0, got -0.1",
    ),
    "pair of one": (
        "[rubber, steel]",
        "[rubber]",
        r":30: pairs\[0\].materials: must be a list of 2 names, got 1",
    ),
    "solver": (
        "solver: auto",
        "solver: cmc",
        ":35: solver: 'cmc' is not known; available: auto, lemke, ppm, active_set",
    ),
    "integrator": (
        "semi_implicit_euler",
        "rk5",
        "integrator: 'rk5' is not known; available: semi_implicit_euler, rk4, midpoint, adaptive",
    ),
    "event": (
        "time_stepping",
        "events",
        "collision_scheme: 'events' is not known; available: time_stepping, event",
    ),
    "friction": (
        "coulomb_polyhedral",
        "coulomb",
        "'coulomb' is not known; available: coulomb_cone, coulomb_polyhedral",
    ),
    "odd directions": (
        "friction_directions: 4",
        "friction_directions: 5",
        "must be an even whole number from 4 to 32",
    ),
    "control period": (
        "control_period: 0.002",
        "control_period: 0.0015",
        "rates.control_period: 0.0015 s must be a mult",
    ),
    "unknown rate": (
        "clock_rate",
        "klock_rate",
        r"rates.klock_rate: unknown key \(did you mean 'clock_rate'\?\)",
    ),
    "not yaml": ("gravity: [0, 0, -9.81]", "gravity: [0, 0", ":3: not well-formed YAML"),
    "tab": ("solver: auto", "solver:\n\tauto", ":36: not well-formed YAML"),
}

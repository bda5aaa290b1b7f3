# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""HyQ with studded soles: D15's quadruped has 1 to 30 contact points, one with balls for feet one to three a foot.

A sole of eight studs hangs on each fore foot, one of seven on each hind foot, by a pitch and a roll hinge that nothing
drives; springs hold them level at the middle of a stance.  On level ground all 30 studs touch.

The ground is made of level tiles of different heights.  Without slip a sole on two planes could never be lifted: each
of its contacts forbids to slide along its own plane, and the planes together forbid every motion.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from mb_contact.model.resources import find_resource
from mb_contact.model.scene import JointProperties, Pose, Primitive, Scene

STUDS = {"lf": 8, "rf": 8, "lh": 7, "rh": 7}
STUD = 0.006  #: radius [m]
RADIUS = 0.025  #: of the ring of studs [m]
DEPTH = 0.02175  #: of the sole's underside below the ankle: the radius of the ball that it replaces [m]
TILT = 0.6  #: of a shank at the middle of a stance [rad]
SPRING = {"stiffness": 2.0, "damping": 0.08}  #: [N m/rad], [N m s/rad]
TILE = 0.5  #: edge of the ground's tiles [m]
HIGHEST = 0.03  #: of a tile; those on which the robot stands at the start are at zero [m]
VISCOUS = 300.0  #: of a stud [N s/m]
START = Pose((0.0, 0.0, 0.68))
MASS = '<inertial><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}"/></inertial>'
ANKLE, SOLE = MASS.format(0.05, 5e-5, 5e-5, 5e-5), MASS.format(0.15, 1e-4, 1e-4, 2e-4)


def with_soles_on_tiles(scene: Scene) -> Scene:
    """The quadruped's scene with soles, on tiles."""
    (robot,) = scene.models
    urdf = with_soles(Path(find_resource(robot.urdf)).read_text(encoding="utf-8"))
    joints = robot.joints | {f"{leg}_pitch": level(leg) for leg in STUDS}
    robot = replace(robot, urdf=urdf, joints=joints, joint_properties=ankle_properties(), pose=START)
    materials = {name: replace(material, viscous=VISCOUS) for name, material in scene.materials.items()}
    return replace(scene, models=(robot,), primitives=tuple(_tiles()), materials=materials)


def _tiles():
    random = np.random.default_rng(5)
    for i in range(-2, 10):
        for j in range(-2, 3):
            top = 0.0 if abs(i) <= 1 else HIGHEST * random.random()
            at = Pose((i * TILE, j * TILE, top - 0.1))
            yield Primitive(f"tile_{i + 2}_{j + 2}", "box", (TILE, TILE, 0.2), at, material="ground")


def with_soles(urdf: str) -> str:
    """HyQ's URDF text with soles in the place of the balls of its feet."""
    for leg in STUDS:
        foot = urdf.index(f'<link name="{leg}_foot">')
        ball = re.compile("<collision>.*?</collision>", re.DOTALL).search(urdf, foot)
        if ball is not None:
            urdf = urdf[: ball.start()] + urdf[ball.end() :]
    return urdf.replace("</robot>", "".join(_sole(leg, count) for leg, count in STUDS.items()) + "</robot>")


def ankle_properties() -> dict[str, JointProperties]:
    """Springs of the ankles; fore legs lean the other way than hind ones."""
    pitch = {f"{leg}_pitch": JointProperties(rest_position=level(leg), **SPRING) for leg in STUDS}
    return pitch | {f"{leg}_roll": JointProperties(rest_position=0.0, **SPRING) for leg in STUDS}


def level(leg: str) -> float:
    """Pitch of an ankle at which the sole is level in the middle of a stance [rad]."""
    return TILT if leg in ("lf", "rf") else -TILT


def _sole(leg, count):
    """Two hinges and a sole with a ring of studs below them."""
    angles = 2.0 * np.pi * np.arange(count) / count
    studs = "".join(
        f'<collision><origin xyz="{RADIUS * np.cos(a):.6f} {RADIUS * np.sin(a):.6f} {STUD - DEPTH:.6f}"/>'
        f'<geometry><sphere radius="{STUD}"/></geometry></collision>'
        for a in angles
    )
    hinge = '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/><axis xyz="{}"/></joint>'
    return (
        f'<link name="{leg}_ankle">{ANKLE}</link><link name="{leg}_sole">{SOLE}{studs}</link>'
        + hinge.format(f"{leg}_pitch", f"{leg}_foot", f"{leg}_ankle", "0 1 0")
        + hinge.format(f"{leg}_roll", f"{leg}_ankle", f"{leg}_sole", "1 0 0")
    )

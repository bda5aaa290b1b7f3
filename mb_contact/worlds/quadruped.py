# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A quadruped of twelve driven hinges as a scene, for measurements and environments."""

from __future__ import annotations

import numpy as np

from mb_contact.model.scene import Actuator, Ground, Pose, Scene, SceneModel


def quadruped_scene() -> Scene:
    """A quadruped as a scene: a trunk of 12 kg, hips, thighs and shanks, spheres for feet."""
    links, joints = [_link("trunk", 12.0, (0.5, 0.25, 0.12), '<box size="0.5 0.25 0.12"/>', (0.0, 0.0, 0.0))], []
    angles, servos = {}, {}
    servo = Actuator("position", stiffness=120.0, damping=3.0)
    for leg, x, y in (("lf", 0.22, 0.12), ("rf", 0.22, -0.12), ("lh", -0.22, 0.12), ("rh", -0.22, -0.12)):
        side = 1.0 if y > 0.0 else -1.0
        links += [
            _link(f"{leg}_hip", 0.7, (0.08, 0.08, 0.08)), _link(f"{leg}_thigh", 1.0, (0.04, 0.04, 0.25)),
            _link(f"{leg}_shank", 0.3, (0.03, 0.03, 0.25), '<sphere radius="0.02"/>', (0.0, 0.0, -0.25)),
        ]  # fmt: skip
        for name, parent, place, axis, angle in (
            ("hip", "trunk", (x, y, 0.0), "1 0 0", 0.0),
            ("thigh", f"{leg}_hip", (0.0, 0.06 * side, 0.0), "0 1 0", 0.7),
            ("shank", f"{leg}_thigh", (0.0, 0.0, -0.25), "0 1 0", -1.4),
        ):
            joints.append(
                f'<joint name="{leg}_{name}_joint" type="continuous"><parent link="{parent}"/>'
                f'<child link="{leg}_{name}"/><origin xyz="{place[0]} {place[1]} {place[2]}"/><axis xyz="{axis}"/>'
                "</joint>"
            )
            angles[f"{leg}_{name}_joint"], servos[f"{leg}_{name}_joint"] = angle, servo
    urdf = f'<robot name="quadruped">{"".join(links)}{"".join(joints)}</robot>'
    height = 0.5 * float(np.cos(0.7)) + 0.02
    model = SceneModel(urdf, base="free", pose=Pose((0.0, 0.0, height)), joints=angles, actuators=servos)
    return Scene(models=(model,), ground=Ground())


def _link(name, mass, size, shape="", at=(0.0, 0.0, 0.0)):
    square = [s * s for s in size]
    x, y, z = (mass / 12.0 * (sum(square) - own) for own in square)
    low = 0.0 if name == "trunk" else -0.5 * size[2]
    geometry = (
        f'<collision><origin xyz="{at[0]} {at[1]} {at[2]}"/><geometry>{shape}</geometry></collision>' if shape else ""
    )
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {low}"/><mass value="{mass}"/>'
        f'<inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial>{geometry}</link>'
    )

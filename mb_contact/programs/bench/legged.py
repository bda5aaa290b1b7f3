# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A legged machine of 36 joints with closed loops: 30 hinges in the tree, 12 of them driven, six that close loops.

Each leg has yaw, roll and pitch at the hip, a knee, pitch and roll at the ankle.  Yaw and both rolls are driven
directly.  Hip pitch, knee and ankle pitch are each driven by a crank farther up and a rod, whose lower end is the hinge
that closes the loop; at its upper end the rod has a second hinge across the first, as a rod end has.  So each loop has
three hinges of its own in the tree, and the five rows of its closure leave the crank one motion.
"""

import numpy as np

from mb_contact.model.scene import Actuator, Closure, Ground, Pose, Scene, SceneModel

THIGH, SHANK, CRANK = 0.25, 0.25, 0.05  #: lengths [m]
BEND = 0.3  #: of the hip at the start; the knee has twice that [rad]
SOLE = 0.05  #: below the ankle [m]
ACROSS = (-0.5 * np.pi, 0.0, 0.0)  #: rpy of a closure's frame, whose z axis is the hinge
SERVO = Actuator("position", stiffness=150.0, damping=3.0)
DRIVEN = ("hip_yaw", "hip_roll", "ankle_roll", "hip_crank", "knee_crank", "ankle_crank")
#: pads of a foot: centre and full lengths [m]
PADS = (((0.08, 0.0), (0.06, 0.09)), ((-0.05, 0.0), (0.06, 0.07)))
BAR = 0.05  #: of the capsule between them, its length [m]
BAR_RADIUS = 0.01  #: [m]


def _link(name, mass, size, collision=""):
    """A link with the inertia of a box of these lengths [m]."""
    x, y, z = (mass / 12.0 * (sum(s * s for s in size) - own * own) for own in size)
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/><origin xyz="0 0 {-0.5 * size[2]:.4f}"/>'
        f'<inertia ixx="{x:.8f}" iyy="{y:.8f}" izz="{z:.8f}" ixy="0" ixz="0" iyz="0"/></inertial>{collision}</link>'
    )


def _hinge(name, parent, child, place, axis):
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{place[0]} {place[1]} {place[2]}"/><axis xyz="{axis}"/>'
        '<dynamics damping="0.02"/></joint>'
    )


def _shape(kind, place, rpy="0 0 0"):
    x, y, z = place
    return f'<collision><origin xyz="{x} {y} {z}" rpy="{rpy}"/><geometry>{kind}</geometry></collision>'


def _foot():
    """Two pads and a bar across between them, all of one height below."""
    pads = [_shape(f'<box size="{a} {b} 0.02"/>', (x, y, 0.01 - SOLE)) for (x, y), (a, b) in PADS]
    bar = _shape(f'<capsule radius="{BAR_RADIUS}" length="{BAR}"/>', (0.015, 0.0, BAR_RADIUS - SOLE), "1.5707963 0 0")
    return "".join(pads) + bar


def _drive(side, name, base, place, height):
    """A crank on ``base``, at ``place``, and its rod of length ``height``, which ends one crank behind a joint."""
    crank, pin, rod = (f"{side}_{name}_{part}" for part in ("crank", "pin", "rod"))
    return (
        _link(crank, 0.15, (CRANK, 0.02, 0.02)) + _link(pin, 0.03, (0.02, 0.02, 0.02))
        + _link(rod, 0.12, (0.015, 0.015, height))
        + _hinge(crank, base, crank, place, "0 1 0")
        + _hinge(f"{side}_{name}_pivot", crank, pin, (-CRANK, 0.0, 0.0), "0 1 0")
        + _hinge(f"{side}_{name}_end", pin, rod, (0.0, 0.0, 0.0), "1 0 0")
    )  # fmt: skip


def _leg(side, sign):
    def name(part):
        return f"{side}_{part}"

    across = 0.04 * sign
    return (
        _link(name("yaw"), 0.6, (0.06, 0.06, 0.06)) + _link(name("roll"), 0.6, (0.06, 0.06, 0.06))
        + _link(name("thigh"), 2.0, (0.07, 0.06, THIGH)) + _link(name("shank"), 1.2, (0.05, 0.05, SHANK))
        + _link(name("ankle"), 0.2, (0.03, 0.05, 0.03)) + _link(name("foot"), 0.8, (0.2, 0.08, SOLE), _foot())
        + _hinge(name("hip_yaw"), "pelvis", name("yaw"), (0.0, 0.1 * sign, -0.05), "0 0 1")
        + _hinge(name("hip_roll"), name("yaw"), name("roll"), (0.0, 0.0, -0.06), "1 0 0")
        + _hinge(name("hip_pitch"), name("roll"), name("thigh"), (0.0, 0.0, -0.04), "0 1 0")
        + _hinge(name("knee"), name("thigh"), name("shank"), (0.0, 0.0, -THIGH), "0 1 0")
        + _hinge(name("ankle_pitch"), name("shank"), name("ankle"), (0.0, 0.0, -SHANK), "0 1 0")
        + _hinge(name("ankle_roll"), name("ankle"), name("foot"), (0.0, 0.0, 0.0), "1 0 0")
        + _drive(side, "hip", name("roll"), (0.0, across, 0.04), 0.08)
        + _drive(side, "knee", name("thigh"), (0.0, across, -0.05), THIGH - 0.05)
        + _drive(side, "ankle", name("shank"), (0.0, across, -0.05), SHANK - 0.05)
    )  # fmt: skip


def legged_urdf() -> str:
    """The machine as URDF text."""
    body = _link("pelvis", 6.0, (0.15, 0.25, 0.12), _shape('<box size="0.15 0.25 0.12"/>', (0.0, 0.0, 0.06)))
    return f'<robot name="legged">{body}{_leg("left", 1)}{_leg("right", -1)}</robot>'


def legged_scene(time_step: float = 0.001) -> Scene:
    """The machine standing on a floor with bent knees, its twelve drives held by servos."""
    joints, closures = {}, []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        bends = {"hip": ("thigh", -BEND), "knee": ("shank", 2.0 * BEND), "ankle": ("ankle", -BEND)}
        heights = {"hip": 0.08, "knee": THIGH - 0.05, "ankle": SHANK - 0.05}
        for name, (driven, angle) in bends.items():
            joints[f"{side}_{'knee' if name == 'knee' else name + '_pitch'}"] = angle
            joints[f"{side}_{name}_crank"], joints[f"{side}_{name}_pivot"] = angle, -angle
            below, behind = Pose((0.0, 0.0, -heights[name]), ACROSS), Pose((-CRANK, 0.04 * sign, 0.0), ACROSS)
            closures.append(Closure("axis", f"{side}_{name}_rod", f"{side}_{driven}", pose_a=below, pose_b=behind))
    height = 0.05 + 0.06 + 0.04 + (THIGH + SHANK) * float(np.cos(BEND)) + SOLE
    servos = {f"{side}_{name}": SERVO for side in ("left", "right") for name in DRIVEN}
    robot = SceneModel(legged_urdf(), base="free", pose=Pose((0.0, 0.0, height)), joints=joints, actuators=servos)
    return Scene(models=(robot,), ground=Ground(), time_step=time_step, loop_closures=tuple(closures))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with flexible links, as URDF texts, and what their links are made of."""

import numpy as np

import mb_contact as mb

YOUNG, DENSITY = 7e10, 2700.0
STRIP = {"section": "rectangle", "size": (0.02, 0.004), "young_modulus": YOUNG, "density": DENSITY}


def inertial(mass, x, size):
    """An <inertial> of a link."""
    return (
        f'<inertial><mass value="{mass}"/><origin xyz="{x} 0.01 0"/><inertia ixx="{size}" iyy="{2 * size}" '
        f'izz="{1.5 * size}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def joint(name, parent, child, kind, xyz, axis="0 0 1", rpy="0 0 0"):
    """A <joint>."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}" '
        f'rpy="{rpy}"/><axis xyz="{axis}"/><limit lower="-3" upper="3" effort="10" velocity="10"/></joint>'
    )


#: an arm: a rigid link, a flexible one of 0.5 m whose end carries a hand on a hinge, and half-way a weight
ARM = (
    '<robot name="arm"><link name="base"/>'
    f'<link name="upper">{inertial(1.0, 0.1, 0.01)}</link>'
    f'<link name="fore"/><link name="hand">{inertial(0.3, 0.05, 0.001)}</link>'
    f'<link name="weight">{inertial(0.05, 0.0, 0.0001)}</link>'
    + joint("shoulder", "base", "upper", "revolute", "0 0 0.3")
    + joint("elbow", "upper", "fore", "revolute", "0.3 0 0", "0 1 0", "0.2 0.1 0")
    + joint("wrist", "fore", "hand", "revolute", "0.5 0.01 0.02", "0 0 1", "0.3 0 0")
    + joint("glue", "fore", "weight", "fixed", "0.2 0 0.05")
    + "</robot>"
)

#: a rod clamped to the world, and one that nothing holds
CLAMPED = (
    '<robot name="rod"><link name="wall"/><link name="rod"/>'
    + joint("clamp", "wall", "rod", "fixed", "0 0 0")
    + "</robot>"
)
LOOSE = '<robot name="rod"><link name="rod"/></robot>'
#: a rod on a hinge about z, which turns
TURNING = (
    '<robot name="rotor"><link name="hub"/><link name="rod"/>'
    + joint("hinge", "hub", "rod", "continuous", "0 0 0")
    + "</robot>"
)


def strip(length=0.5, **more):
    """A strip of aluminium along x."""
    return mb.model.Beam(end=(length, 0.0, 0.0), **{**STRIP, **more})


def arm(nodes=None, **more):
    """The arm's model; keys of the beam."""
    link = mb.model.FlexibleLink(beam=strip(**more), damping_ratio=0.01, nodes=nodes or {"mid": (0.25, 0.0, 0.1)})
    return mb.load_urdf(ARM, flexible_links={"fore": link})


def arm_state(rng, model, bend=0.01):
    """Random coordinates and velocities, modes of at most about ``bend``."""
    q, v = rng.normal(size=model.N), rng.normal(size=model.N)
    for link in model.flexible:
        modes = model.tree.v_start[list(link.modes)]
        q[modes] *= bend
        v[modes] *= 0.3
    return q, v


def scene(urdf, link, spec, **settings):
    """A scene of one robot with one flexible link and no gravity."""
    robot = mb.model.SceneModel(urdf, flexible_links={link: spec}, base=settings.pop("base", "weld"))
    return mb.Scene(models=(robot,), gravity=settings.pop("gravity", (0.0, 0.0, 0.0)), **settings)


def modal_matrices(sim):
    """Mass matrix and stiffnesses of all modes of a simulator at its state."""
    world = sim.world
    modes = np.array([world.tree.v_start[k] for link in world.flexible for k in link.modes])
    return mb.mass_matrix(world, sim.context.q), world.joints.stiffness, modes

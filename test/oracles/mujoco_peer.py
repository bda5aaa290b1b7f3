# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo as a peer of a world made of an MJCF: its state in our coordinates, mass matrix, efforts, poses of shapes."""

from __future__ import annotations

import numpy as np

from mb_contact.types import JOINT_PLANAR, JOINT_UNIVERSAL

FREE, BALL = 0, 1


class MujocoPeer:
    """MuJoCo's model of a file beside our world of the scene made of it.

    MuJoCo's rates of a free body are linear in world axes and angular in the body's, ours angular and linear in world
    axes; those of a ball joint are in the child's axes, ours in the joint's.
    """

    def __init__(self, mujoco, path, world, links=None, joints=None):
        """``links`` and ``joints`` by MuJoCo's numbers; by default they have MuJoCo's names."""
        self.mujoco, self.world = mujoco, world
        self.m = mujoco.MjModel.from_xml_path(str(path))
        self.d = mujoco.MjData(self.m)
        self.links = links or [self.m.body(b).name for b in range(self.m.nbody)]
        self.joints = joints or [self.m.joint(j).name for j in range(self.m.njnt)]
        self.scalars = scalars(world)

    def random_state(self, rng):
        """(qpos, qvel, qacc), coordinates of all joints at random."""
        m = self.m
        q = 0.7 * rng.normal(size=m.nq)
        for j in np.flatnonzero(m.jnt_type <= BALL):
            at = m.jnt_qposadr[j] + (3 if m.jnt_type[j] == FREE else 0)
            q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
        return q, rng.normal(size=m.nv), rng.normal(size=m.nv)

    def ours(self, qpos):
        """(q, T): our coordinates, and v = T qvel."""
        m, world, tree = self.m, self.world, self.world.tree
        q, T = world.q0.copy(), np.zeros((m.nv, m.nv))
        for j in range(m.njnt):
            at, dof, kind = m.jnt_qposadr[j], m.jnt_dofadr[j], m.jnt_type[j]
            if kind > BALL:
                i, d = self.scalars[self.joints[j]]
                q[i], T[d, dof] = qpos[at], 1.0
                continue
            body = world.frames[self.links[m.jnt_bodyid[j]]].body
            s, d = tree.q_start[body], tree.v_start[body]
            if kind == FREE:
                q[s : s + 3], T[d + 3 : d + 6, dof : dof + 3] = qpos[at : at + 3], np.eye(3)
                s, at, dof = s + 3, at + 3, dof + 3
            q[s : s + 4] = np.roll(qpos[at : at + 4], -1)
            T[d : d + 3, dof : dof + 3] = turned(qpos[at : at + 4])
        return q, T

    def at(self, qpos, qvel):
        """Mass matrix and bias C(q, v) + g(q), by MuJoCo."""
        self.d.qpos[:], self.d.qvel[:] = qpos, qvel
        self.mujoco.mj_forward(self.m, self.d)
        M = np.zeros((self.m.nv, self.m.nv))
        try:
            self.mujoco.mj_fullM(self.m, self.d, M)
        except TypeError:  # before release 4
            self.mujoco.mj_fullM(self.m, M, self.d.qM)
        return M, self.d.qfrc_bias.copy()


def scalars(world):
    """Place in q and in v of each hinge and slide that MuJoCo has, by its name."""
    found = {}
    for names, q, v in ((world.joint_names, world.joint_q, world.joint_v),
                        (world.follower_names, world.follower_q, world.follower_v)):  # fmt: skip
        found |= {name: (int(i), int(d)) for name, i, d in zip(names, q, v)}
    tree = world.tree
    several = {JOINT_PLANAR: ("x", "y", "angle"), JOINT_UNIVERSAL: ("1", "2")}  # which become hinges and slides
    for k, body in enumerate(world.body_names):
        for i, suffix in enumerate(several.get(tree.joint_type[k], ())):
            found[f"{body}_{suffix}"] = int(tree.q_start[k]) + i, int(tree.v_start[k]) + i
    return found


def touching(mujoco, path):
    """(geoms, coefficients) of MuJoCo's contacts, one shape of the world at a time: it cannot take all."""
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE  # whose boxes were made with the file's margins
    m.geom_margin[:] = m.pair_margin[:] = 100.0
    still = np.flatnonzero(m.body_weldid[m.geom_bodyid] == 0)
    bits = m.geom_contype.copy(), m.geom_conaffinity.copy()
    for g in still if len(still) else [-1]:
        for now, before in zip((m.geom_contype, m.geom_conaffinity), bits):
            now[still] = 0
            now[g] = before[g]
        d = mujoco.MjData(m)
        mujoco.mj_forward(m, d)
        for contact in d.contact:
            (slide, _, torsional, rolling, _), dim = contact.friction, contact.dim
            yield contact.geom, (slide * (dim > 1), torsional * (dim > 3), rolling * (dim > 5))


def height_below(mujoco, m, name, point):
    """Height [m] at which a ray straight down from 5 m above a point meets the height field ``name``."""
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    ray = m, d, m.geom(name).id, np.array(point) + [0.0, 0.0, 5.0], np.array([0.0, 0.0, -1.0])
    try:
        return point[2] + 5.0 - mujoco.mj_rayHfield(*ray, None)
    except TypeError:  # before release 4, which also gives the normal
        return point[2] + 5.0 - mujoco.mj_rayHfield(*ray)


def turned(quat):
    """Rotation matrix of a unit quaternion w x y z, by the sandwich product."""
    w, v = quat[0], quat[1:]
    K = np.cross(np.eye(3), v)
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K

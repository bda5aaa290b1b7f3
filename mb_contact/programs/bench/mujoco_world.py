# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo's model of one of our worlds, in its present state, for comparisons (``model/mjcf/exporter.py`` writes it).

Limits and efforts are left out: the scenes that are compared do not reach them.  Servos and springs are MuJoCo's joint
springs, closures by hinges two points each.
"""

import mujoco
import numpy as np

from mb_contact.model.mjcf.exporter import OPTIONS, MjcfWriter, joint_names
from mb_contact.types import JOINT_FLOATING


def model_of(sim, options=OPTIONS):
    """(MjModel, MjData) of a simulator's world, in its present state."""
    model = mujoco.MjModel.from_xml_string(MjcfWriter(sim.world, sim.time_step, options, servos=False).text())
    data = mujoco.MjData(model)
    put_state(sim, model, data)
    return model, data


def put_state(sim, model, data):
    """Positions and velocities of a simulator into MuJoCo's data."""
    tree, q, v = sim.world.tree, sim.q, sim.v
    for k, name in enumerate(joint_names(sim.world)):
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        at, to = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        i, d = int(tree.q_start[k]), int(tree.v_start[k])
        if tree.joint_type[k] == JOINT_FLOATING:
            x, y, z, w = q[i + 3 : i + 7]
            data.qpos[at : at + 7] = *q[i : i + 3], w, x, y, z
            R = sim.context.kin.R[k]
            data.qvel[to : to + 6] = *v[d + 3 : d + 6], *(R.T @ v[d : d + 3])
        else:
            data.qpos[at], data.qvel[to] = q[i], v[d]


def degrees(sim, model):
    """Where the rates and the positions of ``world.joint_names`` are in MuJoCo's vectors."""
    body = np.searchsorted(sim.world.tree.v_start, sim.world.joint_v, side="right") - 1
    names = joint_names(sim.world)
    joints = [model.joint(names[k]).id for k in body]
    return model.jnt_dofadr[joints], model.jnt_qposadr[joints]

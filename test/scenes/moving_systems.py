# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Robots and bodies that move freely, one of every joint type, and runs of them."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import mb_contact as mb
from mb_contact.model.scene import Pose, Primitive, Scene, SceneModel, Velocity
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL

G = 9.81
INTEGRATORS = ("semi_implicit_euler", "rk4", "midpoint", "adaptive")
SMOOTH = ("rk4", "midpoint", "adaptive")  # those that are not of first order
FRICTION_MODELS = ("coulomb_polyhedral", "coulomb_cone", "viscous", "no_slip", "coulomb_viscous")


def chain(*joints, damping=0.0):
    """URDF text of a serial robot, one joint type after the other; its links are lopsided bricks."""
    axes = ("1 0 0", "0 0.6 0.8", "0 1 0", "0.8 0 -0.6")
    solid = '<inertia ixx="0.03" iyy="0.04" izz="0.02" ixy="0.002" ixz="-0.003" iyz="0.001"/></inertial></link>'
    lines = ['<robot name="chain">', f'<link name="l0"><inertial><mass value="1"/>{solid}']
    for k, kind in enumerate(joints):
        lines.append(
            f'<link name="l{k + 1}"><inertial><origin xyz="0.02 0.05 -0.2"/><mass value="{2 - 0.3 * k}"/>{solid}'
        )
        second = '<axis2 xyz="0 0 1"/>' if kind == "universal" else ""
        loss = f'<dynamics damping="{damping}"/>' if damping else ""
        second += '<thread pitch="-0.1"/>' if kind == "screw" else ""
        limit = '<limit lower="-9" upper="9" effort="9" velocity="9"/>' if kind in ("revolute", "prismatic") else ""
        lines.append(
            f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
            f'<origin xyz="0.1 0 -0.4" rpy="0.3 -0.2 0.5"/><axis xyz="{axes[k % 4]}"/>{second}{loss}{limit}</joint>'
        )
    return "\n".join([*lines, "</robot>"])


def machine(*joints, base="weld", damping=0.0, **options):
    """A scene with one robot and nothing to touch."""
    return Scene(models=(SceneModel(chain(*joints, damping=damping), base=base),), **options)


def spinning_body(moments=(1.0, 2.0, 3.0), spin=(0.01, 2.0, 0.01), **options):
    """A scene with one body in free flight."""
    body = Primitive("body", "box", (0.3, 0.2, 0.1), Pose(), "free", 1.0, inertia=moments, velocity=Velocity(spin))
    return Scene(primitives=(body,), **{"gravity": (0.0, 0.0, 0.0), **options})


SYSTEMS = {
    "hinges": lambda **o: machine("revolute", "continuous", "continuous", "revolute", **o),
    "damped hinges": lambda **o: machine("revolute", "continuous", "revolute", damping=0.2, **o),
    "spherical": lambda **o: machine("spherical", "continuous", **o),
    "planar": lambda **o: machine("planar", "continuous", **o),
    "universal": lambda **o: machine("universal", "prismatic", **o),
    "screw": lambda **o: machine("screw", "spherical", **o),
    "flying robot": lambda **o: machine("spherical", "revolute", base="free", **o),
    "tumbling body": lambda **o: spinning_body(spin=(1.0, 2.0, 0.3), **o),
}


def simulator(scene, joint_speed=1.5):
    """A simulator that starts away from any symmetry."""
    sim = mb.Simulator(scene)
    q, v = sim.q, sim.v
    v += joint_speed * np.cos(np.arange(len(v)))
    sim.set_state(q, v)
    return sim


def run(sim, seconds, effort=None):
    for _ in range(round(seconds / sim.time_step)):
        step = sim.step(effort)
    return step


def smooth_motion(sim, seconds, effort):
    """(q, v) after a time, from forward dynamics and quaternion rates, by DOP853 at 1e-13."""
    tree = sim.world.tree
    applied = np.zeros(len(sim.v))
    applied[sim.world.joint_v] = effort
    turns = [k for k in range(len(tree.parent)) if tree.joint_type[k] in (JOINT_FLOATING, JOINT_SPHERICAL)]

    def rate(_t, y):
        q, v = y[: len(sim.q)].copy(), y[len(sim.q) :].copy()
        q_dot = np.zeros(len(q))
        for k in range(len(tree.parent)):
            s, d, nv = tree.q_start[k], tree.v_start[k], tree.nv[k]
            if tree.joint_type[k] == JOINT_FLOATING:
                q_dot[s : s + 3] = tree.R_joint[k].T @ v[d + 3 : d + 6]
            if k in turns:
                floating = tree.joint_type[k] == JOINT_FLOATING
                s += 3 if floating else 0
                w = tree.R_joint[k].T @ v[d : d + 3] if floating else v[d : d + 3]
                x, y_, z, r = q[s : s + 4]
                q_dot[s : s + 3] = 0.5 * (r * w + np.cross(w, (x, y_, z)))
                q_dot[s + 3] = -0.5 * w @ (x, y_, z)
            else:
                q_dot[s : s + nv] = v[d : d + nv]
        return np.concatenate((q_dot, mb.forward_dynamics(sim.world, q, v, applied, sim.gravity)))

    start = np.concatenate((sim.q, sim.v))
    end = solve_ivp(rate, (0.0, seconds), start, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return end

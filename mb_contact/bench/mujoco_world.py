# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo's model of one of our worlds: the same bodies, joints, shapes and pairs, read from its arrays.

Friction of a shape is the largest of its pairs', since MuJoCo has one coefficient a shape and takes the larger of two.
Limits and efforts are left out: the scenes that are compared do not reach them.  Servos and springs are MuJoCo's joint
springs, closures by hinges two points each.
"""

from __future__ import annotations

from collections import Counter

import mujoco
import numpy as np

from mb_contact.types import (
    CLOSURE_AXIS,
    JOINT_FLOATING,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_NAMES,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    WORLD,
)

#: numbers of a shape's size
SIZES = {SHAPE_SPHERE: 1, SHAPE_CAPSULE: 2, SHAPE_CYLINDER: 2, SHAPE_BOX: 3, SHAPE_ELLIPSOID: 3}
#: of closures: at its defaults MuJoCo's give way under the weight of a machine that stands on light rods
STIFF = 'solref="0.002 1" solimp="0.999 0.9999 0.001"'
HINGE = 0.04  #: of a closure by a hinge: distance of the two points that are held together [m]
OPTIONS = 'cone="elliptic" solver="Newton" integrator="Euler"'  #: all else at MuJoCo's defaults


def mjcf(world, time_step, options=OPTIONS):
    """MJCF of a world of hinges, slides and free bodies, with the shapes of ``SIZES``, hulls and planes."""
    geoms, children = world.geoms, {}
    for k, parent in enumerate(world.tree.parent.tolist()):
        children.setdefault(parent, []).append(k)
    hulls = [_mesh(geoms, g) for g in np.flatnonzero(geoms.kind == SHAPE_CONVEX)]
    inside = "".join(_geoms(world, WORLD)) + "".join(_body(world, k, children) for k in children.get(WORLD, ()))
    return (
        f'<mujoco><compiler angle="radian" autolimits="false"/><option timestep="{time_step!r}" '
        f'gravity="{_text(world.gravity)}" {options}/><asset>{"".join(hulls)}</asset><worldbody>{inside}</worldbody>'
        f'<contact>{"".join(_contact(world))}</contact><equality>{"".join(_closures(world))}</equality></mujoco>'
    )  # fmt: skip


def model_of(sim, options=OPTIONS):
    """(MjModel, MjData) of a simulator's world, in its present state."""
    model = mujoco.MjModel.from_xml_string(mjcf(sim.world, sim.time_step, options))
    data = mujoco.MjData(model)
    put_state(sim, model, data)
    return model, data


def put_state(sim, model, data):
    """Positions and velocities of a simulator into MuJoCo's data."""
    tree, q, v = sim.world.tree, sim.q, sim.v
    for k in range(len(tree.parent)):
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, f"joint_{k}")
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
    joints = [model.joint(f"joint_{k}").id for k in body]
    return model.jnt_dofadr[joints], model.jnt_qposadr[joints]


def _text(values):
    return " ".join(repr(float(x)) for x in np.ravel(values))


def _quat(R):
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, np.ascontiguousarray(R).ravel())
    return _text(quat)


def _mesh(geoms, g):
    points = geoms.vertices[geoms.first_vertex[g] : geoms.first_vertex[g + 1]]
    return f'<mesh name="mesh_{g}" vertex="{_text(points)}"/>'


def _body(world, k, children):
    tree, kind = world.tree, int(world.tree.joint_type[k])
    if kind == JOINT_FLOATING:
        joint, place = f'<freejoint name="joint_{k}"/>', ""
    elif kind in (JOINT_REVOLUTE, JOINT_PRISMATIC):
        d = int(tree.v_start[k])
        joints = world.joints
        gain, damping = joints.stiffness[d] + joints.gain[d], tree.damping[d] + joints.rate_gain[d]
        rest = joints.target[d] if joints.gain[d] > 0.0 else joints.rest[d]
        joint = (
            f'<joint name="joint_{k}" type="{"hinge" if kind == JOINT_REVOLUTE else "slide"}" '
            f'axis="{_text(tree.axis[k])}" damping="{_text(damping)}" armature="{_text(tree.armature[d])}" '
            f'stiffness="{_text(gain)}" springref="{_text(rest)}"/>'
        )
        place = f'pos="{_text(tree.p_joint[k])}" quat="{_quat(tree.R_joint[k])}"'
    else:
        raise ValueError(f"the peer knows no joint of type {kind}")
    i = tree.inertia[k]
    inertial = (
        f'<inertial pos="{_text(tree.com[k])}" mass="{_text(tree.mass[k])}" '
        f'fullinertia="{_text([i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]])}"/>'
    )
    inside = "".join(_geoms(world, k)) + "".join(_body(world, c, children) for c in children.get(k, ()))
    return f'<body name="body_{k}" {place}>{inertial}{joint}{inside}</body>'


def _geoms(world, k):
    geoms = world.geoms
    for g in np.flatnonzero(geoms.body == k).tolist():
        kind, size = int(geoms.kind[g]), geoms.size[g]
        if kind == SHAPE_CONVEX:
            shape = f'type="mesh" mesh="mesh_{g}"'
        elif kind == SHAPE_PLANE:
            shape = 'type="plane" size="0 0 1"'
        else:
            shape = f'type="{SHAPE_NAMES[kind]}" size="{_text(size[: SIZES[kind]])}"'
        rows = (geoms.pairs == g).any(axis=1)
        friction = float(geoms.mu[rows].max(initial=0.0))
        clash = 'contype="0" conaffinity="0"' if not rows.any() else ""
        place = f'pos="{_text(geoms.p[g])}" quat="{_quat(geoms.R[g])}"'
        yield f'<geom name="geom_{g}" {shape} {place} mass="0" condim="3" friction="{friction!r} 0 0" {clash}/>'


def _closures(world):
    """Closures by hinges: two points of their axes are held together."""
    c = world.couplings.closures
    for i in range(len(c.kind)):
        if c.kind[i] != CLOSURE_AXIS or min(c.body_a[i], c.body_b[i]) < 0:
            raise ValueError("the peer's closures are hinges between two bodies")
        for along in (-0.5 * HINGE, 0.5 * HINGE):
            anchor = _text(c.p_a[i] + along * c.R_a[i][:, 2])
            yield f'<connect body1="body_{c.body_a[i]}" body2="body_{c.body_b[i]}" anchor="{anchor}" {STIFF}/>'


def _contact(world):
    """Bodies none of whose shapes may touch are excluded; where some may, those pairs are named."""
    geoms, body = world.geoms, world.geoms.body
    count = Counter(body.tolist())
    wanted = {}
    for a, b in geoms.pairs.tolist():
        wanted.setdefault(tuple(sorted((int(body[a]), int(body[b])))), []).append((a, b))
    for b in sorted(set(count) - {WORLD}):
        for a in sorted(k for k in count if k < b):
            pairs = wanted.get((a, b), [])
            if len(pairs) == count[a] * count[b]:
                continue
            name = "world" if a == WORLD else f"body_{a}"
            yield f'<exclude body1="{name}" body2="body_{b}"/>'
            for x, y in pairs:
                friction = geoms.mu[(geoms.pairs == (x, y)).all(axis=1)][0]
                tangents = f"{_text([friction, friction])} 0 0 0"
                yield f'<pair geom1="geom_{x}" geom2="geom_{y}" condim="3" friction="{tangents}"/>'

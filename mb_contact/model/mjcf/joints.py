# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Springs, actuators, equalities and the start of a compiled MJCF, as parts of a scene."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from mb_contact.errors import InputError
from mb_contact.model.mjcf.compiled import BALL, FREE, HINGE, SITE, SLIDE, Compiled
from mb_contact.model.mjcf.elements import pose_of
from mb_contact.model.scene import Actuator, Closure, Gear, JointProperties, Pose, Velocity

TRN_JOINT, TRN_JOINTINPARENT, TRN_TENDON = 0, 1, 3  #: mjtTrn
FIXED, NO_BIAS, AFFINE = 0, 0, 1  #: mjtGain; mjtBias
FILTERS = (2, 3)  #: mjtDyn
CONNECT, WELD, JOINT, TENDON = range(4)  #: mjtEq


# --- joints -----------------------------------------------------------------------------------------


def properties(
    c: Compiled, joints: list[int], actuators: dict[str, Actuator], told: bool
) -> dict[str, JointProperties]:
    """Springs, armatures and effort limits of scalar joints.

    Where all actuators are ``told``, a joint without one is passive, as in MuJoCo: its effort limit is zero.
    """
    m, found = c.m, {}
    for j in joints:
        entry: dict[str, float] = {}
        dof, stiffness = int(m.jnt_dofadr[j]), float(m.jnt_stiffness[j])
        if stiffness and "SPRING" not in c.flags:
            entry |= {"stiffness": stiffness, "rest_position": float(m.qpos_spring[m.jnt_qposadr[j]])}
        if m.dof_armature[dof]:
            entry["armature"] = float(m.dof_armature[dof])
        if told and actuators and c.joints[j] not in actuators:
            entry["effort_limit"] = 0.0
        elif m.jnt_actfrclimited[j]:
            entry["effort_limit"] = _symmetric(c, m.jnt_actfrcrange[j], f"actuatorfrcrange of joint '{c.joints[j]}'")
        if entry:
            found[c.joints[j]] = JointProperties(**entry)
    return found


def properties_of_several(c: Compiled, bodies: list[str]) -> dict[str, JointProperties]:
    """Armatures of ball and free joints, and damping of free ones, of the bodies with some links."""
    m, found = c.m, {}
    for j in np.flatnonzero(np.isin(m.jnt_type, (FREE, BALL))).tolist():
        link, free, dof = c.links[m.jnt_bodyid[j]], m.jnt_type[j] == FREE, int(m.jnt_dofadr[j])
        armature, damping = float(m.dof_armature[dof]), float(m.dof_damping[dof]) * (free and "DAMPER" not in c.flags)
        if link in bodies and (armature or damping):
            name = f"{link}_floating" if free else c.joints[j]
            found[name] = JointProperties(armature=armature or None, damping=damping or None)
    return found


def _symmetric(c: Compiled, bounds: Any, what: str) -> float:
    """The larger of two bounds of an effort, which a scene has one for."""
    low, high = (float(bound) for bound in bounds)
    if low != -high:
        c.left_out.append(f"{what}: {low:g} to {high:g} is taken as {max(-low, high):g} both ways")
    return max(-low, high, 0.0)


# --- actuators ----------------------------------------------------------------------------------------


def actuators(c: Compiled) -> tuple[dict[str, Actuator], bool]:
    """Actuators by joint, several on one added up, and whether all could be told."""
    found: dict[str, Actuator] = {}
    told = True
    for i in range(c.actuators):
        if c.m.actuator_trntype[i] == TRN_TENDON:
            continue  # tendons.py
        why = _unfit(c, i)
        if why:
            c.left_out.append(f"actuator {c.called('actuator', i)}: {why}")
            told = False
            continue
        joint = c.joints[int(c.m.actuator_trnid[i, 0])]
        actuator = _actuator(c, i)
        found[joint] = _both(found[joint], actuator) if joint in found else actuator
    return {name: _limited(c, name, actuator) for name, actuator in found.items()}, told


def _limited(c: Compiled, joint: str, actuator: Actuator) -> Actuator:
    """An actuator within the limit of all actuators of its joint."""
    m, j = c.m, c.joints.index(joint)
    if not m.jnt_actfrclimited[j] or actuator.effort_limit is None:
        return actuator
    return replace(actuator, effort_limit=min(actuator.effort_limit, float(np.abs(m.jnt_actfrcrange[j]).max())))


def _unfit(c: Compiled, i: int) -> str:
    """Why an actuator is none that a scene knows, or ''."""
    m = c.m
    if m.actuator_trntype[i] not in (TRN_JOINT, TRN_JOINTINPARENT):
        return "it acts on no joint but on a site, a body or a slider-crank"
    if m.jnt_type[m.actuator_trnid[i, 0]] not in (HINGE, SLIDE):
        return "it acts on a joint of several degrees of freedom"
    return unfit_gain(c, i)


def unfit_gain(c: Compiled, i: int) -> str:
    """Why the force of an actuator is none that a scene knows, or ''."""
    m = c.m
    if m.actuator_gaintype[i] != FIXED or m.actuator_biastype[i] not in (NO_BIAS, AFFINE):
        return "its gain or bias is neither fixed nor affine (muscles, DC motors, dampers, plugins)"
    if m.actuator_dyntype[i] not in (0, *FILTERS):
        return "it has activation dynamics other than a filter"
    if m.actuator_biastype[i] == AFFINE and (m.actuator_biasprm[i, 1] > 0.0 or m.actuator_biasprm[i, 2] > 0.0):
        return "its bias grows with the position or the velocity"
    return ""


def _actuator(c: Compiled, i: int) -> Actuator:
    """force = gain u + b0 + b1 length + b2 rate, with length = gear q, as a motor or a servo at the joint."""
    m, name = c.m, c.called("actuator", i)
    gear, gain = float(m.actuator_gear[i, 0]), float(m.actuator_gainprm[i, 0])
    affine = bool(m.actuator_biastype[i] == AFFINE)
    b0, b1, b2 = m.actuator_biasprm[i, :3].tolist() if affine else (0.0, 0.0, 0.0)
    if m.actuator_dyntype[i] in FILTERS:
        c.left_out.append(f"actuator {name}: the filter of its control")
    limit = None
    if m.actuator_forcelimited[i]:
        limit = abs(gear) * _symmetric(c, m.actuator_forcerange[i], f"forcerange of actuator {name}")
    elif not (b1 or b2) and m.actuator_ctrllimited[i]:
        limit = abs(gear * gain) * _symmetric(c, m.actuator_ctrlrange[i], f"ctrlrange of actuator {name}")
    if b0 and not b1 or b1 and (gain != -b1 or b0 or gear != 1.0):
        target = f"({gain:g} u + {b0:g}) / {-b1 * gear:g}" if b1 else f"an effort of {gear * gain:g} u + {gear * b0:g}"
        c.left_out.append(f"actuator {name}: its control u is here {'the position ' if b1 else ''}{target}")
    kind = "position" if b1 else "velocity" if b2 else "effort"
    rotor = float(m.actuator_armature[i]) if hasattr(m, "actuator_armature") else 0.0
    drag = float(m.actuator_damping[i]) if hasattr(m, "actuator_damping") else 0.0
    return Actuator(
        kind, stiffness=-b1 * gear**2 + 0.0, damping=-b2 * gear**2 + 0.0, effort_limit=limit, rotor_inertia=rotor,
        rotor_damping=drag, gear_ratio=gear if rotor or drag else 1.0,
    )  # fmt: skip


def _both(a: Actuator, b: Actuator) -> Actuator:
    """Two actuators of one joint as one."""
    stiffness, damping = a.stiffness + b.stiffness, a.damping + b.damping
    limit = None if a.effort_limit is None or b.effort_limit is None else a.effort_limit + b.effort_limit
    kind = "position" if stiffness else "velocity" if damping else "effort"
    rotor, drag = (a.gear_ratio**2 * getattr(a, key) + b.gear_ratio**2 * getattr(b, key)
                   for key in ("rotor_inertia", "rotor_damping"))  # fmt: skip
    return Actuator(kind, stiffness, damping, rotor_inertia=rotor, rotor_damping=drag, effort_limit=limit)


# --- equalities ---------------------------------------------------------------------------------------


def equalities(c: Compiled) -> tuple[tuple[Closure, ...], tuple[Gear, ...]]:
    """Closures and gears of the equalities that are active and that a scene knows."""
    m = c.m
    closures, gears, following = [], [], set()
    for i in range(m.neq):
        kind, name = int(m.eq_type[i]), f"equality {c.called('eq', i)}"
        if not m.eq_active0[i] or c.flags & {"EQUALITY", "CONSTRAINT"}:
            c.left_out.append(f"{name}: it is not active at the start")
        elif kind in (CONNECT, WELD):
            a, b = _end(c, i, 0), _end(c, i, 1)
            one, other = (0 if m.body_mocapid[body] >= 0 else m.body_weldid[body] for body in (a[0], b[0]))
            if one == other:  # mocap bodies are as still as the world
                c.left_out.append(f"{name}: its two ends are parts of one body")
                continue
            ends = c.links[a[0]], c.links[b[0]]
            closures.append(Closure(("point", "weld")[kind], *ends, a[1], b[1], None, c.name("eq", i) or None))
        elif kind == JOINT:
            gear = _gear(c, i)
            if isinstance(gear, Gear) and gear.joint_a in following:
                gear = f"joint '{gear.joint_a}' follows another joint already"
            if isinstance(gear, str):
                c.left_out.append(f"{name}: {gear}")
                continue
            following.add(gear.joint_a)
            gears.append(gear)
        elif kind != TENDON:  # tendons.py
            c.left_out.append(f"{name}: it couples flexible bodies or distances")
    return tuple(closures), tuple(gears)


def _end(c: Compiled, i: int, side: int) -> tuple[int, Pose]:
    """(body, pose in its link) of one end; the first pose of a weld is that of body 2 in body 1."""
    m, index = c.m, int((c.m.eq_obj2id if side else c.m.eq_obj1id)[i])
    if m.eq_objtype[i] == SITE:
        body, p, quat = int(m.site_bodyid[index]), m.site_pos[index], m.site_quat[index]
    elif m.eq_type[i] == CONNECT:
        body, p, quat = index, m.eq_data[i, 3 * side : 3 * side + 3], (1.0, 0.0, 0.0, 0.0)
    else:
        body, p = index, m.eq_data[i, 3 - 3 * side : 6 - 3 * side]
        quat = (1.0, 0.0, 0.0, 0.0) if side else m.eq_data[i, 6:10]
    if m.eq_type[i] == CONNECT:
        quat = (1.0, 0.0, 0.0, 0.0)
    return body, pose_of(p - c.anchor[body], quat)


def _gear(c: Compiled, i: int) -> Gear | str:
    """q1 - ref1 = c0 + c1 (q2 - ref2), or why it is no gear."""
    m = c.m
    a, b = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
    c0, c1, *higher = m.eq_data[i, :5].tolist()
    if b < 0:
        return f"it holds joint '{c.joints[a]}' alone"
    if any(higher):
        return "its polynomial is not linear"
    ref_a, ref_b = (float(m.qpos0[m.jnt_qposadr[j]]) for j in (a, b))
    return Gear(c.joints[a], c.joints[b], c1, ref_a + c0 - c1 * ref_b)


# --- the start ------------------------------------------------------------------------------------------


def start(c: Compiled, keyframe: str | None) -> tuple[np.ndarray, np.ndarray]:
    """qpos and qvel of a keyframe: the one asked for, else ``home``, else the first, else the reference position.

    Raises
    ------
    InputError
        There is no keyframe of that name.
    """
    m = c.m
    names = [c.name("key", k) for k in range(m.nkey)]
    if keyframe is not None and keyframe not in names:
        raise InputError(f"{c.path} has no keyframe '{keyframe}'; it has {', '.join(names) or 'none'}")
    if not names:
        return m.qpos0.copy(), np.zeros(m.nv)
    k = names.index(keyframe) if keyframe is not None else names.index("home") if "home" in names else 0
    others = [c.called("key", i) for i in range(m.nkey) if i != k]
    if others:
        c.left_out.append(f"keyframes that it does not begin with: {', '.join(others)}")
    return m.key_qpos[k].copy(), m.key_qvel[k].copy()


def positions(c: Compiled, joints: list[int], q: np.ndarray) -> dict[str, float]:
    """Initial positions of scalar joints that are not zero, within their limits."""
    m, found = c.m, {}
    for j in joints:
        value = float(q[m.jnt_qposadr[j]])
        if m.jnt_limited[j] and not c.flags & {"LIMIT", "CONSTRAINT"}:
            low, high = c.limits("jnt", j)
            if not low <= value <= high:
                within = min(max(value, low), high)
                c.left_out.append(f"joint '{c.joints[j]}': it starts at its limit {within:g}, not beyond at {value:g}")
                value = within
        if value:
            found[c.joints[j]] = value
    return found


def velocities(c: Compiled, joints: list[int], v: np.ndarray) -> dict[str, float]:
    """Initial velocities of scalar joints that are not zero."""
    return {c.joints[j]: float(v[c.m.jnt_dofadr[j]]) for j in joints if v[c.m.jnt_dofadr[j]]}


def free_start(c: Compiled, body: int, q: np.ndarray, v: np.ndarray) -> tuple[Pose, Velocity | None]:
    """Pose and velocity of a free body; MuJoCo's angular velocity is in the body's axes."""
    j = c.joints_of(body)[0]
    at, dof = int(c.m.jnt_qposadr[j]), int(c.m.jnt_dofadr[j])
    quat = q[at + 3 : at + 7] / np.linalg.norm(q[at + 3 : at + 7])
    pose = pose_of(q[at : at + 3], quat)
    linear, angular = v[dof : dof + 3], pose.rotation() @ v[dof + 3 : dof + 6]
    if not (linear.any() or angular.any()):
        return pose, None
    return pose, Velocity(tuple(angular.tolist()), tuple(linear.tolist()))


def of_several(c: Compiled, q: np.ndarray) -> None:
    """Say what is lost of joints of several degrees of freedom, for which a scene has fewer words."""
    m = c.m
    for j in np.flatnonzero(np.isin(m.jnt_type, (FREE, BALL))).tolist():
        ball = m.jnt_type[j] == BALL
        at, dofs = int(m.jnt_qposadr[j]), slice(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j]) + (3 if ball else 6))
        lost = {
            "friction": m.dof_frictionloss[dofs].any(),
            "stiffness": bool(m.jnt_stiffness[j]),
            "limit": ball and bool(m.jnt_limited[j]),
            "initial position": ball and not math.isclose(abs(q[at]), 1.0, rel_tol=1e-15),
        }
        words = [what for what, is_lost in lost.items() if is_lost]
        if words:
            kind = "ball" if ball else "free"
            c.left_out.append(f"{kind} joint '{c.joints[j]}': {', '.join(words)}")

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds in body coordinates: every body is free, every joint a loop closure (J14 sections 3 and 8).

The usual step of such a world is J14's NMC/OS, a FormulationStep its NMC: 6 n velocities, 6 n - N rows of hinges.
What a joint keeps by its coordinates in a tree is now kept by rows, so it drifts, and ``drift_control`` and
``drift_rate`` are its stabilisation.  What acts on a joint's coordinate acts on its two bodies: an effort as a pair of
wrenches, limits, damping, rotors and friction as rows (``core/constraints/hinge.py``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mb_contact.core.tree.kinematics import body_poses, body_velocities
from mb_contact.core.tree_workspace import make_kinematics
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.types import (
    CLOSURE_AXIS,
    CLOSURE_PLANAR,
    CLOSURE_POINT,
    JOINT_FLOATING,
    JOINT_NAMES,
    JOINT_PLANAR,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    JOINT_SCREW,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
    WORLD,
    Closures,
    Hinges,
)

if TYPE_CHECKING:
    from mb_contact.model.world import World

REFUSED = "a joint is no coordinate then, so it has no {}; leave that out, or use coordinates: joints"
#: flows hold a limit's impulse as a force: a hinge that is stopped within a step goes on at half its speed meanwhile
PASSED = (
    "coordinates: bodies lets a hinge that runs into a limit pass it by up to half of a step's motion; "
    "use integrator: semi_implicit_euler with collision_scheme: time_stepping to stop it there"
)


def in_body_coordinates(world: Any, scene: Any) -> World:
    """The same bodies, free, their joints as loop closures before those of the scene, and what acts in these.

    Left out, with a warning, are forces in joints of several degrees of freedom and limits more than one turn apart.
    Flows pass limits, with a warning too.

    Parameters
    ----------
    world : World
    scene : Scene
        Whose errors name the place.

    Raises
    ------
    SceneError
        A universal joint or a screw, or what needs a joint's coordinate: gears, mimic joints, springs, servos, motions.
    """
    tree, joints = world.tree, world.joints
    moved = {
        "gear, mimic joint or motion": len(world.couplings.gears.ratio), "spring": len(joints.sprung),
        "servo": len(joints.servos),
    }  # fmt: skip
    for what, there in moved.items():
        scene.refuse_if(there > 0, "coordinates", REFUSED.format(what))
    for name, kind in zip(world.body_names, tree.joint_type):
        message = f"the {JOINT_NAMES[kind]} joint of '{name}' has no loop closure of the same rows; use joints"
        scene.refuse_if(kind in (JOINT_UNIVERSAL, JOINT_SCREW), "coordinates", message)
    n = len(tree.parent)
    kin = make_kinematics(n, len(world.v0))
    body_poses(tree, world.q0, kin)
    body_velocities(tree, kin, world.v0, kin.V)
    hinges, names, left = _hinges(world)
    warnings = [f"coordinates: bodies leaves out {', '.join(left)}"] if left else []
    flows = scene.integrator != "semi_implicit_euler" or scene.collision_scheme == "event"
    if flows and (np.isfinite(hinges.lower) | np.isfinite(hinges.upper)).any():
        warnings.append(PASSED)
    return replace(
        world, tree=_free(tree), q0=_constant(np.column_stack([kin.p, [matrix_to_quat(R) for R in kin.R]]).ravel()),
        v0=_constant(kin.V.ravel()), couplings=_with_hinges(world, tree), joints=_no_forces(joints, 6 * n),
        joint_names=(), joint_q=_constant(np.zeros(0, np.int64)), joint_v=_constant(np.zeros(0, np.int64)),
        effort_limit=_constant(np.zeros(0)), objects={name: k for k, name in enumerate(world.body_names)},
        warnings=(*world.warnings, *warnings), hinges=hinges, hinge_names=names,
    )  # fmt: skip


def make_hinges(of=(), tree=None, joints=None):
    """Hinges of the bodies ``of`` of a tree, which hang on joints of one degree of freedom."""
    j, k = len(of), np.array(of, np.int64)
    arrays = {
        name: np.zeros((j, 3, 3) if name[0] == "R" else (j, 3) if name[0] == "p" else j)
        for name in Hinges._fields
    }  # fmt: skip
    arrays |= {"body": k, "base": np.zeros(j, np.int64), "slides": np.zeros(j, np.int64)}
    if j:
        d, axes = tree.v_start[k], np.array([_frame_along(axis) for axis in tree.axis[k]])
        arrays |= {name: getattr(tree, name)[d] for name in ("lower", "upper", "damping", "armature", "effort_limit")}
        arrays |= {
            "base": tree.parent[k], "slides": (tree.joint_type[k] == JOINT_PRISMATIC).astype(np.int64),
            "R_body": axes, "R_base": tree.R_joint[k] @ axes, "p_base": tree.p_joint[k].copy(),
            "friction": joints.friction[d],
        }  # fmt: skip
    constant = {name: _constant(np.ascontiguousarray(array)) for name, array in arrays.items()}
    return Hinges(**constant)._replace(speed=np.zeros(j), posed=np.full((j, 4), -1))


def _hinges(world):
    """Hinges of a world in joint coordinates, their joints' names, and what acts on its joints that they leave out."""
    tree = world.tree
    hinges = make_hinges(np.searchsorted(tree.v_start, world.joint_v, side="right") - 1, tree, world.joints)
    limited = np.isfinite(hinges.lower) | np.isfinite(hinges.upper)
    far = limited & (hinges.slides == 0) & (hinges.upper - hinges.lower > 2.0 * np.pi)
    several = np.repeat((tree.joint_type != JOINT_FLOATING) & (tree.nv != 1), tree.nv)
    unknown = {
        "limits more than one turn apart": far,  # poses do not tell turns apart
        "damping of joints of several degrees of freedom": several & (tree.damping > 0.0),
        "rotors of joints of several degrees of freedom": several & (tree.armature > 0.0),
    }
    left = [name for name, there in unknown.items() if there.any()]
    own = {
        "lower": np.where(far, -np.inf, hinges.lower), "upper": np.where(far, np.inf, hinges.upper),
        "middle": np.zeros(len(far)),
    }  # fmt: skip
    turns = limited & ~far & (hinges.slides == 0)
    own["middle"][turns] = 0.5 * (hinges.lower[turns] + hinges.upper[turns])
    return hinges._replace(**{name: _constant(array) for name, array in own.items()}), world.joint_names, left


def _free(tree):
    """A forest of free bodies."""
    n = len(tree.parent)
    own = {
        "parent": np.full(n, WORLD, np.int64), "joint_type": np.full(n, JOINT_FLOATING, np.int64),
        "q_start": 7 * np.arange(n), "v_start": 6 * np.arange(n), "nv": np.full(n, 6, np.int64), "root": np.arange(n),
        "R_joint": np.tile(np.eye(3), (n, 1, 1)), "p_joint": np.zeros((n, 3)), "axis": np.zeros((n, 3)),
        "axis2": np.zeros((n, 3)), "armature": np.zeros(6 * n), "damping": np.zeros(6 * n),
        "effort_limit": np.full(6 * n, np.inf), "lower": np.full(6 * n, -np.inf), "upper": np.full(6 * n, np.inf),
    }  # fmt: skip
    return tree._replace(**{name: _constant(array) for name, array in own.items()})


def _with_hinges(world, tree):
    """The world's Couplings with a closure for each joint before its own; prismatic joints are two planar ones."""
    own, names = world.couplings.closures, []
    held: dict[str, list] = {name: [] for name in ("kind", "body_a", "body_b", "p_b", "R_a", "R_b")}
    for k in np.flatnonzero(tree.joint_type != JOINT_FLOATING):
        frame = _frame_along(tree.axis[k])
        kinds = {
            JOINT_REVOLUTE: [(CLOSURE_AXIS, frame)], JOINT_PLANAR: [(CLOSURE_PLANAR, frame)],
            JOINT_SPHERICAL: [(CLOSURE_POINT, frame)],
            JOINT_PRISMATIC: [(CLOSURE_PLANAR, np.roll(frame, shift, axis=1)) for shift in (1, 2)],
        }[tree.joint_type[k]]  # fmt: skip
        for kind, axes in kinds:
            values = (kind, k, tree.parent[k], tree.p_joint[k], axes, tree.R_joint[k] @ axes)
            for name, value in zip(held, values):
                held[name].append(value)
            names.append(world.body_names[k])
    new = {name: np.zeros((len(names), *of.shape[1:]), of.dtype) for name, of in own._asdict().items()}
    for name in ("end", "break_force", "break_torque"):
        new[name][:] = np.inf
    new |= {name: np.array(values, new[name].dtype).reshape(new[name].shape) for name, values in held.items()}
    closures = Closures(**{name: _constant(np.concatenate([new[name], of])) for name, of in own._asdict().items()})
    return world.couplings._replace(closures=closures, closure_names=(*names, *world.couplings.closure_names))


def _frame_along(axis):
    """Right-handed axes whose z is ``axis``, or any of a joint without one."""
    if not axis.any():
        return np.eye(3)
    x = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _no_forces(joints, N):
    """JointForces of N degrees of freedom on which nothing acts."""
    real = {name: np.zeros(N) for name, array in joints._asdict().items() if array.dtype == np.float64}
    bodies = {name: np.zeros(0, np.int64) for name in joints._fields if name not in real}
    real |= {"velocity_limit": np.full(N, np.inf), "damping": _constant(real["damping"])}
    return joints._replace(**real, **bodies)


def _constant(array):
    array.setflags(write=False)
    return array

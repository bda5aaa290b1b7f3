# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics: joint positions at which frames are where they should be."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_positive, as_vector, as_whole, instead_of
from mb_contact.control.poses import wanted_pose
from mb_contact.core.tree.inverse_kinematics import Moved, Space, Wanted, search, settle
from mb_contact.dynamics.evaluator import evaluator, refuse, vector
from mb_contact.dynamics.nodes import NodeLike, Point, node_arrays
from mb_contact.errors import InputError
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.types import JOINT_PRISMATIC, OK

UNLIMITED = np.pi  #: starts of joints without limits are drawn from within this much of the start [rad, m]


class InverseKinematics(NamedTuple):
    """What the search found; ``reached`` says whether it is a solution.

    Examples
    --------
    >>> arm = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> found = mb.control.inverse_kinematics(arm, {mb.Point("link_1", (0.0, 0.0, -1.0)): [1.0, 0.0, -1.0]})
    >>> found.reached, found.error < 1e-9, found.q.shape
    (True, True, (2,))
    """

    q: Floats  #: (nq,) coordinates of the model [rad, m; quaternions x y z w]
    reached: bool  #: whether every node is within the tolerance
    error: float  #: the largest entry of any rotation vector [rad] and displacement [m] that is left
    starts: int  #: from how many starts it was tried


def inverse_kinematics(
    model: Any,
    targets: Mapping[NodeLike, Any],
    q: ArrayLike | None = None,
    joints: Sequence[str] | None = None,
    rest: ArrayLike | None = None,
    tolerance: float = 1e-9,
    starts: int = 100,
    iterations: int = 100,
    seed: int = 0,
) -> InverseKinematics:
    """Coordinates at which nodes are where they should be, within the joints' limits.

    Levenberg and Marquardt's method with the damping of Sugihara (2011), from q first and then from random places
    within the limits, all compiled.  The same arguments give the same bits.

    Parameters
    ----------
    model : Model or World
    targets : mapping of node to pose
        A frame's name or :class:`~mb_contact.Node` to (position (3,) [m], quaternion x y z w (4,)), world axes; a
        :class:`~mb_contact.Point` to a position alone.  Several at once for several hands.
    q : array_like (nq,), optional
        Where to start [rad, m; quaternions x y z w]: the neutral position, a World's initial one if left out.
        What does not move stays as it is there.
    joints : sequence of str, optional
        Scalar joints that may move; all that carry one of the nodes if left out.  Joints that mimic others follow.
    rest : array_like (joints,), optional
        Posture in the order of ``joints`` that the freedom that is left draws to [rad, m].
    tolerance : float
        Of each entry of the errors [rad, m].
    starts : int
        How many places to start from at most.
    iterations : int
        Of each start at most.
    seed : int
        Of the random places.

    Returns
    -------
    InverseKinematics
        Where nothing was reached, the nearest that was found.

    Raises
    ------
    InputError
        No such frame or joint, no joint that moves a node, or numbers that do not fit.

    Examples
    --------
    >>> arm = mb.load_urdf("package://mb_contact/urdf/dual_arm.urdf")
    >>> R, p = mb.frame_pose(arm, arm.q_from({"left_arm_joint_4": 0.8}), "left_tcp")
    >>> found = mb.control.inverse_kinematics(arm, {mb.Point("left_tcp"): p})
    >>> found.reached, bool(np.allclose(mb.frame_pose(arm, found.q, "left_tcp")[1], p, atol=1e-8))
    (True, True)
    """
    if isinstance(joints, str):
        raise InputError(f"joints must be a list of names, got '{joints}'; write ['{joints}']")
    tolerance, starts = as_positive(tolerance, "tolerance"), as_whole(starts, "starts")
    whole = getattr(model, "whole", None) or model
    e = evaluator(whole)
    nodes, wanted = tuple(targets), _wanted(targets)
    handle, rows = e.nodes(whole, nodes)
    start = _start(model, q)
    names = _carriers(model, whole, nodes) if joints is None else list(joints)
    moved, x_index = _moved(model, whole, names, start)
    x = start[x_index]
    if np.any((x < moved.lower) | (x > moved.upper)):
        x = np.clip(x, moved.lower, moved.upper)
    coordinates = vector(model.expand_q(start) if whole is not model else start.copy(), e.nq, "q")
    coordinates = np.array(coordinates)
    m = len(names)
    space = Space(
        np.zeros((rows, e.N)), np.zeros((rows, m)), np.zeros((rows, rows)), np.zeros(rows), np.zeros(rows),
        np.zeros(m), np.zeros(m, np.int64),
    )  # fmt: skip
    tried = _starts(x, moved, starts, seed)
    with e.lock:
        status, error, used = search(
            e.handle, handle, moved, wanted, space, tried, coordinates, x, tolerance, int(iterations)
        )
        if status == OK and error <= tolerance and rest is not None:
            posture = np.clip(as_vector(rest, m, "rest"), moved.lower, moved.upper)
            before = x.copy()
            status, again = settle(
                e.handle, handle, moved, wanted, space, posture, coordinates, x, tolerance, int(iterations)
            )
            error, x = (again, x) if again <= tolerance else (error, before)
    if status != OK:
        refuse(model, status, -1, q=start)
    found = start.copy()
    found[x_index] = x = _unwound(whole, moved, x, start[x_index])
    if whole is model:
        found[moved.q] = moved.ratio * x[moved.x] + moved.offset  # joints that mimic those of x are coordinates too
    return InverseKinematics(found, bool(error <= tolerance), float(error), int(used))


def _wanted(targets):
    """Wanted of the targets, checked."""
    if not targets or not isinstance(targets, Mapping):
        raise InputError("targets must name at least one frame, Node or Point: {'hand': (position, quaternion)}")
    R, p = np.tile(np.eye(3), (len(targets), 1, 1)), np.zeros((len(targets), 3))
    for i, (node, pose) in enumerate(targets.items()):
        name = node if isinstance(node, str) else node.frame
        if isinstance(node, Point):
            p[i] = as_vector(pose, 3, f"the position of '{name}'")
        else:
            p[i], quaternion = wanted_pose(name, pose)
            R[i] = quat_to_matrix(quaternion)
    return Wanted(R, p)


def _start(model, q):
    """Coordinates to start from, a new array."""
    if q is None:
        return np.array(model.q0 if hasattr(model, "q0") else model.neutral_q())
    given = as_vector(q, len(model.q0) if hasattr(model, "q0") else model.nq, "q")
    return np.array(given)


def _carriers(model, whole, nodes):
    """Names of the scalar joints that carry one of the nodes, those that their mimics follow included."""
    tree, moving = whole.tree, set()
    for body in node_arrays(whole, nodes).body:
        while body >= 0:
            moving.add(int(tree.v_start[body]))
            body = tree.parent[body]
    follows = _followers(model, whole)
    leaders = {leader for d, (leader, _, _) in follows.items() if d in moving}
    return [name for name, d in zip(model.joint_names, _of_tree(model, whole)[1]) if d in moving | leaders]


def _of_tree(model, whole):
    """Places of the model's joints in the coordinates and velocities of the whole tree."""
    at = [whole.joint_names.index(name) for name in model.joint_names]
    return whole.joint_q[at], whole.joint_v[at]


def _followers(model, whole):
    """{v of a joint that mimics another: (v of its leader, ratio, offset)} in the whole tree."""
    if whole is not model:  # a Model with eliminated joints
        v_of = dict(zip(whole.joint_names, whole.joint_v))
        return {int(v_of[m.joint]): (int(v_of[m.leader]), m.ratio, m.offset) for m in model.mimics}
    names = getattr(model, "follower_names", ())
    found, kept = {}, np.delete(np.arange(len(model.tree.armature)), model.follower_v) if names else ()
    for q, v in zip(model.follower_q, model.follower_v) if names else ():
        column = int(np.flatnonzero(model.S[v])[0]) if model.S[v].any() else 0
        leader, ratio = int(kept[column]), model.S[v, column]
        at = model.joint_q[list(model.joint_v).index(leader)]
        found[int(v)] = leader, ratio, model.q0[q] - ratio * model.q0[at]
    return found


def _moved(model, whole, names, start):
    """Moved for the joints of these names, and their places in the model's own coordinates."""
    unknown = [name for name in names if name not in model.joint_names]
    if unknown:
        raise InputError(f"no joint '{unknown[0]}'; {instead_of(unknown[0], model.joint_names, 'known are')}")
    if not names:
        raise InputError("no joint moves these frames")
    chosen = [model.joint_names.index(name) for name in names]
    of_q, of_v = (places[chosen] for places in _of_tree(model, whole))
    entries = [(q, v, i, 1.0, 0.0) for i, (q, v) in enumerate(zip(of_q, of_v))]
    at = {int(v): i for i, v in enumerate(of_v)}
    tree = whole.tree
    for v, (leader, ratio, offset) in _followers(model, whole).items():
        if leader in at:
            body = int(np.flatnonzero(tree.v_start == v)[0])
            entries.append((int(tree.q_start[body]), v, at[leader], ratio, offset))
    q, v, x, ratio, offset = zip(*entries)
    return Moved(
        np.array(q, np.int64), np.array(v, np.int64), np.array(x, np.int64), np.array(ratio, float),
        np.array(offset, float), np.array(tree.lower[of_v]), np.array(tree.upper[of_v]),
    ), model.joint_q[chosen]  # fmt: skip


def _starts(x, moved, count, seed):
    """Places to start from (count, m), the given one first."""
    random = np.random.default_rng(seed)
    lower = np.where(np.isfinite(moved.lower), moved.lower, x - UNLIMITED)
    upper = np.where(np.isfinite(moved.upper), moved.upper, x + UNLIMITED)
    found = random.uniform(lower, upper, (max(int(count), 1), len(x)))
    found[0] = x
    return found


def _unwound(whole, moved, x, start):
    """x with turns of joints without limits taken back to within half a turn of the start."""
    tree, x = whole.tree, x.copy()
    for i in range(len(x)):
        body = int(np.searchsorted(tree.v_start, moved.v[i], side="right")) - 1
        if np.isinf(moved.lower[i]) and np.isinf(moved.upper[i]) and tree.joint_type[body] != JOINT_PRISMATIC:
            if not np.any((moved.x == i) & (moved.ratio != np.round(moved.ratio))):
                x[i] -= 2.0 * np.pi * np.round((x[i] - start[i]) / (2.0 * np.pi))
    return x

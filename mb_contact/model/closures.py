# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Loop closures and gears of a scene as arrays: names to bodies, frames of links to frames of bodies."""

from typing import NamedTuple

import numpy as np

from mb_contact.checks import instead_of
from mb_contact.core.tree_workspace import taken
from mb_contact.model.model import Frame
from mb_contact.model.motions import Path
from mb_contact.model.poses import tree_poses
from mb_contact.types import (
    CLOSURE_DISTANCE,
    CLOSURE_NAMES,
    CLOSURE_POINT,
    CLOSURE_ROWS,
    CLOSURE_SCREW,
    WORLD,
    Closures,
    Gears,
)

WORLD_NAMES = ("world",)  #: what a closure may call the inertial frame, where no link has that name
LEAST_LENGTH = 1e-9  #: [m] a distance below it has no direction


class Couplings(NamedTuple):
    """Bilateral constraints of a world beside its hinges."""

    closures: Closures
    gears: Gears
    closure_names: tuple[str, ...]
    gear_names: tuple[str, ...]

    @property
    def rows(self):
        """Scalar bilateral rows."""
        return sum(CLOSURE_ROWS[kind] for kind in self.closures.kind) + len(self.gears.ratio)

    def without(self, closures, gears):
        """All but those with these indices."""
        held = [i for i in range(len(self.closures.kind)) if i not in closures]
        geared = [i for i in range(len(self.gears.ratio)) if i not in gears]
        return Couplings(
            taken(self.closures, held), taken(self.gears, geared), tuple(self.closure_names[i] for i in held),
            tuple(self.gear_names[i] for i in geared),
        )  # fmt: skip


def build_couplings(scene, frames, tree, q0, joints, followers, flexible=()):
    """Couplings of a scene.

    Parameters
    ----------
    scene : Scene
    frames : dict of str to Frame
        Of every link of the world.
    tree, q0 : Tree, (nq,)
        A closure whose second pose, or whose length, is left out holds what it finds at q0.
    joints : dict of str to int
        Body that each scalar joint moves, by the joint's name.
    followers : sequence of (joint, joint it follows, ratio, offset)
        Mimic joints of the robots.
    flexible : sequence of FlexibleBody

    Returns
    -------
    Couplings

    Raises
    ------
    SceneError
        No such link, joint or closure, both ends on one body, a distance of zero, gears that close a circle, a joint
        that is driven beyond its limits.
    """
    q0 = q0.copy()
    for motion in scene.motions:
        if len(motion.positions) and motion.joint in joints:
            q0[tree.q_start[joints[motion.joint]]] = Path(motion, motion.positions).at(0.0)
    poses = tree_poses(tree, q0, flexible)
    parts = [_closure(scene, i, frames, poses) for i in range(len(scene.loop_closures))]
    count = len(parts)
    closures = Closures(
        kind=np.array([part[0] for part in parts], np.int64),
        body_a=np.array([part[1].body for part in parts], np.int64),
        body_b=np.array([part[2].body for part in parts], np.int64),
        p_a=np.array([part[1].p for part in parts]).reshape(count, 3),
        p_b=np.array([part[2].p for part in parts]).reshape(count, 3),
        R_a=np.array([part[1].R for part in parts]).reshape(count, 3, 3),
        R_b=np.array([part[2].R for part in parts]).reshape(count, 3, 3),
        length=np.array([part[3] for part in parts], np.float64),
        motion=np.zeros((count, 7)),
        lead=np.array([(entry.pitch or 0.0) / (2.0 * np.pi) for entry in scene.loop_closures]),
        friction=np.array([entry.friction for entry in scene.loop_closures]),
        grip=np.array([entry.flank_friction * (entry.radius or 0.0) for entry in scene.loop_closures]),
        climb=np.array([_climb(entry) for entry in scene.loop_closures]),
        end=np.array([np.inf if entry.end is None else entry.end for entry in scene.loop_closures]),
        break_force=np.array([entry.break_force or np.inf for entry in scene.loop_closures]),
        break_torque=np.array([entry.break_torque or np.inf for entry in scene.loop_closures]),
        released=np.zeros(count, np.int64),
    )
    gears, names = _gears(scene, tree, q0, joints, followers)
    closure_names = tuple(c.name or f"{c.link_a}_{c.link_b}" for c in scene.loop_closures)
    _check_driven_closures(scene, closures, closure_names)
    for array in (*closures, *gears):
        array.setflags(write=False)
    return Couplings(closures, gears, closure_names, names)


def joined_pairs(scene, frames):
    """Pairs of links that closures hold together: neighbours, as in a tree.

    A distance joins nothing, nor does what may come off, a thread that ends or a weld that is switched: it may touch.
    """
    of_body = {}
    for link, frame in frames.items():
        of_body.setdefault(frame.body, []).append(link)
    pairs = set()
    for closure in scene.loop_closures:
        ends = [frames[link] for link in (closure.link_a, closure.link_b) if link in frames]
        if closure.kind == "distance" or closure.end is not None or closure.switched or len(ends) < 2:
            continue
        groups = [
            of_body[end.body] if end.body != WORLD else [link]
            for end, link in zip(ends, (closure.link_a, closure.link_b))
        ]
        pairs |= {frozenset((a, b)) for a in groups[0] for b in groups[1] if a != b}
    return pairs


def rubbing_threads(scene):
    """Entries of ``JointForces.rubbing`` for threads with friction; last come those where it grows with the load."""
    closures = enumerate(scene.loop_closures)
    rubbing = [(c, entry.flank_friction) for c, entry in closures if max(entry.friction, entry.flank_friction) > 0.0]
    return np.array([-1 - c for c, grows in sorted(rubbing, key=lambda thread: thread[1] > 0.0)], dtype=np.int64)


def _climb(entry):
    """Way along the axis for the way along the flanks of a thread with their friction, over its radius [1/m]."""
    return entry.pitch / (2.0 * np.pi * entry.radius**2) if entry.flank_friction > 0.0 else 0.0


# --- closures ---------------------------------------------------------------------------------


def _closure(scene, i, frames, poses):
    """(kind, frame on A, frame on B, length) of one closure; frames in those of their bodies."""
    entry, key = scene.loop_closures[i], f"loop_closures[{i}]"
    a = _end(scene, frames, entry.link_a, entry.pose_a, f"{key}.link_a")
    b = _end(scene, frames, entry.link_b, entry.pose_b, f"{key}.link_b")
    scene.refuse_if(
        a.body == b.body, key,
        f"'{entry.link_a}' and '{entry.link_b}' are parts of one body, so there is nothing to close",
    )
    (R_a, p_a), (_, p_b) = a.placed(*poses), b.placed(*poses)
    kind, length = CLOSURE_NAMES.index(entry.kind), 0.0
    if kind == CLOSURE_DISTANCE:
        length = float(np.linalg.norm(p_a - p_b)) if entry.length is None else entry.length
        scene.refuse_if(length < LEAST_LENGTH, key, "the two points coincide; a distance of zero is the kind point")
    elif entry.pose_b is None:  # closed as it stands
        b = Frame(b.body, *_local(b.body, R_a, p_a, poses))
    if kind == CLOSURE_SCREW and entry.end is not None:
        way = float((p_a - b.placed(*poses)[1]) @ b.placed(*poses)[0][:, 2])
        message = f"'{entry.link_a}' starts {way:g} m along the thread, beyond its end; move it, or the end"
        scene.refuse_if(way >= entry.end, f"{key}.end", message)
    return kind, a, b, length


def _end(scene, frames, link, pose, key):
    """A closure's frame on the body of a link."""
    if link in frames:
        frame = frames[link]
    elif link in WORLD_NAMES:
        frame = Frame(WORLD, np.eye(3), np.zeros(3))
    else:
        raise scene.error(key, f"no link is called '{link}'; {instead_of(link, ['world', *frames], 'links:')}")
    if pose is None:
        return frame
    return Frame(frame.body, frame.R @ pose.rotation(), frame.p + frame.R @ pose.origin())




def _local(body, R, p, poses):
    if body == WORLD:
        return R, p
    return poses[0][body].T @ R, poses[0][body].T @ (p - poses[1][body])


# --- gears ------------------------------------------------------------------------------------


def _leaders_first(parts, names):
    """Gears in an order in which the joint that is followed has its position before; driven ones follow nothing."""
    follower = {part[0]: i for i, part in enumerate(parts) if part[0] != part[1]}

    def depth(i):
        if parts[i][0] == parts[i][1]:
            return -1
        return 1 + depth(follower[parts[i][1]]) if parts[i][1] in follower else 0

    order = sorted(range(len(parts)), key=depth)
    return [parts[i] for i in order], [names[i] for i in order]


def _gears(scene, tree, q0, joints, followers):
    """Gears of mimic joints first, then the scene's, and driven joints as gears of ratio 0 on themselves.

    Every joint follows one other at most, and no circle closes.
    """
    follows, names, parts = {}, [], []
    for follower, leader, ratio, offset in followers:
        follows[follower] = leader
        names.append(follower)
        parts.append((joints[follower], joints[leader], ratio, offset))
    for i, gear in enumerate(scene.gears):
        key = f"gears[{i}]"
        for end in ("joint_a", "joint_b"):
            _refuse_unknown(scene, joints, getattr(gear, end), f"{key}.{end}")
        scene.refuse_if(
            gear.joint_a in follows, f"{key}.joint_a",
            f"'{gear.joint_a}' follows '{follows.get(gear.joint_a)}' already; a joint can follow one other",
        )
        follows[gear.joint_a] = gear.joint_b
        end = gear.joint_b
        while end in follows:
            scene.refuse_if(
                end == gear.joint_a, f"{key}.joint_b",
                f"the gears of '{gear.joint_a}' close a circle; leave one out",
            )
            end = follows[end]
        names.append(gear.joint_a)
        parts.append((joints[gear.joint_a], joints[gear.joint_b], gear.ratio, gear.offset))
    for i, motion in enumerate(scene.motions):
        if motion.joint is not None:
            _check_driven_joint(scene, tree, joints, follows, names, motion, f"motions[{i}]")
            names.append(motion.joint)
            body = joints[motion.joint]
            parts.append((body, body, 0.0, q0[tree.q_start[body]]))
    parts, names = _leaders_first(parts, names)
    return Gears(
        body_a=np.array([part[0] for part in parts], np.int64),
        body_b=np.array([part[1] for part in parts], np.int64),
        ratio=np.array([part[2] for part in parts], np.float64),
        offset=np.array([part[3] for part in parts], np.float64),
        rate=np.zeros(len(parts)),
    ), tuple(names)


# --- motions ----------------------------------------------------------------------------------


def _refuse_unknown(scene, joints, name, key):
    if name not in joints:
        raise scene.error(key, f"no joint is called '{name}'; {instead_of(name, joints, 'joints:')}")


def _check_driven_joint(scene, tree, joints, follows, driven, motion, key):
    """Refuse a motion of a joint that is not there, follows another, is driven twice, or leaves its range."""
    name = motion.joint
    _refuse_unknown(scene, joints, name, f"{key}.joint")
    scene.refuse_if(name in follows, f"{key}.joint", f"'{name}' follows '{follows.get(name)}'; drive that one")
    scene.refuse_if(name in driven, f"{key}.joint", f"'{name}' is driven twice")
    d = tree.v_start[joints[name]]
    if len(motion.positions):
        least, most = Path(motion, motion.positions).range()
        scene.refuse_if(
            least < tree.lower[d] or most > tree.upper[d], f"{key}.positions",
            f"'{name}' goes from {tree.lower[d]:g} to {tree.upper[d]:g}, its path from {least:g} to {most:g}",
        )


def _check_driven_closures(scene, closures, names):
    """Refuse a motion of a closure that is not there or driven twice, or of what its kind does not have."""
    for i, motion in enumerate(scene.motions):
        if motion.closure is None:
            continue  # of a joint or a surface
        key, known = f"motions[{i}]", ", ".join(names) or "none"
        scene.refuse_if(
            names.count(motion.closure) != 1, f"{key}.closure",
            f"no loop closure, or more than one, is called '{motion.closure}'; closures: {known}",
        )
        kind = closures.kind[names.index(motion.closure)]
        distance = kind == CLOSURE_DISTANCE
        twice = motion.closure in [other.closure for other in scene.motions[:i]]
        scene.refuse_if(twice, f"{key}.closure", f"'{motion.closure}' is driven twice")
        turns = len(motion.rotations) > 0 and kind in (CLOSURE_DISTANCE, CLOSURE_POINT)
        message = f"a closure of kind {CLOSURE_NAMES[kind]} does not feel how its frames are turned; leave them out"
        scene.refuse_if(turns, f"{key}.rotations", message)
        message = "a thread turns by the forces on its nut; drive a joint of type screw"
        scene.refuse_if(kind == CLOSURE_SCREW, f"{key}.closure", message)
        wrong = len(motion.lengths) > 0 and not distance
        scene.refuse_if(wrong, f"{key}.lengths", "only the kind distance has a length")

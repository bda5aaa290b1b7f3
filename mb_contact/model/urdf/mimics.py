# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mimic joints: chains of them resolved to the joints that move on their own, and the model reduced to these."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np


class MimicSpec(NamedTuple):
    """One ``<mimic>``: position = multiplier * position of ``joint`` + offset."""

    joint: str
    multiplier: float
    offset: float
    line: int


class Mimic(NamedTuple):
    """A joint that follows another, which follows none: q = ratio q_leader + offset."""

    joint: str
    leader: str
    ratio: float
    offset: float  #: [rad, m]


def resolve_mimics(joints, scalar, fail):
    """Mimics of a file, each with the joint at the end of its chain.

    Parameters
    ----------
    joints : dict of str to JointSpec
        ``mimic`` is a MimicSpec, or None.
    scalar : container of str
        Types of joints with one coordinate.
    fail : callable
        ``fail(line, message)`` makes the error.

    Returns
    -------
    list of Mimic

    Raises
    ------
    ModelError
        A mimic of a joint that does not exist, is fixed or has several coordinates; a chain that closes a circle.
    """
    found = []
    for name, joint in joints.items():
        if joint.mimic is None:
            continue
        if joint.kind not in scalar:
            raise fail(joint.mimic.line, f"joint '{name}': a {joint.kind} joint cannot mimic another; remove <mimic>")
        ratio, offset, walked, at = 1.0, 0.0, [name], joint
        while at.mimic is not None:
            spec = at.mimic
            ratio, offset = ratio * spec.multiplier, offset + ratio * spec.offset
            if spec.joint not in joints:
                message = f"joint '{at.name}' mimics '{spec.joint}', which is not declared; correct the name"
                raise fail(spec.line, message)
            at = joints[spec.joint]
            if at.name in walked:
                chain = " -> ".join(f"'{link}'" for link in [*walked, at.name])
                raise fail(spec.line, f"the mimic joints form a circle: {chain}; let one of them move on its own")
            walked.append(at.name)
        if at.kind not in scalar:
            message = f"joint '{walked[-2]}' mimics '{at.name}', a {at.kind} joint; "
            raise fail(joint.mimic.line, message + "a joint can follow a revolute, continuous, prismatic or screw one")
        found.append(Mimic(name, at.name, ratio, offset))
    return found


def eliminate(whole, mimics):
    """The Model in the coordinates of the joints that follow none: q = S q_r + c, v = S v_r.

    ``whole`` is the same robot with every joint on its own; the reduced model shares its tree.
    """
    if not mimics:
        return whole
    index = {name: i for i, name in enumerate(whole.joint_names)}
    following = {index[mimic.joint] for mimic in mimics}
    q_out, v_out = ({int(x[i]) for i in following} for x in (whole.joint_q, whole.joint_v))
    q_kept = np.array([i for i in range(whole.nq) if i not in q_out], dtype=np.int64)
    kept = np.array([i for i in range(whole.N) if i not in v_out], dtype=np.int64)
    leaders = [i for i in range(len(whole.joint_names)) if i not in following]
    S = np.zeros((whole.N, len(kept)))
    S[kept, np.arange(len(kept))] = 1.0
    for mimic in mimics:
        column = int(np.searchsorted(kept, whole.joint_v[index[mimic.leader]]))
        S[whole.joint_v[index[mimic.joint]], column] = mimic.ratio
    model = replace(
        whole,
        joint_names=tuple(whole.joint_names[i] for i in leaders),
        joint_q=np.searchsorted(q_kept, whole.joint_q[leaders]).astype(np.int64),
        joint_v=np.searchsorted(kept, whole.joint_v[leaders]).astype(np.int64),
        dof_joint_names=tuple(whole.dof_joint_names[i] for i in kept),
        velocity_limit=whole.velocity_limit[kept], friction=whole.friction[kept], neutral=whole.neutral[q_kept],
        mimics=tuple(mimics), whole=whole, kept=kept, q_kept=q_kept, S=S,
    )  # fmt: skip
    for array in (model.joint_q, model.joint_v, model.velocity_limit, model.friction, model.neutral, kept, q_kept, S):
        array.setflags(write=False)
    return model


def expand(model, q):
    """Coordinates of the whole tree (nq,) from the reduced ones, or q itself without mimic joints."""
    if not model.mimics:
        return q
    whole = model.whole
    full = whole.neutral.copy()
    full[model.q_kept] = q
    place = dict(zip(whole.joint_names, whole.joint_q))
    for mimic in model.mimics:
        full[place[mimic.joint]] = mimic.ratio * full[place[mimic.leader]] + mimic.offset
    return full

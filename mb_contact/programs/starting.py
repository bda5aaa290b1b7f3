# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a robot that nobody has described begins: how far it reaches, where it starts, with which servos."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from mb_contact.control import inverse_kinematics
from mb_contact.dynamics import Point
from mb_contact.dynamics.joint_space import mass_matrix, nonlinear_effects
from mb_contact.errors import InputError
from mb_contact.model.poses import tree_poses
from mb_contact.model.rotations import matrix_to_quat, rpy_to_matrix
from mb_contact.simulation.initial import initial_penetrations
from mb_contact.types import JOINT_FLOATING, JOINT_REVOLUTE

SAMPLES = 12  #: postures that are looked at
SEEDS = 8  #: solutions of inverse kinematics that are looked at for each goal
TURN = np.pi  #: joints are drawn from within so much of their middle [rad, m]
RATE = 20.0  #: of a servo's error [rad/s]
SAG = 2e-3  #: by which gravity may bend a servo [rad, m]
PART = 0.1  #: of a joint's range, at which its whole effort acts
LEAST = 0.3  #: of a robot's reach [m]


def neutral(model: Any) -> np.ndarray:
    """Coordinates of a robot whose joints are at zero, or in the middle of limits that do not reach it."""
    q, limits = model.neutral_q(), (model.lower[model.joint_v], model.upper[model.joint_v])
    for i, low, high in zip(model.joint_q, *limits):
        if not low <= q[i] <= high:
            q[i] = 0.5 * (low + high) if np.isfinite(high - low) else np.clip(q[i], low, high)
    return q


def postures(model: Any) -> list[np.ndarray]:
    """Coordinates of a robot: neutral ones, and some from within its joints' limits, always the same."""
    random, found = np.random.default_rng(0), [neutral(model)]
    lower, upper = model.lower[model.joint_v], model.upper[model.joint_v]
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = np.zeros(len(lower))
    middle[bounded] = 0.5 * (lower[bounded] + upper[bounded])
    low, high = np.maximum(lower, middle - TURN), np.minimum(upper, middle + TURN)
    for _ in range(SAMPLES):
        drawn = random.uniform(low, high)
        found.append(model.q_from(dict(zip(model.joint_names, drawn.tolist()))))
    return found


def reach_of(model: Any) -> float:
    """Farthest that a body has been from the root in some postures, and LEAST at least [m]."""
    whole = model.whole or model
    far = [np.linalg.norm(tree_poses(whole.tree, model.expand_q(q), model.flexible)[1], axis=1).max(initial=LEAST)
           for q in postures(model)]  # fmt: skip
    return float(f"{max(far):.2g}")


def placed(world: Any, model: Any, q: np.ndarray, first: int = 0) -> Any:
    """The world with a robot, whose coordinates begin at ``first``, at coordinates q; where its root is stays."""
    whole = model.expand_q(q)
    start = np.array(world.q0)
    root = 7 if model.n and model.tree.joint_type[0] == JOINT_FLOATING else 0
    start[first + root : first + len(whole)] = whole[root:]
    return replace(world, q0=start)


def always_inside(world: Any, model: Any, first: int = 0) -> list[tuple[str, str]]:
    """Pairs of a robot's own links that overlap in nine of ten postures."""
    counts: dict[tuple[str, str], int] = {}
    looked = postures(model)
    for q in looked:
        for a, b, _ in initial_penetrations(placed(world, model, q, first)):
            if a in model.frames and b in model.frames:
                counts[a, b] = counts.get((a, b), 0) + 1
    return [pair for pair, count in counts.items() if count >= 0.9 * len(looked)]


def start_positions(
    world: Any, model: Any, first: int, hand: str, over: tuple[float, float, float], low: float,
    ignored: Sequence[tuple[str, str]] = (),
) -> np.ndarray:  # fmt: skip
    """Coordinates of a robot at which nothing overlaps: the hand over the place before it, best pointing down.

    Those count first from which it can go down to the height ``low`` [m] without touching what stands.
    """
    down = [rpy_to_matrix((np.pi, 0.0, yaw)) for yaw in (0.0, 0.5 * np.pi, np.pi, -0.5 * np.pi)]
    wanted: list[Any] = [lambda at, R=R: {hand: (at, matrix_to_quat(R))} for R in down]
    wanted.append(lambda at: {Point(hand): at})
    best, least = neutral(model), (np.inf, np.inf)
    for goal, candidate in chain(_solutions(world, model, first, wanted, over), ((None, q) for q in postures(model))):
        depth, below = _overlap(world, model, first, candidate, ignored), np.inf
        if depth == 0.0 and goal is not None:
            start = placed(world, model, candidate, first).q0
            lowered = _solved(world, model, goal((*over[:2], low)), start, 1)
            below = np.inf if lowered is None else _overlap(world, model, first, lowered, ignored, world.objects)
        if (depth, below) < least:
            best, least = candidate, (depth, below)
        if least == (0.0, 0.0) or (goal is None and least[0] == 0.0):
            break
    return best


def _solutions(world, model, first, wanted, over):
    """(goal, coordinates) of solutions of inverse kinematics, from several starts each."""
    for goal in wanted:
        for seed in range(SEEDS):
            start = placed(world, model, postures(model)[seed], first).q0 if seed else world.q0
            found = _solved(world, model, goal(over), start, 20, seed)
            if found is not None:
                yield goal, found


def _solved(world, model, goal, start, starts, seed=0):
    """Coordinates of the robot at which the goal is met, or None."""
    try:
        found = inverse_kinematics(world, goal, starts=starts, seed=seed, q=start)
    except InputError:  # nothing moves the hand
        return None
    if not found.reached:
        return None
    at = dict(zip(world.joint_names, world.joint_q))
    q = model.q_from({name: float(found.q[at[name]]) for name in model.joint_names})
    turning = set(model.tree.q_start[model.tree.joint_type == JOINT_REVOLUTE].tolist())
    limits = zip(model.joint_q, model.lower[model.joint_v], model.upper[model.joint_v])
    for i, low, high in limits:  # whole turns that lead back towards zero, of joints that have room for them
        turns = 2.0 * np.pi * round(q[i] / (2.0 * np.pi)) if i in turning else 0.0
        if turns and low <= q[i] - turns <= high:
            q[i] -= turns
    return q


def _overlap(world, model, first, q, ignored, objects=()):
    """By how much links are inside each other, pairs that are ignored and objects left out [m]."""
    found = initial_penetrations(placed(world, model, q, first))
    return sum(depth for a, b, depth in found if (a, b) not in ignored and not {a, b} & set(objects))


def gains(model: Any, start: np.ndarray, gravity: Any) -> dict[str, tuple[float, float]]:
    """{joint: (stiffness, damping)} of position servos for joints that have a motor.

    K = max(M_ii RATE^2, |h_i| / SAG, limit / (PART range)) with the largest M_ii and gravity effort h_i of some
    postures: an error vanishes at RATE at least, gravity bends a joint by SAG at most, and an error of PART of the
    joint's range takes its whole effort, as grippers need; D = 2 sqrt(K M_ii), critical damping of the joint alone.
    """
    M, h = np.zeros(model.N), np.zeros(model.N)
    for q in [start, *postures(model)]:
        M = np.maximum(M, np.diag(mass_matrix(model, q)))
        h = np.maximum(h, np.abs(nonlinear_effects(model, q, np.zeros(model.N), gravity)))
    found = {}
    for name, v in zip(model.joint_names, model.joint_v):
        if model.effort_limit[v] > 0.0 and M[v] > 0.0:
            limit, span = model.effort_limit[v], model.upper[v] - model.lower[v]
            whole = limit / (PART * span) if np.isfinite(limit + span) and span > 0.0 else 0.0
            stiffness = max(M[v] * RATE**2, h[v] / SAG, whole)
            found[name] = stiffness, 2.0 * float(np.sqrt(stiffness * M[v]))
    return found

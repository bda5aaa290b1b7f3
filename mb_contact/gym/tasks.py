# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What environments ask for: scenes, actions, observations, rewards, ends; all of them for w worlds at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.scene import Scene
from mb_contact.simulation.simulator import Simulator
from mb_contact.worlds.worlds import Worlds

STEPS = 10  #: of a world in one action


@dataclass(frozen=True)
class Task:
    """One environment; ``goal`` is (w, g), drawn at a reset, and ``rest`` are efforts that act beside the actions.

    Attributes
    ----------
    scene : str, Path or Scene
        A scene, or the name of a file of the scene library.
    scale : tuple of float
        Efforts of an action of 1 [N m, N], one for each of ``world.joint_names``, where ``actions`` are left out.
    observe : callable
        (worlds, goal) to (w, k); ``names`` says what each number is, with its unit.
    reward : callable
        (worlds, goal, actions) to a dict of (w,): its terms, whose sum is the reward.
    is_over : callable
        (worlds, goal) to (w,) of bool: the task cannot go on.
    start : callable
        (generator, q (nq,)) to (q, goal (g,)) of one world.
    eye, target : tuple of float
        From where pictures look at what [m].
    horizon : int
        Actions after which an episode is cut off.
    goal_at : callable, optional
        (goal (g,)) to the place (3,) at which pictures show it [m].
    actions : Efforts, JointTargets or HandPoses, optional
    steps : int
        Of a world in one action.
    """

    scene: Any
    scale: tuple[float, ...]
    observe: Callable[[Worlds, Floats], Floats]
    names: Callable[[Worlds], list[str]]
    reward: Callable[[Worlds, Floats, Floats], dict[str, Floats]]
    is_over: Callable[[Worlds, Floats], Any]
    start: Callable[[np.random.Generator, Floats], tuple[Floats, Floats]]
    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    horizon: int = 200
    goal_at: Callable[[Floats], tuple[float, float, float]] | None = None
    rest: Callable[[Scene], Floats] | None = None
    actions: Any = None
    steps: int = STEPS


def joint_state(worlds: Worlds) -> Floats:
    """Positions and velocities (w, 2 joints) of all joints [rad, m; rad/s, m/s]."""
    return np.concatenate((worlds.q[:, worlds.world.joint_q], worlds.v[:, worlds.world.joint_v]), axis=1)


def joint_names(worlds: Worlds) -> list[str]:
    """What the numbers of ``joint_state`` are."""
    names = worlds.world.joint_names
    return [f"{name} [rad, m]" for name in names] + [f"{name} rate [rad/s, m/s]" for name in names]


def _never(worlds, _goal):
    return np.zeros(worlds.count, bool)


def _effort_cost(actions):
    return -0.01 * np.square(actions).sum(axis=1)


# --- reach ------------------------------------------------------------------------------------


def _tip(worlds):
    """Tip of the arm (w, 2), in its plane [m]."""
    tip = worlds.world.frames["tip"]
    return worlds.body_positions[:, tip.body, :2] + tip.p[0] * worlds.body_rotations[:, tip.body, :2, 0]


def _reach_observe(worlds, goal):
    """What does not change when arm and goal are turned about the shoulder together."""
    away, links, elbow = goal - _tip(worlds), worlds.body_rotations[:, :, :2, 0], worlds.q[:, 1:]
    along = np.einsum("wlk,wk->wl", links, away)
    across = links[:, :, 0] * away[:, 1:] - links[:, :, 1] * away[:, :1]
    return np.concatenate((worlds.v, np.cos(elbow), np.sin(elbow), along, across), axis=1)


def _reach_start(rng, q):
    angle, far = rng.uniform(-np.pi, np.pi), rng.uniform(0.3, 0.9)
    return rng.uniform(-0.5, 0.5, len(q)), far * np.array([np.cos(angle), np.sin(angle)])


REACH = Task(
    scene="planar_reach",
    scale=(8.0, 4.0),
    observe=_reach_observe,
    names=lambda worlds: [
        "shoulder rate [rad/s]", "elbow rate [rad/s]", "cosine of the elbow", "sine of the elbow",
        *(f"goal from the tip, {way} the {link} arm [m]" for way in ("along", "across") for link in ("upper", "fore")),
    ],
    reward=lambda worlds, goal, actions: {
        "distance": -np.linalg.norm(_tip(worlds) - goal, axis=1), "effort": _effort_cost(actions),
    },
    is_over=_never,
    start=_reach_start,
    eye=(0.9, -1.6, 2.2),
    target=(0.0, 0.0, 0.0),
    goal_at=lambda goal: (goal[0], goal[1], 0.1),
)  # fmt: skip

# --- push a box -------------------------------------------------------------------------------


def _push_start(rng, q):
    q = q.copy()
    q[2:4] += rng.uniform(-0.05, 0.05, 2)
    return q, np.array([0.5, 0.0]) + rng.uniform(-0.15, 0.15, 2)


def _box(worlds):
    return worlds.link_poses("box")[0]


def _push_observe(worlds, goal):
    R = worlds.link_poses("box")[1]
    turn = np.stack((R[:, 0, 0], R[:, 1, 0]), axis=1)
    return np.concatenate((joint_state(worlds), _box(worlds)[:, :2], turn, worlds.v[:, 5:7], goal), axis=1)


PUSH = Task(
    scene="push_box",
    scale=(20.0, 20.0),
    observe=_push_observe,
    names=lambda worlds: [
        *joint_names(worlds), "box x [m]", "box y [m]", "cosine of its yaw", "sine of its yaw",
        "box velocity x [m/s]", "box velocity y [m/s]", "goal x [m]", "goal y [m]",
    ],
    reward=lambda worlds, goal, actions: {
        "box to goal": -np.linalg.norm(_box(worlds)[:, :2] - goal, axis=1),
        "finger to box": -0.2 * np.linalg.norm(_box(worlds)[:, :2] - worlds.q[:, :2], axis=1),
        "effort": _effort_cost(actions),
    },
    is_over=_never,
    start=_push_start,
    eye=(0.9, -1.0, 0.9),
    target=(0.3, 0.0, 0.0),
    goal_at=lambda goal: (goal[0], goal[1], 0.0),
)  # fmt: skip

# --- lift with two hands ----------------------------------------------------------------------


def _lift_rest(scene):
    return Simulator(scene).nonlinear_effects()


def _lift_observe(worlds, _goal):
    parts = [joint_state(worlds), _box(worlds), worlds.v[:, -6:]]
    parts += [worlds.link_poses(f"{side}_tcp")[0] for side in ("left", "right")]
    return np.concatenate(parts, axis=1)


def _lift_reward(worlds, goal, actions):
    box = _box(worlds)
    hands = [np.linalg.norm(worlds.link_poses(f"{side}_tcp")[0] - box, axis=1) for side in ("left", "right")]
    return {"hands to box": -0.5 * (hands[0] + hands[1]), "height": 5.0 * (box[:, 2] - goal[:, 0]),
            "effort": _effort_cost(actions)}  # fmt: skip


LIFT = Task(
    scene="dual_arm_lift",
    scale=tuple(0.2 * x for x in (20, 20, 12, 12, *2 * (150, 150, 110, 110, 60, 40, 20, 8, 8, 8, 8))),
    observe=_lift_observe,
    names=lambda worlds: [
        *joint_names(worlds), *(f"box {a} [m]" for a in "xyz"), *(f"box rate {a} [rad/s]" for a in "xyz"),
        *(f"box velocity {a} [m/s]" for a in "xyz"),
        *(f"{side} hand {a} [m]" for side in ("left", "right") for a in "xyz"),
    ],
    reward=_lift_reward,
    is_over=lambda worlds, goal: _box(worlds)[:, 2] < goal[:, 0] - 0.2,  # the box fell off the table
    start=lambda rng, q: (np.concatenate((q[:-7], q[-7:-5] + rng.uniform(-0.01, 0.01, 2), q[-5:])), q[-5:-4]),
    eye=(2.4, -2.0, 1.8),
    target=(0.25, 0.0, 0.7),
    rest=_lift_rest,
)  # fmt: skip

# --- peg in hole ------------------------------------------------------------------------------


def _peg(worlds):
    return worlds.link_poses("peg")[0]


PEG = Task(
    scene="peg_in_hole",
    scale=(20.0, 20.0, 60.0),
    observe=lambda worlds, _goal: np.concatenate((joint_state(worlds), _peg(worlds)), axis=1),
    names=lambda worlds: [*joint_names(worlds), *(f"peg {a} [m]" for a in "xyz")],
    reward=lambda worlds, goal, actions: {
        "beside": -10.0 * np.linalg.norm(_peg(worlds)[:, :2], axis=1),
        "height": -10.0 * np.abs(_peg(worlds)[:, 2] - goal[:, 0]),
        "effort": _effort_cost(actions),
    },
    is_over=_never,
    start=lambda rng, q: (q + np.append(rng.uniform(-0.002, 0.002, 2), 0.0), np.array([0.02])),
    eye=(0.42, -0.62, 0.48),
    target=(0.0, 0.0, 0.1),
)  # fmt: skip

# --- a quadruped that stands -------------------------------------------------------------------


def _trunk(worlds):
    return worlds.link_poses("trunk")


def _stand_observe(worlds, _goal):
    p, R = _trunk(worlds)
    return np.concatenate((joint_state(worlds), p[:, 2:], R[:, 2], worlds.v[:, :6]), axis=1)


STAND = Task(
    scene="standing_quadruped",
    scale=(10.0,) * 12,
    observe=_stand_observe,
    names=lambda worlds: [
        *joint_names(worlds), "trunk height [m]", *(f"up in the trunk's {a}" for a in "xyz"),
        *(f"trunk rate {a} [rad/s]" for a in "xyz"), *(f"trunk velocity {a} [m/s]" for a in "xyz"),
    ],
    reward=lambda worlds, goal, actions: {
        "height": -5.0 * np.abs(_trunk(worlds)[0][:, 2] - goal[:, 0]), "upright": _trunk(worlds)[1][:, 2, 2],
        "effort": _effort_cost(actions),
    },
    is_over=lambda worlds, _goal: _trunk(worlds)[1][:, 2, 2] < 0.5,
    start=lambda rng, q: (q + np.concatenate((np.zeros(7), rng.uniform(-0.1, 0.1, 12))), np.array([0.4])),
    eye=(1.0, -1.2, 0.7),
    target=(0.0, 0.0, 0.22),
)  # fmt: skip

TASKS = {"Reach": REACH, "Push": PUSH, "Lift": LIFT, "PegInHole": PEG, "Stand": STAND}

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The environments of the library: a file of its scenes, and what is to be done there."""

import numpy as np

from mb_contact.gym.actions import Efforts
from mb_contact.gym.own_tasks import SceneTask
from mb_contact.simulation.simulator import Simulator


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


_REACH_NAMES = (
    "shoulder rate [rad/s]", "elbow rate [rad/s]", "cosine of the elbow", "sine of the elbow",
    *(f"goal from the tip, {way} the {link} arm [m]" for way in ("along", "across") for link in ("upper", "fore")),
)  # fmt: skip


def _reach_start(rng, q):
    angle, far = rng.uniform(-np.pi, np.pi), rng.uniform(0.3, 0.9)
    return rng.uniform(-0.5, 0.5, len(q)), far * np.array([np.cos(angle), np.sin(angle)])


REACH = SceneTask(
    actions=Efforts((8.0, 4.0)),
    observations=((_REACH_NAMES, _reach_observe),),
    reward=lambda worlds, goal, actions: {
        "distance": -np.linalg.norm(_tip(worlds) - goal, axis=1), "effort": _effort_cost(actions),
    },
    reset=_reach_start,
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
    return np.concatenate((_box(worlds)[:, :2], turn, worlds.v[:, 5:7], goal), axis=1)


_PUSH_NAMES = (
    "box x [m]", "box y [m]", "cosine of its yaw", "sine of its yaw", "box velocity x [m/s]", "box velocity y [m/s]",
    "goal x [m]", "goal y [m]",
)


PUSH = SceneTask(
    actions=Efforts((20.0, 20.0)),
    observations=("joints", (_PUSH_NAMES, _push_observe)),
    reward=lambda worlds, goal, actions: {
        "box to goal": -np.linalg.norm(_box(worlds)[:, :2] - goal, axis=1),
        "finger to box": -0.2 * np.linalg.norm(_box(worlds)[:, :2] - worlds.q[:, :2], axis=1),
        "effort": _effort_cost(actions),
    },
    reset=_push_start,
    eye=(0.9, -1.0, 0.9),
    target=(0.3, 0.0, 0.0),
    goal_at=lambda goal: (goal[0], goal[1], 0.0),
)  # fmt: skip

# --- lift with two hands ----------------------------------------------------------------------


def _lift_rest(scene):
    return Simulator(scene).nonlinear_effects()


def _lift_reward(worlds, goal, actions):
    box = _box(worlds)
    hands = [np.linalg.norm(worlds.link_poses(f"{side}_tcp")[0] - box, axis=1) for side in ("left", "right")]
    return {"hands to box": -0.5 * (hands[0] + hands[1]), "height": 5.0 * (box[:, 2] - goal[:, 0]),
            "effort": _effort_cost(actions)}  # fmt: skip


_LIFT_SCALE = tuple(0.2 * x for x in (20, 20, 12, 12, *2 * (150, 150, 110, 110, 60, 40, 20, 8, 8, 8, 8)))
LIFT = SceneTask(
    actions=Efforts(_LIFT_SCALE, rest=_lift_rest),
    observations=(
        "joints", "position of box", "velocity of box", "position of left_tcp", "position of right_tcp",
    ),
    reward=_lift_reward,
    is_over=lambda worlds, goal: _box(worlds)[:, 2] < goal[:, 0] - 0.2,  # the box fell off the table
    reset=lambda rng, q: (np.concatenate((q[:-7], q[-7:-5] + rng.uniform(-0.01, 0.01, 2), q[-5:])), q[-5:-4]),
    eye=(2.4, -2.0, 1.8),
    target=(0.25, 0.0, 0.7),
)  # fmt: skip

# --- peg in hole ------------------------------------------------------------------------------


def _peg(worlds):
    return worlds.link_poses("peg")[0]


PEG = SceneTask(
    actions=Efforts((20.0, 20.0, 60.0)),
    observations=("joints", "position of peg"),
    reward=lambda worlds, goal, actions: {
        "beside": -10.0 * np.linalg.norm(_peg(worlds)[:, :2], axis=1),
        "height": -10.0 * np.abs(_peg(worlds)[:, 2] - goal[:, 0]),
        "effort": _effort_cost(actions),
    },
    reset=lambda rng, q: (q + np.append(rng.uniform(-0.002, 0.002, 2), 0.0), np.array([0.02])),
    eye=(0.42, -0.62, 0.48),
    target=(0.0, 0.0, 0.1),
)  # fmt: skip

# --- a quadruped that stands -------------------------------------------------------------------


def _trunk(worlds):
    return worlds.link_poses("trunk")


def _stand_observe(worlds, _goal):
    p, R = _trunk(worlds)
    return np.concatenate((p[:, 2:], R[:, 2], worlds.v[:, :6]), axis=1)


_STAND_NAMES = (
    "trunk height [m]", *(f"up in the trunk's {a}" for a in "xyz"), *(f"trunk rate {a} [rad/s]" for a in "xyz"),
    *(f"trunk velocity {a} [m/s]" for a in "xyz"),
)


STAND = SceneTask(
    actions=Efforts(10.0),
    observations=("joints", (_STAND_NAMES, _stand_observe)),
    reward=lambda worlds, goal, actions: {
        "height": -5.0 * np.abs(_trunk(worlds)[0][:, 2] - goal[:, 0]), "upright": _trunk(worlds)[1][:, 2, 2],
        "effort": _effort_cost(actions),
    },
    is_over=lambda worlds, _goal: _trunk(worlds)[1][:, 2, 2] < 0.5,
    reset=lambda rng, q: (q + np.concatenate((np.zeros(7), rng.uniform(-0.1, 0.1, 12))), np.array([0.4])),
    eye=(1.0, -1.2, 0.7),
    target=(0.0, 0.0, 0.22),
)  # fmt: skip

#: by name: the scene and the task
TASKS = {
    "Reach": ("planar_reach", REACH), "Push": ("push_box", PUSH), "Lift": ("dual_arm_lift", LIFT),
    "PegInHole": ("peg_in_hole", PEG), "Stand": ("standing_quadruped", STAND),
}  # fmt: skip

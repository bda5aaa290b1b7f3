# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is measured: chains of random bodies, the dual arm with four contact points, real robots."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

import mb_contact as mb  # noqa: E402 (the checkout that this script is in, before an installed one)
from oracles.pinocchio_peer import Peer, example_robots  # noqa: E402

GRAVITY = np.array([0.0, 0.0, -9.81])
STATES = 8  #: different states that every timed loop cycles through
DUAL_ARM = ROOT / "urdf" / "dual_arm.urdf"

#: name, file in example-robot-data, floating base, links that carry a 6-D constraint
ROBOTS = (
    ("ur5", "ur_description/urdf/ur5_robot.urdf", False, ("tool0",)),
    ("kinova", "kinova_description/robots/kinova.urdf", False, ("j2s6s200_end_effector",)),
    ("panda", "panda_description/urdf/panda.urdf", False, ("panda_hand",)),
    ("allegro", "allegro_hand_description/urdf/allegro_left_hand.urdf", False, 4),
    ("baxter", "baxter_description/urdf/baxter.urdf", False, ("left_hand_link", "right_hand_link")),
    ("pr2", "pr2_description/urdf/pr2.urdf", False, ("l_gripper_tool_frame", "r_gripper_tool_frame")),
    ("tiago dual", "tiago_description/robots/tiago_dual.urdf", False, ("hand_left_tool_link", "hand_right_tool_link")),
    ("solo12", "solo_description/robots/solo12.urdf", True, ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")),
    ("anymal", "anymal_b_simple_description/robots/anymal.urdf", True, ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")),
    ("icub", "icub_description/robots/icub.urdf", True, ("l_sole", "r_sole")),
    ("romeo", "romeo_description/urdf/romeo_small.urdf", True, ("l_sole", "r_sole")),
    ("talos", "talos_data/robots/talos_reduced.urdf", True, ("left_sole_link", "right_sole_link")),
)


@dataclass
class Case:
    """One robot with its constraint nodes and states, in this package's coordinates and in Pinocchio's."""

    name: str
    path: Path
    bodies: int  #: of the chain, 0 for other robots
    model: object
    peer: object
    body: np.ndarray  #: int64 (f,), bodies of the nodes
    R: np.ndarray  #: (f, 3, 3), node axes in the body
    p: np.ndarray  #: (f, 3), node origins in the body
    size: int  #: rows of a node: 6, or 3 for a point
    links: tuple
    offset: object  #: (3,), of the points in their links, or None
    states: list = field(default_factory=list)  #: (q, v, effort, v_dot) each

    @property
    def rows(self):
        return self.size * len(self.body)


def chain_urdf(n, seed=7):
    """URDF text of a chain of n revolute bodies: random inertias, axes and placements, a tool frame at the tip."""
    rng = np.random.default_rng([seed, n])
    text = [f'<robot name="chain_{n}">', '<link name="base"/>']
    for k in range(n):
        axis = rng.normal(size=3)
        length = rng.uniform(0.1, 0.3)
        moments = rng.uniform(0.005, 0.01, 3)  # the largest is below the sum of the others
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        A = turn @ np.diag(moments) @ turn.T
        text.append(
            f'<link name="link_{k}"><inertial><origin xyz="{_words(rng.normal(size=3) * 0.1)}"/>'
            f'<mass value="{float(rng.uniform(0.5, 2.0))!r}"/><inertia ixx="{float(A[0, 0])!r}" '
            f'ixy="{float(A[0, 1])!r}" ixz="{float(A[0, 2])!r}" iyy="{float(A[1, 1])!r}" '
            f'iyz="{float(A[1, 2])!r}" izz="{float(A[2, 2])!r}"/></inertial></link>'
        )
        direction = rng.normal(size=3)
        text.append(
            f'<joint name="joint_{k}" type="revolute"><parent link="{f"link_{k - 1}" if k else "base"}"/>'
            f'<child link="link_{k}"/><origin xyz="{_words(length * direction / np.linalg.norm(direction))}" '
            f'rpy="{_words(rng.uniform(-1.5, 1.5, 3))}"/><axis xyz="{_words(axis / np.linalg.norm(axis))}"/>'
            '<limit lower="-3" upper="3" effort="100" velocity="10"/></joint>'
        )
    text.append('<link name="tool"/><joint name="mount" type="fixed"><parent link="'
                f'link_{n - 1}"/><child link="tool"/><origin xyz="0.05 -0.02 0.1"/></joint>')
    return "\n".join([*text, "</robot>"])


def _words(numbers):
    return " ".join(repr(float(x)) for x in numbers)


def chain(n, folder):
    path = Path(folder) / f"chain_{n}.urdf"
    path.write_text(chain_urdf(n), encoding="utf-8")
    return _case(f"chain {n}", path, n, False, ("tool",), 6)


def dual_arm():
    """Four points on the fingers, 12 rows."""
    links = ("left_finger_1", "left_finger_2", "right_finger_1", "right_finger_2")
    return _case("dual arm", DUAL_ARM, 0, False, links, 3, np.array([0.005, -0.01, 0.03]))


def robot(name, file, floating, links):
    folder = example_robots()
    if folder is None:
        return None
    return _case(name, folder / file, 0, floating, links, 6)


def _case(name, path, bodies, floating, links, size, offset=None):
    import dataclasses

    import pinocchio

    model = mb.load_urdf(path, floating=floating, collision_meshes="skip", mimic="independent", inertia_errors="warn")
    # Pinocchio's aba knows no joint damping
    tree = model.tree._replace(damping=np.zeros_like(model.tree.damping))
    model = dataclasses.replace(model, tree=tree)
    peer = Peer(pinocchio, model, path, GRAVITY)
    if isinstance(links, int):
        links = _tips(model, links)
    frames = [model.frames[link] for link in links]
    p = np.array([frame.p if offset is None else frame.p + frame.R @ offset for frame in frames])
    case = Case(name, Path(path), bodies, model, peer, np.array([f.body for f in frames], np.int64),
                np.array([f.R for f in frames]), p, size, links, offset)
    rng = np.random.default_rng(11)
    for _ in range(STATES):
        case.states.append((_random_q(model, rng), *rng.normal(size=(3, model.N))))
    return case


def _tips(model, count):
    """The moving links deepest in the tree, one to a branch."""
    parent = model.tree.parent
    depth = np.zeros(model.n, int)
    for k in range(model.n):
        depth[k] = depth[parent[k]] + 1 if parent[k] >= 0 else 1
    tips = sorted(set(range(model.n)) - set(parent.tolist()), key=lambda k: -depth[k])
    return tuple(model.body_names[k] for k in tips[:count])


def _random_q(model, rng):
    q = model.neutral_q()
    q[model.joint_q] = rng.uniform(-1.0, 1.0, len(model.joint_q))
    if model.nq > model.N:  # a floating base
        quat = rng.normal(size=4)
        q[:7] = np.concatenate([rng.normal(size=3), quat / np.linalg.norm(quat)])
    return q


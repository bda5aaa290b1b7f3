# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Every robot of example-robot-data that can be read equals Pinocchio at 50 random states, welded and floating.

The files are taken as they ship: mimic joints move on their own in both, inertias that no body has are used as given.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.types import JOINT_FLOATING, ONE_GRAVITY
from oracles.pinocchio_peer import Peer, example_robots
from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from robot_files import NAMED, OTHERS, SINGLE_BODIES  # noqa: E402 (a list, not a package)

STATES = 10
TOLERANCE = 1e-9
GRAVITY = np.array([0.3, -1.2, -9.0])  # tilted, so that no component drops out
CASES = [(file, base) for file in NAMED + OTHERS for base in (False, True)]
CASES += [(file, True) for file in SINGLE_BODIES]


def load(file, floating):
    folder = example_robots()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    if not (folder / file).exists():
        pytest.skip(f"this version of example-robot-data has no {file}")
    options = {"collision_meshes": "skip", "mimic": "independent", "inertia_errors": "warn"}
    model = mb.load_urdf(folder / file, floating=floating, **options)
    heavy = model.tree._replace(body_gravity=ONE_GRAVITY)  # in Pinocchio links weigh that Gazebo is told to hold up
    return folder / file, dataclasses.replace(model, tree=heavy)


def several_frames(model):
    """Links all over the tree: first and last bodies, one in the middle, and links that a fixed joint welds on."""
    welded = [name for name, frame in model.frames.items() if name not in model.body_names and frame.body >= 0]
    names = [model.body_names[0], model.body_names[model.n // 2], model.body_names[-1], *welded[-1:]]
    return list(dict.fromkeys(names))


def random_state(model, rng):
    q = model.neutral_q()
    q[model.joint_q] = rng.uniform(-1.5, 1.5, len(model.joint_q))
    for k in np.flatnonzero(model.tree.joint_type == JOINT_FLOATING):
        start, quat = model.tree.q_start[k], rng.normal(size=4)
        q[start : start + 7] = np.concatenate([rng.normal(size=3), quat / np.linalg.norm(quat)])
    return q, *rng.normal(size=(3, model.N))


def error(got, want, least=0.0):
    """Largest deviation relative to the largest entry, or to ``least`` if that is larger."""
    return np.abs(got - want).max() / max(np.abs(want).max(), least)


def case_id(value):
    return {True: "floating", False: "welded"}.get(value) or value.removesuffix(".urdf").rsplit("/", 1)[1]


@pytest.mark.long
@pytest.mark.parametrize("file, floating", CASES, ids=case_id)
def test_robot_equals_pinocchio(file, floating):
    path, model = load(file, floating)
    peer = Peer(pytest.importorskip("pinocchio"), model, path, GRAVITY)
    assert peer.agrees_in_size()
    frames, damping = several_frames(model), model.tree.damping
    rng = np.random.default_rng(5)
    for _ in range(STATES):
        q, v, effort, v_dot = random_state(model, rng)
        peer.update(q, v)
        M = peer.mass_matrix()
        assert error(mb.mass_matrix(model, q), M) <= TOLERANCE
        assert error(mb.inverse_dynamics(model, q, v, v_dot, GRAVITY), peer.inverse_dynamics(v_dot)) <= TOLERANCE
        assert error(mb.jacobian(model, q, frames), J := peer.jacobian(frames)) <= TOLERANCE
        bias = peer.bias(frames)  # zero for a single body
        assert error(mb.dynamics.jacobian_bias(model, q, v, frames), bias, least=1.0) <= TOLERANCE
        # ours adds the joint damping, Pinocchio's aba does not
        want = peer.forward_dynamics(effort - damping * v)
        assert error(mb.forward_dynamics(model, q, v, effort, GRAVITY), want) <= TOLERANCE
        want = J @ np.linalg.solve(M, J.T)
        assert error(mb.operational_compliance(model, q, frames), want) <= TOLERANCE


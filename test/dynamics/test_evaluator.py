# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluators: one a model, found again, gone with it, shared by threads."""

from __future__ import annotations

import copy
import gc
import pickle
import threading

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.dynamics.evaluator import _EVALUATORS, MOST_NODE_SETS, evaluator
from scenes.trees import DUAL_ARM


def test_a_node_and_a_point_of_one_place_are_not_confused():
    """Both are remembered by what they are called; the model must be one that is remembered."""
    place = ("left_tcp", (0.0, 0.0, 0.1))
    for first, second in ((mb.Point, mb.Node), (mb.Node, mb.Point)):
        model = mb.load_urdf(DUAL_ARM)
        q = model.neutral_q()
        for kind in (first, second, first):
            assert len(mb.jacobian(model, q, kind(*place))) == (3 if kind is mb.Point else 6)
            assert len(mb.operational_compliance(model, q, kind(*place))) == (3 if kind is mb.Point else 6)
        pair = mb.jacobian(model, q, (first(*place), second(*place)))
        np.testing.assert_array_equal(pair[: 3 if first is mb.Point else 6], mb.jacobian(model, q, first(*place)))
        turned = mb.jacobian(model, q, (second(*place), first(*place)))
        np.testing.assert_array_equal(turned[: 3 if second is mb.Point else 6], mb.jacobian(model, q, second(*place)))
        with pytest.raises(mb.InputError, match="is no frame's name, Node or Point"):
            mb.jacobian(model, q, place)


def test_evaluators_go_with_their_models_and_node_sets_stay_few():
    model = mb.load_urdf(DUAL_ARM)
    q = model.neutral_q()
    for k in range(3 * MOST_NODE_SETS):
        mb.jacobian(model, q, mb.Point("left_tcp", (0.0, 0.0, float(k))))
    assert len(evaluator(model)._node_sets) <= MOST_NODE_SETS
    key = id(model)
    assert key in _EVALUATORS
    del model
    gc.collect()
    assert key not in _EVALUATORS


def test_copies_of_a_model_are_read_only_and_compute_the_same():
    model = mb.load_urdf(DUAL_ARM)
    q = np.full(model.nq, 0.3)
    want = mb.mass_matrix(model, q)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert not twin.tree.mass.flags.writeable and not twin.neutral.flags.writeable
        np.testing.assert_array_equal(mb.mass_matrix(twin, q), want)


def test_threads_may_share_a_model():
    model = mb.load_urdf(DUAL_ARM)
    states = np.random.default_rng(0).uniform(-1, 1, (4, 3, model.N))
    want = [mb.forward_dynamics(model, *state) for state in states]
    wrong = []

    def work(i):
        for _ in range(200):
            if (mb.forward_dynamics(model, *states[i]) != want[i]).any():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("position", [[0.0, 0.0, -1.0], np.array([0.0, 0.0, -1.0])])
def test_nodes_are_remembered_whatever_holds_their_numbers(position):
    robot = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    remembered = evaluator(robot)._node_sets
    for frames in (mb.Point("link_1", position), mb.Node("link_1", position), [mb.Point("link_1", position)]):
        before = len(remembered)
        for _ in range(2):
            J = mb.jacobian(robot, [0.3, 0.1], frames)
        assert len(remembered) == before + 1
        np.testing.assert_array_equal(J[-3:], mb.jacobian(robot, [0.3, 0.1], mb.Point("link_1", (0.0, 0.0, -1.0))))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds in Ray actors: the same bits as in one process, also where actors or a machine are lost; refusals.

The cluster has two nodes of one core each, so that each of two actors has a node of its own.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed")

from ray.cluster_utils import Cluster  # noqa: E402

import mb_contact as mb  # noqa: E402
from mb_contact.distributed import RESTARTS, RemoteWorlds, rollout  # noqa: E402

SCENE = "package://mb_contact/config/box_stack.yaml"
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}
#: A node whose process is gone counts as dead after four looks.
LOOKS = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}


class Machines:
    """The nodes of a cluster, of which all but the first may be lost."""

    def __init__(self):
        head = {**NODE, "include_dashboard": False, "_system_config": LOOKS}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._others = []
        self.add()
        ray.shutdown()  # a test before may have started one of its own
        ray.init(address=self._cluster.address, log_to_driver=False)

    def add(self):
        """One more, for what runs on the one that is lost next."""
        self._others.append(self._cluster.add_node(**NODE))

    def lose(self):
        """Kill the first that was added, with all that runs on it."""
        self._cluster.remove_node(self._others.pop(0), allow_graceful=False)

    def close(self):
        ray.shutdown()
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def cluster():
    machines = Machines()
    yield machines
    machines.close()


@pytest.fixture
def pair(cluster):
    """The same five worlds, of velocities of their own, in one process and in two actors."""
    worlds, remote = mb.Worlds(SCENE, 5, threads=1), RemoteWorlds(SCENE, 5, actors=2)
    states = worlds.q.copy(), np.random.default_rng(0).uniform(-0.2, 0.2, worlds.v.shape)
    for w in (worlds, remote):
        w.reset(None, states)
        w.step(steps=10)
    yield worlds, remote
    remote.close()


def assert_same(remote, worlds):
    ours, theirs = remote.save(), worlds.save()
    for name, array in theirs.arrays.items():
        other = ours.arrays[name]
        if name == "contact_state":
            array = worlds.state.copy()._layout.fitted(array, remote.state._layout.room(other))
        np.testing.assert_array_equal(other[:, : array.shape[1]] if array.ndim > 1 else other, array, err_msg=name)
    assert remote.failures == worlds.failures


def test_two_actors_of_which_one_is_killed_lose_nothing(pair):
    worlds, remote = pair
    ray.kill(remote.actors[1])
    for w in (remote, worlds):
        w.step(steps=20)
    assert_same(remote, worlds)
    assert remote.restarts == 1


@pytest.mark.slow
def test_a_machine_that_is_lost_between_and_within_calls_takes_no_state_along(cluster):
    """The states after a call are with the program that made it, whatever size they have."""
    worlds, remote = mb.Worlds(SCENE, 20, threads=1), RemoteWorlds(SCENE, 20, actors=2)
    states = worlds.q.copy(), np.random.default_rng(0).uniform(-0.2, 0.2, worlds.v.shape)
    for w in (worlds, remote):
        w.reset(None, states)
        w.step(steps=5)
    cluster.add()
    cluster.lose()
    for w in (remote, worlds):
        w.step(steps=5)
    assert_same(remote, worlds)
    assert remote.restarts == 1
    cluster.add()
    loser = threading.Timer(0.1, cluster.lose)
    loser.start()
    for w in (remote, worlds):
        w.step(steps=2000)  # longer than the node lives
    loser.join()
    assert_same(remote, worlds)
    assert remote.restarts == 2
    remote.close()


@pytest.mark.slow
def test_an_actor_that_is_killed_again_and_again_between_and_within_calls(pair):
    worlds, remote = pair
    for k in range(2):
        ray.kill(remote.actors[0])
        ray.kill(remote.actors[1])
        for w in (remote, worlds):
            w.step(steps=5)
        assert_same(remote, worlds)
        assert remote.restarts == 2 * (k + 1)
    killer = threading.Timer(0.05, ray.kill, [remote.actors[1]])
    killer.start()
    for w in (remote, worlds):
        w.step(steps=400)  # longer than the killer waits
    killer.join()
    assert_same(remote, worlds)
    assert remote.restarts == 5


@pytest.mark.slow
def test_an_actor_that_is_always_lost_ends_the_call_in_one_sentence_and_all_are_as_before(pair, monkeypatch):
    worlds, remote = pair
    start = remote._start

    def dead(s):
        actor = start(s)
        ray.kill(actor)
        return actor

    monkeypatch.setattr(remote, "_start", dead)
    ray.kill(remote.actors[1])
    with pytest.raises(mb.MbContactError, match=rf"worlds 2 to 4 was lost {RESTARTS + 1} times") as error:
        remote.step(steps=10)
    assert "\n" not in str(error.value)
    monkeypatch.undo()
    assert_same(remote, worlds)
    for w in (remote, worlds):
        w.step(steps=10)  # from before the call, the worlds of the other actor too
    assert_same(remote, worlds)


@pytest.mark.slow
def test_the_interface_is_that_of_worlds(pair):
    worlds, remote = pair
    for w in (remote, worlds):
        w.solver_tolerance = 1e-9
        w.set("friction", [0.1, 0.2, 0.3, 0.4, 0.5])
        w.randomise("mass", 0.5, 2.0, seed=3, mask=[1, 4])
        w.step(steps=5, mask=[0, 1, 3])
        w.reset([2, 4], (w.q[[2, 4]] + 0.0, np.zeros((1, w.v.shape[1]))))
        w.reset(np.array([True, False, False, False, True]))
    assert_same(remote, worlds)
    ray.kill(remote.actors[0])  # values of its own and the tolerance come back with the state
    saved = worlds.save([3])
    for w in (remote, worlds):
        w.step(steps=5)
        w.restore(saved, [1])
        w.step(steps=5)
    assert_same(remote, worlds)
    for name in ("q", "v", "certificates", "body_positions", "contact_impulses", "worst_residuals", "failed"):
        np.testing.assert_array_equal(getattr(remote, name), getattr(worlds, name))
    np.testing.assert_array_equal(remote.times(), worlds.times())
    np.testing.assert_array_equal(remote.link_poses("box_3")[0], worlds.link_poses("box_3")[0])
    np.testing.assert_array_equal(remote.contacts(4), worlds.contacts(4))
    mine = mb.Worlds(SCENE, 5, threads=1)
    mine.restore(remote.save())
    np.testing.assert_array_equal(mine.q, worlds.q)


@pytest.mark.slow
def test_a_controller_changes_its_data_far_away(cluster):
    def push(time, world, q, v, effort, data):
        data[0] += time

    worlds, remote = mb.Worlds(mb.pendulum(2).scene(), 3, 1), RemoteWorlds(mb.pendulum(2).scene(), 3, 2)
    near, far = np.zeros((3, 1)), np.zeros((3, 1))
    worlds.step(steps=7, controller=push, data=near)
    remote.step(steps=7, controller=push, data=far)
    np.testing.assert_array_equal(near, far)
    assert near[0, 0] > 0.0
    remote.close()


@pytest.mark.slow
def test_what_cannot_be_is_refused_in_one_sentence_and_nothing_has_changed(pair):
    worlds, remote = pair
    for call, words in (
        (lambda: remote.step(np.zeros((4, 9))), "efforts must have the shape"),
        (lambda: remote.step(steps=0), "steps must be a whole number"),
        (lambda: remote.step(controller=7), "a controller must be a function"),
        (lambda: remote.reset([True]), "a mask must have 5 entries"),
        (lambda: remote.reset([7]), "numbers from 0 to 4"),
        (lambda: remote.reset(None, (np.zeros((2, 2)), 0.0)), "q must have the shape"),
        (lambda: remote.set("mass", -1.0), "mass must be finite and above 0"),
        (lambda: remote.set("colour", 1.0), "no value 'colour'"),
        (lambda: remote.set("pose", [0, 0, 1, 0, 0, 0, 0]), "quaternion"),  # found out by the actors
        (lambda: remote.restore(None), "take one from save"),
        (lambda: remote.rollout(np.zeros((5, 3, 4))), "controls must have the shape"),
        (lambda: RemoteWorlds(SCENE, 2, actors=3), "there must be 1 to 2 actors"),
        (lambda: RemoteWorlds(SCENE, 2, threads=0), "threads must be a whole number"),
    ):
        with pytest.raises(mb.InputError, match=words) as error:
            call()
        assert "\n" not in str(error.value)
        assert_same(remote, worlds)
    for w in (remote, worlds):
        w.step()
    assert_same(remote, worlds)
    remote.close()
    with pytest.raises(mb.InputError, match="are closed"):
        remote.step()


@pytest.mark.slow
def test_a_rollout_is_that_of_one_process_and_progress_is_told(cluster):
    scene, controls, done = mb.pendulum(2).scene(), np.random.default_rng(1).uniform(-1.0, 1.0, (5, 30, 2)), []
    start = [0.1, 0.2], [0.0, 0.0]
    far = rollout(scene, start, controls, progress=lambda k, n: done.append((k, n)))
    near = mb.rollout(scene, start, controls)
    np.testing.assert_array_equal(far.q, near.q)
    np.testing.assert_array_equal(far.residual, near.residual)
    assert done == [(1, 2), (2, 2)] * 3  # made, put at the start, run

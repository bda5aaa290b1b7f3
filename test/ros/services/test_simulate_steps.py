# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The action simulate_steps over real DDS: steps, feedback, cancelling, results, and what hostile clients ask.

Covers ros/embedded/actions.py, ros/services/simulation.py.
"""

from __future__ import annotations

import pytest

from mb_contact.ros.embedded.actions import KEPT
from mb_contact.ros.embedded.messages import stamp_ns
from paths import ROOT
from ros.simulation import ABORTED, CANCELED, FAILED, OK, SUCCEEDED, Simulation, Steps
from ros.support import TIMEOUT, Session, wait_until

NONE, UNKNOWN, TERMINATED = 0, 2, 3  # return codes of CancelGoal
MANY = 10**9


@pytest.fixture(scope="module")
def world(backend):
    with Session.of(backend) as ros:
        ros.node(ROOT / "config" / "box_on_table.yaml", "--ros-args", "-p", "start_paused:=true", backend=backend)
        peer = ros.peer()
        yield Simulation(peer), Steps(peer)


def now(simulation):
    return stamp_ns(simulation("get_entity_state", entity="box").state.header.stamp)


def test_each_step_is_told_and_the_simulation_stays_paused(world):
    simulation, steps = world
    before = now(simulation)
    status, result, _ = steps.run(7)
    assert (status, int(result.result), result.error_message) == (SUCCEEDED, OK, "")
    (told,) = steps.feedback.values()
    wait_until(lambda: len(told) == 7, "all feedback")
    assert told == [(i, 7 - i) for i in range(1, 8)]
    assert now(simulation) - before == 7_000_000 and simulation.state() == 2
    assert steps.run(0)[0] == SUCCEEDED and now(simulation) - before == 7_000_000


def test_it_is_cancelled_between_two_steps(world):
    simulation, steps = world
    identity, accepted = steps.send(MANY)
    assert accepted
    wait_until(lambda: len(steps.feedback.get(identity, ())) > 10, "feedback")
    assert simulation("step_simulation", steps=0).result.result == OK  # others are served meanwhile
    future = steps.result(identity)
    assert steps.cancel(identity) == (NONE, [identity])
    assert future.wait(TIMEOUT)
    status, result, told = steps.end(identity)
    assert future.result().status == status == CANCELED and "cancelled after" in result.error_message
    done = int(result.error_message.split()[2])
    wait_until(lambda: told[-1] == (done, MANY - done), "the last feedback")
    assert steps.cancel(identity) == (TERMINATED, []) and steps.cancel(bytes([9] * 16)) == (UNKNOWN, [])


def goes_on(simulation):
    return simulation.set_state(1) == OK and simulation.set_state(2) == OK


@pytest.mark.parametrize("end", [goes_on, lambda simulation: simulation("reset_simulation")])
def test_going_on_and_a_reset_abort_it(world, end):
    simulation, steps = world
    identity, _ = steps.send(MANY)
    wait_until(lambda: steps.feedback.get(identity), "feedback")
    assert end(simulation)
    status, result, _ = steps.end(identity)
    assert status == ABORTED and " after " in result.error_message


def test_it_needs_a_pause(world):
    simulation, steps = world
    assert simulation.set_state(1) == OK
    status, result, _ = steps.run(1)
    assert (status, int(result.result)) == (ABORTED, FAILED) and "only while paused" in result.error_message
    assert simulation.set_state(2) == OK


def test_goals_wait_for_their_turn_and_not_too_many(world):
    """All are cancelled by one call without an identity; one identity is taken once."""
    _, steps = world
    sent = [steps.send(MANY) for _ in range(20)]
    accepted = [identity for identity, good in sent if good]
    assert 4 <= len(accepted) < 20 and steps.send(1, accepted[0])[1] is False
    code, cancelled = steps.cancel()
    assert code == NONE and set(cancelled) == set(accepted)
    assert {steps.end(identity)[0] for identity in accepted} == {CANCELED}


def test_status_tells_all_goals_and_old_ones_are_forgotten(world, backend):
    """Of the embedded backend; rclpy forgets a result after ten seconds."""
    if backend == "rclpy":
        pytest.skip("rclpy's action server counts seconds, not goals")
    _, steps = world
    ended = [steps.send(0)[0]]
    assert steps.end(ended[0])[0] == SUCCEEDED
    for _ in range(KEPT + 5):
        identity, accepted = steps.send(0)
        assert accepted and steps.end(identity)[0] == SUCCEEDED
    assert steps.end(ended[0])[0] == 0  # STATUS_UNKNOWN
    steps.peer.until(lambda: len(steps.status[-1].status_list) <= KEPT + 1)
    assert steps.status[-1].status_list[-1].status == SUCCEEDED

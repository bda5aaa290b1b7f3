# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runs over topics: a good controller passes, worse ones fail by the right check, and no process is left.

Covers testing/processes.py.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import pytest

from mb_contact.errors import InputError
from mb_contact.ros.replay import read_recording, replay
from mb_contact.simulation.simulator import Simulator
from mb_contact.testing import (
    CheckFailed,
    Expectation,
    Plan,
    Run,
    distance,
    force,
    height,
    held,
    joint,
    slip,
    touch,
)
from mb_contact.testing.conditions import Conditions, Event, push
from paths import ROOT

pytestmark = pytest.mark.long
SCENE = "package://mb_contact/config/drumwright_grasp.yaml"
JAWS = f"{sys.executable} {ROOT / 'test' / 'testing' / 'jaws.py'}"
HELD = Expectation(distance("box_left") <= 0.02, name="the box stays")
NUDGE = Conditions((Event(0.3, *push("box_left", (0, 30, 0), lasting=0.05)),))


def plan(command=JAWS, *expectations, **options):
    return Plan(SCENE, (command,), expectations or (HELD,), **({"duration": 1.0, "backend": "embedded"} | options))


def finished(given, folder):
    """Results and the run of a plan."""
    with Run(given, folder, say=lambda _: None) as run:
        results = run.finish()
    assert all(program.code is not None for program in run.programs)
    return results, run


def states(run):
    recording = read_recording(run.folder / "run.mcap")
    return [(stamp, message.position.tobytes(), message.velocity.tobytes()) for stamp, message in recording.states]


def test_a_good_controller_passes_and_the_bag_replays_it(tmp_path):
    checks = HELD, Expectation(held("box_left", ["left_jaw", "box_right"]) >= 90.0, after=0.2)
    results, run = finished(plan(JAWS, *checks, conditions=NUDGE), tmp_path / "first")
    assert [result.passed for result in results] == [True] * 3, results
    assert run.time == pytest.approx(1.0) and run.programs[0].by_us
    again = replay(Simulator(SCENE), read_recording(tmp_path / "first" / "run.mcap"))
    assert again.equal == again.compared > 90  # the push too


def test_waits_are_in_simulated_time(tmp_path):
    with Run(plan(), tmp_path) as run:
        run.wait_for(force("box_left", "left_jaw") >= 50.0, within=0.5)
        begun = run.time
        time.sleep(0.2)
        assert run.time == begun  # it stands still while nobody waits
        run.push("box_left", (0, 40, 0), lasting=0.1)
        run.keep(slip("box_left", "left_jaw") <= 0.01, lasting=0.3)
        run.now(touch("box_left", "box_right") >= 1)
        assert run.time == pytest.approx(begun + 0.3) and run.value(height("box_left")) == pytest.approx(1.0, abs=0.01)
        with pytest.raises(CheckFailed, match="the height of box_left above world is at least 2 m for 0.1 s on end"):
            run.wait_for(height("box_left") >= 2.0, within=0.1, lasting=0.1)
    assert run.programs[0].code is not None


@pytest.mark.slow
def test_the_same_bits_every_time(tmp_path):
    first, second = (finished(plan(conditions=NUDGE), tmp_path / name)[1] for name in ("first", "second"))
    assert states(first) == states(second)


@pytest.mark.slow
def test_a_controller_is_killed_and_started_again_at_a_simulated_time(tmp_path):
    restart = Conditions((Event(0.3, "restart", {"controller": 1}), Event(0.5, "reset")))
    results, run = finished(plan(conditions=restart), tmp_path / "killed")
    assert results[0].passed, results
    reset = Conditions((Event(0.5, "reset"),))
    _, other = finished(plan(conditions=reset), tmp_path / "not")
    assert states(run) == states(other)


@pytest.mark.parametrize(
    "fault, words",
    [
        pytest.param("--force 3", ["is at most 0.02 m from 0 s to 0.9 s; measured: 0.02"], marks=pytest.mark.slow),
        ("dies", ["ended with exit code 3", "the gripper is on fire", "the box stays: not decided, because the run"]),
        pytest.param("nan", ["at 0.500 s the node rejected a message on joint_commands: ",
                             "effort: that of joint 'left_jaw_joint' is nan"], marks=pytest.mark.slow),
        pytest.param("leaves", ["the run ended then"], marks=pytest.mark.slow),
    ],
)
def test_worse_controllers_fail_by_the_right_check(tmp_path, fault, words):
    bounded = Expectation(distance("box_left") <= 0.02, until=0.9, name="the box stays")
    results, run = finished(plan(f"{JAWS} {fault}", bounded), tmp_path)
    text = "\n".join(result.name + ": " + result.text for result in results if not result.passed)
    assert all(word in text for word in words), text


def test_in_real_time_a_controller_may_end_before_what_it_has_brought_about_is_seen(tmp_path):
    """A client whose action has succeeded ends; the node goes on by itself until the checks are decided."""
    lasts = Expectation(distance("box_left") >= 0.0, within=0.9, lasting=0.5)
    results, run = finished(plan(f"{sys.executable} -c pass", lasts, lockstep=False), tmp_path)
    assert [result.passed for result in results] == [True] * 2, results
    assert 0.5 <= run.time < 1.0  # not to the end of its duration


def test_a_controller_that_hangs_spends_its_budget_of_wall_time(tmp_path):
    begun = time.monotonic()
    with Run(plan(f"{JAWS} hangs"), tmp_path, say=lambda _: None) as run:
        run.advance(0.45)
        run.plan = replace(run.plan, wall=time.monotonic() - begun + 3.0)
        words = "of wall time, its budget; the simulation stands at 0.500 s and waits for"
        with pytest.raises(CheckFailed, match=words) as told:
            run.advance(0.5)
    assert "left_jaw_joint" in str(told.value) and run.programs[0].code is not None
    assert f"; running: '{JAWS} hangs'" in str(told.value)


def test_truths_are_checks_and_what_is_none_is_told(tmp_path):
    with Run(plan(), tmp_path) as run:
        run.now(~touch("box_left", by="left_jaw"))
        run.wait_for(touch("box_left", by="left_jaw"), within=0.8)
        for wrong in (height("box_left"), touch("box_left") == True):  # noqa: E712
            with pytest.raises(InputError, match="expected a check, such as"):
                run.wait_for(wrong, within=1.0)
    with pytest.raises(InputError, match="expected a check"):
        ~height("box_left")


def test_a_run_ends_with_its_duration_whoever_waits(tmp_path):
    with Run(plan(duration=0.2), tmp_path) as run:
        with pytest.raises(CheckFailed, match="measured: .* at most by 0.200 s"):
            run.wait_for(height("box_left") >= 10.0, within=5.0)
        assert run.time == pytest.approx(0.2)
    with Run(plan(duration=0.2), tmp_path) as run, pytest.raises(CheckFailed, match="that is its duration"):
        run.advance(1.0)


@pytest.mark.slow
def test_commands_that_come_late_or_never_act_as_stated(tmp_path):
    late, run = finished(plan(conditions=Conditions(delay=0.05, loss=0.3, seed=2)), tmp_path)
    assert late[0].passed
    again = replay(Simulator(SCENE), read_recording(tmp_path / "run.mcap"))
    assert again.equal == again.compared


SLIDE = """<robot name="slide"><link name="rail"/><link name="cart"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
  <limit effort="100" velocity="5" lower="-1" upper="1"/></joint></robot>"""
SLIDE_SCENE = """models: [{urdf: slide.urdf, actuators: {slide: {kind: position, stiffness: 100, damping: 10}}}]
gravity: [0, 0, 0]
rates: {control_period: 0.01}
"""
ASKS = """from mb_contact.ros import QoS, create_node, spin
node = create_node("asks")
publisher = node.create_publisher("sensor_msgs/msg/JointState", "joint_commands", QoS(10))
command = node.message_type("sensor_msgs/msg/JointState")()
command.name = ["slide"]
def answer(state):
    command.header, command.position = state.header, [0.2]
    publisher.publish(command)
node.create_subscription("sensor_msgs/msg/JointState", "joint_states", answer, QoS(10))
spin(node)
"""


def asks_for_targets(folder, **options):
    """A run of a cart whose controller asks for 0.2 m at every state."""
    for name, text in (("slide.urdf", SLIDE), ("slide.yaml", SLIDE_SCENE), ("asks.py", ASKS)):
        (folder / name).write_text(text, encoding="utf-8")
    command = f"{sys.executable} {folder / 'asks.py'}"
    return Run(Plan(folder / "slide.yaml", (command,), backend="embedded", **options), folder / "out")


def test_targets_of_actuators_come_late_or_are_lost_as_efforts_are(tmp_path):
    curves = []
    for conditions in (Conditions(), Conditions(delay=0.1), Conditions(loss=0.9, seed=0)):
        with asks_for_targets(tmp_path, conditions=conditions) as run:
            curves.append([(run.advance(0.05), run.value(joint("slide")))[1] for _ in range(6)])
        assert "Traceback" not in run.programs[0].log.read_text()
    at_once, late, lossy = curves
    assert at_once[0] > 0.0 and late[:2] == [0.0, 0.0] and late[2:] == pytest.approx(at_once[:4], abs=1e-12)
    assert 0.0 <= lossy[0] < at_once[0]


def test_what_is_on_its_way_at_a_reset_never_arrives(tmp_path):
    with asks_for_targets(tmp_path, conditions=Conditions(delay=0.1)) as run:
        run.advance(0.3)
        run.act("reset")
        assert [(run.advance(0.03), run.value(joint("slide")))[1] for _ in range(2)] == [0.0, 0.0]
        run.advance(0.1)
        assert run.value(joint("slide")) > 0.0


def test_the_start_is_that_of_the_run_whenever_it_is_asked_for(tmp_path):
    with asks_for_targets(tmp_path) as run:
        run.advance(0.3)
        moved = run.value(joint("slide"))
        assert moved > 0.01 and run.value(distance("cart", to="start")) == pytest.approx(moved)


@pytest.mark.slow
def test_who_does_not_end_is_killed_and_it_counts(tmp_path):
    results, run = finished(plan(f"{JAWS} deaf"), tmp_path)
    assert "did not end when asked to" in results[0].text and run.programs[0].code == -9


def test_what_is_misspelled_is_said_before_anything_moves(tmp_path):
    with pytest.raises(InputError, match="bax"), Run(plan(JAWS, Expectation(height("bax") >= 1.0)), tmp_path) as run:
        run.finish()
    with pytest.raises(InputError, match="cannot be started"), Run(plan("no_such_program"), tmp_path):
        pass
    with pytest.raises(InputError, match="no 'lockstep_joint'"), Run(plan(parameters={"lockstep_joint": 1}), tmp_path):
        pass

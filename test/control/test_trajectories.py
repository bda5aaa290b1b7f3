# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Motions within limits: ends, limits, derivatives, refusals."""

import sys

import numpy as np
import pytest

import mb_contact as mb

TURNED = ([0.4, 0.3, 0.1], [0.0, 0.0, np.sin(0.6), np.cos(0.6)])
UPRIGHT = ([0.1, 0.0, 0.5], [0.0, 0.0, 0.0, 1.0])


def derivative(f, t, h=1e-6):
    return (f(t + h) - f(t - h)) / (2 * h)


@pytest.mark.parametrize("seed", range(5))
def test_joints_keep_their_limits_and_arrive_together(seed):
    random = np.random.default_rng(seed)
    start, goal = random.normal(size=(2, 4))
    velocity, acceleration, jerk = random.uniform(0.5, 2.0, (3, 4)) * [[1.0], [3.0], [20.0]]
    motion = mb.control.joint_motion(start, goal, velocity, acceleration, jerk, start_velocity=0.3 * velocity)
    times = np.linspace(0.0, motion.duration, 400)
    q, v, a = (np.array(x) for x in zip(*map(motion.at, times)))
    assert np.allclose(q[0], start) and np.allclose(q[-1], goal) and np.allclose(v[0], 0.3 * velocity)
    assert np.abs(v[-1]).max() < 1e-9
    assert (np.abs(v) <= velocity + 1e-9).all() and (np.abs(a) <= acceleration + 1e-9).all()
    middle = times[37]
    assert np.allclose(derivative(lambda t: motion.at(t)[0], middle), motion.at(middle)[1], atol=1e-6)


def test_a_motion_through_points_meets_them_and_reaches_a_limit():
    points = np.random.default_rng(2).normal(size=(6, 3))
    motion = mb.control.motion_through(points, velocity=[1.0, 2.0, 0.5], acceleration=[4.0, 3.0, 5.0])
    q, v, a = (np.array(x) for x in zip(*map(motion.at, np.linspace(0.0, motion.duration, 20001))))
    speed, force = np.abs(v / [1.0, 2.0, 0.5]).max(), np.abs(a / [4.0, 3.0, 5.0]).max()
    assert speed <= 1.0 + 1e-9 and force <= 1.0 + 1e-9 and max(speed, force) > 0.999
    assert np.abs(v[[0, -1]]).max() < 1e-9
    for point in points:
        assert np.linalg.norm(q - point, axis=1).min() < 1e-3


def test_a_frame_goes_straight_and_turns_about_one_axis():
    motion = mb.control.straight_motion(UPRIGHT, TURNED, speed=0.5, acceleration=1.0, turning=1.0)
    way = np.subtract(TURNED[0], UPRIGHT[0])
    for t in np.linspace(0.01, motion.duration - 0.01, 50):
        (p, quaternion), twist, acceleration = motion.at(t)
        assert np.linalg.norm(np.cross(p - UPRIGHT[0], way)) < 1e-12
        assert abs(np.linalg.norm(quaternion) - 1.0) < 1e-12
        assert np.linalg.norm(twist[3:]) <= 0.5 + 1e-9 and np.linalg.norm(twist[:3]) <= 1.0 + 1e-9
        assert np.allclose(derivative(lambda t: motion.at(t)[0][0], t), twist[3:], atol=1e-6)
        assert np.allclose(derivative(lambda t: motion.at(t)[1], t), acceleration, atol=1e-4)
    (p, quaternion), _, _ = motion.at(motion.duration + 1.0)
    assert np.allclose(p, TURNED[0]) and abs(abs(quaternion @ TURNED[1]) - 1.0) < 1e-12


def test_nothing_to_do_takes_no_time():
    assert mb.control.joint_motion([0.3], [0.3], 1.0, 1.0).duration == 0.0
    assert mb.control.straight_motion(UPRIGHT, UPRIGHT, 1.0, 1.0).duration < 1e-3


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: mb.control.joint_motion([0.0], [1.0, 2.0], 1.0, 1.0), "goal"),
        (lambda: mb.control.joint_motion([0.0], [1.0], 0.0, 1.0), "the limit of velocity must be positive, got 0"),
        (lambda: mb.control.joint_motion([0.0] * 2, [1.0] * 2, [1.0] * 3, 1.0), "velocity must have 2 entries, got 3"),
        (lambda: mb.control.joint_motion([0.0], [1.0], "fast", 1.0), "velocity must"),
        (lambda: mb.control.joint_motion([0.0], [1.0], 1.0, 1.0, start_velocity=[np.nan]), "start_velocity"),
        (lambda: mb.control.joint_motion([0.0], [1.0], 1.0, 1.0, goal_velocity=[5.0]), "Ruckig finds no motion"),
        (lambda: mb.control.motion_through([[0.0]], 1.0, 1.0), "at least two points"),
        (lambda: mb.control.motion_through([[0.0], [0.0]], 1.0, 1.0), "points 0 and 1 are the same"),
        (lambda: mb.control.straight_motion(UPRIGHT, TURNED, -1.0, 1.0), "must be positive"),
        (lambda: mb.control.joint_motion([0.0], [1.0], 1.0, 1.0).at(np.nan), "t.* nan"),
        (lambda: mb.control.motion_through([[0.0], [1.0]], 1.0, 1.0).at(np.nan), "t.* nan"),
        (lambda: mb.control.straight_motion(UPRIGHT, TURNED, 1.0, 1.0).at([0.0, 1.0]), "t must be"),
    ],
)
def test_bad_motions_are_named(call, message):
    with pytest.raises(mb.InputError, match=message):
        call()


def test_without_ruckig_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ruckig", None)
    with pytest.raises(mb.InputError, match=r"pip install 'mb_contact\[control\]'"):
        mb.control.joint_motion([0.0], [1.0], 1.0, 1.0)

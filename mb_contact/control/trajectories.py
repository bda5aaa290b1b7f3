# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Motions of joints and of a hand within limits of speed, acceleration and jerk.

The law in time is Ruckig's (Berscheid and Kroeger 2021), the quickest there is with these limits, from any state to any
other; without Ruckig (``pip install 'mb_contact[control]'``) the message says so.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from mb_contact.checks import Floats, as_vector
from mb_contact.control.poses import wanted_pose
from mb_contact.errors import InputError

JERK = 20.0  #: limit of jerk where none is given, in limits of acceleration a second


class Motion(NamedTuple):
    """Positions, velocities and accelerations (joints,) over time.

    Examples
    --------
    >>> motion = mb.control.joint_motion([0.0, 0.0], [1.0, 0.5], velocity=1.0, acceleration=2.0)
    >>> q, v, a = motion.at(motion.duration)
    >>> q, bool(np.allclose(v, 0.0))
    (array([1. , 0.5]), True)
    """

    duration: float  #: [s]
    at: Callable[[float], tuple[Floats, Floats, Floats]]  #: of the time [s], which is held to 0 to duration


class FrameMotion(NamedTuple):
    """Pose, twist and acceleration of a frame over time.

    Examples
    --------
    >>> start, goal = ([0.4, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0]), ([0.4, 0.2, 0.3], [0.0, 0.0, 1.0, 0.0])
    >>> motion = mb.control.straight_motion(start, goal, speed=0.5, acceleration=1.0)
    >>> (position, quaternion), twist, _ = motion.at(motion.duration)
    >>> position, bool(np.allclose(twist, 0.0))
    (array([0.4, 0.2, 0.3]), True)
    """

    duration: float  #: [s]
    #: of the time [s]: (position (3,) [m], quaternion x y z w (4,)), velocity (6,) and acceleration (6,), angular first
    at: Callable[[float], tuple[tuple[Floats, Floats], Floats, Floats]]


def joint_motion(
    start: ArrayLike,
    goal: ArrayLike,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    jerk: ArrayLike | None = None,
    start_velocity: ArrayLike | None = None,
    goal_velocity: ArrayLike | None = None,
) -> Motion:
    """The quickest motion of joints from one state to another within limits; all arrive together.

    Parameters
    ----------
    start, goal : array_like (joints,)
        [rad, m]
    velocity, acceleration, jerk : float or array_like (joints,)
        Limits [rad/s, m/s; ...]; jerk is 20/s times the acceleration's limit if left out.
    start_velocity, goal_velocity : array_like (joints,), optional
        [rad/s, m/s], zero if left out.

    Returns
    -------
    Motion

    Raises
    ------
    InputError
        Sizes do not fit, a limit is not positive, or there is no Ruckig.

    Examples
    --------
    >>> motion = mb.control.joint_motion([0.0], [2.0], velocity=1.0, acceleration=2.0, jerk=1e6)
    >>> round(motion.duration, 3)  # 2 rad at 1 rad/s, half a second to get there and half to stop
    2.5
    """
    start = as_vector(start, None, "start")
    n = len(start)
    trajectory = _quickest(
        start, as_vector(goal, n, "goal"), [_limit(x, n, name) for x, name in ((velocity, "velocity"),
        (acceleration, "acceleration"), (JERK * np.asarray(acceleration, float) if jerk is None else jerk, "jerk"))],
        np.zeros(n) if start_velocity is None else as_vector(start_velocity, n, "start_velocity"),
        np.zeros(n) if goal_velocity is None else as_vector(goal_velocity, n, "goal_velocity"),
    )  # fmt: skip

    def at(t: float) -> tuple[Floats, Floats, Floats]:
        q, v, a = trajectory.at_time(_within(t, trajectory.duration))
        return np.array(q), np.array(v), np.array(a)

    return Motion(float(trajectory.duration), at)


def motion_through(points: Sequence[ArrayLike], velocity: ArrayLike, acceleration: ArrayLike) -> Motion:
    """A smooth motion of joints through points, from rest to rest: a cubic spline, as quick as the limits let it be.

    Knots are as far apart in time as the points by the joint that needs longest; the whole is stretched until every
    velocity and acceleration is within its limit, which are found at the knots and where accelerations vanish.

    Parameters
    ----------
    points : sequence of array_like (joints,)
        At least two that differ [rad, m].
    velocity, acceleration : float or array_like (joints,)
        Limits [rad/s, m/s; rad/s^2, m/s^2].

    Returns
    -------
    Motion

    Raises
    ------
    InputError
        Sizes do not fit, two points that follow each other are the same, or a limit is not positive.

    Examples
    --------
    >>> motion = mb.control.motion_through([[0.0], [1.0], [0.5]], velocity=1.0, acceleration=2.0)
    >>> speeds = [abs(motion.at(t)[1][0]) for t in np.linspace(0.0, motion.duration, 200)]
    >>> bool(max(speeds) <= 1.0 + 1e-9), motion.at(motion.duration)[0]
    (True, array([0.5]))
    """
    rows = [as_vector(point, None, f"point {i}") for i, point in enumerate(points)]
    if len(rows) < 2:
        raise InputError("a motion needs at least two points")
    q = np.array([as_vector(row, len(rows[0]), f"point {i}") for i, row in enumerate(rows)])
    n = q.shape[1]
    limits = _limit(velocity, n, "velocity"), _limit(acceleration, n, "acceleration")
    apart = np.abs(np.diff(q, axis=0) / limits[0]).max(axis=1)
    if not apart.all():
        raise InputError(f"points {int(np.argmin(apart))} and {int(np.argmin(apart)) + 1} are the same")
    knots = np.concatenate(([0.0], np.cumsum(apart)))
    spline = CubicSpline(knots, q, bc_type="clamped")
    rate, second = spline.derivative(), spline.derivative(2)
    turning = second.roots(extrapolate=False)
    times = np.concatenate([knots, *np.atleast_1d(turning)]) if n > 1 else np.concatenate([knots, *turning])
    times = np.clip(times[np.isfinite(times)], 0.0, knots[-1])
    quick, sharp = np.abs(rate(times)) / limits[0], np.abs(second(knots)) / limits[1]
    stretch = max(float(quick.max()), float(np.sqrt(sharp.max())))

    def at(t: float) -> tuple[Floats, Floats, Floats]:
        s = _within(t, knots[-1] * stretch) / stretch
        return spline(s), rate(s) / stretch, second(s) / stretch**2

    return Motion(float(knots[-1] * stretch), at)


def straight_motion(
    start: tuple[ArrayLike, ArrayLike],
    goal: tuple[ArrayLike, ArrayLike],
    speed: float,
    acceleration: float,
    turning: float = np.pi,
    turning_acceleration: float | None = None,
) -> FrameMotion:
    """A frame from one pose to another: its origin on a straight line while it turns about one axis.

    Parameters
    ----------
    start, goal : (position (3,) [m], quaternion x y z w (4,))
        World axes.
    speed, acceleration : float
        Limits of the origin [m/s, m/s^2].
    turning, turning_acceleration : float
        Limits of the rotation [rad/s, rad/s^2]; the acceleration is turning/speed times the linear one if left out.

    Returns
    -------
    FrameMotion

    Raises
    ------
    InputError
        A pose is none, a limit is not positive, or there is no Ruckig.

    Examples
    --------
    >>> still = [0.0, 0.0, 0.0, 1.0]
    >>> motion = mb.control.straight_motion(([0.0, 0.0, 0.0], still), ([1.0, 0.0, 0.0], still), 0.5, 1.0)
    >>> motion.at(motion.duration / 2)[1][3]  # half way at full speed along x [m/s]
    0.5
    """
    (p0, q0), (p1, q1) = wanted_pose("start", start), wanted_pose("goal", goal)
    first = Rotation.from_quat(q0)
    turn, way = (Rotation.from_quat(q1) * first.inv()).as_rotvec(), p1 - p0
    if turning_acceleration is None:
        turning_acceleration = turning / speed * acceleration
    sizes = np.array([np.linalg.norm(way), np.linalg.norm(turn)])
    bounds = np.array([[speed, turning], [acceleration, turning_acceleration]], float)
    if not (np.isfinite(bounds).all() and (bounds > 0.0).all()):
        raise InputError("limits of speed and acceleration must be positive")
    if not sizes.any():
        sizes = np.array([1e-12, 0.0])
    with np.errstate(divide="ignore"):
        v, a = (bounds / sizes).min(axis=1)
    path = joint_motion([0.0], [1.0], v, a)
    twist = np.concatenate((turn, way))

    def at(t: float) -> tuple[tuple[Floats, Floats], Floats, Floats]:
        (s,), (s_dot,), (s_ddot,) = path.at(t)
        pose = p0 + s * way, (Rotation.from_rotvec(s * turn) * first).as_quat()
        return pose, s_dot * twist, s_ddot * twist

    return FrameMotion(path.duration, at)


def _within(t, duration):
    """The moment t of a motion, or its start or end beyond them; InputError where it is no number."""
    return min(max(float(as_vector([t], 1, "t")[0]), 0.0), duration)


def _limit(value, n, name):
    """Positive limits (n,)."""
    limit = as_vector(np.full(n, value) if np.size(value) == 1 else value, n, name)
    if not (limit > 0.0).all():
        raise InputError(f"the limit of {name} must be positive, got {limit.min():g}")
    return limit


def _quickest(start, goal, limits, start_velocity, goal_velocity) -> Any:
    """Ruckig's trajectory."""
    try:
        from ruckig import InputParameter, Ruckig, RuckigError, Trajectory
    except ImportError:
        message = "motions within limits need Ruckig: pip install 'mb_contact[control]'"
        raise InputError(message) from None
    n = len(start)
    given, found = InputParameter(n), Trajectory(n)
    given.current_position, given.target_position = list(start), list(goal)
    given.current_velocity, given.target_velocity = list(start_velocity), list(goal_velocity)
    given.max_velocity, given.max_acceleration, given.max_jerk = (list(limit) for limit in limits)
    try:
        result = Ruckig(n).calculate(given, found)
    except RuckigError as error:
        raise InputError(f"Ruckig finds no motion: {error}") from None
    if result.value < 0:
        raise InputError(f"Ruckig finds no motion: {result.name}; do velocities at the ends exceed their limits?")
    return found

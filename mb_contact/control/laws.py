# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws that every lab writes: hold, follow, move a hand, close a gripper.

Each is a function of a robot's state alone and gives efforts of its ``world.joint_names``, as ``Simulator.step`` takes
them.  A robot is a :class:`~mb_contact.Simulator`, or :class:`Robot` where positions and velocities come from a topic.
With M the mass matrix, h the Coriolis, centrifugal and gravity efforts, d the joints' viscous damping.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_positive, as_vector, shorten
from mb_contact.control.poses import pose_error, wanted_pose
from mb_contact.dynamics.arguments import GRAVITY
from mb_contact.dynamics.jacobians import frame_pose
from mb_contact.dynamics.joint_space import mass_matrix, nonlinear_effects
from mb_contact.dynamics.operational import OperationalSpace, operational_space
from mb_contact.errors import InputError
from mb_contact.model.model import Model
from mb_contact.model.rotations import matrix_to_quat

RATE = 20.0  #: at which errors vanish where no other is asked for [rad/s]


class Robot:
    """A model whose state comes from outside, as the laws of this module ask a Simulator for it.

    Parameters
    ----------
    model : Model
        Joints that mimic others follow.
    gravity : array_like (3,)
        [m/s^2]
    time_step : float
        Of the control period [s].

    Raises
    ------
    InputError
        Gravity is not three finite numbers, or the time step not positive.

    Examples
    --------
    >>> robot = mb.control.Robot(mb.load_urdf(mb.pendulum(2, length=2.0).urdf()))
    >>> robot.update([0.1, 0.2], [0.0, 0.0])
    >>> robot.mass_matrix().shape, robot.joint_positions()
    ((2, 2), array([0.1, 0.2]))
    """

    def __init__(self, model: Model, gravity: ArrayLike = GRAVITY, time_step: float = 1e-3) -> None:
        self.world, self._gravity = model, as_vector(gravity, 3, "gravity")
        self.time_step = as_positive(time_step, "time_step")
        self._q, self._v = model.neutral_q(), np.zeros(model.N)

    def update(self, positions: ArrayLike, velocities: ArrayLike) -> None:
        """Take positions [rad, m] and velocities [rad/s, m/s] of ``world.joint_names``, (joints,) each.

        Raises
        ------
        InputError
            Wrong sizes or not finite; nothing has changed.
        """
        count = len(self.world.joint_names)
        q, v = as_vector(positions, count, "positions"), as_vector(velocities, count, "velocities")
        self._q[self.world.joint_q], self._v[self.world.joint_v] = q, v

    def joint_positions(self) -> Floats:
        """Of ``world.joint_names`` [rad, m], a new array."""
        return self._q[self.world.joint_q]

    def joint_velocities(self) -> Floats:
        """Of ``world.joint_names`` [rad/s, m/s], a new array."""
        return self._v[self.world.joint_v]

    def mass_matrix(self) -> Floats:
        """Of ``world.joint_names`` [kg m^2, kg m, kg]."""
        of = self.world.joint_v
        return mass_matrix(self.world, self._q)[np.ix_(of, of)]

    def nonlinear_effects(self) -> Floats:
        """Coriolis, centrifugal and gravity efforts of ``world.joint_names`` [N m, N]."""
        return nonlinear_effects(self.world, self._q, self._v, self._gravity)[self.world.joint_v]

    def operational_space(self, frames: Sequence[str]) -> OperationalSpace:
        """Of stacked frames over ``world.joint_names``; world axes at the frames' origins."""
        space = operational_space(self.world, self._q, self._v, frames)
        return space._replace(jacobian=space.jacobian[:, self.world.joint_v])

    def link_pose(self, name: str) -> tuple[Floats, Floats]:
        """World pose of a link: position (3,) [m] and quaternion x y z w (4,)."""
        R, p = frame_pose(self.world, self._q, name)
        return p, matrix_to_quat(R)


def hold(robot: Any, target: ArrayLike, rate: float = RATE) -> Floats:
    """Hold joints at a target: a spring and a damper at each, by what it moves, beside gravity.

    tau = K (target - q - dt v^) - D v^ + h at the end of the control period dt, where the joints will be with
    v^ = (M + dt (D + d) + dt^2 K)^-1 (M v + dt K (target - q)): stable PD control (Tan, Liu, Turk 2011).  With
    D_i = 2 M_ii rate and K_i = M_ii rate^2 + d_i rate each joint alone is critically damped, and as quick where its own
    damping d is large.  Stable with any gains, where efforts are limited and where links touch, which the mass matrix
    of :func:`computed_torque` need not be.

    Parameters
    ----------
    robot : Simulator or Robot
    target : array_like (joints,)
        Of ``world.joint_names`` [rad, m].
    rate : float
        At which the error vanishes [rad/s].

    Returns
    -------
    ndarray (joints,)
        [N m, N]

    Raises
    ------
    InputError
        No robot, a size does not fit, a number is not finite, or the rate is not positive.

    Examples
    --------
    >>> sim = mb.Simulator(mb.pendulum(2, length=2.0, angle=0.0, rate=0.0).scene())
    >>> for _ in range(2000):
    ...     step = sim.step(mb.control.hold(sim, [0.3, 0.2]))
    >>> bool(np.allclose(sim.joint_positions(), [0.3, 0.2], atol=1e-6))
    True
    """
    q, v = _state(robot)
    error, rate = as_vector(target, len(q), "target") - q, as_positive(rate, "rate")
    M, d, dt = robot.mass_matrix(), _damping(robot), robot.time_step
    D = 2.0 * rate * np.diag(M)
    K = rate * (0.5 * D + d)
    ahead = np.linalg.solve(M + np.diag(dt * (D + d + dt * K)), M @ v + dt * K * error)
    return K * (error - dt * ahead) - D * ahead + robot.nonlinear_effects()


def computed_torque(
    robot: Any,
    position: ArrayLike,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    rate: float = RATE,
) -> Floats:
    """Follow a motion of the joints: tau = M (a + 2 rate (v_d - v) + rate^2 (q_d - q)) + h + d v_d.

    The error of every joint is that of a critically damped oscillator of its own, whatever the others do, as long as no
    effort is at its limit and nothing is touched.

    Parameters
    ----------
    robot : Simulator or Robot
    position : array_like (joints,)
        Wanted, of ``world.joint_names`` [rad, m].
    velocity, acceleration : array_like (joints,), optional
        Wanted [rad/s, m/s; rad/s^2, m/s^2], zero if left out.
    rate : float
        At which errors vanish [rad/s].

    Returns
    -------
    ndarray (joints,)
        [N m, N]

    Raises
    ------
    InputError
        No robot, a size does not fit, a number is not finite, or the rate is not positive.

    Examples
    --------
    >>> sim = mb.Simulator(mb.pendulum(2, length=2.0, angle=0.0, rate=0.0).scene())
    >>> for _ in range(2000):
    ...     t = sim.time
    ...     step = sim.step(mb.control.computed_torque(sim, [0.1 * t, 0.0], [0.1, 0.0]))
    >>> bool(abs(sim.joint_positions()[0] - 0.1 * sim.time) < 1e-3)
    True
    """
    q, v = _state(robot)
    rate = as_positive(rate, "rate")
    v_d = np.zeros(len(q)) if velocity is None else as_vector(velocity, len(q), "velocity")
    a_d = np.zeros(len(q)) if acceleration is None else as_vector(acceleration, len(q), "acceleration")
    wanted = a_d + 2.0 * rate * (v_d - v) + rate**2 * (as_vector(position, len(q), "position") - q)
    return robot.mass_matrix() @ wanted + robot.nonlinear_effects() + _damping(robot) * v_d


def move_frames(
    robot: Any,
    targets: Mapping[str, tuple[ArrayLike, ArrayLike]],
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    posture: ArrayLike | None = None,
    rate: float = RATE,
    posture_rate: float = 5.0,
) -> Floats:
    """Move frames to poses, and with the freedom that is left the joints to a posture (Khatib 1987).

    a* = a + 2 rate (V_d - J v) + rate^2 e - dJ/dt v and F = Lambda^-1 a* at the frames, by the operational space of J14
    section 8; tau = J^T F + M b - J^T Lambda^-1 J b + h + d M^-1 J^T Lambda^-1 (V_d + rate e), with
    b = posture_rate^2 (q_p - q) - 2 posture_rate v, which does not accelerate the frames, and the last term what the
    joints' damping takes of the motion that the frames need.

    Parameters
    ----------
    robot : Simulator or Robot
    targets : mapping of frame name to (position (3,) [m], quaternion x y z w (4,))
        World axes; several hands at once.
    velocity, acceleration : array_like (6 frames,), optional
        Of the frames in order, angular first, world axes [rad/s, m/s; rad/s^2, m/s^2]; zero if left out.
    posture : array_like (joints,), optional
        [rad, m]; the freedom that is left is damped alone if left out.
    rate, posture_rate : float
        At which errors vanish [rad/s].

    Returns
    -------
    ndarray (joints,)
        [N m, N]

    Raises
    ------
    InputError
        No robot, no such frame, a size does not fit, a number is not finite, or a rate is not positive.

    Examples
    --------
    >>> sim = mb.Simulator("package://mb_contact/urdf/dual_arm.urdf")
    >>> goal = {"left_tcp": sim.link_pose("left_tcp")}
    >>> for _ in range(100):
    ...     step = sim.step(mb.control.move_frames(sim, goal))
    >>> bool(np.allclose(sim.link_pose("left_tcp")[0], goal["left_tcp"][0], atol=1e-6))
    True
    """
    q, v = _state(robot)
    rate, slow = as_positive(rate, "rate"), as_positive(posture_rate, "posture_rate")
    names, rows = tuple(targets), 6 * len(targets)
    wanted = [wanted_pose(name, targets[name]) for name in names]
    space = robot.operational_space(names)
    error = np.concatenate([pose_error(pose, robot.link_pose(name)) for name, pose in zip(names, wanted)])
    V_d = np.zeros(rows) if velocity is None else as_vector(velocity, rows, "velocity")
    a_d = np.zeros(rows) if acceleration is None else as_vector(acceleration, rows, "acceleration")
    rest = -2.0 * slow * v
    if posture is not None:
        rest += slow**2 * (as_vector(posture, len(q), "posture") - q)
    J, M = space.jacobian, robot.mass_matrix()
    wanted_rates = np.linalg.solve(M, J.T @ (space.inertia @ (V_d + rate * error)))
    a = a_d + 2.0 * rate * (V_d - J @ v) + rate**2 * error - space.bias - J @ rest
    return J.T @ (space.inertia @ a) + M @ rest + robot.nonlinear_effects() + _damping(robot) * wanted_rates


def grip(
    position: ArrayLike, velocity: ArrayLike, target: ArrayLike, max_effort: float, stiffness: float, damping: float
) -> Floats:
    """Move jaws to a target with a bounded effort, as control_msgs/GripperCommand asks for it.

    tau = stiffness (target - q) - damping v, within +- max_effort: what stands between the jaws is held with that.

    Parameters
    ----------
    position, velocity : array_like (jaws,)
        [rad, m; rad/s, m/s]
    target : array_like (jaws,)
        [rad, m]
    max_effort : float
        [N m, N]
    stiffness : float
        [N m/rad, N/m]
    damping : float
        [N m s/rad, N s/m]

    Returns
    -------
    ndarray (jaws,)
        [N m, N]

    Raises
    ------
    InputError
        Sizes do not fit, a number is not finite, or max_effort, stiffness or damping is not positive.

    Examples
    --------
    >>> mb.control.grip([0.04, 0.04], [0.0, 0.0], [0.0, 0.02], max_effort=30.0, stiffness=1000.0, damping=20.0)
    array([-30., -20.])
    """
    q = np.atleast_1d(np.asarray(position, float))
    q = as_vector(q, q.size, "position")
    pull = as_positive(stiffness, "stiffness") * (as_vector(target, len(q), "target") - q)
    effort = pull - as_positive(damping, "damping") * as_vector(velocity, len(q), "velocity")
    bound = as_positive(max_effort, "max_effort")
    return np.clip(effort, -bound, bound)


def _state(robot):
    """Positions [rad, m] and velocities [rad/s, m/s] of ``world.joint_names``; InputError where it is no robot."""
    if not hasattr(robot, "joint_positions"):
        wanted = "give a Simulator, as mb.Simulator('scene.yaml') makes one, or a mb.control.Robot of a model"
        raise InputError(f"no robot: got {shorten(repr(robot))}; {wanted}")
    return robot.joint_positions(), robot.joint_velocities()


def _damping(robot):
    """Viscous damping of ``world.joint_names`` [N m s/rad, N s/m]."""
    world = robot.world
    whole = getattr(world, "whole", None) or world
    at = dict(zip(whole.joint_names, whole.joint_v))
    return whole.tree.damping[[at[name] for name in world.joint_names]]

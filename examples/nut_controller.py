# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The right hand turns a lug nut off its stud with a socket in its palm, without ROS (that is nut_off.py).

Both hands have an impedance; the left one stays.  The socket goes over the nut with its hexagon in line with the
nut's, which /tf shows, and the spindle turns at a speed with a limited torque:

    tau_spindle = clip(k_v (w_d - w), +- torque),       w_d < 0: against the right-handed thread, seen from the robot

The hand bears the torque, and follows the nut, which comes by pitch / 2 pi a radian: at this rate, and slowly where
the nut is seen.  Once the nut is seen beyond the end of its stud, the spindle stops and the hand takes it away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hands_controller import HandsTask, SeenObjectController, between, minimum_jerk
from lift_controller import LiftError

import mb_contact as mb

SPINDLE = "nut_runner_joint"
RIGHT = 1  #: of HANDS


@dataclass(frozen=True)
class NutTask(HandsTask):
    """What to do, how firmly and how fast (SI units)."""

    height: float = 0.016  #: of the nut
    pitch: float = 0.0015  #: of its thread
    stud: float = 0.045  #: beyond the hub's face
    overlap: float = 0.010  #: of socket and nut while it turns
    standoff: float = 0.03  #: of the socket before the nut
    withdraw: float = 0.08  #: way back with the nut

    torque: float = 10.0  #: of the spindle at most [N m]
    speed: float = 25.0  #: of the spindle [rad/s]
    speed_gain: float = 2.0  #: k_v [N m s/rad]
    angle_gain: float = 20.0  #: while it does not turn [N m/rad]
    angle_damping: float = 0.8
    follow: float = 2.0  #: rate at which the hand follows the nut that is seen [1/s]
    patience: float = 15.0  #: for a nut that turns [s]


class NutError(LiftError):
    """The nut does not turn, or does not come off."""


class NutController(SeenObjectController):
    """The law: from a state, its operational-space terms and the nut where it is seen to efforts.

    Parameters
    ----------
    model : Model
        From robot_description.
    joint_names : sequence of str
    position : (joints,)
        Where the robot is now: the posture to keep.
    nut, hub : (position (3,), rotation (3, 3))
        The nut where it is seen, and the frame of the hub whose z axis its stud goes along, world axes.
    task : NutTask, optional
    """

    #: (name, duration [s]); that of turning off goes on until the nut is off
    PHASES = (("reach", 1.6), ("engage", 1.2), ("turn off", np.inf), ("stop", 0.5), ("withdraw", 1.6))

    def __init__(self, model, joint_names, position, nut, hub, task=None):
        super().__init__(model, joint_names, position, task or NutTask())
        self._spindle = list(joint_names).index(SPINDLE)
        self._gains[:2, self._spindle] = 0.0
        neutral = model.neutral_q()
        R, p = mb.frame_pose(model, neutral, "right_tcp")
        R_socket, p_socket = mb.frame_pose(model, neutral, "socket")
        self._mouth = R.T @ (p_socket - p), R.T @ R_socket  # the socket's mouth in the hand's frame, spindle at zero
        self._hub, self._nut = hub, nut
        self._held = list(zip(*self._hands))
        self._number = 0
        self._aim = position[self._spindle]  # angle of the spindle while it does not turn
        self._way = self._seen_way = 0.0  # of the nut since it began to turn
        self._start = None  # place of the nut then
        self._from, self._to = self._held[RIGHT], self._before(self.task.standoff)
        self.torque = 0.0  #: of the spindle [N m]

    # --- the plan -------------------------------------------------------------------------------------------------

    @property
    def phase(self):
        """Name of the present phase."""
        return self.PHASES[self._number][0]

    @property
    def _out(self):
        """Along the stud, from the hub."""
        return self._hub[1][:, 2]

    def _before(self, distance):
        """Pose of the hand whose socket's mouth is so far before the nut's outer face, its axis on the stud's."""
        z = -self._out
        x = self._held[RIGHT][1][:, 0]
        x = x - (x @ z) * z
        R = np.stack([x, np.cross(z, x), z], axis=1) / np.array([np.linalg.norm(x), np.linalg.norm(x), 1.0])
        face = self._nut[0] + (0.5 * self.task.height + distance) * self._out
        return face - R @ self._mouth[0], R

    def _advance(self, position):
        """Begin the next phase, or be done."""
        self._number += 1
        if self._number == len(self.PHASES):
            self._number -= 1
            self.done = True
            return
        task, name = self.task, self.phase
        self._clock, self._from = 0.0, self._to
        if name == "engage":
            self._to = self._before(-task.overlap)
        elif name == "turn off":
            self._start = self._nut[0]
        elif name == "stop":
            self._to = self._from = self._from[0] + self._way * self._out, self._from[1]
        elif name == "withdraw":
            self._aim = position[self._spindle]
            self._to = self._to[0] + task.withdraw * self._out, self._to[1]

    def _run_clock(self, step, position):
        """Time goes on; the nut is off once it is seen beyond its stud."""
        self._clock += step
        task = self.task
        if self.phase == "turn off":
            along = (self._nut[0] - self._hub[0]) @ self._out
            if along - 0.5 * task.height > task.stud:
                self._advance(position)
            elif self._clock > 1.5 and self._seen_way < 0.5 * task.pitch:
                raise NutError(f"the nut does not turn: {self._seen_way * 1e3:.2f} mm in {self._clock:.1f} s")
            elif self._clock > task.patience:
                raise NutError(f"the nut does not come off: {self._seen_way * 1e3:.1f} mm in {self._clock:.0f} s")
        elif self._clock >= self.PHASES[self._number][1]:
            self._advance(position)

    # --- the law --------------------------------------------------------------------------------------------------

    def update(self, time, position, velocity, terms, nut=None):
        """Joint efforts for one state.

        Parameters
        ----------
        time : float
            [s]
        position, velocity : (joints,)
        terms : Terms
            Of the same state.
        nut : (position (3,), rotation (3, 3)), optional
            Where the nut was seen, if it was seen anew.

        Raises
        ------
        NutError
            The nut does not turn, or does not come off.
        """
        step = self._look(time, position)
        if nut is not None:
            self._see(nut, position)
        self._run_clock(step, position)
        self.torque = self._spindle_torque(position[self._spindle], velocity[self._spindle], step)
        error, rate, acceleration = self._errors()
        if self.phase == "turn off":
            rate[RIGHT, 3:] = -self.task.pitch * velocity[self._spindle] / (2.0 * np.pi) * self._out
        if self._is_due():
            self._D = self.damping(terms.inertia, self._free)
        F = terms.inertia @ (acceleration.ravel() - terms.bias) + self._D @ (rate.ravel() - terms.jacobian @ velocity)
        F += self._free @ error.ravel()
        F[6 * RIGHT : 6 * RIGHT + 3] += self.torque * self._hands[1][RIGHT][:, 2]  # what the spindle leaves to the hand
        effort = self.efforts(F, terms, position, velocity, 0.0)
        effort[self._spindle] += self.torque
        return effort

    def _see(self, nut, position):
        """The nut anew: the socket's angle to take until it is over the nut, and how far the nut has come."""
        self._nut = nut
        if self.phase == "reach":
            x = (self._hands[1][RIGHT] @ self._mouth[1]).T @ nut[1][:, 0]
            angle = np.arctan2(x[1], x[0]) - position[self._spindle]
            sixth = np.pi / 3.0
            self._aim = position[self._spindle] + angle - sixth * np.round(angle / sixth)
        if self._start is not None:
            self._seen_way = (nut[0] - self._start) @ self._out

    def _spindle_torque(self, angle, speed, step):
        """Against the thread while it turns the nut off, else towards the angle that is wanted."""
        task = self.task
        if self.phase == "turn off":
            torque = task.speed_gain * (-task.speed * minimum_jerk(self._clock / 0.6) - speed)
            self._way += step * (task.follow * (self._seen_way - self._way) - task.pitch * speed / (2.0 * np.pi))
        elif self.phase == "stop":
            torque = task.speed_gain * (-task.speed * (1.0 - minimum_jerk(self._clock / 0.4)) - speed)
        else:
            torque = task.angle_gain * (self._aim - angle) - task.angle_damping * speed
        return float(np.clip(torque, -task.torque, task.torque))

    def _hand_targets(self, clock):
        """Poses of both hands that are wanted; the left one stays."""
        if self.phase == "turn off":
            return self._held[0], (self._from[0] + self._way * self._out, self._from[1])
        return self._held[0], between(self._from, self._to, minimum_jerk(clock / self.PHASES[self._number][1]))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two hands take a wheel off its hub, put it on a rack, and put it back: impedance of the wheel, without ROS.

The wheel in two hands is one object.  With G (6, 12) the grasp matrix, V_hands = G* V_wheel, its weighted right inverse
G+ and P = 1 - G+ G, the wrenches on the hands' tool centre points are

    F   = (Lambda^-1 + G+ M_w G+*) x'' - Lambda^-1 J' theta' + K e + D e' + F_c
    K   = G+ K_w G+* + P K_i P*                 stiffness of the wheel, and of the hands against each other
    F_c = P F_grip + G+ ((1 - load) G F_grip + load w)      internal force; weight w once the hands carry it

docs/wheel.md derives them.  K_w is stiff along the axle and soft across it, so that studs do not jam in their holes;
K_i is zero along the line between the hands, where the grip is a force and not a position.  The hands press the tyre
18 degrees below its middle: their normal forces carry most of the weight, and friction little of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hands_controller import HandsTask, SeenObjectController, between, compose, exponential, minimum_jerk, turn_from
from lift_controller import HANDS, LiftError

from mb_contact.model.rotations import rotation_about

GRAVITY = 9.81
SIDES = (1.0, -1.0)  #: of the wheel's y axis: left hand, right hand
FINGERS = tuple(tuple(f"{hand}_finger_{k}" for k in (1, 2, 3)) for hand in HANDS)


@dataclass(frozen=True)
class WheelTask(HandsTask):
    """What to do, how firmly and how fast (SI units).  The wheel's z axis is the axle and points to the robot."""

    radius: float = 0.279  #: from the axle to the faces of the tyre
    middle: float = -0.006  #: z of the middle of the tyre in the wheel's frame
    below: float = np.pi / 10  #: how far below the wheel's middle the hands press [rad]
    mass: float = 12.9  #: as expected; the true one is felt
    moments: tuple[float, float, float] = (0.29, 0.29, 0.53)  #: of inertia, expected [kg m^2]
    disc: float = 0.012  #: thickness of the wheel between its frame and the hub
    play: float = 0.0005  #: between studs and holes
    stud: float = 0.033  #: how far the studs stand out of the wheel on its hub
    place: tuple[float, float, float] = (0.35824, 0.27233, 0.650)  #: of the middle of the wheel on the rack
    place_turn: float = 0.65  #: of the wheel about the vertical there, against the hub [rad]

    grip: float = 170.0  #: normal force of each hand [N]
    clearance: float = 0.015  #: between hands and tyre before closing
    retreat: float = 0.08
    pull: float = 0.215  #: along the axle, until the tyre is clear of the studs
    hover: float = 0.15  #: above the rack
    seating_force: float = 40.0  #: along the axle, at the end [N]
    lead: float = 0.004  #: most that the reference goes ahead of the wheel on the studs
    search: float = 0.0012  #: radius of the searching motion at its widest
    lost: float = 0.03  #: a wheel farther than this from its place between the hands is lost

    across: float = 2000.0  #: of the wheel, across the axle [N/m]
    along: float = 4000.0  #: along it [N/m]
    turning: tuple[float, float, float] = (150.0, 60.0, 150.0)  #: about the wheel's x (up), y, z (axle) [N m/rad]
    hold: float = 0.0  #: how long the wheel is held in the air, once its weight is known [s]
    pace: float = 1.6  #: 2: all phases in half of what the plan says
    tracking: float = 2.0  #: rate at which the seen wheel's error is taken out [1/s]


class WheelError(LiftError):
    """The wheel is not where the hands are, cannot be felt, or does not go on."""


def grips(forces):
    """Sum of the contact forces on the fingers of each hand (2,) [N], of a dict from finger to force (3,)."""
    return np.array([sum(np.linalg.norm(forces.get(finger, 0.0)) for finger in hand) for hand in FINGERS])


def skew(r):
    """The matrix of r x."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


@dataclass
class Phase:
    """One phase: what moves where, and what the hands do meanwhile.  Levels are (grip, load), from 0 to 1."""

    name: str
    duration: float
    held: bool  #: the wheel is one object with the hands
    levels: tuple[float, float] = (0.0, 0.0)  #: at the end
    turn: float = 0.0  #: about the vertical [rad]
    tracks: bool = False  #: takes out the error of the wheel that is seen


class WheelController(SeenObjectController):
    """The law, without ROS: from a state, its operational-space terms, the wheel and what the fingers feel to efforts.

    Parameters
    ----------
    model : Model
        From robot_description.
    joint_names : sequence of str
    position : (joints,)
        Where the robot is now: the posture to keep.
    wheel, hub : (position (3,), rotation (3, 3))
        The wheel where it is seen, and the frame of its hub: the axle's middle on the hub's face, world axes.
    task : WheelTask, optional
    """

    def __init__(self, model, joint_names, position, wheel, hub, task=None):
        super().__init__(model, joint_names, position, task or WheelTask())
        joint_names = list(joint_names)
        self._turning_joint = joint_names.index("waist_joint_1") if "waist_joint_1" in joint_names else None
        self._seat = compose(hub, (np.array([0.0, 0.0, self.task.disc]), np.eye(3)))  # in the middle of the play
        self._mounted = self._wheel = wheel
        self._seen = 0  # times in a phase in which the wheel rests
        self.mass = self.task.mass
        self._phases = self._plan()
        self._number = -1
        self._felt = np.zeros(2)
        self._levels = self._from_levels = np.zeros(2)
        self._offset = np.zeros((2, 3))  # of the reference: rotation, position
        self._searching, self._weighed = 0.0, False
        self._net, self._height = 0.0, wheel[0][2]
        self._advance()

    # --- the plan -------------------------------------------------------------------------------------------------

    def _plan(self):
        task, both = self.task, (1.0, 1.0)
        phases = [
            Phase("approach", 2.0, False),
            Phase("close", 1.0, False),
            Phase("grip", 1.2, True, (1.0, 0.0)),
            Phase("weigh", 1.0, True, both),
            Phase("lift", 0.6, True, both),
            Phase("pull", 4.0, True, both),
            Phase("feel", 1.2, True, both, tracks=True),
            Phase("hold", task.hold * task.pace, True, both),
            Phase("carry", 4.0, True, both, task.place_turn, True),
            Phase("lower", 3.0, True, both, tracks=True),
            Phase("unload", 0.8, True, (1.0, 0.0)),
            Phase("release", 1.0, True),
            Phase("retreat", 1.5, False),
            Phase("return", 1.5, False),
            Phase("close again", 1.0, False),
            Phase("grip again", 1.2, True, (1.0, 0.0)),
            Phase("load", 0.8, True, both),
            Phase("raise", 3.0, True, both, tracks=True),
            Phase("carry back", 4.0, True, both, -task.place_turn, True),
            Phase("align", 3.0, True, both, tracks=True),
            Phase("push on", 3.0, True, both),
            Phase("seat", 0.8, True, both),
            Phase("hang", 0.8, True, (1.0, 0.0)),
            Phase("let go", 1.0, True),
            Phase("leave", 1.5, False),
        ]
        for phase in phases:
            phase.duration /= task.pace
        return [phase for phase in phases if phase.duration > 0.0]

    def _goal(self, name):
        """Pose of the wheel at the end of a phase."""
        task, (p, R) = self.task, self._seat
        on_rack = self._rack_pose()
        goals = {
            "lift": (p + ((self._mounted[0] - p) @ R[:, 2]) * R[:, 2], R),  # where it is along the axle
            "pull": (p + task.pull * R[:, 2], R),
            "carry": (on_rack[0] + [0.0, 0.0, task.hover], on_rack[1]),
            "lower": on_rack,
            "raise": (on_rack[0] + [0.0, 0.0, task.hover], on_rack[1]),
            "carry back": (p + task.pull * R[:, 2], R),
            "align": (p + (task.stud + 0.004) * R[:, 2], R),
            "push on": (p - 0.0005 * R[:, 2], R),
        }
        return goals.get(name, self._goal_pose)

    def _rack_pose(self):
        task = self.task
        turn = rotation_about((0.0, 0.0, 1.0), task.place_turn)
        R = turn @ np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
        return np.array(task.place) - task.middle * R[:, 2], R

    def _advance(self):
        """Begin the next phase."""
        was_held = self._number >= 0 and self._phases[self._number].held
        self._finish()
        self._number += 1
        if self._number == len(self._phases):
            self._number -= 1
            self.done = True
            return
        phase = self._phases[self._number]
        self._clock, self._from_levels, self._updates = 0.0, self._levels, 0
        if phase.held and (not was_held or phase.name in ("unload", "hang")):
            self._take_hold()  # anew before it is let go: hands that slipped must not drag it along
        elif not phase.held:
            self._begin_free(phase.name)
        if phase.held:
            self._start_pose = self._goal_pose
            self._goal_pose = self._goal(phase.name)

    def _finish(self):
        """What a phase has found out."""
        name = self.phase if self._number >= 0 else ""
        if name.startswith("close") and self._felt.min() < 0.5:
            raise WheelError(f"the hands do not feel the tyre: {self._felt.round(1)} N")
        self._weighed = self._weighed or name == "weigh"
        if name == "grip":  # weighing begins with what the grip carries
            self.mass = 2.0 * self.task.grip * np.sin(self.task.below) / GRAVITY
        if name == "feel":  # what the impedance carries is weight, too
            self.mass += self._net / GRAVITY
            self._offset[1, 2] -= self._net / self.task.across

    def _take_hold(self):
        """From now on the wheel and both hands are one object, as they are now."""
        p, R = self._wheel
        self._goal_pose = self._wheel
        self._grasp = [(R.T @ (hand - p), R.T @ turn) for hand, turn in zip(*self._hands)]
        self._offset = np.zeros((2, 3))

    def _begin_free(self, name):
        """The hands go from where they are to places beside the wheel where it is seen."""
        task = self.task
        clearance = {"approach": task.clearance, "return": task.clearance, "close": -0.003, "close again": -0.003}
        distance = clearance.get(name, task.retreat)
        self._seen = 0 if not name.startswith("close") else self._seen
        self._from_hands = list(zip(*self._hands)) if not name.startswith("close") else self._to_hands
        self._to_hands = [compose(self._wheel, self._beside(side, distance)) for side in SIDES]

    def _beside(self, side, distance):
        """Pose of a hand beside the tyre, in the wheel's frame: z to the wheel, x away from the robot."""
        below = self.task.below
        out = np.array([-np.sin(below), side * np.cos(below), 0.0])
        x = np.array([0.0, 0.0, -1.0])
        p = out * (self.task.radius + distance) + [0.0, 0.0, self.task.middle]
        return p, np.stack([x, np.cross(-out, x), -out], axis=1)

    # --- the law --------------------------------------------------------------------------------------------------

    @property
    def phase(self):
        """Name of the present phase."""
        return self._phases[self._number].name

    def update(self, time, position, velocity, terms, wheel=None, felt=None):
        """Joint efforts for one state.

        Parameters
        ----------
        time : float
            [s]
        position, velocity : (joints,)
        terms : Terms
            Of the same state.
        wheel : (position (3,), rotation (3, 3)), optional
            Where the wheel was seen, if it was seen anew.
        felt : (2,), optional
            Sums of the contact forces on the fingers of each hand [N], if they were felt anew.

        Raises
        ------
        WheelError
            The wheel was lost, is not felt, does not rise or does not go on.
        """
        step = self._look(time, position)
        self._felt = self._felt if felt is None else felt
        self._run_clock(step)
        phase = self._phases[self._number]
        share = minimum_jerk(self._clock / phase.duration)
        self._levels = self._from_levels + share * (np.array(phase.levels) - self._from_levels)
        if wheel is not None:
            self._see(wheel, phase)
        error, rate, acceleration = (part.ravel() for part in self._errors())
        rate = rate - terms.jacobian @ velocity
        if self._is_due():
            self._set_impedance(terms.inertia, phase.held)
        F = self._mass_matrix @ acceleration - terms.inertia @ terms.bias + self._D @ rate + self._K @ error
        if phase.held:
            F += self._contact_force(phase, error)
        self._turn_waist()
        return self.efforts(F, terms, position, velocity, self._levels[0])

    def _run_clock(self, step):
        """Time goes on within the phase; not while the wheel lags behind on its studs."""
        phase = self._phases[self._number]
        if phase.name == "push on" and self._lag() > self.task.lead:
            self._searching += step
            if self._searching > 12.0:
                raise WheelError("the wheel does not go onto its studs")
            return
        self._searching = max(0.0, self._searching - 2.0 * step)
        if phase.name == "weigh" and self._clock + step >= phase.duration and not self._risen():
            self.mass += 3.0 * step
            if self.mass > 3.0 * self.task.mass:
                raise WheelError("the wheel does not rise")
            return
        self._clock += step
        if self._clock >= phase.duration:
            self._advance()

    def _lag(self):
        """How far the wheel is behind its reference, towards the hub [m]."""
        axle = self._seat[1][:, 2]
        return float(axle @ (self._wheel[0] - self._reference(self._clock)[0]))

    def _risen(self):
        """The hands press up more and more until the wheel rises a little: it weighs what presses up then."""
        self._height += 0.2 * (self._wheel[0][2] - self._height)
        return self._height - self._mounted[0][2] > 0.3 * self.task.play

    def _see(self, wheel, phase):
        """Take the seen wheel's error out of the reference, and notice a lost wheel."""
        if not phase.held:  # it rests: the mean is better than the last
            self._seen += 1
            (p, R), share = self._wheel, 1.0 / self._seen
            self._wheel = p + share * (wheel[0] - p), exponential(share * turn_from(R, wheel[1])) @ R
            if phase.name == "approach":
                self._mounted = self._wheel
            return
        self._wheel = wheel
        p, R = self._reference(self._clock, offset=False)
        away = wheel[0] - p
        if np.linalg.norm(away) > self.task.lost:
            raise WheelError(f"the wheel is lost: it is {1e3 * np.linalg.norm(away):.0f} mm from its place")
        if phase.tracks:
            gain = self.task.tracking * 0.01
            self._offset = self._offset + gain * np.array([turn_from(wheel[1], R), -away])

    def _reference(self, clock, offset=True):
        """Pose of the wheel that is wanted."""
        phase = self._phases[self._number]
        share = minimum_jerk(clock / phase.duration)
        p, R = between(self._start_pose, self._goal_pose, share, phase.turn)
        if not offset:
            return p, R
        turn, shift = self._offset
        if phase.name == "push on" and self._searching > 0.0:
            wide = self.task.search * min(1.0, self._searching / 6.0)
            x, y, z = self._seat[1].T
            shift = shift + wide * (np.cos(7.0 * self._searching) * x + np.sin(7.0 * self._searching) * y)
            turn = turn + 8.0 * wide * np.sin(2.3 * self._searching) * z
        return p + shift, exponential(turn) @ R

    def _hand_targets(self, clock):
        """Poses of both hands that are wanted."""
        phase = self._phases[self._number]
        if phase.held:
            wheel = self._reference(clock)
            return [compose(wheel, grasp) for grasp in self._grasp]
        share = minimum_jerk(clock / phase.duration)
        return [between(a, b, share) for a, b in zip(self._from_hands, self._to_hands)]

    def _set_impedance(self, inertia, held):
        """K, D and the mass of hands and wheel."""
        task = self.task
        self._mass_matrix, self._K = inertia, self._free
        damped = self._K
        if held:
            self._set_grasp_matrix()
            Gp, P = self._spread, self._internal
            R = self._wheel[1]
            turn, shift = (R @ np.diag(d) @ R.T for d in (task.turning, (task.across, task.across, task.along)))
            K_wheel, M_wheel = np.zeros((2, 6, 6))
            K_wheel[:3, :3], K_wheel[3:, 3:] = turn, shift
            M_wheel[:3, :3], M_wheel[3:, 3:] = R @ np.diag(task.moments) @ R.T, self.mass * np.eye(3)
            line = self._hands[0][0] - self._hands[0][1]
            squeeze = np.concatenate([np.zeros(3), line, np.zeros(3), -line]) / (np.sqrt(2.0) * np.linalg.norm(line))
            keep = np.eye(12) - np.outer(squeeze, squeeze)
            self._K = Gp @ K_wheel @ Gp.T + P @ keep @ self._free @ keep @ P.T
            damped = self._K + task.stiffness * np.outer(squeeze, squeeze)
            self._mass_matrix = inertia + Gp @ M_wheel @ Gp.T
        self._D = self.damping(self._mass_matrix, damped)

    def _set_grasp_matrix(self):
        """G* (12, 6) about the middle of the wheel, G+ (12, 6) and P = 1 - G+ G."""
        p, R = self._wheel
        middle = p + self.task.middle * R[:, 2]
        transposed = np.zeros((12, 6))
        for i, hand in enumerate(self._hands[0]):
            transposed[6 * i : 6 * i + 3, :3] = transposed[6 * i + 3 : 6 * i + 6, 3:] = np.eye(3)
            transposed[6 * i + 3 : 6 * i + 6, :3] = -skew(hand - middle)
        weight = np.tile(np.repeat([0.05**2, 1.0], 3), 2)[:, None]  # the pads' size: their moments are small
        self._grasp_matrix = transposed.T
        self._spread = (weight * transposed) @ np.linalg.inv(transposed.T @ (weight * transposed))
        self._internal = np.eye(12) - self._spread @ self._grasp_matrix

    def _contact_force(self, phase, error):
        """What the hands put on the wheel beyond its impedance: the grip, the weight, the push at the end."""
        grip, load = self._levels
        inwards = np.zeros((2, 6))
        inwards[:, 3:] = grip * self.task.grip * self._hands[1][:, :, 2]
        wrench = self._grasp_matrix @ inwards.ravel()
        carried = np.array([0.0, 0.0, 0.0, 0.0, 0.0, self.mass * GRAVITY])
        if self._weighed:  # hands that let go must not lift a light wheel
            wrench *= min(1.0, 0.8 * carried[5] / max(wrench[5], 1e-9))
        wrench = (1.0 - load) * wrench + load * carried
        if phase.name in ("seat", "hang", "let go"):
            push = minimum_jerk(self._clock / 0.4) if phase.name == "seat" else 0.4 * grip
            wrench[3:] -= self.task.seating_force * push * self._seat[1][:, 2]
        felt = (self._grasp_matrix @ (self._K @ error))[5]
        self._net = felt if self._clock < 0.5 else self._net + 0.005 * (felt - self._net)
        return self._internal @ inwards.ravel() + self._spread @ wrench

    def _turn_waist(self):
        """The waist's posture follows the wheel."""
        if self._turning_joint is None:
            return
        towards = self._reference(self._clock)[0] if self._phases[self._number].held else self._wheel[0]
        self._posture[self._turning_joint] = np.arctan2(towards[1], towards[0])

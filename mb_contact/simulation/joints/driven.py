# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Prescribed motions U(t) of joints and loop closures (J14's driven constraints), and of surfaces.

A driven joint is a gear of ratio 0 whose offset moves; a driven closure has a second frame, or a length, that moves.
Before each step the arrays behind their rows take the target of its end and the mean velocity towards it, so that a
step ends on the path (``core/constraints/driven.py``).  A surface has the speed of its end.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from mb_contact.core.gradients.workspace import ARRIVES, MOVES
from mb_contact.model.motions import Path
from mb_contact.record import read_only

TINY = 1e-4  #: rotation below which its Jacobian is taken to first order [rad]; its second-order part is below 1e-8
VALUES = ("positions", "displacements", "rotations", "lengths", "speeds")  #: of a Motion
MOVING = {"gears": ("offset", "rate"), "closures": ("p_b", "R_b", "length", "motion")}  #: arrays that motions change


class DrivenMotions:
    """The motions of a scene, with the arrays of gears and closures that they change.

    Parameters
    ----------
    context : StepContext
    """

    def __init__(self, context):
        self._context, couplings = context, context.couplings
        self._own = {name: getattr(context.arrays, name) for part in MOVING for name in MOVING[part]}
        for part in MOVING:
            for name in MOVING[part]:
                self._own[name][...] = getattr(getattr(couplings, part), name)
        self.gears, self.closures = (
            getattr(couplings, part)._replace(**{name: read_only(self._own[name]) for name in MOVING[part]})
            for part in MOVING
        )
        self._joints, self._frames, self._surfaces = [], [], []
        surfaces = [entry.name for entry in context.scene.moving_surfaces]
        self.drives = np.zeros(context.N, bool)  #: of the degrees of freedom
        for motion in context.scene.motions:
            paths = {name: Path(motion, getattr(motion, name)) for name in VALUES if len(getattr(motion, name))}
            if motion.joint is not None:
                g = couplings.gear_names.index(motion.joint)
                body = couplings.gears.body_a[g]
                d = context.tree.v_start[body]
                self.drives[d] = True
                self._joints.append((g, d, context.tree.q_start[body], paths.get("positions")))
            elif motion.surface is not None:
                self._surfaces.append((surfaces.index(motion.surface), paths["speeds"]))
            else:
                self._frames.append((couplings.closure_names.index(motion.closure), paths))

    def place(self, time):
        """Targets and rates at a time [s]."""
        self.begin(time, 0.0)

    def begin(self, time, dt):
        """Targets of the end of the step of dt [s] from a time on, and rates that lead there."""
        for joint in self._joints:
            self._drive_joint(*joint, time, dt)
        for c, paths in self._frames:
            self._drive_closure(c, paths, time, dt)
        for i, path in self._surfaces:
            self._context.arrays.belt_speed[i] = path.at(time + dt)

    def aim(self, d, position, velocity):
        """Take a driven degree of freedom off its path: to a position, or at a velocity to the end of its range.

        A position is reached at the speed that comes with it, and without one, or zero, within a control period.
        """
        context, joints, tree = self._context, self._context.joints, self._context.tree
        (here,) = (context.q[i] for _, dof, i, _ in self._joints if dof == d)
        if position is None:
            position = here if velocity == 0.0 else tree.upper[d] if velocity > 0.0 else tree.lower[d]
        elif not velocity:
            velocity = abs(position - here) / context.scene.rates.get("control_period", context.scene.time_step)
        joints.target[d], joints.target_rate[d] = position, velocity

    def led(self):
        """Degrees of freedom that are on their paths."""
        return [d for _, d, _, path in self._joints if path is not None and np.isnan(self._context.joints.target[d])]

    def ways(self, q, dt):
        """How each gear moves its joint in a step of dt [s] from q, as ``core/gradients/workspace.py`` names it."""
        joints, out = self._context.joints, np.zeros(len(self.gears.ratio), np.int64)
        for g, d, i, path in self._joints:
            if not np.isnan(joints.target[d]):
                far = abs(joints.target_rate[d]) * dt
                out[g] = ARRIVES if abs(joints.target[d] - q[i]) < far else MOVES
            elif path is None:
                out[g] = MOVES
        return out

    def save(self):
        """Copies of what changes."""
        return {name: array.copy() for name, array in self._own.items()}

    def carry_over(self, old):
        """Joints and closures that ``old`` (DrivenMotions) drives too go on as it has them."""
        driven = set.intersection(*({m.joint or m.closure for m in one._context.scene.motions} for one in (self, old)))
        mine, theirs = (motions._context.couplings for motions in (self, old))
        pairs = {"gears": (mine.gear_names, theirs.gear_names), "closures": (mine.closure_names, theirs.closure_names)}
        for part, (names, others) in pairs.items():
            for i, name in enumerate(names):
                if name in others and name in driven:
                    for array in MOVING[part]:
                        self._own[array][i] = old._own[array][others.index(name)]

    def restore(self, saved):
        """Back to what ``save`` has copied."""
        for name, array in saved.items():
            self._own[name][...] = array

    def _drive_joint(self, g, d, i, path, time, dt):
        """By its path, or towards what it was asked for since."""
        joints, here = self._context.joints, self._context.q[i]
        offset, rate = self._own["offset"], self._own["rate"]
        if np.isnan(joints.target[d]) and path is not None:
            offset[g], rate[g] = path.at(time + dt), _rate(path, time, dt)
            return
        far = abs(joints.target_rate[d]) * dt
        moved = 0.0 if np.isnan(joints.target[d]) else min(max(joints.target[d] - here, -far), far)
        offset[g], rate[g] = here + moved, moved / dt if dt > 0.0 else 0.0

    def _drive_closure(self, c, paths, time, dt):
        first, own = self._context.couplings.closures, self._own
        axes, motion = first.R_b[c], np.zeros(7)
        if "rotations" in paths:
            before, after = (Rotation.from_rotvec(paths["rotations"].at(t)) for t in (time, time + dt))
            own["R_b"][c] = axes @ after.as_matrix()
            if dt > 0.0:
                motion[:3] = axes @ (after * before.inv()).as_rotvec() / dt
            else:
                motion[:3] = axes @ _angular_velocity(paths["rotations"], time)
        if "displacements" in paths:
            own["p_b"][c] = first.p_b[c] + axes @ paths["displacements"].at(time + dt)
            motion[3:6] = axes @ _rate(paths["displacements"], time, dt)
        if "lengths" in paths:
            own["length"][c] = paths["lengths"].at(time + dt)
            motion[6] = _rate(paths["lengths"], time, dt)
        own["motion"][c] = motion


def _rate(path, time, dt):
    """Mean rate of a path from a time over dt [s]."""
    return (path.at(time + dt) - path.at(time)) / dt if dt > 0.0 else path.rate(time)


def _angular_velocity(path, time):
    """Of a frame whose rotation vector goes along a path: the left Jacobian of the rotation vector times its rate."""
    r, rate = path.at(time), path.rate(time)
    angle = np.linalg.norm(r)
    if angle < TINY:
        return rate + 0.5 * np.cross(r, rate)
    across = np.cross(r, rate)
    bent = (1.0 - np.cos(angle)) / angle**2 * across
    return rate + bent + (angle - np.sin(angle)) / angle**3 * np.cross(r, across)

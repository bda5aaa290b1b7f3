# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Frames of sensors where a step begins, half-way and where it ends, its impulses, and how all of them move."""

from functools import cached_property

import numpy as np

from mb_contact.core.gradients.readings import MOVED, body_rates
from mb_contact.core.gradients.workspace import LED
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.gradients.impacts import Chain
from mb_contact.gradients.motion import cross, displaced, displacement, step_map
from mb_contact.gradients.refusals import has_impacts
from mb_contact.gradients.step import NEAR
from mb_contact.model.model import Frame
from mb_contact.model.scene import Pose
from mb_contact.types import WORLD


class StepEnds:
    """The last step of a simulator behind its derivatives.

    Parameters
    ----------
    simulator : Simulator
    dq, dv : ndarray (N, columns)
        Derivatives of coordinates and velocities behind the step.
    columns : dict of str to slice
    """

    def __init__(self, simulator, dq, dv, columns):
        self._sim, self._c, self._columns = simulator, simulator.context, columns
        self._g, self._dq, self._dv = simulator.differentiator(), dq, dv
        self._dt, self._width = self._c.last.dt, dq.shape[1]

    # --- both ends of the step --------------------------------------------------------------

    @cached_property
    def _start(self):
        """(derivative arrays, their handle, dq, dv) where the step began.

        Under flows, with embedded loops and in steps with impacts at its pose alone.
        """
        if self._g.flow is not None or self._g.embedded is not None or has_impacts(self._c):
            q, v, gravity, _ = self._c.last
            evaluate_inverse_derivatives(self._g.start[1], q, v, np.zeros(self._c.N), gravity)
        return *self._g.start, self._unit("q"), self._unit("v")

    @cached_property
    def _end(self):
        """The same behind it, at the accelerations that an IMU measures."""
        c, (arrays, handle) = self._c, self._g.end
        evaluate_inverse_derivatives(handle, c.q, c.v, self._sim.sensors.accelerations(), c.gravity)
        return arrays, handle, self._dq, self._dv

    @cached_property
    def _middle(self):
        """The same half-way, where flows have their mean wrenches in joints, at the mean acceleration."""
        c, (arrays, handle) = self._c, self._g.middle
        q, v, gravity, dt = c.last
        dq, dv = self._unit("q"), self._unit("v")
        way = displacement(c.tree, q, c.q)
        (by_q, by_way), (half_q, half_way) = step_map(c.tree, way), step_map(c.tree, 0.5 * way)
        moved = half_q @ dq + 0.5 * half_way @ np.linalg.solve(by_way, self._dq - by_q @ dq)
        evaluate_inverse_derivatives(handle, displaced(c.tree, q, 0.5 * way), 0.5 * (v + c.v), (c.v - v) / dt, gravity)
        return arrays, handle, moved, 0.5 * (dv + self._dv)

    @cached_property
    def _mean(self):
        """Where wrenches in joints are taken."""
        return self._start if self._g.flow is None else self._middle

    def _unit(self, name):
        """Derivative (N, columns) of the coordinates or velocities at the start."""
        if self._g.embedded is not None:
            return self._g.embedded.units[name]
        out = np.zeros((self._c.N, self._width))
        if name in self._columns:
            out[:, self._columns[name]] = np.eye(self._c.N)
        return self._followed(out)

    def _followed(self, x):
        """x (..., columns) with joints that follow others by gears put where these have them."""
        gears, start = self._c.couplings.gears, self._c.tree.v_start
        joints = zip(start[gears.body_a], start[gears.body_b], gears.ratio, self._g.arrays.drive, strict=True)
        for a, b, ratio, drive in joints:
            names = ("q", "v") if drive == LED else ("v",)
            for own in (self._columns[name] for name in names if name in self._columns):
                x[..., own.start + b] += ratio * x[..., own.start + a]
                x[..., own.start + a] = 0.0
        return x

    def _frame(self, end, frame):
        """Axes (3, 3) and origin (3,) of a frame on a body, how they turn and shift (3, columns); its body's rates."""
        d, handle, dq, _ = end
        if frame.body == WORLD:
            still = np.zeros((3, self._width))
            return frame.R, frame.p, still, still, None
        rates = np.empty((6, 6, self._c.N))
        body_rates(handle, frame.body, rates)
        R, x = frame.placed(d.kin.R, d.kin.p)
        moved = rates[MOVED] @ dq
        return R, x, moved[:3], self._at(d, frame.body, x, moved), rates

    def _at(self, d, body, x, twists):
        """Velocities (3, columns) of what is at x, of twists (6, columns) about o."""
        return twists[3:] + times(twists[:3], x - d.kin.p[d.tree.root[body]])

    def _mounted(self, link, pose):
        """Frame of a sensor on its body."""
        frame, pose = self._sim.world.frames[link], pose or Pose()
        return Frame(frame.body, frame.R @ pose.rotation(), frame.p + frame.R @ pose.origin())

    # --- impulses ---------------------------------------------------------------------------

    @cached_property
    def _contacts(self):
        """Derivatives of impulses of rows, of contacts on A, of closures and gears on both of their bodies.

        With embedded loops and in steps with impacts those of contacts alone, of impacts behind those of the step.
        """
        if self._g.embedded is not None:
            return None, self._g.embedded.wrenches
        if has_impacts(self._c):
            chain = Chain(self._g, self._columns, NEAR, felt=True)
            chain.run()
            self._start  # noqa: B018 - where the stages have begun, too
            return None, self._followed(np.concatenate(chain.wrenches)), np.concatenate(chain.apart)
        if self._g.flow is not None:
            self._start  # noqa: B018 - at whose poses impulses act
            return tuple(self._followed(x.copy()) for x in self._g.flow.row_impulses())
        return tuple(self._followed(x) for x in self._g.row_impulses(self._width))

    def _sum(self, touch):
        """Wrench about the world's origin (6,) of some contacts of a link, and its derivative [N m s, N s]."""
        moment = (cross(touch.points, touch.impulses) + touch.moments).sum(axis=0)
        by = np.einsum("i,ijc->jc", touch.signs, self._contacts[1][touch.contacts])
        return np.concatenate((moment, touch.impulses.sum(axis=0))), by


def origin_of(body):
    """The frame of a body itself."""
    return Frame(body, np.eye(3), np.zeros(3))


def skew_of(a):
    """The matrix of ``a x``, of one vector: four times as quick as ``gradients.motion.skew``."""
    x, y, z = a.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def times(columns, a):
    """Products of columns (3, columns) with a vector: c x a."""
    return -skew_of(a) @ columns

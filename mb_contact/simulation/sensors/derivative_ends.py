# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Frames of sensors where a step begins, half-way and where it ends, its impulses, and how all of them move."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mb_contact.core.gradients.readings import MOVED, body_rates
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.gradients.impacts import Chain, FlowChain
from mb_contact.gradients.motion import cross, displaced, displacement, step_map
from mb_contact.gradients.refusals import has_impacts
from mb_contact.gradients.step import NEAR
from mb_contact.model.model import Frame
from mb_contact.model.scene import Pose
from mb_contact.types import WORLD


class Felt(NamedTuple):
    """Derivatives of the impulses of a step, those of wrenches about the world's origin, and of its impacts'."""

    rows: Any  #: (R, columns) of rows of the step's own problem
    contacts: Any  #: (k, 6, columns) on A, of impacts behind those of the step
    loops: Any  #: (closures, 2, 6, columns) of the step's own problem, on both bodies
    gears: Any  #: (gears, 2, 6, columns)
    apart: Any  #: (k, 3, 1 + columns) moments that both bodies feel at their own surfaces, then their derivatives
    limits: Any  #: (N, columns) of impacts at joint limits
    all_loops: Any  #: as ``loops``, of impacts too


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

        Under flows and with embedded loops at its pose alone.
        """
        if self._g.flow is not None or self._g.embedded is not None or has_impacts(self._c):
            q, v, gravity, dt = self._c.last
            evaluate_inverse_derivatives(self._g.start[1], q, v, (self._c.v - v) / dt, gravity)
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
        return self._g.fold(x, self._columns)

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
    def _felt(self):
        """Felt of the step; with embedded loops of contacts alone."""
        c, g = self._c, self._g
        if g.embedded is not None:
            return self._quiet(None, g.embedded.wrenches, None, None)
        if has_impacts(c):
            chain = (Chain if g.flow is None else FlowChain)(g, self._columns, NEAR, felt=True)
            chain.run()
            g.arrays.first[:] = g.plan(tuple(self._columns)).first
            self._start  # noqa: B018 - where the stages have begun, too
            ((rows, loops, gears),) = chain.rows
            apart = np.concatenate(chain.apart)
            apart[:, :, 1:] = self._followed(apart[:, :, 1:].copy())
            parts = rows, np.concatenate(chain.wrenches), loops, gears, chain.limits, loops + chain.loops
            rows, wrenches, loops, gears, limits, all_loops = (self._followed(x) for x in parts)
            return Felt(rows, wrenches, loops, gears, apart, limits, all_loops)
        if g.flow is not None:
            self._start  # noqa: B018 - at whose poses impulses act
            return self._quiet(*(self._followed(x.copy()) for x in g.flow.row_impulses()))
        return self._quiet(*(self._followed(x) for x in g.row_impulses(self._width)))

    def _quiet(self, rows, contacts, loops, gears):
        """Felt of a step without impacts."""
        apart, limits = np.zeros((len(contacts), 3, 1 + self._width)), np.zeros((self._c.N, self._width))
        return Felt(rows, contacts, loops, gears, apart, limits, loops)

    def _sum(self, touch):
        """Wrench about the world's origin (6,) of some contacts of a link, and its derivative [N m s, N s]."""
        moment = (cross(touch.points, touch.impulses) + touch.moments).sum(axis=0)
        by = np.einsum("i,ijc->jc", touch.signs, self._felt.contacts[touch.contacts])
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

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational-space quantities of the running simulation, on buffers made once: what controllers subscribe to."""

import numpy as np

from mb_contact.checks import as_choice
from mb_contact.core.step.energy_balance import link_impulses
from mb_contact.core.tree.articulated import free_acceleration
from mb_contact.core.tree.operational import joint_terms, make_operational_work, operational_terms
from mb_contact.dynamics import OperationalSpace, invert_compliance, operational_space
from mb_contact.dynamics.arguments import singular_hinge_message
from mb_contact.dynamics.constrained import ConstraintResponse, DrivenRows, checked_constraints, constrain
from mb_contact.errors import DynamicsError, InputError
from mb_contact.types import OK


class OperationalMonitor:
    """Jacobian, bias, compliance, inertia, mass matrix and nonlinear effects of a world's robots.

    Works on the step's own handle and kinematics, so nothing is computed twice.
    """

    def __init__(self, world, names):
        self._world = world
        self._names = tuple(names)
        self._joints, count = world.joint_v, len(world.joint_v)
        if count and np.array_equal(world.joint_v, world.joint_v[0] + np.arange(count)):  # faster than indices
            self._joints = slice(int(world.joint_v[0]), int(world.joint_v[0]) + count)
        self._response = self._driven = None
        self._S = world.S
        self._none = np.zeros(len(world.joints.rubbing), dtype=bool)  #: no joint is held
        picked = [world.frames[as_choice(name, world.frames, "frame")] for name in names]
        f = len(picked)
        self._work = make_operational_work(
            world.tree.parent.shape[0],
            world.tree.armature.shape[0],
            np.array([frame.body for frame in picked], np.int64),
            np.array([frame.R for frame in picked], float).reshape(f, 3, 3),
            np.array([frame.p for frame in picked], float).reshape(f, 3),
        )

    def operational_space(self, context, constraints, stepped, time):
        """OperationalSpace of the frames at the context's state, at a time [s]; joint damping left out.

        Friction holds the joints that it held in the last step, where one was ``stepped``: pushes that it resists move
        nothing.
        """
        if not self._names:
            raise InputError("frames must name at least one frame")
        held = context.held_joints() if checked_constraints(constraints) == "held" and stepped else self._none
        if constraints == "none" and context.loops:
            alone = operational_space(self._world, context.q, context.v, self._names, constraints)
            return alone._replace(jacobian=self._of_joints(alone.jacobian))
        work = self._work
        status, body = operational_terms(context.handle, work)
        if status != OK:
            raise DynamicsError(singular_hinge_message(self._world, body))
        compliance, bias = work.compliance.copy(), work.bias.copy()
        carried = self._carried(context) if context.parts else None
        if carried is not None:
            bias += work.J @ carried
        if constraints != "none" and (context.couplings.rows or (held is not self._none and held.any())):
            if self._response is None:
                moving = context.motions or context.couplings  # frames and offsets move, threads come off
                couplings = context.couplings._replace(closures=context.closures, gears=moving.gears)
                rubbing = self._world.joints.rubbing
                self._response = ConstraintResponse(couplings, rubbing, context.tree, context.kin, context.art)
                if context.motions is not None:
                    self._driven = DrivenRows(couplings, rubbing, context.tree, context.make_modal())
            rates = 0.0
            if self._driven is not None:
                rates = self._driven.rates(context.motions, context.q, context.v, time)[self._response.rows(held)]
                rates = rates - self._response.at(context.q, held).bias
            rows = self._response.at(context.q, held, carried)
            rows = rows._replace(bias=rows.bias + rates)
            compliance, bias = constrain(rows, work.J, compliance, bias)
        return OperationalSpace(self._names, self._of_joints(work.J), bias, compliance, *invert_compliance(compliance))

    def _of_joints(self, J):
        """Columns of the robots' joints of a Jacobian over all velocities."""
        return J[:, self._joints].copy() if self._S is None else (J @ self._S)[:, self._columns()]

    def _carried(self, context):
        """Accelerations (N,) of a tree with embedded loops whose efforts carry gravity and the velocity products.

        Of the tree alone they would be zero: M a = G* lambda with G a + dG/dt v = 0.
        """
        work, a = self._work, np.zeros(context.N)
        joint_terms(context.handle, work)
        effort, still = work.effort + context.tree.damping * context.v, np.zeros_like(context.kin.V)
        free_acceleration(context.tree, context.kin, context.art, context.gravity, effort, context.v, still, a)
        return a

    def _columns(self):
        """Columns of S that belong to the robots' joints."""
        return np.array([int(np.argmax(self._S[v] == 1.0)) for v in self._world.joint_v], np.int64)

    def joint_space(self, context):
        """Mass matrix (joints, joints) and nonlinear effects (joints,) of the robots' joints."""
        joint_terms(context.handle, self._work)
        if self._S is not None:
            columns, M = self._columns(), self._S.T @ self._work.M @ self._S
            return M[columns[:, None], columns], (self._S.T @ self._work.effort)[columns]
        M, effort = self._work.M[self._joints], self._work.effort[self._joints]
        return M[:, self._joints].copy(), effort.copy()


class LinkImpulses:
    """Contact impulses of a world's links in the last step."""

    def __init__(self, world, links):
        picked = [world.frames[as_choice(link, world.frames, "link")] for link in links]
        anchors = {link: [g for g in sorted(world.anchors) if world.geometry_links[g] == link] for link in links}
        owned = [(g, i) for i, link in enumerate(links) for g in (*world.link_geometries.get(link, ()), *anchors[link])]
        self._pairs, count = np.array(owned, np.int64).reshape(-1, 2), len(picked)
        self._body = np.array([frame.body for frame in picked], np.int64)
        self._R = np.array([frame.R for frame in picked], float).reshape(count, 3, 3)
        self._p = np.array([frame.p for frame in picked], float).reshape(count, 3)
        self._work = np.empty((count, 3, 3)), np.empty((count, 3))

    def __call__(self, context):
        """Angular first, in each link's axes about its origin (links, 6)."""
        total = np.empty((len(self._body), 6))
        link_impulses(context.handle, self._pairs, self._body, self._R, self._p, *self._work, total)
        return total

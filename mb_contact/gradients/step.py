# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of one step by implicit differentiation of the equations that it has solved.

A step of the default integrator solves, with a = (v+ - v) / dt and ID the inverse dynamics,

    dt (ID(q, v, a) + D v+ - f) = J* r,    laws of u = J v+ + offset and r,    q+ = q o exp(dt v+),

D the damping of joints with what springs and servos add to it, f the efforts, springs and servos.  Its derivative is

    A dv+ = J* dr + d(J* r) - dt dID - dt dD v+ + dt df + M dv,    A = M + dt D,

and the laws' (``laws.py``).
"""

from typing import NamedTuple

import numpy as np

from mb_contact.core.handle import DRIVEN
from mb_contact.core.workspace import BOX, BY_EULER, PIECES
from mb_contact.errors import InputError
from mb_contact.gradients.geometry import Geometry
from mb_contact.gradients.laws import refuse_laws, states
from mb_contact.gradients.motion import Layout, cross, skew, step_map
from mb_contact.gradients.rows import step_rows

#: what a step can be differentiated by
NAMES = ("q", "v", "effort", "mass", "friction", "damping", "joint_friction")
NEAR = 1e-7  #: default of what counts as near a kink [sqrt(N s m/s)]
RANK = 1e-9  #: part of the largest singular value below which impulses are not unique


class StepDerivatives(NamedTuple):
    """Derivatives of a step, by the names of what they are by; N degrees of freedom, k contacts.

    Columns: of ``q`` and ``v`` one a degree of freedom, of ``effort`` one a joint, of ``mass`` one a body, of
    ``friction`` one a pair of shapes (``world.geoms.pairs``), of ``damping`` and ``joint_friction`` one a degree of
    freedom.  Changes of q and q+ are those along the velocity coordinates: for joints with quaternions turns about
    world or parent axes.

    Examples
    --------
    >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    >>> _ = sim.step()
    >>> by = sim.step_derivatives(("v", "effort"))
    >>> abs(by.v["v"]).max() < 1e-12, by.v["effort"].shape  # it stays where it is, however it is pushed
    (True, (6, 0))
    """

    q: dict  #: (N, columns) of the new coordinates
    v: dict  #: (N, columns) of the new velocities
    impulses: dict  #: (k, 3, columns) of the impulses of contacts on A, world axes [N s ...]
    kinks: tuple  #: of Kink: laws that are near another state
    unique: bool  #: whether impulses are; otherwise their derivatives are those of least norm


class Differentiator:
    """Derivatives of the steps of a context.

    Parameters
    ----------
    context : StepContext
    """

    def __init__(self, context):
        self.context = self._context = context
        self._layout = Layout(context.tree)
        self._geometry = Geometry(context.world, context.pair_links)

    def derivatives(self, names, near=NEAR):
        """StepDerivatives of the step that was taken last, by some of NAMES."""
        c = self._context
        refuse_step(c)
        q, v, gravity, dt = c.last
        motion = self._layout.at(q, v, c.v, (c.v - v) / dt, gravity)
        rows = step_rows(c, self._geometry, motion)
        A = motion.M + np.diag(c.work.implicit)
        right = {name: getattr(self, f"_by_{name}")(motion, rows, dt) for name in names}
        return self._solve(motion, rows, A, right, dt, near)

    # --- right-hand sides: (db (N, columns), du (m, columns) at v+, {row: columns} of bounds) -------------

    def _by_q(self, motion, rows, dt):
        c = self._context
        stiffness = c.joints.stiffness + np.where(c.joints.saturation == 0.0, c.joints.gain, 0.0)
        db = rows.efforts_q - dt * motion.by_q - dt * np.diag(stiffness)
        if c.work.external.any():
            db += dt * self._external(motion)
        return db, rows.u_q, {}

    def _external(self, motion):
        """Derivative of the efforts of external wrenches, which act at the bodies' origins, by q."""
        external, total = self._context.work.external, np.zeros_like(self._context.work.external)
        out = np.zeros_like(motion.M)
        for k in np.flatnonzero(external.any(axis=1)):
            force, J = external[k, 3:], motion.jacobian(k)
            total[k] = external[k]
            total[k, :3] += cross(motion.p[k], force)
            out -= J[:3].T @ skew(force) @ (J[3:] - skew(motion.p[k]) @ J[:3])
        return out + motion.efforts_by_q(total)

    def _by_v(self, motion, rows, dt):
        return motion.M - dt * motion.by_v, None, {}

    def _by_effort(self, motion, rows, dt):
        c, of = self._context, self._context.world.joint_v
        free = (np.abs(c.effort) <= c.tree.effort_limit) & (c.joints.saturation == 0.0)
        return dt * np.diag(free.astype(float))[:, of], None, {}

    def _by_mass(self, motion, rows, dt):
        return -dt * motion.efforts_by_mass(), None, {}

    def _by_damping(self, motion, rows, dt):
        return -dt * np.diag(self._context.v), None, {}

    def _by_friction(self, motion, rows, dt):
        c = self._context
        columns, bounds = len(c.world.geoms.pairs), {}
        for i in range(int(c.contacts.count[0])):
            bounds[3 * i] = np.eye(columns)[int(c.contacts.pair[i])]
        return np.zeros((c.N, columns)), None, bounds

    def _by_joint_friction(self, motion, rows, dt):
        c, bounds = self._context, {}
        for row, at in enumerate(rows.at):
            if c.rows.law[at] == BOX and c.rows.dof[at] >= 0:
                bounds[row] = dt * np.eye(c.N)[int(c.rows.dof[at])]
        return np.zeros((c.N, c.N)), None, bounds

    # --- the linear system ------------------------------------------------------------------------------

    def _solve(self, motion, rows, A, right, dt, near):
        c, J = self._context, rows.J
        compliance = np.einsum("ij,ji->i", J, np.linalg.solve(A, J.T)) if len(J) else np.zeros(0)
        state = states(c, rows, compliance, near)
        names, N = list(right), len(A)
        widths = [right[name][0].shape[1] for name in names]
        cut = np.cumsum([0, *widths])
        db, du, extra = np.zeros((N, cut[-1])), np.zeros((len(J), cut[-1])), np.zeros((len(J), cut[-1]))
        for name, first, last in zip(names, cut, cut[1:], strict=False):
            by, moved, bounds = right[name]
            db[:, first:last] = by
            if moved is not None:
                du[:, first:last] = moved
            for row, columns in bounds.items():
                _bounds(state, row, columns, c.solution.r[rows.at], extra[:, first:last])
        B, A = J[state.hold].T.copy(), A.copy()
        for of, K in state.soft:
            A += J[of].T @ K @ J[of]
            extra[of] -= K @ du[of]
        db += J.T @ extra
        for column, row in enumerate(state.hold):
            if row in state.slide:
                s, mu = state.slide[row]
                B[:, column] -= mu * s @ J[row + 1 : row + 3]
        dv, dl, unique = solve_held(A, B, J[state.hold], db, -du[state.hold], compliance[state.hold])
        dr = extra
        dr[state.hold] += dl
        for of, K in state.soft:
            dr[of] -= K @ (J[of] @ dv)
        for row, (s, mu) in state.slide.items():
            dr[row + 1 : row + 3] -= mu * np.outer(s, dr[row])
        return self._results(motion, rows, names, cut, dv, dr, dt, state.kinks, unique)

    def _results(self, motion, rows, names, cut, dv, dr, dt, kinks, unique):
        c, tree = self._context, self._context.tree
        by_q, by_step = step_map(tree, dt * c.v)
        dq = dt * by_step @ dv
        count = int(c.contacts.count[0])
        frame = np.stack((c.contacts.normal[:count], c.frames.t1[:count], c.frames.t2[:count]), axis=1)
        dp = np.einsum("kdi,kdc->kic", frame, dr[: 3 * count].reshape(count, 3, dr.shape[1]))
        q, v, impulses = {}, {}, {}
        for name, first, last in zip(names, cut, cut[1:], strict=False):
            q[name], v[name], impulses[name] = dq[:, first:last], dv[:, first:last], dp[:, :, first:last]
            if name == "q":
                q[name] = q[name] + by_q
                p = np.einsum("kdi,kd->ki", frame, c.solution.r[: 3 * count].reshape(count, 3))
                impulses[name] = impulses[name] - skew(p) @ rows.turn
        self._follow(q, v)
        return StepDerivatives(q, v, impulses, kinks, unique)

    def _follow(self, q, v):
        """Joints that follow others by gears are put where these have them, before a step and behind it."""
        tree, gears = self._context.tree, self._context.couplings.gears
        for a, b, ratio in zip(gears.body_a, gears.body_b, gears.ratio, strict=True):
            i, j = tree.v_start[a], tree.v_start[b]
            for by in (q, v):
                for name, matrix in by.items():
                    if name in ("q", "v"):
                        matrix[:, j] += ratio * matrix[:, i]
                        matrix[:, i] = 0.0
                    matrix[i] = ratio * matrix[j]


def _bounds(state, row, columns, r, extra):
    """Impulses by the bound of friction of a contact or a joint that slips, into ``extra``."""
    if row in state.slide:
        s, _ = state.slide[row]
        extra[row + 1 : row + 3] -= r[row] * np.outer(s, columns)
    elif row in state.bound:
        extra[row] += state.bound[row] * columns


def solve_held(A, B, C, db, dg, compliance):
    """(dv, dl, unique) of A dv = db + B dl, C dv = dg; dl of least norm in units of the rows' compliances."""
    free = np.linalg.solve(A, np.concatenate((db, B), axis=1))
    columns = db.shape[1]
    dv, X = free[:, :columns], free[:, columns:]
    if not len(C):
        return dv, np.zeros((0, columns)), True
    scale = 1.0 / np.sqrt(np.maximum(compliance, 1e-300))
    W = scale[:, None] * (C @ X) * scale
    found, _, rank, _ = np.linalg.lstsq(W, scale[:, None] * (dg - C @ dv), rcond=RANK)
    dl = scale[:, None] * found
    return dv + X @ dl, dl, rank == len(C)


def refuse_step(context):
    """InputError where no step was taken, or one whose equations are others."""
    c, scene = context, context.scene
    if c.last is None:
        raise InputError("there is no step to differentiate: take one, and set no state behind it")
    euler = (scene.integrator, scene.collision_scheme) == ("semi_implicit_euler", "time_stepping")
    if not euler:
        raise InputError("derivatives know integrator semi_implicit_euler with collision_scheme time_stepping")
    for has, what in (
        (len(c.world.flexible), "flexible links"), (c.parts, "embedded loops (loops: multipliers has rows)"),
        (len(c.hinges.body), "hinges of body coordinates"), (c.drift[DRIVEN], "motions"),
        (c.surfaces is not None, "surface contacts"), (c.sleep.count.any(), "sleeping bodies"),
        (scene.adhesion_pads, "adhesion pads"), (scene.moving_surfaces, "moving surfaces"),
        (c.is_soft, "soft materials"),
        (scene.tendons, "tendons"),
    ):  # fmt: skip
        if has:
            raise InputError(f"no derivative of a scene with {what}; leave them out")
    if c.work.record[PIECES] > 1 or c.work.record[BY_EULER]:
        raise InputError("no derivative of a step that was taken in pieces; lower the time step")
    if c.impacts is not None and c.impacts.happened:
        raise InputError("no derivative of a step with impacts with restitution; leave restitution out")
    refuse_laws(c)

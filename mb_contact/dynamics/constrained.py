# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational space of a world whose loops, gears and held joints are obeyed, from that of its tree.

With the rows G v = 0 that hold, A = G M^-1 G*, and X = J M^-1 G*,

    Lambda_c = Lambda - X A^+ X*,    bias_c = dJ/dt v - X A^+ dG/dt v,

so that the nodes' accelerations are ``J M^-1 (T - h)`` without ``J M^-1 G* A^+ G M^-1 (T - h)``, plus ``bias_c``, and
Lambda_c f for forces f at the nodes (J14 Eq. 29 with the multipliers eliminated).
"""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import CONSTRAINTS, Floats
from mb_contact.core.constraints.gear import combine_velocities
from mb_contact.core.constraints.response import (
    constraint_response,
    make_response_arrays,
    make_response_handle,
    row_speeds,
)
from mb_contact.core.constraints.rows import row_velocities
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import body_poses, body_velocities
from mb_contact.core.tree_workspace import make_articulated, make_kinematics
from mb_contact.dynamics.inverse import invert_compliance
from mb_contact.errors import InputError
from mb_contact.types import CLOSURE_ROWS

SPAN = 1e-5  #: to either side, over which rates of driven rows are taken [s]
GONE = 1e-11  #: part of a node's compliance in the tree of which rounding is left where a constraint takes all


def checked_constraints(constraints: str, known: tuple[str, ...] = CONSTRAINTS) -> str:
    """``constraints``, if it is one of the ``known``.

    Raises
    ------
    InputError
        It is not.
    """
    if constraints not in known:
        raise InputError(f"constraints is {constraints!r}; it is one of {', '.join(known)}")
    return constraints


class Held(NamedTuple):
    """What m bilateral rows that hold do to accelerations."""

    response: Floats  #: M^-1 G* (m, N), a row for each of G
    inverse: Floats  #: (G M^-1 G*)^+ (m, m)
    bias: Floats  #: dG/dt v (m,)


class ConstraintResponse:
    """The bilateral rows of a world with friction on the joints of the bodies ``rubbing``, at any state."""

    def __init__(self, couplings: Any, rubbing: Any, tree: Any, kin: Any, art: Any) -> None:
        self._gears = len(couplings.gears.ratio)
        m = couplings.rows + len(rubbing)
        self._arrays = make_response_arrays(tree, kin, art, couplings.closures, rubbing, couplings.gears, m)
        self._handle = make_response_handle(self._arrays)

    def rows(self, joints: Any) -> Any:
        """Whether each row holds: those of loops and gears, and of rubbing joints where ``joints`` (f,) says so."""
        closures, holds = self._arrays.closures, np.zeros(len(self._arrays.bias), bool)
        loops = sum(CLOSURE_ROWS[kind] for kind in closures.kind[closures.released == 0])
        holds[: loops + len(self._arrays.rubbing) + self._gears] = True
        holds[loops : loops + len(joints)] = joints
        return holds

    def at(self, q: Floats, joints: Any, carried: Floats | None = None) -> Held:
        """Held at coordinates q (nq,) and what else ``kin`` and ``art`` hold.

        ``carried`` (N,) are accelerations that the tree has without these rows: ``bias`` is dG/dt v + G carried.
        """
        constraint_response(self._handle, q)
        holds, a = self.rows(joints), self._arrays
        if carried is not None:
            body_velocities(a.tree, a.kin, carried, a.impulse)
            row_velocities(a.rows, len(a.u), a.impulse, a.u)
            combine_velocities(a.u, a.bil)
            a.bias[:] += a.u[: len(a.bias)]
        return Held(a.response[holds], invert_compliance(a.compliance[np.ix_(holds, holds)])[0], a.bias[holds])


class DrivenRows:
    """d/dt (G v - U) of the rows of a world, some of which are driven, where the generalised velocities stay.

    It takes the place of dG/dt v in the bias of nodes: G v_dot is minus that.  U, the frames and the lengths of driven
    closures go along splines, so their rates are taken from values before and after, which is as good as SPAN**2.

    Parameters
    ----------
    couplings, rubbing, tree
        As of a ConstraintResponse.
    modal
        Handle of the tree's flexible links, for these rows alone (``make_modal``).
    """

    def __init__(self, couplings: Any, rubbing: Any, tree: Any, modal: Any) -> None:
        n, N, m = len(tree.parent), len(tree.armature), couplings.rows + len(rubbing)
        self._tree, self._kin = tree, make_kinematics(n, N, modal)
        art = make_articulated(n, N)
        self._arrays = make_response_arrays(tree, self._kin, art, couplings.closures, rubbing, couplings.gears, m)
        self._handle, self._U = make_response_handle(self._arrays), np.zeros(m + len(couplings.gears.ratio))

    def rates(self, motions: Any, q: Floats, v: Floats, time: float) -> Floats:
        """Of all rows (m,) at coordinates q (nq,) and velocities v (N,) at a time [s]; ``motions`` stay as they are."""
        saved, speeds = motions.save(), []
        for span in (SPAN, -SPAN):
            there = q.copy()
            integrate_joints(self._tree, v, span, there)
            body_poses(self._tree, there, self._kin)
            body_velocities(self._tree, self._kin, v, self._kin.V)
            motions.place(time + span)
            row_speeds(self._handle, there, self._U)
            speeds.append(self._arrays.u[: len(self._arrays.bias)].copy())
        motions.restore(saved)
        return (speeds[0] - speeds[1]) / (2.0 * SPAN)


def constrain(held: Held, J: Floats, compliance: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """Compliance and bias of nodes with Jacobian J, of which the tree's come in."""
    across = J @ held.response.T
    push = across @ held.inverse
    reduced = compliance - push @ across.T
    left = np.diag(reduced) > GONE * np.diag(compliance)
    reduced *= np.outer(left, left)
    return 0.5 * (reduced + reduced.T), bias - push @ held.bias

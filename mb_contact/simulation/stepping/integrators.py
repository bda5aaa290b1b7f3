# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a step moves the state: a scene's integrator.

``step`` is the whole step in compiled code.  For steps that need more it comes in three calls around the contact
problem: ``free`` finds the velocity that the motion without contacts ends with, ``hold`` moves the state with the
solved impulses as forces, ``conclude`` makes its result the state.  ``advance`` is the bare flow, for schemes that
choose their own steps.
"""

from contextlib import contextmanager
from functools import partial

import numpy as np

from mb_contact.compile.decorated import entry_for
from mb_contact.core.collision.closed_forms import ASKED
from mb_contact.core.handle import ADAPTIVE, EULER, FACE_GAP, FIXED, GAIN_LEFT, GAIN_MOST, MIDPOINT, TWICE
from mb_contact.core.integrate import flow as _flow, flow_step as _flow_step, kept_contacts as _kept
from mb_contact.core.integrate.flow_step import BEGIN
from mb_contact.core.integrate.tableaux import ONE_STAGE, RK4, RK54
from mb_contact.core.step import step as _step
from mb_contact.dynamics.joint_space import mass_matrix
from mb_contact.types import JOINT_FLOATING, OK

RK4_LIMIT = 2.7  #: angular frequency times step up to which Runge's and Kutta's rule is stable, 2.83 without damping

UNLOCKED = 32  #: velocities from which steps release Python's lock
TILTED = 1e-6  #: gap up to which a flow may leave a face that slides and spins tilted [m]


#: rule and tableau of the integrators
RULES = {
    "semi_implicit_euler": (EULER, ONE_STAGE),
    "rk4": (FIXED, RK4),
    "adaptive": (ADAPTIVE, RK54),
    "midpoint": (MIDPOINT, ONE_STAGE),
}
TO_AN_EVENT = FIXED, RK4  #: of semi_implicit_euler, which has none to the time of an event
#: by rule: parts of the energy in motion from which gains are taken out, and steps taken again.  By a turn of phi in a
#: step Euler's energy swings by about phi^2, which is left as it is; of a flow's whatever is more than PASSIVE is not
GAINS = {True: (1e-3, 1e-2), False: (0.0, 1e-3)}


class Integrator:
    """Steps by a rule of ``core/integrate/flow_step.py``: Euler's, or a flow of the smooth motion.

    Parameters
    ----------
    context : StepContext
        Whose ``flow_arrays`` have the rule, and where a flow starts, ``q_start`` and ``v_start``, and ends, ``q_end``
        and ``v_end``; the impulses as forces; and their work.
    """

    def __init__(self, context):
        self._context, self._rule = context, context.flow_arrays.rule
        if not self.is_euler:
            context.settings[FACE_GAP] = TILTED * context.world.units.length
            context.solver[TWICE] = context.scene.collision_scheme != "event"
        self._whole = self._many = None  # loaded or compiled by the first call

    @property
    def is_euler(self):
        """Whether the rule is Euler's."""
        return self._rule[0] == EULER

    @contextmanager
    def by_euler(self):
        """Steps by Euler's rule."""
        rule = int(self._rule[0])
        self._rule[0] = EULER
        try:
            yield
        finally:
            self._rule[0] = rule

    @property
    def lag(self):
        """Of velocities behind positions [steps]."""
        return _flow_step.EULER_LAG if self.is_euler else 0.0

    @property
    def kernel(self):
        """Compiled last of what it needs."""
        return _step.conclude if self.is_euler else _flow_step.conclude_by_flow

    def step(self, handle, stage):
        """The whole step, from BEGIN or behind an engine's answers; returns a status."""
        if self._whole is None:
            self._whole = entry_for(_flow_step.long_step, handle, stage)
        return self._whole(handle, stage)

    def bind(self, handle):
        """``quick_step`` of what the handle has: a function of a step's length and whether efforts are commanded."""
        kernel = _flow_step.quick_step if self._context.N < UNLOCKED else _flow_step.long_quick_step
        return partial(entry_for(kernel, handle, 0.0, False), handle)

    def steps(self, handle, count):
        """Up to ``count`` whole steps, behind the last of which Python is needed; how many."""
        if self._many is None:
            self._many = entry_for(_flow_step.many_steps, handle, count)
        return self._many(handle, count)

    def compile(self, handle):
        """Take a step with each form of the whole step."""
        _flow_step.long_step(handle, BEGIN)
        for kernel in (_flow_step.quick_step, _flow_step.long_quick_step):
            kernel(handle, self._context.dt, False)
        _flow_step.many_steps(handle, 0)

    def ask_engine(self):
        """Witnesses of the pairs that have no closed form, where the step ends."""
        self._context.end_poses.ask_engine()

    def begin(self, handle):
        """Put the start of the flow at the handle's state, with its efforts and without impulses."""
        _flow.begin_flow(handle, self._context.flow)

    def advance(self, handle, dt):
        """Flow for dt [s] from ``q_start``, ``v_start`` to ``q_end``, ``v_end``; returns a status.

        The handle's state and kinematics are left alone; where it takes several steps, the start moves on.
        """
        return _flow_step.advance(handle, self._context.flow, dt)

    def free(self, handle):
        """Velocity after the step without contacts, into the handle's ``work.v_free``; returns a status."""
        return _flow_step.free_motion(handle)

    def saturate(self, handle):
        """Whether servos were taken at their limits, or not, that are otherwise."""
        return _flow_step.saturated(handle)

    def hold(self, handle):
        """A flow again from its start, with the solved impulses as forces; returns a status.

        Euler's new velocity is the settled one.  Where contacts of a flow wander, their problem is solved again, with
        their rows of the end (``kept_contacts.py``).
        """
        if self.is_euler:
            return OK
        context = self._context
        _kept.look_at_end(handle, context.flow, context.ends)
        if context.end_poses.buffers.found[ASKED]:
            self.ask_engine()
        status = context.contact_step.solve_at_end(handle, context.flow, context.ends)
        return status or self.flow_with_impulses(handle)

    def flow_with_impulses(self, handle):
        """The flow of the step with the solved impulses, from its start; returns a status."""
        return _flow_step.flow_with_impulses(handle)

    def conclude(self, handle):
        """Energy balance, report and the new state; returns a status."""
        return _step.conclude(handle) if self.is_euler else _flow_step.conclude_by_flow(handle)


def make_scene_flow(context):
    """(FlowArrays, their handle) of a scene's integrator; Euler's have room for nothing."""
    scene = context.scene
    rule, tableau = RULES[scene.integrator]
    if rule == EULER and scene.collision_scheme == "event":
        rule, tableau = TO_AN_EVENT
    sizes, free, makers = (0, 0, 0), np.zeros(0, np.int64), (lambda: None,) * 2
    if rule != EULER:
        sizes, free = (context.n, context.N, len(context.q)), _free_bodies(context)
        makers = context.make_modal, context.make_aggregates
    return _flow.make_flow(*sizes, rule, tableau, float(scene.integrator_tolerance), free, *makers)


def _free_bodies(context):
    """1 for every body that is a rigid body in free flight and nothing else, int64 (n,)."""
    tree = context.world.tree
    free = (tree.joint_type == JOINT_FLOATING).astype(np.int64)
    free[tree.parent[tree.parent >= 0]] = 0
    for k in np.flatnonzero(free):
        dofs = slice(tree.v_start[k], tree.v_start[k] + 6)
        if tree.armature[dofs].any() or tree.damping[dofs].any():
            free[k] = 0
    for part in context.parts:
        free[part.bodies] = 0
    return free


def _refuse_fast_modes(context):
    """Refuse ``rk4`` where a flexible link vibrates so fast that its steps grow without bound."""
    world, scene = context.world, context.scene
    if scene.integrator != "rk4" or not world.flexible:
        return
    modes = [int(world.tree.v_start[k]) for link in world.flexible for k in link.modes]
    compliance = np.linalg.inv(mass_matrix(world, world.q0))[np.ix_(modes, modes)]
    fastest = np.sqrt(np.abs(np.linalg.eigvals(compliance * world.joints.stiffness[modes])).max())
    message = (
        f"'rk4' is unstable where a flexible link vibrates with {fastest:.3g} rad/s; take a time_step below "
        f"{RK4_LIMIT / fastest:.2g} s, fewer modes, or adaptive or semi_implicit_euler"
    )
    scene.refuse_if(fastest * context.dt > RK4_LIMIT, "integrator", message)


def _has_unresolved_tendons(context):
    """Whether a tendon holds its length, or its spring moves all that there is within a step.

    Energy does not swing by it but is lost.
    """
    tendons = context.scene.tendons
    stiffest = max((np.inf if tendon.held_length is not None else tendon.stiffness for tendon in tendons), default=0.0)
    return stiffest * float(context.scene.time_step) ** 2 > context.tree.mass.sum()


def make_integrator(context):
    """The integrator of a scene.

    Parameters
    ----------
    context : StepContext

    Raises
    ------
    SceneError
        The steps have no use for it.
    """
    scene = context.scene
    if not (context.contact_step.any_integrator or scene.integrator == "semi_implicit_euler"):
        message = f"'{scene.integrator}' needs the usual steps and solver: auto; use semi_implicit_euler here"
        raise scene.error("integrator", message)
    if context.contact_step.integrator is not None:
        return context.contact_step.integrator(context)
    integrator = Integrator(context)
    if not integrator.is_euler:
        _refuse_fast_modes(context)
    left, most = GAINS[integrator.is_euler]
    if integrator.is_euler and _has_unresolved_tendons(context):
        left = 0.0
    in_pieces = context.contact_step.in_pieces
    if not integrator.is_euler or (in_pieces and context.motions is None):  # a driven joint does work that no book has
        context.settings[GAIN_LEFT] = left
        context.settings[GAIN_MOST] = most if in_pieces else context.settings[GAIN_MOST]
    return integrator

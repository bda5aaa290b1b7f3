# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a step moves the state: a scene's integrator.

``step`` is the whole step in compiled code.  For steps that need more it comes in three calls around the contact
problem: ``free`` finds the velocity that the motion without contacts ends with, ``hold`` moves the state with the
solved impulses as forces, ``conclude`` makes its result the state.  ``advance`` is the bare flow, for schemes that
choose their own steps.
"""

from functools import partial

import numpy as np

from mb_contact.compile.decorated import entry_for
from mb_contact.core.collision.closed_forms import ASKED
from mb_contact.core.handle import FACE_GAP, GAIN_LEFT, GAIN_MOST, TWICE
from mb_contact.core.integrate import (
    flow as _flow,
    flow_step as _flow_step,
    held_servos as _held,
    kept_contacts as _kept,
    whole as _whole,
)
from mb_contact.core.integrate.flow_step import BEGIN
from mb_contact.core.integrate.tableaux import ONE_STAGE, RK4, RK54
from mb_contact.core.step import step as _step
from mb_contact.dynamics.joint_space import mass_matrix
from mb_contact.simulation.other_poses import OtherPoses
from mb_contact.types import JOINT_FLOATING, OK

RK4_LIMIT = 2.7  #: angular frequency times step up to which Runge's and Kutta's rule is stable, 2.83 without damping

UNLOCKED = 32  #: velocities from which steps release Python's lock
TILTED = 1e-6  #: gap up to which a flow may leave a face that slides and spins tilted [m]


#: rule and tableau of the integrators with a flow; that of Euler has none to the time of an event
FLOWS = {
    "semi_implicit_euler": (_flow_step.FIXED, RK4),
    "rk4": (_flow_step.FIXED, RK4),
    "adaptive": (_flow_step.ADAPTIVE, RK54),
    "midpoint": (_flow_step.MIDPOINT, ONE_STAGE),
}


class SemiImplicitEuler:
    """v+ = v + dt v_dot(q, v) with implicit damping, then q+ = q o exp(dt v+).

    Parameters
    ----------
    context : StepContext
    """

    kernel = _step.conclude  #: compiled last of what it needs
    lag = 0.5  #: of velocities behind positions [steps]: a free fall keeps E + dt/2 times the power of gravity
    #: parts of the energy in motion from which gains are taken out, and steps taken again: by a turn of phi in a step
    #: Euler's energy swings by about phi^2, which is left as it is
    gains = 1e-3, 1e-2

    def __init__(self, context):
        self._kernel = _whole.euler_step if context.N < UNLOCKED else _whole.long_euler_step
        self._whole = self._many = None  # loaded or compiled by the first call

    @staticmethod
    def compile(handle):
        """Take a step with either form of the whole step."""
        for kernel in (_whole.euler_step, _whole.long_euler_step):
            kernel(handle, False)
        _whole.euler_steps(handle, 0)

    def step(self, handle, stage):
        """The whole step, from BEGIN or behind an engine's answers; returns a status."""
        if self._whole is None:
            self._whole = entry_for(self._kernel, handle, False)
        return self._whole(handle, stage != BEGIN)

    def bind(self, handle):
        """``step`` from BEGIN, without arguments."""
        return partial(entry_for(self._kernel, handle, False), handle, False)

    def steps(self, handle, count):
        """Up to ``count`` whole steps, behind the last of which Python is needed; how many."""
        if self._many is None:
            self._many = entry_for(_whole.euler_steps, handle, count)
        return self._many(handle, count)

    def free(self, handle):
        """Velocity after the step without contacts, into the handle's ``work.v_free``; returns a status."""
        return _step.smooth_dynamics(handle)

    def saturate(self, handle):
        """Whether servos were taken at their limits, or not, that are otherwise."""
        return _step.saturate(handle)

    def hold(self, _handle):
        """Nothing: the settled velocity is the new one."""
        return OK

    def conclude(self, handle):
        """Energy balance, report and the new state; returns a status."""
        return _step.conclude(handle)


class Flow:
    """Steps by a flow of the smooth motion (``core/integrate/flow_step.py``).

    Parameters
    ----------
    context : StepContext
    rule : int
        Which flow.
    tableau : Tableau
        Of a Runge-Kutta method; of others how many stages' rates are kept.
    """

    lag = 0.0
    gains = 0.0, 1e-3  #: see SemiImplicitEuler; whatever is more than ``whole.PASSIVE`` is taken out

    def __init__(self, context, rule, tableau):
        self._context, scene = context, context.scene
        context.settings[FACE_GAP] = TILTED * context.world.units.length
        context.solver[TWICE] = scene.collision_scheme != "event"
        self._end = None  # OtherPoses, made with the first step
        tolerance = float(scene.integrator_tolerance)
        #: q_start, v_start: where the flow of ``advance`` starts; q_end, v_end: where it ends; joint_force,
        #: force_start, force_end: the impulses as forces; work: of efforts, damping, contacts, limits, wrenches
        self.arrays, self.flow = _flow.make_flow(
            context.n, context.N, len(context.q), rule, tableau, tolerance, _free_bodies(context),
            context.make_modal, context.make_aggregates,
        )
        self._kernel = _flow_step.flow_step if context.N < UNLOCKED else _flow_step.long_flow_step
        #: compiled last of what it needs
        self.kernel = _flow_step.free_flow if scene.collision_scheme == "event" else self._kernel
        self._whole = self._many = None

    def step(self, handle, stage):
        """The whole step, from BEGIN or behind an engine's answers; returns a status."""
        handles = self.handles()
        if self._whole is None:
            self._whole = entry_for(self._kernel, handle, *handles, stage)
        return self._whole(handle, *handles, stage)

    def bind(self, handle):
        """``step`` from BEGIN, without arguments."""
        arguments = handle, *self.handles(), BEGIN
        return partial(entry_for(self._kernel, *arguments), *arguments)

    def steps(self, handle, count):
        """Up to ``count`` whole steps, behind the last of which Python is needed; how many."""
        handles = self.handles()
        if self._many is None:
            self._many = entry_for(_flow_step.flow_steps, handle, *handles, count)
        return self._many(handle, *handles, count)

    def handles(self):
        """The flow and the room for where it ends, as kernels take them."""
        return self.flow, self._room_for_end().handle

    def compile(self, handle):
        """Take a step with either form of the whole step."""
        for kernel in (_flow_step.flow_step, _flow_step.long_flow_step):
            kernel(handle, *self.handles(), BEGIN)
        _flow_step.flow_steps(handle, *self.handles(), 0)

    def ask_engine(self):
        """Witnesses of the pairs that have no closed form, where the step ends."""
        self._end.ask_engine()

    def begin(self, handle):
        """Put the start of the flow at the handle's state, with its efforts and without impulses."""
        _flow.begin_flow(handle, self.flow)

    def advance(self, handle, dt):
        """Flow for dt [s] from ``q_start``, ``v_start`` to ``q_end``, ``v_end``; returns a status.

        The handle's state and kinematics are left alone; where it takes several steps, the start moves on.
        """
        return _flow_step.advance(handle, self.flow, dt)

    def free(self, handle):
        """Velocity after the step without contacts, into the handle's ``work.v_free``; returns a status."""
        return _flow_step.free_flow(handle, self.flow)

    def saturate(self, handle):
        """Whether servos were taken at their limits, or not, that are otherwise."""
        return _held.saturate_flow(handle, self.flow)

    def hold(self, handle):
        """The step again from its start, with the solved impulses as forces; returns a status.

        Where its contacts wander, their problem is solved again, with their rows of the end (``kept_contacts.py``).
        """
        end = self._room_for_end()
        _kept.look_at_end(handle, self.flow, end.handle)
        if end.buffers.found[ASKED]:
            end.ask_engine()
        status = self._context.contact_step.solve_at_end(handle, self.flow, end.handle)
        return status or self.flow_with_impulses(handle)

    def flow_with_impulses(self, handle):
        """The flow of the step with the solved impulses, from its start; returns a status."""
        return _flow_step.flow_with_impulses(handle, self.flow)

    def _room_for_end(self):
        """Poses and contacts where the flow ends."""
        if self._end is None or len(self._end.contacts.pair) < self._context.capacity:
            self._end = OtherPoses(self._context, self._context.capacity)
        return self._end

    def conclude(self, handle):
        """Energy balance, report and the new state; returns a status."""
        return _flow.conclude_flow(handle, self.flow)


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
    euler = scene.integrator == "semi_implicit_euler" and scene.collision_scheme != "event"
    if not euler:
        _refuse_fast_modes(context)
    integrator = SemiImplicitEuler(context) if euler else Flow(context, *FLOWS[scene.integrator])
    left, most = integrator.gains
    in_pieces = context.contact_step.in_pieces
    if not euler or (in_pieces and context.motions is None):  # a driven joint does work that no book has
        context.settings[GAIN_LEFT] = left
        context.settings[GAIN_MOST] = most if in_pieces else context.settings[GAIN_MOST]
    return integrator

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a step moves the state: a scene's integrator, in three calls around the contact problem.

``free`` finds the velocity that the motion without contacts ends with, ``hold`` moves the state with the solved
impulses as forces, ``conclude`` makes its result the state.  ``advance`` is the bare flow, for schemes
that choose their own steps.
"""

import numpy as np

from mb_contact.core.collision.closed_forms import ASKED, NEAR
from mb_contact.core.handle import FACE_GAP
from mb_contact.core.integrate import flow as _flow
from mb_contact.core.integrate import kept_contacts as _kept
from mb_contact.core.integrate import midpoint as _midpoint
from mb_contact.core.integrate import runge_kutta as _runge_kutta
from mb_contact.core.integrate.tableaux import RK4, RK54
from mb_contact.core.step import step as _step
from mb_contact.simulation.other_poses import OtherPoses
from mb_contact.types import JOINT_FLOATING, OK

TILTED = 1e-6  #: gap up to which a flow may leave a face that slides and spins tilted [m]


class SemiImplicitEuler:
    """v+ = v + dt v_dot(q, v) with implicit damping, then q+ = q o exp(dt v+)."""

    kernel = _step.conclude  #: compiled last of what it needs
    lag = 0.5  #: of velocities behind positions [steps]: a free fall keeps E + dt/2 times the power of gravity
    removes_gains = False  #: by a turn of phi in a step its energy swings by about phi^2: told, and left as it is

    def free(self, handle):
        """Velocity after the step without contacts, into the handle's ``work.v_free``; returns a status."""
        return _step.smooth_dynamics(handle)

    def hold(self, _handle):
        """Nothing: the settled velocity is the new one."""
        return OK

    def conclude(self, handle):
        """Energy balance, report and the new state."""
        _step.conclude(handle)


class Flow:
    """Steps by a flow of the smooth motion (``core/integrate/flow.py``); the integrators differ in ``advance``.

    Parameters
    ----------
    context : StepContext
    """

    kernel = None  #: compiled last of what it needs
    lag = 0.0
    removes_gains = True  #: what a step gains without work is taken out again
    tableau = None  #: whose stages' rates are kept

    def __init__(self, context):
        n, N, nq, stages = context.n, context.N, len(context.q), len(self.tableau.b) if self.tableau else 1
        self._context = context
        context.settings[FACE_GAP] = TILTED
        self._end = None  # OtherPoses, made with the first step that has candidates
        self._ends_free = False  # whether the end of the flow is that without impulses
        #: q_start, v_start: where the flow of ``advance`` starts; q_end, v_end: where it ends; joint_force,
        #: force_start, force_end: the impulses as forces; work: of efforts, damping, contacts, limits, wrenches
        self.arrays, self.flow = _flow.make_flow(n, N, nq, stages, _free_bodies(context.world.tree))

    def begin(self, handle):
        """Put the start of the flow at the handle's state, with its efforts and without impulses."""
        _flow.begin_flow(handle, self.flow)

    def advance(self, handle, dt):
        """Flow for dt [s] from ``q_start``, ``v_start`` to ``q_end``, ``v_end``; returns a status.

        The handle's state and kinematics are left alone; where it takes several steps, the start moves on.
        """
        raise NotImplementedError

    def free(self, handle):
        """Velocity after the step without contacts, into the handle's ``work.v_free``; returns a status."""
        _flow.begin_free_flow(handle, self.flow)
        self._ends_free = True
        return self.advance(handle, self._context.dt) or _flow.free_velocity(handle, self.flow)

    def hold(self, handle):
        """The step again from its start, with the solved impulses as forces; returns a status.

        Where its contacts wander, their problem is solved again, with their rows of the end (``kept_contacts.py``).
        """
        near = int(self._context.buffers.found[NEAR])
        status = self._solve_at_end(handle, near) if near else OK
        return status or self.flow_with_impulses(handle)

    def _solve_at_end(self, handle, near):
        """The impulses for the rows of the end, where contacts of ``near`` pairs wander; returns a status."""
        context, end = self._context, self._room_for_end()
        count = _kept.look_at_end(handle, self.flow, end.handle, near)
        if count < 0:
            return OK
        self._ends_free = False
        if end.buffers.found[ASKED]:
            end.ask_engine()
        return context.contact_step.complete(handle, _kept.solve_at_end(handle, self.flow, end.handle, count))

    def flow_with_impulses(self, handle):
        """The flow of the step with the solved impulses, from its start; returns a status."""
        if not _kept.hold_impulses(handle, self.flow) and self._ends_free:
            return OK  # nothing acts
        self._ends_free = False
        return self.advance(handle, self._context.dt)

    def _room_for_end(self):
        """Poses and contacts where the flow ends."""
        if self._end is None or len(self._end.contacts.pair) < self._context.capacity:
            self._end = OtherPoses(self._context, self._context.capacity)
        return self._end

    def conclude(self, handle):
        """Energy balance, report and the new state."""
        _flow.conclude_flow(handle, self.flow)


class RungeKutta(Flow):
    """One step of a fixed tableau; joint damping is explicit in its stages."""

    kernel = _runge_kutta.fixed_flow
    tableau = RK4

    def advance(self, handle, dt):
        """See Flow."""
        return _runge_kutta.fixed_flow(handle, self.flow, self.tableau.A, self.tableau.b, dt)


class Adaptive(Flow):
    """Steps of an embedded pair whose error estimate stays below a tolerance, as many as the flow needs."""

    kernel = _runge_kutta.adaptive_flow
    tableau = RK54

    def advance(self, handle, dt):
        """See Flow."""
        t, tolerance = self.tableau, float(self._context.scene.integrator_tolerance)
        return _runge_kutta.adaptive_flow(handle, self.flow, t.A, t.b, t.difference, t.order, tolerance, dt)


class Midpoint(Flow):
    """Implicit midpoint in energy-conserving forms (``core/integrate/midpoint.py``); joint damping is implicit."""

    kernel = _midpoint.midpoint_flow

    def advance(self, handle, dt):
        """See Flow."""
        return _midpoint.midpoint_flow(handle, self.flow, dt)


def _free_bodies(tree):
    """1 for every body that is a rigid body in free flight and nothing else, int64 (n,)."""
    free = (tree.joint_type == JOINT_FLOATING).astype(np.int64)
    free[tree.parent[tree.parent >= 0]] = 0
    for k in np.flatnonzero(free):
        dofs = slice(tree.v_start[k], tree.v_start[k] + 6)
        if tree.armature[dofs].any() or tree.damping[dofs].any():
            free[k] = 0
    return free


def make_integrator(context):
    """The integrator of a scene.

    Parameters
    ----------
    context : StepContext

    Raises
    ------
    SceneError
        The formulation of the steps has no use for it.
    """
    scene = context.scene
    if not (context.contact_step.any_integrator or scene.integrator == "semi_implicit_euler"):
        message = f"'{scene.integrator}' needs formulation: os; use semi_implicit_euler here"
        raise scene.error("integrator", message)
    if scene.integrator == "semi_implicit_euler":  # which has no flow to the time of an event
        return RungeKutta(context) if scene.collision_scheme == "event" else SemiImplicitEuler()
    return {"rk4": RungeKutta, "midpoint": Midpoint, "adaptive": Adaptive}[scene.integrator](context)

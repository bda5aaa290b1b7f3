# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The state of a simulation from step to step: set, reset, saved and restored; its time and its energy balance."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.core.step import closing as _closing
from mb_contact.core.tree.articulated import impulse_response
from mb_contact.core.tree.embedding import LOST, widest_aggregate
from mb_contact.core.workspace import ENERGY_START, WORK_DONE
from mb_contact.dynamics import mass_matrix
from mb_contact.dynamics.arguments import make_unit_quaternions
from mb_contact.errors import InputError
from mb_contact.record import LiveState, State as State
from mb_contact.simulation.context import StepContext
from mb_contact.simulation.stepping.closing import close_loops
from mb_contact.types import CLOSURE_ROWS

ASSEMBLY_TOLERANCE = 1e-13  #: closure error at which closing the loops of the initial state ends [m, rad]
ASSEMBLY_GOOD = 1e-9  #: closure error up to which that has succeeded [m, rad]
ASSEMBLY_LIMIT = 100  #: Gauss-Newton steps
FITTING = 1e-9  #: [rad/s, m/s] by which velocities may miss those that embedded loops allow
NUMBERS = ("step_count", "even_steps", "time_before", "work_done", "energy_start")  #: of a SimulationState


class LastStep(NamedTuple):
    """What the last step started from."""

    q: np.ndarray  #: (nq,)
    v: np.ndarray  #: (N,)
    gravity: np.ndarray  #: (3,) [m/s^2]
    dt: float  #: its length [s]


class SimulationState:
    """The state behind a StepContext, which holds q, v, efforts, warm starts, wrenches and gravity.

    Parameters
    ----------
    context : StepContext

    Attributes
    ----------
    time_step : float
        Length of a step where no other is asked for [s].
    step_count : int
    even_steps, time_before
        Steps of the scene's length since the last of another length, and the time then [s].
    derived : dict
        What queries have computed of the present state.
    record : LiveState
        All of it that the next step depends on.
    """

    def __init__(self, context):
        self.context = context
        self.record = LiveState(context.layout, self, len(context.world.geoms.pairs), self._fingerprint())
        self.time_step = self._length = context.dt
        self.context.last, self.derived = None, {}
        self._assembled = None  # once asked for; by a cached property every attribute took 20 ns more to look up
        self.step_count, self.even_steps, self.time_before = 0, 0, 0.0

    @property
    def work_done(self):
        """Work since the start [J]; settable."""
        return float(self.context.work.sums[WORK_DONE])

    @work_done.setter
    def work_done(self, work):
        self.context.work.sums[WORK_DONE] = work

    @property
    def energy_start(self):
        """Energy at the start [J]; settable."""
        return float(self.context.work.sums[ENERGY_START])

    @energy_start.setter
    def energy_start(self, energy):
        self.context.work.sums[ENERGY_START] = energy

    @property
    def time(self):
        """Simulated time [s]: exactly ``step_count`` times the scene's step as long as none had another length."""
        return self.time_before + self.even_steps * self._length

    def energy(self):
        """Mechanical energy [J]."""
        kinetic, potential = self.context.work.energy.tolist()
        return kinetic + potential

    def finish_steps(self, start, count):
        """Count so many steps, the last of them from the LastStep ``start``; the time at its end."""
        self.step_count += count
        self.context.last, self.context.new_welds = start, False
        if self.derived:
            self.derived = {}
        if start.dt != self._length:
            time = self.time
            for _ in range(count):  # as one by one, to the last bit
                time += start.dt
            self.even_steps, self.time_before = 0, time
            return time
        self.even_steps += count
        return self.time_before + self.even_steps * self._length

    def reset(self):
        """Back to the scene's initial state; time, gravity, warm starts and external wrenches too."""
        context = self.context
        if self._assembled is None:
            self._assembled = self._assemble()
        context.state[:] = context.initial
        context.q[:] = self._assembled
        self.step_count, self.even_steps, self.time_before = 0, 0, 0.0
        context.wrenches.look_again()
        context.last = None
        if context.attachments is not None:
            context.attachments.forget()
        self.refresh()

    def set(self, q, v):
        """Set coordinates q (nq,) and velocities v (N,); see ``Simulator.set_state``."""
        context = self.context
        q = as_vector(q, len(context.q), "q").copy()
        v = as_vector(v, context.N, "v")
        make_unit_quaternions(context.world, q[None])
        before = context.q.copy(), context.v.copy()
        context.q[:], context.v[:] = q, v
        self.refresh()
        if context.parts and not widest_aggregate(context.art.aggregates) <= LOST:
            context.q[:], context.v[:] = before
            self.refresh()
            raise InputError("embedded loops cannot be closed from these coordinates; give some nearer to closed ones")
        self.forget()

    def set_gravity(self, gravity):
        """Change gravity (3,) [m/s^2]; the jump of the potential energy counts as work done."""
        gravity, before = as_vector(gravity, 3, "gravity"), self.energy()
        self.context.gravity[:] = gravity
        self.account_for(before)

    def account_for(self, before):
        """What follows from values that changed; the jump of the energy from ``before`` [J] counts as work done."""
        _closing.refresh(self.context.handle)
        self.derived = {}
        self.work_done += self.energy() - before

    # --- what the record asks for -------------------------------------------------------------

    def _state_vectors(self):
        """The two vectors of the state, with what Python counts."""
        context = self.context
        context.arrays.clock[:], context.arrays.time_before[0] = (self.step_count, self.even_steps), self.time_before
        if context.surfaces is not None:
            context.surfaces.put(context.arrays)
        return context.state, context.contact_state

    def _make_room_for(self, contacts):
        """Larger workspaces."""
        self.context.allocate(contacts)

    def _state_written(self, _index=None):
        """All that follows from a state that was written."""
        context, sums = self.context, self.context.work.sums.copy()
        self.step_count, self.even_steps = context.arrays.clock.tolist()
        self.time_before = float(context.arrays.time_before[0])
        context.wrenches.look_again()
        context.last, self.derived = None, {}
        if context.surfaces is not None:
            context.surfaces.take(context.arrays)
        context.sleepers.go_on()
        self._derive()
        context.work.sums[:] = sums

    def _fingerprint(self):
        """What a saved state is tied to: (what, value) pairs."""
        scene, world = self.context.scene, self.context.world
        own = () if self.context.surfaces is None else self.context.surfaces.fingerprint()
        return (
            ("friction_model", scene.friction_model), ("steps", type(self.context.contact_step).__name__),
            ("integrator", scene.integrator), ("collision_scheme", scene.collision_scheme),
            ("joints", tuple(world.joint_names)), ("links", tuple(sorted(world.frames))),
            ("pairs of shapes", len(world.geoms.pairs)), *own,
        )  # fmt: skip

    def forget(self):
        """Drop warm starts, and what the last step has left to read."""
        memory, work = self.context.memory, self.context.work
        self.context.last = None
        self.context.sleepers.wake()
        for array in (memory.count, memory.unsettled, memory.joint, memory.loop, work.joint_effort, work.geom_impulse):
            array[:] = 0

    def refresh(self):
        """Kinematics and energy of q and v, driven joints and closures on their paths; the energy balance starts here.
        """
        if self.context.motions is not None:
            self.context.motions.place(self.time)
        self.start_balance()

    def start_balance(self):
        """``refresh`` with driven joints and closures where they are."""
        self.context.sleepers.wake()
        self._derive()
        self.derived = {}
        self.work_done, self.energy_start = 0.0, self.energy()

    def _derive(self):
        """Kinematics and energy of q and v."""
        asked = self.context.v.copy()
        _closing.refresh(self.context.handle)
        if self.context.parts and not np.allclose(asked, self.context.v, rtol=0.0, atol=FITTING):
            self._fit(asked)

    def _fit(self, asked):
        """Velocities that embedded loops allow, nearest to those ``asked`` for in the kinetic metric.

        As the first step with multipliers has them: what the impulses of the loops leave, Z (Z* M Z)^-1 Z* M v.
        """
        context, nothing = self.context, np.zeros_like(self.context.kin.V)
        _closing.begin_closing(context.handle)
        momentum, fitted = mass_matrix(context.world, context.q) @ asked, np.zeros(context.N)
        impulse_response(context.tree, context.kin, context.art, nothing, momentum, fitted)
        context.v[:] = fitted
        _closing.refresh(context.handle)

    def _assemble(self):
        """The scene's initial coordinates, moved as little as closes every loop and gear; overwrites q and v."""
        context, world = self.context, self.context.world
        context.q[:], context.v[:] = world.q0, 0.0
        if context.motions is not None:
            context.motions.place(0.0)
        _closing.refresh(context.handle)
        if world.couplings.rows:
            rows = self._with_multipliers()
            error = close_loops(rows.handle, ASSEMBLY_TOLERANCE, ASSEMBLY_LIMIT)
            if not error <= self._most_open:
                raise self._not_assembled(error, rows.loop.error)
            context.q[:] = rows.q
        return context.q.copy()

    @property
    def _most_open(self):
        """What may stay open: embedding leaves out rows that follow from others, so that poses of few digits do."""
        context = self.context
        return LOST if context.parts and not len(context.couplings.closures.kind) else ASSEMBLY_GOOD

    def _with_multipliers(self):
        """A context in which every loop and gear has rows: all coordinates move when they are closed at first."""
        if not self.context.parts:
            return self.context
        rows = replace(self.context.scene, loops="multipliers", integrator="semi_implicit_euler")
        context = StepContext(rows, self.context.world)
        context.allocate()
        _closing.refresh(context.handle)
        return context

    def _not_assembled(self, error, errors):
        """SceneError that names the loop or gear that stays open."""
        closures = self.context.world.couplings.closures
        ends = np.cumsum([CLOSURE_ROWS[kind] for kind in closures.kind])
        worst = int(np.searchsorted(ends, int(np.argmax(np.abs(errors))), side="right"))
        key = f"loop_closures[{worst}]" if worst < len(ends) else "gears"
        message = f"the loops cannot be closed from the initial positions, {error:.3g} m or rad stay open; "
        remedy = "correct its poses, or give joint positions nearer to a closed loop"
        if error <= LOST and not self.context.parts:
            remedy = f"give its poses more digits, or set loops: auto, which takes what stays open by {LOST:g}"
        return self.context.scene.error(key, message + remedy)

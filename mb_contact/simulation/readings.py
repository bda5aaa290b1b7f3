# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a Simulator can be asked between steps: time, settings, coordinates, poses, impulses, wrenches, joint space."""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from mb_contact.checks import Floats, as_choice, as_positive
from mb_contact.core.constraints.bilateral import FIRST
from mb_contact.core.handle import BUDGET, TOLERANCE
from mb_contact.dynamics import OperationalSpace
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.world import World
from mb_contact.simulation.context import StepContext
from mb_contact.simulation.differentiation import Differentiable
from mb_contact.simulation.handling import Handling, pad_wrenches
from mb_contact.simulation.joints.hinges import Hinged
from mb_contact.simulation.kernels.threads import Threads
from mb_contact.simulation.operational import LinkImpulses, OperationalMonitor
from mb_contact.simulation.rebuild import Slots, slots
from mb_contact.simulation.sensors.joint_wrench import JointWrenches, LoopForces
from mb_contact.simulation.sensors.sensors import Sensing
from mb_contact.simulation.sleeping import Resting
from mb_contact.simulation.state import SimulationState
from mb_contact.simulation.tendons import Pulling
from mb_contact.simulation.values import Values
from mb_contact.simulation.warned import Warned


class Readings(Sensing, Threads, Hinged, Resting, Differentiable, Warned, Handling, Pulling, Values):
    """The part of a Simulator that reads its context and state, and changes neither.

    Attributes
    ----------
    context : StepContext
    world : World
    """

    context: StepContext
    world: World
    _state: SimulationState

    @property
    def time(self) -> float:
        """Simulated time: exactly ``step_count * time_step`` as long as no step had another length.

        Returns
        -------
        float
            [s]
        """
        return self._state.time

    @property
    def step_count(self) -> int:
        """Steps since the start.

        Returns
        -------
        int
        """
        return self._state.step_count

    @property
    def time_step(self) -> float:
        """Length of a step where no other is asked for; settable.

        Returns
        -------
        float
            [s]
        """
        return self._state.time_step

    @time_step.setter
    def time_step(self, length: float) -> None:
        self._state.time_step = as_positive(length, "time_step")

    @property
    def gravity(self) -> Floats:
        """Copy of the acceleration of gravity.

        Returns
        -------
        ndarray (3,)
            World axes [m/s^2].
        """
        return self.context.gravity.copy()

    @property
    def newton_budget(self) -> int:
        """Newton steps that an island of bodies may take in each attempt of a step; settable.

        Attempts are with push-out and, where a ray shows itself, without it, and posed by bodies where it was posed by
        nodes; a ray gives an attempt so many steps again.  Islands begin at several starts within one attempt; the
        steps that lead to those of large islands count.  Then the best impulses are used.

        Returns
        -------
        int
        """
        return int(self.context.solver[BUDGET])

    @newton_budget.setter
    def newton_budget(self, steps: float) -> None:
        self.context.solver[BUDGET] = as_positive(np.floor(as_positive(steps, "newton_budget")), "newton_budget")

    @property
    def solver_tolerance(self) -> float:
        """Natural map of every block that a step asks of its solver; settable.

        Returns
        -------
        float
            [sqrt(N s m/s)]
        """
        return float(self.context.solver[TOLERANCE])

    @solver_tolerance.setter
    def solver_tolerance(self, residual: float) -> None:
        self.context.solver[TOLERANCE] = as_positive(residual, "solver_tolerance")

    @property
    def last_formulation(self) -> Any:
        """Solution of the last step of a FormulationStep, else None.

        Returns
        -------
        StepSolution or None
            Of ``mb_contact.studies``.
        """
        return getattr(self.context.contact_step, "last", None)

    @property
    def q(self) -> Floats:
        """Copy of the coordinates.

        Returns
        -------
        ndarray (nq,)
            [rad, m; quaternions x y z w]
        """
        return self.context.q.copy()

    @property
    def v(self) -> Floats:
        """Copy of the velocities.

        Returns
        -------
        ndarray (N,)
            [rad/s, m/s]
        """
        return self.context.v.copy()

    def joint_positions(self) -> Floats:
        """Positions of ``world.joint_names``, a new array.

        Returns
        -------
        ndarray (joints,)
            [rad, m]
        """
        return self.context.q[self.world.joint_q]

    def joint_velocities(self) -> Floats:
        """Velocities of ``world.joint_names``, a new array.

        Returns
        -------
        ndarray (joints,)
            [rad/s, m/s]
        """
        return self.context.v[self.world.joint_v]

    def joint_efforts(self) -> Floats:
        """Efforts of the last step: clamped command, damping, and limit impulses over the step.

        Returns
        -------
        ndarray (joints,)
            [N m, N]
        """
        return self.context.work.joint_effort[self.world.joint_v]

    def follower_state(self) -> tuple[Floats, Floats]:
        """State of ``world.follower_names``, the mimic joints, new arrays.

        Returns
        -------
        positions, velocities : ndarray (followers,)
            [rad, m], [rad/s, m/s]
        """
        return self.context.q[self.world.follower_q], self.context.v[self.world.follower_v]

    def energy(self) -> float:
        """Mechanical energy of the current state.

        Returns
        -------
        float
            [J]
        """
        return self._state.energy()

    def link_pose(self, name: str) -> tuple[Floats, Floats]:
        """World pose of a link or object.

        Parameters
        ----------
        name : str

        Returns
        -------
        position : ndarray (3,)
            [m]
        quaternion : ndarray (4,)
            x y z w.

        Raises
        ------
        InputError
            There is no such link.
        """
        R, p = self._frame(name)
        return p, matrix_to_quat(R)

    def _frame(self, name):
        """Rotation (3, 3) to the world and origin (3,) [m] of a link; InputError where there is none."""
        frames, kin = self.world.frames, self.context.kin
        return frames[as_choice(name, frames, "link")].placed(kin.R, kin.p)

    def object_motion(self, name: str) -> tuple[Floats, Floats]:
        """Motion of a free object in the last step.

        Parameters
        ----------
        name : str

        Returns
        -------
        velocity, acceleration : ndarray (6,)
            Angular first, world axes; the acceleration is the mean over the step [rad/s, m/s; rad/s^2, m/s^2].

        Raises
        ------
        InputError
            There is no such object.
        """
        slot, v, last = self._object_slots(name).v, self.context.v, self.context.last
        return v[slot].copy(), np.zeros(6) if last is None else (v[slot] - last.v[slot]) / last.dt

    def _object_slots(self, name: str) -> Slots:
        """Where the state of a free object stands; InputError where there is none."""
        world = self.world
        return slots(world)[world.body_names[world.objects[as_choice(name, world.objects, "free object")]]]

    def contact_impulse(self, link: str | Sequence[str]) -> Floats:
        """Net contact impulse on a link, or on each of several, in the last step.

        Parameters
        ----------
        link : str or sequence of str

        Returns
        -------
        ndarray (6,) or (links, 6)
            Angular first, in link axes about its origin [N m s, N s].

        Raises
        ------
        InputError
            There is no such link.
        """
        links = (link,) if isinstance(link, str) else tuple(link)
        impulses = self._link_impulses(links)(self.context)
        return impulses[0] if isinstance(link, str) else impulses

    @cached_property
    def _link_impulses(self) -> Callable[[tuple[str, ...]], LinkImpulses]:
        return cache(lambda links: LinkImpulses(self.world, links))

    @cached_property
    def joint_wrenches(self) -> JointWrenches:
        """The joints, movable and fixed, and loop closures that ``joint_wrench`` can be asked for.

        Returns
        -------
        JointWrenches
        """
        return JointWrenches(self.context)

    def joint_wrench(self, joint: str) -> Floats:
        """Mean wrench through a joint of a robot, or a loop closure, in the last step; zero before the first step.

        That which the parent link puts on the child link, a closure's second on its first.  Exact for
        semi_implicit_euler (its part along the axis is the joint's effort, springs and gears apart); second order for
        the other integrators and between the collisions of the event scheme, to first order in a step with one.

        Parameters
        ----------
        joint : str

        Returns
        -------
        ndarray (6,)
            In the child's axes about its origin, moment first [N m, N].

        Raises
        ------
        InputError
            There is no such joint.
        """
        context, last, monitor = self.context, self.context.last, self.joint_wrenches
        monitor.child_link(joint)
        if last is None:
            return np.zeros(6)
        if "joint wrenches" not in self._state.derived:
            exact = context.events is None and context.scene.integrator == "semi_implicit_euler"
            monitor.evaluate((last.q, last.v), (context.q, context.v), last.dt, last.gravity, exact)
            self._state.derived["joint wrenches"] = [*pad_wrenches(context), *monitor.tendons.find()]
        impulses = context.loop_impulses() if context.events is None else context.events.loop_impulse
        if context.impacts is not None:
            impulses = impulses.copy()
            impulses[: len(context.impacts.loop_impulse)] += context.impacts.loop_impulse
        loops = LoopForces(context.rows, int(context.bilateral.info[FIRST]), impulses, context.memory.released)
        if context.attachments is not None:
            monitor.follow(context.attachments)
        external = [*context.wrenches.applied, *self._state.derived["joint wrenches"]]
        return monitor.wrench(joint, context.work.geom_impulse, external, loops)

    def operational_space(self, frames: str | Sequence[str], constraints: str = "loops") -> OperationalSpace:
        """Jacobian, bias, compliance and inertia of stacked frames over the robots' joints (J14 section 8).

        Parameters
        ----------
        frames : str or sequence of str
        constraints : str
            Obeyed beside the tree: "loops", closures, gears, mimics; "held", and joints that friction holds; or "none".

        Returns
        -------
        OperationalSpace
            Columns follow ``world.joint_names``; angular first, world axes at the frame origins.

        Raises
        ------
        InputError
            No frame is named, or one that does not exist; unknown ``constraints``.
        """
        frames = (frames,) if isinstance(frames, str) else tuple(frames)
        stepped = self.context.last is not None
        return self._monitor(frames).operational_space(self.context, constraints, stepped, self.time)

    @cached_property
    def _monitor(self) -> Callable[[tuple[str, ...]], OperationalMonitor]:
        return cache(lambda frames: OperationalMonitor(self.world, frames))

    def mass_matrix(self) -> Floats:
        """Mass matrix of the robots' joints.

        Returns
        -------
        ndarray (joints, joints)
            [kg m^2, kg m, kg]
        """
        return self._joint_space()[0].copy()

    def nonlinear_effects(self) -> Floats:
        """Coriolis, centrifugal and gravity efforts of the robots' joints, without damping.

        Returns
        -------
        ndarray (joints,)
            [N m, N]
        """
        return self._joint_space()[1].copy()

    def _joint_space(self):
        """The mass matrix and the nonlinear effects, computed once a state."""
        derived = self._state.derived
        if "joint space" not in derived:
            derived["joint space"] = self._monitor(()).joint_space(self.context)
        return derived["joint space"]

    @property
    def robot_description(self) -> str:
        """URDF text of the first robot, empty without one.

        Returns
        -------
        str
        """
        return self.world.robot_models[0].urdf if self.world.robot_models else ""

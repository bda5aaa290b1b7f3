# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator: state, step and queries of a scene behind one interface."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_positive, as_vector
from mb_contact.core.handle import BUDGET, ONLY_ROWS, TOLERANCE
from mb_contact.errors import InputError
from mb_contact.model.scene import Scene
from mb_contact.model.scene_yaml import load_scene
from mb_contact.model.world import build_world
from mb_contact.simulation.contact_step import ContactStep
from mb_contact.simulation.context import StepContext
from mb_contact.simulation.events import EventScheme
from mb_contact.simulation.impacts import Impacts, needs_impacts
from mb_contact.simulation.integrators import make_integrator
from mb_contact.simulation.queries import Queries
from mb_contact.simulation.rebuild import carry_over
from mb_contact.simulation.registry import study
from mb_contact.simulation.state import SimulationState
from mb_contact.simulation.step import Stepper
from mb_contact.simulation.warm_up import FirstCompilation, in_cache, is_compiled


class Simulator:
    """Rigid-contact simulation of a scene.

    Parameters
    ----------
    scene : Scene or path
    progress : callable, optional
        Called with one line of text for each stage while kernels are compiled; not when they are cached.
    warm_up : bool
        Compile or load the kernels now; otherwise ``reset`` has to be called before the first step.

    Attributes
    ----------
    world : World
    scene : Scene
    context : StepContext
        The arrays that the steps work on and who works on them, for studies, measurements and tests.
    """

    def __init__(self, scene, progress=None, warm_up=True):
        progress = progress or (lambda _line: None)
        self.scene = scene if isinstance(scene, Scene) else load_scene(scene)
        self.world = build_world(self.scene)
        first = FirstCompilation(progress) if warm_up and not is_compiled() else None
        self.context = context = StepContext(self.scene, self.world)
        context.contact_step = self._make_contact_step()
        context.solver[ONLY_ROWS] = context.contact_step.only_rows
        context.integrator = make_integrator(context)
        if needs_impacts(context):
            context.impacts = self._make_impacts()
        if self.scene.collision_scheme == "event":
            context.events = EventScheme(context)
        context.allocate()
        self._state = SimulationState(context)
        self._stepper, self._queries = Stepper(self._state), Queries(self._state)
        if warm_up:
            self._warm_up(first, progress)

    def _make_contact_step(self):
        """The ContactStep of the scene's formulation."""
        return (ContactStep if self.scene.formulation == "os" else study("FormulationStep"))(self.context)

    def _make_impacts(self):
        """The Impacts of a scene that needs some."""
        return Impacts(self.context)

    def _warm_up(self, first, progress):
        """Compile or load every kernel, and run one step, before time starts."""
        context = self.context
        self.reset()
        if first is not None:
            first.run(context.handle)
            self.reset()
        parts = {
            f"the contact step of formulation {self.scene.formulation}": context.contact_step,
            f"the integrator {self.scene.integrator}": context.integrator,
            "the impact phase": context.impacts,
            "the event scheme": context.events,
        }
        for name, part in parts.items():
            if part is not None and not in_cache(part.kernel):
                progress(f"{name} is compiled too (first run only)")
        if context.impacts is not None:
            context.impacts.warm_up(context.handle)
            self.reset()
        if len(self.world.joint_names):
            self.mass_matrix()
            self.operational_space(next(iter(self.world.frames)))
        self.step()
        self.reset()

    # --- state ------------------------------------------------------------------------------

    def reset(self):
        """Back to the scene's initial state; time, gravity, warm starts and external wrenches too."""
        self._state.reset()

    def set_state(self, q, v):
        """Set coordinates q (nq,) and velocities v (N,); time goes on, warm starts are dropped.

        Quaternions are normalised, and joints that follow others are put where these have them.

        Raises
        ------
        InputError
            Wrong size, not finite, or a zero quaternion; the state is left as it was.
        """
        self._state.set(q, v)

    def save(self):
        """Copy of the whole state; ``restore`` continues from it bit for bit."""
        return self._state.save()

    def restore(self, state):
        """Continue from a saved state of the same scene.

        Raises
        ------
        InputError
            Not a State, or one of a scene with other joints, links or shapes, or with another friction model,
            formulation, integrator or collision scheme; nothing has changed.
        """
        self._state.restore(state)

    def rebuilt(self, scene):
        """Another Simulator of ``scene``, which has other objects or robots, going on from this one's state and time.

        What both scenes have, by the names of links, keeps its state, warm starts included; what is new begins as its
        scene says.  This simulator is left as it is.

        Raises
        ------
        InputError
            A method of the simulation is another.
        SceneError, ModelError
            The new scene is impossible.
        """
        new = Simulator(scene, warm_up=False)
        for key in ("time_step", "formulation", "friction_model", "integrator", "collision_scheme"):
            if getattr(new.scene, key) != getattr(self.scene, key):
                raise InputError(f"rebuilt needs a scene with the same {key}")
        new.reset()
        carry_over(self._state, new._state)
        return new

    def set_object(self, name, pose=None, velocity=None):
        """Put a free object somewhere else; the others keep their state, and time goes on.

        Parameters
        ----------
        name : str
        pose : (position (3,), quaternion x y z w (4,)), optional
            As it is where left out.
        velocity : (6,), optional
            Angular first, of the origin, world axes; as it is where left out.

        Raises
        ------
        InputError
            No free object of this name, or impossible numbers; nothing has changed.
        """
        slot = self._queries.object_slots(name)
        q, v = self.q, self.v
        if pose is not None:
            q[slot.q] = np.concatenate((as_vector(pose[0], 3, "position"), as_vector(pose[1], 4, "quaternion")))
        if velocity is not None:
            v[slot.v] = as_vector(velocity, 6, "velocity")
        self.set_state(q, v)

    def set_gravity(self, gravity):
        """Change gravity (3,) [m/s^2] from now on; the jump of the potential energy counts as work done.

        Raises
        ------
        InputError
            Not three finite numbers; nothing has changed.
        """
        self._state.set_gravity(gravity)

    def set_external_wrench(self, link, wrench, duration=None, axes="world"):
        """Push a link from the next step on.

        Parameters
        ----------
        link : str
            A link of a robot or an object that can move.
        wrench : (6,) or None
            Moment and force about the link's origin [N m, N]; replaces the one before, and None ends it.
        duration : float, optional
            Simulated time for which it acts [s]; until replaced if left out.
        axes : str
            Axes of the wrench: ``world``, or ``link``, with which it turns.

        Raises
        ------
        InputError
            No such link, one that cannot move, or impossible numbers; nothing has changed.
        """
        self.context.wrenches.hold(link, wrench, axes, self.time, duration)

    @property
    def time(self):
        """Simulated time [s]: exactly ``step_count * time_step`` as long as no step had another length."""
        return self._state.time

    @property
    def step_count(self):
        """Steps since the start."""
        return self._state.step_count

    @property
    def time_step(self):
        """Length of a step where no other is asked for [s]; settable."""
        return self._state.time_step

    @time_step.setter
    def time_step(self, length):
        self._state.time_step = length

    @property
    def gravity(self):
        """Copy of the acceleration of gravity (3,) [m/s^2]."""
        return self.context.gravity.copy()

    @property
    def newton_budget(self):
        """Newton steps that an island of bodies may take in a step; then its best impulses are used."""
        return int(self.context.solver[BUDGET])

    @newton_budget.setter
    def newton_budget(self, steps):
        self.context.solver[BUDGET] = as_positive(np.floor(as_positive(steps, "newton_budget")), "newton_budget")

    @property
    def solver_tolerance(self):
        """Natural map of every block that a step asks of its solver [sqrt(N s m/s)]."""
        return float(self.context.solver[TOLERANCE])

    @solver_tolerance.setter
    def solver_tolerance(self, residual):
        self.context.solver[TOLERANCE] = as_positive(residual, "solver_tolerance")

    # --- stepping -----------------------------------------------------------------------------

    def step(self, effort=None, time_step=None):
        """Advance by one time step.

        Parameters
        ----------
        effort : (joints,), optional
            Efforts of ``world.joint_names`` [N m, N]; zero if left out, clamped to the limits.
        time_step : float, optional
            Length of this step [s]; ``self.time_step`` if left out.

        Returns
        -------
        Step

        Raises
        ------
        InputError
            The efforts have the wrong length or are not finite, or the step is not above zero; nothing has changed.
        DynamicsError
            A hinge carries no inertia, or the state runs away (``runaway.py``); the state has not changed.
        """
        dt = self.time_step if time_step is None else as_positive(time_step, "time_step")
        command = 0.0 if effort is None else as_vector(effort, len(self.world.joint_names), "effort")
        return self._stepper.step(dt, command)

    def contact_problem(self):
        """The contact problem that the last step solved, for study (J14 Eq. 53)."""
        if self._state.last is None:
            raise InputError("there is no contact problem yet: take a step first")
        model = self.scene.friction_model
        if model in ("no_slip", "viscous"):
            raise InputError(f"a step with friction_model {model} has no polyhedral contact problem")
        return study("posed_contact_problem")(self.context)

    @property
    def last_formulation(self):
        """StepSolution of the last step under another ``formulation`` than ``os``, else None."""
        return getattr(self.context.contact_step, "last", None)

    # --- queries --------------------------------------------------------------------------------

    @property
    def q(self):
        """Copy of the coordinates (nq,)."""
        return self.context.q.copy()

    @property
    def v(self):
        """Copy of the velocities (N,)."""
        return self.context.v.copy()

    def joint_positions(self):
        """Positions of ``world.joint_names`` [rad, m], a new array."""
        return self.context.q[self.world.joint_q]

    def joint_velocities(self):
        """Velocities of ``world.joint_names`` [rad/s, m/s], a new array."""
        return self.context.v[self.world.joint_v]

    def joint_efforts(self):
        """Efforts of the last step: clamped command, damping, and limit impulses over the step [N m, N]."""
        return self.context.work.joint_effort[self.world.joint_v]

    def follower_state(self):
        """Positions [rad, m] and velocities [rad/s, m/s] of ``world.follower_names``, the mimic joints, new arrays."""
        return self.context.q[self.world.follower_q], self.context.v[self.world.follower_v]

    def energy(self):
        """Mechanical energy of the current state [J]."""
        return self._state.energy()

    def link_pose(self, name):
        """World pose of a link or object: position (3,) [m] and quaternion x y z w (4,)."""
        return self._queries.link_pose(name)

    def object_motion(self, name):
        """Velocity (6,) and mean acceleration (6,) in the last step of a free object, angular first, world axes."""
        return self._queries.object_motion(name)

    def contact_impulse(self, link):
        """Net contact impulse (6,) on a link in the last step, angular first, in link axes about its origin."""
        return self._queries.contact_impulse(link)

    @property
    def joint_wrenches(self):
        """JointWrenches: the joints, movable and fixed, that ``joint_wrench`` can be asked for."""
        return self._queries.joint_wrenches

    def joint_wrench(self, joint):
        """Mean wrench (6,) [N m, N] through a joint of a robot in the last step; zero before the first step.

        That which the parent link puts on the child link, in the child's axes about its origin, moment first.  Exact
        for semi_implicit_euler, where its part along the axis is the joint's effort; to second order in the time step
        for the other integrators and between the collisions of the event scheme, to first order in a step with one.

        Raises
        ------
        InputError
            There is no such joint.
        """
        return self._queries.joint_wrench(joint)

    def operational_space(self, frames):
        """Jacobian, bias, compliance and inertia of stacked frames over the robots' joints.

        Parameters
        ----------
        frames : sequence of str

        Returns
        -------
        OperationalSpace
            Columns follow ``world.joint_names``; angular first, world axes at the frame origins.

        Raises
        ------
        InputError
            No frame is named, or one that does not exist.
        """
        return self._queries.operational_space(frames)

    def mass_matrix(self):
        """Mass matrix of the robots' joints (joints, joints)."""
        return self._queries.joint_space()[0]

    def nonlinear_effects(self):
        """Coriolis, centrifugal and gravity efforts of the robots' joints, without damping (joints,)."""
        return self._queries.joint_space()[1]

    @property
    def robot_description(self):
        """URDF text of the first robot, empty without one."""
        return self.world.robot_models[0].urdf if self.world.robot_models else ""

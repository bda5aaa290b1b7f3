# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator: state, step and readings of a scene behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mb_contact.checks import as_vector
from mb_contact.core.handle import BUDGET, ONLY_ROWS, TIED, TOLERANCE
from mb_contact.errors import InputError
from mb_contact.lazy import imported
from mb_contact.model.scene import Scene, load_scene
from mb_contact.model.world import build_world
from mb_contact.record import Recorded
from mb_contact.simulation.context import StepContext
from mb_contact.simulation.joints.joint_requests import ask_servos, placed
from mb_contact.simulation.kernels.warm_up import compile_parts, compile_step, is_compiled
from mb_contact.simulation.readings import Readings
from mb_contact.simulation.rebuild import carry_over
from mb_contact.simulation.results import Step
from mb_contact.simulation.state import SimulationState
from mb_contact.simulation.stepping.contact_step import ContactStep, refuse_beyond_studies, usual_step
from mb_contact.simulation.stepping.events import EventScheme
from mb_contact.simulation.stepping.impact_needs import needs_impacts
from mb_contact.simulation.stepping.impacts import Impacts
from mb_contact.simulation.stepping.integrators import make_integrator
from mb_contact.simulation.stepping.step import Stepper
from mb_contact.simulation.values import set_again


class Simulator(Readings, Recorded):
    """Rigid-contact simulation of a scene.

    Parameters
    ----------
    scene : Scene or path
    progress : callable, optional
        Called with one line of text for each stage while kernels are compiled; not when they are cached.
    warm_up : bool
        Compile or load the kernels now; otherwise ``reset`` has to be called before the first step.
    step : callable, optional
        Makes the ContactStep of a StepContext, in the place of the usual one (docs/formulations.md).
    packages : sequence of path
        Folders that hold ROS packages or are some, for ``package://`` addresses; they count before the scene's own.

    Attributes
    ----------
    world : World
    scene : Scene
    context : StepContext
        The arrays that the steps work on and who works on them, for studies, measurements and tests.

    Examples
    --------
    >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    >>> step = sim.step(steps=10)
    >>> sim.time, sim.step_count, sim.time_step, sim.gravity
    (0.01, 10, 0.001, array([ 0., 0., -9.81]))
    >>> weight = sim.contact_impulse("box")[5] / sim.time_step
    >>> np.isclose(weight, 9.81 * sim.world.tree.mass[0])
    True
    >>> position, quaternion = sim.link_pose("box")
    >>> sim.set_object("box", pose=((0.0, 0.0, 2.0), (0.0, 0.0, 0.0, 1.0)), velocity=[0, 0, 0, 1.0, 0, 0])
    >>> sim.object_motion("box")[0], sim.q[:3]
    (array([0., 0., 0., 1., 0., 0.]), array([0., 0., 2.]))
    >>> sim.set_gravity([0.0, 0.0, 0.0])
    >>> sim.set_external_wrench("box", [0, 0, 0, 0, 2.0, 0], duration=0.001)
    >>> problem = sim.step() and sim.contact_problem()
    >>> len(problem.mu), np.isclose(sim.v[4], 0.002 / sim.world.tree.mass[0])  # nothing touches; the push counts
    (0, True)
    >>> sim.newton_budget, sim.solver_tolerance, sim.last_formulation is None, sim.released_threads
    (600, 1e-10, True, ())

    A robot:

    >>> arm = mb.Simulator(mb.pendulum(2, length=2.0, angle=0.0, rate=0.0).scene())
    >>> start = arm.save()
    >>> _ = arm.step([1.0, 0.0])
    >>> arm.joint_positions().shape, arm.joint_velocities()[0] > 0.0, arm.joint_efforts()
    ((2,), True, array([1., 0.]))
    >>> np.allclose(arm.mass_matrix(), [[2.7, 0.85], [0.85, 0.35]], atol=1e-6), arm.nonlinear_effects().shape
    (True, (2,))
    >>> arm.operational_space(["link_1"]).jacobian.shape, arm.joint_wrench("hinge_0").shape, len(arm.follower_state())
    ((6, 2), (6,), 2)
    >>> arm.restore(start)
    >>> len(arm.state) == len(start)
    True
    >>> arm.set_state([0.0, np.pi / 2], [0.0, 0.0])
    >>> arm.q, arm.v, np.isclose(arm.energy(), 9.8 * (9.5 + 9.0))
    (array([0., 1.57079633]), array([0., 0.]), True)
    >>> arm.set_joints(["hinge_1"], positions=[0.5])
    >>> servo = {"hinge_1": mb.model.Actuator("position", stiffness=1e6, damping=10.0)}
    >>> driven = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(mb.pendulum(2).urdf(), actuators=servo),)))
    >>> driven.set_targets(["hinge_1"], positions=[0.001])
    >>> driven.servos()
    (array([False,  True]), array([False,  True]))
    >>> arm.robot_description[:6], "hinge_0" in arm.joint_wrenches.names
    ('<robot', True)
    >>> arm.reset()
    >>> arm.rebuilt(arm.scene).time
    0.0
    """

    _make_world, _make_impacts, _make_contact_step = staticmethod(build_world), Impacts, staticmethod(usual_step)
    _surfaces: Any = None  #: TreePart of a scene with surface contacts
    can_rebuild = True  #: whether ``rebuilt`` takes scenes with other bodies

    def __init__(
        self,
        scene: Scene | str | Path,
        progress: Callable[[str], Any] | None = None,
        warm_up: bool = True,
        step: Callable[[StepContext], ContactStep] | None = None,
        packages: Sequence[str | Path] = (),
    ) -> None:
        self._given_step, progress = step, progress or (lambda _line: None)
        self.scene = _with_packages(scene, packages)
        self._made = Simulator, (self.scene, None, True, step)
        if step is not None:
            refuse_beyond_studies(self.scene)
        self.world = self._make_world(self.scene)
        if warm_up and not is_compiled():
            compile_step(progress)
        self.context = context = StepContext(self.scene, self.world, self._surfaces)
        context.contact_step = (step or self._make_contact_step)(context)
        context.solver[[ONLY_ROWS, TIED]] = context.contact_step.only_rows, context.contact_step.ties_rows
        context.integrator = make_integrator(context)
        if needs_impacts(context):
            context.impacts = self._make_impacts(context)
            context.impact[:] = context.impacts.rule
        if self.scene.collision_scheme == "event":
            context.events = EventScheme(context)
        context.allocate()
        self._state = SimulationState(context)
        self._stepper, self._record = Stepper(self._state), self._state.record
        self.reset()
        if warm_up:
            self._warm_up(progress)

    def _warm_up(self, progress):
        """Compile or load every kernel, and run one step, before time starts."""
        context = self.context
        compile_parts(context, progress)
        context.contact_step.warm_up(context.handle)
        self.reset()
        if len(self.world.joint_names):
            self.mass_matrix()
            self.operational_space(next(iter(self.world.frames)))
        self.step()
        self.reset()

    def _was_set(self):
        context = self.context
        return context.changed, context.solver[[TOLERANCE, BUDGET]], self.time_step

    def _take_over(self, changed):
        values, self.context.solver[[TOLERANCE, BUDGET]], self.time_step = changed
        set_again(self, values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.scene!r}, joints={len(self.world.joint_names)}, time={self.time:g})"

    # --- state ------------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the scene's initial state; time, gravity, warm starts and external wrenches too."""
        self._state.reset()

    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Set coordinates and velocities; time goes on, warm starts are dropped.

        Quaternions are normalised, and joints that follow others are put where these have them.

        Parameters
        ----------
        q : array_like (nq,)
            [rad, m; quaternions x y z w]
        v : array_like (N,)
            [rad/s, m/s]

        Raises
        ------
        InputError
            Wrong size, not finite, or a zero quaternion; the state is left as it was.
        """
        self._state.set(q, v)

    def rebuilt(self, scene: Scene | str | Path) -> Simulator:
        """Another Simulator of a scene with other objects or robots, going on from this one's state and time.

        What both scenes have, by the names of links, keeps its state, warm starts included, and values that were set;
        what is new begins as its scene says.  This simulator is left as it is.

        Parameters
        ----------
        scene : Scene or path

        Returns
        -------
        Simulator

        Raises
        ------
        InputError
            A method of the simulation is another.
        SceneError, ModelError
            The new scene is impossible.
        """
        new = Simulator(scene, warm_up=False, step=self._given_step)
        if new.scene.sensors:
            _ = new.sensors  # which may be impossible
        for key in ("time_step", "friction_model", "integrator", "collision_scheme"):
            if getattr(new.scene, key) != getattr(self.scene, key):
                raise InputError(f"rebuilt needs a scene with the same {key}")
        set_again(new, self.context.changed)
        carry_over(self._state, new._state)
        return new

    def set_object(
        self,
        name: str,
        pose: tuple[ArrayLike, ArrayLike] | None = None,
        velocity: ArrayLike | None = None,
    ) -> None:
        """Put a free object somewhere else; the others keep their state, and time goes on.

        Parameters
        ----------
        name : str
        pose : (position (3,) [m], quaternion x y z w (4,)), optional
            World; as it is where left out.
        velocity : array_like (6,), optional
            Angular first, of the origin, world axes [rad/s, m/s]; as it is where left out.

        Raises
        ------
        InputError
            No free object of this name, or impossible numbers; nothing has changed.
        """
        slot = self._object_slots(name)
        q, v = self.q, self.v
        if pose is not None:
            if len(pose) != 2:
                raise InputError(f"the pose of '{name}' must be (position (3,), quaternion x y z w (4,))")
            q[slot.q] = np.concatenate((as_vector(pose[0], 3, "position"), as_vector(pose[1], 4, "quaternion")))
        if velocity is not None:
            v[slot.v] = as_vector(velocity, 6, "velocity")
        self.set_state(q, v)

    def set_joints(
        self, names: Sequence[str], positions: ArrayLike | None = None, velocities: ArrayLike | None = None
    ) -> None:
        """Put joints of robots somewhere else; the others keep their state, and time goes on.

        Parameters
        ----------
        names : sequence of str
            Some of ``world.joint_names``.
        positions : array_like (names,), optional
            Within the joints' limits [rad, m]; as they are where left out.
        velocities : array_like (names,), optional
            [rad/s, m/s]; as they are where left out.

        Raises
        ------
        InputError
            No such joint, or impossible numbers; nothing has changed.
        """
        self.set_state(*placed(self.context, names, positions, velocities))

    def set_targets(
        self, names: Sequence[str], positions: ArrayLike | None = None, velocities: ArrayLike | None = None
    ) -> None:
        """Ask actuators and drives of joints for positions and velocities, from the next step until asked anew.

        Parameters
        ----------
        names : sequence of str
            Joints with a position or velocity actuator (positions with a position actuator), or with a motion: these
            leave their paths, for a position within a control period or at the speed that comes with it.
        positions : array_like (names,), optional
            [rad, m]; as they were where left out, in the beginning the joints' own.
        velocities : array_like (names,), optional
            [rad/s, m/s]; as they were where left out, in the beginning zero.

        Raises
        ------
        InputError
            No such joint or actuator, or impossible numbers; nothing has changed.
        """
        ask_servos(self.context, names, positions, velocities)

    def servos(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of ``world.joint_names`` can be asked for a position, and which for a velocity.

        Returns
        -------
        two ndarray (joints,) of bool
        """
        joints, of, motions = self.context.joints, self.world.joint_v, self.context.motions
        driven = False if motions is None else motions.drives[of]
        return (joints.gain[of] > 0.0) | driven, (joints.rate_gain[of] > 0.0) | driven

    def set_gravity(self, gravity: ArrayLike) -> None:
        """Change gravity from now on; the jump of the potential energy counts as work done.

        Parameters
        ----------
        gravity : array_like (3,)
            World axes [m/s^2].

        Raises
        ------
        InputError
            Not three finite numbers; nothing has changed.
        """
        self._state.set_gravity(gravity)

    def set_external_wrench(
        self, link: str, wrench: ArrayLike | None, duration: float | None = None, axes: str = "world"
    ) -> None:
        """Push a link from the next step on.

        Parameters
        ----------
        link : str
            A link of a robot or an object that can move.
        wrench : array_like (6,) or None
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

    # --- stepping -----------------------------------------------------------------------------

    def step(self, effort: ArrayLike | None = None, time_step: float | None = None, steps: int = 1) -> Step:
        """Advance by one time step, or by several under the same efforts.

        Parameters
        ----------
        effort : array_like (joints,), optional
            Of ``world.joint_names``, in body coordinates ``hinge_names`` [N m, N]; zero if left out, clamped to limits.
        time_step : float, optional
            Length of a step [s]; ``self.time_step`` if left out.
        steps : int
            How many, with the bits of one by one; in compiled code without Python's lock (docs/performance.md).

        Returns
        -------
        Step
            The last one; its ``events`` are those of all.

        Raises
        ------
        InputError
            Efforts of another length or not finite, a step that is not above zero, or no steps; nothing has changed.
        DynamicsError
            A hinge carries no inertia, or the velocity is not finite; the state is that before the step that
            failed.
        """
        return self._stepper.step(time_step, effort, steps)

    def contact_problem(self) -> Any:
        """The contact problem that the last step solved, for study (J14 Eq. 53): all rows whose law is no equation.

        Returns
        -------
        ContactProblem
            Of ``mb_contact.studies`` [m/s, N s].

        Raises
        ------
        InputError
            No step was taken yet, or the friction model has no polyhedral contact problem.
        """
        if self.context.last is None:
            raise InputError("there is no contact problem yet: take a step first")
        if (model := self.scene.friction_model) in ("no_slip", "viscous"):
            raise InputError(f"a step with friction_model {model} has no polyhedral contact problem")
        return imported("mb_contact.studies.running_scene.posed_contact_problem")(self.context)


def _with_packages(scene, packages):
    """The scene of a Simulator's arguments."""
    if not isinstance(scene, Scene):
        return load_scene(scene, packages)
    given = tuple(str(Path(folder).expanduser().absolute()) for folder in packages)
    return replace(scene, packages=given + tuple(scene.packages)) if given else scene

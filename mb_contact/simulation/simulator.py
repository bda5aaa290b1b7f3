# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator: detect, assemble, solve, integrate; compiled stages around the narrow phase."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_positive, as_vector
from mb_contact.collision import make_buffers, make_contacts, make_narrow_phase
from mb_contact.core import workspace as _workspace
from mb_contact.core.constraints.bilateral import COUNT, FIRST, make_bilateral_work
from mb_contact.core.constraints.loop_rows import make_loop_work
from mb_contact.core.handle import make_step_handle
from mb_contact.core.solve import assemble as _assemble
from mb_contact.core.solve.system import make_factors, make_system, make_system_handle
from mb_contact.core.step import step as _step
from mb_contact.core.step.closing import make_closing_work
from mb_contact.dynamics.arguments import singular_hinge_message, zero_quaternion_message
from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.pairs import PairLinks
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.scene import Scene
from mb_contact.model.scene_yaml import load_scene
from mb_contact.model.world import build_world
from mb_contact.simulation.closing import close_loops, project
from mb_contact.simulation.contact_step import ContactStep
from mb_contact.simulation.events import EventScheme
from mb_contact.simulation.impacts import landing, landing_speed, make_impacts
from mb_contact.simulation.integrators import make_integrator
from mb_contact.simulation.joint_wrench import JointWrenches
from mb_contact.simulation.operational import OperationalMonitor
from mb_contact.simulation.rebuild import carry_over, slots
from mb_contact.simulation.registry import study
from mb_contact.simulation.results import Certificate, State, Step
from mb_contact.simulation.runaway import refuse_runaway, watch
from mb_contact.simulation.warm_up import FirstCompilation, is_compiled
from mb_contact.simulation.wrenches import ExternalWrenches
from mb_contact.types import (
    CLOSURE_ROWS,
    JOINT_FLOATING,
    JOINT_SPHERICAL,
    LEAST_SQUARE,
    NOT_FINITE,
    OK,
    SINGULAR_HINGE,
    STEP_TOO_SMALL,
    SYSTEM_TOO_SMALL,
    TOO_MANY_CONTACTS,
    WORLD,
)

PUSH_OUT_RATE = 0.2  #: part of a penetration removed per step, below the scene's push-out velocity
SLIP_SPEED = 1e-3  #: above it a friction frame follows the slip, unless the scene fixes it [m/s]
PROJECTION_TOLERANCE = 1e-12  #: closure error at which a projection ends [m, rad]
ASSEMBLY_TOLERANCE = 1e-13  #: closure error at which closing the loops of the initial state ends [m, rad]
ASSEMBLY_GOOD = 1e-9  #: closure error up to which that has succeeded [m, rad]
ASSEMBLY_LIMIT = 100  #: Gauss-Newton steps
FIRST_CAPACITY = 64  #: contact points; doubled whenever a step finds more
SOLVED = 1e-10  #: natural map of every block that a step asks of its solver [sqrt(N s m/s)]
BUDGET = 400  #: Newton steps that an island may take
FRICTION_MODELS = {
    "coulomb_cone": _assemble.COULOMB,
    "coulomb_polyhedral": _assemble.COULOMB,
    "no_slip": _assemble.NO_SLIP,
    "viscous": _assemble.VISCOUS,
    "coulomb_viscous": _assemble.COULOMB_VISCOUS,
}


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
    time_step : float
        [s]
    """

    def __init__(self, scene, progress=None, warm_up=True):
        self.scene = scene if isinstance(scene, Scene) else load_scene(scene)
        self.world = build_world(self.scene)
        first = FirstCompilation(progress or _silent) if warm_up and not is_compiled() else None
        tree = self.world.tree
        self.time_step = float(self.scene.time_step)
        slip_speed = np.inf if self.scene.friction_frame == "fixed" else SLIP_SPEED
        push_out, landing = float(self.scene.push_out_velocity), landing_speed(self.scene)
        self._settings = np.array([self.time_step, PUSH_OUT_RATE, push_out, slip_speed, landing])
        projected = PROJECTION_TOLERANCE if self.scene.drift_control == "projection" else 0.0
        self._drift = np.array([float(self.scene.drift_rate), projected, self.time_step])
        self._gravity = np.array(self.world.gravity, dtype=np.float64)
        self._joints = self.world.joints._replace(total=self.world.joints.damping.copy())
        total = self._joints.total.view()
        total.setflags(write=False)
        self._tree = tree._replace(damping=total)  # kernels are compiled for arrays that they may not write
        self._n = tree.parent.shape[0]
        self._N = tree.armature.shape[0]
        self._narrow = make_narrow_phase(self.world.geoms, self.scene.collision_engine)
        self._buffers = make_buffers(self.world.geoms)
        self._kin = _workspace.make_kinematics(self._n, self._N)
        self._art = _workspace.make_articulated(self._n, self._N)
        self._com = _workspace.make_compliance(self._n)
        self._q = np.array(self.world.q0, dtype=np.float64)
        self._v = np.array(self.world.v0, dtype=np.float64)
        self._effort = np.zeros(self._N)
        self._wrenches = ExternalWrenches(self.world)
        self._pair_links = PairLinks(self.world.geoms.pairs, self.world.geometry_links)
        self._memory = self._q_closed = None
        self._friction = self._make_contact_step()
        self._friction.integrator = self._make_integrator()
        self._impacts = make_impacts(self.scene, self.world, self._friction)
        self._events = None
        if self.scene.collision_scheme == "event":
            if not self._friction.any_integrator:
                raise self.scene.error("collision_scheme", "'event' needs joint coordinates and formulation: os")
            self._events = EventScheme(self, self._impacts)
        else:
            self._friction.impacts = self._impacts
        self._solver = np.array([SOLVED, BUDGET, float(self._friction.only_rows)])
        self._fill = 1  # of the workspaces of sparse factors
        self._layout = _assemble.tree_layout(tree.parent, tree.root, tree.v_start, tree.nv)
        self._allocate(FIRST_CAPACITY)
        self._monitors = {}
        self._joint_wrenches = None
        self._wrenches_of = -1
        self._before = self._q.copy(), self._v.copy(), self._gravity.copy()
        self._state_count = 0  # changes with every new state
        self._joint_space_of = -1
        self._start_time()
        self._work_done = self._energy_start = 0.0
        if warm_up:
            self._warm_up(first, progress or _silent)

    # --- state ------------------------------------------------------------------------------

    def reset(self):
        """Back to the scene's initial state; time, gravity, warm starts and external wrenches too."""
        self._q[:] = self._assembled()
        self._v[:] = self.world.v0
        self._effort[:] = 0.0
        self._gravity[:] = self.world.gravity
        self._wrenches.clear()
        self._start_time()
        self._forget()
        self._refresh()

    def _start_time(self):
        self.step_count = 0
        self._even_steps, self._time_before = 0, 0.0  # steps of time_step since the last of another length, time then

    def set_state(self, q, v):
        """Set coordinates q (nq,) and velocities v (N,); time goes on, warm starts are dropped.

        Quaternions are normalised, and joints that follow others are put where these have them.

        Raises
        ------
        InputError
            Wrong size, not finite, or a zero quaternion; the state is left as it was.
        """
        q = as_vector(q, len(self._q), "q").copy()
        v = as_vector(v, self._N, "v")
        tree = self.world.tree
        for k in np.flatnonzero((tree.joint_type == JOINT_FLOATING) | (tree.joint_type == JOINT_SPHERICAL)):
            start = tree.q_start[k] + (3 if tree.joint_type[k] == JOINT_FLOATING else 0)
            quaternion = q[start : start + 4]
            if not LEAST_SQUARE**0.5 <= np.abs(quaternion).max() <= LEAST_SQUARE**-0.5:
                raise InputError(zero_quaternion_message(self.world, k))
            quaternion /= np.linalg.norm(quaternion)
        self._q[:] = q
        self._v[:] = v
        self._forget()
        self._refresh()

    def save(self):
        """Copy of the whole state; ``restore`` continues from it bit for bit."""
        return State(
            q=self._q.copy(),
            v=self._v.copy(),
            step_count=self.step_count,
            effort=self._effort.copy(),
            memory=tuple(array.copy() for array in self._memory),
            joint_effort=self._work.joint_effort.copy(),
            geom_impulse=self._work.geom_impulse.copy(),
            work_done=self._work_done,
            energy_start=self._energy_start,
            wrenches=self._wrenches.save(),
            gravity=self._gravity.copy(),
            even_steps=self._even_steps,
            time_before=self._time_before,
            scene=self._fingerprint(),
        )

    def _fingerprint(self):
        """What a saved state is tied to: (what, value) pairs."""
        scene, world = self.scene, self.world
        return (
            ("friction_model", scene.friction_model), ("formulation", scene.formulation),
            ("integrator", scene.integrator), ("collision_scheme", scene.collision_scheme),
            ("joints", tuple(world.joint_names)), ("links", tuple(sorted(world.frames))),
            ("pairs of shapes", len(world.geoms.pairs)),
        )  # fmt: skip

    def restore(self, state):
        """Continue from a saved state of the same scene.

        Raises
        ------
        InputError
            Not a State, or one of a scene with other joints, links or shapes, or with another friction model,
            formulation, integrator or collision scheme; nothing has changed.
        """
        if not isinstance(state, State):
            raise InputError(f"restore needs a State from save, got {type(state).__name__}")
        for (what, value), (_, theirs) in zip(self._fingerprint(), state.scene or ((None, None),) * 7):
            if value != theirs:
                here = f": it has {theirs}, this one {value}" if isinstance(value, (str, int)) else ""
                raise InputError(f"the saved state belongs to another scene with other {what}{here}; use its own scene")
        ours = {"q": self._q, "v": self._v, "effort": self._effort, "geom_impulse": self._work.geom_impulse}
        for name, array in ours.items():
            if getattr(state, name).shape != array.shape:
                raise InputError(f"the saved state belongs to another scene: its {name} has another length")
        if len(state.memory[1]) != self._capacity:
            self._allocate(len(state.memory[1]))
        self._q[:] = state.q
        self._v[:] = state.v
        self._effort[:] = state.effort
        self._gravity[:] = state.gravity
        self.step_count = state.step_count
        self._even_steps, self._time_before = state.even_steps, state.time_before
        for target, source in zip(self._memory, state.memory):
            target[:] = source
        self._work.joint_effort[:] = state.joint_effort
        self._work.geom_impulse[:] = state.geom_impulse
        self._solved = False
        self._wrenches.restore(state.wrenches)
        self._refresh()
        self._work_done = state.work_done
        self._energy_start = state.energy_start

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
        carry_over(self, new)
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
        slot = self._object_slots(name)
        q, v = self.q, self.v
        if pose is not None:
            q[slot.q] = np.concatenate((as_vector(pose[0], 3, "position"), as_vector(pose[1], 4, "quaternion")))
        if velocity is not None:
            v[slot.v] = as_vector(velocity, 6, "velocity")
        self.set_state(q, v)

    def object_motion(self, name):
        """Velocity (6,) and mean acceleration (6,) in the last step of a free object, angular first, world axes."""
        slot = self._object_slots(name)
        change = self._v[slot.v] - self._before[1][slot.v]
        acceleration = change / self._last_dt if self._solved else np.zeros(6)
        return self._v[slot.v].copy(), acceleration

    def _object_slots(self, name):
        if name not in self.world.objects:
            known = ", ".join(self.world.objects) or "none"
            raise InputError(f"there is no free object '{name}'; the free objects: {known}")
        return slots(self.world)[self.world.body_names[self.world.objects[name]]]

    @property
    def time(self):
        """Simulated time [s]: exactly ``step_count * time_step`` as long as no step had another length."""
        return self._time_before + self._even_steps * self.time_step

    @property
    def gravity(self):
        """Copy of the acceleration of gravity (3,) [m/s^2]."""
        return self._gravity.copy()

    @property
    def newton_budget(self):
        """Newton steps that an island of bodies may take in a step; then its best impulses are used."""
        return int(self._solver[1])

    @newton_budget.setter
    def newton_budget(self, steps):
        self._solver[1] = as_positive(np.floor(as_positive(steps, "newton_budget")), "newton_budget")

    @property
    def solver_tolerance(self):
        """Natural map of every block that a step asks of its solver [sqrt(N s m/s)]."""
        return float(self._solver[0])

    @solver_tolerance.setter
    def solver_tolerance(self, residual):
        self._solver[0] = as_positive(residual, "solver_tolerance")

    def set_gravity(self, gravity):
        """Change gravity (3,) [m/s^2] from now on; the jump of the potential energy counts as work done.

        Raises
        ------
        InputError
            Not three finite numbers; nothing has changed.
        """
        gravity = as_vector(gravity, 3, "gravity")
        before = self.energy()
        self._gravity[:] = gravity
        _step.refresh(self._handle)
        self._state_count += 1
        self._work_done += self.energy() - before

    @property
    def q(self):
        """Copy of the coordinates (nq,)."""
        return self._q.copy()

    @property
    def v(self):
        """Copy of the velocities (N,)."""
        return self._v.copy()

    def joint_positions(self):
        """Positions of ``world.joint_names`` [rad, m], a new array."""
        return self._q[self.world.joint_q]

    def follower_state(self):
        """Positions [rad, m] and velocities [rad/s, m/s] of ``world.follower_names``, the mimic joints, new arrays."""
        return self._q[self.world.follower_q], self._v[self.world.follower_v]

    def joint_velocities(self):
        """Velocities of ``world.joint_names`` [rad/s, m/s], a new array."""
        return self._v[self.world.joint_v]

    def joint_efforts(self):
        """Efforts of the last step: clamped command, damping, and limit impulses over the step [N m, N]."""
        return self._work.joint_effort[self.world.joint_v]

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
        self._wrenches.hold(link, wrench, axes, self.time, duration)

    def energy(self):
        """Mechanical energy of the current state [J]."""
        return float(self._work.energy[0] + self._work.energy[1])

    def link_pose(self, name):
        """World pose of a link or object: position (3,) [m] and quaternion x y z w (4,)."""
        R, p = self._frame(name)
        return p, matrix_to_quat(R)

    @property
    def joint_wrenches(self):
        """JointWrenches: the joints, movable and fixed, that ``joint_wrench`` can be asked for."""
        if self._joint_wrenches is None:
            self._joint_wrenches = JointWrenches(self.world, self.scene)
        return self._joint_wrenches

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
        monitor = self.joint_wrenches
        monitor.child_link(joint)
        if not self._solved:
            return np.zeros(6)
        if self._wrenches_of != self._state_count:
            q, v, gravity = self._before
            exact = self._events is None and self.scene.integrator == "semi_implicit_euler"
            monitor.evaluate((q, v), (self._q, self._v), self._last_dt, gravity, exact)
            self._wrenches_of = self._state_count
        applied, work = self._wrenches.applied, self._work
        first = int(self._bilateral.info[FIRST])
        return monitor.wrench(joint, work.geom_impulse, applied, self._rows, first, self._loop_impulse(first))

    def _loop_impulse(self, first):
        """Impulses of the rows of loops and gears in the last step, whose first row is ``first``."""
        rows = self.world.couplings.rows
        held = self._solution.r[first : first + rows] if self._events is None else self._events.loop_impulse
        return held if self._impacts is None else held + self._impacts.loop_impulse

    def contact_impulse(self, link):
        """Net contact impulse (6,) on a link in the last step, angular first, in link axes about its origin."""
        if link not in self.world.frames:
            raise InputError(f"there is no link '{link}'; the links are {', '.join(sorted(self.world.frames))}")
        total = [0.0] * 6
        for g in self.world.link_geometries.get(link, ()):
            total = [x + y for x, y in zip(total, self._work.geom_impulse[g].tolist())]
        if not any(total):
            return np.zeros(6)
        frame = self.world.frames[link]
        R, p = self._frame(link)
        x, y, z = (p if frame.body == WORLD else p - self._kin.p[frame.body]).tolist()
        mx, my, mz, fx, fy, fz = total  # plain floats: np.cross alone costs 20 us
        moment = (mx - (y * fz - z * fy), my - (z * fx - x * fz), mz - (x * fy - y * fx))
        return np.concatenate((np.dot(moment, R), np.dot((fx, fy, fz), R)))

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
        for kept, array in zip(self._before, (self._q, self._v, self._gravity)):
            kept[:] = array
        self._advance(dt, command)
        self._count_step(dt)
        self._state_count += 1
        self._solved, self._last_dt = True, dt
        self._work_done += self._work_of_step()
        return self._result(() if self._impacts is None else tuple(self._impacts.events))

    def _work_of_step(self):
        """Work of efforts, damping, contacts, limits, wrenches, loops and impacts in the last step [J]."""
        return sum(self._work.ledger.tolist()) + (0.0 if self._impacts is None else self._impacts.work_done)

    def _advance(self, dt, command):
        """The state after dt [s] under the commanded efforts; after any failure all is as it was."""
        before = self._effort.copy(), float(self._settings[0]), self._wrenches.save(), self._work.external.copy()
        start = watch(self, dt)
        try:
            self._effort[:] = 0.0
            self._effort[self.world.joint_v] = command
            self._settings[0] = dt
            self._wrenches.apply(self._kin, self.time + 0.5 * dt, self._work.external)
            status = self._time_step() if self._events is None else self._events.run(dt)
            if status != OK:
                raise self._error(status)
            if start is not None:
                refuse_runaway(self, start, self._work_of_step())
        except BaseException:
            self._effort[:], self._settings[0], self._work.external[:] = before[0], before[1], before[3]
            self._wrenches.restore(before[2])
            raise

    def _time_step(self):
        """Detect, solve and move once; a status."""
        buffers = self._buffers
        if self._impacts is not None:
            self._impacts.begin(self.time)
        count = _step.begin_step(self._handle)
        self._narrow.query(buffers.candidates, count, buffers.reach, buffers.geom_R, buffers.geom_p, buffers.witness)
        status = self._friction.finish(self._handle, count)
        while status in (TOO_MANY_CONTACTS, SYSTEM_TOO_SMALL):
            self._fill *= 2 if status == SYSTEM_TOO_SMALL else 1
            self._allocate(self._capacity * (2 if status == TOO_MANY_CONTACTS else 1))
            status = self._friction.finish(self._handle, count)
        if status == OK and self._drift[1] > 0.0 and self.world.couplings.rows:
            project(self._handle, self._drift[1], self._work, self._bilateral)
        return status

    def _count_step(self, dt):
        self.step_count += 1
        if dt == self.time_step:
            self._even_steps += 1
        else:
            self._even_steps, self._time_before = 0, self.time + dt

    def _result(self, events):
        c = int(self._contacts.count[0])
        gap, infeasible, cone, *_ = self._solution.judge.tolist()
        rung, iterations, _, landed = self._work.info.tolist()
        kinetic, potential = self._work.energy.tolist()
        gained, pushed = self._work.contact_energy.tolist()
        ray, gain = self._solution.proof.tolist()
        energy = kinetic + potential
        table = self._work.report[:c].copy()
        certificate = Certificate(
            complementarity_gap=gap,
            infeasibility=infeasible,
            cone_violation=cone,
            penetration=max(0.0, -float(table[:, 9].min())) if c else 0.0,
            solver=self._friction.solver_names[rung],
            iterations=iterations,
            contacts=c,
            energy=energy,
            energy_balance=energy - self._energy_start - self._work_done,
            kinetic_energy=kinetic,
            contact_energy=gained,
            push_out_energy=pushed,
            ray=ray,
            ray_gain=gain,
            time_stepped=0.0 if self._events is None else self._events.time_stepped,
            **self._loop_certificate(),
        )
        if landed:
            events += (self._landing(certificate),)
        return Step(self.time, certificate, table, self._pair_links, events)

    def _landing(self, certificate):
        start, limit = self.time - float(self._settings[0]), float(self._settings[4])
        return landing(start, self._pair_links, self._contacts, self._solution, self._work, limit, certificate)

    def _loop_certificate(self):
        """Fields of the certificate that tell of loops and gears."""
        rows = int(self._bilateral.info[COUNT])
        if rows == 0:
            return {}
        residual, closure, speed = self._bilateral.judge.tolist()
        return {"loop_residual": residual, "loop_velocity": speed, "closure_error": closure, "loop_rows": rows}

    def contact_problem(self):
        """The contact problem that the last step solved, for study (J14 Eq. 53)."""
        if not self._solved:
            raise InputError("there is no contact problem yet: take a step first")
        if self.scene.friction_model in ("no_slip", "viscous"):
            model = self.scene.friction_model
            raise InputError(f"a step with friction_model {model} has no polyhedral contact problem")
        return study("posed_contact_problem")(self)

    @property
    def last_formulation(self):
        """StepSolution of the last step under another ``formulation`` than ``os``, else None."""
        return getattr(self._friction, "last", None)

    # --- operational space ----------------------------------------------------------------------

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
        frames = (frames,) if isinstance(frames, str) else tuple(frames)
        if not frames:
            raise InputError("frames must name at least one frame")
        if frames not in self._monitors:
            self._monitors[frames] = OperationalMonitor(self.world, frames)
        return self._monitors[frames].operational_space(self._handle)

    def mass_matrix(self):
        """Mass matrix of the robots' joints (joints, joints)."""
        return self._joint_space()[0]

    def nonlinear_effects(self):
        """Coriolis, centrifugal and gravity efforts of the robots' joints, without damping (joints,)."""
        return self._joint_space()[1]

    @property
    def robot_description(self):
        """URDF text of the first robot, empty without one."""
        return self.world.robot_models[0].urdf if self.world.robot_models else ""

    # --- inside -----------------------------------------------------------------------------------

    def _joint_space(self):
        """Mass matrix and nonlinear effects of the current state, computed once a state."""
        if self._joint_space_of != self._state_count:
            if () not in self._monitors:
                self._monitors[()] = OperationalMonitor(self.world, ())
            self._joint_terms = self._monitors[()].joint_space(self._handle)
            self._joint_space_of = self._state_count
        M, effects = self._joint_terms
        return M.copy(), effects.copy()

    def _frame(self, name):
        if name not in self.world.frames:
            raise InputError(f"there is no link '{name}'; the links are {', '.join(sorted(self.world.frames))}")
        frame = self.world.frames[name]
        if frame.body == WORLD:
            return frame.R.copy(), frame.p.copy()
        R = self._kin.R[frame.body]
        return R @ frame.R, self._kin.p[frame.body] + R @ frame.p

    def _make_contact_step(self):
        """The ContactStep of the scene's formulation."""
        return study("FormulationStep")(self) if self.scene.formulation != "os" else ContactStep()

    def _make_integrator(self):
        integrator = make_integrator(self.scene, self.world, self._settings)
        if not (self._friction.any_integrator or self.scene.integrator == "semi_implicit_euler"):
            message = f"'{self.scene.integrator}' needs formulation: os; use semi_implicit_euler here"
            raise self.scene.error("integrator", message)
        return integrator

    def _allocate(self, capacity):
        """Workspaces for ``capacity`` contact points; the warm-start memory is carried over."""
        n_f = 0 if self.scene.friction_model == "coulomb_cone" else self.scene.friction_directions
        sides = 4 if np.isfinite(self._joints.velocity_limit).any() else 2
        scalars = sides * int((self._tree.nv == 1).sum())  # limits of scalar joints
        couplings = self.world.couplings
        bilateral = couplings.rows + len(self._joints.rubbing)
        gears = len(couplings.gears.ratio)
        surfaces = self.world.surfaces
        rows_a_contact = 3 + int((surfaces.torsional > 0.0).any()) + 2 * int((surfaces.rolling > 0.0).any())
        rows = rows_a_contact * capacity + scalars + bilateral + gears
        units = capacity + scalars
        self._capacity = capacity
        self._contacts = make_contacts(capacity)
        self._rows = _workspace.make_rows(self._n, rows)
        self._frames = _workspace.make_frames(capacity)
        self._cones = _workspace.make_cones(units, n_f)
        self._solution = _workspace.make_solution(rows)
        self._loop = make_loop_work(self._n, bilateral)
        self._bilateral = make_bilateral_work(self._n, bilateral)
        self._system, draft = self._make_system(capacity, rows, units + bilateral, surfaces)
        friction = _assemble.make_friction(
            FRICTION_MODELS[self.scene.friction_model], n_f, self.world.viscous, surfaces, capacity
        )
        work = _workspace.make_step_work(self._n, self._N, self.world.geoms.kind.shape[0], capacity)
        memory = _workspace.make_memory(capacity, self._N, bilateral)
        self._friction.allocate(capacity, rows, units)
        if self._memory is not None:
            work.energy[:] = self._work.energy
            work.joint_effort[:] = self._work.joint_effort
            work.geom_impulse[:] = self._work.geom_impulse
            work.external[:] = self._work.external
            for new, old in zip(memory, self._memory):
                new[: min(len(new), len(old))] = old[: len(new)]
        self._memory = memory
        self._work = work
        if self._impacts is not None:
            self._impacts.allocate(capacity, rows)
            self._impacts.attach(
                self._settings, self._contacts, self._frames, self._rows, self._cones, self._q, self._v, work,
                self._pair_links, self._bilateral, friction,
            )
        system = make_system_handle(*self._system)
        self._handle = make_step_handle(
            self._tree, self.world.geoms, self._gravity, self._settings, self._q, self._v, self._effort,
            self._buffers, self._contacts, self._kin, self._art, self._com, self._rows, self._frames,
            self._memory, self._cones, self._solution, self._work, system, draft, friction, self._solver,
            self._joints, couplings.closures, couplings.gears, self._drift, self._loop, self._bilateral,
            make_closing_work(self._n, self._N, bilateral, gears, *self._layout[1:]),
        )  # fmt: skip

    def _make_system(self, capacity, rows, blocks, surfaces):
        """The contact problem's arrays and the draft of its blocks."""
        tree, pieces, place = self._layout
        if self.scene.friction_model in ("viscous", "no_slip", "coulomb_viscous"):
            blocks, rows = blocks + 2 * capacity, rows + 2 * capacity  # tangents are blocks too
        depth = 2 * max(int(pieces.max(initial=1)), 1)  # pieces that a row moves
        dense = min(rows, _assemble.DENSE_LIMIT) if not self._friction.only_rows else rows
        system = make_system(rows, blocks, blocks * min(depth, 8) * self._fill, dense, pieces, place)
        total = int(pieces.sum())
        fill = min(total * total, 24 * total * self._fill)
        return system._replace(factors=make_factors(dense, total, fill)), _assemble.make_draft(
            blocks, tree, pieces, self._N
        )  # fmt: skip

    def _assembled(self):
        """The scene's initial coordinates, moved as little as closes every loop and gear; computed once."""
        if self._q_closed is None:
            self._q[:] = self.world.q0
            self._v[:] = 0.0
            _step.refresh(self._handle)
            if self.world.couplings.rows:
                error = close_loops(self._handle, ASSEMBLY_TOLERANCE, ASSEMBLY_LIMIT)
                if not error <= ASSEMBLY_GOOD:
                    raise self._not_assembled(error)
            self._q_closed = self._q.copy()
        return self._q_closed

    def _not_assembled(self, error):
        """SceneError that names the loop or gear that stays open."""
        couplings = self.world.couplings
        errors = np.abs(self._loop.error)
        ends = np.cumsum([CLOSURE_ROWS[kind] for kind in couplings.closures.kind])
        worst = int(np.searchsorted(ends, int(np.argmax(errors)), side="right"))
        key = f"loop_closures[{worst}]" if worst < len(ends) else "gears"
        message = f"the loops cannot be closed from the initial positions, {error:.3g} m or rad stay open; "
        return self.scene.error(key, message + "correct its poses, or give joint positions nearer to a closed loop")

    def _forget(self):
        self._solved = False
        self._memory.count[0] = 0
        self._memory.joint[:] = 0.0
        self._memory.loop[:] = 0.0
        self._work.joint_effort[:] = 0.0
        self._work.geom_impulse[:] = 0.0

    def _refresh(self):
        _step.refresh(self._handle)
        self._state_count += 1
        self._work_done = 0.0
        self._energy_start = self.energy()

    def _warm_up(self, first, progress):
        """Compile or load every kernel, and run one step, before time starts."""
        if first is None and not self._friction.is_compiled():
            progress(f"the friction model {self.scene.friction_model} is compiled too (first run only)")
        if first is None and not self._friction.integrator.is_compiled():
            progress(f"the integrator {self.scene.integrator} is compiled too (first run only)")
        self.reset()
        if first is not None:
            first.run(self._handle)
            self.reset()
        if self._impacts is not None:
            self._impacts.warm_up(self._handle, progress)
            self.reset()
        if self._events is not None and not self._events.is_compiled():
            progress("the event scheme is compiled too (first run only)")
        if len(self.world.joint_names):
            self._joint_space()
            self.operational_space(next(iter(self.world.frames)))
        self.step()
        self.reset()

    def _error(self, status):
        if status == SINGULAR_HINGE:
            return DynamicsError(singular_hinge_message(self.world, int(self._work.info[_step.BAD_BODY])))
        if status == NOT_FINITE:
            return DynamicsError(
                f"the velocity after t = {self.time:.6g} s is not finite: the state has run away, "
                "lower the time step or the efforts"
            )
        if status == STEP_TOO_SMALL:
            return DynamicsError(
                f"the integrator {self.scene.integrator} does not meet its tolerance in the step after "
                f"t = {self.time:.6g} s: lower the time step or the efforts, or raise the tolerance"
            )
        return DynamicsError(f"the step failed with status {status}")


def _silent(_line):
    pass

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A scene of smooth surfaces behind the interface of ``Simulator``: joints, efforts, and smooth bodies on links."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_vector
from mb_contact.core.state import STEPS
from mb_contact.core.workspace import ENERGY_START, WORK_DONE
from mb_contact.errors import InputError
from mb_contact.model.rotations import cross, matrix_to_quat
from mb_contact.record import LiveState, Recorded, StateLayout, TreePart
from mb_contact.simulation.results import Certificate, Step, record_of
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.surfaces.mixed import MixedSimulator
from mb_contact.surfaces.scene_build import build_tree, start
from mb_contact.surfaces.scene_file import SurfaceScene, is_surface_scene, load_surface_scene
from mb_contact.types import SLIP, STICK

SOLVER = "contact_coordinates"


class SurfaceWorld(NamedTuple):
    """The part of ``World`` that a scene of surfaces has."""

    objects: dict  #: names of the bodies, and of the base of a scene that has one
    joint_names: tuple = ()
    follower_names: tuple = ()
    effort_limit: np.ndarray = np.zeros(0)
    robot_models: tuple = ()


class NodeScene(NamedTuple):
    """The part of ``Scene`` that the node reads."""

    rates: dict
    contact_wrench_links: tuple
    path: object
    operational_frames: tuple = ()


class SurfaceSimulator(Recorded):
    """Simulation of smooth bodies on a base or on a robot in contact coordinates, by RK4.

    Parameters
    ----------
    scene : SurfaceScene or path
    progress : callable, optional
        Called with one line of text before kernels are loaded.

    Attributes
    ----------
    tree : SurfaceTree
    time_step : float
        [s]

    Examples
    --------
    >>> sim = mb.simulation.SurfaceSimulator("package://mb_contact/config/bezier_patch.yaml")
    >>> start = sim.save()
    >>> step = sim.step()
    >>> name = step.contacts["link_a"][0]
    >>> step.certificate.contacts, sim.time == sim.time_step, abs(sim.energy() - step.certificate.energy) < 1e-12
    (1, True, True)
    >>> position, quaternion = sim.link_pose(name)
    >>> position.shape, quaternion.shape, sim.contact_impulse(name).shape
    ((3,), (4,), (6,))
    >>> [len(a) for a in (sim.joint_positions(), sim.joint_velocities(), sim.joint_efforts(), sim.follower_state()[0])]
    [0, 0, 0, 0]
    >>> sim.mass_matrix().shape, sim.nonlinear_effects().shape  # no robot
    ((0, 0), (0,))
    >>> sim.restore(start)
    >>> sim.step_count, sim.state.step_count == 0
    (0, True)
    >>> sim.reset()
    """

    def __init__(self, scene: SurfaceScene | str | Path, progress: Callable[[str], Any] | None = None) -> None:
        if progress is not None:
            progress("loading or, the first time, compiling the kernels of surfaces")
        self.surface_scene = scene = scene if isinstance(scene, SurfaceScene) else load_surface_scene(scene)
        self.tree = build_tree(scene)
        model: Any = self.tree.model if scene.base is None else None
        self._bodies = {contact.name: contact.body for contact in self.tree.contacts}
        self._names = tuple(self._bodies)
        self._efforts = 0 if model is None else model.N
        self._joint_q = np.zeros(0, int) if model is None else np.array(model.joint_q, int)
        self._joint_v = np.zeros(0, int) if model is None else np.array(model.joint_v, int)
        self.world = SurfaceWorld(
            dict.fromkeys((*self._names, scene.base.name) if scene.base else self._names, 0),
            joint_names=() if model is None else tuple(model.joint_names),
            effort_limit=np.zeros(0) if model is None else np.asarray(model.tree.effort_limit)[self._joint_v],
            robot_models=() if model is None else (model,),
        )
        self.robot_description = "" if model is None else model.urdf
        self.scene = NodeScene(scene.rates, self._names, scene.path)
        self.time_step = float(scene.time_step)
        self._part = TreePart(self.tree)
        layout = StateLayout(own=len(self._names), **self._part.sizes())
        self._vector = np.zeros(layout.fixed.size)
        self._arrays = layout.fixed.arrays(self._vector)
        self._impulses = dict(zip(self._names, self._arrays.surface_impulse))
        self._record = LiveState(layout, self, scene=self._fingerprint())
        self._made = SurfaceSimulator, (scene,)
        self._begin()
        self.step()
        self.reset()

    def _begin(self):
        self._arrays.clock[:], self._arrays.surface_impulse[:] = 0, 0.0
        self._arrays.sums[:] = 0.0, self.tree.energy()

    @property
    def step_count(self) -> int:
        """Steps since the start.

        Returns
        -------
        int
        """
        return int(self._arrays.clock[STEPS])

    @property
    def time(self) -> float:
        """Simulated time.

        Returns
        -------
        float [s]
        """
        return self.step_count * self.time_step

    def reset(self) -> None:
        """Back to the start of the scene."""
        start(self.tree, self.surface_scene)
        self._begin()

    def _state_vectors(self):
        """As ``SimulationState.state_vectors``."""
        self._part.put(self._arrays)
        return self._vector, np.zeros(0)

    def _state_written(self, _index):
        """As ``SimulationState.state_written``."""
        self._part.take(self._arrays)

    def _fingerprint(self):
        tree, scene = self.tree, self.surface_scene
        carrier = [] if tree.model is None else [np.ascontiguousarray(part).tobytes() for part in tree.model.tree]
        return (
            ("kind of scene", "contacts in a tree" if scene.base is None else "contacts on a base"),
            ("joints", self.world.joint_names), ("robot or base", (*carrier, scene.base and scene.base.velocity)),
            ("gravity", tuple(scene.gravity)), *self._part.fingerprint(),
        )  # fmt: skip

    def energy(self) -> float:
        """Mechanical energy.

        Returns
        -------
        float [J]
        """
        return self.tree.energy()

    def step(self, effort: ArrayLike | None = None) -> Step:
        """Advance by one time step with constant efforts.

        Parameters
        ----------
        effort : array_like (joints,), optional
            Of ``world.joint_names``, clamped to their limits [N m, N]; zero by default.

        Returns
        -------
        Step

        Raises
        ------
        InputError
            Efforts of the wrong length or not finite.
        DynamicsError
            A contact reached the edge of its surface, became a line, or jammed.
        """
        command = np.zeros(self._efforts)
        if effort is not None:
            if np.size(effort) and not len(self._joint_v):
                raise InputError(f"the scene has no joints, got {np.size(effort)} efforts")
            limit = np.where(self.world.effort_limit > 0.0, self.world.effort_limit, np.inf)
            effort = as_vector(effort, len(self._joint_v), "effort")
            command[self._joint_v] = np.clip(effort, -limit, limit)
        before, energy = {name: self._momentum(name)[1] for name in self._names}, self.tree.energy()
        start = self.joint_positions()
        self.tree.run(self.time_step, self.time_step, command if self._efforts else None)
        self._arrays.clock[STEPS] += 1
        self._arrays.sums[WORK_DONE] += float(command[self._joint_v] @ (self.joint_positions() - start))
        for name, body in self._bodies.items():
            self._impulses[name][:] = self._momentum(name)[1] - before[name]
            self._impulses[name][3:] -= body.mass * self.time_step * np.array(self.surface_scene.gravity)
        return self._result(energy)

    def link_pose(self, name: str) -> tuple[Floats, Floats]:
        """World pose of a link or a body.

        Parameters
        ----------
        name : str

        Returns
        -------
        position, quaternion : ndarray (3,), (4,)
            [m]; x y z w.
        """
        R, p = self.tree.pose(name)
        return p, matrix_to_quat(R)

    def contact_impulse(self, link: str | Sequence[str]) -> Floats:
        """Net contact impulse on a body or a link, or on each of several, in the last step.

        A body's is the change of its momentum less gravity, landings included; a link feels the opposite of all on it.

        Parameters
        ----------
        link : str or sequence of str

        Returns
        -------
        ndarray (6,) or (links, 6) [N m s, N s], angular first, in its axes about its origin
        """
        if not isinstance(link, str):
            return np.array([self.contact_impulse(name) for name in link]).reshape(-1, 6)
        R, p = self.tree.pose(link)
        own = link in self._impulses
        total = np.zeros(6)
        for name in (link,) if own else self._carried(link):
            centre, impulse = self._momentum(name)[0], self._impulses[name]
            total += impulse
            total[:3] += cross(centre - p, impulse[3:])
        total = total if own else -total
        return np.concatenate((R.T @ total[:3], R.T @ total[3:]))

    def joint_positions(self) -> Floats:
        """Of ``world.joint_names``, a new array.

        Returns
        -------
        ndarray (joints,) [rad, m]
        """
        return self.tree.q[self._joint_q]

    def joint_velocities(self) -> Floats:
        """Of ``world.joint_names``, a new array.

        Returns
        -------
        ndarray (joints,) [rad/s, m/s]
        """
        return self.tree.v[self._joint_v]

    def joint_efforts(self) -> Floats:
        """Efforts of now: command, damping, and torques of limits.

        Returns
        -------
        ndarray (joints,) [N m, N]
        """
        return self.tree.joint_efforts()[self._joint_v]

    def follower_state(self) -> tuple[Floats, Floats]:
        """No mimic joints: two empty arrays.

        Returns
        -------
        positions, velocities : ndarray (0,)
        """
        return np.zeros(0), np.zeros(0)

    def mass_matrix(self) -> Floats:
        """Joint space mass matrix of ``world.joint_names``, the contacts' coordinates held.

        Returns
        -------
        ndarray (joints, joints) [kg m^2, kg m, kg]
        """
        return self.tree.joint_space()[0][np.ix_(self._joint_v, self._joint_v)]

    def nonlinear_effects(self) -> Floats:
        """Of ``world.joint_names``: efforts for which nothing accelerates.

        Returns
        -------
        ndarray (joints,) [N m, N]
        """
        return self.tree.joint_space()[1][self._joint_v]

    # --- inside ------------------------------------------------------------------------------------

    def _momentum(self, name):
        """Centre of mass (3,) of a contact's body, and its momentum (6,), angular first, about that point."""
        body = self._bodies[name]
        R, centre, w, v = self.tree.body_motion(name)
        return centre, np.concatenate((R @ np.asarray(body.inertia) @ R.T @ w, body.mass * v))

    def _carried(self, link):
        """Names of all bodies that stand on a link, directly or on others."""
        standing = {link}
        for contact in self.tree.contacts:  # a body stands behind its parent
            if contact.parent in standing:
                standing.add(contact.name)
        return standing - {link}

    def _result(self, energy_before):
        dt, rows, gaps, pushes, margins = self.time_step, [], [0.0], [0.0], [0.0]
        for i, name in enumerate(self._names):
            gap = self.tree.gap(name)
            gaps.append(gap)
            touch = self.tree.contact_point(name)
            if touch is None:
                continue
            wrench, push = self.tree.contact_wrench(name)
            rolls = self.tree.mode_name(name) == "rolling"
            if rolls:
                margins.append(self.tree.friction_margin(name))
            pushes.append(push)
            speed = float(np.linalg.norm(self.tree.slip(name)))
            state = STICK if rolls else SLIP
            rows.append([*touch[0], *touch[1], *(wrench[3:] * dt), gap, speed, state, i, 0.0])
        kinetic, potential = self.tree.energies()
        sums = self._arrays.sums
        energy = kinetic + potential
        certificate = Certificate(
            complementarity_gap=float(np.sqrt(max((abs(p * row[9]) for p, row in zip(pushes[1:], rows)), default=0.0))),
            infeasibility=max(0.0, -min(pushes) * dt),
            cone_violation=max(0.0, -min(margins) * dt),
            penetration=max(0.0, -min(gaps)),
            solver=SOLVER,
            iterations=0,
            contacts=len(rows),
            energy=energy,
            energy_balance=energy - float(sums[ENERGY_START]) - float(sums[WORK_DONE]),
            kinetic_energy=kinetic,
            contact_energy=energy - energy_before,
            push_out_energy=0.0,
        )
        pairs = [(c.name, c.parent or "world") for c in self.tree.contacts]
        return Step(self.time, record_of(certificate, rows), (SOLVER,), pairs)


AnySimulator = Simulator | SurfaceSimulator  #: what the node, the view and a replay take; a Simulator can do more


def surface_simulator(
    path: str | Path, progress: Callable[[str], Any] | None = None
) -> SurfaceSimulator | MixedSimulator:
    """The simulator of a scene file of surfaces, of every kind (P00 section 6).

    Parameters
    ----------
    path : str or Path
        Also as a ``package://`` address.
    progress : callable, optional
        Called with one line of text before kernels are loaded.

    Returns
    -------
    SurfaceSimulator or MixedSimulator
        The latter where the scene has ordinary objects too.

    Raises
    ------
    SceneError
        The file is missing or malformed; names file, line and key.

    Examples
    --------
    >>> mb.surface_simulator("package://mb_contact/config/ball_in_dish.yaml").step().certificate.contacts  # it falls
    0
    """
    scene = load_surface_scene(path)
    return (SurfaceSimulator if scene.ordinary is None else MixedSimulator)(scene, progress)


def simulator_of(path: str | Path, progress: Callable[[str], Any] | None = None) -> Any:
    """The simulator of a scene file, of bodies or of smooth surfaces; raises MbContactError where it is none."""
    return (surface_simulator if is_surface_scene(path) else Simulator)(path, progress)

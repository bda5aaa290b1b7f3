# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A scene of contacts in a tree behind the interface of ``Simulator``: joints, efforts, and smooth bodies on links."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.errors import InputError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.simulation.results import Certificate, Step, SurfaceState
from mb_contact.simulation.surface_simulator import (
    SOLVER,
    NodeScene,
    SurfaceSimulator,
    SurfaceWorld,
    check_fingerprint,
    surface_digest,
)
from mb_contact.surfaces.scene_file import is_tree_scene
from mb_contact.surfaces.tree_scene import TreeScene, build_tree, load_tree_scene, start_tree
from mb_contact.types import SLIP, STICK


class SurfaceTreeSimulator:
    """Simulation of a robot that carries smooth bodies in contact coordinates, by RK4.

    Parameters
    ----------
    scene : TreeScene or path
    progress : callable, optional
        Called with one line of text before kernels are loaded.

    Attributes
    ----------
    tree : SurfaceTree
    time_step : float
        [s]
    """

    def __init__(self, scene, progress=None):
        if progress is not None:
            progress("loading or, the first time, compiling the kernels of surfaces")
        self.surface_scene = scene if isinstance(scene, TreeScene) else load_tree_scene(scene)
        self.tree = build_tree(self.surface_scene)
        model = self.tree.model
        self._names = tuple(contact.name for contact in self.tree.contacts)
        self._joint_q = np.zeros(0, int) if model is None else np.array(model.joint_q, int)
        self._joint_v = np.zeros(0, int) if model is None else np.array(model.joint_v, int)
        self.world = SurfaceWorld(
            dict.fromkeys(self._names, 0),
            joint_names=() if model is None else tuple(model.joint_names),
            effort_limit=np.zeros(0) if model is None else np.asarray(model.tree.effort_limit)[self._joint_v],
            robot_models=() if model is None else (model,),
        )
        self.robot_description = "" if model is None else model.urdf
        self.scene = NodeScene(self.surface_scene.rates, self._names, self.surface_scene.path)
        self.time_step = float(self.surface_scene.time_step)
        self._begin()
        self.step()
        self.reset()

    def _begin(self):
        self.step_count, self._work_done = 0, 0.0
        self._energy_start = self.tree.energy()
        self._impulses = {name: np.zeros(6) for name in self._names}

    @property
    def time(self):
        """Simulated time [s]."""
        return self.step_count * self.time_step

    def reset(self):
        """Back to the start of the scene."""
        start_tree(self.tree, self.surface_scene)
        self._begin()

    def save(self):
        """Copy of the whole state; ``restore`` continues from it bit for bit."""
        impulses = {name: impulse.copy() for name, impulse in self._impulses.items()}
        return SurfaceState(
            self.tree.save(), self.step_count, impulses, self._energy_start, self._work_done, self._fingerprint()
        )

    def restore(self, state):
        """Continue from a saved state of the same scene.

        Raises
        ------
        InputError
            Not a SurfaceState, or one of another scene (robot, bodies, surfaces or laws); nothing has changed.
        """
        check_fingerprint(state, self._fingerprint())
        self.tree.restore(state.motion)
        self.step_count, self._energy_start, self._work_done = state.step_count, state.energy_start, state.work_done
        self._impulses = {name: impulse.copy() for name, impulse in state.impulses.items()}

    def _fingerprint(self):
        tree = self.tree
        laws = [(c.name, c.parent, c.friction, c.restitution, c.release) for c in tree.contacts]
        robot = [] if tree.model is None else [np.ascontiguousarray(part).tobytes() for part in tree.model.tree]
        masses = [(c.body.mass, np.asarray(c.body.inertia).tobytes(), np.asarray(c.body.com).tobytes())
                  for c in tree.contacts]  # fmt: skip
        return (
            ("kind of scene", "contacts in a tree"), ("joints", self.world.joint_names), ("robot", tuple(robot)),
            ("contacts", tuple(laws)), ("masses", tuple(masses)), ("gravity", tuple(self.surface_scene.gravity)),
            ("surfaces", surface_digest([surface for pair in tree.pairs for surface in pair.surfaces])),
        )  # fmt: skip

    def energy(self):
        """Mechanical energy [J]."""
        return self.tree.energy()

    def step(self, effort=None):
        """Advance by one time step with constant efforts of ``world.joint_names``, clamped to their limits.

        Raises
        ------
        InputError
            Efforts of the wrong length or not finite.
        DynamicsError
            A contact reached the edge of its surface, became a line, or jammed.
        """
        command = np.zeros(len(self._joint_v) if self.tree.model is None else self.tree.model.N)
        if effort is not None:
            limit = np.where(self.world.effort_limit > 0.0, self.world.effort_limit, np.inf)
            effort = as_vector(effort, len(self._joint_v), "effort")
            command[self._joint_v] = np.clip(effort, -limit, limit)
        before, energy = self._momenta(), self.tree.energy()
        start = self.joint_positions()
        self.tree.run(self.time_step, self.time_step, command)
        self.step_count += 1
        self._work_done += float(command[self._joint_v] @ (self.joint_positions() - start))
        self._collect_impulses(before)
        return self._result(energy)

    def link_pose(self, name):
        """World pose of a link or a body: position (3,) [m] and quaternion x y z w (4,)."""
        R, p = self.tree.pose(name)
        return p, matrix_to_quat(R)

    def contact_impulse(self, link):
        """Net contact impulse (6,) on a body or a link in the last step, angular first, in its axes about its origin.

        That of a body is the change of its momentum less gravity, so landings are in it; a link feels the opposite of
        what all that stands on it has taken up.
        """
        R, p = self.tree.pose(link)
        impulse = self._impulses[link] if link in self._impulses else -self._through(link)
        moment = impulse[:3] - cross(p, impulse[3:])
        return np.concatenate((R.T @ moment, R.T @ impulse[3:]))

    def joint_positions(self):
        """Of ``world.joint_names`` [rad, m], a new array."""
        return self.tree.q[self._joint_q]

    def joint_velocities(self):
        """Of ``world.joint_names`` [rad/s, m/s], a new array."""
        return self.tree.v[self._joint_v]

    def joint_efforts(self):
        """Efforts of now: command, damping, and torques of limits [N m, N]."""
        return self.tree.joint_efforts()[self._joint_v]

    def follower_state(self):
        """No mimic joints: two empty arrays."""
        return np.zeros(0), np.zeros(0)

    def mass_matrix(self):
        """Joint space mass matrix of ``world.joint_names``, the contacts' coordinates held."""
        return self.tree.joint_space()[0][np.ix_(self._joint_v, self._joint_v)]

    def nonlinear_effects(self):
        """Of ``world.joint_names``: efforts for which nothing accelerates [N m, N]."""
        return self.tree.joint_space()[1][self._joint_v]

    # --- inside ------------------------------------------------------------------------------------

    def _momenta(self):
        """Momentum (6,) of each contact's body about the world's origin."""
        out = {}
        for contact in self.tree.contacts:
            R, p = self.tree.pose(contact.name)
            w, v = self.tree.velocity(contact.name)
            arm = R @ contact.body.com
            momentum = contact.body.mass * (v + cross(w, arm))
            spin = R @ np.asarray(contact.body.inertia) @ R.T @ w
            out[contact.name] = np.concatenate((spin + cross(p + arm, momentum), momentum)), p + arm
        return out

    def _collect_impulses(self, before):
        gravity = self.time_step * np.array(self.surface_scene.gravity)
        now = self._momenta()
        for contact in self.tree.contacts:
            (old, from_), (new, to) = before[contact.name], now[contact.name]
            weight = contact.body.mass * gravity
            self._impulses[contact.name] = new - old - np.append(cross(0.5 * (from_ + to), weight), weight)

    def _through(self, link):
        """Impulse (6,) that a link hands to all that stands on it, directly or on others, about the world's origin."""
        if link not in self.tree.link_names():
            raise InputError(f"there is no link '{link}'")
        total = np.zeros(6)
        for contact in self.tree.contacts:
            carrier = contact
            while carrier.parent in self._impulses:
                carrier = next(c for c in self.tree.contacts if c.name == carrier.parent)
            if carrier.parent == link:
                total += self._impulses[contact.name]
        return total

    def _result(self, energy_before):
        dt, rows, gaps, pushes, rooms = self.time_step, [], [0.0], [0.0], [0.0]
        for i, name in enumerate(self._names):
            gap = self.tree.gap(name)
            gaps.append(gap)
            touch = self.tree.contact_point(name)
            if touch is None:
                continue
            wrench, push = self.tree.contact_wrench(name)
            rolls = self.tree.mode_name(name) == "rolling"
            if rolls:
                rooms.append(self.tree.friction_room(name))
            pushes.append(push)
            speed = float(np.linalg.norm(self.tree.slip(name)))
            state = STICK if rolls else SLIP
            rows.append([*touch[0], *touch[1], *(wrench[3:] * dt), gap, speed, state, i, 0.0])
        energy, kinetic = self.tree.energy(), self.tree.kinetic_energy()
        certificate = Certificate(
            complementarity_gap=float(np.sqrt(max((abs(p * row[9]) for p, row in zip(pushes[1:], rows)), default=0.0))),
            infeasibility=max(0.0, -min(pushes) * dt),
            cone_violation=max(0.0, -min(rooms) * dt),
            penetration=max(0.0, -min(gaps)),
            solver=SOLVER,
            iterations=0,
            contacts=len(rows),
            energy=energy,
            energy_balance=energy - self._energy_start - self._work_done,
            kinetic_energy=kinetic,
            contact_energy=energy - energy_before,
            push_out_energy=0.0,
        )
        pairs = [(c.name, c.parent or "world") for c in self.tree.contacts]
        return Step(self.time, certificate, np.array(rows).reshape(-1, 14), pairs)


def cross(a, b):
    """a x b of two vectors; NumPy's takes ten times as long."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def surface_simulator(path, progress=None):
    """The simulator of a scene file of surfaces, of either kind."""
    return (SurfaceTreeSimulator if is_tree_scene(path) else SurfaceSimulator)(path, progress)

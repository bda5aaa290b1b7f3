# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A scene of smooth surfaces behind the interface of ``Simulator``: what the node needs, without joints."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from mb_contact.errors import InputError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.simulation.results import Certificate, Step, SurfaceState
from mb_contact.surfaces.scene_file import SurfaceScene, build_motion, load_surface_scene, start
from mb_contact.types import SLIP, STICK

SOLVER = "contact_coordinates"


class SurfaceWorld(NamedTuple):
    """The part of ``World`` that a scene without joints has."""

    objects: dict  #: names of the two bodies
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


class SurfaceSimulator:
    """Simulation of one smooth body on another in contact coordinates, by RK4.

    Parameters
    ----------
    scene : SurfaceScene or path
    progress : callable, optional
        Called with one line of text before kernels are loaded.

    Attributes
    ----------
    motion : SurfaceMotion
    time_step : float
        [s]
    """

    robot_description = ""

    def __init__(self, scene, progress=None):
        (progress or _silent)("loading or, the first time, compiling the kernels of surfaces")
        self.surface_scene = scene if isinstance(scene, SurfaceScene) else load_surface_scene(scene)
        self.motion = build_motion(self.surface_scene)
        body, base = self.surface_scene.body.name, self.surface_scene.base.name
        self.world = SurfaceWorld({body: 0, base: 1})
        self.scene = NodeScene(self.surface_scene.rates, (body,), self.surface_scene.path)
        self.time_step = float(self.surface_scene.time_step)
        self._impulse = np.zeros(6)
        self.step_count = 0
        self._energy_start = self.motion.energy()
        self.step()
        self.reset()

    @property
    def time(self):
        """Simulated time [s]."""
        return self.step_count * self.time_step

    def reset(self):
        """Back to the start of the scene."""
        start(self.motion, self.surface_scene)
        self._energy_start = self.motion.energy()
        self.step_count = 0
        self._impulse[:] = 0.0

    def save(self):
        """Copy of the whole state; ``restore`` continues from it bit for bit."""
        return SurfaceState(
            self.motion.save(), self.step_count, {"": self._impulse.copy()}, self._energy_start, 0.0,
            self._fingerprint(),
        )  # fmt: skip

    def restore(self, state):
        """Continue from a saved state of the same scene.

        Raises
        ------
        InputError
            Not a SurfaceState, or one of a scene with other bodies, surfaces or laws; nothing has changed.
        """
        check_fingerprint(state, self._fingerprint())
        self.motion.restore(state.motion)
        self.step_count, self._energy_start = state.step_count, state.energy_start
        self._impulse = state.impulses[""].copy()

    def _fingerprint(self):
        scene, motion = self.surface_scene, self.motion
        return (
            ("kind of scene", "one body on a base"), ("bodies", (scene.body.name, scene.base.name)),
            ("masses, laws or motion of the base", motion.constants.tobytes()), ("restitution", motion.restitution),
            ("surfaces", surface_digest(motion.contact.surfaces)),
        )  # fmt: skip

    def energy(self):
        """Mechanical energy of the body [J]."""
        return self.motion.energy()

    def step(self, effort=None):
        """Advance by one time step; there are no joints, so ``effort`` may only be empty.

        Raises
        ------
        InputError
            Efforts of joints that do not exist.
        DynamicsError
            The contact reached the edge of its surface, became a line, or jammed.
        """
        if effort is not None and len(effort):
            raise InputError(f"a scene of surfaces has no joints, got {len(effort)} efforts")
        before, energy = self._momentum(), self.motion.energy()
        self.motion.step(self.time_step)
        self.step_count += 1
        gravity = np.array(self.surface_scene.gravity)
        self._impulse = self._momentum() - before
        self._impulse[3:] -= self.motion.body.mass * self.time_step * gravity
        return self._result(energy)

    def link_pose(self, name):
        """World pose of one of the two bodies: position (3,) [m] and quaternion x y z w (4,)."""
        R, p = self._pose(name)
        return p, matrix_to_quat(R)

    def contact_impulse(self, link):
        """Contact impulse (6,) on a body in the last step, angular first, in its axes about its origin.

        That of the body is the change of its momentum less gravity, so landings are in it; the base feels the opposite.
        """
        R, p = self._pose(link)
        about, force = self._impulse[:3], self._impulse[3:]
        centre, _, _ = self.motion.centre_of_mass()
        sign = 1.0 if link == self.surface_scene.body.name else -1.0
        moment = about + np.cross(centre - p, force)
        return sign * np.concatenate((R.T @ moment, R.T @ force))

    def joint_positions(self):
        """No joints: an empty array; so are velocities, efforts and those of mimic joints."""
        return np.zeros(0)

    joint_velocities = joint_efforts = nonlinear_effects = joint_positions
    follower_positions = follower_velocities = follower_efforts = joint_positions

    def mass_matrix(self):
        """No joints: (0, 0)."""
        return np.zeros((0, 0))

    # --- inside ------------------------------------------------------------------------------------

    def _pose(self, name):
        if name == self.surface_scene.body.name:
            return self.motion.pose()
        if name == self.surface_scene.base.name:
            return self.motion.base_pose()
        raise InputError(f"there is no body '{name}'; the bodies are {', '.join(self.world.objects)}")

    def _momentum(self):
        """Angular momentum about the centre of mass, and linear momentum."""
        R, _ = self.motion.pose()
        _, w, v = self.motion.centre_of_mass()
        body = self.motion.body
        return np.concatenate((R @ np.asarray(body.inertia) @ R.T @ w, body.mass * v))

    def _result(self, energy_before):
        force, energy, gap = self.motion.contact_force(), self.motion.energy(), self.motion.gap()
        push = 0.0 if force is None else force.normal_force
        room = np.inf if force is None or self.motion.mode_name != "rolling" else force.room
        kinetic = energy + self.motion.body.mass * float(
            np.array(self.surface_scene.gravity) @ self.motion.centre_of_mass()[0]
        )
        certificate = Certificate(
            complementarity_gap=float(np.sqrt(abs(push * gap))),
            infeasibility=max(0.0, -push * self.time_step),
            cone_violation=max(0.0, -room * self.time_step),
            penetration=max(0.0, -gap),
            solver=SOLVER,
            iterations=0,
            contacts=int(force is not None),
            energy=energy,
            energy_balance=energy - self._energy_start,
            kinetic_energy=kinetic,
            contact_energy=energy - energy_before,
            push_out_energy=0.0,
        )
        return Step(self.time, certificate, self._table(force, gap), [tuple(self.world.objects)])

    def _table(self, force, gap):
        """Rows as those of a step of ``Simulator``: one contact, or none."""
        if force is None:
            return np.zeros((0, 14))
        speed = float(np.linalg.norm(self.motion.slip()))
        state = STICK if self.motion.mode_name == "rolling" else SLIP
        impulse = force.force * self.time_step
        return np.array([[*force.point, *force.normal, *impulse, gap, speed, state, 0.0, 0.0]])


def check_fingerprint(state, ours):
    """Refuse what is no SurfaceState, or one of another scene than that with the fingerprint ``ours``.

    Raises
    ------
    InputError
        It names the first thing that differs.
    """
    if not isinstance(state, SurfaceState):
        raise InputError(f"restore needs a SurfaceState from save, got {type(state).__name__}")
    for (what, value), (_, theirs) in zip(ours, state.scene):
        if value != theirs:
            here = f": it has {theirs}, this one {value}" if isinstance(value, (str, float)) else ""
            raise InputError(f"the saved state belongs to another scene with other {what}{here}; use its own scene")


def surface_digest(surfaces):
    """All numbers of surfaces, to tell them from others."""
    parts = [part.tobytes() for surface in surfaces for chart in range(len(surface.charts))
             for part in surface.pack(chart)]  # fmt: skip
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _silent(_line):
    pass

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Questions about the present state and the last step: poses, impulses, wrenches, operational and joint space."""

from functools import cache, cached_property

import numpy as np

from mb_contact.core.constraints.bilateral import FIRST
from mb_contact.errors import InputError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.simulation.joint_wrench import JointWrenches
from mb_contact.simulation.operational import OperationalMonitor
from mb_contact.simulation.rebuild import slots
from mb_contact.types import WORLD


class Queries:
    """Answers of a simulation; none of them changes its state.

    Parameters
    ----------
    state : SimulationState
    """

    def __init__(self, state):
        self._state, self._context, self._world = state, state.context, state.context.world
        self._monitor = cache(lambda frames: OperationalMonitor(self._world, frames))

    def object_slots(self, name):
        """Where the state of a free object stands."""
        world = self._world
        if name not in world.objects:
            known = ", ".join(world.objects) or "none"
            raise InputError(f"there is no free object '{name}'; the free objects: {known}")
        return slots(world)[world.body_names[world.objects[name]]]

    def object_motion(self, name):
        """Velocity (6,) and mean acceleration (6,) in the last step; see ``Simulator.object_motion``."""
        slot, v, last = self.object_slots(name).v, self._context.v, self._state.last
        return v[slot].copy(), np.zeros(6) if last is None else (v[slot] - last.v[slot]) / last.dt

    def frame(self, name):
        """Rotation (3, 3) to the world and origin (3,) [m] of a link.

        Raises
        ------
        InputError
            There is no such link.
        """
        frames, kin = self._world.frames, self._context.kin
        if name not in frames:
            raise InputError(f"there is no link '{name}'; the links are {', '.join(sorted(frames))}")
        return frames[name].placed(kin.R, kin.p)

    def link_pose(self, name):
        """World pose of a link or object: position (3,) [m] and quaternion x y z w (4,)."""
        R, p = self.frame(name)
        return p, matrix_to_quat(R)

    def contact_impulse(self, link):
        """Net contact impulse (6,) on a link in the last step; see ``Simulator.contact_impulse``."""
        R, p = self.frame(link)
        total = [0.0] * 6
        for g in self._world.link_geometries.get(link, ()):
            total = [x + y for x, y in zip(total, self._context.work.geom_impulse[g].tolist())]
        if not any(total):
            return np.zeros(6)
        body = self._world.frames[link].body
        x, y, z = (p if body == WORLD else p - self._context.kin.p[body]).tolist()
        mx, my, mz, fx, fy, fz = total  # plain floats: np.cross alone costs 20 us
        moment = (mx - (y * fz - z * fy), my - (z * fx - x * fz), mz - (x * fy - y * fx))
        return np.concatenate((np.dot(moment, R), np.dot((fx, fy, fz), R)))

    @cached_property
    def joint_wrenches(self):
        """JointWrenches of the scene, made when they are asked for."""
        return JointWrenches(self._world, self._context.scene)

    def joint_wrench(self, joint):
        """Mean wrench (6,) through a joint in the last step; see ``Simulator.joint_wrench``."""
        context, last, monitor = self._context, self._state.last, self.joint_wrenches
        monitor.child_link(joint)
        if last is None:
            return np.zeros(6)
        if "joint wrenches" not in self._state.derived:
            exact = context.events is None and context.scene.integrator == "semi_implicit_euler"
            monitor.evaluate((last.q, last.v), (context.q, context.v), last.dt, last.gravity, exact)
            self._state.derived["joint wrenches"] = True
        impulses = context.loop_impulses() if context.events is None else context.events.loop_impulse
        if context.impacts is not None:
            impulses = impulses + context.impacts.loop_impulse
        first = int(context.bilateral.info[FIRST])
        return monitor.wrench(
            joint, context.work.geom_impulse, context.wrenches.applied, context.rows, first, impulses
        )

    def operational_space(self, frames):
        """OperationalSpace of stacked frames; see ``Simulator.operational_space``."""
        frames = (frames,) if isinstance(frames, str) else tuple(frames)
        if not frames:
            raise InputError("frames must name at least one frame")
        return self._monitor(frames).operational_space(self._context.handle)

    def joint_space(self):
        """Copies of the mass matrix and the nonlinear effects, computed once a state."""
        derived = self._state.derived
        if "joint space" not in derived:
            derived["joint space"] = self._monitor(()).joint_space(self._context.handle)
        M, effects = derived["joint space"]
        return M.copy(), effects.copy()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The wrench through a joint, movable or fixed: what a force and torque sensor in its place would read.

The inverse-dynamics sweep (core/tree/inverse_dynamics.py) at the state before the step, with the accelerations
``v_dot = (v+ - v) / dt`` that the step has made, gives the sums ``f = phi(M alpha + b)``; of these the impulses of
contacts and loop closures over dt, and external wrenches, on the links beyond the joint are taken away:

    f_joint = sum over links l beyond  phi(joint, l) (M_l alpha_l + b_l - p_l / dt - f_ext_l)

In body coordinates each sum is that of one body, and closures of joints are left in: all cancel but that of this one.

Under other integrators, and from event to event, the state in the middle of the step stands for the one before it.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_choice
from mb_contact.core.handle import make_tree_arrays, make_tree_handle
from mb_contact.core.tree.evaluate import evaluate_inverse_dynamics
from mb_contact.core.tree_workspace import make_aggregates_handle
from mb_contact.core.workspace import Rows
from mb_contact.dynamics.arguments import gravity_of, quaternions
from mb_contact.model.rotations import cross
from mb_contact.model.scene import MeshChoices
from mb_contact.model.shapes.inertia import weld
from mb_contact.model.urdf.xml import UrdfReader
from mb_contact.simulation.joints.embedded_forces import BEFORE, EmbeddedForces, moved
from mb_contact.simulation.tendons import TendonWrenches
from mb_contact.types import CLOSURE_ROWS, WORLD


class Cut(NamedTuple):
    """What lies beyond a joint."""

    link: str  #: the child link, in whose frame the wrench is
    body: int  #: that carries this link, or WORLD
    mass: float  #: of the links beyond that are rigidly fixed to it [kg]
    com: np.ndarray  #: (3,) in the body's frame [m]
    inertia: np.ndarray  #: (3, 3) about the body's origin, in its axes [kg m^2]
    children: tuple[int, ...]  #: bodies that hang on these links
    links: frozenset[str]  #: all links beyond
    share: float  #: of the body's mass in these links that is theirs, 1 where all of them lie beyond


class LoopForces(NamedTuple):
    """What the closures of the last step did."""

    rows: Rows
    first: int  #: row of theirs
    impulse: np.ndarray  #: (m,) from there on [N s, N m s]
    released: np.ndarray  #: int64 (c,) as ``Memory.released``


class JointWrenches:
    """Wrenches through the joints of a simulator's robots in its last step."""

    def __init__(self, context):
        self._context, self._world = context, context.world
        self.tendons = TendonWrenches(context)
        world, scene, couplings = context.world, context.scene, context.couplings
        aggregates = context.aggregate_arrays() if context.parts else None
        handle = None if aggregates is None else make_aggregates_handle(aggregates)
        arrays = make_tree_arrays(world.tree, handle, world.flexible)
        self._kin, self._alpha, self._force = arrays.kin, arrays.alpha, arrays.force
        self._handle = make_tree_handle(arrays)
        self._joints, self._still = _joints_of(world)
        self._free = scene.coordinates == "bodies"
        hinges = len(world.couplings.closure_names) - len(scene.loop_closures)  # closures of joints stand before others
        own = world.couplings.closure_names[hinges:]
        ends = dict(zip(own, ((c.link_a, c.link_b) for c in scene.loop_closures)))
        self._embedded = EmbeddedForces(context, self._handle, self._kin, aggregates, ends)
        kept = couplings.closure_names[hinges:]
        self._couplings, self._ends = couplings, [()] * hinges + [ends[name] for name in kept]
        self._loops = {name: hinges + c for c, name in enumerate(kept)}
        self.cut = cache(self._make_cut)  #: Cut of a joint

    @property
    def names(self):
        """All joints of the robots, in the order of their files, and loop closures."""
        return tuple({**self._joints, **self._loops, **self._embedded.ends})

    def child_link(self, joint):
        """The link in whose axes, and about whose origin, the wrench of a joint or loop closure is given."""
        if joint in self._loops and joint not in self._joints:
            return self._ends[self._loops[joint]][0]
        if joint in self._embedded.ends and joint not in self._joints:
            return self._embedded.ends[joint][0]
        return self.cut(joint).link

    def beyond(self, cut):
        """Bodies of the trees that hang on a Cut, all of whose links lie beyond."""
        found, parent = set(cut.children), self._world.tree.parent
        if not self._free:
            for k in range(len(parent)):
                found |= {k} if parent[k] in found else set()
        return sorted(found)

    def closure(self, joint):
        """Number of the loop closure of this name among those of the step, None of a joint."""
        return self._loops.get(joint) if joint not in self._joints else None

    def closures_on(self, cut):
        """(number, side) of the ends of the step's closures on links beyond a Cut."""
        return [(c, side) for c, ends in enumerate(self._ends) for side, link in enumerate(ends) if link in cut.links]

    def evaluate(self, before, after, dt, gravity, exact):
        """Inverse dynamics of the step between two states (q, v); then ``wrench`` may be asked.

        ``exact``: at the first of them, as semi_implicit_euler has it; otherwise in the middle, which is right to
        second order in the step where the motion is smooth.
        """
        (q, v), (q_next, v_next) = before, after
        if exact and self._context.parts:
            v_next = self._context.work.v_next  # before velocities are placed where the step has led to
        effort, v_dot = np.empty(len(v)), (v_next - v) / dt
        if not exact:
            q, v = self._middle(q, q_next), 0.5 * (v + v_next)
        evaluate_inverse_dynamics(self._handle, q, v, v_dot, gravity, effort)
        self._gravity, self._dt = gravity, dt
        self._embedded.find(q, effort)

    def _middle(self, q, q_next):
        """Coordinates half-way; quaternions of unit length."""
        middle = 0.5 * (q + q_next)
        for quaternion in quaternions(self._world.tree).values():
            sign = np.copysign(1.0, q[quaternion] @ q_next[quaternion])
            mean = q[quaternion] + sign * q_next[quaternion]
            middle[quaternion] = mean / np.linalg.norm(mean)
        return middle

    def wrench(self, joint, geom_impulse, external, loops):
        """Wrench (6,) that the parent link puts on the child link, child's axes and origin, moment first.

        Of a loop closure: that of its second link on its first.
        """
        if joint in self._loops and joint not in self._joints:
            return self._closure_wrench(joint, loops)
        if joint in self._embedded.ends and joint not in self._joints:
            return self._in_link(self._embedded.ends[joint][0], self._embedded.on_first(joint))
        cut, world, kin, force = self.cut(joint), self._world, self._kin, self._force
        origin = np.zeros(3) if cut.body == WORLD else kin.p[cut.body]
        total = self._rigid_part(cut)
        for k in cut.children:
            total += moved(force[k], kin.p[k] - origin)
        for g in np.flatnonzero(geom_impulse.any(axis=1)):
            if world.geometry_links[g] in cut.links:
                body = world.geoms.body[g]
                shift = (0.0 if body == WORLD else kin.p[body]) - origin
                total -= moved(geom_impulse[g] / self._dt, shift)
        for link, body, value in external:
            if link in cut.links:
                total -= moved(value, kin.p[body] - origin)
        total -= self._closure_forces(cut, kin, origin, loops)
        return self._in_link(cut.link, total)

    def follow(self, attachments):
        """Take the links that welds of Attachments join now."""
        for c in attachments.entries:
            self._ends[c] = attachments.joined(c)

    def _in_link(self, link, total):
        """A wrench about the origin of a link's body, world axes, in the link's axes about its origin."""
        if link not in self._world.frames:
            return total
        frame, kin = self._world.frames[link], self._kin
        R, p = (frame.R, frame.p) if frame.body == WORLD else (kin.R[frame.body] @ frame.R, kin.R[frame.body] @ frame.p)
        return (moved(total, -p).reshape(2, 3) @ R).ravel()

    def _acting(self, loops):
        """(closure, row behind the first) of every row of the last step's closures and of their friction."""
        couplings, found, i = self._couplings.closures, [], 0
        for c, kind in enumerate(couplings.kind):
            if loops.released[c] < BEFORE:
                found += [(c, i + k) for k in range(CLOSURE_ROWS[kind])]
                i += CLOSURE_ROWS[kind]
        return found + [(-1 - k, i + f) for f, k in enumerate(self._world.joints.rubbing.tolist()) if k < 0]

    def _closure_wrench(self, name, loops):
        """Wrench (6,) of a closure's second link on its first."""
        link, total, rows = self._ends[self._loops[name]][0], np.zeros(6), loops.rows
        for c, i in self._acting(loops):
            r, impulse = loops.first + i, loops.impulse[i] / self._dt
            if c != self._loops[name]:
                continue
            if rows.body_a[r] != WORLD:
                total += rows.on_a[r] * impulse
            else:
                total -= moved(rows.on_b[r] * impulse, self._kin.p[rows.body_b[r]])
        return self._in_link(link, total)

    def _rigid_part(self, cut):
        """M alpha + b of the links fixed to the child link, about the origin of their body, world axes."""
        kin = self._kin
        if cut.body == WORLD:
            alpha, spin, R = np.concatenate((np.zeros(3), -self._gravity)), np.zeros(3), np.eye(3)
        else:
            alpha, spin, R = self._alpha[cut.body].copy(), kin.V[cut.body, :3], kin.R[cut.body]
            alpha[3:] -= gravity_of(self._world.tree, self._gravity, cut.body) - self._gravity
        mass, com, inertia = self.rigid(cut)
        I, mc = R @ inertia @ R.T, mass * (R @ com)
        moment = I @ alpha[:3] + cross(mc, alpha[3:]) + cross(spin, I @ spin)
        force = mass * alpha[3:] + cross(alpha[:3], mc) + cross(spin, cross(spin, mc))
        return np.concatenate((moment, force))

    def rigid(self, cut):
        """Mass, centre of mass and inertia about the body's origin of the links fixed to the child link, as now.

        Those of the body where all of its links lie beyond; of a part of them their share of its mass.
        """
        tree, k = self._world.tree, cut.body
        if k == WORLD or not cut.mass > 0.0:
            return cut.mass, cut.com, cut.inertia
        if cut.share < 1.0:
            grown = cut.share * tree.mass[k] / cut.mass
            return grown * cut.mass, cut.com, grown * cut.inertia
        m, c = tree.mass[k], tree.com[k]
        return m, c, tree.inertia[k] + m * ((c @ c) * np.eye(3) - np.outer(c, c))

    def _closure_forces(self, cut, kin, origin, loops):
        """Sum of what loop closures put on the links beyond, about ``origin``."""
        total, rows = np.zeros(6), loops.rows
        for c, i in self._acting(loops):
            r = loops.first + i
            sides = ((rows.body_a[r], rows.on_a[r]), (rows.body_b[r], rows.on_b[r]))
            for link, (body, direction) in zip(self._ends[c], sides):
                if link in cut.links and body != WORLD:
                    total += moved(direction * loops.impulse[i] / self._dt, kin.p[body] - origin)
        for link, body, force in self._embedded.acting():
            if link in cut.links and body != WORLD:
                total += moved(force, kin.p[body] - origin)
        return total

    def _make_cut(self, joint):
        as_choice(joint, self.names, "joint")
        world = self._world
        first = self._joints[joint].child
        stack, rigid, links, hanging = [first], [], [], []
        while stack:
            link = stack.pop()
            links.append(link)
            if world.frames[link].body == world.frames[first].body:
                rigid.append(link)
            for spec in self._joints.values():
                if spec.parent != link:
                    continue
                stack.append(spec.child)
                if (link in rigid or self._free) and spec.kind != "fixed":  # the sums of free bodies are their own
                    hanging.append(world.frames[spec.child].body)
        part = weld([self._still[link].transformed(world.frames[link].R, world.frames[link].p) for link in rigid])
        body = world.frames[first].body
        others = [link for link in self._still if world.frames[link].body == body and link not in rigid]
        rest = sum(self._still[link].mass for link in others)
        share = part.mass / (part.mass + rest) if others and part.mass > 0.0 else 1.0
        return Cut(first, body, part.mass, part.com, part.about_origin(), tuple(hanging), frozenset(links), share)


def _joints_of(world):
    """JointSpec of every joint by name, and RigidInertia of every link in its own frame."""
    joints, inertias = {}, {}
    for model in world.robot_models:
        reader = UrdfReader(model.name, MeshChoices("skip"), inertia_errors="warn")
        _, links, specs = reader.parse(model.urdf.encode())
        inertias.update((name, link.inertia) for name, link in links.items())
        joints.update((name, spec) for name, spec in specs.items() if spec.kind != "floating")
    return joints, inertias

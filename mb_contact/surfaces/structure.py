# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A tree with contacts among its joints: its arrays for what each contact does now, its state, what is known of it."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import as_choice, as_vector
from mb_contact.core.state import EVENTS, HAND_OVERS
from mb_contact.core.surfaces import layout as layout, watch as kernels
from mb_contact.core.surfaces.closest import NOT_CONVERGED
from mb_contact.core.surfaces.contact import SINGULAR_CONTACT
from mb_contact.core.surfaces.rows import JAMMED
from mb_contact.core.surfaces.steps import TOO_SHORT
from mb_contact.core.surfaces.tree import tree_state
from mb_contact.core.tree_workspace import make_articulated, make_kinematics
from mb_contact.core.trigonometry import padded
from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.model import Model
from mb_contact.surfaces.bodies import GRAVITY, SurfaceEvent
from mb_contact.surfaces.parts import (
    MODES,
    ContactJoint,
    MovingBase,
    add_place,
    check_contact,
    check_mode,
    grown_tree,
    limited,
    make_joints,
    make_stages,
    places_of,
)
from mb_contact.types import JOINT_NQ, NOT_FINITE, OK, WORLD


class TreeStructure:
    """Arrays and state of a ``SurfaceTree``, which see; they are built anew when a contact does something else."""

    events: list[SurfaceEvent]

    def __init__(
        self,
        contacts: Sequence[ContactJoint],
        model: Model | MovingBase | None = None,
        gravity: ArrayLike = GRAVITY,
        limits: bool = True,
    ) -> None:
        self.contacts = tuple(contacts)
        if not self.contacts:
            raise InputError("a SurfaceTree needs at least one contact; a Model alone needs none")
        self.model = model
        self._gravity = as_vector(gravity, 3, "gravity").copy()
        self._bodies, rows = places_of(model), []
        for contact in self.contacts:
            check_contact(contact, self._bodies)
            rows.append(add_place(contact, self._bodies))
        self._body, self._parent, self.pairs = (list(part) for part in zip(*rows))
        self._index = {contact.name: j for j, contact in enumerate(self.contacts)}
        self._stops = limited(model) if limits else []
        self._modes = [MODES.index(contact.kind) for contact in self.contacts]
        self._own = (0, 0) if model is None else (model.nq, int(model.tree.nv.sum()))
        self._work = layout.make_surface_work()
        self._effort = np.zeros(self._own[1])
        self._begin()

    def _begin(self):
        """The state that the constructor leaves."""
        self._build()
        self.q, self.v = np.zeros(len(self._stages.q)), np.zeros(len(self._stages.v))
        if self.model is not None:
            self.q[: self._own[0]] = self.model.neutral_q()
        for j, mode in enumerate(self._modes):
            if mode == layout.FREE:
                self.q[self._slices(j)[0]][6] = 1.0
        self._pack()
        self.set_time(0.0)

    def set_time(self, time: float) -> None:
        """The time, a moving base where it is then, and nothing that has happened yet.

        Parameters
        ----------
        time : float
            [s]
        """
        self.time, self.events, self.hand_overs = float(time), [], 0
        if isinstance(self.model, MovingBase):
            self.q[: self._own[0]], self.v[: self._own[1]] = self.time * self.model.rates, self.model.rates

    # --- as a part of a state (docs/state.md) -------------------------------------------------

    def _state_sizes(self):
        """Sizes of the arrays of StateArrays that it has, by their names."""
        b, (nq, N) = len(self.contacts), self._own
        return {"surfaces": b, "surface_q": nq + 7 * b, "surface_v": N + 6 * b, "stops": len(self._stops), "one": 1}

    def _fingerprint(self):
        """What a saved state is tied to: (what, value) pairs."""
        laws = [(c.name, c.parent, c.friction, c.release) for c in self.contacts]
        masses = [(c.body.mass, np.asarray(c.body.inertia).tobytes(), np.asarray(c.body.com).tobytes())
                  for c in self.contacts]  # fmt: skip
        parts = [part.tobytes() for pair in self.pairs for surface in pair.surfaces
                 for chart in range(len(surface.charts)) for part in surface.pack(chart)]  # fmt: skip
        return (
            ("restitution", ", ".join(f"{c.restitution:g}" for c in self.contacts)),
            ("contacts", tuple(laws)), ("masses", tuple(masses)),
            ("surfaces", hashlib.sha256(b"".join(parts)).hexdigest()),
        )  # fmt: skip

    def _put_state(self, arrays):
        """Write its state into StateArrays."""
        arrays.mode[:], arrays.charts[:] = self._modes, [pair.charts for pair in self.pairs]
        arrays.surface_q[:], arrays.surface_v[:] = 0.0, 0.0
        arrays.surface_q[: len(self.q)], arrays.surface_v[: len(self.v)] = self.q, self.v
        arrays.near[:], arrays.stops[:] = self._joints.near, [side for _, _, side in self._stops]
        arrays.surface_time[0], arrays.tally[:] = self.time, (self.hand_overs, len(self.events))

    def _take_state(self, arrays):
        """Go on from what ``put_state`` has written; of the events those that have happened by then stay."""
        self._modes = arrays.mode.tolist()
        for stop, side in zip(self._stops, arrays.stops.tolist()):
            stop[2] = side
        for pair, charts in zip(self.pairs, arrays.charts.tolist()):
            pair.set_charts(tuple(charts))
        self._build()
        self.q = arrays.surface_q[: len(self._stages.q)].copy()
        self.v = arrays.surface_v[: len(self._stages.v)].copy()
        self._joints.near[:] = arrays.near
        self._pack()
        self.time, self.hand_overs = float(arrays.surface_time[0]), int(arrays.tally[HAND_OVERS])
        del self.events[int(arrays.tally[EVENTS]) :]

    def set_gravity(self, gravity: ArrayLike) -> None:
        """Change gravity from now on.

        Parameters
        ----------
        gravity : array_like (3,)
            World [m/s^2].
        """
        self._gravity[:] = self._stages.gravity[:] = as_vector(gravity, 3, "gravity")
        self._seen = None

    def _start(self, name, mode, q, v):
        """Bring a contact into a mode; one that cannot be leaves everything as it was."""
        j = self._contact(name)
        check_mode(self.contacts[j], mode)
        self._set_mode(j, mode, q, as_vector(v, 5 if mode == layout.SLIDING else 3, "v"))

    def _set_mode(self, j, mode, q, v):
        """Contact j does something else from now on; everything else goes on as it is."""
        if mode == self._modes[j]:
            at_q, at_v = self._slices(j)
            self.q[at_q], self.v[at_v] = q, v
            self._pack()  # charts may have been changed by a search
            return
        self._rebuild({j: (mode, np.array(q, float), np.array(v, float))})

    def _rebuild(self, changes=None):
        """The tree for the modes and the stopped joints of now."""
        changes = changes or {}
        parts = [(self.q[: self._own[0]], self.v[: self._own[1]])]
        for j in range(len(self.contacts)):
            at_q, at_v = self._slices(j)
            mode, q, v = changes.get(j, (self._modes[j], self.q[at_q], self.v[at_v]))
            self._modes[j] = mode
            parts.append((q, v))
        near, external = self._joints.near.copy(), self._stages.external.copy()
        self._build()
        self._stages.external[:] = external
        self.q, self.v = (np.concatenate(part) for part in zip(*parts))
        self._joints.near[:] = near
        self._stages.effort[: self._own[1]] = self._effort
        self._pack()

    def _build(self):
        self._seen = None
        self.tree = grown_tree(self.model, self.contacts, self._parent, self._modes)
        n, N = len(self.tree.parent), int(self.tree.nv.sum())
        nq = int(self.tree.q_start[-1]) + JOINT_NQ[self.tree.joint_type[-1]]
        self.kin = make_kinematics(n, N)._replace(
            angle=np.zeros(padded(nq)), sine=np.zeros(padded(nq)), cosine=np.zeros(padded(nq))
        )
        self.art = make_articulated(n, N)
        self._joints = make_joints(self.contacts, self._body, self._parent, self._modes, N)
        self._stages = make_stages(self.tree, self.contacts, self._modes, self._stops, self._gravity)

    def _pack(self):
        """Surfaces in their present charts, one after the other."""
        code, data, bounds, start = [], [], [], 0
        for pair in self.pairs:
            shifted = pair.code.copy()
            shifted[:, layout.START] += start
            start += len(pair.data)
            code.append(shifted)
            data.append(pair.data)
            bounds.append(pair.bounds)
        self._seen = None
        self._joints = self._joints._replace(code=np.array(code), data=np.concatenate(data), bounds=np.array(bounds))

    def _observe(self):
        """Everything about the state of now into ``kin``, ``_stages`` and ``_joints``; once for each state."""
        key = self._key()
        if key == self._seen:
            return
        self._seen = None
        self._joints.guide[:] = 0.0
        status, body = kernels.tree_watch(
            self.tree, self.kin, self.art, self._joints, self._work, self._stages, self.q, self.v, 0
        )
        self._check(status, body)
        self._seen = key

    def _key(self):
        """What the results of ``_observe`` depend on."""
        stages = self._stages
        return tuple(array.tobytes() for array in (self.q, self.v, stages.effort, stages.external)), tuple(self._modes)

    def _inverse_mass(self):
        """Inverse of the mass matrix (N, N) at the present state."""
        self._seen = None
        out = np.zeros((len(self.v), len(self.v)))
        self._check(*kernels.inverse_mass(
            self.tree, self.kin, self.art, self._joints, self._work, self._stages, self.q, self.v, out
        ))  # fmt: skip
        return out

    def _load(self, effort, wrenches=None):
        """Efforts, and wrenches by the names of links and bodies, of what comes next."""
        n, N = self._own[1], len(self.v)
        if effort is not None and np.size(effort) not in (n, N):
            raise InputError(f"effort must have {n} entries (the model's) or {N} (all); it has {np.size(effort)}")
        effort = np.zeros(N) if effort is None else as_vector(effort, np.size(effort), "effort")
        self._stages.effort[:] = 0.0
        self._stages.effort[: len(effort)] = effort
        self._effort = effort[:n].copy()
        self._stages.external[:] = self._body_wrenches(wrenches or {})

    def _body_wrenches(self, given):
        """Sums (n, 6) on the bodies about their origins of wrenches about those of links and bodies, by name."""
        out = np.zeros_like(self._stages.external)
        for name, wrench in given.items():
            frame, wrench = self._place(name), as_vector(wrench, 6, f"wrench on {name}")
            if frame.body != WORLD:
                arm = self.pose(name)[0] @ frame.R.T @ frame.p
                out[frame.body] += wrench
                out[frame.body, :3] += np.cross(arm, wrench[3:])
        return out

    def _check(self, status, body):
        if status == OK:
            return
        name = {frame.body: name for name, frame in self._bodies.items()}.get(body, body)
        pair = self.pairs[self._body.index(body)] if body in self._body else None
        what = {
            SINGULAR_CONTACT: pair and pair.line_contact(),
            JAMMED: f"friction and sliding of '{name}' have no common solution (Painleve): lower the friction",
            NOT_CONVERGED: f"the nearest points of '{name}' and what it may land on were lost: take shorter steps",
            TOO_SHORT: "the tolerances need a step below the time's rounding: they are too small",
            NOT_FINITE: "the state is not finite: it has run away, take shorter steps",
        }.get(status, f"the joint of '{name}' moves no inertia: correct its mass or inertia")
        raise DynamicsError(f"at t = {self.time:.9g} s: {what}")

    def _slices(self, j):
        """Slices of q and v of contact j."""
        tree, k = self.tree, self._body[j]
        a, b = int(tree.q_start[k]), int(tree.v_start[k])
        return slice(a, a + JOINT_NQ[tree.joint_type[k]]), slice(b, b + int(tree.nv[k]))

    def _contact(self, name):
        return self._index[as_choice(name, self._index, "contact")]

    def _place(self, name):
        return self._bodies[as_choice(name, self._bodies, "body")]

    def _frame(self, j):
        """Rotation and origin of the body that contact j stands on, world; poses are brought up to date."""
        m = self._parent[j]
        if m == WORLD:
            return np.eye(3), np.zeros(3)
        if self._seen != self._key():
            self._check(*tree_state(self.tree, self.kin, self._joints, self._work, self.q, self.v))
        return self.kin.R[m].copy(), self.kin.p[m].copy()

    def _normal(self, j):
        """Of the parent's surface at contact j, world."""
        m = self._parent[j]
        normal = self._joints.normal[j, 3:]
        return normal.copy() if m == WORLD else self.kin.R[m] @ normal

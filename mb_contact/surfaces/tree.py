# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts as joints of a tree: a ball rolling on a plate that an arm holds, a patch on a patch on a patch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces import tree as kernels
from mb_contact.core.surfaces.contact import SINGULAR_CONTACT
from mb_contact.core.trigonometry import padded
from mb_contact.core.workspace import make_articulated, make_kinematics
from mb_contact.errors import DynamicsError, InputError
from mb_contact.surfaces.bodies import GRAVITY, SurfaceBody
from mb_contact.surfaces.contact import SurfaceContact
from mb_contact.surfaces.surface import Surface
from mb_contact.types import JOINT_FLOATING, JOINT_NQ, JOINT_NV, JOINT_ROLLING, JOINT_SLIDING, OK, WORLD, Tree

KINDS = {"sliding": JOINT_SLIDING, "rolling": JOINT_ROLLING}


class ContactJoint(NamedTuple):
    """A body that touches another one."""

    name: str  #: of the body
    parent: str | None  #: link, body of an earlier contact, or None for the world
    surface: Surface  #: of the parent, in the frame of that link
    body: SurfaceBody
    kind: str = "sliding"  #: sliding, frictionless, v = dq; or rolling without slip, v = relative angular velocity
    charts: tuple = (0, 0)


class SurfaceTree:
    """A tree of joints of every type with contacts of surfaces among them, through the same articulated sweep.

    A contact holds in both directions here; ``contact_wrench`` tells when it would break.  Of the model's joints it
    knows efforts, damping and rotor inertia; limits, friction and springs are not for this class.

    Parameters
    ----------
    contacts : sequence of ContactJoint
    model : Model, optional
        The robot that carries the first of them.
    gravity : (3,)
        World [m/s^2].

    Attributes
    ----------
    q, v : ndarray
        Coordinates and velocities: the model's, then 5 and 5 (sliding) or 5 and 3 (rolling) of each contact.
    """

    def __init__(self, contacts, model=None, gravity=GRAVITY):
        self.contacts = tuple(contacts)
        if not self.contacts:
            raise InputError("a SurfaceTree needs at least one contact; a Model alone needs none")
        self.model = model
        places = _places(model)
        self.pairs = []
        rows = []
        for contact in self.contacts:
            rows.append(_row(contact, places, self.pairs))
        self.tree = _grown(model, rows)
        n, N = len(self.tree.parent), int(self.tree.nv.sum())
        nq = int(self.tree.q_start[-1]) + JOINT_NQ[self.tree.joint_type[-1]]
        self.kin = make_kinematics(n, N)._replace(
            angle=np.zeros(padded(nq)), sine=np.zeros(padded(nq)), cosine=np.zeros(padded(nq))
        )
        self.art = make_articulated(n, N)
        self.q, self.v = np.zeros(nq), np.zeros(N)
        if model is not None:
            self.q[: model.nq] = model.neutral_q()
        self._joints = _joints([row["body"] for row in rows], N)
        self._pack()
        self._work = layout.make_surface_work()
        c = {"q": nq, "v": N, "q_start": nq, "v_start": N, "q_dot": (4, nq), "v_dot": (4, N), "a": N,
             "external": (n, 6), "alpha": (n, 6), "force": (n, 6), "effort": N}  # fmt: skip
        arrays = {name: np.zeros(shape) for name, shape in c.items()}
        self._stages = kernels.TreeStages(**arrays, gravity=as_vector(gravity, 3, "gravity").copy())
        self._bodies = places
        self.time = 0.0

    def coordinates(self, name):
        """Slices of q and v that belong to the joint of a contact's body."""
        k = self._bodies[name].body if name in self._bodies else None
        if k is None or name not in {contact.name for contact in self.contacts}:
            raise InputError(f"there is no contact '{name}'; there are {', '.join(c.name for c in self.contacts)}")
        tree = self.tree
        return (
            slice(int(tree.q_start[k]), int(tree.q_start[k]) + 5),
            slice(int(tree.v_start[k]), int(tree.v_start[k] + tree.nv[k])),
        )

    def set_contact(self, name, q, v=None):
        """Set q = (u1, u2, psi) of a contact and its velocity (zero if left out)."""
        at_q, at_v = self.coordinates(name)
        self.q[at_q] = as_vector(q, 5, "q")
        self.v[at_v] = 0.0 if v is None else as_vector(v, at_v.stop - at_v.start, "v")

    def accelerations(self, effort=None):
        """v_dot (N,) at the present state; efforts (N,) of all joints, zero if left out."""
        self._load(effort)
        self._forces()
        return self._stages.a.copy()

    def contact_wrench(self, name):
        """Wrench (6,) of the parent on a contact's body about the contact point, world axes, and its normal part [N].

        Efforts are those of the last call of ``run`` or ``accelerations``.
        """
        self.coordinates(name)
        self._forces()
        j = [contact.name for contact in self.contacts].index(name)
        parent = self.tree.parent[self._joints.body[j]]
        normal = self._joints.normal[j, 3:]
        normal = normal if parent == WORLD else self.kin.R[parent] @ normal
        wrench = self._joints.wrench[j].copy()
        return wrench, float(normal @ wrench[3:])

    def energy(self):
        """Kinetic and potential energy [J]."""
        return sum(self._forces())

    def pose(self, name):
        """Rotation and origin [m] of a link or a contact's body, world."""
        if name not in self._bodies:
            raise InputError(f"there is no body '{name}'; there are {', '.join(self._bodies)}")
        self._forces()
        frame = self._bodies[name]
        if frame.body == WORLD:
            return frame.R.copy(), frame.p.copy()
        R = self.kin.R[frame.body]
        return R @ frame.R, self.kin.p[frame.body] + R @ frame.p

    def centre_of_mass(self):
        """Of all bodies, world [m]."""
        self._forces()
        mass = self.tree.mass
        return (mass @ self.kin.p + self.kin.mc.sum(0)) / mass.sum()

    def run(self, duration, step, effort=None):
        """Advance by ``duration`` [s] in equal steps of at most ``step`` [s], RK4, with constant efforts (N,).

        Raises
        ------
        DynamicsError
            A contact reaches the edge of its surface or becomes a line, a hinge carries no inertia.
        """
        if not (np.isfinite([duration, step]).all() and duration >= 0.0 and step > 0.0):
            raise InputError(f"duration must be 0 or more and step greater than zero, got {duration} and {step}")
        self._load(effort)
        count = max(int(np.ceil(duration / step * (1.0 - 1e-12))), 1 if duration > 0.0 else 0)
        left, h, start = count, duration / max(count, 1), self.time
        while left:
            status, body, done, leaves = kernels.tree_steps(
                self.tree, self.kin, self.art, self._joints, self._work, self._stages, h, left, self.q, self.v
            )
            left -= done
            self.time = start + (count - left) * h
            if status != OK:
                self.q[:], self.v[:] = self._stages.q_start, self._stages.v_start
            self._judge(status, body)
            if leaves >= 0:
                self._hand_over(leaves)

    # --- inside -------------------------------------------------------------------------------------

    def _forces(self):
        status, body, kinetic, potential = kernels.tree_forces(
            self.tree, self.kin, self.art, self._joints, self._work, self._stages, self.q, self.v
        )
        self._judge(status, body)
        return kinetic, potential

    def _load(self, effort):
        self._stages.effort[:] = 0.0 if effort is None else as_vector(effort, len(self.v), "effort")

    def _judge(self, status, body):
        if status == OK:
            return
        if status == SINGULAR_CONTACT:
            j = list(self._joints.body).index(body)
            raise DynamicsError(f"at t = {self.time:.9g} s: {self.pairs[j].line_contact()}")
        names = {frame.body: name for name, frame in self._bodies.items()}
        raise DynamicsError(f"at t = {self.time:.9g} s: the joint of '{names.get(body, body)}' moves no inertia")

    def _hand_over(self, j):
        """The contact goes on in other charts."""
        contact, pair = self.contacts[j], self.pairs[j]
        at_q, at_v = self.coordinates(contact.name)
        q, v = self.q[at_q].copy(), self.v[at_v].copy()
        if contact.kind == "sliding":
            q, v = pair.hand_over(q, v)
        else:
            w = pair.surfaces[0].frame(q[:2], pair.charts[0]) @ v
            q, _ = pair.hand_over(q, pair.rates(q)[:, :3] @ v)
            v = pair.surfaces[0].frame(q[:2], pair.charts[0]).T @ w
        self.q[at_q], self.v[at_v] = q, v
        self._pack()

    def _pack(self):
        """Surfaces in their present charts, one after the other."""
        code, data, start = [], [], 0
        for pair in self.pairs:
            shifted = pair.code.copy()
            shifted[:, layout.START] += start
            start += len(pair.data)
            code.append(shifted)
            data.append(pair.data)
        self._joints = self._joints._replace(
            code=np.array(code), data=np.concatenate(data), bounds=np.array([pair.bounds for pair in self.pairs])
        )


class _Place(NamedTuple):
    """Where a link is: its body, and its frame in it."""

    body: int
    R: np.ndarray
    p: np.ndarray


def _places(model):
    """Links of the model by name."""
    if model is None:
        return {}
    if getattr(model, "S", None) is not None:
        raise InputError("a SurfaceTree cannot follow mimic joints: load the model with mimic='independent'")
    if np.any((model.tree.joint_type == JOINT_FLOATING) & (model.tree.parent != WORLD)):
        raise InputError("a floating joint must hang on the world")
    return {name: _Place(frame.body, frame.R, frame.p) for name, frame in model.frames.items()}


def _row(contact, places, pairs):
    """What a contact adds to the tree; also adds its body to ``places`` and its surfaces to ``pairs``."""
    if contact.kind not in KINDS:
        raise InputError(f"the contact of {contact.name} must be sliding or rolling, got '{contact.kind}'")
    if contact.name in places:
        raise InputError(f"there are two bodies called {contact.name}")
    if contact.parent is not None and contact.parent not in places:
        raise InputError(f"{contact.name} stands on '{contact.parent}', which does not exist; there are {list(places)}")
    place = places[contact.parent] if contact.parent else _Place(WORLD, np.eye(3), np.zeros(3))
    pairs.append(SurfaceContact(contact.surface.placed(place.R, place.p), contact.body.surface, contact.charts))
    k = 1 + max((frame.body for frame in places.values()), default=-1)
    places[contact.name] = _Place(k, np.eye(3), np.zeros(3))
    return {"body": k, "parent": place.body, "kind": KINDS[contact.kind], "of": contact.body}


def _grown(model, rows):
    """The tree of the model with a body for each contact; arrays of its own, for the poses are written into it."""
    fields = {name: [] for name in Tree._fields}
    if model is not None:
        fields = {name: list(getattr(model.tree, name)) for name in Tree._fields}
    nq = 0 if model is None else model.nq
    for row in rows:
        body, k, N = row["of"], row["body"], sum(fields["nv"])
        root = k if row["parent"] == WORLD else fields["root"][row["parent"]]
        new = {
            "parent": row["parent"], "joint_type": row["kind"], "q_start": nq, "v_start": N,
            "nv": JOINT_NV[row["kind"]], "root": root, "R_joint": np.eye(3),
            "p_joint": np.zeros(3), "axis": np.zeros(3), "axis2": np.zeros(3), "mass": float(body.mass),
            "com": np.array(body.com, float), "inertia": np.array(body.inertia, float),
        }  # fmt: skip
        for name, value in new.items():
            fields[name].append(value)
        free = {"armature": 0.0, "damping": 0.0, "effort_limit": 0.0, "lower": -np.inf, "upper": np.inf}
        for name, value in free.items():
            fields[name] += [value] * new["nv"]
        nq += 5
    whole = {"parent", "joint_type", "q_start", "v_start", "nv", "root"}
    return Tree(**{
        name: np.array(values, np.int64 if name in whole else float) for name, values in fields.items()
    })  # fmt: skip


def _joints(bodies, N):
    c = len(bodies)
    return kernels.SurfaceJoints(
        body=np.array(bodies, np.int64), code=np.zeros((c, 2, layout.CODES), np.int64), data=np.zeros(1),
        bounds=np.zeros((c, 4, 2)), H=np.zeros((N, 6)), H_dot=np.zeros((N, 6)), rate=np.zeros((c, 5)),
        normal=np.zeros((c, 6)), wrench=np.zeros((c, 6)), q=np.zeros(5), v=np.zeros(5),
    )  # fmt: skip

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a SurfaceTree is made of: contacts as given, the tree with a body for each, and the workspaces."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.surfaces import layout as layout
from mb_contact.errors import InputError
from mb_contact.surfaces.bodies import SurfaceBody, check_body
from mb_contact.surfaces.contact import SurfaceContact
from mb_contact.surfaces.surface import Surface
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_NQ,
    JOINT_NV,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    JOINT_ROLLING,
    JOINT_SLIDING,
    WORLD,
    Tree,
)

MODES = ("free", "sliding", "rolling")
JOINT_OF_MODE = (JOINT_FLOATING, JOINT_SLIDING, JOINT_ROLLING)
INERT = 1e30  #: inertia of the rotors of a moving base, which nothing that it carries can change the speed of


class ContactJoint(NamedTuple):
    """A body that touches another one, or may come to.

    Examples
    --------
    >>> ball = mb.surfaces.SurfaceBody(mb.surfaces.sphere(0.1), 1.0, 0.004 * np.eye(3))
    >>> mb.surfaces.ContactJoint("ball", None, mb.surfaces.plane(), ball, kind="rolling").coefficient()
    inf
    """

    name: str  #: of the body
    parent: str | None  #: link, moving base, body of an earlier contact, or None for the world
    surface: Surface  #: of the parent, in the frame of that link
    body: SurfaceBody
    kind: str = "sliding"  #: how it starts: sliding, v = dq; rolling, v = relative angular velocity; or free
    charts: tuple = (0, 0)
    friction: float | None = None  #: Coulomb's coefficient; None: 0 of a body that starts sliding or free, inf rolling
    restitution: float = 0.0  #: of a landing, 0 to 1
    release: bool = True  #: whether the contact may break; without it the parent also pulls

    def coefficient(self) -> float:
        """The friction coefficient.

        Returns
        -------
        float
            Without unit; inf of a body that can only roll.
        """
        if self.friction is not None:
            return float(self.friction)
        return np.inf if self.kind == "rolling" else 0.0


class Place(NamedTuple):
    """Where a link is: its body, and its frame in it."""

    body: int
    R: np.ndarray
    p: np.ndarray


class MovingBase(NamedTuple):
    """What a SurfaceTree may have in place of a Model: a base that travels and turns as told (``moving_base``)."""

    tree: Tree  #: a slider along its velocity and a hinge along its angular velocity, as far as it needs them
    frames: dict  #: its Place
    rates: np.ndarray  #: (N,), of the two joints [m/s, rad/s]

    @property
    def nq(self):
        """Number of coordinates."""
        return len(self.rates)

    def neutral_q(self):
        """Coordinates at time 0."""
        return np.zeros(self.nq)


def moving_base(
    name: str,
    R: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    p: ArrayLike = (0.0, 0.0, 0.0),
    velocity: ArrayLike = (0.0, 0.0, 0.0),
    angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
) -> MovingBase:
    """A base that stands, or travels and turns as told whatever it carries: the ``model`` of a SurfaceTree.

    A contact that names it as its parent is in axes of the base.

    Parameters
    ----------
    name : str
    R, p : array_like (3, 3), (3,)
        Where it is at time 0, world [m].
    velocity, angular_velocity : array_like (3,)
        Constant, the former of its origin, world axes [m/s, rad/s].

    Returns
    -------
    MovingBase

    Raises
    ------
    InputError
        Its pose is none, or its velocities are no three finite numbers.

    Examples
    --------
    >>> belt = mb.surfaces.moving_base("belt", velocity=(0.5, 0.0, 0.0))
    >>> ball = mb.surfaces.SurfaceBody(mb.surfaces.sphere(0.1), 1.0, 0.004 * np.eye(3))
    >>> joint = mb.surfaces.ContactJoint("ball", "belt", mb.surfaces.plane(), ball, friction=0.3)
    >>> tree = mb.surfaces.SurfaceTree([joint], belt)
    >>> tree.slide("ball", tree.first_touch("ball", np.eye(3), (0.0, 0.0, 1.0))[0])
    >>> tree.run(1.0, step=1e-3)
    >>> tree.mode_name("ball"), np.round(tree.velocity("ball")[1], 6)
    ('rolling', array([0.5, 0. , 0. ]))
    """
    R, p = as_matrix(R, (3, 3), "R of the base"), as_vector(p, 3, "p of the base")
    if np.abs(R.T @ R - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0.0:
        raise InputError("R of the base must be a rotation")
    v = as_vector(velocity, 3, "velocity of the base")
    w = as_vector(angular_velocity, 3, "angular_velocity of the base")
    fields: dict[str, list] = {field: [] for field in Tree._fields}
    rates: list[Any] = []
    if v.any():
        rates.append(np.linalg.norm(v))
        _add_body(fields, JOINT_PRISMATIC, WORLD, INERT, p_joint=p, axis=v / rates[0])
        p = np.zeros(3)
    if w.any() or p.any() or not np.array_equal(R, np.eye(3)):
        rates.append(np.linalg.norm(w))
        axis = R.T @ w / rates[-1] if w.any() else np.array([0.0, 0.0, 1.0])
        parent = len(rates) - 2  # the slider, or the world
        _add_body(fields, JOINT_REVOLUTE, parent, INERT, p_joint=p, R_joint=R, axis=axis)
    place = Place(len(rates) - 1, np.eye(3), np.zeros(3))
    return MovingBase(_as_tree(fields), {name: place}, np.array(rates))


def places_of(model):
    """Links of the model, or the moving base, by name."""
    if model is None:
        return {}
    if getattr(model, "S", None) is not None:
        raise InputError("a SurfaceTree cannot follow mimic joints: load the model with mimic='independent'")
    if np.any((model.tree.joint_type == JOINT_FLOATING) & (model.tree.parent != WORLD)):
        raise InputError("a floating joint must hang on the world")
    return {name: Place(frame.body, frame.R, frame.p) for name, frame in model.frames.items()}


def check_contact(contact, places):
    """Refuse what cannot be a contact of a tree that has ``places``."""
    name, mu = contact.name, contact.coefficient()
    if contact.kind not in MODES:
        raise InputError(f"the contact of {name} must start {', '.join(MODES)}, got '{contact.kind}'")
    if name in places:
        raise InputError(f"there are two bodies called {name}")
    if contact.parent is not None and contact.parent not in places:
        raise InputError(f"{name} stands on '{contact.parent}', which does not exist; there are {list(places)}")
    if not mu >= 0.0:
        raise InputError(f"friction of {name} must be 0 or more, got {mu}")
    if not 0.0 <= contact.restitution <= 1.0:
        raise InputError(f"restitution of {name} must be from 0 to 1, got {contact.restitution}")
    check_body(contact.body)
    check_mode(contact, MODES.index(contact.kind))


def check_mode(contact, mode):
    """Refuse rolling without friction and slipping where friction is infinite."""
    mu = contact.coefficient()
    if mode == layout.ROLLING and mu == 0.0:
        raise InputError(f"{contact.name} has no friction: such a body slides, start it with slide")
    if mode == layout.SLIDING and np.isinf(mu):
        raise InputError(f"friction of {contact.name} is infinite: such a body rolls, start it with roll")


def add_place(contact, places):
    """Add the body of a contact to ``places``: (its body, that of its parent, the pair of surfaces)."""
    place = places[contact.parent] if contact.parent else Place(WORLD, np.eye(3), np.zeros(3))
    com = np.array(contact.body.com, float)
    pair = SurfaceContact(contact.surface.placed(place.R, place.p), contact.body.surface, contact.charts, com)
    k = 1 + max((other.body for other in places.values()), default=-1)
    places[contact.name] = Place(k, np.eye(3), -com)  # in the tree its origin is its centre of mass
    return k, place.body, pair


def grown_tree(model, contacts, parents, modes):
    """The tree of the model with a body for each contact; arrays of its own, for the poses are written into it."""
    fields = {name: [] if model is None else list(getattr(model.tree, name)) for name in Tree._fields}
    for contact, parent, mode in zip(contacts, parents, modes):
        parent = WORLD if mode == layout.FREE else parent
        mass, inertia = float(contact.body.mass), np.array(contact.body.inertia, float)
        _add_body(fields, JOINT_OF_MODE[mode], parent, mass=mass, inertia=inertia)
    return _as_tree(fields)


def _add_body(fields, kind, parent, armature=0.0, **given):
    """Append a body and its joint to the lists of a tree; what is not ``given`` is zero."""
    k, nv = len(fields["parent"]), JOINT_NV[kind]
    row = {
        "parent": parent, "joint_type": kind, "q_start": sum(JOINT_NQ[other] for other in fields["joint_type"]),
        "v_start": sum(fields["nv"]), "nv": nv, "root": k if parent == WORLD else fields["root"][parent],
        "R_joint": np.eye(3), "p_joint": np.zeros(3), "axis": np.zeros(3), "axis2": np.zeros(3), "mass": 0.0,
        "com": np.zeros(3), "inertia": np.zeros((3, 3)), "body_gravity": np.full(3, np.nan), **given,
    }  # fmt: skip
    for name, value in row.items():
        fields[name].append(value)
    loose = {"armature": armature, "damping": 0.0, "effort_limit": 0.0, "lower": -np.inf, "upper": np.inf}
    for name, value in loose.items():
        fields[name] += [value] * nv


def _as_tree(fields):
    """Arrays of their own of the lists of a tree."""
    whole = {"parent", "joint_type", "q_start", "v_start", "nv", "root"}
    return Tree(**{
        name: np.array(values, np.int64 if name in whole else float) for name, values in fields.items()
    })  # fmt: skip


def make_joints(contacts, bodies, parents, modes, N):
    """SurfaceJoints without the numbers of their surfaces."""
    c = len(bodies)
    shapes = {"bounds": (c, 4, 2), "H": (N, 6), "H_dot": (N, 6), "rate": (c, 5), "near": (c, 5), "guide": (c, 3),
              "watch": (c, layout.WATCHED), "drag": (c, 6), "normal": (c, 6), "wrench": (c, 6), "q": 5, "v": 5,
              "data": 1}  # fmt: skip
    return layout.SurfaceJoints(
        body=np.array(bodies, np.int64), parent=np.array(parents, np.int64), mode=np.array(modes, np.int64),
        code=np.zeros((c, 2, layout.CODES), np.int64),
        law=np.array([(contact.coefficient(), float(contact.release)) for contact in contacts]),
        **{name: np.zeros(shape) for name, shape in shapes.items()},
    )  # fmt: skip


def make_stages(tree, contacts, modes, stops, gravity):
    """TreeStages; ``stops`` (s, 3) as its ``stop``."""
    n, N = len(tree.parent), int(tree.nv.sum())
    nq = int(tree.q_start[-1]) + JOINT_NQ[tree.joint_type[-1]]
    rows = [(layout.RUBS, j) for j, contact in enumerate(contacts)
            if modes[j] == layout.SLIDING and contact.coefficient() > 0.0]  # fmt: skip
    rows += [(layout.HOLDS, int(dof)) for dof, _, side in stops if side]
    r = len(rows)
    shapes = {"q": nq, "v": N, "q_start": nq, "v_start": N, "q_dot": (layout.MOST_STAGES, nq),
              "v_dot": (layout.MOST_STAGES, N), "a": N, "external": (n, 6), "carried": (n, 6), "alpha": (n, 6),
              "force": (n, 6), "effort": N, "total": N, "torque": N, "unit": (r, N), "value": r, "load": r, "grip": r,
              "system": (r, r)}  # fmt: skip
    return layout.TreeStages(
        **{name: np.zeros(shape) for name, shape in shapes.items()}, gravity=gravity.copy(),
        row=np.array(rows, np.int64).reshape(-1, 2), order=np.zeros(r, np.int64), five=np.zeros(5, np.int64),
        stop=np.array(stops, np.int64).reshape(-1, 3),
    )  # fmt: skip


def limited(model):
    """[degree of freedom, place in q, 0] of every joint of the model that has a limit."""
    if model is None:
        return []
    tree, out = model.tree, []
    for k, kind in enumerate(tree.joint_type):
        for i in range(int(tree.nv[k]) if JOINT_NQ[kind] == tree.nv[k] else 0):
            dof = int(tree.v_start[k]) + i
            if np.isfinite([tree.lower[dof], tree.upper[dof]]).any():
                out.append([dof, int(tree.q_start[k]) + i, 0])
    return out

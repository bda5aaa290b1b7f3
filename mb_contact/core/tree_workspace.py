# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces of the sweeps over a tree: poses and velocities, articulated inertias, flexible links, aggregates."""

import functools
from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.trigonometry import padded
from mb_contact.core.workspace import LoopWork, Rows, make_loop_work, make_rows
from mb_contact.types import CLOSURE_ROWS, Closures, Gears


class Kinematics(NamedTuple):
    """Poses and velocities; world axes, each body about its own origin."""

    R: Annotated[Reals, "n", 3, 3]  #: body to world
    p: Annotated[Reals, "n", 3]  #: [m]
    l: Annotated[Reals, "n", 3]  #: origin of the parent to origin of the body [m]
    H: Annotated[Reals, "N", 6]  #: rows of the hinge maps
    V: Annotated[Reals, "n", 6]  #: spatial velocity
    a: Annotated[Reals, "n", 6]  #: Coriolis acceleration
    b: Annotated[Reals, "n", 6]  #: gyroscopic force
    I: Annotated[Reals, "n", 3, 3]  #: rotational inertia about the body origin
    mc: Annotated[Reals, "n", 3]  #: mass times centre of mass
    angle: Annotated[Reals, "angles"]  #: padded, see trigonometry.py
    sine: Annotated[Reals, "angles"]
    cosine: Annotated[Reals, "angles"]
    base: Annotated[Reals, 1, 3, 3]  #: scratch: joint frame to world
    turn: Annotated[Reals, 2, 3, 3]  #: scratch: a joint's rotation
    shift: Annotated[Reals, 1, 3]  #: scratch: a joint's displacement
    modal: object  #: ModalHandle: links that deform


class Modal(NamedTuple):
    """f flexible links, R modes, m nodes, p points; P pairs of modes of a link, S of a mode and a node, T of all three.

    Arrays of the first part are constant, in the axes of the links' floating frames (``model/flexible/modal.py``).
    """

    link: Annotated[Integers, "f"]  #: body that is the floating frame
    first_mode: Annotated[Integers, "f + 1"]
    q_start: Annotated[Integers, "f"]  #: of the first mode; those of a link stand side by side
    v_start: Annotated[Integers, "f"]
    first_pair: Annotated[Integers, "f"]  #: pair (i, j) of a link with r modes is r i + j further on
    first_node: Annotated[Integers, "f + 1"]
    node: Annotated[Integers, "m"]  #: body
    link_of: Annotated[Integers, "m"]  #: flexible link of a node
    node_of: Annotated[Integers, "n"]  #: node that a body is, or -1
    flexible: Annotated[Integers, "n"]  #: flexible link that a body is a mode or a node of, or -1
    first_shape: Annotated[Integers, "m"]
    first_short: Annotated[Integers, "m"]
    first_point: Annotated[Integers, "f + 1"]
    axis: Annotated[Reals, "f", 3]
    one: Annotated[Reals, "p"]  #: weights and fields of the points: see ModalMass
    point: Annotated[Reals, "p", 3]
    point_shape: Annotated[Reals, "x", 3]  #: of each point and mode, those of a link's first point first
    first_point_shape: Annotated[Integers, "f"]
    point_short: Annotated[Reals, "y"]  #: of each point and pair of modes
    first_point_short: Annotated[Integers, "f"]
    turning: Annotated[Reals, "f", 3, 3]
    turning_modes: Annotated[Reals, "R", 3]
    turning_mass: Annotated[Reals, "P"]
    shape: Annotated[Reals, "S", 3]  #: displacement of a node for each unit of a mode
    slope: Annotated[Reals, "S", 3]  #: its rotation vector
    short: Annotated[Reals, "T"]  #: second derivatives of the displacement along the axis
    # --- filled by the sweeps; world axes
    eta: Annotated[Reals, "R"]
    rate: Annotated[Reals, "R"]
    columns_at: Annotated[Reals, "R", 3]  #: scratch: displacements of a point for each unit of a mode
    coupling: Annotated[Reals, "R", 6]  #: [B_i; A_i]
    M: Annotated[Reals, "P"]  #: of the modes
    force: Annotated[Reals, "R"]  #: velocity products on the modes
    columns: Annotated[Reals, "S", 6]  #: velocity of a node for each unit rate of a mode
    column_rates: Annotated[Reals, "S", 6]


ModalHandleType, ModalHandle, make_modal_handle = handle(Modal)


class Articulated(NamedTuple):
    """Results of the Riccati sweep and the sweeps that use it; every degree of freedom counts as a joint of its own."""

    P: Annotated[Reals, "n", 21]  #: articulated-body inertia, packed as articulated.py says
    U: Annotated[Reals, "N", 6]  #: rows (P H*)*
    D_inv: Annotated[Reals, "N"]
    z: Annotated[Reals, "n", 6]  #: residual forces
    nu: Annotated[Reals, "N"]
    alpha: Annotated[Reals, "n", 6]  #: accelerations or velocity jumps
    aggregates: object  #: AggregatesHandle


class Compliance(NamedTuple):
    """Upsilon sweep and the blocks Omega of the essential bodies."""

    branches: Annotated[Integers, "n"]
    on_path: Annotated[Integers, "n"]
    essential: Annotated[Integers, "n"]  #: number of the body among the essential ones, or -1
    body: Annotated[Integers, "m"]  #: body of an essential number
    near: Annotated[Integers, "n"]  #: nearest essential proper ancestor, or -1
    Upsilon: Annotated[Reals, "n", 21]  #: packed as articulated.py says
    Psi: Annotated[Reals, "n", 6, 6]
    Omega: Annotated[Reals, "m", "m", 6, 6]
    same_tree: Annotated[Integers, "m", "m"]


class Aggregates(NamedTuple):
    """A aggregates of s bodies and d degrees of freedom in all, c and m of them and of rows at most in one.

    An aggregate is a set of bodies that hang together, each on another of them or on the ``base``, and that move by
    few independent velocities y beside it:

        V(k) = phi* V(base) + B(k)* y,    v = Z y,    v_dot = Z y_dot + bias.

    ``dof`` are all degrees of freedom of its joints.  In the sweeps everything happens at its first body.
    """

    base: Annotated[Integers, "A"]  #: the body that it hangs on, or WORLD
    body: Annotated[Integers, "s"]  #: bodies of the aggregates, ascending in each
    first_body: Annotated[Integers, "A + 1"]
    dof: Annotated[Integers, "d"]
    first_dof: Annotated[Integers, "A + 1"]
    of: Annotated[Integers, "n"]  #: aggregate of each body of the tree, or -1
    slot: Annotated[Integers, "n"]  #: and its place in ``body``
    place: Annotated[Integers, "N"]  #: place of each degree of freedom among those of its aggregate
    closures: Closures
    first_closure: Annotated[Integers, "A + 1"]
    gears: Gears
    first_gear: Annotated[Integers, "A + 1"]
    kept: Annotated[Integers, "d"]  #: 1 for what stays independent where it can: joints that something else places
    unit: Annotated[Reals, "d"]  #: by which a coordinate is divided to compare it with an angle [m], 1 of angles
    length: Annotated[Reals, "A"]  #: of its links, by which lengths in its rows are divided [m]
    # --- filled by the sweeps
    columns: Annotated[Integers, "A"]  #: independent velocities
    Z: Annotated[Reals, "d", "c"]
    bias: Annotated[Reals, "d"]
    rotor: Annotated[Reals, "d"]  #: armature + dt damping
    B: Annotated[Reals, "s", "c", 6]
    alpha: Annotated[Reals, "s", 6]  #: of the bodies where y_dot and alpha(base) are zero
    X: Annotated[Reals, 6, 6]  #: scratch
    D: Annotated[Reals, "c", "c"]
    U: Annotated[Reals, "A", "c", 6]
    D_inv: Annotated[Reals, "A", "c"]
    nu: Annotated[Reals, "A", "c"]
    moves: Annotated[Integers, 1]  #: 1 in accelerations, which have a bias, 0 in velocity jumps
    rows: Rows  #: scratch: of the closures
    loop: LoopWork
    G: Annotated[Reals, "m", "c + 1"]  #: rows of an aggregate, then of [1, W] and their right-hand sides
    column: Annotated[Integers, "c"]  #: of a row of [1, W], the coordinate that it gives
    dependent: Annotated[Integers, "c"]  #: 1 for those
    may: Annotated[Integers, "c"]  #: 1 for those that may be
    most: Annotated[Reals, "m"]  #: largest entry of a row that may be its pivot
    most_at: Annotated[Integers, "m"]  #: and its column
    filled: Annotated[Integers, "c + 1"]  #: columns in which a pivot's row is not zero
    step: Annotated[Reals, "N"]  #: of coordinates
    error: Annotated[Reals, "A"]  #: closure error that is left [m, rad]


AggregatesHandleType, AggregatesHandle, make_aggregates_handle = handle(Aggregates)


def make_kinematics(n, N, modal=None):
    """For n bodies and N degrees of freedom; ``modal`` is what ``make_modal`` makes, by default of no flexible link."""
    modal = no_modal() if modal is None else modal
    angles = padded(N + n)  # q has at most one entry more than v for each joint
    return allocate(Kinematics, n=n, N=N, angles=angles, modal=modal)


def make_modal(tree, links):
    """A handle for the flexible links of a tree, of its own: what sweeps fill belongs to one ``Kinematics``.

    Parameters
    ----------
    tree : Tree
    links : sequence of model.flexible.FlexibleBody
    """
    if not links:
        return no_modal()
    r = np.array([len(link.modes) for link in links], np.int64)
    m = np.array([len(link.nodes) for link in links], np.int64)
    p = np.array([len(link.mass.one) for link in links], np.int64)
    node = np.array([k for link in links for k in link.nodes], np.int64)
    node_of, flexible = np.full(len(tree.parent), -1), np.full(len(tree.parent), -1)
    node_of[node] = np.arange(len(node))
    for f, link in enumerate(links):
        flexible[[*link.modes, *link.nodes]] = f
    link_of = np.repeat(np.arange(len(links)), m)
    heads = np.array([link.modes[0] for link in links], np.int64)
    fields = {"one": (), "point": (3,), "point_shape": (3,), "point_short": (), "axis": (3,), "turning": (3, 3),
              "turning_modes": (3,), "turning_mass": ()}  # fmt: skip
    flat = {
        name: np.concatenate([getattr(link.mass, name.removeprefix("point_")).reshape(-1, *tail) for link in links])
        for name, tail in fields.items()
    }
    for name, tail in {"shape": (3,), "slope": (3,), "short": ()}.items():
        flat[name] = np.concatenate([getattr(link, name).reshape(-1, *tail) for link in links])
    flat = {name: np.ascontiguousarray(array) for name, array in flat.items()}  # as kernels want them
    starts = {
        "first_mode": _ends(r), "first_node": _ends(m), "first_point": _ends(p), "first_pair": _ends(r * r)[:-1],
        "first_point_shape": _ends(p * r)[:-1], "first_point_short": _ends(p * r * r)[:-1],
        "first_shape": _ends(r[link_of])[:-1], "first_short": _ends(r[link_of] ** 2)[:-1],
    }  # fmt: skip
    return make_modal_handle(allocate(
        Modal, f=len(links), R=int(r.sum()), P=int((r * r).sum()), S=int((r * m).sum()), n=len(tree.parent),
        link=np.array([link.body for link in links], np.int64), q_start=tree.q_start[heads].astype(np.int64),
        v_start=tree.v_start[heads].astype(np.int64), node=node, link_of=link_of, node_of=node_of, flexible=flexible,
        **starts, **flat,
    ))  # fmt: skip


def _ends(counts):
    """Where parts of these lengths start, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@functools.cache
def no_modal():
    """The handle of a tree without flexible links."""
    return make_modal_handle(allocate(Modal, f=0, R=0, P=0, S=0, T=0, m=0, n=0, p=0, x=0, y=0))


def make_articulated(n, N, aggregates=None):
    """For n bodies and N degrees of freedom; ``aggregates`` is a handle, by default of none."""
    return allocate(Articulated, n=n, N=N, aggregates=no_aggregates() if aggregates is None else aggregates)


def taken(arrays, order):
    """Closures or gears in another order, or some of them."""
    parts = type(arrays)(*(np.ascontiguousarray(array[order]) for array in arrays))
    for array in parts:
        array.setflags(write=False)
    return parts


def make_aggregates(n, N, parts, closures, gears, **more):
    """Aggregates of a tree of n bodies and N degrees of freedom.

    Parameters
    ----------
    parts : sequence of (base, bodies, dofs, closures, gears)
        Of each aggregate, the last two as indices into those that follow.
    closures, gears : Closures, Gears
    **more
        ``kept`` and ``unit`` (N,), ``length`` (A,).
    """
    A = len(parts)
    starts = [np.cumsum([0, *(len(part[i]) for part in parts)]) for i in range(1, 5)]
    flat = [np.array([x for part in parts for x in part[i]], np.int64) for i in range(1, 5)]
    of, slot, place = np.full(n, -1), np.full(n, -1), np.full(N, -1)
    for i, part in enumerate(parts):
        of[part[1]] = i
        place[part[2]] = np.arange(len(part[2]))
    slot[flat[0]] = np.arange(len(flat[0]))
    rows_of = np.array(CLOSURE_ROWS)[closures.kind]
    m = max((int(rows_of[part[3]].sum()) + len(part[4]) for part in parts), default=0)
    c = max((len(part[2]) for part in parts), default=0)
    return allocate(
        Aggregates, A=A, s=len(flat[0]), d=len(flat[1]), n=n, N=N, c=c, m=m,
        base=np.array([part[0] for part in parts], np.int64), body=flat[0], first_body=starts[0],
        dof=flat[1], first_dof=starts[1], of=of, slot=slot, place=place,
        closures=taken(closures, flat[2]), first_closure=starts[2], gears=taken(gears, flat[3]), first_gear=starts[3],
        kept=more["kept"][flat[1]], unit=more["unit"][flat[1]], length=more["length"],
        rows=make_rows(n, m), loop=make_loop_work(n, m),
    )  # fmt: skip


def none_of(declaration):
    """Closures or Gears without any."""
    shapes = {"p_a": (0, 3), "p_b": (0, 3), "R_a": (0, 3, 3), "R_b": (0, 3, 3), "motion": (0, 7)}
    whole = ("kind", "body_a", "body_b", "released")
    arrays = (np.zeros(shapes.get(name, 0), np.int64 if name in whole else float) for name in declaration._fields)
    return taken(declaration(*arrays), np.zeros(0, np.int64))


@functools.cache
def no_aggregates():
    """The handle of a tree without aggregates."""
    nothing = {"kept": np.zeros(0, np.int64), "unit": np.zeros(0), "length": np.zeros(0)}
    return make_aggregates_handle(make_aggregates(0, 0, (), none_of(Closures), none_of(Gears), **nothing))


def flexible_parts(tree, links):
    """(base, bodies, dofs, closures, gears) of the aggregate that each flexible link is, FlexibleBody ``links``."""
    return [
        (link.body, sorted((*link.modes, *link.nodes)), [int(tree.v_start[k]) for k in link.modes], [], [])
        for link in links
    ]


def flexible_aggregates(tree, links):
    """A handle for the aggregates of a tree with flexible links and without embedded loops."""
    if not links:
        return no_aggregates()
    n, N = len(tree.parent), len(tree.armature)
    loops = {"kept": np.zeros(N, np.int64), "unit": np.ones(N), "length": np.ones(len(links))}
    arrays = make_aggregates(n, N, flexible_parts(tree, links), none_of(Closures), none_of(Gears), **loops)
    return make_aggregates_handle(arrays)


def make_compliance(n, essential=None):
    """For at most ``essential`` bodies that are touched or stand where paths meet (all n by default)."""
    return allocate(Compliance, n=n, m=n if essential is None else min(n, essential))

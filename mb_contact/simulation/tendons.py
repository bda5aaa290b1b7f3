# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Tendons of a scene as arrays of the kernels, and what a user reads of them."""

import math
from typing import Any, NamedTuple

import numpy as np

from mb_contact.core.constraints.bilateral import FIRST, TENDONS_AT
from mb_contact.core.constraints.tendon import side_of, spring_force
from mb_contact.core.constraints.tendon_path import Tendons, lay_tendons, make_tendons_handle
from mb_contact.core.declare import allocate
from mb_contact.core.tree.kinematics import body_poses
from mb_contact.core.tree_workspace import make_kinematics
from mb_contact.model.model import Frame
from mb_contact.types import (
    TENDON_CYLINDER,
    TENDON_GRIPS,
    TENDON_HELD,
    TENDON_JOINT,
    TENDON_LONGEST,
    TENDON_POINT,
    TENDON_PULLEY,
    TENDON_RUBS,
    TENDON_SHORTEST,
    TENDON_SPHERE,
    TENDON_SPRING,
    WORLD,
)

STILL = Frame(WORLD, np.eye(3), np.zeros(3))  #: the link `world`


class TendonState(NamedTuple):
    """A tendon as of the last step; ``tension`` is positive where it pulls its ends together."""

    length: float  #: [m]
    rate: float  #: [m/s]
    #: of spring, damper, limits, friction, equality and actuator together, mean over the step [N]; of both sides of a
    #: shape on which it has friction the mean
    tension: float


def tendon_row_kinds(tendon, flows=False):
    """What the rows of a tendon do; in flows springs are forces."""
    grips = any(element.friction > 0.0 for element in tendon.path)
    return [
        kind for kind, acts in (
            (TENDON_SPRING, max(tendon.stiffness, tendon.damping) > 0.0 and not flows),
            (TENDON_LONGEST, tendon.longest is not None),
            (TENDON_SHORTEST, tendon.shortest is not None), (TENDON_RUBS, tendon.friction > 0.0),
            (TENDON_HELD, tendon.held_length is not None), (TENDON_GRIPS, grips),
        ) if acts
    ]  # fmt: skip


def tendon_rows(scene):
    """(Tendon, TENDON_SPRING ...) of each row of a scene's tendons."""
    flows = scene.integrator != "semi_implicit_euler"
    return [(t, kind) for t, tendon in enumerate(scene.tendons) for kind in tendon_row_kinds(tendon, flows)]


def tendon_parts(scene):
    """Most parts that the paths of a scene's tendons have in all, those with friction on a shape twice."""
    parts = [sum(1 + (element.shape is not None) for element in tendon.path) for tendon in scene.tendons]
    return sum(n * (1 + (TENDON_GRIPS in tendon_row_kinds(tendon))) for n, tendon in zip(parts, scene.tendons))


def make_tendons(context):
    """Tendons of a scene; ``rest`` and ``tension`` are views of the state."""
    scene, arrays, entries = context.scene, context.arrays, context.scene.tendons
    elements = [element for tendon in entries for element in tendon.path]
    starts = np.cumsum([0, *(len(tendon.path) for tendon in entries)]).astype(np.int64)
    rows = tendon_rows(scene)

    def numbers(name, without=0.0):
        values = [getattr(tendon, name) for tendon in entries]
        return np.array([without if value is None else value for value in values], np.float64)

    def stacked(values, *shape):
        return np.array(values, dtype=np.float64).reshape(-1, *shape)

    parts = [_element(context.world, element) for element in elements]
    kind, body, point, axes, size, side = zip(*parts) if parts else ((),) * 6
    slack = np.array([math.inf if tendon.pulls_only else tendon.slack for tendon in entries], np.float64)
    grip = np.array([element.friction for element in elements], np.float64)
    gripped = [int(np.flatnonzero(grip[a:b])[0]) + a if grip[a:b].any() else -1 for a, b in zip(starts, starts[1:])]
    sided = np.array([element.side is not None for element in elements], np.int64)
    arrays.tendon_rest[:], arrays.tendon_tension[:] = numbers("rest_length"), numbers("tension")
    tendons = allocate(
        Tendons, t=len(entries), e=len(elements), r=len(rows), p=tendon_parts(scene),
        flows=np.array([scene.integrator != "semi_implicit_euler"], np.int64), first=starts, grip=grip,
        gripped=np.array(gripped, np.int64),
        kind=np.array(kind, np.int64), body=np.array(body, np.int64), point=stacked(point, 3),
        axes=stacked(axes, 3, 3), size=stacked(size), side=stacked(side, 3), sided=sided,
        stiffness=numbers("stiffness"), damping=numbers("damping"), slack=slack, shortest=numbers("shortest", -np.inf),
        longest=numbers("longest", np.inf), friction=numbers("friction"), held=numbers("held_length", np.nan),
        rest=arrays.tendon_rest, tension=arrays.tendon_tension,
        row_of=np.array([t for t, _ in rows], np.int64), row_kind=np.array([kind for _, kind in rows], np.int64),
    )  # fmt: skip
    at_start = [t for t, tendon in enumerate(entries) if tendon.rest_length is None]
    if at_start:
        body_poses(context.tree, context.q, context.kin)
        lay_tendons(make_tendons_handle(tendons), context.tree, context.q, context.v, context.kin)
        tendons.rest[at_start] = tendons.length[at_start]
    return tendons


def _element(world, element):
    """(Kind, body, point, axes, size, side) of an element of a path."""
    tree, frames, nowhere = world.tree, world.frames, np.zeros(3)
    if element.divisor is not None:
        return TENDON_PULLEY, -1, nowhere, np.eye(3), element.divisor, nowhere
    if element.joint is not None:
        at = world.joint_v[world.joint_names.index(element.joint)]
        k = int(np.flatnonzero((tree.v_start == at) & (tree.nv > 0))[0])
        return TENDON_JOINT, k, nowhere, np.eye(3), element.coefficient, nowhere
    frame, position = frames.get(element.link, STILL), np.array(element.position)
    point = frame.p + frame.R @ position
    if element.shape is None:
        return TENDON_POINT, frame.body, point, np.eye(3), 0.0, nowhere
    own = _across(np.array(element.axis, np.float64))
    axes, side = frame.R @ own, nowhere
    kind = TENDON_SPHERE
    if element.side is not None:
        side = own.T @ (np.array(element.side) - position)
    if element.shape == "cylinder":
        kind, side = TENDON_CYLINDER, side * (1.0, 1.0, 0.0)
    return kind, frame.body, point, axes, element.radius, side


def _across(axis):
    """A rotation whose z axis is along ``axis``."""
    z = axis / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _tensions(context):
    """Forces (t,) with which tendons pulled in the last step, and (t,) which their friction on shapes took off before
    the shape and added behind it [N]."""
    t, last = context.tendons, context.last
    pull, rub = t.tension.copy(), np.zeros(len(t.tension))
    if t.flows[0]:
        pull += [spring_force(t, i) for i in range(len(pull))]
    if last is not None and len(t.row_of):
        first = int(context.bilateral.info[FIRST] + context.bilateral.info[TENDONS_AT])
        impulse = context.solution.r[first : first + len(t.row_of)]
        sign = np.select([t.row_kind == TENDON_LONGEST, t.row_kind == TENDON_GRIPS], [1.0, 0.0], -1.0)
        np.add.at(pull, t.row_of, sign * impulse / last.dt)
        np.add.at(rub, t.row_of, np.where(t.row_kind == TENDON_GRIPS, impulse, 0.0) / last.dt)
    return pull, rub


class TendonWrenches:
    """What the tendons of a scene put on links in the last step, laid once more where that began."""

    def __init__(self, context):
        filled = Tendons._fields[Tendons._fields.index("length") :]
        self._context = context
        self._laid = context.tendons._replace(**{name: getattr(context.tendons, name).copy() for name in filled})
        self._handle = make_tendons_handle(self._laid)
        self._kin = make_kinematics(context.n, context.N, context.make_modal())

    def find(self):
        """(link, body, wrench (6,) about the body's origin, world axes) of each part, but for those of joints.

        Those act within a joint, as efforts do.
        """
        context, t, kin, found = self._context, self._laid, self._kin, []
        entries, last = context.scene.tendons, context.last
        if not entries or last is None:
            return found
        links = [element.link for tendon in entries for element in tendon.path]
        body_poses(context.tree, last.q, kin)
        lay_tendons(self._handle, context.tree, last.q, last.v, kin)
        for i, (pull, rub) in enumerate(zip(*_tensions(context))):
            for s in range(int(t.first_part[i]), int(t.first_part[i + 1])):
                force = -(pull - rub * side_of(t, i, s)) * t.weight[s] * t.direction[s]
                ends = ((t.end_a[s], t.body_a[s], t.at_a[s], force), (t.end_b[s], t.body_b[s], t.at_b[s], -force))
                for element, k, at, f in ends if t.joint[s] < 0 else ():
                    if k != WORLD:
                        found.append((links[element], int(k), np.concatenate((np.cross(at - kin.p[k], f), f))))
        return found


class Pulling:
    """The part of a Simulator that reads tendons."""

    context: Any
    scene: Any

    def tendons(self) -> dict[str, TendonState]:
        """Length, rate and tension of each tendon, as of the last step.

        Returns
        -------
        dict of str to TendonState
            By the names of the tendons.

        Examples
        --------
        >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), mb.model.Pose((0.0, 0.0, 0.5)), "free", 1.0)
        >>> ends = mb.model.PathElement("ball"), mb.model.PathElement("world", (0.0, 0.0, 1.0))
        >>> rope = mb.model.Tendon("rope", ends, longest=0.5)
        >>> sim = mb.Simulator(mb.Scene(primitives=(ball,), tendons=(rope,)))
        >>> _ = sim.step()
        >>> sim.tendons()["rope"].length, round(sim.tendons()["rope"].tension, 6)
        (0.5, 9.81)
        """
        t = self.context.tendons
        states = zip(t.length.tolist(), t.rate.tolist(), _tensions(self.context)[0].tolist())
        return dict(zip((tendon.name for tendon in self.scene.tendons), map(TendonState._make, states)))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact sensors and tactile pads: the last step's impulses by partner, by face of a box, by cell of the face."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.dynamics.jacobians import frame_pose
from mb_contact.errors import SceneError
from mb_contact.model.scene import Pose
from mb_contact.model.scene.sensors import FACES, Pad
from mb_contact.types import SHAPE_BOX


class TactileReading(NamedTuple):
    """What a tactile pad tells, in its frame: z out of the box, x and y along the edges of its face.

    Rigid bodies touch in few points, to which a step finds forces that move them as they move: their sum and moment
    are determined, how they share the load among more than three points is not.

    Examples
    --------
    >>> pressed = np.array([[[0.0, 0.0, -2.0]]])
    >>> mb.simulation.TactileReading(np.zeros(6), pressed, np.array([[2e4]])).forces[0, 0]
    array([ 0.,  0., -2.])
    """

    wrench: Floats  #: (6,), on the pad about the middle of the face, moment first [N m, N]
    forces: Floats  #: (n, m, 3), on each cell, n along x and m along y [N]
    pressure: Floats  #: (n, m), mean over each cell, positive where something presses [Pa]


class Touch(NamedTuple):
    """The contacts of a link in the last step, impacts too."""

    geoms: np.ndarray  #: int64 (k,), shape of the link
    partners: np.ndarray  #: int64 (k,), shape that it touches
    points: Floats  #: (k, 3), world [m]
    outward: Floats  #: (k, 3), unit normals out of the link's shape, world
    impulses: Floats  #: (k, 3), on the link, world [N s]
    moments: Floats  #: (k, 3), of torsion and rolling about the point, world [N m s]
    contacts: np.ndarray  #: int64 (k,), their numbers among those of the step, behind which impacts have theirs
    signs: Floats  #: (k,), 1 where the shape is the first one of its pair, else -1

    def chosen(self, rows: np.ndarray) -> Touch:
        """Some of them."""
        return Touch(*(array[rows] for array in self))


def touches(context: Any, geoms: tuple[int, ...], partners: tuple[int, ...] | None) -> Touch:
    """Contacts of the shapes ``geoms``, with ``partners`` alone where these are given.

    Torsion and rolling of impacts are not among them.
    """
    contacts, count, frames = context.contacts, int(context.contacts.count[0]), context.frames
    torsion, about_1, about_2 = context.memory.moment[:count].T[:, :, None]
    normal = contacts.normal[:count]
    moments = torsion * normal + about_1 * frames.t1[:count] + about_2 * frames.t2[:count]
    parts = [(contacts.pair[:count], contacts.point[:count], contacts.spread[:count], normal,
              context.work.contact_impulse[:count], moments, np.arange(count))]  # fmt: skip
    if context.impacts is not None:
        for event, pairs in zip(context.impacts.events, context.impacts.pairs):
            none, behind = np.zeros_like(event.points), sum(len(part[0]) for part in parts)
            own = behind + np.arange(len(none))
            parts.append((pairs, event.points, none, event.normals, event.impulses, none, own))
    pair, point, spread, normal, impulse, moment, number = (np.concatenate(columns) for columns in zip(*parts))
    pairs, found = context.world.geoms.pairs[pair], []
    for side, sign in ((0, 1.0), (1, -1.0)):
        mine, other = pairs[:, side], pairs[:, 1 - side]
        rows = np.isin(mine, geoms) & (True if partners is None else np.isin(other, partners))
        both = Touch(mine, other, point + sign * spread, -sign * normal, sign * impulse, sign * moment, number,
                     np.full(len(number), sign))  # fmt: skip
        found.append(both.chosen(rows))
    return Touch(*(np.concatenate(columns) for columns in zip(*found)))


def wrench_about(touch: Touch, origin: Floats, R: Floats, dt: float) -> Floats:
    """Sum of contacts as a mean wrench over a step about a point of the world, in the axes R [N m, N]."""
    moment = np.cross(touch.points - origin, touch.impulses) + touch.moments
    return np.concatenate([moment.sum(axis=0) @ R, touch.impulses.sum(axis=0) @ R]) / dt


def seen_from(pose: Pose | None, wrench: Floats) -> Floats:
    """A wrench about the origin of a frame, in its axes, as one about that of a pose in it, in its axes.

    Parameters
    ----------
    pose : Pose or None
        The frame itself where there is none.
    wrench : ndarray (6,)
        Moment and force [N m, N].

    Returns
    -------
    ndarray (6,)
        Of the same forces.

    Examples
    --------
    >>> at = mb.model.Pose((1.0, 0.0, 0.0))
    >>> mb.simulation.pads.seen_from(at, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 5.0]))
    array([0., 5., 0., 0., 0., 5.])
    """
    if pose is None:
        return wrench
    R, force = pose.rotation(), wrench[3:]
    return np.concatenate(((wrench[:3] - np.cross(pose.origin(), force)) @ R, force @ R))


class PadFace:
    """A face of a box on a link.

    Parameters
    ----------
    world : World
    sensor : Sensor
        With a pad.

    Raises
    ------
    SceneError
        The link has no such box.
    """

    def __init__(self, world: Any, sensor: Any) -> None:
        self._world, self._link, pad = world, sensor.link, sensor.pad or Pad()
        self.geom = _box(world, sensor.link, pad.geometry)
        self.cells, face = pad.cells, FACES.index(pad.face)
        axis, sign = face // 2, 1.0 - 2.0 * (face % 2)
        half, z, x = world.geoms.size[self.geom], sign * np.eye(3)[axis], np.eye(3)[(axis + 1) % 3]
        self.half = half[[(axis + 1) % 3, (axis + 2) % 3]]  #: half lengths of the face along its x and y [m]
        R, p = world.geoms.R[self.geom], world.geoms.p[self.geom]
        axes = np.stack([x, np.cross(z, x), z], axis=1)
        link = world.frames[sensor.link]
        #: its axes and its origin in the frame of the link
        self.on_link = link.R.T @ R @ axes, link.R.T @ (p + R @ (half[axis] * z) - link.p)

    def read(self, context: Any, partners: tuple[int, ...] | None) -> TactileReading:
        """What it measures of the last step."""
        forces = np.zeros((*self.cells, 3))
        if context.last is None:
            return self.reading(np.zeros(6), forces)
        R, p = frame_pose(self._world, context.last.q, self._link)  # where the bodies were as they touched
        R, p = R @ self.on_link[0], p + R @ self.on_link[1]
        touch = self.pressed(touches(context, (self.geom,), partners), R)
        np.add.at(forces, tuple(self.places(touch, R, p).T), touch.impulses @ R / context.last.dt)
        return self.reading(wrench_about(touch, p, R, context.last.dt), forces)

    def pressed(self, touch: Touch, R: Floats) -> Touch:
        """Those of the contacts of its box that press on the face, of which R has the axes."""
        touch = touch.chosen(np.argmax(np.abs(touch.outward @ R), axis=1) == 2)
        return touch.chosen(touch.outward @ R[:, 2] > 0.0)

    def places(self, touch: Touch, R: Floats, p: Floats) -> np.ndarray:
        """Cells (k, 2) in which contacts are, the middle of the face at p."""
        place = 0.5 * ((touch.points - p) @ R[:, :2] / self.half + 1.0) * self.cells
        return place.astype(np.int64).clip(0, np.array(self.cells) - 1)

    def reading(self, wrench: Floats, forces: Floats) -> TactileReading:
        """With the pressures of the cells."""
        area = 4.0 * self.half.prod() / np.prod(self.cells)
        return TactileReading(wrench, forces, -forces[:, :, 2] / area)

    def noisy(self, reading: TactileReading, deviations: tuple[float, float], chance: Any) -> TactileReading:
        """With noise on the forces of all cells, which are the wrench's too."""
        normal, shear = deviations
        more = chance.standard_normal(reading.forces.shape) * (shear, shear, normal)
        x, y = (((np.arange(n) + 0.5) / n * 2.0 - 1.0) * half for n, half in zip(self.cells, self.half))
        places = np.stack([*np.meshgrid(x, y, indexing="ij"), np.zeros(self.cells)], axis=-1)
        moment, force = np.cross(places, more).sum(axis=(0, 1)), more.sum(axis=(0, 1))
        return self.reading(reading.wrench + np.concatenate([moment, force]), reading.forces + more)


def _box(world, link, name):
    """Number of the box among a link's collision shapes."""
    rows = world.link_geometries.get(link, ())
    boxes = [g for g in rows if world.geoms.kind[g] == SHAPE_BOX and name in (None, world.geometry_names[g])]
    if len(boxes) != 1:
        known = ", ".join(world.geometry_names[g] for g in rows if world.geoms.kind[g] == SHAPE_BOX) or "none"
        raise SceneError(f"a pad needs the name of one box of '{link}'; its boxes: {known}")
    return boxes[0]

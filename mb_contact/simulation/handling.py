# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What attaches and conveys while a simulation runs: pads, moving surfaces, welds that come on and off."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import as_choice, as_positive, as_vector, shorten
from mb_contact.core.declare import allocate
from mb_contact.core.workspace import Belts, Pads
from mb_contact.errors import InputError
from mb_contact.model.poses import tree_poses
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.simulation.attachments import Attachment, Hold
from mb_contact.types import WORLD

SPREAD = 1e-6  #: part of their distance from the middle of a pad by which points of a rim differ


def make_pads(context):
    """Pads of a scene."""
    scene, frames = context.scene, context.world.frames
    entries, on = scene.adhesion_pads, context.arrays.pad_on
    on[:] = [pad.on for pad in entries]
    points, axes, forces, knots = [], [], [], []
    for pad in entries:
        frame = frames[pad.link]
        R = frame.R @ pad.pose.rotation()
        points += [frame.p + frame.R @ pad.pose.origin() + R @ np.array(point) for point in pad.points]
        axes += [R[:, 2]] * len(pad.points)
        forces += [pad.greatest / len(pad.points)] * len(pad.points)
        knots += pad.knots
    return allocate(
        Pads, pads=len(entries), spots=len(points), knots=len(knots), on=on,
        pulled=context.n if entries or scene.tendons else 0,
        body=np.array([frames[pad.link].body for pad in entries], np.int64), axis=np.array(axes).reshape(-1, 3),
        first=np.cumsum([0, *(len(pad.points) for pad in entries)]).astype(np.int64),
        first_knot=np.cumsum([0, *(len(pad.knots) for pad in entries)]).astype(np.int64),
        knot=np.array(knots, dtype=np.float64).reshape(-1, 2), point=np.array(points).reshape(-1, 3),
        force=np.array(forces, dtype=np.float64), meets=np.full(len(points), -1, np.int64),
    )  # fmt: skip


def make_belts(context):
    """Belts of a scene."""
    entries, world, speed = context.scene.moving_surfaces, context.world, context.arrays.belt_speed
    speed[:] = [entry.speed for entry in entries]
    links = [entry.link for entry in entries]
    for i, link in enumerate(links):
        message = f"'{link}' has no shape whose surface could move; name a link with collision geometry"
        context.scene.refuse_if(link not in world.geometry_links, f"moving_surfaces[{i}].link", message)
    frames = [world.frames[link] for link in links]
    of = [links.index(link) if link in links else -1 for link in world.geometry_links] if entries else []

    def turned(name):
        return np.array([f.R @ np.array(getattr(e, name), float) for f, e in zip(frames, entries)]).reshape(-1, 3)

    return allocate(
        Belts, belt_geoms=len(of), belts=len(entries), of=np.array(of, np.int64), speed=speed,
        origin=np.array([frame.p for frame in frames]).reshape(-1, 3), linear=turned("linear"),
        angular=turned("angular"),
    )  # fmt: skip


def pad_wrenches(context):
    """(link, body, wrench (6,) about the body's origin, world axes) of all pads in the last step, on both links."""
    pads, world, found = context.pads, context.world, []
    if not len(pads.body) or context.last is None:
        return found
    R, origin = tree_poses(world.tree, context.last.q, world.flexible)
    for i, entry in enumerate(context.scene.adhesion_pads):
        body = int(pads.body[i])
        for s in range(int(pads.first[i]), int(pads.first[i + 1])):
            if pads.pull[s] > 0.0:
                axis = pads.axis[s] if body == WORLD else R[body] @ pads.axis[s]
                g, x = int(pads.meets[s]), pads.place[s]
                ends = ((entry.link, body, x, 1.0), (world.geometry_links[g], int(world.geoms.body[g]),
                                                     x + pads.gap[s] * axis, -1.0))  # fmt: skip
                for link, k, at, sign in ends:
                    force = sign * pads.pull[s] * axis
                    if k != WORLD:
                        found.append((link, k, np.concatenate((np.cross(at - origin[k], force), force))))
    return found


def _placed(pose):
    """(R, p) of a position and a quaternion."""
    try:
        position, quaternion = pose
    except (TypeError, ValueError):
        raise InputError(f"pose must be a position (3,) and a quaternion (4,), got {shorten(repr(pose))}") from None
    return quat_to_matrix(as_vector(quaternion, 4, "quaternion")), as_vector(position, 3, "position")


def _off_centre(arms, r, normal):
    """How far the centre of pressures r is from the middle, as a part of how far ``arms`` (c, 3) reach there.

    In the plane of the rim, across the mean of ``normal`` (c, 3).  Zero where they reach along no way at all, as the
    one point of a ball, on which nothing tilts.
    """
    axis = r @ normal
    plane = arms - np.outer(arms @ axis, axis) / (axis @ axis)
    centre = r @ plane / r.sum()
    along, least = plane @ centre, SPREAD * np.linalg.norm(arms) * np.linalg.norm(centre)
    return min(float(centre @ centre / along.max()), 1.0) if np.ptp(along) > least else 0.0


class Held:
    """What pads and welds hold at the end of a step: copies, of which the answers are made when somebody asks.

    Parameters
    ----------
    context : StepContext
    """

    def __init__(self, context):
        pads, welds, count = context.pads, context.attachments, int(context.contacts.count[0])
        self._context, self._dt = context, None if context.last is None else context.last.dt
        self._state = None if welds is None else context.state.copy()
        self._known = not context.new_welds
        self._pull = pads.pull.copy()
        if self._pull.size:
            found, rows = context.contacts, slice(count)
            self._meets, self._place = pads.meets.copy(), pads.place.copy()
            self._pair, self._normal, self._point = (x[rows].copy() for x in (found.pair, found.normal, found.point))
            self._impulse, self._mu = context.work.contact_impulse[rows].copy(), context.friction.mu[rows].copy()

    def holds(self):
        """Hold of each pad, by their names."""
        return {pad.name: self._hold(i) for i, pad in enumerate(self._context.scene.adhesion_pads)}

    def _hold(self, i):
        world, pads, pull = self._context.world, self._context.pads, self._pull
        own = slice(int(pads.first[i]), int(pads.first[i + 1]))
        most = own.start + int(pull[own].argmax())
        if self._dt is None or not pull[most] > 0.0:
            return Hold("", 0.0, 0.0, 0.0, 0.0)
        links, force, ends = world.geometry_links, float(pull[own].sum()), self._pulled(most)
        link = links[self._meets[most]]
        beside = [s for s in np.flatnonzero(pull > 0.0) if set(self._pulled(s)) == set(ends)]
        a, b = (np.array([end in pair for pair in zip(links, world.geoms.body.tolist())]) for end in ends)
        one, other = world.geoms.pairs[self._pair].T
        mine = np.flatnonzero((a[one] & b[other]) | (b[one] & a[other]))
        impulse, normal = self._impulse[mine], self._normal[mine]
        r = np.einsum("ij,ij->i", impulse, normal)
        pressed = float(r.sum()) / self._dt
        if pressed <= 0.0:
            return Hold(link, force, 0.0, 1.0, 1.0)
        pull = pull[beside]
        arms = self._point[mine] - pull @ self._place[beside] / pull.sum()
        share = 1.0 - pressed / float(pull.sum()) * (1.0 - _off_centre(arms, r, normal))
        bound = float(self._mu[mine].max(axis=1) @ r)
        slip = float(np.linalg.norm((impulse - r[:, None] * normal).sum(axis=0)))
        return Hold(link, force, pressed, share, slip / bound if bound > 0.0 else 1.0)

    def _pulled(self, s):
        """What point s of a pad pulls together: two bodies, or links where they are the world's and have shapes."""
        world, pads = self._context.world, self._context.pads
        i, g = int(np.searchsorted(pads.first, s, side="right")) - 1, int(self._meets[s])
        pad = self._context.scene.adhesion_pads[i]
        ends = ((pad.link, pads.body[i]), (world.geometry_links[g], world.geoms.body[g]))
        return [link if k == WORLD and link in world.geometry_links else int(k) for link, k in ends]

    def attachments(self):
        """Attachment of each weld that comes on and off, by their names."""
        welds, names = self._context.attachments, self._context.couplings.closure_names
        if welds is None:
            return {}
        arrays, dt = self._context.layout.fixed.arrays(self._state), self._dt if self._known else None
        return {names[c]: welds.told(c, arrays, dt) for c in welds.entries}


class Handling:
    """The part of a Simulator that attaches, holds and conveys."""

    context: Any
    scene: Any
    world: Any

    def holds(self) -> dict[str, Hold]:
        """What each suction cup and magnet holds, and with which share of its bound, as of the last step.

        Returns
        -------
        dict of str to Hold
            By the names of the pads.

        Examples
        --------
        >>> cup = mb.model.AdhesionPad("cup", "table", force=10.0)
        >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), mb.model.Pose((0.0, 0.0, 0.1)), "free", 1.0)
        >>> table = mb.model.Primitive("table", "box", (1.0, 1.0, 0.1), mb.model.Pose((0.0, 0.0, -0.05)))
        >>> on = mb.model.AdhesionPad("cup", "table", mb.model.Pose((0.0, 0.0, 0.05)), force=10.0)
        >>> sim = mb.Simulator(mb.Scene(primitives=(table, ball), adhesion_pads=(on,)))
        >>> _ = sim.step()
        >>> sim.holds()["cup"].link, round(sim.holds()["cup"].pressed, 2)
        ('ball', 19.81)
        """
        return Held(self.context).holds()

    def attach(
        self,
        body: str,
        link: str,
        pose: tuple[ArrayLike, ArrayLike] | None = None,
        break_force: float | None = None,
        break_torque: float | None = None,
        name: str | None = None,
    ) -> str:
        """Weld a body to a link from the next step on, by one of the scene's welds with ``attached``.

        Parameters
        ----------
        body, link : str
            Links of robots or objects; ``world`` is one too.
        pose : (position (3,) [m], quaternion x y z w (4,)), optional
            Of ``body`` in the axes of ``link``, where the weld draws it; as it is where left out.
        break_force, break_torque : float, optional
            Force, and moment about the origin of ``body``, from which on it breaks [N, N m]; by default those that the
            scene gives the weld.
        name : str, optional
            Which weld; by default the one that the scene declares for both, or a free one.

        Returns
        -------
        str
            Name of the weld.

        Raises
        ------
        InputError
            No such link or weld, none is free, or impossible numbers; nothing has changed.

        Examples
        --------
        >>> box = mb.model.Primitive("box", "box", (0.1,) * 3, base="free", mass=2.0)
        >>> weld = mb.model.Closure("weld", "box", "world", name="grip", attached=False)
        >>> hand = mb.model.Primitive("hand", "box", (0.1,) * 3, mb.model.Pose((0.0, 0.0, 0.2)))
        >>> sim = mb.Simulator(mb.Scene(primitives=(box, hand), loop_closures=(weld,)))
        >>> sim.attach("box", "hand", break_force=20.0)
        'grip'
        >>> _ = sim.step()
        >>> sim.attachments()["grip"].attached, round(sim.attachments()["grip"].share, 3)
        (True, 0.981)
        >>> sim.detach("box"), sim.attachments()["grip"].attached
        (('grip',), False)
        """
        held = self._attachments()
        for what in (body, link):
            as_choice(what, held.frames, "link")
        bounds = [
            x if x is None or x == math.inf else as_positive(x, key)
            for key, x in (("break_force", break_force), ("break_torque", break_torque))
        ]
        place = None if pose is None else _placed(pose)
        c = held.choose(link, body, name)
        held.hold(c, link, body, place, bounds)
        return str(self.context.couplings.closure_names[c])

    def detach(self, name: str) -> tuple[str, ...]:
        """Let go from the next step on.

        Parameters
        ----------
        name : str
            A weld, or a link that welds join.

        Returns
        -------
        tuple of str
            Welds that held and no longer do.

        Raises
        ------
        InputError
            Neither a weld nor a link.

        Examples
        --------
        >>> box = mb.model.Primitive("box", "box", (0.1,) * 3, base="free", mass=2.0)
        >>> weld = mb.model.Closure("weld", "box", "world", name="grip", attached=True)
        >>> sim = mb.Simulator(mb.Scene(primitives=(box,), loop_closures=(weld,)))
        >>> sim.detach("grip"), sim.detach("box")
        (('grip',), ())
        """
        held, names = self._attachments(), self.context.couplings.closure_names
        as_choice(name, [*held.names, *held.frames], "attachment or link")
        of = [c for c in held.entries if held.is_on(c)]
        gone = [c for c in of if name in (names[c], *held.joined(c))]
        for c in gone:
            held.let_go(c)
        return tuple(names[c] for c in gone)

    def attachments(self) -> dict[str, Attachment]:
        """The welds that come on and off, with what they bear, as of the last step.

        Returns
        -------
        dict of str to Attachment

        Examples
        --------
        >>> box = mb.model.Primitive("box", "box", (0.1,) * 3, base="free", mass=2.0)
        >>> weld = mb.model.Closure("weld", "box", "world", name="grip", attached=True)
        >>> sim = mb.Simulator(mb.Scene(primitives=(box,), loop_closures=(weld,)))
        >>> _ = sim.step()
        >>> sim.attachments()["grip"].link, round(sim.attachments()["grip"].force, 6)
        ('world', 19.62)
        """
        return Held(self.context).attachments()

    def _attachments(self):
        if self.context.attachments is None:
            raise InputError("the scene has no weld that comes on and off; give a loop closure of kind weld 'attached'")
        return self.context.attachments

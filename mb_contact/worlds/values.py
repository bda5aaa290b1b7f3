# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Values that worlds have of their own: what may be set, for which of the scene's parts, and drawn at random."""

import zlib
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from mb_contact.core.declare import allocate
from mb_contact.core.worlds.store import Values, make_values_handle
from mb_contact.dynamics.arguments import make_unit_quaternions
from mb_contact.errors import InputError
from mb_contact.model.scene.bodies import SIZE_FACTORS
from mb_contact.simulation.joints.joint_requests import refuse_outside
from mb_contact.simulation.values import inertia_of, keys_of, refuse_inertias
from mb_contact.types import HERTZ, JOINT_NQ, RIGID
from mb_contact.worlds.lanes import Held

OF_BODIES = "gravity of bodies"
#: by the name of a value: the array of Values that has it, the name of its rows there, least and largest value
KERNEL_VALUES = {
    "mass": ("mass", "masses", 0.0, np.inf),
    "damping": ("damping", "dampings", 0.0, np.inf),
    "friction": ("mu", "frictions", 0.0, np.inf),
    "restitution": ("restitution", "restitutions", 0.0, 1.0),
    "stiffness": ("stiffness", "stiffnesses", 0.0, np.inf),
    "size": ("size", "sizes", 0.0, np.inf),
    "inertia": ("inertia", "inertias", -np.inf, np.inf),
    OF_BODIES: ("body_gravity", "gravities", -np.inf, np.inf),
}
POSITIVE = ("mass", "size", "stiffness")  #: zero is none
INITIAL = ("position", "pose")  #: of the initial state
WAYS = ("factor", "offset", "value")


class Part(NamedTuple):
    """Something that a value belongs to: its places in an array, and the factors on a value there."""

    name: object
    places: np.ndarray
    factors: tuple = ()


class OwnValues:
    """Values of ``count`` worlds.

    Parameters
    ----------
    lane : ThreadLane
    sizes : dict
        Those of the store.

    Attributes
    ----------
    start : ndarray
        Vector of ``StateArrays`` with which the scene begins.
    q0, v0, gravity : ndarray
        Initial coordinates (count, nq) and velocities (count, N), gravity (count, 3) after a reset.
    values : Held
    """

    def __init__(self, lane, sizes):
        self._lane, self._sizes, self._world = lane, sizes, lane.world
        lane.state.reset()
        self.start = lane.context.state.copy()
        self.q0 = np.tile(lane.context.q, (sizes["w"], 1))
        self.v0 = np.tile(lane.context.v, (sizes["w"], 1))
        self.gravity = np.tile(lane.context.gravity, (sizes["w"], 1))
        world, tree = self._world, self._world.tree
        self._scene = {
            "mass": tree.mass, "damping": tree.damping, "mu": world.geoms.mu,
            "restitution": world.restitution, "size": world.geoms.size, "stiffness": world.geoms.soft.stiffness,
            "inertia": tree.inertia, "body_gravity": tree.body_gravity,
        }  # fmt: skip
        rows = {rows: 0 for _, rows, _, _ in KERNEL_VALUES.values()}
        self._hold(allocate(Values, **sizes, **rows))

    def _hold(self, arrays):
        self.values = Held(arrays, make_values_handle(arrays))

    def any(self):
        """Whether some world has a value that is not its scene's."""
        return any(getattr(self.values.arrays, field).size for field, *_ in KERNEL_VALUES.values())

    def set(self, name, values, of, chosen, gravity):
        """``Worlds.set`` for the worlds ``chosen``; ``gravity`` (count, 3) is that of now."""
        name = self._kind(name, of)
        parts, values = self.parts(name, of), self.checked(name, values, of, len(chosen))
        if name == "gravity":
            self.gravity[chosen] = gravity[chosen] = values[:, 0]
            return
        if name in INITIAL:
            q = self.q0[chosen]
            for i, part in enumerate(parts):
                q[:, part.places] = values[:, i].reshape(len(chosen), -1)
            self.q0[chosen] = self.normalised(q)
            return
        target, grown = self._array(name), name == "mass" and len(self.values.arrays.inertia)
        if name == "inertia":
            values = inertia_of(values)
        for i, part in enumerate(parts):
            value = values[:, i] * part.factors if part.factors else values[:, i]
            for place in part.places:
                if grown:
                    self.values.arrays.inertia[chosen, place] *= (value / target[chosen, place])[:, None, None]
                target[chosen, place] = value

    def draw(self, name, low, high, of, by, seed, chosen):
        """Values for ``set``, uniform between ``low`` and ``high``."""
        if by not in WAYS:
            raise InputError(f"by must be one of {', '.join(WAYS)}, got {by!r}")
        name = self._kind(name, of)
        parts, turned = self.parts(name, of), name == "pose" and by == "offset"
        if name == "pose" and by == "factor":
            raise InputError("a pose has no factor: by='offset' takes a way and a rotation vector (6,), 'value' a pose")
        shape = (len(parts), *((6,) if turned else self.width(name)))
        try:
            low, high = (np.broadcast_to(np.asarray(x, dtype=np.float64), shape) for x in (low, high))
        except ValueError:
            raise InputError(f"low and high must have the shape {shape} or fewer entries") from None
        if not (low <= high).all():
            raise InputError("low must not be above high")
        start = [*np.atleast_1d(seed).tolist(), zlib.crc32(name.encode())]
        if not all(isinstance(number, int) and number >= 0 for number in start):
            raise InputError(f"seed must be a whole number of at least 0 or several, got {seed!r}")
        drawn = np.array([np.random.default_rng([*start, w]).uniform(low, high) for w in chosen.tolist()])
        drawn = drawn.reshape(len(chosen), *shape)
        if by == "value":
            return drawn
        scene = np.array([self._of_scene(name, part) for part in parts])
        if turned:
            turns = Rotation.from_rotvec(drawn[..., 3:].reshape(-1, 3))
            old = Rotation.from_quat(np.tile(scene[:, 3:], (len(chosen), 1)))
            return np.dstack((scene[:, :3] + drawn[..., :3], (turns * old).as_quat().reshape(*drawn.shape[:2], 4)))
        scene = scene.reshape(shape)
        return drawn * scene if by == "factor" else drawn + scene

    def _of_scene(self, name, part):
        """The scene's value for a part."""
        if name in ("gravity", OF_BODIES):
            return self._world.gravity
        if name in INITIAL:
            return self._world.q0[part.places]
        if name == "inertia":
            return self._scene["inertia"][part.places[0]][np.triu_indices(3)]
        value = self._scene[KERNEL_VALUES[name][0]][part.places[0]]
        return value / np.where(part.factors, part.factors, 1.0) if part.factors else value

    def save(self, chosen):
        """Copies of the rows of worlds, by name."""
        arrays = {f"own_{name}": array[chosen] for name, array in self.values.arrays._asdict().items() if len(array)}
        return (
            arrays
            | {name: getattr(self, name)[chosen] for name in ("q0", "v0")}
            | {"own_gravity": self.gravity[chosen]}
        )

    def restore(self, arrays, chosen):
        """Take them back."""
        self.q0[chosen], self.v0[chosen], self.gravity[chosen] = arrays["q0"], arrays["v0"], arrays["own_gravity"]
        for name, (field, *_) in KERNEL_VALUES.items():
            if f"own_{field}" in arrays:
                self._array(name)[chosen] = arrays[f"own_{field}"]
            elif len(getattr(self.values.arrays, field)):
                self._array(name)[chosen] = self._made(field)[chosen]

    def normalised(self, q):
        """Coordinates (k, nq) with unit quaternions; InputError where one is zero."""
        q = np.array(q)
        make_unit_quaternions(self._world, q)
        return q

    def width(self, name):
        """Shape of one value."""
        return {"gravity": (3,), OF_BODIES: (3,), "inertia": (6,), "size": (3,), "pose": (7,)}.get(name, ())

    def _array(self, name):
        """The array of all worlds' values; made when first asked for."""
        field, rows, _, _ = KERNEL_VALUES[name]
        arrays = self.values.arrays
        if len(getattr(arrays, field)) == 0:
            self._hold(arrays._replace(**{field: self._made(field)}))
        return getattr(self.values.arrays, field)

    def _made(self, field):
        """The scene's values for all worlds; inertias have grown with their masses."""
        scene, mass = self._scene[field], self.values.arrays.mass
        made = np.tile(scene, (self._sizes["w"], *[1] * scene.ndim))
        if field == "inertia" and len(mass):
            heavy = self._scene["mass"] > 0.0
            made[:, heavy] *= (mass[:, heavy] / self._scene["mass"][heavy])[..., None, None]
        return made

    def _kind(self, name, of):
        """What is set: gravity is the scene's where ``of`` is left out."""
        return OF_BODIES if name == "gravity" and of is not None else name

    def checked(self, name, values, of, count):
        """Finite values in their range of ``count`` worlds, (count, ``of``, numbers of one).

        As many as the first axes may be given alone.
        """
        parts = self.parts(name, of)
        shape = (count, len(parts), *self.width(name))
        if values is None and name == OF_BODIES:
            return np.full(shape, np.nan)
        values = np.asarray(values, dtype=np.float64)
        if values.ndim == 1 and len(shape) >= 2 and values.shape[0] == shape[0] and shape[1:] != values.shape:
            values = values.reshape(-1, *[1] * (len(shape) - 1))  # one number a world
        try:
            values = np.broadcast_to(values, shape)
        except ValueError:
            raise InputError(f"values of {name} must have the shape {shape}, got {values.shape}") from None
        _, _, least, most = KERNEL_VALUES.get(name, (0, 0, -np.inf, np.inf))
        bad = ~np.isfinite(values) | (values < least) | (values > most)
        if name in POSITIVE:
            bad |= values <= 0.0
        if name == "size":
            bad &= np.array([part.factors for part in parts]) > 0.0  # a sphere has one length
        if name == "inertia" and not bad.any():
            for of_world in values:
                refuse_inertias([part.name for part in parts], of_world)
        if bad.any():
            span = f" and above {least:g}" if name in POSITIVE else f" and at least {least:g}" if least == 0.0 else ""
            span += f" and at most {most:g}" if most < np.inf else ""
            raise InputError(f"{name} must be finite{span}, got {values[bad][0]:g}")
        if name == "position":
            names, world = [part.name for part in parts], self._world
            of_joints = world.joint_v[[world.joint_names.index(joint) for joint in names]]
            refuse_outside(world.tree, names, of_joints, values, True)
        return values

    # --- of what ----------------------------------------------------------------------------

    def parts(self, name, of):
        """The Parts that a value is asked for; InputError where there is none, or the scene cannot have it."""
        known = {
            "mass": self._bodies, "damping": self._joints, "position": self._positions, "friction": self._pairs,
            "restitution": self._pairs, "stiffness": self._soft_pairs, "size": self._shapes, "pose": self._objects,
            "gravity": self._nothing, OF_BODIES: self._bodies, "inertia": self._bodies,
        }  # fmt: skip
        if name not in known:
            others = ", ".join(each for each in known if each != OF_BODIES)
            raise InputError(f"worlds have no value '{name}' of their own; they have {others}")
        self._refuse(name)
        parts = {part.name: part for part in known[name]()}
        if name == "position" and of is not None and not self._world.objects.keys().isdisjoint(map(str, of)):
            raise InputError("'position' is of joints; of a free object set or randomise 'pose'")
        return [parts[key] for key in keys_of(parts if of is None else of, parts, name)]

    def _refuse(self, name):
        scene, world = self._lane.context.scene, self._world
        if name == "restitution" and not (self._scene["restitution"] > 0.0).any():
            raise InputError("give some material of the scene a restitution above zero, then worlds may have their own")
        if name == "stiffness" and not len(world.geoms.soft.law):
            raise InputError("give some material of the scene a softness, then worlds may have their own stiffness")
        if name == "friction" and (world.surfaces.side >= 0).any():
            raise InputError("friction that depends on the direction is the same in all worlds")
        if name == "size" and scene.collision_scheme == "event":
            raise InputError("under the event scheme shapes have one size in all worlds; use time_stepping")
        if name == "size" and (world.geoms.soft.law == HERTZ).any():
            raise InputError("under Hertz' law shapes have one size in all worlds; give the material a stiffness")

    def _nothing(self):
        yield Part("gravity", np.zeros(1, np.int64))

    def _bodies(self):
        for k, name in enumerate(self._world.body_names):
            if self._scene["mass"][k] > 0.0:
                yield Part(name, np.array([k]))

    def _joints(self):
        for name, v in zip(self._world.joint_names, self._world.joint_v):
            yield Part(name, np.array([v]))

    def _positions(self):
        for name, q in zip(self._world.joint_names, self._world.joint_q):
            yield Part(name, np.array([q]))

    def _objects(self):
        tree = self._world.tree
        for name, k in self._world.objects.items():
            yield Part(name, tree.q_start[k] + np.arange(JOINT_NQ[tree.joint_type[k]]))

    def _pairs(self):
        links, rows = self._world.geometry_links, {}
        for i, (a, b) in enumerate(self._world.geoms.pairs.tolist()):
            rows.setdefault(frozenset((links[a], links[b])), []).append(i)
        for key, places in rows.items():
            yield Part(key, np.array(places))

    def _soft_pairs(self):
        for part in self._pairs():
            if len(self._world.geoms.soft.law) and (self._world.geoms.soft.law[part.places] != RIGID).all():
                yield part

    def _shapes(self):
        for g, name in enumerate(self._world.geometry_names):
            factors = SIZE_FACTORS.get(int(self._world.geoms.kind[g]))
            if factors:
                yield Part(name, np.array([g]), (*factors, *[0.0] * (3 - len(factors))))

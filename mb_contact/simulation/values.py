# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Values of the scene that change while a simulation runs."""

from collections.abc import Hashable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import LARGEST, as_choice, as_shape, nearest_first, shorten
from mb_contact.dynamics.arguments import gravity_of
from mb_contact.errors import InputError
from mb_contact.model.shapes.inertia import breaks_triangle_inequality
from mb_contact.types import RIGID

#: least and largest value
RANGES = {
    "mass": (1.0 / LARGEST, LARGEST), "friction": (0.0, LARGEST), "restitution": (0.0, 1.0), "damping": (0.0, LARGEST),
    "stiffness": (1.0 / LARGEST, LARGEST), "adhesion": (0.0, 1.0), "surface_speed": (-LARGEST, LARGEST),
    "tension": (-LARGEST, LARGEST), "rest_length": (-LARGEST, LARGEST), "gravity": (-LARGEST, LARGEST),
    "inertia": (-LARGEST, LARGEST),
}  # fmt: skip
#: value -> the scene's entries that have it, the array of the state
PARTS = {
    "adhesion": ("adhesion_pads", "pad_on"), "surface_speed": ("moving_surfaces", "belt_speed"),
    "tension": ("tendons", "tendon_tension"), "rest_length": ("tendons", "tendon_rest"),
}  # fmt: skip

PAIRS = ("friction", "restitution", "stiffness")  #: values of pairs of links
#: array of the tree that has a value of bodies
TREE_ARRAYS = {"mass": "mass", "inertia": "inertia", "gravity": "body_gravity"}
SHAPES = {"gravity": (3,), "inertia": (6,)}  #: of what is no single number


class Values:
    """The part of a Simulator that changes values of its scene."""

    context: Any
    scene: Any
    world: Any
    _state: Any

    def set(self, name: str, values: ArrayLike | None, of: Iterable[Hashable] | None = None) -> None:
        """Change values of the scene from the next step on; a jump of the energy counts as work done.

        Speeds and switches are part of the state, the others stay until they are set anew, also in a ``rebuilt``
        simulator for what both scenes have by name.

        Parameters
        ----------
        name : str
            ``mass`` of bodies [kg], whose inertias grow with it; ``inertia`` of bodies about their centres of mass in
            their own axes, (6,) xx, xy, xz, yy, yz, zz [kg m^2]; ``friction`` and ``restitution`` of pairs of links;
            ``stiffness`` of pairs that give way, in the unit of their softness [N/m, N/m^3; of Hertz' law N/m^1.5];
            ``damping`` of joints [N m s/rad, N s/m]; ``adhesion``, the factor from 0 to 1 on the force of suction cups
            and magnets, 0 switches them off; ``surface_speed``, the factor on the velocity of moving surfaces;
            ``tension`` of tendons [N] and their ``rest_length`` [m]; ``gravity`` (3,) [m/s^2], of the scene where
            ``of`` is left out, else of single bodies in its place.
        values : array_like (of,) or float
            With the numbers of one behind.  None for the gravity of single bodies: that of the scene again.
        of : sequence, optional
            Names of bodies, joints, pads, surfaces or tendons, pairs of names of links; all if left out.

        Raises
        ------
        InputError
            No such value or name, numbers of another count or outside their range; nothing has changed.

        Examples
        --------
        >>> belt = mb.model.MovingSurface("belt", "ground", linear=(1.0, 0.0, 0.0))
        >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), mb.model.Pose((0.0, 0.0, 0.1)), "free", 1.0)
        >>> sim = mb.Simulator(mb.Scene(primitives=(ball,), ground=mb.model.Ground(), moving_surfaces=(belt,)))
        >>> sim.set("surface_speed", 0.5, of=["belt"])
        >>> sim.set("friction", 0.2, of=[("ball", "ground")])
        >>> sim.set("mass", 2.0, of=["ball"])
        >>> sim.surface_speeds(), sim.world.geoms.mu, sim.world.tree.mass
        ({'belt': 0.5}, array([0.2]), array([2.]))
        """
        if as_choice(name, RANGES, "value") == "gravity" and of is None:
            self._state.set_gravity(values)
            return
        array, places = self._places(name)
        if name == "surface_speed":
            places = {key: place for key, place in places.items() if key not in self._driven_surfaces()}
        if not places:
            raise InputError(f"the scene has nothing whose {name} can be set")
        wanted = keys_of(places if of is None else of, places, name)
        if values is None and name == "gravity":
            numbers = np.full((len(wanted), 3), np.nan)
        else:
            numbers = as_shape(values, (len(wanted), *SHAPES.get(name, ())), name)
        low, high = RANGES[name]
        if ((numbers < low) | (numbers > high)).any():
            raise InputError(f"{name} must be from {low:g} to {high:g}, got {numbers.min():g} to {numbers.max():g}")
        if name == "inertia":
            refuse_inertias(wanted, numbers)
        before = self._state.energy()
        for key, number in zip(wanted, numbers):
            self._write(name, array, places[key], number)
            self.context.changed.pop((name, key), None)  # what was changed last is last where it is done again
            if values is not None:
                self.context.changed[name, key] = number.tolist()
            if name == "mass" and ("inertia", key) in self.context.changed:  # which has grown with it
                del self.context.changed["inertia", key]
                self.context.changed["inertia", key] = self.values("inertia")[key]
        self.context.sleepers.wake()
        self._state.account_for(before)

    def values(self, name: str) -> dict[Any, Any]:
        """What ``set`` changes, as it is now; of pairs of shapes of two links the first.

        Parameters
        ----------
        name : str
            As of ``set``.

        Returns
        -------
        dict
            A float, or a list of them, by names of bodies, joints, pads, surfaces or tendons or by pairs of names.

        Raises
        ------
        InputError
            No such value.

        Examples
        --------
        >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), mb.model.Pose((0.0, 0.0, 0.1)), "free", 1.0)
        >>> sim = mb.Simulator(mb.Scene(primitives=(ball,), ground=mb.model.Ground()))
        >>> sim.set("gravity", [0.0, 0.0, 0.0], of=["ball"])
        >>> sim.values("mass"), sim.values("gravity"), sim.values("friction")
        ({'ball': 1.0}, {'ball': [0.0, 0.0, 0.0]}, {('ball', 'ground'): 0.5})
        """
        array, places = self._places(as_choice(name, RANGES, "value"))
        return {
            tuple(sorted(key)) if isinstance(key, frozenset) else key: self._read(name, array, at[0])
            for key, at in places.items()
        }

    def _driven_surfaces(self):
        return [motion.surface for motion in self.scene.motions]

    def _read(self, name, array, place):
        if name == "gravity":
            return gravity_of(self.world.tree, self.context.gravity, place).tolist()
        value = array[place]
        return value[np.triu_indices(3)].tolist() if name == "inertia" else float(value)

    def _places(self, name):
        """The array that has a value, and its places there by names."""
        world, arrays = self.world, self.context.arrays
        if name in PAIRS:
            soft = world.geoms.soft
            array = {"friction": world.geoms.mu, "restitution": world.restitution, "stiffness": soft.stiffness}[name]
            still = {"friction": world.surfaces.side >= 0, "restitution": not (array > 0.0).any(),
                     "stiffness": soft.law == RIGID}[name]  # fmt: skip
            found: dict[Any, list[int]] = {}
            for i in np.flatnonzero(~np.broadcast_to(still, array.shape)):
                found.setdefault(frozenset(self.context.pair_links[i]), []).append(int(i))
            return array, found
        if name in ("mass", "inertia", "gravity"):
            bends = {link.body for link in world.flexible} if name != "gravity" else ()  # theirs is that of the modes
            bodies = {body: [k] for k, body in enumerate(world.body_names)
                      if world.tree.mass[k] > 0.0 and k not in bends}  # fmt: skip
            return getattr(world.tree, TREE_ARRAYS[name]), bodies
        if name == "damping":
            return world.tree.damping, {joint: [int(v)] for joint, v in zip(world.joint_names, world.joint_v)}
        entries, array = PARTS[name]
        return getattr(arrays, array), {entry.name: [i] for i, entry in enumerate(getattr(self.scene, entries))}

    def _write(self, name, array, places, number):
        if name == "inertia":
            number = inertia_of(number)
        elif name == "mass":
            inertia = writable(self.world.tree.inertia)
            inertia[places] *= number / array[places]
        elif name == "damping":
            self.context.joints.total[places] += number - array[places]
        elif name == "stiffness":
            self._stiffen(array, places, number)
        writable(array)[places] = number

    def _stiffen(self, array, places, number):
        """What contacts of these pairs keep, with the new stiffness at the same compression and shear."""
        memory, count = self.context.memory, int(self.context.memory.count[0])
        rows = np.flatnonzero(np.isin(memory.pair[:count], places))
        memory.stretch[rows, 3:] *= (number / array[memory.pair[rows]])[:, None]
        self.context.arrays.elastic[:] = memory.stretch[:count, 4].sum()

    def surface_speeds(self) -> dict[str, float]:
        """Factor on the velocity of each moving surface, by its name.

        Returns
        -------
        dict of str to float

        Examples
        --------
        >>> belt = mb.model.MovingSurface("belt", "ground", linear=(1.0, 0.0, 0.0), speed=0.5)
        >>> mb.Simulator(mb.Scene(ground=mb.model.Ground(), moving_surfaces=(belt,))).surface_speeds()
        {'belt': 0.5}
        """
        return dict(zip((s.name for s in self.scene.moving_surfaces), self.context.arrays.belt_speed.tolist()))


def set_again(simulator: Any, changed: dict[tuple[str, Any], Any]) -> None:
    """Set the values, by their names and what they are of, that another simulator was given; but for what is gone."""
    for (name, key), number in changed.items():
        if name not in PARTS:
            with suppress(InputError):
                simulator.set(name, [number], of=[key])


def inertia_of(six):
    """Inertia (..., 3, 3) of its six numbers (..., 6)."""
    return six[..., [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(*six.shape[:-1], 3, 3)


def refuse_inertias(names, numbers):
    """InputError where no body has such moments and products."""
    for name, six in zip(names, numbers):
        full = inertia_of(six)
        moments = np.linalg.eigvalsh(full)
        if moments[0] <= 0.0 or breaks_triangle_inequality(full):
            told = ", ".join(f"{moment:.3g}" for moment in moments)
            raise InputError(
                f"inertia of '{name}': no body has the principal moments {told} kg m^2; they must be above zero, none "
                "above the sum of the others"
            )


def writable(array):
    """A view that may be written of an array that kernels are compiled to read alone."""
    if array.flags.writeable:
        return array
    array.setflags(write=True)
    view = array[...]
    array.setflags(write=False)
    return view


def keys_of(of, places, name):
    """Names, and sets of names, that ``of`` lists, each of which has a place."""
    try:
        keys = [frozenset(x) if isinstance(x, (tuple, list)) else x for x in of]
        unknown = [key for key in keys if key not in places]
    except TypeError:  # nothing that can be listed, or no names
        unknown = None
    if unknown is None or isinstance(of, str):
        raise InputError(f"of must be a list of names, or of pairs of names of links, got {shorten(repr(of))}")
    if unknown:
        others = nearest_first(_shown(unknown[0]), map(_shown, places))
        raise InputError(f"there is no {_shown(unknown[0])} with a {name}; there are {others}")
    return keys


def _shown(key):
    return " and ".join(sorted(key)) if isinstance(key, frozenset) else f"'{key}'"

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which geometries of a world may touch, and with what friction."""

import math

import numpy as np

from mb_contact.checks import instead_of
from mb_contact.model.scene import ABSURD_FRICTION, DEFAULT_FRICTION, MOST_FRICTION
from mb_contact.model.shapes.hulls import Hull, sharpest_angle
from mb_contact.model.shapes.mesh_arrays import mesh_arrays
from mb_contact.model.shapes.triangle_meshes import TriangleMesh
from mb_contact.types import FrictionParameters, without_meshes

SWEEP_FROM = 400  #: pairs from which on the broad phase sorts and sweeps; below, a loop over all rows is quicker


def geometry_pairs(filters, geometries, adjacent, rules=()):
    """Pairs (a, b), a < b, of geometries that may touch: on different bodies, not filtered out.

    Parameters
    ----------
    filters : CollisionFilters
    geometries : sequence of Geometry
        With world body indices; all on the inertial frame count as one body.
    adjacent : set of frozenset of str
        Pairs of links that are neighbours in a robot's tree.
    rules : sequence of CollisionRules
        Those of the robots' SRDF files; what they enable counts more than neighbourhood, and less than a filter.
    """
    never = set(adjacent) if filters.adjacent else set()
    for rule in rules:
        never = (never | rule.off) - rule.enabled
    never = never.union({frozenset(pair) for pair in filters.disable}, *(rule.disabled for rule in rules))
    a, b = np.triu_indices(len(geometries), 1)
    body = np.array([shape.body for shape in geometries], dtype=np.int64)
    links, number = np.unique([shape.link for shape in geometries], return_inverse=True)
    link_of = {name: i for i, name in enumerate(links.tolist())}
    off = [sorted(link_of[name] for name in pair) for pair in never if len(pair) == 2 and pair <= link_of.keys()]
    off = np.array(off, dtype=np.int64).reshape(-1, 2) @ [len(links), 1]
    low, high = np.minimum(number[a], number[b]), np.maximum(number[a], number[b])
    may = (body[a] != body[b]) & ~np.isin(low * len(links) + high, off)
    return np.stack([a[may], b[may]], axis=1)


class PairLinks:
    """Names of the two links of each pair of geometries, by row: a list of them would be as long as the pairs."""

    def __init__(self, pairs, links):
        self._pairs, self._links = pairs, links

    def __len__(self):
        return len(self._pairs)

    def __getitem__(self, row):
        a, b = self._pairs[row].tolist()  # twice as quick as with NumPy numbers
        return self._links[a], self._links[b]


def _of_kinds(geometries, pairs, value):
    """``value(a, b)`` of two geometries for each pair, asked once for each two kinds of material; (pairs,)."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    kinds = {}
    kind = [kinds.setdefault((shape.material, shape.friction), len(kinds)) for shape in geometries]
    kind = np.array(kind, dtype=np.int64)
    both = kind[pairs[:, 0]] * max(1, len(kinds)) + kind[pairs[:, 1]]
    asked, first, which = np.unique(both, return_index=True, return_inverse=True)
    values = np.zeros(len(asked))
    for i in np.argsort(first):  # in the order of the pairs, as warnings and errors come
        a, b = pairs[first[i]]
        values[i] = value(geometries[a], geometries[b])
    return values[which.reshape(-1)]


def first_rows(pairs, count):
    """Where the rows of each first geometry start in ``pairs``, which ascend; empty where a loop over rows is quick."""
    if len(pairs) < SWEEP_FROM:
        return np.zeros(0, dtype=np.int64)
    return np.searchsorted(np.asarray(pairs)[:, 0], np.arange(count + 1)).astype(np.int64)


def hull_arrays(hulls):
    """The arrays of Geoms about hulls, height fields and meshes: of each geometry one of these, or None."""
    given = [hull for hull in hulls if hull is not None]

    def joined(name, empty):
        return np.concatenate([empty, *(getattr(hull, name) for hull in given)])

    def starts(name):
        return np.cumsum([0, *(0 if hull is None else len(getattr(hull, name)) for hull in hulls)]).astype(np.int64)

    meshes = any(isinstance(hull, TriangleMesh) for hull in given)
    counts = [np.diff(hull.first_corner) for hull in given]
    patches = [getattr(hull, "patch", np.zeros(len(hull.faces), dtype=np.int64)) for hull in given]
    grids = [(0, 0) if hull is None else getattr(hull, "shape", (0, 0)) for hull in hulls]
    return {
        "vertices": joined("vertices", np.zeros((0, 3))),
        "first_vertex": starts("vertices"),
        "faces": joined("faces", np.zeros((0, 3))),
        "first_face": starts("faces"),
        "corners": joined("corners", np.zeros(0, dtype=np.int64)),
        "patch": np.concatenate([np.zeros(0, dtype=np.int64), *patches]),
        "grid": np.array(grids, dtype=np.int64).reshape(-1, 2),
        "mesh": mesh_arrays(hulls) if meshes else without_meshes(len(hulls)),
        "first_corner": np.cumsum(np.concatenate([[0], *counts])).astype(np.int64),
        "sharpest": np.array([sharpest_angle(hull) if isinstance(hull, Hull) else np.pi for hull in hulls]),
    }


def pair_frictions(scene, geometries, pairs):
    """Friction coefficient of each pair, and warnings about absurd ones.

    The scene's entry for the two materials, otherwise the geometric mean of their own; of anisotropic friction the
    geometric mean of its two coefficients.  A geometry without material has what its URDF gives, or the default.
    """
    warnings = {}

    def sane(entry, owner):
        worst = max(_along_across(entry))
        if worst > ABSURD_FRICTION:
            warnings[f"friction {worst:g} of {owner} {doubt(worst)}"] = None
        return math.sqrt(math.prod(_along_across(entry)))

    def own(shape):
        if shape.material is None:
            return _unnamed(shape)
        return sane(scene.materials[shape.material], f"material {shape.material}")

    def combined(a, b):
        entry = listed.get(frozenset((a.material, b.material)))
        if entry is None:
            return math.sqrt(own(a) * own(b))
        return sane(entry, f"the pair {' and '.join(entry.materials)}")

    listed = {frozenset(entry.materials): entry for entry in scene.pairs}
    return np.minimum(_of_kinds(geometries, pairs, combined), MOST_FRICTION), tuple(warnings)


def doubt(friction):
    """What is doubtful about a coefficient above ABSURD_FRICTION, and what becomes of it."""
    if friction > MOST_FRICTION:
        return f"is above {MOST_FRICTION:g}, the most that a pair has"
    return f"is above {ABSURD_FRICTION:g}; used as given"


def _unnamed(shape):
    """Friction coefficient of a geometry to which the scene gives no material."""
    return DEFAULT_FRICTION if shape.friction is None else shape.friction


def _along_across(entry):
    """The two friction coefficients of a material or a pair of materials."""
    friction = entry.anisotropic_friction
    return (entry.friction, entry.friction) if friction is None else (friction.along, friction.across)


def pair_surfaces(scene, geometries, pairs, frames):
    """Torsional, rolling and anisotropic coefficients of each pair, by the same rule.

    Parameters
    ----------
    frames : dict of str to Frame
        Link frames in their bodies, by name.

    Returns
    -------
    FrictionParameters

    Raises
    ------
    SceneError
        Two materials meet whose friction has a direction each, and ``pairs`` does not say how they rub.
    """
    m = len(pairs)
    listed = {frozenset(entry.materials): entry for entry in scene.pairs}
    none = np.full((2, m), -1, np.int64)
    surfaces = FrictionParameters(*np.zeros((4, m)), none[0], np.zeros((m, 3)), none[1])
    for name in ("torsional", "rolling"):
        getattr(surfaces, name)[:] = pair_means(scene, geometries, pairs, name)

    def directed(a, b):
        materials = [a.material, b.material]
        return _anisotropic(scene, listed.get(frozenset(materials)), materials)[0] is not None

    for i in np.flatnonzero(_of_kinds(geometries, pairs, directed)):
        pair = pairs[i]
        materials = [geometries[g].material for g in pair]
        entry = listed.get(frozenset(materials))
        friction, side = _anisotropic(scene, entry, materials)
        if entry is None:  # the mean with the other material's friction
            other = geometries[pair[1 - side]]
            factor = _unnamed(other) if other.material is None else scene.materials[other.material].friction
            surfaces.along[i], surfaces.across[i] = (
                math.sqrt(c * factor) for c in (friction.along, friction.across)
            )
        else:
            surfaces.along[i], surfaces.across[i] = friction.along, friction.across
        surfaces.side[i] = side
        direction = np.array(friction.direction, dtype=np.float64)
        link = geometries[pair[side]].link if friction.frame is None else friction.frame
        if link not in frames:
            key = f"materials.{materials[side]}.anisotropic_friction.frame"
            raise scene.error(key, f"no link is called '{link}'; {instead_of(link, frames, 'links:')}")
        surfaces.frame[i] = frames[link].body
        surfaces.direction[i] = frames[link].R @ (direction / np.linalg.norm(direction))
    for coefficients in (surfaces.along, surfaces.across):
        np.minimum(coefficients, MOST_FRICTION, out=coefficients)
    return surfaces


def _anisotropic(scene, entry, materials):
    """AnisotropicFriction of a pair, or None, and which of the two has the direction."""
    if entry is not None:
        friction = entry.anisotropic_friction
        if friction is None:
            return None, -1
        return friction, materials.index(entry.materials[0] if friction.of is None else friction.of)
    own = [None if name is None else scene.materials[name].anisotropic_friction for name in materials]
    scene.refuse_if(
        own[0] is not None and own[1] is not None, f"materials.{materials[0]}.anisotropic_friction",
        f"meets '{materials[1]}', whose friction has a direction too; say under pairs how the two rub",
    )
    side = 0 if own[0] is not None else 1
    return own[side], side


def pair_means(scene, geometries, pairs, name):
    """Coefficient ``name`` of each pair: that of its entry, or the mean; a geometry without material has none.

    Of the fields of Material: viscous [N s/m], restitution, torsional and rolling [m].
    """
    listed = {frozenset(entry.materials): entry for entry in scene.pairs}

    def mean(a, b):
        value = getattr(listed.get(frozenset((a.material, b.material))), name, None)
        if value is None:
            own = [0.0 if m is None else getattr(scene.materials[m], name) for m in (a.material, b.material)]
            value = math.sqrt(own[0] * own[1])
        return value

    return _of_kinds(geometries, pairs, mean)


def link_frictions(world):
    """Friction coefficient of each pair of links of a world that may touch, under both orders of their names."""
    frictions = {}
    for (a, b), mu in zip(world.geoms.pairs.tolist(), world.geoms.mu.tolist()):
        a, b = world.geometry_links[a], world.geometry_links[b]
        frictions[a, b] = frictions[b, a] = mu
    return frictions

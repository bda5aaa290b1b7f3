# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which loops and gears of a world become aggregates of its tree, and which stay rows of the step's problem.

``loops: auto`` embeds what closures join where it may, and leaves gears of distant joints their rows; ``embed`` refuses
what it cannot embed, with the reason; ``multipliers`` embeds under integrators with a flow alone: impulses that are
constant over a step neither keep the energy of a loop nor pass its singular positions there.
"""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.tree_workspace import flexible_parts, make_aggregates
from mb_contact.types import CLOSURE_ROWS, CLOSURE_SCREW, JOINT_PRISMATIC, WORLD, Closures, Gears, Tree

MOST = 12  #: degrees of freedom of an aggregate, or those that its closures leave; one of more stays with multipliers
FEW = 3  #: degrees of freedom that closures leave; with more of them Euler's steps are quicker by rows
ONLY = {"collision_scheme": "time_stepping", "coordinates": "joints"}
EMBEDDED = "embedded"


class Part(NamedTuple):
    """One aggregate: the bodies between its ``base`` and what its closures and gears join."""

    base: int
    bodies: list[int]  #: ascending
    dofs: list[int]
    closures: list[int]
    gears: list[int]


class Choice(NamedTuple):
    """Aggregates of a scene, and how each of its loops and gears is held."""

    parts: list[Part]
    told: dict[str, str]  #: "embedded", or why it has rows, by the names of closures and gears


def find_parts(tree: Tree, closures: Closures, gears: Gears, multipliers: tuple[Any, Any]) -> list[Part]:
    """Aggregates of a tree, each of the joints that its closures and gears join and of those between.

    A closure of bodies a and b takes the joints on the paths from both to their closest common ancestor, the base; a
    gear those from both of its bodies to the closest common ancestor of their parents.  What shares a joint is one
    aggregate.

    Parameters
    ----------
    tree : Tree
    closures, gears : Closures, Gears
    multipliers : (closures, gears)
        Indices of those that stay multipliers.

    Returns
    -------
    list of Part
        Of any size, by their first bodies.
    """
    groups: list[tuple[set[int], list[int], list[int]]] = []
    for i in range(len(closures.kind)):
        if i not in multipliers[0]:
            a, b = int(closures.body_a[i]), int(closures.body_b[i])
            groups.append((_between(tree, a, b), [i], []))
    for i in range(len(gears.ratio)):
        if i not in multipliers[1]:
            a, b = int(gears.body_a[i]), int(gears.body_b[i])
            groups.append((_between(tree, int(tree.parent[a]), int(tree.parent[b])) | {a, b}, [], [i]))
    parts = []
    for bodies, own_closures, own_gears in _joined(groups):
        members = sorted(bodies)
        dofs = [d for k in members for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k])]
        parts.append(Part(int(tree.parent[members[0]]), members, dofs, own_closures, own_gears))
    return sorted(parts, key=lambda part: part.bodies[0])


def _coupled(gears, rows):
    """Bodies that gears with rows couple to others."""
    return {int(k) for i in rows for k in (gears.body_a[i], gears.body_b[i]) if gears.ratio[i] != 0.0}


def too_large(part, closures):
    """Whether an aggregate has more than MOST degrees of freedom, and its closures leave it more than MOST.

    A sweep takes the square of what is left, and of all of them where gears join distant joints.
    """
    return len(part.dofs) > MOST and (_left(part, closures) > MOST or not part.closures)


def _left(part, closures):
    """Degrees of freedom that closures leave an aggregate, at least."""
    return len(part.dofs) - sum(CLOSURE_ROWS[closures.kind[i]] for i in part.closures)


def choose_loops(scene: Any, tree: Tree, couplings: Any, flexible: Any) -> Choice:
    """Aggregates of a scene: its flexible links, and what ``loops`` has embedded.

    Driven joints and closures stay multipliers, and so do threads and loops that a flexible link is part of.

    Parameters
    ----------
    scene : Scene
    tree : Tree
    couplings : Couplings
        All of the scene.
    flexible : sequence of FlexibleBody

    Returns
    -------
    Choice

    Raises
    ------
    SceneError
        ``loops: embed`` with a loop that cannot be embedded.
    """
    links = [Part(*part) for part in flexible_parts(tree, flexible)]
    closures, gears = couplings.closures, couplings.gears
    why = _not_at_all(scene)
    held = dict.fromkeys(range(len(closures.kind)), why) if why else _apart(scene, couplings)
    driven = [i for i in range(len(gears.ratio)) if gears.body_a[i] == gears.body_b[i]]
    geared = dict.fromkeys(driven, "driven by a motion")
    if why:
        geared = dict.fromkeys(range(len(gears.ratio)), why)
    deformed = {k for link in flexible for k in (link.body, *link.nodes)}
    coupled, chosen = _coupled(gears, geared), []
    for part in find_parts(tree, closures, gears, (held, geared)):
        why = _reason(scene, part, closures, coupled, deformed)
        if why is None:
            chosen.append(part)
        else:
            held |= dict.fromkeys(part.closures, why)
            geared |= dict.fromkeys(part.gears, why)
    if scene.loops == "embed":
        for i, why in held.items():
            raise scene.error("loops", f"'{couplings.closure_names[i]}' cannot be embedded: {why}; set loops: auto")
    told = {name: geared.get(i, EMBEDDED) for i, name in enumerate(couplings.gear_names)}
    told |= {name: held.get(i, EMBEDDED) for i, name in enumerate(couplings.closure_names)}
    return Choice(sorted([*links, *chosen], key=lambda part: part.bodies[0]), told)


def _not_at_all(scene):
    """Why nothing of a scene is embedded, or None."""
    if scene.loops == "multipliers" and scene.integrator == "semi_implicit_euler":
        return "loops: multipliers"
    for key, value in ONLY.items():
        if getattr(scene, key) != value:
            return f"{key}: {getattr(scene, key)}"
    if scene.solver != "auto":
        return f"solver: {scene.solver}"
    return "sleep" if scene.sleep else None


def _apart(scene, couplings):
    """Closures that have rows whatever they join, and why."""
    moved = {motion.closure for motion in scene.motions}
    switched = {name for name, entry in zip(couplings.closure_names[-len(scene.loop_closures) :], scene.loop_closures)
                if entry.switched}
    held = {}
    for i, name in enumerate(couplings.closure_names):
        if couplings.closures.kind[i] == CLOSURE_SCREW:
            held[i] = "a thread, whose nut may come off"
        if name in switched:
            held[i] = "a weld that comes on and off"
        if name in moved:
            held[i] = "driven by a motion"
    return held


def _reason(scene, part, closures, coupled, deformed):
    """Why a part is not embedded, or None."""
    if deformed & {*part.bodies}:
        return "a flexible link is part of it"
    if coupled & {*part.bodies}:
        return "a gear with a row of its own couples one of its joints"
    if not part.closures and scene.loops != "embed":
        return "a gear without a loop"
    if too_large(part, closures):
        return f"{len(part.dofs)} degrees of freedom hang together, and more than {MOST} are free"
    left = _left(part, closures)
    if scene.loops == "auto" and scene.integrator == "semi_implicit_euler" and left > FEW:
        return f"it leaves {left} degrees of freedom, with which steps of semi_implicit_euler are quicker by rows"
    return None


def _path(tree, k):
    """Body k and those below it, tip to base."""
    path = []
    while k != WORLD:
        path.append(k)
        k = int(tree.parent[k])
    return path


def _between(tree, a, b):
    """Bodies on the paths from a and b to their closest common ancestor, without it."""
    return set(_path(tree, a)) ^ set(_path(tree, b))


def _joined(groups):
    """Groups that share a body made one."""
    joined = []
    for bodies, closures, gears in groups:
        apart = []
        for other in joined:
            if other[0] & bodies:
                bodies, closures, gears = bodies | other[0], other[1] + closures, other[2] + gears
            else:
                apart.append(other)
        joined = [*apart, (bodies, closures, gears)]
    return joined


def tree_aggregates(tree: Tree, parts: list[Part], closures: Closures, gears: Gears, origins: Floats) -> Any:
    """Aggregates of a tree for its sweeps.

    Parameters
    ----------
    tree, parts, closures, gears
        As for and from ``find_parts``.
    origins : (n, 3)
        Origins of the bodies at the initial positions, from which lengths of links are taken [m].

    Returns
    -------
    Aggregates
    """
    n, N = len(tree.parent), len(tree.armature)
    length = np.ones(len(parts))
    unit = np.ones(N)
    kept = np.zeros(N, np.int64)
    for i, part in enumerate(parts):
        places = origins[part.bodies]
        ends = [np.linalg.norm(p[j]) for j in part.closures for p in (closures.p_a, closures.p_b)]
        length[i] = max(*np.ptp(places, axis=0), *ends, closures.length[part.closures].max(initial=0.0)) or 1.0
        for k in part.bodies:
            if tree.joint_type[k] == JOINT_PRISMATIC:
                unit[tree.v_start[k]] = length[i]
    driven = gears.body_a[gears.ratio == 0.0]
    kept[tree.v_start[driven]] = 1
    return make_aggregates(n, N, parts, closures, gears, kept=kept, unit=unit, length=length)


def merged_roots(tree: Tree, parts: list[Part]) -> Any:
    """``tree.root``, with trees that an aggregate joins as one."""
    root = tree.root.copy()
    for part in parts:
        joined = np.unique(root[part.bodies])
        root[np.isin(root, joined)] = joined[0]
    root.setflags(write=False)
    return root

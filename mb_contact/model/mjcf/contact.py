# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which geoms of a compiled MJCF may touch, and with what friction, as collision filters and materials of a scene.

MuJoCo decides by bit masks and a friction for each geom, a scene by links: geoms of one body that differ in either
become links of their own, fixed to the body's.
"""

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from mb_contact.model.mjcf.compiled import HFIELD, MESH, PLANE, Compiled, Names
from mb_contact.model.scene import CollisionFilters, Material, MaterialPair, ModelMaterials

SAME = 1e-12  #: coefficients whose relative difference is below it are one


class Surface(NamedTuple):
    """What MuJoCo knows of a geom's friction; ``of`` is its index where a ``<pair>`` names it, else -1."""

    priority: int
    condim: int
    friction: tuple[float, float, float]  #: sliding; torsional and rolling [m]
    of: int = -1

    def wish(self, c: Compiled) -> str:
        """What its material might be called."""
        if self.of >= 0:
            return (c.name("geom", self.of) or f"geom_{self.of}") + "_surface"
        slide, torsional, rolling = self.coefficients()
        words = [f"friction_{slide:g}"]
        words += [f"torsional_{torsional:g}"] if torsional else []
        words += [f"rolling_{rolling:g}"] if rolling else []
        return "_".join(words + ([f"priority_{self.priority}"] if self.priority else []))

    def coefficients(self) -> tuple[float, float, float]:
        """Sliding, torsional and rolling coefficient; a contact of fewer dimensions has none."""
        slide, torsional, rolling = self.friction
        return slide * (self.condim >= 3), torsional * (self.condim >= 4), rolling * (self.condim >= 6)


def combined(a: Surface, b: Surface) -> tuple[float, float, float]:
    """Coefficients of a contact: those of the higher priority, else the larger of each."""
    if a.priority != b.priority:
        return max(a, b).coefficients()
    larger = tuple(max(pair) for pair in zip(a.friction, b.friction))
    return Surface(a.priority, max(a.condim, b.condim), larger).coefficients()  # type: ignore[arg-type]


class Contacts:
    """Geoms that can collide, sorted into links, and what MuJoCo lets touch."""

    def __init__(self, compiled: Compiled) -> None:
        self.c, m = compiled, compiled.m
        self.explicit = {
            frozenset((int(m.pair_geom1[i]), int(m.pair_geom2[i]))): i for i in range(m.npair)
        }
        named = {g for pair in self.explicit for g in pair}
        bits = (m.geom_contype | m.geom_conaffinity) != 0
        self.solid = [g for g in range(m.ngeom) if (bits[g] or g in named) and m.geom_type[g] <= MESH]
        self.surfaces = {
            g: Surface(
                priority=int(m.geom_priority[g]), condim=int(m.geom_condim[g]),
                friction=tuple(m.geom_friction[g].tolist()), of=g if g in named else -1,
            )
            for g in self.solid
        }  # fmt: skip
        materials = Names()
        self.material_names = {
            surface: materials.unique(surface.wish(compiled)) for surface in dict.fromkeys(self.surfaces.values())
        }
        self.allowed = self._allowed()
        self.parts: dict[int, dict[str, list[int]]] = {}  #: body -> link -> geoms
        self.link_of: dict[int, str] = {}
        for body in range(m.nbody):
            self._sort(body)

    def is_primitive(self, g: int) -> bool:
        """Whether a geom is a primitive of the scene: those of the world, and what a URDF has no shape for."""
        return self.c.m.geom_bodyid[g] == 0 or self.c.m.geom_type[g] in (PLANE, HFIELD)

    def _sort(self, body: int) -> None:
        """Links of one body: geoms of one surface that may touch the same others are together."""
        classes: dict[tuple, list[int]] = {}
        for g in self.solid:
            if self.c.m.geom_bodyid[g] != body:
                continue
            if self.is_primitive(g):
                self.link_of[g] = self.c.names.unique(self.c.name("geom", g) or f"geom_{g}")
                continue
            classes.setdefault((self.surfaces[g], self.allowed[g].tobytes()), []).append(g)
        self.parts[body] = {}
        for i, geoms in enumerate(classes.values()):
            link = self.c.links[body]
            if i:
                link = self.c.names.unique(self.c.name("geom", geoms[0]) or f"{link}_{i + 1}")
            self.parts[body][link] = geoms
            self.link_of.update(dict.fromkeys(geoms, link))

    def _allowed(self) -> np.ndarray:
        """(ngeom, ngeom), whether MuJoCo tests two geoms: bit masks, its filter of parents, excludes and pairs."""
        m, flags = self.c.m, self.c.flags
        if flags & {"CONTACT", "CONSTRAINT"}:
            return np.zeros((m.ngeom, m.ngeom), dtype=bool)
        masks = (m.geom_contype[:, None] & m.geom_conaffinity[None, :]) != 0
        may = masks | masks.T
        body = m.geom_bodyid
        weld = m.body_weldid[body]
        above = m.body_weldid[m.body_parentid[weld]]
        may &= weld[:, None] != weld[None, :]
        if "FILTERPARENT" not in flags:
            child = (weld[:, None] == above[None, :]) & (weld[:, None] != 0)
            may &= ~(child | child.T)
        for signature in m.exclude_signature.tolist():
            apart = (body[:, None] == signature >> 16) & (body[None, :] == signature & 0xFFFF)
            may &= ~(apart | apart.T)
        for pair in self.explicit:
            a, b = min(pair), max(pair)
            may[a, b] = may[b, a] = weld[a] != weld[b]
        return may

    # --- as parts of a scene ----------------------------------------------------------------

    def wanted(self) -> dict[frozenset[str], tuple[int, int]]:
        """Pairs of links that may touch, each with two geoms of theirs that do."""
        solid = np.array(self.solid, dtype=np.int64)
        a, b = np.nonzero(np.triu(self.allowed[np.ix_(solid, solid)], 1))
        return {
            frozenset((self.link_of[g], self.link_of[h])): (g, h) for g, h in zip(solid[a].tolist(), solid[b].tolist())
        }

    def materials(self) -> dict[str, Material]:
        """Materials of all surfaces."""
        return {name: Material(**_given(combined(own, own))) for own, name in self.material_names.items()}

    def material_of(self, g: int) -> str:
        """Material of a geom."""
        return self.material_names[self.surfaces[g]]

    def link_materials(self, links: list[str]) -> ModelMaterials:
        """Materials of some links: that of most as the default, and the exceptions."""
        found = {link: self.material_of(g) for g, link in self.link_of.items() if link in links}
        usual = Counter(found.values()).most_common(1)
        default = usual[0][0] if usual else None
        return ModelMaterials(default, {link: name for link, name in found.items() if name != default})

    def pairs(self) -> tuple[MaterialPair, ...]:
        """Coefficients of the materials that meet, where they are not the geometric means of their own."""
        found: dict[frozenset[str], MaterialPair] = {}
        own = self.materials()
        for g, h in self.wanted().values():
            names = (self.material_of(g), self.material_of(h))
            i = self.explicit.get(frozenset((g, h)))
            values = combined(self.surfaces[g], self.surfaces[h]) if i is None else self._explicit(i)
            materials = [own[name] for name in names]
            means = [
                math.sqrt(getattr(materials[0], key) * getattr(materials[1], key))
                for key in ("friction", "torsional", "rolling")
            ]
            if not np.allclose(values, means, rtol=SAME, atol=0.0):
                found[frozenset(names)] = MaterialPair(names, **_given(values))
        return tuple(found.values())

    def _explicit(self, i: int) -> tuple[float, float, float]:
        """Coefficients of a ``<pair>``: those of its first tangent, and of the first axis of rolling."""
        m = self.c.m
        tangent, second, torsional, rolling, other = m.pair_friction[i].tolist()
        if m.pair_dim[i] >= 3 and tangent != second or m.pair_dim[i] >= 6 and rolling != other:
            self.c.left_out.append(f"contact pair {self.c.called('pair', i)}: its second coefficients of friction")
        return Surface(0, int(m.pair_dim[i]), (tangent, torsional, rolling)).coefficients()

    def filters(self, tested: set[frozenset[str]], adjacent: bool) -> CollisionFilters:
        """The filters that leave, of the pairs that a scene tests without any, those that MuJoCo tests."""
        apart = sorted(tuple(sorted(pair)) for pair in tested - self.wanted().keys())
        return CollisionFilters(adjacent=adjacent, disable=tuple(apart))  # type: ignore[arg-type]


def _given(values: tuple[float, float, float]) -> dict[str, Any]:
    """Keys of a material or a pair; torsion and rolling only where there is some."""
    friction, torsional, rolling = values
    more = {"torsional": torsional, "rolling": rolling}
    return {"friction": friction, **{key: value for key, value in more.items() if value}}

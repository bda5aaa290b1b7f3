# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Materials of a scene, what two of them have together, and which links may touch."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mb_contact.keys.declaration import key

DEFAULT_FRICTION = 0.5  #: of a geometry that has no material

#: Friction models that know impacts with restitution; impacts of the others are inelastic.
ELASTIC_MODELS = ("coulomb_polyhedral", "coulomb_cone")
#: What restitution needs, and what further laws of friction need.
IMPACTS: dict[str, Any] = {"needs": {"friction_model": ELASTIC_MODELS}, "why": "impacts under the others are inelastic"}
CONE: dict[str, Any] = {"needs": {"friction_model": ("coulomb_cone",)}, "why": "the others have no such friction"}


@dataclass(frozen=True)
class AnisotropicFriction:
    """Friction that is ``along`` in a ``direction`` of a link's surface and ``across`` at right angles to it.

    ``direction`` is in the axes of the link that has the material, or of ``frame``; of it counts the part along the
    contact's plane.
    In a pair ``of`` names the material whose link that is, by default the first of the two.
    """

    along: float = key("Coefficient along the direction.", low=0.0, example="0.1")
    across: float = key("Coefficient at right angles to it.", low=0.0, example="0.6")
    direction: tuple[float, float, float] = key("Direction, in the axes of the link.", example="[1, 0, 0]")
    of: str | None = key("In a pair: the material whose links have the direction.", None, example="skate")
    frame: str | None = key(
        "Link in whose axes the direction stands, by default the one that has the material; a mecanum wheel's rollers "
        "have that of the base.", None, example="base",
    )


@dataclass(frozen=True)
class Softness:
    """How a surface gives way, see docs/soft_contacts.md: as springs, as an elastic foundation, or by Hertz' law.

    Two soft materials give way one behind the other; of a pair it is what both have together.

    Examples
    --------
    >>> mb.model.Softness(stiffness=1e5, damping=0.002, shear=0.5).foundation is None
    True
    """

    ONE_OF: ClassVar = (("stiffness", "foundation", "modulus"),)

    stiffness: float | None = key("Of each contact point.", None, unit="N/m", above=0.0, example="1.0e5")
    foundation: float | None = key(
        "Of each area, under the face of a box: a pad of rubber or foam.", None, unit="N/m^3", above=0.0,
        example="5.0e7",
    )
    modulus: float | None = key(
        "Young's modulus of Hertz' contacts, of spheres on spheres and flat faces.", None, unit="Pa", above=0.0,
        example="2.1e11",
    )
    poisson: float = key(
        "Poisson's ratio beside the modulus.", 0.3, low=0.0, high=0.5, example="0.45", beside=("modulus",)
    )
    shear: float | None = key(
        "Tangential over normal stiffness, 0 where tangents are rigid; by default 0, and of Hertz' contacts Mindlin's "
        "2 (1 - nu) / (2 - nu).", None, low=0.0, example="0.67",
    )
    damping: float = key("Damping over stiffness, of both.", 0.0, unit="s", low=0.0, example="0.002")
    cells: int = key(
        "Points of a foundation along the longest edge of its box.", 8, low=1, high=64, example="16",
        beside=("foundation",),
    )


#: What soft contacts need.
SOFT: dict[str, Any] = {
    "needs": {"friction_model": ELASTIC_MODELS, "integrator": ("semi_implicit_euler",),
              "collision_scheme": ("time_stepping",), "solver": ("auto",), "sleep": (False,)},
    "why": "contacts give way in those steps alone",
}  # fmt: skip


@dataclass(frozen=True)
class Material:
    """What a surface is made of: its coefficients against itself.

    ``viscous`` [N s/m] counts under ``friction_model: viscous`` and ``coulomb_viscous``, for each contact point;
    ``torsional``, ``rolling`` [m] and ``anisotropic_friction``, which replaces ``friction``, need ``coulomb_cone``.
    ``restitution``, from 0 to 1, is the part of an impact's normal impulse that is recovered.

    Examples
    --------
    >>> mb.model.Material(friction=0.8, restitution=0.3).rolling
    0.0
    """

    ONE_OF: ClassVar = (("friction", "anisotropic_friction"),)

    friction: float = key("Coefficient of friction.", DEFAULT_FRICTION, low=0.0, example="0.8")
    viscous: float = key(
        "Viscous friction of a contact point, under friction models that have it.", 0.0, unit="N s/m", low=0.0,
        example="5.0",
    )
    restitution: float = key(
        "Part of an impact's normal impulse that is recovered.", 0.0, low=0.0, high=1.0, example="0.3",
        **IMPACTS,
    )
    torsional: float = key(
        "Moment about the normal over the normal force.", 0.0, unit="m", low=0.0, example="0.01", **CONE,
    )
    rolling: float = key(
        "Moment along the surface over the normal force.", 0.0, unit="m", low=0.0, example="0.004", **CONE,
    )
    anisotropic_friction: AnisotropicFriction | None = key(
        "Friction that depends on the direction, in place of `friction`.", None, **CONE,
    )
    softness: Softness | None = key("How the surface gives way; rigid if left out.", None, **SOFT)


@dataclass(frozen=True)
class MaterialPair:
    """Coefficients of two materials; without an entry they are the geometric means of their own.

    Examples
    --------
    >>> mb.model.MaterialPair(("steel", "ice"), friction=0.03).restitution is None
    True
    """

    ONE_OF: ClassVar = (("friction", "anisotropic_friction"),)

    materials: tuple[str, str] = key("The two materials.", refers="materials", example="[rubber, ice]")
    friction: float | None = key("Coefficient of friction.", None, low=0.0, example="0.2")
    viscous: float | None = key("Viscous friction of a contact point.", None, unit="N s/m", low=0.0, example="5.0")
    restitution: float | None = key(
        "Part of an impact's normal impulse that is recovered.", None, low=0.0, high=1.0, example="0.3",
        **IMPACTS,
    )
    torsional: float | None = key(
        "Moment about the normal over the normal force.", None, unit="m", low=0.0, example="0.01", **CONE,
    )
    rolling: float | None = key(
        "Moment along the surface over the normal force.", None, unit="m", low=0.0, example="0.004", **CONE,
    )
    anisotropic_friction: AnisotropicFriction | None = key(
        "Friction that depends on the direction, in place of `friction`.", None, **CONE,
    )
    softness: Softness | None = key(
        "How both give way together; by default each gives way by itself.", None, **SOFT,
    )


@dataclass(frozen=True)
class CollisionFilters:
    """Which pairs of links are never tested: neighbours in a robot's tree, and the pairs listed.

    Examples
    --------
    >>> mb.model.CollisionFilters(disable=(("left_hand", "right_hand"),)).adjacent
    True
    """

    adjacent: bool = key("Whether neighbours in a robot's tree are left out.", True)
    disable: tuple[tuple[str, str], ...] = key(
        "Pairs of links that are never tested.", (), example="[[left_hand, right_hand]]"
    )

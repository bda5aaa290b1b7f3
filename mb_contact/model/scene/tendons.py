# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What pulls: springs between points and tendons, over joints, or over points, pulleys and shapes."""

from dataclasses import dataclass
from typing import ClassVar

from mb_contact.keys.declaration import key

SHAPES = ("sphere", "cylinder")  #: around which a tendon goes
AXIS = (0.0, 0.0, 1.0)  #: of a cylinder that says nothing else


@dataclass(frozen=True)
class PathElement:
    """An element of a tendon's path: a point or a shape on a link, a pulley, or a joint.

    Examples
    --------
    >>> mb.model.PathElement("finger", (0.0, 0.0, 0.02)).position
    (0.0, 0.0, 0.02)
    """

    ONE_OF: ClassVar = (("link", "divisor", "joint"),)

    link: str | None = key("Link of a point or a shape; `world` is one too.", None, example="finger")
    position: tuple[float, float, float] = key(
        "Its place in the link's axes; of a shape its middle.", (0.0, 0.0, 0.0), unit="m", example="[0, 0, 0.02]"
    )
    shape: str | None = key(
        "Around what the path goes between the points before and behind, where it would cross it.", None,
        choices=SHAPES, beside=("link", "radius"),
    )
    radius: float | None = key("Radius of the shape.", None, unit="m", above=0.0, example="0.01", beside=("shape",))
    axis: tuple[float, float, float] = key(
        "Axis of a cylinder in the link's axes; it has no ends.", AXIS, example="[0, 1, 0]"
    )
    side: tuple[float, float, float] | None = key(
        "A point in the link's axes, on whose side of the shape the path goes, of one in the shape through its inside; "
        "by default the shorter way around.", None,
        unit="m", example="[0, 0, 0.02]", beside=("shape",),
    )
    friction: float = key(
        "Coefficient of friction of the tendon on the shape: tensions before and behind it differ by a factor of at "
        "most e to the coefficient times the angle by which it turns.", 0.0, low=0.0, example="0.3",
        beside=("shape",),
    )
    divisor: float | None = key(
        "A pulley: what follows is a branch of its own, and its length counts divided by this.", None, nonzero=True,
        example="2.0",
    )
    joint: str | None = key("Scalar joint, whose position times the coefficient counts.", None, example="index_flex")
    coefficient: float = key(
        "Length for a unit of the joint.", 1.0, unit="m/rad, 1", example="0.01", beside=("joint",)
    )


@dataclass(frozen=True)
class Tendon:
    """A tendon, see docs/tendons.md: a length along points and joints, and what acts along it.

    Two points make a spring between them.

    Examples
    --------
    >>> ends = mb.model.PathElement("ball"), mb.model.PathElement("world", (0.0, 0.0, 1.0))
    >>> mb.model.Tendon("spring", ends, stiffness=100.0, rest_length=0.5).acts
    True
    """

    name: str = key("Name, by which it is read and pulled.", example="flexor")
    path: tuple[PathElement, ...] = key(
        "Its elements in order.", example="[{link: ball}, {link: world, position: [0, 0, 1]}]"
    )
    stiffness: float = key("Stiffness of its spring.", 0.0, unit="N/m", low=0.0, example="1000.0")
    damping: float = key("Damping.", 0.0, unit="N s/m", low=0.0, example="10.0")
    rest_length: float | None = key(
        "Length from which on its spring pulls; by default that at the start.", None, unit="m", example="0.5"
    )
    slack: float = key(
        "By how much it may be shorter than that without a force.", 0.0, unit="m", low=0.0, example="0.02"
    )
    pulls_only: bool = key("Whether its spring and damper pull alone, as a rope that may hang loose.", False)
    shortest: float | None = key("Least length.", None, unit="m", example="0.1")
    longest: float | None = key("Greatest length, of what cannot be stretched.", None, unit="m", example="0.6")
    friction: float = key("Coulomb friction along it.", 0.0, unit="N", low=0.0, example="0.5")
    held_length: float | None = key("Length that is held, as an equality.", None, unit="m", example="0.6")
    tension: float = key("Force that an actuator pulls with at the start.", 0.0, unit="N", example="5.0")

    @property
    def acts(self) -> bool:
        """Whether a spring, a damper, a limit, friction or a held length acts along it.

        Returns
        -------
        bool
        """
        bounded = (self.shortest, self.longest, self.held_length) != (None, None, None)
        return bounded or max(self.stiffness, self.damping, self.friction) > 0.0

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What attaches and conveys: pads of suction cups and magnets, surfaces that move in themselves."""

from dataclasses import dataclass
from typing import ClassVar

from mb_contact.keys.declaration import key
from mb_contact.model.scene.bodies import Pose

REACH = 1e-4  #: gap up to which a pad without a curve pulls [m]


@dataclass(frozen=True)
class AdhesionPad:
    """A suction cup or magnet on a link, see docs/handling.md: it pulls at what lies before it, along its z axis.

    Examples
    --------
    >>> cup = mb.model.AdhesionPad("cup", "tool", pressure=6e4, area=1e-3)
    >>> cup.greatest, cup.knots
    (60.0, ((0.0001, 1.0),))
    """

    ONE_OF: ClassVar = (("force", "pressure"),)

    name: str = key("Name, by which it is switched.", example="cup")
    link: str = key("Link that has it.", example="tool")
    pose: Pose = key("Its place in the link's axes, z outward.", Pose())
    points: tuple[tuple[float, float, float], ...] = key(
        "Points that pull, each with the same part of the force, in the axes of `pose`.", ((0.0, 0.0, 0.0),), unit="m",
        example="[[0.01, 0, 0], [-0.01, 0, 0]]",
    )
    force: float | None = key("Greatest force of all points.", None, unit="N", above=0.0, example="60.0")
    pressure: float | None = key(
        "Greatest force for each area, in place of `force`.", None, unit="N/m^2", above=0.0, example="6.0e4",
        beside=("area",),
    )
    area: float | None = key("Area on which `pressure` acts.", None, unit="m^2", above=0.0, example="1.0e-3",
                             beside=("pressure",))
    reach: float = key("Gap up to which it pulls, without a curve.", REACH, unit="m", above=0.0, example="5.0e-4")
    curve: tuple[tuple[float, float], ...] = key(
        "Gaps [m], growing, and the parts of the greatest force there, from 0 to 1; beyond the last gap nothing pulls.",
        (), low=0.0, example="[[0, 1], [0.002, 0.3], [0.01, 0]]",
    )
    on: bool = key("Whether it pulls at the start.", True)

    @property
    def greatest(self) -> float:
        """Greatest force of all points.

        Returns
        -------
        float
            [N]
        """
        return float(self.pressure * self.area if self.force is None else self.force)  # type: ignore[operator]

    @property
    def knots(self) -> tuple[tuple[float, float], ...]:
        """The curve, or that of a constant force up to the reach.

        Returns
        -------
        tuple of (gap [m], part of the greatest force)
        """
        return self.curve or ((self.reach, 1.0),)


@dataclass(frozen=True)
class MovingSurface:
    """The surface of a link that moves in itself, as that of a belt or a turntable, while its shape stays.

    Examples
    --------
    >>> mb.model.MovingSurface("belt", "conveyor", linear=(0.5, 0.0, 0.0)).speed
    1.0
    """

    name: str = key("Name, by which its speed is commanded.", example="belt")
    link: str = key("Link whose shapes have it.", example="conveyor")
    linear: tuple[float, float, float] = key(
        "Velocity at the link's origin at speed 1, in its axes.", (0.0, 0.0, 0.0), unit="m/s", example="[0.5, 0, 0]"
    )
    angular: tuple[float, float, float] = key(
        "Angular velocity about the link's origin at speed 1, in its axes.", (0.0, 0.0, 0.0), unit="rad/s",
        example="[0, 0, 1.57]",
    )
    speed: float = key("Factor on both at the start.", 1.0, example="0.5")

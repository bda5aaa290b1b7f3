# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a scene says of links that deform: beams, and bodies whose modes stand in a file."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mb_contact.checks import Floats
from mb_contact.keys.declaration import key
from mb_contact.model.flexible.beams import ENDS, MOST_MODES, MOTIONS, SECTIONS, THEORIES


@dataclass(frozen=True)
class Beam:
    """A straight uniform beam from ``start`` to ``end`` in the axes of its link.

    ``size`` of a rectangle is its width and its height, which lies along ``up``; of a circle its radius, of a tube the
    outer and the inner radius [m].

    Examples
    --------
    >>> rod = mb.model.Beam(end=(0.5, 0.0, 0.0), section="circle", size=(0.002,), young_modulus=2e11, density=7800.0)
    >>> rod.modes, rod.theory
    (4, 'euler_bernoulli')
    """

    end: tuple[float, float, float] = key("End of its axis.", unit="m", example="[0.5, 0, 0]")
    section: str = key("Cross-section.", choices=SECTIONS, example="circle")
    size: tuple[float, ...] = key(
        "Width and height; radius; or outer and inner radius.", unit="m", above=0.0, single=True, example="[0.02, 0.01]"
    )
    young_modulus: float = key("Young's modulus.", unit="Pa", above=0.0, example="2.0e+11")
    start: tuple[float, float, float] = key("Start of its axis.", (0.0, 0.0, 0.0), unit="m", example="[0.1, 0, 0]")
    up: tuple[float, float, float] = key(
        "Direction of the section's z, made square to the axis.", (0.0, 0.0, 1.0), example="[0, 1, 0]"
    )
    shear_modulus: float | None = key(
        "Shear modulus; by default that of Poisson's ratio 0.3.", None, unit="Pa", above=0.0, example="8.0e+10"
    )
    density: float | None = key(
        "Density; by default the mass of the link's <inertial> over the beam's volume.", None, unit="kg/m^3",
        above=0.0, example="7800.0",
    )
    theory: str = key("Theory of bending.", "euler_bernoulli", choices=THEORIES)
    root: str | None = key(
        "How its root is held; by default clamped where a joint holds the link, free where none does.", None,
        choices=ENDS, example="clamped",
    )
    modes: int = key("Number of modes.", 4, low=1, high=MOST_MODES, example="6")
    motions: tuple[str, ...] = key(
        "Motions of which the modes are those of the lowest frequencies.", MOTIONS, choices=MOTIONS
    )
    static_modes: bool = key(
        "Whether the deflections under a force and a moment at the end are modes too.", False,
        only={"root": (None, "clamped")},
    )
    stiffening: bool = key(
        "Whether axial forces stiffen it or make it buckle, by the shortening of a bent beam.", True
    )

    @property
    def length(self) -> float:
        """Length [m].

        Returns
        -------
        float

        Examples
        --------
        >>> mb.model.Beam((0.3, 0.4, 0.0), "circle", (0.01,), 2e11, density=7800.0).length
        0.5
        """
        return float(np.linalg.norm(np.subtract(self.end, self.start)))

    def axes(self) -> Floats:
        """Axes of the beam in those of the link.

        Returns
        -------
        ndarray (3, 3)
            Columns x along the beam, y and z those of the section.

        Examples
        --------
        >>> mb.model.Beam((0.5, 0.0, 0.0), "circle", (0.01,), 2e11, density=7800.0).axes()
        array([[1., 0., 0.],
               [0., 1., 0.],
               [0., 0., 1.]])
        """
        x = np.subtract(self.end, self.start) / self.length
        z = np.array(self.up) - (x @ np.array(self.up)) * x
        z /= np.linalg.norm(z)
        return np.column_stack([x, np.cross(z, x), z])


@dataclass(frozen=True)
class FlexibleLink:
    """A link of a robot that deforms in modes: a beam, or a body whose modes stand in a file.

    Examples
    --------
    >>> rod = mb.model.Beam(end=(0.5, 0.0, 0.0), section="circle", size=(0.002,), young_modulus=2e11, density=7800.0)
    >>> mb.model.FlexibleLink(beam=rod, damping_ratio=0.01).nodes
    {}
    """

    NOUN: ClassVar[str] = "flexible link"
    ONE_OF: ClassVar = (("beam", "file"),)

    beam: Beam | None = key("A straight uniform beam.", None)
    file: str | None = key(
        "File of modal data, YAML or npz, from the scene's folder.", None, example="boom.npz", file=True
    )
    damping_ratio: float = key(
        "Damping of every mode with the link's frame held, relative to critical damping.", 0.0, low=0.0, example="0.01"
    )
    nodes: dict[str, tuple[float, float, float]] = key(
        "Places of frames LINK/NAME.", factory=dict, unit="m", example="{tip: [0.5, 0, 0]}"
    )

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The papers' pendulums as scenes: n spheres on pin hinges, a floor and a wall (J14 section 8, J12 section V-E).

The chain moves in the x-z plane.  Link k = 0 ... n-1, counted from the base, hangs on a hinge about +y; its hinges are
L/n apart, its sphere sits half-way between them.  Joint angles count from the downward vertical towards -x, so a
positive rate of the first joint swings the chain towards -x and a negative one towards the wall at +x.  The start
angle and rate are those of the first joint; all others are straight and still.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import cos, isfinite, pi, sin
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_choice
from mb_contact.errors import InputError
from mb_contact.model.scene import (
    Closure,
    Ground,
    Material,
    ModelMaterials,
    Pose,
    Primitive,
    Scene,
    SceneModel,
    Velocity,
)

NAME = "pendulum"  #: of the model
MATERIAL = "sphere"  #: of everything


@dataclass(frozen=True)
class Pendulum:
    """A pendulum of solid spheres; lengths in m, masses in kg, angles in rad (J14 section 8, J12 section V-E).

    Raises
    ------
    InputError
        No link, or a length, mass or time step that is not above zero.

    Examples
    --------
    >>> chain = mb.pendulum(3)
    >>> chain.spacing, chain.radius, chain.joints, chain.bodies
    (4.0, 2.0, ('hinge_0', 'hinge_1', 'hinge_2'), ('link_0', 'link_1', 'link_2'))
    >>> mb.load_urdf(chain.urdf()).N, len(chain.scene().models), len(chain.free_scene().primitives)
    (3, 1, 4)
    >>> chain.yaml("Three spheres").splitlines()[3:5]
    ['#', '# Three spheres']
    """

    links: int
    length: float = 12.0  #: from the base to the end of the last link
    radius_share: float = 0.5  #: radius of a sphere over the hinge spacing; at 0.5 neighbours touch
    mass: float = 1.0
    base_height: float = 10.0
    floor: float = 0.0  #: height of the floor
    wall: float = 4.0  #: x of the wall's face
    friction: float = 0.5
    restitution: float = 0.5
    angle: float = pi / 4.0
    rate: float = 1.0
    gravity: float = 9.8
    time_step: float = 1e-3
    friction_directions: int = 4
    contact_margin: float = 0.03  #: more than the fastest sphere moves in a step, so that none is found too late

    def __post_init__(self):
        if not isinstance(self.links, int) or self.links < 1:
            raise InputError(f"links must be a whole number from 1 on, got {self.links!r}")
        for name in ("length", "radius_share", "mass", "time_step"):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0.0):
                raise InputError(f"{name} must be above zero, got {value}")

    @property
    def spacing(self) -> float:
        """Distance between two hinges.

        Returns
        -------
        float
            [m]
        """
        return self.length / self.links

    @property
    def radius(self) -> float:
        """Radius of a sphere.

        Returns
        -------
        float
            [m]
        """
        return self.radius_share * self.spacing

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the hinges, base to tip.

        Returns
        -------
        tuple of str
        """
        return tuple(f"hinge_{k}" for k in range(self.links))

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the links, base to tip.

        Returns
        -------
        tuple of str
        """
        return tuple(f"link_{k}" for k in range(self.links))

    def urdf(self) -> str:
        """The chain as URDF text; its base link is massless and holds the first hinge.

        Returns
        -------
        str
        """
        middle, moment = -0.5 * self.spacing, 0.4 * self.mass * self.radius**2
        lines = [f'<robot name="{NAME}_{self.links}">', '  <link name="base"/>']
        for k, (joint, body) in enumerate(zip(self.joints, self.bodies)):
            parent, z = ("base", 0.0) if k == 0 else (self.bodies[k - 1], -self.spacing)
            lines += [
                f'  <link name="{body}">',
                f'    <inertial><origin xyz="0 0 {middle!r}"/><mass value="{self.mass!r}"/>'
                f'<inertia ixx="{moment!r}" iyy="{moment!r}" izz="{moment!r}" ixy="0" ixz="0" iyz="0"/></inertial>',
                f'    <collision><origin xyz="0 0 {middle!r}"/>'
                f'<geometry><sphere radius="{self.radius!r}"/></geometry></collision>',
                "  </link>",
                f'  <joint name="{joint}" type="continuous"><parent link="{parent}"/><child link="{body}"/>'
                f'<origin xyz="0 0 {z!r}"/><axis xyz="0 1 0"/></joint>',
            ]
        return "\n".join([*lines, "</robot>", ""])

    def centres(self, q: ArrayLike) -> Floats:
        """Positions of the spheres for joint angles.

        Parameters
        ----------
        q : array_like (..., n)
            [rad]

        Returns
        -------
        ndarray (..., n, 2)
            x and z in the world [m].

        Examples
        --------
        >>> mb.pendulum(3).centres([0.0, 0.0, 0.0])
        array([[ 0.,  8.],
               [ 0.,  4.],
               [ 0.,  0.]])
        """
        bend = np.cumsum(q, axis=-1)
        ends = self.spacing * np.cumsum(np.stack([np.sin(bend), np.cos(bend)], axis=-1), axis=-2)
        middle = ends - 0.5 * self.spacing * np.stack([np.sin(bend), np.cos(bend)], axis=-1)
        return np.array([0.0, self.base_height]) - middle

    def centre_velocities(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """Velocities of the spheres for joint angles and rates.

        Parameters
        ----------
        q : array_like (..., n)
            [rad]
        v : array_like (..., n)
            [rad/s]

        Returns
        -------
        ndarray (..., n, 2)
            x and z in the world [m/s].

        Examples
        --------
        >>> mb.pendulum(3).centre_velocities([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])[:, 0]
        array([ -2.,  -6., -10.])
        """
        bend, rate = np.cumsum(q, axis=-1), np.cumsum(v, axis=-1)
        turn = self.spacing * rate[..., None] * np.stack([-np.cos(bend), np.sin(bend)], axis=-1)
        return np.cumsum(turn, axis=-2) - 0.5 * turn

    def scene(self, **settings: Any) -> Scene:
        """The pendulum with floor and wall in joint coordinates.

        Parameters
        ----------
        **settings
            Further fields of Scene.

        Returns
        -------
        Scene
        """
        model = SceneModel(
            urdf=self.urdf(),
            name=NAME,
            pose=Pose(position=(0.0, 0.0, self.base_height)),
            joints={self.joints[0]: self.angle},
            velocities={self.joints[0]: self.rate} if self.rate else {},
            materials=ModelMaterials(default=MATERIAL),
        )
        return Scene(**{**self._surroundings(), "models": (model,), **settings})

    def free_scene(self, **settings: Any) -> Scene:
        """The same spheres as free bodies, every hinge a loop closure between their centres: what NMC/OS starts from.

        Hinges are rows of the step's problem (``loops: multipliers``), also of chains that could be embedded.

        Parameters
        ----------
        **settings
            Further fields of Scene.

        Returns
        -------
        Scene
        """
        down = (-sin(self.angle), -cos(self.angle))  # x and z of the direction from base to tip
        spheres, hinges = [], []
        end, turn = 0.5 * self.spacing, (-0.5 * pi, 0.0, 0.0)  # the hinges' z is the spheres' y
        for k, name in enumerate(self.bodies):
            x, z = (self.spacing * (k + 0.5) * d for d in down)
            pose = Pose((x, 0.0, self.base_height + z), rpy=(0.0, self.angle, 0.0))
            velocity = Velocity((0.0, self.rate, 0.0), (self.rate * z, 0.0, -self.rate * x))
            body: dict[str, Any] = {"base": "free", "mass": self.mass, "material": MATERIAL, "velocity": velocity}
            spheres.append(Primitive(name, "sphere", (self.radius,), pose, **body))
            above, at = (self.bodies[k - 1], -end) if k else ("world", self.base_height)
            hinges.append(Closure("axis", name, above, Pose((0.0, 0.0, end), turn), Pose((0.0, 0.0, at), turn)))
        values = self._surroundings()
        values["primitives"] = (*spheres, *values["primitives"])
        return Scene(**{**values, "loop_closures": tuple(hinges), "loops": "multipliers", **settings})

    def yaml(self, title: str) -> str:
        """The scene of ``scene()`` as the text of a scene file.

        Parameters
        ----------
        title : str
            One line that is put above.

        Returns
        -------
        str
        """
        (wall,) = self._surroundings()["primitives"]
        lines = [
            "# Copyright 2026 The mb_contact authors", "# SPDX-License-Identifier: Apache-2.0",
            "# yaml-language-server: $schema=scene.schema.json", "#", f"# {title}", "",
            f"time_step: {self.time_step!r}",
            f"gravity: [0.0, 0.0, {-self.gravity!r}]",
            f"friction_directions: {self.friction_directions}",
            f"contact_margin: {self.contact_margin!r}", "",
            "models:",
            f"  - name: {NAME}",
            f"    pose: {{position: [0.0, 0.0, {self.base_height!r}]}}",
            f"    joints: {{{self.joints[0]}: {self.angle!r}}}  # from the downward vertical towards -x",
            f"    velocities: {{{self.joints[0]}: {self.rate!r}}}  # above zero: towards -x",
            f"    materials: {{default: {MATERIAL}}}",
            "    urdf: |", *(f"      {line}" for line in self.urdf().splitlines()), "",
            "primitives:",
            f"  - name: {wall.name}",
            "    shape: plane",
            f"    pose: {{position: {list(wall.pose.position)}, rpy: {list(wall.pose.rpy)}}}",
            f"    material: {MATERIAL}", "",
            f"ground: {{height: {self.floor!r}, material: {MATERIAL}}}", "",
            "materials:",
            f"  {MATERIAL}: {{friction: {self.friction!r}, restitution: {self.restitution!r}}}", "",
        ]  # fmt: skip
        return "\n".join(lines)

    def _surroundings(self):
        facing_back = Pose((self.wall, 0.0, 0.0), rpy=(0.0, -0.5 * pi, 0.0))
        return {
            "primitives": (Primitive("wall", "plane", pose=facing_back, material=MATERIAL),),
            "ground": Ground(self.floor, MATERIAL),
            "materials": {MATERIAL: Material(self.friction, restitution=self.restitution)},
            "contact_margin": self.contact_margin,
            "gravity": (0.0, 0.0, -self.gravity),
            "time_step": self.time_step,
            "friction_directions": self.friction_directions,
        }


#: What the papers and the first-impact table simulate; only the number of links is open.
VARIANTS: Mapping[str, dict[str, Any]] = MappingProxyType({
    # J14 section 8; the sign of its rate is not given, here it is towards -x, away from the wall
    "j14": {},
    # J12 section V-E as printed: 6 m long, so it can meet the wall only; floor and wall are plates 0.2 m thick
    "j12": {"length": 6.0, "floor": 0.1, "wall": 3.9, "restitution": 0.0, "angle": pi / 2.0, "rate": -1.0},
    # the same, long enough to meet the floor
    "j12_12m": {"floor": 0.1, "wall": 3.9, "restitution": 0.0, "angle": pi / 2.0, "rate": -1.0},
    # 12 m, horizontal along -x, at rest: its first impact is known to nine digits
    "first_impact": {"restitution": 0.0, "angle": pi / 2.0, "rate": 0.0, "gravity": 9.81},
})


#: Scene files of the package: name, links, variant and title.
SCENE_FILES = tuple(
    (f"pendulum_{n}", n, "j14", f"{n} spheres on pin hinges, 12 m long, a floor and a wall: J14 section 8.")
    for n in (3, 6, 12, 30)
) + tuple(
    (f"pendulum_{variant}_15", 15, variant, f"15 spheres on pin hinges {text}: J12 section V-E.")
    for variant, text in (("j12", "as printed (6 m long, it can meet the wall only)"), ("j12_12m", "at 12 m"))
)


def write_scenes(folder):
    """Write SCENE_FILES into a folder; returns their paths."""
    paths = []
    for name, links, variant, title in SCENE_FILES:
        path = Path(folder) / f"{name}.yaml"
        text = pendulum(links, variant).yaml(title + "  Written by mb-contact bench pendulum --scenes.")
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def pendulum(links: int, variant: str = "j14", **changes: Any) -> Pendulum:
    """A pendulum of one of VARIANTS.

    Parameters
    ----------
    links : int
    variant : str
        ``"j14"`` (J14 section 8), ``"j12"`` (J12 section V-E as printed, 6 m), ``"j12_12m"`` or ``"first_impact"`` (the
        12 m pendulum that starts horizontal along -x and at rest).
    **changes
        Fields of Pendulum, for instance ``restitution=0.5``.

    Returns
    -------
    Pendulum
        Lengths in m, masses in kg.

    Raises
    ------
    InputError
        Unknown variant or field, or values out of range.

    Examples
    --------
    >>> mb.pendulum(5, "j12").length
    6.0
    >>> mb.pendulum(2, length=2.0).radius
    0.5
    """
    as_choice(variant, VARIANTS, "pendulum")
    try:
        return replace(Pendulum(links, **VARIANTS[variant]), **changes)
    except TypeError as error:
        raise InputError(f"a pendulum cannot be changed so: {error}") from None

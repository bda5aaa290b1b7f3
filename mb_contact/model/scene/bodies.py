# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies of a scene: where they stand, primitives of all shapes, height fields, the ground; what counts as rest."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.keys.declaration import key
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix, rpy_to_matrix
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_NAMES,
    SHAPE_SPHERE,
)

BASES = ("weld", "free")  #: fixed to the inertial frame, or not
HULL_VERTICES = 4, 4095  #: fewest and most that a scene may ask of a hull: an edge's identity has 12 bits for each
MOST_SEED = 2**31 - 1

#: Size entries of a primitive in a scene, in the words of a URDF: full lengths [m].
SHAPE_SIZES = MappingProxyType({
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "cylinder": ("radius", "length"),
    "box": ("x", "y", "z"),
    "cone": ("radius", "length"),
    "ellipsoid": ("x", "y", "z"),
    "mesh": (),
    "height_field": ("x", "y"),
    "plane": (),
})

#: Sizes of kernels over full lengths: radii stay, lengths are halved.
SIZE_FACTORS = MappingProxyType({
    SHAPE_SPHERE: (1.0,),
    SHAPE_CAPSULE: (1.0, 0.5),
    SHAPE_CYLINDER: (1.0, 0.5),
    SHAPE_CONE: (1.0, 0.5),
    SHAPE_BOX: (0.5, 0.5, 0.5),
    SHAPE_ELLIPSOID: (0.5, 0.5, 0.5),
})


def kernel_size(kind: int, lengths: ArrayLike) -> Floats:
    """Size of a shape as the kernels want it.

    Parameters
    ----------
    kind : int
        SHAPE_*.
    lengths : array_like
        Full lengths, as a scene has them [m].

    Returns
    -------
    ndarray (3,)
        As SHAPE_* says [m]; zeros where a shape has none.
    """
    size, factors = np.zeros(3), SIZE_FACTORS.get(kind, ())
    size[: len(factors)] = np.multiply(np.asarray(lengths)[: len(factors)], factors)
    return size


@dataclass(frozen=True)
class Pose:
    """A pose in the inertial frame: position [m] and either roll-pitch-yaw [rad] or a quaternion x y z w.

    Examples
    --------
    >>> pose = mb.model.Pose((0.0, 0.0, 1.0), rpy=(0.0, 0.0, np.pi / 2))
    >>> pose.rotation() @ [1.0, 0.0, 0.0], pose.origin()
    (array([0., 1., 0.]), array([0., 0., 1.]))
    """

    AT_MOST_ONE: ClassVar = (("rpy", "quat_xyzw"),)

    position: tuple[float, float, float] = key("Origin.", (0.0, 0.0, 0.0), unit="m", example="[0.5, 0, 1]")
    rpy: tuple[float, float, float] | None = key("Roll, pitch and yaw.", None, unit="rad", example="[0, 0, 1.57]")
    quat_xyzw: tuple[float, float, float, float] | None = key(
        "Unit quaternion, in place of `rpy`.", None, example="[0, 0, 0, 1]"
    )

    def rotation(self) -> Floats:
        """Rotation matrix.

        Returns
        -------
        ndarray (3, 3)
            Axes of the pose in the inertial frame.
        """
        if self.quat_xyzw is not None:
            return quat_to_matrix(self.quat_xyzw)
        return np.eye(3) if self.rpy is None else rpy_to_matrix(self.rpy)

    def quaternion(self) -> Floats:
        """Quaternion x y z w (4,).

        Returns
        -------
        (4,) ndarray

        Examples
        --------
        >>> mb.model.Pose(rpy=(0.0, 0.0, np.pi)).quaternion().round(12)
        array([0., 0., 1., 0.])
        """
        return matrix_to_quat(self.rotation())

    def origin(self) -> Floats:
        """Position.

        Returns
        -------
        ndarray (3,)
            In the inertial frame [m].
        """
        return np.array(self.position, dtype=np.float64)


@dataclass(frozen=True)
class Velocity:
    """Velocity of a body's origin frame, world axes: angular [rad/s] and linear [m/s].

    Examples
    --------
    >>> mb.model.Velocity(linear=(1.0, 0.0, 0.0)).angular
    (0.0, 0.0, 0.0)
    """

    angular: tuple[float, float, float] = key("Angular velocity.", (0.0, 0.0, 0.0), unit="rad/s", example="[0, 0, 1]")
    linear: tuple[float, float, float] = key("Linear velocity.", (0.0, 0.0, 0.0), unit="m/s", example="[1, 0, 0]")


#: Built-in terrains, and what each needs besides a resolution.
TERRAINS = MappingProxyType({
    "flat": (),
    "ramp": ("amplitude",),
    "rough": ("amplitude",),
    "waves": ("amplitude", "wavelength"),
    "hills": ("amplitude", "wavelength"),
    "steps": ("amplitude", "wavelength"),
})
UNEVEN = tuple(name for name, needed in TERRAINS.items() if "amplitude" in needed)
WAVY = tuple(name for name, needed in TERRAINS.items() if "wavelength" in needed)


@dataclass(frozen=True)
class Heights:
    """Heights of a height field [m]: from a file, a grid or a generator, one of the three.

    ``file`` is .npy, .csv or .png (grey, black 0 and white 1), relative to the scene's; ``grid`` holds rows along x,
    the first at the smallest y, as .npy and .csv do; the first row of a picture is at the largest y.  All are
    multiplied by ``factor``.  A ``generator`` out of TERRAINS makes points ``resolution`` [m] apart.
    """

    NOUN: ClassVar[str] = "height field"
    ONE_OF: ClassVar = (("file", "grid", "generator"),)

    file: str | None = key(".npy, .csv or .png file, from the scene's folder.", None, example="field.png", file=True)
    grid: tuple[tuple[float, ...], ...] | None = key(
        "Rows along x, the first at the smallest y.", None, unit="m", example="[[0.0, 0.1], [0.2, 0.1]]"
    )
    generator: str | None = key("Built-in terrain.", None, choices=TERRAINS)
    factor: float = key("What all heights are multiplied by.", 1.0, example="0.5")
    resolution: float | None = key(
        "Distance of neighbouring points.", None, unit="m", above=0.0, example="0.05",
        only={"generator": tuple(TERRAINS)}, needed={"generator": tuple(TERRAINS)},
    )
    amplitude: float | None = key(
        "Largest height; of a ramp that of its far end.", None, unit="m", example="0.1",
        only={"generator": UNEVEN}, needed={"generator": UNEVEN},
    )
    wavelength: float | None = key(
        "Length of waves, hills and steps.", None, unit="m", above=0.0, example="1.0",
        only={"generator": WAVY}, needed={"generator": WAVY},
    )
    seed: int = key("Seed of rough, hills and steps.", 0, low=0, high=MOST_SEED, example="7")


class _Shaped:
    """What a record with a ``shape`` and a ``size`` in full lengths says to the kernels."""

    shape: str
    size: tuple[float, ...]

    def kind(self) -> int:
        """The shape as a number.

        Returns
        -------
        int
            SHAPE_* of ``mb_contact.types``.
        """
        return SHAPE_CONVEX if self.shape == "mesh" else SHAPE_NAMES.index(self.shape)

    def kernel_size(self) -> Floats:
        """Size as the kernels want it: radius and half length, or half extents.

        Returns
        -------
        ndarray (3,)
            [m]
        """
        return kernel_size(self.kind(), self.size)


#: Shapes that a ``visual`` may have.
DRAWN_SHAPES = tuple(shape for shape in SHAPE_SIZES if shape not in ("height_field", "plane"))


@dataclass(frozen=True)
class PrimitiveVisual(_Shaped):
    """What an object looks like, apart from what collides: a shape, or a mesh in the colours of its file.

    Examples
    --------
    >>> look = mb.model.PrimitiveVisual("sphere", (0.02,), color=(0.8, 0.1, 0.1))
    >>> mb.model.Primitive("cherry", "box", (0.04, 0.04, 0.04), base="free", mass=0.01, visual=look).visual.shape
    'sphere'
    >>> look.kind() == mb.types.SHAPE_SPHERE, look.kernel_size().tolist()
    (True, [0.02, 0.0, 0.0])
    """

    NOUN: ClassVar[str] = "visual"

    shape: str = key("Shape.", "mesh", choices=DRAWN_SHAPES, example="mesh")
    size: tuple[float, ...] = key(
        "Full lengths, as those of a primitive.", (), unit="m", above=0.0, single=True, example="[0.02]"
    )
    mesh: str | None = key(
        "Mesh file, from the scene's folder or package://.", None, example="mug.glb", only={"shape": ("mesh",)},
        needed={"shape": ("mesh",)}, file=True,
    )
    scale: tuple[float, float, float] = key(
        "Factors of the mesh along its axes.", (1.0, 1.0, 1.0), nonzero=True, example="[0.001, 0.001, 0.001]"
    )
    pose: Pose = key("Where it is in the frame of the object.", Pose())
    color: tuple[float, ...] = key(
        "Red, green, blue, and opacity, in place of the file's.", (), low=0.0, high=1.0, example="[0.8, 0.2, 0.1]"
    )


@dataclass(frozen=True)
class Primitive(_Shaped):
    """A body of one shape; ``size`` in full lengths, see SHAPE_SIZES; a free one needs a mass [kg], or a
    density [kg/m^3], with which mass and inertia are those of the mesh itself, whatever stands for it in contacts.

    The inertia is that of the homogeneous solid unless principal moments are given.  A ``mesh`` names a file
    (relative to the scene's) with factors along its axes; it is its convex hull, or convex pieces.
    A ``height_field`` has ``heights`` and is welded.

    Examples
    --------
    >>> can = mb.model.Primitive("can", "cylinder", (0.03, 0.1), base="free", mass=0.4)
    >>> can.kind(), can.kernel_size()  # the kernels take half the length [m]
    (2, array([0.03, 0.05, 0.  ]))
    """

    AT_MOST_ONE: ClassVar = (("mesh", "pieces"), ("mass", "density"))

    name: str = key("Name, as links have one.", example="box")
    shape: str = key("Shape.", choices=SHAPE_SIZES, example="box")
    size: tuple[float, ...] = key(
        "Full lengths: radius; radius and length; or those along x, y and z.", (), unit="m", above=0.0, single=True,
        example="[0.2, 0.2, 0.1]",
    )
    pose: Pose = key("Where it stands.", Pose())
    base: str = key("Whether it is fixed to the world.", "weld", choices=BASES)
    mass: float | None = key("Mass; a free one needs it, or a density.", None, unit="kg", above=0.0, example="2.0")
    inertia: tuple[float, float, float] | None = key(
        "Principal moments; by default those of the homogeneous solid.", None, unit="kg m^2",
        example="[0.01, 0.01, 0.02]",
    )
    material: str | None = key("Material.", None, refers="materials", example="rubber")
    velocity: Velocity | None = key("Initial velocity.", None, only={"base": ("free",)})
    mesh: str | None = key(
        "Mesh file, from the scene's folder or package://.", None, example="mug.stl", only={"shape": ("mesh",)},
        file=True,
    )
    scale: tuple[float, float, float] = key(
        "Factors of the mesh along its axes.", (1.0, 1.0, 1.0), nonzero=True, example="[0.001, 0.001, 0.001]"
    )
    collision_meshes: str = key(
        "Whether the mesh is its hull, hulls of convex pieces, or its triangles; auto: its hull where that is within "
        "1 % of its size of the mesh, or hull_vertices are given, its triangles elsewhere.", "auto",
        choices=("auto", "convex_hull", "convex_pieces", "mesh"),
    )
    pieces_tolerance: float | None = key(
        "Deviation from the mesh up to which convex pieces are cut finer.", None, unit="m", above=0.0, example="0.002"
    )
    pieces: tuple[str, ...] = key(
        "Mesh files of convex pieces, in place of `mesh`.", (), example="[cup_0.stl, cup_1.stl]",
        only={"shape": ("mesh",)}, file=True,
    )
    heights: Heights | None = key(
        "Heights of a height field.", None, only={"shape": ("height_field",)}, needed={"shape": ("height_field",)},
        example="{generator: hills, resolution: 0.05, amplitude: 0.1, wavelength: 1.0}",
    )
    hull_vertices: int | None = key(
        "Most vertices of a hull of the mesh.", None, low=HULL_VERTICES[0], high=HULL_VERTICES[1], example="32"
    )
    color: tuple[float, ...] = key(
        "Red, green, blue, and opacity, in place of the mesh file's or one by turns.", (), low=0.0, high=1.0,
        example="[0.8, 0.2, 0.1]",
    )
    visual: PrimitiveVisual | None = key(
        "What it looks like, apart from what collides; by default its mesh as the file has it, or its shape.", None,
        example="{mesh: mug.glb}",
    )
    density: float | None = key(
        "Density, in place of the mass; a mesh must be closed.", None, unit="kg/m^3", above=0.0, example="2700.0",
        only={"base": ("free",)},
    )


@dataclass(frozen=True)
class Ground:
    """A horizontal half-space below ``height`` [m]; its link is called ``ground``.

    Examples
    --------
    >>> mb.build_world(mb.Scene(ground=mb.model.Ground(height=-0.2))).geoms.p
    array([[ 0. ,  0. , -0.2]])
    """

    height: float = key("Height of its surface.", 0.0, unit="m", example="-0.2")
    material: str | None = key("Material.", None, refers="materials", example="rubber")


@dataclass(frozen=True)
class Rest:
    """What counts as rest, behind which bodies sleep: no coordinate moves farther than ``distance`` for a ``time``.

    With a distance of zero only what a step leaves as it is, bit for bit, sleeps.
    """

    distance: float = key(
        "Way of a coordinate that counts as none.", 1e-12, unit="m, rad", low=0.0, high=1e-6, example="1.0e-11"
    )
    time: float = key("Time for which nothing may move.", 0.1, unit="s", above=0.0, most_in_files=60.0, example="0.5")

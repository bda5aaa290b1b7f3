# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What holds links and joints of a scene together, and what drives them: loop closures, gears, prescribed motions."""

from dataclasses import dataclass
from typing import ClassVar

from mb_contact.keys.declaration import key
from mb_contact.model.scene.bodies import Pose
from mb_contact.types import CLOSURE_NAMES

INTERPOLATIONS = ("cubic", "linear")  #: of prescribed motions


@dataclass(frozen=True)
class Closure:
    """A loop closure: two frames on two links (or the ``world``) held together, see docs/constraints.md.

    Poses are in the frames of the links.  Without ``pose_b`` the second frame is put where the first is at the
    initial positions; without ``length`` (kind ``distance``) the initial distance is kept.

    Examples
    --------
    >>> mb.model.Closure("weld", "hand", "box", attached=False).switched
    True
    """

    kind: str = key("What it holds together.", choices=CLOSURE_NAMES, example="point")
    link_a: str = key("First link.", example="left_hand")
    link_b: str = key("Second link; `world` is one too.", example="bar")
    pose_a: Pose | None = key("Frame on the first link, in its axes.", None)
    pose_b: Pose | None = key("Frame on the second link; by default where the first one is at the start.", None)
    length: float | None = key(
        "Distance of the frames' origins; by default that at the start.", None, unit="m", above=0.0, example="0.5",
        only={"kind": ("distance",)},
    )
    name: str | None = key("Name, by which motions drive it.", None, example="grip")
    pitch: float | None = key(
        "Way along the axis in a turn, of left-handed threads negative.", None, unit="m", nonzero=True,
        example="0.002", only={"kind": ("screw",)}, needed={"kind": ("screw",)},
    )
    friction: float = key(
        "Friction torque of the thread.", 0.0, unit="N m", low=0.0, example="0.05", only={"kind": ("screw",)}
    )
    flank_friction: float = key(
        "Coefficient of friction of the thread's flanks, under the force along its axis; of flanks that lean by an "
        "angle, divided by its cosine.", 0.0, low=0.0, example="0.12", only={"kind": ("screw",)}, beside=("radius",),
        needs={
            "integrator": ("semi_implicit_euler",), "collision_scheme": ("time_stepping",), "solver": ("auto",),
            "coordinates": ("joints",),
        },
    )
    radius: float | None = key(
        "Mean radius of the thread's flanks.", None, unit="m", above=0.0, example="0.004", only={"kind": ("screw",)},
        beside=("flank_friction",),
    )
    end: float | None = key(
        "Way along the axis at which the thread ends and the first link comes off.", None, unit="m", example="0.02",
        only={"kind": ("screw",)},
    )
    attached: bool | None = key(
        "Whether a weld that is attached and detached while the simulation runs holds at the start.", None,
        example="false", only={"kind": ("weld",)},
    )
    break_force: float | None = key(
        "Force from which on the weld breaks.", None, unit="N", above=0.0, example="40.0", only={"kind": ("weld",)}
    )
    break_torque: float | None = key(
        "Moment about the frames' origin from which on the weld breaks.", None, unit="N m", above=0.0, example="2.0",
        only={"kind": ("weld",)},
    )

    @property
    def switched(self) -> bool:
        """Whether it may come on and off while the simulation runs.

        Returns
        -------
        bool
        """
        return (self.attached, self.break_force, self.break_torque) != (None, None, None)


@dataclass(frozen=True)
class Gear:
    """Two scalar joints coupled without slack: ``q_a = ratio q_b + offset``."""

    joint_a: str = key("Joint that follows.", example="left_finger")
    joint_b: str = key("Joint that it follows.", example="right_finger")
    ratio: float = key("Way of the first joint for one of the second.", example="-1.0")
    offset: float = key("Position of the first joint where the second is at zero.", 0.0, unit="rad, m", example="0.1")


@dataclass(frozen=True)
class Motion:
    """Prescribed motion of a scalar joint, of a loop closure's second frame or length (J14's U(t)), or of a surface.

    Values at ``times`` [s], joined by cubic splines that start and end at rest, or by straight lines; before the first
    and after the last time they stay.  A joint without values holds its position until ``set_targets`` moves it.

    Examples
    --------
    >>> turn = mb.model.Motion(joint="crank_joint", times=(0.0, 1.0), positions=(0.0, 3.14))
    >>> turn.interpolation, turn.periodic
    ('cubic', False)
    """

    ONE_OF: ClassVar = (("joint", "closure", "surface"),)

    joint: str | None = key("Joint that is driven.", None, example="crank_joint")
    closure: str | None = key("Name of the loop closure that is driven.", None, example="grip")
    surface: str | None = key("Name of the moving surface that is driven.", None, example="belt")
    times: tuple[float, ...] = key("Instants, growing.", (), unit="s", example="[0.0, 1.0]")
    positions: tuple[float, ...] = key("Positions of the joint.", (), unit="rad, m", example="[0.0, 3.14]")
    displacements: tuple[tuple[float, float, float], ...] = key(
        "Displacements of the closure's second frame, along its axes at the start.", (), unit="m",
        example="[[0, 0, 0], [0, 0, 0.1]]",
    )
    rotations: tuple[tuple[float, float, float], ...] = key(
        "Rotations of that frame, as vectors in these axes.", (), unit="rad", example="[[0, 0, 0], [0, 0, 1.57]]"
    )
    lengths: tuple[float, ...] = key(
        "Lengths of a closure of kind distance.", (), unit="m", above=0.0, example="[0.5, 0.6]"
    )
    speeds: tuple[float, ...] = key(
        "Factors on the velocity of the moving surface.", (), example="[0.0, 1.0, 1.0, 0.0]"
    )
    interpolation: str = key("How values are joined.", "cubic", choices=INTERPOLATIONS)
    periodic: bool = key("Whether it begins again from the first time after the last.", False)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A scene: which robots, objects and materials make up a world, and how it is simulated.

Plain frozen dataclasses with defaults, so a scene can be written in Python as well as in
YAML (``reader.py`` reads those).  Both ways go through ``rules.check_scene``.
"""

from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from mb_contact.errors import SceneError, one_line
from mb_contact.keys.declaration import declared, key
from mb_contact.keys.kinds import defaults
from mb_contact.model.scene.bodies import Ground, Primitive, Rest
from mb_contact.model.scene.couplings import Closure, Gear, Motion
from mb_contact.model.scene.handling import AdhesionPad, MovingSurface
from mb_contact.model.scene.materials import ELASTIC_MODELS, CollisionFilters, Material, MaterialPair
from mb_contact.model.scene.places import EntityInfo, NamedPose
from mb_contact.model.scene.presets import PRESETS
from mb_contact.model.scene.robots import SceneModel
from mb_contact.model.scene.sensors import Sensor
from mb_contact.model.scene.tendons import Tendon

MOST_WORDS = 1000  #: characters of an error; lists of allowed keys are long
GRAVITY = (0.0, 0.0, -9.81)  #: default gravity [m/s^2]
CLOSURE_DRIFT_RATE = 0.2  #: part of a closure error removed per step
PUSH_OUT_RATE = 0.2  #: part of a penetration removed per step, below the push-out velocity
CONTACT_MARGIN = 0.002  #: [m] of a scene that says no other; as the next in the unit of the scene (``units.py``)
PUSH_OUT_VELOCITY = 0.1  #: [m/s] greatest push-out velocity, unless the scene says another
ABSURD_FRICTION = 10.0  #: above this a coefficient is used but warned about
#: of a pair.  Files write 1e14 for wheels that shall not slip: nothing bounds what their contacts press against each
#: other sideways then, and two wheels of one axle fight over micrometres between their points with 1e4 N s a step
MOST_FRICTION = 1e3

#: Fewest and most friction directions of a contact.
FEWEST_DIRECTIONS, MOST_DIRECTIONS = 4, 32

#: Least tolerance of an integrator: below, rounding decides.
LEAST_TOLERANCE = 1e-13

#: Most tolerance of an integrator: above, an inner step would be believed whatever comes out of it.
MOST_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Rates:
    """Rates of publishing [Hz]; without a ``control_period`` commands are taken every step."""

    control_period: float | None = key(
        "Time between two commands, a multiple of the time step; by default every step.", None, unit="s", above=0.0,
        example="0.002",
    )
    joint_state_rate: float = key("Rate of joint_states.", 1000.0, unit="Hz", above=0.0, example="500.0")
    operational_space_rate: float = key("Rate of operational_space/*.", 1000.0, unit="Hz", above=0.0, example="500.0")
    clock_rate: float = key("Rate of /clock.", 100.0, unit="Hz", above=0.0, example="50.0")
    contact_rate: float = key("Rate of contacts and wrenches.", 100.0, unit="Hz", above=0.0, example="50.0")
    certificate_rate: float = key("Rate of certificate.", 100.0, unit="Hz", above=0.0, example="50.0")
    tf_rate: float = key("Rate of /tf.", 50.0, unit="Hz", above=0.0, example="30.0")
    diagnostics_rate: float = key("Rate of /diagnostics.", 1.0, unit="Hz", above=0.0, example="2.0")


DEFAULT_RATES = MappingProxyType(defaults(Rates))  #: without a control_period

#: What only the steps by Euler's rule in one compiled call can do.
EULER = {
    "integrator": ("semi_implicit_euler",), "collision_scheme": ("time_stepping",), "solver": ("auto",),
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Scene:
    """Everything a simulation starts from; times in s, lengths in m, coefficients without unit.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), mb.model.Pose((0.0, 0.0, 0.1)), base="free", mass=1.0)
    >>> scene = mb.Scene(primitives=(ball,), ground=mb.model.Ground())
    >>> scene.friction_model
    'coulomb_cone'
    >>> mb.Simulator(scene).step().certificate.contacts
    1
    """

    models: tuple[SceneModel, ...] = key(
        "Robots.", (), example="[{urdf: package://mb_contact/urdf/dual_arm.urdf, name: arms}]"
    )
    primitives: tuple[Primitive, ...] = key(
        "Bodies of one shape.", (),
        example="[{name: box, shape: box, size: [0.2, 0.2, 0.1], base: free, mass: 2.0}]",
    )
    ground: Ground | None = key("A horizontal half-space.", None, example="{height: 0.0, material: rubber}")
    materials: dict[str, Material] = key("Materials by name.", factory=dict, example="{rubber: {friction: 0.8}}")
    pairs: tuple[MaterialPair, ...] = key(
        "What two materials have together; otherwise it is the geometric mean of theirs.", (),
        example="[{materials: [rubber, ice], friction: 0.2}]",
    )
    collision_filters: CollisionFilters = key("Which links are never tested.", CollisionFilters())
    loop_closures: tuple[Closure, ...] = key("Links that are held together.", ())
    gears: tuple[Gear, ...] = key("Joints that are coupled.", ())
    motions: tuple[Motion, ...] = key(
        "Prescribed motions.", (), needs=EULER,
        example="[{joint: crank_joint, times: [0.0, 1.0], positions: [0.0, 3.14]}]",
    )
    adhesion_pads: tuple[AdhesionPad, ...] = key(
        "Suction cups and magnets.", (), needs={"integrator": EULER["integrator"]},
        why="their forces move with the bodies in those steps alone", example="[{name: cup, link: tool, force: 60.0}]",
    )
    moving_surfaces: tuple[MovingSurface, ...] = key(
        "Surfaces that move in themselves.", (), needs=EULER,
        example="[{name: belt, link: conveyor, linear: [0.5, 0, 0]}]",
    )
    tendons: tuple[Tendon, ...] = key(
        "Springs between points, and tendons.", (),
        needs={**EULER, "integrator": (*EULER["integrator"], "rk4", "adaptive"), "coordinates": ("joints",)},
        example="[{name: spring, path: [{link: ball}, {link: world}], stiffness: 100.0}]",
    )
    sensors: tuple[Sensor, ...] = key("Sensors.", (), example="[{name: wrist, kind: imu, link: tool}]")
    loops: str = key(
        "How loops and gears are held: embedded in the tree, or by multipliers of the step's problem.", "auto",
        choices=("auto", "embed", "multipliers"),
    )
    drift_control: str = key(
        "What becomes of the error of loops and gears: a part goes each step, or all after it.", "baumgarte",
        choices=("baumgarte", "projection"),
    )
    drift_rate: float = key(
        "Part of that error that goes each step.", CLOSURE_DRIFT_RATE, low=0.0, below=1.0, example="0.1"
    )
    enforce_velocity_limits: bool = key(
        "Whether the velocity limits of robot files act; a scene's own always do.", False
    )
    time_step: float = key("Time of a step.", 0.001, unit="s", above=0.0, most_in_files=0.1, example="0.002")
    gravity: tuple[float, float, float] = key("Gravity.", GRAVITY, unit="m/s^2", example="[0, 0, -1.62]")
    coordinates: str = key(
        "Coordinates of the step; with those of bodies every joint is a loop closure.", "joints",
        choices=("joints", "bodies"),
    )
    collision_engine: str = key("Narrow phase of the collision detection.", "coal", choices=("coal", "fcl"))
    integrator: str = key(
        "How a step moves the state.", "semi_implicit_euler",
        choices=("semi_implicit_euler", "rk4", "midpoint", "adaptive"),
    )
    integrator_tolerance: float = key(
        "Error of an inner step of `adaptive`, in rad, m and relative speed.", 1e-9, low=LEAST_TOLERANCE,
        high=MOST_TOLERANCE, example="1.0e-7",
    )
    collision_scheme: str = key(
        "Whether impacts are part of the steps, or events within them.", "time_stepping",
        choices=("time_stepping", "event"), when=("event",), why="the others know no impacts",
        needs={"friction_model": ELASTIC_MODELS, "solver": ("auto",)},
    )
    solver: str = key(
        "Solver of the contact problem; all but auto are for study.", "auto",
        choices=("auto", "lemke", "ppm", "active_set"),
    )
    friction_model: str | None = key(
        "Friction law; by default the exact cone, the pyramid with a solver that is asked for.", None,
        choices=("coulomb_cone", "coulomb_polyhedral", "viscous", "no_slip", "coulomb_viscous"), example="coulomb_cone",
    )
    friction_directions: int = key(
        "Directions of a friction pyramid.", 8, low=FEWEST_DIRECTIONS, high=MOST_DIRECTIONS, even=True, example="4"
    )
    friction_frame: str = key(
        "First direction of a friction pyramid: along the slip, or along the world's x.", "slip",
        choices=("slip", "fixed"),
    )
    contact_margin: float = key(
        "Gap from which on contacts exist.", CONTACT_MARGIN, unit="m", low=0.0, most_in_files=0.1, example="0.001"
    )
    push_out_velocity: float = key(
        "Greatest speed at which penetration is undone.", PUSH_OUT_VELOCITY, unit="m/s", low=0.0, example="0.2"
    )
    restitution_law: str = key(
        "How impacts with restitution are solved.", "anitescu_potra", choices=("anitescu_potra", "papers", "newton")
    )
    impact_threshold: float | None = key(
        "Speed of approach from which on contacts collide; by default the scheme's.", None, unit="m/s", low=0.0,
        example="0.01",
    )
    simultaneous_impacts: str = key(
        "Whether impacts of one moment are solved together or one after the other.", "all",
        choices=("all", "sequential"),
    )
    energy_gain: str = key("Whether an impact may gain energy.", "refuse", choices=("refuse", "allow"))
    sleep: bool | Rest = key(
        "Whether steps leave bodies at rest as they are, or what counts as rest.", False,
        why="bodies sleep in the steps of one compiled call",
        needs={**EULER, "coordinates": ("joints",), "drift_control": ("baumgarte",),
               "loops": ("auto", "multipliers")},
    )
    operational_frames: tuple[str, ...] = key("Frames of operational_space/*.", (), example="[left_tcp, right_tcp]")
    contact_wrench_links: tuple[str, ...] = key(
        "Links whose contact wrenches are published.", (), example="[left_finger]"
    )
    rates: dict[str, float] = key("Rates of publishing.", factory=lambda: dict(DEFAULT_RATES), record=Rates)
    packages: tuple[str, ...] = key(
        "Folders that hold ROS packages or are some, from the scene's folder, for `package://` and `model://`.", (),
        example="[../robots]",
    )
    description: str = key("A sentence for those who choose a world.", "", example="a cup on a table")
    tags: tuple[str, ...] = key("Words to find a world by.", (), example="[kitchen]")
    named_poses: tuple[NamedPose, ...] = key("Places with names.", ())
    entities: dict[str, EntityInfo] = key("What robots and primitives are, by name.", factory=dict)
    path: Path | None = None
    lines: dict[str, int] = field(default_factory=dict, repr=False, compare=False)  #: key path to line
    doubts: tuple[str, ...] = field(default=(), repr=False, compare=False)  #: of the file it comes from, as warnings

    def __post_init__(self):
        if self.friction_model is None:
            usual = "coulomb_polyhedral" if self.pivots else "coulomb_cone"
            object.__setattr__(self, "friction_model", usual)

    def __repr__(self) -> str:
        name = f"'{self.path.name}', " if self.path else ""
        counts = f"models={len(self.models)}, primitives={len(self.primitives)}"
        return f"Scene({name}{counts}, time_step={self.time_step:g})"

    def package_folders(self) -> tuple[Path, ...]:
        """Folders of ``packages``, those that are relative from the scene's own.

        Returns
        -------
        tuple of Path

        Examples
        --------
        >>> [str(folder) for folder in mb.Scene(packages=("robots",)).package_folders()]
        ['robots']
        """
        start = self.path.parent if self.path is not None else Path()
        return tuple(start / Path(folder).expanduser() for folder in self.packages)

    @property
    def pivots(self) -> bool:
        """Whether compiled steps are solved by Lemke's algorithm, the modified PPM or active sets.

        Returns
        -------
        bool

        Examples
        --------
        >>> mb.Scene(solver="ppm", friction_model="no_slip").pivots, mb.Scene().pivots
        (True, False)
        """
        return self.solver != "auto"

    def error(self, key: str, message: str) -> SceneError:
        """A SceneError that names the file, the line and the key, e.g. ``primitives[0].mass``.

        Where the very key was not written, the line is that of the nearest enclosing one.

        Parameters
        ----------
        key : str
        message : str

        Returns
        -------
        SceneError
            To be raised by the caller.

        Examples
        --------
        >>> str(mb.Scene().error("time_step", "is too long"))
        'scene: time_step: is too long'
        """
        place = str(self.path) if self.path is not None else "scene"
        enclosing = key
        while enclosing and enclosing not in self.lines:
            cut = max(enclosing.rfind("."), enclosing.rfind("["))
            enclosing = enclosing[:cut] if cut > 0 else ""
        if enclosing:
            place += f":{self.lines[enclosing]}"
        return SceneError(one_line(f"{place}: {key}: {message}", MOST_WORDS))

    def refuse_if(self, broken: bool, key: str, message: str) -> None:
        """Raise the SceneError of :meth:`error` where a rule is broken.

        Parameters
        ----------
        broken : bool
        key : str
        message : str

        Raises
        ------
        SceneError
            Where ``broken``.

        Examples
        --------
        >>> mb.Scene().refuse_if(False, "time_step", "is too long")
        """
        if broken:
            raise self.error(key, message)


@dataclass(frozen=True)
class _WithPreset:
    preset: str | None = key(
        "Settings that a paper prints, which the scene's own keys count before.", None, choices=PRESETS,
        example="j14_as_printed",
    )


@dataclass(frozen=True)
class SceneFile(Scene, _WithPreset):
    """The keys of a scene file: those of a Scene, and a preset of them."""


CHOICES = MappingProxyType({
    name: about.key.choices for name, about in declared(Scene).items() if about.key.choices
})  #: what a scene may choose in this version

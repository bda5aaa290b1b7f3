# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A scene: which robots, objects and materials make up a world, and how it is simulated.

Plain frozen dataclasses with defaults, so a scene can be written in Python as well as in
YAML (:mod:`mb_contact.model.scene_yaml` reads those).  Both ways go through
``scene_rules.check_scene``.
"""

from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from mb_contact.errors import SceneError, one_line
from mb_contact.model.flexible.spec import Beam, FlexibleLink  # noqa: F401
from mb_contact.model.places import EntityInfo, NamedPose
from mb_contact.model.scene_parts import (  # noqa: F401  the parts are imported from here too
    Actuator,
    AnisotropicFriction,
    Closure,
    CollisionFilters,
    Gear,
    Ground,
    Heights,
    JointProperties,
    Material,
    MaterialPair,
    MeshChoices,
    ModelMaterials,
    Motion,
    Pose,
    Primitive,
    Rest,
    SceneModel,
    Velocity,
)
from mb_contact.model.sensors import Sensor

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

#: What a scene may choose in this version.
CHOICES = MappingProxyType({
    "coordinates": ("joints", "bodies"),
    "solver": ("auto", "lemke", "ppm", "active_set"),
    "collision_engine": ("coal", "fcl"),
    "integrator": ("semi_implicit_euler", "rk4", "midpoint", "adaptive"),
    "collision_scheme": ("time_stepping", "event"),
    "restitution_law": ("anitescu_potra", "papers", "newton"),
    "simultaneous_impacts": ("all", "sequential"),
    "energy_gain": ("refuse", "allow"),
    "friction_model": ("coulomb_cone", "coulomb_polyhedral", "viscous", "no_slip", "coulomb_viscous"),
    "friction_frame": ("slip", "fixed"),
    "drift_control": ("baumgarte", "projection"),
    "loops": ("auto", "embed", "multipliers"),
})

#: Friction models that know impacts with restitution; impacts of the others are inelastic.
ELASTIC_MODELS = ("coulomb_polyhedral", "coulomb_cone")

#: Fewest and most friction directions of a contact.
FEWEST_DIRECTIONS, MOST_DIRECTIONS = 4, 32

#: Least tolerance of an integrator: below, rounding decides.
LEAST_TOLERANCE = 1e-13

#: Most tolerance of an integrator: above, an inner step would be believed whatever comes out of it.
MOST_TOLERANCE = 1e-2

#: Rates of publishing [Hz]; a ``control_period`` [s] may join them, without it commands are taken every step.
DEFAULT_RATES = MappingProxyType({
    "joint_state_rate": 1000.0,
    "operational_space_rate": 1000.0,
    "clock_rate": 100.0,
    "contact_rate": 100.0,
    "certificate_rate": 100.0,
    "tf_rate": 50.0,
    "diagnostics_rate": 1.0,
})


@dataclass(frozen=True)
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

    models: tuple[SceneModel, ...] = ()
    primitives: tuple[Primitive, ...] = ()
    ground: Ground | None = None
    materials: dict[str, Material] = field(default_factory=dict)
    pairs: tuple[MaterialPair, ...] = ()
    collision_filters: CollisionFilters = CollisionFilters()
    loop_closures: tuple[Closure, ...] = ()
    gears: tuple[Gear, ...] = ()
    motions: tuple[Motion, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    loops: str = "auto"  #: how loops and gears are held: embedded in the tree, or multipliers of the step's problem
    drift_control: str = "baumgarte"  #: of loops and gears: part of the error per step, or projection after it
    drift_rate: float = CLOSURE_DRIFT_RATE  #: gamma, that part
    enforce_velocity_limits: bool = False  #: those of the URDF; a scene's own are always enforced
    time_step: float = 0.001
    gravity: tuple[float, float, float] = GRAVITY
    coordinates: str = "joints"  #: of the step; with those of bodies every joint is a loop closure
    collision_engine: str = "coal"
    integrator: str = "semi_implicit_euler"
    integrator_tolerance: float = 1e-9  #: error of one inner step of ``adaptive`` [rad, m, relative speed]
    collision_scheme: str = "time_stepping"
    solver: str = "auto"
    friction_model: str | None = None  #: by default the exact cone; the pyramid with a solver that is asked for
    friction_directions: int = 8
    friction_frame: str = "slip"  #: first direction of a pyramid: along the slip, or along the world's x
    contact_margin: float = CONTACT_MARGIN  #: contacts exist from this gap on
    push_out_velocity: float = PUSH_OUT_VELOCITY  #: greatest speed at which penetration is undone [m/s]
    restitution_law: str = "anitescu_potra"
    impact_threshold: float | None = None  #: approach speed from which contacts collide [m/s]; by default the scheme's
    simultaneous_impacts: str = "all"
    energy_gain: str = "refuse"
    sleep: bool | Rest = False  #: whether steps leave bodies at rest as they are (docs/sleep.md)
    operational_frames: tuple[str, ...] = ()
    contact_wrench_links: tuple[str, ...] = ()
    rates: dict[str, float] = field(default_factory=lambda: dict(DEFAULT_RATES))
    description: str = ""  #: a sentence for those who choose a world
    tags: tuple[str, ...] = ()  #: words to find a world by
    named_poses: tuple[NamedPose, ...] = ()
    entities: dict[str, EntityInfo] = field(default_factory=dict)  #: what robots and primitives are, by name
    path: Path | None = None
    lines: dict[str, int] = field(default_factory=dict, repr=False, compare=False)  #: key path to line

    def __post_init__(self):
        if self.friction_model is None:
            usual = "coulomb_polyhedral" if self.pivots else "coulomb_cone"
            object.__setattr__(self, "friction_model", usual)

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

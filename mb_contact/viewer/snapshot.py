# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What one frame of the view shows, whoever made it: a simulator here or a node elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mb_contact.checks import Floats

if TYPE_CHECKING:
    from mb_contact.simulation.joints.springs import PointSpring
    from mb_contact.simulation.results import Step
    from mb_contact.simulation.surfaces.simulator import AnySimulator
    from mb_contact.viewer.drawing import Drawing

FRAME_SECONDS = 1.0 / 30.0  #: between two frames, wall time
#: Fields of the certificate that are shown, with their words; a residual is the worst of several
CERTIFICATE = (
    ("contacts", "contacts"), ("solver", "solver"), ("iterations", "iterations"), ("residual", "worst residual"),
    ("penetration", "penetration [m]"), ("energy", "energy [J]"), ("energy_balance", "energy balance [J]"),
)  # fmt: skip
ENERGIES = ("energy", "kinetic energy", "start + work")  #: the last: what the energy is without the integrator's error
RESIDUALS = ("complementarity_gap", "infeasibility", "cone_violation", "loop_residual")

Pose = tuple[Floats, Floats]  #: position (3,) [m] and quaternion x y z w (4,)
Poses = dict[str, Pose]  #: by link


class ContactPoints(NamedTuple):
    """The contact points of a step, world axes, as one of the two links feels them: A, or B where only B moves."""

    points: np.ndarray  #: (c, 3) [m]
    normals: np.ndarray  #: (c, 3), towards that link
    forces: np.ndarray  #: (c, 3), on that link, mean of the step [N]
    states: tuple  #: stick, slip or separate
    friction: np.ndarray  #: (c,)
    links: tuple = ()  #: the pair that touches at each point
    sides: tuple = ()  #: 1 where the force is on the first of them, -1 where it is on the second


class Pull(NamedTuple):
    """A spring by which somebody drags a link, world axes."""

    link: str
    place: Floats  #: of the grabbed point (3,) [m]
    target: Floats  #: where it is pulled to (3,) [m]
    force: float  #: [N]
    stiffness: float  #: [N/m]
    damping: float  #: [N s/m]


class Readings(NamedTuple):
    """What is plotted over time."""

    joints: tuple[str, ...] = ()
    positions: Sequence[float] | Floats = ()  #: of the joints [rad, m]
    velocities: Sequence[float] | Floats = ()  #: [rad/s, m/s]
    efforts: Sequence[float] | Floats = ()  #: [N m, N]
    forces: Mapping[tuple[str, str], float] = {}  #: between two links: length of the sum over their points [N]
    energies: Mapping[str, float] = {}  #: see ENERGIES [J]


class Objects(NamedTuple):
    """The objects of a node, which may come and go."""

    version: int  #: changes with them
    present: frozenset  #: links of the scene's objects that are there
    spawned: list  #: of Part, those that the scene file does not know


class Snapshot(NamedTuple):
    """One frame."""

    time: float  #: simulated [s]
    poses: Poses
    contacts: ContactPoints
    certificate: dict[str, str]  #: words to text, see CERTIFICATE
    real_time_factor: float | None = None  #: measured; None while there is nothing to measure
    message: str = ""  #: what the user has to know, such as why the simulation stopped
    objects: Objects | None = None  #: None where none come or go
    readings: Readings = Readings()
    pulls: tuple[Pull, ...] = ()
    sensor: Any = None  #: takes the reading of the sensor that is looked at, in any thread
    lag: float | None = None  #: between what is drawn and now, wall time [s]; None where it is drawn as it happens


def snapshot_of(
    simulator: AnySimulator,
    step: Step | None,
    drawing: Drawing,
    factor: float | None = None,
    message: str = "",
    springs: Sequence[PointSpring] = (),
) -> Snapshot:
    """Snapshot of a simulator's present state.

    Parameters
    ----------
    simulator : AnySimulator
    step : Step, optional
        Its last one, whose contacts and certificate are shown.
    drawing : Drawing
        Tells which links to follow.
    factor : float, optional
        The real-time factor that was measured.
    message : str
    springs : sequence of PointSpring
        Those that drag links.
    """
    contacts, certificate, pairs, energies = no_contacts(), {}, {}, {}
    if step is not None:
        found = step.contacts
        forces = found["impulse"] / simulator.time_step
        columns = (found[name] for name in ("link_a", "link_b", "point", "normal"))
        rows = list(zip(*columns, forces, found["state"]))
        contacts = contact_points(rows, drawing.moving, drawing.friction)
        values = step.certificate._asdict()
        certificate, energies, pairs = certificate_text(values), energies_of(values), pair_forces(rows)
    poses = {link: simulator.link_pose(link) for link in drawing.moving}
    state = simulator.joint_positions(), simulator.joint_velocities(), simulator.joint_efforts()
    readings = Readings(tuple(simulator.world.joint_names), *state, pairs, energies)
    pulls = tuple(pull_of(spring) for spring in springs)
    return Snapshot(simulator.time, poses, contacts, certificate, factor, message, None, readings, pulls)


def pull_of(spring: PointSpring) -> Pull:
    """The Pull of a spring as it is now."""
    force = float(np.linalg.norm(spring.force()))
    return Pull(spring.link, spring.place, spring.target, force, spring.stiffness, spring.damping)


def pair_forces(rows: Sequence[tuple[Any, ...]]) -> dict[tuple[str, str], float]:
    """Force between each pair of links that touch, from the rows of ``contact_points`` [N]."""
    sums: dict[tuple[str, str], Any] = {}
    for a, b, _point, _normal, force, _state in rows:
        sums[a, b] = sums.get((a, b), 0.0) + np.asarray(force)
    return {links: float(np.linalg.norm(force)) for links, force in sums.items()}


def energies_of(values: Mapping[str, Any]) -> dict[str, float]:
    """ENERGIES of a certificate, a mapping of its fields to numbers or text; empty where it has none."""
    try:
        energy, kinetic, balance = (float(values[name]) for name in ("energy", "kinetic_energy", "energy_balance"))
    except (KeyError, ValueError):
        return {}
    return dict(zip(ENERGIES, (energy, kinetic, energy - balance)))


def no_contacts() -> ContactPoints:
    """ContactPoints of a step without any."""
    return ContactPoints(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), (), np.zeros(0))


def contact_points(
    rows: Sequence[tuple[Any, ...]], moving: Collection[str], friction: Mapping[Any, float]
) -> ContactPoints:
    """ContactPoints from rows of (link a, link b, point, normal from B to A, force on A, state).

    Parameters
    ----------
    rows : iterable
    moving : container of str
        Links that move.
    friction : dict
        Coefficient of each pair of links that has one.
    """
    rows = list(rows)
    if not rows:
        return no_contacts()
    a, b, points, normals, forces, states = zip(*rows)
    side = np.array([-1.0 if y in moving and x not in moving else 1.0 for x, y in zip(a, b)])[:, None]
    mu = np.array([friction.get(links, 0.0) for links in zip(a, b)])
    return ContactPoints(
        np.array(points), side * normals, side * forces, states, mu, tuple(zip(a, b)), tuple(side[:, 0])
    )


def certificate_text(values: Mapping[str, Any]) -> dict[str, str]:
    """The shown fields of a certificate as text; ``values`` is a mapping of its fields to numbers or text."""
    values = dict(values)
    known = [float(values[name]) for name in RESIDUALS if name in values]
    if known:
        values["residual"] = max(known)
    return {words: _text(values[name]) for name, words in CERTIFICATE if name in values}


def _text(value):
    try:
        return str(value) if isinstance(value, (int, np.integer)) else f"{float(value):.3g}"
    except ValueError:
        return str(value)

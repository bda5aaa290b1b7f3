# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a case of the fidelity suite is: scenes built in Python, figures measured, exact values, tolerances.

A case is measured once for each of its settings (friction model, collision scheme, integrator, time step).  The exact
value of a figure never comes from the simulator: it is a formula, or an ODE solved by other means (``exact.py``).
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene
from mb_contact.simulation.results import Step
from mb_contact.simulation.simulator import Simulator

GRAVITY = -Scene.gravity[2]  #: [m/s^2]


class Setting(NamedTuple):
    """How a case is simulated; the fields are keys of a scene."""

    friction_model: str = "coulomb_polyhedral"
    collision_scheme: str = "time_stepping"
    integrator: str = "semi_implicit_euler"
    time_step: float = 1e-3
    friction_directions: int = 8
    friction_frame: str = "slip"

    def label(self) -> str:
        """What differs from the defaults, in words for a table."""
        words = ["cone" if self.friction_model == "coulomb_cone" else f"pyramid of {self.friction_directions}"]
        if self.friction_frame != "slip":
            words[0] += ", fixed"
        if self.collision_scheme != "time_stepping":
            words.append(self.collision_scheme)
        if self.integrator != "semi_implicit_euler":
            words.append(self.integrator)
        if self.time_step != 1e-3:
            words.append(f"{1e3 * self.time_step:g} ms")
        return ", ".join(words)


@dataclass(frozen=True)
class Figure:
    """A measured number of a case and what it must be.

    ``tolerance`` bounds |measured - exact|, divided by |exact| where ``relative``; a function of the Setting where the
    bound depends on it.
    """

    name: str
    unit: str
    exact: float
    tolerance: float | Callable[[Setting], float]
    relative: bool = True

    def bound(self, setting: Setting) -> float:
        """The tolerance under a setting."""
        return self.tolerance(setting) if callable(self.tolerance) else self.tolerance

    def error(self, measured: float) -> float:
        """Deviation from the exact value, relative or in the figure's unit."""
        return abs(measured - self.exact) / (abs(self.exact) if self.relative else 1.0)


def upper(name: str, unit: str, bound: float | Callable[[Setting], float]) -> Figure:
    """A figure that would be zero in exact arithmetic and must not exceed ``bound``."""
    return Figure(name, unit, 0.0, bound, relative=False)


@dataclass(frozen=True)
class Case:
    """A family of scenes with known answers.

    ``measure(setting)`` returns the measured values in the order of ``figures``; it raises what the simulator raises.
    ``peer`` names the same scene in ``benchmarks/fidelity_peers.py``, where other engines can run it.
    """

    name: str
    text: str
    figures: tuple[Figure, ...]
    settings: tuple[Setting, ...]
    measure: Callable[[Setting], tuple[float, ...]]


class Outcome(NamedTuple):
    """One figure of one case under one setting."""

    case: str
    figure: Figure
    setting: Setting
    measured: float
    error: float
    passed: bool
    seconds: float  #: wall time of the case's run, all its figures together


def run_case(case: Case, setting: Setting) -> list[Outcome]:
    """Measure a case under a setting: an Outcome for each figure."""
    start = time.perf_counter()
    values = case.measure(setting)
    seconds = time.perf_counter() - start
    if len(values) != len(case.figures):
        raise AssertionError(f"case {case.name} measures {len(values)} figures and states {len(case.figures)}")
    outcomes = []
    for figure, value in zip(case.figures, values):
        error = figure.error(float(value))
        outcomes.append(
            Outcome(case.name, figure, setting, float(value), error, bool(error <= figure.bound(setting)), seconds)
        )
    return outcomes


# --- settings -------------------------------------------------------------------------------------


def coulomb(schemes: Sequence[str] = ("time_stepping", "event"), **options: Any) -> tuple[Setting, ...]:
    """Settings of Coulomb's law: the pyramid whose first direction follows the slip, and the exact cone."""
    return tuple(
        Setting(friction_model=model, collision_scheme=scheme, **options)
        for scheme in schemes
        for model in ("coulomb_polyhedral", "coulomb_cone")
    )


def integrators(*names: str, **options: Any) -> tuple[Setting, ...]:
    """Settings of scenes without contact, one for each integrator."""
    return tuple(Setting(integrator=name, **options) for name in names)


# --- scenes ---------------------------------------------------------------------------------------


def slope_gravity(angle: float, heading: float = 0.0) -> tuple[float, float, float]:
    """Gravity seen from a slope that falls by ``angle`` towards ``heading``: the ground stays level instead."""
    down = np.sin(angle)
    return (GRAVITY * down * np.cos(heading), GRAVITY * down * np.sin(heading), -GRAVITY * np.cos(angle))


def body(
    name: str,
    shape: str,
    size: tuple[float, ...],
    position: Sequence[float],
    mass: float = 1.0,
    rpy: tuple[float, float, float] | None = None,
    **options: Any,
) -> Primitive:
    """A free body of the material ``stuff``."""
    x, y, z = position
    size = tuple(float(length) for length in np.atleast_1d(size))
    return Primitive(name, shape, size, Pose((x, y, z), rpy), "free", mass, material="stuff", **options)


def simulator(
    setting: Setting,
    primitives: Iterable[Primitive],
    mu: float = 0.5,
    ground: Ground | None = Ground(material="stuff"),  # noqa: B008
    materials: dict[str, Material] | None = None,
    **options: Any,
) -> Simulator:
    """A Simulator of primitives above a ground (or None), by default all of the one material ``stuff``."""
    materials = {"stuff": Material(mu)} if materials is None else materials
    return Simulator(
        Scene(primitives=tuple(primitives), ground=ground, materials=materials, **setting._asdict(), **options)
    )


def launch(sim: Simulator, *velocities: Sequence[float]) -> None:
    """Give the free bodies their initial velocities [omega; v], one after the other."""
    sim.set_state(sim.q, np.concatenate([np.asarray(v, dtype=np.float64) for v in velocities]))


def drive(sim: Simulator, seconds: float, watch: Callable[[Step], Any] | None = None) -> float:
    """Step on for a time; ``watch(step)`` sees every step.  Returns the worst residual of contacts and impacts."""
    worst = 0.0
    for _ in range(round(seconds / sim.time_step)):
        step = sim.step()
        worst = max(worst, step.certificate.residual, *(impact.residual for impact in step.events))
        if watch is not None:
            watch(step)
    return worst

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a case of the fidelity suite is: scenes built in Python, figures measured, exact values, tolerances.

A case is measured once for each of its settings (friction model, collision scheme, integrator, time step).  The exact
value of a figure never comes from the simulator: it is a formula, or an ODE solved by other means (``exact.py``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mb_contact.model.scene import CHOICES, Ground, Material, Pose, Primitive, Scene
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

    def label(self):
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

    def available(self):
        """Whether this version of the simulator has everything that the setting names."""
        named = ("friction_model", "collision_scheme", "integrator", "friction_frame")
        return all(getattr(self, key) in CHOICES[key] for key in named)


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

    def bound(self, setting):
        """The tolerance under a setting."""
        return self.tolerance(setting) if callable(self.tolerance) else self.tolerance

    def error(self, measured):
        """Deviation from the exact value, relative or in the figure's unit."""
        return abs(measured - self.exact) / (abs(self.exact) if self.relative else 1.0)


def upper(name, unit, bound):
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

    def runs(self):
        """Settings that this version of the simulator has."""
        return tuple(setting for setting in self.settings if setting.available())


class Outcome(NamedTuple):
    """One figure of one case under one setting."""

    case: str
    figure: Figure
    setting: Setting
    measured: float
    error: float
    passed: bool
    seconds: float  #: wall time of the case's run, all its figures together


def run_case(case, setting):
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


def coulomb(schemes=("time_stepping", "event"), **options):
    """Settings of Coulomb's law: the pyramid whose first direction follows the slip, and the exact cone."""
    return tuple(
        Setting(friction_model=model, collision_scheme=scheme, **options)
        for scheme in schemes
        for model in ("coulomb_polyhedral", "coulomb_cone")
    )


def integrators(*names, **options):
    """Settings of scenes without contact, one for each integrator."""
    return tuple(Setting(integrator=name, **options) for name in names)


# --- scenes ---------------------------------------------------------------------------------------


def slope_gravity(angle, heading=0.0):
    """Gravity seen from a slope that falls by ``angle`` towards ``heading``: the ground stays level instead."""
    down = np.sin(angle)
    return (GRAVITY * down * np.cos(heading), GRAVITY * down * np.sin(heading), -GRAVITY * np.cos(angle))


def body(name, shape, size, position, mass=1.0, rpy=None, **options):
    """A free body of the material ``stuff``."""
    size = tuple(float(length) for length in np.atleast_1d(size))
    return Primitive(name, shape, size, Pose(tuple(position), rpy), "free", mass, material="stuff", **options)


def simulator(setting, primitives, mu=0.5, ground=Ground(material="stuff"), materials=None, **options):  # noqa: B008
    """A Simulator of primitives above a ground (or None), by default all of the one material ``stuff``."""
    materials = {"stuff": Material(mu)} if materials is None else materials
    return Simulator(
        Scene(primitives=tuple(primitives), ground=ground, materials=materials, **setting._asdict(), **options)
    )


def launch(sim, *velocities):
    """Give the free bodies their initial velocities [omega; v], one after the other."""
    sim.set_state(sim.q, np.concatenate([np.asarray(v, dtype=np.float64) for v in velocities]))


def drive(sim, seconds, watch=None):
    """Step on for a time; ``watch(step)`` sees every step.  Returns the worst residual of contacts and impacts."""
    worst = 0.0
    for _ in range(round(seconds / sim.time_step)):
        step = sim.step()
        worst = max(worst, step.certificate.residual, *(impact.residual for impact in step.events))
        if watch is not None:
            watch(step)
    return worst

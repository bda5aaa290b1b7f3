# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Modes of a straight uniform beam, by Ritz's method with Legendre polynomials.

Euler and Bernoulli:  EI w'''' + rho A w.. = 0.  Timoshenko: the slope th of a section is a second field, with

    2 T = int rho A w.^2 + rho I th.^2 dx,      2 U = int EI th'^2 + kappa G A (w' - th)^2 dx.

Euler's and Bernoulli's beam is the same with th = w' and without the rotary inertia rho I.  Torsion and stretch are
bars, 2 T = int m u.^2 dx, 2 U = int k u'^2 dx.  One polynomial of degree ``DEGREE`` spans the whole beam, so that
frequencies converge exponentially with the degree and slopes are smooth where something is attached.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import eigh

from mb_contact.checks import Floats

DEGREE = 21  #: polynomials of a field; ten bending modes are then exact to 1e-9
MOST_MODES = 10
QUADRATURE = 32  #: Gauss points along the beam, enough for products of two such polynomials
MOTIONS = ("bending_y", "bending_z", "torsion", "stretch")
THEORIES = ("euler_bernoulli", "timoshenko")
ENDS = ("clamped", "free")  #: of the beam's start; its end is free
#: Sizes that a section needs [m].
SECTIONS = MappingProxyType({"rectangle": ("width", "height"), "circle": ("radius",), "tube": ("radius", "inner")})


class Section(NamedTuple):
    """What a beam's cross-section resists with; y and z are its principal axes.

    Examples
    --------
    >>> from mb_contact.model.flexible.beams import section
    >>> print(f"{section('circle', (0.01,)).area:.4g} {section('circle', (0.01,)).torsion:.4g}")
    0.0003142 1.571e-08
    """

    area: float  #: [m^2]
    about_y: float  #: second moment int z^2 dA, bending along z [m^4]
    about_z: float  #: second moment int y^2 dA, bending along y [m^4]
    torsion: float  #: Saint-Venant's constant J [m^4]
    shear: float = 5.0 / 6.0  #: kappa, the part of the area that resists shear


def section(shape: str, size: tuple[float, ...]) -> Section:
    """Properties of a cross-section.

    Parameters
    ----------
    shape : {"rectangle", "circle", "tube"}
    size : tuple of float
        Width along y and height along z; radius; outer and inner radius [m].

    Returns
    -------
    Section
        J of a rectangle is the series' first eight terms (relative error below 1e-6), kappa 5/6; of a circle
        kappa is 9/10, of a tube 1/2, as for a thin one.
    """
    if shape == "rectangle":
        y, z = size
        return Section(y * z, y * z**3 / 12.0, z * y**3 / 12.0, _rectangle_torsion(max(size), min(size)))
    outer, inner = size if shape == "tube" else (size[0], 0.0)
    moment = 0.25 * np.pi * (outer**4 - inner**4)
    return Section(np.pi * (outer**2 - inner**2), moment, moment, 2.0 * moment, 0.5 if shape == "tube" else 0.9)


def _rectangle_torsion(a, b):
    """J of a rectangle with the sides a >= b [m]."""
    odd = np.arange(1, 16, 2)
    tanh = np.tanh(0.5 * odd * np.pi * a / b)
    return a * b**3 / 3.0 * (1.0 - 192.0 * b / (np.pi**5 * a) * np.sum(tanh / odd**5))


@dataclass(frozen=True)
class BeamMaterial:
    """Length, section and material of a beam, and its theory."""

    length: float  #: [m]
    section: Section
    young: float  #: E [Pa]
    shear: float  #: G [Pa]
    density: float  #: [kg/m^3]
    theory: str = "euler_bernoulli"


class BeamModes(NamedTuple):
    """Modes of a beam as coefficients of Legendre polynomials over its length; r modes, d polynomials a field."""

    length: float  #: [m]
    motion: tuple[str, ...]  #: of each mode, out of MOTIONS
    omega: Floats  #: (r,), angular frequencies of the beam alone [rad/s]
    displacement: Floats  #: (r, d), w, angle or stretch for each unit of the coordinate [m, rad]
    slope: Floats  #: (r, d), of a section that bends, 0 of the others [rad]

    def fields(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Displacement or angle, slope of the section, and slope of the axis: (m, r) each, at places x (m,) [m]."""
        at = 2.0 * np.asarray(x) / self.length - 1.0
        w = legendre.legval(at, self.displacement.T).T
        rate = legendre.legval(at, legendre.legder(self.displacement, axis=1).T).T * (2.0 / self.length)
        return w, legendre.legval(at, self.slope.T).T, rate


def beam_modes(
    beam: BeamMaterial, count: int, motions: tuple[str, ...] = MOTIONS, start: str = "clamped", static: bool = False
) -> BeamModes:
    """The lowest modes of a beam whose start is clamped or free.

    Parameters
    ----------
    beam : BeamMaterial
    count : int
        Modes, those of the lowest frequencies among ``motions``.
    motions : tuple of str
        Out of MOTIONS.
    start : {"clamped", "free"}
    static : bool
        Of a clamped beam, for each of the ``motions`` with a mode, also the shapes under a force and a moment (a
        torque) at the end: its deflection under such loads is then that of statics, however small ``count`` is.

    Returns
    -------
    BeamModes
        Largest displacement (angle of torsion) 1 at the end or elsewhere, positive at the end.

    Examples
    --------
    >>> from mb_contact.model.flexible.beams import BeamMaterial, beam_modes, section
    >>> rod = BeamMaterial(1.0, section("circle", (0.01,)), 2e11, 8e10, 7800.0)
    >>> omega = beam_modes(rod, 2, ("bending_z",)).omega
    >>> np.sqrt(omega / np.sqrt(2e11 * rod.section.about_y / (7800.0 * rod.section.area)))  # 1.8751, 4.6941
    array([1.87510407, 4.69409113])
    """
    ritz = {motion: _ritz(beam, motion, start) for motion in motions}
    shapes = {motion: _elastic(ritz[motion], start, motion) for motion in motions}
    lowest = sorted((omega, motion) for motion in motions for omega in shapes[motion][0])[:count]
    modes = []
    for motion in motions:
        own = sum(1 for _, name in lowest if name == motion)
        omega, shape = shapes[motion][0][:own], shapes[motion][1][:, :own]
        if static and own:
            omega, shape = _with_static(ritz[motion], motion, shape)
        modes += [(omega[i], motion, *_scaled(ritz[motion], shape[:, i])) for i in range(len(omega))]
    frequencies, names, w, th = zip(*sorted(modes, key=lambda mode: mode[0]))
    return BeamModes(beam.length, names, np.array(frequencies), np.array(w), np.array(th))


def _stiffnesses(beam, motion):
    """(mass, rotary inertia, stiffness against curvature, against shear) per length of one motion."""
    s, rho = beam.section, beam.density
    if motion == "torsion":
        return rho * (s.about_y + s.about_z), 0.0, beam.shear * s.torsion, 0.0
    if motion == "stretch":
        return rho * s.area, 0.0, beam.young * s.area, 0.0
    moment = s.about_z if motion == "bending_y" else s.about_y
    rotary = rho * moment if beam.theory == "timoshenko" else 0.0
    return rho * s.area, rotary, beam.young * moment, s.shear * beam.shear * s.area


class _Ritz(NamedTuple):
    """Matrices of one motion in a basis, (d, d), and the basis' fields as coefficients (d, DEGREE + 3)."""

    K: Floats
    M: Floats
    w: Floats
    th: Floats


def _ritz(beam, motion, start):
    mass, rotary, bend, shear = _stiffnesses(beam, motion)
    bends = motion.startswith("bending")
    timoshenko = bends and beam.theory == "timoshenko"
    basis = _basis(start, 2 if bends and not timoshenko else 1)
    none = np.zeros_like(basis)
    to_slope = 2.0 / beam.length  # d/dx of a polynomial on [-1, 1]
    derive = lambda p: np.pad(legendre.legder(p, axis=1), ((0, 0), (0, 1))) * to_slope  # noqa: E731
    if timoshenko:
        w, th = np.vstack([basis, none]), np.vstack([none, basis])
    else:
        w, th = basis, derive(basis) if bends else none
    at, weight = legendre.leggauss(QUADRATURE)
    weight = 0.5 * beam.length * weight
    at_points = lambda p: legendre.legval(at, p.T)  # noqa: E731  (d, points)
    product = lambda p, c: (c * weight * at_points(p)) @ at_points(p).T  # noqa: E731
    strain = derive(th) if bends else derive(w)
    K = product(strain, bend)
    if timoshenko:
        K = K + product(derive(w) - th, shear)
    return _Ritz(K, product(w, mass) + product(th, rotary), w, th)


def _basis(start, zeros):
    """Legendre polynomials, times (1 + x)^zeros where the start is clamped: coefficients (DEGREE, DEGREE + 3)."""
    rows = np.zeros((DEGREE, DEGREE + 3))
    for i, row in enumerate(rows):
        p = np.zeros(i + 1)
        p[i] = np.sqrt(i + 0.5)
        for _ in range(zeros if start == "clamped" else 0):
            p = legendre.legmul(p, [0.5, 0.5])
        row[: len(p)] = p
    return rows


def _elastic(ritz, start, motion):
    """Angular frequencies (k,) and shapes (d, k) in the basis of the elastic modes of one motion, lowest first."""
    square, shapes = eigh(ritz.K, ritz.M)
    rigid = 0 if start == "clamped" else (2 if motion.startswith("bending") else 1)
    kept = slice(rigid, rigid + DEGREE // 2)  # of those above, polynomials know too little
    return np.sqrt(square[kept]), shapes[:, kept]


def _with_static(ritz, motion, shapes):
    """The modes of the space that shapes (d, k) and the deflections under loads of the end span: as ``_elastic``."""
    loads = [legendre.legval(1.0, ritz.w.T)]
    if motion.startswith("bending"):
        loads.append(legendre.legval(1.0, ritz.th.T))
    space = np.column_stack([shapes, np.linalg.solve(ritz.K, np.array(loads).T)])
    space /= np.sqrt(np.sum(space * (ritz.M @ space), axis=0))
    square, mixed = eigh(space.T @ ritz.K @ space, space.T @ ritz.M @ space)
    return np.sqrt(square), space @ mixed


def _scaled(ritz, shape):
    """Coefficients of displacement and slope, the largest displacement 1, that of the end positive."""
    w, th = shape @ ritz.w, shape @ ritz.th
    at = legendre.legval(np.linspace(-1.0, 1.0, 201), w)
    factor = np.copysign(1.0 / np.abs(at).max(), at[-1])
    return factor * w, factor * th

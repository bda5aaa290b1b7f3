# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The body in modes that a beam of a scene means."""

from collections.abc import Sequence

import numpy as np
from numpy.polynomial import legendre

from mb_contact.checks import Floats
from mb_contact.model.flexible.beams import QUADRATURE, BeamMaterial, BeamModes, beam_modes, section
from mb_contact.model.flexible.modal import ModalBody, fixed_at, normal_modes
from mb_contact.model.scene import Beam

POISSON = 0.3  #: where no shear modulus is given
TOL_PLACE = 1e-6  #: how far from a node of a modal file something may be attached, relative to the body's size


def beam_body(beam: Beam, mass: float, places: Sequence[Floats], held: Floats | None) -> tuple[ModalBody, Floats]:
    """A beam as a body in modes.

    Parameters
    ----------
    beam : Beam
    mass : float
        Of the link [kg], where the beam has no density.
    places : sequence of (3,)
        Points of the link where something is attached; the last points of the body are those of the axis next to them.
    held : (3,), optional
        Point of the link that a joint holds; None for one that floats.

    Returns
    -------
    body : ModalBody
    omega : ndarray (r,)
        Angular frequencies [rad/s].
    """
    profile = section(beam.section, beam.size)
    shear = beam.young_modulus / (2.0 + 2.0 * POISSON) if beam.shear_modulus is None else beam.shear_modulus
    density = mass / (profile.area * beam.length) if beam.density is None else beam.density
    root = beam.root or ("free" if held is None else "clamped")
    material = BeamMaterial(beam.length, profile, beam.young_modulus, shear, density, beam.theory)
    modes = beam_modes(material, beam.modes, beam.motions, root, beam.static_modes)
    at, weight = legendre.leggauss(QUADRATURE)
    axis = beam.axes()[:, 0]
    attached = [np.clip((place - np.array(beam.start)) @ axis, 0.0, beam.length) for place in places]
    reference = 0.0 if held is None else np.clip((held - np.array(beam.start)) @ axis, 0.0, beam.length)
    x = np.concatenate([0.5 * beam.length * (at + 1.0), [reference], attached])
    weight = np.concatenate([0.5 * beam.length * weight, np.zeros(1 + len(attached))])
    rotary = [profile.about_y + profile.about_z, 0.0, 0.0]
    if beam.theory == "timoshenko":
        rotary[1:] = profile.about_y, profile.about_z
    turn = beam.axes()
    short = float(beam.stiffening) * _shortening(modes, x, reference, held is not None)
    body = ModalBody(
        point=np.array(beam.start) + np.outer(x, axis), mass=weight * density * profile.area,
        shape=turn @ _displacements(modes, x), slope=turn @ _rotations(modes, x),
        short=short, axis=axis,
        inertia=weight[:, None, None] * density * (turn @ np.diag(rotary) @ turn.T),
        stiffness=_stiffness(modes, material),
    )  # fmt: skip
    if held is not None and root == "free":
        body = fixed_at(body, QUADRATURE)
    return normal_modes(body)


def _displacements(modes: BeamModes, x: Floats) -> Floats:
    """(m, 3, r) in the beam's axes."""
    w, _, _ = modes.fields(x)
    out = np.zeros((len(x), 3, w.shape[1]))
    for i, motion in enumerate(modes.motion):
        if motion != "torsion":
            out[:, {"stretch": 0, "bending_y": 1, "bending_z": 2}[motion], i] = w[:, i]
    return out


def _rotations(modes: BeamModes, x: Floats) -> Floats:
    """(m, 3, r) in the beam's axes: a section that bends along z turns about -y."""
    w, slope, _ = modes.fields(x)
    out = np.zeros((len(x), 3, w.shape[1]))
    for i, motion in enumerate(modes.motion):
        if motion == "torsion":
            out[:, 0, i] = w[:, i]
        elif motion == "bending_y":
            out[:, 2, i] = slope[:, i]
        elif motion == "bending_z":
            out[:, 1, i] = -slope[:, i]
    return out


def _shortening(modes: BeamModes, x: Floats, reference: float, held: bool) -> Floats:
    """(m, r, r): - int w_i' w_j' from the reference to x, of slopes from it where that is held, in each plane."""
    r = len(modes.motion)
    plane = np.array([{"bending_y": 1, "bending_z": 2}.get(motion, 0) for motion in modes.motion])
    together = (plane[:, None] == plane[None]) & (plane > 0)
    at, weight = legendre.leggauss(QUADRATURE)
    start = modes.fields(np.array([reference]))[1] if held else np.zeros((1, r))
    out = np.zeros((len(x), r, r))
    for p, end in enumerate(x):
        half = 0.5 * (end - reference)
        rate = modes.fields(reference + half * (at + 1.0))[2] - start
        out[p] = -half * np.einsum("q,qi,qj->ij", weight, rate, rate) * together
    return out


def _stiffness(modes: BeamModes, material: BeamMaterial) -> Floats:
    """Omega^2 times the modal masses: the modes are those of the beam itself."""
    at, weight = legendre.leggauss(QUADRATURE)
    w, slope, _ = modes.fields(0.5 * material.length * (at + 1.0))
    s, timoshenko = material.section, material.theory == "timoshenko"
    mass = {"torsion": s.about_y + s.about_z}
    rotary = {"bending_y": s.about_z, "bending_z": s.about_y} if timoshenko else {}
    weight = 0.5 * material.length * material.density * weight
    of_modes = [
        weight @ (mass.get(motion, s.area) * w[:, i] ** 2 + rotary.get(motion, 0.0) * slope[:, i] ** 2)
        for i, motion in enumerate(modes.motion)
    ]
    return np.diag(modes.omega**2 * of_modes)

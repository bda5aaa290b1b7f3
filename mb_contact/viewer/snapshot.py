# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What one frame of the view shows, whoever made it: a simulator here or a node elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FRAME_SECONDS = 1.0 / 30.0  #: between two frames, wall time
#: Fields of the certificate that are shown, with their words; a residual is the worst of several
CERTIFICATE = (
    ("contacts", "contacts"), ("solver", "solver"), ("iterations", "iterations"), ("residual", "worst residual"),
    ("penetration", "penetration [m]"), ("energy", "energy [J]"), ("energy_balance", "energy balance [J]"),
)  # fmt: skip
RESIDUALS = ("complementarity_gap", "infeasibility", "cone_violation", "loop_residual")


class ContactPoints(NamedTuple):
    """The contact points of a step, world axes."""

    points: np.ndarray  #: (c, 3) [m]
    normals: np.ndarray  #: (c, 3), from B to A
    forces: np.ndarray  #: (c, 3), on A, mean of the step [N]
    states: tuple  #: stick, slip or separate
    friction: np.ndarray  #: (c,)


class Snapshot(NamedTuple):
    """One frame."""

    time: float  #: simulated [s]
    poses: dict  #: link to position (3,) [m] and quaternion x y z w (4,)
    contacts: ContactPoints
    certificate: dict  #: words to text, see CERTIFICATE
    real_time_factor: float | None = None  #: measured; None while there is nothing to measure
    message: str = ""  #: what the user has to know, such as why the simulation stopped


def no_contacts():
    """ContactPoints of a step without any."""
    return ContactPoints(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), (), np.zeros(0))


def contact_points(contacts, seconds, friction):
    """ContactPoints of a step's structured array.

    Parameters
    ----------
    contacts : ndarray of CONTACT_DTYPE
    seconds : float
        Length of the step [s].
    friction : dict
        Coefficient of each pair of links that has one.
    """
    mu = [friction.get((a, b), 0.0) for a, b in zip(contacts["link_a"], contacts["link_b"])]
    return ContactPoints(
        contacts["point"].copy(), contacts["normal"].copy(), contacts["impulse"] / seconds,
        tuple(contacts["state"]), np.array(mu),
    )  # fmt: skip


def certificate_text(values):
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

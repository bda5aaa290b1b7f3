# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Exact values that need more than a line: tumbling bodies and tops."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ellipk, ellipkinc

from mb_contact.checks import Floats


def tumbling_flips(inertia: Sequence[float], omega: Sequence[float], until: float) -> Floats:
    """Times at which omega_2 of a free body changes its sign, by Jacobi's elliptic functions.

    With T2 = sum I w^2, L2 = sum I^2 w^2 and L2 > T2 I2, w2 = A sn(lambda t + phase | m).

    Parameters
    ----------
    inertia, omega : (3,)
        Principal moments I1 < I2 < I3 [kg m^2] and the body rates at the start [rad/s].
    until : float
        [s]

    Returns
    -------
    (k,) ndarray
        [s]
    """
    I1, I2, I3 = inertia
    T2 = float(np.dot(inertia, np.square(omega)))
    L2 = float(np.dot(np.square(inertia), np.square(omega)))
    if not L2 > T2 * I2:
        raise ValueError("the angular velocity must circle the third axis: L^2 > 2 T I2")
    largest = np.sqrt((T2 * I3 - L2) / (I2 * (I3 - I2)))
    rate = np.sqrt((I3 - I2) * (L2 - T2 * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (T2 * I3 - L2) / ((I3 - I2) * (L2 - T2 * I1))
    half = 2.0 * ellipk(m) / rate
    phase = ellipkinc(np.arcsin(omega[1] / largest), m) / rate
    rising = -(I1 - I3) * omega[2] * omega[0] > 0.0  # sign of w2's derivative
    first = half - phase if rising else phase
    return np.arange(first, until, half)


def sleeping_tilt(moment: float, axial: float, spin: float, torque: float, tilt: float) -> float:
    """Largest tilt of a symmetric top that starts at a tilt with nothing but its spin about its axis.

    With u = cos(tilt), beta = 2 m g l / I1, a = I3 w3 / I1 and u0 at the start,
    u'^2 = (u0 - u) (beta (1 - u^2) - a^2 (u0 - u)); the other turning point is the root in between.

    Parameters
    ----------
    moment, axial : float
        I1 about the tip and I3 [kg m^2].
    spin : float
        w3 [rad/s].
    torque : float
        m g l [N m].
    tilt : float
        [rad]

    Returns
    -------
    float
        [rad]
    """
    beta, a2 = 2.0 * torque / moment, (axial * spin / moment) ** 2
    u0 = np.cos(tilt)
    # beta (1 - u^2) = a^2 (u0 - u)  <=>  beta d^2 + (a^2 - 2 beta u0) d - beta sin^2 = 0 with d = u0 - u
    b, c = a2 - 2.0 * beta * u0, beta * np.sin(tilt) ** 2
    root = np.sqrt(b * b + 4.0 * beta * c)
    d = 2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * beta)
    return float(np.arccos(u0 - d))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Prescribed motions as functions of time."""

import numpy as np


class Path:
    """Values at times, joined by cubic splines at rest at both ends (or periodic ones), or by straight lines.

    Parameters
    ----------
    motion : Motion
        Its times and interpolation.
    values : array_like (times,) or (times, 3)
    """

    def __init__(self, motion, values):
        from scipy.interpolate import CubicSpline, make_interp_spline  # 0.2 s to import, and few scenes have motions

        self._times = np.array(motion.times, float)
        self._bends = motion.interpolation != "linear"
        self._first, self._last, self._periodic = motion.times[0], motion.times[-1], motion.periodic
        if motion.interpolation == "linear":
            self._curve = make_interp_spline(motion.times, values, k=1)
        else:
            self._curve = CubicSpline(motion.times, values, bc_type="periodic" if motion.periodic else "clamped")

    def range(self):
        """Least and greatest value of a scalar path."""
        turns = self._curve.derivative().roots(extrapolate=False) if self._bends else []
        values = self._curve(np.concatenate((self._times, np.asarray(turns).ravel())))
        return values.min(), values.max()

    def at(self, time):
        """The value at a time [s]."""
        return self._curve(self._inside(time))

    def rate(self, time):
        """Its derivative there, that to the right where the path has a corner; zero before and after it."""
        if not self._periodic and not self._first <= time < self._last:
            return 0.0 * self._curve(self._first)
        return self._curve(self._inside(time), 1)

    def _inside(self, time):
        if self._periodic:
            return self._first + (time - self._first) % (self._last - self._first)
        return min(max(time, self._first), self._last)

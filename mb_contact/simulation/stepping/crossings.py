# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The time at which the first of some gaps closes, along a motion that can be flown from its start to any time."""

import numpy as np
import scipy  # its parts are imported where they are first used

from mb_contact.errors import DynamicsError

ROUNDING = 1e-12  #: gap of a contact that leaves from which on its sign means something [m]
DEPTH = 12  #: most halvings of a substep in the search for a gap that opens again before its end
SHORTEST = 1e-9  #: flight after which a contact that has not left the surface counts as kept [s]


class Crossings:
    """Search for the first closing among gaps.

    Parameters
    ----------
    gaps_at : callable
        Gaps (count,) [m] at a time [s] from the start of the motion on.
    gap_at : callable
        One of them, by its number and the time.
    tolerance : (count,)
        Depth from which a gap counts as closed [m].
    may_dip : (count,) of bool
        Whether a gap that is open at two times may have been closed between them.
    way : (count,)
        Most that a gap changes in a unit of time [m/s].
    slack : float
        Second derivative of a gap that straight motion would not have [m/s^2].
    time : float
        Of the start of the step, for messages [s].
    unit : float
        Of lengths, in which ROUNDING is meant [m].

    Attributes
    ----------
    stuck : list of int
        Gaps that closed without having been open: contacts that have to be kept.
    """

    def __init__(self, gaps_at, gap_at, tolerance, may_dip, way, slack, time, unit=1.0):
        self._gaps_at, self._gap_at, self._time = gaps_at, gap_at, time
        self._rounding = ROUNDING * unit
        self._tolerance, self._may_dip, self._way, self._slack = tolerance, may_dip, way, slack
        self.stuck = []

    def search(self, a, at_a, b, at_b, depth=0):
        """Earliest closing of a gap between times a and b, gaps there known; None if there is none.

        Raises
        ------
        DynamicsError
            A gap is no function with a change of sign.
        """
        closed = np.flatnonzero(at_b < -self._tolerance)
        dips = self._may_dip & (at_a > 0.0) & (at_b >= 0.0) & (at_a + at_b < self._way * (b - a))
        if dips.any() and depth < DEPTH:
            m = 0.5 * (a + b)
            at_m = self._gaps_at(m)
            slack = self._slack * (b - a) ** 2
            least = np.minimum(at_m, 2.0 * at_m - np.maximum(at_a, at_b)) - slack  # exact for straight and convex gaps
            if (dips & (least <= 0.0)).any() or (at_m < -self._tolerance).any():
                first = self.search(a, at_a, m, at_m, depth + 1)
                return self.search(m, at_m, b, at_b, depth + 1) if first is None else first
        if not len(closed):
            return None
        return min(self._root(int(i), a, float(at_a[i]), b, float(at_b[i])) for i in closed)

    def _root(self, i, a, at_a, b, at_b):
        """Time at which gap i closes between a, where it is open, and b, where it is not."""
        on_surface = at_a <= (0.0 if a > 0.0 else self._rounding)
        # at a tie of features rounding names the points of a kept contact anew, and a gap at the start is another one
        if on_surface or self._gap_at(i, a) <= 0.0:  # on from where it is open
            a, at_a, b, at_b = self._opened(i, a, b, at_b)
        if at_a <= 0.0:
            self.stuck.append(i)
            return 0.0
        if at_b >= 0.0:
            return b
        try:
            find = scipy.optimize.brentq
            return find(lambda time: self._gap_at(i, time), a, b, xtol=1e-16, rtol=8.9e-16, maxiter=100)
        except (ValueError, RuntimeError) as error:
            raise DynamicsError(
                f"the time of a collision in the step after t = {self._time:.6g} s was not found "
                f"({error}): lower the time step or the efforts"
            ) from None

    def _opened(self, i, first, b, at_b):
        """Times a and b with their gaps, as (a, gap, b, gap): open at a, the first halving that is, and not at b.

        At the start of a hop the gap is rounding of either sign: as an end of the bracket it would be the root.
        """
        while True:
            a = first + 0.5 * (b - first)
            at_a = self._gap_at(i, a)
            if at_a > 0.0 or a - first < SHORTEST:
                return a, at_a, b, at_b
            b, at_b = a, at_a

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the rows of a frictional contact problem are: contacts, joint limits, bilateral rows."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.cone.problem import CONE, FREE, Units
from mb_contact.errors import InputError


class ConeLayout(NamedTuple):
    """Units of a problem in the order of its rows; join them with ``+``.

    >>> layout = ConeLayout.contacts([0.5, 0.3]) + ConeLayout.unilateral(2) + ConeLayout.bilateral(6)

    has two contacts of three rows (normal, tangent 1, tangent 2), two joint limits, and one unit of six bilateral rows.
    """

    units: tuple  #: per unit (kind, rows, groups), groups being tuples of the rows' coefficients

    @classmethod
    def contacts(cls, mu, torsion=None, rolling=None):
        """Contacts with rows normal, tangent 1, tangent 2 [, torsion] [, rolling 1, rolling 2].

        Parameters
        ----------
        mu : (n,) or (n, 2)
            Friction coefficients, isotropic or along the two tangents: ``(r_1/mu_1)^2 + (r_2/mu_2)^2 <= r_n^2``.
        torsion : (n,), optional
            Torsional coefficient [m]: ``|r_torsion| <= torsion r_n``.
        rolling : (n,) or (n, 2), optional
            Rolling coefficients [m], bounding the two rolling moments like ``mu`` the two forces.
        """
        mu = _coefficients(mu, "mu")
        n = mu.shape[0]
        if torsion is not None:
            torsion = as_vector(torsion, n, "torsion")
            _not_negative(torsion, "torsion")
        if rolling is not None:
            rolling = _coefficients(rolling, "rolling")
            if rolling.shape[0] != n:
                raise InputError(f"rolling must have {n} rows, got {rolling.shape[0]}")
        units = []
        mu = mu.tolist()
        torsion = None if torsion is None else torsion.tolist()
        rolling = None if rolling is None else rolling.tolist()
        for i in range(n):
            groups = [tuple(mu[i])]
            if torsion is not None:
                groups.append((torsion[i],))
            if rolling is not None:
                groups.append(tuple(rolling[i]))
            units.append((CONE, 1 + sum(map(len, groups)), tuple(groups)))
        return cls(tuple(units))

    @classmethod
    def unilateral(cls, count):
        """``count`` rows with 0 <= u _|_ r >= 0, for joint limits and contacts without friction."""
        return cls(((CONE, 1, ((),)),) * count)

    @classmethod
    def bilateral(cls, rows):
        """``rows`` rows with u = 0, in units of at most six."""
        full, rest = divmod(rows, 6)
        return cls(((FREE, 6, ()),) * full + (((FREE, rest, ()),) if rest else ()))

    def __add__(self, other):
        return ConeLayout(self.units + other.units)

    @property
    def rows(self):
        """Number of rows."""
        return sum(unit[1] for unit in self.units)

    def arrays(self):
        """The layout as arrays for the kernels, with unit scales; all but the scales are shared, do not write them."""
        static = _arrays(self.units)
        return Units(*static, np.ones(len(static[1])), np.ones(1))


@lru_cache(maxsize=64)
def _arrays(units):
    """The fields of ``Units`` that depend on the layout alone."""
    start, group, row, size, mean = [0], [0], [], [], []
    mu = []
    for kind, rows, groups in units:
        at = start[-1] + 1
        mu += [1.0] * (1 if kind == CONE else rows)
        for coefficients in groups:
            row.append(at)
            size.append(len(coefficients))
            mean.append(_geometric_mean(coefficients))
            mu += coefficients
            at += len(coefficients)
        start.append(start[-1] + rows)
        group.append(len(row))
    kinds = np.array([unit[0] for unit in units], np.int64)
    return (
        np.array(start, np.int64),
        kinds,
        np.array(group, np.int64),
        np.array(row, np.int64),
        np.array(size, np.int64),
        np.array(mu, float),
        np.array(mean, float),
    )


def _geometric_mean(coefficients):
    positive = [float(c) for c in coefficients if c > 0.0]
    if not positive or min(positive) == max(positive):
        return positive[0] if positive else 0.0
    return math.exp(sum(map(math.log, positive)) / len(positive))


def _coefficients(value, name):
    """(n, 2) coefficients from (n,) or (n, 2)."""
    if np.ndim(value) == 1:
        value = as_vector(value, name=name)
        value = np.repeat(value[:, None], 2, axis=1)
    value = as_matrix(value, (None, 2), name)
    _not_negative(value, name)
    return value


def _not_negative(value, name):
    if (value < 0.0).any():
        raise InputError(f"{name} must not be negative, got {value.min():g}")

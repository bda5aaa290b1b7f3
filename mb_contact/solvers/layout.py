# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the rows of a frictional contact problem are: contacts, joint limits, bilateral rows."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.core.lcp.cone_problem import CONE, FREE, ConeBlocks
from mb_contact.errors import InputError


class ConeLayout(NamedTuple):
    """Blocks of a problem in the order of its rows; join them with ``+``.

    Examples
    --------
    Two contacts of three rows (normal, tangent 1, tangent 2), two joint limits, and one block of six bilateral rows:

    >>> ConeLayout = mb.solvers.ConeLayout
    >>> layout = ConeLayout.contacts([0.5, 0.3]) + ConeLayout.unilateral(2) + ConeLayout.bilateral(6)
    >>> layout.rows
    14
    >>> layout.arrays().start
    array([ 0,  3,  6,  7,  8, 14])
    """

    blocks: tuple  #: per block (kind, rows, groups), groups being tuples of the rows' coefficients

    @classmethod
    def contacts(
        cls, mu: ArrayLike, torsion: ArrayLike | None = None, rolling: ArrayLike | None = None
    ) -> ConeLayout:
        """Contacts with rows normal, tangent 1, tangent 2 [, torsion] [, rolling 1, rolling 2].

        Parameters
        ----------
        mu : array_like (n,) or (n, 2)
            Friction coefficients, isotropic or along the two tangents: ``(r_1/mu_1)^2 + (r_2/mu_2)^2 <= r_n^2``.
        torsion : array_like (n,), optional
            Torsional coefficient [m]: ``|r_torsion| <= torsion r_n``.
        rolling : array_like (n,) or (n, 2), optional
            Rolling coefficients [m], bounding the two rolling moments like ``mu`` the two forces.

        Returns
        -------
        ConeLayout

        Raises
        ------
        InputError
            Shapes do not fit, or a coefficient is negative or not finite.
        """
        groups = [_coefficients(mu, "mu")]
        n = len(groups[0])
        if torsion is not None:
            torsion = as_vector(torsion, n, "torsion")
            _not_negative(torsion, "torsion")
            groups.append(torsion[:, None])
        if rolling is not None:
            rolling = _coefficients(rolling, "rolling")
            if rolling.shape[0] != n:
                raise InputError(f"rolling must have {n} rows, got {rolling.shape[0]}")
            groups.append(rolling)
        rows = 1 + sum(group.shape[1] for group in groups)
        contacts = zip(*(group.tolist() for group in groups))
        return cls(tuple((CONE, rows, tuple(map(tuple, contact))) for contact in contacts))

    @classmethod
    def unilateral(cls, count: int) -> ConeLayout:
        """Rows with 0 <= u _|_ r >= 0, for joint limits and contacts without friction.

        Parameters
        ----------
        count : int
            Number of rows.

        Returns
        -------
        ConeLayout
        """
        return cls(((CONE, 1, ((),)),) * count)

    @classmethod
    def bilateral(cls, rows: int) -> ConeLayout:
        """Rows with u = 0, in blocks of at most six.

        Parameters
        ----------
        rows : int
            Number of rows.

        Returns
        -------
        ConeLayout
        """
        full, rest = divmod(rows, 6)
        return cls(((FREE, 6, ()),) * full + (((FREE, rest, ()),) if rest else ()))

    def __add__(self, other: ConeLayout) -> ConeLayout:  # type: ignore[override]
        return ConeLayout(self.blocks + other.blocks)

    @property
    def rows(self) -> int:
        """Number of rows.

        Returns
        -------
        int
        """
        return sum(block[1] for block in self.blocks)

    def arrays(self) -> ConeBlocks:
        """The layout as arrays for the kernels; they are shared, do not write them.

        Returns
        -------
        ConeBlocks
        """
        return _arrays(self.blocks)


@lru_cache(maxsize=64)
def _arrays(blocks):
    start, group, row, size, mean = [0], [0], [], [], []
    mu = []
    for kind, rows, groups in blocks:
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
    kinds = np.array([block[0] for block in blocks], np.int64)
    return ConeBlocks(
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


def _coefficients(value, name) -> Floats:
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

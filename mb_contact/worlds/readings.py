# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What worlds can be asked between steps: live arrays, and what is computed from them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.checks import Floats, as_choice
from mb_contact.core.state import EVEN
from mb_contact.core.workspace import HEAD, POINTS
from mb_contact.errors import InputError
from mb_contact.model.world import World
from mb_contact.record import StateLayout
from mb_contact.simulation.results import NUMBERS, Certificate
from mb_contact.types import WORLD
from mb_contact.worlds.lanes import Held, ThreadLane

_FIELDS = list(Certificate._fields[:NUMBERS])
#: numbers of a step as a structured array, with those fields of Certificate; the solver is a number of SOLVER_NAMES
CERTIFICATE_DTYPE = np.dtype({"names": _FIELDS, "formats": ["f8"] * len(_FIELDS), "itemsize": 8 * HEAD})

EYE = np.eye(3)


class WorldReadings:
    """The part of Worlds that reads; arrays are live views, w worlds along the first axis."""

    world: World
    time_step: float
    _store: Held
    _layout: StateLayout
    _lanes: Sequence[ThreadLane]

    def _part(self, name):
        """The part of the states with this name, (w, ...), a view."""
        arrays = self._store.arrays
        return self._layout.array(name, arrays.state, arrays.contact_state)

    @property
    def q(self) -> Floats:
        """Coordinates; may be written.

        Returns
        -------
        ndarray (w, nq)
            [rad, m; quaternions x y z w]
        """
        return self._part("q")

    @property
    def v(self) -> Floats:
        """Velocities; may be written.

        Returns
        -------
        ndarray (w, N)
            [rad/s, m/s]
        """
        return self._part("v")

    @property
    def efforts(self) -> Floats:
        """Commanded efforts of ``world.joint_names``; may be written.

        Returns
        -------
        ndarray (w, joints)
            [N m, N]
        """
        return self._store.arrays.effort

    @property
    def targets(self) -> Floats:
        """Positions that servos are asked for, by degree of freedom (``world.joint_v``); may be written.

        Returns
        -------
        ndarray (w, N)
            [rad, m]
        """
        return self._part("target")

    @property
    def body_rotations(self) -> Floats:
        """Axes of the bodies (``world.body_names``) in the inertial frame.

        Returns
        -------
        ndarray (w, n, 3, 3)
        """
        return self._store.arrays.R

    @property
    def body_positions(self) -> Floats:
        """Origins of the bodies in the inertial frame.

        Returns
        -------
        ndarray (w, n, 3)
            [m]
        """
        return self._store.arrays.p

    @property
    def contact_impulses(self) -> Floats:
        """Contact impulses on the shapes (``world.geometry_names``) in the last step, about their bodies' origins.

        Returns
        -------
        ndarray (w, shapes, 6)
            Angular first, world axes [N m s, N s].
        """
        return self._part("geom_impulse")

    @property
    def joint_efforts(self) -> Floats:
        """Efforts that acted in the last step with damping and limits, by degree of freedom.

        Returns
        -------
        ndarray (w, N)
            [N m, N]
        """
        return self._part("joint_effort")

    @property
    def certificates(self) -> NDArray[np.void]:
        """Numbers of the last step: fields of ``Certificate``, all float64; ``solver`` counts ``types.SOLVER_NAMES``.

        Returns
        -------
        ndarray (w,)
        """
        record = self._store.arrays.record
        view: NDArray[Any] = record.view(CERTIFICATE_DTYPE)[:, 0]
        return view

    @property
    def worst_residuals(self) -> Floats:
        """Residual of the worst step since the world's start, as ``Certificate.residual``.

        Returns
        -------
        ndarray (w,)
            [sqrt(N s m/s)]
        """
        return self._store.arrays.worst

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Worlds that have failed and wait for a reset.

        Returns
        -------
        ndarray (w,) of bool
        """
        return self._store.arrays.failed != 0

    def times(self) -> Floats:
        """Simulated times since the worlds' starts.

        Returns
        -------
        ndarray (w,)
            [s]
        """
        return self._part("time_before")[:, 0] + self._part("clock")[:, EVEN] * self.time_step

    def link_poses(self, name: str) -> tuple[Floats, Floats]:
        """World poses of a link or object.

        Parameters
        ----------
        name : str

        Returns
        -------
        positions : ndarray (w, 3)
            [m]
        rotations : ndarray (w, 3, 3)

        Raises
        ------
        InputError
            There is no such link.
        """
        frame, arrays = self.world.frames[as_choice(name, self.world.frames, "link")], self._store.arrays
        if frame.body == WORLD:
            count = len(arrays.p)
            return np.tile(frame.p, (count, 1)), np.tile(frame.R, (count, 1, 1))
        p, R = arrays.p[:, frame.body].copy(), arrays.R[:, frame.body].copy()
        if frame.p.any():
            p += np.einsum("wij,j->wi", R, frame.p)
        return p, R if np.array_equal(frame.R, EYE) else R @ frame.R

    def contacts(self, number: int) -> Floats:
        """Contacts of one world in the last step.

        Parameters
        ----------
        number : int

        Returns
        -------
        ndarray (k, 14)
            Columns of ``core.workspace.StepWork.report``: point, normal, impulse, gap, sliding, state, pair, feature.

        Raises
        ------
        InputError
            There is no such world.
        """
        arrays = self._store.arrays
        if not 0 <= number < len(arrays.p):
            raise InputError(f"there is no world {number}; the worlds are 0 to {len(arrays.p) - 1}")
        return arrays.report[number, : int(arrays.record[number, POINTS])].copy()

    def contact_rows(self) -> tuple[Floats, NDArray[np.bool_], Sequence[tuple[str, str]]]:
        """Contacts of all worlds in the last step.

        Returns
        -------
        rows : ndarray (w, c, 15)
            As those of ``contacts``; c is room for the most that there have been.
        there : ndarray (w, c) of bool
            Which rows are contacts.
        pairs : sequence of (str, str)
            Links of each pair of shapes, by the numbers in the rows.
        """
        arrays = self._store.arrays
        there = np.arange(arrays.report.shape[1]) < arrays.record[:, POINTS, None]
        return arrays.report, there, self._lanes[0].context.pair_links

    @property
    def bytes_per_world(self) -> int:
        """Memory of one world's state.

        Returns
        -------
        int
        """
        arrays = self._store.arrays
        return int(sum(array.nbytes for array in arrays) // len(arrays.p))

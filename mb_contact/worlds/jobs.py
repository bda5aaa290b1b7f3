# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays of what worlds are asked for: which of them take how many steps, under which efforts, what is kept."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mb_contact.checks import Floats
from mb_contact.core.declare import allocate
from mb_contact.core.worlds.store import Job, make_job_handle
from mb_contact.errors import InputError
from mb_contact.worlds.lanes import Held


class Jobs:
    """Jobs of ``count`` worlds; that of a step is made once, because a handle takes as long as 300 steps of a pendulum.

    Parameters
    ----------
    count : int
    sizes : dict
        Those of the store.

    Attributes
    ----------
    every : Held
        A step of all worlds, without data.
    """

    def __init__(self, count: int, sizes: dict[str, int]) -> None:
        self._count, self._sizes, self._none = count, sizes, np.zeros((count, 0))
        self.every = self.make(np.arange(count))
        self._some = self.every

    def of_some(self, chosen: NDArray[np.int64], data: Any) -> Held:
        """A step of the ``chosen`` worlds, which are the first of the job's."""
        data = self._none if data is None else self._checked(data)
        if self._some is self.every or self._some.arrays.data is not data:
            self._some = self.make(np.arange(self._count), data=data)
        self._some.arrays.worlds[: len(chosen)] = chosen
        return self._some

    def make(self, worlds: ArrayLike, controls: Floats | None = None, kept: int = 0, data: Any = None) -> Held:
        """A job of worlds, under controls or of ``kept`` steps, that keeps what so many steps leave."""
        worlds = np.asarray(worlds, dtype=np.int64)
        given = {} if controls is None else {"controls": controls}
        given |= {"data": self._none if data is None else self._checked(data)}
        sizes = {**self._sizes, "k": len(worlds), "t": 0, "kept": kept}
        arrays = allocate(Job, **sizes, **given, worlds=worlds, steps=np.array([max(kept, 1)]))
        return Held(arrays, make_job_handle(arrays))

    def _checked(self, data):
        good = isinstance(data, np.ndarray) and data.dtype == np.float64 and data.flags.c_contiguous
        if not good or data.ndim != 2 or len(data) != self._count or not data.flags.writeable:
            raise InputError(f"data must be a contiguous float64 array of {self._count} rows that may be written")
        return data

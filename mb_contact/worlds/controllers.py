# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers of worlds as machine code, each compiled once."""

import inspect
import re
from collections.abc import Callable
from typing import Any

from mb_contact.core.worlds.controller import compiled_controller
from mb_contact.errors import InputError, one_line

PARAMETERS = ["time", "world", "q", "v", "effort", "data"]
NOISE = re.compile(r"Failed in \w+ mode pipeline \(step: [\w ]+\)|During: .*", re.DOTALL)  #: in what Numba says


class Controllers:
    """Compiled controllers of worlds of a scene.

    Parameters
    ----------
    nq, N, joints : int
        Lengths of q, v and effort.
    """

    def __init__(self, nq: int, N: int, joints: int) -> None:
        self._sizes = nq, N, joints
        self._known: dict[Any, tuple[Any, Any]] = {None: (0, None)}

    def compiled(self, law: Callable[..., None] | None, size: int) -> tuple[Any, Any]:
        """(What kernels call, what has to be kept as long as they may) of a controller with rows of so many data.

        Raises
        ------
        InputError
            Numba cannot compile it, or it takes other parameters.
        """
        key = None if law is None else (law, size)
        if key not in self._known:
            if not callable(law):
                raise InputError(f"a controller must be a function, got {law!r}")
            names = list(inspect.signature(getattr(law, "py_func", law)).parameters)
            if len(names) != len(PARAMETERS):
                raise InputError(f"a controller takes ({', '.join(PARAMETERS)}), this one ({', '.join(names)})")
            try:
                self._known[key] = compiled_controller(law, *self._sizes, size)
            except Exception as error:  # of many kinds, and pages long
                why = one_line(NOISE.sub("", str(error)))
                raise InputError(f"the controller cannot be compiled: {why}") from error
        return self._known[key]

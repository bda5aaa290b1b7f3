# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces declared once: a named tuple whose fields say their kind and shape, from which it is allocated.

>>> class Example(NamedTuple):
...     count: Annotated[Integers, 1]  #: points
...     point: Annotated[Reals, "c", 3]  #: [m]
>>> allocate(Example, c=8).point.shape
(8, 3)

``compile/handles.py`` makes of such a declaration the one reference that kernels take in the place of all its arrays.
"""

import functools
import math
import re
from typing import get_type_hints

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Integers32 = npt.NDArray[np.int32]
KINDS = {Reals: np.float64, Integers: np.int64, Integers32: np.int32}

SIZE = re.compile(r"(?:(\d+) \* )?([A-Za-z]\w*)(?: \+ (\d+))?")  #: of a shape


@functools.cache
def _shapes(declaration):
    """(field, dtype, shape) of every field that is an array."""
    hints = get_type_hints(declaration, include_extras=True)
    arrays = {name: hint for name, hint in hints.items() if hasattr(hint, "__metadata__")}
    return [(name, KINDS[hint.__origin__], hint.__metadata__) for name, hint in arrays.items()]


def _size(text, known):
    """Value of a size by its name, multiplied by a number before it, raised by a number behind it."""
    factor, name, more = SIZE.fullmatch(text).groups()
    return int(factor or 1) * known[name] + int(more or 0)


class Layout:
    """Where the arrays of a declaration stand in one vector of 8-byte words.

    Parameters
    ----------
    declaration : class of NamedTuple
        As of ``allocate``.
    **known
        The sizes that shapes name.

    Attributes
    ----------
    size : int
        Words of the vector.

    >>> layout = Layout(Example, c=8)
    >>> vectors = np.zeros((3, layout.size))
    >>> vectors.shape, layout.arrays(vectors).point.shape, layout.arrays(vectors[0]).count.dtype
    ((3, 25), (3, 8, 3), dtype('int64'))
    """

    def __init__(self, declaration, **known):
        self._declaration, self._places, self.size = declaration, {}, 0
        for name, dtype, sizes in _shapes(declaration):
            shape = [size if isinstance(size, int) else _size(size, known) for size in sizes]
            start, self.size = self.size, self.size + math.prod(shape)
            self._places[name] = slice(start, self.size), dtype, shape

    def array(self, name, vectors):
        """View of vectors (..., size) as the declaration's array of this name; integers lie there with their bits."""
        at, dtype, shape = self._places[name]
        return vectors[..., at].view(dtype).reshape(*vectors.shape[:-1], *shape)

    def arrays(self, vectors):
        """The declaration with all of them."""
        return self._declaration(*(self.array(name, vectors) for name in self._places))


def allocate(declaration, **known):
    """Zeros for every field of a declaration.

    Parameters
    ----------
    declaration : class of NamedTuple
        Its arrays are ``Annotated[Reals, ...]`` or ``Annotated[Integers, ...]`` with the shape: numbers, names of
        sizes, ``"6 * n"``, ``"n + 1"``.
    **known
        The sizes that shapes name; fields that are not zeros.
    """
    fields = {
        name: np.zeros([size if isinstance(size, int) else _size(size, known) for size in shape], dtype)
        for name, dtype, shape in _shapes(declaration)
        if name not in known
    }
    return declaration(**fields, **{name: known[name] for name in declaration._fields if name in known})

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The only place that coerces input: C-contiguous float64 of the right shape, finite, or a clear error."""

import math
import re
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher, get_close_matches

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mb_contact.errors import InputError

Floats = NDArray[np.float64]  #: what checked input and results are

#: What operational space obeys: loops and gears; these and joints that friction holds; nothing, the tree alone.
CONSTRAINTS = ("loops", "held", "none")

#: A number as files write it: Python's float also takes 1_000 and digits of other scripts.
NUMBER = re.compile(r"\s*[-+]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|inf|infinity|nan)\s*", re.ASCII | re.IGNORECASE)

LARGEST = 1e30  #: of any number in a file that is not an infinity in disguise; its square is still a number
SMALL = 1000  #: entries up to which BLAS stays in the calling thread; its others would spin for 0.1 s behind each call


def as_vector(value: ArrayLike, size: int | None = None, name: str = "value", finite: bool = True) -> Floats:
    """Return ``value`` as a new-or-same C-contiguous float64 vector.

    Parameters
    ----------
    value : array_like
    size : int, optional
        Required length.
    name : str
        How the message calls it.
    finite : bool
        Refuse NaN and infinities.

    Raises
    ------
    InputError
        Not numeric, not one-dimensional, wrong length, or not finite.
    """
    array = _as_float_array(value, name)
    if array.ndim != 1:
        raise InputError(f"{name} must be a vector, got an array of shape {array.shape}")
    if size is not None and array.shape[0] != size:
        raise InputError(f"{name} must have {size} entries, got {array.shape[0]}")
    if finite:
        _require_finite(array, name)
    return array


def as_matrix(
    value: ArrayLike, shape: tuple[int | None, int | None] | None = None, name: str = "value", finite: bool = True
) -> Floats:
    """Return ``value`` as a C-contiguous float64 matrix; ``None`` in ``shape`` matches any size."""
    array = _as_float_array(value, name)
    if array.ndim != 2:
        raise InputError(f"{name} must be a matrix, got an array of shape {array.shape}")
    if shape is not None and any(s is not None and s != a for s, a in zip(shape, array.shape)):
        wanted = " x ".join("any" if s is None else str(s) for s in shape)
        raise InputError(f"{name} must be {wanted}, got {array.shape[0]} x {array.shape[1]}")
    if finite:
        _require_finite(array, name)
    return array


def as_shape(value: ArrayLike, shape: tuple[int, ...], name: str = "value") -> Floats:
    """Return ``value`` as finite float64 numbers broadcast to ``shape``, or raise InputError."""
    array = _as_float_array(value, name)
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise InputError(f"{name} must have the shape {shape}, got {array.shape}") from None
    _require_finite(array, name)
    return array


def as_whole(value: object, name: str = "value") -> int:
    """Return ``value`` as an int of at least 1, or raise InputError; 2.0 is no whole number."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def as_positive(value: object, name: str = "value") -> float:
    """Return ``value`` as a float that is finite and above zero, or raise InputError; True is no number."""
    if isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, got {value!r}") from None
    if not 0.0 < number < np.inf:
        raise InputError(f"{name} must be finite and above zero, got {number:g}")
    return number


def as_choice(value: str, allowed: Collection[str], what: str, owner: str = "") -> str:
    """A name out of several.

    Parameters
    ----------
    value : str
    allowed : collection of str
    what : str
        What the names are of, for the message: there is no ``what`` of that name.
    owner : str
        What stands behind the name in the message.

    Returns
    -------
    str
        ``value``.

    Raises
    ------
    InputError
        It is none of ``allowed``.
    """
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"there is no {what} '{value}'{owner}; {instead_of(value, allowed, 'choose one of')}")
    return value


def as_number(text: str) -> float:
    """The number that a text is; ValueError if it is none."""
    if not NUMBER.fullmatch(text):
        raise ValueError(f"'{text}' is not a number")
    return float(text)


def _as_float_array(value, name):
    try:
        array = np.asarray(value)
        if array.dtype.kind != "c":
            return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        why = f", got {shorten(repr(value))}" if isinstance(value, (str, dict)) else f": {error}"
        raise InputError(f"{name} must hold numbers{why}") from None
    raise InputError(f"{name} must hold real numbers, got complex ones")


def _require_finite(array, name):
    if array.size <= SMALL and math.isfinite(np.vdot(array, array)):
        return  # in a quarter of the time; squares may overflow where the entries do not
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        index = where[0] if len(where) == 1 else where
        raise InputError(f"{name}[{index}] is {array[where]}; every entry must be finite")


def shorten(text: str, most: int = 60) -> str:
    """Return ``text`` for a log line: what came in from outside may be megabytes long."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def instead_of(wanted: object, names: Iterable[str], among: str = "it has") -> str:
    """What a message proposes in the place of a name that there is not.

    Parameters
    ----------
    wanted : str
    names : iterable of str
        That there are.
    among : str
        What stands before them where none is near.

    Returns
    -------
    str
        ``did you mean 'NAME'?``, or all of them.
    """
    names = list(map(str, names))
    lower = {name.lower(): name for name in names}
    near = get_close_matches(str(wanted).lower(), lower, n=1)
    return f"did you mean '{lower[near[0]]}'?" if near else f"{among} {', '.join(names) or 'none'}"


def nearest_first(wanted: str, names: Iterable[str], most: int = 6) -> str:
    """Names that there are, those first that look most like one that there is not.

    Parameters
    ----------
    wanted : str
    names : iterable of str
    most : int
        How many are told.

    Returns
    -------
    str
        ``none`` where there are none.
    """
    alike = SequenceMatcher(b=wanted.lower())

    def other(name):
        alike.set_seq1(name.lower())
        return -alike.ratio()

    found = sorted(names, key=other)
    return ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "") or "none"

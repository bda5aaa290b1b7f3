# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Some of many worlds, by a mask or by their numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.errors import InputError

Chosen = Sequence[int] | NDArray[Any] | None  #: worlds by a mask (count,) or by their numbers; None for all


def numbers_of(mask: Chosen, count: int) -> NDArray[np.int64]:
    """Numbers of the chosen among ``count`` worlds, int64 (k,); InputError where there are no such worlds."""
    if mask is None:
        return np.arange(count)
    mask = np.asarray(mask)
    if mask.dtype == bool:
        if mask.shape != (count,):
            raise InputError(f"a mask must have {count} entries, got an array of shape {mask.shape}")
        return np.flatnonzero(mask)
    if mask.ndim != 1 or mask.size and (mask.dtype.kind not in "iu" or mask.min() < 0 or mask.max() >= count):
        raise InputError(f"worlds must be given by a mask or by numbers from 0 to {count - 1}")
    if len(mask) > 1 and len(np.unique(mask)) != len(mask):
        raise InputError("a world may be named once only")
    return mask.astype(np.int64)

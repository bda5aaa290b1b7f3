# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Memory of a process that lives long."""

import ctypes
import gc

REBUILDS = 16  #: simulators that are replaced before memory is given back, which takes a tenth of a second


def give_memory_back() -> None:
    """Free what a former simulator has left, and hand it to the system: glibc keeps what is fragmented."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

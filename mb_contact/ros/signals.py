# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SIGINT and SIGTERM, what ends a program: taken and given back; outside of the main thread the caller owns them."""

import contextlib
import signal
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM)


def take_signals(handler: Any, numbers: Any = ENDING) -> Any:
    """Let ``handler`` have these signals.

    Returns
    -------
    dict
        The old handlers by signal, for :func:`give_back`; empty outside of the main thread.
    """
    old = {}
    with contextlib.suppress(ValueError):
        for number in numbers:
            old[number] = signal.signal(number, handler)
    return old


def give_back(old: Any) -> None:
    """Install the old handlers again."""
    for number, handler in old.items():
        signal.signal(number, handler)

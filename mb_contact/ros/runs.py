# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runs: what lies between two resets.  Time may begin again at zero, the number of the run does not."""

import re

_FRAME = re.compile(r"run (\d{1,18})")


def run_frame(number: int) -> str:
    """The ``header.frame_id`` of a run's joint states, and of the commands that answer them.

    Examples
    --------
    >>> run_frame(3)
    'run 3'
    """
    return f"run {number}"


def run_in(frame: str) -> int | None:
    """The number of the run in a ``header.frame_id``; None where it holds something else.

    Examples
    --------
    >>> run_in("run 3"), run_in("base_link")
    (3, None)
    """
    found = _FRAME.fullmatch(frame)
    return None if found is None else int(found[1])

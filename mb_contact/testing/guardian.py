# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A program that ends the controllers of a test which was killed, and so could not end them.

It reads process groups from its standard input, a number in each line, and a negative one where that group has ended.
The input ends when the process at its other end does, in whatever way.  It imports nothing of the package: it is there
before a controller has begun to read its own code.
"""

import os
import signal
import sys
import time

GRACE = ((signal.SIGINT, 5.0), (signal.SIGTERM, 3.0))  #: how one is asked to end, and how long to wait [s]
_LOOK = 0.05  #: between two looks at who is left [s]


def main() -> None:
    """Wait for the end of the input, then end all groups that are left."""
    groups: set[int] = set()
    for line in sys.stdin:
        number = int(line)
        groups.add(number) if number > 0 else groups.discard(-number)
    for number, seconds in (*GRACE, (signal.SIGKILL, 0.0)):
        groups = {group for group in groups if _signal(group, number)}
        end = time.monotonic() + seconds
        while groups and time.monotonic() < end:
            time.sleep(_LOOK)
            groups = {group for group in groups if _signal(group, 0)}


def _signal(group, number):
    """Send a signal, or nothing; whether the group was still there."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()

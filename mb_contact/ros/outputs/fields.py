# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers into the fields of messages."""

from typing import Any


def put(target: Any, values: Any) -> None:
    """Set the fields x, y, z and, of four values, w."""
    for axis, value in zip("xyzw", values):
        setattr(target, axis, float(value))


def filled(message: Any, values: Any) -> Any:
    """The message itself, with these values in its fields x, y, z."""
    put(message, values)
    return message


def put_stamp(stamp: Any, nanoseconds: int) -> None:
    """Set a builtin_interfaces/Time."""
    stamp.sec, stamp.nanosec = divmod(nanoseconds, 1_000_000_000)

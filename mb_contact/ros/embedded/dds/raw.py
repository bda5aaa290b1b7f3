# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bytes in and out of Cyclone DDS: the only file that touches private parts of its wheel.

Encoded messages move as they are (write 1.5 microseconds, empty take 0.3), checked by
Cyclone against the declared type.  Where a wheel lacks these entry points, the same
functions go through its public IdlStruct classes, ten times slower.
"""

import ctypes
from typing import Any

from mb_contact.errors import CommunicationError

try:
    from cyclonedds import _clayer
    from cyclonedds.core import InstanceState, SampleState, ViewState, WaitSet
    from cyclonedds.internal import library_path
    from cyclonedds.util import duration
except ImportError as _error:  # pragma: no cover - exercised by a test in a child process
    raise CommunicationError(
        f"the embedded ROS 2 backend needs the 'cyclonedds' package ({_error}): pip install cyclonedds, or "
        "pip install eclipse-zenoh and --wire zenoh, or source a ROS 2 installation and use the rclpy backend"
    ) from None

_write = getattr(_clayer, "ddspy_write", None)
_take = getattr(_clayer, "ddspy_take", None)
_wait = getattr(WaitSet, "_waitset_wait", None)
_ERRORS = 3  #: DDS_LC_FATAL, DDS_LC_ERROR
ANY_STATE = SampleState.Any | ViewState.Any | InstanceState.Any
TIMEOUT = -10  #: DDS_RETCODE_TIMEOUT: a reliable reader does not keep up


def write(writer: Any, data: Any) -> bool:
    """Write CDR bytes padded to a multiple of 4.

    Returns
    -------
    bool
        False when the writer's blocking time ran out (a reader hangs) and nothing was sent.

    Raises
    ------
    CommunicationError
        The bytes do not fit the writer's type, or the writer is closed.
    """
    if _write is None:
        writer.write(writer.data_type.deserialize(bytes(data)))
        return True
    code = _write(writer._ref, data)
    if code >= 0:
        return True
    if code == TIMEOUT:
        return False
    raise CommunicationError(f"Cyclone DDS refused a message on '{writer.topic.name}' (code {code})")


def take(reader: Any, limit: int) -> Any:
    """Take up to ``limit`` samples as ``[(cdr bytes, source time in ns, writer handle)]``.

    Notices without data (a writer left) are skipped.
    """
    if _take is None:
        samples = reader.take(limit)
        return [
            (s.serialize(), s.sample_info.source_timestamp, s.sample_info.publication_handle)
            for s in samples
            if getattr(s, "sample_info", None) is not None and s.sample_info.valid_data
        ]
    samples = _take(reader._ref, ANY_STATE, limit)
    if isinstance(samples, int):
        raise CommunicationError(f"Cyclone DDS cannot read '{reader.topic.name}' (code {samples})")
    return [
        (data, info.source_timestamp, info.publication_handle) for data, info in samples if info.valid_data
    ]


def attach(waitset: Any, condition: Any) -> int:
    """Attach a condition; returns the number by which :func:`wait` tells of it."""
    waitset.attach(condition)
    return next(ctypes.addressof(cookie) for other, cookie in waitset.attached if other is condition)


def wait(waitset: Any, seconds: float, room: Any) -> list[int]:
    """Wait at most so long for conditions (1 microsecond where the time is zero); the numbers of those that hold.

    Parameters
    ----------
    waitset : cyclonedds.core.WaitSet
    seconds : float
    room : ctypes array of c_void_p
        For their numbers; the others are told of at the next wait.

    Raises
    ------
    CommunicationError
        The wait set is closed.
    """
    if _wait is None:  # whichever holds: all are looked at
        told = waitset.attached if waitset.wait(nanoseconds(seconds)) else ()
        return [ctypes.addressof(cookie) for _, cookie in told]
    count = _wait(waitset, waitset._ref, room, len(room), int(1e9 * seconds) if seconds > 0.0 else 0)
    if count < 0:
        raise CommunicationError(f"Cyclone DDS does not wait (code {count})")
    return room[: min(count, len(room))] if count else []


def matched_readers(writer: Any) -> Any:
    """Return how many readers a writer has matched (0.8 microseconds)."""
    count = getattr(writer, "_get_matched_subscriptions", None)
    if count is None:
        return len(readers_of(writer))
    return max(0, count(writer._ref, None, 0))


def matched_writers(reader: Any) -> Any:
    """Return how many writers a reader has matched."""
    return len(writers_of(reader))


def readers_of(writer: Any) -> list[int]:
    """Handles of the readers that a writer has matched."""
    return _listed(writer.get_matched_subscriptions)


def writers_of(reader: Any) -> list[int]:
    """Handles of the writers that a reader has matched."""
    return _listed(reader.get_matched_publications)


def of_peer(ask: Any, handle: int) -> Any:
    """What discovery knows of a matched reader or writer; None where it has just left."""
    try:
        return ask(handle)
    except Exception:  # the wheel raises several kinds
        return None


def _listed(ask):
    """What the wheel lists; it counts before it lists, and raises IndexError where one more has come in between."""
    while True:
        try:
            return ask()
        except IndexError:
            continue


def delete(entity: Any) -> None:
    """Delete a DDS entity now rather than when it is collected; a second call does nothing."""
    entity.__del__()


def hush() -> None:
    """Have errors printed only: Cyclone DDS would warn of each request that Fast DDS sends to its readers too."""
    set_mask = getattr(ctypes.CDLL(str(library_path)), "dds_set_log_mask", None) if library_path else None
    if set_mask is not None:
        set_mask(_ERRORS)


def nanoseconds(seconds: float) -> Any:
    """Return a DDS duration."""
    return duration(seconds=max(0.0, seconds))

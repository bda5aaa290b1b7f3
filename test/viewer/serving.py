# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What tests of the view share: servers of pages, and waiting for what other threads do."""

import importlib.util
import socket
import time

import pytest

from ros.support import wait_until

NEEDS_VISER = pytest.mark.skipif(
    importlib.util.find_spec("viser") is None, reason="viser is not installed: pip install 'mb_contact[viewer]'"
)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def new_server():
    """A server of a page; without a page yet."""
    from mb_contact.viewer.library import start_server

    return start_server(port=free_port())


def until(condition):
    """Wait for what the thread of a page or of the physics does."""
    wait_until(condition, "change", 60.0)


def frame_when(player, condition, seconds=60.0):
    """The first frame that meets a condition."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        frame = player.frame(0.1)
        if frame is not None and condition(frame):
            return frame
    pytest.fail("no such frame came")


def received(address, wanted, seconds=60.0):
    """Whether a client of the server is sent this text."""
    import msgspec
    import viser
    import zstandard
    from websockets.sync.client import connect

    deadline = time.monotonic() + seconds
    protocol = [f"viser-v{viser.__version__}"]
    with connect(address, subprotocols=protocol, compression=None, max_size=None) as client:
        while time.monotonic() < deadline:
            data = client.recv(timeout=seconds)
            size = int.from_bytes(data[8:16], "little")
            content = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[16 : 16 + size]))
            if wanted in str(content):
                return True
    return False

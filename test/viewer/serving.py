# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What tests of the view share: servers of pages, and waiting for what other threads do."""

import importlib.util
import socket

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

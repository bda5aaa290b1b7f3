# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The one place that imports viser, which is an optional library."""

import contextlib
import logging
import socket
import sys
from typing import Any

from mb_contact.errors import InputError
from mb_contact.viewer.options import LAST_PORT, as_port


def import_viser() -> Any:
    """Return the module viser.

    Raises
    ------
    InputError
        It is not installed.
    """
    try:
        import viser
    except ImportError as error:
        raise InputError(f"the web view needs viser ({error}): pip install 'mb_contact[viewer]'") from None
    return viser


def start_server(host: str = "127.0.0.1", port: int = 8080) -> Any:
    """Return a running viser server; where the port is taken it listens on the next free one (``get_port()``).

    Raises
    ------
    InputError
        viser is not installed, or the address cannot be listened on.
    """
    viser = import_viser()
    check_host(host)
    port = free_port(host, as_port(port))
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # browsers open connections that they drop
    with contextlib.redirect_stdout(sys.stderr):  # what it prints is no output of whoever shows something
        server = viser.ViserServer(host=host, port=port, label="mb_contact", verbose=False)
    stop = server.stop

    def stop_quietly():
        with contextlib.redirect_stdout(sys.stderr):
            stop()

    server.stop = stop_quietly
    return server


def free_port(host: str, port: int) -> int:
    """The first port from ``port`` on that nobody listens on: beyond the last one viser would wait for ever."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    for number in range(port, LAST_PORT + 1):
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that are closing do not count
            try:
                probe.bind((address[0], number, *address[2:]))
                return number
            except OSError:
                continue
    raise InputError(f"the web view finds no free port from {port} on")


def check_host(host: str) -> None:
    """Raise InputError where this machine cannot listen on an address: viser would go on trying for ever."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as probe:
            probe.bind(address)
    except OSError as error:
        raise InputError(f"the web view cannot listen on '{host}': {error.strerror or error}") from None

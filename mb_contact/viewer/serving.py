# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The server of a page, and the gate before it where other machines can come."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from mb_contact.viewer.gate import Gate, is_local, make_token
from mb_contact.viewer.library import check_host, start_server
from mb_contact.viewer.options import as_port

INNER_PORT = 28080  #: from which on viser looks for a free port of this machine where a gate stands before it


class Served:
    """A running server.

    Parameters
    ----------
    host : str
    port : int

    Attributes
    ----------
    server : viser.ViserServer
    address : str
        Of the page.

    Raises
    ------
    InputError
        viser is not installed, or the address cannot be listened on.
    """

    def __init__(self, host: str, port: Any) -> None:
        self._gate = None
        if is_local(host):
            self.server = start_server(host, port)
            self.address = f"http://{'localhost' if host == '127.0.0.1' else host}:{self.server.get_port()}"
            return
        check_host(host)
        token, self.server = make_token(), start_server(port=INNER_PORT)
        self._gate = Gate(host, as_port(port), self.server.get_port(), token)
        name = socket.gethostname() if host in ("0.0.0.0", "::") else host
        self.address = f"http://{name}:{self._gate.port}/?token={token}"

    def close(self) -> None:
        """End it."""
        if self._gate is not None:
            self._gate.close()
        self.server.stop()


def has_screen() -> bool:
    """Whether a browser would have a window to open."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))

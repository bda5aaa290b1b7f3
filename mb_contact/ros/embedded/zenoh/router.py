# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a Zenoh session is configured, and the router by which sessions learn of each other.

| variable | meaning |
|---|---|
| ``ZENOH_SESSION_CONFIG_URI`` | file of Zenoh's configuration instead of rmw_zenoh's defaults |
| ``ZENOH_CONFIG_OVERRIDE`` | ``path/to/key=value;...``, values as JSON5, put over it |
| ``ZENOH_ROUTER_CHECK_ATTEMPTS`` | how often to look for the router, a second apart; 0: without end; negative: never |

As rmw_zenoh's, a session is a peer that connects to a router at tcp/localhost:7447, learns of other peers from
it, and is reached at loopback alone.  Where the last variable is unset and nobody is at that port of this machine,
this process brings the router, as ``ros2 run rmw_zenoh_cpp rmw_zenohd`` would, but on loopback: a node and its
controller find each other without a third program.
"""

import json
import os
import re
import socket
import time
from collections.abc import Mapping
from typing import Any

import zenoh

from mb_contact.errors import CommunicationError

_DEFAULTS = {
    "mode": "peer",
    "connect/endpoints": ["tcp/localhost:7447"],
    "connect/timeout_ms": {"router": -1, "peer": -1, "client": 0},
    "connect/exit_on_failure": {"router": False, "peer": False, "client": True},
    "connect/retry": {"period_init_ms": 250, "period_max_ms": 2000, "period_increase_factor": 2},
    "listen/endpoints": ["tcp/localhost:0"],
    "scouting/multicast/enabled": False,
    "scouting/gossip/enabled": True,
    "timestamping/enabled": {"router": True, "peer": True, "client": True},
    # what a peer that hangs makes a message wait [us], as on DDS; then it is dropped, and those after it at once
    "transport/link/tx/queue/congestion_control/drop": {"wait_before_drop": 50_000},
}
_HERE = re.compile(r"tcp/(localhost|127(?:\.\d+){3}|\[::1\]):(\d+)(?:[#?].*)?")
_PERIOD = 1.0  #: between two looks for a router [s]
_TELL_EVERY = 10  #: looks


def configuration(environment: Mapping[str, str] | None = None) -> Any:
    """Return the configuration of a session.

    Raises
    ------
    CommunicationError
        A file or an override that Zenoh does not take.
    """
    environment = environment if environment is not None else os.environ
    path = environment.get("ZENOH_SESSION_CONFIG_URI", "").strip()
    try:
        settings = zenoh.Config.from_file(path) if path else zenoh.Config()
        for key, value in () if path else _DEFAULTS.items():
            settings.insert_json5(key, json.dumps(value))
        for part in environment.get("ZENOH_CONFIG_OVERRIDE", "").split(";"):
            if part.strip():
                key, _, value = part.partition("=")
                settings.insert_json5(key.strip(), value.strip())
    except zenoh.ZError as error:
        raise CommunicationError(
            f"ZENOH_SESSION_CONFIG_URI or ZENOH_CONFIG_OVERRIDE is not a configuration of Zenoh: {error}"
        ) from None
    return settings


def _endpoints(settings, side):
    return json.loads(settings.get_json(f"{side}/endpoints"))


def stays_here(settings: Any) -> bool:
    """Whether a configuration is of loopback alone."""
    ends = [end for side in ("listen", "connect") for end in _endpoints(settings, side)]
    scouts = json.loads(settings.get_json("scouting/multicast/enabled"))
    return not scouts and all(_HERE.fullmatch(end) for end in ends)


def attempts(environment: Mapping[str, str] | None = None) -> int | None:
    """Return how often to look for a router; 0: without end, negative: never, None: nobody has said.

    Raises
    ------
    CommunicationError
        No number.
    """
    text = (environment if environment is not None else os.environ).get("ZENOH_ROUTER_CHECK_ATTEMPTS", "").strip()
    try:
        return int(text) if text else None
    except ValueError:
        raise CommunicationError(f"ZENOH_ROUTER_CHECK_ATTEMPTS is '{text}'; it must be a whole number") from None


def open_router(port: int = 7447) -> Any:
    """Return a router on loopback, a Zenoh session; ``close()`` ends it.

    Raises
    ------
    zenoh.ZError
        The port is in use.
    """
    settings = zenoh.Config()
    for key, value in (
        ("mode", "router"), ("listen/endpoints", [f"tcp/127.0.0.1:{port}"]), ("scouting/multicast/enabled", False),
    ):  # fmt: skip
        settings.insert_json5(key, json.dumps(value))
    return zenoh.open(settings)


class Router:
    """The router of a session: somebody's, which is waited for, or our own.

    Parameters
    ----------
    settings : zenoh.Config
        Of the session.
    environment : mapping, optional
    logger : Logger
    """

    def __init__(self, settings: Any, environment: Mapping[str, str] | None, logger: Any) -> None:
        self._attempts, self._logger, self._own = attempts(environment), logger, None
        places = [_HERE.fullmatch(end) for end in _endpoints(settings, "connect")]
        self._port = int(places[0][2]) if len(places) == 1 and places[0] else None
        if self._attempts is None and self._port is not None and not _answers(self._port):
            try:
                self._own = open_router(self._port)
            except zenoh.ZError:
                return  # another process was faster
            logger.info(f"no Zenoh router at tcp/localhost:{self._port}: this process brings one, for this machine")

    def meet(self, session: Any) -> None:
        """Wait until a session has found its router, as long as the environment says.

        Raises
        ------
        CommunicationError
            There is none.
        """
        most = self._attempts if self._attempts is not None else 5 if self._port is not None else -1
        looked = 0
        while most >= 0 and not session.info.routers_zid():
            looked += 1
            if looked == most:
                text = f"no Zenoh router after {looked} attempts: start one with ros2 run rmw_zenoh_cpp rmw_zenohd"
                if self._attempts is None:
                    self._logger.warning(text)
                    return
                raise CommunicationError(f"{text}, or unset ZENOH_ROUTER_CHECK_ATTEMPTS")
            if looked % _TELL_EVERY == 1:
                self._logger.info("waiting for a Zenoh router")
            end = time.monotonic() + _PERIOD
            while time.monotonic() < end and not session.info.routers_zid():
                time.sleep(0.01)

    def close(self) -> None:
        """End our own."""
        if self._own is not None:
            self._own.close()


def _answers(port):
    """Whether somebody is at a port of this machine."""
    try:
        socket.create_connection(("localhost", port), 1.0).close()
    except OSError:
        return False
    return True

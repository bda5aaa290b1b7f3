# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The door of a page that other machines can open: who has no token is refused before viser hears a word.

viser has no passwords, and its page loads files and a websocket from one address.  So viser listens on this machine
alone, and each connection from outside begins with a request that is looked at here: with the token in its address it
is sent on with a cookie, with the cookie everything passes, anything else is answered 403.
"""

import asyncio
import hmac
import ipaddress
import os
import secrets
import socket
import threading
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from mb_contact.errors import InputError

VARIABLE = "MB_CONTACT_VIEW_TOKEN"  #: a token of one's own, of LEAST characters at least
COOKIE, LEAST = "mb_contact_token", 16
#: bytes and seconds for the head of a request; connections at a time
HEAD, PATIENCE, CONNECTIONS = 16_384, 10.0, 200
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nthe token is missing\n"


def is_local(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def make_token() -> str:
    """A token: that of the environment, or a random one.

    Raises
    ------
    InputError
        The environment's is too short.
    """
    token = os.environ.get(VARIABLE, "")
    if token and (len(token) < LEAST or not token.isascii() or not token.isalnum()):
        raise InputError(f"{VARIABLE} must have {LEAST} letters and digits at least; leave it out for a random token")
    return token or secrets.token_hex(LEAST)


class Gate:
    """Listens on ``host`` and lets those with a token through to ``target``, a port of this machine.

    Parameters
    ----------
    host : str
    port : int
        Where it is taken, the next free one.
    target : int
    token : str

    Attributes
    ----------
    port : int
        Where it listens.
    """

    def __init__(self, host: str, port: int, target: int, token: str) -> None:
        self._target, self._token, self._open = target, token, 0
        self._loop = asyncio.new_event_loop()
        self._socket, self.port = _listening(host, port)
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="view gate", daemon=True)
        self._thread.start()
        ready.wait()

    def close(self) -> None:
        """Listen no more, and end what is open."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._socket.close()

    def _run(self, ready):
        asyncio.set_event_loop(self._loop)
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, sock=self._socket, limit=HEAD))
        ready.set()
        self._loop.run_forever()
        self._server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader, writer):
        """One connection."""
        self._open += 1
        try:
            if self._open <= CONNECTIONS:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
                await self._answer(head, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.TimeoutError):
            pass  # it is gone, too slow, or no request
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, head, reader, writer):
        target, cookies = _request(head)
        if self._is_token(cookies):
            await self._pass(head, reader, writer)
        elif self._is_token((parse_qs(urlsplit(target).query).get("token") or [""])[0]):
            cookie = f"{COOKIE}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            writer.write(f"HTTP/1.1 303 See Other\r\nLocation: /\r\nSet-Cookie: {cookie}\r\n".encode())
            writer.write(b"Cache-Control: no-store\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        else:
            writer.write(_REFUSED)
        await writer.drain()

    def _is_token(self, text):
        return hmac.compare_digest(text.encode(), self._token.encode())

    async def _pass(self, head, reader, writer):
        """Hand bytes over in both directions until one side ends."""
        inner_reader, inner = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            inner.write(head)
            ways = [asyncio.create_task(_copy(reader, inner)), asyncio.create_task(_copy(inner_reader, writer))]
            _, rest = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in rest:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            inner.close()


async def _copy(reader, writer):
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()


def _request(head):
    """Address and token cookie of a request's head; empty where it is none."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words, cookie = first.split(" "), SimpleCookie()
    if len(words) != 3 or words[0] != "GET" or not words[1].startswith("/"):
        return "", ""
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip().lower() == "cookie":
            try:
                cookie.load(value.strip())
            except CookieError:
                return words[1], ""
    return words[1], cookie[COOKIE].value if COOKIE in cookie else ""


def _listening(host, port):
    """A listening socket and its port, the first free one from ``port`` on."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    for number in range(port, 65_536):
        listener = socket.socket(family)
        try:
            listener.bind((address[0], number, *address[2:]))
        except OSError:
            listener.close()
            continue
        listener.listen()
        return listener, number
    raise InputError(f"the web view finds no free port from {port} on")

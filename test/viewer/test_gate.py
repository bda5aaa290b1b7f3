# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Who gets through to a page that is open to the network, against a server that counts what it hears.

Covers viewer/serving.py.
"""

from __future__ import annotations

import random
import socket
import threading

import pytest

from mb_contact.errors import InputError
from mb_contact.viewer.gate import CONNECTIONS, HEAD, VARIABLE, Gate, is_local, make_token

TOKEN = "0123456789abcdef"


class Inner:
    """Echoes what it hears, after a greeting."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.heard = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            while data := connection.recv(65_536):
                self.heard.append(data)
                connection.sendall(b"echo " + data)


@pytest.fixture(scope="module")
def page():
    """(port of the gate, the server behind it)."""
    inner = Inner()
    gate = Gate("127.0.0.1", 38_080, inner.listener.getsockname()[1], TOKEN)
    yield gate.port, inner
    gate.close()
    inner.listener.close()


def ask(port, text):
    """The first answer to a request."""
    with socket.create_connection(("127.0.0.1", port), 10.0) as connection:
        connection.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))
        return connection.recv(65_536).decode("latin-1")


def get(path="/", *lines):
    return "\r\n".join((f"GET {path} HTTP/1.1", "Host: x", *lines, "", ""))


UPGRADE = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: eA==")


@pytest.mark.parametrize(
    "request_",
    [get(), get("/?token="), get("/?token=wrong"), get(f"/?tokens={TOKEN}"), get("/", f"Cookie: other={TOKEN}"),
     get("/", "Cookie: mb_contact_token=wrong"), get("/", f"Cookie: mb_contact_token={TOKEN[:-1]}"),
     get("/", *UPGRADE), get("/", f"Authorization: Bearer {TOKEN}"), get(f"/{TOKEN}"),
     get(f"http://x/?token={TOKEN}"), f"POST /?token={TOKEN} HTTP/1.1\r\n\r\n", "\r\n\r\n",
     "GET /\r\n\r\n", get("/", "Cookie: mb_contact_token=\xff\xfe"), get("/", "Cookie: ;;;=;\x00")],
)  # fmt: skip
def test_without_the_token_nobody_gets_through(page, request_):
    port, inner = page
    before = len(inner.heard)
    assert ask(port, request_).startswith("HTTP/1.1 403 ")
    assert len(inner.heard) == before


def test_the_token_becomes_a_cookie_that_opens_everything(page):
    port, inner = page
    answer = ask(port, get(f"/?token={TOKEN}"))
    assert answer.startswith("HTTP/1.1 303 ") and "Location: /\r\n" in answer
    assert f"Set-Cookie: mb_contact_token={TOKEN}; Path=/; HttpOnly; SameSite=Strict" in answer and inner.heard == []
    cookie = f"Cookie: a=b; mb_contact_token={TOKEN}; c=d"
    with socket.create_connection(("127.0.0.1", port), 10.0) as connection:  # a websocket: bytes both ways after it
        connection.sendall(get("/", cookie, *UPGRADE).encode())
        assert connection.recv(65_536).startswith(b"echo GET / HTTP/1.1")
        for data in (b"\x81\x85frame", bytes(range(256))):
            connection.sendall(data)
            assert connection.recv(65_536) == b"echo " + data


def test_noise_leaves_it_open(page):
    """Random bytes, heads without an end, more connections than are taken."""
    port, inner = page
    chance, before = random.Random(5), len(inner.heard)
    for _ in range(200):
        with socket.create_connection(("127.0.0.1", port), 10.0) as connection:
            connection.sendall(chance.randbytes(chance.choice((0, 1, 100, 3 * HEAD))))
    hanging = [socket.create_connection(("127.0.0.1", port), 10.0) for _ in range(CONNECTIONS + 20)]
    hanging[-1].settimeout(10.0)
    assert hanging[-1].recv(10) == b""  # one too many
    for connection in hanging:
        connection.close()
    assert len(inner.heard) == before
    for _ in range(100):
        try:
            if ask(port, get(f"/?token={TOKEN}")).startswith("HTTP/1.1 303"):
                break
        except OSError:
            continue
    else:
        pytest.fail("no answer any more")


def test_tokens_and_addresses(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert len(make_token()) >= 32 and make_token() != make_token()
    monkeypatch.setenv(VARIABLE, TOKEN)
    assert make_token() == TOKEN
    for bad in ("short", "with a space in it!", "umlauts are nön"):
        monkeypatch.setenv(VARIABLE, bad)
        with pytest.raises(InputError, match="16 letters"):
            make_token()
    assert all(map(is_local, ("127.0.0.1", "localhost", "::1", "127.1.2.3")))
    assert not any(map(is_local, ("0.0.0.0", "::", "192.0.2.1", "example.org", "")))

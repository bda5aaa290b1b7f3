# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The programs of a user beside the node: a ROS domain of their own, their output kept, their end made sure of."""

import atexit
import contextlib
import fcntl
import itertools
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mb_contact.errors import CommunicationError, InputError
from mb_contact.model.resources import child_environment, find_resource
from mb_contact.testing import guardian
from mb_contact.testing.guardian import GRACE

DOMAINS = range(1, 101)  #: below the ephemeral ports
PYTHONS = ("python", "python3")  #: stand for the interpreter that runs here
ASKED = (0, -signal.SIGINT, -signal.SIGTERM, 130, 143)  #: exit codes of who was asked to end
TAIL = 12  #: lines of a log that are told,
NOISE = ("nanobind:", " - leaked ")  #: but for those that begin so: what a library leaks at the end


_turns = itertools.count(os.getpid())


@contextlib.contextmanager
def own_domain() -> Iterator[int]:
    """A ROS domain that no other run on this machine has, as long as the context lasts.

    Raises
    ------
    CommunicationError
        All are in use.
    """
    folder = Path(tempfile.gettempdir()) / f"mb_contact_domains_{os.getuid()}"
    folder.mkdir(exist_ok=True)
    first = next(_turns) % len(DOMAINS)  # not the one that was left last: somebody may still be leaving it
    for domain in (*DOMAINS[first:], *DOMAINS[:first]):
        with open(folder / str(domain), "w", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            if not _ports_in_use(domain):
                yield domain
                return
    raise CommunicationError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use on this machine")


def _ports_in_use(domain):
    """Whether somebody has the first ports of a domain: of its multicast, and of its first participant."""
    for offset in (0, 10):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", 7400 + 250 * domain + offset))
            except OSError:
                return True
    return False


def domain_environment(domain: int | None, backend: str) -> dict[str, str]:
    """Environment of all that runs in a domain (None: ours), on this machine alone unless the user's has more."""
    environment = child_environment()
    if domain is not None:
        environment["ROS_DOMAIN_ID"] = str(domain)
        if "CYCLONEDDS_URI" not in environment:
            environment.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if backend != "auto":
        environment["MB_CONTACT_ROS_BACKEND"] = backend
    return environment


def words_of(command: str | Sequence[str]) -> list[str]:
    """A command line as a list: ``python`` is the interpreter that runs here, package:// addresses become paths.

    Raises
    ------
    InputError
        It is empty, or its quotes do not close.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    except ValueError as error:
        raise InputError(f"the command of a controller, {command!r}: {error}") from None
    if not words:
        raise InputError("the command of a controller is empty")
    words = [str(find_resource(word)) if word.startswith("package://") else word for word in words]
    return [sys.executable, *words[1:]] if words[0] in PYTHONS else words


class _Guard:
    """The one beside this process that ends its programs where it is killed: see :mod:`mb_contact.testing.guardian`."""

    def __init__(self):
        self._of, self._process = 0, None  # which process it is of: another one after a fork

    def tell(self, group):
        """A process group has begun, or with the sign changed ended."""
        if self._of != os.getpid():
            self._of = os.getpid()
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", guardian.__file__], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            atexit.register(self._process.communicate)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._process.stdin.fileno(), b"%d\n" % group)


_GUARD = _Guard()


class Program:
    """A controller as a process group of its own, whose output goes to a file.

    Parameters
    ----------
    command : str or sequence of str
    environment : mapping
    log : path
    folder : path, optional
        Where it runs.

    Attributes
    ----------
    text : str
        The command as one writes it.
    code : int or None
        Exit code, once it has ended.
    by_us : bool
        Whether it was asked to end.
    """

    def __init__(
        self, command: str | Sequence[str], environment: Mapping[str, str], log: Path, folder: Path | None = None
    ) -> None:
        self._words, self._environment, self.log, self._folder = words_of(command), environment, log, folder
        self.text = command if isinstance(command, str) else shlex.join(map(str, command))
        self._process: subprocess.Popen | None = None
        self.by_us = False

    def start(self) -> None:
        """Start it, or start it again.

        Raises
        ------
        InputError
            There is no such program.
        """
        self.by_us = False
        try:
            with open(self.log, "ab") as log:
                self._process = subprocess.Popen(
                    self._words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=self._folder,
                    env=self._environment, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            words = f"the controller '{self.text}' cannot be started: {self._words[0]}: {error.strerror}"
            remedy = "; is it installed and on PATH, and is ROS 2 sourced if it is from there?"
            raise InputError(words + (remedy if isinstance(error, FileNotFoundError) else "")) from None
        _GUARD.tell(self._process.pid)

    @property
    def code(self) -> int | None:
        """Exit code, or None while it runs."""
        return None if self._process is None else self._process.poll()

    def kill(self) -> None:
        """End it as a power cut would, and all that it has started; it has no exit code then."""
        process, self._process = self._process, None  # first: who looks at it meanwhile sees no death
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            _GUARD.tell(-process.pid)

    def stop(self) -> None:
        """Ask it to end, as Ctrl-C does, then more firmly; returns when it has ended."""
        if self._process is None:
            return
        if self.code is None:
            self.by_us = True
            for number, seconds in GRACE:
                self._signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(seconds)
                    break
        self._signal(signal.SIGKILL)  # what it has left behind
        self._process.wait()
        _GUARD.tell(-self._process.pid)

    def _signal(self, number):
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def complaint(self) -> str:
        """What is wrong with the way in which it ended, or ''."""
        code = self.code
        if code in (None, 0) or (self.by_us and code in ASKED):
            return ""
        if self.by_us and code == -signal.SIGKILL:
            seconds = sum(seconds for _, seconds in GRACE)
            return f"the controller '{self.text}' did not end when asked to (SIGINT, SIGTERM, {seconds:.0f} s): killed"
        how = f"exit code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
        return f"the controller '{self.text}' ended with {how}; its last lines ({self.log}):\n{self.tail()}"

    def tail(self) -> str:
        """The last lines that it has printed."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
            lines = [line for line in text.splitlines() if not line.startswith(NOISE)]
        except OSError:
            lines = []
        return "\n".join(f"    {line}" for line in lines[-TAIL:]) or "    (it has printed nothing)"


@contextlib.contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """This process's environment is ``values`` for a while: middlewares read it when a node is made."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)

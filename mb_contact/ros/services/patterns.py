# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""POSIX extended regular expressions, as simulation_interfaces filters names by, in linear time.

A pattern becomes an automaton whose states are all followed at once (Thompson's construction), so that no pattern takes
longer than its states times the name's characters.
"""

import string
from collections.abc import Callable, Iterable

from mb_contact.errors import InputError

LENGTH = 1000  #: of a pattern [characters]
DEPTH = 50  #: of brackets in brackets
STATES = 1000  #: of the automaton: repetitions are written out

_CLASSES: dict[str, Callable[[str], bool]] = {
    "alpha": str.isalpha, "digit": lambda c: c in string.digits, "alnum": str.isalnum, "upper": str.isupper,
    "lower": str.islower, "space": lambda c: c in string.whitespace, "blank": lambda c: c in " \t",
    "punct": lambda c: c in string.punctuation,
    "print": str.isprintable, "graph": lambda c: c.isprintable() and not c.isspace(),
    "cntrl": lambda c: ord(c) < 32 or ord(c) == 127, "xdigit": lambda c: c in string.hexdigits,
}  # fmt: skip
_ESCAPED: dict[str, Callable[[str], bool]] = {
    "d": _CLASSES["digit"], "s": _CLASSES["space"], "w": lambda c: c.isalnum() or c == "_"
}  # fmt: skip
_REPEATS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_MATCH, _SPLIT, _TAKE, _BEGIN, _END = range(5)  #: kinds of states


class Pattern:
    """A regular expression to search names with.

    Parameters
    ----------
    text : str

    Raises
    ------
    InputError
        It is none, or too large.

    Examples
    --------
    >>> Pattern("^(left|right)_[[:alpha:]]+[0-9]{1,2}$").search("left_finger12")
    True
    >>> Pattern("(a+)+b").search(1000 * "a")
    False
    """

    def __init__(self, text: str) -> None:
        if len(text) > LENGTH:
            raise InputError(f"a filter has {LENGTH} characters at most, this one has {len(text)}")
        self._text, self._at, self._depth = text, 0, 0
        tree = self._alternatives()
        if self._at < len(text):
            raise self._error("a ')' closes nothing")
        self._states: list[tuple] = [(_MATCH,)]
        self._start = self._build(tree, 0)

    def search(self, name: str) -> bool:
        """Whether some part of ``name`` matches."""
        live: set[int] = set()
        for i in range(len(name) + 1):
            live = self._closure({*live, self._start}, i, len(name))
            if 0 in live:
                return True
            if i < len(name):
                live = {state[2] for state in map(self._states.__getitem__, live) if self._takes(state, name[i])}
        return False

    def _takes(self, state, character):
        return state[0] == _TAKE and state[1](character)

    def _closure(self, states: Iterable[int], at, end):
        """All states that are reached without a character."""
        waiting, seen = list(states), set(states)
        while waiting:
            kind, *more = self._states[waiting.pop()]
            if kind == _SPLIT or (kind == _BEGIN and at == 0) or (kind == _END and at == end):
                new = [state for state in more if state not in seen]
                seen.update(new)
                waiting += new
        return seen

    # --- text to tree -----------------------------------------------------------------------------
    def _error(self, what):
        return InputError(f"the filter is no POSIX extended regular expression: {what}, at character {self._at + 1}")

    def _next(self):
        return self._text[self._at] if self._at < len(self._text) else ""

    def _take(self):
        character = self._next()
        if not character:
            raise self._error("it ends too early")
        self._at += 1
        return character

    def _alternatives(self):
        branches = [self._branch()]
        while self._next() == "|":
            self._at += 1
            branches.append(self._branch())
        return ("alternatives", branches)

    def _branch(self):
        pieces = []
        while self._next() not in ("", "|", ")"):
            piece = self._atom()
            while self._next() and self._next() in "*+?{":
                piece = ("repeat", piece, *self._repeat())
            pieces.append(piece)
        return ("sequence", pieces)

    def _repeat(self):
        character = self._take()
        if character != "{":
            return _REPEATS[character]
        inside = ""
        while (character := self._take()) != "}":
            inside += character
        low, comma, high = inside.partition(",")
        if not low.isdecimal() or (high and not high.isdecimal()) or int(high or low) < int(low):
            raise self._error(f"'{{{inside[:20]}}}' is no repetition")
        return int(low), int(high) if high else (None if comma else int(low))

    def _atom(self):
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return ("take", self._set())
        if character == ".":
            return ("take", lambda c: True)
        if character in "^$":
            return (_BEGIN if character == "^" else _END,)
        if character in "*+?{":
            raise self._error(f"nothing stands before '{character}'")
        if character == "\\":
            character = self._take()
            if character in _ESCAPED:
                return ("take", _ESCAPED[character])
        return ("take", character.__eq__)

    def _group(self):
        self._depth += 1
        if self._depth > DEPTH:
            raise self._error(f"more than {DEPTH} brackets are open")
        tree = self._alternatives()
        if self._take() != ")":
            raise self._error("a '(' is not closed")
        self._depth -= 1
        return tree

    def _set(self):
        """What a bracket expression takes."""
        negated = self._next() == "^"
        self._at += negated
        tests = []
        while self._next() != "]" or not tests:
            tests.append(self._member())
        self._at += 1
        return lambda c: any(test(c) for test in tests) != negated

    def _member(self):
        """A class, a range or a character of a bracket expression."""
        first = self._take()
        if first == "[" and self._next() in (":", ".", "="):
            end = self._text.find(":]", self._at)
            name = self._text[self._at + 1 : end]
            if self._next() != ":" or end < 0 or name not in _CLASSES:
                raise self._error(f"'[{self._next()}' begins no class; there are {', '.join(_CLASSES)}")
            self._at = end + 2
            return _CLASSES[name]
        if self._next() != "-" or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            return first.__eq__
        self._at += 1
        last = self._take()
        if last < first:
            raise self._error(f"the range {first}-{last} is empty")
        return lambda c: first <= c <= last

    # --- tree to automaton ------------------------------------------------------------------------
    def _state(self, *state):
        if len(self._states) >= STATES:
            raise InputError(f"the filter is too large: written out it has more than {STATES} states")
        self._states.append(state)
        return len(self._states) - 1

    def _build(self, tree, then):
        """The state from which ``tree`` and after it the state ``then`` is reached."""
        kind, *parts = tree
        if kind == "take":
            return self._state(_TAKE, parts[0], then)
        if kind == "alternatives":
            return self._state(_SPLIT, *(self._build(branch, then) for branch in parts[0]))
        if kind == "sequence":
            for piece in reversed(parts[0] or [(_SPLIT,)]):  # an empty one has a state too: repetitions are counted
                then = self._build(piece, then)
            return then
        if kind == "repeat":
            return self._build_repeat(*parts, then)
        return self._state(kind, then)

    def _build_repeat(self, piece, low, high, then):
        if high is None:
            loop = self._state(_SPLIT)
            self._states[loop] = (_SPLIT, self._build(piece, loop), then)
            then = loop
        else:
            end = then
            for _ in range(high - low):
                then = self._state(_SPLIT, self._build(piece, then), end)
        for _ in range(low):
            then = self._build(piece, then)
        return then

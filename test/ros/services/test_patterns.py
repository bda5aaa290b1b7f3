# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""POSIX extended regular expressions against Python's, and the cost of hostile ones."""

from __future__ import annotations

import random
import re
import string

import pytest

from mb_contact.errors import InputError
from mb_contact.ros.services.patterns import Pattern

ATOMS = ("a", "b", "c", ".", "[ab]", "[^a]", "[a-c]", "^", "$", r"\.", "[]a]", "[a-]")
NAMES = ("", "a", "ab", "abc", "cab", "bbb", "acb", "a.b", "]-")


def random_pattern(chance, depth):
    kind = chance.random()
    if depth == 0 or kind < 0.4:
        return chance.choice(ATOMS)
    if kind < 0.6:
        return random_pattern(chance, depth - 1) + random_pattern(chance, depth - 1)
    if kind < 0.75:
        return f"({random_pattern(chance, depth - 1)}|{random_pattern(chance, depth - 1)})"
    return f"({random_pattern(chance, depth - 1)}){chance.choice(('*', '+', '?', '{1,2}', '{2}', '{0,1}', '{1,}'))}"


def test_it_finds_what_pythons_expressions_find():
    chance = random.Random(1)
    found = 0
    for _ in range(1000):
        text = random_pattern(chance, 4)
        mine, theirs = Pattern(text), re.compile(text)
        for name in NAMES:
            assert mine.search(name) == bool(theirs.search(name)), (text, name)
            found += mine.search(name)
    assert 1000 < found < 8000


def test_classes_take_the_characters_of_posix():
    classes = {
        "alpha": string.ascii_letters, "digit": string.digits, "alnum": string.ascii_letters + string.digits,
        "upper": string.ascii_uppercase, "lower": string.ascii_lowercase, "blank": " \t",
        "space": string.whitespace, "punct": string.punctuation, "xdigit": string.hexdigits,
        "graph": string.ascii_letters + string.digits + string.punctuation,
        "print": string.ascii_letters + string.digits + string.punctuation + " ",
        "cntrl": "".join(map(chr, [*range(32), 127])),
    }  # fmt: skip
    for name, members in classes.items():
        pattern, other = Pattern(f"[[:{name}:]]"), Pattern(f"[^[:{name}:]]")
        assert {c for c in map(chr, range(128)) if pattern.search(c)} == set(members), name
        assert {c for c in map(chr, range(128)) if other.search(c)} == set(map(chr, range(128))) - set(members), name
    assert Pattern("^[_[:digit:]x-z]+$").search("_1y") and not Pattern("^[_[:digit:]x-z]+$").search("w")


@pytest.mark.parametrize("text", ["(a+)+b", "(a|a)*b", "(a*)*b", "((a{1,4}){1,4}){1,4}b"])
def test_the_work_grows_with_the_length_and_not_with_its_power(text, monkeypatch):
    pattern, counts = Pattern(text), []
    takes = Pattern._takes
    monkeypatch.setattr(Pattern, "_takes", lambda self, *more: counts.append(1) or takes(self, *more))
    work = []
    for length in (50, 100, 200):
        counts.clear()
        assert not pattern.search("a" * length)
        work.append(len(counts))
    assert work[2] < 2.2 * work[1] < 5.0 * work[0]


@pytest.mark.parametrize(
    "text, words",
    [
        ("(", "ends too early"), ("a)", "closes nothing"), ("a{", "ends too early"), ("[", "ends too early"),
        ("[[:foo:]]", "begins no class"), ("[[.a.]]", "begins no class"), ("*", "nothing stands before"),
        ("a{3,1}", "no repetition"), ("a{x}", "no repetition"), ("[b-a]", "range"), ("\\", "ends too early"),
        ("(" * 100, "brackets are open"), ("a{999999999}", "too large"), ("(){999999999}", "too large"),
        ("(^){999999999}", "too large"), ("a" * 2000, "1000 characters at most"),
    ],
)  # fmt: skip
def test_what_is_none_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        Pattern(text)

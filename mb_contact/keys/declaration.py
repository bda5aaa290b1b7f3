# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A key is declared once, as the field of a dataclass: its type by the annotation, all else by ``key``.

Of the declarations of scenes are made: the reader of YAML, the rules for scenes in Python and in files, the JSON
Schema, the writer, and the reference page (docs/scene_reference.md); of the node's options likewise.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, NamedTuple, get_type_hints

Conditions = Mapping[str, tuple[Any, ...]]  #: keys, and values of theirs


@dataclass(frozen=True)
class Key:
    """What is said of a key beside its name, type and default; bounds are those of each number in it."""

    text: str  #: what it is, in one sentence
    unit: str = ""
    low: float | None = None
    above: float | None = None  #: bound that is left out
    high: float | None = None
    below: float | None = None  #: bound that is left out
    most_in_files: float | None = None  #: most in a file, which is in metres and seconds; Python may have other units
    even: bool = False  #: of a whole number
    nonzero: bool = False
    infinite: bool = False  #: whether .inf is a value
    choices: tuple[str, ...] = ()
    single: bool = False  #: whether a list of one may stand without brackets
    refers: str = ""  #: key of the scene that has an entry of this name
    file: bool = False  #: whether it names a file, or files
    record: type | None = None  #: record whose keys are those of a mapping
    required: bool = False  #: whether files have to say it, although there is a default
    only: Conditions = field(default_factory=dict)  #: keys beside it, and their values at which it has a meaning
    needed: Conditions = field(default_factory=dict)  #: keys beside it, and their values that ask for it
    beside: tuple[str, ...] = ()  #: keys beside it without which it has no meaning
    needs: Conditions = field(default_factory=dict)  #: keys of the scene, and the values that it can be used with
    when: tuple = ()  #: values that have these needs; by default all but those that are false or empty
    why: str = ""  #: the reason of its needs
    example: str = ""  #: as YAML; by default made of the type and the default

    def sentences(self) -> str:
        """What it is and what it asks for, with its unit in brackets."""
        return " ".join([self.text, *self.conditions(), *([f"[{self.unit}]"] if self.unit else [])])

    def conditions(self) -> list[str]:
        """What it asks for, in sentences."""
        only = [
            f"Only with {other} {alternatives(values)}{', where it is needed' * (self.needed.get(other) == values)}."
            for other, values in self.only.items()
        ]
        needed = [
            f"Needed with {other} {alternatives(values)}."
            for other, values in self.needed.items()
            if self.only.get(other) != values
        ]
        needs = ", ".join(f"{other} {alternatives(values)}" for other, values in self.needs.items())
        who = f"`{alternatives(self.when)}` needs" if self.when else "Needs"
        beside = [f"Only beside {' and '.join(self.beside)}."] if self.beside else []
        return [*only, *needed, *beside, *([f"{who} {needs}."] if needs else [])]


def key(text: str, default: Any = MISSING, *, factory: Any = MISSING, form: type[Key] = Key, **about: Any) -> Any:
    """The field of a record that is a key of scene files, or whatever else has its declaration in this form.

    Parameters
    ----------
    text : str
        What it is, in one sentence.
    default : object, optional
    factory : callable, optional
        Makes the default.
    form : type
        Key, or a class of its own for what has more to say.
    **about
        Fields of the form.
    """
    about = {name: tuple(value) if name == "choices" else value for name, value in about.items()}
    return field(default=default, default_factory=factory, metadata={"key": form(text, **about)})


class Declared(NamedTuple):
    """A key of a record."""

    key: Any  #: a Key, or what its form is
    type: Any  #: its annotation
    default: Any  #: MISSING where a record cannot do without it

    @property
    def required(self) -> bool:
        """Whether files have to say it."""
        return self.default is MISSING or self.key.required


@cache
def declared(record: type) -> dict[str, Declared]:
    """The keys of a record, by name."""
    hints, found = get_type_hints(record), {}
    for entry in fields(record):
        if "key" in entry.metadata:
            default = entry.default if entry.default_factory is MISSING else entry.default_factory()
            found[entry.name] = Declared(entry.metadata["key"], hints[entry.name], default)
    return found


def is_given(value: Any, default: Any) -> bool:
    """Whether a key has another value than its default, empty lists and mappings apart."""
    if hasattr(value, "__len__") and not isinstance(value, str):
        return len(value) > 0
    return value is not None and (default is MISSING or bool(value != default))


def broken_conditions(record: Any) -> Any:
    """(key, what is wrong) of the conditions that the keys of one record put on each other."""
    cls: Any = type(record)
    noun = getattr(cls, "NOUN", cls.__name__.lower())
    for name, (about, _, default) in declared(cls).items():
        given = is_given(getattr(record, name), default)
        for other, values in about.only.items():
            value = getattr(record, other)
            if given and value not in values:
                remedy = f"leave it out, or set {other}: {alternatives(values)}"
                yield name, f"{with_article(noun)} of {other} {value} has no {name}; {remedy}"
        for other, values in about.needed.items():
            value = getattr(record, other)
            if not given and value in values:
                remedy = f"add {name}: {about.example or '...'}"
                yield name, f"{with_article(noun)} of {other} {value} needs {with_article(name)}; {remedy}"
        for other in about.beside:
            if given and not getattr(record, other):
                yield name, f"has no meaning without {with_article(other)} above zero; add it"
    for group in getattr(cls, "ONE_OF", ()):
        defaults = declared(cls)
        if not any(is_given(defaults[name].default, None) for name in group):  # else the reader knows what was written
            yield from broken_group(group, [name for name in group if is_given(getattr(record, name), None)])
    for group in getattr(cls, "AT_MOST_ONE", ()):
        yield from broken_group(group, [name for name in group if is_given(getattr(record, name), None)], needed=False)


def broken_group(group: tuple[str, ...], given: list[str], needed: bool = True) -> Any:
    """("", what is wrong) where not exactly one key of a group is given, or more than one."""
    if len(given) > 1:
        yield "", f"has {'both ' if len(group) == 2 else ''}{' and '.join(given)}; keep one of them"
    if needed and not given:
        yield "", f"the key '{group[0]}' is missing; give {alternatives(group)}"


def with_article(noun: str) -> str:
    """The noun with its article; plurals have none."""
    if noun.endswith("s") and not noun.endswith("ss"):
        return noun
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def alternatives(values: tuple[Any, ...]) -> str:
    """One, two or three, without None."""
    *most, last = [str(value) for value in values if value is not None]
    return f"{', '.join(most)} or {last}" if most else last

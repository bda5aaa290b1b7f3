# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Public docstrings: their examples run, their sections are there, signatures are annotated.

A function or method says what it takes, returns and raises, and shows an example; a method may leave the example to its
class.  Fields of result types carry comments (``#:``) with their shapes and units instead.  Of ``studies.sko``
annotations, parameters and results are asked for and no examples: docs/spatial_operators.md walks through it.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re

import numpy as np
import pytest

import mb_contact as mb
from each import of_each

pytestmark = pytest.mark.quick

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w.])")
ROOMS = (
    "dynamics", "errors", "gradients", "identification", "model", "simulation", "solvers", "studies", "surfaces",
    "worlds",
)  # fmt: skip
UNFAILING = {"surfaces.shapes.plane"}  #: functions without arguments that could be wrong
COUNTED = (property, classmethod, staticmethod)


def public_objects(*packages):
    """(name, object) of the public functions and classes of some packages, each once."""
    found = {}
    for module in packages:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isroutine(value) or inspect.isclass(value):
                found.setdefault(id(value), (f"{value.__module__.removeprefix('mb_contact.')}.{name}", value))
    return sorted(found.values())


def methods_of(classes):
    """(name, function, class) of the public methods and properties of some classes."""
    return [
        (f"{name}.{key}", inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member)), value)
        for name, value in classes
        for base in reversed(value.__mro__)
        if base.__module__.startswith("mb_contact.")
        for key, member in vars(base).items()
        if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, COUNTED))
    ]


def functions_of(objects):
    return [(name, inspect.unwrap(value)) for name, value in objects if not inspect.isclass(value)]


PACKAGES = [importlib.import_module(f"mb_contact.{room}") for room in ROOMS if room not in ("errors", "identification")]
OBJECTS = [(name, value) for name, value in public_objects(mb, *PACKAGES) if name.startswith(ROOMS)]
CLASSES = [(name, value) for name, value in OBJECTS if inspect.isclass(value)]
METHODS = methods_of(CLASSES)
FUNCTIONS = functions_of(OBJECTS)
SKO = public_objects(mb.studies.sko)
SKO_CLASSES = [(name, value) for name, value in SKO if inspect.isclass(value)]
SKO_FUNCTIONS = [
    *functions_of(SKO),
    *((name, method) for name, method, _ in methods_of(SKO_CLASSES)),
]


class Numbers(doctest.OutputChecker):
    """Output is right if its text is and its numbers are to eight digits; blanks and NumPy's scalar types are free."""

    def check_output(self, want, got, optionflags):
        want, got = (re.sub(r"np\.(?:\w+\(([^()]*)\)|(True|False)_)", r"\1\2", text) for text in (want, got))
        skeletons = [re.sub(r"\s", "", NUMBER.sub("#", text)) for text in (want, got)]
        values = [[float(number) for number in NUMBER.findall(text)] for text in (want, got)]
        return skeletons[0] == skeletons[1] and np.allclose(*values, rtol=1e-8, atol=1e-9)


def takes(function):
    """Parameters of a function but for self and cls."""
    return [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]


def has(function, section):
    return re.search(rf"^ *{section}\n *-+$", inspect.getdoc(function) or "", re.MULTILINE) is not None


def missing(function):
    """What a public function lacks, in words."""
    documentation = inspect.getdoc(function) or ""
    for parameter in takes(function):
        if parameter.annotation is parameter.empty:
            yield f"annotation of {parameter.name}"
        if not re.search(rf"^[\w*, ]*\b{parameter.name}\b", section(documentation, "Parameters"), re.MULTILINE):
            yield f"parameter {parameter.name}"
    returned = inspect.signature(function).return_annotation
    if returned is inspect.Signature.empty:
        yield "annotation of the result"
    elif returned not in ("None", None) and not has(function, "Returns"):
        yield "Returns"


def section(documentation, title):
    """Text of one section of a NumPy docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", documentation, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


@of_each(FUNCTIONS)
def test_functions_are_annotated_and_documented(name, function):
    lacks = [*missing(function), *(title for title in ("Raises", "Examples") if not has(function, title))]
    lacks = [what for what in lacks if name not in UNFAILING or what != "Raises"]
    assert not lacks, f"{name}: {', '.join(lacks)}"


@of_each(METHODS)
def test_methods_are_annotated_and_documented(name, method, owner):
    lacks = list(missing(method))
    call = rf"\.{name.split('.')[-1]}\b"
    examples = [section(inspect.getdoc(base) or "", "Examples") for base in owner.__mro__[:-1]]
    used = any(re.search(call, text) for text in examples)
    if not has(method, "Examples") and not used:
        lacks.append("example")
    if re.search(r"^\s+raise \w", inspect.getsource(method), re.MULTILINE) and not has(method, "Raises"):
        lacks.append("Raises")
    assert not lacks, f"{name}: {', '.join(lacks)}"


@of_each(SKO_FUNCTIONS)
def test_functions_of_sko_models_are_annotated_and_say_what_they_take(name, function):
    assert not list(missing(function)), name


@of_each(SKO_CLASSES)
def test_constructors_of_sko_models_are_annotated(name, cls):
    own = vars(cls).get("__init__")
    assert not inspect.isfunction(own) or not list(missing_arguments(cls, own)), name


@of_each(CLASSES)
def test_classes_are_documented(name, cls):
    assert has(cls, "Examples"), name
    own = vars(cls).get("__init__")
    if inspect.isfunction(own) and not hasattr(cls, "__dataclass_fields__"):
        lacks = [what for what in missing_arguments(cls, own)]
        assert not lacks, f"{name}: {', '.join(lacks)}"


def missing_arguments(cls, constructor):
    """Parameters of a constructor without annotation, or without a word in the docstring of it or its class."""
    text = section(inspect.getdoc(constructor) or "", "Parameters") + section(inspect.getdoc(cls), "Parameters")
    for parameter in takes(constructor):
        if parameter.annotation is parameter.empty:
            yield f"annotation of {parameter.name}"
        if not re.search(rf"^[\w*, ]*\b{parameter.name}\b", text, re.MULTILINE):
            yield f"parameter {parameter.name}"


@pytest.mark.parametrize("name, value", OBJECTS, ids=[name for name, _ in OBJECTS])
def test_examples_run(name, value):
    run_examples(doctest.DocTestFinder(), value if inspect.isclass(value) else inspect.unwrap(value), name)


@pytest.mark.parametrize("room", ["", ".surfaces"])
def test_examples_of_packages_run(room):
    package = importlib.import_module(f"mb_contact{room}")
    run_examples(doctest.DocTestFinder(recurse=False), package, package.__name__)


def run_examples(finder, value, name):
    heard = []
    for case in finder.find(value, name, globs={"mb": mb, "np": np}):
        runner = doctest.DocTestRunner(checker=Numbers(), verbose=False)
        runner.run(case, out=heard.append)
    assert not heard, "".join(heard)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which fields of their arguments kernels read and write, found in the syntax trees of ``mb_contact/core``.

Names are followed through assignments (``work = h.work``), tuples, rows of arrays and calls of other kernels, whose own
arguments are followed in the same way.  What a call returns is no alias of its arguments.

    python test/oracles/handle_fields.py mb_contact/core/step/problem.py     # of the stages of a file
"""

from __future__ import annotations

import ast
import functools
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
KERNELS = {"kernel", "part", "on_demand", "sweep"}
SIZES = {"shape", "size", "ndim"}


class Effects(NamedTuple):
    """Paths (argument, field, field ...) that a kernel reads and writes."""

    reads: frozenset
    writes: frozenset


NONE = Effects(frozenset(), frozenset())


@functools.cache
def module(name):
    """(functions, imported names) of a module of ``mb_contact.core``; None of another."""
    path = ROOT / (name.replace(".", "/") + ".py")
    if not name.startswith("mb_contact.core") or not path.exists():
        return None
    functions, imported = {}, {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    return functions, imported


def is_kernel(function):
    """Whether a function is compiled."""
    return any(getattr(getattr(d, "func", d), "id", "") in KERNELS for d in function.decorator_list)


def callee(home, call):
    """(module, name) of the function that a call in module ``home`` names, or None."""
    functions, imported = module(home)
    if isinstance(call, ast.Name):
        found = (home, call.id) if call.id in functions else imported.get(call.id)
    elif isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name) and call.value.id in imported:
        found = (".".join(imported[call.value.id]), call.attr)
    else:
        return None
    inside = found and module(found[0])
    return found if inside and found[1] in inside[0] else None


@functools.cache
def effects(home, name):
    """Effects of a function."""
    return _Body(home, module(home)[0][name]).found()


class _Body:
    """One function, statement by statement."""

    def __init__(self, home, function):
        self._home, self._function = home, function
        self._names = {a.arg: {(i,)} for i, a in enumerate(function.args.args)}
        self._reads, self._writes = set(), set()

    def found(self):
        for _ in range(2):  # names of a loop's end are known at its start
            for statement in self._function.body:
                self._visit(statement)
        return Effects(frozenset(self._reads), frozenset(self._writes))

    def _paths(self, node):
        """Paths that an expression may be an alias of."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, set())
        if isinstance(node, ast.Attribute):
            return {path + (node.attr,) for path in self._paths(node.value)} if node.attr not in SIZES else set()
        if isinstance(node, ast.Subscript):
            return self._paths(node.value)
        if isinstance(node, ast.IfExp):
            return self._paths(node.body) | self._paths(node.orelse)
        return set()

    def _visit(self, node):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._read(node.target)
            self._read(node.value)
            self._assign(node.target, None)
        elif isinstance(node, ast.expr):
            self._read(node)
        else:
            for child in ast.iter_child_nodes(node):
                self._visit(child)

    def _assign(self, target, value):
        if isinstance(target, ast.Tuple):
            values = value.elts if isinstance(value, ast.Tuple) else [None] * len(target.elts)
            if value is not None and not isinstance(value, ast.Tuple):
                self._read(value)
            for one, part in zip(target.elts, values):
                self._assign(one, part)
        elif isinstance(target, ast.Subscript):
            self._writes |= self._paths(target.value)
            self._read(target.slice)
            if value is not None:
                self._read(value)
        elif isinstance(target, ast.Name) and value is not None:
            paths = self._paths(value)
            self._names[target.id] = self._names.get(target.id, set()) | paths
            if not paths or isinstance(value, ast.Subscript):
                self._read(value)

    def _read(self, node):
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, (ast.Attribute, ast.Name, ast.Subscript)):
            self._reads |= {path for path in self._paths(node) if len(path) > 1 or isinstance(node, ast.Subscript)}
            for part in ast.walk(node):
                if isinstance(part, ast.Subscript):
                    self._read(part.slice)
        else:
            for child in ast.iter_child_nodes(node):
                self._read(child)

    def _call(self, node):
        found = callee(self._home, node.func)
        known = effects(*found) if found else NONE
        for i, argument in enumerate(node.args):
            paths = self._paths(argument)
            if not paths:
                self._read(argument)
            for path in paths:
                self._reads |= {path + rest[1:] for rest in known.reads if rest[0] == i}
                self._writes |= {path + rest[1:] for rest in known.writes if rest[0] == i}
            through = [rest for rest in known.writes if rest[0] == i]
            if paths and (found is None or (isinstance(argument, ast.Subscript) and not through)):
                self._read(argument)


def fields(home, name):
    """(read, written) fields of the handle that a stage takes first, both sorted."""
    return [sorted({path[1] for path in paths if path[0] == 0 and len(path) > 1}) for paths in effects(home, name)]


def sentence(home, name):
    """What a stage's docstring says of its fields."""
    words = zip(("Reads", "Writes"), fields(home, name))
    return "  ".join(f"{word}: {', '.join(found) or 'nothing'}." for word, found in words)


def stages(home):
    """Names of the kernels of a module that take the handle of a step first and write to it, but for private ones."""
    found = []
    for name, node in module(home)[0].items():
        taken = [a.arg for a in node.args.args[:1]] if is_kernel(node) and not name.startswith("_") else []
        found += [name] if taken == ["h"] and fields(home, name)[1] else []
    return found


if __name__ == "__main__":
    for file in sys.argv[1:]:
        home = file.removesuffix(".py").replace("/", ".")
        for name in stages(home):
            print(f"{home}.{name}: {sentence(home, name)}")

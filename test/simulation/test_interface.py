# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The node, the view and the replay call every simulator alike, that of smooth surfaces and a Simulator."""

from __future__ import annotations

import ast
import inspect

import pytest

import mb_contact as mb
from mb_contact.simulation import SurfaceSimulator
from paths import ROOT
from ros.fake_simulator import FakeSimulator

pytestmark = pytest.mark.quick


def takes(function):
    """Parameters of a function: names, and whether they may be left out."""
    return [(p.name, p.default) for p in inspect.signature(function).parameters.values()]


def methods(kind):
    """Public functions of a class by name, those of its bases included."""
    return {name: f for base in reversed(kind.__mro__) for name, f in vars(base).items()
            if inspect.isfunction(f) and not name.startswith("_")}  # fmt: skip


@pytest.mark.parametrize("kind", [SurfaceSimulator, FakeSimulator])
def test_every_simulator_is_called_as_a_simulator_is(kind):
    whole, shared = methods(mb.Simulator), 0
    for name, function in methods(kind).items():
        if name in whole:
            here, shared = takes(function), shared + 1
            assert takes(whole[name])[: len(here)] == here, name
    assert shared > 10


def test_what_users_call_there_is():
    """Every attribute that the node, the view and the replay read of a simulator, a Simulator has."""
    simulator = mb.Simulator(ROOT / "config" / "four_bar.yaml")
    package, unknown = ROOT / "mb_contact", set()
    for path in [*package.glob("ros/**/*.py"), package / "viewer" / "player.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute):
                continue
            owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
            if owner in ("simulator", "_simulator") and not hasattr(simulator, node.attr):
                unknown.add(f"{path.relative_to(package)}: {node.attr}")
    assert not unknown


def test_what_things_are_is_said_in_a_line():
    sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    scene = "Scene('box_on_table.yaml', models=0, primitives=2, time_step=0.001)"
    assert repr(sim) == f"Simulator({scene}, joints=0, time=0)"
    assert repr(sim.step()).startswith("Step(time=0.001, contacts=4, residual=")
    assert repr(mb.Worlds(sim.scene, 3, threads=1)) == f"Worlds({scene}, count=3, threads=1)"

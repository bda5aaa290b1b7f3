# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Simulators keep to the interface that the node, the view and the replay rely on."""

from __future__ import annotations

import ast
import inspect

import pytest

import mb_contact as mb
from mb_contact.simulation import SurfaceSimulator
from mb_contact.simulation.interface import AnySimulator, SceneSimulator, SimulatedScene, SimulatedWorld
from paths import ROOT
from ros.fake_simulator import FakeSimulator

SIMULATORS = {
    "Simulator": (SceneSimulator, lambda: mb.Simulator(ROOT / "config" / "four_bar.yaml")),
    "surfaces": (AnySimulator, lambda: SurfaceSimulator(ROOT / "config" / "ball_in_dish.yaml")),
    "surfaces in a tree": (AnySimulator, lambda: SurfaceSimulator(ROOT / "config" / "three_patches.yaml")),
    "the fake one of the tests": (AnySimulator, FakeSimulator),
}  # fmt: skip


def fields(protocol):
    """Names that a protocol annotates, those of its bases included."""
    return {name for base in protocol.__mro__ for name in inspect.get_annotations(base)}


def methods(protocol):
    """Functions of a protocol by name, those of its bases included."""
    return {name: f for base in protocol.__mro__ for name, f in vars(base).items()
            if inspect.isfunction(f) and not name.startswith("_")}  # fmt: skip


def takes(function):
    """Parameters behind ``self``: names, and whether they may be left out."""
    parameters = list(inspect.signature(function).parameters.values())
    return [(p.name, p.default) for p in parameters if p.name != "self"]


@pytest.mark.parametrize("name", SIMULATORS)
def test_simulators_satisfy_their_interface(name):
    protocol, make = SIMULATORS[name]
    simulator = make()
    assert isinstance(simulator, protocol)
    assert not [field for field in fields(SimulatedWorld) if not hasattr(simulator.world, field)]
    assert not [field for field in fields(SimulatedScene) if not hasattr(simulator.scene, field)]
    for method, declared in methods(protocol).items():
        wanted, here = takes(declared), takes(getattr(simulator, method))
        assert here[: len(wanted)] == wanted, method
        assert all(default is not inspect.Parameter.empty for _, default in here[len(wanted) :]), method


def test_the_interface_is_what_its_users_call():
    """Every attribute that the node, the view and the replay read of a simulator stands in the interface."""
    known, package, unknown = fields(SceneSimulator) | set(methods(SceneSimulator)), ROOT / "mb_contact", set()
    for path in [*package.glob("ros/**/*.py"), package / "viewer" / "player.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute):
                continue
            owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
            if owner in ("simulator", "_simulator") and node.attr not in known:
                unknown.add(f"{path.relative_to(package)}: {node.attr}")
    assert not unknown


def test_what_things_are_is_said_in_a_line():
    sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    scene = "Scene('box_on_table.yaml', models=0, primitives=2, time_step=0.001)"
    assert repr(sim) == f"Simulator({scene}, joints=0, time=0)"
    assert repr(sim.step()).startswith("Step(time=0.001, contacts=4, residual=")
    assert repr(mb.Worlds(sim.scene, 3, threads=1)) == f"Worlds({scene}, count=3, threads=1)"

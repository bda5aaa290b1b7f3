# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The page of the node's options and the file of its parameters are what is declared, and their examples can be set."""

from __future__ import annotations

import argparse
from dataclasses import replace

import pytest

from mb_contact.keys.kinds import described
from mb_contact.keys.page import example_of
from mb_contact.ros.main import add_run_arguments, options_from_arguments
from mb_contact.ros.options import DESCRIPTIONS, NodeOptions, RunOptions
from mb_contact.ros.reference import parameter_file, text
from paths import ROOT


def parsed(*words):
    parser = argparse.ArgumentParser()
    add_run_arguments(parser)
    return options_from_arguments(parser.parse_args(["scene.yaml", *words]))


def test_the_page_and_the_file_are_those_of_the_declarations():
    command = "python -m mb_contact.ros.reference"
    assert (ROOT / "docs" / "node_reference.md").read_text(encoding="utf-8") == text(), command
    assert (ROOT / "config" / "node.yaml").read_text(encoding="utf-8") == parameter_file(), f"{command} --parameters"


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_an_example_is_another_value_that_can_be_set(name):
    default, value = getattr(NodeOptions(), name), example_of(described(NodeOptions, name))
    assert type(value) is type(default) and value != default
    assert replace(NodeOptions(), **{name: value}).checked()
    assert len(DESCRIPTIONS[name].text) > 10


@pytest.mark.parametrize("words, name, value", [
    ("--duration 10", "duration", 10.0), ("--record run.mcap", "record", "run.mcap"),
    ("--record-all", "record_bulky", True), ("--name arm", "name", "arm"),
    ("--backend embedded", "backend", "embedded"), ("--namespace left", "namespace", "left"),
])  # fmt: skip
def test_flags_of_a_run(words, name, value):
    assert parsed(*words.split()) == replace(RunOptions(), **{name: value})


def test_flags_of_parameters_set_them():
    assert parsed("--lockstep", "--as-fast-as-possible").node == NodeOptions(lockstep=True, real_time_factor=0.0)
    assert parsed() == RunOptions()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The page of the node's options and the file of its parameters are what is declared, and their examples can be set."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace

import pytest
import yaml

from mb_contact.ros.main import add_run_arguments, options_from_arguments
from mb_contact.ros.options import DESCRIPTIONS, NodeOptions, RunOptions
from mb_contact.ros.reference import example_of, page, parameter_file
from paths import ROOT


def test_the_page_and_the_file_are_those_of_the_declarations():
    command = "python -m mb_contact.ros.reference"
    assert (ROOT / "docs" / "node_reference.md").read_text(encoding="utf-8") == page(), command
    assert (ROOT / "config" / "node.yaml").read_text(encoding="utf-8") == parameter_file(), f"{command} --parameters"


@pytest.mark.parametrize("entry", fields(NodeOptions), ids=lambda entry: entry.name)
def test_an_example_is_another_value_that_can_be_set(entry):
    default = getattr(NodeOptions(), entry.name)
    name, _, text = example_of(entry, default).partition(":=")
    value = yaml.safe_load(text)
    assert name == entry.name and type(value) is type(default) and value != default
    assert replace(NodeOptions(), **{name: value}).checked()
    assert len(DESCRIPTIONS[name].text) > 10


@pytest.mark.parametrize("entry", [f for f in fields(RunOptions) if "about" in f.metadata], ids=lambda entry: entry.name)
def test_an_example_of_a_run_is_a_flag(entry):
    parser, default = argparse.ArgumentParser(), getattr(RunOptions(), entry.name)
    add_run_arguments(parser)
    options = options_from_arguments(parser.parse_args(["scene.yaml", *example_of(entry, default).split()]))
    assert getattr(options, entry.name) not in (default, None)
    assert replace(options, **{entry.name: default}) == RunOptions()


def test_flags_of_parameters_set_them():
    parser = argparse.ArgumentParser()
    add_run_arguments(parser)
    arguments = parser.parse_args(["scene.yaml", "--lockstep", "--as-fast-as-possible"])
    assert options_from_arguments(arguments).node == NodeOptions(lockstep=True, real_time_factor=0.0)
    assert options_from_arguments(parser.parse_args(["scene.yaml"]), ["--ros-args"]).ros_args == ("--ros-args",)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Expectations as a file: what it may hold, its schema, and errors that name line and key."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml

from mb_contact.errors import MbContactError
from mb_contact.testing import load_plan
from mb_contact.testing.plan import plan_schema
from paths import ROOT

FULL = """
scene: package://mb_contact/config/drumwright_grasp.yaml
controllers: ["python jaws.py"]
duration: 2.0
joints: [left_jaw_joint]
parameters: {command_timeout_policy: zero}
events:
- {at: 0.5, push: box_left, force: [0, 20, 0], lasting: 0.1}
- {at: 0.6, spawn: ball, text: "{shape: sphere, size: [0.05], mass: 0.5}", position: [0, 0, 3]}
- {at: 0.7, reset: true}
- {at: 0.8, restart: 1}
expect:
- {height: box_left, above: start, least: -0.01, name: it stays}
- {held: box_left, by: [left_jaw, box_right], least: 5, after: 0.2}
- {touch: box_left, by: box_right, is: true, at: end}
- {certificate: penetration, most: 1.0e-4}
- {told: /gripper, type: std_msgs/msg/String, value: closed, within: 1.5}
draw:
- {mass: box_left, factor: [0.5, 1.5]}
- {position: box_left, offset: [[0, -0.01, 0], [0, 0.01, 0]]}
- {delay: commands, value: [0, 0.02]}
trials: 10
rate: 0.9
"""


def write(folder, text):
    path = folder / "grasp.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_everything(tmp_path):
    plan = load_plan(write(tmp_path, FULL), duration=3.0)
    assert plan.duration == 3.0 and plan.trials == 10 and plan.rate == 0.9 and plan.folder == tmp_path
    assert [event.kind for event in plan.conditions.events] == ["push", "spawn", "reset", "restart"]
    assert plan.conditions.events[0].fields["wrench"] == [0.0, 0.0, 0.0, 0.0, 20.0, 0.0]
    assert plan.expectations[0].title == "it stays" and plan.expectations[2].check.low == 1.0
    assert plan.expectations[3].check.text == "the penetration of the certificate is at most 0.0001"
    assert plan.draws[2].of == "commands" and plan.draws[1].high == [0, 0.01, 0]
    assert plan.options.command_timeout_policy == "zero" and plan.options.lockstep_timeout == 0.0


def test_the_schema_is_published_and_takes_the_file():
    published = json.loads((ROOT / "config" / "expectations.schema.json").read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(plan_schema()))
    jsonschema.Draft202012Validator(published).validate(yaml.safe_load(FULL))
    for file in (ROOT / "examples" / "manipulation_tests").rglob("expectations/*.yaml"):
        jsonschema.Draft202012Validator(published).validate(yaml.safe_load(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "line, words",
    [
        ("expect: [{hight: box, least: 1}]", "names no quantity; one of: height"),
        ("expect: [{height: box}]", "needs 'least' or 'most' [m]"),
        ("expect: [{height: box, least: 1, abov: start}]", "did you mean 'above'?"),
        ("expect: [{touch: box, least: 1}]", "is: true"),
        ("expect: [{height: box, least: 1, lasting: 2}]", "no 'within'"),
        ("expect: [{height: box, least: high}]", "must be a number"),
        ("events: [{at: 1.0, pull: box}]", "nothing that can happen: push, spawn"),
        ("draw: [{mass: box, factor: 2}]", "must be a list of two"),
        ("draw: [{mass: box, factor: [2, 1]}]", "must not be above"),
        ("durations: 3", "did you mean 'duration'?"),
        ("duration: -3", "must be greater than 0"),
    ],
)
def test_errors_name_file_line_and_remedy(tmp_path, line, words):
    second = "" if "duration" in line else "duration: 1.0"
    path = write(tmp_path, f"scene: a.yaml\n{second}\n{line}\n")
    with pytest.raises(MbContactError) as caught:
        load_plan(path)
    assert f"{path}:3: " in str(caught.value) and words in str(caught.value), caught.value


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(MbContactError, match="needs a scene"):
        load_plan(write(tmp_path, "duration: 1.0\n"))
    with pytest.raises(MbContactError, match="needs a 'duration'"):
        load_plan(write(tmp_path, "scene: a.yaml\n"))
    with pytest.raises(MbContactError, match="cannot be read as expectations"):
        load_plan(tmp_path / "none.yaml")

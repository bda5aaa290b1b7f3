# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The published schema of scenes is what the readers accept.

Covers model/scene/records.py, surfaces/scene_schema.py.
"""

from __future__ import annotations

import json

import pytest
import yaml

from mb_contact.model.scene.schema import schema_text
from mb_contact.surfaces import scene_schema
from scenes.scene_files import GOOD, WRONG
from scenes.shipped_scenes import CONFIG, SCENES, SURFACE_SCENES
from scenes.surface_scene_files import GOOD as GOOD_SURFACES, TREE, WRONG as WRONG_SURFACES, WRONG_TREE

pytestmark = pytest.mark.quick

#: Wrong in a way that no single key shows, or that concerns the text of the file.
BEYOND = {
    "twice", "both rotations", "no unit quaternion", "size of another shape", "no size", "free without mass",
    "free plane", "two bodies of one name", "no such material", "undefined in links", "control period", "not yaml",
    "tab", "no friction", "infinite", "rolling", "friction",
}  # fmt: skip


def plain(text):
    """The values of a scene as an editor sees them: YAML 1.2 reads 1e-3 as a number."""

    def value(node):
        if isinstance(node, yaml.MappingNode):
            return {key.value: value(item) for key, item in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [value(item) for item in node.value]
        try:
            return json.loads(node.value) if node.style is None else node.value
        except json.JSONDecodeError:
            return node.value or None

    return value(yaml.compose(text, Loader=yaml.SafeLoader))


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_published_schema_is_that_of_the_readers():
    message = "python -m mb_contact.model.scene.schema > config/scene.schema.json"
    assert (CONFIG / "scene.schema.json").read_text() == schema_text(), message


@pytest.mark.parametrize("file", SCENES)
def test_shipped_scenes_pass(file, validator):
    validator.validate(plain((CONFIG / file).read_text()))


@pytest.fixture(scope="module")
def surface_validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(scene_schema.schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_published_schema_of_surfaces_is_that_of_the_readers():
    message = "python -m mb_contact.surfaces.scene_schema > config/surface_scene.schema.json"
    assert (CONFIG / "surface_scene.schema.json").read_text() == scene_schema.schema_text(), message


@pytest.mark.parametrize("file", SURFACE_SCENES)
def test_shipped_scenes_of_surfaces_pass(file, surface_validator):
    surface_validator.validate(plain((CONFIG / file).read_text()))


@pytest.mark.parametrize("text", [GOOD_SURFACES, TREE], ids=["motion", "tree"])
def test_every_key_of_surfaces_passes(text, surface_validator):
    surface_validator.validate(plain(text))


@pytest.mark.parametrize(
    ("text", "cases", "case"),
    [(GOOD_SURFACES, WRONG_SURFACES, case) for case in ("unknown key", "negative", "no body")]
    + [(TREE, WRONG_TREE, case) for case in ("unknown key", "no mass")],
)
def test_what_the_readers_of_surfaces_refuse_an_editor_marks(text, cases, case, surface_validator):
    old, new, _ = cases[case]
    assert not surface_validator.is_valid(plain(text.replace(old, new, 1)))


def test_every_key_passes(validator):
    validator.validate(plain(GOOD))


@pytest.mark.parametrize("case", sorted(WRONG.keys() - BEYOND))
def test_what_the_readers_refuse_an_editor_marks(case, validator):
    old, new, _ = WRONG[case]
    assert not validator.is_valid(plain(GOOD.replace(old, new, 1)))

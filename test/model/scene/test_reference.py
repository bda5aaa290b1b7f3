# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The reference pages of scene keys are what their declarations say, and what they show can be read.

Covers keys/page.py, surfaces/scene_reference.py.
"""

from __future__ import annotations

import re

import pytest
import yaml

from mb_contact.keys.kinds import described, kinds
from mb_contact.keys.page import example_of
from mb_contact.model.scene import reference
from mb_contact.model.scene.reader import Reader
from mb_contact.model.scene.records import SceneFile
from mb_contact.model.scene.schema import scene_schema
from mb_contact.surfaces import scene_reference
from mb_contact.surfaces.scene_file import KEYS, SurfaceFile
from mb_contact.surfaces.scene_schema import surface_scene_schema
from paths import ROOT

PAGES = {"scene_reference": reference.text(), "surface_reference": scene_reference.text()}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_that_of_the_declarations(name):
    assert (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") == PAGES[name], "written by the command on it"


def all_keys(schema, place=""):
    """(place, schema) of all keys within a schema."""
    for name, about in schema.get("properties", {}).items():
        yield f"{place}.{name}", about
    for name, about in schema.items():
        for entry in about if isinstance(about, list) else [about]:
            if isinstance(entry, dict):
                yield from all_keys(entry, f"{place}.{name}")


@pytest.mark.parametrize("schema", [scene_schema(), surface_scene_schema()], ids=["scene", "surfaces"])
def test_every_key_has_a_sentence_and_an_example(schema):
    found = list(all_keys(schema))
    assert len(found) > 200
    for place, about in found:
        assert re.match(r"[A-Z.].*\.", about["description"]), place
        assert example_of(about) is not None, place


@pytest.mark.parametrize("name, kind", [*kinds(SceneFile).items(), *KEYS.items()])
def test_examples_are_read(name, kind):
    """Each example and, through it, those of the records that it is made of."""
    about = described(SurfaceFile if name in KEYS else SceneFile, name)
    kind.read(Reader(ROOT / "scene.yaml"), yaml.compose(yaml.safe_dump(example_of(about))), name)

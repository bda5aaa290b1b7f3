# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The JSON Schema of scene files, made from their readers: editors complete and check with it.

``python -m mb_contact.model.scene_schema > config/scene.schema.json`` writes the published file.  A scene names it in
its first line: ``# yaml-language-server: $schema=scene.schema.json``.
"""

import json
import sys
from dataclasses import MISSING, fields

from mb_contact.model.scene import Scene
from mb_contact.model.scene_yaml import SCENE_READERS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scene_schema():
    """The schema of a whole scene file, as a dict of plain JSON values.

    It says what a reader can say of one key; what concerns several keys at once (names, materials, periods) is
    left to ``mb-contact check``.
    """
    properties = {key: schema_of(read) for key, read in SCENE_READERS.items()}
    for entry in fields(Scene):
        if entry.name in properties and entry.default is not MISSING and _plain(entry.default):
            properties[entry.name]["default"] = entry.default
    return {"$schema": DIALECT, "title": "mb_contact scene", "type": "object", "properties": properties,
            "additionalProperties": False}


def schema_of(read):
    """What one reader accepts, with the readers inside it; a reader must have been described."""
    if callable(read):
        if not hasattr(read, "schema"):
            raise TypeError(f"the reader {read.__qualname__} needs a schema: scene_yaml.described(read, type=...)")
        read = read.schema
    if isinstance(read, dict):
        return {key: schema_of(value) for key, value in read.items()}
    if isinstance(read, (list, tuple)):
        return [schema_of(value) for value in read]
    return read


def _plain(value):
    return isinstance(value, (str, int, float))


def schema_text():
    """The published file."""
    return json.dumps(scene_schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())

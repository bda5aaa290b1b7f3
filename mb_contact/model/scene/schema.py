# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The JSON Schema of scene files, made from the declarations of their keys: editors complete and check with it.

``python -m mb_contact.model.scene.schema > config/scene.schema.json`` writes the published file.  A scene names it in
its first line: ``# yaml-language-server: $schema=scene.schema.json``.
"""

import json
import sys
from typing import Any

from mb_contact.keys.declaration import Key
from mb_contact.keys.kinds import Record
from mb_contact.model.scene.records import SceneFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scene_schema() -> dict[str, Any]:
    """The schema of a whole scene file, as a dict of plain JSON values.

    It says what can be said of one key; what concerns several keys at once (names, materials, periods) is left to
    ``mb-contact check``.
    """
    return {"$schema": DIALECT, **Record(Key(""), SceneFile).schema(), "title": "mb_contact scene"}


def schema_text() -> str:
    """The published file."""
    return json.dumps(scene_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The JSON Schema of scenes of surfaces, made from the declarations of their keys.

``python -m mb_contact.surfaces.scene_schema > config/surface_scene.schema.json`` writes the published file.
"""

import json
import sys

from mb_contact.keys.kinds import described
from mb_contact.model.scene.records import SceneFile
from mb_contact.model.scene.schema import DIALECT
from mb_contact.surfaces.scene_file import KEYS, READERS, SurfaceFile


def surface_scene_schema():
    """The schema of a scene of surfaces, one body on a base or contacts in a tree, as a dict of plain JSON values."""
    return {"$schema": DIALECT, "title": "mb_contact scene of surfaces", "oneOf": [
        {"type": "object",
         "properties": {name: described(SurfaceFile if name in KEYS else SceneFile, name) for name in keys},
         "required": [key], "additionalProperties": False}
        for key, keys in READERS.items()
    ]}  # fmt: skip


def schema_text():
    """The published file."""
    return json.dumps(surface_scene_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())

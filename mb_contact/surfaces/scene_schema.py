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
from mb_contact.surfaces.scene_file import KEYS, READERS, TREE_KEY, SurfaceFile


def surface_scene_schema():
    """The schema of a scene of surfaces as a dict of plain JSON values."""
    properties = {name: described(SurfaceFile if name in KEYS else SceneFile, name) for name in READERS}
    about = {"$schema": DIALECT, "title": "mb_contact scene of surfaces", "type": "object"}
    return {**about, "properties": properties, "required": [TREE_KEY], "additionalProperties": False}


def schema_text():
    """The published file."""
    return json.dumps(surface_scene_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())

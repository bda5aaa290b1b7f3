# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The reference page of scene keys, made from their declarations.

``python -m mb_contact.model.scene.reference > docs/scene_reference.md`` writes it.
"""

import sys

from mb_contact.keys.page import page
from mb_contact.model.scene.schema import scene_schema

HEAD = """# Scene keys

All keys of scene files, made from their declarations by `python -m mb_contact.model.scene.reference`; the same stand
in `config/scene.schema.json`, from which editors complete. Units are SI. What is left out has its default; keys in
**bold** must be there. Examples are YAML. [The scene library](scenes.md) has whole files.
"""


def text() -> str:
    """The page."""
    return page(HEAD, scene_schema())


if __name__ == "__main__":
    sys.stdout.write(text())

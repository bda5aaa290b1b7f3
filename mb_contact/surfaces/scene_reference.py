# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The reference page of the keys that scenes of surfaces have beside others.

``python -m mb_contact.surfaces.scene_reference > docs/surface_reference.md`` writes it.
"""

import sys

from mb_contact.keys.declaration import Key
from mb_contact.keys.kinds import Record
from mb_contact.keys.page import page
from mb_contact.surfaces.scene_file import SurfaceFile

HEAD = """# Keys of scenes of surfaces

What [scenes of smooth bodies](surfaces.md) have beside [the keys of other scenes](scene_reference.md), made from the
declarations by `python -m mb_contact.surfaces.scene_reference`. Units are SI; keys in **bold** must be there.
"""


def text():
    """The page."""
    return page(HEAD, Record(Key(""), SurfaceFile).schema())


if __name__ == "__main__":
    sys.stdout.write(text())

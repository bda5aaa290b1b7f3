# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Names of the scene files of config/, which also holds the parameters of a node."""

from __future__ import annotations

from mb_contact.surfaces.scene_file import is_surface_scene
from paths import CONFIG

_SCENES = [path for path in sorted(CONFIG.glob("*.yaml")) if "ros__parameters" not in path.read_text(encoding="utf-8")]
SURFACE_SCENES = [path.name for path in _SCENES if is_surface_scene(path)]
SCENES = [path.name for path in _SCENES if not is_surface_scene(path)]

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""MJCF, MuJoCo's format: models turned into scenes with URDFs and meshes, and scenes turned into models."""

from mb_contact.model.mjcf.exporter import export_mjcf
from mb_contact.model.mjcf.importer import ImportedScene, import_mjcf

__all__ = ["ImportedScene", "export_mjcf", "import_mjcf"]

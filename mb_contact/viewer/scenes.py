# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scenes that a page offers: those that the package ships, and the one that the command named."""

from pathlib import Path

from mb_contact.model.resources import find_resource

NODE = "node.yaml"  #: a file beside the scenes that is none
NOT_A_SCENE = "ros__parameters"


def shipped_scenes() -> dict[str, Path]:
    """Scene files of the package by name."""
    folder = find_resource(f"package://mb_contact/config/{NODE}").parent
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml"))}
    return {path.stem: path for path, text in texts.items() if NOT_A_SCENE not in text}


def about(path: Path) -> str:
    """The first sentence of the comment at the top of a scene file."""
    lines = [line[1:].strip() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    words = " ".join(line for line in lines if not line.startswith(("Copyright", "SPDX", "yaml-language-server")))
    return words.strip().split(". ")[0].rstrip(".")

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the tree can be released: one version everywhere, an entry of the changelog, nothing uncommitted.

    python .ci/check_release.py [folder]
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

PLACES = {
    "CITATION.cff": r"^version: (\S+)$",
    "mb_contact/__init__.py": r'^__version__ = "(\S+)"$',
    "CHANGELOG.md": r"^## (\S+)$",  # the first is the newest
}


def version_of(root):
    """The version that ``package.xml`` has."""
    return ElementTree.parse(root / "package.xml").getroot().findtext("version")


def faults(root):
    """Sentences that say what is in the way of a release."""
    version, found = version_of(root), []
    for name, pattern in PLACES.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        other = match and match[1]
        if other != version:
            found.append(f"{name} has version {other}, package.xml {version}: make them the same")
    command = ["git", "-C", str(root), "status", "--porcelain"]
    changed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    if changed:
        found.append(f"{len(changed)} files are not committed, the first: {changed[0]}; commit or remove them")
    return found


if __name__ == "__main__":
    FAULTS = faults(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(FAULTS) or "the tree can be released")
    sys.exit(bool(FAULTS))

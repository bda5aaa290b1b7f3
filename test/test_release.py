# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What .ci/check_release.py finds in the way of a release."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / ".ci"))
import check_release  # noqa: E402 (a program, not a package)

VERSION = check_release.version_of(ROOT)
NAMES = ("package.xml", *check_release.PLACES)


@pytest.fixture
def tree(tmp_path):
    """A copy of the files that have the version, committed."""
    for name in NAMES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    return tmp_path


def test_this_tree_has_one_version(tree):
    assert check_release.faults(tree) == []


@pytest.mark.parametrize("name", check_release.PLACES)
def test_another_version_anywhere_is_in_the_way(tree, name):
    file = tree / name
    file.write_text(file.read_text(encoding="utf-8").replace(VERSION, "99.9.9", 1), encoding="utf-8")
    found = check_release.faults(tree)
    assert found[0] == f"{name} has version 99.9.9, package.xml {VERSION}: make them the same"
    assert found[1].startswith("1 files are not committed, the first: ")

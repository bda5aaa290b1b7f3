# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which test covers a file of the package: the one of its name, and those whose docstring ends with ``Covers …``.

``python test/covers.py`` prints the tests of all files that differ from the branch main, or from the last commit.
"""

from __future__ import annotations

import ast
import re
import subprocess
from fnmatch import fnmatch
from functools import cache

from paths import ROOT

PACKAGE, TESTS = ROOT / "mb_contact", ROOT / "test"


@cache
def covers(test):
    """What a test says that it covers: files and patterns below ``mb_contact/``."""
    words = ast.get_docstring(ast.parse(test.read_text(encoding="utf-8"))) or ""
    found = re.search(r"^Covers ([^:]+)\.\Z", words, re.MULTILINE)
    return tuple(re.split(r",\s+", found[1])) if found else ()


def is_of_its_name(test, file):
    """Whether ``test_x.py`` stands where the file ``x.py`` does, or in a folder above it, but no higher than its room.

    Both are relative, to ``test/`` and to ``mb_contact/``.
    """
    folders, above = file.parent.parts, test.parent.parts
    return test.name == f"test_{file.name}" and folders[: len(above)] == above and bool(above) == bool(folders)


def tests_of(file, tests):
    """Those that cover a file; ``file`` is relative to ``mb_contact/``."""
    return [test for test in tests
            if (test.name == f"test_{file.name}" and is_of_its_name(test.relative_to(TESTS), file))
            or any(fnmatch(file.as_posix(), pattern) for pattern in covers(test))]  # fmt: skip


def all_tests():
    """All test files."""
    return sorted(TESTS.rglob("test_*.py"))


def package_files():
    """All files of the package that have something to test, relative to ``mb_contact/``."""
    files = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
    return [file for file in files if file.name not in ("__init__.py", "__main__.py")]


def changed_files():
    """Files that differ from where this branch left main, with those that git does not know yet; all are relative."""

    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()

    base = git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main") or ["HEAD"]
    return [ROOT / name for name in (*git("diff", "--name-only", *base), *git("ls-files", "-o", "--exclude-standard"))]


def main():
    """Tests that have changed, and tests of files that have."""
    tests, found = all_tests(), set()
    for path in changed_files():
        if path in tests:
            found.add(path)
        elif PACKAGE in path.parents:
            found.update(tests_of(path.relative_to(PACKAGE), tests))
    print(*sorted(path.relative_to(ROOT).as_posix() for path in found if path.exists()), sep="\n")


if __name__ == "__main__":
    main()

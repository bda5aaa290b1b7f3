# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The finger flips the box in a turn or two, from controls that leave it where it is."""

import sys

from paths import ROOT


def test_the_box_lies_on_its_other_side(capsys):
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        import flip_box
    finally:
        sys.path.remove(str(ROOT / "examples"))
    assert flip_box.main([]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert abs(float(lines[0].split("|")[4])) > 85.0 and len(lines) < 5

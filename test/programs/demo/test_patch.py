# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact demo patch``: a shorter run of it; test/surfaces/test_motion.py judges the motion by itself."""

from __future__ import annotations

import pytest

from mb_contact.programs.demo import patch

plt = pytest.importorskip("matplotlib.image")


def test_what_stays_is_printed_and_drawn_and_decides(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(patch, "DURATION", 0.12)
    assert patch.run_patch(tmp_path) == 0
    told = capsys.readouterr().out
    assert "energy        changes by" in told and "normal force  at least" in told
    assert plt.imread(tmp_path / "patch.png")[:, :, :3].std() > 0.05
    monkeypatch.setattr(patch, "MOST_DRIFT", -1.0)
    monkeypatch.setattr(patch, "draw", lambda *_: None)
    assert patch.run_patch(tmp_path) == 1

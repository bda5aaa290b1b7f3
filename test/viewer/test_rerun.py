# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Files for Rerun's viewer: what its own library reads back is what was simulated."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.cli import main
from mb_contact.errors import InputError
from mb_contact.viewer.page import simulated_scene
from mb_contact.viewer.rerun import write_rerun
from paths import ROOT

CAN = ROOT / "config" / "falling_can.yaml"


def test_what_is_written_is_read_back(tmp_path):
    pytest.importorskip("rerun", reason="pip install 'mb_contact[rerun]'")
    from rerun.chunk import RrdReader

    path = tmp_path / "can.rrd"
    assert main(["view", str(CAN), "--rerun", str(path), "--duration", "0.4"]) == 0
    chunks = {}
    for chunk in RrdReader(path).stream():
        chunks.setdefault(str(chunk.entity_path), []).append(chunk.to_record_batch())
    can = [batch for batch in chunks["/world/can"] if "Transform3D:translation" in batch.schema.names]
    columns = [[batch.column(name).to_pylist() for name in ("time", "Transform3D:translation")] for batch in can]
    last = max(row for column in columns for row in zip(*column))[1][0]
    simulator = mb.Simulator(CAN)
    while simulator.time < 0.4 - 0.5 * simulator.time_step:
        simulator.step()
    np.testing.assert_allclose(last, simulator.link_pose("can")[0], atol=1e-6)
    assert {"/world/can/visual_0", "/world/contacts/forces", "/energy/energy"} <= set(chunks)


def test_without_the_library_or_a_scene_a_sentence_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rerun", None)
    simulator = mb.Simulator(CAN)
    with pytest.raises(InputError, match="pip install 'mb_contact.rerun.'"):
        write_rerun(tmp_path / "can.rrd", *simulated_scene(simulator), [])
    assert main(["view", "--rerun", str(tmp_path / "can.rrd")]) != 0
    assert "--rerun needs a scene" in capsys.readouterr().err

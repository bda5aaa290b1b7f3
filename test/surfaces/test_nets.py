# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Control nets from files."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from mb_contact.errors import SceneError
from mb_contact.surfaces import bezier, load_net, nurbs
from scenes.surface_cases import KNOTS_S, KNOTS_T, nets

POINTS, WEIGHTS = nets(3, 4)
U = (0.3, 0.8)


def as_csv(points, weights=None):
    """The text of a CSV control net."""
    columns = points if weights is None else np.concatenate((points, weights[..., None]), -1)
    return "\n\n".join("\n".join(",".join(repr(float(x)) for x in point) for point in row) for row in columns)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("suffix", ["yaml", "json", "csv"])
def test_a_net_is_read_as_it_was_written(tmp_path, suffix, weights):
    content = {"points": POINTS.tolist()} | ({} if weights is None else {"weights": weights.tolist()})
    text = {"yaml": yaml.safe_dump, "json": json.dumps, "csv": lambda _: as_csv(POINTS, weights)}[suffix](content)
    file = tmp_path / f"patch.{suffix}"
    file.write_text(text, encoding="utf-8")
    surface = load_net(file)
    assert surface.name == "patch"
    np.testing.assert_array_equal(surface.derivatives(U), bezier(POINTS, weights).derivatives(U))


def test_a_nurbs_surface_is_read_with_its_knots(tmp_path):
    points, weights = nets(6, 5)
    content = {"points": points.tolist(), "weights": weights.tolist(), "knots_s": KNOTS_S, "knots_t": KNOTS_T}
    file = tmp_path / "sheet.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    want = nurbs(points, KNOTS_S, KNOTS_T, weights).derivatives(U)
    np.testing.assert_array_equal(load_net(file).derivatives(U), want)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.yaml", "points: [[1, 2]]", "n x m x 3"),
        ("a.yaml", "point: []", "unknown key 'point'"),
        ("a.yaml", "weights: []", "'points' is missing"),
        ("a.yaml", "points: [\n", "not well-formed"),
        ("a.yaml", "[1, 2]", "must be a mapping"),
        ("a.yaml", "points: []\nknots_s: [0, 1]", "both knots_s and knots_t"),
        ("a.csv", "0,0,0\n0,x,0\n", "a.csv:2: must be numbers"),
        ("a.csv", "0,0,0\n0,1\n", "a.csv:2"),
        ("a.csv", "0,0,0\n0,1,0\n\n1,0,0", "same number of points"),
    ],
)
def test_what_is_refused(tmp_path, name, text, words):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SceneError, match=words) as error:
        load_net(file)
    assert name in str(error.value)


def test_a_missing_file_is_an_error():
    with pytest.raises(SceneError, match="no control net"):
        load_net("nowhere.yaml")

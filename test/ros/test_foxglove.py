# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The layout for Foxglove names topics that a node has, and looks as rviz and the page do."""

from __future__ import annotations

import json
import re

from mb_contact.ros.rviz import LINES, SKY
from paths import ROOT
from ros.contract import OUT

LAYOUT = json.loads((ROOT / "config" / "foxglove.json").read_text())
PANELS = LAYOUT["configById"]


def leaves(node):
    """Names of the panels of a layout."""
    return [node] if isinstance(node, str) else [*leaves(node["first"]), *leaves(node["second"])]


def test_every_panel_has_a_place_and_shows_a_topic_of_the_node():
    assert sorted(leaves(LAYOUT["layout"])) == sorted(PANELS)
    scene = PANELS["3D!scene"]
    told = [*scene["topics"], scene["layers"]["robot"]["topic"], PANELS["RawMessages!certificate"]["topicPath"]]
    told += [PANELS["DiagnosticSummary!node"]["topicToRender"]]
    told += [re.match(r"/\w+", path["value"])[0] for name in PANELS if name.startswith("Plot!")
             for path in PANELS[name]["paths"]]  # fmt: skip
    published = {topic.name.removeprefix("/cell") for topic in OUT}
    assert set(told) <= published and "/contact_markers" in told and "/joint_states" in told


def test_sky_and_ground_have_the_colours_of_rviz():
    scene = PANELS["3D!scene"]
    for text, colour in ((SKY, scene["scene"]["backgroundColor"]), (LINES, scene["layers"]["ground"]["color"])):
        assert [int(colour[k : k + 2], 16) for k in (1, 3, 5)] == [int(part) for part in text.split(";")]

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lines of shapes across the ridges of a mesh (core/collision/ridge_lines.py)."""

import numpy as np
import pytest
import trimesh

import mb_contact as mb
from mb_contact.core.step.need import ROUND

M = mb.model


@pytest.fixture(scope="module")
def plank(tmp_path_factory):
    """A plank of 0.1 m by 0.02 m by 0.02 m along y, as triangles."""
    file = tmp_path_factory.mktemp("plank") / "plank.obj"
    trimesh.creation.box((0.02, 0.1, 0.02)).export(file)
    return M.Primitive("plank", "mesh", mesh=str(file), collision_meshes="mesh", base="weld")


@pytest.mark.parametrize("tilt", [0.0, 1e-9, -1e-7, 1e-6])
@pytest.mark.parametrize(("shape", "size"), [("capsule", (0.01, 0.1)), ("cylinder", (0.01, 0.1))])
def test_a_level_line_touches_both_borders_of_a_strip(plank, shape, size, tilt):
    """Its lowest point is at an end far from the strip for the least of a tilt: one contact came in by need."""
    height = 0.02 + 0.01 * abs(np.sin(tilt)) - 1e-12
    pose = M.Pose((0.0, 0.0, height), (0.0, 0.5 * np.pi + tilt, 0.0))
    rod = M.Primitive("rod", shape, size, pose, "free", 0.1)
    sim = mb.Simulator(mb.Scene(primitives=(plank, rod)))
    step = sim.step()
    assert sim.context.need.info[ROUND] == 0
    x = step.contacts["point"][:, 0]
    assert sorted(x) == pytest.approx([-0.01, 0.01], abs=1e-7)
    assert step.contacts["normal"] == pytest.approx(np.tile([0.0, 0.0, 1.0], (2, 1)), abs=2e-6) or (
        step.contacts["normal"] == pytest.approx(np.tile([0.0, 0.0, -1.0], (2, 1)), abs=2e-6)
    )


def test_a_line_that_leans_over_a_border_touches_it_alone(plank):
    tilt = 0.01
    pose = M.Pose((0.0, 0.0, 0.01 + 0.01 / np.cos(tilt) + 0.01 * np.tan(tilt)), (0.0, 0.5 * np.pi + tilt, 0.0))
    rod = M.Primitive("rod", "capsule", (0.01, 0.1), pose, "free", 0.1)
    contacts = mb.Simulator(mb.Scene(primitives=(plank, rod))).step().contacts
    assert contacts["point"][:, 0] == pytest.approx([-0.01], abs=2e-4) or contacts["point"][:, 0] == pytest.approx(
        [0.01], abs=2e-4
    )

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes written and read again are the same scenes."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mb_contact as mb
from mb_contact.model.scene import Actuator, AnisotropicFriction, Closure, Gear, Heights, JointProperties, MeshChoices
from mb_contact.surfaces.scene_file import is_surface_scene
from paths import ROOT

pytestmark = pytest.mark.quick

LIBRARY = [path for path in sorted((ROOT / "config").glob("*.yaml"))
           if path.stem != "node" and not is_surface_scene(path)]  # fmt: skip

FULL = mb.Scene(
    models=(
        mb.model.SceneModel(
            "arm.urdf", name="arm", base="free", joints={"a": 0.1}, velocities={"a": 1e-17},
            pose=mb.model.Pose((1.0, 2.0, 1e-20), quat_xyzw=(0.0, 0.0, 0.6, 0.8)),
            velocity=mb.model.Velocity((1.0, 0.0, 0.0)), joint_properties={"a": JointProperties(friction=0.0)},
            actuators={"a": Actuator("position", 10.0, 1.0), "b": Actuator()},
            materials=mb.model.ModelMaterials("ice", {"hand": "rubber"}),
            collision_meshes=MeshChoices("skip", {"hand": "convex_pieces"}),
        ),
    ),
    primitives=(
        mb.model.Primitive("field", "height_field", (2.0, 1.0), heights=Heights(grid=((0.0, 1.0), (2.0, 3.0)))),
        mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0, inertia=(1.0, 1.0, 1.5)),
    ),
    ground=mb.model.Ground(),
    materials={
        "ice": mb.model.Material(), "rubber": mb.model.Material(0.8, torsional=0.01),
        "skate": mb.model.Material(anisotropic_friction=AnisotropicFriction(0.1, 0.5, (1.0, 0.0, 0.0))),
    },
    pairs=(mb.model.MaterialPair(("ice", "rubber"), friction=0.0),),
    collision_filters=mb.model.CollisionFilters(False, (("ball", "field"),)),
    loop_closures=(Closure("point", "ball", "world", mb.model.Pose((0.0, 0.0, 0.1))),),
    gears=(Gear("a", "b", -2.0),), rates={**mb.Scene().rates, "control_period": 0.01},
)  # fmt: skip


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_scenes_of_the_library_come_back(tmp_path, path):
    scene = mb.load_scene(path)
    mb.model.save_scene(scene, tmp_path / "scene.yaml")
    assert replace(mb.load_scene(tmp_path / "scene.yaml"), path=path) == replace(scene, path=path)


def test_every_part_comes_back_with_all_digits(tmp_path):
    mb.model.save_scene(FULL, tmp_path / "scene.yaml", comments=("two words\nin one line",))
    text = (tmp_path / "scene.yaml").read_text()
    assert text.startswith("# two words in one line\n")
    assert replace(mb.load_scene(tmp_path / "scene.yaml"), path=None) == FULL

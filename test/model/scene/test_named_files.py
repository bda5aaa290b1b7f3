# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a scene names from its own folder is found from any other, whichever key names it."""

from __future__ import annotations

from mb_contact.model.scene import FlexibleLink, Heights, Primitive, PrimitiveVisual, Scene, SceneModel
from mb_contact.model.scene.named_files import beside, with_files

SCENE = Scene(
    models=(
        SceneModel("arm.urdf", srdf="arm.srdf", flexible_links={"boom": FlexibleLink(file="boom.npz")}),
        SceneModel("<robot name='r'/>"), SceneModel("package://mb_contact/urdf/peg.urdf"),
    ),
    primitives=(
        Primitive("mug", "mesh", mesh="mug.stl", visual=PrimitiveVisual(mesh="mug.glb")),
        Primitive("cup", "mesh", pieces=("cup_0.stl", "../cup_1.stl")),
        Primitive("hill", "height_field", (1.0, 1.0), heights=Heights(file="hill.npy")),
        Primitive("field", "height_field", (1.0, 1.0), heights=Heights(grid=((0.0, 1.0), (2.0, 3.0)))),
    ),
)  # fmt: skip


def test_every_key_that_names_a_file_is_found():
    seen = []
    same = with_files(SCENE, lambda key, address: seen.append((key, address)) or address)
    assert same == SCENE
    assert sorted(seen) == sorted([
        ("urdf", "arm.urdf"), ("srdf", "arm.srdf"), ("file", "boom.npz"), ("urdf", "<robot name='r'/>"),
        ("urdf", "package://mb_contact/urdf/peg.urdf"), ("mesh", "mug.stl"), ("mesh", "mug.glb"),
        ("pieces", "cup_0.stl"), ("pieces", "../cup_1.stl"), ("file", "hill.npy"),
    ])  # fmt: skip


def test_paths_become_whole_and_all_else_stays(tmp_path):
    whole = beside(SCENE, tmp_path / "deep" / "scene.yaml")
    arm, text, packaged = whole.models
    deep = tmp_path / "deep"
    assert (arm.urdf, arm.srdf) == (str(deep / "arm.urdf"), str(deep / "arm.srdf"))
    assert arm.flexible_links["boom"].file == str(deep / "boom.npz")
    assert (text, packaged) == SCENE.models[1:]
    mug, cup, hill, field = whole.primitives
    assert (mug.mesh, mug.visual.mesh) == (str(deep / "mug.stl"), str(deep / "mug.glb"))
    assert cup.pieces == (str(deep / "cup_0.stl"), str(tmp_path / "cup_1.stl"))
    assert hill.heights.file == str(deep / "hill.npy") and field == SCENE.primitives[3]
    assert beside(SCENE, None) is SCENE

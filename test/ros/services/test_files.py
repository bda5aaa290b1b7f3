# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Files that a request may name, against all ways out of the allowed folders that came to mind."""

from __future__ import annotations

import os

import pytest

from mb_contact.errors import InputError
from mb_contact.model.scene import FlexibleLink, Heights, Primitive, PrimitiveVisual, Scene, SceneModel
from mb_contact.ros.services.files import AllowedFiles, NotAllowed, confine, confined, parsed


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An allowed folder beside one that is not, and links between them."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside / "deep", outside):
        folder.mkdir(parents=True)
        for name in ("robot.urdf", "mesh.stl"):
            (folder / name).write_text("<robot name='a'/>")
    (inside / "robot.urdf").write_text("<robot name='in'/>")
    (outside / "package.xml").write_text("<package/>")
    (inside / "link.urdf").symlink_to(outside / "robot.urdf")
    (inside / "away").symlink_to(outside)
    (inside / "circle.urdf").symlink_to(inside / "circle.urdf")
    (inside / "fine.urdf").symlink_to(inside / "deep" / "robot.urdf")
    os.mkfifo(inside / "pipe.urdf")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    monkeypatch.chdir(outside)
    return inside, outside


def allowed(inside, most=10_000, most_mesh=100):
    return AllowedFiles([str(inside)], most, most_mesh)


@pytest.mark.parametrize(
    "address", ["robot.urdf", "deep/robot.urdf", "deep/../robot.urdf", "fine.urdf", "{inside}/robot.urdf",
                "file://{inside}/deep/robot.urdf", "package://inside/robot.urdf", "package://mb_contact/urdf/peg.urdf"]
)  # fmt: skip
def test_what_lies_inside_is_found(place, address):
    inside, _ = place
    path = allowed(inside).find(address.format(inside=inside))
    assert path.is_file() and path == path.resolve()


@pytest.mark.parametrize(
    "address",
    ["{outside}/robot.urdf", "../outside/robot.urdf", "deep/../../outside/robot.urdf", "{inside}/../outside/robot.urdf",
     "file://{outside}/robot.urdf", "file://{inside}/../outside/robot.urdf", "file:///etc/passwd", "/etc/passwd",
     "file://{inside}/away/robot.urdf", "link.urdf", "away/robot.urdf", "circle.urdf", "pipe.urdf", "deep",
     "package://outside/robot.urdf", "package://inside/../outside/robot.urdf", "package://../etc/passwd",
     "package://inside//etc/passwd", "package:///etc/passwd", "package://mb_contact/../../etc/passwd",
     "http://example.org/robot.urdf", "FILE://{outside}/robot.urdf", "ftp://a/b.urdf", "~/.bashrc", "/dev/zero",
     "", ".", "\\0", "robot.urdf\\0.png", "a" * 5000, "file://" + "../" * 50 + "etc/passwd", "/proc/self/environ"],
)  # fmt: skip
def test_what_lies_elsewhere_is_not_told(place, address):
    inside, outside = place
    text = address.format(inside=inside, outside=outside).replace("\\0", "\0")
    with pytest.raises(NotAllowed) as error:
        allowed(inside).find(text)
    with pytest.raises(NotAllowed) as other:  # the same words whether it is there or not
        allowed(inside).find(text[:-4] + "none" if len(text) > 4 else "none")
    shape = str(error.value).split(" in the folders")[-1]
    assert shape == str(other.value).split(" in the folders")[-1] or "://" in text


def test_files_have_a_size(place):
    inside, _ = place
    (inside / "large.urdf").write_text("x" * 10_001)
    with pytest.raises(NotAllowed, match="10001 bytes; at most 10000"):
        allowed(inside).find("large.urdf")
    with pytest.raises(NotAllowed, match="at most 100 are taken"):
        allowed(inside).named("large.urdf")
    with pytest.raises(InputError, match="ends in none of"):
        allowed(inside).read("robot.urdf", (".yaml",))
    (inside / "binary.urdf").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NotAllowed, match="cannot read"):
        allowed(inside).read("binary.urdf", (".urdf",))


def test_listings_stay_inside(place):
    inside, outside = place
    files = allowed(inside)
    listed = set(files.listed((".urdf",), [inside]))
    assert listed == {inside / "robot.urdf", inside / "deep" / "robot.urdf"}
    assert files.folder(str(inside / "deep")) == inside / "deep"
    for address in (str(outside), f"{inside}/away", "package://outside", "http://inside", "/etc", "", "\0"):
        assert files.folder(address) is None, address


def test_a_root_must_be_a_folder(place):
    with pytest.raises(InputError, match="is no folder"):
        AllowedFiles(["/nowhere"], 1, 1)


def test_what_texts_name_is_held_to_the_folders(place):
    inside, outside = place
    files = allowed(inside)
    text = "<robot><link><visual><geometry><mesh filename='{}'/></geometry></visual></link></robot>"
    good = parsed(text.format("package://inside/deep/mesh.stl"), InputError)
    confine(good, files)
    assert good.find(".//mesh").get("filename") == str(inside / "deep" / "mesh.stl")
    scene = confined(Scene(models=(SceneModel(str(inside / "robot.urdf")),), gravity=(0.0, 0.0, -9.81)), files)
    assert scene.models[0].urdf == str(inside / "robot.urdf")
    for address in ("/etc/passwd", f"{outside}/mesh.stl", "../outside/mesh.stl", f"{inside}/away/mesh.stl"):
        with pytest.raises(NotAllowed):
            confine(parsed(text.format(address), InputError), files)
        robot = str(inside / "robot.urdf")
        mesh = {"name": "part", "shape": "mesh"}
        for record in (
            SceneModel(address), SceneModel(text.format(address)), SceneModel(robot, srdf=address),
            SceneModel(robot, flexible_links={"boom": FlexibleLink(file=address)}),
            Primitive(**mesh, mesh=address), Primitive(**mesh, pieces=(str(inside / "deep" / "mesh.stl"), address)),
            Primitive("ground", "height_field", heights=Heights(file=address)),
            Primitive("ball", "sphere", (0.1,), visual=PrimitiveVisual(mesh=address)),
        ):  # fmt: skip
            scene = Scene(**{"models" if isinstance(record, SceneModel) else "primitives": (record,)})
            with pytest.raises(NotAllowed):
                confined(scene, files)


def test_documents_that_grow_are_refused():
    laughs = "<!DOCTYPE r [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>]><robot name='&b;'/>"
    for text in (laughs, "<robot><![CDATA[a]]></robot>", "<!ENTITY a SYSTEM 'file:///etc/passwd'>"):
        with pytest.raises(InputError, match="document type"):
            parsed(text, InputError)
    assert parsed("<robot><!-- a comment --></robot>", InputError).tag == "robot"

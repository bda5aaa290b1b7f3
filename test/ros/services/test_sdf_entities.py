# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SDF models come and go, and SDF worlds are loaded, from texts and files, which name allowed files alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Pose
from mb_contact.ros.interventions import do_again
from mb_contact.ros.services.common import Refusal
from mb_contact.ros.services.files import AllowedFiles, NotAllowed
from mb_contact.ros.services.resources import Source, scene_of_text, with_entity, without
from paths import ROOT
from ros.simulation import OK, Simulation, code
from ros.support import SLOW_ON_RCLPY, Session

SCENE = ROOT / "config" / "box_on_table.yaml"
SPHERE = "<collision name='c'><geometry><sphere><radius>0.05</radius></sphere></geometry></collision>"
#: A crate whose link stands 0.05 m above the model's own frame.
CRATE = """<sdf version='1.9'><model name='crate'><pose>7 7 7 0 0 0</pose><link name='body'><pose>0 0 0.05 0 0 0</pose>
<inertial><mass>1</mass><inertia><ixx>0.002</ixx><iyy>0.002</iyy><izz>0.002</izz></inertia></inertial>
<collision name='c'><geometry><box><size>0.1 0.1 0.1</size></box></geometry></collision></link></model></sdf>"""
#: An arm on a spring, with a sensor, fixed to the world, whose links do not touch each other.
ARM = f"""<sdf version='1.9'><model name='arm'><link name='base'>{SPHERE}</link>
<link name='bob'><pose>0 0 -0.5 0 0 0</pose><inertial><mass>2</mass></inertial>{SPHERE}
<sensor name='turn' type='imu'/></link>
<joint name='fix' type='fixed'><parent>world</parent><child>base</child></joint>
<joint name='swing' type='revolute'><pose>0 0 0.5 0 0 0</pose><parent>base</parent><child>bob</child>
<axis><xyz>0 1 0</xyz><dynamics><spring_stiffness>30</spring_stiffness></dynamics></axis></joint>
<plugin name='p' filename='f'/></model></sdf>"""
WORLD = """<sdf version='1.9'><world name='hall'><gravity>0 0 -5</gravity><include><uri>model://ground_plane</uri>
</include>{}</world></sdf>"""
MESH = "<sdf version='1.9'><model name='m'><link name='l'><visual name='v'><geometry><mesh><uri>{}</uri></mesh>" \
    "</geometry></visual></link></model></sdf>"


class Codes:
    """Result codes, by their names."""

    UNSUPPORTED_FORMAT, RESOURCE_PARSE_ERROR, MISSING_ASSETS = "format", "parse", "assets"


@pytest.fixture
def place(tmp_path):
    """(allowed files, a folder that they may be in, one where they may not)."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        (folder / "crate").mkdir(parents=True)
        (folder / "crate" / "model.sdf").write_text(CRATE)
        (folder / "mesh.stl").write_text("solid m\nendsolid m\n")
    return AllowedFiles([str(inside)], 10_000, 10_000), inside, outside


def added(text, files, name="thing", scene=None, path=None):
    scene = scene or mb.load_scene(SCENE)
    return with_entity(Source(text, path), name, Pose((1.0, 2.0, 3.0)), scene, Codes, files)


def test_an_entity_has_all_that_its_sdf_has_under_its_name(place):
    files, inside, _ = place
    scene = added(ARM, files)
    of_file = added(ARM, files, path=inside / "arm.sdf")
    assert (scene.sensors, scene.collision_filters) == (of_file.sensors, of_file.collision_filters)
    world = mb.build_world(scene)
    assert world.joint_names == ("thing_swing",) and {"thing", "thing_base", "thing_bob"} <= set(world.frames)
    arm = scene.models[-1]
    assert (arm.name, arm.base, arm.pose.position) == ("thing", "weld", (1.0, 2.0, 3.0))
    assert arm.joint_properties["thing_swing"].stiffness == 30.0 and scene.materials["friction_1"].friction == 1.0
    assert [(sensor.name, sensor.link) for sensor in scene.sensors] == [("thing_bob_turn", "thing_bob")]
    assert ("thing_base", "thing_bob") in scene.collision_filters.disable and "<plugin> 'p'" in scene.doubts[0]
    both = added(ARM, files, "other", scene)
    assert mb.build_world(both).joint_names == ("thing_swing", "other_swing")
    left = without(both, mb.build_world(both).robot_models, ["other"])
    assert (left.models, left.sensors, left.collision_filters) == (scene.models, scene.sensors, scene.collision_filters)


def test_the_frame_of_the_model_is_put_where_it_is_asked_for(place):
    crate = added(CRATE, place[0], "box_2").models[-1]
    assert crate.base == "free" and np.allclose(crate.pose.position, (1.0, 2.0, 3.05), atol=1e-15)
    assert 'link name="box_2"' in crate.urdf


def test_what_names_an_object_goes_with_it():
    scene = dataclasses.replace(
        mb.load_scene(SCENE), collision_filters=mb.model.CollisionFilters(disable=(("box", "table"),)),
        operational_frames=("box",), contact_wrench_links=("box", "table"),
    )  # fmt: skip
    left = without(scene, (), ["box"])
    assert (left.collision_filters.disable, left.operational_frames, left.contact_wrench_links) == ((), (), ("table",))
    mb.build_world(left)


def test_a_recording_spawns_it_again(place):
    sim = mb.Simulator(SCENE, warm_up=False)
    fields = {"name": "thing", "uri": "", "text": ARM, "position": [1.0, 2.0, 3.0], "quaternion": [0.0, 0.0, 0.0, 1.0]}
    assert do_again(sim, "spawn", fields, sim.scene).scene == added(ARM, place[0])


@pytest.mark.parametrize(
    "text, words, number",
    [
        ("<sdf/>", "<sdf text>:1: holds 0 models, not one <model>", "parse"),
        (WORLD.format(""), "holds a <world>, not one <model>", "parse"),
        ("<mujoco/>", "<mujoco> is no URDF or SDF", "format"),
        ("<!DOCTYPE a []>" + CRATE, "document type", "parse"),
        (CRATE.replace("0 0 0.05 0 0 0", "0 0"), "<sdf text>:1: <pose> must be 6 numbers, got '0 0'", "parse"),
    ],
)
def test_what_is_no_entity_is_told(place, text, words, number):
    with pytest.raises(Refusal) as told:
        added(text, place[0])
    assert words in str(told.value) and told.value.code == number


def test_an_entity_of_planes_beside_links_and_another_material_are_refused(place):
    plane = "<collision name='p'><geometry><plane/></geometry></collision>"
    still = f"<sdf><model name='m'><static>1</static><link name='a'>{plane}{SPHERE}</link></model></sdf>"
    with pytest.raises(Refusal, match="becomes 2 entities, since planes are some of their own"):
        added(still, place[0])
    scene = mb.Scene(materials={"friction_1": mb.model.Material(0.2)})
    with pytest.raises(Refusal, match="the scene has another material 'friction_1'; rename that"):
        added(CRATE, place[0], scene=scene)


def test_texts_name_allowed_files_alone(place, monkeypatch):
    files, inside, outside = place
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(inside))
    monkeypatch.chdir(outside)
    include = "<include><uri>{}</uri><name>{}</name></include>"
    for number, uri in enumerate(("crate", f"{inside}/crate", "model://crate", f"file://{inside}/crate/model.sdf")):
        scene = scene_of_text(WORLD.format(include.format(uri, f"c{number}")), files)
        assert scene.path is None and scene.models[0].name == f"c{number}" and scene.gravity == (0.0, 0.0, -5.0)
    assert str(inside) in added(MESH.format("mesh.stl"), files).models[-1].urdf
    for uri in (f"{outside}/crate", "../outside/crate", f"file://{outside}/crate/model.sdf", "model://../outside/crate",
                "/etc", "https://example.org/crate"):  # fmt: skip
        with pytest.raises(NotAllowed):
            scene_of_text(WORLD.format(include.format(uri, "c")), files)
    for uri in (f"{outside}/mesh.stl", "../outside/mesh.stl", "/etc/passwd"):
        with pytest.raises(Refusal) as told:
            added(MESH.format(uri), files)
        assert told.value.code == "assets"


@pytest.fixture(scope="module", params=SLOW_ON_RCLPY)
def session(request, tmp_path_factory):
    """(simulation, peer, allowed folder) of a paused node."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "crate.sdf").write_text(CRATE)
    (folder / "hall.world").write_text(WORLD.format(CRATE[CRATE.index("<model") :].replace("</sdf>", "")))
    (folder / "hall.sdf").write_text((folder / "hall.world").read_text())
    with Session.of(request.param) as ros:
        words = ["-p", "start_paused:=true", "-p", f"resource_roots:=[{folder}]"]
        ros.node(SCENE, "--ros-args", *words, backend=request.param)
        peer = ros.peer()
        yield Simulation(peer), peer, folder


def test_models_are_spawned_and_worlds_loaded_over_ros(session):
    simulation, peer, folder = session
    assert "sdf" in simulation("get_simulator_features").features.spawn_formats
    listed = simulation("get_spawnables").spawnables
    listed = {getattr(entry, "entity_resource", entry).uri: entry.description for entry in listed}
    assert listed[f"file://{folder}/crate.sdf"] == "crate (SDF)" and f"file://{folder}/hall.sdf" not in listed
    for name, given in (("crate", {"uri": f"{folder}/crate.sdf"}), ("arm", {"text": ARM}), ("", {"text": CRATE})):
        answer = simulation.spawn(name, position=(3.0, len(name), 1.0), allow_renaming=True, **given)
        assert code(answer) == OK, answer.result.error_message
    assert simulation.entities() == ["crate", "arm", "crate_1", "table", "box"]
    turned = peer.listen("sensors/arm_bob_turn", "sensor_msgs/msg/Imu")
    assert code(simulation("step_simulation", steps=10)) == OK
    peer.until(lambda: turned)
    assert simulation.pose("crate")[2] == pytest.approx(1.05 - 0.5 * 9.81 * 0.01**2, rel=1e-3)
    for name in ("arm", "crate"):
        assert code(simulation("delete_entity", entity=name)) == OK
    names = {world.name: world.description for world in simulation("get_available_worlds").worlds}
    assert names["hall"] == "the SDF world 'hall'" and "crate" not in names
    for given in ({"uri": f"{folder}/hall.world"}, {"text": (folder / "hall.world").read_text()}):
        answer = simulation.load(**given)
        assert code(answer) == OK, answer.result.error_message
        assert simulation.entities() == ["crate", "ground_plane"]
    refused = simulation.load(text=WORLD.format("<include><uri>/etc</uri></include>"))
    assert code(refused) == 104, refused.result.error_message  # MISSING_ASSETS

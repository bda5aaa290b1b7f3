# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds, places, information, bounds and tags over real DDS: what the services of simulation_interfaces do.

Covers ros/services/announced.py, ros/services/bounds.py, ros/services/common.py, ros/services/places.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import ros.contract as contract
from mb_contact.ros.embedded.messages import message_class, stamp_ns
from mb_contact.ros.qos import QoS
from ros.simulation import BALL, FAILED, INCORRECT_STATE, NOT_FOUND, OK, Simulation, code, message, points
from ros.support import JOINT_STATE, SLOW_ON_RCLPY, Session

STOPPED, PLAYING, PAUSED, NO_WORLD = 0, 1, 2, 4
LIBRARY = "package://mb_contact/config"


@pytest.fixture(scope="module", params=SLOW_ON_RCLPY)
def backend(request):
    """Each service is asked on rclpy in test_contract_services.py."""
    return request.param


@pytest.fixture(scope="module")
def bench(backend, tmp_path_factory):
    """(simulation, peer, folder): a paused node of the contract's scene, whose folder is allowed."""
    folder = tmp_path_factory.mktemp("worlds")
    scene = contract.write_scene(folder)
    with Session.of(backend) as ros:
        ros.node(scene, "--ros-args", "-p", "start_paused:=true", "-p", f"resource_roots:=[{folder}]", backend=backend)
        peer = ros.peer()
        yield Simulation(peer), peer, folder


@pytest.fixture(autouse=True)
def begin(bench):
    simulation, _, folder = bench
    answer = simulation.load(f"file://{folder}/contract.yaml")
    assert code(answer) == OK, answer.result.error_message


def info(simulation, name):
    found = simulation("get_entity_info", entity=name).info
    return int(found.category.category), found.description, list(found.tags)


def test_nothing_is_spawned_under_the_name_of_a_sensor(bench):
    """Two frames of one name would have two parents; the world stays as it is."""
    simulation, _, _ = bench
    before = simulation.entities()
    answer = simulation.spawn("eye_optical", BALL)
    assert code(answer) == 101 and "a body or a frame 'eye_optical'" in answer.result.error_message  # NAME_NOT_UNIQUE
    assert simulation.entities() == before
    assert simulation.spawn("imu", BALL, allow_renaming=True).entity_name == "imu_1"
    assert simulation.entities() == [*before, "imu_1"]


def test_what_entities_are(bench):
    simulation, _, _ = bench
    assert info(simulation, "box") == (0, "a parcel", ["parcel", "wooden"])
    assert info(simulation, "arm") == (1, "", [])
    tags = message_class("simulation_interfaces/msg/TagsFilter")
    for wanted, mode, found in (
        (["parcel"], 0, ["box"]), (["parcel", "steel"], 0, ["box"]), (["parcel", "steel"], 1, []),
        (["wooden", "parcel"], 1, ["box"]), ([], 1, ["arm", "box"]),
    ):  # fmt: skip
        assert simulation.entities(tags=tags(wanted, mode)) == found
    human = message("EntityInfo", description="a person", tags=["steel"])
    human.category.category = 2
    assert code(simulation("set_entity_info", entity="box", info=human)) == OK
    assert info(simulation, "box") == (2, "a person", ["steel"])
    assert simulation.entities(categories=[message("EntityCategory", category=2)]) == ["box"]
    human.category.category = 77
    assert code(simulation("set_entity_info", entity="box", info=human)) == FAILED
    assert code(simulation("set_entity_info", entity="cup", info=human)) == NOT_FOUND
    assert code(simulation("reset_simulation")) == OK and info(simulation, "box")[1] == "a parcel"


def test_states_of_all_entities_are_those_of_each(bench):
    simulation, _, _ = bench
    simulation("step_simulation", steps=20)
    answer = simulation("get_entities_states", filters=message("EntityFilters"))
    assert list(answer.entities) == ["arm", "box"]
    for name, state in zip(answer.entities, answer.states):
        alone = simulation("get_entity_state", entity=name).state
        assert str(state) == str(alone), name


def test_bounds(bench):
    simulation, _, _ = bench
    box = simulation("get_entity_bounds", entity="box").bounds
    assert box.type == 1 and [(p.x, p.y, p.z) for p in box.points] == [(0.05,) * 3, (-0.05,) * 3]
    # a ball of 0.03 m at the arm's tip: 0.5 up, 0.4 along the upper and 0.5 along the lower link, turned about y
    corners = simulation("get_entity_bounds", entity="arm").bounds.points
    a, b = 0.3, 0.3 + 1.2
    tip = np.array([0.4 * np.sin(a) + 0.5 * np.sin(b), 0.0, 0.5 + 0.4 * np.cos(a) + 0.5 * np.cos(b)])
    np.testing.assert_allclose([corners[0].x, corners[0].y, corners[0].z], tip + 0.03, atol=1e-12)
    np.testing.assert_allclose([corners[1].x, corners[1].y, corners[1].z], tip - 0.03, atol=1e-12)
    bounds = message_class("simulation_interfaces/msg/Bounds")

    def found(kind, *rows):
        return simulation.entities(bounds=bounds(kind, points(*rows)))

    assert found(3, (1.0, 0.0, 0.2), (0.101, 0, 0)) == ["box"] and found(3, (1.0, 0.0, 0.2), (0.099, 0, 0)) == []
    assert found(1, (3, 3, 3), (-3, -3, -3)) == ["arm", "box"] and found(1, (3, 3, 3), (1.051, -3, -3)) == []
    assert found(2, (1.04, 1, 1), (1.04, -1, 1), (1.04, 0, -1)) == ["box"]  # a triangle
    assert found(2, (1.06, 1, 1), (1.06, -1, 1), (1.06, 0, -1), (2, 0, 0)) == []
    for kind, rows, number in (
        (9, [], 0), (3, [(0, 0, 0)], FAILED), (1, [(0, 0, 0), (1, 1, 1)], FAILED), (2, [(0, 0, 0)] * 3, FAILED),
        (1, [(np.nan, 1, 1), (0, 0, 0)], FAILED), (3, [(0, 0, 0), (-1, 0, 0)], FAILED),
    ):  # fmt: skip
        filters = message("EntityFilters", bounds=bounds(kind, points(*rows)))
        answer = simulation("get_entities", filters=filters)
        assert code(answer) == number and answer.result.error_message, (kind, rows)


def test_named_poses_and_their_bounds(bench):
    simulation, _, _ = bench
    poses = simulation("get_named_poses").poses
    assert [pose.name for pose in poses] == ["dock", "shelf"]
    assert (poses[0].pose.position.x, list(poses[0].tags)) == (2.0, ["spawn"])
    assert poses[1].pose.orientation.z == pytest.approx(np.sqrt(0.5))
    tags = message("TagsFilter", ["spawn"], 0)
    assert [pose.name for pose in simulation("get_named_poses", tags=tags).poses] == ["dock"]
    sphere = simulation("get_named_pose_bounds", name="dock").bounds
    assert sphere.type == 3 and (sphere.points[0].z, sphere.points[1].x) == (0.1, 0.4)
    box = simulation("get_named_pose_bounds", name="shelf").bounds
    assert box.type == 1 and (box.points[0].z, box.points[1].y) == (3.0, -2.0)
    assert code(simulation("get_named_pose_bounds", name="roof")) == NOT_FOUND
    assert code(simulation.spawn("ball", BALL, (2.0, 0.0, 0.5))) == OK


def test_poses_in_frames_of_links(bench):
    """The elbow's frame is 0.5 m up and, turned by 0.3 rad about y, 0.4 m along."""
    simulation, _, _ = bench
    assert code(simulation.spawn("ball", BALL, (0.0, 0.0, 1.0), frame="lower")) == OK
    a, b = 0.3, 1.5
    expected = (0.4 * np.sin(a) + np.sin(b), 0.0, 0.5 + 0.4 * np.cos(a) + np.cos(b))
    np.testing.assert_allclose(simulation.pose("ball"), expected, atol=1e-12)
    assert code(simulation.spawn("other", BALL, frame="nowhere")) == 109
    state = message("EntityState")
    state.header.frame_id, state.pose.orientation.w, state.twist.linear.z = "lower", 1.0, 2.0
    state.pose.position.z = 2.0
    assert code(simulation.put("ball", state)) == OK
    found = simulation("get_entity_state", entity="ball").state
    assert (found.twist.linear.x, found.twist.linear.z) == pytest.approx((2.0 * np.sin(b), 2.0 * np.cos(b)))


def test_what_is_welded_can_stand_elsewhere(bench):
    simulation, _, _ = bench
    simulation("step_simulation", steps=30)
    before = simulation("get_entity_bounds", entity="arm").bounds.points
    state = message("EntityState")
    state.pose.position.y, state.pose.orientation.w = 5.0, 1.0
    assert code(simulation.put("arm", state)) == OK
    assert simulation.pose("arm") == (0.0, 5.0, 0.0)
    after = simulation("get_entity_bounds", entity="arm").bounds.points  # in the arm's own frame: joints are as before
    np.testing.assert_allclose([after[0].x, after[0].z], [before[0].x, before[0].z], atol=1e-12)
    state.twist.linear.x = 1.0
    assert code(simulation.put("arm", state)) == FAILED


def test_many_are_spawned_and_each_has_its_result(bench):
    simulation, _, _ = bench
    kind = message_class("simulation_interfaces/msg/SpawnEntity")
    wanted = [
        kind(**simulation.spawning(name, text, (0.0, i, 3.0), many=True))
        for i, (name, text) in enumerate((("one", BALL), ("one", BALL), ("two", "{"), ("three", BALL)))
    ]
    answer = simulation("spawn_entities", spawn_requests=wanted)
    assert code(answer) == 150 and "2 of 4" in answer.result.error_message
    assert [int(result.result.result) for result in answer.results] == [OK, 101, 106, OK]
    assert [result.entity_name for result in answer.results] == ["one", "", "", "three"]
    assert simulation.entities() == ["arm", "box", "one", "three"]
    peg = simulation.spawn("", uri="package://mb_contact/urdf/peg.urdf")  # named as its file says
    assert code(peg) == OK and peg.entity_name in simulation.entities()


def test_worlds_come_and_go(bench):
    simulation, peer, folder = bench
    runs = peer.listen("run", "std_msgs/msg/UInt64", QoS(10, latched=True))
    states = peer.listen("joint_states", JOINT_STATE)
    described = peer.listen("robot_description", "std_msgs/msg/String", QoS(1, latched=True))
    peer.until(lambda: runs and described)
    world = simulation("get_current_world").world
    assert (world.name, list(world.tags)) == ("contract", ["bench", "indoor"])
    assert world.description == "an arm that presses a tool on the floor" and world.world_resource.uri.endswith(".yaml")
    simulation("step_simulation", steps=5)
    spawned = simulation.spawn("ball", BALL)
    assert code(spawned) == OK
    peer.until(lambda: states and states[-1].name == ["shoulder", "elbow"])
    stamp, run = stamp_ns(states[-1].header.stamp), runs[-1].data
    loaded = simulation.load(f"{LIBRARY}/dual_arm_lift.yaml")
    assert code(loaded) == OK and loaded.world.name == "dual_arm_lift"
    assert simulation.state() == STOPPED and "ball" not in simulation.entities()
    peer.until(lambda: len(states[-1].name) > 20)  # everybody is told: another run, other joints, later
    assert runs[-1].data == run + 1 and states[-1].header.frame_id == f"run {run + 1}"
    assert stamp_ns(states[-1].header.stamp) > stamp
    peer.until(lambda: "left_arm_joint_1" in described[-1].data)
    assert code(simulation("step_simulation", steps=2)) == OK and simulation.state() == PAUSED
    assert code(simulation("unload_world")) == OK and simulation.state() == NO_WORLD
    for service, fields in (
        ("unload_world", {}), ("get_current_world", {}), ("step_simulation", {"steps": 1}), ("reset_simulation", {}),
    ):  # fmt: skip
        answer = simulation(service, **fields)
        assert code(answer) in (101, INCORRECT_STATE) and "no world" in answer.result.error_message
    assert code(simulation.spawn("ball", BALL)) == INCORRECT_STATE and simulation.set_state(PLAYING) == INCORRECT_STATE
    assert not peer.call("/mb_contact/pause", "std_srvs/srv/SetBool", data=False).success
    assert simulation.entities() == []


@pytest.mark.parametrize(
    "fields, number, words",
    [
        ({}, 102, "both uri and resource_string are empty"),
        ({"uri": "/etc/passwd"}, 101, "ends in none of"),
        ({"uri": "file:///etc/secret.yaml"}, 104, "no file"),
        ({"uri": f"{LIBRARY}/nothing.yaml"}, 104, "no file"),
        ({"uri": "http://example.org/world.yaml"}, 104, "only paths and addresses with file://"),
        ({"uri": f"{LIBRARY}/node.yaml"}, 103, "it is parameters of a node"),
        ({"text": "[1, 2]"}, 101, "mapping"),
        ({"text": "primitives: [{name: a"}, 103, "while parsing"),
        ({"text": "primitives: [{name: a, shape: ball}]"}, 103, "shape"),
        ({"text": "models: [{urdf: /etc/passwd}]"}, 104, "no file"),
        ({"text": "models: [{urdf: '<!DOCTYPE a []><robot/>'}]"}, 103, "document type"),
        ({"text": "primitives: [{name: a, shape: mesh, mesh: /etc/passwd, mass: 1}]"}, 104, "no file"),
        ({"text": "a: &a [*a]"}, 103, ""),
    ],
)
def test_what_cannot_be_loaded_changes_nothing(bench, fields, number, words):
    simulation, _, _ = bench
    simulation("step_simulation", steps=3)
    assert simulation.set_state(PLAYING) == OK
    answer = simulation.load(**fields)
    assert code(answer) == number, answer.result.error_message
    assert words in answer.result.error_message
    assert simulation.state() == PLAYING and simulation.entities() == ["arm", "box"]
    assert simulation("get_current_world").world.name == "contract"


def test_worlds_are_found_by_tags(bench):
    simulation, _, folder = bench
    tags = message("TagsFilter", ["indoor"], 0)
    (found,) = simulation("get_available_worlds", filter=tags).worlds
    assert found.name == "contract" and found.world_resource.uri == f"file://{folder.resolve()}/contract.yaml"
    names = {world.name for world in simulation("get_available_worlds").worlds}
    assert {"contract", "table_top", "bezier_patch"} <= names and "node" not in names
    away = simulation("get_available_worlds", additional_sources=["/etc"])
    assert code(away) == NOT_FOUND and "/etc" in away.result.error_message
    assert code(simulation("get_available_worlds", additional_sources=["/etc"], continue_on_error=True)) == OK
    spawnables = simulation("get_spawnables", sources=["/etc", str(folder)])
    assert code(spawnables) == OK and "/etc" in spawnables.result.error_message
    found = {getattr(entry, "entity_resource", entry).uri for entry in spawnables.spawnables}
    assert f"file://{folder.resolve()}/arm.urdf" in found


def test_what_is_spawned_has_limits(bench):
    simulation, peer, folder = bench
    value = message_class("rcl_interfaces/msg/ParameterValue")
    parameter = message_class("rcl_interfaces/msg/Parameter")

    def limit(number):
        wanted = [parameter(name="spawn_limit", value=value(type=2, integer_value=number))]
        kind = "rcl_interfaces/srv/SetParameters"
        assert peer.call("/mb_contact/set_parameters", kind, parameters=wanted).results[0].successful

    limit(1)
    assert code(simulation.spawn("one", BALL, (5.0, 0.0, 3.0))) == OK
    full = simulation.spawn("two", BALL, (6.0, 0.0, 3.0))
    assert code(full) == FAILED and "spawn_limit" in full.result.error_message
    limit(500)
    long = simulation.spawn("two", BALL + " " * 1_000_000)
    assert code(long) == 106 and "resource_limit" in long.result.error_message
    (folder / "large.urdf").write_text(" " * 1_000_001)
    large = simulation.spawn("two", uri=str(folder / "large.urdf"))
    assert code(large) == 107 and "at most 1000000" in large.result.error_message
    mesh = "<robot name='r'><link name='a'><visual><geometry><mesh filename='{}'/></geometry></visual></link></robot>"
    with open(folder / "huge.stl", "wb") as file:
        file.truncate(50_000_001)
    for name in ("/etc/passwd", "file:///etc/passwd", "package://mb_contact/../../etc/passwd", f"{folder}/huge.stl"):
        refused = simulation.spawn("two", mesh.format(name))
        assert code(refused) == 107, refused.result.error_message
    assert simulation.entities() == ["arm", "box", "one"]


def test_a_recording_holds_the_worlds(tmp_path):
    """Two worlds, a body that is spawned, a robot that is welded elsewhere: all states come again bit for bit."""
    from mb_contact.ros.replay import read_recording, replay
    from mb_contact.simulation.simulator import Simulator

    scene, bag = contract.write_scene(tmp_path), tmp_path / "worlds.mcap"
    with Session() as ros:
        node = ros.node(scene, "--record", bag, "--ros-args", "-p", "start_paused:=true", "-p",
                        f"resource_roots:=[{tmp_path}]")  # fmt: skip
        simulation = Simulation(ros.peer())
        simulation("step_simulation", steps=5)
        assert code(simulation.load(f"{LIBRARY}/ramp.yaml")) == OK
        simulation("step_simulation", steps=5)
        assert code(simulation.load(str(scene))) == OK
        assert code(simulation.spawn("ball", BALL, (3.0, 0.0, 3.0))) == OK
        state = message("EntityState")
        state.pose.position.y, state.pose.orientation.w = 5.0, 1.0
        assert code(simulation.put("arm", state)) == OK
        simulation("step_simulation", steps=5)
        node.signal()
        assert node.wait() == 0, node.output()
    result = replay(Simulator(scene), read_recording(str(bag)))
    assert result.equal == result.compared >= 15, result.text()

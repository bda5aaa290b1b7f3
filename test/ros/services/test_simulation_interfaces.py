# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulation_interfaces over real DDS, both releases: stepping, states, entities, spawning, deleting.

Covers ros/services/entities.py, ros/services/frames.py, ros/services/requests.py, ros/services/resources.py,
ros/services/spawning.py, ros/stepping.py.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from mb_contact.ros.embedded.messages import message_class, stamp_ns
from mb_contact.ros.embedded.simulation_definitions import RELEASE_VARIABLE
from mb_contact.ros.qos import QoS
from paths import ROOT
from ros.simulation import BALL, FAILED, NOT_FOUND, OK, UNSUPPORTED, Simulation, code
from ros.support import JOINT_STATE, SLOW_ON_RCLPY, TIMEOUT, Session, wait_until

SCENE = ROOT / "config" / "box_on_table.yaml"
CRATE = (
    '<robot name="crate"><link name="body"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" '
    'ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>'
    '<link name="lid"/><joint name="fix" type="fixed"><parent link="body"/><child link="lid"/></joint></robot>'
)


_PART = (
    '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision><geometry><sphere radius="0.05"/></geometry></collision>'
)


def pendulum(root, body=""):
    """A URDF of two hinges, the second of which follows the first; ``root`` 'world' welds it."""
    joint = (
        '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="{3} 0 0"/>'
        '<axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="5" velocity="99"/>{4}</joint>'
    )
    return (
        f'<robot name="pendulum"><link name="{root}">{body}</link><link name="bob">{_PART}</link>'
        f'<link name="tip">{_PART}</link>'
        + joint.format("hinge", root, "bob", "0.5", "")
        + joint.format("knee", "bob", "tip", "0.5", '<mimic joint="hinge" multiplier="-1"/>')
        + "</robot>"
    )


@pytest.fixture(scope="module", params=SLOW_ON_RCLPY)
def backend(request):
    """Each service is asked on rclpy in test_contract_services.py."""
    return request.param


@pytest.fixture(scope="module")
def world(backend):
    with Session.of(backend) as ros:
        ros.node(SCENE, "--ros-args", "-p", "start_paused:=true", backend=backend)
        peer = ros.peer()
        yield Simulation(peer), peer


def height(simulation, name):
    return simulation("get_entity_state", entity=name).state.pose.position.z


def test_features_and_entities(world):
    simulation, _ = world
    features = simulation("get_simulator_features").features
    kind = message_class("simulation_interfaces/msg/SimulatorFeatures")
    for name in ("SPAWNING", "DELETING", "STEP_SIMULATION_MULTIPLE", "ENTITY_STATE_SETTING", "SIMULATION_RESET"):
        assert getattr(kind, name) in features.features
    assert kind.WORLD_LOADING in features.features and list(features.spawn_formats) == ["urdf", "sdf", "yaml"]
    assert simulation.entities() == ["table", "box"]
    assert simulation.entities(filter="^b") == ["box"]
    static = message_class("simulation_interfaces/msg/EntityCategory")(category=5)
    assert simulation.entities(categories=[static]) == ["table"]
    bad = simulation("get_entities", filters=message_class("simulation_interfaces/msg/EntityFilters")(filter="("))
    assert code(bad) == FAILED and "regular expression" in bad.result.error_message


def test_stepping_only_while_paused_and_exactly(world):
    simulation, peer = world
    states = peer.listen("joint_states", JOINT_STATE)
    assert simulation.state() == 2
    before = simulation("get_entity_state", entity="box").state.header.stamp
    assert code(simulation("step_simulation", steps=7)) == OK
    after = simulation("get_entity_state", entity="box").state.header.stamp
    assert stamp_ns(after) - stamp_ns(before) == 7_000_000
    assert simulation.set_state(1) == OK and simulation.state() == 1
    assert simulation.set_state(1) == 101  # it plays already
    running = simulation("step_simulation", steps=1)
    assert code(running) == FAILED and "only while paused" in running.result.error_message
    peer.until(lambda: states)
    assert simulation.set_state(2) == OK and simulation.state() == 2
    assert simulation.set_state(0) == OK and simulation.state() == 0
    assert simulation.set_state(2) == 103  # stopped: play first
    assert simulation.set_state(9) == UNSUPPORTED
    assert simulation.set_state(1) == OK and simulation.set_state(2) == OK


def begun(peer, service, kind, **fields):
    """A call that is under way."""
    client = peer.node.create_client(kind, service)
    assert client.wait_for_service(TIMEOUT)
    return client.call_async(client.Request(**fields))


STEP, MANY = "simulation_interfaces/srv/StepSimulation", 1_000_000_000


@pytest.mark.parametrize(
    "end, word",
    [
        (lambda simulation: simulation.set_state(2), "paused"),
        (lambda simulation: code(simulation("reset_simulation", scope=2)), "reset"),
        (lambda simulation: simulation.set_state(1) and simulation.set_state(2), "the simulation goes on"),
    ],
)
def test_many_steps_hold_up_nobody(world, end, word):
    simulation, peer = world
    states = peer.listen("joint_states", JOINT_STATE)
    answer = begun(peer, "step_simulation", STEP, steps=MANY)

    def stamp():
        return stamp_ns(simulation("get_entity_state", entity="box").state.header.stamp)

    before = stamp()
    wait_until(lambda: stamp() > before, "time that goes on")
    later = begun(peer, "/mb_contact/step", "std_srvs/srv/Trigger")
    count = len(states)
    peer.until(lambda: len(states) > count)
    assert simulation.state() == 2 and not answer.done() and not later.done()
    spawned = simulation.spawn("ball", BALL, (0.0, 0.0, 2.0))
    assert code(spawned) == OK, spawned.result.error_message
    before = stamp()
    wait_until(lambda: stamp() > before, "time that goes on with the ball")
    assert code(simulation("delete_entity", entity="ball")) == OK and not answer.done()
    assert end(simulation) == OK
    assert answer.wait(TIMEOUT) and later.wait(TIMEOUT)
    result = answer.result().result
    assert result.result == FAILED and result.error_message.startswith(f"{word} after ")
    assert result.error_message.endswith(f" of {MANY} steps") and not later.result().success
    assert simulation.state() == 2 and code(simulation("step_simulation", steps=2)) == OK
    simulation("reset_simulation", scope=2)


def test_the_end_in_the_middle_of_many_steps():
    with Session() as ros:
        node = ros.simulator("--joints", "2", "--ros-args", "-p", "start_paused:=true")
        peer = ros.peer()
        states = peer.listen("joint_states", JOINT_STATE)
        answer = begun(peer, "step_simulation", STEP, steps=MANY)
        peer.until(lambda: len(states) > 10)
        node.signal()
        assert node.wait() == 0, node.output()
        assert answer.wait(TIMEOUT)
        assert answer.result().result.error_message.startswith("the simulation ends after ")


def test_reset_and_time(world):
    simulation, _ = world

    def stamp():
        return stamp_ns(simulation("get_entity_state", entity="box").state.header.stamp)

    simulation("step_simulation", steps=3)
    before = stamp()
    assert code(simulation("reset_simulation", scope=2)) == OK and stamp() == before + 1_000_000  # state: time goes on
    assert code(simulation("reset_simulation", scope=1)) == OK and stamp() == 0  # time, as asked for
    simulation("step_simulation", steps=3)
    assert code(simulation("reset_simulation", scope=255)) == OK and stamp() == 0
    simulation("step_simulation", steps=3)
    assert code(simulation("reset_simulation")) == OK and stamp() == 0  # SCOPE_DEFAULT is all of it
    assert code(simulation("reset_simulation", scope=64)) == UNSUPPORTED


def test_a_reset_of_everything_brings_back_what_was_deleted(world):
    simulation, _ = world
    assert code(simulation.spawn("ball", BALL)) == OK
    assert code(simulation("delete_entity", entity="box")) == OK and simulation.entities() == ["table", "ball"]
    assert code(simulation("reset_simulation", scope=4)) == OK and simulation.entities() == ["table"]
    assert code(simulation("reset_simulation", scope=255)) == OK and simulation.entities() == ["table", "box"]
    simulation("step_simulation", steps=2)
    assert code(simulation("delete_entity", entity="box")) == OK
    assert code(simulation("reset_simulation")) == OK and simulation.entities() == ["table", "box"]


def test_filters_are_posix_and_names_are_told_short(world):
    simulation, _ = world
    assert simulation.entities(filter="^[[:alpha:]]+x$") == ["box"]
    begun = time.monotonic()
    assert code(simulation.spawn("a" * 40, BALL)) == OK and simulation.entities(filter="^(a+)+b") == []
    assert time.monotonic() - begun < TIMEOUT  # it doubled with each letter
    long = simulation("get_entity_state", entity="n" * 100_000)
    assert code(long) == NOT_FOUND and len(long.result.error_message) < 500
    long = simulation.spawn("n" * 100_000, BALL)
    assert code(long) == 102 and len(long.result.error_message) < 500
    assert code(simulation("reset_simulation", scope=4)) == OK


def test_subscriptions_go_with_their_entities(world):
    """As many endpoints, parameters and inputs as before, however many names have come and gone."""
    simulation, peer = world
    pushes = [f"/external_wrench/visitor_{i}" for i in range(5)]

    def readers():
        return [peer.node.create_publisher("geometry_msgs/msg/WrenchStamped", topic, QoS(1)) for topic in pushes]

    for i in range(5):
        assert code(simulation.spawn(f"visitor_{i}", BALL, (i, 5.0, 2.0))) == OK
    writers = readers()
    wait_until(lambda: all(w.get_subscription_count() == 1 for w in writers), "subscriptions of the entities")
    for i in range(5):
        assert code(simulation("delete_entity", entity=f"visitor_{i}")) == OK
    wait_until(lambda: all(w.get_subscription_count() == 0 for w in writers), "end of the subscriptions")
    names = peer.call("/mb_contact/list_parameters", "rcl_interfaces/srv/ListParameters").result.names
    assert not [name for name in names if "visitor" in name]
    assert code(simulation.spawn("visitor_0", BALL)) == OK  # and again
    wait_until(lambda: writers[0].get_subscription_count() == 1, "the subscription again")
    assert code(simulation("reset_simulation", scope=4)) == OK


def test_spawned_objects_fall_and_go(world):
    simulation, peer = world
    frames = peer.listen("/tf", "tf2_msgs/msg/TFMessage")
    box = height(simulation, "box")
    answer = simulation.spawn("ball", BALL, (0.0, 0.0, 2.0))
    assert (code(answer), answer.entity_name) == (OK, "ball"), answer.result.error_message
    answer = simulation.spawn("crate", CRATE, (0.55, 0.0, 1.4))
    assert code(answer) == OK, answer.result.error_message
    assert simulation.entities() == ["crate", "table", "box", "ball"]
    simulation("step_simulation", steps=100)
    fall = 0.5 * 9.81 * 0.1 * 0.101
    assert height(simulation, "ball") == pytest.approx(2.0 - fall, abs=1e-9)
    assert height(simulation, "crate") == pytest.approx(1.4 - fall, abs=1e-9)
    assert height(simulation, "box") == pytest.approx(box, abs=1e-6)
    motion = simulation("get_entity_state", entity="ball").state
    assert motion.twist.linear.z == pytest.approx(-0.981, abs=1e-9)
    assert motion.acceleration.linear.z == pytest.approx(-9.81, abs=1e-6)
    peer.until(lambda: {t.child_frame_id for t in frames[-1].transforms} == {"box", "ball", "crate"})
    simulation("step_simulation", steps=900)  # the crate has landed on the box
    assert height(simulation, "crate") == pytest.approx(0.95, abs=2e-3)
    again = simulation.spawn("ball", BALL)
    assert code(again) == 101 and "already" in again.result.error_message
    renamed = simulation.spawn("ball", BALL, (1.0, 1.0, 1.0), allow_renaming=True)
    assert (code(renamed), renamed.entity_name) == (OK, "ball_1")
    assert code(simulation("delete_entity", entity="ball_1")) == OK
    assert code(simulation("delete_entity", entity="ball_1")) == NOT_FOUND
    assert height(simulation, "crate") == pytest.approx(0.95, abs=2e-3)
    assert code(simulation("reset_simulation", scope=4)) == OK
    assert simulation.entities() == ["table", "box"]


def test_spawned_robots_are_commanded_and_go(world):
    """One welded by its root link 'world', one that falls; their joints appear in joint_states and disappear."""
    simulation, peer = world
    states = peer.listen("joint_states", JOINT_STATE)
    box = height(simulation, "box")
    answer = simulation.spawn("arm", pendulum("world"), (0.0, 3.0, 1.0))
    assert code(answer) == OK, answer.result.error_message
    answer = simulation.spawn("acrobat", pendulum("trunk", _PART), (0.0, 6.0, 5.0))
    assert code(answer) == OK, answer.result.error_message
    robot = message_class("simulation_interfaces/msg/EntityCategory")(category=1)
    assert simulation.entities(categories=[robot]) == ["arm", "acrobat"]
    names = ["arm_hinge", "acrobat_hinge", "arm_knee", "acrobat_knee"]
    simulation("step_simulation", steps=1)
    peer.until(lambda: list(states[-1].name) == names)
    commands = peer.publisher("joint_commands", qos=QoS(1, reliable=False))
    command = peer.joint_command(["acrobat_hinge", "arm_hinge"], [-0.5, 2.5])

    def acts():
        commands.publish(command)
        simulation("step_simulation", steps=1)
        return list(states[-1].effort[:2]) == [2.5, -0.5]

    wait_until(acts, "efforts of the command")
    simulation("step_simulation", steps=100)
    peer.until(lambda: states and states[-1].position[0] != 0.0)
    angles = np.asarray(states[-1].position)
    np.testing.assert_array_equal(angles[2:], -angles[:2])
    assert height(simulation, "arm") == 1.0 and height(simulation, "acrobat") < 4.99
    assert height(simulation, "box") == pytest.approx(box, abs=1e-6)
    assert code(simulation("delete_entity", entity="arm")) == OK
    simulation("step_simulation", steps=1)
    peer.until(lambda: list(states[-1].name) == names[1::2])
    assert states[-1].effort[0] == -0.5  # the command stays with its joint
    assert code(simulation("reset_simulation", scope=4)) == OK
    peer.until(lambda: list(states[-1].name) == [])


@pytest.mark.parametrize(
    "fields, number, words",
    [
        ({"text": ""}, 104, "both uri and resource_string are empty"),
        ({"text": "[1, 2]"}, 103, "neither a URDF, an SDF nor a YAML mapping"),
        ({"text": "{shape: box, size: [0.1"}, 106, "YAML"),
        ({"text": "{shape: box, size: [0.1, 0.1, 0.1]}"}, 106, "mass"),
        ({"text": "{shape: bxo, size: [1], mass: 1}"}, 106, "shape"),
        ({"text": "<sdf/>"}, 106, "holds 0 models"),
        ({"text": "<mujoco/>"}, 103, "is no URDF or SDF"),
        ({"text": "<robot"}, 106, "no XML"),
        ({"text": "<robot name='a'><link name='b'/></robot>"}, 106, "inertia"),
        ({"text": BALL, "position": (np.nan, 0.0, 0.0)}, 109, "not finite"),
        ({"text": BALL, "w": 0.0}, 109, "length one"),
        ({"text": BALL, "name": "7 up"}, 102, "no name"),
        ({"text": BALL, "entity_namespace": "a"}, 105, "namespace"),
        ({"uri": "file:///nowhere/a.urdf"}, 107, "no file"),
        ({"uri": "/etc/hostname"}, 103, "ends in none"),
    ],
)
def test_what_cannot_be_spawned_says_why(world, fields, number, words):
    simulation, _ = world
    answer = simulation.spawn(**{"name": "thing", **fields})
    assert code(answer) == number, answer.result.error_message
    assert words in answer.result.error_message and simulation.entities() == ["table", "box"]


def test_setting_a_state(world):
    simulation, _ = world
    state = message_class("simulation_interfaces/msg/EntityState")()
    state.pose.position.x, state.pose.position.z, state.pose.orientation.w = 3.0, 2.0, 1.0
    state.twist.linear.x = 1.5
    assert code(simulation.put("box", state)) == OK
    simulation("step_simulation", steps=10)
    found = simulation("get_entity_state", entity="box").state
    assert found.pose.position.x == pytest.approx(3.015, abs=1e-12) and found.twist.linear.x == 1.5
    for entity, change, number in (("table", {}, FAILED), ("nothing", {}, NOT_FOUND), ("box", {"w": 0.0}, 101)):
        state.pose.orientation.w = change.get("w", 1.0)
        assert code(simulation.put(entity, state)) == number
    assert code(simulation("reset_simulation", scope=2)) == OK


def test_release_2(tmp_path):
    """The later release: a Resource in spawn_entity, flags in set_entity_state."""
    client = (
        "import sys\n"
        "from ros.support import Peer\n"
        "import os\n"
        "from mb_contact.ros.embedded.messages import message_class as m\n"
        "peer = Peer('asker', os.environ)\n"
        "def call(service, kind, **fields):\n"
        "    return peer.call(service, f'simulation_interfaces/srv/{kind}', **fields)\n"
        "pose = m('geometry_msgs/msg/PoseStamped')(); pose.pose.position.z = 2.0; pose.pose.orientation.w = 1.0\n"
        f"resource = m('simulation_interfaces/msg/Resource')('', '{BALL}')\n"
        "a = call('spawn_entity', 'SpawnEntity', name='ball', entity_resource=resource, initial_pose=pose)\n"
        "state = m('simulation_interfaces/msg/EntityState')(); state.twist.linear.y = 2.0\n"
        "b = call('set_entity_state', 'SetEntityState', entity='ball', state=state, set_twist=True)\n"
        "c = call('get_entity_state', 'GetEntityState', entity='ball').state\n"
        "print('result', a.result.result, b.result.result, c.pose.position.z, c.twist.linear.y, flush=True)\n"
        "peer.close()\n"
    )
    with Session(**{RELEASE_VARIABLE: "2"}) as ros:
        ros.env["PYTHONPATH"] += f":{ROOT / 'test'}"
        ros.node(SCENE, "--ros-args", "-p", "start_paused:=true")
        asker = ros.process(sys.executable, "-u", "-c", client)
        assert asker.wait_for("result 1 1 2.0 2.0"), asker.output()

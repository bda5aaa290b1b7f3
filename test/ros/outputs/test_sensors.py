# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Images beside a lockstep, latencies, and the zero of sensors of forces, over DDS.

Covers ros/outputs/images.py.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Pose, Primitive, Scene, SceneModel
from mb_contact.model.scene.sensors import Image, Sensor
from mb_contact.ros.embedded.messages import stamp_ns
from mb_contact.ros.qos import COMMAND_LOCKSTEP, QoS
from ros.support import JOINT_STATE, TRIGGER, Session

STEPS = 600
SLIDER = (
    '<robot name="lift"><link name="base"/><link name="table"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
    'izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size="4 4 0.2"/></geometry></collision>'
    '</link><joint name="up" type="prismatic"><parent link="base"/><child link="table"/><axis xyz="0 0 1"/>'
    '<limit lower="-9" upper="9" effort="100" velocity="100"/></joint></robot>'
)
DOWN = Pose((0.0, 0.0, 3.0), rpy=(0.0, 0.5 * np.pi, 0.0))


def test_no_state_is_lost_beside_a_camera_whose_images_show_their_stamps(backend):
    """A table falls under two cameras, the second of which waits: each depth is that of the state of its stamp."""
    eye = Sensor("eye", "camera", link="world", pose=DOWN, image=Image(161, 121, 0.8), rate=50.0, latency=0.004)
    large = Sensor("large", "camera", link="world", pose=DOWN, image=Image(640, 480, 0.8), rate=50.0)
    scene = Scene(models=(SceneModel(SLIDER),), sensors=(large, eye), rates={"joint_state_rate": 1000.0})
    with Session.of(backend) as ros:
        peer = ros.peer()
        states, images, stamps = {}, {}, []
        with ros.running(mb.Simulator(scene), lockstep=True, real_time_factor=0.0, lockstep_timeout=60.0,
                         backend=backend) as node:
            commands = peer.publisher("joint_commands", qos=COMMAND_LOCKSTEP)

            def answer(state):
                stamp = stamp_ns(state.header.stamp)
                if stamp not in states:
                    stamps.append(stamp)
                states[stamp] = state.position[0]
                if stamp < STEPS * 10**6:
                    commands.publish(peer.joint_command(["up"], [3.0], stamp))
                with peer.changed:
                    peer.changed.notify_all()

            def keep(image):
                pixels = np.asarray(image.data).view(np.float32).reshape(image.height, image.width)
                images[stamp_ns(image.header.stamp)] = pixels[60, 80]

            peer.listen("sensors/large/depth", "sensor_msgs/msg/Image", QoS(1, reliable=False), raw=True)
            peer.node.create_subscription("sensor_msgs/msg/Image", "sensors/eye/depth", keep, QoS(50, reliable=False))
            peer.node.create_subscription(JOINT_STATE, "joint_states", answer, QoS(1000))
            peer.until(lambda: stamps and stamps[-1] == STEPS * 10**6)
            peer.until(lambda: len(images) > 2)
            assert node.summary().lockstep_timeouts == 0
    assert stamps == [i * 10**6 for i in range(STEPS + 1)]
    assert all(stamp % 20_000_000 == 0 for stamp in images)
    for stamp, seen in images.items():
        assert seen == pytest.approx(2.9 - states[stamp], abs=1e-6)
    assert len({round(float(seen), 4) for seen in images.values()}) == len(images)


def test_a_zero_is_set_over_its_service(backend):
    box = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((0.0, 0.0, 0.1)), "free", 2.0)
    slab = Primitive("slab", "box", (1.0, 1.0, 0.2), Pose((0.0, 0.0, -0.1)))
    sensors = (Sensor("force", "contact", link="box", rate=100.0), Sensor("imu", "imu", link="box"))
    with Session.of(backend) as ros:
        peer = ros.peer()
        with ros.running(mb.Simulator(Scene(primitives=(box, slab), sensors=sensors)), backend=backend):
            wrenches = peer.listen("sensors/force", "geometry_msgs/msg/WrenchStamped")
            peer.until(lambda: wrenches and wrenches[-1].wrench.force.z == pytest.approx(2.0 * 9.81, rel=1e-6))
            answer = peer.call("sensors/force/tare", TRIGGER)
            assert answer.success and "'force'" in answer.message
            peer.until(lambda: abs(wrenches[-1].wrench.force.z) < 1e-6)


def test_another_world_is_seen_and_keeps_the_zeros(backend):
    """A slab is put under the camera while the node runs: images show it, and what was tared stays so."""
    box = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((0.0, 0.0, 0.1)), "free", 2.0)
    slab = Primitive("slab", "box", (1.0, 1.0, 0.2), Pose((0.0, 0.0, -0.1)))
    more = Primitive("more", "box", (0.5, 0.5, 0.2), Pose((0.0, 0.0, 1.0)))
    sensors = (Sensor("force", "contact", link="box", rate=100.0),
               Sensor("eye", "camera", link="world", pose=DOWN, image=Image(11, 11, 0.2), rate=50.0))  # fmt: skip
    scene = Scene(primitives=(box, slab), sensors=sensors)
    with Session.of(backend) as ros:
        peer = ros.peer()
        with ros.running(mb.Simulator(scene), backend=backend) as node:
            wrenches = peer.listen("sensors/force", "geometry_msgs/msg/WrenchStamped")
            images = peer.listen("sensors/eye/depth", "sensor_msgs/msg/Image", QoS(10, reliable=False))
            peer.until(lambda: images and wrenches and wrenches[-1].wrench.force.z > 19.0)
            assert depth(images[-1]) == pytest.approx(2.8, abs=1e-5)
            assert peer.call("sensors/force/tare", TRIGGER).success
            larger = dataclasses.replace(scene, primitives=(box, slab, more))
            node.ask(lambda: node.replace_simulator(node.simulator.rebuilt(larger)))
            peer.until(lambda: depth(images[-1]) == pytest.approx(1.9, abs=1e-5))
            peer.next_messages("sensors/force", 3)
            assert abs(wrenches[-1].wrench.force.z) < 1e-6
            smaller = dataclasses.replace(scene, primitives=(slab,), sensors=sensors[1:])
            node.ask(lambda: node.replace_simulator(node.simulator.rebuilt(smaller)))
            answer = peer.call("sensors/force/tare", TRIGGER)
            assert not answer.success and "there is no sensor 'force'" in answer.message
            peer.until(lambda: depth(images[-1]) == pytest.approx(3.0, abs=1e-5))


def test_a_world_that_cannot_be_taken_up_leaves_the_former_one(backend, monkeypatch):
    """Topics of the new world fail in the middle: the state, its joints and its sensors are those of before."""
    box = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((0.0, 0.0, 3.0)), "free", 2.0)
    scene = Scene(primitives=(box,), sensors=(Sensor("imu", "imu", link="box", rate=100.0),))
    with Session.of(backend) as ros:
        peer = ros.peer()
        with ros.running(mb.Simulator(scene), backend=backend) as node:
            imus = peer.listen("sensors/imu", "sensor_msgs/msg/Imu")
            peer.until(lambda: imus)
            former, bind = node.simulator, node.outputs.bind

            def fails(simulator, anew):
                bind(simulator, anew)
                if simulator is not former:
                    raise mb.InputError("no more topics")

            monkeypatch.setattr(node.outputs, "bind", fails)
            with pytest.raises(mb.InputError, match="no more topics"):
                node.ask(lambda: node.replace_simulator(former.rebuilt(dataclasses.replace(scene, sensors=()))))
            assert node.simulator is former
            peer.next_messages("sensors/imu", 3)


def depth(image):
    """Of the middle of an image of 11 x 11."""
    return np.asarray(image.data).view(np.float32)[60]

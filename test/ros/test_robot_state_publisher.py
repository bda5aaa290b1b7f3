# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The unmodified robot_state_publisher (C++, KDL) beside the node: its /tf is the simulator's kinematics.

Runs where a ROS 2 with robot_state_publisher is sourced.
"""

from __future__ import annotations

import numpy as np
import yaml
from lxml import etree

import mb_contact as mb
from mb_contact.ros import QoS
from mb_contact.ros.embedded.messages import stamp_ns
from paths import ROOT
from ros.support import Session, installed_program

SCENE = ROOT / "config" / "dual_arm_lift.yaml"
TF = "tf2_msgs/msg/TFMessage"
REAL = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def rotation(q):
    """Rotation matrix of a geometry_msgs quaternion."""
    x, y, z, w = q.x, q.y, q.z, q.w
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K


def errors(transforms, model, q):
    """Largest difference between each transform and that of the model at q: position [m], rotation matrix."""
    largest = 0.0
    for transform in transforms:
        (R_a, p_a), (R_b, p_b) = (
            mb.frame_pose(model, q, name) for name in (transform.header.frame_id, transform.child_frame_id)
        )
        t = transform.transform.translation
        difference = R_a.T @ (p_b - p_a) - [t.x, t.y, t.z]
        turned = R_a.T @ R_b - rotation(transform.transform.rotation)
        largest = max(largest, np.abs(difference).max(), np.abs(turned).max())
    return largest


def test_the_links_in_tf_are_where_the_simulator_has_them(tmp_path):
    """Both arms fall; every transform equals that of our kinematics at the joint state of the same stamp."""
    program = installed_program("robot_state_publisher", "robot_state_publisher")
    world = mb.build_world(mb.load_scene(SCENE))
    (model,) = world.robot_models
    parameters = {"robot_description": model.urdf, "use_sim_time": True}
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump({"robot_state_publisher": {"ros__parameters": parameters}}), encoding="utf-8")
    with Session(**REAL) as ros:
        peer = ros.peer()
        states = peer.listen("joint_states")
        moving, fixed = peer.listen("/tf", TF), peer.listen("/tf_static", TF, QoS(1, latched=True))
        ros.process(program, "--ros-args", "--params-file", file)
        node = ros.node(SCENE, "--ros-args", "-p", "real_time_factor:=0.2", "-p", "clock_rate:=1000.0")
        links = set(model.link_names)
        (root,) = links - {j.get("link") for j in etree.fromstring(model.urdf.encode()).iterfind("joint/child")}

        def robots(messages):
            return [m for m in messages if all(t.header.frame_id in links for t in m.transforms)]

        peer.until(lambda: len(robots(moving)) >= 20 and robots(fixed))
        measured = {stamp_ns(state.header.stamp): state for state in states}
        names = list(states[0].name)
        compared = 0
        for message in robots(moving):
            state = measured.get(stamp_ns(message.transforms[0].header.stamp))
            if state is None:
                continue  # published before this test's subscription had matched
            q = np.array([state.position[names.index(name)] for name in model.joint_names])
            moved = {t.child_frame_id for t in message.transforms}
            assert len(moved) == len(model.joint_names)
            assert errors(message.transforms, model, q) < 1e-12
            compared += 1
        assert compared >= 10
        assert np.abs(np.asarray(states[-1].position) - states[0].position).max() > 1e-3
        transforms = [t for message in robots(fixed) for t in message.transforms]
        assert {t.child_frame_id for t in transforms} == links - moved - {root}
        assert errors(transforms, model, q) < 1e-12
        node.signal()
        assert node.wait() == 0, node.output()

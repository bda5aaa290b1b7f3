# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What topics say of a scene, whatever its links are called, by whom and in what frame it is told; without ROS."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.ros.embedded.messages import message_class, serialize
from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.topics import STATES, TF, Topics

ROBOT = """<robot name='r'><link name='{root}'><inertial><mass value='1'/>
<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link><link name='{tool}'><inertial>
<mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial><visual><geometry>
<box size='1 1 1'/></geometry></visual></link>
<joint name='{joint}' type='continuous'><parent link='{root}'/><child link='{tool}'/>
<axis xyz='0 0 1'/></joint></robot>"""
BOX = "{name: box, shape: box, size: [1, 1, 1], mass: 1.0, base: free}"
TURNED = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))  #: by 90 degrees about z


def topics_of(folder, roots, free=False, prefix=""):
    """Topics of a scene of robots with these root links, two metres apart, and a box; all that is told to warn."""
    models = []
    for k, root in enumerate(roots):
        text = ROBOT.format(root=root, tool=f"tool_{k}", joint=f"joint_{k}")
        (folder / f"{k}.urdf").write_text(text, encoding="utf-8")
        models.append(f"{{urdf: {k}.urdf, pose: {{position: [{2 * k + 2}, 0, 1]}}{', base: free' * free}}}")
    scene_file = folder / "scene.yaml"
    scene_file.write_text(f"models: [{', '.join(models)}]\nprimitives: [{BOX}]\n", encoding="utf-8")
    scene = mb.load_scene(scene_file)
    world = mb.build_world(scene)
    warned = []
    return Topics(world, scene_drawing(scene, world), prefix, warned.append), warned


def told(*frames):
    """A message of /tf: (parent, child, position, quaternion) each."""
    message = message_class(TF)()
    for parent, child, position, quaternion in frames:
        transform = message_class("geometry_msgs/msg/TransformStamped")()
        transform.header.frame_id, transform.child_frame_id = parent, child
        p, o = transform.transform.translation, transform.transform.rotation
        (p.x, p.y, p.z), (o.x, o.y, o.z, o.w) = position, quaternion
        message.transforms.append(transform)
    return serialize(message, TF)


def states(**positions):
    message = message_class(STATES)(name=list(positions), position=np.array([*positions.values()]))
    return serialize(message, STATES)


PLAIN = (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("root", ["world", "base", "map", "odom"])
def test_free_bodies_are_where_they_are_told_whatever_a_root_link_is_called(root, tmp_path):
    """The frame of the world may be called as the root link of a robot that stands elsewhere."""
    topics, warned = topics_of(tmp_path, [root])
    topics.hear(TF, told((root, "box", (1.0, 2.0, 0.1), PLAIN)))
    topics.keep(STATES, states(joint_0=0.3))
    poses = topics.snapshot().poses
    np.testing.assert_allclose(poses["box"][0], (1.0, 2.0, 0.1))
    np.testing.assert_allclose(poses["tool_0"][0], (2.0, 0.0, 1.0))
    assert poses["tool_0"][1][2] == pytest.approx(np.sin(0.15)) and not warned
    topics.hear(TF, told(("elsewhere", root, (2.0, 0.0, 1.0), PLAIN)))  # now it is the link's, which stands there
    np.testing.assert_allclose(topics.snapshot().poses["box"][0], (3.0, 2.0, 1.1))


def test_many_robots_may_publish_their_joints_each_for_itself(tmp_path):
    topics, _ = topics_of(tmp_path, ["world", "base", "r2/base_link", "map"])
    for k in (0, 1, 2, 3):
        for angle in (9.0, 0.1 * (k + 1)):
            topics.keep(STATES, states(**{f"joint_{k}": angle}))
    frame = topics.snapshot()
    for k in (0, 1, 2, 3):
        assert frame.poses[f"tool_{k}"][1][2] == pytest.approx(np.sin(0.05 * (k + 1)))
        assert frame.poses[f"tool_{k}"][0][0] == pytest.approx(2.0 * k + 2.0)
    assert set(frame.readings.joints) == {f"joint_{k}" for k in range(4)}


def test_what_is_told_in_the_frame_of_a_link_moves_with_it(tmp_path):
    topics, _ = topics_of(tmp_path, ["base"])
    topics.hear(TF, told(("camera", "box", (0.0, 0.0, 0.5), PLAIN), ("tool_0", "camera", (1.0, 0.0, 0.0), PLAIN)))
    topics.keep(STATES, states(joint_0=0.5 * np.pi))
    p, quaternion = topics.snapshot().poses["box"]
    np.testing.assert_allclose(p, (2.0, 1.0, 1.5), atol=1e-12)
    np.testing.assert_allclose(np.abs(quaternion @ np.array(TURNED)), 1.0)


def test_a_robot_that_drives_is_where_the_frames_above_it_say(tmp_path):
    topics, _ = topics_of(tmp_path, ["base_link"], free=True)
    topics.hear(TF, told(("map", "odom", (5.0, 0.0, 0.0), TURNED)))
    topics.hear(TF, told(("odom", "base_link", (1.0, 0.0, 0.2), PLAIN)))
    np.testing.assert_allclose(topics.snapshot().poses["tool_0"][0], (5.0, 1.0, 0.2), atol=1e-12)


def test_frames_that_stand_on_each_other_in_a_circle_do_no_harm(tmp_path):
    topics, _ = topics_of(tmp_path, ["base"])
    here = (0.0, 0.0, 0.0)
    topics.hear(TF, told(("b", "box", (1.0, 0.0, 0.0), PLAIN), ("a", "b", here, PLAIN), ("b", "a", here, PLAIN)))
    assert np.isfinite(topics.snapshot().poses["box"][0]).all()


def test_bytes_of_joint_states_that_cannot_be_read_are_told_once(tmp_path):
    topics, warned = topics_of(tmp_path, ["base"])
    topics.keep(STATES, b"\0\1\0\0\1")
    topics.keep(STATES, states(joint_0=0.2))
    for _ in range(3):
        frame = topics.snapshot()
    assert frame.poses["tool_0"][1][2] == pytest.approx(np.sin(0.1)) and len(warned) == 1

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""planning_scene over real DDS, as MoveIt's monitor takes it: applied message by message, it is the scene."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.ros.embedded.messages import deserialize, serialize
from mb_contact.ros.outputs.planning_scene import TYPE
from mb_contact.ros.qos import QoS
from ros.simulation import BALL, OK, Simulation, code, message
from ros.support import Session, wait_until

ADD, REMOVE, MOVE = 0, 1, 3
BOX, SPHERE, CYLINDER, CONE = 1, 2, 3, 4
SHAPES = {
    "box": (0.2, 0.4, 0.6), "sphere": (0.3,), "cylinder": (0.2, 0.5), "capsule": (0.1, 0.4), "cone": (0.3, 0.5),
    "ellipsoid": (0.1, 0.2, 0.3),
}  # fmt: skip


def write_scene(folder):
    """One of each shape, far apart, a welded one, a ground, and a robot, which no planner shall avoid."""
    lines = ["gravity: [0.0, 0.0, -9.81]", "ground: {height: -1.0}", "primitives:"]
    for i, (name, size) in enumerate(SHAPES.items()):
        pose = f"{{position: [{3 * i}, 0.0, 5.0], rpy: [0.3, 0.2, {0.1 * i}]}}"
        lines.append(f"  - {{name: {name}, shape: {name}, size: {list(size)}, base: free, mass: 1.0, pose: {pose}}}")
    lines.append("  - {name: wall, shape: box, size: [1, 1, 1], pose: {position: [0, 9, 0]}}")
    lines.append("models: [{name: arm, urdf: package://mb_contact/urdf/dual_arm.urdf, pose: {position: [0, 30, 0]}}]")
    path = folder / "shapes.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


class Planner:
    """Keeps what messages tell, as a planning scene does."""

    def __init__(self, peer):
        self.objects, self.operations, self.peer = {}, [], peer
        peer.node.create_subscription(TYPE, "planning_scene", self.take, QoS(100))

    def take(self, told):
        assert told.is_diff and told.robot_state.is_diff
        with self.peer.changed:
            for entry in told.world.collision_objects:
                assert entry.header.frame_id == "world"
                self.operations.append((entry.id, int(entry.operation)))
                if entry.operation == ADD:
                    self.objects[entry.id] = entry
                elif entry.operation == MOVE:
                    assert not entry.primitives and not entry.meshes
                    self.objects[entry.id].pose = entry.pose
                else:
                    del self.objects[entry.id]
            self.peer.changed.notify_all()


@pytest.fixture(scope="module")
def scene(backend, tmp_path_factory):
    if backend == "rclpy":
        pytest.importorskip("moveit_msgs", reason="this ROS 2 lacks moveit_msgs")
    path = write_scene(tmp_path_factory.mktemp("planning"))
    with Session.of(backend) as ros:
        arguments = "--ros-args", "-p", "start_paused:=true", "-p", "planning_scene_rate:=1000.0"
        ros.node(path, *arguments, backend=backend)
        peer = ros.peer()
        yield Simulation(peer), Planner(peer), peer, path


def as_arrays(pose):
    return np.array([pose.position.x, pose.position.y, pose.position.z]), quat_to_matrix(
        np.array([pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w])
    )


def reach(entry, direction):
    """How far an object reaches along a unit vector of the world, of MoveIt's definitions of its shapes."""
    p, R = as_arrays(entry.pose)
    found = []
    for solid, place in zip(entry.primitives, entry.primitive_poses):
        q, S = as_arrays(place)
        d = (R @ S).T @ direction
        x, across, size = direction @ (p + R @ q), np.hypot(d[0], d[1]), list(solid.dimensions)
        found.append(x + {
            BOX: lambda: 0.5 * np.abs(d) @ size,  # noqa: B023
            SPHERE: lambda: size[0],  # noqa: B023
            CYLINDER: lambda: 0.5 * size[0] * abs(d[2]) + size[1] * across,  # noqa: B023
            CONE: lambda: max(0.5 * size[0] * d[2], size[1] * across - 0.5 * size[0] * d[2]),  # noqa: B023
        }[int(solid.type)]())  # fmt: skip
    for mesh, place in zip(entry.meshes, entry.mesh_poses):
        q, S = as_arrays(place)
        points = np.array([[v.x, v.y, v.z] for v in mesh.vertices])
        found.append(((p + (q + points @ S.T) @ R.T) @ direction).max())
    return max(found)


def test_a_planner_sees_the_scene_and_how_it_changes(scene):
    simulation, planner, peer, path = scene
    simulation("step_simulation", steps=1)
    peer.until(lambda: planner.objects)
    assert set(planner.objects) == {*SHAPES, "wall", "ground"}  # and no robot
    same = mb.Simulator(path)
    same.step()
    for name, size in SHAPES.items():
        p, R = as_arrays(planner.objects[name].pose)
        np.testing.assert_allclose(p, same.link_pose(name)[0], atol=1e-12)
        np.testing.assert_allclose(R, quat_to_matrix(same.link_pose(name)[1]), atol=1e-12)
        bounds = simulation("get_entity_bounds", entity=name).bounds.points
        upper = np.array([bounds[0].x, bounds[0].y, bounds[0].z])
        for k in range(3):  # along the object's own axes, where its bounds are known
            tolerance = 1e-9 if name != "ellipsoid" else 0.02 * max(size)
            assert reach(planner.objects[name], R[:, k]) - p @ R[:, k] == pytest.approx(upper[k], abs=tolerance), name
    assert [int(solid.type) for solid in planner.objects["capsule"].primitives] == [CYLINDER, SPHERE, SPHERE]
    ground = planner.objects["ground"]
    assert list(ground.planes[0].coef) == [0.0, 0.0, 1.0, 0.0]
    assert as_arrays(ground.plane_poses[0])[0][2] + ground.pose.position.z == -1.0
    planner.operations.clear()
    simulation("step_simulation", steps=5)  # what falls is moved, and nothing else is told
    peer.until(lambda: len(planner.operations) >= 5 * len(SHAPES))
    assert set(planner.operations) == {(name, MOVE) for name in SHAPES}
    assert code(simulation.spawn("guest", BALL, (0.0, -9.0, 5.0))) == OK
    simulation("step_simulation", steps=2)
    peer.until(lambda: ("guest", ADD) in planner.operations and ("guest", MOVE) in planner.operations)
    assert code(simulation("delete_entity", entity="guest")) == OK
    simulation("step_simulation", steps=1)
    peer.until(lambda: "guest" not in planner.objects)
    second = Planner(peer)  # somebody who comes later hears everything
    def heard():
        simulation("step_simulation", steps=1)
        return bool(second.objects)

    wait_until(heard, "the whole scene again")
    assert set(second.objects) == set(planner.objects)
    state = message("EntityState")
    state.pose.position.y, state.pose.orientation.w = 12.0, 1.0
    assert code(simulation.put("wall", state)) == OK
    simulation("step_simulation", steps=1)
    wall = lambda: planner.objects["wall"]  # noqa: E731  welded shapes stand in the world's axes
    peer.until(lambda: reach(wall(), np.array([0.0, 1.0, 0.0])) == 12.5)


def test_messages_survive_the_wire():
    from mb_contact.ros.embedded.messages import message_class

    told = message_class(TYPE)()
    told.world.collision_objects = [message_class("moveit_msgs/msg/CollisionObject")(id="a", operation=MOVE)]
    again = deserialize(serialize(told, TYPE), TYPE)
    assert dataclasses.is_dataclass(again) and again.world.collision_objects[0].operation == MOVE

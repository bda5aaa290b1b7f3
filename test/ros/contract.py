# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The node's contract as one table, topic by topic and service by service; test_contract*.py exercise it.

A small scene stands for all: an arm with a sensor in its wrist presses a tool on the floor, beside it stands a box.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec

import pytest

JOINT_STATE = "sensor_msgs/msg/JointState"
ARRAY = "std_msgs/msg/Float64MultiArray"
WRENCH = "geometry_msgs/msg/WrenchStamped"
IMAGE = "sensor_msgs/msg/Image"
CLOUD = "sensor_msgs/msg/PointCloud2"
TF = "tf2_msgs/msg/TFMessage"
STATUS = "diagnostic_msgs/msg/DiagnosticStatus"
SIMULATE = "simulation_interfaces/action/SimulateSteps"


@dataclass(frozen=True)
class Topic:
    """One topic: ``way`` is in or out, ``asked`` one that speaks only when something happens; of a node in /cell."""

    way: str
    name: str
    type: str
    reliable: bool = True
    latched: bool = False
    asked: bool = False


@dataclass(frozen=True)
class Service:
    """One service."""

    name: str
    type: str


TOPICS = (
    Topic("in", "/cell/joint_commands", JOINT_STATE, reliable=False),
    Topic("in", "/cell/effort_commands", ARRAY, reliable=False),
    Topic("in", "/cell/set_joint_states", JOINT_STATE),
    Topic("in", "/cell/external_wrench/tool", WRENCH),
    Topic("in", "/cell/external_wrench/box", WRENCH),
    Topic("in", "/cell/adhesion/cup/on", "std_msgs/msg/Bool"),
    Topic("in", "/cell/surfaces/belt/speed", "std_msgs/msg/Float64"),
    Topic("in", "/cell/tendons/cord/tension", "std_msgs/msg/Float64"),
    Topic("in", "/cell/tendons/cord/rest_length", "std_msgs/msg/Float64"),
    Topic("in", "/cell/attachments/grip/attach", "std_msgs/msg/Empty"),
    Topic("in", "/cell/attachments/grip/detach", "std_msgs/msg/Empty"),
    Topic("in", "/cell/attach", "std_msgs/msg/String"),
    Topic("in", "/cell/detach", "std_msgs/msg/String"),
    Topic("out", "/cell/joint_states", JOINT_STATE),
    Topic("out", "/cell/run", "std_msgs/msg/UInt64", latched=True),
    Topic("in", "/cell/run", "std_msgs/msg/UInt64", latched=True),  # of other simulators
    Topic("out", "/clock", "rosgraph_msgs/msg/Clock"),
    Topic("out", "/tf", TF),
    Topic("out", "/tf_static", TF, latched=True),
    Topic("out", "/cell/robot_description", "std_msgs/msg/String", latched=True),
    Topic("out", "/cell/contact_wrenches/tool", WRENCH),
    Topic("out", "/cell/joint_wrenches/sensor", WRENCH),
    Topic("out", "/cell/sensors/imu", "sensor_msgs/msg/Imu"),
    Topic("out", "/cell/sensors/wrist", WRENCH),
    Topic("out", "/cell/sensors/encoder", JOINT_STATE),
    Topic("out", "/cell/sensors/press", WRENCH),
    Topic("out", "/cell/sensors/pad", WRENCH),
    Topic("out", "/cell/sensors/pad/pressure", IMAGE),
    Topic("out", "/cell/sensors/eye/camera_info", "sensor_msgs/msg/CameraInfo", reliable=False),
    Topic("out", "/cell/sensors/eye/depth", IMAGE, reliable=False),
    Topic("out", "/cell/sensors/eye/image", IMAGE, reliable=False),
    Topic("out", "/cell/sensors/eye/points", CLOUD, reliable=False),
    Topic("out", "/cell/sensors/scanner", "sensor_msgs/msg/LaserScan", reliable=False),
    Topic("out", "/cell/sensors/rings", CLOUD, reliable=False),
    Topic("out", "/cell/contacts", "ros_gz_interfaces/msg/Contacts"),
    Topic("out", "/cell/certificate", STATUS),
    Topic("out", "/cell/contact_markers", "visualization_msgs/msg/MarkerArray"),
    Topic("out", "/cell/planning_scene", "moveit_msgs/msg/PlanningScene", asked=True),
    Topic("out", "/cell/object_markers", "visualization_msgs/msg/MarkerArray", latched=True),
    Topic("out", "/cell/operational_space/state", ARRAY),
    Topic("out", "/cell/operational_space/inertia", ARRAY),
    Topic("out", "/cell/operational_space/compliance", ARRAY),
    Topic("out", "/cell/operational_space/jacobian", ARRAY),
    Topic("out", "/cell/operational_space/bias", ARRAY),
    Topic("out", "/cell/mass_matrix", ARRAY),
    Topic("out", "/cell/nonlinear_effects", ARRAY),
    Topic("out", "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"),
    Topic("out", "/cell/simulate_steps/_action/feedback", f"{SIMULATE}_FeedbackMessage", asked=True),
    Topic("out", "/cell/simulate_steps/_action/status", "action_msgs/msg/GoalStatusArray", latched=True, asked=True),
    Topic("out", "/rosout", "rcl_interfaces/msg/Log", latched=True),
    Topic("out", "/parameter_events", "rcl_interfaces/msg/ParameterEvent"),
)

OUT = [topic for topic in TOPICS if topic.way == "out"]


def installed(entries, backend="rclpy"):
    """Those topics or services whose package this ROS 2 has; the embedded backend has all."""
    return [entry for entry in entries if backend == "embedded" or find_spec(entry.type.partition("/")[0])]


def need(entry, backend):
    """Skip where this ROS 2 lacks the package of a topic or service."""
    if not installed([entry], backend):
        pytest.skip(f"this ROS 2 lacks {entry.type.partition('/')[0]}")


_SIMULATION = (
    "ResetSimulation StepSimulation SetSimulationState GetSimulationState GetSimulatorFeatures GetEntities "
    "GetEntitiesStates GetEntityState SetEntityState GetEntityInfo SetEntityInfo GetEntityBounds SpawnEntity "
    "SpawnEntities DeleteEntity GetSpawnables GetNamedPoses GetNamedPoseBounds LoadWorld UnloadWorld GetCurrentWorld "
    "GetAvailableWorlds"
).split()
_PARAMETERS = (
    "DescribeParameters GetParameterTypes GetParameters ListParameters SetParameters SetParametersAtomically"
).split()


def _words(name):
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:]


SERVICES = (
    Service("/cell/sim/reset", "std_srvs/srv/Trigger"),
    Service("/cell/sim/pause", "std_srvs/srv/SetBool"),
    Service("/cell/sim/step", "std_srvs/srv/Trigger"),
    *(Service(f"/cell/sensors/{name}/tare", "std_srvs/srv/Trigger") for name in ("wrist", "press", "pad")),
    Service("/cell/adhesion/cup/switch", "std_srvs/srv/SetBool"),
    Service("/cell/set_values", "rcl_interfaces/srv/SetParameters"),
    Service("/cell/attachments/grip/hold", "std_srvs/srv/SetBool"),
    *(Service(f"/cell/{_words(name)}", f"simulation_interfaces/srv/{name}") for name in _SIMULATION),
    *(Service(f"/cell/sim/{_words(name)}", f"rcl_interfaces/srv/{name}") for name in _PARAMETERS),
    Service("/cell/simulate_steps/_action/send_goal", f"{SIMULATE}_SendGoal"),
    Service("/cell/simulate_steps/_action/cancel_goal", "action_msgs/srv/CancelGoal"),
    Service("/cell/simulate_steps/_action/get_result", f"{SIMULATE}_GetResult"),
    Service("/cell/sim/get_type_description", "type_description_interfaces/srv/GetTypeDescription"),
)

RESET = Service("/cell/reset_simulation", "simulation_interfaces/srv/ResetSimulation")
assert RESET in SERVICES

PARAMETERS = {  # name: value in this run, whether it can be changed
    "lockstep": (False, False),
    "lockstep_timeout": (0.0, True),
    "lockstep_joints": ([""], False),
    "wait_for_controller": (True, False),
    "command_timeout": (0.1, True),
    "command_timeout_policy": ("hold", True),
    "unstamped_commands": ("accept", True),
    "real_time_factor": (1.0, True),
    "control_period": (0.0, False),
    **{
        f"{name}_rate": (-1.0, True)
        for name in ("joint_state", "operational_space", "clock", "contact", "certificate", "tf", "diagnostics")
    },
    "operational_space_constraints": ("loops", False),
    "marker_rate": (30.0, True),
    "planning_scene_rate": (10.0, True),
    "world_frame": ("world", False),
    "frame_prefix": ("", False),
    "start_paused": (False, False),
    "pause_at": (-1.0, True),
    "reset_rewinds_time": (False, True),
    "link_tf": (True, True),
    "external_wrench_links": ([""], False),
    "external_wrench_duration": (0.1, True),
    "external_wrench_limit": (1e4, True),
    "joint_wrench_joints": (["sensor"], False),
    "value_parameters": (["mass", "damping.elbow", "gravity.box", "friction.box.ground",
                          "stiffness.box.ground"], False),  # fmt: skip
    "mass.box": (2.0, True),
    "mass.upper": (1.0, True),
    "mass.lower": (2.0, True),
    "damping.elbow": (0.25, True),  # the robot has none
    "gravity.box": ([0.0, 0.0, -9.81], True),
    "friction.box.ground": (0.5, True),
    "stiffness.box.ground": (1e7, True),
    "marker_scale": (0.0, True),
    "marker_cones": (True, True),
    "resource_roots": ([""], False),
    "resource_limit": (1_000_000, False),
    "mesh_limit": (50_000_000, False),
    "spawn_limit": (500, True),
    "use_sim_time": (False, True),
    "start_type_description_service": (True, False),
}

ARGUMENTS = (
    "--namespace cell --name sim --ros-args -p joint_wrench_joints:=[sensor] -p link_tf:=true -p marker_cones:=true "
    "-p value_parameters:=[mass,damping.elbow,gravity.box,friction.box.ground,stiffness.box.ground] "
    "-p damping.elbow:=0.25 "
    "-p qos_overrides./cell/certificate.publisher.depth:=12"
).split()  # fmt: skip

SCENE = """
models: [{name: arm, urdf: arm.urdf, joints: {shoulder: 0.3, elbow: 1.2}}]
primitives:
  - {name: box, shape: box, size: [0.1, 0.1, 0.1], pose: {position: [1.0, 0.0, 0.05]}, base: free, mass: 2.0,
     material: rubber}
materials: {rubber: {friction: 0.5, softness: {stiffness: 1.0e7, damping: 0.01}}}
ground: {height: 0.0}
operational_frames: [tool]
contact_wrench_links: [tool]
description: an arm that presses a tool on the floor
tags: [bench, indoor]
entities: {box: {description: a parcel, tags: [parcel, wooden]}}
named_poses:
  - {name: dock, pose: {position: [2.0, 0.0, 0.5]}, tags: [spawn], sphere: [0.0, 0.0, 0.1, 0.4]}
  - {name: shelf, pose: {position: [2.0, 1.0, 1.0], rpy: [0.0, 0.0, 1.5707963267948966]}, box: [[1, 2, 3], [-1, -2, 0]]}
adhesion_pads:
  - {name: cup, link: box, force: 1.0, on: false}
moving_surfaces:
  - {name: belt, link: ground, linear: [1.0, 0.0, 0.0], speed: 0.0}
tendons:
  - {name: cord, path: [{link: box}, {link: world}]}
loop_closures:
  - {name: grip, kind: weld, link_a: box, link_b: world, attached: false}
sensors:
  - {name: imu, kind: imu, link: tool, pose: {position: [0.0, 0.0, 0.05]}, rate: 200, latency: 0.01}
  - {name: wrist, kind: force_torque, joint: sensor, pose: {position: [0.0, 0.0, -0.02]}, rate: 100}
  - {name: encoder, kind: encoder, joints: [elbow], resolution: 0.001}
  - {name: press, kind: contact, link: tool, partner: ground, rate: 100}
  - {name: pad, kind: tactile, link: box, pad: {face: -z, cells: [3, 2]}, rate: 100}
  - {name: eye, kind: camera, link: world, pose: {position: [1.0, 0.0, 2.05], rpy: [0.0, 1.5707963267948966, 0.0]},
     image: {width: 33, height: 25, fov: 0.2, colour: true}, rate: 20, latency: 0.02}
  - {name: scanner, kind: lidar, link: box, pose: {position: [0.0, 0.0, 0.45]}, scan: {samples: 9, angles: [-0.4, 0.4]},
     rate: 20}
  - {name: rings, kind: lidar, link: box, pose: {position: [0.0, 0.0, 0.45]}, rate: 20,
     scan: {samples: 9, angles: [-0.4, 0.4], rings: 3, elevations: [-1.2, -0.8]}}
"""

_INERTIAL = (
    '<inertial><origin xyz="0 0 0.2"/><mass value="1"/>'
    '<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
)
_JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="0 0 {}"/>'
    '<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="50" velocity="10"/></joint>'
)
ARM = (
    '<robot name="arm"><link name="base"/>'
    f'<link name="upper">{_INERTIAL}</link><link name="lower">{_INERTIAL}</link>'
    f'<link name="tool">{_INERTIAL}<collision><origin xyz="0 0 0.1"/><geometry><sphere radius="0.03"/></geometry>'
    "</collision></link>"
    + _JOINT.format("shoulder", "revolute", "base", "upper", 0.5)
    + _JOINT.format("elbow", "revolute", "upper", "lower", 0.4)
    + _JOINT.format("sensor", "fixed", "lower", "tool", 0.4)
    + "</robot>"
)


def write_scene(folder):
    """Write the scene and its robot; returns the scene's path."""
    (folder / "arm.urdf").write_text(ARM, encoding="utf-8")
    path = folder / "contract.yaml"
    path.write_text(SCENE, encoding="utf-8")
    return path


# --- what messages and requests do: a bench with two driven hinges and a free one, beside it a box --------
@dataclass(frozen=True)
class Command:
    """A message on a topic with JointStates: what it holds, and what comes of it.

    ``run``: which run its frame_id names, the present one and so many more; None where it holds none.
    ``counters``: entries of /diagnostics that it raises by one.
    ``positions``, ``velocities``, ``efforts``: what joint_states tell then.
    """

    what: str
    fields: dict
    counters: tuple[str, ...] = ("accepted_commands", "unstamped_commands")
    run: int | None = 0
    topic: str = "joint_commands"
    efforts: dict = field(default_factory=dict)
    positions: dict = field(default_factory=dict)
    velocities: dict = field(default_factory=dict)


REFUSED = ("rejected_commands",)
COMMANDS = (
    Command("an effort", {"name": ["free"], "effort": [1.5]}, efforts={"free": 1.5}),
    Command("without a run", {"name": ["free"], "effort": [2.5]},
            ("accepted_commands", "unstamped_commands", "commands_without_run"), run=None, efforts={"free": 2.5}),
    Command("of an old run", {"name": ["free"], "effort": [9.0]}, REFUSED, run=-1),
    Command("of a run to come", {"name": ["free"], "effort": [9.0]}, REFUSED, run=1),
    Command("a position", {"name": ["valve"], "position": [0.4]}, positions={"valve": 0.4}),
    Command("a velocity", {"name": ["wheel"], "velocity": [3.0]}, velocities={"wheel": 3.0}),
    Command("a position, a velocity and an effort", {"name": ["valve", "wheel", "free"], "effort": [0.0, 0.0, -0.5],
            "position": [-0.3, 7.0, 7.0], "velocity": [0.0, -2.0, 7.0]},
            positions={"valve": -0.3}, velocities={"wheel": -2.0}, efforts={"free": -0.5}),
    Command("a position for a joint without an actuator", {"name": ["free"], "position": [0.1]}, REFUSED),
    Command("a velocity for one that has none", {"name": ["free", "wheel"], "velocity": [1.0, 1.0]}, REFUSED),
    Command("a position that is none", {"name": ["valve"], "position": [float("nan")]}, REFUSED),
    Command("positions that do not fit", {"name": ["valve"], "position": [0.1, 0.2]}, REFUSED),
    Command("an unknown joint", {"name": ["elbow"], "effort": [1.0]}, REFUSED),
    Command("joints put elsewhere", {"name": ["free"], "position": [0.25], "velocity": [0.0]}, (),
            topic="set_joint_states", positions={"free": 0.25}),
    Command("an unknown joint put elsewhere", {"name": ["elbow"], "position": [0.25]}, (), topic="set_joint_states"),
)  # fmt: skip


@dataclass(frozen=True)
class Scope:
    """What reset_simulation sets back: time, the state, what was spawned, and what was deleted; does a run begin?"""

    value: int
    time: bool = False
    state: bool = False
    spawned: bool = False
    deleted: bool = False
    answer: int = 1

    @property
    def run(self):
        """Whether another run begins."""
        return self.time or self.state


SCOPES = (
    Scope(0, True, True, True, True), Scope(255, True, True, True, True), Scope(1, time=True), Scope(2, state=True),
    Scope(4, spawned=True), Scope(3, True, True), Scope(6, state=True, spawned=True), Scope(64, answer=0),
)  # fmt: skip

#: name of a topic and what its frame_ids are where frame_prefix is bench/
FRAMES = (
    ("/tf", TF, {"bench/box", "bench/crate"}),
    ("/tf_static", TF, {"bench/bench"}),
    ("contact_wrenches/box", WRENCH, {"bench/box"}),
    ("joint_wrenches/valve", WRENCH, {"bench/handle"}),
    ("object_markers", "visualization_msgs/msg/MarkerArray", {"bench/box", "bench/crate", "world"}),
)

BENCH_ARGUMENTS = (
    "--namespace bench --name sim --ros-args -p frame_prefix:=bench/ -p joint_wrench_joints:=[valve] "
    "-p diagnostics_rate:=50.0 -p command_timeout:=0.0"
).split()
BENCH_SCENE = """
gravity: [0.0, 0.0, -9.81]
models:
  - name: bench
    urdf: bench.urdf
    actuators: {valve: {kind: position, stiffness: 400.0, damping: 40.0}, wheel: {kind: velocity, damping: 5.0}}
primitives:
  - {name: box, shape: box, size: [0.1, 0.1, 0.1], pose: {position: [1.0, 0.0, 0.05]}, base: free, mass: 2.0}
  - {name: crate, shape: box, size: [0.1, 0.1, 0.1], pose: {position: [2.0, 0.0, 0.05]}, base: free, mass: 2.0}
ground: {height: 0.0}
contact_wrench_links: [box]
"""
_HINGE = (
    '<link name="{1}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '</link><joint name="{0}" type="revolute"><parent link="bench"/><child link="{1}"/><axis xyz="0 0 1"/>'
    '<limit lower="-1e6" upper="1e6" effort="50" velocity="1e6"/></joint>'
)


def write_bench(folder):
    """Write the bench; returns the scene's path."""
    hinges = "".join(_HINGE.format(*pair) for pair in (("valve", "handle"), ("wheel", "disc"), ("free", "arm")))
    urdf = f'<robot name="bench"><link name="bench"/>{hinges}</robot>'
    (folder / "bench.urdf").write_text(urdf, encoding="utf-8")
    path = folder / "bench.yaml"
    path.write_text(BENCH_SCENE, encoding="utf-8")
    return path

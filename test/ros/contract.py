# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The node's contract as one table, topic by topic and service by service; test_contract.py exercises it.

A small scene stands for all: an arm with a sensor in its wrist presses a tool on the floor, beside it stands a box.
"""

from __future__ import annotations

from dataclasses import dataclass

JOINT_STATE = "sensor_msgs/msg/JointState"
ARRAY = "std_msgs/msg/Float64MultiArray"
WRENCH = "geometry_msgs/msg/WrenchStamped"
TF = "tf2_msgs/msg/TFMessage"
STATUS = "diagnostic_msgs/msg/DiagnosticStatus"


@dataclass(frozen=True)
class Topic:
    """One topic: ``way`` is 'in' or 'out'; names are those of a node in the namespace /cell."""

    way: str
    name: str
    type: str
    reliable: bool = True
    latched: bool = False


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
    Topic("out", "/cell/joint_states", JOINT_STATE),
    Topic("out", "/cell/run", "std_msgs/msg/UInt64", latched=True),
    Topic("out", "/clock", "rosgraph_msgs/msg/Clock"),
    Topic("out", "/tf", TF),
    Topic("out", "/tf_static", TF, latched=True),
    Topic("out", "/cell/robot_description", "std_msgs/msg/String", latched=True),
    Topic("out", "/cell/contact_wrenches/tool", WRENCH),
    Topic("out", "/cell/joint_wrenches/sensor", WRENCH),
    Topic("out", "/cell/contacts", "ros_gz_interfaces/msg/Contacts"),
    Topic("out", "/cell/certificate", STATUS),
    Topic("out", "/cell/contact_markers", "visualization_msgs/msg/MarkerArray"),
    Topic("out", "/cell/object_markers", "visualization_msgs/msg/MarkerArray", latched=True),
    Topic("out", "/cell/operational_space/inertia", ARRAY),
    Topic("out", "/cell/operational_space/compliance", ARRAY),
    Topic("out", "/cell/operational_space/jacobian", ARRAY),
    Topic("out", "/cell/operational_space/bias", ARRAY),
    Topic("out", "/cell/mass_matrix", ARRAY),
    Topic("out", "/cell/nonlinear_effects", ARRAY),
    Topic("out", "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"),
    Topic("out", "/rosout", "rcl_interfaces/msg/Log", latched=True),
    Topic("out", "/parameter_events", "rcl_interfaces/msg/ParameterEvent"),
)

_SIMULATION = (
    "ResetSimulation StepSimulation SetSimulationState GetSimulationState GetSimulatorFeatures GetEntities "
    "GetEntityState SetEntityState SpawnEntity DeleteEntity"
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
    *(Service(f"/cell/{_words(name)}", f"simulation_interfaces/srv/{name}") for name in _SIMULATION),
    *(Service(f"/cell/sim/{_words(name)}", f"rcl_interfaces/srv/{name}") for name in _PARAMETERS),
    Service("/cell/sim/get_type_description", "type_description_interfaces/srv/GetTypeDescription"),
)

PARAMETERS = {  # name: value in this run, whether it can be changed
    "lockstep": (False, False),
    "lockstep_timeout": (1.0, True),
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
    "marker_rate": (30.0, True),
    "world_frame": ("world", False),
    "frame_prefix": ("", False),
    "start_paused": (False, False),
    "reset_rewinds_time": (False, True),
    "link_tf": (True, True),
    "external_wrench_links": ([""], False),
    "external_wrench_duration": (0.1, True),
    "external_wrench_limit": (1e4, True),
    "joint_wrench_joints": (["sensor"], False),
    "marker_scale": (0.005, True),
    "marker_cones": (True, True),
    "use_sim_time": (False, True),
    "start_type_description_service": (True, False),
}

ARGUMENTS = (
    "--namespace cell --name sim --ros-args -p joint_wrench_joints:=[sensor] -p link_tf:=true -p marker_cones:=true "
    "-p qos_overrides./cell/certificate.publisher.depth:=12"
).split()  # fmt: skip

SCENE = """
models: [{name: arm, urdf: arm.urdf, joints: {shoulder: 0.3, elbow: 1.2}}]
primitives:
  - {name: box, shape: box, size: [0.1, 0.1, 0.1], pose: {position: [1.0, 0.0, 0.05]}, base: free, mass: 2.0}
ground: {height: 0.0}
operational_frames: [tool]
contact_wrench_links: [tool]
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

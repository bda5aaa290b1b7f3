# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Types that rosbags' store does not have: services, simulation_interfaces and ros_gz_interfaces.

Facts of the public interface packages (rcl_interfaces, type_description_interfaces and std_srvs of ROS 2 Jazzy,
ros_gz_interfaces 1, simulation_interfaces 1.5 and 2.1), field by field; a service is (request, response).
"""

from __future__ import annotations

import os
from typing import Any

from mb_contact.errors import CommunicationError

RELEASE_VARIABLE = "MB_CONTACT_SIMULATION_INTERFACES"  #: 1 (ROS 2 Humble to Kilted; default) or 2 (later)

_SI = "simulation_interfaces"

STD_SERVICES = {
    "std_srvs/srv/Trigger": ("", "bool success\nstring message"),
    "std_srvs/srv/SetBool": ("bool data", "bool success\nstring message"),
    "std_srvs/srv/Empty": ("", ""),
}

PARAMETER_SERVICES = {
    "rcl_interfaces/srv/DescribeParameters": (
        "string[] names", "rcl_interfaces/ParameterDescriptor[] descriptors"
    ),
    "rcl_interfaces/srv/GetParameterTypes": ("string[] names", "uint8[] types"),
    "rcl_interfaces/srv/GetParameters": ("string[] names", "rcl_interfaces/ParameterValue[] values"),
    "rcl_interfaces/srv/ListParameters": (
        "uint64 DEPTH_RECURSIVE=0\nstring[] prefixes\nuint64 depth", "rcl_interfaces/ListParametersResult result"
    ),
    "rcl_interfaces/srv/SetParameters": (
        "rcl_interfaces/Parameter[] parameters", "rcl_interfaces/SetParametersResult[] results"
    ),
    "rcl_interfaces/srv/SetParametersAtomically": (
        "rcl_interfaces/Parameter[] parameters", "rcl_interfaces/SetParametersResult result"
    ),
    "type_description_interfaces/srv/GetTypeDescription": (
        "string type_name\nstring type_hash\nbool include_type_sources true",
        "bool successful\nstring failure_reason\ntype_description_interfaces/TypeDescription type_description\n"
        "type_description_interfaces/TypeSource[] type_sources\n"
        "type_description_interfaces/KeyValue[] extra_information",
    ),
}  # fmt: skip

GAZEBO_MESSAGES = {
    "ros_gz_interfaces/msg/Entity": (
        "uint8 NONE=0\nuint8 LIGHT=1\nuint8 MODEL=2\nuint8 LINK=3\nuint8 VISUAL=4\nuint8 COLLISION=5\n"
        "uint8 SENSOR=6\nuint8 JOINT=7\nuint64 id\nstring name\nuint8 type"
    ),
    "ros_gz_interfaces/msg/JointWrench": (
        "std_msgs/Header header\nstd_msgs/String body_1_name\nstd_msgs/UInt32 body_1_id\nstd_msgs/String body_2_name\n"
        "std_msgs/UInt32 body_2_id\ngeometry_msgs/Wrench body_1_wrench\ngeometry_msgs/Wrench body_2_wrench"
    ),
    "ros_gz_interfaces/msg/Contact": (
        "ros_gz_interfaces/Entity collision1\nros_gz_interfaces/Entity collision2\ngeometry_msgs/Vector3[] positions\n"
        "geometry_msgs/Vector3[] normals\nfloat64[] depths\nros_gz_interfaces/JointWrench[] wrenches"
    ),
    "ros_gz_interfaces/msg/Contacts": "std_msgs/Header header\nros_gz_interfaces/Contact[] contacts",
}

_WORLD_STATES = "uint8 STATE_NO_WORLD=4\nuint8 STATE_LOADING_WORLD=5\n"
_FEATURES = {
    "SPAWNING": 0, "DELETING": 1, "NAMED_POSES": 2, "POSE_BOUNDS": 3, "ENTITY_TAGS": 4, "ENTITY_BOUNDS": 5,
    "ENTITY_BOUNDS_BOX": 6, "ENTITY_BOUNDS_CONVEX": 7, "ENTITY_CATEGORIES": 8, "SPAWNING_RESOURCE_STRING": 9,
    "ENTITY_STATE_GETTING": 10, "ENTITY_STATE_SETTING": 11, "ENTITY_INFO_GETTING": 12, "ENTITY_INFO_SETTING": 13,
    "SPAWNABLES": 14, "SIMULATION_RESET": 20, "SIMULATION_RESET_TIME": 21, "SIMULATION_RESET_STATE": 22,
    "SIMULATION_RESET_SPAWNED": 23, "SIMULATION_STATE_GETTING": 24, "SIMULATION_STATE_SETTING": 25,
    "SIMULATION_STATE_PAUSE": 26, "STEP_SIMULATION_SINGLE": 31, "STEP_SIMULATION_MULTIPLE": 32,
    "STEP_SIMULATION_ACTION": 33, "WORLD_LOADING": 40, "WORLD_RESOURCE_STRING": 41, "WORLD_TAGS": 42,
    "WORLD_UNLOADING": 43, "WORLD_INFO_GETTING": 44, "AVAILABLE_WORLDS": 45, "SPAWNING_ENTITIES": 50,
}  # fmt: skip

SIMULATION_MESSAGES = {
    f"{_SI}/msg/Result": (
        "uint8 RESULT_FEATURE_UNSUPPORTED=0\nuint8 RESULT_OK=1\nuint8 RESULT_NOT_FOUND=2\n"
        "uint8 RESULT_INCORRECT_STATE=3\nuint8 RESULT_OPERATION_FAILED=4\nuint8 result\nstring error_message"
    ),
    f"{_SI}/msg/SimulationState": (
        "uint8 STATE_STOPPED=0\nuint8 STATE_PLAYING=1\nuint8 STATE_PAUSED=2\nuint8 STATE_QUITTING=3\n"
        f"{_WORLD_STATES}uint8 state"
    ),
    f"{_SI}/msg/SimulatorFeatures": (
        "".join(f"uint8 {name}={number}\n" for name, number in _FEATURES.items())
        + "uint16[] features\nstring[] spawn_formats\nstring custom_info"
    ),
    f"{_SI}/msg/EntityCategory": (
        "uint8 CATEGORY_OBJECT=0\nuint8 CATEGORY_ROBOT=1\nuint8 CATEGORY_HUMAN=2\nuint8 CATEGORY_DYNAMIC_OBJECT=4\n"
        "uint8 CATEGORY_STATIC_OBJECT=5\nuint8 category"
    ),
    f"{_SI}/msg/TagsFilter": "string[] tags\nuint8 FILTER_MODE_ANY=0\nuint8 FILTER_MODE_ALL=1\nuint8 filter_mode",
    f"{_SI}/msg/Bounds": (
        "uint8 TYPE_EMPTY=0\nuint8 TYPE_BOX=1\nuint8 TYPE_CONVEX_HULL=2\nuint8 TYPE_SPHERE=3\nuint8 type\n"
        "geometry_msgs/Vector3[] points"
    ),
    f"{_SI}/msg/EntityFilters": (
        f"string filter\n{_SI}/EntityCategory[] categories\n{_SI}/TagsFilter tags\n{_SI}/Bounds bounds"
    ),
    f"{_SI}/msg/EntityState": (
        "std_msgs/Header header\ngeometry_msgs/Pose pose\ngeometry_msgs/Twist twist\ngeometry_msgs/Accel acceleration"
    ),
    f"{_SI}/msg/Resource": "string uri\nstring resource_string",
}

_SPAWN_CODES = (
    "uint8 NAME_NOT_UNIQUE=101\nuint8 NAME_INVALID=102\nuint8 UNSUPPORTED_FORMAT=103\nuint8 NO_RESOURCE=104\n"
    "uint8 NAMESPACE_INVALID=105\nuint8 RESOURCE_PARSE_ERROR=106\nuint8 MISSING_ASSETS=107\n"
    "uint8 UNSUPPORTED_ASSETS=108\nuint8 INVALID_POSE=109\n"
)
_RESULT = f"{_SI}/Result result"


def _simulation_services(release):
    """Services of simulation_interfaces, which differ in two requests between the releases 1 and 2."""
    resource = "string uri\nstring resource_string" if release == 1 else f"{_SI}/Resource entity_resource"
    flags = "" if release == 1 else "\nbool set_pose\nbool set_twist\nbool set_acceleration"
    return {
        "ResetSimulation": (
            "uint8 SCOPE_DEFAULT=0\nuint8 SCOPE_TIME=1\nuint8 SCOPE_STATE=2\nuint8 SCOPE_SPAWNED=4\n"
            "uint8 SCOPE_ALL=255\nuint8 scope",
            _RESULT,
        ),
        "StepSimulation": ("uint64 steps 1", _RESULT),
        "SetSimulationState": (
            f"{_SI}/SimulationState state",
            "uint8 ALREADY_IN_TARGET_STATE=101\nuint8 STATE_TRANSITION_ERROR=102\nuint8 INCORRECT_TRANSITION=103\n"
            + _RESULT,
        ),
        "GetSimulationState": ("", f"{_SI}/SimulationState state\n{_RESULT}"),
        "GetSimulatorFeatures": ("", f"{_SI}/SimulatorFeatures features"),
        "GetEntities": (f"{_SI}/EntityFilters filters", f"{_RESULT}\nstring[] entities"),
        "GetEntityState": ("string entity", f"{_RESULT}\n{_SI}/EntityState state"),
        "SetEntityState": (
            f"string entity\n{_SI}/EntityState state{flags}", f"uint8 INVALID_POSE=101\n{_RESULT}"
        ),
        "SpawnEntity": (
            f"string name\nbool allow_renaming\n{resource}\nstring entity_namespace\n"
            "geometry_msgs/PoseStamped initial_pose",
            f"{_SPAWN_CODES}{_RESULT}\nstring entity_name",
        ),
        "DeleteEntity": ("string entity", _RESULT),
    }  # fmt: skip


def simulation_release() -> Any:
    """Release of simulation_interfaces that this process speaks, from the environment.

    Raises
    ------
    CommunicationError
        Neither 1 nor 2.
    """
    text = os.environ.get(RELEASE_VARIABLE, "1")
    if text not in ("1", "2"):
        raise CommunicationError(f"{RELEASE_VARIABLE} is '{text}'; it must be 1 or 2")
    return int(text)


def messages() -> Any:
    """Name to text of all messages here."""
    return {**GAZEBO_MESSAGES, **SIMULATION_MESSAGES}


def services() -> Any:
    """Name to (request, response) of all services here."""
    own = {f"{_SI}/srv/{name}": texts for name, texts in _simulation_services(simulation_release()).items()}
    return {**STD_SERVICES, **PARAMETER_SERVICES, **own}

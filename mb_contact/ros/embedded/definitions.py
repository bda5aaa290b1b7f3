# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Types that rosbags' store does not have: services, actions, simulation_interfaces and ros_gz_interfaces.

Facts of the public interface packages (rcl_interfaces, action_msgs, type_description_interfaces and std_srvs of ROS 2
Jazzy, ros_gz_interfaces 1), field by field; a service is (request, response), an action (goal, result, feedback).
"""

from typing import Any

from mb_contact.ros.embedded import planning_definitions, simulation_definitions

STD_SERVICES = {
    "std_srvs/srv/Trigger": ("", "bool success\nstring message"),
    "std_srvs/srv/SetBool": ("bool data", "bool success\nstring message"),
    "std_srvs/srv/Empty": ("", ""),
}

ROS_SERVICES = {
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
    "action_msgs/srv/CancelGoal": (
        "action_msgs/GoalInfo goal_info",
        "int8 ERROR_NONE=0\nint8 ERROR_REJECTED=1\nint8 ERROR_UNKNOWN_GOAL_ID=2\nint8 ERROR_GOAL_TERMINATED=3\n"
        "int8 return_code\naction_msgs/GoalInfo[] goals_canceling",
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


def messages() -> Any:
    """Name to text of all messages here."""
    return {**GAZEBO_MESSAGES, **planning_definitions.MESSAGES, **simulation_definitions.messages()}


def services() -> Any:
    """Name to (request, response) of all services here."""
    return {**STD_SERVICES, **ROS_SERVICES, **simulation_definitions.services()}


def actions() -> Any:
    """Name to (goal, result, feedback) of all actions here."""
    return simulation_definitions.ACTIONS

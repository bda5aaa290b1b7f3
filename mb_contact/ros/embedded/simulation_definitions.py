# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Types of simulation_interfaces 1.5 and 2.1, field by field; a service is (request, response)."""

import os
from typing import Any

from mb_contact.errors import CommunicationError

RELEASE_VARIABLE = "MB_CONTACT_SIMULATION_INTERFACES"  #: 1 (ROS 2 Humble to Kilted; default) or 2 (later)

_SI = "simulation_interfaces"
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
_SPAWN_CODES = (
    "uint8 NAME_NOT_UNIQUE=101\nuint8 NAME_INVALID=102\nuint8 UNSUPPORTED_FORMAT=103\nuint8 NO_RESOURCE=104\n"
    "uint8 NAMESPACE_INVALID=105\nuint8 RESOURCE_PARSE_ERROR=106\nuint8 MISSING_ASSETS=107\n"
    "uint8 UNSUPPORTED_ASSETS=108\nuint8 INVALID_POSE=109\n"
)
_RESULT = f"{_SI}/Result result"
_RESOURCE = "string uri\nstring resource_string"

_MESSAGES = {
    "Result": (
        "uint8 RESULT_FEATURE_UNSUPPORTED=0\nuint8 RESULT_OK=1\nuint8 RESULT_NOT_FOUND=2\n"
        "uint8 RESULT_INCORRECT_STATE=3\nuint8 RESULT_OPERATION_FAILED=4\nuint8 result\nstring error_message"
    ),
    "SimulationState": (
        "uint8 STATE_STOPPED=0\nuint8 STATE_PLAYING=1\nuint8 STATE_PAUSED=2\nuint8 STATE_QUITTING=3\n"
        "uint8 STATE_NO_WORLD=4\nuint8 STATE_LOADING_WORLD=5\nuint8 state"
    ),
    "SimulatorFeatures": (
        "".join(f"uint8 {name}={number}\n" for name, number in _FEATURES.items())
        + "uint16[] features\nstring[] spawn_formats\nstring custom_info"
    ),
    "EntityCategory": (
        "uint8 CATEGORY_OBJECT=0\nuint8 CATEGORY_ROBOT=1\nuint8 CATEGORY_HUMAN=2\nuint8 CATEGORY_DYNAMIC_OBJECT=4\n"
        "uint8 CATEGORY_STATIC_OBJECT=5\nuint8 category"
    ),
    "TagsFilter": "string[] tags\nuint8 FILTER_MODE_ANY=0\nuint8 FILTER_MODE_ALL=1\nuint8 filter_mode",
    "Bounds": (
        "uint8 TYPE_EMPTY=0\nuint8 TYPE_BOX=1\nuint8 TYPE_CONVEX_HULL=2\nuint8 TYPE_SPHERE=3\nuint8 type\n"
        "geometry_msgs/Vector3[] points"
    ),
    "EntityFilters": f"string filter\n{_SI}/EntityCategory[] categories\n{_SI}/TagsFilter tags\n{_SI}/Bounds bounds",
    "EntityInfo": f"{_SI}/EntityCategory category\nstring description\nstring[] tags",
    "EntityState": (
        "std_msgs/Header header\ngeometry_msgs/Pose pose\ngeometry_msgs/Twist twist\ngeometry_msgs/Accel acceleration"
    ),
    "NamedPose": "string name\nstring description\nstring[] tags\ngeometry_msgs/Pose pose",
    "Resource": _RESOURCE,
    "WorldResource": f"string name\n{_SI}/Resource world_resource\nstring description\nstring[] tags",
    "SpawnEntity": (
        f"string name\nbool allow_renaming\n{_SI}/Resource entity_resource\nstring entity_namespace\n"
        "geometry_msgs/PoseStamped initial_pose"
    ),
    "SpawnResult": f"{_SPAWN_CODES}{_RESULT}\nstring entity_name",
}

_SERVICES = {
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
    "GetEntitiesStates": (
        f"{_SI}/EntityFilters filters", f"{_RESULT}\nstring[] entities\n{_SI}/EntityState[] states"
    ),
    "GetEntityState": ("string entity", f"{_RESULT}\n{_SI}/EntityState state"),
    "GetEntityInfo": ("string entity", f"{_RESULT}\n{_SI}/EntityInfo info"),
    "SetEntityInfo": (f"string entity\n{_SI}/EntityInfo info", _RESULT),
    "GetEntityBounds": ("string entity", f"{_RESULT}\n{_SI}/Bounds bounds"),
    "DeleteEntity": ("string entity", _RESULT),
    "SpawnEntities": (
        f"{_SI}/SpawnEntity[] spawn_requests",
        f"uint8 ENTITIES_SPAWN_FAILED=150\n{_RESULT}\n{_SI}/SpawnResult[] results",
    ),
    "GetSpawnables": ("string[] sources", f"{_RESULT}\n{_SI}/Spawnable[] spawnables"),
    "GetNamedPoses": (f"{_SI}/TagsFilter tags", f"{_RESULT}\n{_SI}/NamedPose[] poses"),
    "GetNamedPoseBounds": ("string name", f"{_RESULT}\n{_SI}/Bounds bounds"),
    "UnloadWorld": ("", f"uint8 NO_WORLD_LOADED=101\n{_RESULT}"),
    "GetCurrentWorld": ("", f"uint8 NO_WORLD_LOADED=101\n{_RESULT}\n{_SI}/WorldResource world"),
    "GetAvailableWorlds": (
        f"string[] additional_sources\n{_SI}/TagsFilter filter\nbool offline_only\nbool continue_on_error",
        f"uint8 DEFAULT_SOURCES_FAILED=101\n{_RESULT}\n{_SI}/WorldResource[] worlds",
    ),
}  # fmt: skip


def _of_release(release):
    """Requests that differ between the releases 1 and 2: a resource is two texts, or a message of its own."""
    flags = "" if release == 1 else "\nbool set_pose\nbool set_twist\nbool set_acceleration"

    def resource(name):
        return _RESOURCE if release == 1 else f"{_SI}/Resource {name}"

    return {
        "SetEntityState": (f"string entity\n{_SI}/EntityState state{flags}", f"uint8 INVALID_POSE=101\n{_RESULT}"),
        "SpawnEntity": (
            f"string name\nbool allow_renaming\n{resource('entity_resource')}\nstring entity_namespace\n"
            "geometry_msgs/PoseStamped initial_pose",
            f"{_SPAWN_CODES}{_RESULT}\nstring entity_name",
        ),
        "LoadWorld": (
            f"{resource('world_resource')}\nbool fail_on_unsupported_element\n"
            "bool ignore_missing_or_unsupported_assets",
            "uint8 UNSUPPORTED_FORMAT=101\nuint8 NO_RESOURCE=102\nuint8 RESOURCE_PARSE_ERROR=103\n"
            "uint8 MISSING_ASSETS=104\nuint8 UNSUPPORTED_ASSETS=105\nuint8 UNSUPPORTED_ELEMENTS=106\n"
            f"{_RESULT}\n{_SI}/WorldResource world",
        ),
    }  # fmt: skip


ACTIONS = {
    f"{_SI}/action/SimulateSteps": ("uint64 steps", _RESULT, "uint64 completed_steps\nuint64 remaining_steps"),
}


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
    """Name to text of the messages."""
    what = "string uri" if simulation_release() == 1 else f"{_SI}/Resource entity_resource"
    spawnable = {"Spawnable": f"{what}\nstring description\n{_SI}/Bounds spawn_bounds"}
    return {f"{_SI}/msg/{name}": text for name, text in {**_MESSAGES, **spawnable}.items()}


def services() -> Any:
    """Name to (request, response) of the services."""
    return {f"{_SI}/srv/{name}": texts for name, texts in (_SERVICES | _of_release(simulation_release())).items()}

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of planning scenes, field by field: moveit_msgs 2, octomap_msgs 2 and object_recognition_msgs 2."""

_JOINTS = "sensor_msgs/JointState joint_state\nsensor_msgs/MultiDOFJointState multi_dof_joint_state"
_SHAPES = "".join(
    f"{kind}[] {name}\ngeometry_msgs/Pose[] {pose}\n"
    for kind, name, pose in (
        ("shape_msgs/SolidPrimitive", "primitives", "primitive_poses"), ("shape_msgs/Mesh", "meshes", "mesh_poses"),
        ("shape_msgs/Plane", "planes", "plane_poses"), ("string", "subframe_names", "subframe_poses"),
    )
)  # fmt: skip
MESSAGES = {
    "object_recognition_msgs/msg/ObjectType": "string key\nstring db",
    "octomap_msgs/msg/Octomap": "std_msgs/Header header\nbool binary\nstring id\nfloat64 resolution\nint8[] data",
    "octomap_msgs/msg/OctomapWithPose": (
        "std_msgs/Header header\ngeometry_msgs/Pose origin\noctomap_msgs/Octomap octomap"
    ),
    "moveit_msgs/msg/CollisionObject": (
        "std_msgs/Header header\ngeometry_msgs/Pose pose\nstring id\nobject_recognition_msgs/ObjectType type\n"
        f"{_SHAPES}byte ADD=0\nbyte REMOVE=1\nbyte APPEND=2\nbyte MOVE=3\nbyte operation"
    ),
    "moveit_msgs/msg/AttachedCollisionObject": (
        "string link_name\nmoveit_msgs/CollisionObject object\nstring[] touch_links\n"
        "trajectory_msgs/JointTrajectory detach_posture\nfloat64 weight"
    ),
    "moveit_msgs/msg/RobotState": (
        f"{_JOINTS}\nmoveit_msgs/AttachedCollisionObject[] attached_collision_objects\nbool is_diff"
    ),
    "moveit_msgs/msg/AllowedCollisionEntry": "bool[] enabled",
    "moveit_msgs/msg/AllowedCollisionMatrix": (
        "string[] entry_names\nmoveit_msgs/AllowedCollisionEntry[] entry_values\nstring[] default_entry_names\n"
        "bool[] default_entry_values"
    ),
    "moveit_msgs/msg/LinkPadding": "string link_name\nfloat64 padding",
    "moveit_msgs/msg/LinkScale": "string link_name\nfloat64 scale",
    "moveit_msgs/msg/ObjectColor": "string id\nstd_msgs/ColorRGBA color",
    "moveit_msgs/msg/PlanningSceneWorld": (
        "moveit_msgs/CollisionObject[] collision_objects\noctomap_msgs/OctomapWithPose octomap"
    ),
    "moveit_msgs/msg/PlanningScene": (
        "string name\nmoveit_msgs/RobotState robot_state\nstring robot_model_name\n"
        "geometry_msgs/TransformStamped[] fixed_frame_transforms\n"
        "moveit_msgs/AllowedCollisionMatrix allowed_collision_matrix\nmoveit_msgs/LinkPadding[] link_padding\n"
        "moveit_msgs/LinkScale[] link_scale\nmoveit_msgs/ObjectColor[] object_colors\n"
        "moveit_msgs/PlanningSceneWorld world\nbool is_diff"
    ),
}

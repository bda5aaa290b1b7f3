# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The ROS 2 side: one node interface over two backends.

``create_node`` returns the same handful of calls (those of ``rclpy.node.Node``) whether
the process runs in a sourced ROS 2 or on a machine without it:

>>> node = create_node("my_controller")                       # doctest: +SKIP
>>> JointState = node.message_type("sensor_msgs/msg/JointState")
>>> node.create_subscription(JointState, "joint_states", callback, QoS(depth=10))
>>> spin(node)
"""

from mb_contact.ros.backend import create_node, shutdown, spin, spin_once
from mb_contact.ros.qos import QoS

__all__ = ["QoS", "create_node", "shutdown", "spin", "spin_once"]

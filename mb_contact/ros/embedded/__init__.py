# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A ROS 2 node without ROS 2: its wire on Eclipse Cyclone DDS from PyPI."""


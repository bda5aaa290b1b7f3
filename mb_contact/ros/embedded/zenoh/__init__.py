# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""ROS 2's wire on Eclipse Zenoh: rmw_zenoh_cpp's conventions."""

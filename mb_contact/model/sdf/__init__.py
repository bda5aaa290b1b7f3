# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SDF, the format of Gazebo's worlds and models, as scenes and URDFs."""

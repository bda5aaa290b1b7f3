# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What sensors of a scene measure: readings, wrenches through joints, tactile pads, cameras and lidars."""

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""J12's pendulum in the coordinates of its bodies, hinges as constraints."""

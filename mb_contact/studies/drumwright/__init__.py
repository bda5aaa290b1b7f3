# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""D15: contact models at the level of accelerations and of impulses, with a fast no-slip model."""

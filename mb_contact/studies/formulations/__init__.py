# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""J14's formulations of one contact problem, side by side."""

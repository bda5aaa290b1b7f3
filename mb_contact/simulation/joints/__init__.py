# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What acts in joints beside efforts: motions, springs, hinges by rows, embedded loops, requests by name."""

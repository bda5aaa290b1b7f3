# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Programs: the command line, and what it measures (``bench``) and shows (``demo``)."""

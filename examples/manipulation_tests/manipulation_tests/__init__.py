# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers of the example tests."""

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One time step: free motion, rows, contact problem, certificate, energy; the closing of loops."""

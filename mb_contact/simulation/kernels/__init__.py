# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled kernels of a simulation, loaded or compiled before its first step, and the threads that run them."""

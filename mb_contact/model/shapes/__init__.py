# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes: mesh files, convex hulls, height fields, primitives, their inertia, what is drawn of them."""

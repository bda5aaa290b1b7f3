# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Quaternions and rotation matrices."""

from __future__ import annotations

import numpy as np

from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix, rpy_to_matrix


def test_quaternions_and_matrices_are_inverse_to_each_other():
    rng = np.random.default_rng(0)
    for quat in [*rng.normal(size=(50, 4)), *np.eye(4), *-np.eye(4)]:
        R = quat_to_matrix(quat)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
        unit = quat / np.linalg.norm(quat)
        back = matrix_to_quat(R)
        np.testing.assert_allclose(back * np.sign(back @ unit), unit, atol=1e-14)
    np.testing.assert_allclose(rpy_to_matrix([0, np.pi / 2, 0]) @ [0, 0, 1], [1, 0, 0], atol=1e-15)

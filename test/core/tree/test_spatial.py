# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The algebra of tuples in core/tree/spatial.py against dense matrices.

Covers core/tree/rotations.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.tree import rotations, spatial
from mb_contact.model.rotations import rotation_about

pytestmark = pytest.mark.nojit


def cross_matrix(a):
    """a x as a matrix."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def shift(l):
    """phi of a shift by l: a force at the end of l, taken to its start."""
    phi = np.eye(6)
    phi[:3, 3:] = cross_matrix(l)
    return phi


def dense(A, B, C):
    """[[A, B], [B*, C]] of the three tuples of a packed symmetric matrix."""
    M = np.zeros((6, 6))
    for k, (i, j) in enumerate(zip(*np.triu_indices(3))):
        M[i, j] = M[j, i] = A[k]
        M[3 + i, 3 + j] = M[3 + j, 3 + i] = C[k]
    M[:3, 3:] = np.reshape(B, (3, 3))
    M[3:, :3] = M[:3, 3:].T
    return M


@pytest.fixture(params=range(5))
def numbers(request):
    """(packed symmetric matrix, its three tuples, its dense form, generator)."""
    rng = np.random.default_rng(request.param)
    P = rng.normal(size=(1, 21))
    parts = spatial.packed(P, 0)
    return parts, dense(*parts), rng


def test_a_packed_matrix_moves_along_a_shift(numbers):
    parts, M, rng = numbers
    l = tuple(rng.normal(size=3))
    np.testing.assert_allclose(dense(*spatial.packed_shift(*parts, l)), shift(l) @ M @ shift(l).T, atol=1e-14)


def test_a_packed_matrix_times_a_vector(numbers):
    parts, M, rng = numbers
    x = tuple(rng.normal(size=6))
    np.testing.assert_allclose(spatial.packed_product(*parts, x), M @ x, atol=1e-14)


def test_velocities_go_out_and_forces_come_in(numbers):
    rng = numbers[2]
    x, l = tuple(rng.normal(size=6)), tuple(rng.normal(size=3))
    np.testing.assert_allclose(spatial.moved(x, l), shift(l).T @ x, atol=1e-14)
    np.testing.assert_allclose(spatial.gathered(x, l), shift(l) @ x, atol=1e-14)
    assert spatial.spatial_dot(x, spatial.gathered(x, l)) == pytest.approx(np.dot(x, shift(l) @ x))


@pytest.mark.parametrize("angle", [1e-9, 0.3, 2.0, np.pi - 1e-9, np.pi])
def test_rotation_vectors_are_angle_times_axis(angle):
    for axis in np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, -0.64, 0.48]]):
        A = rotation_about(np.array([0.0, 0.6, 0.8]), 0.7)
        R = rotation_about(axis, angle) @ A
        theta = np.array(rotations.rotation_vector(tuple((R @ A.T).ravel())))
        assert min(np.abs(theta - angle * axis).max(), np.abs(theta + angle * axis).max()) < 1e-7

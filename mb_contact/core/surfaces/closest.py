# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Closest points of two surfaces by Newton's method: c_2(u_2) = c_1(u_1) + g z_1(u_1), z_1 . c_2,j = 0.

Five equations for (u_1, u_2, g).  Unlike (c_2 - c_1) . c_i,j = 0 they stay regular when the surfaces touch.
"""

from mb_contact.core.jit import kernel
from mb_contact.core.lcp.linear import lu_factor, lu_solve
from mb_contact.core.surfaces.contact import SINGULAR_CONTACT
from mb_contact.core.surfaces.frames import surface_frame
from mb_contact.core.surfaces.shapes import surface_derivatives
from mb_contact.core.tree.spatial import matrix, put_vector, turned, vector
from mb_contact.types import OK

NOT_CONVERGED = 22  #: a status
TRIALS = 60


@kernel
def closest_points(code, data, R, p, x, direction, work, A, order, limit):
    """Solve for x = (u_1, u_2, g) from the guess in x; R (1, 3, 3), p (1, 3) place body 2 in body 1.

    With a ``direction`` (not zero) g is how far body 2 has to travel against it to touch: c_2 - g d = c_1 there.
    A (5, 5), order (5,) and work are workspaces; ``limit`` is the residual [m] that ends the iteration.
    """
    D = work.D
    frame = work.R
    W = work.W
    along = direction[0] != 0.0 or direction[1] != 0.0 or direction[2] != 0.0
    last = 1e300
    for _ in range(TRIALS):
        for k in range(2):
            surface_derivatives(code, data, k, x[2 * k], x[2 * k + 1], work.basis, work.partial, work.homogeneous, D)
            surface_frame(code, k, D, frame, work.A, W)
        g = x[4]
        for row in range(6):  # surface 2 in axes of body 1
            put_vector(D[1], row, turned(matrix(R, 0), vector(D[1], row)))
        b = work.rate
        worst = 0.0
        for c in range(3):
            d = direction[c] if along else frame[0, c, 2]
            b[c] = -(p[0, c] + D[1, 0, c] - D[0, 0, c] - g * d)
            A[c, 4] = -d
            for j in range(2):
                z_j = frame[0, c, 0] * W[0, 1, j] - frame[0, c, 1] * W[0, 0, j]  # dz = w_y x - w_x y
                A[c, j] = -D[0, 1 + j, c] - (0.0 if along else g * z_j)
                A[c, 2 + j] = D[1, 1 + j, c]
            worst = max(worst, abs(b[c]))
        for i in range(2):
            b[3 + i] = 0.0
            A[3 + i, 4] = 0.0
            for j in range(4):
                A[3 + i, j] = 0.0
            for c in range(3):
                b[3 + i] -= frame[0, c, 2] * D[1, 1 + i, c]
                for j in range(2):
                    z_j = frame[0, c, 0] * W[0, 1, j] - frame[0, c, 1] * W[0, 0, j]
                    A[3 + i, j] += z_j * D[1, 1 + i, c]
                    A[3 + i, 2 + j] += frame[0, c, 2] * D[1, 3 + i + j, c]
            worst = max(worst, abs(b[3 + i]))
        if worst <= limit and not worst < 0.5 * last:
            return OK
        last = worst
        if not lu_factor(A, 5, order):
            return SINGULAR_CONTACT
        lu_solve(A, 5, order, b)
        size = 1.0
        for i in range(4):
            size = max(size, abs(b[i]) / 0.5)  # no leaps over half a unit of the charts
        for i in range(5):
            if not abs(b[i]) < 1e300:
                return NOT_CONVERGED
            x[i] += b[i] / size
    return NOT_CONVERGED if not last <= limit else OK

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Runs of bodies of the articulated-body sweeps: eliminated, loaded, opened (``articulated`` has the equations)."""

from mb_contact.core.jit import sweep
from mb_contact.core.tree.spatial import (
    STILL,
    add_spatial,
    gathered,
    less_outer,
    moved,
    packed,
    packed_product,
    packed_shift,
    put_packed,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
    vector_sum,
)

TOL_SINGULAR = 1e-15  # D(k) below this part of the body's P is rounding: the hinge moves nothing


@sweep
def eliminate_hinges(tree, kin, dt, art, last, first):
    """U = P H*, D^-1 and P+ of the bodies last, last - 1 ... first, added to the P of their parents.

    Returns the body of a singular hinge, or -1.
    """
    for k in range(last, first - 1, -1):
        a, b, c = packed(art.P, k)
        turning = TOL_SINGULAR * (a[0] + a[3] + a[5])
        moving = TOL_SINGULAR * (c[0] + c[3] + c[5])
        s = tree.v_start[k]
        for i in range(s + tree.nv[k] - 1, s - 1, -1):
            h = spatial(kin.H, i)
            u = packed_product(a, b, c, h)
            d = spatial_dot(h, u) + tree.armature[i] + dt * tree.damping[i]
            least = turning
            if h[3] != 0.0 or h[4] != 0.0 or h[5] != 0.0:  # not a pure rotation
                least *= h[0] * h[0] + h[1] * h[1] + h[2] * h[2]
                least += moving * (h[3] * h[3] + h[4] * h[4] + h[5] * h[5])
            if not d > least:
                return k
            art.D_inv[i] = 1.0 / d
            put_spatial(art.U, i, u)
            a, b, c = less_square(a, b, c, u, 1.0 / d)
        if tree.parent[k] >= 0:
            add_packed(art.P, tree.parent[k], packed_shift(a, b, c, vector(kin.l, k)))
    return -1


@sweep
def less_square(a, b, c, u, d):
    """P+ = P - u d u*, by blocks."""
    g = spatial_sum(STILL, d, u)
    return _less_product(a, g[:3], u[:3]), less_outer(b, g[:3], u[3:]), _less_product(c, g[3:], u[3:])


@sweep
def _less_product(a, x, y):
    """``A - x y*`` of a symmetric 3 x 3 block, y along x."""
    return (
        a[0] - x[0] * y[0],
        a[1] - x[0] * y[1],
        a[2] - x[0] * y[2],
        a[3] - x[1] * y[1],
        a[4] - x[1] * y[2],
        a[5] - x[2] * y[2],
    )


@sweep
def add_packed(P, m, blocks):
    """``P[m]`` += [[A, B], [B*, C]]."""
    a, b, c = packed(P, m)
    d, e, f = blocks
    b = vector_sum(b[:3], 1.0, e[:3]) + vector_sum(b[3:6], 1.0, e[3:6]) + vector_sum(b[6:], 1.0, e[6:])
    put_packed(P, m, spatial_sum(a, 1.0, d), b, spatial_sum(c, 1.0, f))


@sweep
def load_hinges(tree, kin, art, last, first):
    """eps = T - H z, nu = D^-1 eps, z+ = z + G eps of the bodies last ... first, added to the z of their parents."""
    for k in range(last, first - 1, -1):
        f = spatial(art.z, k)
        s = tree.v_start[k]
        for i in range(s + tree.nv[k] - 1, s - 1, -1):
            x = art.D_inv[i] * (art.nu[i] - spatial_dot(spatial(kin.H, i), f))
            art.nu[i] = x
            f = spatial_sum(f, x, spatial(art.U, i))
        if tree.parent[k] >= 0:
            add_spatial(art.z, tree.parent[k], gathered(f, vector(kin.l, k)))


@sweep
def open_hinges(tree, kin, art, a, base, out, first, end):
    """v_dot = nu - G* alpha+ and alpha of the bodies first ... end - 1; ``base`` is that of the inertial frame."""
    for k in range(first, end):
        x = base
        if tree.parent[k] >= 0:
            x = moved(spatial(art.alpha, tree.parent[k]), vector(kin.l, k))
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            t = art.nu[i] - art.D_inv[i] * spatial_dot(spatial(art.U, i), x)
            out[i] = t
            x = spatial_sum(x, t, spatial(kin.H, i))
        put_spatial(art.alpha, k, spatial_sum(x, 1.0, spatial(a, k)))

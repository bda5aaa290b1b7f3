# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Articulated-body sweeps (J11 lemmas 7, 8, 12): Riccati gather, free acceleration, impulse response.

    P(k)  = sum_children phi(k,j) P+(j) phi*(k,j) + M(k)
    D     = H P H*,   G = P H* D^-1,   P+ = P - G D G* = (I - G H) P

A joint with r degrees of freedom is swept as r joints of one, the last row of H(k) first, with massless bodies
at the same origin between them.  The SKO model is the same (a node may be massless), P, P+, z and alpha of the real
bodies are those of the paper, and D(k) comes out as its LDL* factors: every joint type runs through the same scalar
code and no block is inverted.  U holds the columns P H* of these joints, so G = U D^-1.

The damping d of a joint is treated implicitly: it enters as D = H P H* + armature + dt d, so the
velocity after the step satisfies (M + dt d)(v+ - v) = dt (T - d v - C) + J* p exactly.

Symmetric 6 x 6 matrices are packed as ``spatial`` says.
"""

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
from mb_contact.types import OK, SINGULAR_HINGE

TOL_SINGULAR = 1e-15  # D(k) below this part of the body's P is rounding: the hinge moves nothing


@sweep
def articulated_inertias(tree, kin, dt, art):
    """Gather P, U = P H* and D^-1 from tips to base; returns (status, body of a singular hinge)."""
    P = art.P
    H = kin.H
    l = kin.l
    parent = tree.parent
    v_start = tree.v_start
    _rigid_inertias(kin.I, kin.mc, tree.mass, P)
    for k in range(parent.shape[0] - 1, -1, -1):
        a, b, c = packed(P, k)
        turning = TOL_SINGULAR * (a[0] + a[3] + a[5])
        moving = TOL_SINGULAR * (c[0] + c[3] + c[5])
        s = v_start[k]
        for i in range(s + tree.nv[k] - 1, s - 1, -1):
            h = spatial(H, i)
            u = packed_product(a, b, c, h)
            d = spatial_dot(h, u) + tree.armature[i] + dt * tree.damping[i]
            least = turning
            if h[3] != 0.0 or h[4] != 0.0 or h[5] != 0.0:  # not a pure rotation
                least *= h[0] * h[0] + h[1] * h[1] + h[2] * h[2]
                least += moving * (h[3] * h[3] + h[4] * h[4] + h[5] * h[5])
            if not d > least:
                return SINGULAR_HINGE, k
            art.D_inv[i] = 1.0 / d
            put_spatial(art.U, i, u)
            a, b, c = _without(a, b, c, u, 1.0 / d)
        if parent[k] >= 0:
            _add_packed(P, parent[k], packed_shift(a, b, c, vector(l, k)))
    return OK, -1


@sweep
def _without(a, b, c, u, d):
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
def _add_packed(P, m, blocks):
    """``P[m]`` += [[A, B], [B*, C]]."""
    a, b, c = packed(P, m)
    d, e, f = blocks
    b = vector_sum(b[:3], 1.0, e[:3]) + vector_sum(b[3:6], 1.0, e[3:6]) + vector_sum(b[6:], 1.0, e[6:])
    put_packed(P, m, spatial_sum(a, 1.0, d), b, spatial_sum(c, 1.0, f))


@sweep
def _rigid_inertias(I, mc, mass, P):
    """P(k) := M(k) = [[I, m c~], [-m c~, m 1]], packed."""
    for k in range(mass.shape[0]):
        a = I[k, 0, 0], I[k, 0, 1], I[k, 0, 2], I[k, 1, 1], I[k, 1, 2], I[k, 2, 2]
        x, y, z = vector(mc, k)
        m = mass[k]
        put_packed(P, k, a, (0.0, -z, y, z, 0.0, -x, -y, x, 0.0), (m, 0.0, 0.0, m, 0.0, m))


@sweep
def free_acceleration(tree, kin, art, gravity, effort, v, external, v_dot):
    """Accelerations without contact, ``v_dot`` (N,), from efforts, damping, gravity and external forces.

    Gather z = sum phi z+ + P a + b, eps = T - H z, nu = D^-1 eps, z+ = z + G eps; then ``_open_hinges``.

    Parameters
    ----------
    gravity : (3,)
        Acceleration of gravity [m/s^2]; taken in as the acceleration -g of the inertial frame.
    effort : (N,)
        Generalised forces T; the damping force -d v is added here.
    external : (n, 6)
        Forces on the bodies at their origins, world axes.
    """
    nu = art.nu
    for i in range(nu.shape[0]):
        nu[i] = effort[i] - tree.damping[i] * v[i]
    for k in range(tree.parent.shape[0]):  # P a + b - external
        a, b, c = packed(art.P, k)
        force = spatial_sum(packed_product(a, b, c, spatial(kin.a, k)), 1.0, spatial(kin.b, k))
        put_spatial(art.z, k, spatial_sum(force, -1.0, spatial(external, k)))
    _load_hinges(tree, kin, art)
    base = (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    _open_hinges(tree, kin, art, kin.a, base, v_dot)


@sweep
def impulse_response(tree, kin, art, impulse, joint_impulse, dv):
    """Velocity change ``dv = (M + dt d)^-1 (J* p + p_joint)``, and ``art.alpha`` the bodies' (one O(N) sweep).

    Parameters
    ----------
    impulse : (n, 6)
        Spatial impulses on the bodies at their origins, world axes.
    joint_impulse : (N,)
    dv : (N,)
        Output.
    """
    z = art.z
    n = tree.parent.shape[0]
    for k in range(n):
        put_spatial(z, k, spatial_sum(STILL, -1.0, spatial(impulse, k)))
    for i in range(art.nu.shape[0]):
        art.nu[i] = joint_impulse[i]
    _load_hinges(tree, kin, art)
    for k in range(n):  # no Coriolis terms in a velocity jump: z is free again and serves as a(k) = 0
        put_spatial(z, k, STILL)
    _open_hinges(tree, kin, art, z, STILL, dv)


@sweep
def _load_hinges(tree, kin, art):
    """Gather z(k) += sum phi z+, eps = T - H z, nu = D^-1 eps, z+ = z + G eps; T comes in ``nu``, the bodies' in z."""
    z = art.z
    nu = art.nu
    U = art.U
    D_inv = art.D_inv
    H = kin.H
    l = kin.l
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    for k in range(parent.shape[0] - 1, -1, -1):
        f = spatial(z, k)
        s = v_start[k]
        for i in range(s + nv[k] - 1, s - 1, -1):
            x = D_inv[i] * (nu[i] - spatial_dot(spatial(H, i), f))
            nu[i] = x
            f = spatial_sum(f, x, spatial(U, i))
        if parent[k] >= 0:
            add_spatial(z, parent[k], gathered(f, vector(l, k)))


@sweep
def _open_hinges(tree, kin, art, a, base, out):
    """Scatter alpha+ = phi* alpha(p), v_dot = nu - G* alpha+ into ``out``, alpha = alpha+ + H* v_dot + a.

    ``base`` is the acceleration of the inertial frame.
    """
    alpha = art.alpha
    nu = art.nu
    U = art.U
    D_inv = art.D_inv
    H = kin.H
    l = kin.l
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    for k in range(parent.shape[0]):
        x = base
        if parent[k] >= 0:
            x = moved(spatial(alpha, parent[k]), vector(l, k))
        for i in range(v_start[k], v_start[k] + nv[k]):
            t = nu[i] - D_inv[i] * spatial_dot(spatial(U, i), x)
            out[i] = t
            x = spatial_sum(x, t, spatial(H, i))
        put_spatial(alpha, k, spatial_sum(x, 1.0, spatial(a, k)))

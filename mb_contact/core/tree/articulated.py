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

Bodies of an aggregate are swept as one joint (``aggregates.py``).  Symmetric 6 x 6 matrices are packed as ``spatial``
says.
"""

from mb_contact.core.arrays import copy
from mb_contact.core.jit import sweep
from mb_contact.core.tree.aggregates import aggregate_inertias, load_aggregates, open_aggregates
from mb_contact.core.tree.gravity import has_own_gravity, own_weight
from mb_contact.core.tree.hinges import eliminate_hinges, load_hinges, open_hinges
from mb_contact.core.tree.modal import has_modes
from mb_contact.core.tree.modal_dynamics import modal_forces
from mb_contact.core.tree.spatial import (
    STILL,
    packed,
    packed_product,
    put_packed,
    put_spatial,
    spatial,
    spatial_sum,
    vector,
)
from mb_contact.types import OK, SINGULAR_HINGE


@sweep
def articulated_inertias(tree, kin, dt, art):
    """Gather P, U = P H* and D^-1 from tips to base; returns (status, body of a singular hinge)."""
    _rigid_inertias(kin.I, kin.mc, tree.mass, art.P)
    if art.aggregates.base.shape[0] > 0:
        return aggregate_inertias(tree, kin, dt, art)
    k = eliminate_hinges(tree, kin, dt, art, tree.parent.shape[0] - 1, 0)
    if k >= 0:
        return SINGULAR_HINGE, k
    return OK, -1


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
        The scene's acceleration of gravity [m/s^2]; taken in as the acceleration -g of the inertial frame.
    effort : (N,)
        Generalised forces T; the damping force -d v is added here.
    external : (n, 6)
        Forces on the bodies at their origins, world axes.
    """
    for i in range(art.nu.shape[0]):
        art.nu[i] = effort[i] - tree.damping[i] * v[i]
    for k in range(tree.parent.shape[0]):  # P a + b - external
        a, b, c = packed(art.P, k)
        force = spatial_sum(packed_product(a, b, c, spatial(kin.a, k)), 1.0, spatial(kin.b, k))
        put_spatial(art.z, k, spatial_sum(force, -1.0, spatial(external, k)))
        if has_own_gravity(tree, k):
            put_spatial(art.z, k, spatial_sum(spatial(art.z, k), -1.0, own_weight(tree, kin.mc, gravity, k)))
    if has_modes(kin):
        modal_forces(kin, art.aggregates, art.nu)
    _load_hinges(tree, kin, art, 1)
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
    n = tree.parent.shape[0]
    for k in range(n):
        put_spatial(art.z, k, spatial_sum(STILL, -1.0, spatial(impulse, k)))
    copy(art.nu.shape[0], joint_impulse, art.nu)
    _load_hinges(tree, kin, art, 0)
    for k in range(n):  # no Coriolis terms in a velocity jump: z is free again and serves as a(k) = 0
        put_spatial(art.z, k, STILL)
    _open_hinges(tree, kin, art, art.z, STILL, dv)


@sweep
def _load_hinges(tree, kin, art, moves):
    """Gather z(k) += sum phi z+, eps = T - H z, nu = D^-1 eps, z+ = z + G eps; T comes in ``nu``, the bodies' in z.

    ``moves`` is 1 for accelerations and 0 for velocity jumps, in which aggregates have no bias.
    """
    if art.aggregates.base.shape[0] > 0:
        load_aggregates(tree, kin, art, moves)
        return
    load_hinges(tree, kin, art, tree.parent.shape[0] - 1, 0)


@sweep
def _open_hinges(tree, kin, art, a, base, out):
    """Scatter alpha+ = phi* alpha(p), v_dot = nu - G* alpha+ into ``out``, alpha = alpha+ + H* v_dot + a.

    ``base`` is the acceleration of the inertial frame.
    """
    if art.aggregates.base.shape[0] > 0:
        open_aggregates(tree, kin, art, a, base, out)
        return
    open_hinges(tree, kin, art, a, base, out, 0, tree.parent.shape[0])

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How what rows of friction ask for to second order (``core/constraints/mean_slip.py``) follows q and v."""

from mb_contact.core.constraints.mean_slip import turn_alike
from mb_contact.core.gradients.bias import (
    RATE,
    RATE_BY_Q,
    RATE_BY_V,
    TWIST,
    TWIST_BY_Q,
    bias_of,
    rate_along,
    twist_of,
)
from mb_contact.core.gradients.motion import twists_along, velocity_at
from mb_contact.core.handle import EULER
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.solve.friction import DIRECTIONS
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    spatial_sum,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)


@sweep
def bends(g, a, i):
    """Whether rows of friction of contact i have asked for anything beside the slip of their velocities."""
    return g.smooth[0] != 0.0 and a.flow.rule[0] == EULER and a.work.asked_slip[i, 2] != 0.0


@kernel
def begin_bends(g, a, k, m, v):
    """Twists of the bodies k and m of a contact at v, and their rates, into ``bias``."""
    polygons = a.friction.model[DIRECTIONS] > 0  # whose tangents follow the slip
    if polygons or (min(k, m) >= 0 and g.smooth[0] != 0.0 and a.flow.rule[0] == EULER):
        bias_of(g, k, v, 0)
        bias_of(g, m, v, 1)


@kernel
def asked_slip(g, a, k, m, x, dt):
    """What the friction of bodies k and m asks for at x beside the slip of their velocities [m/s]."""
    V_a, V_b = twist_of(g, 0, TWIST), twist_of(g, 1, TWIST)
    sigma = turn_alike(V_a[:3], V_b[:3], a.settings)[0]
    return vector_sum(ZERO, 0.5 * dt * sigma, _bend(g, k, m, x, V_a, V_b))


@kernel
def _bend(g, k, m, x, V_a, V_b):
    """a(x) of two bodies [m/s^2]."""
    kin, A = g.d.kin, spatial_sum(twist_of(g, 0, RATE), -1.0, twist_of(g, 1, RATE))
    out = vector_sum(velocity_at(A, x), 1.0, vector_product(V_a[:3], velocity_at(V_a, vector(kin.p, k))))
    out = vector_sum(out, -1.0, vector_product(V_b[:3], velocity_at(V_b, vector(kin.p, m))))
    w = vector_sum(vector_sum(ZERO, 0.5, V_a[:3]), 0.5, V_b[:3])
    return vector_sum(out, 1.0, vector_product(w, vector_product(w, between(kin.p, m, kin.p, k))))


@kernel
def asked_slip_along(g, a, k, m, e, x, dx, dt):
    """Derivatives of ``asked_slip`` by the coordinate and by the velocity of entry e of the path; x moves by dx."""
    S_a, S_b = twists_along(g, e)
    o_a, o_b = velocity_at(S_a, vector(g.d.kin.p, k)), velocity_at(S_b, vector(g.d.kin.p, m))
    dA = spatial_sum(rate_along(g, e, 0, RATE_BY_Q), -1.0, rate_along(g, e, 1, RATE_BY_Q))
    dV = rate_along(g, e, 0, TWIST_BY_Q), rate_along(g, e, 1, TWIST_BY_Q)
    by_q = _changed(g, a, k, m, x, dA, dV, (o_a, o_b), dx, dt)
    dA = spatial_sum(rate_along(g, e, 0, RATE_BY_V), -1.0, rate_along(g, e, 1, RATE_BY_V))
    return by_q, _changed(g, a, k, m, x, dA, (S_a, S_b), (ZERO, ZERO), ZERO, dt)


@kernel
def _changed(g, a, k, m, x, dA, dV, origins, dx, dt):
    """Change of ``asked_slip`` with A_A - A_B, both twists, both origins and the point."""
    kin = g.d.kin
    V_a, V_b = twist_of(g, 0, TWIST), twist_of(g, 1, TWIST)
    w_a, w_b, dw_a, dw_b = V_a[:3], V_b[:3], dV[0][:3], dV[1][:3]
    A = spatial_sum(twist_of(g, 0, RATE), -1.0, twist_of(g, 1, RATE))
    out = vector_sum(velocity_at(dA, x), 1.0, vector_product(A[:3], dx))
    out = vector_sum(out, 1.0, _turned(V_a, dV[0], vector(kin.p, k), origins[0]))
    out = vector_sum(out, -1.0, _turned(V_b, dV[1], vector(kin.p, m), origins[1]))
    w, dw = vector_sum(vector_sum(ZERO, 0.5, w_a), 0.5, w_b), vector_sum(vector_sum(ZERO, 0.5, dw_a), 0.5, dw_b)
    apart, moves = between(kin.p, m, kin.p, k), vector_sum(origins[1], -1.0, origins[0])
    out = vector_sum(out, 1.0, vector_product(dw, vector_product(w, apart)))
    out = vector_sum(out, 1.0, vector_product(w, vector_product(dw, apart)))
    out = vector_sum(out, 1.0, vector_product(w, vector_product(w, moves)))
    sigma, size = turn_alike(w_a, w_b, a.settings)
    out = vector_sum(ZERO, 0.5 * dt * sigma, out)
    if sigma > 0.0:
        rises = vector_dot(dw_a, vector_sum(w_b, -sigma, w_a)) + vector_dot(dw_b, vector_sum(w_a, -sigma, w_b))
        out = vector_sum(out, dt * rises / size, _bend(g, k, m, x, V_a, V_b))
    return out


@sweep
def _turned(V, dV, origin, moves):
    """Change of w x V(origin) with V, and with the origin, which moves."""
    changed = vector_sum(velocity_at(dV, origin), 1.0, vector_product(V[:3], moves))
    return vector_sum(vector_product(dV[:3], velocity_at(V, origin)), 1.0, vector_product(V[:3], changed))

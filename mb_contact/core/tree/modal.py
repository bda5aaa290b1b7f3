# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Links that deform in modes (J11 section 2.3): poses and velocities of their nodes, inertias, velocity products.

A flexible link is a body, its floating frame, and the coordinates eta of its modes.  Its nodes, which other bodies,
shapes and frames stand on, are bodies that the modes move beside the frame; with rho the place of a node in the axes R
of the frame, psi its rotation vector, both functions of eta, and J_l the left Jacobian of SO(3),

    V(node) = phi* V + columns* eta',   columns_i = [R J_l(psi) Psi_i;  R d rho / d eta_i].

Its own mass sits at points rho of weight ``one`` (``model/flexible/modal.py``), which move with
one v + omega x rho + J eta', J = d rho / d eta, so that beside m, m c and I of a rigid body

    A_i = sum one J_i,   B_i = sum rho x J_i,   M_ij = sum J_i.J_j,

and with h = omega x (omega x rho) + 2 omega x J eta' + eta'* S eta' e the velocity products are sum one h on the frame,
sum rho x h about its origin and sum J_i.h on eta_i; to these come the sections' own inertias.  ``body_inertias`` and
``bias_terms`` have what a rigid body has; what is beyond is here, and what other sweeps need in ``modal_dynamics``.
"""


from mb_contact.core.jit import NOTHING, VECTOR, kernel, on_demand, sweep
from mb_contact.core.tree.rotations import left_jacobian, left_jacobian_rate, turn_factors
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    add_spatial,
    centripetal,
    linear,
    matrix,
    moved,
    product,
    put_matrix,
    put_spatial,
    put_vector,
    spatial,
    spatial_sum,
    transposed,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)


@sweep
def has_modes(kin):
    """Whether any link is flexible."""
    return kin.modal.link.shape[0] > 0


@kernel
def _rotation(b, c, x, psi):
    """exp(psi~) by rows."""
    a = 1.0 - c * x  # sin t / t
    px, py, pz = psi
    return (
        1.0 - b * (py * py + pz * pz), b * px * py - a * pz, b * px * pz + a * py,
        b * px * py + a * pz, 1.0 - b * (px * px + pz * pz), b * py * pz - a * px,
        b * px * pz - a * py, b * py * pz + a * px, 1.0 - b * (px * px + py * py),
    )  # fmt: skip


@kernel
def node_rotation_vector(g, e, coordinates):
    """psi of node e, or its rate."""
    psi = ZERO
    f = g.link_of[e]
    first = g.first_mode[f]
    for i in range(g.first_mode[f + 1] - first):
        psi = vector_sum(psi, coordinates[first + i], vector(g.slope, g.first_shape[e] + i))
    return psi


@kernel
def take_coordinates(g, q):
    """Coordinates of the modes out of q."""
    for f in range(g.link.shape[0]):
        for i in range(g.first_mode[f], g.first_mode[f + 1]):
            g.eta[i] = q[g.q_start[f] + i - g.first_mode[f]]


@on_demand(VECTOR)
def place_node(tree, kin, k, l):
    """Pose of the node that is body k and its columns; from the frame's origin to it, ``l`` where nothing deforms."""
    g = kin.modal
    e = g.node_of[k]
    f = g.link_of[e]
    m = g.link[f]
    first, at = g.first_mode[f], g.first_shape[e]
    r = g.first_mode[f + 1] - first
    frame = matrix(kin.R, m)
    psi = node_rotation_vector(g, e, g.eta)
    x = vector_dot(psi, psi)
    b, c, _, _ = turn_factors(x)
    shift, axis = ZERO, vector(g.axis, f)
    for i in range(r):
        t = 0.0
        for j in range(r):
            t += g.short[g.first_short[e] + i * r + j] * g.eta[first + j]
        change = vector_sum(vector(g.shape, at + i), t, axis)
        shift = vector_sum(shift, g.eta[first + i], vector_sum(vector(g.shape, at + i), 0.5 * t, axis))
        turning = turned(frame, left_jacobian(b, c, psi, vector(g.slope, at + i)))
        put_spatial(g.columns, at + i, turning + turned(frame, change))
    put_matrix(kin.R, k, product(frame, product(_rotation(b, c, x, psi), matrix(tree.R_joint, k))))
    return vector_sum(l, 1.0, turned(frame, shift))


@on_demand(NOTHING)
def modal_velocities(tree, kin, v, V):
    """``body_velocities`` of a tree with flexible links."""
    g = kin.modal
    for k in range(tree.parent.shape[0]):
        V_k = moved(spatial(V, tree.parent[k]), vector(kin.l, k)) if tree.parent[k] >= 0 else STILL
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            V_k = spatial_sum(V_k, v[i], spatial(kin.H, i))
        put_spatial(V, k, spatial_sum(V_k, 1.0, node_motion(g, k, v)))


@kernel
def node_motion(g, k, rates):
    """columns* x of the node that is body k, x the entries of ``rates`` (N,) of its modes; zero of other bodies."""
    e = g.node_of[k]
    motion = STILL
    if e >= 0:
        f = g.link_of[e]
        for i in range(g.first_mode[f + 1] - g.first_mode[f]):
            motion = spatial_sum(motion, rates[g.v_start[f] + i], spatial(g.columns, g.first_shape[e] + i))
    return motion


@kernel
def place_point(g, f, e, r):
    """rho of point e of link f, and J there into ``columns_at``."""
    first = g.first_mode[f]
    shape = g.first_point_shape[f] + (e - g.first_point[f]) * r
    short = g.first_point_short[f] + (e - g.first_point[f]) * r * r
    axis = vector(g.axis, f)
    rho = vector(g.point, e)
    for i in range(r):
        t = 0.0
        for j in range(r):
            t += g.point_short[short + i * r + j] * g.eta[first + j]
        rho = vector_sum(rho, g.eta[first + i], vector_sum(vector(g.point_shape, shape + i), 0.5 * t, axis))
        put_vector(g.columns_at, first + i, vector_sum(vector(g.point_shape, shape + i), t, axis))
    return rho


@on_demand(NOTHING)
def modal_inertias(kin):
    """I and m c of the flexible links as they are deformed, M of their modes and the coupling [B; A], world axes."""
    g = kin.modal
    for f in range(g.link.shape[0]):
        k = g.link[f]
        first, pair = g.first_mode[f], g.first_pair[f]
        r = g.first_mode[f + 1] - first
        for i in range(r):
            put_spatial(g.coupling, first + i, vector(g.turning_modes, first + i) + ZERO)
            for j in range(r):
                g.M[pair + i * r + j] = g.turning_mass[pair + i * r + j]
        c = ZERO
        xx, yy, zz, xy, xz, yz = STILL
        for e in range(g.first_point[f], g.first_point[f + 1]):
            rho = place_point(g, f, e, r)
            x, y, z = rho
            c = vector_sum(c, g.one[e], rho)
            xx, yy, zz = xx + x * x, yy + y * y, zz + z * z
            xy, xz, yz = xy + x * y, xz + x * z, yz + y * z
            for i in range(r):
                J = vector(g.columns_at, first + i)
                add_spatial(g.coupling, first + i, vector_product(rho, J) + vector_sum(ZERO, g.one[e], J))
                for j in range(i + 1):
                    g.M[pair + i * r + j] += vector_dot(J, vector(g.columns_at, first + j))
        R = matrix(kin.R, k)
        for i in range(r):
            turning = turned(R, vector(g.coupling, first + i))
            put_spatial(g.coupling, first + i, turning + turned(R, linear(g.coupling, first + i)))
            for j in range(i):
                g.M[pair + j * r + i] = g.M[pair + i * r + j]
        own = matrix(g.turning, f)
        inertia = (
            own[0] + yy + zz, own[1] - xy, own[2] - xz,
            own[3] - xy, own[4] + xx + zz, own[5] - yz,
            own[6] - xz, own[7] - yz, own[8] + xx + yy,
        )  # fmt: skip
        put_vector(kin.mc, k, turned(R, c))
        put_matrix(kin.I, k, product(R, product(inertia, transposed(R))))


@on_demand(NOTHING)
def modal_bias(kin, v):
    """Velocity products of the flexible links: into b of their frames, ``force`` of their modes, a of their nodes."""
    g = kin.modal
    for f in range(g.link.shape[0]):
        k = g.link[f]
        first = g.first_mode[f]
        r = g.first_mode[f + 1] - first
        R = matrix(kin.R, k)
        w = turned(transposed(R), vector(kin.V, k))
        own = ZERO
        for i in range(r):
            g.rate[first + i] = v[g.v_start[f] + i]
            g.force[first + i] = 0.0
            own = vector_sum(own, g.rate[first + i], vector(g.turning_modes, first + i))
        moment, force = vector_product(w, own), ZERO
        for e in range(g.first_point[f], g.first_point[f + 1]):
            rho = place_point(g, f, e, r)
            flow = ZERO
            t = 0.0
            short = g.first_point_short[f] + (e - g.first_point[f]) * r * r
            for i in range(r):
                flow = vector_sum(flow, g.rate[first + i], vector(g.columns_at, first + i))
                for j in range(r):
                    t += g.rate[first + i] * g.rate[first + j] * g.point_short[short + i * r + j]
            h = vector_sum(vector_product(vector_sum(ZERO, 2.0, w), flow), t, vector(g.axis, f))
            moment = vector_sum(moment, 1.0, vector_product(rho, h))  # b has that of omega x (omega x rho)
            force = vector_sum(force, g.one[e], h)
            h = vector_sum(h, 1.0, centripetal(w, rho))
            for i in range(r):
                g.force[first + i] += vector_dot(vector(g.columns_at, first + i), h)
        add_spatial(kin.b, k, turned(R, moment) + turned(R, force))
    for e in range(g.node.shape[0]):
        _node_bias(kin, e)


@kernel
def _node_bias(kin, e):
    """Add to a(k) of node e what the modes' own motion makes: ``joint_bias`` has omega x (v(k) - v(frame))."""
    g = kin.modal
    f = g.link_of[e]
    m = g.link[f]
    first = g.first_mode[f]
    r = g.first_mode[f + 1] - first
    w = vector(kin.V, m)
    R = matrix(kin.R, m)
    motion, t = STILL, 0.0
    for i in range(r):
        motion = spatial_sum(motion, g.rate[first + i], spatial(g.columns, g.first_shape[e] + i))
        for j in range(r):
            t += g.rate[first + i] * g.rate[first + j] * g.short[g.first_short[e] + i * r + j]
    psi = node_rotation_vector(g, e, g.eta)
    rate = node_rotation_vector(g, e, g.rate)
    turning = turned(R, left_jacobian_rate(vector_dot(psi, psi), psi, rate, rate))
    own = turning + turned(R, vector_sum(ZERO, t, vector(g.axis, f)))
    add_spatial(kin.a, g.node[e], spatial_sum(own, 1.0, _turned_with(w, motion)))


@kernel
def _turned_with(w, x):
    """``w x`` of both parts of a spatial vector."""
    return vector_product(w, x[:3]) + vector_product(w, x[3:])


@on_demand(NOTHING)
def node_column_rates(kin):
    """Rates of the nodes' ``columns`` at the velocities of ``modal_bias`` into ``column_rates``."""
    g = kin.modal
    for e in range(g.node.shape[0]):
        f = g.link_of[e]
        m = g.link[f]
        first, at = g.first_mode[f], g.first_shape[e]
        r = g.first_mode[f + 1] - first
        R = matrix(kin.R, m)
        psi = node_rotation_vector(g, e, g.eta)
        rate = node_rotation_vector(g, e, g.rate)
        x = vector_dot(psi, psi)
        for i in range(r):
            t = 0.0
            for j in range(r):
                t += g.rate[first + j] * g.short[g.first_short[e] + i * r + j]
            change = vector_sum(ZERO, t, vector(g.axis, f))
            own = turned(R, left_jacobian_rate(x, psi, rate, vector(g.slope, at + i))) + turned(R, change)
            carried = _turned_with(vector(kin.V, m), spatial(g.columns, at + i))
            put_spatial(g.column_rates, at + i, spatial_sum(own, 1.0, carried))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a step's impulses do: on shapes and joints, and the work of each force (D15 §5's energy, booked apart)."""

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS, PARTNERS
from mb_contact.core.jit import kernel, part
from mb_contact.core.tree.frames import frame_poses
from mb_contact.core.tree.spatial import (
    ZERO,
    add_spatial,
    between,
    linear,
    matrix,
    put_spatial,
    put_vector,
    spatial,
    transposed,
    turned,
    vector,
    vector_product,
    vector_sum,
    wrench_at,
)
from mb_contact.core.workspace import (
    BENT,
    BOX,
    CARRIED,
    CONTACTS,
    DAMPING,
    EFFORTS,
    GAINED,
    LIFTED,
    LIMITS,
    LOOPS,
    PUSHED_OUT,
    REMOVED,
    UNLAWFUL,
    WRENCHES,
)


@kernel
def impulse_vectors(contacts, frames, r, out):
    """Impulses r of the rows of contacts as world vectors on A, (k, 3)."""
    for i in range(contacts.count[0]):
        along = vector_sum(vector_sum(ZERO, r[3 * i], vector(contacts.normal, i)), r[3 * i + 1], vector(frames.t1, i))
        put_vector(out, i, vector_sum(along, r[3 * i + 2], vector(frames.t2, i)))


@kernel
def add_impulses(h, contacts, vectors, total):
    """Add the impulses ``vectors`` (k, 3) of contacts, world axes on A, to those of the geometries.

    These act about the origin of the geometry's body, of a geometry of the world about the world's.
    """
    for i in range(contacts.count[0]):
        for side in range(2):
            g = h.geoms.pairs[contacts.pair[i], side]
            k, sign = h.geoms.body[g], 1.0 - 2.0 * side
            place = vector_sum(vector(contacts.point, i), sign, vector(contacts.spread, i))
            arm = vector_sum(place, -1.0, vector(h.kin.p, k)) if k >= 0 else place
            force = vector_sum(ZERO, sign, vector(vectors, i))
            add_spatial(total, g, wrench_at(arm, force))


@kernel
def link_impulses(h, pairs, body, R_frame, p_frame, R, p, total):
    """Impulses (l, 6) on links, in their axes about their origins: those of geometries are about their bodies' origins.

    ``pairs`` (k, 2): a geometry, and the link that it belongs to.
    """
    kin, impulse = h.kin, h.work.geom_impulse
    frame_poses(kin, body, R_frame, p_frame, R, p)
    total[:] = 0.0
    for i in range(pairs.shape[0]):
        add_spatial(total, pairs[i, 1], spatial(impulse, pairs[i, 0]))
    for i in range(body.shape[0]):
        r = between(p, i, kin.p, body[i]) if body[i] >= 0 else vector(p, i)
        back, force = transposed(matrix(R, i)), linear(total, i)
        moment = vector_sum(vector(total, i), -1.0, vector_product(r, force))
        put_spatial(total, i, turned(back, moment) + turned(back, force))


@part
def balance_energy(joints, dt, v, kin, alpha, rows, sol, bil, contacts, ahead, rolls, work):
    """Joint efforts and the work of each kind of force in this step.

    At fixed configuration the kinetic energy changes by exactly impulse times mean velocity, that of the rows at the
    start (``sol.before``, as the problem was posed) and behind the step; ``alpha`` is the bodies' velocity jump of the
    impulses, ``ahead`` (c, 3) what the ``contacts`` move at both ends of a flow beyond their rows.  Of a surface that
    moves in itself contacts do the work of friction against it, and what drives it does the rest.
    """
    fill(work.work_terms.shape[0], work.work_terms, 0.0)
    for i in range(v.shape[0]):
        mean = 0.5 * (v[i] + work.v_next[i]) * dt
        passive = -joints.damping[i] * work.v_next[i]
        work.joint_effort[i] = work.effort[i] + passive
        work.work_terms[EFFORTS] += work.effort[i] * mean
        work.work_terms[DAMPING] += passive * mean
    n_rows = bil.info[FIRST] + bil.info[COUNT] + bil.info[PARTNERS]
    for r in range(rows.end[0]):
        mean = 0.5 * (sol.before[r] + sol.u[r] - rows.offset[r])
        if r < 3 * contacts:
            mean += 0.5 * ahead[r // 3, r % 3]
        dof = rows.dof[r]
        if dof < 0:
            work.work_terms[CONTACTS] += sol.r[r] * (mean + rows.carried[r])
            work.work_terms[CARRIED] -= sol.r[r] * rows.carried[r]
        else:
            work.work_terms[LIMITS] += sol.r[r] * mean
            work.joint_effort[dof] += rows.sign[r] * sol.r[r] / dt
    for k in range(work.external.shape[0]):
        for c in range(6):
            if work.external[k, c] != 0.0:
                after = work.V_free[k, c] + (alpha[k, c] if n_rows > 0 else 0.0)
                work.work_terms[WRENCHES] += 0.5 * dt * work.external[k, c] * (kin.V[k, c] + after)
    for r in range(bil.info[FIRST], bil.info[FIRST] + bil.info[COUNT]):
        work.work_terms[LOOPS] += 0.5 * sol.r[r] * (sol.before[r] + sol.u[r] - rows.offset[r])
        i = r - bil.info[FIRST]
        driven = i >= bil.info[COUNT] - bil.info[GEARS] and bil.ratio[i] == 0.0
        if rows.dof[r] >= 0 and (rows.law[r] == BOX or driven):
            work.joint_effort[rows.dof[r]] += sol.r[r] / dt
    _contact_energy(rows, rows.end[0], sol, contacts, work)
    for k in range(contacts):
        if rolls[k] != 0:  # what rolls on parts no faster than it approached, which is no push-out
            asked = rows.offset[3 * k] - work.row_bias[k, 0] - rows.carried[3 * k]
            kept = max(0.0, work.gap_shift[k] / dt - asked) - max(0.0, -asked)
            work.contact_energy[PUSHED_OUT] += sol.r[3 * k] * kept


@kernel
def _contact_energy(rows, n_rows, sol, contacts, work):
    """What the impulses do to the free motion, ``work.contact_energy``: T(v+) - T(v_free), and its bound [J].

    T(v+) - T(v_free) = r* (u_free + u+) / 2 with M + dt d in T, and where the rows complement each other
    r* u+ <= sum p_n v_push - sum p_t u_t of the slip u_t that friction asks for to second order, so the first never
    exceeds the second: the difference is r* W r / 2 and friction's loss.
    Velocities are those beside surfaces that move in themselves.
    """
    energy = work.contact_energy
    energy[UNLAWFUL] = 0.0
    energy[REMOVED] = 0.0
    energy[LIFTED] = 0.0
    energy[GAINED] = 0.0
    energy[PUSHED_OUT] = 0.0
    energy[BENT] = 0.0
    for r in range(n_rows):
        i, c, bent = r // 3, r % 3, 0.0
        asked = rows.offset[r] - rows.carried[r]
        if r < 3 * contacts:
            asked -= work.row_bias[i, c]
            bent = work.asked_slip[i, c - 1] if c > 0 else 0.0
        energy[GAINED] += sol.r[r] * (0.5 * (sol.q[r] + sol.u[r]) - asked)
        energy[PUSHED_OUT] += sol.r[r] * max(0.0, bent - asked)
        energy[BENT] -= sol.r[r] * bent

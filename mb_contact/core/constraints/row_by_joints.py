# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A row by degrees of freedom: its velocity is the sum of share x v over those between its two bodies.

The 6-vector of a row goes from hinge to hinge, as a force does.  Where its two bodies' ways to the root meet, both
6-vectors go on as one, which is zero but for rounding where they act against each other at one point: below that
joint nothing of the row is left.  So a contact of a chain of 300 links with itself has the joints between its two links
alone, not all down to the root.
"""

from mb_contact.core.jit import part, sweep
from mb_contact.core.tree.spatial import STILL, ZERO, gathered, spatial, spatial_dot, spatial_sum, vector

NOISE = 1e-14  #: part of the largest entry of the 6-vectors on the way that is rounding,
FAR = 4e-15  #: and of what they are times the distance of the bodies from the origin: arms are differences of places


@part
def row_by_joints(tree, kin, rows, row, freedom, share):
    """Degrees of freedom and shares of a row of the step; how many there are.

    A joint's own row is its degree of freedom alone.
    """
    if rows.dof[row] >= 0:
        freedom[0], share[0] = rows.dof[row], rows.sign[row]
        return 1
    a, b = rows.body_a[row], rows.body_b[row]
    on_a = spatial(rows.on_a, row) if a >= 0 else STILL
    on_b = spatial(rows.on_b, row) if b >= 0 else STILL
    least, count = max(_noise_afar(kin, a, on_a), _noise_afar(kin, b, on_b)), 0
    while a != b:
        if a > b:
            count, least = _take_joint(tree, kin, a, on_a, least, freedom, share, count)
            on_a = gathered(on_a, vector(kin.l, a))
            a = tree.parent[a]
        else:
            count, least = _take_joint(tree, kin, b, on_b, least, freedom, share, count)
            on_b = gathered(on_b, vector(kin.l, b))
            b = tree.parent[b]
    on_a = spatial_sum(on_a, 1.0, on_b)
    while a >= 0 and _largest(on_a) > least:
        count, least = _take_joint(tree, kin, a, on_a, least, freedom, share, count)
        on_a = gathered(on_a, vector(kin.l, a))
        a = tree.parent[a]
    return count


@sweep
def _take_joint(tree, kin, k, force, least, freedom, share, count):
    """What a 6-vector on body k does on the joint to its parent: the new count, and what is rounding from here on."""
    least = max(least, NOISE * _largest(force))
    for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
        x = spatial_dot(spatial(kin.H, d), force)
        if abs(x) > least:
            freedom[count], share[count] = d, x
            count += 1
    return count, least


@sweep
def _noise_afar(kin, k, force):
    """Rounding of the moment of a 6-vector on body k, whose arm is a difference of places; -1 is the inertial frame."""
    return FAR * _largest(vector(kin.p, k) + ZERO) * _largest(force) if k >= 0 else 0.0


@sweep
def _largest(force):
    """Largest entry of a 6-vector."""
    moment = max(abs(force[0]), max(abs(force[1]), abs(force[2])))
    return max(moment, max(abs(force[3]), max(abs(force[4]), abs(force[5]))))

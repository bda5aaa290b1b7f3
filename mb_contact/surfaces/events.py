# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What happens at an event of a SurfaceTree: the next mode, and impulses through the whole tree."""

from __future__ import annotations

import numpy as np

from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces import steps as kernels
from mb_contact.core.surfaces.watch import body_jacobian
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.types import WORLD

FIRST_SLIP = 1e-10  #: speed that a body starts to slip with, so that its friction has a direction [m/s]
LEAST_REBOUND = 1e-6  #: a rebound slower than this ends in contact [m/s]
ROUNDING = 1e-12  #: impulses below this part of the largest pull nobody


def change(tree, event, index):
    """Bring a SurfaceTree from its state at the event into the next mode."""
    {
        kernels.BREAKS: let_go,
        kernels.STICKS: _stick,
        kernels.SLIPS: _slip,
        kernels.LANDS: _land,
        kernels.LEAVES: _leave,
        kernels.STOPS: _stop,
        kernels.RELEASES: _release,
    }[event](tree, index)


def let_go(tree, j):
    """Free flight with the pose and the velocity of now."""
    tree._observe()
    k = tree._joints.body[j]
    near = tree.q[tree._slices(j)[0]][:4].copy()
    state = (*tree.kin.p[k], *matrix_to_quat(tree.kin.R[k])), tree.kin.V[k].copy()
    tree._set_mode(j, layout.FREE, *state)
    tree._joints.near[j] = *near, 0.0


def _stick(tree, j):
    """Rolling with the relative angular velocity of now."""
    q, rate = (array[at].copy() for array, at in zip((tree.q, tree.v), tree._slices(j)))
    tree._set_mode(j, layout.ROLLING, q, tree.pairs[j].contact_frame_matrix(q)[:3] @ rate)


def _slip(tree, j):
    """Sliding, with a trace of slip against the friction that was wanted."""
    tree._observe()
    q, w = (array[at].copy() for array, at in zip((tree.q, tree.v), tree._slices(j)))
    pair, m = tree.pairs[j], tree._joints.parent[j]
    E = np.eye(3) if m == WORLD else tree.kin.R[m]
    force = ((E @ pair.surfaces[0].frame(q[:2], pair.charts[0])).T @ tree._joints.wrench[j, 3:])[:2]
    slip = -FIRST_SLIP * force / np.linalg.norm(force)
    tree._set_mode(j, layout.SLIDING, q, pair.rates(q) @ (*w, *slip))


def _leave(tree, j):
    """The same motion in other charts."""
    pair, mode = tree.pairs[j], tree._joints.mode[j]
    if mode == layout.FREE:
        _rechart(pair, tree._joints.near[j])
        tree._pack()
        return
    at_q, at_v = tree._slices(j)
    q, v = tree.q[at_q].copy(), tree.v[at_v].copy()
    if mode == layout.SLIDING:
        q, v = pair.hand_over(q, v)
    else:
        w = pair.surfaces[0].frame(q[:2], pair.charts[0]) @ v
        q, _ = pair.hand_over(q, pair.rates(q)[:, :3] @ v)
        v = pair.surfaces[0].frame(q[:2], pair.charts[0]).T @ w
    tree.q[at_q], tree.v[at_v] = q, v
    tree._pack()


def _rechart(contact, near):
    """The nearest points ``near`` of a free body in charts that hold them, where there are such; in place."""
    charts = list(contact.charts)
    for k, surface in enumerate(contact.surfaces):
        u = near[2 * k : 2 * k + 2]
        if not surface.charts[charts[k]].holds(u):
            charts[k], near[2 * k : 2 * k + 2], _ = surface.locate(surface.point(u, charts[k]))
    contact.set_charts(charts)


def _stop(tree, dof):
    """A joint comes to rest at its limit, the impulse going through the tree."""
    for stop in tree._held:
        if stop[0] == dof:
            stop[2] = 1 if tree.v[dof] > 0.0 else -1
    tree._rebuild()
    _impulse(tree, lambda: np.zeros((0, len(tree.v))), lambda *_: np.zeros(0))


def _release(tree, dof):
    for stop in tree._held:
        if stop[0] == dof:
            stop[2] = 0
    tree._rebuild()


def _land(tree, j):
    """An impulse at the contact point: Newton's restitution, Coulomb's friction on its sum."""
    tree._observe()
    contact, pair, joints = tree.contacts[j], tree.pairs[j], tree._joints
    k, m = joints.body[j], joints.parent[j]
    E, o = (np.eye(3), np.zeros(3)) if m == WORLD else (tree.kin.R[m].copy(), tree.kin.p[m].copy())
    R, near = tree.kin.R[k].copy(), joints.near[j].copy()
    axes = E @ pair.surfaces[0].frame(near[:2], pair.charts[0])
    point = o + E @ pair.surfaces[0].point(near[:2], pair.charts[0])
    outcome = []

    def law(u, K):
        impulse, *outcome[:] = _collide(u, K, contact.coefficient(), contact.restitution)
        return impulse

    def relative():
        """Relative velocity (3,) and spin (3,) of the two bodies there, axes of 1c, for each velocity of the tree."""
        two = _at(tree, k, point)
        one = _at(tree, m, point) if m != WORLD else np.zeros_like(two)
        return axes.T @ (two - one)[:, 3:].T, axes.T @ (two - one)[:, :3].T

    _impulse(tree, lambda: relative()[0], law, m, axes)
    sticks, rebounds = outcome
    if rebounds:
        return
    slip, spin = (part @ tree.v for part in relative())
    q = pair.coordinates(near[:2], near[2:4], E.T @ R)
    if sticks:
        tree._set_mode(j, layout.ROLLING, q, spin)
    else:
        tree._set_mode(j, layout.SLIDING, q, pair.rates(q) @ (*spin, *slip[:2]))


def _collide(u, K, mu, restitution):
    """Impulse of a landing: Newton's restitution, Coulomb's friction on its sum.

    Parameters
    ----------
    u : (3,)
        Relative velocity before, axes of 1c (n last) [m/s].
    K : (3, 3)
        Change of u for an impulse [1/kg].

    Returns
    -------
    (impulse (3,) [N s], sticks, rebounds)
    """
    restitution = restitution if -restitution * u[2] > LEAST_REBOUND else 0.0
    rebound = restitution > 0.0
    if mu > 0.0:
        impulse = np.linalg.solve(K, np.array([0.0, 0.0, -restitution * u[2]]) - u)
        if np.isinf(mu) or np.hypot(*impulse[:2]) <= mu * impulse[2]:
            return impulse, True, rebound
    speed = np.hypot(*u[:2])
    direction = np.array([-mu * u[0] / speed, -mu * u[1] / speed, 1.0]) if speed > 0.0 else np.array([0.0, 0.0, 1.0])
    normal = -(1.0 + restitution) * u[2] / (K[2] @ direction)
    return normal * direction, False, rebound


def _at(tree, k, point):
    """(N, 6): velocity of body k, of its point that is now at ``point``, world axes, for each velocity of the tree."""
    rows = np.zeros((len(tree.v), 6))
    body_jacobian(tree.tree, tree.kin, tree._stages, k, rows)
    rows[:, 3:] += np.cross(rows[:, :3], point - tree.kin.p[k])
    return rows


def _impulse(tree, rows, law, m=WORLD, axes=None):
    """Change the velocities by impulses p along ``rows()`` (r, N) that obey ``law(u, K)``, and at the limits held.

    Body m feels ``-axes @ p``.  A contact that would have to pull lets go, a limit that would have to pull is none;
    then it is done again.
    """
    while True:
        inverse = tree._inverse_mass()
        J = rows()
        held = [stop for stop in tree._held if stop[2]]
        S = np.eye(len(tree.v))[[stop[0] for stop in held]]
        inner = np.linalg.inv(S @ inverse @ S.T)
        gain = inverse - inverse @ S.T @ inner @ S @ inverse  # of impulses, the held joints staying at rest
        rest = -inverse @ S.T @ (inner @ (S @ tree.v))
        p = law(J @ (tree.v + rest), J @ gain @ J.T)
        change = rest + gain @ J.T @ p
        pull = inner @ (S @ (change - inverse @ J.T @ p)) * [stop[2] for stop in held]
        if len(held) and pull.max() > ROUNDING * (1.0 + np.abs(pull).max()):
            tree._release(held[int(np.argmax(pull))])
            continue
        loose = _loose(tree, change, m, np.zeros(3) if axes is None else -axes @ p)
        if loose is None:
            tree.v[:] += change
            tree.v[[stop[0] for stop in held]] = 0.0
            return
        tree._let_go(loose)


def _loose(tree, change, m, reaction):
    """The contact whose parent would have to pull most when the velocities change so, or None.

    ``reaction`` is the impulse (3,) on body m from outside.  The impulse through a joint is the change of momentum of
    all that hangs on it, less what comes from outside.
    """
    joints, n = tree._joints, len(tree.tree.parent)
    momentum = np.zeros((n, 3))
    for k in range(n):
        w, v = np.split(change @ _at(tree, k, tree.kin.p[k]), 2)
        momentum[k] = tree.tree.mass[k] * v + np.cross(w, tree.kin.mc[k])
    if m != WORLD:
        momentum[m] -= reaction
    for k in range(n - 1, -1, -1):
        if tree.tree.parent[k] != WORLD:
            momentum[tree.tree.parent[k]] += momentum[k]
    pushes = [
        momentum[k] @ tree._normal(j) if joints.mode[j] != layout.FREE and joints.law[j, 1] else 0.0
        for j, k in enumerate(joints.body)
    ]
    j = int(np.argmin(pushes))
    return j if pushes[j] < -ROUNDING * (1.0 + np.abs(momentum).max()) else None

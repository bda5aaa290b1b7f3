# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What happens at an event: the state of the next mode from that of the last."""

from __future__ import annotations

import numpy as np

from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces import steps as kernels
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix

FIRST_SLIP = 1e-10  #: speed that a body starts to slip with, so that its friction has a direction [m/s]
LEAST_REBOUND = 1e-6  #: a rebound slower than this ends in contact [m/s]


def change(motion, event):
    """Bring a SurfaceMotion from its state at the event into the next mode."""
    {
        kernels.BREAKS: _break,
        kernels.STICKS: _stick,
        kernels.SLIPS: _slip,
        kernels.LANDS: _land,
        kernels.LEAVES: _leave,
    }[event](motion)


def _break(motion):
    """Free flight with the pose and the velocity of now."""
    R, p, w, v = motion._in_world()
    motion._near[:] = *motion._y[:4], 0.0
    motion._set(layout.FREE, (*p, *matrix_to_quat(R), *w, *v))


def _stick(motion):
    """Rolling with the relative angular velocity of now."""
    q, rate = motion._y[:5].copy(), motion._y[5:10].copy()
    w = motion.contact.contact_frame_matrix(q)[:3] @ rate
    motion._set(layout.ROLLING, (*q, *w))


def _slip(motion):
    """Sliding, with a trace of slip against the friction that was wanted."""
    motion._observe()
    force = motion.contact.work.wrench[3:5].copy()
    q, w = motion._y[:5].copy(), motion._y[5:8].copy()
    slip = -FIRST_SLIP * force / np.linalg.norm(force)
    motion._set(layout.SLIDING, (*q, *(motion.contact.rates(q) @ (*w, *slip))))


def _leave(motion):
    """The same motion in other charts."""
    contact, y = motion.contact, motion._y
    if motion.mode == layout.FREE:
        rechart(contact, motion._near)
        return
    if motion.mode == layout.SLIDING:
        q, rate = contact.hand_over(y[:5], y[5:10])
        motion._set(layout.SLIDING, (*q, *rate))
        return
    q, w = y[:5].copy(), y[5:8].copy()
    w = contact.surfaces[0].frame(q[:2], contact.charts[0]) @ w
    q, _ = contact.hand_over(q, contact.rates(q)[:, :3] @ y[5:8])
    motion._set(layout.ROLLING, (*q, *(contact.surfaces[0].frame(q[:2], contact.charts[0]).T @ w)))


def rechart(contact, near):
    """The nearest points ``near`` of a free body in charts that hold them, where there are such; in place."""
    charts = list(contact.charts)
    for k, surface in enumerate(contact.surfaces):
        u = near[2 * k : 2 * k + 2]
        if not surface.charts[charts[k]].holds(u):
            charts[k], near[2 * k : 2 * k + 2], _ = surface.locate(surface.point(u, charts[k]))
    contact.set_charts(charts)


def _land(motion):
    """An impulse at the contact point: Newton's restitution, Coulomb's friction on its sum."""
    y, contact = motion._y, motion.contact
    E, _ = motion.base_pose()
    R = quat_to_matrix(y[3:7])
    u1, u2 = motion._near[:2].copy(), motion._near[2:4].copy()
    axes = E @ contact.surfaces[0].frame(u1, contact.charts[0])
    point = contact.surfaces[0].point(u1, contact.charts[0])
    base_spin = np.asarray(motion.base.angular_velocity)
    arm = R @ (contact.surfaces[1].point(u2, contact.charts[1]) - motion.body.com)
    w, v = y[7:10].copy(), y[10:13].copy()
    relative = v + np.cross(w, arm) - motion.base.velocity - np.cross(base_spin, E @ point)
    K = _mobility(motion, R, axes.T @ arm, axes)
    impulse, sticks, rebounds = collide(axes.T @ relative, K, motion.friction, motion.restitution)
    impulse = axes @ impulse
    v += impulse / motion.body.mass
    w += np.linalg.solve(R @ np.asarray(motion.body.inertia) @ R.T, np.cross(arm, impulse))
    if rebounds:
        motion._set(layout.FREE, (*y[:7], *w, *v))
        return
    q = contact.coordinates(u1, u2, E.T @ R)
    spin = axes.T @ (w - base_spin)
    if sticks:
        motion._set(layout.ROLLING, (*q, *spin))
        return
    slip = axes.T @ (v + np.cross(w, arm) - motion.base.velocity - np.cross(base_spin, E @ point))
    motion._set(layout.SLIDING, (*q, *(contact.rates(q) @ (*spin, *slip[:2]))))


def _mobility(motion, R, arm, axes):
    """K (3, 3): velocity of the contact point of the body for an impulse there, axes of 1c."""
    cross = np.array([[0.0, -arm[2], arm[1]], [arm[2], 0.0, -arm[0]], [-arm[1], arm[0], 0.0]])
    inertia = axes.T @ R @ np.asarray(motion.body.inertia) @ R.T @ axes
    return np.eye(3) / motion.body.mass - cross @ np.linalg.solve(inertia, cross)


def collide(u, K, mu, restitution):
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

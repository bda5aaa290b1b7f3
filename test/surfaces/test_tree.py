# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts as joints of a tree: against the motion of one body, against Newton and Euler, and by what is conserved.

Covers core/surfaces/rows.py, core/surfaces/tree.py, surfaces/bodies.py, surfaces/mass.py, surfaces/parts.py,
surfaces/readings.py, surfaces/structure.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.surfaces import (
    ContactJoint,
    SurfaceBody,
    SurfaceTree,
    bezier,
    ellipsoid,
    plane,
    shell,
)
from scenes.arm_of_two_hinges import ARM, arm
from scenes.surface_cases import G, ball, patch_motion, rotation

pytestmark = pytest.mark.quick


def ball_on_plate(tmp_path, kind, **values):
    """A ball on the arm's plate, everything moving."""
    body = SurfaceBody(ellipsoid((0.06, 0.05, 0.07)), 0.7, np.diag([1.1e-3, 1.3e-3, 0.9e-3]), (0.002, -0.003, 0.004))
    base = plane().placed(rotation((1, 0, 0), 0.2), (0.1, 0.0, 0.03))
    joint = ContactJoint("ball", "plate", base, body, kind, release=False)
    tree = SurfaceTree([joint], arm(tmp_path, **values))
    tree.q[:2], tree.v[:2] = (0.3, -0.4), (0.8, -0.5)
    speed = (0.2, -0.1, 1.5, 0.8, -0.6) if kind == "sliding" else (2.0, -1.0, 0.7)
    tree.set_contact("ball", (0.05, -0.02, 0.4, 0.5, 0.7), speed)
    return tree, body


@pytest.mark.parametrize("kind", ["sliding", "rolling"])
def test_chain_obeys_newton_and_euler(tmp_path, kind):
    """d'Alembert with accelerations from poses alone: second differences of order 6 along the motion."""
    tree, body = ball_on_plate(tmp_path, kind)
    effort = np.concatenate(([0.7, -0.4], np.zeros(len(tree.v) - 2)))
    h, start = 2e-3, (tree.q.copy(), tree.v.copy())
    poses = []
    for i in range(-3, 4):
        tree.q[:], tree.v[:] = start
        for _ in range(abs(i)):
            step(tree, np.sign(i) * h, effort)
        poses.append([np.append(centre(tree, name, com), turn(tree, name)) for name, _, com, _ in parts(tree)])
    tree.q[:], tree.v[:] = start
    poses = np.array(poses)  # (7, bodies, 3 + 9)
    first = np.tensordot(np.array([-1, 9, -45, 0, 45, -9, 1]) / 60.0 / h, poses, 1)
    second = np.tensordot(np.array([2, -27, 270, -490, 270, -27, 2]) / 180.0 / h**2, poses, 1)
    loads = [inertial_load(first[k], second[k], poses[3, k], *part[1::2]) for k, part in enumerate(parts(tree))]
    for i in range(2):  # the arm's joints: the ball moves with the plate
        assert power(tree, i, loads) == pytest.approx(effort[i], abs=2e-6)
    force, moment = loads[-1]
    tree.energy()
    contact = tree._joints.normal[0, :3]
    R, p = tree.pose("plate")
    arm_to = poses[3, -1, :3] - (p + R @ contact)
    about = moment + np.cross(arm_to, force)  # about the contact point
    if kind == "rolling":
        np.testing.assert_allclose(about, 0.0, atol=2e-6)
        wheel, table = (point_velocity(first[k], poses[3, k], p + R @ contact) for k in (2, 1))
        np.testing.assert_allclose(wheel, table, atol=1e-8)
    else:
        normal = R @ tree._joints.normal[0, 3:]
        np.testing.assert_allclose(about, 0.0, atol=2e-6)
        np.testing.assert_allclose(force, normal * (normal @ force), atol=2e-6)  # no friction


def parts(tree):
    """(name, mass, com, inertia) of every body."""
    coms = *tree.tree.com[:2], np.array(tree.contacts[0].body.com)
    names = ["upper", "plate", "ball"]
    return [(name, tree.tree.mass[k], coms[k], tree.tree.inertia[k]) for k, name in enumerate(names)]


def step(tree, h, effort):
    """One step of RK4, also backwards."""
    tree._load(effort)
    tree._call(h, 1)


def centre(tree, name, com):
    R, p = tree.pose(name)
    return p + R @ com


def turn(tree, name):
    return tree.pose(name)[0].ravel()


def axial(S):
    return 0.5 * np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]])


def inertial_load(first, second, pose, mass, inertia):
    """(m (a - g), dL/dt) of a body from the derivatives of its pose."""
    R, R_dot, R_ddot = (x[3:].reshape(3, 3) for x in (pose, first, second))
    w, alpha = axial(R_dot @ R.T), axial(R_ddot @ R.T)  # the rest of R_ddot R* is symmetric
    inertia = R @ inertia @ R.T
    return mass * (second[:3] + [0.0, 0.0, G]), inertia @ alpha + np.cross(w, inertia @ w)


def point_velocity(first, pose, point):
    w = axial(first[3:].reshape(3, 3) @ pose[3:].reshape(3, 3).T)
    return first[:3] + np.cross(w, point - pose[:3])


def power(tree, i, loads):
    """Virtual power of the loads when joint i alone moves."""
    q, h, total = tree.q.copy(), 1e-4, 0.0
    moved = []
    for sign in (1, -1):
        tree.q[i] = q[i] + sign * h
        moved.append([(centre(tree, name, com), tree.pose(name)[0]) for name, _, com, _ in parts(tree)])
    tree.q[:] = q
    for k, (force, moment) in enumerate(loads):
        (a, A), (b, B) = moved[0][k], moved[1][k]
        total += force @ (a - b) / (2 * h) + moment @ axial(A @ B.T) / (2 * h)
    return total


@pytest.mark.parametrize("kind", ["sliding", "rolling"])
def test_chain_keeps_its_energy(tmp_path, kind):
    tree, _ = ball_on_plate(tmp_path, kind)
    energy = tree.energy()
    tree.run(0.3, 2.5e-4)
    assert tree.energy() == pytest.approx(energy, rel=1e-9)
    assert np.abs(tree.v).max() > 1.0


@pytest.mark.parametrize("kind", ["sliding", "rolling"])
def test_adapted_steps_end_where_short_ones_do(tmp_path, kind):
    effort = (0.7, -0.4)
    tree, _ = ball_on_plate(tmp_path, kind)
    count = tree.run_adaptive(0.3, 1e-11, 1e-12, effort=effort)
    short, _ = ball_on_plate(tmp_path, kind)
    short.run(0.3, 1e-4, effort)
    np.testing.assert_allclose(tree.q, short.q, atol=1e-8)
    assert tree.time == pytest.approx(0.3) and count < 1000


def test_patch_on_a_patch_on_a_patch_falls_straight_down():
    """Two frictionless contacts in a row: energy and the horizontal place of the common centre of mass stay."""
    motion, net = patch_motion()
    bowl = bezier(net * (1.0, 1.0, 1.0), name="bowl")
    x = np.array([-0.15, -0.05, 0.05, 0.15])
    small = np.array([[(a, b, 6.0 * (a * a + b * b) + 0.3 * a) for b in x] for a in x])
    top = shell(bezier(small, name="top").flipped(), 0.3)
    tree = SurfaceTree([
        ContactJoint("bowl", None, motion.tree.contacts[0].surface, motion.body),
        ContactJoint("top", "bowl", bowl, top),
    ])  # fmt: skip
    tree.set_contact("bowl", motion.q)
    tree.set_contact("top", (0.55, 0.45, 0.5, 0.6, 0.3))
    energy, start = tree.energy(), tree.centre_of_mass()
    for _ in range(5):
        tree.run(0.1, 5e-4)
        assert tree.energy() == pytest.approx(energy, rel=1e-9)
        assert np.abs(tree.centre_of_mass() - start)[:2].max() <= 1e-9
        assert all(tree.contact_wrench(name)[1] > 0.0 for name in ("bowl", "top"))
    assert abs(tree.centre_of_mass()[2] - start[2]) > 1e-3


def test_ball_on_a_heavy_free_turntable_runs_in_circles(tmp_path):
    """A hinge with 1e9 kg m^2 keeps its rate whatever the ball does: circles at 2/7 of it."""
    r, rate = 0.1, 2.0
    tree = SurfaceTree([ContactJoint("ball", "upper", plane(), ball(r), "rolling")], arm(tmp_path, izz=1e9))
    tree.v[0] = rate
    tree.q[1] = -0.3  # whatever the plate does, its inertia is nothing beside the table's
    c = tree.pairs[0]
    q, _ = c.first_touch(np.eye(3), (0.3, 0.0, 1.0), (0.0, 0.0, -1.0))
    tree.set_contact("ball", q, (0.3, 0.2, 0.1))
    tree._pack()
    p, v = tree.pose("ball")[1], tree.kin.V[-1, 3:].copy()
    slow = 2.0 / 7.0 * rate
    middle = p + np.cross((0.0, 0.0, 1.0), v) / slow
    for _ in range(4):
        tree.run(0.5, 1e-3)
        want = middle + rotation((0, 0, 1), slow * tree.time) @ (p - middle)
        np.testing.assert_allclose(tree.pose("ball")[1], want, atol=1e-6)


def test_mimic_joints_are_refused(tmp_path):
    text = ARM.format(mass=1.0, izz=0.1).replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="shoulder"/>')
    file = tmp_path / "mimic.urdf"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="mimic='independent'"):
        SurfaceTree([ContactJoint("ball", "plate", plane(), ball(0.1))], load_urdf(file))
    SurfaceTree([ContactJoint("ball", "plate", plane(), ball(0.1))], load_urdf(file, mimic="independent"))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: SurfaceTree([]), InputError, "at least one contact"),
        (lambda: SurfaceTree([ContactJoint("a", "b", plane(), ball(0.1))]), InputError, "'b', which does not exist"),
        (lambda: SurfaceTree([ContactJoint("a", None, plane(), ball(0.1), "glued")]), InputError, "glued"),
        (lambda: SurfaceTree([ContactJoint("a", None, plane(), ball(0.1))] * 2), InputError, "two bodies"),
        (lambda: SurfaceTree([ContactJoint("a", None, plane(), ball(0.1))]).pose("b"), InputError, "no body 'b'"),
        (lambda: SurfaceTree([ContactJoint("a", None, plane(), ball(0.1))]).run(1.0, 0.0), InputError, "step"),
        (
            lambda: SurfaceTree([ContactJoint("a", None, plane(), SurfaceBody(plane(), 1.0, np.eye(3)))]).energy(),
            DynamicsError,
            "single point",
        ),
    ],
)
def test_what_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()

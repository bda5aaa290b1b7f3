# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Flexible links: the compiled sweeps against the dense SKO reference, and that against single point masses.

Covers core/tree/modal.py, core/tree/modal_dynamics.py, model/flexible/spec.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import DynamicsError, ModelError
from mb_contact.model.flexible.spec import beam_body
from mb_contact.studies import sko
from scenes.flexible_robots import LOOSE, arm, arm_state, strip

BEAMS = [{}, {"stiffening": False}, {"theory": "timoshenko", "modes": 6}, {"static_modes": True, "modes": 3}]


def error(got, want):
    return np.abs(np.asarray(got) - want).max() / np.abs(want).max()


@pytest.mark.parametrize("keys", BEAMS)
def test_sweeps_equal_the_reference(keys):
    """M, C, forward dynamics, compliances at the hand and at two nodes, at 1e-10."""
    rng, model = np.random.default_rng(7), arm(**keys)
    frames = ["hand", "fore/mid", "weight"]
    for _ in range(4):
        q, v = arm_state(rng, model)
        effort, gravity = rng.normal(size=model.N), rng.normal(size=3)
        dense = sko.flexible_tree(model, q, v, gravity)
        M, J = sko.mass_matrix(dense), mb.jacobian(model, q, frames)
        assert error(mb.mass_matrix(model, q), M) < 1e-10
        assert error(mb.inverse_dynamics(model, q, v, np.zeros(model.N), gravity), dense.nonlinear()) < 1e-10
        want = sko.forward_dynamics(dense, effort - model.tree.damping * v)
        assert error(mb.forward_dynamics(model, q, v, effort, gravity), want) < 1e-10
        want = np.linalg.solve(M, effort - model.tree.damping * v - dense.nonlinear())
        assert error(mb.forward_dynamics(model, q, v, effort, gravity), want) < 1e-9
        assert error(mb.operational_compliance(model, q, frames), J @ np.linalg.solve(M, J.T)) < 1e-10
        assert error(mb.dynamics.mass_solve(model, q, effort), np.linalg.solve(M, effort)) < 1e-9
        assert error(mb.dynamics.mass_times(model, q, v), M @ v) < 1e-10
        assert np.isclose(mb.dynamics.mass_log_determinant(model, q), np.linalg.slogdet(M)[1])


def test_the_reference_equals_single_point_masses():
    """A loose strip: M and forces of 32 masses at Gauss points, from their Jacobians and accelerations alone."""
    spec = mb.model.FlexibleLink(beam=strip())
    model = mb.load_urdf(LOOSE, floating=True, flexible_links={"rod": spec})
    body = beam_body(spec.beam, 0.0, [], None)[0]
    rng, skew = np.random.default_rng(8), lambda x: np.cross(np.eye(3), x)
    for _ in range(3):
        q, v = np.concatenate([rng.normal(size=7), 0.01 * rng.normal(size=4)]), rng.normal(size=10)
        q[3:7] /= np.linalg.norm(q[3:7])
        R, _ = model.link_pose("rod", q)
        w, eta, rate = R.T @ v[:3], q[7:], v[6:]
        M, C = np.zeros((10, 10)), np.zeros(10)
        for x, shape, slope, short, m, I in zip(*body[:4], body.mass, body.inertia):
            rho, J = x + shape @ eta + 0.5 * (eta @ short @ eta) * body.axis, shape + np.outer(body.axis, short @ eta)
            row = np.hstack([R @ -skew(rho) @ R.T, np.eye(3), R @ J])
            bias = np.cross(w, np.cross(w, rho)) + 2.0 * np.cross(w, J @ rate) + (rate @ short @ rate) * body.axis
            turn = np.hstack([R.T, np.zeros((3, 3)), slope])
            M += m * row.T @ row + turn.T @ I @ turn
            C += m * row.T @ R @ bias
            C[:3] += R @ np.cross(w, I @ (w + slope @ rate))
        dense = sko.flexible_tree(model, q, v, np.zeros(3))
        assert error(sko.mass_matrix(dense), M) < 1e-12
        assert error(dense.nonlinear(), C) < 1e-10
        assert error(mb.inverse_dynamics(model, q, v, np.zeros(10), np.zeros(3)), C) < 1e-10


@pytest.mark.nojit
def test_poses_jacobians_and_their_rates_belong_together():
    """J v and dJ/dt of a frame behind a flexible link against differences of poses and of J."""
    rng, model, h = np.random.default_rng(9), arm(), 1e-6
    frames = ["hand", "fore/mid"]
    q, v = arm_state(rng, model)
    J = mb.jacobian(model, q, frames)
    for i, name in enumerate(frames):
        (R_a, p_a), (R_b, p_b) = model.link_pose(name, q - h * v), model.link_pose(name, q + h * v)
        turn = (R_b - R_a) @ model.link_pose(name, q)[0].T / (2.0 * h)
        got = J[6 * i : 6 * i + 6] @ v
        assert np.allclose(got[3:], (p_b - p_a) / (2.0 * h), atol=1e-8)
        assert np.allclose(got[:3], [turn[2, 1], turn[0, 2], turn[1, 0]], atol=1e-8)
    rate = (mb.jacobian(model, q + h * v, frames) - mb.jacobian(model, q - h * v, frames)) / (2.0 * h)
    assert np.allclose(mb.dynamics.jacobian_rate(model, q, v, frames), rate, atol=1e-7)
    assert np.allclose(mb.dynamics.jacobian_bias(model, q, v, frames), rate @ v, atol=1e-7)


def test_momentum_and_energy():
    """h = A v; the rate of h is the gravity's, and that of the energy the power of the efforts, along the motion."""
    rng, model, h = np.random.default_rng(10), arm(), 1e-6
    q, v = arm_state(rng, model)
    parts = mb.dynamics.centroidal(model, q, v)
    assert np.allclose(parts.matrix @ v, parts.momentum)
    assert np.allclose(mb.dynamics.momentum(model, q, v, parts.com), parts.momentum)
    kinetic, _ = mb.dynamics.energy(model, q, v)
    assert np.isclose(kinetic, 0.5 * v @ mb.mass_matrix(model, q) @ v)
    ahead, behind = (mb.dynamics.momentum(model, q + s * h * v, v, parts.com) for s in (1, -1))
    assert np.allclose(parts.bias, (ahead - behind) / (2.0 * h), atol=1e-6)
    effort = rng.normal(size=model.N)
    v_dot = mb.forward_dynamics(model, q, v, effort)
    ahead, behind = (sum(mb.dynamics.energy(model, q + s * h * v, v + s * h * v_dot)) for s in (1, -1))
    assert np.isclose((ahead - behind) / (2.0 * h), (effort - model.tree.damping * v) @ v, rtol=1e-6)


def test_what_does_not_know_flexible_links_says_so():
    model = arm()
    q = np.zeros(model.N)
    with pytest.raises(DynamicsError, match="'fore' is a flexible link"):
        mb.forward_dynamics(model, q, q, q, method="modified_abm")
    with pytest.raises(ModelError, match="flexible"):
        sko.rigid_tree(model, q)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Digits: far from the origin, on long chains, beside large masses; and hinges that have none left.

The reference is ``extended_precision.py``: body axes, 80-bit or mpmath numbers.  Errors are relative to the largest
entry (``error``) and, where it says so, of every single entry (``component_error``).
"""

from __future__ import annotations

import dataclasses

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.studies import sko
from mb_contact.types import JOINT_FLOATING, WORLD
from oracles.dense_oracle import random_forest, random_state, read_only, sizes
from oracles.extended_precision import EXTENDED, HAS_EXTENDED, MPMATH, Reference, component_error, error
from paths import ROOT

DUAL_ARM = ROOT / "urdf" / "dual_arm.urdf"
GRAVITY = np.array([0.3, -1.2, -9.0])
SWEEPS = ("abm", "modified_abm")
extended = pytest.mark.skipif(not HAS_EXTENDED, reason="longdouble is plain double on this platform")


# --- the reference itself -------------------------------------------------------------------------


def test_reference_equals_pinocchio_on_the_dual_arm():
    pin = pytest.importorskip("pinocchio")
    model = mb.load_urdf(DUAL_ARM)
    peer = pin.buildModelFromUrdf(str(DUAL_ARM))
    peer.gravity.linear = GRAVITY
    data = peer.createData()
    order = np.array([peer.joints[peer.getJointId(name)].idx_v for name in model.joint_names])
    theirs = np.argsort(order)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, v, x = rng.uniform(model.lower, model.upper), rng.normal(size=26), rng.normal(size=26)
        reference = Reference(model.tree, q, v, EXTENDED)
        T = x + model.tree.damping * v  # Pinocchio's aba knows no joint damping
        state = (peer, data, q[theirs], v[theirs], x[theirs])
        assert error(pin.aba(*state)[order], reference.forward(T, GRAVITY)) <= 1e-11
        assert error(pin.rnea(*state)[order], reference.inverse(x, GRAVITY)) <= 1e-13
        M = pin.crba(peer, data, q[theirs])
        M = np.triu(M) + np.triu(M, 1).T
        assert error(M[np.ix_(order, order)], reference.mass_matrix()) <= 1e-13


@pytest.mark.parametrize("seed", range(3))
def test_reference_equals_sko_with_floating_bodies_and_rotors(seed):
    rng = np.random.default_rng(seed)
    model = random_forest(rng, 5, 2, floating=1.0)
    q, v = random_state(rng, model.tree)
    T = rng.normal(size=len(v))
    robot = sko.rigid_tree(model, q, v, GRAVITY)
    with mpmath.workdps(40):
        reference = Reference(model.tree, q, v, MPMATH)
        assert error(sko.forward_dynamics(robot, T - model.tree.damping * v), reference.forward(T, GRAVITY)) <= 1e-12
        assert error(sko.mass_matrix(robot), reference.mass_matrix()) <= 1e-13
        names = ("a4", "b4", "a1")
        L = sko.operational_compliance(robot, sko.frame_picks(robot, model, q, names))
        assert error(L, reference.compliance([model.frames[name] for name in names])) <= 1e-12


# --- far from the origin --------------------------------------------------------------------------


def moved(model, q, offset):
    """The same robots with their bases displaced."""
    tree, q = model.tree, q.copy()
    p = tree.p_joint.copy()
    for k in np.flatnonzero(tree.parent == WORLD):
        if tree.joint_type[k] == JOINT_FLOATING:
            q[tree.q_start[k] : tree.q_start[k] + 3] += offset
        else:
            p[k] += offset
    return model._replace(tree=read_only(tree._replace(p_joint=p))), q


@pytest.mark.parametrize("seed, floating", [(0, 0.0), (1, 1.0), (2, 1.0)])
def test_far_from_the_origin(seed, floating):
    """Bases 1e4 m away: the sweeps never see the distance, frames lose the digits of their world position."""
    rng = np.random.default_rng(seed)
    model = random_forest(rng, 8, 2, floating=floating)
    q, v = random_state(rng, model.tree)
    model, q = moved(model, q, np.array([1e4, -7e3, 4e3]))
    T, names = rng.normal(size=len(v)), ("a7", "b7", "a3", "b0")
    with mpmath.workdps(40):
        reference = Reference(model.tree, q, v, MPMATH)
        want = reference.forward(T, GRAVITY)
        for method in ("abm", "modified_abm", "crbm"):
            assert error(mb.forward_dynamics(model, q, v, T, GRAVITY, method), want) <= 1e-12
        assert error(mb.inverse_dynamics(model, q, v, T, GRAVITY), reference.inverse(T, GRAVITY)) <= 1e-12
        assert error(mb.mass_matrix(model, q), reference.mass_matrix()) <= 1e-12
        L = reference.compliance([model.frames[name] for name in names])
        assert error(mb.operational_compliance(model, q, names), L) <= 1e-10


# --- a thousand bodies ----------------------------------------------------------------------------


def long_chain(n, straight, seed=0):
    """A chain of n revolute joints: nearly straight (axes across the links, 1e-3 rad) or with random shapes."""
    rng = np.random.default_rng(seed)
    model = random_forest(rng, n, 1, floating=0.0, prismatic=0.0 if straight else 0.2, armature=False)
    tree = model.tree._replace(parent=np.arange(n) - 1, root=np.zeros(n, np.int64))
    q = rng.uniform(-2.0, 2.0, n)
    if straight:
        axis = np.zeros((n, 3))
        axis[::2, 0] = axis[1::2, 1] = 1.0
        tree = tree._replace(R_joint=np.tile(np.eye(3), (n, 1, 1)), p_joint=np.tile([0.0, 0.0, 0.2], (n, 1)),
                             com=np.tile([0.0, 0.0, 0.1], (n, 1)), axis=axis)  # fmt: skip
        q = 1e-3 * rng.normal(size=n)
    return model._replace(tree=read_only(tree)), q, rng


@extended
@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_a_chain_of_1000_bodies(straight, speed):
    n = 1000
    model, q, rng = long_chain(n, straight)
    v, T = speed * rng.normal(size=n), rng.normal(size=n)
    reference = Reference(model.tree, q, v, EXTENDED)
    want = reference.forward(T, GRAVITY)
    for method in SWEEPS:
        got = mb.forward_dynamics(model, q, v, T, GRAVITY, method)
        assert error(got, want) <= 1e-11
        assert component_error(got, want) <= 1e-9
    assert error(mb.inverse_dynamics(model, q, v, T, GRAVITY), reference.inverse(T, GRAVITY)) <= 1e-12
    tip = f"a{n - 1}"
    got, want = mb.operational_compliance(model, q, tip), reference.compliance([model.frames[tip]])
    assert error(got, want) <= 1e-11
    assert component_error(got, want) <= 1e-9


@extended
@pytest.mark.parametrize("straight", [True, False])
def test_mass_matrix_of_1000_bodies(straight):
    """Columns by inverse dynamics at rest: base, middle and tip."""
    n = 1000
    model, q, _ = long_chain(n, straight)
    reference, M = Reference(model.tree, q, np.zeros(n), EXTENDED), mb.mass_matrix(model, q)
    for k in (0, n // 2, n - 1):
        column = reference.inverse(np.eye(n)[k], np.zeros(3))
        assert error(M[k], column) <= 1e-12
        assert component_error(M[k], column) <= 1e-9


def test_80_bits_are_enough_for_the_reference():
    """The extended reference against 40 digits, on a chain of 60: its own error is far below what is asked of it."""
    model, q, rng = long_chain(60, True)
    v, T = rng.normal(size=60), rng.normal(size=60)
    with mpmath.workdps(40):
        want = Reference(model.tree, q, v, MPMATH).forward(T, GRAVITY)
        got = Reference(model.tree, q, v, EXTENDED).forward(T, GRAVITY)
        parts = [mpmath.mpf(float(x)) + mpmath.mpf(float(x - np.longdouble(float(x)))) for x in got]
        assert np.abs(np.array(parts) - want).max() / np.abs(want).max() <= (1e-17 if HAS_EXTENDED else 1e-13)


# --- formulation stiffness ------------------------------------------------------------------------


def in_line(n, masses, seed, length=0.3):
    """Links that all turn about one line, in a random direction, with random shapes."""
    rng = np.random.default_rng(seed)
    model = random_forest(rng, n, 1, floating=0.0, prismatic=0.0, armature=False)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    turns = [Rotation.from_rotvec(axis * rng.uniform(-2, 2)).as_matrix() for _ in range(n)]
    turns[0] = model.tree.R_joint[0]
    masses = np.array(masses, dtype=np.float64)
    tree = model.tree._replace(
        parent=np.arange(n) - 1, root=np.zeros(n, np.int64), R_joint=np.array(turns), axis=np.tile(axis, (n, 1)),
        p_joint=np.outer(length * (np.arange(n) > 0), axis), mass=masses, damping=np.zeros(n),
        inertia=model.tree.inertia * (masses / model.tree.mass)[:, None, None],
    )  # fmt: skip
    return model._replace(tree=read_only(tree)), rng.uniform(-2.0, 2.0, n), rng.normal(size=n)


def redundant_arm(n, masses, seed):
    """A chain of random shape: with n > 6 small links the load can stay while they move."""
    rng = np.random.default_rng(seed)
    model = random_forest(rng, n, 1, floating=0.0, prismatic=0.0, armature=False)
    masses = np.array(masses)
    tree = model.tree._replace(parent=np.arange(n) - 1, root=np.zeros(n, np.int64), mass=masses, damping=np.zeros(n),
                               inertia=model.tree.inertia * (masses / model.tree.mass)[:, None, None])  # fmt: skip
    return model._replace(tree=read_only(tree)), rng.uniform(-2.0, 2.0, n), rng.normal(size=n)


@pytest.mark.parametrize("ratio", [1e6, 1e12])
def test_modified_abm_keeps_the_digits_of_a_small_inertia(ratio):
    """P00 section 7 against 40 digits, from q on: ABM and CRBM lose the mass ratio, the modified ABM nothing."""
    lost, rest = np.zeros(3), np.zeros(3)
    for seed in range(6):
        make, n = (in_line, 3) if seed < 4 else (redundant_arm, 8)
        model, q, T = make(n, [1.0 / ratio] * (n - 1) + [1.0], seed)
        zero = np.zeros(n)
        with mpmath.workdps(40):
            want = Reference(model.tree, q, zero, MPMATH).forward(T, rest)
            for i, method in enumerate(("modified_abm", "abm", "crbm")):
                lost[i] = max(lost[i], error(mb.forward_dynamics(model, q, zero, T, rest, method), want))
    assert lost[0] <= 1e-13
    assert (lost[1:] >= 1e-17 * ratio).all()  # or this test would show nothing
    assert (lost[1:] <= 1e-13 * ratio).all()


def test_modified_abm_where_the_plain_sweep_sees_rounding_only():
    """10 m of lever make of a mass ratio of 1e14 one of 1e16 in D: the factors still carry it."""
    for seed in range(5):
        model, q, T = in_line(3, [1.0, 1e-14, 1.0], seed, length=10.0)
        zero = np.zeros(3)
        with mpmath.workdps(40):
            want = Reference(model.tree, q, zero, MPMATH).forward(T, zero)
            assert error(mb.forward_dynamics(model, q, zero, T, zero, "modified_abm"), want) <= 1e-11


# --- hinges without inertia -----------------------------------------------------------------------


def thin_rods(n, seed):
    """Links, the last a rod of no thickness that turns about itself: R I R* leaves 1e-17 of its inertia there."""
    rng = np.random.default_rng(seed)
    model = random_forest(rng, n, 1, floating=0.0, prismatic=0.0, armature=False)
    axis, inertia, com = model.tree.axis[-1], model.tree.inertia.copy(), model.tree.com.copy()
    inertia[-1] = model.tree.mass[-1] / 12.0 * (np.eye(3) - np.outer(axis, axis))
    com[-1] = 0.4 * axis
    tree = model.tree._replace(parent=np.arange(n) - 1, root=np.zeros(n, np.int64), inertia=inertia, com=com)
    return model._replace(tree=read_only(tree)), rng.uniform(-2.0, 2.0, n)


def ghost_in_line(seed):
    """Three links about one line, the middle one without mass: joint 1 turns nothing that joint 2 does not turn."""
    model, q, _ = in_line(3, [1.0, 0.0, 1.0], seed)
    return model, q


def refused(model, q, method):
    """The message, or None where an acceleration came back."""
    zero = np.zeros(len(q))
    try:
        mb.forward_dynamics(model, q, zero, zero, GRAVITY, method)
    except mb.DynamicsError as refusal:
        return str(refusal)
    return None


EVERY_METHOD = ("abm", "modified_abm", "crbm")


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_a_rod_that_turns_about_itself_is_refused(method):
    for seed in range(40):
        for n in (1, 3):
            model, q = thin_rods(n, seed)
            assert f"link_{n - 1}" in (refused(model, q, method) or "")


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_a_massless_link_between_two_collinear_axes_is_refused(method):
    for seed in range(40):
        model, q = ghost_in_line(seed)
        assert "link_1" in (refused(model, q, method) or "")


@pytest.mark.parametrize("method", SWEEPS)
def test_small_inertias_are_not_refused(method):
    """A mass ratio of 1e12 is legitimate, inboard or outboard, on one line or not, with a rotor or without."""
    for seed in range(40):
        model, q, _ = in_line(3, [1.0, 1e-12, 1.0], seed)
        assert refused(model, q, method) is None
        model, q, _ = in_line(3, [1.0, 1.0, 1e-12], seed)
        assert refused(model, q, method) is None
        model, q = thin_rods(2, seed)
        armature = np.array([0.0, 1e-12])
        assert refused(model._replace(tree=read_only(model.tree._replace(armature=armature))), q, method) is None
        rng = np.random.default_rng(seed)
        model = random_forest(rng, 8, 1, floating=0.5)
        scale = 10.0 ** rng.uniform(-12.0, 0.0, 8)
        tree = model.tree._replace(mass=model.tree.mass * scale, inertia=model.tree.inertia * scale[:, None, None])
        model = model._replace(tree=read_only(tree))
        q, _ = random_state(rng, tree)
        zero = np.zeros(sizes(tree)[1])
        assert np.isfinite(mb.forward_dynamics(model, q, zero, zero, GRAVITY, method)).all()


@pytest.mark.nojit
@pytest.mark.parametrize("method", ["abm", "modified_abm", "crbm"])
def test_exact_zeros_are_refused(method):
    """A massless tip, revolute or floating; the floating body has six hinge inertias."""
    for floating in (0.0, 1.0):
        model = random_forest(np.random.default_rng(2), 1, 1, floating=floating, prismatic=0.0, armature=False)
        tree = read_only(model.tree._replace(mass=np.zeros(1), inertia=np.zeros((1, 3, 3))))
        q, _ = random_state(np.random.default_rng(2), tree)
        zero = np.zeros(sizes(tree)[1])
        with pytest.raises(mb.DynamicsError, match="link_0"):
            mb.forward_dynamics(model._replace(tree=tree), q, zero, zero, GRAVITY, method)


def without_mass(model, k):
    """A Model or World with body k and the rotor of its joint without inertia."""
    tree = model.tree
    mass, inertia, armature = tree.mass.copy(), tree.inertia.copy(), tree.armature.copy()
    mass[k], inertia[k] = 0.0, 0.0
    armature[tree.v_start[k] : tree.v_start[k] + tree.nv[k]] = 0.0
    tree = read_only(tree._replace(mass=mass, inertia=inertia, armature=armature))
    return dataclasses.replace(model, tree=tree)


@pytest.mark.parametrize("method", ["abm", "modified_abm", "crbm"])
def test_the_message_names_the_joint_and_its_link(method):
    robot = mb.load_urdf(DUAL_ARM)
    zero = np.zeros(26)
    model = without_mass(robot, 25)
    joint, link = robot.body_joint_names[25], robot.body_names[25]
    with pytest.raises(mb.DynamicsError, match=f"^joint '{joint}' that moves '{link}' carries no inertia"):
        mb.forward_dynamics(model, robot.neutral, zero, zero, GRAVITY, method)


def test_the_message_of_a_world_names_the_joint_or_the_object():
    world = mb.build_world(mb.load_scene(ROOT / "config" / "dual_arm_lift.yaml"))
    robot, zero = world.robot_models[0], np.zeros(len(world.v0))
    joint, link = robot.body_joint_names[robot.n - 1], robot.body_names[robot.n - 1]
    with pytest.raises(mb.DynamicsError, match=f"^joint '{joint}' that moves '{link}' carries no inertia"):
        mb.forward_dynamics(without_mass(world, robot.n - 1), world.q0, zero, zero)
    free = len(world.body_names) - 1
    assert free >= robot.n  # the box: a free object has no joint of its own
    with pytest.raises(mb.DynamicsError, match=f"^the joint that moves '{world.body_names[free]}' carries no inertia"):
        mb.forward_dynamics(without_mass(world, free), world.q0, zero, zero)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Closed linkages with known solutions: URDF text, scenes and closed forms."""

from __future__ import annotations

import numpy as np

from mb_contact.model.scene import Closure, Pose, Scene, SceneModel

CRANK, COUPLER, ROCKER, BASE = 0.3, 0.9, 0.7, 1.0  #: [m], Grashof: the crank turns all the way round


def bar(name, length, mass=1.0):
    """A thin rod along x; its own frame is at one end."""
    cross = mass * length**2 / 12
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="1e-3" iyy="{cross}" izz="{cross}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def hinge(name, parent, child, x, axis="0 0 1", extra="", kind="continuous"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="{axis}"/>{extra}</joint>'
    )


def four_bar_angles(theta):
    """Angles from the x axis of coupler and rocker at crank angle theta, open branch."""
    tip = CRANK * np.array([np.cos(theta), np.sin(theta)]) - [BASE, 0.0]
    length = np.hypot(*tip)
    rocker = np.arctan2(tip[1], tip[0]) - np.arccos((ROCKER**2 + length**2 - COUPLER**2) / (2 * ROCKER * length))
    end = ROCKER * np.array([np.cos(rocker), np.sin(rocker)]) - tip
    return np.arctan2(end[1], end[0]), rocker


def four_bar_joints(theta):
    """Joint angles (crank, coupler, rocker) of the tree at crank angle theta."""
    coupler, rocker = four_bar_angles(theta)
    return np.array([theta, coupler - theta, rocker])


def four_bar(kind="axis", theta=0.5, speed=2.0, error=0.0, **options):
    """Crank and coupler, and rocker, in the xy plane; the closure joins their ends."""
    urdf = (
        f'<robot name="four_bar"><link name="base"/>{bar("crank", CRANK)}{bar("coupler", COUPLER)}'
        f'{bar("rocker", ROCKER)}{hinge("crank_joint", "base", "crank", 0)}'
        f'{hinge("coupler_joint", "crank", "coupler", CRANK)}{hinge("rocker_joint", "base", "rocker", BASE)}</robot>'
    )
    q = four_bar_joints(theta)
    joints = {"crank_joint": q[0], "coupler_joint": q[1] + error, "rocker_joint": q[2]}
    closure = Closure(kind, "coupler", "rocker", Pose((COUPLER, 0, 0)), Pose((ROCKER, 0, 0)))
    model = SceneModel(urdf=urdf, joints=joints, velocities={"crank_joint": speed})
    options = {"gravity": (0.0, -9.81, 0.0), "loops": "multipliers", **options}
    return Scene(models=(model,), loop_closures=(closure,), **options)


def cut_four_bar(theta=0.5, speed=2.0, **options):
    """The same linkage cut through the middle of the coupler and welded there: six rows for three."""
    half = COUPLER / 2
    urdf = (
        f'<robot name="cut"><link name="base"/>{bar("crank", CRANK)}{bar("near", half, 0.5)}{bar("far", half, 0.5)}'
        f'{bar("rocker", ROCKER)}{hinge("crank_joint", "base", "crank", 0)}'
        f'{hinge("near_joint", "crank", "near", CRANK)}{hinge("rocker_joint", "base", "rocker", BASE)}'
        f'{hinge("far_joint", "rocker", "far", ROCKER)}</robot>'
    )
    coupler, rocker = four_bar_angles(theta)
    joints = {
        "crank_joint": theta, "near_joint": coupler - theta, "rocker_joint": rocker,
        "far_joint": coupler + np.pi - rocker,
    }  # fmt: skip
    pose_b = Pose((half, 0, 0), (0.0, 0.0, np.pi))
    model = SceneModel(urdf=urdf, joints=joints, velocities={"crank_joint": speed})
    options = {"gravity": (0.0, -9.81, 0.0), "loops": "multipliers", **options}
    closure = Closure("weld", "near", "far", Pose((half, 0, 0)), pose_b)
    return Scene(models=(model,), loop_closures=(closure,), **options)


def four_bar_motion(theta, speed, duration, gravity=9.81):
    """Crank angle and its rate after ``duration``: the linkage's one equation of motion, integrated to 1e-11.

    T = I(theta) theta_dot^2 / 2 with I from the closed-form rates, V from the closed-form heights.
    """
    from scipy.integrate import solve_ivp

    def state(x):
        coupler, rocker = four_bar_angles(x)
        across = np.array([[-np.sin(coupler), np.sin(rocker)], [np.cos(coupler), -np.cos(rocker)]])
        A = across * [COUPLER, ROCKER]
        return coupler, rocker, np.linalg.solve(A, CRANK * np.array([np.sin(x), -np.cos(x)]))

    def inertia(x):
        coupler, rocker, (k, w) = state(x)
        tip = CRANK * np.array([-np.sin(x), np.cos(x)])
        middle = tip + COUPLER / 2 * k * np.array([-np.sin(coupler), np.cos(coupler)])
        return CRANK**2 / 3 + middle @ middle + COUPLER**2 / 12 * k**2 + ROCKER**2 / 3 * w**2

    def height(x):
        coupler, rocker, _ = state(x)
        return 1.5 * CRANK * np.sin(x) + COUPLER / 2 * np.sin(coupler) + ROCKER / 2 * np.sin(rocker)

    def rate(_, y):
        h = 1e-5
        dI = (inertia(y[0] + h) - inertia(y[0] - h)) / (2 * h)
        dV = gravity * (height(y[0] + h) - height(y[0] - h)) / (2 * h)
        return [y[1], (-0.5 * dI * y[1] ** 2 - dV) / inertia(y[0])]

    return solve_ivp(rate, (0.0, duration), [theta, speed], rtol=1e-10, atol=1e-11).y[:, -1]


# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms of IFToMM's library of benchmarks, and their motion by SciPy from closed forms."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from mb_contact.model.scene import Closure, JointProperties, Pose, Scene, SceneModel
from scenes.loop_cases import bar, hinge

G = 9.81
WIDE = '<limit lower="-5" upper="5" effort="1e6" velocity="1e6"/>'
TIGHT = {"rtol": 1e-11, "atol": 1e-11, "method": "DOP853"}


def robot(text, joints, rates, closures, properties=None, gravity=(0.0, -G, 0.0), **options):
    urdf = f'<robot name="mechanism"><link name="base"/>{text}</robot>'
    model = SceneModel(urdf=urdf, joints=joints, velocities=rates, joint_properties=properties or {})
    return Scene(models=(model,), loop_closures=tuple(closures), gravity=gravity, **options)


def solved(rates, start, time):
    return solve_ivp(rates, (0.0, time), start, **TIGHT).y[:, -1]


# --- N four-bars of rods of 1 m, singular where the rods lie in one line ----------------------


def four_bars(count, **options):
    """``count`` squares side by side, upright, with 1 m/s at the top."""
    text, closures = bar("v0", 1.0) + hinge("a0", "base", "v0", 0), []
    joints, rates = {"a0": np.pi / 2}, {"a0": -1.0}
    for i in range(1, count + 1):
        text += bar(f"v{i}", 1.0) + hinge(f"a{i}", "base", f"v{i}", i)
        text += bar(f"h{i}", 1.0) + hinge(f"b{i}", f"v{i - 1}", f"h{i}", 1)
        joints |= {f"a{i}": np.pi / 2, f"b{i}": -np.pi / 2}
        rates |= {f"a{i}": -1.0, f"b{i}": 1.0}
        closures.append(Closure("axis", f"h{i}", f"v{i}", Pose((1.0, 0, 0)), Pose((1.0, 0, 0))))
    return robot(text, joints, rates, closures, **options)


def four_bars_angle(count, time):
    """Angle of the rods that turn: a pendulum of them and of those that do not turn."""
    inertia, moment = (count + 1) / 3 + count, (count + 1) / 2 + count
    return solved(lambda _, y: [y[1], -G * moment * np.cos(y[0]) / inertia], [np.pi / 2, -1.0], time)[0]


# --- slider and crank with rods of equal length, singular where they lie upon each other -------

CRANK, SPEED, SLIDER = np.pi / 4, -4.0, 0.1  # [rad, rad/s, kg]


def slider_crank(**options):
    text = bar("crank", 1.0) + bar("rod", 1.0) + bar("slider", 0.1, SLIDER) + hinge("c", "base", "crank", 0)
    text += hinge("r", "crank", "rod", 1) + hinge("s", "base", "slider", 0, "1 0 0", WIDE, "prismatic")
    joints = {"c": CRANK, "r": -2 * CRANK, "s": 2 * np.cos(CRANK)}
    rates = {"c": SPEED, "r": -2 * SPEED, "s": -2 * np.sin(CRANK) * SPEED}
    return robot(text, joints, rates, [Closure("axis", "rod", "slider", Pose((1.0, 0, 0)), Pose())], **options)


def slider_crank_angle(time):
    def rates(_, y):
        c, s = np.cos(y[0]), np.sin(y[0])
        inertia = 1 / 3 + 1 / 12 + (1.5 * s) ** 2 + (0.5 * c) ** 2 + SLIDER * (2 * s) ** 2
        return [y[1], (-(2.0 + 4 * SLIDER) * s * c * y[1] ** 2 - G * c) / inertia]

    return solved(rates, [CRANK, SPEED], time)[0]


# --- Bricard: five rods, six hinges, one row too many -------------------------------------------

RODS = ((1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0))
AXES = ("0 1 0", "0 0 1", "1 0 0", "0 1 0", "0 0 1")
BRICARD_P3 = (0.5105014612, -1.6491675995, 0.1401231146)  #: of the end of the third rod after 1 s


def bricard(**options):
    text, parent, place = "", "base", (0, 0, 0)
    for i, (rod, axis) in enumerate(zip(RODS, AXES)):
        x, y, z = (0.5 * r for r in rod)
        moments = [1 / 600 if r else 0.0841666666666666667 for r in rod]
        text += f'<link name="b{i}"><inertial><origin xyz="{x} {y} {z}"/><mass value="1"/><inertia ixx="{moments[0]}" '
        text += f'iyy="{moments[1]}" izz="{moments[2]}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        text += f'<joint name="j{i}" type="continuous"><parent link="{parent}"/><child link="b{i}"/>'
        text += f'<axis xyz="{axis}"/><origin xyz="{place[0]} {place[1]} {place[2]}"/></joint>'
        parent, place = f"b{i}", rod
    across = (0.0, np.pi / 2, 0.0)
    closure = Closure("axis", "b4", "world", Pose((0.0, 1.0, 0.0), across), Pose((0.0, 0.0, 1.0), across))
    return robot(text, {}, {}, [closure], **options)


# --- flyball governor: arms on a shaft, a sleeve held by two rods at a distance ------------------

ARM, HELD, ROD, SLEEVE, SHAFT, BALL = 1.0, 0.5, 0.5, 0.5, 0.2, 1.0  # [m, m, m, kg, kg m^2, kg]
SPREAD, SPIN = np.pi / 6, 2.0 * np.pi


def governor(**options):
    shaft = f'<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="{SHAFT}" ixy="0" ixz="0" iyz="0"/></inertial>'
    sleeve = f'<inertial><mass value="{SLEEVE}"/><inertia ixx="1e-3" iyy="1e-3" izz="0" ixy="0" ixz="0" iyz="0"/>'
    text = f'<link name="shaft">{shaft}</link><link name="sleeve">{sleeve}</inertial></link>'
    text += bar("left", ARM, BALL) + bar("right", ARM, BALL) + hinge("spin", "base", "shaft", 0)
    text += hinge("out_left", "shaft", "left", 0, "0 1 0") + hinge("out_right", "shaft", "right", 0, "0 1 0")
    text += hinge("slide", "shaft", "sleeve", 0, "0 0 1", WIDE, "prismatic")
    low = -HELD * np.cos(SPREAD) - np.sqrt(ROD**2 - (HELD * np.sin(SPREAD)) ** 2)
    joints = {"out_left": np.pi / 2 - SPREAD, "out_right": np.pi / 2 + SPREAD, "slide": low}
    rods = [Closure("distance", arm, "sleeve", Pose((HELD, 0, 0)), Pose(), length=ROD) for arm in ("left", "right")]
    return robot(text, joints, {"spin": SPIN}, rods, gravity=(0.0, 0.0, -G), **options)


def governor_motion(time):
    """Angle of the arms from the vertical, and of the shaft."""
    across, along = BALL * ARM**2 / 3, 1e-3

    def shape(a):
        s, c, root = np.sin(a), np.cos(a), np.sqrt(ROD**2 - (HELD * np.sin(a)) ** 2)
        rise = HELD * s + HELD**2 * s * c / root  # of the sleeve, by the angle
        about = SHAFT + 2 * (across * s * s + along * c * c)
        weight = G * (BALL * ARM * s + SLEEVE * rise)
        return 2 * across + SLEEVE * rise**2, about, 4 * (across - along) * s * c, weight

    def rates(_, y):
        a, w, _, spin = y
        k = 1e-5
        change = (shape(a + k)[0] - shape(a - k)[0]) / (2 * k)
        inertia, about, growth, weight = shape(a)
        return [w, (0.5 * growth * spin**2 - 0.5 * change * w * w - weight) / inertia, spin, -growth * w * spin / about]

    return solved(rates, [SPREAD, 0.0, 0.0, SPIN], time)[[0, 2]]


# --- Andrews' squeezer: seven bodies, a spring, three loops; the numbers of Hairer and Wanner ----

MASS = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
MOMENT = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
CENTRE = ((0.00092, 0), (-0.0115, 0), (0.01043, -0.01874), (0, -0.00579), (0.02308, 0.00916), (0.00579, 0),
          (-0.00449, -0.01228))  # fmt: skip
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
SQUEEZER = {
    "beta": -0.0617138900142764496, "theta": 0.0, "gamma": 0.455279819163070380, "phi": 0.222668390165885885,
    "delta": 0.487364979543842550, "omega": -0.222668390165885885, "epsilon": 1.23054744454982119,
}  # fmt: skip
SQUEEZER_BETA = 15.81077119629904  #: after 0.03 s under a torque of 0.033 N m
TORQUE = 0.033


def _body(i):
    x, y = CENTRE[i]
    return (
        f'<link name="k{i + 1}"><inertial><origin xyz="{x} {y} 0"/><mass value="{MASS[i]}"/><inertia ixx="{MOMENT[i]}" '
        f'iyy="{MOMENT[i]}" izz="{MOMENT[i]}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _pivot(name, parent, child, place):
    joint = hinge(name, parent, child, 0)
    return joint.replace('xyz="0 0 0"', f'xyz="{place[0]} {place[1]} 0"')


def squeezer(**options):
    """The spring is a slide between two bodies of a ten-millionth of a kilogram."""
    text = "".join(_body(i) for i in range(7))
    for joint in (
        ("beta", "base", "k1", (0, 0)), ("theta", "k1", "k2", (0.007, 0)), ("gamma", "base", "k3", B),
        ("delta", "base", "k5", A), ("phi", "k5", "k4", (0.04, 0)), ("epsilon", "base", "k7", A),
        ("omega", "k7", "k6", (0, -0.04)), ("turn", "base", "s1", C),
    ):  # fmt: skip
        text += _pivot(*joint)
    light = '<inertial><mass value="1e-7"/><inertia ixx="1e-12" iyy="1e-12" izz="1e-12" ixy="0" ixz="0" iyz="0"/>'
    text += "".join(f'<link name="{name}">{light}</inertial></link>' for name in ("s1", "s2"))
    text += hinge("stretch", "s1", "s2", 0, "1 0 0", WIDE, "prismatic")
    s, c = np.sin(SQUEEZER["gamma"]), np.cos(SQUEEZER["gamma"])
    way = np.array([B[0] + 0.018 * s + 0.02 * c - C[0], B[1] - 0.018 * c + 0.02 * s - C[1]])
    joints = SQUEEZER | {"turn": np.arctan2(way[1], way[0]), "stretch": np.hypot(*way)}
    ends = (("k3", (0, -0.035, 0)), ("k4", (0, -0.02, 0)), ("k6", (0.02, 0, 0)))
    closures = [Closure("axis", "k2", link, Pose((-0.028, 0, 0)), Pose(place)) for link, place in ends]
    closures.append(Closure("point", "s2", "k3", Pose(), Pose((0.02, -0.018, 0))))
    spring = {"stretch": JointProperties(stiffness=4530.0, rest_position=0.07785)}
    return robot(text, joints, {}, closures, spring, (0.0, 0.0, 0.0), **options)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Suction, belts, tendons and soft contact beside their closed forms, and beside MuJoCo's adhesion, surfacevel, tendon
and solref.

    python benchmarks/handling.py [--step 1e-3]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from quick import need, options_of  # noqa: E402

import mb_contact as mb  # noqa: E402 (the checkout that this script is in, before an installed one)

m = mb.model
G = 9.81


def ball(name, place, mass, **more):
    return m.Primitive(name, "sphere", (0.1,), m.Pose(place), "free", mass, **more)


def ours(dt, *bodies, **scene):
    return mb.Simulator(mb.Scene(primitives=bodies, time_step=dt, **scene))


def mujocos(dt, world, more=""):
    import mujoco

    text = f'<mujoco><option timestep="{dt}" cone="elliptic"/><worldbody>{world}</worldbody>{more}</mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def step(seconds):
        for _ in range(round(seconds / dt)):
            mujoco.mj_step(model, data)
        return data

    return step, data


def suction(dt, share):
    """Way of a box of 1 kg under a cup in 0.5 s, whose weight is ``share`` of the force [m]."""
    plate = m.Primitive("plate", "box", (0.2, 0.2, 0.1), m.Pose((0.0, 0.0, 1.05)))
    box = m.Primitive("box", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 0.95)), "free", 1.0)
    cup = m.AdhesionPad("cup", "plate", m.Pose((0.0, 0.0, -0.05), rpy=(np.pi, 0.0, 0.0)), force=G / share)
    sim = ours(dt, plate, box, adhesion_pads=(cup,))
    sim.step(steps=round(0.5 / dt))
    world = (
        '<geom type="box" size=".1 .1 .05" pos="0 0 1.05"/><body name="b" pos="0 0 .95"><freejoint/>'
        '<geom type="box" size=".05 .05 .05" mass="1" margin=".001" gap=".001"/></body>'
    )  # the gap within which it pulls
    hold = f'<actuator><adhesion body="b" ctrlrange="0 1" gain="{G / share}"/></actuator>'
    step, data = mujocos(dt, world, hold)
    data.ctrl[:] = 1.0
    return sim.link_pose("box")[0][2] - 0.95, step(0.5).qpos[2] - 0.95


def belt(dt):
    """Where a box is that was put on a belt of 0.1 m/s 0.05 s ago, less v t - v^2 / (2 mu g) [m]."""
    box = m.Primitive("box", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    moving = m.MovingSurface("belt", "ground", linear=(0.1, 0.0, 0.0))
    sim = ours(dt, box, ground=m.Ground(), moving_surfaces=(moving,))
    sim.step(steps=round(0.05 / dt))
    world = (
        '<geom type="plane" size="5 5 1" surfacevel="0.1 0 0" friction="0.5 0 0"/><body pos="0 0 .05"><freejoint/>'
        '<geom type="box" size=".05 .05 .05" mass="1" friction="0.5 0 0"/></body>'
    )
    wanted = 0.1 * 0.05 - 0.1**2 / (2.0 * 0.5 * G)
    return sim.q[0] - wanted, mujocos(dt, world)[0](0.05).qpos[0] - wanted


def tackle(dt):
    """By how much a rope over a pulley is longer than it may be after 0.5 s [m], and the velocity less (2 T / m - g) t.
    """
    point = m.PathElement
    above, beside = point("world", (0.0, 0.0, 2.0)), point("world", (1.0, 0.0, 2.0))
    rope = m.Tendon("rope", (above, point("one"), above, beside, point("two")), longest=4.0)
    sim = ours(dt, ball("one", (0.0, 0.0, 1.0), 4.0), ball("two", (1.0, 0.0, 1.0), 1.0), tendons=(rope,))
    sim.step(steps=round(0.5 / dt))
    world = '<site name="a" pos="0 0 2"/><site name="c" pos="1 0 2"/>' + "".join(
        f'<body pos="{x} 0 1"><joint type="slide" axis="0 0 1"/><geom size=".1" mass="{mass}" contype="0" '
        f'conaffinity="0"/><site name="{name}"/></body>' for name, x, mass in (("one", 0, 4), ("two", 1, 1))
    )  # fmt: skip
    sites = "".join(f'<site site="{name}"/>' for name in ("a", "one", "a", "c", "two"))
    spatial = f'<tendon><spatial limited="true" range="0 4">{sites}</spatial></tendon>'
    data = mujocos(dt, world, spatial)[0](0.5)
    wanted = 0.5 * (2.0 * 3.0 * G * 4.0 / 8.0 / 4.0 - G)
    return (sim.tendons()["rope"].length - 4.0, sim.v[5] - wanted), (data.ten_length[0] - 4.0, data.qvel[0] - wanted)


def capstan(share):
    """Acceleration of a load of ``share`` e^(mu pi) kg on a rope half around a drum, 1 kg on its other end [m/s^2]."""
    k = np.exp(0.3 * np.pi)
    drum = m.PathElement("world", shape="cylinder", radius=0.2, axis=(0.0, 1.0, 0.0), side=(0.0, 0.0, 0.25),
                         friction=0.3)  # fmt: skip
    rope = m.Tendon("rope", (m.PathElement("one"), drum, m.PathElement("two")), longest=2.0 + 0.2 * np.pi)
    sim = ours(1e-3, ball("one", (-0.2, 0.0, -1.0), 1.0), ball("two", (0.2, 0.0, -1.0), share * k), tendons=(rope,))
    sim.step(steps=100)
    return -sim.v[11] / sim.time - max(G * (share * k - k) / (share * k + k), 0.0)


def soft(dt, mass):
    """How deep a ball sinks into a floor of 1e4 N/m, less m g / k [m]."""
    k = 1e4
    both = m.MaterialPair(("pad", "pad"), 0.5, softness=m.Softness(stiffness=k, damping=0.01))
    sim = ours(dt, ball("ball", (0.0, 0.0, 0.1), mass, material="pad"), ground=m.Ground(material="pad"),
               materials={"pad": m.Material(0.5)}, pairs=(both,))  # fmt: skip
    sim.step(steps=round(2.0 / dt))
    world = (
        f'<geom type="plane" size="5 5 1" solref="-{k} -200"/><body pos="0 0 .1"><freejoint/>'
        f'<geom size=".1" mass="{mass}" solref="-{k} -200"/></body>'
    )
    data = mujocos(dt, world)[0](2.0)
    return 0.1 - sim.q[2] - mass * G / k, 0.1 - data.qpos[2] - mass * G / k


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step", type=float, default=1e-3, metavar="S", help="time step [s] (default: 1e-3)")
    need("mujoco")
    dt = options_of(parser, step=2e-3).step
    import mujoco

    print(f"steps of {dt:g} s; MuJoCo {mujoco.__version__}\n\n| what | mb_contact | MuJoCo |\n|---|---|---|")

    def row(what, one, other):
        print(f"| {what} | {one} | {other} |", flush=True)

    for share in (0.9, 0.99, 0.999, 1.001):
        row(f"a box under a cup, weight {share} of its force: way in 0.5 s [m]",
            *(f"{way:.2e}" for way in suction(dt, share)))  # fmt: skip
    row("a box on a belt: place beside v t - v²/(2µg) [m]", *(f"{x:.1e}" for x in belt(dt)))
    for what, *both in zip(("rope of a block and tackle: too long by [m]", "velocity of its load beside T [m/s]"),
                           *tackle(dt)):  # fmt: skip
        row(what, *(f"{x:.1e}" for x in both))
    for share in (0.999, 1.5):
        row(f"a rope on a drum, load {share} e^(µθ): acceleration beside the capstan's law [m/s²]",
            f"{capstan(share):.1e}", "has no such friction")  # fmt: skip
    for mass in (1.0, 4.0):
        row(f"a ball of {mass:g} kg on 10⁴ N/m: depth beside m g/k [m]", *(f"{x:.1e}" for x in soft(dt, mass)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

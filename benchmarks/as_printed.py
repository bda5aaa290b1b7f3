# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What goes wrong with the papers' settings as printed (``preset`` of scenes), beside the default: docs/papers.md.

    python benchmarks/as_printed.py
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.model import Ground, Material, Pose, Primitive, Velocity, preset

HALF = np.sqrt(0.5)
FRICTION = 0.4
WET = Material(friction=FRICTION, viscous=10.0)  #: 10 N s/m a contact point under viscous friction
STOP = 1.0 / (2.0 * FRICTION * 9.81)  #: [m] way of a block thrown at 1 m/s, by Coulomb's law


def run(seconds, primitive, material, settings, **scene):
    """A primitive on the ground; its simulator and the events of the steps."""
    scene = {"ground": Ground(material="both"), "materials": {"both": material}, **settings, **scene}
    sim = mb.Simulator(mb.Scene(primitives=(replace(primitive, material="both"),), **scene))
    return sim, [event for _ in range(round(seconds / sim.time_step)) for event in sim.step().events]


def block(speed=0.0, angle=0.0):
    """A flat block on the ground."""
    velocity = Velocity(linear=(speed * np.cos(angle), speed * np.sin(angle), 0.0))
    return Primitive("block", "box", (0.2, 0.2, 0.05), Pose((0.0, 0.0, 0.025)), "free", 1.0, velocity=velocity)


def tilted(degrees):
    """Gravity of a ramp of so many degrees, in its own axes."""
    return (9.81 * np.sin(np.radians(degrees)), 0.0, -9.81 * np.cos(np.radians(degrees)))


def rod_energy(settings):
    """Energy after the impact of a slender rod at 45 degrees over that before it; mu = 0.7, restitution 1."""
    pose = Pose((0.0, 0.0, 0.5 * HALF + 0.0015), rpy=(0.0, np.pi / 4, 0.0))
    rod = Primitive("rod", "capsule", (0.001, 1.0), pose, "free", 1.0, inertia=(1 / 12, 1 / 12, 1e-6),
                    velocity=Velocity(linear=(0.0, 0.0, -1.0)))  # fmt: skip
    events = run(0.003, rod, Material(friction=0.7, restitution=1.0), settings, gravity=(0.0, 0.0, 0.0))[1]
    return events[0].energy_after / events[0].energy_before


def thrown(settings, degrees):
    """Way of a block thrown at 1 m/s over that of Coulomb's law, and by how many degrees it leaves its direction."""
    angle = np.radians(degrees)
    x, y = run(0.6, block(1.0, angle), Material(friction=FRICTION), settings)[0].q[:2]
    return np.hypot(x, y) / STOP, np.degrees(np.arctan2(y, x) - angle)


def bounces(settings):
    """Impacts of a ball that falls 1 m with restitution 0.5, within 1.5 s; it rests at 1.355 s."""
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 1.1)), "free", 1.0)
    return len(run(1.5, ball, Material(friction=FRICTION, restitution=0.5), settings)[1])


def opening(settings, seconds):
    """Largest closure error of the four-bar [m]."""
    scene = mb.load_scene("package://mb_contact/config/four_bar.yaml")
    sim = mb.Simulator(replace(scene, **settings))
    return max(sim.step().certificate.closure_error for _ in range(round(seconds / sim.time_step)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, metavar="T", help="of the four-bar (default: 10)")
    seconds = options_of(parser, seconds=0.2).seconds
    j14, j12, none = preset("j14_as_printed"), preset("j12_as_printed"), {}
    print(f"{'':<58}{'default':>12}{'printed':>12}")
    rows = [("j14: energy after over before, rod at 45 degrees", rod_energy(none), rod_energy(j14))]
    for degrees in (0, 15, 45):
        (far, off), (far_printed, off_printed) = thrown(none, degrees), thrown(j14, degrees)
        rows.append((f"j14: way of a block thrown at {degrees} degrees, over Coulomb's", far, far_printed))
        rows.append((f"j14: direction of its way, off by [degrees], at {degrees}", off, off_printed))
    rows.append(("j14: impacts of a ball that bounces and rests", bounces(none), bounces(j14)))
    rows.append(("j12: the same", bounces({"collision_scheme": "event"}), bounces(j12)))
    loops = {key: j14[key] for key in ("drift_rate", "integrator", "loops")}
    open_both = [1e3 * opening(settings, seconds) for settings in ({"loops": loops["loops"]}, loops)]
    rows.append((f"j14: opening of the four-bar within {seconds:g} s [mm]", *open_both))
    for name, degrees in (("no_slip", 60), ("viscous", 5)):
        both = none, preset(f"d15_{name}_as_printed")
        ways = [1e3 * run(0.5, block(), WET, settings, gravity=tilted(degrees))[0].q[0] for settings in both]
        rows.append((f"d15_{name}: way on a ramp of {degrees} degrees in 0.5 s [mm]", *ways))
    for what, usual, printed in rows:
        print(f"{what:<58}{usual:>12.5g}{printed:>12.5g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Slip with infinite friction, which D15 section VI takes from Lynch and Mason: python benchmarks/infinite_friction.py

A rod of 2 m and 1 kg leans on the ground, at rest, and is pushed at its centre, along the ground.  To stick its tip
would have to be pulled down, so under Coulomb's law it slides whatever the coefficient is: with mu to infinity the
normal force goes to zero and friction to a finite force.  D15's model without slip holds the tip, which then lifts.
"""

import argparse
from typing import NamedTuple

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.types import WORLD

GRAVITY = 9.81
ANGLE = float(np.arctan(2.0))  #: of the rod with the ground
STEP = 1e-3  #: of the velocity level [s]


class Tip(NamedTuple):
    """Forces on the tip, along its normal and the push, and its accelerations there."""

    normal: float  #: [N]
    friction: float  #: [N]
    lift: float  #: [m/s^2]
    slip: float  #: [m/s^2]


def rod():
    """World of the rod, its coordinates, and the tip's place (3,) [m]."""
    body = mb.model.Primitive("rod", "box", (2.0, 0.001, 0.001), base="free", mass=1.0)
    half = -0.5 * ANGLE
    q = np.array([np.cos(ANGLE), 0.0, np.sin(ANGLE), 0.0, np.sin(half), 0.0, np.cos(half)])
    return mb.build_world(mb.Scene(primitives=(body,))), q, np.zeros(3)


def slide(push, mu):
    """Tip under Coulomb's law at the acceleration level, push in newtons."""
    world, q, at = rod()
    contact = mb.studies.point_contacts(0, WORLD, [at], [[0.0, 0.0, 1.0]], mu=mu)
    effort = np.array([0.0, 0.0, 0.0, push, 0.0, 0.0])
    result = mb.studies.coulomb_viscous_acceleration(world, q, np.zeros(6), effort, contact, directions=None)
    return _tip(result, contact, 1.0)


def stick(push):
    """Tip under the model without slip: means over a step from rest."""
    world, q, at = rod()
    contact = mb.studies.point_contacts(0, WORLD, [at], [[0.0, 0.0, 1.0]])
    effort = np.array([0.0, 0.0, 0.0, push, 0.0, 0.0])
    result = mb.studies.no_slip_step(world, q, np.zeros(6), effort, contact, STEP)
    return _tip(result, contact, STEP)


def _tip(result, contact, over):
    along = np.array([contact.t1[0, 0], contact.t2[0, 0]])  # of the tangents along the push
    normal, friction = float(result.normal[0]), float(result.tangent[0] @ along)
    lift, slip = float(result.rows[0, 0]), float(result.rows[0, 1:] @ along)
    return Tip(normal / over, friction / over, lift / over, slip / over)


def run(pushes, coefficients):
    """Print a line for each push and coefficient."""
    print(f"{'push [N]':>9}{'mu':>10}{'normal [N]':>12}{'friction [N]':>14}{'lift [m/s2]':>13}{'slip [m/s2]':>13}")
    for push in pushes:
        for mu in coefficients:
            print(f"{push:>9g}{mu:>10g}" + "{:>12.4f}{:>14.4f}{:>13.4f}{:>13.4f}".format(*slide(push, mu)))
        print(f"{push:>9g}{'no slip':>10}" + "{:>12.4f}{:>14.4f}{:>13.4f}{:>13.4f}".format(*stick(push)))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pushes", default="20,40", help="forces at the centre [N]")
    options = options_of(parser, pushes="40")
    raise SystemExit(run([float(x) for x in options.pushes.split(",")], (0.5, 2.0, 100.0, 1e6)))

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""NMC/OS drifts: what stabilisation and the velocity product of the hinge rows do to openings and energy.

    python benchmarks/pendulum_drift.py [--links 30] [--seconds 5]

For every part gamma of an opening that is taken back in a step, without and with dt K' V in the hinge rows: the worst
opening before the first contact and at all, and the largest gain of energy in one step (no step may gain: restitution
is zero and the push-out of contacts is bounded by 0.1 m/s).
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.studies.closure_step import ClosureStep

GAMMAS = (0.0, 0.05, 0.2, 0.5, 0.9)


def study(links, seconds, gamma, product):
    """Openings before the first contact and at all [m], the largest gain of a step and the end's energy [J]."""
    chain = mb.pendulum(links, "first_impact")
    sim = mb.Simulator(chain.free_scene(drift_rate=gamma), step=partial(ClosureStep, velocity_product=product))
    energy, before, worst, gain, touched = sim.energy(), 0.0, 0.0, 0.0, False
    for _ in range(round(seconds / chain.time_step)):
        try:
            certificate = sim.step().certificate
        except mb.DynamicsError:
            return before, np.inf, np.inf, np.nan
        touched, opening = touched or certificate.contacts > 0, certificate.closure_error
        before = before if touched else max(before, opening)
        worst, gain = max(worst, opening), max(gain, certificate.energy - energy)
        energy = certificate.energy
    return before, worst, gain, energy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = options_of(parser, links=3, seconds=0.02)
    print("gamma  product  open before contact [mm]  open at worst [mm]  largest gain of a step [J]  end [J]")
    for product in (False, True):
        for gamma in GAMMAS:
            before, worst, gain, end = study(arguments.links, arguments.seconds, gamma, product)
            print(
                f"{gamma:5.2f}  {'yes' if product else 'no':7s}  {1e3 * before:24.5f}  {1e3 * worst:18.4g}"
                f"  {gain:26.4g}  {end:7.2f}"
            )


if __name__ == "__main__":
    main()

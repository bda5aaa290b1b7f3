# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A socket turns a lug nut off its stud: simulator and controller in one process, without ROS.

    python examples/nut_in_process.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from nut_controller import NutController
from wheel_in_process import Sensors, carry_out, teller

import mb_contact as mb

SCENE = Path(__file__).resolve().parents[1] / "config" / "wheel_nuts.yaml"
NUT = "nut_5"  #: the one on the right


def turn_off(sim, task=None, rng=None, watch=None):
    """Do the whole task in ``sim``; returns the controller.

    Parameters
    ----------
    sim : Simulator
    task : NutTask, optional
    rng : numpy.random.Generator, optional
        Of the sensors' noise.
    watch : callable, optional
        Called with the controller, the efforts and the Step after each step.

    Raises
    ------
    NutError
        The task failed.
    """
    sensors, model = Sensors(sim, rng), mb.load_urdf(sim.robot_description)
    position, _ = sensors.joints()
    controller = NutController(model, sim.world.joint_names, position, sensors.pose(NUT), sensors.hub, task)
    carry_out(sim, sensors, controller, lambda: (sensors.pose(NUT),), watch)
    return controller


def main():
    """Turn the nut off and tell of each phase."""
    sim = mb.Simulator(SCENE)
    turn_off(sim, watch=teller(sim))
    print(f"{sim.time:6.2f} s  done")
    return 0


if __name__ == "__main__":
    sys.exit(main())

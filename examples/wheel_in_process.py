# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms take a wheel off its hub and put it back: simulator and controller in one process, without ROS.

    python examples/wheel_in_process.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from hands_controller import exponential
from lift_controller import FRAMES, Terms
from wheel_controller import FINGERS, WheelController, WheelTask, grips

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix

SCENE = Path(__file__).resolve().parents[1] / "config" / "wheel_change.yaml"
LOOK = 10  #: steps between two looks at the wheel and the fingers, as the node's rates are


class Sensors:
    """What a controller learns of a simulator, as the node publishes it; on request with noise and a wrong hub.

    Parameters
    ----------
    sim : Simulator
    rng : numpy.random.Generator, optional
        Draws normal noise; without it all is exact.
    """

    ANGLE, RATE, FORCE = 2e-5, 1e-3, 1.0  #: standard deviations [rad], [rad/s], [N]
    PLACE, TURN = 1e-4, 5e-4  #: of the wheel at each look, and once of the hub [m], [rad]

    def __init__(self, sim, rng=None):
        self._sim, self._rng = sim, rng
        self.hub = self.pose("wheel_hub")

    def noise(self, deviation, size):
        """Normal noise, or zeros."""
        return np.zeros(size) if self._rng is None else self._rng.normal(scale=deviation, size=size)

    def pose(self, link):
        """Position (3,) and rotation (3, 3) of a link, world axes."""
        p, quaternion = self._sim.link_pose(link)
        return p + self.noise(self.PLACE, 3), exponential(self.noise(self.TURN, 3)) @ quat_to_matrix(quaternion)

    def joints(self):
        """Joint positions and velocities."""
        position, velocity = self._sim.joint_positions(), self._sim.joint_velocities()
        return position + self.noise(self.ANGLE, len(position)), velocity + self.noise(self.RATE, len(velocity))

    def terms(self):
        """Operational-space terms of the present state."""
        sim, space = self._sim, self._sim.operational_space(FRAMES)
        return Terms(space.inertia, space.jacobian, space.bias, sim.mass_matrix(), sim.nonlinear_effects())

    def grips(self):
        """Contact forces of both hands (2,) [N]."""
        impulses = {finger: self._sim.contact_impulse(finger)[3:] for hand in FINGERS for finger in hand}
        return np.maximum(grips(impulses) / self._sim.time_step + self.noise(self.FORCE, 2), 0.0)


def carry_out(sim, sensors, controller, look, watch=None):
    """Step ``sim`` until a controller is done; it gets what ``look()`` returns at every LOOK-th step."""
    start = sim.step_count
    while not controller.done:
        seen = look() if (sim.step_count - start) % LOOK == 0 else ()
        effort = controller.update(sim.time, *sensors.joints(), sensors.terms(), *seen)
        step = sim.step(effort)
        if watch is not None:
            watch(controller, effort, step)


def teller(sim):
    """A ``watch`` that tells of each phase as it begins, and of threads that come off."""
    told = []

    def tell(controller, effort, step):
        if controller.phase not in told:
            told.append(controller.phase)
            print(f"{sim.time:6.2f} s  {controller.phase}", flush=True)
        if step.certificate.released:
            print(f"{sim.time:6.2f} s  {', '.join(sim.released_threads)} came off", flush=True)

    return tell


def change(sim, task=None, rng=None, watch=None):
    """Do the whole task in ``sim``; returns the controller.

    Parameters
    ----------
    sim : Simulator
    task : WheelTask, optional
    rng : numpy.random.Generator, optional
        Of the sensors' noise.
    watch : callable, optional
        Called with the controller, the efforts and the Step after each step.

    Raises
    ------
    WheelError
        The task failed.
    """
    sensors = Sensors(sim, rng)
    model = mb.load_urdf(sim.robot_description)
    position, _ = sensors.joints()
    controller = WheelController(
        model, sim.world.joint_names, position, sensors.pose("wheel"), sensors.hub, task or WheelTask()
    )
    carry_out(sim, sensors, controller, lambda: (sensors.pose("wheel"), sensors.grips()), watch)
    return controller


def main():
    """Change the wheel and tell of each phase."""
    sim = mb.Simulator(SCENE)
    start, _ = sim.link_pose("wheel")
    change(sim, watch=teller(sim))
    print(f"{sim.time:6.2f} s  done: {1e3 * np.linalg.norm(sim.link_pose('wheel')[0] - start):.3f} mm from its place")
    return 0


if __name__ == "__main__":
    sys.exit(main())

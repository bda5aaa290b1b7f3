# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A stand-in for the simulator where physics is irrelevant: one double integrator per joint.

Run as a program it serves as the node process of the transport tests::

    python fake_simulator.py [--joints N] [--setup-seconds S] [simulator_node options]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import namedtuple
from types import SimpleNamespace

import numpy as np

from mb_contact.checks import as_vector

Certificate = namedtuple(
    "Certificate",
    "complementarity_gap infeasibility cone_violation penetration solver iterations contacts energy holds attachments",
)
OperationalSpace = namedtuple("OperationalSpace", "inertia compliance jacobian bias rank frames")
CONTACT = np.dtype(
    [
        ("link_a", object), ("link_b", object), ("state", object), ("sigma", float), ("impulse", float, 3),
        ("point", float, 3), ("normal", float, 3), ("gap", float),
    ]
)  # fmt: skip


class FakeSimulator:
    """Unit masses; joint i follows its effort; two links feel a constant contact force."""

    LIMIT = 50.0

    def __init__(self, joints=26, time_step=0.001, rates=None, frames=("left_tcp", "right_tcp")):
        self.time_step = time_step
        self.n = joints
        self.world = SimpleNamespace(
            joint_names=tuple(f"joint_{i}" for i in range(joints)),
            follower_names=(),
            objects={"box": 0},
            effort_limit=np.full(joints, self.LIMIT),
            frames={},
            robot_models=(),
        )
        self.scene = SimpleNamespace(
            name="fake",
            rates=rates or {"control_period": time_step, "joint_state_rate": 1000.0},
            contact_wrench_links=("left_finger", "right.finger"),
            operational_frames=frames,
        )
        self.robot_description = "<robot name='fake'><link name='base'/></robot>"
        self.reset()

    def reset(self):
        self.q, self.v, self.effort = np.zeros(self.n), np.zeros(self.n), np.zeros(self.n)
        self.step_count = 0

    @property
    def time(self):
        return self.step_count * self.time_step

    def step(self, effort=None):
        effort = np.zeros(self.n) if effort is None else as_vector(effort, self.n, "effort")
        self.effort = np.clip(effort, -self.LIMIT, self.LIMIT)
        self.v = self.v + self.time_step * self.effort
        self.q = self.q + self.time_step * self.v
        self.step_count += 1
        touch = ("left_finger", "box", "stick", 0.0, (0, 0, 0.1), (0.5, 0.1, 0.2), (0, 0, 1), -1e-4)
        contacts = np.array([touch], dtype=CONTACT)
        certificate = Certificate(1e-12, 2e-12, 0.0, 1e-6, "block_pivoting", 1, 1, 0.0, {}, {})
        return SimpleNamespace(time=self.time, contacts=contacts, certificate=certificate)

    def joint_positions(self):
        return self.q.copy()

    def joint_velocities(self):
        return self.v.copy()

    def joint_efforts(self):
        return self.effort.copy()

    def follower_state(self):
        return np.zeros(0), np.zeros(0)

    def contact_impulse(self, link):
        forces = [3.0 if name == "left_finger" else float(self.step_count) for name in link]
        return np.array([[0.0, 0.0, 0.0, 0.0, 0.0, force] for force in forces]) * self.time_step

    def link_pose(self, name):
        return np.array([0.5, 0.0, self.time]), np.array([0.0, 0.0, 0.0, 1.0])

    def operational_space(self, frames, constraints="loops"):
        k = 6 * len(frames)
        matrix = np.arange(k * k, dtype=float).reshape(k, k)
        return OperationalSpace(matrix, matrix.T, np.ones((k, self.n)), np.zeros(k), k, frames)

    def mass_matrix(self):
        return np.eye(self.n)

    def nonlinear_effects(self):
        return np.full(self.n, 2.0)


def main():
    from mb_contact.ros import main as ros_main

    parser = argparse.ArgumentParser()
    parser.add_argument("--joints", type=int, default=26)
    parser.add_argument("--setup-seconds", type=float, default=0.0, help="pretend to compile for so long")
    own, ros_args = ros_main.split_ros_arguments(sys.argv[1:])
    mine, rest = parser.parse_known_args(own)
    run_parser = argparse.ArgumentParser()
    ros_main.add_run_arguments(run_parser)
    options = ros_main.options_from_arguments(run_parser.parse_args(["fake", *rest]), ros_args)
    options.ready = lambda _: print("ready", flush=True)

    def build(_scene, _progress):
        print("compiling", flush=True)
        end = time.monotonic() + mine.setup_seconds
        while time.monotonic() < end:
            sum(range(1000))
        return FakeSimulator(mine.joints)

    ros_main._simulator = build
    return ros_main.run_and_report("fake", options)


if __name__ == "__main__":
    sys.exit(main())

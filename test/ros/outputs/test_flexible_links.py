# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The modes of a flexible link in the JointState of a node, over DDS."""

import numpy as np

import mb_contact as mb
from mb_contact.ros.qos import QoS
from paths import CONFIG
from ros.support import JOINT_STATE, Session


def test_modes_are_joints_of_the_node():
    """Names, positions and rates of an arm whose forearm bends under its weight, as the simulator has them."""
    simulator = mb.Simulator(CONFIG / "flexible_arm.yaml")
    with Session() as ros:
        peer = ros.peer()
        with ros.running(simulator, real_time_factor=0.0):
            states = peer.listen("joint_states", JOINT_STATE, QoS(1000))
            peer.until(lambda: any(abs(state.position[2]) > 1e-4 for state in list(states)))
        state = next(state for state in states if abs(state.position[2]) > 1e-4)
    modes = [f"forearm/mode_{i}" for i in range(1, 5)]
    assert list(state.name) == ["shoulder", "elbow", *modes] == list(simulator.world.joint_names)
    assert np.isfinite(state.velocity).all() and np.any(np.asarray(state.velocity)[2:] != 0.0)

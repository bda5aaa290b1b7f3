# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Simulators in threads of their own: steps release Python's lock, and give the same bits as alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.compile.decorated import DISABLE_JIT
from mb_contact.core.integrate.flow_step import long_quick_step, quick_step


@pytest.mark.parametrize("scene", ["box_stack", "dual_arm_lift"])
def test_two_threads_give_the_same_bits_as_one(scene):
    simulators = [mb.Simulator(f"package://mb_contact/config/{scene}.yaml") for _ in range(3)]

    def run(sim):
        energies = [sim.step().certificate.energy for _ in range(60)]
        return np.concatenate((sim.q, sim.v, energies))

    alone = run(simulators[0])
    with ThreadPoolExecutor(2) as pool:
        for both in pool.map(run, simulators[1:]):
            np.testing.assert_array_equal(both, alone)


@pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")
def test_the_compiled_step_of_a_large_world_releases_the_lock():
    assert long_quick_step.targetoptions["nogil"] and not quick_step.targetoptions["nogil"]

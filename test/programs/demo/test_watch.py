# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The watched simulator of the demonstration is the simulator."""

from __future__ import annotations

import numpy as np

from paths import ROOT

SCENE = ROOT / "config" / "dual_arm_lift.yaml"


def test_the_watched_simulator_is_the_simulator(compiled):
    import mb_contact as mb

    plain = mb.Simulator(SCENE)
    compiled.reset()
    for _ in range(20):
        plain.step()
        compiled.step()
    assert np.array_equal(plain.q, compiled.q) and np.array_equal(plain.v, compiled.v)
    samples = compiled.record()
    assert samples["forces"].shape[1] == 6 and samples["in_hands"].shape[1:] == (2, 3)
    tcp = plain.link_pose("left_tcp")[0]
    np.testing.assert_allclose(
        np.linalg.norm(samples["in_hands"][-1, 0]), np.linalg.norm(plain.link_pose("box")[0] - tcp)
    )

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is held stays where it is.

Covers programs/bench/mujoco_world.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.programs.bench.hold import GRASPS, LOST, SETTLED, Creep, hold, hold_in_bullet, scene_of
from mb_contact.simulation.simulator import Simulator


@pytest.mark.long
@pytest.mark.parametrize("name", GRASPS)
def test_nothing_creeps(name):
    creep, residual, _ = hold(GRASPS[name], SETTLED + 0.3)
    assert creep.start is not None and creep.most < 1e-10 and residual < 1e-10


@pytest.mark.long
def test_what_is_held_too_loosely_is_lost():
    weak = GRASPS["cube of 0.5 kg"]._replace(force=1.0)  # 1.6 N of friction for 4.9 N of weight
    assert hold(weak, SETTLED + 0.3)[0].most > LOST


def test_creep_counts_from_when_the_grasp_has_settled():
    creep = Creep()
    for now, x in ((0.5, 9.0), (SETTLED, 1.0), (1.1, 1.2), (1.2, 1.1)):
        creep.add(now, np.array([x, 0.0, 0.0]))
    assert creep.most == pytest.approx(0.2) and creep.last == pytest.approx(0.1)


def test_bullet_holds_the_same_cube():
    """Its sequential impulses let it slide, by far less than it would fall: 1.6e-5 m in five seconds."""
    pytest.importorskip("pybullet")
    creep, _ = hold_in_bullet(GRASPS["cube of 0.5 kg"], SETTLED + 0.5)
    assert 0.0 < creep.most < 1e-3


def test_the_world_that_mujoco_is_given_is_in_the_same_state():
    """Coordinates of joints, and the pose and velocity of a turned body: MuJoCo turns it in its own axes."""
    mujoco = pytest.importorskip("mujoco")
    from mb_contact.programs.bench.mujoco_world import degrees, model_of

    sim = Simulator(scene_of(GRASPS["cube of 0.5 kg"]))
    q, v = sim.q.copy(), np.linspace(-0.5, 0.5, len(sim.v))
    q[-7:] = 0.1, 0.2, 3.0, 0.6, 0.0, 0.0, 0.8
    sim.set_state(q, v)
    model, data = model_of(sim)
    rates, places = degrees(sim, model)
    np.testing.assert_allclose(data.qvel[rates], sim.joint_velocities())
    np.testing.assert_allclose(data.qpos[places], sim.joint_positions())
    mujoco.mj_forward(model, data)
    held, motion = data.body("held"), np.zeros(6)
    np.testing.assert_allclose(held.xpos, q[-7:-4], atol=1e-12)
    np.testing.assert_allclose(np.roll(held.xquat, -1), q[-4:], atol=1e-12)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, held.id, motion, 0)
    np.testing.assert_allclose(motion, v[-6:], atol=1e-12)

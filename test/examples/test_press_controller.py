# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The force-control example: the wall feels the prescribed force, within 0.5 % once steady."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

import mb_contact as mb
from paths import ROOT

SCENE = ROOT / "config" / "press_on_wall.yaml"
sys.path.insert(0, str(ROOT / "examples"))

import press_controller as law  # noqa: E402
from lift_controller import Terms  # noqa: E402

TOLERANCE = 0.005  #: of the steady force, relative


def press(force, wall=0.0):
    """Forces on the wall [N], every step, while the law presses; the wall may stand elsewhere, or not at all."""
    scene = mb.load_scene(SCENE)
    (primitive,) = scene.primitives
    x, y, z = primitive.pose.position
    pose = dataclasses.replace(primitive.pose, position=(x, y + (wall or 0.0), z))
    walls = () if wall is None else (dataclasses.replace(primitive, pose=pose),)
    sim = mb.Simulator(dataclasses.replace(scene, primitives=walls))
    task = law.PressTask(force=force)
    model = mb.load_urdf(sim.robot_description)
    controller = law.PressController(model, sim.world.joint_names, sim.joint_positions(), task)
    felt, sums = [], {link: np.zeros(3) for link in law.FINGERS}
    for i in range(round(task.duration / sim.time_step)):
        if i and i % 10 == 0:  # as contact_rate has it
            controller.measure({k: s / 0.01 for k, s in sums.items()}, sim.joint_positions())
            sums = {link: np.zeros(3) for link in law.FINGERS}
        space = sim.operational_space(law.FRAME)
        terms = Terms(space.inertia, space.jacobian, space.bias, sim.mass_matrix(), sim.nonlinear_effects())
        effort = controller.update(i * sim.time_step, sim.joint_positions(), sim.joint_velocities(), terms)
        step = sim.step(effort)
        for link, total in sums.items():
            total += sim.contact_impulse(link)[3:]
        # measured on the other side, and without the fingers' frames
        on_wall = [(1 if c["link_a"] == "wall" else -1) * c["impulse"] for c in step.contacts]
        felt.append(-sum(on_wall, np.zeros(3)) @ law.NORMAL / sim.time_step)
    return np.array(felt), controller


@pytest.mark.parametrize("force, wall", [(20.0, 0.0), (35.0, 0.02)])
def test_the_wall_feels_the_prescribed_force(force, wall):
    felt, controller = press(force, wall)
    steady = felt[-1000:]
    assert np.abs(steady - force).max() < TOLERANCE * force
    first = int(np.argmax(felt > 0.0))
    assert felt[first : first + 20].sum() * 1e-3 < 0.6  # [N s] the touch is no blow: 7 kg at 0.08 m/s
    expected = (0.13 - wall) / controller.task.speed  # the fingers begin 0.13 m from the wall's face
    assert controller.touched == pytest.approx(expected, abs=0.1)


def test_no_wall_is_an_error():
    with pytest.raises(law.PressError, match="no wall within"):
        press(20.0, wall=None)


def test_over_dds_in_lockstep():
    """Simulator and controller as two processes: deterministic, and the same force."""
    from ros.support import COMPILING, Session

    with Session() as ros:
        ros.env["MB_CONTACT_ROS_BACKEND"] = "embedded"
        node = ros.node(SCENE, "--lockstep", "--as-fast-as-possible")
        controller = ros.process(sys.executable, "-u", ROOT / "examples" / "press_with_force.py", "--force", "20")
        assert controller.wait(COMPILING) == 0, controller.output()
        words = controller.wait_for("steady force").split()
        mean, worst = float(words[4]), float(words[-2])
        assert mean == pytest.approx(20.0, rel=TOLERANCE) and worst < TOLERANCE * 20.0
        node.signal()
        assert node.wait() == 0, node.output()
        assert "0 rejected" in node.output()

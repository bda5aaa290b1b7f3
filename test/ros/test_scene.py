# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The real simulator behind the node: the lift scene in lockstep, and scenes that cannot run."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

from paths import ROOT
from ros import contract
from ros.support import COMPILING, Session

SCENE = ROOT / "config" / "dual_arm_lift.yaml"


def test_lift_scene_in_lockstep_with_another_process():
    with Session() as ros:
        node = ros.node(SCENE, "--lockstep", "--duration", "0.5", "--as-fast-as-possible")
        controller = ros.controller(500)
        assert node.wait(COMPILING) == 0, node.output()
        assert controller.wait() == 0, controller.output()
        report = json.loads(controller.lines[-1])
        assert report["states"] == 500 and report["gaps"] == 0
        assert not any(report["unaccompanied"].values()), report
        assert "500 steps" in node.output() and "0 lockstep timeouts" in node.output()


def test_topics_agree_with_the_simulator():
    """What a controller computes with, against the same simulator in this process."""
    import mb_contact.ros.embedded.messages as messages
    from mb_contact.simulation.simulator import Simulator

    with Session() as ros:
        ros.node(SCENE, "--ros-args", "-p", "start_paused:=true")
        peer = ros.peer()
        names = [f"operational_space/{n}" for n in ("inertia", "compliance", "jacobian", "bias")]
        for name in [*names, "mass_matrix", "nonlinear_effects", "operational_space/state"]:
            peer.listen(name, "std_msgs/msg/Float64MultiArray")
        peer.listen("joint_states")
        peer.listen("/tf", "tf2_msgs/msg/TFMessage")
        sim = Simulator(SCENE)
        for _ in range(3):
            assert peer.call("/mb_contact/step").success
            sim.step()
        peer.until(lambda: all(messages_ for messages_ in peer.received.values()))
        newest = {topic: kept[-1] for topic, kept in peer.received.items()}
        state = newest["joint_states"]
        assert messages.stamp_ns(state.header.stamp) == 3_000_000
        np.testing.assert_array_equal(state.position, sim.joint_positions())
        np.testing.assert_array_equal(state.velocity, sim.joint_velocities())
        expected = sim.operational_space(sim.scene.operational_frames)
        for name in names:
            values = getattr(expected, name.rsplit("/", 1)[1])
            message = newest[name]
            assert list(message.data[:2]) == [0.0, 3_000_000.0]
            assert tuple(d.size for d in message.layout.dim) == values.shape
            np.testing.assert_array_equal(message.data[2:].reshape(values.shape), values)
        assert "frames=left_tcp,right_tcp" in newest[names[0]].layout.dim[0].label
        np.testing.assert_array_equal(newest["mass_matrix"].data[2:], sim.mass_matrix().ravel())
        np.testing.assert_array_equal(newest["nonlinear_effects"].data[2:], sim.nonlinear_effects())
        whole, parts = newest["operational_space/state"], (state.position, state.velocity, expected.inertia,
            expected.jacobian, expected.bias, sim.mass_matrix(), sim.nonlinear_effects())  # fmt: skip
        assert [dim.size for dim in whole.layout.dim] == [np.size(part) for part in parts]
        np.testing.assert_array_equal(whole.data, np.concatenate([[0.0, 3e6], *map(np.ravel, parts)]))
        translation = newest["/tf"].transforms[0].transform.translation
        np.testing.assert_array_equal([translation.x, translation.y, translation.z], sim.link_pose("box")[0])


def test_ctrl_c_while_the_scene_is_prepared():
    with Session() as ros:
        node = ros.node(SCENE, up=False)
        node.wait_for("loading")
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
        assert "Traceback" not in node.output()


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "does not exist"),
        ("time_step: [", "scene.yaml"),
        ("time_stepp: 0.001", "time_stepp"),
        ("models: [{name: a, urdf: missing.urdf}]", "missing.urdf"),
    ],
)
def test_scenes_that_cannot_run(tmp_path, text, message):
    scene = tmp_path / "scene.yaml"
    if text is not None:
        scene.write_text(text)
    with Session() as ros:
        node = ros.node(scene, up=False)
        assert node.wait(COMPILING) == 2, node.output()
        assert message in node.output() and "Traceback" not in node.output()
        assert sum("error:" in line for line in node.errors) == 1


def test_samples_of_sensors_come_late_with_the_stamps_of_their_states(tmp_path):
    """200 a second, 10 ms late, in order and none twice; they say what the simulator has at their time."""
    from mb_contact.simulation import Sensors
    from mb_contact.simulation.simulator import Simulator

    path = contract.write_scene(tmp_path)
    with Session() as ros:
        ros.node(path, "--ros-args", "-p", "start_paused:=true")
        peer = ros.peer()
        samples, (sim, exact) = peer.listen("sensors/imu", "sensor_msgs/msg/Imu"), (Simulator(path), {})
        for n in range(1, 31):
            assert peer.call("/mb_contact/step").success
            sim.step()
            exact[n] = Sensors(sim).read("imu")
        peer.until(lambda: samples and samples[-1].header.stamp.nanosec == 20_000_000)
        stamps = [sample.header.stamp.nanosec // 1_000_000 for sample in samples]
        assert len(stamps) >= 2 and stamps == list(range(stamps[0], 21, 5))  # the first may be before it listens
        for stamp, sample in zip(stamps, samples):
            if stamp:
                felt, turn = sample.linear_acceleration, sample.angular_velocity
                np.testing.assert_array_equal([felt.x, felt.y, felt.z], exact[stamp].linear_acceleration)
                np.testing.assert_array_equal([turn.x, turn.y, turn.z], exact[stamp].angular_velocity)

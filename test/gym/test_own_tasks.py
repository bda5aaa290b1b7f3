# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Environments of scenes of one's own: actions do what they say, observations are what their names say.

Covers gym/actions.py.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import mb_contact as mb
from mb_contact.gym import Efforts, HandPoses, JointTargets, SceneTask, make

ARM = mb.pendulum(3, length=1.5, mass=1.0).urdf()
SERVOS = {f"hinge_{i}": mb.model.Actuator("position", stiffness=4000.0, damping=80.0) for i in range(3)}
BOX = mb.model.Primitive("box", "box", (0.1,) * 3, mb.model.Pose((0.0, 1.0, 0.05)), base="free", mass=1.0)
SCENE = mb.Scene(
    models=(mb.model.SceneModel(
        ARM, pose=mb.model.Pose((0.0, 0.0, 2.0)), actuators=SERVOS,
        joints={"hinge_0": 0.4, "hinge_1": 0.5, "hinge_2": 0.6},
    ),),
    primitives=(BOX,), ground=mb.model.Ground(),
)  # fmt: skip
WATCHED = ("joints", "targets", "position of link_2", "pose of box", "velocity of box", "force on box", "goal",
           (["height [m]"], lambda worlds, goal: worlds.link_poses("box")[0][:, 2]))  # fmt: skip


def near(worlds, goal, actions):
    return {"near": -np.linalg.norm(worlds.link_poses("link_2")[0] - goal, axis=1), "calm": -(actions**2).sum(axis=1)}


def reset(rng, q):
    q[:3] += rng.uniform(-0.05, 0.05, 3)
    return q, np.array([0.0, 0.0, 1.0]) + rng.uniform(-0.1, 0.1, 3)


def task(actions, **more):
    return SceneTask(near, actions, WATCHED, reset=reset, **{"horizon": 20, **more})


KINDS = {"efforts": Efforts(30.0), "targets": JointTargets(step=0.02), "hand": HandPoses("link_2", step=0.01)}


@pytest.mark.parametrize("kind", KINDS)
def test_gymnasium_s_check_and_many_are_single_ones(kind):
    one, many = make(SCENE, task(KINDS[kind])), make(SCENE, task(KINDS[kind]), 3, threads=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(one, skip_render_check=True)
    first, _ = many.reset(seed=5)
    np.testing.assert_array_equal(one.reset(seed=7)[0], first[2])
    assert len(many.names) == first.shape[1]
    rng = np.random.default_rng(0)
    for _ in range(3):
        actions = rng.uniform(-1.0, 1.0, many.action_space.shape)
        observations, rewards, _, _, terms = many.step(actions)
        observation, reward, _, _, _ = one.step(actions[2])
        np.testing.assert_array_equal(observations[2], observation)
        assert rewards[2] == reward == pytest.approx(terms["near"][2] + terms["calm"][2])
    many.close()


def test_targets_move_by_the_step_and_stay_within_limits():
    env = make(SCENE, task(JointTargets(["hinge_1"], step=0.03)), 2, threads=1)
    first, _ = env.reset(seed=1)
    before = env.worlds.targets.copy()
    assert np.allclose(before[:, 1], first[:, env.names.index("hinge_1 [rad, m]")])
    env.step(np.array([[1.0], [-0.5]]))
    assert np.allclose(env.worlds.targets[:, 1] - before[:, 1], [0.03, -0.015])
    assert env.single_action_space.shape == (1,)
    for _ in range(8):
        env.step(np.zeros((2, 1)))
    assert np.allclose(env.worlds.q[:, 1], env.worlds.targets[:, 1], atol=0.02)


def test_the_hand_goes_where_it_is_asked_to():
    servos = {f"left_arm_joint_{i}": mb.model.Actuator("position", stiffness=2e4, damping=200.0) for i in range(1, 8)}
    arms = mb.model.SceneModel(
        "package://mb_contact/urdf/dual_arm.urdf", actuators=servos,
        joints={"left_arm_joint_4": 1.0, "left_arm_joint_2": 0.3},
    )  # fmt: skip
    hand = HandPoses("left_tcp", step=0.01, turn=0.02)
    env = make(mb.Scene(models=(arms,), gravity=(0.0, 0.0, 0.0)), SceneTask(_nothing, hand, steps=20), 2, threads=1)
    env.reset()
    p, R = env.worlds.link_poses("left_tcp")
    action = np.array([[1.0, 0.0, 1.0, 0.0, 0.0, 1.0], [9.0, -0.5, 0.0, 0.0, 0.0, 0.0]])  # beyond 1 counts as 1
    for number in range(9):
        env.step(action if number < 3 else 0.0 * action)
    now, axes = env.worlds.link_poses("left_tcp")
    np.testing.assert_allclose(now - p, [[0.03, 0.0, 0.03], [0.03, -0.015, 0.0]], atol=1e-3)
    np.testing.assert_allclose(axes[0], mb.model.Pose(rpy=(0, 0, 0.06)).rotation() @ R[0], atol=2e-3)
    np.testing.assert_allclose(axes[1], R[1], atol=2e-3)
    far = np.tile([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (2, 1))
    for _ in range(200):  # out of reach
        env.step(far)
    assert not env.worlds.failed.any() and (env.worlds.link_poses("left_tcp")[0][:, 2] < p[:, 2] + 1.5).all()


def _nothing(worlds, goal, actions):
    return np.zeros(worlds.count)


def test_observations_are_what_their_names_say():
    env = make(SCENE, task(KINDS["efforts"]), 2, threads=1)
    env.reset(seed=1)
    for _ in range(10):
        observed = env.step(np.zeros((2, 3)))[0]
    at = {name: observed[:, i] for i, name in enumerate(env.names)}
    assert np.allclose(at["box force z [N]"], 9.81, rtol=1e-3)
    assert np.allclose(at["height [m]"], 0.05, atol=1e-4) and np.allclose(at["box z [m]"], at["height [m]"])
    assert np.allclose([at[f"goal {i}"] for i in range(3)], env.goal.T)
    assert np.allclose(at["box x axis x"], 1.0) and np.allclose(at["box velocity z [m/s]"], 0.0, atol=1e-6)
    tip = np.stack([at[f"link_2 {a} [m]"] for a in "xyz"], axis=1)
    assert np.array_equal(tip, env.worlds.link_poses("link_2")[0])


EYE = mb.model.Sensor(
    "eye", "camera", link="world", pose=mb.model.Pose((0.0, 1.0, 1.0), rpy=(0.0, np.pi / 2, 0.0)),
    image=mb.model.Image(width=16, height=12, fov=0.5, far=5.0, colour=True),
)  # fmt: skip
BLIND = replace(EYE, name="blind", image=replace(EYE.image, colour=False, width=8))


def test_cameras_observe_what_a_simulator_s_cameras_see():
    scene = replace(SCENE, sensors=(EYE, BLIND))
    asked = replace(task(KINDS["targets"]), observations=("image of eye", "joints", "depth of blind"))
    one, many = make(scene, asked), make(scene, asked, 3, threads=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(one, skip_render_check=True)
    assert set(one.observation_space.spaces) == {"numbers", "image of eye", "depth of blind"}
    first, _ = many.reset(seed=5)
    assert many.observation_space.contains(first) and many.names[0] == "hinge_0 [rad, m]"
    single = one.reset(seed=7)[0]
    for name, values in single.items():
        np.testing.assert_array_equal(first[name][2], values)
    many.worlds.set("pose", [0.0, 1.2, 0.3, 0.0, 0.0, 0.0, 1.0], of=["box"], mask=[1])
    many.worlds.reset([1])
    observed, *_ = many.step(np.zeros(many.action_space.shape))
    sim = mb.Simulator(scene)
    for i in range(3):
        sim.state[:] = many.worlds.state[i]
        np.testing.assert_array_equal(observed["image of eye"][i], sim.sensors.read("eye").colour)
        depth = np.clip(sim.sensors.read("blind").depth, 0.0, 5.0)
        np.testing.assert_array_equal(observed["depth of blind"][i], depth.astype(np.float32))
    assert (observed["image of eye"][1] != observed["image of eye"][0]).any()
    blind = make(scene, replace(asked, observations=("depth of blind",)), 2, threads=1)
    assert set(blind.reset(seed=1)[0]) == {"depth of blind"} and blind.names == []
    with pytest.raises(mb.InputError, match="camera 'blind' takes no colours; give its image colour: true"):
        make(scene, replace(asked, observations=("image of blind",)))


WRONG = [
    ({"observations": ("image of ear",)}, "no camera 'ear'"),
    ({"observations": ("joint",)}, "no observation 'joint'; there are joints, targets, goal, position of LINK"),
    ({"observations": ("position of hand",)}, "no link 'hand'"),
    ({"observations": ("velocity of link_2",)}, "no object 'link_2'"),
    ({"actions": JointTargets(["hinge_9"])}, "joint 'hinge_9' has no position actuator; with one are hinge_0"),
    ({"actions": JointTargets(step=0.0)}, "step"),
    ({"actions": HandPoses("hand")}, "no link 'hand'"),
    ({"actions": HandPoses("box")}, "no joint has a position actuator"),
    ({"actions": Efforts()}, "joint 'hinge_0' has no effort limit; give Efforts a scale"),
    ({"actions": Efforts([1.0, 2.0])}, "scale"),
    ({"horizon": 0}, "horizon"),
]


WRONG_FUNCTIONS = [
    ({"reward": lambda w, g, a: np.zeros((2, 1))}, r"the reward's term 'reward' must have .*\(2,\), got \(2, 1\)"),
    ({"reward": lambda w, g, a: {"x": 1.0}}, "the reward's term 'x' must have"),
    ({"reward": lambda w, g, a: np.full(2, np.nan)}, "the reward of environment 0 is no number"),
    ({"is_over": lambda w, g: np.zeros((2, 1))}, "is_over must have"),
    ({"observations": ((["a", "b"], lambda w, g: np.zeros((2, 3))),)}, r"'a, b' must have the shape \(2, 2\)"),
    ({"reset": lambda rng, q: q[:1]}, "q of a reset must have"),
    ({"reset": lambda rng, q: (q, np.zeros(1 + len(SHOWN.append(0) or SHOWN)))}, "goal of a reset must have"),
]
SHOWN: list[int] = []


@pytest.mark.parametrize("more, said", WRONG_FUNCTIONS)
def test_what_functions_of_a_task_return_is_looked_at(more, said):
    with pytest.raises(mb.InputError, match=said):
        env = make(SCENE, SceneTask(**{"reward": _nothing, "actions": Efforts(1.0), **more}), 2, threads=1)
        env.reset(seed=0)
        env.step(np.zeros(env.action_space.shape))


@pytest.mark.parametrize("actions", [np.full((2, 2), np.nan), np.zeros((3, 2)), np.zeros(2)])
def test_actions_are_numbers_for_each_environment(actions):
    env = make(SCENE, SceneTask(_nothing, Efforts(1.0), (("one", lambda w, g: w.q[:, 0]),)), 2, threads=1)
    assert env.reset(seed=0)[0].shape == (2, 1) and env.names == ["one"]
    with pytest.raises(mb.InputError, match="actions"):
        env.step(actions)


@pytest.mark.parametrize("more, said", WRONG)
def test_what_does_not_fit_is_refused(more, said):
    with pytest.raises(mb.InputError, match=said):
        make(SCENE, SceneTask(near, **{"actions": Efforts(1.0), **more}), 1)

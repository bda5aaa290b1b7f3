# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Environments are drawn as Gymnasium expects it: pictures of what is where, and a page in the browser."""

from __future__ import annotations

import re
import urllib.request
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import mb_contact as mb
import mb_contact.gym as gym


def green(picture):
    """Middle (column, row) of the pixels of the goal's colour."""
    rows, columns = np.nonzero(picture[..., 1].astype(int) - picture[..., [0, 2]].max(axis=-1) > 40)
    return np.array([columns.mean(), rows.mean()]) + 0.5


def seen_at(task, point, width, height, angle=0.6):
    """Pixel (column, row) of a point (3,), by the pinhole camera of a task."""
    back = np.subtract(task.eye, task.target)
    back /= np.linalg.norm(back)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    way, scale = np.subtract(point, task.eye), 0.5 * height / np.tan(0.5 * angle)
    across = np.array([way @ right, -(way @ np.cross(back, right))])
    return np.array([0.5 * width, 0.5 * height]) - scale * across / (way @ back)


def test_pictures_of_all_environments_show_their_own_goals():
    env = gym.WorldsEnv("Reach", 3, threads=1, render_mode="rgb_array", width=160, height=120)
    env.reset(seed=4)
    frames = env.render()
    assert len(frames) == 3 and all(frame.shape == (120, 160, 3) and frame.dtype == np.uint8 for frame in frames)
    for frame, goal in zip(frames, env.goal):
        np.testing.assert_allclose(green(frame), seen_at(env.task, (*goal, 0.1), 160, 120), atol=1.0)
    env.worlds.q[1, 0] += 1.0
    env.worlds.refresh()
    again = env.render()
    np.testing.assert_array_equal(again[0], frames[0])
    assert (again[1] != frames[1]).any(axis=-1).sum() > 100  # the arm has moved
    env.close()


@pytest.mark.parametrize("name", gym.TASKS)
def test_a_picture_shows_a_robot_before_its_surroundings(name):
    env = gymnasium.make(f"mb_contact/{name}-v0", render_mode="rgb_array", width=120, height=80)
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (80, 120, 3) and len(np.unique(picture.reshape(-1, 3), axis=0)) > 50
    middle = picture[10:70, 20:100].reshape(-1, 3).astype(int)
    assert 0.02 < (np.abs(middle - np.median(middle, axis=0)).max(axis=1) > 30).mean() < 0.98
    env.close()


def test_rendering_passes_gymnasium_s_check(capfd):
    env = gymnasium.make("mb_contact/Reach-v0", disable_env_checker=True, width=64, height=48)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()
    assert "http://localhost:" in capfd.readouterr().out  # the mode "human" is one of those that it tries


def test_the_first_environment_is_shown_in_the_browser_at_the_pace_of_the_clock(capsys):
    env = gym.WorldsEnv("Push", 2, threads=1, render_mode="human")
    env.reset(seed=0)
    address = re.search(r"http://localhost:\d+", capsys.readouterr().out).group()
    assert urllib.request.urlopen(address, timeout=10).status == 200
    assert env.render() is None
    env.step(np.zeros((2, 2)))
    env.close()


def test_render_modes_that_do_not_exist_are_refused():
    with pytest.raises(mb.InputError, match="no render mode 'ansi'; choose one of rgb_array, human"):
        gym.WorldsEnv("Reach", render_mode="ansi")
    with pytest.raises(mb.InputError, match="nothing is drawn without a render_mode"):
        gym.WorldsEnv("Reach").render()

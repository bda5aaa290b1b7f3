# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds as Gymnasium environments (``pip install 'mb_contact[gym]'``); importing this registers their ids.

>>> import gymnasium
>>> import mb_contact.gym
>>> env = gymnasium.make_vec("mb_contact/Push-v0", num_envs=16)  # doctest: +SKIP
"""

from mb_contact.gym.actions import Efforts, HandPoses, JointTargets
from mb_contact.gym.environments import SingleEnv, WorldsEnv, make, register_all
from mb_contact.gym.own_tasks import SceneTask
from mb_contact.gym.tasks import TASKS

__all__ = [
    "TASKS", "Efforts", "HandPoses", "JointTargets", "SceneTask", "SingleEnv", "WorldsEnv", "make",
]  # fmt: skip

register_all()

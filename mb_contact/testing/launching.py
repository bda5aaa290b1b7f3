# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The same tests for those who launch: an action for launch files and for launch_testing.

Only launch files import this: it needs a sourced ROS 2 (launch).
"""

import sys
from collections.abc import Sequence
from typing import Any

from launch.actions import ExecuteProcess, RegisterEventHandler
from launch.event_handlers import OnProcessExit

_END_SECONDS = "30"  #: SIGINT to SIGTERM: controllers are ended meanwhile


def manipulation_test(expect: str, scene: str = "", controllers: Sequence[str] = (), more: Sequence[str] = ()) -> Any:
    """A test as an action, which ends by itself; its exit code is that of ``mb-contact test``.

    It has a ROS domain of its own, so it may run beside others.

    Parameters
    ----------
    expect : path
        Expectations.
    scene : path
    controllers : sequence of str
        Command lines.
    more : sequence of str
        Further options, ``--junit FILE.xml`` for instance.
    """
    command = [sys.executable, "-m", "mb_contact", "test", *([scene] if scene else []), "--expect", expect]
    for controller in controllers:
        command += ["--controller", controller]
    return ExecuteProcess(
        cmd=[*command, *more], name="manipulation_test", output="screen", sigterm_timeout=_END_SECONDS
    )  # fmt: skip


def fails_the_launch(test: Any) -> Any:
    """An action that makes ``ros2 launch`` exit with 1 where the test has failed."""

    def judge(event, _context):
        if event.returncode:
            raise RuntimeError(f"the manipulation test ended with exit code {event.returncode}")

    return RegisterEventHandler(OnProcessExit(target_action=test, on_exit=judge))


def assert_passed(proc_info: Any, test: Any, timeout: float | None = None) -> None:
    """For launch_testing: wait for the end of a test and assert that it passed."""
    proc_info.assertWaitForShutdown(test, timeout=timeout)
    assert proc_info[test].returncode == 0, "the manipulation test failed; its output says what was measured"

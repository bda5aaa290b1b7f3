# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a simulator is to those who run one: the node, the view and the replay of a recording.

``AnySimulator`` is what all of them have, those of smooth surfaces too; ``SceneSimulator`` adds what takes links that
can be pushed, objects that come and go, and frames with an operational space: a :class:`~mb_contact.Simulator`.
Spatial vectors have their angular part first.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mb_contact.checks import Floats


class SimulatedWorld(Protocol):
    """Names in a simulation, and limits.

    Attributes
    ----------
    joint_names, follower_names
        Joints that take efforts, and those that follow others.
    effort_limit : (joints,)
        [N m, N]; zero for none.
    objects
        Free objects by name.
    robot_models
        Models of the robots.
    """

    joint_names: Sequence[str]
    follower_names: Sequence[str]
    effort_limit: np.ndarray
    objects: Mapping[str, Any]
    robot_models: Sequence[Any]


class SimulatedScene(Protocol):
    """What a scene asks of the node.

    Attributes
    ----------
    rates
        Periods [s] and rates [Hz] by name.
    contact_wrench_links, operational_frames
        Links whose contact wrenches, and frames whose operational space, are published.
    """

    rates: Mapping[str, float]
    contact_wrench_links: Sequence[str]
    operational_frames: Sequence[str]


@runtime_checkable
class AnySimulator(Protocol):
    """What the node, the view and a replay need of any simulator.

    Attributes
    ----------
    scene : SimulatedScene
    world : SimulatedWorld
    time_step : float
        Length of a step [s].
    step_count : int
        Steps since the start.
    time : float
        Simulated time [s].
    robot_description : str
        URDF text of the first robot, empty without one.
    """

    scene: SimulatedScene
    world: SimulatedWorld
    time_step: float
    step_count: int
    time: float
    robot_description: str

    def reset(self) -> None:
        """Back to the start of the scene."""

    def step(self, effort: ArrayLike | None = None) -> Any:
        """Advance by one time step.

        Parameters
        ----------
        effort : (joints,), optional
            Of ``world.joint_names`` [N m, N]; zero if left out, clamped to the limits.

        Returns
        -------
        Step
            With the time, the contacts and the certificate of the step.

        Raises
        ------
        InputError
            The efforts have the wrong length or are not finite; nothing has changed.
        DynamicsError
            The step is impossible; the state has not changed.
        """

    def joint_positions(self) -> Floats:
        """Of ``world.joint_names`` [rad, m], a new array (joints,)."""

    def joint_velocities(self) -> Floats:
        """Of ``world.joint_names`` [rad/s, m/s], a new array (joints,)."""

    def joint_efforts(self) -> Floats:
        """Efforts of the last step [N m, N], a new array (joints,)."""

    def follower_state(self) -> tuple[Floats, Floats]:
        """Positions [rad, m] and velocities [rad/s, m/s] of ``world.follower_names``."""

    def link_pose(self, name: str) -> tuple[Floats, Floats]:
        """World pose of a link or object: position (3,) [m] and quaternion x y z w (4,).

        Raises
        ------
        InputError
            There is no such link.
        """

    def contact_impulse(self, link: str | Sequence[str]) -> Floats:
        """Net contact impulse (6,) [N m s, N s] on a link in the last step, in its axes about its origin.

        Of several links (links, 6).

        Raises
        ------
        InputError
            There is no such link.
        """

    def mass_matrix(self) -> Floats:
        """Of ``world.joint_names``: (joints, joints) [kg m^2, kg m, kg]."""

    def nonlinear_effects(self) -> Floats:
        """Coriolis, centrifugal and gravity efforts of ``world.joint_names`` (joints,) [N m, N]."""


@runtime_checkable
class SceneSimulator(AnySimulator, Protocol):
    """What the services of the node and the events of a recording need beyond that.

    Attributes
    ----------
    joint_wrenches
        The joints that ``joint_wrench`` can be asked for: ``names`` and ``child_link(name)``.
    sensors
        The scene's sensors, ``Sensors``.
    """

    joint_wrenches: Any
    sensors: Any

    def save(self) -> Any:
        """A copy of the state, time included."""

    def restore(self, state: Any) -> None:
        """Go back to a saved state."""

    def operational_space(self, frames: Sequence[str], constraints: str = "loops") -> Any:
        """OperationalSpace of stacked frames over ``world.joint_names``; world axes at the frames' origins."""

    def joint_wrench(self, joint: str) -> Floats:
        """Mean wrench (6,) [N m, N] through a joint in the last step, in the child link's axes about its origin."""

    def set_external_wrench(
        self, link: str, wrench: ArrayLike | None, duration: float | None = None, axes: str = "world"
    ) -> None:
        """Push a link with a wrench (6,) [N m, N] about its origin for ``duration`` [s], or until replaced."""

    def set_object(
        self, name: str, pose: tuple[ArrayLike, ArrayLike] | None = None, velocity: ArrayLike | None = None
    ) -> None:
        """Put a free object to a position (3,) [m] and quaternion (4,), with a velocity (6,) [rad/s, m/s]."""

    def set_joints(
        self, names: Sequence[str], positions: ArrayLike | None = None, velocities: ArrayLike | None = None
    ) -> None:
        """Put joints of robots to positions [rad, m], with velocities [rad/s, m/s]."""

    def set_targets(
        self, names: Sequence[str], positions: ArrayLike | None = None, velocities: ArrayLike | None = None
    ) -> None:
        """Ask the actuators of joints for positions [rad, m] and velocities [rad/s, m/s]."""

    def servos(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of ``world.joint_names`` can be asked for a position, and which for a velocity: (joints,) each."""

    def set(self, name: str, values: ArrayLike, of: Any = None) -> None:
        """Change values of the scene, by name, of some of its parts."""

    def attach(
        self, body: str, link: str, pose: tuple[ArrayLike, ArrayLike] | None = None, break_force: float | None = None,
        break_torque: float | None = None, name: str | None = None,
    ) -> str:  # fmt: skip
        """Weld a body to a link."""

    def detach(self, name: str) -> tuple[str, ...]:
        """Let go of a weld, or of all of a body."""

    def holds(self) -> Mapping[str, Any]:
        """What each pad holds."""

    def attachments(self) -> Mapping[str, Any]:
        """The welds that come on and off."""

    def object_motion(self, name: str) -> tuple[Floats, Floats]:
        """Velocity (6,) [rad/s, m/s] and mean acceleration (6,) in the last step of a free object, world axes."""

    def count_asleep(self) -> tuple[int, int]:
        """How many bodies, and how many islands, sleep."""

    def rebuilt(self, scene: Any) -> Any:
        """A simulator of ``scene``, with other objects or robots, that goes on from this one's state and time."""

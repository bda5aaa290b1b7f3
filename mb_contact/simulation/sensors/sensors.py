# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Readings of a scene's sensors: exact ones of the present state, and samples with noise, reproducible by their seeds.

What an IMU measures is the acceleration of the present state under the forces that acted in the last step: efforts,
limits and friction of the joints, springs, contacts, loops, pushes.
"""

from collections.abc import Callable
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import Floats, as_choice, instead_of
from mb_contact.core.handle import make_tree_arrays, make_tree_handle
from mb_contact.core.tree.evaluate import evaluate_forward_dynamics
from mb_contact.dynamics.arguments import gravity_of
from mb_contact.dynamics.jacobians import acceleration, frame_pose, velocity
from mb_contact.dynamics.nodes import Point
from mb_contact.errors import DynamicsError, InputError, SceneError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.scene import Pose
from mb_contact.model.scene.sensors import RAYS
from mb_contact.simulation.joints.embedded_forces import forces_on_bodies
from mb_contact.simulation.sensors.cameras import OPTICAL, Cameras, noisy
from mb_contact.simulation.sensors.pads import PadFace, seen_from, touches, wrench_about
from mb_contact.types import OK

TARED = ("force_torque", "contact", "tactile")  #: kinds whose zero can be set


class ImuReading(NamedTuple):
    """What an inertial measurement unit tells, in its own axes.

    Examples
    --------
    >>> reading = mb.simulation.ImuReading(np.array([0.0, 0, 0, 1]), np.zeros(3), np.array([0.0, 0, 9.81]))
    >>> reading.linear_acceleration[2]  # at rest
    9.81
    """

    orientation: Floats  #: (4,), quaternion x y z w of its axes in the world
    angular_velocity: Floats  #: (3,) [rad/s]
    linear_acceleration: Floats  #: (3,), without gravity's: at rest it points up [m/s^2]


class EncoderReading(NamedTuple):
    """What encoders tell of their joints.

    Examples
    --------
    >>> mb.simulation.EncoderReading(np.array([0.5]), np.array([0.0])).position
    array([0.5])
    """

    position: Floats  #: (joints,) [rad, m]
    velocity: Floats  #: (joints,) [rad/s, m/s]


class Sensors:
    """The sensors of a simulator's scene.

    Parameters
    ----------
    simulator : Simulator

    Raises
    ------
    SceneError
        A sensor is on a link, shape or joint that does not exist, or needs what is not installed.

    Examples
    --------
    >>> imu = mb.model.Sensor("imu", "imu", link="link_0", noise=(0.0, 0.01), seed=4)
    >>> wrist = mb.model.Sensor("wrist", "force_torque", joint="hinge_0")
    >>> arm = mb.pendulum(1, length=1.0, angle=0.0, rate=0.0)
    >>> sim = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(arm.urdf()),), sensors=(imu, wrist)))
    >>> sim.sensors.names, sim.sensors.read("imu").linear_acceleration
    (('imu', 'wrist'), array([0.  , 0.  , 9.81]))
    >>> abs(sim.sensors.sample("imu").linear_acceleration[2] - 9.81) < 0.1
    True
    >>> step = sim.step()
    >>> taken = sim.sensors.capture("wrist")
    >>> sim.sensors.tare("wrist")
    >>> np.linalg.norm(sim.sensors.sample("wrist")), np.isclose(np.linalg.norm(taken()), 9.81, rtol=0.1)
    (0.0, True)
    >>> encoder = mb.model.Sensor("arm", "encoder", resolution=0.1)
    >>> sim = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(arm.urdf()),), sensors=(encoder,)))
    >>> sim.sensors.frames("arm"), sim.sensors.joints("arm"), sim.sensors.accelerations()
    ({}, [0], array([0.]))
    """

    def __init__(self, simulator: Any) -> None:
        self._simulator, world, scene = simulator, simulator.world, simulator.scene
        self._sensors = {sensor.name: sensor for sensor in scene.sensors}
        self.offsets: dict[str, Any] = {}  #: readings that samples are told without: what ``tare`` has put there
        self.pads: dict[str, PadFace] = {}
        arrays = make_tree_arrays(world.tree, simulator.context.make_aggregates(), world.flexible)
        self._external, self._handle = arrays.still, make_tree_handle(arrays)
        for i, sensor in enumerate(scene.sensors):
            key = f"sensors[{i}]"
            for what, name, known in self._places(sensor):
                if name not in known:
                    message = f"there is no {what} '{name}'; {instead_of(name, sorted(known), 'known are')}"
                    raise scene.error(key, message)
            if sensor.kind == "tactile":
                self.pads[sensor.name] = self._pad(sensor, key)
        self._refuse_shared_frames(scene)
        kin, seen = simulator.context.kin, any(sensor.kind in RAYS for sensor in scene.sensors)
        self.cameras = Cameras(scene, world, kin.R, kin.p) if seen else None

    def _refuse_shared_frames(self, scene):
        """Two frames of one name would have two parents in /tf."""
        taken = {"world", *self._simulator.world.frames}
        for i, sensor in enumerate(scene.sensors):
            for frame in self.frames(sensor.name):
                message = f"its frame '{frame}' is that of a link or of another sensor; choose another name"
                scene.refuse_if(frame in taken, f"sensors[{i}].name", message)
                taken.add(frame)

    def _places(self, sensor):
        """(what it is, name, names that exist) of what a sensor refers to."""
        world, touched = self._simulator.world, self._simulator.world.link_geometries
        if sensor.joint is not None:
            yield "joint", sensor.joint, self._simulator.joint_wrenches.names
        if sensor.link is not None:
            yield "link", sensor.link, {**world.frames, "world": None} if sensor.kind in RAYS else world.frames
        if sensor.kind in ("contact", "tactile"):
            yield "link with a collision shape", sensor.link, touched
        if sensor.partner is not None:
            yield "link with a collision shape", sensor.partner, touched
        for joint in sensor.joints:
            yield "joint", joint, world.joint_names or world.hinge_names

    def _pad(self, sensor, key):
        try:
            return PadFace(self._simulator.world, sensor)
        except SceneError as error:
            raise self._simulator.scene.error(key, str(error)) from None

    @property
    def names(self) -> tuple[str, ...]:
        """Of all sensors.

        Returns
        -------
        tuple of str
        """
        return tuple(self._sensors)

    def read(self, name: str) -> Any:
        """What a sensor measures in the present state, exactly.

        Parameters
        ----------
        name : str

        Returns
        -------
        ImuReading, EncoderReading, TactileReading, ImageReading, ScanReading or ndarray (6,)
            The last for force and torque, as ``Simulator.joint_wrench``, and for contact: the mean wrench of the last
            step's contacts about the link's origin, in its axes [N m, N]; with a ``pose`` about and in those of it.

        Raises
        ------
        InputError
            There is no such sensor.
        """
        sensor = self._sensor(name)
        if sensor.kind in RAYS:
            return self.cameras.capture(name)()
        return self._READERS[sensor.kind](self, sensor)

    def _sensor(self, name):
        return self._sensors[as_choice(name, self._sensors, "sensor")]

    def joints(self, name: str) -> Any:
        """Places of an encoder's joints among ``world.joint_names``, in body coordinates among ``world.hinge_names``.

        Parameters
        ----------
        name : str

        Returns
        -------
        list of int
        """
        known = self._simulator.world.joint_names or self._simulator.world.hinge_names
        return [known.index(joint) for joint in self._sensors[name].joints or known]

    def frames(self, name: str) -> dict[str, tuple[Floats, Floats]]:
        """Frames that a sensor has of its own, each in the one before it, the first in that of its link.

        A camera has two: its own, with x ahead and z up, and NAME_optical of its images, with z ahead, x to the right
        and y down.

        Parameters
        ----------
        name : str

        Returns
        -------
        dict of str to (ndarray (3, 3), ndarray (3,))
            Axes and origin [m]; empty for sensors that measure in the axes of their link.

        Raises
        ------
        InputError
            There is no such sensor.
        """
        sensor = self._sensor(name)
        if sensor.kind == "tactile":
            return {name: self.pads[name].on_link}
        if sensor.kind not in RAYS and sensor.pose is None:
            return {}
        pose = sensor.pose or Pose()
        optical = {f"{name}_optical": (OPTICAL, np.zeros(3))} if sensor.kind == "camera" else {}
        return {name: (pose.rotation(), pose.origin()), **optical}

    def tare(self, name: str) -> None:
        """Let samples be told without what a sensor of forces reads now, as after a tool has been mounted.

        Parameters
        ----------
        name : str
            Of a sensor of kind force_torque, contact or tactile.

        Raises
        ------
        InputError
            There is no such sensor, or it measures no force.
        """
        kind = self._sensor(name).kind
        if kind not in TARED:
            raise InputError(f"'{name}' is of kind {kind}; what can be tared is of kind {', '.join(TARED)}")
        self.offsets[name] = self.read(name)

    def sample(self, name: str) -> Any:
        """The same with the sensor's noise and resolution, and without what ``tare`` has found.

        The noise depends on the sensor's seed and the number of the step alone: a run that is repeated has the same.

        Parameters
        ----------
        name : str

        Returns
        -------
        ImuReading, EncoderReading, TactileReading, ImageReading, ScanReading or ndarray (6,)

        Raises
        ------
        InputError
            There is no such sensor.
        """
        return self.capture(name)()

    def capture(self, name: str) -> Callable[[], Any]:
        """Take all that the sample of the present state needs: images can then be made in another thread.

        Parameters
        ----------
        name : str

        Returns
        -------
        callable
            Without arguments; returns the sample of the state in which it was made, whatever the simulator does since.

        Raises
        ------
        InputError
            There is no such sensor.
        """
        sensor = self._sensor(name)
        chance = np.random.default_rng((sensor.seed, self._simulator.step_count))
        if sensor.kind in RAYS:
            take = self.cameras.capture(name)
            return lambda: noisy(take(), sensor.noise, chance)
        sample = self._noisy(sensor, self.read(name), chance)
        return lambda: sample

    def _noisy(self, sensor, reading, chance):
        first, second = sensor.noise
        if sensor.kind == "imu":
            noise = [x + s * chance.standard_normal(3) for x, s in zip(reading[1:], sensor.noise)]
            return ImuReading(reading.orientation, *noise)
        if sensor.kind == "tactile":
            less = [x - y for x, y in zip(reading, self.offsets.get(sensor.name, reading._make([0.0] * 3)))]
            return self.pads[sensor.name].noisy(reading._make(less), sensor.noise, chance)
        if sensor.kind in TARED:
            less = reading - self.offsets.get(sensor.name, 0.0)
            return less + np.repeat((first, second), 3) * chance.standard_normal(6)
        position, speed = (x + s * chance.standard_normal(len(x)) for x, s in zip(reading, sensor.noise))
        if sensor.resolution > 0.0:
            position = sensor.resolution * np.round(position / sensor.resolution)
        return EncoderReading(position, speed)

    def _joint_wrench(self, sensor):
        return seen_from(sensor.pose, self._simulator.joint_wrench(sensor.joint))

    def _encoder(self, sensor):
        rows = self.joints(sensor.name)
        if self._simulator.world.hinge_names:
            state = self._simulator.hinges()
            return EncoderReading(state.positions[rows], state.velocities[rows])
        return EncoderReading(self._simulator.joint_positions()[rows], self._simulator.joint_velocities()[rows])

    def _tactile(self, sensor):
        return self.pads[sensor.name].read(self._simulator.context, self._partners(sensor))

    def _partners(self, sensor):
        return None if sensor.partner is None else self._simulator.world.link_geometries[sensor.partner]

    def _contact(self, sensor):
        sim, last = self._simulator, self._simulator.context.last
        if last is None:
            return np.zeros(6)
        if sensor.partner is None:
            return seen_from(sensor.pose, sim.contact_impulse(sensor.link) / last.dt)
        R, p = frame_pose(sim.world, last.q, sensor.link)
        touch = touches(sim.context, sim.world.link_geometries[sensor.link], self._partners(sensor))
        return seen_from(sensor.pose, wrench_about(touch, p, R, last.dt))

    def _imu(self, sensor):
        sim, world, pose = self._simulator, self._simulator.world, sensor.pose or Pose()
        R = frame_pose(world, sim.q, sensor.link)[0] @ pose.rotation()
        turning = velocity(world, sim.q, sim.v, sensor.link)[:3]
        moved = acceleration(world, sim.q, sim.v, self.accelerations(), Point(sensor.link, pose.origin()))
        gravity = gravity_of(world.tree, sim.gravity, world.frames[sensor.link].body)
        return ImuReading(matrix_to_quat(R), turning @ R, (moved - gravity) @ R)

    def accelerations(self) -> Floats:
        """Accelerations of the present state under the forces of the last step.

        Returns
        -------
        ndarray (N,)
            [rad/s^2, m/s^2]

        Raises
        ------
        DynamicsError
            They are not finite.
        """
        context, effort = self._simulator.context, np.zeros(self._simulator.context.N)
        self._external[:] = 0.0
        if context.last is not None:
            effort += context.work.joint_effort + context.world.tree.damping * context.v  # which is taken off again
            self._external += forces_on_bodies(context)
        tree, joints, k = context.world.tree, context.joints, context.joints.sprung
        d = tree.v_start[k]
        effort[d] -= joints.stiffness[d] * (context.q[tree.q_start[k]] - joints.rest[d])
        v_dot = np.empty_like(effort)
        status, _ = evaluate_forward_dynamics(self._handle, context.q, context.v, effort, context.gravity, v_dot)
        if status != OK:
            raise DynamicsError("the accelerations of the present state are not finite")
        return v_dot

    _READERS = MappingProxyType({
        "imu": _imu, "force_torque": _joint_wrench, "encoder": _encoder, "contact": _contact, "tactile": _tactile,
    })


class Sensing:
    """The part of a Simulator that has sensors."""

    @cached_property
    def sensors(self) -> Sensors:
        """The sensors of the scene.

        Returns
        -------
        Sensors

        Raises
        ------
        SceneError
            A sensor is on a link, shape or joint that does not exist, or needs what is not installed.
        """
        return Sensors(self)

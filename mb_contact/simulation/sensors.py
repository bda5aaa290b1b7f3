# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Readings of a scene's sensors: exact ones of the present state, and samples with noise, reproducible by their seeds.

What an IMU measures is the acceleration of the present state under the forces that acted in the last step: efforts,
limits and friction of the joints, springs, contacts, loops, pushes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.handle import make_tree_arrays, make_tree_handle
from mb_contact.core.tree.evaluate import evaluate_forward_dynamics
from mb_contact.dynamics.jacobians import acceleration, frame_pose, velocity
from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.types import OK, WORLD


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
        A sensor is on a link or joint that does not exist.

    Examples
    --------
    >>> imu = mb.model.Sensor("imu", "imu", link="link_0", noise=(0.0, 0.01), seed=4)
    >>> arm = mb.pendulum(1, length=1.0, angle=0.0, rate=0.0)
    >>> sim = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(arm.urdf()),), sensors=(imu,)))
    >>> sensors = mb.simulation.Sensors(sim)
    >>> sensors.names, sensors.read("imu").linear_acceleration
    (('imu',), array([0.  , 0.  , 9.81]))
    >>> abs(sensors.sample("imu").linear_acceleration[2] - 9.81) < 0.1
    True
    >>> encoder = mb.model.Sensor("arm", "encoder", resolution=0.1)
    >>> sim = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(arm.urdf()),), sensors=(encoder,)))
    >>> mb.simulation.Sensors(sim).joints("arm"), mb.simulation.Sensors(sim).accelerations()
    ([0], array([0.]))
    """

    def __init__(self, simulator: Any) -> None:
        self._simulator, world = simulator, simulator.world
        self._sensors = {sensor.name: sensor for sensor in simulator.scene.sensors}
        arrays = make_tree_arrays(world.tree)
        self._external, self._handle = arrays.still, make_tree_handle(arrays)
        for i, sensor in enumerate(simulator.scene.sensors):
            place, known = {
                "imu": ([sensor.link], world.frames), "force_torque": ([sensor.joint], simulator.joint_wrenches.names),
                "encoder": (sensor.joints, world.joint_names),
            }[sensor.kind]  # fmt: skip
            for name in place:
                message = f"there is no '{name}'; known are {', '.join(sorted(known))}"
                simulator.scene.refuse_if(name not in known, f"sensors[{i}]", message)

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
        ImuReading, EncoderReading or ndarray (6,)
            The last for force and torque, as ``Simulator.joint_wrench`` [N m, N].

        Raises
        ------
        InputError
            There is no such sensor.
        """
        if name not in self._sensors:
            raise InputError(f"there is no sensor '{name}'; the sensors are {', '.join(self._sensors) or 'none'}")
        sensor = self._sensors[name]
        if sensor.kind == "imu":
            return self._imu(sensor)
        if sensor.kind == "force_torque":
            return self._simulator.joint_wrench(sensor.joint)
        rows = self.joints(name)
        return EncoderReading(self._simulator.joint_positions()[rows], self._simulator.joint_velocities()[rows])

    def joints(self, name: str) -> Any:
        """Places of an encoder's joints among ``world.joint_names``.

        Parameters
        ----------
        name : str

        Returns
        -------
        list of int
        """
        known = self._simulator.world.joint_names
        return [known.index(joint) for joint in self._sensors[name].joints or known]

    def sample(self, name: str) -> Any:
        """The same with the sensor's noise and resolution.

        The noise depends on the sensor's seed and the number of the step alone: a run that is repeated has the same.

        Parameters
        ----------
        name : str

        Returns
        -------
        ImuReading, EncoderReading or ndarray (6,)

        Raises
        ------
        InputError
            There is no such sensor.
        """
        reading, sensor = self.read(name), self._sensors[name]
        chance = np.random.default_rng((sensor.seed, self._simulator.step_count))
        first, second = sensor.noise
        if sensor.kind == "imu":
            noisy = [x + s * chance.standard_normal(3) for x, s in zip(reading[1:], sensor.noise)]
            return ImuReading(reading.orientation, *noisy)
        if sensor.kind == "force_torque":
            return reading + np.repeat((first, second), 3) * chance.standard_normal(6)
        position, speed = (x + s * chance.standard_normal(len(x)) for x, s in zip(reading, sensor.noise))
        if sensor.resolution > 0.0:
            position = sensor.resolution * np.round(position / sensor.resolution)
        return EncoderReading(position, speed)

    def _imu(self, sensor):
        sim, world = self._simulator, self._simulator.world
        R = frame_pose(world, sim.q, sensor.link)[0]
        turning = velocity(world, sim.q, sim.v, sensor.link)[:3]
        moved = acceleration(world, sim.q, sim.v, self.accelerations(), sensor.link)[3:]
        return ImuReading(matrix_to_quat(R), turning @ R, (moved - sim.gravity) @ R)

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
            self._external += context.work.external
            for g, body in enumerate(context.world.geoms.body):
                if body != WORLD:
                    self._external[body] += context.work.geom_impulse[g] / context.last.dt
            self._add_loops(context.last.dt)
        tree, joints, k = context.world.tree, context.joints, context.joints.sprung
        d = tree.v_start[k]
        effort[d] -= joints.stiffness[d] * (context.q[tree.q_start[k]] - joints.rest[d])
        v_dot = np.empty_like(effort)
        status, _ = evaluate_forward_dynamics(self._handle, context.q, context.v, effort, context.gravity, v_dot)
        if status != OK:
            raise DynamicsError("the accelerations of the present state are not finite")
        return v_dot

    def _add_loops(self, dt):
        """Forces of closures, and of gears that couple two joints; those of friction and drives are efforts."""
        context, info = self._simulator.context, self._simulator.context.bilateral.info
        rows, impulse, couplings = context.rows, context.solution.r, context.world.couplings
        first, last = int(info[FIRST]), int(info[FIRST] + info[COUNT])
        gears = last - int(info[GEARS])
        acting = list(range(first, first + couplings.rows - len(couplings.gears.ratio)))
        for g, ratio in enumerate(couplings.gears.ratio):
            acting += [gears + g, last + g] if ratio else []
        for r in acting:
            for body, on in ((rows.body_a[r], rows.on_a[r]), (rows.body_b[r], rows.on_b[r])):
                if body != WORLD:
                    self._external[body] += on * impulse[r] / dt

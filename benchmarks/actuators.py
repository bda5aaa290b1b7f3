# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Position and velocity actuators beside the closed form and, where it is installed, MuJoCo's with the same gains.

    python benchmarks/actuators.py [--step 0.001]

One joint of inertia 0.7 kg m^2.  Position actuators start 0.01 rad from their target: the errors of frequency and decay
over the natural frequency are those of the step's linear map, measured from two of its steps; the amplitude is the
largest of the last tenth of a second over the first one.  Velocity actuators are asked for 1 rad/s.  MuJoCo's are taken
with its default integrator and with ``implicitfast``.
"""

from __future__ import annotations

import argparse

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.model.scene import Actuator, Scene, SceneModel

INERTIA = 0.7
URDF = (
    '<robot name="bar"><link name="base"/><link name="body"><inertial><mass value="1"/>'
    f'<inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="j" type="continuous"><parent link="base"/><child link="body"/><axis xyz="0 0 1"/></joint></robot>'
)
POSITION = ((1e2, 2.0), (1e4, 20.0), (1e6, 0.0), (1e6, 1e2), (1e7, 0.0), (1e8, 1e3))  #: [N m/rad, N m s/rad]
VELOCITY = (1.0, 1e2, 1e3, 1e4, 1e6)  #: [N m s/rad]


class Ours:
    """mb_contact."""

    name = "mb_contact"

    def __init__(self, kind, stiffness, damping, dt):
        actuator = Actuator(kind, stiffness=stiffness, damping=damping)
        model = SceneModel(URDF, name="bar", actuators={"j": actuator})
        self._sim = mb.Simulator(Scene(models=(model,), time_step=dt, gravity=(0.0, 0.0, 0.0)))

    def put(self, q, v):
        """A state."""
        self._sim.set_state([q], [v])

    def ask(self, speed):
        """A speed."""
        self._sim.set_targets(["j"], velocities=[speed])

    def step(self):
        """One step; position and velocity."""
        self._sim.step()
        return float(self._sim.q[0]), float(self._sim.v[0])


class Peer:
    """MuJoCo's position and velocity actuators."""

    def __init__(self, mujoco, integrator, kind, stiffness, damping, dt):
        gains = f'kp="{stiffness!r}" kv="{damping!r}"' if kind == "position" else f'kv="{damping!r}"'
        self._mujoco, self.name = mujoco, f"MuJoCo, {integrator}"
        self._model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{dt!r}" gravity="0 0 0" integrator="{integrator}"/><worldbody><body>'
            f'<joint name="j" type="hinge" axis="0 0 1"/><inertial pos="0 0 0" mass="1" '
            f'diaginertia="{INERTIA} {INERTIA} {INERTIA}"/></body></worldbody>'
            f'<actuator><{kind} joint="j" {gains}/></actuator></mujoco>'
        )
        self._data = mujoco.MjData(self._model)

    def put(self, q, v):
        """A state."""
        self._data.qpos[0], self._data.qvel[0] = q, v

    def ask(self, speed):
        """A speed."""
        self._data.ctrl[0] = speed

    def step(self):
        """One step; position and velocity."""
        self._mujoco.mj_step(self._model, self._data)
        return float(self._data.qpos[0]), float(self._data.qvel[0])


def engines(kind, stiffness, damping, dt):
    """All there are."""
    yield Ours(kind, stiffness, damping, dt)
    try:
        import mujoco
    except ImportError:
        return
    for integrator in ("Euler", "implicitfast"):
        yield Peer(mujoco, integrator, kind, stiffness, damping, dt)


def exponents(engine, dt):
    """Exponents of the step's linear map."""
    columns = []
    for state in ((1e-3, 0.0), (0.0, 1e-3)):
        engine.put(*state)
        columns.append(np.array(engine.step()) / 1e-3)
    return np.log(np.linalg.eigvals(np.array(columns).T).astype(complex)) / dt


def position_row(engine, stiffness, damping, dt):
    """Errors of frequency and decay (relative to the natural frequency), and what is left after a second."""
    natural = np.sqrt(stiffness / INERTIA)
    exact = np.roots([INERTIA, damping, stiffness]).astype(complex)
    found = exponents(engine, dt)
    error = [np.abs(np.sort(part(found)) - np.sort(part(exact))).max() / natural for part in (np.imag, np.real)]
    engine.put(0.01, 0.0)
    path = np.abs([engine.step()[0] for _ in range(round(1.0 / dt))])
    tenth = len(path) // 10
    left = f"{path[-tenth:].max() / 0.01:.1e}" if path.max() < 0.1 else "unstable"  # MuJoCo then begins anew by itself
    return f"{error[0]:.1e} | {error[1]:.1e} | {left} (exact {np.exp(max(exact.real) * 0.9):.1e})"


def velocity_row(engine, damping, dt):
    """The rate of approach over the exact one, and the greatest speed."""
    engine.put(0.0, 0.0)
    engine.ask(1.0)
    speeds = [engine.step()[1] for _ in range(round(1.0 / dt))]
    kept = 1.0 - speeds[0]  # 1 - v after a step: exp(-d dt / I)
    return f"{kept:.6g} | {np.exp(-damping * dt / INERTIA):.6g} | {np.abs(speeds).max():.3g}"


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step", type=float, default=1e-3, metavar="S")
    parser.add_argument("--gains", type=int, default=len(POSITION), metavar="N", help="so many of each table")
    options = options_of(parser, gains=1)
    dt, count = options.step, options.gains
    print(f"time step {dt:g} s\n\n| k [N m/rad], d | engine | error of frequency | of decay | amplitude after 1 s |")
    print("|---|---|---|---|---|")
    for stiffness, damping in POSITION[:count]:
        for engine in engines("position", stiffness, damping, dt):
            print(f"| {stiffness:g}, {damping:g} | {engine.name} | {position_row(engine, stiffness, damping, dt)} |")
    print("\n| d [N m s/rad] | engine | 1 - v after a step | exact | greatest speed in 1 s |\n|---|---|---|---|---|")
    for damping in VELOCITY[:count]:
        for engine in engines("velocity", 0.0, damping, dt):
            print(f"| {damping:g} | {engine.name} | {velocity_row(engine, damping, dt)} |")


if __name__ == "__main__":
    main()

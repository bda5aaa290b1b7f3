# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""NMC/OS of whole robots (``coordinates: bodies``): drift of the joints over time by stabilisation, and the cost.

python benchmarks/body_coordinates.py [--seconds 5] [--robots dual_arm,ur5,...]

Robots of example-robot-data and the dual arm move freely from random speeds, without gravity (free fall would
spin undamped fingers up), limits, damping and collisions.  Then those on a base follow a path by computed torque, with
gravity, their limits and damping: the way of every joint, 0.3 sin(2 t + i) within its range, and how far body
coordinates are off joint coordinates.  At last J14's Figure 6: when the last of 12 links has parted between the two.
"""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import replace

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import Scene, SceneModel

ROBOTS = {
    "dual_arm": "package://mb_contact/urdf/dual_arm.urdf",
    "ur5": "package://example-robot-data/robots/ur_description/urdf/ur5_robot.urdf",
    "hyq": "package://example-robot-data/robots/hyq_description/robots/hyq_no_sensors.urdf",
    "talos": "package://example-robot-data/robots/talos_data/robots/talos_reduced.urdf",
}
ON_A_BASE = ("dual_arm", "ur5")
#: name: drift_control, drift_rate
STABILISED = {"none": ("baumgarte", 0.0), "0.05 a step": ("baumgarte", 0.05), "0.2 a step": ("baumgarte", 0.2),
              "projection": ("projection", 0.2)}  # fmt: skip
GONE = re.compile("<!--.*?-->|<(collision_checking|collision|visual)[ >].*?</\\1>|<(dynamics|mimic) .*?/>", re.DOTALL)
MOMENTS = (0.1, 1.0, 5.0)  #: at which drift is told [s]


def scene_of(robot: str) -> Scene:
    """A robot without what coordinates of bodies leave out, with random velocities."""
    text = GONE.sub("", find_resource(ROBOTS[robot]).read_text(encoding="utf-8"))
    text = re.sub('<safety_controller.*?/>|(lower|upper)="[^"]*"', lambda m: _without_limits(m.group()), text)
    base = "weld" if robot in ON_A_BASE else "free"
    names = mb.load_urdf(text, inertia_errors="warn").joint_names
    speeds = np.random.default_rng(0).uniform(-0.5, 0.5, len(names))
    model = SceneModel(text, base=base, velocities=dict(zip(names, speeds.tolist())), inertia_errors="warn")
    return Scene(models=(model,), gravity=(0.0, 0.0, 0.0))


def _is_there(robot):
    try:
        return find_resource(ROBOTS[robot]).is_file()
    except FileNotFoundError:
        return False


def _without_limits(found):
    if found.startswith("<"):
        return ""
    return 'lower="-1e9"' if found.startswith("lower") else 'upper="1e9"'


def swing(scene: Scene, seconds: float) -> tuple[dict[float, float], float, float]:
    """Worst closure error up to each moment, range of the energy, microseconds of a step (CPU, least)."""
    sim = mb.Simulator(scene)
    energies, errors, least = [], [], np.inf
    for _ in range(round(seconds / sim.time_step / 50) or 1):
        start = time.process_time()
        steps = [sim.step().certificate for _ in range(50)]
        least = min(least, (time.process_time() - start) / 50)
        energies += [c.energy for c in steps]
        errors += [c.closure_error for c in steps]
    worst = {t: max(errors[: round(t / sim.time_step)]) for t in MOMENTS}
    return worst, np.ptp(energies), 1e6 * least


def driven(robot: str, **settings) -> tuple[Scene, mb.Model]:
    """A robot on its base as it ships, without collisions, and its Model."""
    text = GONE.sub(lambda m: m.group() if m.group().startswith("<dynamics") else "",
                    find_resource(ROBOTS[robot]).read_text(encoding="utf-8"))  # fmt: skip
    model = mb.load_urdf(text, inertia_errors="warn")
    entry = SceneModel(text, inertia_errors="warn", joints=dict(zip(model.joint_names, _path(model, 0.0)[0].tolist())))
    return Scene(models=(entry,), **settings), model


def _path(model, t):
    """Positions, velocities and accelerations (joints,) of the path at a time [s]."""
    low, high = np.maximum(model.lower, -1.0), np.minimum(model.upper, 1.0)
    middle, half, phase = 0.5 * (low + high), 0.3 * (high - low), 2.0 * t + np.arange(model.N)
    return middle + half * np.sin(phase), 2.0 * half * np.cos(phase), -4.0 * half * np.sin(phase)


def follow(scene: Scene, model: mb.Model, seconds: float) -> tuple[dict[float, float], np.ndarray, float]:
    """Worst closure error up to each moment, positions (steps, joints), mean squared effort [N^2 m^2, N^2]."""
    sim, errors, ways, efforts = mb.Simulator(scene), [], [], []
    bodies = scene.coordinates == "bodies"
    for _ in range(round(seconds / sim.time_step)):
        at = sim.hinges() if bodies else None
        q, v = (at.positions, at.velocities) if at else (sim.joint_positions(), sim.joint_velocities())
        wanted, rate, more = _path(model, sim.time)
        asked = more + 400.0 * (wanted - q) + 40.0 * (rate - v)
        efforts.append(mb.inverse_dynamics(model, q, v, asked))
        errors.append(sim.step(efforts[-1]).certificate.closure_error)
        ways.append(q)
    worst = {t: max(errors[: round(t / sim.time_step)]) for t in MOMENTS}
    return worst, np.array(ways), float(np.square(efforts).mean())


def run_driven(seconds: float, robots: list[str]) -> None:
    """Print what ``follow`` measures in both coordinates."""
    print(f"\nfollowing a path for {seconds:g} s; farthest off the joints of joint coordinates [rad, m]")
    columns = "".join(f"{f'{t:g} s':>10}" for t in MOMENTS)
    print(f"{'robot':<10}{'stabilised by':<14}{columns}{'off':>10}{'rms effort':>12}")
    for name in robots:
        scene, model = driven(name)
        _, joints, effort = follow(scene, model, seconds)
        print(f"{name:<10}{'joints':<14}{'':>{10 * len(MOMENTS) + 10}}{np.sqrt(effort):>12.2f}")
        for label, (control, rate) in STABILISED.items():
            own = replace(scene, coordinates="bodies", drift_control=control, drift_rate=rate)
            worst, ways, effort = follow(own, model, seconds)
            print(f"{'':<10}{label:<14}" + "".join(f"{worst[t]:>10.1e}" for t in MOMENTS)
                  + f"{np.abs(ways - joints).max():>10.1e}{np.sqrt(effort):>12.2f}", flush=True)  # fmt: skip


def heights(chain, seconds: float, **settings) -> tuple[np.ndarray, float, float]:
    """Heights (steps,) of a pendulum's last sphere [m], CPU seconds and the worst opening of a hinge."""
    sim, z, opening = mb.Simulator(chain.scene(**settings)), [], 0.0
    body, at = sim.world.geoms.body.max(), sim.world.geoms.p[np.argmax(sim.world.geoms.body)]
    start = time.process_time()
    for _ in range(round(seconds / chain.time_step)):
        opening = max(opening, sim.step().certificate.closure_error)
        z.append(sim.context.kin.p[body, 2] + sim.context.kin.R[body, 2] @ at)
    return np.array(z), time.process_time() - start, opening


def run_figure_6(seconds: float, links: int = 12) -> None:
    """Print when joint and body coordinates have parted."""
    print(f"\nJ14 Figure 6, {links} links, {seconds:g} s: times at which heights have parted [s], hinges [m], CPU [s]")
    print(f"{'step [ms]':>9}{'by 1 mm':>10}{'by 10 mm':>10}{'by 100 mm':>10}{'opening':>10}{'joints':>8}{'bodies':>8}")
    for dt in (1e-3, 5e-4, 2.5e-4):
        chain = mb.pendulum(links, time_step=dt)
        joints, cost, _ = heights(chain, seconds)
        bodies, more, opening = heights(chain, seconds, coordinates="bodies")
        apart = np.abs(joints - bodies)
        when = [np.flatnonzero(apart > limit) for limit in (1e-3, 1e-2, 1e-1)]
        times = "".join(f"{dt * (at[0] + 1):>10.4f}" if len(at) else f"{'never':>10}" for at in when)
        print(f"{1e3 * dt:>9g}{times}{opening:>10.1e}{cost:>8.2f}{more:>8.2f}", flush=True)


def run(seconds: float, robots: list[str]) -> int:
    """Measure and print."""
    print(f"moving freely for {seconds:g} s, steps of 1 ms; closure error: the worst so far of all hinges [m, rad]")
    print(f"{'robot':<10}{'coordinates':<12}{'stabilised by':<14}{'unknown v':>10}{'hinge rows':>11}"
          + "".join(f"{f'{t:g} s':>10}" for t in MOMENTS) + f"{'energy [J]':>11}{'us a step':>11}")  # fmt: skip
    for name in robots:
        scene = scene_of(name)
        plain = mb.build_world(scene)
        _, energy, cost = swing(scene, seconds)
        print(f"{name:<10}{'joints':<12}{'':<14}{len(plain.v0):>10}{0:>11}" + 10 * len(MOMENTS) * " "
              + f"{energy:>11.2g}{cost:>11.0f}")  # fmt: skip
        for label, (control, rate) in STABILISED.items():
            own = replace(scene, coordinates="bodies", drift_control=control, drift_rate=rate)
            world = mb.build_world(own)
            worst, energy, cost = swing(own, seconds)
            print(f"{'':<10}{'bodies':<12}{label:<14}{len(world.v0):>10}{world.couplings.rows:>11}"
                  + "".join(f"{worst[t]:>10.1e}" for t in MOMENTS) + f"{energy:>11.2g}{cost:>11.0f}",
                  flush=True)  # fmt: skip
    run_driven(seconds, [name for name in robots if name in ON_A_BASE])
    run_figure_6(min(seconds, 4.0))  # from 4.27 s on, folded on the floor, the chain of free bodies runs away
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="simulated time (default: 5)")
    known = [name for name in ROBOTS if _is_there(name)]
    parser.add_argument("--robots", default=",".join(known), help=f"some of {','.join(ROBOTS)}")
    options = options_of(parser, seconds=0.1, robots="dual_arm")
    raise SystemExit(run(options.seconds, options.robots.split(",")))

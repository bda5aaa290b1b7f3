# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Energy and order where contact points wander within a step, by integrator and scheme; what a step of each costs.

    python benchmarks/wandering_contacts.py [--seconds 0.4] [--random 200 [--scheme event]] [--cost]

Bodies roll, pivot and slide where friction lets nothing be lost, so every change of energy is an error.  ``--random``
lets so many random scenes (tumbling hulls, cylinders, chains) fall on the ground, without restitution, and asks for
the largest rise of the energy within a step, beside what push-out added.  ``--cost`` compares the times of a step.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import trimesh
from quick import options_of

import mb_contact as mb
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import Ground, Material, ModelMaterials, Pose, Primitive, Scene, SceneModel

STEPS = (4e-3, 2e-3, 1e-3, 5e-4)
WAYS = (
    ("time_stepping", "semi_implicit_euler"), ("time_stepping", "rk4"), ("time_stepping", "midpoint"),
    ("time_stepping", "adaptive"), ("event", "rk4"),
)  # fmt: skip
INTEGRATORS = ("semi_implicit_euler", "midpoint", "rk4", "adaptive")
LIBRARY = ("box_on_table", "box_stack", "table_top", "dual_arm_lift", "quadruped")  #: whose cost is told too
LEAN = np.radians(20.0)


def on_ground(body, omega, arm, dt, scheme, integrator):
    """The body on ground of friction 2, rolling with this angular velocity; ``arm`` leads from contact to centre."""
    scene = Scene(
        primitives=(body,), ground=Ground(0.0, "m"), materials={"m": Material(2.0)}, time_step=dt,
        collision_scheme=scheme, integrator=integrator,
    )  # fmt: skip
    sim = mb.Simulator(scene)
    sim.set_object("body", velocity=np.r_[omega, np.cross(omega, arm)])
    return sim


def disc(radius, half, speed, *way):
    """A disc on its rim, 20 degrees from the vertical, rolling at ``speed``."""
    height = radius * np.cos(LEAN) + half * np.sin(LEAN)
    pose = Pose((0.0, 0.0, height), (np.pi / 2.0 + LEAN, 0.0, 0.0))
    axis = pose.rotation()[:, 2]
    down = axis[2] * axis - np.array([0.0, 0.0, 1.0])
    contact = radius * down / np.linalg.norm(down) - half * np.sign(axis[2]) * axis
    body = Primitive("body", "cylinder", (radius, 2.0 * half), pose, "free", 0.1, material="m")
    return on_ground(body, axis * speed / radius, -contact, *way)


def coin(*way):
    return disc(0.05, 0.0025, 1.0, *way)


def wheel(*way):
    """As wide as its radius, as a wheel with its shaft."""
    return disc(0.1, 0.05, 1.0, *way)


def ellipsoid(*way):
    body = Primitive("body", "ellipsoid", (0.12, 0.16, 0.1), Pose((0.0, 0.0, 0.05)), "free", 0.1, material="m")
    return on_ground(body, np.array([3.0, 2.0, 1.0]), [0.0, 0.0, 0.05], *way)


def torus(*way):
    """The hull of a torus of 48 by 24 points: it rolls over edges."""
    mesh = trimesh.creation.torus(0.08, 0.02, major_sections=48, minor_sections=24)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "torus.stl"
        mesh.convex_hull.export(file)
        pose = Pose((0.0, 0.0, 0.08 * np.cos(LEAN) + 0.0201), (np.pi / 2.0 + LEAN, 0.0, 0.0))
        body = Primitive("body", "mesh", (), pose, "free", 0.1, material="m", mesh=str(file))
        axis = pose.rotation()[:, 2]
        return on_ground(body, axis * 5.0, pose.position, *way)


def rod(*way):
    """1 m long, falls over the edge of its foot."""
    height = 0.5 * np.cos(0.3) + 0.01 * np.sin(0.3)
    pose = Pose((0.0, 0.0, height), (0.0, 0.3, 0.0))
    body = Primitive("body", "box", (0.02, 0.1, 1.0), pose, "free", 1.0, material="m")
    return on_ground(body, np.zeros(3), np.zeros(3), *way)


BODIES = {"coin": coin, "wheel": wheel, "ellipsoid": ellipsoid, "torus (hull)": torus, "rod": rod}


def study(make, dt, scheme, integrator, seconds):
    """Parts of the energy at the start: its change, largest gain beyond push-out, push-out; microseconds a step."""
    sim = make(dt, scheme, integrator)
    start, gain, pushed, took = sim.energy(), 0.0, 0.0, []
    for _ in range(round(seconds / dt)):
        began = time.perf_counter()
        certificate = sim.step().certificate
        took.append(time.perf_counter() - began)
        pushed += certificate.push_out_energy
        gain = max(gain, certificate.energy - start - pushed)
    return sim.energy() / start - 1.0, gain / start, pushed / start, 1e6 * np.median(took)


def library(name):
    """A scene of the library."""

    def make(_dt, scheme, integrator):
        scene = mb.load_scene(find_resource(f"package://mb_contact/config/{name}.yaml"))
        return mb.Simulator(replace(scene, collision_scheme=scheme, integrator=integrator))

    return make


def cost(make, rounds):
    """Median time of a step by integrator [us], of 20 steps from one state by turns."""
    sims = [make(1e-3, "time_stepping", integrator) for integrator in INTEGRATORS]
    for sim in sims:
        for _ in range(50):
            sim.step()
    states, took = [sim.save() for sim in sims], [[] for _ in sims]
    for _ in range(rounds):
        for sim, state, times in zip(sims, states, took):
            sim.restore(state)
            for _ in range(20):
                began = time.perf_counter()
                sim.step()
                times.append(time.perf_counter() - began)
    return 1e6 * np.median(took, axis=1)


def chain(rng, links):
    """URDF of a floating chain of capsules and cylinders on axes of all directions."""
    text = '<robot name="chain">'
    for i in range(links):
        length = rng.uniform(0.1, 0.2)
        shape = "cylinder" if i % 2 else "capsule"
        slow = 0.5 * length**2 / 12.0 + 1e-4
        text += (
            f'<link name="l{i}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="0.5"/><inertia ixx="1e-4" '
            f'iyy="{slow}" izz="{slow}" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="{length / 2} 0 0" '
            f'rpy="0 1.5708 0"/><geometry><{shape} radius="0.02" length="{0.7 * length}"/></geometry></collision>'
            "</link>"
        )
        if i + 1 < links:
            x, y, z = rng.normal(size=3)
            turn = f"{rng.uniform(-1, 1)} 0 {rng.uniform(-1, 1)}"
            text += (
                f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/><origin '
                f'xyz="{length} 0 0" rpy="{turn}"/><axis xyz="{x} {y} {z}"/></joint>'
            )
    return text + "</robot>"


def falling(seed, folder, **settings):
    """One or two hulls or cylinders, or a chain, above the ground, turning."""
    rng = np.random.default_rng(seed)
    settings |= {"materials": {"m": Material(rng.uniform(0.1, 1.0))}, "ground": Ground(0.0, "m")}
    if seed % 3 == 2:
        pose = Pose((0.0, 0.0, 0.5), tuple(rng.uniform(-3.0, 3.0, 3)))
        model = SceneModel(chain(rng, 3 + seed % 3), pose=pose, base="free", materials=ModelMaterials("m"))
        sim = mb.Simulator(Scene(models=(model,), **settings))
        sim.set_state(sim.q, rng.uniform(-3.0, 3.0, len(sim.v)))
        return sim
    bodies = []
    for i in range(1 + seed % 2):
        pose = Pose((0.3 * i, 0.0, 0.3 + 0.2 * rng.uniform()), tuple(rng.uniform(-3.0, 3.0, 3)))
        kind = {"shape": "cylinder", "size": (rng.uniform(0.04, 0.1), rng.uniform(0.02, 0.2))}
        if seed % 3 == 0:
            points = rng.normal(size=(14, 3))
            points *= rng.uniform(0.05, 0.12) * rng.uniform(0.6, 1.4, 3) / np.linalg.norm(points, axis=1)[:, None]
            kind = {"shape": "mesh", "size": (), "mesh": str(Path(folder) / f"hull_{seed}_{i}.stl")}
            trimesh.Trimesh(points).convex_hull.export(kind["mesh"])
        bodies.append(Primitive(f"body_{i}", pose=pose, base="free", mass=1.0, material="m", **kind))
    sim = mb.Simulator(Scene(primitives=tuple(bodies), **settings))
    sim.set_state(sim.q, np.concatenate([np.r_[rng.uniform(-8, 8, 3), rng.uniform(-1, 1, 3)] for _ in bodies]))
    return sim


def worst_rise(sim, seconds):
    """Largest rise of energy in a step beyond push-out; what push-out added; what was removed; parts of the start."""
    start = last = sim.energy()
    rise = pushed = removed = 0.0
    for _ in range(round(seconds / sim.time_step)):
        c = sim.step().certificate
        rise = max(rise, c.energy - last - c.push_out_energy)
        pushed += c.push_out_energy
        removed += c.energy_removed
        last = c.energy
    return rise / start, pushed / start, removed / start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.4, help="of the motion")
    parser.add_argument("--random", type=int, default=0, help="random scenes instead")
    parser.add_argument("--scheme", choices=("time_stepping", "event"), help="of the random scenes (default: both)")
    parser.add_argument("--cost", action="store_true", help="times of a step instead")
    options = options_of(parser, seconds=0.02)
    if options.cost:
        print("us a step, and over Euler's" + "".join(f"{name:>20s}" for name in INTEGRATORS))
        for name, make in {**BODIES, **{name: library(name) for name in LIBRARY}}.items():
            times = cost(make, 1 if options.quick else 25)
            print(f"{name:27s}" + "".join(f"{t:13.1f} ({t / times[0]:.2f})" for t in times), flush=True)
        return
    if options.random:
        print(f"{options.random} random scenes, 1 s at 1 ms: worst over the scenes, parts of the energy at the start")
        heads = f"{'rise in a step':>15s}{'rises > 1e-6':>13s}{'push-out':>10s}{'removed':>10s}{'stopped':>9s}"
        print(f"{'scheme, integrator':36s}{heads}")
        for scheme, integrator in (way for way in WAYS if options.scheme in (None, way[0])):
            found = []
            with tempfile.TemporaryDirectory() as folder:
                for seed in range(options.random):
                    sim = falling(seed, folder, collision_scheme=scheme, integrator=integrator)
                    with suppress(mb.DynamicsError):  # those that stop are counted
                        found.append(worst_rise(sim, 1.0))
            worst, stopped = np.array(found), options.random - len(found)
            rise, pushed, removed = worst.max(axis=0)
            over = int((worst[:, 0] > 1e-6).sum())
            row = f"{scheme + ', ' + integrator:36s}{rise:15.1e}{over:13d}{pushed:10.1e}{removed:10.1e}"
            print(f"{row}{stopped:9d}", flush=True)
        return
    print(f"parts of the energy at the start: change in {options.seconds:g} s, order, largest gain beyond push-out,")
    print("push-out; us a step at 1 ms")
    for name, make in BODIES.items():
        print(f"{name:36s}" + "".join(f"{1e3 * dt:>8g} ms" for dt in STEPS) + "   order     gain push-out      us")
        for way in WAYS:
            found = np.array([study(make, dt, *way, options.seconds) for dt in STEPS])
            order = np.polyfit(np.log(STEPS), np.log(np.abs(found[:, 0]) + 1e-16), 1)[0]
            cells = "".join(f"{x:11.1e}" for x in found[:, 0])
            _, gain, pushed, _ = found.max(axis=0)
            print(f"  {', '.join(way):34s}{cells}{order:8.2f}{gain:9.0e}{pushed:9.0e}{found[2, 3]:8.0f}", flush=True)


if __name__ == "__main__":
    main()

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes whose steps are differentiated, by name: what makes (Simulator, draw); ``draw(rng)`` makes (q, v, effort)."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import mb_contact as mb
from mb_contact.gradients.motion import displaced
from mb_contact.model.scene import Gear, Heights, JointProperties
from scenes.flexible_robots import ARM, strip
from scenes.mesh_bodies import revolved, write_obj

M = mb.model
CONFIG = "package://mb_contact/config/"
SIZES = {"sphere": (0.1,), "capsule": (0.06, 0.2), "box": (0.2, 0.16, 0.12), "cylinder": (0.08, 0.2),
         "cone": (0.08, 0.2), "ellipsoid": (0.1, 0.07, 0.13)}  # fmt: skip
BALL = '<collision><origin xyz="{} 0 0"/><geometry><sphere radius="0.03"/></geometry></collision>'
HILLS = tuple(tuple(0.02 * (i * i + 3 * j) % 0.05 for j in range(7)) for i in range(7))  #: heights [m]


def shipped(file, steps, noise, held=False):
    """A scene of config/ up to so many steps after its velocities were disturbed; its joints free, or held."""

    def make():
        sim = mb.Simulator(CONFIG + file)
        sim.reset()
        joints = sim.world.joint_v
        effort = sim.nonlinear_effects()[joints] if held else np.zeros(len(joints))

        def draw(rng):
            sim.reset()
            sim.set_state(sim.q, sim.v + noise * rng.normal(size=len(sim.v)))
            sim.step(effort, steps=int(rng.integers(1, steps + 1)))
            return sim.q, sim.v + 0.1 * noise * rng.normal(size=len(sim.v)), effort * (1.0 + 0.1 * rng.normal())

        return sim, draw

    return make


def chain():
    """A pendulum of six links in smooth motion."""
    sim = mb.Simulator(mb.pendulum(6, length=1.0, wall=100.0, floor=-100.0).scene())
    return sim, lambda rng: (0.4 * rng.normal(size=6), rng.normal(size=6), rng.normal(size=6))  # no link meets another


def posed(shape, speed=1.0, rolling=0.0, torsional=0.0, size=None, restitution=0.0, hills=False, down=None, **scene):
    """One body that overlaps the ground, or hills, a little, in any pose; it goes ``down`` so fast at most."""

    def make():
        material = M.Material(friction=0.5, rolling=rolling, torsional=torsional, restitution=restitution)
        body = M.Primitive("body", shape, size or SIZES[shape], M.Pose((0, 0, 1.0)), "free", 1.0, material="body")
        ground, bodies = M.Ground(material="body"), (body,)
        if hills:
            field = M.Primitive("hills", "height_field", (3.0, 3.0), heights=Heights(grid=HILLS), material="body")
            ground, bodies = None, (body, field)
        sim = mb.Simulator(mb.Scene(primitives=bodies, ground=ground, materials={"body": material}, **scene))
        sim.reset()
        return sim, tumbling(sim, speed, 5e-4 if restitution else 0.0, down)

    return make


def ring():
    """A ring of triangles that overlaps the ground a little."""
    profile, folder = [[0.08, -0.03], [0.12, -0.03], [0.12, 0.03], [0.08, 0.03]], Path(tempfile.mkdtemp())
    file = str(write_obj(folder / "ring.obj", revolved(profile, 12)))
    body = M.Primitive("ring", "mesh", (), M.Pose((0, 0, 1.0)), "free", 1.0, mesh=file, collision_meshes="mesh")
    sim = mb.Simulator(mb.Scene(primitives=(body,), ground=M.Ground()))
    shutil.rmtree(folder)
    sim.reset()
    return sim, tumbling(sim, 1.0)


def tumbling(sim, speed, above=0.0, down=None):
    """Draws of a body that overlaps what is below it a little, or is up to so much above it, in any pose."""

    def draw(rng):
        q = sim.q
        q[:2], q[3:] = 0.0, rng.normal(size=4)
        q[3:] /= np.linalg.norm(q[3:])
        sink(sim, q, slice(2, 3), np.array([1.0]), 0.0, 0.5)
        q[2] += above * rng.uniform()
        v = speed * rng.normal(size=6)
        v[5] = -abs(v[5]) - 0.5 * speed if down is None else -down * rng.uniform()
        return q, v, np.zeros(0)

    return draw


def sink(sim, q, place, way, low, high):
    """Put ``q[place]`` along ``way`` to where shapes overlap by some 1e-5 m."""
    for _ in range(20):
        q[place] = 0.5 * (low + high) * way
        sim.set_state(q, np.zeros(len(sim.v)))
        overlap = sim.step().contacts["gap"].min(initial=1.0) < 0.0
        low, high = (0.5 * (low + high), high) if overlap else (low, 0.5 * (low + high))
    q[place] = (low - 1e-5) * way


def pair(a, b):
    """Two free bodies that just overlap, in any pose."""

    def make():
        bodies = tuple(M.Primitive(name, shape, SIZES[shape], M.Pose((0, 0, z)), "free", mass)
                       for name, shape, z, mass in (("a", a, 0.0, 1.5), ("b", b, 1.0, 0.7)))  # fmt: skip
        sim = mb.Simulator(mb.Scene(primitives=bodies))
        sim.reset()

        def draw(rng):
            q, way = sim.q, rng.normal(size=3)
            way /= np.linalg.norm(way)
            for s in (3, 10):
                x = rng.normal(size=4)
                q[s : s + 4] = x / np.linalg.norm(x)
            q[:3] = 0.0
            sink(sim, q, slice(7, 10), way, 0.0, 0.6)
            v = 0.5 * rng.normal(size=12)
            v[9:] -= 2.0 * way
            return q, v, np.zeros(0)

        return sim, draw

    return make


def joints(limits=None, gears=(), actuators=None, integrator="semi_implicit_euler", **properties):
    """A pendulum of two links with forces in its joints; by a flow one strikes its limit."""

    def make():
        urdf = mb.pendulum(2, length=1.0).urdf()
        if limits:
            end = f'<limit lower="{limits[0]}" upper="{limits[1]}" effort="100" velocity="100"/></joint>'
            urdf = urdf.replace('type="continuous"', 'type="revolute"').replace("</joint>", end)
        properties_of = {"hinge_0": JointProperties(**properties)}
        robot = M.SceneModel(urdf, joint_properties=properties_of, actuators=actuators or {})
        sim = mb.Simulator(mb.Scene(models=(robot,), gears=gears, loops="multipliers", integrator=integrator))
        sim.reset()

        def draw(rng):
            q = rng.uniform(-0.4, 0.4, size=2)
            if limits:
                q[0] = limits[1] + rng.uniform(-1e-3, 1e-3)
            v = 2.0 * rng.normal(size=2)
            if integrator != "semi_implicit_euler":
                q[0], v[0] = limits[1] - 2e-4 - abs(q[0] - limits[1]), 3.0 + abs(v[0])
            if gears:
                q[0] = -0.7 * q[1]
            return q, v, rng.normal(size=2)

        return sim, draw

    return make


def four_bar():
    """A crank-rocker whose loop has five rows, of which three are redundant."""
    sim = mb.Simulator(replace(mb.load_scene(CONFIG + "four_bar.yaml"), loops="multipliers"))
    sim.reset()

    def draw(rng):
        sim.reset()
        sim.set_state(sim.q, sim.v * rng.uniform(0.2, 2.0))
        sim.step(steps=int(rng.integers(1, 300)))
        return sim.q, sim.v, np.zeros(len(sim.world.joint_names))

    return sim, draw


def held(kind, apart=None, **more):
    """Two boxes in the air, held together by a closure with a small error; A's frame stands ``apart`` in B's [m]."""

    def make():
        boxes = tuple(M.Primitive(name, "box", (0.2, 0.16, 0.12), M.Pose((0, 0, z), (0.1 * z, 0.3, 0.2)), "free", mass)
                      for name, z, mass in (("a", 0.0, 1.0), ("b", 0.5, 0.6)))  # fmt: skip
        pose = M.Pose((0.1, 0.05, 0.2), (0.1, 0.2, 0.3))
        closure = M.Closure(kind, "a", "b", pose_a=pose, **more)
        if apart is not None:
            (R_a, p_a), (R_b, p_b) = ((box.pose.rotation(), box.pose.origin()) for box in boxes)
            R = R_a @ pose.rotation()
            p = R_b.T @ (p_a + R_a @ pose.origin() - R @ apart - p_b)
            quat = M.rotations.matrix_to_quat(R_b.T @ R)
            closure = replace(closure, pose_b=M.Pose(tuple(p), quat_xyzw=tuple(quat)))
        sim = mb.Simulator(mb.Scene(primitives=boxes, loop_closures=(closure,), loops="multipliers"))
        sim.reset()
        start, tree = sim.q, sim.context.tree
        return sim, lambda rng: (displaced(tree, start, 1e-4 * rng.normal(size=12)), rng.normal(size=12), np.zeros(0))

    return make


def flexible(table=False, **settings):
    """An arm with a flexible link whose hand, whose weight and whose own end fall on the ground or on a box."""

    def make():
        urdf = ARM
        for link, x in (("hand", 0.1), ("weight", 0.0)):
            begin = urdf.index(f'<link name="{link}">')
            end = urdf.index("</link>", begin)
            urdf = urdf[:end] + BALL.format(x) + urdf[end:]
        urdf = urdf.replace('<link name="fore"/>', f'<link name="fore">{BALL.format(0.35)}</link>')
        link = M.FlexibleLink(beam=strip(), damping_ratio=0.01)
        robot = M.SceneModel(urdf, flexible_links={"fore": link}, joints={"elbow": 0.25}, pose=M.Pose((0, 0, 0.05)))
        box = M.Primitive("box", "box", (2.0, 2.0, 0.04), M.Pose((0.6, 0, 0.0)), "free", 2.0)
        bodies, ground, gravity = ((box,), None, (0, 0, 0)) if table else ((), M.Ground(), (0, 0, -9.81))
        sim = mb.Simulator(mb.Scene(models=(robot,), primitives=bodies, ground=ground, gravity=gravity, **settings))
        sim.reset()

        def draw(rng):
            sim.reset()
            v = sim.v + 0.3 * rng.normal(size=len(sim.v))
            if table:  # it comes up and turns
                v[-6:] = *rng.normal(size=3), 0.0, 0.0, 1.0
            sim.set_state(sim.q, v)
            for _ in range(300):
                q, v = sim.q, sim.v
                if (sim.step().contacts["state"] != "separate").any() and rng.uniform() < 0.2:
                    break
            return q, v + 0.01 * rng.normal(size=len(v)), 0.1 * rng.normal(size=len(sim.world.joint_names))

        return sim, draw

    return make


SCENES = {
    "chain of six": chain,
    "box on a table": shipped("box_on_table.yaml", 5, 0.3),
    "dual arm": shipped("dual_arm_lift.yaml", 20, 0.05, held=True),
    "quadruped": shipped("standing_quadruped.yaml", 50, 0.3),
    "box pushed": shipped("push_box.yaml", 20, 0.05, held=True),
    "ramp": shipped("ramp.yaml", 20, 0.3),
    "can": shipped("falling_can.yaml", 300, 0.2),
    "ball": posed("sphere"),
    "ball with rolling friction": posed("sphere", rolling=0.01, torsional=0.02),
    "ball in honey": posed("sphere", friction_model="no_slip"),
    "capsule": posed("capsule"),
    "box that lands": posed("box"),
    "cylinder": posed("cylinder"),
    "cone": posed("cone"),
    "ellipsoid": posed("ellipsoid"),
    "ball on hills": posed("sphere", hills=True),
    "box on hills": posed("box", hills=True),
    "bouncing ball": posed("sphere", speed=3.0, restitution=0.6),
    "bouncing box": posed("box", restitution=0.5),
    "bouncing box, as printed": posed("box", restitution=0.5, restitution_law="papers"),
    "box that lands, midpoint": posed("box", integrator="midpoint"),
    "bouncing box, midpoint": posed("box", restitution=0.5, integrator="midpoint"),
    "bouncing capsule, rk4, as printed": posed("capsule", restitution=0.5, restitution_law="papers", integrator="rk4"),
    "bouncing box, polygons": posed("box", restitution=0.5, friction_model="coulomb_polyhedral"),
    "bouncing capsule, polygons, midpoint": posed("capsule", restitution=0.5, friction_model="coulomb_polyhedral",
                                                  integrator="midpoint"),
    "capsule, polygons, midpoint": posed("capsule", speed=0.5, down=0.003, integrator="midpoint",
                                         friction_model="coulomb_polyhedral"),
    "bouncing ball with rolling friction": posed("sphere", speed=3.0, restitution=0.6, rolling=0.01, torsional=0.02),
    "joint that strikes its limit, midpoint": joints(limits=(-0.5, 0.5), integrator="midpoint"),
    "bouncing capsule, by Newton": posed("capsule", restitution=0.5, restitution_law="newton"),
    "cylinder on a ball": pair("cylinder", "sphere"),
    "two cylinders": pair("cylinder", "cylinder"),
    "box on a ball": pair("box", "sphere"),
    "two capsules": pair("capsule", "capsule"),
    "two boxes": pair("box", "box"),
    "box on a capsule": pair("box", "capsule"),
    "ring of triangles": ring,
    "limits": joints(limits=(-0.5, 0.5)),
    "joint friction": joints(friction=0.8, stiffness=20.0, damping=0.2),
    "gears": joints(gears=(Gear("hinge_0", "hinge_1", -0.7),)),
    "crank and rocker": four_bar,
    "two bodies on a hinge": held("axis"),
    "two bodies on a rod": held("distance"),
    "two bodies welded": held("weld"),
    "two bodies in a point": held("point"),
    "two bodies on a plane": held("planar", (0.15, -0.1, 0.0)),
    "two bodies on a screw": held("screw", (0.0, 0.0, 0.24), pitch=0.12),
    "flexible arm": flexible(),
    "flexible arm and a box": flexible(table=True),
    "servos": joints(actuators={"hinge_1": M.Actuator("position", stiffness=50.0, damping=2.0)}),
}

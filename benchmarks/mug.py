# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A mug held by its handle in three fingers of the dual arm and shaken: how far it creeps, here and in MuJoCo.

    python benchmarks/mug.py [--seconds 10] [--triangles 5000] [--only ours]

The robot is urdf/dual_arm.urdf, its joints on position servos but for the fingers of the left hand: the thumb has an
effort of 6 N m, the other two 3 N m each.  The targets of two joints swing, of the shoulder's at 3 Hz, which moves the
hand up and down, and of the wrist's at 2 Hz, which turns it about the arm's axis.  The mug, a mesh made by code of
1500 kg/m^3, hangs by its handle between thumb and fingers.

"creep" is the largest distance that the mug's origin has gone in the frame of any of the fingers from where it was
after 2 s, looked at each second, when the arm is where it was; "turned" the largest angle; "shaken" the way of the hand
up and down.  MuJoCo takes the same bodies, masses, servos and targets, its elliptic cones, Newton's solver and contacts
as stiff as they go (solref of two steps, solimp 0.99 to 0.9999, impratio 100: with its defaults the mug drops at once),
and the mesh as its hull, or as the signed distance field that it makes of it.  Times are means of process time a step.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix

ROBOT = "package://mb_contact/urdf/dual_arm.urdf"
ARM = {"arm_joint_1": 0.3488, "arm_joint_2": 0.712, "arm_joint_4": 1.2184, "arm_joint_6": np.pi - 1.9304,
       "arm_joint_7": 0.3488}  #: hands in front of the robot, palms towards each other [rad]  # fmt: skip
EFFORTS = {"left_finger_1_joint": 6.0, "left_finger_2_joint": 3.0, "left_finger_3_joint": 3.0}  #: [N m]
FINGERS = ("left_finger_1", "left_finger_2", "left_finger_3")
SERVO = mb.model.Actuator("position", stiffness=2e4, damping=400.0)  #: of all other joints
SHAKEN = {"left_arm_joint_1": (0.03, 3.0), "left_arm_joint_7": (0.2, 2.0)}  #: targets swing by [rad], at [Hz]
SETTLED = 2  #: [s]
ANGLE = 1.3  #: of the fingers when they lie flat on the sides of the handle [rad]
CLOSED = ANGLE - 1e-4  #: of the fingers at the start [rad]
WIDE, THICK = 0.018, 0.007  #: half of the handle's bar: across the fingers, and along them [m]
#: of the bar from the palm's middle along y: fingers of radius 11 mm turn about hinges at x = 22 mm, y = 35 mm [m]
BAR = 0.035 + (0.011 - (0.022 - WIDE) * np.sin(ANGLE)) / np.cos(ANGLE)
FRICTION = 0.8
STEP = 1e-3


def mug(triangles):
    """Vertices and triangles of a mug, whose handle's bar lies on the z axis: a body of revolution and a handle."""
    import trimesh

    sides = max(12, round(np.sqrt(2.05 * triangles)))
    profile = [(0.0, -0.065), (0.036, -0.065), (0.04, -0.06), (0.04, 0.063), (0.038, 0.065), (0.036, 0.063)]
    inner = [(0.036, z) for z in np.linspace(0.05, -0.055, 10)]
    cup = trimesh.creation.revolve(np.array([*profile, *inner, (0.032, -0.06), (0.0, -0.06)]), sections=sides)
    vertices = np.array(cup.vertices) + (0.0, 0.104, 0.0)
    arc = np.linspace(0.0, 0.5 * np.pi, 6)
    radius, half, start = 0.015, 0.05, 0.066
    corner = np.stack([radius - radius * np.sin(arc), half - radius + radius * np.cos(arc)], axis=1)  # (y, z)
    upper = np.concatenate([[(start, half)], corner])
    path = np.concatenate([upper, upper[::-1] * (1.0, -1.0)])
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    slope, part = 1.0 / np.tan(ANGLE), np.linspace(-1.0, 1.0, max(2, sides // 8))[:-1]
    n = THICK * np.concatenate([part, np.ones_like(part), -part, -np.ones_like(part)])  # once around the section
    across = np.concatenate([np.ones_like(part), -part, -np.ones_like(part), part]) * (WIDE + slope * n)
    rings = [np.column_stack([across, y - n * t[1], z + n * t[0]]) for (y, z), t in zip(path, along)]
    handle = trimesh.Trimesh(*_tube(rings), process=False)
    count = len(vertices)
    triangles = np.concatenate([np.array(cup.faces), np.array(handle.faces) + count])
    return np.concatenate([vertices, np.array(handle.vertices)]), triangles


def _tube(rings):
    """Vertices and triangles of a tube through rings, with a lid at either end."""
    n, m = len(rings), len(rings[0])
    vertices = np.concatenate([*rings, [rings[0].mean(axis=0), rings[-1].mean(axis=0)]])
    k, i = np.meshgrid(np.arange(n - 1), np.arange(m), indexing="ij")
    a, b = k * m + i, k * m + (i + 1) % m
    sides = np.stack([a, b, b + m, a, b + m, a + m], axis=-1).reshape(-1, 3)
    i = np.arange(m)
    first = np.column_stack([np.full(m, n * m), (i + 1) % m, i])
    last = np.column_stack([np.full(m, n * m + 1), (n - 1) * m + i, (n - 1) * m + (i + 1) % m])
    return vertices, np.concatenate([sides, first, last])


def targets(t):
    """Of the joints of SHAKEN at a time [rad, s]."""
    return [ARM[name[5:]] + size * (1.0 - np.cos(2.0 * np.pi * rate * t)) for name, (size, rate) in SHAKEN.items()]


def scene(file, kind):
    """The left hand around the handle of the mug."""
    joints = {f"{side}_{name}": q for side in ("left", "right") for name, q in ARM.items()}
    model = mb.model.SceneModel(
        ROBOT, joints=joints | dict.fromkeys(EFFORTS, CLOSED),
        actuators={name: SERVO for name in mb.load_urdf(ROBOT).joint_names if name not in EFFORTS},
        materials=mb.model.ModelMaterials(links=dict.fromkeys((*FINGERS, "left_palm"), "rubber")),
    )  # fmt: skip
    robot = mb.Scene(
        models=(model,), materials={"rubber": mb.model.Material(friction=FRICTION)}, time_step=STEP
    )
    p, quaternion = mb.Simulator(robot).link_pose("left_palm")
    body = mb.model.Primitive(
        "mug", "mesh", mesh=str(file), base="free", density=1500.0, collision_meshes=kind, material="rubber",
        pose=mb.model.Pose(tuple(p + quat_to_matrix(quaternion) @ (0.0, BAR, 0.0)), quat_xyzw=tuple(quaternion)),
    )  # fmt: skip
    return dataclasses.replace(robot, primitives=(body,))


class Creep:
    """How far the mug goes in the fingers, from its poses after SETTLED on, and the hand up and down."""

    def __init__(self):
        self.first, self.way, self.angle, self.heights = None, 0.0, 0.0, []

    def see(self, k, pose_of):
        """Behind step k; ``pose_of`` a link is (R, p) in the world."""
        self.heights.append(pose_of("left_arm_link_7")[1][2])
        if k * STEP < SETTLED - 1e-9 or k % round(1.0 / STEP):
            return
        R, p = pose_of("mug")
        now = [(Q.T @ R, Q.T @ (p - o)) for Q, o in map(pose_of, FINGERS)]
        self.first = self.first or now
        for (Q, o), (R, p) in zip(self.first, now):
            self.way = max(self.way, float(np.linalg.norm(p - o)))
            self.angle = max(self.angle, 2.0 * float(np.linalg.norm(matrix_to_quat(Q.T @ R)[:3])))

    def shaken(self):
        """From the lowest place of the hand to the highest [m]."""
        return np.ptp(self.heights)


def ours(file, kind, options):
    """Line of our figures."""
    sim = mb.Simulator(scene(file, kind))
    effort = np.array([EFFORTS.get(name, 0.0) for name in sim.world.joint_names])
    creep, unsolved, deepest, seconds = Creep(), 0, 0.0, []

    def pose_of(link):
        p, quaternion = sim.link_pose(link)
        return quat_to_matrix(quaternion), p

    for k in range(round(options.seconds / STEP)):
        sim.set_targets(list(SHAKEN), targets((k + 1) * STEP))
        begin = time.process_time()
        certificate = sim.step(effort).certificate
        seconds.append(time.process_time() - begin)
        unsolved += not certificate.residual <= 1e-10
        deepest = max(deepest, certificate.penetration, -certificate.end_gap)
        creep.see(k + 1, pose_of)
    return _line(f"ours, {kind}", creep, deepest, unsolved, seconds, certificate.contacts)


def peer(world, folder, **exact):
    """MuJoCo's model of a scene, its contacts as stiff as they go.

    ``exact`` are vertices and triangles of the bodies that are signed distance fields; the others are hulls.
    """
    import mujoco

    path = folder / "peer.xml"
    mb.model.export_mjcf(world, path)
    spec = mujoco.MjSpec.from_file(str(path))
    spec.option.timestep, spec.option.cone = STEP, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.impratio = 100.0
    for each in spec.geoms:
        each.solref[:2], each.solimp[:] = (2.0 * STEP, 1.0), (0.99, 0.9999, 1e-4, 0.5, 2.0)
    for name, (vertices, triangles) in exact.items():
        geom = next(g for g in spec.geoms if g.name == name)
        spec.add_mesh(name=f"exact_{name}", uservert=vertices.ravel(), userface=triangles.ravel().astype(int))
        geom.type, geom.meshname = mujoco.mjtGeom.mjGEOM_SDF, f"exact_{name}"
        geom.pos, geom.quat = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        geom.contype, geom.conaffinity = 1, 1
    m = spec.compile()
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    return m, d


def mujocos(file, kind, folder, options):
    """Line of MuJoCo's figures; ``kind`` is mesh (hulls) or sdf."""
    import mujoco

    m, d = peer(scene(file, "convex_hull"), folder, **({"mug": mug(options.triangles)} if kind == "sdf" else {}))
    servos = [m.actuator(name).id for name in SHAKEN]
    fingers = [int(m.joint(name).dofadr[0]) for name in EFFORTS]
    creep, deepest, seconds = Creep(), 0.0, []

    def pose_of(link):
        return d.body(link).xmat.reshape(3, 3).copy(), d.body(link).xpos.copy()

    for k in range(round(options.seconds / STEP)):
        d.ctrl[servos] = targets((k + 1) * STEP)
        d.qfrc_applied[fingers] = list(EFFORTS.values())
        begin = time.process_time()
        mujoco.mj_step(m, d)
        seconds.append(time.process_time() - begin)
        deepest = max(deepest, -min(d.contact.dist, default=0.0))
        mujoco.mj_kinematics(m, d)
        creep.see(k + 1, pose_of)
    return _line(f"MuJoCo, {'hull' if kind == 'mesh' else kind}", creep, deepest, None, seconds, d.ncon)


def _line(name, creep, deepest, unsolved, seconds, contacts):
    unsolved = "" if unsolved is None else str(unsolved)
    return (
        f"{name:22}{creep.way:10.1e}{creep.angle:10.1e}{creep.shaken():10.3f}{deepest:10.1e}{unsolved:>10}"
        f"{contacts:10}{1e3 * np.mean(seconds):10.3f}{1e3 * max(seconds):10.2f}"
    )


def write(file, vertices, triangles):
    """An OBJ file, all digits that MuJoCo takes."""
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices.tolist()]
    file.write_text("\n".join(lines + [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]))
    return file


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated time (default: 10)")
    parser.add_argument("--triangles", type=int, default=5000, help="of the mug, about (default: 5000)")
    parser.add_argument("--only", default="", help="ours or mujoco")
    options = options_of(parser, seconds=3.0, triangles=600, only="ours")
    with tempfile.TemporaryDirectory() as folder:
        vertices, triangles = mug(options.triangles)
        file = write(Path(folder) / "mug.obj", vertices, triangles)
        print(f"{len(triangles)} triangles, {options.seconds:g} s, friction {FRICTION}, steps of {1e3 * STEP:g} ms")
        print(f"{'':22}{'creep m':>10}{'turned':>10}{'shaken m':>10}{'deepest':>10}{'unsolved':>10}"
              f"{'contacts':>10}{'mean ms':>10}{'worst':>10}")  # fmt: skip
        for kind in () if options.only == "mujoco" else ("mesh", "convex_hull"):
            print(ours(file, kind, options), flush=True)
        for kind in () if options.only == "ours" else ("mesh", "sdf"):
            print(mujocos(file, kind, Path(folder), options), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

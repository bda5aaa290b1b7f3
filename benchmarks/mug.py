# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A mug held by its handle in three fingers and shaken: how far it creeps in the hand, here and in MuJoCo.

    python benchmarks/mug.py [--seconds 10] [--triangles 5000] [--only ours]

The hand is the left one of urdf/dual_arm.urdf, with efforts of 6 N m in its thumb and 3 N m in its fingers, the spread
held still; its palm goes up and down by 15 mm at 3 Hz and turns about the arm's axis by 0.2 rad at 2 Hz.  The mug, a
mesh made by code of 1500 kg/m^3, hangs by its handle between thumb and fingers.

"creep" is the largest distance that the mug's origin has gone in the hand from where it was after 1 s, looked at each
second, when hand and palm are where they were; "turned" the largest angle.  MuJoCo takes the same bodies, masses and
motion, its elliptic cones, Newton's solver and contacts as stiff as they go (solref of two steps, solimp 0.99 to
0.9999, impratio 100: with its defaults the mug drops at once), and the mesh as its hull, or as the signed distance
field that it makes of it.  Times are means of process time a step.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from lxml import etree
from quick import options_of

import mb_contact as mb
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix

HAND = ("left_palm", "left_finger_1", "left_finger_2", "left_spread", "left_finger_3", "left_tcp")
EFFORTS = {"left_finger_1_joint": 6.0, "left_finger_2_joint": 3.0, "left_finger_3_joint": 3.0}  #: [N m]
UP, UP_RATE, TURN, TURN_RATE = 0.015, 3.0, 0.2, 2.0  #: of the palm [m], [Hz], [rad], [Hz]
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


def hand():
    """URDF of the hand on a slide and a hinge."""
    path = mb.model.find_resource("package://mb_contact/urdf/dual_arm.urdf")
    root = etree.parse(str(path)).getroot()
    for element in list(root):
        kept = element.tag == "material" or element.tag == "link" and element.get("name") in HAND
        kept = kept or element.tag == "joint" and element.find("parent").get("link") in HAND
        if not kept:
            root.remove(element)
    mass = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
    limit = '<limit lower="-1" upper="1" effort="10000" velocity="100"/>'
    for words in (
        '<link name="mount"/>', f'<link name="carriage">{mass}</link>',
        f'<joint name="up" type="prismatic"><parent link="mount"/><child link="carriage"/><axis xyz="0 0 1"/>{limit}'
        "</joint>",
        f'<joint name="turn" type="revolute"><parent link="carriage"/><child link="left_palm"/><axis xyz="0 1 0"/>'
        f"{limit}</joint>",
    ):  # fmt: skip
        root.append(etree.fromstring(words))
    return etree.tostring(root, encoding="unicode")


def shaking(t):
    """Positions and velocities of slide and hinge at a time [m, rad, s]; both begin at rest."""
    found = []
    for size, rate in ((UP, UP_RATE), (TURN, TURN_RATE)):
        w = 2.0 * np.pi * rate
        found += [size * (1.0 - np.cos(w * t)), size * w * np.sin(w * t)]
    return np.array(found[::2]), np.array(found[1::2])


def scene(file, kind):
    """The hand around the handle of the mug."""
    times = np.linspace(0.0, 1.0, 121)
    places = np.array([shaking(t)[0] for t in times])
    motions = tuple(
        mb.model.Motion(joint=name, times=tuple(times), positions=tuple(places[:, k]), periodic=True)
        for k, name in enumerate(("up", "turn"))
    )
    motions += (mb.model.Motion(joint="left_spread_joint"),)
    joints = dict.fromkeys(EFFORTS, CLOSED)
    fingers = dict.fromkeys(("left_finger_1", "left_finger_2", "left_finger_3", "left_palm"), "rubber")
    model = mb.model.SceneModel(
        hand(), joints=joints, materials=mb.model.ModelMaterials(links=fingers), pose=mb.model.Pose((0.0, 0.0, 0.5))
    )
    body = mb.model.Primitive(
        "mug", "mesh", mesh=str(file), base="free", density=1500.0, collision_meshes=kind, material="rubber",
        pose=mb.model.Pose((0.0, BAR, 0.5)),
    )  # fmt: skip
    return mb.Scene(
        models=(model,), primitives=(body,), materials={"rubber": mb.model.Material(friction=FRICTION)},
        motions=motions, time_step=STEP,
    )  # fmt: skip


class Creep:
    """How far the mug goes in the hand, from its pose after the first second on."""

    def __init__(self):
        self.first, self.way, self.angle = None, 0.0, 0.0

    def see(self, palm, body):
        """Both as (R, p) in the world."""
        R, p = palm[0].T @ body[0], palm[0].T @ (body[1] - palm[1])
        if self.first is None:
            self.first = R, p
        turn = matrix_to_quat(self.first[0].T @ R)
        self.way = max(self.way, float(np.linalg.norm(p - self.first[1])))
        self.angle = max(self.angle, 2.0 * float(np.linalg.norm(turn[:3])))


def ours(file, kind, options):
    """Line of our figures."""
    sim = mb.Simulator(scene(file, kind))
    effort = np.array([EFFORTS.get(name, 0.0) for name in sim.world.joint_names])
    creep, unsolved, deepest, seconds, every = Creep(), 0, 0.0, [], round(1.0 / STEP)
    for k in range(round(options.seconds / STEP)):
        begin = time.process_time()
        certificate = sim.step(effort).certificate
        seconds.append(time.process_time() - begin)
        unsolved += not certificate.residual <= 1e-10
        deepest = max(deepest, certificate.penetration, -certificate.end_gap)
        if (k + 1) % every == 0:
            creep.see(*((quat_to_matrix(x[1]), x[0]) for x in (sim.link_pose("left_palm"), sim.link_pose("mug"))))
    return _line(f"ours, {kind}", creep, deepest, unsolved, seconds, certificate.contacts)


def mujocos(file, kind, folder, options):
    """Line of MuJoCo's figures; ``kind`` is mesh (hulls) or sdf."""
    import mujoco

    path = folder / "mug.xml"
    mb.model.export_mjcf(scene(file, "convex_hull"), path)
    spec = mujoco.MjSpec.from_file(str(path))
    spec.option.timestep, spec.option.cone = STEP, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.impratio = 100.0
    for each in spec.geoms:
        each.solref[:2], each.solimp[:] = (2.0 * STEP, 1.0), (0.99, 0.9999, 1e-4, 0.5, 2.0)
    for equality in list(spec.equalities):
        spec.delete(equality)  # what is prescribed is put into the state
    geom = next(g for g in spec.geoms if g.name == "mug")
    if kind == "sdf":
        vertices, triangles = mug(options.triangles)
        spec.add_mesh(name="exact", uservert=vertices.ravel(), userface=triangles.ravel().astype(int))
        geom.type, geom.meshname = mujoco.mjtGeom.mjGEOM_SDF, "exact"
        geom.pos, geom.quat = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        geom.contype, geom.conaffinity = 1, 1
    m = spec.compile()
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    joints = [m.joint(name) for name in ("up", "turn")]
    q, v = [int(j.qposadr[0]) for j in joints], [int(j.dofadr[0]) for j in joints]
    still = m.joint("left_spread_joint")
    m.dof_armature[[*v, int(still.dofadr[0])]] = 1e3  # the mug does not move the hand
    fingers = [int(m.joint(name).dofadr[0]) for name in EFFORTS]
    creep, deepest, seconds, every = Creep(), 0.0, [], round(1.0 / STEP)
    for k in range(round(options.seconds / STEP)):
        d.qpos[q], d.qvel[v] = shaking(k * STEP)
        d.qpos[still.qposadr[0]] = d.qvel[still.dofadr[0]] = 0.0
        d.qfrc_applied[fingers] = list(EFFORTS.values())
        begin = time.process_time()
        mujoco.mj_step(m, d)
        seconds.append(time.process_time() - begin)
        deepest = max(deepest, -min(d.contact.dist, default=0.0))
        if (k + 1) % every == 0:
            d.qpos[q], _ = shaking((k + 1) * STEP)
            mujoco.mj_kinematics(m, d)
            creep.see(*((d.body(n).xmat.reshape(3, 3).copy(), d.body(n).xpos.copy()) for n in ("left_palm", "mug")))
    return _line(f"MuJoCo, {'hull' if kind == 'mesh' else kind}", creep, deepest, None, seconds, d.ncon)


def _line(name, creep, deepest, unsolved, seconds, contacts):
    unsolved = "" if unsolved is None else str(unsolved)
    return (
        f"{name:22}{creep.way:10.1e}{creep.angle:10.1e}{deepest:10.1e}{unsolved:>10}{contacts:10}"
        f"{1e3 * np.mean(seconds):10.3f}{1e3 * max(seconds):10.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated time (default: 10)")
    parser.add_argument("--triangles", type=int, default=5000, help="of the mug, about (default: 5000)")
    parser.add_argument("--only", default="", help="ours or mujoco")
    options = options_of(parser, seconds=2.0, triangles=600, only="ours")
    with tempfile.TemporaryDirectory() as folder:
        file, (vertices, triangles) = Path(folder) / "mug.obj", mug(options.triangles)
        lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices.tolist()]
        file.write_text("\n".join(lines + [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]))
        print(f"{len(triangles)} triangles, {options.seconds:g} s, friction {FRICTION}, steps of {1e3 * STEP:g} ms")
        print(f"{'':22}{'creep m':>10}{'turned':>10}{'deepest':>10}{'unsolved':>10}{'contacts':>10}{'mean ms':>10}"
              f"{'worst':>10}")  # fmt: skip
        for kind in () if options.only == "mujoco" else ("mesh", "convex_hull"):
            print(ours(file, kind, options), flush=True)
        for kind in () if options.only == "ours" else ("mesh", "sdf"):
            print(mujocos(file, kind, Path(folder), options), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

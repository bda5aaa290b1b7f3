# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms of triangle meshes: a mug on a hook, a key in a lock, wheels with teeth."""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from scenes.mesh_bodies import closed, involute_wheel, mug, revolved, sheet_of, tube, wheel, write_obj

Pose, Primitive = mb.model.Pose, mb.model.Primitive
DEEPEST = 1e-8

LINK = """<link name="{name}"><inertial><mass value="0.2"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0"
  iyz="0"/></inertial>{shape}</link>"""
MESH = '<collision><geometry><mesh filename="{file}"/></geometry></collision>'
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/>
  <origin xyz="{at}" rpy="0 0 {turn}"/><limit lower="-1" upper="1" effort="100" velocity="100"/>
  <dynamics damping="1e-3"/></joint>"""


def mechanism(folder, links, joints, **scene):
    """A simulator of links that are meshes, and joints about or along z; no gravity."""
    files = {name: write_obj(folder / f"{name}.obj", corners) for name, corners in links}
    shapes = {joint["child"]: "" for joint in joints} | {name: MESH.format(file=files[name]) for name in files}
    text = "".join(LINK.format(name=name, shape=shape) for name, shape in shapes.items())
    text += "".join(JOINT.format(**joint) for joint in joints)
    path = folder / "mechanism.urdf"
    path.write_text(f'<robot name="mechanism"><link name="frame"/>{text}</robot>')
    model = mb.model.SceneModel(str(path), base="weld", collision_meshes="mesh")
    return mb.Simulator(mb.Scene(models=(model,), gravity=(0.0, 0.0, 0.0), **scene))


def step(sim, effort=None):
    """One step, solved and not deep."""
    certificate = sim.step(effort).certificate
    assert certificate.solver != "over_budget" and certificate.end_gap >= -DEEPEST
    return certificate


def test_a_mug_hangs_on_a_hook(tmp_path):
    """Of the mug's handle one side rests on the hook; its centre swings below and comes to rest there."""
    cup = revolved([(0.0, 0.0), (0.035, 0.0), (0.035, 0.08), (0.032, 0.08), (0.032, 0.004), (0.0, 0.004)], 24)
    angle = np.linspace(-0.45 * np.pi, 0.45 * np.pi, 9)
    arc = np.stack([0.034 + 0.03 * np.cos(angle), np.zeros(9), 0.04 + 0.025 * np.sin(angle)], axis=1)
    mug = np.concatenate([cup, tube(arc, 0.004, 8)])
    hook = Primitive("hook", "capsule", (0.004, 0.12), pose=Pose((0.0, 0.0, 0.0), (0.5 * np.pi, 0.0, 0.0)))
    inside = 0.034 + 0.03 - 0.004 - 0.0045  # the handle's inner side is above the hook
    body = Primitive("mug", "mesh", base="free", mass=0.3, mesh=str(write_obj(tmp_path / "mug.obj", mug)),
                     collision_meshes="mesh", pose=Pose((0.04, 0.0, -inside), (0.0, -0.5 * np.pi, 0.0)))  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=(hook, body)))
    first = step(sim).energy
    for _ in range(400):
        assert step(sim).energy <= first
    assert -0.1 < sim.q[2] < 0.0  # it has not fallen off


@pytest.mark.parametrize("start", [-0.9, -0.5, 0.7])
def test_a_mug_whose_file_has_six_digits_stays_on_its_hook(tmp_path, start):
    """Rounding makes normals at its edges no units in the 13th digit; each edge that touches is a contact all the same.

    The handle is an arc of 30 mm about (38, 0, 47) mm, on whose inner side the hook starts, at an angle.
    """
    about, turn = np.array([0.038, 0.0, 0.047]), start - 0.5 * np.pi
    at = about + 0.0195 * np.array([np.cos(start), 0.0, np.sin(start)])
    R = np.array([[np.cos(turn), 0.0, np.sin(turn)], [0.0, 1.0, 0.0], [-np.sin(turn), 0.0, np.cos(turn)]])
    hook = Primitive("hook", "capsule", (0.005, 0.1), pose=Pose((0.0, 0.015, 0.0), (0.5 * np.pi, 0.0, 0.0)))
    body = Primitive("mug", "mesh", base="free", mass=0.35, mesh=str(write_obj(tmp_path / "mug.obj", mug().round(6))),
                     collision_meshes="mesh", pose=Pose(tuple(-R @ at), (0.0, turn, 0.0)))  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=(hook, body)))
    for _ in range(500):
        step(sim)
    p, quaternion = sim.link_pose("mug")
    assert np.linalg.norm((quat_to_matrix(quaternion).T @ -p - about)[[0, 2]]) < 0.021


def keyhole(sides=32):
    """Outline (k, 2) of a hole of 4.02 mm with a slot along x, 2.04 mm wide and up to 12.02 mm; star-shaped."""
    radius, half, reach = 0.00402, 0.00102, 0.01202
    first = np.arcsin(half / radius)
    angle = np.linspace(first, 2.0 * np.pi - first, sides)
    return np.concatenate([[(reach, -half), (reach, half)], radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)])


def plate(hole, low, high):
    """A prism between two heights with a star-shaped hole."""
    outer = 0.03 * hole / np.linalg.norm(hole, axis=1)[:, None]
    rows = [(hole, low), (outer, low), (outer, high), (hole, high)]
    return sheet_of(closed(np.stack([np.column_stack([xy, np.full(len(xy), z)]) for xy, z in rows])))


def bit(low, high):
    """The part of a key that fills the slot of its keyhole, to 12 mm from the axis."""
    block = 0.001 * np.array([(6.0, -1.0), (6.0, 1.0), (-6.0, 1.0), (-6.0, -1.0)])
    rows = [(0.0 * block, low), (block, low), (block, high), (0.0 * block, high)]
    grid = np.stack([np.column_stack([xy + (0.006, 0.0), np.full(4, z)]) for xy, z in rows])
    return sheet_of(np.concatenate([grid, grid[:, :1]], axis=1))


@pytest.mark.parametrize("fits", [True, False], ids=["right key", "wrong key"])
def test_a_key_turns_in_its_lock(tmp_path, fits):
    """Pushed through a keyhole with 20 um clearance up to its collar, turned, and pulled: a turned key is held.

    The lock is a plate between -2 and 2 mm, and a ring behind it at -4.5 mm that the bit of a wrong key strikes.
    """
    ward = revolved([(0.008, -0.006), (0.009, -0.006), (0.009, -0.0045), (0.008, -0.0045)], 32)
    collar = [(0.0, -0.0042), (0.004, -0.0042), (0.004, 0.002), (0.006, 0.002), (0.006, 0.005), (0.0, 0.005)]
    key = np.concatenate([revolved(collar, 32), bit(-0.0042 if fits else -0.0052, -0.0022)])
    sim = mechanism(tmp_path, (("lock", np.concatenate([plate(keyhole(), -0.002, 0.002), ward])), ("key", key)), [
        dict(name="mount", kind="fixed", parent="frame", child="lock", at="0 0 0", turn=0.0),
        dict(name="slide", kind="prismatic", parent="frame", child="carrier", at="0 0 0", turn=0.0),
        dict(name="turn", kind="continuous", parent="carrier", child="key", at="0 0 0", turn=0.0),
    ])  # fmt: skip
    sim.state.q[:] = 0.01, 0.0
    pushed, turned, pulled = np.array([[-2.0, 0.0], [-0.2, 0.01], [2.0, 0.0]])
    for effort, steps in ((pushed, 150), (turned, 200), (pulled, 100)):
        for _ in range(steps):
            step(sim, effort)
        slide, turn = sim.q
        if effort is pushed:
            assert slide == pytest.approx(0.0 if fits else 0.0007, abs=1e-7) and abs(turn) < 0.01
        elif effort is turned:
            assert turn > 1.0 if fits else abs(turn) < 0.01
        else:
            assert slide == pytest.approx(0.0002, abs=1e-7) if fits else slide > 0.01


def free_turn(outline, other, centre):
    """Angles (least, most) by which a polygon can turn about ``centre`` until it meets another polygon.

    A vertex of one meets an edge of the other where both are at one distance from the centre.
    """
    least, most = -np.pi, np.pi
    for points, edges, sign in ((outline, other, 1.0), (other, outline, -1.0)):
        a = edges - centre
        d, p = np.roll(a, -1, axis=0) - a, points - centre
        square, along = np.sum(d * d, axis=1), np.sum(a * d, axis=1)
        root = along**2 - square * (np.sum(a * a, axis=1) - np.sum(p * p, axis=1)[:, None])
        for side in (-1.0, 1.0):
            with np.errstate(invalid="ignore"):
                t = (-along + side * np.sqrt(root)) / square
            i, k = np.nonzero((t >= 0.0) & (t <= 1.0))
            x, y = (a[k] + t[i, k][:, None] * d[k]).T
            turn = sign * (np.arctan2(y, x) - np.arctan2(p[i, 1], p[i, 0]))
            turn = (turn + np.pi) % (2.0 * np.pi) - np.pi
            least = max(least, turn[turn <= 0.0].max(initial=-np.pi))
            most = min(most, turn[turn > 0.0].min(initial=np.pi))
    return least, most


def turned(points, angle, about=(0.0, 0.0)):
    """Points (k, 2) turned."""
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([(c, s), (-s, c)]) + about


@pytest.mark.parametrize("turns", [0.5, pytest.param(10.0, marks=pytest.mark.slow)])
def test_two_wheels_keep_their_ratio(tmp_path, turns):
    """Wheels of 18 and 27 involute teeth: at up to 40 rad/s they stay within the play that their polygons have."""
    first, second, distance = involute_wheel(18, 8), involute_wheel(27, 8), 0.045
    sim = mechanism(tmp_path, (("first", wheel(first, 0.004, 0.008)), ("second", wheel(second, 0.004, 0.01))), [
        dict(name="drives", kind="continuous", parent="frame", child="first", at="0 0 0", turn=0.0),
        dict(name="driven", kind="continuous", parent="frame", child="second", at=f"{distance} 0 0", turn=0.0),
    ])  # fmt: skip
    sim.state.v[:] = 20.0, -20.0 * 18 / 27
    while sim.q[0] < 2.0 * np.pi * turns:
        for _ in range(8):
            step(sim, (0.06, 0.0))
        a, b = turned(first, sim.q[0]), turned(second, sim.q[1])
        least, most = free_turn(b, a - (distance, 0.0), np.zeros(2))
        assert most - least == pytest.approx(1.75e-3, rel=0.15)  # the play, as an angle
        assert -1e-7 < -least and -1e-7 < most
    assert sim.q[1] == pytest.approx(-sim.q[0] * 18 / 27, abs=1.6e-3)

# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact coordinates and the complementarity simulator: the same scene, first order in its step and its mesh."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
import yaml
from scipy.spatial import ConvexHull

import mb_contact as mb
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.surfaces import SurfaceBody, ellipsoid, plane
from scenes.surface_cases import OneContact, rotation

AXES = np.array([0.10, 0.15, 0.25])
MASS = 1.0
MOMENTS = MASS / 5.0 * np.array([AXES[1] ** 2 + AXES[2] ** 2, AXES[0] ** 2 + AXES[2] ** 2, AXES[0] ** 2 + AXES[1] ** 2])
SPIN = np.array([0.5, 0.2, 4.0])


def start(friction):
    """The ellipsoid, tilted, at its start."""
    motion = OneContact(SurfaceBody(ellipsoid(AXES), MASS, np.diag(MOMENTS)), plane(), friction)
    q, _ = motion.contact.first_touch(rotation((0, 1, 0), 1.2), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0))
    if friction:
        motion.roll(q, motion.contact.surfaces[0].frame(q[:2]).T @ SPIN)
    else:
        motion.slide(q)
    return motion


def mesh(folder, count):
    """A convex mesh of ``count`` points spread evenly over the ellipsoid (Fibonacci's lattice)."""
    i = np.arange(count) + 0.5
    height, turn = 1.0 - 2.0 * i / count, np.pi * (1.0 + np.sqrt(5.0)) * i
    radius = np.sqrt(1.0 - height * height)
    points = AXES * np.stack((radius * np.cos(turn), radius * np.sin(turn), height), 1)
    file = folder / f"ellipsoid_{count}.ply"
    trimesh.Trimesh(points, ConvexHull(points).simplices, process=False).export(file)
    return {"shape": "mesh", "mesh": str(file), "hull_vertices": count}


def simulate(folder, friction, step, duration, shape=None):
    """Pose from the simulator; its body is the exact ellipsoid unless another shape is given."""
    motion = start(friction)
    R, p = motion.pose()
    _, w, v = motion.centre_of_mass()
    scene = {
        "time_step": step, "ground": {"material": "ground"}, "friction_directions": 16,
        "materials": {"ground": {"friction": min(friction, 5.0)}},
        "primitives": [{
            "name": "egg", **(shape or {"shape": "ellipsoid", "size": (2.0 * AXES).tolist()}),
            "base": "free", "mass": MASS, "inertia": MOMENTS.tolist(), "material": "ground",
            "pose": {"position": p.tolist(), "quat_xyzw": matrix_to_quat(R).tolist()},
            "velocity": {"angular": w.tolist(), "linear": v.tolist()},
        }],
    }  # fmt: skip
    file = folder / "egg.yaml"
    file.write_text(yaml.safe_dump(scene), encoding="utf-8")
    simulator = mb.Simulator(file)
    for _ in range(round(duration / step)):
        simulator.step()
    p, quaternion = simulator.link_pose("egg")
    return quat_to_matrix(quaternion), p


@pytest.mark.parametrize(("friction", "bound"), [(np.inf, 2e-3), (0.0, 5e-4)])
def test_the_simulator_comes_to_the_same_place(tmp_path, friction, bound):
    """Rolling: the error halves with the step; on ice it is small beside the way."""
    duration, errors = 0.3, []
    motion = start(friction)
    motion.run(duration, 1e-3)
    R, p = motion.pose()
    for step in (1e-3, 5e-4):
        got_R, got_p = simulate(tmp_path, friction, step, duration)
        errors.append(max(np.abs(got_p - p).max(), AXES.max() * np.abs(got_R - R).max()))
    assert AXES.max() * np.abs(R - start(friction).pose()[0]).max() > 20.0 * bound  # it has moved
    assert max(errors) < bound
    if friction:
        assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("friction", [np.inf, 0.0])
def test_finer_meshes_come_nearer_to_the_exact_surface(tmp_path, friction):
    """Each edge that meets the ground is an inelastic impact: first order in the edges' length, 1 / sqrt(vertices)."""
    duration, errors = 0.3, []
    motion = start(friction)
    motion.run(duration, 1e-3)
    R, p = motion.pose()
    for count in (256, 1024, 4095):
        got_R, got_p = simulate(tmp_path, friction, 1e-3, duration, mesh(tmp_path, count))
        errors.append(max(np.abs(got_p - p).max(), AXES.max() * np.abs(got_R - R).max()))
    assert errors[2] < 0.0125 < errors[0] < 0.04
    assert all(1.5 < was / now < 4.0 for was, now in zip(errors, errors[1:]))

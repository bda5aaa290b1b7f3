# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The robot of the papers: its sizes, its symmetry, its hands, and that it can do the lift."""

from __future__ import annotations

import numpy as np
import pytest
import xacro
from lxml import etree

import mb_contact as mb
from mb_contact.model import build_world, load_scene, load_urdf
from mb_contact.model.poses import tree_poses
from mb_contact.model.shapes.inertia import breaks_triangle_inequality
from mb_contact.types import SHAPE_BOX, SHAPE_CAPSULE, WORLD
from paths import ROOT

SIDES = ("left", "right")
MIRROR = np.diag([1.0, -1.0, 1.0])


@pytest.fixture(scope="module")
def robot():
    return load_urdf(ROOT / "urdf" / "dual_arm.urdf")


@pytest.fixture(scope="module")
def world():
    return build_world(load_scene(ROOT / "config" / "dual_arm_lift.yaml"))


def frame_pose(world, link, q):
    R, p = tree_poses(world.tree, q)
    frame = world.frames[link]
    return R[frame.body] @ frame.R, p[frame.body] + R[frame.body] @ frame.p


def arm_jacobian(world, side, q):
    """6 x 7, angular first, world axes at the tcp, from the joint axes."""
    R, p = tree_poses(world.tree, q)
    _, tip = frame_pose(world, f"{side}_tcp", q)
    columns = []
    for k in (world.body_names.index(f"{side}_arm_link_{i}") for i in range(1, 8)):
        axis = R[k] @ world.tree.axis[k]
        columns.append(np.concatenate([axis, np.cross(axis, tip - p[k])]))
    return np.array(columns).T


def reach(world, side, q, R_goal, p_goal):
    """Inverse kinematics of one arm by Newton steps, staying near where it is; returns q and the residual."""
    joints = [world.joint_q[world.joint_names.index(f"{side}_arm_joint_{i}")] for i in range(1, 8)]
    q = q.copy()
    for _ in range(50):
        R, p = frame_pose(world, f"{side}_tcp", q)
        turn = 0.5 * sum(np.cross(R[:, i], R_goal[:, i]) for i in range(3))
        residual = np.concatenate([turn, p_goal - p])
        if np.abs(residual).max() < 1e-12:
            break
        q[joints] += np.linalg.pinv(arm_jacobian(world, side, q)) @ residual
    return q, np.abs(residual).max()


def test_jain_2014_table_1_sizes(robot):
    n, n_f, n_u = robot.n, 4, 4
    assert (n, robot.N, len(robot.joint_names), robot.nq) == (26, 26, 26, 26)
    non_minimal = 6 * n + (6 * n - robot.N) + n_u * (n_f + 2)
    minimal = robot.N + n_u * (n_f + 2)
    operational = n_u * (n_f + 2)
    assert (non_minimal, minimal, operational) == (310, 50, 24)


def test_layout(robot):
    heads = [name for name in robot.body_names if name.startswith("head")]
    assert heads == [f"head_link_{i}" for i in range(1, 5)]
    for side in SIDES:
        names = [name for name in robot.body_names if name.startswith(side)]
        arm = [f"{side}_arm_link_{i}" for i in range(1, 8)]
        assert names[:7] == arm
        assert sorted(names[7:]) == [f"{side}_finger_{i}" for i in (1, 2, 3)] + [f"{side}_spread"]
        for link in (f"{side}_palm", f"{side}_tcp"):
            assert robot.frames[link].body == robot.body_names.index(f"{side}_arm_link_7")
    for link in ("base_link", "pedestal", "torso"):
        assert robot.frames[link].body == WORLD
    assert robot.warnings == ()


def test_masses_and_limits_are_plausible(robot):
    tree = robot.tree
    for k in range(robot.n):
        assert np.linalg.eigvalsh(tree.inertia[k])[0] > 0.0
        assert not breaks_triangle_inequality(tree.inertia[k])
    for side in SIDES:
        arm = [robot.body_names.index(f"{side}_arm_link_{i}") for i in range(1, 8)]
        assert 15.0 < tree.mass[arm].sum() < 25.0
        assert list(tree.effort_limit[arm]) == [150, 150, 110, 110, 60, 40, 20]
    assert (tree.damping > 0.0).all() and (tree.effort_limit > 0.0).all()
    assert (tree.lower < 0.0).all() and (tree.upper > 0.0).all()


def test_reach_is_that_of_a_collaborative_arm(robot):
    for side in SIDES:
        _, tip = robot.link_pose(f"{side}_tcp", robot.neutral_q())
        _, shoulder = robot.link_pose(f"{side}_arm_link_2", robot.neutral_q())
        assert 0.85 <= np.linalg.norm(tip - shoulder) <= 0.91


def test_right_side_mirrors_the_left(robot):
    rng = np.random.default_rng(2)
    for _ in range(5):
        left = {name: rng.uniform(-1, 1) for name in robot.joint_names if name.startswith("left")}
        q = robot.q_from({**left, **{name.replace("left", "right"): value for name, value in left.items()}})
        for link in (name for name in robot.link_names if name.startswith("left")):
            (R, p), (R_right, p_right) = (
                robot.link_pose(link, q),
                robot.link_pose(link.replace("left", "right"), q),
            )
            np.testing.assert_allclose(p_right, MIRROR @ p, atol=1e-12)
            if link.endswith("tcp"):
                # x and z are mirrored; y completes a right-handed frame
                np.testing.assert_allclose(R_right, MIRROR @ R @ np.diag([1.0, -1.0, 1.0]), atol=1e-12)
            else:
                np.testing.assert_allclose(R_right, MIRROR @ R @ MIRROR, atol=1e-12)
    for name in (name for name in robot.joint_names if name.startswith("left")):
        i, j = (robot.joint_names.index(other) for other in (name, name.replace("left", "right")))
        assert (robot.lower[i], robot.upper[i]) == (robot.lower[j], robot.upper[j])
        assert robot.tree.mass[i] == robot.tree.mass[j]


def test_straight_fingers_touch_one_plane_around_the_tcp(robot):
    q = robot.neutral_q()
    for side in SIDES:
        R_tcp, p_tcp = robot.link_pose(f"{side}_tcp", q)
        ends = []
        for shape in (shape for shape in robot.geometries if shape.link.startswith(f"{side}_finger")):
            assert shape.kind == SHAPE_CAPSULE
            R, p = robot.link_pose(shape.link, q)
            axis, centre = R @ shape.R[:, 2], p + R @ shape.p
            for end in (-1.0, 1.0):
                surface = R_tcp.T @ (centre + end * shape.size[1] * axis - p_tcp) + [0, 0, shape.size[0]]
                assert surface[2] == pytest.approx(0.0, abs=1e-12)
                ends.append(surface[:2])
        assert len(ends) == 6 and abs(np.mean(ends, axis=0)[1]) < 1e-12
        assert np.abs(ends).max() + 0.011 < 0.12  # within the face of the box of the lift
        assert np.min(ends, axis=0)[0] < -0.05 < 0.05 < np.max(ends, axis=0)[0]


def test_fingers_close_towards_the_object(robot):
    for side in SIDES:
        R, p = robot.link_pose(f"{side}_tcp", robot.neutral_q())
        for i in (1, 2, 3):
            closed = robot.q_from({f"{side}_finger_{i}_joint": 0.5})
            shape = next(shape for shape in robot.geometries if shape.link == f"{side}_finger_{i}")
            R_link, p_link = robot.link_pose(shape.link, closed)
            assert (R.T @ (p_link + R_link @ shape.p - p))[2] > 0.0


def test_lift_starts_with_the_hands_beside_the_box(world):
    box = world.q0[world.tree.q_start[world.objects["box"]] :][:3]
    np.testing.assert_allclose(box, [0.55, 0.0, 0.8])
    for side, sign in zip(SIDES, (1.0, -1.0)):
        R, p = frame_pose(world, f"{side}_tcp", world.q0)
        np.testing.assert_allclose(R[:, 2], [0, -sign, 0], atol=1e-4)
        np.testing.assert_allclose(R[:, 0], [1, 0, 0], atol=1e-4)
        assert 0.10 < sign * p[1] - 0.12 < 0.15
        np.testing.assert_allclose(p[[0, 2]], box[[0, 2]], atol=1e-4)
        assert np.linalg.cond(arm_jacobian(world, side, world.q0)) < 15.0
    mu = {
        frozenset(world.geometry_links[i] for i in pair): value
        for pair, value in zip(world.geoms.pairs, world.geoms.mu)
    }
    for link in (f"{side}_finger_{i}" for side in SIDES for i in (1, 2, 3)):
        assert mu[frozenset((link, "box"))] == 0.8


def test_lift_stays_inside_limits_and_away_from_singularities(world):
    margins, conditions = [], []
    limits = world.tree.lower[world.joint_v], world.tree.upper[world.joint_v]
    for side, sign in zip(SIDES, (1.0, -1.0)):
        q = world.q0
        R, _ = frame_pose(world, f"{side}_tcp", q)
        path = [(y, 0.80) for y in np.linspace(0.25, 0.12, 5)] + [
            (0.12, z) for z in np.linspace(0.80, 1.05, 9)
        ]
        for y, z in path:
            q, residual = reach(world, side, q, R, np.array([0.55, sign * y, z]))
            assert residual < 1e-9
            positions = q[world.joint_q]
            arm = [world.joint_names.index(f"{side}_arm_joint_{i}") for i in range(1, 8)]
            margins.append(np.minimum(positions - limits[0], limits[1] - positions)[arm].min())
            conditions.append(np.linalg.cond(arm_jacobian(world, side, q)))
    assert min(margins) > 0.5 and max(conditions) < 12.0


def test_nothing_but_the_box_touches_at_the_start(world):
    coal = pytest.importorskip("coal")
    geoms = world.geoms
    R, p = tree_poses(world.tree, world.q0)

    def place(i):
        k = geoms.body[i]
        R_body, p_body = (np.eye(3), np.zeros(3)) if k == WORLD else (R[k], p[k])
        return coal.Transform3s(R_body @ geoms.R[i], p_body + R_body @ geoms.p[i])

    def shape(i):
        if geoms.kind[i] == SHAPE_BOX:
            return coal.Box(*(2.0 * geoms.size[i]))
        make = coal.Capsule if geoms.kind[i] == SHAPE_CAPSULE else coal.Cylinder
        return make(geoms.size[i][0], 2.0 * geoms.size[i][1])

    near = {}
    ground = world.geometry_names.index("ground")
    for a, b in geoms.pairs:
        if ground in (a, b):
            continue
        distance = coal.distance(
            shape(a), place(a), shape(b), place(b), coal.DistanceRequest(), coal.DistanceResult()
        )
        if distance < 0.02:
            near[world.geometry_names[a], world.geometry_names[b]] = distance
    assert list(near) == [("table", "box")] and abs(near["table", "box"]) < 1e-9


def canonical(document):
    """The document without comments and indentation."""
    parser = etree.XMLParser(remove_comments=True, remove_blank_text=True)
    return etree.tostring(etree.fromstring(document.encode(), parser), method="c14n")


@pytest.mark.parametrize("file, argument", [
    ("dual_arm.urdf", ""), ("dual_arm_waist.urdf", "waist:=true"),
    ("dual_arm_nut_runner.urdf", "waist:=true nut_runner:=true"),
])  # fmt: skip
def test_generated_urdf_is_what_xacro_makes(file, argument):
    mappings = dict(word.split(":=") for word in argument.split())
    made = xacro.process_file(str(ROOT / "urdf" / "dual_arm.urdf.xacro"), mappings=mappings).toxml()
    shipped = (ROOT / "urdf" / file).read_text()
    message = f"urdf/{file} is out of date: xacro urdf/dual_arm.urdf.xacro {argument} -o urdf/{file}"
    assert canonical(made) == canonical(shipped), message


def test_a_waist_couples_the_hands(robot):
    """With shoulders fixed to the world, no hand feels the other."""
    waisted = load_urdf(ROOT / "urdf" / "dual_arm_waist.urdf")
    bent = {1: 0.35, 2: 0.71, 3: -0.2, 4: 1.22, 5: -0.15, 6: 1.21, 7: 0.35}
    arms = {f"{side}_arm_joint_{k}": angle for side in ("left", "right") for k, angle in bent.items()}
    for model, coupled in ((robot, False), (waisted, True)):
        q = model.q_from(arms)
        J = mb.dynamics.jacobian(model, q, ["left_tcp", "right_tcp"])
        inertia = np.linalg.inv(J @ np.linalg.solve(mb.dynamics.mass_matrix(model, q), J.T))
        share = np.abs(inertia[:6, 6:]).max() / np.abs(inertia).max()
        assert share > 5e-4 if coupled else share < 1e-12
    for frame in ("left_tcp", "right_tcp", "head_camera"):  # as high as without
        poses = [model.link_pose(frame, model.q_from(arms)) for model in (robot, waisted)]
        for mine, theirs in zip(*poses):
            np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_xacro_and_urdf_are_the_same_model(robot):
    other = load_urdf(ROOT / "urdf" / "dual_arm.urdf.xacro")
    assert other.joint_names == robot.joint_names
    for mine, theirs in zip(robot.tree, other.tree):
        np.testing.assert_array_equal(mine, theirs)

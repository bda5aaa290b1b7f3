# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""MJCF made into scenes, against MuJoCo: mass matrices, efforts, shapes, which pairs touch and how they rub, couplings.

What MuJoCo lets touch is read from its contacts at margins so large that everything is in reach.

Covers model/mjcf/compiled.py, model/mjcf/contact.py, model/mjcf/elements.py, model/mjcf/joints.py,
model/mjcf/losses.py, model/mjcf/sensors.py, model/mjcf/shapes.py, model/mjcf/tree.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.poses import tree_poses
from mb_contact.model.shapes.visuals import scene_visuals
from mb_contact.types import SHAPE_CONVEX, SHAPE_HEIGHT_FIELD, SHAPE_PLANE, WORLD
from oracles.mujoco_peer import MujocoPeer, height_below, touching

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
SHIPPED = sorted(ASSETS.glob("*.xml"))
EVERYTHING = Path(__file__).with_name("everything.xml")
MODELS = [*SHIPPED, EVERYTHING]
NAMES = [path.stem for path in MODELS]


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    """Peer of a file, made once for all tests."""
    made = {}

    def peer(path):
        if path not in made:
            folder = tmp_path_factory.mktemp(path.stem)
            imported = mb.model.import_mjcf(path, folder)
            world = mb.build_world(mb.load_scene(imported.scene))
            made[path] = MujocoPeer(mujoco, path, world, imported.links, imported.joints), imported
        return made[path]

    return peer


def placed(peer, q):
    """(R, p) of all our shapes in the world."""
    R, p = tree_poses(peer.world.tree, q)
    for g, body in enumerate(peer.world.geoms.body):
        R_g, p_g = peer.world.geoms.R[g], peer.world.geoms.p[g]
        yield (R_g, p_g) if body == WORLD else (R[body] @ R_g, p[body] + R[body] @ p_g)


# --- bodies, joints ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MODELS, ids=NAMES)
def test_mass_matrices_and_efforts_are_those_of_mujoco(peers, path):
    peer, _ = peers(path)
    rng = np.random.default_rng(1)
    for _ in range(3):
        qpos, qvel, qacc = peer.random_state(rng)
        q, T = peer.ours(qpos)
        M, bias = peer.at(qpos, qvel)
        ours = T.T @ mb.mass_matrix(peer.world, q) @ T
        np.testing.assert_allclose(ours, M, rtol=0, atol=1e-12 * np.abs(M).max())
        effort = T.T @ mb.inverse_dynamics(peer.world, q, T @ qvel, T @ qacc, peer.world.gravity)
        scale = np.abs(M @ qacc).max() + np.abs(bias).max()
        np.testing.assert_allclose(effort, M @ qacc + bias, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("path", MODELS, ids=NAMES)
def test_shapes_are_where_mujoco_has_them(peers, path):
    """Named geoms; of meshes every vertex of the hull, of the others place and long axis."""
    peer, imported = peers(path)
    qpos, qvel, _ = peer.random_state(np.random.default_rng(2))
    peer.at(qpos, qvel)
    found = 0
    for name, kind, (R, p) in zip(peer.world.geometry_names, peer.world.geoms.kind, placed(peer, peer.ours(qpos)[0])):
        g = mujoco.mj_name2id(peer.m, mujoco.mjtObj.mjOBJ_GEOM, name)
        if g < 0 or kind == SHAPE_HEIGHT_FIELD:
            continue
        found += 1
        if kind == SHAPE_CONVEX:
            theirs = vertices_of(peer, g)
            row = peer.world.geometry_names.index(name)
            geoms = peer.world.geoms
            ours = geoms.vertices[geoms.first_vertex[row] : geoms.first_vertex[row + 1]] @ R.T + p
            assert np.abs(ours[:, None] - theirs[None]).sum(axis=2).min(axis=1).max() < 1e-6  # files: 9 digits
            continue
        z = peer.d.geom_xmat[g].reshape(3, 3)[:, 2]
        np.testing.assert_allclose(p, peer.d.geom_xpos[g], atol=1e-12)
        np.testing.assert_allclose(R[:, 2], z, atol=1e-12)
    assert found or not len(peer.world.geometry_names)


def vertices_of(peer, g):
    m, k = peer.m, peer.m.geom_dataid[g]
    points = m.mesh_vert[m.mesh_vertadr[k] : m.mesh_vertadr[k] + m.mesh_vertnum[k]]
    return points @ peer.d.geom_xmat[g].reshape(3, 3).T + peer.d.geom_xpos[g]


def test_limits_start_and_settings_are_told(peers):
    peer, imported = peers(EVERYTHING)
    world, m = peer.world, peer.m
    for name in ("shoulder", "lift", "elbow"):
        j, i = m.joint(name), world.joint_names.index(name)
        low, high = j.range if m.jnt_limited[j.id] else (-np.inf, np.inf)
        v = world.joint_v[i]
        assert (world.tree.lower[v], world.tree.upper[v]) == (low, high)
        assert world.tree.damping[v] == m.dof_damping[j.dofadr[0]]
        assert world.joints.friction[v] == m.dof_frictionloss[j.dofadr[0]]
    v = world.tree.v_start[world.objects["ball"]]
    np.testing.assert_array_equal(world.tree.damping[v : v + 6], m.dof_damping[m.joint("loose").dofadr[0]])
    scene = mb.load_scene(imported.scene)
    assert scene.time_step == m.opt.timestep and scene.gravity == tuple(m.opt.gravity)
    key = m.key("home")
    q, T = peer.ours(key.qpos)
    free = [k for k in range(len(q)) if k not in peer_ball(peer)]
    np.testing.assert_allclose(world.q0[free], q[free], atol=1e-15)
    np.testing.assert_allclose(world.v0, T @ key.qvel, atol=1e-15)


def peer_ball(peer):
    """Coordinates of ball joints, whose start no scene can tell."""
    tree = peer.world.tree
    return [tree.q_start[k] + i for k in np.flatnonzero(tree.nv == 3) for i in range(4)]


# --- contacts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MODELS, ids=NAMES)
def test_what_may_touch_and_how_it_rubs_is_as_in_mujoco(peers, path):
    peer, imported = peers(path)
    theirs = {}
    for geoms, friction in touching(mujoco, path):
        names = (link_of(peer, imported, g) for g in geoms)
        theirs.setdefault(frozenset(names), set()).add(friction)
    ours, world = {}, peer.world
    for row, (a, b) in enumerate(world.geoms.pairs.tolist()):
        values = world.geoms.mu[row], world.surfaces.torsional[row], world.surfaces.rolling[row]
        ours.setdefault(frozenset(body_of(world, g) for g in (a, b)), set()).add(values)
    assert ours.keys() == theirs.keys()
    for pair, values in theirs.items():
        np.testing.assert_allclose(sorted(ours[pair]), sorted(values), rtol=1e-7)  # MuJoCo has single precision here


def link_of(peer, imported, g):
    """The body that moves a geom."""
    body = peer.m.body_weldid[peer.m.geom_bodyid[g]]
    return imported.links[body] if body else "still"


def body_of(world, g):
    body = world.geoms.body[g]
    return "still" if body == WORLD else world.body_names[body]


def test_height_fields_are_the_surface_that_mujocos_rays_meet(peers):
    """Both triangles of every cell, at points off their edges: the diagonals are the same too."""
    peer, _ = peers(EVERYTHING)
    geoms, m = peer.world.geoms, peer.m
    row = int(np.flatnonzero(geoms.kind == SHAPE_HEIGHT_FIELD)[0])
    points = geoms.vertices[geoms.first_vertex[row] : geoms.first_vertex[row + 1]] @ geoms.R[row].T + geoms.p[row]
    faces = geoms.corners[geoms.first_corner[geoms.first_face[row]] :].reshape(-1, 3)
    assert len(faces) == 2 * 3 * 4
    for face in faces:
        point = np.array([0.5, 0.3, 0.2]) @ points[face]
        assert height_below(mujoco, m, "hills", point) == pytest.approx(point[2], abs=1e-6)


def test_planes_are_half_spaces_of_mujocos_normal(peers):
    peer, _ = peers(EVERYTHING)
    rows = np.flatnonzero(peer.world.geoms.kind == SHAPE_PLANE)
    assert len(rows) == 2  # the floor, and a slope on a body that is fixed to the world


# --- springs, actuators, couplings -----------------------------------------------------------------------------


def test_springs_pull_as_mujocos(peers):
    peer, _ = peers(EVERYTHING)
    m, d, world = peer.m, peer.d, peer.world
    qpos, _, _ = peer.random_state(np.random.default_rng(3))
    peer.at(qpos, np.zeros(m.nv))
    pulled = 0
    for i, name in enumerate(world.joint_names):
        v, j = world.joint_v[i], m.joint(name)
        effort = -world.joints.stiffness[v] * (qpos[j.qposadr[0]] - world.joints.rest[v])
        assert effort == pytest.approx(d.qfrc_spring[j.dofadr[0]], abs=1e-12)
        pulled += effort != 0.0
    assert pulled == 2


def test_actuators_have_mujocos_gains_and_limits(peers):
    """Derivatives of MuJoCo's actuator forces are our stiffness and damping; the largest controls reach our limits."""
    peer, _ = peers(EVERYTHING)
    m, d, world = peer.m, peer.d, peer.world
    rng = np.random.default_rng(4)
    qpos, qvel, _ = peer.random_state(rng)

    limited = m.jnt_actfrclimited.copy()

    def forces(q, v, control=None):
        d.qpos[:], d.qvel[:] = q, v
        d.ctrl[:] = 0.0 if control is None else control
        mujoco.mj_forward(m, d)
        return d.qfrc_actuator.copy()

    m.actuator_forcelimited[:] = m.jnt_actfrclimited[:] = 0
    for name in ("shoulder", "lift", "twist", "left"):
        j, v = m.joint(name), world.joint_v[world.joint_names.index(name)]
        step_q, step_v = np.zeros(m.nq), np.zeros(m.nv)
        step_q[j.qposadr[0]] = step_v[j.dofadr[0]] = 1.0
        start = forces(qpos, qvel)[j.dofadr[0]]
        stiffness = start - forces(qpos + step_q, qvel)[j.dofadr[0]]
        damping = start - forces(qpos, qvel + step_v)[j.dofadr[0]]
        assert world.joints.gain[v] == pytest.approx(stiffness, abs=1e-9)
        assert world.joints.rate_gain[v] == pytest.approx(damping, abs=1e-9)
    m.actuator_forcelimited[:] = [m.actuator(k).name == "servo" for k in range(m.nu)]
    m.jnt_actfrclimited[:] = limited
    most = np.abs(forces(m.qpos0, np.zeros(m.nv), 1e6 * np.ones(m.nu)))
    for name, limit in (("shoulder", 12.0), ("lift", 3.0)):
        v = world.joint_v[world.joint_names.index(name)]
        assert world.tree.effort_limit[v] == limit
        assert most[m.joint(name).dofadr[0]] == pytest.approx(limit)


def test_loops_and_gears_hold_what_mujoco_holds(peers):
    peer, _ = peers(EVERYTHING)
    m, d, world = peer.m, peer.d, peer.world
    closures, gears = world.couplings.closures, world.couplings.gears
    qpos, qvel, _ = peer.random_state(np.random.default_rng(5))
    peer.at(qpos, qvel)
    q, _ = peer.ours(qpos)
    R, p = tree_poses(world.tree, q)
    R, p = np.concatenate([R, np.eye(3)[None]]), np.concatenate([p, np.zeros((1, 3))])  # WORLD is the last
    rows = d.efc_pos[: d.ne]
    kinds = [m.eq_type[i] for i in d.efc_id[: d.ne]]
    at = 0
    for c in range(len(closures.kind)):
        a, b = closures.body_a[c], closures.body_b[c]
        gap = p[a] + R[a] @ closures.p_a[c] - p[b] - R[b] @ closures.p_b[c]
        np.testing.assert_allclose(gap, rows[at : at + 3], atol=1e-12)
        if kinds[at] == 1:  # a weld: MuJoCo's rotation rows vanish where ours do
            turn = (R[a] @ closures.R_a[c]).T @ R[b] @ closures.R_b[c]
            sine = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2.0
            half = np.sqrt(max(0.0, (1.0 + np.trace(turn)) / 4.0))
            np.testing.assert_allclose(np.abs(rows[at + 3 : at + 6]), np.abs(sine / (2.0 * half)), atol=1e-12)
        at += 6 if kinds[at] == 1 else 3
    assert len(gears.ratio) == 1 and at == d.ne - 2  # the curved one is left out
    a, b = (q[world.tree.q_start[k]] for k in (gears.body_a[0], gears.body_b[0]))
    assert a - gears.ratio[0] * b - gears.offset[0] == pytest.approx(rows[at], abs=1e-12)


# --- what is not told --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("touch", [0, 1])
def test_a_pin_held_at_two_points_swings_whatever_the_digits_of_the_file(tmp_path, touch):
    """Rows that follow from others, but for the last digits, would hold the pendulum.

    Contacts of its two halves, along which nothing moves, do nothing.
    """
    body = """<body name="%s" pos="%s 0 0"><joint name="%s" axis="0 1 0"/>
        <geom type="capsule" size="0.01" contype="%d" conaffinity="1" fromto="0 0 0 0 0 -0.2"/>
        <site name="%s_0" pos="0 0 -0.2"/><site name="%s_1" pos="0 %s -0.2"/></body>"""
    bodies = body % (*"a0a", touch, *"aa", 0.1) + body % (*"b0b", touch, *"bb", 0.10000001)
    held = "".join(f'<connect site1="a_{k}" site2="b_{k}"/>' for k in range(2))
    path = tmp_path / "pin.xml"
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody><equality>{held}</equality></mujoco>")
    scene = mb.load_scene(mb.model.import_mjcf(path, tmp_path / "out").scene)
    sim = mb.Simulator(scene)
    assert scene.loops == "auto" and {*sim.loops.values()} == {"embedded"}
    sim.set_state([0.5, 0.5], [0.0, 0.0])
    certificates = [sim.step().certificate for _ in range(50)]
    assert max(c.residual for c in certificates) < 1e-9 and certificates[-1].contacts == 2 * touch
    assert sim.q[0] == pytest.approx(sim.q[1], abs=1e-9)
    assert 0.2 < sim.q[0] < 0.4  # 0.5 cos(t sqrt(3 g / 2 l)) is 0.33


def test_what_is_left_out_is_named(peers):
    _, imported = peers(EVERYTHING)
    text = "\n".join(imported.left_out)
    for name in ("'eye'", "'lidar'", "'muscle'", "'pulled'", "'neck': friction, limit, initial position",
                 "'dormant'", "'curved'", "viscosity 0.1", "wind: 0.5 0 0 m/s", "textures: 'checks'",
                 "does not begin with: 'away'"):  # fmt: skip
        assert name in text, name
    assert "Left out: " + imported.left_out[0] in imported.scene.read_text()


def test_sites_are_frames(peers):
    peer, _ = peers(EVERYTHING)
    qpos, qvel, _ = peer.random_state(np.random.default_rng(6))
    peer.at(qpos, qvel)
    R, p = peer.world.frames["tip"].placed(*tree_poses(peer.world.tree, peer.ours(qpos)[0]))
    np.testing.assert_allclose(p, peer.d.site("tip").xpos, atol=1e-12)
    np.testing.assert_allclose(R, peer.d.site("tip").xmat.reshape(3, 3), atol=1e-12)


ARM = """<mujoco><worldbody><body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0.2" ref="0.2"/>
<geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/><body name="lower" pos="0.4 0 0">
<joint name="elbow" axis="0 0 1"/>
<geom type="box" size="0.1 0.02 0.03" pos="0.1 0 0"/>
<site name="imu" pos="0.1 0.02 0.05" euler="20 30 40"/></body></body>
</worldbody><sensor><gyro site="imu"/><accelerometer site="imu"/>
<jointpos joint="elbow"/><jointvel joint="elbow"/></sensor>
<keyframe><key qpos="0.5 -0.4" qvel="1.5 -2"/></keyframe></mujoco>"""


def test_sensors_read_what_mujocos_read(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    made = mb.model.import_mjcf(tmp_path / "arm.xml", tmp_path / "arm")
    sim = mb.Simulator(made.scene)
    sensors = mb.simulation.Sensors(sim)
    m = mujoco.MjModel.from_xml_string(ARM)
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_forward(m, d)
    imu, encoder = sensors.read("imu_imu"), sensors.read("encoders")
    np.testing.assert_allclose(imu.angular_velocity, d.sensordata[:3], atol=1e-12)
    np.testing.assert_allclose(imu.linear_acceleration, d.sensordata[3:6], atol=1e-9)
    np.testing.assert_allclose([encoder.position[0], encoder.velocity[0]], d.sensordata[6:], atol=1e-15)
    assert sensors.names == ("imu_imu", "encoders") and not made.left_out


@pytest.mark.parametrize(
    "text, message",
    [
        (None, r"no MJCF: .*robot\.xml is not a file"),
        ("<mujoco><worldbody><body><geom size='1'/></worldbody></mujoco>", "MuJoCo refuses it: XML"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "MuJoCo refuses it: .*mass and inertia"),
    ],
)
def test_what_is_no_model_is_refused_in_one_sentence(tmp_path, text, message):
    path = tmp_path / "robot.xml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(mb.ModelError, match=message) as caught:
        mb.model.import_mjcf(path, tmp_path / "out")
    assert "\n" not in str(caught.value) and not (tmp_path / "out").exists()


def test_a_keyframe_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(mb.InputError, match=r"has no keyframe 'far'; it has away, home"):
        mb.model.import_mjcf(EVERYTHING, tmp_path / "out", keyframe="far")
    made = mb.model.import_mjcf(EVERYTHING, tmp_path / "out", keyframe="away")
    assert mb.load_scene(made.scene).models[1].joints["shoulder"] == -0.25


def test_without_mujoco_the_remedy_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(mb.ModelError, match=r"needs the package 'mujoco', .* pip install 'mb_contact\[mjcf\]'"):
        mb.model.import_mjcf(EVERYTHING, tmp_path)


# --- simulated -----------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", ["ant", "hopper", "walker2d_v5", "humanoidstandup", "inverted_double_pendulum"])
def test_imported_robots_fall_for_two_seconds_without_an_unsolved_step(tmp_path, name):
    made = mb.model.import_mjcf(ASSETS / f"{name}.xml", tmp_path)
    sim = mb.Simulator(made.scene)
    contacts = 0
    for _ in range(round(2.0 / sim.time_step)):
        certificate = sim.step().certificate
        assert certificate.residual < 1e-9
        contacts = max(contacts, certificate.contacts)
    assert contacts > 0 or name == "inverted_double_pendulum"


def test_a_hand_on_a_stand_is_welded_to_its_mocap_body_already(tmp_path):
    """As hands do whose mount has no joint: both ends of the weld are still, here as in the file."""
    path = tmp_path / "hand.xml"
    path.write_text("""<mujoco><worldbody>
      <body name="tracker" mocap="true"><geom size="0.01" contype="0" conaffinity="0"/></body>
      <body name="mount"><body name="forearm"><geom size="0.05" contype="0" conaffinity="0"/>
        <body name="wrist" pos="0.1 0 0"><joint name="bend" axis="0 1 0"/><geom size="0.03" mass="0.1"/></body>
      </body></body></worldbody>
      <equality><weld body1="tracker" body2="forearm"/><weld body1="tracker" body2="wrist"/></equality></mujoco>""")
    imported = mb.model.import_mjcf(path, tmp_path / "out")
    assert [line for line in imported.left_out if "its two ends are parts of one body" in line]
    scene = mb.load_scene(imported.scene)
    assert [closure.link_b for closure in scene.loop_closures] == ["wrist"]
    sim = mb.Simulator(scene)
    sim.step(steps=10)
    assert abs(sim.joint_positions()[0]) < 1e-9


LOOKS = """<mujoco><asset>
  <texture name="halves" type="2d" builtin="gradient" rgb1="1 0 0" rgb2="0 0 1" width="4" height="4"/>
  <texture name="sky" type="skybox" builtin="gradient" rgb1="1 1 1" rgb2="0 0 0" width="4" height="24"/>
  <material name="drawn" texture="halves"/><material name="green" rgba="0 1 0 1"/>
  <mesh name="flat" vertex="0 0 0  1 0 0  1 1 0  0 1 0  0.5 0.5 -0.5" face="0 1 2  0 2 3  1 0 4  2 1 4  3 2 4  0 3 4"
    texcoord="0 0  1 0  1 1  0 1  0.5 0.5"/></asset>
  <worldbody><geom name="wall" type="box" size="1 1 1" pos="9 0 0" rgba="0.1 0.2 0.3 1"/>
    <geom name="stone" type="mesh" mesh="flat" pos="9 9 0" material="green"/>
    <body name="b"><freejoint/><geom type="mesh" mesh="flat" material="drawn" mass="1"/>
      <geom type="sphere" size="0.1" material="green" mass="1"/><geom type="sphere" size="0.2" material="green" mass="1"
        rgba="1 0 0 1"/></body></worldbody></mujoco>"""


def test_materials_and_pictures_come_along(tmp_path):
    """Colours of materials, of geoms before those, and a picture where MuJoCo has it: its first row is where v is 0."""
    (tmp_path / "looks.xml").write_text(LOOKS)
    imported = mb.model.import_mjcf(tmp_path / "looks.xml", tmp_path / "robot")
    assert imported.left_out == ("textures: 'sky'",)
    scene = mb.load_scene(imported.scene)
    visuals, missing = scene_visuals(scene, mb.build_world(scene))
    assert not missing
    of_body = [visual for visual in visuals if visual.link == "b"]
    assert [v.colour[:3] for v in of_body if v.texture is None] == [(0.0, 1.0, 0.0), (1.0, 0.0, 0.0)]
    (drawn,) = (visual.texture for visual in of_body if visual.texture is not None)
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "looks.xml"))
    np.testing.assert_array_equal(drawn.picture, m.tex_data[:48].reshape(4, 4, 3))
    of_mesh = m.mesh_texcoord[m.mesh_facetexcoord]
    np.testing.assert_allclose(drawn.corners[..., 0], of_mesh[..., 0], atol=1e-6)
    np.testing.assert_allclose(1.0 - drawn.corners[..., 1], of_mesh[..., 1], atol=1e-6)
    primitives = {primitive.name: primitive for primitive in scene.primitives}
    assert primitives["wall"].color == pytest.approx((0.1, 0.2, 0.3, 1.0))
    assert primitives["stone"].color == (0.0, 1.0, 0.0, 1.0) and primitives["stone"].collision_meshes == "convex_hull"

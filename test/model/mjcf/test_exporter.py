# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes written as MJCF: what MuJoCo makes of them has our mass matrix, efforts, start, contacts and couplings.

Covers model/mjcf/export_*.py.
"""

from __future__ import annotations

from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.mjcf.exporter import MjcfWriter
from mb_contact.model.scene import Closure, Gear, JointProperties, Material, MaterialPair, Primitive, SceneModel
from oracles.mujoco_peer import MujocoPeer, height_below, touching
from paths import ROOT

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
EVERYTHING = Path(__file__).with_name("everything.xml")
#: of the library, with what they have: mimics, springs and closures; two trees; servos; a cone and hulls of meshes
LIBRARY = ("four_bar_gripper", "dual_arm_lift", "standing_quadruped", "table_top")

BODY = '<inertial><origin xyz="0.1 0.05 0"/><mass value="{m}"/><inertia ixx="0.02" iyy="0.03" izz="0.04"/></inertial>'
MIXED = f"""<robot name="mixed"><link name="base"/>
<link name="cart">{BODY.format(m=2)}</link>
<link name="knuckle"/>
<link name="arm">{BODY.format(m=1)}
<collision name="arm"><geometry><box size="0.2 0.1 0.1"/></geometry></collision></link>
<link name="cross">{BODY.format(m=0.7)}</link>
<link name="ball">{BODY.format(m=0.5)}</link>
<joint name="floor" type="planar"><parent link="base"/><child link="cart"/>
  <origin xyz="0 0 0.3" rpy="0.1 0.2 0"/><axis xyz="0 0.2 1"/></joint>
<joint name="first" type="revolute"><parent link="cart"/><child link="knuckle"/>
  <origin xyz="0.2 0 0" rpy="0 0.4 0.3"/>
  <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="5" velocity="3"/>
  <dynamics damping="0.1" friction="0.2"/></joint>
<joint name="second" type="prismatic"><parent link="knuckle"/><child link="arm"/>
  <origin xyz="0 0.1 0.05" rpy="0.2 0 0"/>
  <axis xyz="1 0 0.5"/><limit lower="-1" upper="1" effort="7" velocity="3"/></joint>
<joint name="gimbal" type="universal"><parent link="arm"/><child link="cross"/><origin xyz="0.3 0 0"/>
  <axis xyz="0 1 0"/><axis2 xyz="0 0 1"/></joint>
<joint name="socket" type="spherical"><parent link="cross"/><child link="ball"/>
  <origin xyz="0 0.2 0" rpy="0 0 1"/></joint>
</robot>"""


def mixed_scene():
    """Joints of all kinds, a body without mass between two of them, materials that rub each other their own way."""
    return mb.Scene(
        models=(SceneModel(MIXED, joints={"first": 0.4}, velocities={"second": -0.3},
                           materials=mb.model.ModelMaterials("wood")),),
        primitives=(
            Primitive("cone", "cone", (0.1, 0.2), base="free", mass=1.0, material="ice",
                      pose=mb.model.Pose((1.0, 0.0, 1.0), rpy=(0.1, 0.2, 0.3))),
            Primitive("egg", "ellipsoid", (0.1, 0.2, 0.3), base="free", mass=1.0, material="rubber",
                      pose=mb.model.Pose((1.0, 1.0, 1.0))),
        ),
        ground=mb.model.Ground(0.1, "wood"),
        materials={"wood": Material(0.5), "ice": Material(0.1), "rubber": Material(0.9, torsional=0.02, rolling=0.01)},
        pairs=(MaterialPair(("wood", "rubber"), friction=0.7, torsional=0.01),),
        loop_closures=(Closure("weld", "cone", "ball"), Closure("distance", "egg", "arm", length=1.0)),
        gears=(Gear("second", "first", 0.5, 0.1),),
    )  # fmt: skip


def exported(scene, folder):
    """MuJoCo's peer of a scene, and what was left out."""
    path = folder / "model.xml"
    left_out = mb.model.export_mjcf(scene, path)
    return MujocoPeer(mujoco, path, mb.build_world(scene)), left_out, path


@pytest.fixture
def scene_of(tmp_path):
    def scene(name):
        if name == "mixed":
            return mixed_scene()
        if name in LIBRARY:
            return mb.load_scene(ROOT / "config" / f"{name}.yaml")
        source = EVERYTHING if name == "everything" else ASSETS / f"{name}.xml"
        return mb.load_scene(mb.model.import_mjcf(source, tmp_path / "imported").scene)

    return scene


ALL = ("mixed", "everything", "humanoid", "ant", "half_cheetah", "pusher", *LIBRARY)


@pytest.mark.parametrize("name", ALL)
def test_mass_matrices_efforts_and_start_are_ours(scene_of, tmp_path, name):
    scene = scene_of(name)
    peer, _, _ = exported(scene, tmp_path)
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
    key = peer.m.key("initial")
    q, T = peer.ours(key.qpos)
    np.testing.assert_allclose(q, peer.world.q0, atol=1e-12)
    np.testing.assert_allclose(T @ key.qvel, peer.world.v0, atol=1e-12)
    assert peer.m.opt.timestep == scene.time_step


@pytest.mark.parametrize("name", ["mixed", "everything", "humanoid", "half_cheetah", "pusher"])
def test_the_same_shapes_touch_with_the_same_friction(scene_of, tmp_path, name):
    """MuJoCo's colliders of two boxes and of a cone that is a mesh see nothing far away: those pairs may be missing."""
    peer, _, path = exported(scene_of(name), tmp_path)
    world, geoms = peer.world, peer.world.geoms
    theirs = {frozenset(peer.m.geom(g).name for g in pair): values for pair, values in touching(mujoco, path)}
    ours = {}
    for row, (a, b) in enumerate(geoms.pairs.tolist()):
        values = geoms.mu[row], world.surfaces.torsional[row], world.surfaces.rolling[row]
        ours[frozenset(world.geometry_names[g] for g in (a, b))] = values
    assert theirs.keys() == ours.keys()
    for pair, values in theirs.items():
        np.testing.assert_allclose(values, ours[pair], rtol=1e-6, atol=1e-12)


def test_couplings_drives_and_limits_are_ours(tmp_path):
    peer, left_out, _ = exported(mixed_scene(), tmp_path)
    m, d, world = peer.m, peer.d, peer.world
    d.qpos[:] = m.key("initial").qpos
    mujoco.mj_forward(m, d)
    assert d.ne == 7
    np.testing.assert_allclose(d.efc_pos[:6], 0.0, atol=1e-12)  # the weld holds what it finds at the start
    assert d.efc_pos[6] == pytest.approx(0.0 - (0.5 * 0.4 + 0.1))
    for name, limit in (("first", 5.0), ("second", 7.0)):
        i = world.joint_names.index(name)
        assert tuple(m.joint(name).range) == (world.tree.lower[world.joint_v[i]], world.tree.upper[world.joint_v[i]])
        assert tuple(m.actuator(name).forcerange) == (-limit, limit)
    assert m.joint("first").frictionloss[0] == 0.2
    assert m.nu == 2
    assert left_out == ("cone 'cone': a mesh of 64 corners", "closure 'egg_arm' of kind distance")


def test_height_fields_come_back_where_they_were(scene_of, tmp_path):
    peer, _, _ = exported(scene_of("everything"), tmp_path)
    before = mujoco.MjModel.from_xml_path(str(EVERYTHING))
    for x, y in ((0.31, 0.22), (1.4, 0.9), (1.77, -0.1), (0.6, 0.55)):
        heights = [height_below(mujoco, m, "hills", np.array([x, y, 0.5])) for m in (before, peer.m)]
        assert heights[0] == pytest.approx(heights[1], abs=1e-6) and heights[0] > 0.2


@pytest.mark.parametrize("adjacent, count", [(True, 0), (False, 1)])
def test_neighbours_that_may_touch_are_named_to_mujoco(tmp_path, adjacent, count):
    """MuJoCo tests no parent with its child, unless a pair says so."""
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    link = f'<link name="cross">{BODY.format(m=0.7)}'
    text = MIXED.replace(f"{link}</link>", link + ball)
    scene = mb.Scene(models=(SceneModel(text),), collision_filters=mb.model.CollisionFilters(adjacent))
    peer, _, path = exported(scene, tmp_path)
    assert len(peer.world.geoms.pairs) == count
    assert len({frozenset(pair) for pair, _ in touching(mujoco, path)}) == count


def test_servos_are_mujocos_or_springs(tmp_path):
    scene = mb.load_scene(ROOT / "config" / "standing_quadruped.yaml")
    peer, _, _ = exported(scene, tmp_path)
    world = peer.world
    for i, name in enumerate(world.joint_names):
        v = world.joint_v[i]
        assert peer.m.actuator(name).gainprm[0] == world.joints.gain[v] > 0.0
        assert peer.m.actuator(name).biasprm[2] == -world.joints.rate_gain[v]
    np.testing.assert_array_equal(peer.m.key("initial").ctrl, world.joints.target[world.joint_v])
    sprung = mujoco.MjModel.from_xml_string(MjcfWriter(world, scene.time_step, servos=False).text())
    assert sprung.nu == 0
    for i, name in enumerate(world.joint_names):
        assert sprung.joint(name).stiffness[0] == world.joints.gain[world.joint_v[i]]


def test_what_mujoco_has_no_word_for_is_named(tmp_path):
    scene = mb.Scene(
        primitives=(Primitive("ball", "sphere", (0.1,), base="free", mass=1.0, material="rubber"),),
        ground=mb.model.Ground(0.0, "rubber"), materials={"rubber": Material(0.5, restitution=0.8)},
    )  # fmt: skip
    assert mb.model.export_mjcf(scene, tmp_path / "ball.xml") == ("restitution: MuJoCo has none",)


def test_a_scene_and_its_model_fall_alike(tmp_path):
    """Free flight of the mixed tree: both engines take the same semi-implicit steps."""
    slow = {"socket": JointProperties(armature=0.02, damping=0.1)}
    dragged = {"stone_floating": JointProperties(armature=0.3, damping=0.5)}
    stone = f'<robot name="stone"><link name="stone">{BODY.format(m=2)}</link></robot>'
    scene = mb.Scene(
        models=(
            SceneModel(MIXED, joints={"first": 0.4}, joint_properties=slow),
            SceneModel(stone, base="free", joint_properties=dragged,
                       velocity=mb.model.Velocity((1.0, 2.0, -1.0), (0.3, 0.2, 0.1))),
        )
    )  # fmt: skip
    sim = mb.Simulator(scene)
    peer, _, _ = exported(scene, tmp_path)
    mujoco.mj_resetDataKeyframe(peer.m, peer.d, 0)
    start = sim.q.copy()
    for _ in range(200):
        sim.step()
        mujoco.mj_step(peer.m, peer.d)
    assert np.abs(sim.q - start).max() > 0.1
    np.testing.assert_allclose(sim.q, peer.ours(peer.d.qpos)[0], atol=1e-12)

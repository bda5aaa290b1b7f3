# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""model/world.py and model/robots.py: robots and objects in one forest, placed, filtered and given friction.

Covers model/robots.py, model/scene/bodies.py, model/scene/robots.py.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import ModelError, SceneError
from mb_contact.model import (
    CollisionFilters,
    Ground,
    Material,
    MaterialPair,
    ModelMaterials,
    Pose,
    Primitive,
    Scene,
    SceneModel,
    Velocity,
    build_world,
    load_scene,
    load_urdf,
)
from mb_contact.model.poses import tree_poses
from mb_contact.model.scene import JointProperties
from mb_contact.types import (
    JOINT_FLOATING,
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CYLINDER,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    WORLD,
)
from paths import CONFIG

pytestmark = pytest.mark.quick

SOLID = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'
BALL = '<collision><origin xyz="0 0 0.3"/><geometry><sphere radius="0.1"/></geometry></collision>'


def arm(prefix=""):
    """Two hinges about y, a metre apart; every link carries a ball."""
    links = "".join(
        f'<link name="{prefix}{name}">{SOLID}{BALL}</link>' for name in ("base", "upper", "lower")
    )
    joints = "".join(
        f'<joint name="{prefix}{name}" type="revolute"><parent link="{prefix}{parent}"/>'
        f'<child link="{prefix}{child}"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>'
        f'<limit lower="-1" upper="2" effort="30" velocity="4"/></joint>'
        for name, parent, child in (("shoulder", "base", "upper"), ("elbow", "upper", "lower"))
    )
    return f'<robot name="{prefix}arm">{links}{joints}</robot>'


def ball(name="ball", **values):
    return Primitive(name, "sphere", (0.1,), base="free", mass=1.0, **values)


def link_origin(world, link, q):
    frame = world.frames[link]
    if frame.body == WORLD:
        return frame.p
    R, p = tree_poses(world.tree, q)
    return p[frame.body] + R[frame.body] @ frame.p


def test_bodies_joints_and_coordinates_are_numbered_in_the_order_of_the_scene():
    scene = Scene(
        models=(
            SceneModel(arm("a_"), joints={"a_elbow": 0.5}),
            SceneModel(arm("b_"), base="free", pose=Pose((0.0, 5.0, 0.0))),
        ),
        primitives=(ball(pose=Pose((1.0, 2.0, 3.0))), Primitive("wall", "plane")),
        ground=Ground(-1.0),
    )
    world = build_world(scene)
    assert world.body_names == ("a_upper", "a_lower", "b_base", "b_upper", "b_lower", "ball")
    np.testing.assert_array_equal(world.tree.parent, [WORLD, 0, WORLD, 2, 3, WORLD])
    np.testing.assert_array_equal(world.tree.root, [0, 0, 2, 2, 2, 5])
    np.testing.assert_array_equal(world.tree.q_start, [0, 1, 2, 9, 10, 11])
    np.testing.assert_array_equal(world.tree.v_start, [0, 1, 2, 8, 9, 10])
    assert world.joint_names == ("a_shoulder", "a_elbow", "b_shoulder", "b_elbow")
    np.testing.assert_array_equal(world.joint_q, [0, 1, 9, 10])
    np.testing.assert_array_equal(world.joint_v, [0, 1, 8, 9])
    np.testing.assert_array_equal(world.effort_limit, [30.0] * 4)
    assert world.objects == {"b_base": 2, "ball": 5}
    np.testing.assert_array_equal(world.q0, [0, 0.5, 0, 5, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 0, 0, 0, 1])
    assert len(world.v0) == 16 and not world.v0.any()
    assert world.geometry_links[-2:] == ("wall", "ground") and world.frames["wall"].body == WORLD
    assert world.link_geometries["ball"] == (6,)
    np.testing.assert_allclose(world.geoms.p[-1], [0, 0, -1])
    assert [model.name for model in world.robot_models] == ["a_arm", "b_arm"]
    with pytest.raises(ValueError, match="read-only"):
        world.q0[0] = 1.0


@pytest.mark.parametrize("base", ["weld", "free"])
def test_a_robot_stands_where_the_scene_puts_it(base):
    pose = Pose((1.0, 2.0, 3.0), rpy=(0.3, -0.4, 0.5))
    world = build_world(Scene(models=(SceneModel(arm(), base=base, pose=pose, joints={"elbow": 0.7}),)))
    model = world.robot_models[0]
    free = load_urdf(arm(), floating=base == "free")
    for link in model.frames:
        _, p = free.link_pose(link, free.q_from({"elbow": 0.7}))
        np.testing.assert_allclose(
            link_origin(world, link, world.q0), pose.origin() + pose.rotation() @ p, atol=1e-12
        )


def test_neighbours_and_filters_decide_which_pairs_may_touch():
    scene = Scene(models=(SceneModel(arm()),), primitives=(ball(),), ground=Ground())

    def pairs(filters):
        world = build_world(Scene(scene.models, scene.primitives, scene.ground, collision_filters=filters))
        assert all(a < b for a, b in world.geoms.pairs)
        return {frozenset(world.geometry_links[i] for i in pair) for pair in world.geoms.pairs}

    links = ("base", "upper", "lower", "ball", "ground")
    every = {frozenset(pair) for pair in combinations(links, 2)} - {frozenset(("base", "ground"))}
    neighbours = {frozenset(("base", "upper")), frozenset(("upper", "lower"))}
    assert pairs(CollisionFilters()) == every - neighbours
    assert pairs(CollisionFilters(adjacent=False)) == every
    disable = (("ball", "lower"), ("ground", "ball"))
    assert pairs(CollisionFilters(disable=disable)) == every - neighbours - {
        frozenset(pair) for pair in disable
    }


def test_friction_of_two_materials_is_listed_or_their_geometric_mean():
    scene = Scene(
        models=(SceneModel(arm(), materials=ModelMaterials("steel", {"lower": "rubber"})),),
        primitives=(ball(material="rubber"), ball("stone", pose=Pose((0, 0, 9)))),
        materials={"steel": Material(0.4), "rubber": Material(0.9), "tar": Material(20.0)},
        pairs=(MaterialPair(("steel", "rubber"), 0.7),),
        ground=Ground(material="tar"),
    )
    world = build_world(scene)
    mu = {
        frozenset(world.geometry_links[i] for i in pair): value
        for pair, value in zip(world.geoms.pairs, world.geoms.mu)
    }
    assert mu[frozenset(("upper", "ball"))] == 0.7
    assert mu[frozenset(("lower", "ball"))] == pytest.approx(0.9)
    assert mu[frozenset(("upper", "stone"))] == pytest.approx(np.sqrt(0.4 * 0.5))
    assert mu[frozenset(("ball", "ground"))] == pytest.approx(np.sqrt(0.9 * 20.0))
    assert world.warnings == ("friction 20 of material tar is above 10; used as given",)


def test_sizes_of_primitives_are_full_lengths():
    shapes = (
        Primitive("a", "sphere", (0.1,)),
        Primitive("b", "capsule", (0.1, 0.6)),
        Primitive("c", "cylinder", (0.2, 0.8)),
        Primitive("d", "box", (1.0, 2.0, 3.0)),
        Primitive("e", "plane"),
    )
    geoms = build_world(Scene(primitives=shapes)).geoms
    np.testing.assert_array_equal(
        geoms.kind, [SHAPE_SPHERE, SHAPE_CAPSULE, SHAPE_CYLINDER, SHAPE_BOX, SHAPE_PLANE]
    )
    np.testing.assert_allclose(
        geoms.size, [[0.1, 0, 0], [0.1, 0.3, 0], [0.2, 0.4, 0], [0.5, 1, 1.5], [0, 0, 0]]
    )
    assert len(geoms.pairs) == 0  # nothing moves


def test_an_empty_scene_is_an_empty_world():
    world = build_world(Scene())
    assert world.tree.R_joint.shape == (0, 3, 3) and world.geoms.size.shape == (0, 3)
    assert world.geoms.pairs.shape == (0, 2) and world.joint_names == ()


def test_a_free_base_has_armature_and_damping_for_each_of_its_freedoms():
    properties = {"base_floating": JointProperties(armature=0.2, damping=0.5)}
    model = SceneModel(arm(), base="free", joint_properties=properties)
    heavy, light = (build_world(Scene(models=(m,))) for m in (model, SceneModel(arm(), base="free")))
    np.testing.assert_array_equal(heavy.tree.damping, [0.5] * 6 + [0.0] * 2)
    M = mb.mass_matrix(heavy, heavy.q0) - mb.mass_matrix(light, light.q0)
    np.testing.assert_allclose(M, np.diag([0.2] * 6 + [0.0] * 2), atol=1e-15)


WRONG = {
    "spring of a free base": (
        {"models": (SceneModel(arm(), base="free",
                               joint_properties={"base_floating": JointProperties(stiffness=1.0, damping=1.0)}),)},
        r"models\[0\].joint_properties.base_floating: .* only armature and damping; leave out stiffness",
    ),
    "unknown joint": (
        {"models": (SceneModel(arm(), joints={"knee": 1.0}),)},
        r"models\[0\].joints.knee: robot 'arm' has no joint 'knee'; it has shoulder, elbow",
    ),
    "outside the limits": (
        {"models": (SceneModel(arm(), joints={"elbow": 2.5}),)},
        r"models\[0\].joints.elbow: 2.5 is outside the joint's limits, -1 to 2$",
    ),
    "degrees": (
        {"models": (SceneModel(arm(), joints={"elbow": 90.0}),)},
        r"models\[0\].joints.elbow: 90 is outside .* -1 to 2 \(degrees\? 90 degrees are 1.571 rad\)$",
    ),
    "millimetres of a slide": (
        {"models": (SceneModel(arm().replace("revolute", "prismatic"), joints={"elbow": 90.0}),)},
        r"models\[0\].joints.elbow: 90 is outside .* -1 to 2 \(millimetres\? 90 millimetres are 0.09 m\)$",
    ),
    "the same robot twice": (
        {"models": (SceneModel(arm()), SceneModel(arm()))},
        r"models\[1\].urdf: joint 'shoulder' occurs in two robots; rename it",
    ),
    "a link and an object of one name": (
        {"models": (SceneModel(arm()),), "primitives": (ball("upper"),)},
        r"primitives\[0\].name: link 'upper' occurs twice in this scene",
    ),
    "an object called world": ({"primitives": (ball("world"),)}, r"primitives\[0\].name: 'world' is the frame that"),
    "two objects of one name": (
        {"primitives": (ball(), ball())},
        r"primitives\[1\].name: 'ball' is used twice",
    ),
    "an object called ground": (
        {"primitives": (ball("ground"),), "ground": Ground()},
        r"primitives\[0\].name: 'ground' is used twice",
    ),
    "material of an unknown link": (
        {
            "models": (SceneModel(arm(), materials=ModelMaterials(links={"hand": "steel"})),),
            "materials": {"steel": Material()},
        },
        r"models\[0\].materials.links.hand: robot 'arm' has no link 'hand'",
    ),
    "unknown frame": ({"operational_frames": ("tcp",)}, r"operational_frames\[0\]: no link is called 'tcp'"),
    "unknown wrench link": (
        {"contact_wrench_links": ("tip",)},
        r"contact_wrench_links\[0\]: no link is called",
    ),
    "unknown filter link": (
        {"collision_filters": CollisionFilters(disable=(("a", "b"),))},
        r"collision_filters.disable\[0\]: no link is called 'a'",
    ),
    "pair listed twice": (
        {
            "materials": {"a": Material(), "b": Material()},
            "pairs": (MaterialPair(("a", "b"), 0.1), MaterialPair(("b", "a"), 0.2)),
        },
        r"pairs\[1\].materials: the pair b and a is listed twice",
    ),
    "impossible inertia": (
        {"primitives": (ball(inertia=(1.0, 1.0, 3.0)),)},
        r"primitives\[0\].inertia: no body has the principal moments",
    ),
    "missing file": (
        {"models": (SceneModel("nowhere.urdf"),)},
        r"models\[0\].urdf: 'nowhere.urdf' does not exist",
    ),
    "unknown base": (
        {"models": (SceneModel(arm(), base="loose"),)},
        r"models\[0\].base: 'loose' is not known",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_scene_names_the_key(case):
    values, message = WRONG[case]
    with pytest.raises(SceneError, match="^scene: " + message):
        build_world(Scene(**values))


def test_errors_of_a_file_carry_its_line(tmp_path):
    (tmp_path / "arm.urdf").write_text(arm())
    file = tmp_path / "scene.yaml"
    file.write_text("models:\n  - urdf: arm.urdf\n    joints:\n      shoulder: 0.1\n      knee: 0.2\n")
    with pytest.raises(
        SceneError, match=r"scene\.yaml:5: models\[0\].joints.knee: robot 'arm' has no joint 'knee'"
    ):
        build_world(load_scene(file))
    file.write_text("models:\n  - urdf: leg.urdf\n")
    with pytest.raises(SceneError, match=r"scene\.yaml:2: models\[0\].urdf: '.*leg.urdf' does not exist"):
        build_world(load_scene(file))
    (tmp_path / "arm.urdf").write_text("<robot>")
    file.write_text("models:\n  - urdf: arm.urdf\n")
    with pytest.raises(ModelError, match=r"arm\.urdf:1: not well-formed XML"):
        build_world(load_scene(file))


def test_box_on_table_rests():
    world = build_world(load_scene(CONFIG / "box_on_table.yaml"))
    assert world.objects == {"box": 0} and len(world.geoms.pairs) == 1
    table, box = world.geoms.p[0][2] + world.geoms.size[0][2], world.q0[2] - world.geoms.size[1][2]
    assert box == pytest.approx(table, abs=1e-15)
    assert world.tree.joint_type[0] == JOINT_FLOATING and world.tree.mass[0] == 2.0
    np.testing.assert_allclose(
        np.diag(world.tree.inertia[0]), [2 / 12 * (0.24**2 + 0.2**2)] * 2 + [2 / 6 * 0.24**2]
    )


# --- rotations and inertias -----------------------------------------------------------------


def test_options_of_load_urdf_reach_a_scene_file(tmp_path):
    """A robot with a mimic of nothing, an impossible inertia and a mesh: three options, each of them needed."""
    odd = SOLID.replace('izz="0.1"', 'izz="-0.01"')
    mesh = '<collision><geometry><mesh filename="a.stl"/></geometry></collision>'
    text = arm().replace("<axis", '<mimic joint="other"/><axis', 1).replace(SOLID + BALL, odd + mesh, 1)
    (tmp_path / "arm.urdf").write_text(text)
    options = {"collision_meshes": "skip", "inertia_errors": "warn", "mimic": "independent"}
    for left_out in (None, *options):
        lines = [f"    {name}: {value}" for name, value in options.items() if name != left_out]
        file = tmp_path / "scene.yaml"
        file.write_text("\n".join(["models:", "  - urdf: arm.urdf", *lines, ""]))
        if left_out is None:
            assert build_world(load_scene(file)).robot_models[0].lenient == tuple(
                (name, options[name]) for name in ("inertia_errors", "collision_meshes")
            )
        else:
            with pytest.raises(ModelError, match="mesh|indefinite|mimic"):
                build_world(load_scene(file))


# --- initial velocities -------------------------------------------------------------------------------

ROLLING = """<robot name="cart"><link name="rail"/>
<link name="cart">
<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>"""


def test_initial_velocities_of_joints_and_free_bodies():
    start = Velocity(angular=(0.1, 0.2, 0.3), linear=(1.0, 2.0, 3.0))
    scene = Scene(
        models=(SceneModel(ROLLING, velocities={"slide": 0.7}),),
        primitives=(Primitive("ball", "sphere", (0.1,), base="free", mass=1.0, velocity=start),),
    )
    np.testing.assert_array_equal(build_world(scene).v0, [0.7, 0.1, 0.2, 0.3, 1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "scene, place",
    [
        (Scene(models=(SceneModel(ROLLING, velocities={"glide": 1.0}),)), r"models\[0\]\.velocities\.glide: .*slide"),
        (Scene(models=(SceneModel(ROLLING, velocities={"slide": np.nan}),)), r"velocities\.slide: must be finite"),
        (Scene(primitives=(Primitive("b", "sphere", (1.0,), velocity=Velocity()),)), "has no velocity; .* base: free"),
    ],
)
def test_impossible_initial_velocities_are_refused(scene, place):
    with pytest.raises(SceneError, match=place):
        build_world(scene)


@pytest.mark.parametrize("entry", ["models: [{urdf: robots}]", "primitives: [{name: a, shape: mesh, mesh: robots}]"])
def test_a_folder_in_place_of_a_file_is_refused_with_its_line(entry, tmp_path):
    (tmp_path / "robots").mkdir()
    (tmp_path / "scene.yaml").write_text(f"time_step: 0.001\n{entry}\n")
    with pytest.raises(SceneError, match=r"scene.yaml:2: \S+: .*robots is a folder; name a file in it"):
        build_world(load_scene(tmp_path / "scene.yaml"))

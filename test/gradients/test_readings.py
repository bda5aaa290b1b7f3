# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of sensors' readings beside central differences, and closed forms.

Covers core/gradients/readings.py, simulation/sensors/derivatives.py, simulation/sensors/derivative_ends.py.
"""

from dataclasses import replace

import numpy as np
import pytest
import trimesh

import mb_contact as mb
from mb_contact.core.handle import TOLERANCE
from mb_contact.errors import InputError
from mb_contact.model.scene.sensors import Pad
from oracles.step_differences import Differences, push_out_fully
from scenes.gradient_scenes import SCENES

M = mb.model
G, DT = 9.81, 1e-3
POSE = M.Pose((0.03, 0.02, -0.03), (0.3, 0.2, 0.1))
PARTS = (
    '<link name="{0}"><inertial><origin xyz="0.02 0.01 {1}"/><mass value="{2}"/><inertia ixx="0.03" iyy="0.02" '
    'izz="0.01" ixy="0.001" ixz="0" iyz="-0.0005"/></inertial>{3}</link>',
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}" rpy="{5}"/><axis '
    'xyz="0.6 0.8 0"/><limit lower="-3" upper="3" effort="100" velocity="100"/></joint>',
)


def sensor(kind, of, **more):
    """A sensor at a pose of its own."""
    on = {"joint": of} if kind == "force_torque" else {"joints": (of,)} if kind == "encoder" else {"link": of}
    pose = {} if kind in ("tactile", "encoder") else {"pose": POSE}
    return M.Sensor(f"{kind}_{of}", kind, **on, **pose, **more)


def watched(name, seed, sensors, material=None, **more):
    """Differences of a scene of ``gradient_scenes`` with sensors, in one of its states; its bodies of a material."""
    sim, draw = SCENES[name]()
    push_out_fully(sim)
    state = draw(np.random.default_rng(seed))
    scene = replace(sim.scene, sensors=sensors, **more)
    if material is not None:
        bodies = tuple(replace(body, material="m") for body in scene.primitives)
        scene = replace(scene, primitives=bodies, materials={"m": material})
    sim = mb.Simulator(scene)
    push_out_fully(sim)
    differences = Differences(sim, *state)
    differences.step()
    assert not sim.step_derivatives((), near=1e-3).kinks
    return differences


def arm(with_ball=False, gears=(), above=-1e-4, way=1.0, restitution=0.0, **more):
    """Differences of an arm with a tool behind a fixed joint, which hangs free or slides; its wrist is pushed."""
    ball = '<collision><origin xyz="0.05 0 0.08"/><geometry><sphere radius="0.02"/></geometry></collision>'
    link, joint = PARTS
    parts = [
        link.format("foot", 0.0, 1.0, ""), link.format("upper", 0.2, 2.0, ""), link.format("wrist", 0.1, 1.0, ""),
        link.format("tool", 0.05, 0.7, ball), link.format("finger", 0.03, 0.2, ""),
        joint.format("shoulder", "revolute", "foot", "upper", "0 0 0.5", "0.3 0 0.1"),
        joint.format("elbow", "revolute", "upper", "wrist", "0.05 0 0.4", "0 0.9 0"),
        joint.format("flange", "fixed", "wrist", "tool", "0 0.1 0.2", "0.2 -0.4 0.7"),
        joint.format("knuckle", "prismatic", "tool", "finger", "0 0.02 0.1", "0 0 0.5"),
    ]  # fmt: skip
    q, v = np.array([0.7, 0.5, 0.2]), np.array([0.5, -1.0, 2.0])
    v *= way
    properties = {"shoulder": M.JointProperties(damping=0.3, stiffness=4.0), "elbow": M.JointProperties(friction=0.2)}
    robot = M.SceneModel(f'<robot name="arm">{"".join(parts)}</robot>', materials=M.ModelMaterials("m"),
                         joint_properties=properties)  # fmt: skip
    sensors = (*(sensor("force_torque", x) for x in ("shoulder", "elbow", "flange", "knuckle")),
               *(sensor("imu", x) for x in ("upper", "tool")), sensor("contact", "tool"))  # fmt: skip
    ground = None
    if with_ball:
        R, p = mb.frame_pose(mb.load_urdf(robot.urdf), q, "tool")
        ground = M.Ground((p + R @ [0.05, 0.0, 0.08])[2] - 0.02 - above, material="m")
    materials = {"m": M.Material(restitution=restitution)}
    sim = mb.Simulator(mb.Scene(models=(robot,), ground=ground, sensors=sensors, gears=gears, loops="multipliers",
                                materials=materials, **more))  # fmt: skip
    push_out_fully(sim)
    sim.context.solver[TOLERANCE] = 1e-13
    sim.set_external_wrench("wrist", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    differences = Differences(sim, q, v, np.array([3.0, -1.0, 0.4]))
    differences.step()
    assert (sim.context.contacts.count[0] > 0) == with_ball
    return differences


@pytest.mark.parametrize("with_ball", [False, True])
def test_an_arm_that_hangs_free_and_one_that_slides_on_the_ground(with_ball):
    differences = arm(with_ball)
    for name in differences.sim.sensors.names:
        for by in ("q", "v", "effort"):
            assert differences.worst_reading(name, by) < 1e-6, (name, by)


@pytest.mark.parametrize("gear", [("shoulder", "elbow", 1.4), ("knuckle", "elbow", 0.4)])  # elbow, and a slide
def test_a_tool_on_the_ground_behind_joints_with_a_gear(gear):
    differences = arm(True, (M.scene.Gear(*gear),))
    for name in differences.sim.sensors.names:
        for by in ("q", "v", "effort"):
            assert differences.worst_reading(name, by) < 1e-6, (name, by)


@pytest.mark.parametrize("integrator", ["midpoint", "rk4"])
@pytest.mark.parametrize("with_ball", [False, True])
def test_an_arm_under_flows(with_ball, integrator):
    """IMUs where the step ends, wrenches of joints half-way."""
    differences = arm(with_ball, integrator=integrator)
    for name in differences.sim.sensors.names:
        for by in ("q", "v", "effort"):
            assert differences.worst_reading(name, by) < 1e-6, (name, by)


@pytest.mark.parametrize(
    ("integrator", "law"),
    [("semi_implicit_euler", "anitescu_potra"), ("midpoint", "papers"), ("semi_implicit_euler", "newton"),
     ("rk4", "anitescu_potra")],
)  # fmt: skip
def test_an_arm_whose_tool_bounces(integrator, law):
    """Wrenches of joints and IMUs have those of both phases, at the surface of the tool."""
    differences = arm(True, above=5e-5, way=-4.0, restitution=0.5, integrator=integrator, restitution_law=law)
    assert differences.sim.context.impacts.work.body_moment[1] > 0.0 and differences.sim.context.impacts.events
    for name in differences.sim.sensors.names:
        for by in ("q", "v", "effort"):
            assert differences.worst_reading(name, by) < 1e-6, (name, by)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint"])
def test_a_tool_that_bounces_behind_joints_with_a_gear(integrator):
    gears = (M.scene.Gear("knuckle", "elbow", 0.4),)
    differences = arm(True, gears, above=5e-5, way=-4.0, restitution=0.5, integrator=integrator)
    assert differences.sim.context.impacts.tape and differences.worst(size=1e-6) < 1e-7
    for name in differences.sim.sensors.names:
        for by in ("q", "v"):
            assert differences.worst_reading(name, by, size=1e-6) < 1e-6, name


def test_a_joint_that_strikes_its_limit_under_flows():
    sim, draw = SCENES["limits"]()
    sensors = sensor("force_torque", "hinge_0"), sensor("force_torque", "hinge_1"), sensor("imu", "link_1")
    sim = mb.Simulator(replace(sim.scene, integrator="midpoint", sensors=sensors))
    q, v, effort = draw(np.random.default_rng(1))
    q[0], v[0] = 0.499, 3.0
    differences = Differences(sim, q, v, effort)
    differences.step()
    assert sim.context.impacts.tape
    for entry in sensors:
        for by in ("q", "v", "effort"):
            assert differences.worst_reading(entry.name, by, size=1e-6) < 1e-6, (entry.name, by)


@pytest.mark.parametrize("integrator", ["midpoint", "rk4"])
def test_a_robot_on_its_feet_under_flows(integrator):
    """Its trunk turns; servos hold its joints."""
    sensors = sensor("force_torque", "lf_hip_joint"), sensor("imu", "trunk")
    differences = watched("quadruped", 4, sensors, integrator=integrator)
    assert (differences.sim.context.solution.r > 0.0).any()
    for by in ("q", "v"):
        assert differences.worst_reading("force_torque_lf_hip_joint", by, size=1e-6) < 1e-6, by
    with pytest.raises(InputError, match="in a scene with servos"):
        differences.sim.step_derivatives(readings=["imu_trunk"])


def test_friction_of_joints_and_limits_under_flows():
    for name, seed in (("joint friction", 3), ("limits", 17)):
        sensors = sensor("force_torque", "hinge_0"), sensor("force_torque", "hinge_1"), sensor("imu", "link_0")
        differences = watched(name, seed, sensors, integrator="rk4")
        for entry in sensors:
            for by in ("q", "v", "effort"):
                assert differences.worst_reading(entry.name, by, size=1e-6) < 1e-6, (name, entry.name, by)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("name", ["mass", "damping", "friction"])
def test_parameters(name, integrator):
    """Beside differences of the values that a simulator has."""
    differences = arm(True, integrator=integrator)
    sim = differences.sim
    values = sim.values(name)
    assert len(values) == {"mass": 3, "damping": 3, "friction": 1}[name]

    def move(d):
        sim.set(name, np.array(list(values.values())) + d + 1e-4, of=list(values))
        differences.step()

    for sensor_name in sim.sensors.names:
        move(np.zeros(len(values)))
        exact = sim.step_derivatives([name], readings=[sensor_name]).readings[sensor_name][name]
        found = differences.of_reading(sensor_name, len(values), move)
        assert np.abs(found - exact).max() < 1e-6 * max(1.0, np.abs(exact).max()), sensor_name


def test_friction_of_joints():
    """An elbow that slips feels its friction: dT = -df, and the tool is accelerated the less."""
    differences, ends = arm(), []
    sim = differences.sim
    by = sim.step_derivatives(["joint_friction"], readings=sim.sensors.names).readings
    for way in (-1e-5, 1e-5):
        model = sim.scene.models[0]
        properties = {**model.joint_properties, "elbow": M.JointProperties(friction=0.2 + way)}
        other = mb.Simulator(replace(sim.scene, models=(replace(model, joint_properties=properties),)))
        other.set_external_wrench("wrist", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        other.set_state(differences.q, differences.v)
        other.step(differences.effort)
        ends.append([differences.reading(name, sim.sensors.read(name), other) for name in sim.sensors.names])
    for name, low, high in zip(sim.sensors.names, *ends, strict=True):
        np.testing.assert_allclose(by[name]["joint_friction"][:, 1], (high - low) / 2e-5, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "seed", "sensors"),
    [
        ("ball with rolling friction", 9, [("imu", "body"), ("contact", "body"), ("contact", "ground")]),
        ("two boxes", 15, [("imu", "a"), ("contact", "b"), ("contact", "a", "b"), ("tactile", "a", "b")]),
        ("limits", 4, [("imu", "link_1"), ("force_torque", "hinge_0"), ("encoder", "hinge_1")]),
        ("servos", 3, [("imu", "link_1"), ("force_torque", "hinge_1")]),
        ("gears", 2, [("encoder", "hinge_0"), ("force_torque", "hinge_0"), ("force_torque", "hinge_1")]),
        ("two bodies on a hinge", 3, [("imu", "a"), ("force_torque", "a_b")]),
        ("two bodies on a rod", 3, [("imu", "b"), ("force_torque", "a_b")]),
        ("two bodies welded", 3, [("imu", "a"), ("force_torque", "a_b")]),
        ("two bodies in a point", 3, [("imu", "b"), ("force_torque", "a_b")]),
        ("two bodies on a plane", 3, [("imu", "a"), ("force_torque", "a_b")]),
        ("two bodies on a screw", 3, [("imu", "b"), ("force_torque", "a_b")]),
        ("crank and rocker", 3, [("imu", "coupler"), ("force_torque", "coupler_joint"),
                                 ("force_torque", "rocker_joint"), ("force_torque", "coupler_rocker")]),
    ],
)
def test_states_of_scenes(name, seed, sensors):
    made = []
    for i, (kind, of, *partner) in enumerate(sensors):
        more = {"pad": Pad("+z", cells=(2, 3))} if kind == "tactile" else {}
        made.append(replace(sensor(kind, of, **more), name=f"s{i}", partner=partner[0] if partner else None))
    sensors = tuple(made)
    differences = watched(name, seed, sensors)
    for entry in sensors:
        read = differences.reading(entry.name, differences.sim.sensors.read(entry.name))
        assert np.abs(read).max() > 0.0
        for by in ("q", "v", "effort") if len(differences.effort) else ("q", "v"):
            assert differences.worst_reading(entry.name, by, size=1e-6) < 1e-6, (entry, by)


def test_a_ball_that_rolls_and_spins_on_a_box_that_turns():
    """The moments of rolling and torsion turn with the normal."""
    sensors = sensor("imu", "b"), sensor("contact", "b"), sensor("contact", "a")
    differences = watched("box on a ball", 3, sensors, M.Material(friction=0.8, rolling=0.03, torsional=0.02))
    for entry in sensors:
        for by in ("q", "v"):
            assert differences.worst_reading(entry.name, by, size=1e-6) < 1e-6, (entry.name, by)
    assert abs(differences.sim.context.memory.moment[0]).min() > 0.0


def test_a_body_that_hangs_on_what_is_fixed():
    """The wrench of a closure whose first link does not move."""
    post = M.Primitive("post", "box", (0.1, 0.1, 0.1), M.Pose((0.0, 0.0, 1.0)))
    body = M.Primitive("body", "box", (0.2, 0.16, 0.12), M.Pose((0.0, 0.0, 0.5), (0.1, 0.3, 0.2)), "free", 1.0)
    closure = M.Closure("point", "post", "body", pose_a=M.Pose((0.1, 0.05, -0.2)))
    scene = mb.Scene(primitives=(post, body), loop_closures=(closure,), loops="multipliers",
                     sensors=(sensor("force_torque", "post_body"),))  # fmt: skip
    sim = mb.Simulator(scene)
    differences = Differences(sim, sim.q, np.array([0.5, -1.0, 0.3, 0.2, 0.1, -0.4]))
    for by in ("q", "v"):
        assert differences.worst_reading("force_torque_post_body", by, size=1e-6) < 1e-6, by


def test_a_legged_robot_on_its_feet():
    sensors = (sensor("imu", "trunk"), sensor("force_torque", "lf_hip_joint"), sensor("force_torque", "rh_shank_joint"),
               sensor("contact", "lf_shank"))  # fmt: skip
    differences = watched("quadruped", 4, sensors)
    for entry in sensors:
        for by in ("q", "v", "effort"):
            assert differences.worst_reading(entry.name, by, size=1e-6) < 1e-6, (entry.name, by)
    sim = differences.sim
    by = sim.step_derivatives(readings=["imu_trunk"])
    axes = M.rotations.quat_to_matrix(sim.sensors.read("imu_trunk").orientation)
    moved = mb.jacobian(sim.world, sim.q, "trunk") @ by.q["v"]  # as docs/gradients.md says of poses
    np.testing.assert_allclose(axes @ by.readings["imu_trunk"]["v"][:3], moved[:3], atol=1e-12)


def test_what_a_block_that_slides_feels():
    """Its IMU has -mu g along its way, so -g by mu; the table carries g per mass, and mu g of it across."""
    scene = mb.load_scene("package://mb_contact/config/box_on_table.yaml")
    sensors = (M.Sensor("imu", "imu", link="box"), M.Sensor("touch", "contact", link="box", partner="table"))
    sim = mb.Simulator(replace(scene, sensors=sensors))
    sim.set_object("box", velocity=[0, 0, 0, 1.0, 0, 0])
    sim.step()
    by = sim.step_derivatives(("friction", "mass"), readings=("imu", "touch")).readings
    body = sim.world.body_names.index("box")
    np.testing.assert_allclose(by["imu"]["friction"][:, 0], [0, 0, 0, 0, 0, 0, -G, 0, 0], atol=1e-8)
    np.testing.assert_allclose(by["touch"]["mass"][3:, body], [-0.5 * G, 0.0, G], atol=1e-8)
    assert by["touch"]["friction"].shape == (6, len(sim.world.geoms.pairs))


def shapes(sensors, **more):
    """Shapes of all kinds that fly and turn about, and one that carries what looks at them."""
    rng, (x, y, z) = np.random.default_rng(4), np.eye(3)
    kinds = {
        "sphere": (0.3,), "box": (0.4, 0.5, 0.6), "cylinder": (0.2, 0.6), "capsule": (0.2, 0.5), "cone": (0.3, 0.7),
        "ellipsoid": (0.2, 0.3, 0.4),
    }  # fmt: skip
    bodies = [
        M.Primitive(kind, kind, size, M.Pose(tuple(place), tuple(rng.normal(size=3))), "free", 1.0,
                    velocity=M.Velocity(tuple(rng.normal(size=3)), tuple(rng.normal(size=3))))
        for (kind, size), place in zip(kinds.items(), 1.5 * np.array((x, y, z, -x, -y, x + y)), strict=True)
    ]  # fmt: skip
    eye = M.Primitive("eye", "box", (0.1, 0.1, 0.1), M.Pose((0.0, 0.0, 0.1)), "free", 1.0,
                      velocity=M.Velocity((1.0, 2.0, 0.5), (0.3, -0.4, 0.2)))  # fmt: skip
    wall = M.Primitive("wall", "box", (0.2, 3.0, 3.0), M.Pose((3.0, -1.0, 0.0), (0.1, 0.2, 0.5)))
    return mb.Scene(primitives=(*bodies, eye, wall), ground=M.Ground(-1.5), sensors=sensors, **more)


SCAN = M.scene.sensors.Scan(31, (-3.1, 3.1), 7, (-1.2, 1.4), 0.5, 4.0)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint"])
@pytest.mark.parametrize("link", ["eye", "world"])
def test_ranges_of_a_lidar(integrator, link):
    """From a body that turns and from one place, to shapes of all kinds, the ground and a wall."""
    lidar = M.Sensor("lidar", "lidar", link=link, pose=POSE, scan=SCAN)
    sim = mb.Simulator(shapes((lidar,), integrator=integrator))
    differences = Differences(sim, sim.q, sim.v)
    differences.step()
    met = np.isfinite(sim.sensors.read("lidar").ranges).ravel()
    for by in ("q", "v"):
        exact = sim.step_derivatives([by], readings=["lidar"]).readings["lidar"][by]
        assert (exact.any(axis=1) == met).all() if by == "q" and link == "eye" else not exact[~met].any()
        zero = sim.sensors.read("lidar")
        move = lambda d, by=by: differences.step(by, d)  # noqa: E731
        with np.errstate(invalid="ignore"):
            found = np.nan_to_num(differences.of_reading("lidar", len(sim.v), move, 1e-6))
        move(np.zeros(len(sim.v)))
        assert np.abs(found - exact).max() < 1e-6 * max(1.0, np.abs(exact).max())
        assert zero.ranges.size == len(exact) and met.sum() > 80


def test_ranges_to_triangles_behind_an_impact(tmp_path):
    """A lidar on a ball that bounces sees a mesh: its ranges follow what it bounces off with."""
    trimesh.creation.icosphere(1, 0.6).export(tmp_path / "rock.stl")
    rock = M.Primitive("rock", "mesh", mesh=str(tmp_path / "rock.stl"), pose=M.Pose((1.0, 0.2, 0.4)))
    ball = M.Primitive("ball", "sphere", (0.1,), M.Pose((0.0, 0.0, 0.1005)), "free", 1.0, material="m",
                       velocity=M.Velocity((0.3, 0.1, 0.2), (0.2, 0.1, -1.0)))  # fmt: skip
    lidar = M.Sensor("lidar", "lidar", link="ball", pose=POSE, scan=M.scene.sensors.Scan(9, (-0.4, 0.5), 3, (0.0, 0.3)))
    sim = mb.Simulator(mb.Scene(primitives=(rock, ball), ground=M.Ground(0.0, material="m"), sensors=(lidar,),
                                materials={"m": M.Material(friction=0.3, restitution=0.6)}))  # fmt: skip
    differences = Differences(sim, sim.q, sim.v)
    differences.step()
    assert sim.v[5] > 0.3 and np.isfinite(sim.sensors.read("lidar").ranges).sum() > 15
    for by in ("q", "v"):
        assert differences.worst_reading("lidar", by, size=1e-7) < 1e-6, by


def bounced(name, seed, sensors, **material):
    """Differences of a body that bounces on the ground, solved to rounding, behind the step in which it does."""
    sim, draw = SCENES[name]()
    state = draw(np.random.default_rng(seed))
    materials = {"body": replace(sim.scene.materials["body"], **material)}
    sim = mb.Simulator(replace(sim.scene, sensors=sensors, materials=materials))
    push_out_fully(sim)
    sim.context.solver[TOLERANCE] = 1e-13
    differences = Differences(sim, *state)
    differences.step()
    assert len(sim.context.impacts.events) == 1 and not sim.step_derivatives((), near=1e-4).kinks
    return differences


@pytest.mark.parametrize(
    ("name", "seed"),
    [("bouncing ball", 3), ("bouncing box", 4), ("bouncing box", 5), ("bouncing box, as printed", 5),
     ("bouncing capsule, by Newton", 4)],
)  # fmt: skip
def test_what_is_felt_of_an_impact(name, seed):
    """By both bodies, at the surface of each; with a partner half-way between them."""
    sensors = (sensor("contact", "body"), sensor("contact", "ground"),
               replace(sensor("contact", "body", partner="ground"), name="both"))  # fmt: skip
    differences = bounced(name, seed, sensors)
    for entry in differences.sim.sensors.names:
        assert np.abs(differences.sim.sensors.read(entry)).max() > 10.0
        for by in ("q", "v"):
            assert differences.worst_reading(entry, by, size=1e-7) < 1e-6, (entry, by)


def test_what_a_pad_feels_of_an_impact():
    """Those of the faces beside its corner that strikes the ground."""
    faces = "+x", "-x", "+y", "-y", "+z", "-z"
    pads = tuple(replace(sensor("tactile", "body", pad=Pad(face, cells=(1, 1))), name=f"pad{i}")
                 for i, face in enumerate(faces))  # fmt: skip
    differences = bounced("bouncing box", 4, pads)
    assert max(np.abs(differences.sim.sensors.read(pad.name).wrench).max() for pad in pads) > 10.0
    for pad in pads:
        assert differences.worst_reading(pad.name, "v", size=1e-7) < 1e-6


@pytest.mark.parametrize("value", ["friction", "restitution"])
@pytest.mark.parametrize("name", ["bouncing ball", "bouncing box, as printed", "bouncing capsule, by Newton"])
def test_an_impact_by_parameters(name, value):
    differences = bounced(name, 3 if name == "bouncing ball" else 5, (sensor("contact", "body"),))
    sim = differences.sim
    number = sim.values(value)["body", "ground"]

    def move(d):
        sim.set(value, [number + d[0]], of=[("body", "ground")])
        differences.step()

    exact = sim.step_derivatives([value], readings=["contact_body"]).readings["contact_body"][value]
    found = differences.of_reading("contact_body", 1, move, 1e-5)
    assert 1.0 < np.abs(exact).max() and np.abs(found - exact).max() < 1e-6 * np.abs(exact).max()


def test_what_has_no_derivative_is_refused():
    sensors = (M.Sensor("eye", "camera", link="a", pose=M.Pose()), M.Sensor("imu", "imu", link="a"))
    sim = mb.Simulator(replace(SCENES["two bodies on a hinge"]()[0].scene, sensors=sensors))
    sim.step()
    for name, told in (("eye", "pixels jump at outlines"), ("ear", "sensor 'ear'")):
        with pytest.raises(InputError, match=told):
            sim.step_derivatives(readings=[name])
    with pytest.raises(InputError, match="readings must be a sequence"):
        sim.step_derivatives(readings="imu")
    differences = bounced("bouncing ball", 3, (sensor("contact", "body"),), torsional=0.01)
    with pytest.raises(InputError, match="with torsion or rolling"):
        differences.sim.step_derivatives(readings=["contact_body"])

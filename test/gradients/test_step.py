# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps: beside central differences of the step itself, and closed forms.

Covers core/gradients/*.py, gradients/cores.py, gradients/kinks.py, gradients/motion.py, gradients/refusals.py,
simulation/differentiation.py.
"""

import numpy as np
import pytest
import trimesh

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.model.scene import Gear, JointProperties
from oracles.step_differences import Differences, push_out_fully

M = mb.model
G, DT = 9.81, 1e-3
SIZES = {"sphere": (0.1,), "capsule": (0.06, 0.2), "box": (0.2, 0.16, 0.12), "cylinder": (0.08, 0.2),
         "cone": (0.08, 0.2), "ellipsoid": (0.1, 0.07, 0.13)}  # fmt: skip


@pytest.fixture(scope="module")
def box():
    sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    push_out_fully(sim)
    return sim


def posed(sim, turn=(0.0, 0.0, 0.0), shift=(0.0, 0.0, 0.0), velocity=None):
    """Differences of the box, turned and shifted from where it stands."""
    sim.reset()
    q = sim.q
    q[:3] += shift
    half = 0.5 * np.asarray(turn)
    q[3:] = np.append(half, np.sqrt(1.0 - half @ half))
    return Differences(sim, q, np.zeros(6) if velocity is None else np.asarray(velocity, float))


def test_smooth_motion_of_a_chain():
    sim = mb.Simulator(mb.pendulum(3, length=1.0).scene())
    differences = Differences(sim, np.array([0.3, -0.7, 1.1]), np.array([0.5, 1.5, -0.7]), np.array([1.0, -0.5, 0.3]))
    assert differences.worst(size=1e-4) < 1e-8


@pytest.mark.parametrize(
    ("turn", "shift", "velocity", "states"),
    [
        ((0.3, 0.2, 0.1), (0.0, 0.0, 0.3), (0.3, 2.0, -1.0, 1.0, 0.0, -0.4), []),
        ((0.0, 0.0, 0.0), (0.0, 0.0, -1e-4), (0.0,) * 6, ["stick"] * 4),
        ((0.0, 0.0, 0.2), (0.0, 0.0, -1e-4), (0.0, 0.0, 0.0, 1.0, 0.5, 0.0), ["slip"] * 4),
        ((0.002, 0.001, 0.3), (0.0, 0.0, -1e-4), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0), ["slip"] * 2 + ["separate"] * 2),
        ((0.0, 0.002, 0.3), (0.15, 0.0, -4e-7), (0.0, 0.0, 0.0, 0.0, 1.0, -0.3), ["slip"]),  # over the edge
    ],
)
def test_box_on_a_table(box, turn, shift, velocity, states):
    differences = posed(box, turn, shift, velocity)
    differences.step()
    box.set_state(differences.q, differences.v)
    assert sorted(set(box.step().contacts["state"])) == sorted(set(states))
    assert differences.worst(("q", "v")) < 1e-6


TRAY = """<robot name="arm"><link name="foot"/>
  <link name="upper"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <link name="tray"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><geometry><box size="0.6 0.6 0.02"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="foot"/><child link="upper"/><axis xyz="0 0 1"/></joint>
  <joint name="tilt" type="continuous"><parent link="upper"/><child link="tray"/><origin xyz="0.3 0.1 0.2"/>
    <axis xyz="1 0 0"/></joint></robot>"""


@pytest.mark.parametrize("state", ["stick", "slip"])
@pytest.mark.parametrize("rates", [(2.0, -1.5), (-1.0, 0.0)])
def test_what_a_turning_link_holds(state, rates):
    """Rows of friction ask for the mean slip of a step, which bends with the bodies' motion to its start's v."""
    pose = M.Pose((0.35, 0.2, 0.24 - 1e-7))
    box = M.Primitive("box", "box", (0.1, 0.08, 0.06), pose, "free", mass=0.7, material="stuff")
    stuff = {"stuff": M.Material(friction=2.0 if state == "stick" else 0.1)}
    tray = M.SceneModel(TRAY, materials=M.ModelMaterials("stuff"))
    sim = mb.Simulator(mb.Scene(models=(tray,), primitives=(box,), materials=stuff))
    push_out_fully(sim)
    o, x, w = sim.link_pose("tray")[0], sim.link_pose("box")[0], np.array([rates[1], 0.0, rates[0]])
    slip = (0.0 if state == "stick" else 0.3, 0.0, 0.0)
    v = np.concatenate((rates, w, np.cross((0.0, 0.0, rates[0]), o) + np.cross(w, x - o) + slip))
    sim.set_state(sim.q, v)
    sim.step(np.array([1.0, 5.0]))  # of a contact that begins they ask for nothing
    differences = Differences(sim, sim.q, sim.v, np.array([1.0, 5.0]))
    assert {state} <= set(sim.step(differences.effort).contacts["state"]) and sim.context.work.asked_slip[:4, 2].all()
    assert differences.worst(("q", "v", "effort")) < 1e-6


@pytest.mark.parametrize(
    ("a", "b", "bound"),
    [
        ("sphere", "sphere", 1e-6), ("sphere", "box", 1e-6), ("capsule", "capsule", 1e-6), ("capsule", "box", 1e-6),
        ("box", "box", 1e-6), ("cylinder", "cylinder", 1e-6), ("cone", "sphere", 1e-3),
        ("ellipsoid", "sphere", 1e-3),  # whose normals the narrow phase knows to 1e-7
    ],
)  # fmt: skip
def test_pairs_of_shapes(a, b, bound):
    """Seeded poses in which two free bodies just overlap: faces, edges, rims, vertices, whatever meets."""
    rng = np.random.default_rng(1)
    bodies = [M.Primitive(n, s, SIZES[s], M.Pose((0, 0, z)), base="free", mass=m)
              for n, s, z, m in (("a", a, 0.0, 1.5), ("b", b, 1.0, 0.7))]  # fmt: skip
    sim, met = mb.Simulator(mb.Scene(primitives=tuple(bodies))), 0
    for _ in range(4):
        q, way = sim.q, rng.normal(size=3)
        way /= np.linalg.norm(way)
        for s in (3, 10):
            x = rng.normal(size=4)
            q[s : s + 4] = x / np.linalg.norm(x)
        q[:3], low, high = 0.0, 0.0, 0.5
        for _ in range(14):
            q[7:10] = 0.5 * (low + high) * way
            sim.set_state(q, np.zeros(12))
            found = sim.step().contacts["gap"]
            low, high = (0.5 * (low + high), high) if found.min(initial=1.0) < 0.0 else (low, 0.5 * (low + high))
        q[7:10] = (low - 1e-4) * way
        v = 0.5 * rng.normal(size=12)
        v[9:] -= 2.0 * way
        differences = Differences(sim, q, v)
        assert differences.worst(("q", "v")) < bound
        met += len(sim.context.contacts.point[: sim.context.contacts.count[0]])
    assert met >= 4


@pytest.mark.parametrize("turn", [(0.1, 0.0, 0.0), (1.55, 0.0, 0.3), (1.55, 0.3, 0.3)])  # on its rim, rolling
def test_a_cylinder_on_the_ground(turn):
    can = M.Primitive("can", "cylinder", (0.08, 0.2), M.Pose((0.0, 0.0, 1.0), turn), base="free", mass=1.0)
    sim = mb.Simulator(mb.Scene(primitives=(can,), ground=M.Ground()), warm_up=False)
    sim.reset()
    q, upright = sim.q, np.cos(turn[0]) * np.cos(turn[1])
    q[2] = 0.1 * upright + 0.08 * np.sqrt(1.0 - upright**2) - 1e-5
    differences = Differences(sim, q, np.array([0.3, 1.0, -0.2, 0.4, 0.1, -0.3]))
    assert differences.worst(("q", "v")) < 1e-6
    assert sim.context.contacts.count[0] >= 1


def test_a_convex_hull_on_the_ground(tmp_path):
    """A tetrahedron that lands on a corner."""
    import trimesh

    points = np.array([[0.1, 0, 0], [-0.05, 0.09, 0], [-0.05, -0.09, 0], [0, 0, 0.15]])
    trimesh.Trimesh(points, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]).export(tmp_path / "t.stl")
    (tmp_path / "t.urdf").write_text(
        '<robot name="t"><link name="t"><inertial><mass value="1"/><inertia ixx="0.003" iyy="0.003" izz="0.003" '
        'ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><mesh filename="t.stl"/></geometry></collision>'
        "</link></robot>"
    )
    model = M.SceneModel(str(tmp_path / "t.urdf"), base="free")
    sim = mb.Simulator(mb.Scene(models=(model,), ground=M.Ground()))
    q, v = sim.q, np.array([0.5, 0.3, 0.1, 1.0, 0.0, -0.5])
    q[3:] = np.array([0.3, 0.5, 0.1, 0.8]) / np.linalg.norm([0.3, 0.5, 0.1, 0.8])
    placed = points @ M.rotations.quat_to_matrix(q[3:]).T
    q[:3] = 0.0, 0.0, -placed[:, 2].min() - 1e-5
    differences = Differences(sim, q, v)
    assert differences.worst(("q", "v")) < 1e-6
    assert sim.context.contacts.count[0] >= 1


def jointed(actuators=None, limits=None, gears=(), **properties):
    """A pendulum of two links, hanging, whose first joint has properties beyond its file; limits of both [rad]."""
    urdf = mb.pendulum(2, length=1.0).urdf()
    if limits:
        end = f'<limit lower="{limits[0]}" upper="{limits[1]}" effort="100" velocity="100"/></joint>'
        urdf = urdf.replace('type="continuous"', 'type="revolute"').replace("</joint>", end)
    fast, joints = "velocity_limit" in properties, {"hinge_0": JointProperties(**properties)}
    robot = M.SceneModel(urdf, joint_properties=joints, actuators=actuators or {})
    sim = mb.Simulator(mb.Scene(models=(robot,), gears=gears, loops="multipliers", enforce_velocity_limits=fast))
    sim.reset()
    return sim


@pytest.mark.parametrize(
    ("properties", "q", "v", "effort"),
    [
        ({"friction": 0.3}, (0.3, -0.7), (0.02, 0.4), (0.1, 0.2)),
        ({"friction": 30.0}, (0.3, -0.7), (0.02, 0.4), (0.1, 0.2)),
        ({"damping": 0.5}, (0.3, -0.7), (0.02, 0.4), (0.1, 0.2)),
        ({"stiffness": 40.0}, (0.3, -0.7), (0.02, 0.4), (0.1, 0.2)),
        ({"gears": (Gear("hinge_0", "hinge_1", -0.7),)}, (0.14, -0.2), (0.5, 0.4), (0.1, 0.2)),
        ({"limits": (-0.5, 0.5)}, (0.499, 0.1), (2.0, -2.0), (0.1, 0.2)),  # reaches its limit
        ({"limits": (-0.5, 0.5)}, (0.5001, -0.5002), (2.0, -2.0), (0.1, 0.2)),  # is pushed back
        ({"velocity_limit": 1.0}, (0.1, 0.1), (1.0, -0.5), (90.0, 0.2)),
        ({"actuators": {"hinge_1": M.Actuator("position", stiffness=50.0, damping=2.0)}}, (0.3, -0.7), (0.5, 0.4),
         (0.1, 0.2)),
        ({"actuators": {"hinge_0": M.Actuator("position", stiffness=50.0)}, "effort_limit": 1.0}, (0.3, -0.7),
         (0.5, 0.4), (0.1, 0.2)),  # at its limit
    ],
)  # fmt: skip
def test_what_acts_in_joints(properties, q, v, effort):
    assert Differences(jointed(**properties), np.array(q), np.array(v), np.array(effort)).worst() < 1e-7


def test_a_push_from_outside():
    sim = jointed()
    sim.set_external_wrench("link_1", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert Differences(sim, np.array([0.3, -0.7]), np.array([0.5, 0.4]), np.array([0.1, 0.2])).worst() < 1e-8


@pytest.mark.parametrize(("name", "properties"), [("damping", {"damping": 0.5}), ("joint_friction", {"friction": 0.3})])
def test_parameters_of_joints(name, properties):
    """Beside differences of scenes with a little more of it."""
    ends = []
    for way in (-1e-5, 0.0, 1e-5):
        sim = jointed(**{key: value + way for key, value in properties.items()})
        sim.set_state([0.3, -0.7], [0.5, 0.4])
        sim.step([0.1, 0.2])
        ends.append(sim.v)
        if way == 0.0:
            by = sim.step_derivatives([name]).v[name][:, 0]
    np.testing.assert_allclose(by, (ends[2] - ends[0]) / 2e-5, rtol=1e-6)


def test_friction_of_what_slides_and_sticks(box):
    """dv+ / dmu = -g dt of a sliding block, 0 of one that sticks."""
    posed(box, velocity=(0, 0, 0, 1.0, 0, 0)).step()
    np.testing.assert_allclose(box.step_derivatives(["friction"]).v["friction"][3, 0], -G * DT, rtol=1e-9)
    posed(box).step()
    assert np.abs(box.step_derivatives(["friction"]).v["friction"]).max() < 1e-12


@pytest.mark.parametrize("angle", [0.2, 0.7])
def test_a_block_on_a_slope(angle):
    """v+ = g dt (sin - mu cos) of one that slips, tan(slope) > mu, and its derivative by mu; 0 of one that sticks."""
    mu, half = 0.5, 0.05
    n, way = np.array([np.sin(angle), 0.0, np.cos(angle)]), np.array([np.cos(angle), 0.0, -np.sin(angle)])
    turn = (0.0, angle, 0.0)
    slab = M.Primitive("slab", "box", (4.0, 4.0, 0.1), M.Pose(tuple(-0.05 * n), turn), material="wood")
    pose = M.Pose(tuple((half - 5e-13) * n), turn)
    block = M.Primitive("block", "box", (2 * half,) * 3, pose, "free", 1.3, material="wood")
    sim = mb.Simulator(mb.Scene(primitives=(slab, block), materials={"wood": M.Material(friction=mu)}))
    sim.reset()
    sim.step()
    slips = np.tan(angle) > mu
    np.testing.assert_allclose(way @ sim.v[3:], G * DT * (np.sin(angle) - mu * np.cos(angle)) * slips, atol=1e-9)
    by = way @ sim.step_derivatives(["friction"]).v["friction"][3:]
    np.testing.assert_allclose(by[np.abs(by) > 1e-9], [-G * DT * np.cos(angle)] * int(slips), rtol=1e-6)


def test_mass_of_a_link():
    """A pendulum's angle by its mass is zero without effort, and -T dt / (I m) with it: I scales with m."""
    sim = mb.Simulator(mb.pendulum(1, length=1.0).scene())
    sim.set_state([np.pi / 3], [0.0])
    sim.step([0.0])
    assert np.abs(sim.step_derivatives(["mass"]).v["mass"]).max() < 1e-12
    sim.set_state([0.0], [0.0])
    sim.step([1.0])
    mass, inertia = sim.world.tree.mass[0], mb.mass_matrix(sim.world, [0.0])[0, 0]
    np.testing.assert_allclose(sim.step_derivatives(["mass"]).v["mass"], [[-DT / inertia / mass]], rtol=1e-9)


def test_impulses_carry_what_the_box_weighs(box):
    posed(box).step()
    by = box.step_derivatives(["mass", "v"])
    box_body = box.world.body_names.index("box")
    total = by.impulses["mass"][:, :, box_body].sum(axis=0)
    np.testing.assert_allclose(np.abs(total), [0.0, 0.0, G * DT], atol=1e-9)
    assert not by.unique  # four points carry it


def test_kinks_are_named(box):
    posed(box).step()
    kinks = box.step_derivatives(["q"]).kinks
    assert {kink.kind for kink in kinks} == {"gap"} and kinks[0].links == ("table", "box") and len(kinks) == 4
    speed = 0.5 * G * DT  # friction just stops it
    posed(box, velocity=(0, 0, 0, speed, 0, 0)).step()
    assert [kink.kind for kink in box.step_derivatives(["q"]).kinks].count("slip") == 4


def test_at_a_kink_one_sided_differences_bracket_the_derivative(box):
    """Between stick and slip: the derivative is that of one side."""
    speed, v, sides = 0.5 * G * DT, np.zeros(6), []
    for way in (-1e-6, 1e-6):
        v[3] = speed
        at = posed(box, velocity=v).step()[1][3]
        v[3] = speed + way
        sides.append((posed(box, velocity=v).step()[1][3] - at) / way)
    v[3] = speed
    posed(box, velocity=v).step()
    found = box.step_derivatives(["v"]).v["v"][3, 3]
    assert min(sides) - 1e-3 <= found <= max(sides) + 1e-3 and max(sides) - min(sides) > 0.9


def test_what_has_no_derivative_is_refused(box):
    box.reset()
    with pytest.raises(InputError, match="there is no step to differentiate"):
        box.step_derivatives()
    box.step()
    with pytest.raises(InputError, match="with_respect_to"):
        box.step_derivatives(["colour"])


@pytest.mark.parametrize("effort, limit, slope", [(0.0, 0.0, 0), (1.9, 2.0, 1), (2.0, 2.0, 0), (2.1, 2.0, 0)])
def test_efforts_at_their_limit_have_no_derivative_beyond_it(effort, limit, slope):
    arm = mb.model.SceneModel(
        mb.pendulum(1, length=1.0).urdf(),
        joint_properties={"hinge_0": mb.model.JointProperties(effort_limit=limit)},
    )
    sim = mb.Simulator(mb.Scene(models=(arm,)))
    sim.step([effort])
    found = sim.step_derivatives(["effort"])
    assert (found.v["effort"][0, 0] > 0.0) == bool(slope)
    assert [kink.kind for kink in found.kinks] == (["effort_limit"] if effort == limit > 0.0 else [])


@pytest.mark.parametrize("kind", ["mesh", "convex_hull"])
def test_contacts_of_a_later_moment_are_told_as_such(tmp_path, kind):
    trimesh.creation.icosphere(2, 0.1).export(tmp_path / "ball.stl")
    Primitive, Pose = mb.model.Primitive, mb.model.Pose
    rock = Primitive("rock", "mesh", mesh=str(tmp_path / "ball.stl"), collision_meshes=kind, pose=Pose((0, 0, 0.3)))
    ball = Primitive("ball", "sphere", (0.05,), Pose((0.02, 0.01, 0.45)), "free", 1.0,
                     velocity=mb.model.Velocity((0, 0, 0), (0.1, 0, -1.0)))  # fmt: skip
    sim, told = mb.Simulator(mb.Scene(primitives=(rock, ball))), set()
    for _ in range(120):
        sim.step()
        try:
            sim.step_derivatives(["q"])
        except mb.InputError as error:
            told.add(str(error))
    assert told == {"no derivative of the contact of 'rock' and 'ball': it came in at the moment of meeting within the "
                    "step; take a shorter step"}  # fmt: skip


def test_wrenches_that_depend_on_poses_are_refused():
    """A wrench in the axes of a link, and the weight of one body, turn with it; what does not has a derivative."""
    for act in (lambda sim: sim.set_external_wrench("link_1", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], axes="link"),
                lambda sim: sim.set("gravity", [[1.0, 0.0, 2.0]], of=["link_1"])):  # fmt: skip
        sim = mb.Simulator(mb.pendulum(2).scene())
        act(sim)
        sim.step()
        with pytest.raises(InputError, match="axes of links or beside|know one gravity"):
            sim.step_derivatives()
